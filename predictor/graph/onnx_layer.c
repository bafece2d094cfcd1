/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions, pools, recurrent layers; and the table of all layers with parameters. */
#include <stdio.h>
#include <string.h>

#include "graph/onnx_layers.h"
#include "graph/op.h"

/* The name of an operator for 1, 2 or 3 spatial dimensions. */
static const char *spatial_name(char name[48], const char *base, int dims)
{
    snprintf(name, 48, "%s%dd", base, dims);
    return name;
}

static int spatial_rank(struct dlt_onnx_build *b, int rank)
{
    if (rank < 3 || rank > 5)
        return dlt_fail(b->error, "its input has %d dimensions; 3 to 5 are understood", rank);
    return rank - 2;
}

/* auto_pad, as TensorFlow pads: out = ceil(in / stride). */
static int auto_padding(struct dlt_onnx_build *b, const struct dlt_onnx_tensor *x,
                        const int64_t *kernel, struct dlt_onnx_layer *layer)
{
    const char *kind = dlt_onnx_word(b, "auto_pad", "NOTSET");
    struct dlt_onnx_ints stride, dilation;

    if (strncmp(kind, "SAME", 4) != 0)
        return 0;
    dlt_onnx_ints(b, "strides", &stride);
    dlt_onnx_ints(b, "dilations", &dilation);
    for (int d = 0; d < x->rank - 2; d++) {
        int64_t step = (size_t)d < stride.count ? stride.value[d] : 1;
        int64_t apart = (size_t)d < dilation.count ? dilation.value[d] : 1;
        int64_t size = x->dim[d + 2], total;

        if (step < 1 || apart < 1 || step > INT32_MAX || apart > INT32_MAX || kernel[d] > INT32_MAX)
            return dlt_fail(b->error, "strides and dilations range from 1 to 2147483647");
        total = ((size + step - 1) / step - 1) * step + apart * (kernel[d] - 1) + 1 - size;
        total = total > 0 ? total : 0;
        dlt_onnx_set_at(layer, "padding", 2 * (size_t)d,
                        strcmp(kind, "SAME_LOWER") == 0 ? total - total / 2 : total / 2);
        dlt_onnx_set_at(layer, "padding", 2 * (size_t)d + 1,
                        strcmp(kind, "SAME_LOWER") == 0 ? total / 2 : total - total / 2);
    }
    return 0;
}

static int check_window(struct dlt_onnx_build *b, const char *what, int64_t value, int64_t least)
{
    if (value < least || value > 1 << 24)
        return dlt_fail(b->error, "%s: a size of %lld; it ranges from %lld to 16777216", what,
                        (long long)value, (long long)least);
    return 0;
}

/* kernel, stride, padding and dilation of a window over x. */
static int set_window(struct dlt_onnx_build *b, const struct dlt_onnx_tensor *x,
                      const int64_t *kernel, struct dlt_onnx_layer *layer)
{
    static const struct {
        const char *theirs, *ours;
        int64_t least;
    } lists[] = {{"strides", "stride", 1},
                 {"dilations", "dilation", 1},
                 {"output_padding", "output_padding", 0}};
    int dims = x->rank - 2;
    struct dlt_onnx_ints pads;

    for (int d = 0; d < dims; d++) {
        if (check_window(b, "kernel_shape", kernel[d], 1))
            return -1;
        dlt_onnx_set_at(layer, "kernel_size", (size_t)d, kernel[d]);
        dlt_onnx_set_at(layer, "stride", (size_t)d, 1);
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct dlt_onnx_ints list;

        if (!dlt_onnx_ints(b, lists[i].theirs, &list))
            continue;
        if (list.count != (size_t)dims)
            return dlt_fail(b->error, "%s has %zu numbers for %d dimensions", lists[i].theirs,
                            list.count, dims);
        for (size_t d = 0; d < list.count; d++) {
            if (check_window(b, lists[i].theirs, list.value[d], lists[i].least))
                return -1;
            dlt_onnx_set_at(layer, lists[i].ours, d, list.value[d]);
        }
    }
    if (dlt_onnx_ints(b, "pads", &pads) && pads.count != 2 * (size_t)dims)
        return dlt_fail(b->error, "pads has %zu numbers for %d dimensions", pads.count, dims);
    for (size_t d = 0; d < pads.count; d++) {
        if (check_window(b, "pads", pads.value[d], 0))
            return -1;
        dlt_onnx_set_at(layer, "padding", 2 * (d % (size_t)dims) + d / (size_t)dims, pads.value[d]);
    }
    return auto_padding(b, x, kernel, layer);
}

