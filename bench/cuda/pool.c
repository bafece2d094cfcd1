/* SPDX-License-Identifier: Apache-2.0 */

/* Pools of one to three dimensions, in either layout, with the places of the maxima kept. */
#include <string.h>

#include "../shapes.h"
#include "cuda.h"

static bool averages(const struct dlt_record *record)
{
    return strncmp(record->kind->name, "avg", 3) == 0;
}

/* Missing dimensions are of size one, before those that are there. */
static struct bench_pool_arguments arguments_of(const struct bench_layer *layer)
{
    const struct dlt_spatial *s = &layer->record.u.spatial;
    struct bench_pool_arguments pool = {.images = s->batch,
                                        .channels = (int)s->in_channels,
                                        .last = layer->last,
                                        .average = averages(&layer->record)};
    int missing = BENCH_PLANES - layer->record.kind->dims;

    for (int d = 0; d < BENCH_PLANES; d++) {
        int own = d - missing;

        pool.in_size[d] = own < 0 ? 1 : (int)s->in_size[own];
        pool.out_size[d] = own < 0 ? 1 : (int)dlt_spatial_out(s, own);
        pool.kernel[d] = own < 0 ? 1 : (int)s->kernel[own];
        pool.stride[d] = own < 0 ? 1 : (int)s->stride[own];
        pool.dilation[d] = own < 0 ? 1 : (int)s->dilation[own];
        pool.padding[d] = own < 0 ? 0 : (int)s->padding[own][0];
    }
    return pool;
}

static int add_pool(struct bench_layer *layer, enum dlt_pass pass, const char *kernel,
                    const struct bench_buffer *in, const struct bench_buffer *out, size_t count,
                    struct dlt_error *error)
{
    struct bench_pool_arguments pool = arguments_of(layer);
    struct bench_call call = {.kernel = kernel,
                              .type = layer->type,
                              .grid = {bench_blocks(layer->context, 4 * (long long)count)},
                              BENCH_ARGUMENTS(pool),
                              .pointer = {BENCH_POINTER(pool, in, in),
                                          BENCH_POINTER(pool, out, out),
                                          BENCH_POINTER(pool, index, layer->index)}};

    return bench_add_call(layer, pass, &call, error);
}

int bench_pool_forward(struct bench_layer *layer, struct dlt_error *error)
{
    int status;

    /* In a network a pool keeps the layout that it is given. */
    if (!layer->standalone)
        layer->last = layer->input[0]->value->last;
    status = bench_input(layer, 0, error);
    if (status == BENCH_OK)
        status = bench_output(layer, error);
    if (status == BENCH_OK && !averages(&layer->record))
        status = bench_scratch(layer, BENCH_I32, (int64_t)layer->output->value->count,
                               &layer->index, error);
    return status ? status
                  : add_pool(layer, DLT_FORWARD, "pool", layer->value[0], layer->output->value,
                             layer->output->value->count, error);
}

int bench_pool_backward(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error)
{
    struct bench_buffer *gradient = NULL, *target = NULL;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_collect(layer, 0, &target, error);
    if (status == BENCH_OK)
        status =
            add_pool(layer, DLT_BACKWARD_DATA, "pool_back", gradient, target, target->count, error);
    return status ? status : bench_deliver(layer, DLT_BACKWARD_DATA, 0, target, error);
}
