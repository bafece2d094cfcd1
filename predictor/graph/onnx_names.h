/*
 * onnx_names.h - memory that is freed at once, and names as numbers.
 */
#ifndef DLT_GRAPH_ONNX_NAMES_H
#define DLT_GRAPH_ONNX_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Zero-initialise. What it hands out is zeroed, aligned for any type, and freed all together. */
struct dlt_onnx_arena {
    struct dlt_onnx_chunk *chunk;
    size_t used, total; /* of the newest chunk; of all */
};
/* The most that one file may take: what is larger is an attack or a mistake. */
#define DLT_ONNX_MEMORY ((size_t)256 << 20)

/* NULL with a sentence when out of memory, or past DLT_ONNX_MEMORY. */
void *dlt_onnx_alloc(struct dlt_onnx_arena *arena, size_t count, size_t size,
                     struct dlt_error *error);
/* Makes room for element `count` of an array of which *room are allocated. 0 or -1. */
int dlt_onnx_grow(struct dlt_onnx_arena *arena, void *array, size_t count, size_t size,
                  size_t *room, struct dlt_error *error);
void dlt_onnx_release(struct dlt_onnx_arena *arena);

/* Names numbered from 0 in the order in which they were first seen. Zero-initialise. */
struct dlt_onnx_names {
    const char **text; /* in the arena */
    size_t count, text_room;
    int *slot; /* malloc'ed; name + 1, 0: free */
    size_t slots;
};
/* The number of a name, given to it if it is new; text must live in the arena. -1: out of memory.
 */
int dlt_onnx_number(struct dlt_onnx_names *names, struct dlt_onnx_arena *arena, const char *text,
                    struct dlt_error *error);
/* Frees the table; numbers and texts stay. */
void dlt_onnx_names_close(struct dlt_onnx_names *names);

#endif