/* The padding of a transposed convolution that is told its output's sizes, or by SAME that they are
 * input x stride. */
static int transposed_padding(struct dlt_onnx_build *b, const struct dlt_onnx_tensor *x,
                              const int64_t *kernel, struct dlt_onnx_layer *layer)
{
    bool same = strncmp(dlt_onnx_word(b, "auto_pad", "NOTSET"), "SAME", 4) == 0;
    size_t dims = (size_t)x->rank - 2;
    struct dlt_onnx_ints told, stride, dilation, extra;

    dlt_onnx_ints(b, "strides", &stride);
    dlt_onnx_ints(b, "dilations", &dilation);
    dlt_onnx_ints(b, "output_padding", &extra);
    if (!dlt_onnx_ints(b, "output_shape", &told) && !same)
        return 0;
    /* Some exporters tell batch and channels as well. */
    if (told.count > 0 && told.count != dims && told.count != dims + 2)
        return dlt_fail(b->error, "output_shape has %zu numbers for %zu dimensions", told.count,
                        dims);
    for (size_t d = 0; d < dims; d++) {
        int64_t step = stride.count ? stride.value[d] : 1, size = x->dim[d + 2], total;
        int64_t apart = dilation.count ? dilation.value[d] : 1;
        int64_t more = extra.count ? extra.value[d] : 0;

        if (size > INT32_MAX)
            return dlt_fail(b->error, "a size of %lld", (long long)size);
        total = step * (size - 1) + more + apart * (kernel[d] - 1) + 1;
        size = told.count ? told.value[told.count - dims + d] : step * size;
        if (check_window(b, "output_shape", size, 1))
            return -1;
        total -= size;
        dlt_onnx_set_at(layer, "padding", 2 * d, total > 0 ? total / 2 : 0);
        dlt_onnx_set_at(layer, "padding", 2 * d + 1, total > 0 ? total - total / 2 : 0);
        dlt_onnx_set_at(layer, "output_padding", d, total > 0 ? more : more - total);
    }
    return 0;
}

static int add_one(struct dlt_onnx_build *b, struct dlt_onnx_layer *layer, int x)
{
    return dlt_onnx_bind(b, 0, dlt_onnx_add(b, layer, &x, 1)) ? -1 : 1;
}

/* Conv and ConvTranspose: W is [out, in / groups, ...], or [in, out / groups, ...]. */
static int layer_convolution(struct dlt_onnx_build *b)
{
    bool transposed = strcmp(b->node->op, "ConvTranspose") == 0;
    struct dlt_onnx_value *in = dlt_onnx_input(b, 0), *weight = dlt_onnx_input(b, 1);
    struct dlt_onnx_tensor room, weight_room;
    const struct dlt_onnx_tensor *x, *w;
    struct dlt_onnx_layer layer;
    int64_t groups = dlt_onnx_integer(b, "group", 1), in_channels, out_channels;
    char name[48];
    int tensor, dims;

    if (!in || !weight)
        return dlt_fail(b->error, "needs an input and a weight");
    x = dlt_onnx_shape(b, in, &room);
    w = dlt_onnx_shape(b, weight, &weight_room);
    dims = spatial_rank(b, x->rank);
    if (dims < 0)
        return -1;
    if (w->rank != x->rank)
        return dlt_fail(b->error, "its weight has %d dimensions, its input %d", w->rank, x->rank);
    if (groups < 1 || groups > INT32_MAX || w->count == 0)
        return dlt_fail(b->error, "a weight without elements, or %lld groups", (long long)groups);
    out_channels = transposed ? w->dim[1] * groups : w->dim[0];
    in_channels = transposed ? w->dim[0] : w->dim[1] * groups;
    if (x->dim[1] != in_channels || out_channels > INT32_MAX)
        return dlt_fail(b->error, "its weight is for %lld channels, its input has %lld",
                        (long long)in_channels, (long long)x->dim[1]);
    layer = dlt_onnx_layer(spatial_name(name, transposed ? "conv_transpose" : "conv", dims));
    layer.weight = weight;
    layer.bias = dlt_onnx_input(b, 2);
    dlt_onnx_set(&layer, "out_channels", out_channels);
    dlt_onnx_set(&layer, "groups", groups);
    dlt_onnx_set(&layer, "bias", layer.bias != NULL);
    if (set_window(b, x, w->dim + 2, &layer) ||
        (transposed && transposed_padding(b, x, w->dim + 2, &layer)))
        return -1;
    tensor = dlt_onnx_tensor(b, in);
    return tensor < 0 ? -1 : add_one(b, &layer, tensor);
}

