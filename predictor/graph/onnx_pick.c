/* SPDX-License-Identifier: Apache-2.0 */
/* What picks or places elements by an index, with the shapes of the standard's descriptions
 * (https://github.com/onnx/onnx/blob/main/docs/Operators.md). Where the data say how many there
 * are, it is as many as there can be. */
#include <string.h>

#include "graph/onnx_build.h"

/* The shape of the k-th input; false: left out. */
static bool input_shape(struct dlt_onnx_build *b, size_t k, struct dlt_onnx_tensor *shape)
{
    const struct dlt_onnx_value *value = dlt_onnx_input(b, k);
    struct dlt_onnx_tensor room;

    if (value)
        *shape = *dlt_onnx_shape(b, value, &room);
    return value != NULL;
}

/* The one whole number that the k-th input is. */
static bool input_number(struct dlt_onnx_build *b, size_t k, int64_t *number)
{
    struct dlt_onnx_ints ints;

    if (!dlt_onnx_value_ints(dlt_onnx_input(b, k), &ints) || ints.count != 1)
        return false;
    *number = ints.value[0];
    return true;
}

/* 0..rank-1, or -1: outside. */
static int axis_of(const struct dlt_onnx_build *b, int64_t fallback, int rank)
{
    int64_t axis = dlt_onnx_integer(b, "axis", fallback);

    axis += axis < 0 ? rank : 0;
    return axis >= 0 && axis < rank ? (int)axis : -1;
}

static bool gather_elements(struct dlt_onnx_build *b, size_t k, struct dlt_onnx_tensor *shape)
{
    struct dlt_onnx_tensor at;

    if (k > 0 || !input_shape(b, 0, shape) || !input_shape(b, 1, &at) || at.rank != shape->rank)
        return false;
    at.type = shape->type;
    *shape = at;
    return true;
}

/* The index's dimensions but the last, which says how many of the data's it goes through. */
static bool gather_nd(struct dlt_onnx_build *b, size_t k, struct dlt_onnx_tensor *shape)
{
    int64_t batch = dlt_onnx_integer(b, "batch_dims", 0), through;
    struct dlt_onnx_tensor x, at;

    if (k > 0 || !input_shape(b, 0, &x) || !input_shape(b, 1, &at) || at.rank < 1)
        return false;
    through = at.dim[at.rank - 1];
    if (batch < 0 || batch >= at.rank || through < 1 || batch + through > x.rank ||
        at.rank - 1 + x.rank - batch - through > DLT_RANK)
        return false;
    *shape = at;
    shape->type = x.type;
    shape->rank--;
    for (int64_t d = batch + through; d < x.rank; d++)
        shape->dim[shape->rank++] = x.dim[d];
    return true;
}

/* The data's; each dimension has room for the index, whatever batch either was written for. */
static bool scatter(struct dlt_onnx_build *b, size_t k, struct dlt_onnx_tensor *shape)
{
    bool elements = strcmp(b->node->op, "ScatterND") != 0;
    struct dlt_onnx_tensor at;

    if (k > 0 || !input_shape(b, 0, shape) || !input_shape(b, 1, &at))
        return false;
    for (int d = 0; elements && at.rank == shape->rank && d < at.rank; d++)
        shape->dim[d] = shape->dim[d] < at.dim[d] ? at.dim[d] : shape->dim[d];
    return true;
}

static bool top(struct dlt_onnx_build *b, size_t k, struct dlt_onnx_tensor *shape)
{
    int64_t count = dlt_onnx_integer(b, "k", 0);
    int axis;

    if (k > 1 || !input_shape(b, 0, shape) || (!count && !input_number(b, 1, &count)))
        return false;
    axis = axis_of(b, -1, shape->rank);
    if (axis < 0)
        return false;
    shape->dim[axis] = count;
    shape->type = k == 1 ? DLT_ONNX_INT64 : shape->type;
    return true;
}

static bool one_hot(struct dlt_onnx_build *b, size_t k, struct dlt_onnx_tensor *shape)
{
    struct dlt_onnx_tensor values;
    int64_t depth;
    int axis;

    if (k > 0 || !input_shape(b, 0, shape) || !input_shape(b, 2, &values) ||
        !input_number(b, 1, &depth) || shape->rank == DLT_RANK)
        return false;
    axis = axis_of(b, -1, shape->rank + 1);
    if (axis < 0)
        return false;
    memmove(&shape->dim[axis + 1], &shape->dim[axis],
            (size_t)(shape->rank - axis) * sizeof *shape->dim);
    shape->dim[axis] = depth;
    shape->rank++;
    shape->type = values.type;
    return true;
}

