/* SPDX-License-Identifier: Apache-2.0 */
/* What only rearranges: constants are rearranged here and now, parameters stay parameters, and of
 * tensors another node of ours is made. */
#include <string.h>

#include "graph/onnx_view.h"
#include "graph/op.h"

/* ---- Reshape and the like ---- */

/* A literal shape was written for the file's batch. The first size that is not the input's grows
 * with it, or the next one, if that is the file's batch itself: length * batch x features becomes
 * length x batch x features. */
static void rescale(const struct dlt_onnx_build *b, const struct dlt_onnx_tensor *x, bool constant,
                    struct dlt_onnx_tensor *to)
{
    int64_t product = 1;
    bool open = false;
    int d = 0;

    while (d < to->rank && d < x->rank && to->dim[d] == x->dim[d])
        d++;
    if (d == to->rank)
        return;
    for (int i = 0; i < to->rank; i++) {
        open |= to->dim[i] < 0;
        if (to->dim[i] > 0 && __builtin_mul_overflow(product, to->dim[i], &product))
            return;
    }
    /* It fits as it is: the size that a mask has may be that of the batch, and is not. Neither is
     * that of positions that are counted. */
    if ((!open && product == x->count) || (open && constant && x->rank == 1))
        return;
    if (d < x->rank && to->dim[d] == b->file_batch && x->dim[d] == b->batch) {
        to->dim[d] = b->batch;
        return;
    }
    /* 2^53 elements and a batch below 2^31 may not fit: then it is no such case either. */
    if (open || __builtin_mul_overflow(product, b->batch, &product) ||
        (double)product != (double)x->count * (double)b->file_batch)
        return;
    if (to->dim[d] != b->file_batch && d + 1 < to->rank && to->dim[d + 1] == b->file_batch)
        d++;
    /* The last is features, wherever else the batch may have gone. */
    if (d > 0 && d == to->rank - 1)
        d--;
    if (!__builtin_mul_overflow(to->dim[d], b->batch, &product) && product % b->file_batch == 0)
        to->dim[d] = product / b->file_batch;
}

static int reshaped(struct dlt_onnx_build *b, const struct dlt_onnx_tensor *x,
                    struct dlt_onnx_tensor *to)
{
    int64_t product = 1;
    int open = -1;

    for (int d = 0; d < to->rank; d++) {
        if (to->dim[d] == -1 && open >= 0)
            return dlt_fail(b->error, "two sizes of its shape are -1");
        if (to->dim[d] == -1)
            open = d;
        else if (to->dim[d] < 0 || __builtin_mul_overflow(product, to->dim[d], &product))
            return dlt_fail(b->error, "a size of %lld", (long long)to->dim[d]);
    }
    if (open >= 0)
        to->dim[open] = product > 0 ? x->count / product : 0;
    if (dlt_onnx_recount(b, to))
        return -1;
    if (to->count != x->count)
        return dlt_fail(b->error, "%lld elements do not make a shape of %lld", (long long)x->count,
                        (long long)to->count);
    return 0;
}

static int move_reshape(struct dlt_onnx_build *b, struct dlt_onnx_value *in)
{
    const struct dlt_onnx_value *target = dlt_onnx_input(b, 1);
    bool zero = dlt_onnx_integer(b, "allowzero", 0) != 0;
    struct dlt_onnx_tensor room;
    const struct dlt_onnx_tensor *x = dlt_onnx_shape(b, in, &room);
    struct dlt_onnx_view v = dlt_onnx_view_whole(x);
    struct dlt_onnx_ints dims;
    int found = dlt_onnx_list_or_input(b, "shape", 1, &dims);

    if (found <= 0)
        return 0;
    if (dims.count > DLT_RANK)
        return dlt_fail(b->error, "%zu dimensions; %d is the most", dims.count, DLT_RANK);
    v.shape.rank = (int)dims.count;
    for (int d = 0; d < v.shape.rank; d++)
        v.shape.dim[d] = dims.value[d] == 0 && !zero && d < x->rank ? x->dim[d] : dims.value[d];
    if ((!target || target->literal) && !in->literal && in->kind != DLT_ONNX_PARAMETER &&
        b->file_batch > 0 && b->file_batch != b->batch)
        rescale(b, x, in->kind == DLT_ONNX_CONSTANT, &v.shape);
    if (reshaped(b, x, &v.shape))
        return -1;
    dlt_onnx_strides(&v.shape, v.stride);
    return dlt_onnx_bind_view(b, 0, in, &v, DLT_ONNX_GIVEN_RESHAPE, false) ? -1 : 1;
}

