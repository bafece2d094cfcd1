/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products: layers where one factor is a parameter. */
#include <string.h>

#include "graph/onnx_layers.h"
#include "graph/op.h"

int dlt_onnx_add_bias(struct dlt_onnx_build *b, int x, const struct dlt_onnx_value *bias)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("add");
    struct dlt_onnx_value copy = *bias;
    int input[2] = {x, dlt_onnx_tensor(b, &copy)};

    return input[1] < 0 ? -1 : dlt_onnx_add(b, &layer, input, 2);
}

int dlt_onnx_dense(struct dlt_onnx_build *b, int x, const struct dlt_onnx_value *weight,
                   const struct dlt_onnx_value *bias, int64_t out_features)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("dense");
    bool fits = bias && bias->kind == DLT_ONNX_PARAMETER && bias->constant->count == out_features;
    const struct dlt_tensor *t = dlt_builder_tensor(b->builder, x);
    int64_t in = t->rank > 0 ? t->dim[t->rank - 1] : 0;
    int out;

    if ((double)weight->constant->count != (double)in * (double)out_features)
        return dlt_fail(b->error, "its weight has %lld elements; %lld inputs need %.0f",
                        (long long)weight->constant->count, (long long)in,
                        (double)in * (double)out_features);
    layer.weight = weight;
    layer.bias = fits ? bias : NULL;
    dlt_onnx_set(&layer, "out_features", out_features);
    dlt_onnx_set(&layer, "bias", fits);
    out = dlt_onnx_add(b, &layer, &x, 1);
    return out < 0 || !bias || fits ? out : dlt_onnx_add_bias(b, out, bias);
}

/* The last two dimensions changed places. */
static int turned(struct dlt_onnx_build *b, int x)
{
    struct dlt_onnx_value value = {.kind = DLT_ONNX_TENSOR, .tensor = x};
    struct dlt_onnx_tensor shape, room;
    int64_t last;

    shape = *dlt_onnx_shape(b, &value, &room);
    if (shape.rank < 2)
        return x;
    last = shape.dim[shape.rank - 1];
    shape.dim[shape.rank - 1] = shape.dim[shape.rank - 2];
    shape.dim[shape.rank - 2] = last;
    return dlt_onnx_add_given(b, DLT_ONNX_GIVEN_PERMUTE, &shape, &x, 1);
}

/* A vector as a matrix of one row, or of one column; the product loses that dimension again. */
static int as_matrix(struct dlt_onnx_build *b, int x, bool column)
{
    struct dlt_onnx_value value = {.kind = DLT_ONNX_TENSOR, .tensor = x};
    struct dlt_onnx_tensor shape, room;

    shape = *dlt_onnx_shape(b, &value, &room);
    if (shape.rank != 1)
        return x;
    shape.rank = 2;
    shape.dim[1] = column ? 1 : shape.dim[0];
    shape.dim[0] = column ? shape.dim[0] : 1;
    return dlt_onnx_add_given(b, DLT_ONNX_GIVEN_RESHAPE, &shape, &x, 1);
}

int dlt_onnx_product(struct dlt_onnx_build *b, const int side[2], int *out)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("matmul");
    bool row = dlt_builder_tensor(b->builder, side[0])->rank == 1;
    bool column = dlt_builder_tensor(b->builder, side[1])->rank == 1;
    int input[2] = {as_matrix(b, side[0], false), as_matrix(b, side[1], true)};
    struct dlt_onnx_value value = {.kind = DLT_ONNX_TENSOR};
    struct dlt_onnx_tensor shape, room;

    if (input[0] < 0 || input[1] < 0)
        return -1;
    value.tensor = *out = dlt_onnx_add(b, &layer, input, 2);
    if (*out < 0 || (!row && !column))
        return *out;
    shape = *dlt_onnx_shape(b, &value, &room);
    shape.rank -= row + column;
    if (row && !column)
        shape.dim[shape.rank - 1] = room.dim[room.rank - 1];
    *out = dlt_onnx_add_given(b, DLT_ONNX_GIVEN_RESHAPE, &shape, out, 1);
    return *out;
}

/* x W, a layer with W as its weight where W is a matrix of parameters. */
static int product(struct dlt_onnx_build *b, bool turn_left, bool turn_right,
                   const struct dlt_onnx_value *bias)
{
    struct dlt_onnx_value *left = dlt_onnx_input(b, 0), *right = dlt_onnx_input(b, 1);
    int side[2], out;

    if (!left || !right)
        return dlt_fail(b->error, "needs two factors");
    side[0] = dlt_onnx_tensor(b, left);
    if (side[0] < 0 || (turn_left && (side[0] = turned(b, side[0])) < 0))
        return -1;
    if (right->kind == DLT_ONNX_PARAMETER && right->constant->rank == 2 &&
        left->kind != DLT_ONNX_PARAMETER && dlt_builder_tensor(b->builder, side[0])->rank > 1)
        return dlt_onnx_dense(b, side[0], right, bias, right->constant->dim[!turn_right]);
    side[1] = dlt_onnx_tensor(b, right);
    if (side[1] < 0 || (turn_right && (side[1] = turned(b, side[1])) < 0) ||
        dlt_onnx_product(b, side, &out) < 0)
        return -1;
    return bias ? dlt_onnx_add_bias(b, out, bias) : out;
}

int dlt_onnx_matmul(struct dlt_onnx_build *b)
{
    bool turn_left = dlt_onnx_integer(b, "transA", 0) != 0;
    bool turn_right = dlt_onnx_integer(b, "transB", 0) != 0;

    return dlt_onnx_bind(b, 0, product(b, turn_left, turn_right, dlt_onnx_input(b, 2))) ? -1 : 1;
}
