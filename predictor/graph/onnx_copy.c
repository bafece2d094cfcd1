/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that copy: concatenation, padding, repetition, resizing. */
#include <string.h>

#include "graph/onnx_build.h"
#include "graph/op.h"

/* A tensor that was written for the file's batch, as wide as the others. */
static int widen(struct dlt_onnx_build *b, int tensor, int64_t size)
{
    struct dlt_onnx_value value = {.kind = DLT_ONNX_TENSOR, .tensor = tensor};
    struct dlt_onnx_tensor shape, room;

    shape = *dlt_onnx_shape(b, &value, &room);
    shape.dim[0] = size;
    return dlt_onnx_add_given(b, DLT_ONNX_GIVEN_EXPAND, &shape, &tensor, 1);
}

static int widen_all(struct dlt_onnx_build *b, int *input, size_t count, int axis)
{
    int64_t widest = 0;

    if (axis == 0 || b->file_batch == 0 || b->file_batch == b->batch)
        return 0;
    for (size_t k = 0; k < count; k++) {
        const struct dlt_tensor *t = dlt_builder_tensor(b->builder, input[k]);

        if (t->rank > 0 && t->dim[0] > widest)
            widest = t->dim[0];
    }
    for (size_t k = 0; k < count; k++) {
        const struct dlt_tensor *t = dlt_builder_tensor(b->builder, input[k]);

        if (t->rank > 0 && t->dim[0] == b->file_batch && widest > b->file_batch &&
            (input[k] = widen(b, input[k], widest)) < 0)
            return -1;
    }
    return 0;
}

/* Parameters put together are a parameter. */
static int concat_parameters(struct dlt_onnx_build *b, int axis)
{
    struct dlt_onnx_value value = {.kind = DLT_ONNX_CONSTANT, .tensor = -1, .key = 0x51ed270b};
    struct dlt_onnx_tensor shape = *dlt_onnx_input(b, 0)->constant, *out;
    bool known = true;
    int64_t at = 0, before = 1, inner = 1;

    shape.dim[axis] = 0;
    for (size_t k = 0; k < b->node->input_count; k++) {
        const struct dlt_onnx_value *part = dlt_onnx_input(b, k);

        shape.dim[axis] += part->constant->dim[axis];
        known &= part->constant->ints || part->constant->reals;
        value.literal |= part->literal;
        if (part->kind == DLT_ONNX_PARAMETER)
            value.kind = DLT_ONNX_PARAMETER;
        value.key = (value.key ^ part->key) * 0x9e3779b97f4a7c15U | 1;
    }
    out = dlt_onnx_constant(b, shape.type, shape.rank, shape.dim, known);
    value.constant = out;
    if (!out)
        return -1;
    for (int d = 0; d < shape.rank; d++) {
        before *= d < axis ? shape.dim[d] : 1;
        inner *= d > axis ? shape.dim[d] : 1;
    }
    for (int64_t row = 0; (out->ints || out->reals) && row < before; row++)
        for (size_t k = 0; k < b->node->input_count; k++) {
            const struct dlt_onnx_tensor *t = dlt_onnx_input(b, k)->constant;
            int64_t run = t->dim[axis] * inner;

            for (int64_t i = 0; i < run; i++, at++)
                dlt_onnx_set_element(out, at, dlt_onnx_element(t, row * run + i),
                                     t->ints ? t->ints[row * run + i] : 0);
        }
    return dlt_onnx_bind_value(b, 0, &value) ? -1 : 1;
}

static int check_concat(struct dlt_onnx_build *b, int *axis, bool *constant)
{
    struct dlt_onnx_tensor first_room, room;
    const struct dlt_onnx_tensor *first, *t;

    if (b->node->input_count == 0 || !dlt_onnx_input(b, 0))
        return dlt_fail(b->error, "needs an input");
    first = dlt_onnx_shape(b, dlt_onnx_input(b, 0), &first_room);
    if (dlt_onnx_axis(b, dlt_onnx_integer(b, "axis", 1), first->rank, axis))
        return -1;
    *constant = true;
    for (size_t k = 0; k < b->node->input_count; k++) {
        if (!dlt_onnx_input(b, k))
            return dlt_fail(b->error, "its input %zu is left out", k);
        t = dlt_onnx_shape(b, dlt_onnx_input(b, k), &room);
        *constant &= dlt_onnx_input(b, k)->kind != DLT_ONNX_TENSOR;
        if (t->rank != first->rank)
            return dlt_fail(b->error, "tensors of %d and of %d dimensions", first->rank, t->rank);
    }
    for (size_t k = 1; *constant && k < b->node->input_count; k++) {
        t = dlt_onnx_input(b, k)->constant;
        for (int d = 0; d < t->rank; d++)
            if (d != *axis && t->dim[d] != first->dim[d])
                return dlt_fail(b->error, "sizes %lld and %lld do not go together",
                                (long long)first->dim[d], (long long)t->dim[d]);
        if (!t->ints != !first->ints && (t->ints || t->reals) && (first->ints || first->reals))
            return dlt_fail(b->error, "whole and real numbers together");
    }
    return 0;
}