/* Where in each window the largest was, which the kernel writes anyway. */
static int pool_indices(struct dlt_onnx_build *b)
{
    struct dlt_onnx_value *pooled;
    struct dlt_onnx_tensor shape, room;

    if (b->node->output_count < 2 || b->node->output[0] < 0 || b->node->output[1] < 0)
        return 1;
    pooled = dlt_onnx_value(b, b->node->output[0]);
    shape = *dlt_onnx_shape(b, pooled, &room);
    shape.type = DLT_ONNX_INT64;
    return dlt_onnx_bind(b, 1,
                         dlt_onnx_add_given(b, DLT_ONNX_GIVEN_RESHAPE, &shape, &pooled->tensor, 1))
               ? -1
               : 1;
}

static int layer_pool(struct dlt_onnx_build *b)
{
    struct dlt_onnx_value *in = dlt_onnx_input(b, 0);
    bool max = strcmp(b->node->op, "MaxPool") == 0;
    struct dlt_onnx_tensor room;
    const struct dlt_onnx_tensor *x;
    struct dlt_onnx_layer layer;
    struct dlt_onnx_ints kernel;
    char name[48];
    int tensor, dims;

    if (!in)
        return dlt_fail(b->error, "needs an input");
    x = dlt_onnx_shape(b, in, &room);
    dims = spatial_rank(b, x->rank);
    if (dims < 0)
        return -1;
    if (!dlt_onnx_ints(b, "kernel_shape", &kernel) || kernel.count != (size_t)dims)
        return dlt_fail(b->error, "kernel_shape has %zu numbers for %d dimensions", kernel.count,
                        dims);
    layer = dlt_onnx_layer(spatial_name(name, max ? "max_pool" : "avg_pool", dims));
    dlt_onnx_set(&layer, "ceil_mode", dlt_onnx_integer(b, "ceil_mode", 0) != 0);
    dlt_onnx_set(&layer, "count_include_pad", dlt_onnx_integer(b, "count_include_pad", 0) != 0);
    if (set_window(b, x, kernel.value, &layer))
        return -1;
    tensor = dlt_onnx_tensor(b, in);
    return tensor < 0 || add_one(b, &layer, tensor) < 0 ? -1 : pool_indices(b);
}

static int layer_global_pool(struct dlt_onnx_build *b)
{
    struct dlt_onnx_value *in = dlt_onnx_input(b, 0);
    bool max = strcmp(b->node->op, "GlobalMaxPool") == 0;
    struct dlt_onnx_layer layer;
    char name[48];
    int tensor, dims;

    if (!in)
        return dlt_fail(b->error, "needs an input");
    tensor = dlt_onnx_tensor(b, in);
    if (tensor < 0)
        return -1;
    dims = spatial_rank(b, dlt_builder_tensor(b->builder, tensor)->rank);
    if (dims < 0)
        return -1;
    layer =
        dlt_onnx_layer(spatial_name(name, max ? "adaptive_max_pool" : "adaptive_avg_pool", dims));
    for (int d = 0; d < dims; d++)
        dlt_onnx_set_at(&layer, "output_size", (size_t)d, 1);
    return add_one(b, &layer, tensor);
}

/* ---- recurrent ---- */

/* [length, batch, directions x hidden] as [length, directions, batch, hidden]. */
static int recurrent_outputs(struct dlt_onnx_build *b, int y, int64_t directions, int64_t hidden,
                             bool batch_first)
{
    const struct dlt_tensor *t = dlt_builder_tensor(b->builder, y);
    struct dlt_onnx_tensor all = {.name = -1, .type = DLT_ONNX_FLOAT, .rank = 4};

    all.dim[0] = t->dim[0];
    all.dim[1] = batch_first ? t->dim[1] : directions;
    all.dim[2] = batch_first ? directions : t->dim[1];
    all.dim[3] = hidden;
    return dlt_onnx_bind(b, 0, dlt_onnx_add_given(b, DLT_ONNX_GIVEN_PERMUTE, &all, &y, 1));
}