/* The grid has a place for each element of the output, and its coordinates last. */
static bool grid_sample(struct dlt_onnx_build *b, size_t k, struct dlt_onnx_tensor *shape)
{
    struct dlt_onnx_tensor grid;

    if (k > 0 || !input_shape(b, 0, shape) || !input_shape(b, 1, &grid) ||
        grid.rank != shape->rank || grid.rank < 3)
        return false;
    for (int d = 2; d < grid.rank; d++)
        shape->dim[d] = grid.dim[d - 1];
    return true;
}

static bool regions(struct dlt_onnx_build *b, size_t k, struct dlt_onnx_tensor *shape)
{
    struct dlt_onnx_tensor boxes;

    if (k > 0 || !input_shape(b, 0, shape) || !input_shape(b, 1, &boxes) || shape->rank != 4 ||
        boxes.rank != 2)
        return false;
    shape->dim[0] = boxes.dim[0];
    shape->dim[2] = dlt_onnx_integer(b, "output_height", 1);
    shape->dim[3] = dlt_onnx_integer(b, "output_width", 1);
    return true;
}

static bool non_zero(struct dlt_onnx_build *b, size_t k, struct dlt_onnx_tensor *shape)
{
    struct dlt_onnx_tensor x;

    if (k > 0 || !input_shape(b, 0, &x))
        return false;
    *shape = (struct dlt_onnx_tensor){.name = -1, .type = DLT_ONNX_INT64, .rank = 2};
    shape->dim[0] = x.rank;
    shape->dim[1] = x.count;
    return true;
}

/* Batch, class and box of each that is kept. */
static bool suppressed(struct dlt_onnx_build *b, size_t k, struct dlt_onnx_tensor *shape)
{
    struct dlt_onnx_tensor scores;
    int64_t most;

    if (k > 0 || !input_shape(b, 1, &scores) || scores.rank != 3 || !input_number(b, 2, &most))
        return false;
    most = most < scores.dim[2] ? most : scores.dim[2];
    *shape = (struct dlt_onnx_tensor){.name = -1, .type = DLT_ONNX_INT64, .rank = 2};
    if (__builtin_mul_overflow(scores.dim[0] * scores.dim[1], most, &shape->dim[0]))
        return false;
    shape->dim[1] = 3;
    return true;
}

static const struct {
    const char *op;
    bool (*shape)(struct dlt_onnx_build *, size_t, struct dlt_onnx_tensor *);
    bool gathers; /* a kernel that is priced as Gather's; others are estimated from their bytes */
} picks[] = {
    {"GatherElements", gather_elements, true},
    {"GatherND", gather_nd, true},
    {"ScatterElements", scatter, false},
    {"ScatterND", scatter, false},
    {"Scatter", scatter, false},
    {"TopK", top, false},
    {"OneHot", one_hot, false},
    {"GridSample", grid_sample, false},
    {"RoiAlign", regions, false},
    {"NonZero", non_zero, false},
    {"NonMaxSuppression", suppressed, false},
};
enum { PICKS = sizeof picks / sizeof *picks };

/* PICKS: none of them. */
static size_t find_pick(const struct dlt_onnx_build *b)
{
    size_t i = 0;

    while (i < PICKS && (*b->node->domain || strcmp(picks[i].op, b->node->op) != 0))
        i++;
    return i;
}

bool dlt_onnx_picked_shape(struct dlt_onnx_build *b, size_t k, struct dlt_onnx_tensor *shape)
{
    struct dlt_onnx_tensor found = {0};
    size_t pick = find_pick(b);

    if (pick == PICKS || !picks[pick].shape(b, k, &found))
        return false;
    for (int d = 0; d < found.rank; d++)
        if (found.dim[d] < 1 || found.dim[d] > INT32_MAX)
            return false;
    *shape = found;
    return true;
}

int dlt_onnx_pick_node(struct dlt_onnx_build *b)
{
    size_t pick = find_pick(b);
    struct dlt_onnx_tensor shape;
    int input[2];

    if (pick == PICKS || !picks[pick].gathers || !dlt_onnx_picked_shape(b, 0, &shape))
        return 0;
    for (size_t k = 0; k < 2; k++)
        if ((input[k] = dlt_onnx_needed(b, k)) < 0)
            return -1;
    return dlt_onnx_bind(b, 0, dlt_onnx_add_given(b, DLT_ONNX_GIVEN_GATHER, &shape, input, 2)) ? -1
                                                                                               : 1;
}