static int copy_concat(struct dlt_onnx_build *b)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("concat");
    size_t count = 0;
    bool constant = false;
    int *input, axis = 0;

    if (check_concat(b, &axis, &constant))
        return -1;
    if (constant)
        return concat_parameters(b, axis);
    input = dlt_onnx_alloc(&b->arena, b->node->input_count, sizeof *input, b->error);
    if (!input)
        return -1;
    for (size_t k = 0; k < b->node->input_count; k++) {
        const struct dlt_onnx_value *part = dlt_onnx_input(b, k);

        /* What has no elements adds none. */
        if (part->kind != DLT_ONNX_TENSOR && part->constant->count == 0)
            continue;
        if ((input[count++] = dlt_onnx_needed(b, k)) < 0)
            return -1;
    }
    if (widen_all(b, input, count, axis))
        return -1;
    if (count == 1)
        return dlt_onnx_bind(b, 0, input[0]) ? -1 : 1;
    dlt_onnx_set(&layer, "dim", axis);
    return dlt_onnx_bind(b, 0, dlt_onnx_add(b, &layer, input, count)) ? -1 : 1;
}

/* A copy whose shape is known here. */
static int copy_as(struct dlt_onnx_build *b, enum dlt_onnx_given given,
                   const struct dlt_onnx_tensor *shape)
{
    int x = dlt_onnx_needed(b, 0);

    return x < 0 || dlt_onnx_bind(b, 0, dlt_onnx_add_given(b, given, shape, &x, 1)) ? -1 : 1;
}

static int copy_pad(struct dlt_onnx_build *b)
{
    struct dlt_onnx_ints pads, axes;
    struct dlt_onnx_tensor shape, room;
    int found = dlt_onnx_list_or_input(b, "pads", 1, &pads);

    if (found == 0)
        found = dlt_onnx_ints(b, "paddings", &pads);
    if (!dlt_onnx_input(b, 0) || found <= 0)
        return 0;
    shape = *dlt_onnx_shape(b, dlt_onnx_input(b, 0), &room);
    if (!dlt_onnx_value_ints(dlt_onnx_input(b, 3), &axes))
        axes = (struct dlt_onnx_ints){NULL, (size_t)shape.rank};
    if (pads.count != 2 * axes.count)
        return dlt_fail(b->error, "%zu paddings for %zu dimensions", pads.count, axes.count);
    for (size_t i = 0; i < axes.count; i++) {
        int axis = (int)i;

        if (axes.value && dlt_onnx_axis(b, axes.value[i], shape.rank, &axis))
            return -1;
        for (size_t side = 0; side < 2; side++) {
            int64_t pad = pads.value[i + side * axes.count];

            if (pad < -INT32_MAX || pad > INT32_MAX)
                return dlt_fail(b->error, "a padding of %lld", (long long)pad);
            shape.dim[axis] += pad;
        }
    }
    return copy_as(b, DLT_ONNX_GIVEN_PAD, &shape);
}

static int copy_tile(struct dlt_onnx_build *b)
{
    struct dlt_onnx_ints repeats;
    struct dlt_onnx_tensor shape, room;

    if (!dlt_onnx_input(b, 0) || !dlt_onnx_value_ints(dlt_onnx_input(b, 1), &repeats))
        return 0;
    shape = *dlt_onnx_shape(b, dlt_onnx_input(b, 0), &room);
    if (repeats.count != (size_t)shape.rank)
        return dlt_fail(b->error, "%zu repeats for %d dimensions", repeats.count, shape.rank);
    for (int d = 0; d < shape.rank; d++)
        if (repeats.value[d] < 1 || repeats.value[d] > INT32_MAX ||
            __builtin_mul_overflow(shape.dim[d], repeats.value[d], &shape.dim[d]))
            return dlt_fail(b->error, "%lld repeats", (long long)repeats.value[d]);
    return copy_as(b, DLT_ONNX_GIVEN_TILE, &shape);
}

/* Which dimensions Resize's sizes or scales are for: by default all. Returns their number, 0 where
 * its attributes are not understood, or -1. */
static int resized_axes(struct dlt_onnx_build *b, int rank, int axis[DLT_RANK])
{
    struct dlt_onnx_ints axes = {NULL, (size_t)rank};

    /* Another policy computes the sizes from those that are given. */
    if (strcmp(dlt_onnx_word(b, "keep_aspect_ratio_policy", "stretch"), "stretch") != 0)
        return 0;
    if (dlt_onnx_ints(b, "axes", &axes) && axes.count > (size_t)rank)
        return dlt_fail(b->error, "%zu axes for %d dimensions", axes.count, rank);
    if (!axes.value)
        axes.count = (size_t)rank;
    for (size_t i = 0; i < axes.count; i++) {
        axis[i] = (int)i;
        if (axes.value && dlt_onnx_axis(b, axes.value[i], rank, &axis[i]))
            return -1;
    }
    return (int)axes.count;
}

