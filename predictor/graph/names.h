/*
 * names.h - a hash table from a layer's full name to its first output tensor and its node.
 */
#ifndef DLT_GRAPH_NAMES_H
#define DLT_GRAPH_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct dlt_name {
    char *text; /* NULL: free */
    size_t hash;
    int tensor;
    int node; /* -1: an input of the network */
};

/* Zero-initialise. */
struct dlt_names {
    struct dlt_name *slot;
    size_t room, count;
};

/* 1: added; 0: the name is there already; -1: out of memory. text is copied. */
int dlt_names_add(struct dlt_names *names, const char *text, int tensor, int node);
/* NULL if it is not there; valid until the next addition. */
const struct dlt_name *dlt_names_find(const struct dlt_names *names, const char *text);
/* Points an existing name elsewhere. */
void dlt_names_move(struct dlt_names *names, const char *text, int tensor, int node);
void dlt_names_clear(struct dlt_names *names);

#endif
