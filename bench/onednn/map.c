/* SPDX-License-Identifier: Apache-2.0 */

/* A tensor's elements in other places: another look at its memory where that is enough (permute,
 * slice), else a copy (pad, gather, expand). */
#include <stdlib.h>
#include <string.h>

#include "onednn.h"

struct map {
    struct bench_shape shape;
    int64_t start, stride[BENCH_RANK];
    int64_t *table[BENCH_RANK];
    int split;  /* a dimension in which no two places are the same */
    bool all;   /* every element is somebody's, and nobody's twice */
    bool alone; /* all lands in one place: one thread's work */
    struct bench_buffer *from, *to;
    /* Of the copy at hand. */
    float *outside, *inside; /* the tensor that is mapped, and what it is mapped to */
    bool backward;
};

static int64_t place(const struct map *m, int d, int64_t index)
{
    return m->table[d] ? m->table[d][index] : index * m->stride[d];
}

/* `count` elements of the last dimension, from index `first` on. */
static void map_row(const struct map *m, int64_t base, int64_t first, int64_t count, float *inside)
{
    int last = m->shape.rank - 1;
    int64_t stride = m->stride[last];
    const int64_t *table = m->table[last] ? m->table[last] + first : NULL;
    float *outside = m->outside + base + (table ? 0 : first * stride);

    if (!m->backward && !table && stride == 1) {
        memcpy(inside, outside, (size_t)count * sizeof *inside);
    } else if (!m->backward) {
        for (int64_t i = 0; i < count; i++) {
            int64_t at = table ? table[i] : i * stride;

            inside[i] = at < 0 ? 0 : outside[at];
        }
    } else if (m->all) {
        for (int64_t i = 0; i < count; i++)
            outside[table ? table[i] : i * stride] = inside[i];
    } else {
        for (int64_t i = 0; i < count; i++) {
            int64_t at = table ? table[i] : i * stride;

            if (at >= 0)
                outside[at] += inside[i];
        }
    }
}

/* Where the row at these indices comes from; -1: it is zero. */
static int64_t row_base(const struct map *m, const int64_t *index)
{
    int64_t base = m->start;

    for (int d = 0; d + 1 < m->shape.rank; d++) {
        int64_t at = place(m, d, index[d]);

        if (at < 0)
            return -1;
        base += at;
    }
    return base;
}

/* All rows whose index in the split dimension lies in [from, to). */
static void walk(void *data, size_t from, size_t to)
{
    const struct map *m = data;
    int last = m->shape.rank - 1;
    int64_t index[BENCH_RANK] = {0}, strides[BENCH_RANK], first = 0, count = m->shape.dim[last];

    strides[last] = 1;
    for (int d = last - 1; d >= 0; d--)
        strides[d] = strides[d + 1] * m->shape.dim[d + 1];
    if (m->split == last) {
        first = (int64_t)from;
        count = (int64_t)(to - from);
    } else {
        index[m->split] = (int64_t)from;
    }
    for (;;) {
        int64_t at = first, base = row_base(m, index);
        int d = last - 1;

        for (int i = 0; i < last; i++)
            at += index[i] * strides[i];
        if (base >= 0)
            map_row(m, base, first, count, m->inside + at);
        else if (!m->backward)
            memset(m->inside + at, 0, (size_t)count * sizeof *m->inside);
        for (; d >= 0; d--) {
            if (++index[d] < (d == m->split ? (int64_t)to : m->shape.dim[d]))
                break;
            index[d] = d == m->split ? (int64_t)from : 0;
        }
        if (d < 0)
            return;
    }
}

static void run_map(struct bench_layer *layer, struct map *m, bool backward)
{
    m->backward = backward;
    bench_parallel(m->alone ? 1 : layer->context->threads, (size_t)m->shape.dim[m->split], 1, walk,
                   m);
}

static void run_forward(struct bench_layer *layer, void *data, int copy)
{
    struct map *m = data;

    m->outside = bench_buffer_data(m->from, copy);
    m->inside = bench_buffer_data(layer->output->value, copy);
    run_map(layer, m, false);
}

/* `from` is the tensor's gradient, `to` the mapped one's. */
struct map_back {
    struct map map;
    struct bench_buffer *target, *gradient;
};

