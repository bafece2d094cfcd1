/* SPDX-License-Identifier: Apache-2.0 */

/* Views and copies of a graph as maps: where each element of the output comes from. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "network_build.h"

void bench_strides(const struct bench_shape *shape, int64_t strides[BENCH_RANK])
{
    for (int d = shape->rank - 1; d >= 0; d--)
        strides[d] = d == shape->rank - 1 ? 1 : strides[d + 1] * shape->dim[d + 1];
}

int bench_network_map(struct bench_network *n, const struct bench_map *map, bool gradient,
                      struct bench_tensor **tensor, struct dlt_error *error)
{
    struct bench_layer *layer;
    int status;

    if (!n->backend->map_create)
        return dlt_fail(error, "the backend cannot put elements elsewhere");
    status = n->backend->map_create(n->context, *tensor, map, &layer, tensor, error);
    return status ? status : bench_network_add_stage(n, layer, gradient, false, error);
}

int bench_network_permute(struct bench_network *n, const struct bench_shape *shape,
                          const int *order, bool gradient, struct bench_tensor **tensor,
                          struct dlt_error *error)
{
    struct bench_map map = {.shape = {.rank = shape->rank}};
    int64_t strides[BENCH_RANK] = {0};

    bench_strides(shape, strides);
    for (int d = 0; d < shape->rank; d++) {
        map.shape.dim[d] = shape->dim[order[d]];
        map.stride[d] = strides[order[d]];
    }
    return bench_network_map(n, &map, gradient, tensor, error);
}

int bench_network_expand(struct bench_network *n, const struct bench_shape *from,
                         const struct bench_shape *to, bool gradient, struct bench_tensor **tensor,
                         struct dlt_error *error)
{
    struct bench_map map = {.shape = *to};
    int64_t strides[BENCH_RANK] = {0};

    bench_strides(from, strides);
    for (int d = 0; d < from->rank; d++)
        map.stride[d + to->rank - from->rank] = from->dim[d] > 1 ? strides[d] : 0;
    return bench_network_map(n, &map, gradient, tensor, error);
}

/* One map while it is drawn. */
struct drawing {
    struct bench_map map;
    struct bench_shape in;
    int64_t strides[BENCH_RANK]; /* of the input */
    int64_t *table[BENCH_RANK];  /* to be freed */
    const struct dlt_node *node;
    int index; /* of the output */
};

/* A table for dimension d of the output; NULL where memory is short. */
static int64_t *add_table(struct drawing *d, int dim)
{
    d->table[dim] = calloc((size_t)d->map.shape.dim[dim], sizeof *d->table[dim]);
    d->map.table[dim] = d->table[dim];
    return d->table[dim];
}

static int wrap(int64_t dim, int rank)
{
    return (int)(dim < 0 ? dim + rank : dim);
}

static int draw_permute(struct drawing *d)
{
    const struct dlt_reshape_attributes *a = (const void *)d->node->attribute;

    for (int i = 0; i < d->in.rank; i++)
        d->map.stride[i] = d->strides[wrap(a->shape.value[i], d->in.rank)];
    return 0;
}

static int draw_transpose(struct drawing *d)
{
    const struct dlt_transpose_attributes *a = (const void *)d->node->attribute;
    int one = wrap(a->dim0, d->in.rank), other = wrap(a->dim1, d->in.rank);

    d->map.stride[one] = d->strides[other];
    d->map.stride[other] = d->strides[one];
    return 0;
}

static int draw_slice(struct drawing *d)
{
    const struct dlt_slice_attributes *a = (const void *)d->node->attribute;
    int dim = wrap(a->dim, d->in.rank);
    int64_t start = a->start < 0 ? a->start + d->in.dim[dim] : a->start;

    d->map.start = (start < 0 ? 0 : start) * d->strides[dim];
    d->map.stride[dim] *= a->step;
    return 0;
}

static int draw_split(struct drawing *d)
{
    const struct dlt_dim_attributes *a = (const void *)d->node->attribute;
    int dim = wrap(a->dim, d->in.rank);
    int64_t at = 0;

    for (int i = 0; i < d->index; i++)
        at += a->sections.count > 0 ? a->sections.value[i] : d->map.shape.dim[dim];
    d->map.start = at * d->strides[dim];
    return 0;
}

