/*
 * onnx_read.h - private to the reading of an ONNX file: where it stands, texts and tensors.
 */
#ifndef DLT_GRAPH_ONNX_READ_H
#define DLT_GRAPH_ONNX_READ_H

#include "graph/onnx_model.h"
#include "graph/onnx_wire.h"

struct dlt_onnx_reader {
    struct dlt_wire wire;
    struct dlt_onnx_arena *arena;
    struct dlt_onnx_names *names;
    size_t *nodes;
    int depth; /* of graphs within attributes */
    struct dlt_error *error;
};

/* Reads a message within a field, from its first byte on, and goes on behind it. */
#define DLT_ONNX_INSIDE(reader, field, call)                                                       \
    (((reader)->wire.at = (field).begin, (call)) ? -1 : ((reader)->wire.at = (field).end, 0))

/* All of them: 0, or -1 with the reader's error filled. */

/* A field's bytes as a text in the arena: UTF-8 without zero bytes, DLT_ONNX_NAME at most. */
int dlt_onnx_text(struct dlt_onnx_reader *r, const struct dlt_wire_field *field, const char **text);
/* The same without a look at what the bytes are; only the first ones are kept. */
int dlt_onnx_bytes(struct dlt_onnx_reader *r, const struct dlt_wire_field *field,
                   const char **text);

/* Numbers of a repeated field, packed or one by one. */
struct dlt_onnx_list {
    int64_t *ints;
    double *reals;
    size_t count, room;
    bool real;
};
/* width: bytes of each number; 0: varints. */
int dlt_onnx_append(struct dlt_onnx_reader *r, const struct dlt_wire_field *field, int width,
                    struct dlt_onnx_list *list);
/* The number whose bits these are: of 2 (half), 4 or 8 bytes. */
double dlt_onnx_real(uint64_t bits, int width);

/* A TensorProto. */
int dlt_onnx_read_tensor(struct dlt_onnx_reader *r, const struct dlt_wire_field *field,
                         struct dlt_onnx_tensor *tensor);
/* Checks dimensions and multiplies them. */
int dlt_onnx_set_dims(struct dlt_onnx_reader *r, struct dlt_onnx_tensor *tensor,
                      const struct dlt_onnx_list *dims);

#endif