static int layer_recurrent(struct dlt_onnx_build *b)
{
    static const char *const ops[] = {"RNN", "GRU", "LSTM"}, *const names[] = {"rnn", "gru",
                                                                               "lstm"};
    int which = dlt_name_index(ops, 3, b->node->op);
    struct dlt_onnx_layer layer = dlt_onnx_layer(names[which]);
    struct dlt_onnx_value *in = dlt_onnx_input(b, 0), *weight = dlt_onnx_input(b, 1);
    bool both = strcmp(dlt_onnx_word(b, "direction", "forward"), "bidirectional") == 0;
    bool batch_first = dlt_onnx_integer(b, "layout", 0) != 0;
    int64_t hidden = dlt_onnx_integer(b, "hidden_size", 0);
    int x, y, node;

    if (!in || !weight || !dlt_onnx_input(b, 2))
        return dlt_fail(b->error, "needs an input and two weights");
    x = dlt_onnx_tensor(b, in);
    if (x < 0)
        return -1;
    if (weight->kind == DLT_ONNX_TENSOR || weight->constant->rank != 3)
        return dlt_fail(b->error, "its weight is computed from the input, or has not 3 dimensions");
    if (hidden == 0)
        hidden = weight->constant->dim[1] / (which == 2 ? 4 : which == 1 ? 3 : 1);
    if (hidden < 1 || hidden > INT32_MAX || dlt_builder_tensor(b->builder, x)->rank != 3)
        return dlt_fail(b->error, "a hidden size of %lld, or an input that has not 3 dimensions",
                        (long long)hidden);
    layer.weight = weight;
    layer.bias = dlt_onnx_input(b, 3);
    dlt_onnx_set(&layer, "hidden_size", hidden);
    dlt_onnx_set(&layer, "bias", layer.bias != NULL);
    dlt_onnx_set(&layer, "bidirectional", both);
    dlt_onnx_set(&layer, "batch_first", batch_first);
    y = dlt_onnx_add(b, &layer, &x, 1);
    if (y < 0 || recurrent_outputs(b, y, both ? 2 : 1, hidden, batch_first))
        return -1;
    node = dlt_builder_maker(b->builder, y);
    for (size_t k = 1; k < b->node->output_count && k < 3; k++)
        if (b->node->output[k] >= 0 && dlt_builder_output(b->builder, node, k) >= 0 &&
            dlt_onnx_bind(b, k, dlt_builder_output(b->builder, node, k)))
            return -1;
    return 1;
}

static int layer_prelu(struct dlt_onnx_build *b)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("prelu");
    struct dlt_onnx_value *slope = dlt_onnx_input(b, 1);
    int x = dlt_onnx_input(b, 0) ? dlt_onnx_tensor(b, dlt_onnx_input(b, 0)) : -1;

    if (x < 0)
        return dlt_onnx_input(b, 0) ? -1 : dlt_fail(b->error, "needs an input");
    if (!dlt_onnx_is_parameter(slope) || slope->constant->count > INT32_MAX)
        return 0;
    layer.weight = slope;
    dlt_onnx_set(&layer, "num_parameters", slope->constant->count);
    return add_one(b, &layer, x);
}

/* ---- table ---- */

static const struct {
    const char *domain, *op;
    int (*add)(struct dlt_onnx_build *);
} layers[] = {
    {"", "Conv", layer_convolution},
    {"", "ConvTranspose", layer_convolution},
    {"", "MaxPool", layer_pool},
    {"", "AveragePool", layer_pool},
    {"", "GlobalAveragePool", layer_global_pool},
    {"", "GlobalMaxPool", layer_global_pool},
    {"", "Gemm", dlt_onnx_matmul},
    {"", "MatMul", dlt_onnx_matmul},
    {"", "BatchNormalization", dlt_onnx_batch_norm},
    {"", "InstanceNormalization", dlt_onnx_batch_norm},
    {"", "LayerNormalization", dlt_onnx_layer_norm},
    {"", "RMSNormalization", dlt_onnx_layer_norm},
    {"", "SimplifiedLayerNormalization",
     dlt_onnx_layer_norm}, /* onnxruntime writes it into this domain */
    {"", "GroupNormalization", dlt_onnx_group_norm},
    {"", "RNN", layer_recurrent},
    {"", "GRU", layer_recurrent},
    {"", "LSTM", layer_recurrent},
    {"", "PRelu", layer_prelu},
    {"com.microsoft", "FusedMatMul", dlt_onnx_matmul},
    {"com.microsoft", "FusedGemm", dlt_onnx_matmul},
    {"com.microsoft", "LayerNormalization", dlt_onnx_layer_norm},
    {"com.microsoft", "SimplifiedLayerNormalization", dlt_onnx_layer_norm},
    {"com.microsoft", "SkipLayerNormalization", dlt_onnx_skip_norm},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", dlt_onnx_skip_norm},
    {"com.microsoft", "GroupNorm", dlt_onnx_group_norm},
};

int dlt_onnx_layer_node(struct dlt_onnx_build *b)
{
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (strcmp(layers[i].op, b->node->op) == 0 &&
            strcmp(layers[i].domain, b->node->domain) == 0)
            return layers[i].add(b);
    return 0;
}