static int move_flatten(struct dlt_onnx_build *b, struct dlt_onnx_value *in)
{
    struct dlt_onnx_tensor room;
    const struct dlt_onnx_tensor *x = dlt_onnx_shape(b, in, &room);
    struct dlt_onnx_view v = dlt_onnx_view_whole(x);
    int64_t axis = dlt_onnx_integer(b, "axis", 1);

    if (axis < -x->rank || axis > x->rank)
        return dlt_fail(b->error, "axis %lld of a tensor of %d dimensions", (long long)axis,
                        x->rank);
    axis += axis < 0 ? x->rank : 0;
    v.shape.rank = 2;
    v.shape.dim[0] = v.shape.dim[1] = 1;
    for (int d = 0; d < x->rank; d++)
        v.shape.dim[d >= axis] *= x->dim[d];
    dlt_onnx_strides(&v.shape, v.stride);
    if (dlt_onnx_recount(b, &v.shape))
        return -1;
    return dlt_onnx_bind_view(b, 0, in, &v, DLT_ONNX_GIVEN_RESHAPE, false) ? -1 : 1;
}

static int move_squeeze(struct dlt_onnx_build *b, struct dlt_onnx_value *in)
{
    struct dlt_onnx_tensor room;
    const struct dlt_onnx_tensor *x = dlt_onnx_shape(b, in, &room);
    struct dlt_onnx_view v = dlt_onnx_view_whole(x);
    bool away[DLT_RANK] = {false};
    struct dlt_onnx_ints axes;
    int found = dlt_onnx_list_or_input(b, "axes", 1, &axes), axis;

    if (found < 0)
        return 0;
    for (size_t i = 0; i < axes.count; i++) {
        if (dlt_onnx_axis(b, axes.value[i], x->rank, &axis))
            return -1;
        away[axis] = x->dim[axis] == 1;
    }
    v.shape.rank = 0;
    for (int d = 0; d < x->rank; d++)
        if (found ? !away[d] : x->dim[d] != 1)
            v.shape.dim[v.shape.rank++] = x->dim[d];
    dlt_onnx_strides(&v.shape, v.stride);
    return dlt_onnx_bind_view(b, 0, in, &v, DLT_ONNX_GIVEN_RESHAPE, false) ? -1 : 1;
}

static int move_unsqueeze(struct dlt_onnx_build *b, struct dlt_onnx_value *in)
{
    struct dlt_onnx_tensor room;
    const struct dlt_onnx_tensor *x = dlt_onnx_shape(b, in, &room);
    struct dlt_onnx_view v = dlt_onnx_view_whole(x);
    bool fresh[DLT_RANK] = {false};
    struct dlt_onnx_ints axes;
    int axis, from = 0;

    if (dlt_onnx_list_or_input(b, "axes", 1, &axes) <= 0)
        return 0;
    if (axes.count + (size_t)x->rank > DLT_RANK)
        return dlt_fail(b->error, "more than %d dimensions", DLT_RANK);
    v.shape.rank = x->rank + (int)axes.count;
    for (size_t i = 0; i < axes.count; i++) {
        if (dlt_onnx_axis(b, axes.value[i], v.shape.rank, &axis))
            return -1;
        if (fresh[axis])
            return dlt_fail(b->error, "axis %d stands twice", axis);
        fresh[axis] = true;
    }
    for (int d = 0; d < v.shape.rank; d++)
        v.shape.dim[d] = fresh[d] ? 1 : x->dim[from++];
    dlt_onnx_strides(&v.shape, v.stride);
    return dlt_onnx_bind_view(b, 0, in, &v, DLT_ONNX_GIVEN_RESHAPE, false) ? -1 : 1;
}

