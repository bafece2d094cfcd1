/* SPDX-License-Identifier: Apache-2.0 */
/* Norms. */
#include <string.h>

#include "graph/onnx_layers.h"
#include "graph/op.h"

static int add_one(struct dlt_onnx_build *b, struct dlt_onnx_layer *layer, int x)
{
    return dlt_onnx_bind(b, 0, dlt_onnx_add(b, layer, &x, 1)) ? -1 : 1;
}

int dlt_onnx_batch_norm(struct dlt_onnx_build *b)
{
    bool instance = strcmp(b->node->op, "InstanceNormalization") == 0;
    struct dlt_onnx_layer layer = dlt_onnx_layer(instance ? "instance_norm" : "batch_norm");
    int tensor = dlt_onnx_input(b, 0) ? dlt_onnx_tensor(b, dlt_onnx_input(b, 0)) : -1;

    if (tensor < 0)
        return dlt_onnx_input(b, 0) ? -1 : dlt_fail(b->error, "needs an input");
    layer.weight = dlt_onnx_input(b, 1);
    layer.bias = dlt_onnx_input(b, 2);
    dlt_onnx_set(&layer, "affine", dlt_onnx_is_parameter(layer.weight));
    return add_one(b, &layer, tensor);
}

/* layer_norm or rms_norm over the last `count` dimensions. */
int dlt_onnx_norm(struct dlt_onnx_build *b, const char *op, int x, int count,
                  const struct dlt_onnx_value *scale, const struct dlt_onnx_value *bias)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer(op);
    const struct dlt_tensor *t = dlt_builder_tensor(b->builder, x);

    if (count < 1 || count > t->rank)
        return dlt_fail(b->error, "normalises %d of %d dimensions", count, t->rank);
    dlt_onnx_set_list(&layer, "normalized_shape", t->dim + t->rank - count, (size_t)count);
    dlt_onnx_set(&layer, "elementwise_affine", dlt_onnx_is_parameter(scale));
    dlt_onnx_set(&layer, "bias", dlt_onnx_is_parameter(bias));
    layer.weight = scale;
    layer.bias = bias;
    return dlt_onnx_add(b, &layer, &x, 1);
}

int dlt_onnx_layer_norm(struct dlt_onnx_build *b)
{
    bool simple = strcmp(b->node->op, "SimplifiedLayerNormalization") == 0 ||
                  strcmp(b->node->op, "RMSNormalization") == 0;
    int x = dlt_onnx_input(b, 0) ? dlt_onnx_tensor(b, dlt_onnx_input(b, 0)) : -1, axis, rank;

    if (x < 0)
        return dlt_onnx_input(b, 0) ? -1 : dlt_fail(b->error, "needs an input");
    rank = dlt_builder_tensor(b->builder, x)->rank;
    if (dlt_onnx_axis(b, dlt_onnx_integer(b, "axis", -1), rank, &axis))
        return -1;
    x = dlt_onnx_norm(b, simple ? "rms_norm" : "layer_norm", x, rank - axis, dlt_onnx_input(b, 1),
                      simple ? NULL : dlt_onnx_input(b, 2));
    return dlt_onnx_bind(b, 0, x) ? -1 : 1;
}

int dlt_onnx_group_norm(struct dlt_onnx_build *b)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("group_norm");
    int x = dlt_onnx_input(b, 0) ? dlt_onnx_tensor(b, dlt_onnx_input(b, 0)) : -1;
    int64_t groups = dlt_onnx_integer(b, "num_groups", dlt_onnx_integer(b, "groups", 1));

    if (x < 0)
        return dlt_onnx_input(b, 0) ? -1 : dlt_fail(b->error, "needs an input");
    if (groups < 1 || groups > INT32_MAX)
        return dlt_fail(b->error, "%lld groups", (long long)groups);
    dlt_onnx_set(&layer, "num_groups", groups);
    layer.weight = dlt_onnx_input(b, 1);
    layer.bias = dlt_onnx_input(b, 2);
    dlt_onnx_set(&layer, "affine", dlt_onnx_is_parameter(layer.weight));
    return add_one(b, &layer, x);
}

static int sum_of(struct dlt_onnx_build *b, const int *input, size_t count)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("add");

    return count == 1 ? input[0] : dlt_onnx_add(b, &layer, input, count);
}

/* input + skip (+ bias), then a norm. Outputs: the norm's, two that only gradients need, the sum.
 */
int dlt_onnx_skip_norm(struct dlt_onnx_build *b)
{
    bool simple = strcmp(b->node->op, "SkipSimplifiedLayerNormalization") == 0;
    size_t bias = simple ? 3 : 4;
    int input[3], sum;
    size_t count = 0;

    for (size_t k = 0; k < 3; k++) {
        struct dlt_onnx_value *value = dlt_onnx_input(b, k < 2 ? k : bias);

        if (!value && k < 2)
            return dlt_fail(b->error, "needs an input and what skips");
        if (!value)
            continue;
        input[count] = dlt_onnx_tensor(b, value);
        if (input[count++] < 0)
            return -1;
    }
    sum = sum_of(b, input, count);
    if (sum < 0 ||
        dlt_onnx_bind(b, 0,
                      dlt_onnx_norm(b, simple ? "rms_norm" : "layer_norm", sum, 1,
                                    dlt_onnx_input(b, 2), simple ? NULL : dlt_onnx_input(b, 3))))
        return -1;
    return dlt_onnx_bind(b, 3, sum) ? -1 : 1;
}
