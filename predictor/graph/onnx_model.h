/*
 * onnx_model.h - an ONNX file as plain structs: all of its graphs, none of its weights.
 *
 * The shapes of all tensors are kept, the elements of small ones only: integers up to
 * DLT_ONNX_INTS (shapes, axes, indices) and up to DLT_ONNX_REALS other numbers (scales, constants).
 * External data is never opened. Names of values are numbered: two values are the same where their
 * numbers are. Everything belongs to the model and is freed with it.
 */
#ifndef DLT_GRAPH_ONNX_MODEL_H
#define DLT_GRAPH_ONNX_MODEL_H

#include "base/error.h"
#include "graph/graph.h"
#include "graph/onnx_names.h"

enum {
    DLT_ONNX_INTS = 8192,
    DLT_ONNX_REALS = 256,
    DLT_ONNX_NODES = 250000, /* of all graphs and functions of a file */
    DLT_ONNX_DEPTH = 16,     /* of graphs within attributes */
    DLT_ONNX_NAME = 4096     /* bytes */
};

/* TensorProto.DataType, as far as anything here depends on it. */
enum {
    DLT_ONNX_FLOAT = 1,
    DLT_ONNX_INT32 = 6,
    DLT_ONNX_INT64 = 7,
    DLT_ONNX_STRING = 8,
    DLT_ONNX_BOOL = 9,
    DLT_ONNX_FLOAT16 = 10,
    DLT_ONNX_DOUBLE = 11,
    DLT_ONNX_BFLOAT16 = 16
};
/* Whether its elements are real numbers: what can be trained. */
bool dlt_onnx_type_is_real(int type);

struct dlt_onnx_tensor {
    int name; /* -1: none (an attribute) */
    int type;
    int rank;
    int64_t dim[DLT_RANK];
    int64_t count;       /* elements */
    const int64_t *ints; /* NULL: not kept, or not of an integer type */
    const double *reals; /* NULL: not kept, or of an integer type */
};

/* value -1: symbolic; then param is its name, "" where it has none. */
struct dlt_onnx_dim {
    int64_t value;
    const char *param;
};

struct dlt_onnx_info {
    int name;
    int type; /* 0: no tensor */
    int rank; /* -1: not said */
    struct dlt_onnx_dim *dim;
};

struct dlt_onnx_graph;

struct dlt_onnx_attribute {
    const char *name;
    const char *reference; /* in a function: the attribute of the call that it stands for; or "" */
    int type;              /* AttributeProto.AttributeType; 0: not said */
    int64_t integer;
    double real;
    const char *text;
    const int64_t *ints;
    const double *reals;
    size_t int_count, real_count;
    const struct dlt_onnx_tensor *tensor;
    const struct dlt_onnx_graph *graph;
};

struct dlt_onnx_node {
    const char *name, *op, *domain; /* "" where not said */
    const int *input, *output;      /* numbers of names; -1: left out */
    size_t input_count, output_count;
    const struct dlt_onnx_attribute *attribute;
    size_t attribute_count;
};

struct dlt_onnx_graph {
    const char *name;
    struct dlt_onnx_node *node;
    size_t node_count;
    struct dlt_onnx_tensor *initializer;
    size_t initializer_count;
    struct dlt_onnx_info *input, *output, *value;
    size_t input_count, output_count, value_count;
};

/* A function of the file: what nodes of its name and domain stand for. */
struct dlt_onnx_function {
    const char *name, *domain;
    struct dlt_onnx_names names; /* of the values inside it */
    int *input, *output;
    size_t input_count, output_count;
    struct dlt_onnx_graph graph; /* nodes alone */
    int opset;
};

struct dlt_onnx_model {
    struct dlt_onnx_arena arena;
    struct dlt_onnx_names names; /* of the values of the graph and the graphs within it */
    int opset;                   /* of the default domain; 0: not said */
    size_t nodes;                /* of all graphs */
    struct dlt_onnx_graph graph;
    struct dlt_onnx_function *function;
    size_t function_count;
};

/* Reads a file of `size` bytes. Errors name the byte, or the value. The caller destroys. */
int dlt_onnx_read(int fd, int64_t size, struct dlt_onnx_model **model, struct dlt_error *error);
void dlt_onnx_destroy(struct dlt_onnx_model *model);

#endif