static int move_transpose(struct dlt_onnx_build *b, struct dlt_onnx_value *in)
{
    struct dlt_onnx_tensor room;
    const struct dlt_onnx_tensor *x = dlt_onnx_shape(b, in, &room);
    struct dlt_onnx_view v = dlt_onnx_view_whole(x);
    struct dlt_onnx_ints perm;
    unsigned seen = 0;

    if (dlt_onnx_ints(b, "perm", &perm) && perm.count != (size_t)x->rank)
        return dlt_fail(b->error, "perm has %zu numbers for %d dimensions", perm.count, x->rank);
    for (int d = 0; d < x->rank; d++) {
        int64_t from = perm.count ? perm.value[d] : x->rank - 1 - d;

        if (from < 0 || from >= x->rank || seen >> from & 1)
            return dlt_fail(b->error, "perm is no permutation");
        seen |= 1U << from;
        v.shape.dim[d] = x->dim[from];
    }
    for (int d = 0; d < x->rank; d++) {
        int64_t from = perm.count ? perm.value[d] : x->rank - 1 - d, step = 1;

        for (int64_t i = from + 1; i < x->rank; i++)
            step *= x->dim[i];
        v.stride[d] = step;
    }
    return dlt_onnx_bind_view(b, 0, in, &v, DLT_ONNX_GIVEN_PERMUTE, false) ? -1 : 1;
}

static int move_expand(struct dlt_onnx_build *b, struct dlt_onnx_value *in)
{
    const struct dlt_onnx_value *target = dlt_onnx_input(b, 1);
    struct dlt_onnx_tensor room;
    const struct dlt_onnx_tensor *x = dlt_onnx_shape(b, in, &room);
    struct dlt_onnx_view v = dlt_onnx_view_whole(x);
    struct dlt_onnx_value from_file = *in;
    struct dlt_onnx_ints dims;
    int shift;

    if (!dlt_onnx_value_ints(target, &dims))
        return 0;
    /* What has the shape of a tensor grows with its batch. */
    from_file.literal &= target->literal;
    if (dims.count > DLT_RANK)
        return dlt_fail(b->error, "%zu dimensions; %d is the most", dims.count, DLT_RANK);
    v.shape.rank = (int)dims.count > x->rank ? (int)dims.count : x->rank;
    shift = v.shape.rank - x->rank;
    for (int d = 0; d < v.shape.rank; d++) {
        int at = d - (v.shape.rank - (int)dims.count);
        int64_t from = d < shift ? 1 : x->dim[d - shift], to = at < 0 ? 1 : dims.value[at];

        if (d == 0 && at == 0 && target->literal && in->kind != DLT_ONNX_CONSTANT && from == 1 &&
            to == b->file_batch)
            to = b->batch;
        if (from != to && from != 1 && to != 1)
            return dlt_fail(b->error, "a size of %lld cannot become %lld", (long long)from,
                            (long long)to);
        v.shape.dim[d] = from == 1 ? to : from;
    }
    for (int d = v.shape.rank; d-- > 0;)
        v.stride[d] = d < shift || x->dim[d - shift] == 1 ? 0 : v.stride[d - shift];
    if (dlt_onnx_recount(b, &v.shape))
        return -1;
    return dlt_onnx_bind_view(b, 0, &from_file, &v, DLT_ONNX_GIVEN_EXPAND, false) ? -1 : 1;
}

static int move_identity(struct dlt_onnx_build *b, struct dlt_onnx_value *in)
{
    return dlt_onnx_bind_value(b, 0, in) ? -1 : 1;
}