static void run_backward(struct bench_layer *layer, void *data, int copy)
{
    struct map_back *b = data;

    b->map.outside = bench_buffer_data(b->target, copy);
    b->map.inside = bench_buffer_data(b->gradient, copy);
    run_map(layer, &b->map, true);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Whether no two of the dimension's places are the same; -1 where memory is short. */
static int is_injective(const struct map *m, int d, bool *zeros)
{
    size_t count = (size_t)m->shape.dim[d];
    int64_t *sorted;
    int result = 1;

    if (!m->table[d])
        return m->stride[d] != 0 || count == 1;
    sorted = malloc(count * sizeof *sorted);
    if (!sorted)
        return -1;
    memcpy(sorted, m->table[d], count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    *zeros = *zeros || sorted[0] < 0;
    for (size_t i = 1; i < count; i++)
        if (sorted[i] >= 0 && sorted[i] == sorted[i - 1])
            result = 0;
    free(sorted);
    return result;
}

/* Copies the map and finds out what it is like. */
static int take_map(struct bench_layer *layer, const struct bench_map *map, size_t elements,
                    struct map *m, struct dlt_error *error)
{
    bool zeros = false, one_to_one = true;
    size_t count = 1;

    m->shape = map->shape;
    m->start = map->start;
    m->split = -1;
    for (int d = 0; d < map->shape.rank; d++) {
        size_t size = (size_t)map->shape.dim[d];
        int injective;

        m->stride[d] = map->stride[d];
        count *= size;
        if (map->table[d]) {
            m->table[d] =
                bench_own_zeroed(&layer->context->owned, size, sizeof *m->table[d], error);
            if (!m->table[d])
                return BENCH_NO_MEMORY;
            memcpy(m->table[d], map->table[d], size * sizeof *m->table[d]);
        }
        injective = is_injective(m, d, &zeros);
        if (injective < 0)
            return dlt_fail_memory(error);
        one_to_one = one_to_one && injective;
        if (injective && (m->split < 0 || m->shape.dim[m->split] < 64) &&
            (m->split < 0 || map->shape.dim[d] > m->shape.dim[m->split]))
            m->split = d;
    }
    m->all = one_to_one && !zeros && count == elements;
    m->alone = m->split < 0;
    if (m->alone)
        m->split = 0;
    return BENCH_OK;
}

static bool is_regular(const struct bench_map *map)
{
    for (int d = 0; d < map->shape.rank; d++)
        if (map->table[d] || (map->stride[d] <= 0 && map->shape.dim[d] > 1))
            return false;
    return !map->copy;
}

/* Adds the mapped gradient to the tensor's, or, where it is the first and covers it, writes it. */
static int map_backward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    struct bench_tensor *tensor = layer->input[0];
    struct map_back *b = bench_own_zeroed(&context->owned, 1, sizeof *b, error);
    bench_md plain = bench_md_flat(context, tensor->value->md), home = tensor->value->md;
    bool accumulate;
    int status;

    if (!b)
        return BENCH_NO_MEMORY;
    b->map = *(const struct map *)layer->extra;
    status = bench_output_gradient(layer, DLT_BACKWARD_DATA,
                                   bench_md_flat(context, layer->output->value->md), &b->gradient,
                                   error);
    /* Where the gradient stands row-major already, it is added to in place. */
    accumulate = tensor->gradient && bench_md_equal(tensor->gradient->md, plain);
    if (status == BENCH_OK && accumulate) {
        b->target = tensor->gradient;
        b->map.all = false;
        return bench_add_loop(layer, DLT_BACKWARD_DATA, run_backward, b,
                              (struct bench_buffer *const[]){b->gradient, b->target, NULL}, error);
    }
    if (!tensor->gradient && !bench_md_equal(home, plain))
        home = plain;
    if (status == BENCH_OK)
        status =
            bench_collect(layer, plain, home, &tensor->gradient, &b->target, &accumulate, error);
    if (status == BENCH_OK && !b->map.all)
        status = bench_add_zero(layer, DLT_BACKWARD_DATA, b->target, error);
    if (status == BENCH_OK)
        status =
            bench_add_loop(layer, DLT_BACKWARD_DATA, run_backward, b,
                           (struct bench_buffer *const[]){b->gradient, b->target, NULL}, error);
    return status ? status
                  : bench_deliver(layer, DLT_BACKWARD_DATA, tensor->gradient, b->target, accumulate,
                                  error);
}

/* The same memory with other strides. */
static int look_again(struct bench_layer *layer, const struct bench_map *map,
                      struct bench_buffer *value, struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    struct bench_tensor *output = bench_own_zeroed(&context->owned, 1, sizeof *output, error);
    int64_t strides[BENCH_RANK];

    if (!output)
        return BENCH_NO_MEMORY;
    output->context = context;
    output->shape = map->shape;
    layer->output = output;
    /* The stride of a dimension of size one is nobody's business, but has to be possible. */
    for (int d = 0; d < map->shape.rank; d++)
        strides[d] = map->stride[d] > 0 ? map->stride[d] : 1;
    return bench_buffer_alias(
        context, value,
        bench_md_strided(context, dnnl_f32, map->shape.rank, map->shape.dim, strides),
        (size_t)map->start * sizeof(float), &output->value, error);
}

int bench_map_create(struct bench_context *context, struct bench_tensor *tensor,
                     const struct bench_map *map, struct bench_layer **layer,
                     struct bench_tensor **mapped, struct dlt_error *error)
{
    bench_md plain = bench_md_flat(context, tensor->value->md);
    struct bench_buffer *value = tensor->value;
    struct bench_layer *made;
    struct map *m;
    int status = bench_layer_new(context, "map", &made, error);

    if (status)
        return status;
    *layer = made;
    made->backward = map_backward;
    made->input[0] = tensor;
    made->input_count = 1;
    m = made->extra = bench_own_zeroed(&context->owned, 1, sizeof *m, error);
    if (!m)
        return BENCH_NO_MEMORY;
    status = take_map(made, map, bench_md_elements(plain), m, error);
    if (status == BENCH_OK)
        status = bench_convert(made, DLT_FORWARD, plain, &value, error);
    if (status)
        return status;
    m->from = value;
    if (is_regular(map)) {
        status = look_again(made, map, value, error);
    } else {
        status = bench_output(
            made, bench_md_plain(context, dnnl_f32, map->shape.rank, map->shape.dim), error);
        if (status == BENCH_OK)
            status = bench_add_loop(
                made, DLT_FORWARD, run_forward, m,
                (struct bench_buffer *const[]){value, made->output->value, NULL}, error);
    }
    *mapped = made->output;
    return status;
}
