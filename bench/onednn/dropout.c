/* SPDX-License-Identifier: Apache-2.0 */

/* Dropout: oneDNN has none. */
#include "onednn.h"

struct dropout {
    const float *from;
    float *to, *mask;
    uint32_t seed;
};

/* Keeps half of the elements, doubled. The mask comes from a hash of the position (Wang's), which
 * vectorises where a generator with a state does not. */
static void drop(void *data, size_t from, size_t to)
{
    const struct dropout *d = data;

    for (size_t i = from; i < to; i++) {
        uint32_t h = (uint32_t)i * 0x9e3779b1u ^ d->seed;

        h = (h ^ (h >> 15)) * 0x85ebca6bu;
        h = (h ^ (h >> 13)) * 0xc2b2ae35u;
        d->mask[i] = h >> 31 ? 2.0f : 0.0f;
        d->to[i] = d->from[i] * d->mask[i];
    }
}

static void drop_back(void *data, size_t from, size_t to)
{
    const struct dropout *d = data;

    for (size_t i = from; i < to; i++)
        d->to[i] = d->from[i] * d->mask[i];
}

struct gradients {
    struct bench_buffer *gradient, *target;
};

static void dropout_forward(struct bench_layer *layer, void *data, int copy)
{
    struct dropout d = {bench_buffer_data(layer->converted, copy),
                        bench_buffer_data(layer->output->value, copy),
                        bench_buffer_data(layer->mask, copy), layer->dropout_seed++};

    (void)data;
    bench_parallel(layer->context->threads, bench_buffer_floats(layer->converted), 4096, drop, &d);
}

static void dropout_backward(struct bench_layer *layer, void *data, int copy)
{
    const struct gradients *g = data;
    struct dropout d = {bench_buffer_data(g->gradient, copy), bench_buffer_data(g->target, copy),
                        bench_buffer_data(layer->mask, copy), 0};

    bench_parallel(layer->context->threads, bench_buffer_floats(layer->mask), 4096, drop_back, &d);
}

int bench_dropout_forward(struct bench_layer *layer, struct dlt_error *error)
{
    bench_md md = bench_given_layout(layer);
    int status = bench_one_input(layer, md, error);

    if (status == BENCH_OK)
        status = bench_buffer_create(layer->context, md, layer->copies, &layer->mask, error);
    if (status)
        return status;
    return bench_add_loop(
        layer, DLT_FORWARD, dropout_forward, NULL,
        (struct bench_buffer *const[]){layer->converted, layer->output->value, layer->mask, NULL},
        error);
}

int bench_dropout_backward(struct bench_layer *layer, struct dlt_error *error)
{
    bench_md md = layer->output->value->md;
    struct bench_tensor *input = layer->input[0];
    struct gradients *g = bench_own_zeroed(&layer->context->owned, 1, sizeof *g, error);
    bool accumulate;
    int status;

    if (!g)
        return BENCH_NO_MEMORY;
    status = bench_output_gradient(layer, DLT_BACKWARD_DATA, md, &g->gradient, error);
    if (status == BENCH_OK)
        status = bench_collect(layer, md, input->value->md, &input->gradient, &g->target,
                               &accumulate, error);
    if (status == BENCH_OK)
        status = bench_add_loop(
            layer, DLT_BACKWARD_DATA, dropout_backward, g,
            (struct bench_buffer *const[]){g->gradient, g->target, layer->mask, NULL}, error);
    return status ? status
                  : bench_deliver(layer, DLT_BACKWARD_DATA, input->gradient, g->target, accumulate,
                                  error);
}