/* Between real types nothing: precision is the training's business. */
static int move_cast(struct dlt_onnx_build *b, struct dlt_onnx_value *in)
{
    struct dlt_onnx_tensor shape, room;
    int tensor;

    shape = *dlt_onnx_shape(b, in, &room);
    if (dlt_onnx_our_type(shape.type) ==
        dlt_onnx_our_type((int)dlt_onnx_integer(b, "to", shape.type)))
        return move_identity(b, in);
    shape.type = (int)dlt_onnx_integer(b, "to", shape.type);
    tensor = dlt_onnx_tensor(b, in);
    if (tensor < 0)
        return -1;
    return dlt_onnx_bind(b, 0, dlt_onnx_add_given(b, DLT_ONNX_GIVEN_MASK, &shape, &tensor, 1)) ? -1
                                                                                               : 1;
}

/* ---- parts ---- */

/* Where a slice of `size` begins, and how many it takes. */
static int64_t slice_count(int64_t size, int64_t *start, int64_t end, int64_t step)
{
    int64_t least = step < 0 ? -1 : 0, most = step < 0 ? size - 1 : size;

    *start += *start < 0 ? size : 0;
    *start = *start < least + (step < 0) ? least + (step < 0) : *start > most ? most : *start;
    if (end < 0 && end > INT64_MIN + size)
        end += size;
    end = end < least ? least : end > most ? most : end;
    if (step > 0)
        return end > *start ? (end - *start - 1) / step + 1 : 0;
    return end < *start ? (*start - end - 1) / -step + 1 : 0;
}

static int move_slice(struct dlt_onnx_build *b, struct dlt_onnx_value *in)
{
    struct dlt_onnx_tensor room;
    const struct dlt_onnx_tensor *x = dlt_onnx_shape(b, in, &room);
    struct dlt_onnx_view v = dlt_onnx_view_whole(x);
    struct dlt_onnx_ints starts, ends, axes, steps;

    if (dlt_onnx_list_or_input(b, "starts", 1, &starts) <= 0 ||
        dlt_onnx_list_or_input(b, "ends", 2, &ends) <= 0 ||
        dlt_onnx_list_or_input(b, "axes", 3, &axes) < 0 ||
        dlt_onnx_list_or_input(b, "steps", 4, &steps) < 0)
        return 0;
    if (ends.count != starts.count || (axes.count && axes.count != starts.count) ||
        (steps.count && steps.count != starts.count))
        return dlt_fail(b->error, "starts, ends, axes and steps differ in number");
    for (size_t i = 0; i < starts.count; i++) {
        int64_t step = steps.count ? steps.value[i] : 1, start = starts.value[i];
        int axis;

        if (dlt_onnx_axis(b, axes.count ? axes.value[i] : (int64_t)i, x->rank, &axis))
            return -1;
        if (step == 0 || step < -INT32_MAX || step > INT64_MAX / 2)
            return dlt_fail(b->error, "a step of %lld", (long long)step);
        v.shape.dim[axis] = slice_count(v.shape.dim[axis], &start, ends.value[i], step);
        v.offset += start * v.stride[axis];
        /* A step past the end is taken once at the most. */
        if (v.shape.dim[axis] > 1)
            v.stride[axis] *= step;
    }
    if (dlt_onnx_recount(b, &v.shape))
        return -1;
    return dlt_onnx_bind_view(b, 0, in, &v, DLT_ONNX_GIVEN_SLICE, v.shape.count != x->count) ? -1
                                                                                             : 1;
}

/* The sizes of the outputs of Split. */
static int split_sizes(struct dlt_onnx_build *b, int64_t size, int64_t *sizes, size_t parts)
{
    struct dlt_onnx_ints given;
    int found = dlt_onnx_list_or_input(b, "split", 1, &given);
    int64_t sum = 0, each = (size + (int64_t)parts - 1) / (int64_t)parts;

    if (found < 0)
        return 0;
    if (found && given.count != parts)
        return dlt_fail(b->error, "%zu sizes for %zu outputs", given.count, parts);
    for (size_t i = 0; i < parts; i++) {
        sizes[i] = found ? given.value[i] : each < size - sum ? each : size - sum;
        if (sizes[i] < 0 || sizes[i] > size - sum)
            return dlt_fail(b->error, "its parts do not add up to %lld", (long long)size);
        sum += sizes[i];
    }
    return sum == size ? 1
                       : dlt_fail(b->error, "its parts add up to %lld, not %lld", (long long)sum,
                                  (long long)size);
}

