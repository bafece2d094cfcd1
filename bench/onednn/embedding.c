/* SPDX-License-Identifier: Apache-2.0 */

/* Rows of a table by random ids. */
#include <string.h>

#include "../shapes.h"
#include "onednn.h"

struct table {
    int64_t rows, entries, width;
    int32_t *id;
    struct bench_buffer *gradient;
    /* Of the copy at hand. */
    const float *from;
    float *to;
};

static void gather(void *data, size_t from, size_t to)
{
    const struct table *t = data;

    for (size_t row = from; row < to; row++)
        memcpy(t->to + row * (size_t)t->width, t->from + (size_t)t->id[row] * (size_t)t->width,
               (size_t)t->width * sizeof(float));
}

/* Each thread owns a range of the table's entries and goes through all ids, as PyTorch does. */
static void scatter(void *data, size_t from, size_t to)
{
    const struct table *t = data;

    for (int64_t row = 0; row < t->rows; row++) {
        const float *g = t->from + row * t->width;
        float *entry = t->to + t->id[row] * t->width;

        if ((size_t)t->id[row] < from || (size_t)t->id[row] >= to)
            continue;
        for (int64_t i = 0; i < t->width; i++)
            entry[i] += g[i];
    }
}

static void run_forward(struct bench_layer *layer, void *data, int copy)
{
    struct table *t = data;
    struct bench_layer *owner = layer->options.share ? layer->options.share : layer;

    t->from = bench_buffer_data(owner->weight.value, copy);
    t->to = bench_buffer_data(layer->output->value, copy);
    bench_parallel(layer->context->threads, (size_t)t->rows, 16, gather, t);
}

static void run_backward(struct bench_layer *layer, void *data, int copy)
{
    struct table *t = data;
    struct bench_layer *owner = layer->options.share ? layer->options.share : layer;

    t->from = bench_buffer_data(t->gradient, copy);
    t->to = bench_buffer_data(owner->weight.gradient, copy);
    bench_parallel(layer->context->threads, (size_t)t->entries, 16, scatter, t);
}

/* The ids as numbers, for whoever checks the result. */
static int show_ids(struct bench_layer *layer, const struct table *t, struct dlt_error *error)
{
    bench_md md = bench_md_plain(layer->context, dnnl_f32, 1, &t->rows);
    int status = bench_buffer_create(layer->context, md, 1, &layer->mask, error);
    float *shown = status ? NULL : bench_buffer_data(layer->mask, 0);

    for (int64_t i = 0; shown && i < t->rows; i++)
        shown[i] = (float)t->id[i];
    return status;
}

int bench_embedding_forward(struct bench_layer *layer, struct dlt_error *error)
{
    const struct dlt_matmul *m = &layer->record.u.matmul;
    struct bench_layer *share = layer->options.share;
    struct table *t = layer->extra = bench_own_zeroed(&layer->context->owned, 1, sizeof *t, error);
    int status = BENCH_OK;

    if (!t)
        return BENCH_NO_MEMORY;
    *t = (struct table){.rows = m->m, .entries = m->k, .width = m->n};
    t->id = bench_own_zeroed(&layer->context->owned, (size_t)t->rows, sizeof *t->id, error);
    if (!t->id)
        return BENCH_NO_MEMORY;
    for (int64_t i = 0; i < t->rows; i++)
        t->id[i] = (int32_t)(bench_random(layer->context) % (uint64_t)t->entries);
    if (layer->standalone)
        status = show_ids(layer, t, error);
    if (status == BENCH_OK && !share)
        status = bench_parameter(layer, bench_role_md(layer, BENCH_WEIGHT, 0), 0, 1, &layer->weight,
                                 error);
    if (share && !bench_md_equal(share->weight.value->md, bench_role_md(layer, BENCH_WEIGHT, 0)))
        return dlt_fail(error, "a table of another shape or layout cannot be shared by onednn");
    if (status == BENCH_OK)
        status = bench_output(layer, bench_role_md(layer, BENCH_OUTPUT, 0), error);
    if (status)
        return status;
    return bench_add_loop(layer, DLT_FORWARD, run_forward, t,
                          (struct bench_buffer *const[]){layer->output->value, NULL}, error);
}

int bench_embedding_backward(struct bench_layer *layer, bool data, bool weight,
                             struct dlt_error *error)
{
    struct table *t = layer->extra;
    struct bench_layer *owner = layer->options.share ? layer->options.share : layer;
    bool first = owner->weight.gradient == NULL;
    int status =
        bench_output_gradient(layer, DLT_BACKWARD, layer->output->value->md, &t->gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_parameter_gradient(owner, &owner->weight, error);
    if (status == BENCH_OK && first)
        status = bench_add_zero(layer, DLT_BACKWARD, owner->weight.gradient, error);
    if (status)
        return status;
    return bench_add_loop(layer, DLT_BACKWARD, run_backward, t,
                          (struct bench_buffer *const[]){t->gradient, owner->weight.gradient, NULL},
                          error);
}
