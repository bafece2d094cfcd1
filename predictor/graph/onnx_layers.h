/*
 * onnx_layers.h - private to the ONNX loader: the families of layers with parameters.
 */
#ifndef DLT_GRAPH_ONNX_LAYERS_H
#define DLT_GRAPH_ONNX_LAYERS_H

#include "graph/onnx_build.h"

/* Nodes: 1 done, 0 not understood, -1 failed. */
int dlt_onnx_matmul(struct dlt_onnx_build *b);
int dlt_onnx_batch_norm(struct dlt_onnx_build *b);
int dlt_onnx_layer_norm(struct dlt_onnx_build *b);
int dlt_onnx_group_norm(struct dlt_onnx_build *b);
int dlt_onnx_skip_norm(struct dlt_onnx_build *b);

/* Tensors; -1: failed. */

/* A product of two tensors as ONNX's MatMul; *out as well as returned. */
int dlt_onnx_product(struct dlt_onnx_build *b, const int side[2], int *out);
int dlt_onnx_add_bias(struct dlt_onnx_build *b, int x, const struct dlt_onnx_value *bias);
/* layer_norm or rms_norm over the last `count` dimensions; scale, bias: NULL where there is none.
 */
int dlt_onnx_norm(struct dlt_onnx_build *b, const char *op, int x, int count,
                  const struct dlt_onnx_value *scale, const struct dlt_onnx_value *bias);

#endif
