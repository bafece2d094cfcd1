/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/onnx_view.h"

#include <string.h>

void dlt_onnx_strides(const struct dlt_onnx_tensor *t, int64_t stride[DLT_RANK])
{
    int64_t step = 1;

    for (int d = t->rank; d-- > 0; step *= t->dim[d])
        stride[d] = step;
}

struct dlt_onnx_view dlt_onnx_view_whole(const struct dlt_onnx_tensor *t)
{
    struct dlt_onnx_view v = {
        .shape = {.name = -1, .type = t->type, .rank = t->rank, .count = t->count}};

    memcpy(v.shape.dim, t->dim, sizeof t->dim);
    dlt_onnx_strides(t, v.stride);
    return v;
}

int dlt_onnx_recount(struct dlt_onnx_build *b, struct dlt_onnx_tensor *t)
{
    t->count = 1;
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] < 0 || t->dim[d] > INT32_MAX ||
            __builtin_mul_overflow(t->count, t->dim[d], &t->count) || t->count > INT64_C(1) << 53)
            return dlt_fail(b->error, "a size of %lld, or more than 2^53 elements",
                            (long long)t->dim[d]);
    return 0;
}

static uint64_t mix(uint64_t key, uint64_t more)
{
    key = (key ^ more) * 0x9e3779b97f4a7c15U;
    return (key ^ key >> 29) | 1;
}

static int64_t place_of(const struct dlt_onnx_view *v, int64_t i)
{
    int64_t at = v->offset;

    for (int d = v->shape.rank; d-- > 0; i /= v->shape.dim[d])
        at += i % v->shape.dim[d] * v->stride[d];
    return at;
}

static int bind_constant(struct dlt_onnx_build *b, size_t k, const struct dlt_onnx_value *in,
                         const struct dlt_onnx_view *v)
{
    const struct dlt_onnx_tensor *x = in->constant;
    bool known = x->ints || x->reals;
    struct dlt_onnx_tensor *out = dlt_onnx_constant(b, x->type, v->shape.rank, v->shape.dim, known);
    struct dlt_onnx_value value = dlt_onnx_of(out, in->literal);

    if (!out)
        return -1;
    for (int64_t i = 0; (out->ints || out->reals) && i < out->count; i++) {
        int64_t at = place_of(v, i);

        dlt_onnx_set_element(out, i, dlt_onnx_element(x, at), x->ints ? x->ints[at] : 0);
    }
    return dlt_onnx_bind_value(b, k, &value);
}

int dlt_onnx_bind_view(struct dlt_onnx_build *b, size_t k, struct dlt_onnx_value *in,
                       const struct dlt_onnx_view *v, enum dlt_onnx_given given, bool part)
{
    struct dlt_onnx_tensor room;
    const struct dlt_onnx_tensor *x = dlt_onnx_shape(b, in, &room);
    struct dlt_onnx_value value = *in;
    bool same = v->shape.rank == x->rank && !part && given != DLT_ONNX_GIVEN_PERMUTE;
    int tensor;

    for (int d = 0; same && d < x->rank; d++)
        same = v->shape.dim[d] == x->dim[d];
    if (same)
        return dlt_onnx_bind_value(b, k, &value);
    if (in->kind == DLT_ONNX_CONSTANT)
        return bind_constant(b, k, in, v);
    if (in->kind == DLT_ONNX_PARAMETER && v->shape.count <= x->count) {
        value.constant = dlt_onnx_constant(b, x->type, v->shape.rank, v->shape.dim, false);
        value.tensor = -1;
        if (part && v->shape.count < x->count) {
            value.key = mix(mix(in->key, (uint64_t)v->offset), (uint64_t)v->shape.count);
            for (int d = 0; d < v->shape.rank; d++)
                value.key = mix(value.key, (uint64_t)v->shape.dim[d]);
        }
        return value.constant ? dlt_onnx_bind_value(b, k, &value) : -1;
    }
    tensor = dlt_onnx_tensor(b, in);
    return tensor < 0 ? -1
                      : dlt_onnx_bind(b, k, dlt_onnx_add_given(b, given, &v->shape, &tensor, 1));
}
