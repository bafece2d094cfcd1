/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that were exported as many nodes: one node of ours for all of them. */
#include <string.h>

#include "graph/onnx_layers.h"
#include "graph/op.h"

/* What a layer may do without: NULL where it is not there. */
static struct dlt_onnx_value *optional(struct dlt_onnx_build *b, int name)
{
    struct dlt_onnx_value *value = dlt_onnx_value(b, name);

    return value && value->kind != DLT_ONNX_NOTHING ? value : NULL;
}

static int fused_over(struct dlt_onnx_build *b, const struct dlt_onnx_fusion *f, int rank,
                      struct dlt_onnx_ints *axes)
{
    const struct dlt_onnx_node *node = b->node;
    int found;

    b->node = f->reduce;
    found = dlt_onnx_list_or_input(b, "axes", 1, axes);
    b->node = node;
    if (found < 0)
        return dlt_fail(b->error, "its axes depend on the data");
    return axes->count ? (int)axes->count : rank;
}

static int fused_group_norm(struct dlt_onnx_build *b, const struct dlt_onnx_fusion *f, int x)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("group_norm");
    const struct dlt_onnx_value *groups = dlt_onnx_value(b, f->groups);

    if (groups->kind == DLT_ONNX_TENSOR || groups->kind == DLT_ONNX_NOTHING)
        return dlt_fail(b->error, "the number of its groups depends on the data");
    layer.weight = optional(b, f->scale);
    layer.bias = optional(b, f->bias);
    dlt_onnx_set(&layer, "num_groups", groups->constant->count);
    dlt_onnx_set(&layer, "affine", dlt_onnx_is_parameter(layer.weight));
    return dlt_onnx_add(b, &layer, &x, 1);
}

static int fused_dense(struct dlt_onnx_build *b, const struct dlt_onnx_fusion *f, int x)
{
    struct dlt_onnx_value *weight = optional(b, f->scale), *bias = optional(b, f->bias);
    int side[2] = {x, -1}, out;

    if (!weight || !bias)
        return dlt_fail(b->error, "reads what no node made");
    if (weight->kind != DLT_ONNX_TENSOR && weight->constant->rank == 2 &&
        dlt_builder_tensor(b->builder, x)->rank > 1)
        return dlt_onnx_dense(b, x, weight, bias, weight->constant->dim[1]);
    side[1] = dlt_onnx_tensor(b, weight);
    return side[1] < 0 || dlt_onnx_product(b, side, &out) < 0 ? -1
                                                              : dlt_onnx_add_bias(b, out, bias);
}

static int fused_softmax(struct dlt_onnx_build *b, const struct dlt_onnx_ints *axes, int x)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("softmax");

    if (axes->count == 1)
        dlt_onnx_set(&layer, "dim", axes->value[0]);
    return dlt_onnx_add(b, &layer, &x, 1);
}

int dlt_onnx_fused_node(struct dlt_onnx_build *b, const struct dlt_onnx_fusion *f)
{
    struct dlt_onnx_value *in = optional(b, f->x);
    struct dlt_onnx_layer layer = dlt_onnx_layer(f->layer);
    struct dlt_onnx_ints axes = {0};
    int x = in ? dlt_onnx_tensor(b, in) : -1, count = 0, out;

    if (x < 0)
        return in ? -1 : dlt_fail(b->error, "reads what no node made");
    if (f->reduce && (count = fused_over(b, f, dlt_builder_tensor(b->builder, x)->rank, &axes)) < 0)
        return -1;
    if (f->groups >= 0)
        out = fused_group_norm(b, f, x);
    else if (f->reduce)
        out =
            strcmp(f->layer, "softmax") == 0
                ? fused_softmax(b, &axes, x)
                : dlt_onnx_norm(b, f->layer, x, count, optional(b, f->scale), optional(b, f->bias));
    else if (f->scale >= 0)
        out = fused_dense(b, f, x);
    else
        out = dlt_onnx_add(b, &layer, &x, 1);
    return dlt_onnx_bind(b, 0, out) ? -1 : 1;
}