static int draw_expand(struct drawing *d)
{
    int shift = d->map.shape.rank - d->in.rank;

    memset(d->map.stride, 0, sizeof d->map.stride);
    for (int i = 0; i < d->in.rank; i++)
        d->map.stride[i + shift] = d->in.dim[i] > 1 ? d->strides[i] : 0;
    return 0;
}

static int draw_copy(struct drawing *d)
{
    d->map.copy = true;
    return 0;
}

/* Zeros around, or less of it; by pairs from the last dimension on, or one number for all but the
 * first two. */
static int draw_pad(struct drawing *d)
{
    const struct dlt_reshape_attributes *a = (const void *)d->node->attribute;

    for (int dim = 0; dim < d->in.rank; dim++) {
        int64_t pair = 2 * (d->in.rank - 1 - dim), before = 0;
        int64_t *table;

        if (a->shape.count == 0)
            before = dim >= 2 ? a->shape.value[0] : 0;
        else if (pair < a->shape.count)
            before = a->shape.value[pair];
        if (before == 0 && d->map.shape.dim[dim] <= d->in.dim[dim])
            continue;
        table = add_table(d, dim);
        if (!table)
            return -1;
        for (int64_t i = 0; i < d->map.shape.dim[dim]; i++) {
            int64_t from = i - before;

            table[i] = from < 0 || from >= d->in.dim[dim] ? -1 : from * d->strides[dim];
        }
    }
    return draw_copy(d);
}

/* Graphs do not keep by how much and where; the work is the same: an image turns by one. */
static int draw_roll(struct drawing *d)
{
    int dim = d->in.rank > 2 ? 1 : 0;
    int64_t *table = add_table(d, dim), size = d->in.dim[dim];

    for (int64_t i = 0; table && i < size; i++)
        table[i] = (i + 1) % size * d->strides[dim];
    return table ? draw_copy(d) : -1;
}

static int draw_flip(struct drawing *d)
{
    int dim = d->in.rank - 1;
    int64_t *table = add_table(d, dim), size = d->in.dim[dim];

    for (int64_t i = 0; table && i < size; i++)
        table[i] = size - 1 - i;
    return table ? draw_copy(d) : -1;
}

/* Indices are whole numbers, which have no values here: they count up, and begin again. */
static int draw_take(struct drawing *d)
{
    const struct dlt_dim_attributes *a = (const void *)d->node->attribute;
    int dim = wrap(a->dim, d->in.rank), more = d->map.shape.rank - d->in.rank;
    int64_t *table, step = 1;

    memset(d->map.stride, 0, sizeof d->map.stride);
    for (int i = 0; i < d->in.rank; i++)
        d->map.stride[i + (i > dim ? more : 0)] = d->strides[i];
    for (int i = dim + 1; i <= dim + more; i++)
        step *= d->map.shape.dim[i];
    for (int i = dim + 1; i <= dim + more; i++)
        d->map.stride[i] = 0;
    table = add_table(d, dim);
    for (int64_t i = 0; table && i < d->map.shape.dim[dim]; i++)
        table[i] = i * step % d->in.dim[dim] * d->strides[dim];
    return table ? draw_copy(d) : -1;
}

static int draw_channel_shuffle(struct drawing *d)
{
    const struct dlt_factor_attributes *a = (const void *)d->node->attribute;
    int64_t *table = add_table(d, 1), part = d->in.dim[1] / a->factor;

    for (int64_t i = 0; table && i < d->in.dim[1]; i++)
        table[i] = (i % a->factor * part + i / a->factor) * d->strides[1];
    return table ? draw_copy(d) : -1;
}

static int draw_pixel_shuffle(struct drawing *d)
{
    const struct dlt_factor_attributes *a = (const void *)d->node->attribute;
    int64_t r = a->factor, *row = add_table(d, 2), *column = add_table(d, 3);

    d->map.stride[1] = r * r * d->strides[1];
    for (int64_t y = 0; row && y < d->map.shape.dim[2]; y++)
        row[y] = y % r * r * d->strides[1] + y / r * d->strides[2];
    for (int64_t x = 0; column && x < d->map.shape.dim[3]; x++)
        column[x] = x % r * d->strides[1] + x / r;
    return row && column ? draw_copy(d) : -1;
}