/* The sizes that Resize and Upsample give: 1; 0 not known. */
static int resized(struct dlt_onnx_build *b, struct dlt_onnx_tensor *shape)
{
    bool upsample = strcmp(b->node->op, "Upsample") == 0 || b->node->input_count == 2;
    const struct dlt_onnx_value *scales = dlt_onnx_input(b, upsample ? 1 : 2);
    const struct dlt_onnx_attribute *old = dlt_onnx_attribute(b, "scales");
    const double *scale = old ? old->reals : NULL;
    size_t count = old ? old->real_count : 0;
    struct dlt_onnx_ints sizes;
    int axis[DLT_RANK], axes = resized_axes(b, shape->rank, axis);

    if (axes <= 0)
        return axes;
    if (dlt_onnx_value_ints(dlt_onnx_input(b, 3), &sizes) && sizes.count == (size_t)axes) {
        for (int i = 0; i < axes; i++)
            if (axis[i] > 0 || b->file_batch == 0 || sizes.value[i] != b->file_batch ||
                !dlt_onnx_input(b, 3)->literal)
                shape->dim[axis[i]] = sizes.value[i];
        return 1;
    }
    if (scales && scales->kind != DLT_ONNX_TENSOR && scales->constant->reals) {
        scale = scales->constant->reals;
        count = (size_t)scales->constant->count;
    }
    if (!scale || count != (size_t)axes)
        return 0;
    for (int i = 0; i < axes; i++) {
        /* In single precision, as the file has them: 0.7 of 10 is 7, and not below it. */
        float size = (float)shape->dim[axis[i]] * (float)scale[i];

        if (!(size >= 1 && (double)size <= INT32_MAX))
            return dlt_fail(b->error, "a scale of %g", scale[i]);
        shape->dim[axis[i]] = (int64_t)size;
    }
    return 1;
}

static int copy_resize(struct dlt_onnx_build *b)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("upsample");
    struct dlt_onnx_tensor shape, room;
    const char *mode = dlt_onnx_word(b, "mode", "nearest");
    int status, x;

    if (!dlt_onnx_input(b, 0))
        return 0;
    shape = *dlt_onnx_shape(b, dlt_onnx_input(b, 0), &room);
    status = resized(b, &shape);
    if (status <= 0)
        return status;
    if (shape.rank < 3 || shape.rank > 5)
        return copy_as(b, DLT_ONNX_GIVEN_TILE, &shape);
    dlt_onnx_set_list(&layer, "size", shape.dim + 2, (size_t)shape.rank - 2);
    if (strcmp(mode, "linear") == 0)
        dlt_onnx_set(&layer, "mode",
                     shape.rank == 3   ? DLT_LINEAR
                     : shape.rank == 4 ? DLT_BILINEAR
                                       : DLT_TRILINEAR);
    if (strcmp(mode, "cubic") == 0)
        dlt_onnx_set(&layer, "mode", shape.rank == 4 ? DLT_BICUBIC : DLT_TRILINEAR);
    x = dlt_onnx_needed(b, 0);
    return x < 0 || dlt_onnx_bind(b, 0, dlt_onnx_add(b, &layer, &x, 1)) ? -1 : 1;
}

static int copy_blocks(struct dlt_onnx_build *b)
{
    bool up = strcmp(b->node->op, "DepthToSpace") == 0;
    int64_t size = dlt_onnx_integer(b, "blocksize", 1);
    struct dlt_onnx_tensor shape, room;

    if (!dlt_onnx_input(b, 0))
        return 0;
    shape = *dlt_onnx_shape(b, dlt_onnx_input(b, 0), &room);
    if (shape.rank != 4 || size < 1 || size > 1 << 15)
        return dlt_fail(b->error, "%d dimensions in blocks of %lld", shape.rank, (long long)size);
    if (up ? shape.dim[1] % (size * size) : shape.dim[2] % size || shape.dim[3] % size)
        return dlt_fail(b->error, "blocks of %lld do not divide its input", (long long)size);
    shape.dim[1] = up ? shape.dim[1] / (size * size) : shape.dim[1] * size * size;
    for (int d = 2; d < 4; d++)
        shape.dim[d] = up ? shape.dim[d] * size : shape.dim[d] / size;
    return copy_as(b, DLT_ONNX_GIVEN_TILE, &shape);
}

static const struct {
    const char *op;
    int (*add)(struct dlt_onnx_build *);
} copies[] = {
    {"Concat", copy_concat},       {"Pad", copy_pad},         {"Tile", copy_tile},
    {"Resize", copy_resize},       {"Upsample", copy_resize}, {"DepthToSpace", copy_blocks},
    {"SpaceToDepth", copy_blocks},
};

int dlt_onnx_copy_node(struct dlt_onnx_build *b)
{
    if (!dlt_onnx_known_domain(b->node->domain) || !dlt_onnx_input(b, 0))
        return 0;
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        if (strcmp(copies[i].op, b->node->op) == 0)
            return copies[i].add(b);
    return 0;
}