static int move_split(struct dlt_onnx_build *b, struct dlt_onnx_value *in)
{
    struct dlt_onnx_tensor room;
    const struct dlt_onnx_tensor *x = dlt_onnx_shape(b, in, &room);
    struct dlt_onnx_view v = dlt_onnx_view_whole(x);
    size_t parts = b->node->output_count;
    int64_t *sizes;
    int axis, status;

    if (parts == 0)
        return 1;
    sizes = dlt_onnx_alloc(&b->arena, parts, sizeof *sizes, b->error);
    if (!sizes || dlt_onnx_axis(b, dlt_onnx_integer(b, "axis", 0), x->rank, &axis))
        return -1;
    status = split_sizes(b, x->dim[axis], sizes, parts);
    if (status <= 0)
        return status;
    for (size_t i = 0; i < parts; i++) {
        v.shape.dim[axis] = sizes[i];
        if (dlt_onnx_recount(b, &v.shape) ||
            dlt_onnx_bind_view(b, i, in, &v, DLT_ONNX_GIVEN_SLICE, parts > 1))
            return -1;
        v.offset += sizes[i] * v.stride[axis];
    }
    return 1;
}

/* ---- Gather ---- */

/* data's shape with one axis replaced by the indices' shape. */
static int gathered(struct dlt_onnx_build *b, const struct dlt_onnx_tensor *x,
                    const struct dlt_onnx_tensor *at, int axis, struct dlt_onnx_tensor *out)
{
    *out = (struct dlt_onnx_tensor){.name = -1, .type = x->type, .rank = x->rank + at->rank - 1};
    if (out->rank > DLT_RANK)
        return dlt_fail(b->error, "more than %d dimensions", DLT_RANK);
    for (int d = 0; d < axis; d++)
        out->dim[d] = x->dim[d];
    for (int d = 0; d < at->rank; d++)
        out->dim[axis + d] = at->dim[d];
    for (int d = axis + 1; d < x->rank; d++)
        out->dim[d + at->rank - 1] = x->dim[d];
    return dlt_onnx_recount(b, out);
}

static int gather_constant(struct dlt_onnx_build *b, const struct dlt_onnx_value *in,
                           const struct dlt_onnx_value *indices, int axis,
                           const struct dlt_onnx_tensor *shape)
{
    const struct dlt_onnx_tensor *x = in->constant, *at = indices->constant;
    bool known = (x->ints || x->reals) && at->ints;
    struct dlt_onnx_tensor *out = dlt_onnx_constant(b, shape->type, shape->rank, shape->dim, known);
    struct dlt_onnx_value value = dlt_onnx_of(out, in->literal || indices->literal);
    int64_t inner = 1;

    if (!out)
        return -1;
    /* Which element of a shape is taken is no literal of the batch. */
    if (in->kind == DLT_ONNX_CONSTANT && !in->literal)
        value.literal = false;
    for (int d = axis + 1; d < x->rank; d++)
        inner *= x->dim[d];
    for (int64_t i = 0; (out->ints || out->reals) && i < out->count; i++) {
        int64_t row = i / inner, index = at->ints[row % at->count], from;

        index += index < 0 ? x->dim[axis] : 0;
        if (index < 0 || index >= x->dim[axis])
            return dlt_fail(b->error, "index %lld of %lld elements",
                            (long long)at->ints[row % at->count], (long long)x->dim[axis]);
        from = (row / at->count * x->dim[axis] + index) * inner + i % inner;
        dlt_onnx_set_element(out, i, dlt_onnx_element(x, from), x->ints ? x->ints[from] : 0);
    }
    return dlt_onnx_bind_value(b, 0, &value) ? -1 : 1;
}