static int draw_pixel_unshuffle(struct drawing *d)
{
    const struct dlt_factor_attributes *a = (const void *)d->node->attribute;
    int64_t r = a->factor, *channel = add_table(d, 1);

    d->map.stride[2] = r * d->strides[2];
    d->map.stride[3] = r;
    for (int64_t c = 0; channel && c < d->map.shape.dim[1]; c++)
        channel[c] = c / (r * r) * d->strides[1] + c / r % r * d->strides[2] + c % r;
    return channel ? draw_copy(d) : -1;
}

static const struct {
    const char *op;
    int (*draw)(struct drawing *d);
} drawings[] = {
    {"permute", draw_permute},
    {"transpose", draw_transpose},
    {"slice", draw_slice},
    {"split", draw_split},
    {"expand", draw_expand},
    {"contiguous", draw_copy},
    {"pad", draw_pad},
    {"roll", draw_roll},
    {"flip", draw_flip},
    {"index_select", draw_take},
    {"gather", draw_take},
    {"channel_shuffle", draw_channel_shuffle},
    {"pixel_shuffle", draw_pixel_shuffle},
    {"pixel_unshuffle", draw_pixel_unshuffle},
};

static int draw(struct bench_network *n, const struct dlt_node *node, int (*how)(struct drawing *d),
                int index, struct dlt_error *error)
{
    struct drawing d = {.node = node,
                        .index = index,
                        .in = bench_network_shape(n, node->input[0]),
                        .map = {.shape = bench_network_shape(n, node->output + index)}};
    bool gradient = n->graph->tensor[node->input[0]].gradient && node->data_gradient;
    struct bench_tensor *tensor;
    int status = bench_network_tensor(n, node->input[0], &tensor, error);

    if (status)
        return status;
    bench_strides(&d.in, d.strides);
    memcpy(d.map.stride, d.strides, sizeof d.strides);
    status =
        how(&d) ? dlt_fail_memory(error) : bench_network_map(n, &d.map, gradient, &tensor, error);
    for (int i = 0; i < BENCH_RANK; i++)
        free(d.table[i]);
    n->tensor[node->output + index] = tensor;
    return status;
}

/* flatten, reshape, squeeze, unsqueeze, identity: the same elements in the same order. */
static int add_plain_view(struct bench_network *n, const struct dlt_node *node,
                          struct dlt_error *error)
{
    struct bench_shape from = bench_network_shape(n, node->input[0]);
    struct bench_shape to = bench_network_shape(n, node->output);
    struct bench_tensor *tensor;
    struct bench_layer *layer;
    int status = bench_network_tensor(n, node->input[0], &tensor, error);

    if (status == BENCH_OK && strcmp(node->op->name, "detach") == 0) {
        status = n->backend->view_create(n->context, tensor, &to, &layer, &tensor, error);
        if (status == BENCH_OK)
            status = bench_network_add_stage(n, layer, false, false, error);
    } else if (status == BENCH_OK) {
        status = bench_network_reshape(n, &from, &to, node->data_gradient, &tensor, error);
    }
    n->tensor[node->output] = tensor;
    return status;
}

int bench_network_add_view(struct bench_network *n, const struct dlt_node *node,
                           struct dlt_error *error)
{
    if (n->graph->tensor[node->output].type != DLT_TENSOR_FLOAT)
        return BENCH_OK; /* whole numbers: nothing to run */
    if (node->input_count == 0)
        return dlt_fail(error, "%s cannot be run", node->op->name);
    for (size_t i = 0; i < sizeof drawings / sizeof *drawings; i++) {
        int status = BENCH_OK;

        if (strcmp(drawings[i].op, node->op->name) != 0)
            continue;
        for (size_t k = 0; k < node->output_count && status == BENCH_OK; k++)
            status = draw(n, node, drawings[i].draw, (int)k, error);
        return status;
    }
    if (node->op->class != DLT_OP_VIEW || node->output_count != 1)
        return dlt_fail(error, "%s cannot be run", node->op->name);
    return add_plain_view(n, node, error);
}
