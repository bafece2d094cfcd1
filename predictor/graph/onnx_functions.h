/*
 * onnx_functions.h - what ONNX's elementwise operators do with numbers that are known.
 */
#ifndef DLT_GRAPH_ONNX_FUNCTIONS_H
#define DLT_GRAPH_ONNX_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct dlt_onnx_binary {
    const char *op;
    int64_t (*integer)(int64_t, int64_t);
    double (*real)(double, double);
    bool compares; /* gives booleans; of real numbers by their difference's sign */
};

struct dlt_onnx_unary {
    const char *op;
    double (*real)(double);
    bool casts; /* the number as it is, in the type that the node says */
};

/* NULL: there is none. */
const struct dlt_onnx_binary *dlt_onnx_find_binary(const char *op);
const struct dlt_onnx_unary *dlt_onnx_find_unary(const char *op);

#endif