/* One index, known: a slice without its axis. */
static int gather_one(struct dlt_onnx_build *b, struct dlt_onnx_value *in, int64_t index, int axis,
                      const struct dlt_onnx_tensor *shape)
{
    struct dlt_onnx_tensor room;
    const struct dlt_onnx_tensor *x = dlt_onnx_shape(b, in, &room);
    struct dlt_onnx_view v = dlt_onnx_view_whole(x);

    index += index < 0 ? x->dim[axis] : 0;
    if (index < 0 || index >= x->dim[axis])
        return dlt_fail(b->error, "index %lld of %lld elements", (long long)index,
                        (long long)x->dim[axis]);
    v.offset = index * v.stride[axis];
    for (int d = axis; d < x->rank - 1; d++)
        v.stride[d] = v.stride[d + 1];
    v.shape = *shape;
    return dlt_onnx_bind_view(b, 0, in, &v, DLT_ONNX_GIVEN_SLICE, x->dim[axis] > 1) ? -1 : 1;
}

static int embed(struct dlt_onnx_build *b, const struct dlt_onnx_value *in, int indices)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("embedding");

    layer.weight = in;
    dlt_onnx_set(&layer, "num_embeddings", in->constant->dim[0]);
    dlt_onnx_set(&layer, "embedding_dim", in->constant->dim[1]);
    return dlt_onnx_add(b, &layer, &indices, 1);
}

static int move_gather(struct dlt_onnx_build *b, struct dlt_onnx_value *in)
{
    struct dlt_onnx_value *indices = dlt_onnx_input(b, 1);
    struct dlt_onnx_tensor room, index_room, shape;
    const struct dlt_onnx_tensor *x, *at;
    int input[2], axis, out;

    if (!indices)
        return 0;
    x = dlt_onnx_shape(b, in, &room);
    at = dlt_onnx_shape(b, indices, &index_room);
    if (dlt_onnx_axis(b, dlt_onnx_integer(b, "axis", 0), x->rank, &axis) ||
        gathered(b, x, at, axis, &shape))
        return -1;
    if (in->kind == DLT_ONNX_CONSTANT && indices->kind == DLT_ONNX_CONSTANT)
        return gather_constant(b, in, indices, axis, &shape);
    if (at->rank == 0 && at->ints)
        return gather_one(b, in, at->ints[0], axis, &shape);
    input[1] = dlt_onnx_tensor(b, indices);
    if (input[1] < 0)
        return -1;
    if (in->kind == DLT_ONNX_PARAMETER && axis == 0 && x->rank == 2 &&
        dlt_builder_tensor(b->builder, input[1])->type == DLT_TENSOR_INT64) {
        out = embed(b, in, input[1]);
    } else {
        input[0] = dlt_onnx_tensor(b, in);
        if (input[0] < 0)
            return -1;
        out = dlt_onnx_add_given(b, DLT_ONNX_GIVEN_GATHER, &shape, input, 2);
    }
    return dlt_onnx_bind(b, 0, out) ? -1 : 1;
}

/* ---- table ---- */

static const struct {
    const char *op;
    int (*move)(struct dlt_onnx_build *, struct dlt_onnx_value *);
} moves[] = {
    {"Reshape", move_reshape},     {"Flatten", move_flatten},     {"Squeeze", move_squeeze},
    {"Unsqueeze", move_unsqueeze}, {"Transpose", move_transpose}, {"Expand", move_expand},
    {"Identity", move_identity},   {"Cast", move_cast},           {"CastLike", move_identity},
    {"Slice", move_slice},         {"Split", move_split},         {"Gather", move_gather},
};

int dlt_onnx_move(struct dlt_onnx_build *b)
{
    struct dlt_onnx_value *in = dlt_onnx_input(b, 0);

    if (*b->node->domain || !in)
        return 0;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (strcmp(moves[i].op, b->node->op) == 0)
            return moves[i].move(b, in);
    return 0;
}
