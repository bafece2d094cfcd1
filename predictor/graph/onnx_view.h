/*
 * onnx_view.h - private to the ONNX loader: the same elements in another order or shape.
 */
#ifndef DLT_GRAPH_ONNX_VIEW_H
#define DLT_GRAPH_ONNX_VIEW_H

#include "graph/onnx_build.h"

/* Which element of the input each element of the output is: offset + sum of place x stride. */
struct dlt_onnx_view {
    struct dlt_onnx_tensor shape;
    int64_t stride[DLT_RANK], offset;
};

/* Elements between neighbours of each dimension. */
void dlt_onnx_strides(const struct dlt_onnx_tensor *t, int64_t stride[DLT_RANK]);
/* A tensor as it is. */
struct dlt_onnx_view dlt_onnx_view_whole(const struct dlt_onnx_tensor *t);
/* Its count from its dimensions, which have to be in range. */
int dlt_onnx_recount(struct dlt_onnx_build *b, struct dlt_onnx_tensor *t);
/* Binds the k-th output to a view of `in`: a constant is rearranged, a parameter stays one, of a
 * tensor a node `given` is made. part: it is some of the input's elements, so that as a parameter
 * it is another one. */
int dlt_onnx_bind_view(struct dlt_onnx_build *b, size_t k, struct dlt_onnx_value *in,
                       const struct dlt_onnx_view *v, enum dlt_onnx_given given, bool part);

#endif
