/* SPDX-License-Identifier: Apache-2.0 */

/* sum, mean, max, min and the Euclidean norm over some dimensions. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "../shapes.h"
#include "onednn.h"

enum kind { SUM, MEAN, MAX, MIN, NORM };

struct reduction {
    enum kind kind;
    float scale; /* mean: 1 / elements */
    struct bench_buffer *result, *gradient, *target;
    struct bench_nest forward, backward;
};

static void forward_row(void *data, int64_t count, float *const *at, const int64_t *step)
{
    const struct reduction *r = data;
    const float *x = at[0];
    float *y = at[1];
    float sum = 0;

    if (step[1] == 0 && step[0] == 1 && r->kind <= MEAN) {
        for (int64_t i = 0; i < count; i++)
            sum += x[i];
        *y += sum * r->scale;
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        float value = x[i * step[0]];
        float *to = &y[i * step[1]];

        switch (r->kind) {
        case MAX:
            *to = value > *to ? value : *to;
            break;
        case MIN:
            *to = value < *to ? value : *to;
            break;
        case NORM:
            *to += value * value;
            break;
        default:
            *to += value * r->scale;
        }
    }
}

/* dx = scale g; where x is the extreme, g; g x / y. Operands: dx, g, x, y. */
static void backward_row(void *data, int64_t count, float *const *at, const int64_t *step)
{
    const struct reduction *r = data;
    float *dx = at[0];
    const float *g = at[1], *x = at[2], *y = at[3];

    for (int64_t i = 0; i < count; i++) {
        float gradient = g[i * step[1]];

        switch (r->kind) {
        case MAX:
        case MIN:
            gradient = x[i * step[2]] == y[i * step[3]] ? gradient : 0; /* NOLINT: a copy of it */
            break;
        case NORM:
            gradient *= x[i * step[2]] / (y[i * step[3]] + FLT_MIN);
            break;
        default:
            gradient *= r->scale;
        }
        dx[i * step[0]] = gradient;
    }
}

static void run_forward(struct bench_layer *layer, void *data, int copy)
{
    struct reduction *r = data;
    float *base[] = {bench_buffer_data(layer->converted, copy), bench_buffer_data(r->result, copy)};
    size_t count = bench_buffer_floats(r->result);
    float start = r->kind == MAX ? -FLT_MAX : r->kind == MIN ? FLT_MAX : 0;

    for (size_t i = 0; i < count; i++)
        base[1][i] = start;
    bench_nest_run(layer->context->threads, &r->forward, base, forward_row, r);
    for (size_t i = 0; i < count && r->kind == NORM; i++)
        base[1][i] = sqrtf(base[1][i]);
}

static void run_backward(struct bench_layer *layer, void *data, int copy)
{
    struct reduction *r = data;
    float *base[] = {bench_buffer_data(r->target, copy), bench_buffer_data(r->gradient, copy),
                     bench_buffer_data(r->kind <= MEAN ? r->target : layer->converted, copy),
                     bench_buffer_data(r->kind <= MEAN ? r->target : r->result, copy)};

    bench_nest_run(layer->context->threads, &r->backward, base, backward_row, r);
}

static enum kind kind_of(const struct bench_layer *layer)
{
    static const char *const names[] = {"sum", "mean", "max", "min", "norm"};

    for (int i = 0; i < 5; i++)
        if (bench_is_op(layer, names[i]))
            return (enum kind)i;
    return SUM;
}

/* The result with its reduced dimensions kept as 1. */
static bench_md kept_dimensions(struct bench_layer *layer, bench_md in)
{
    int64_t dims[DNNL_MAX_NDIMS];
    int rank = bench_md_rank(in);
    unsigned reduced = layer->standalone ? 2 : layer->options.reduced;

    memcpy(dims, bench_md_dims(in), sizeof *dims * (size_t)rank);
    for (int d = 0; d < rank; d++)
        if (reduced >> d & 1)
            dims[d] = 1;
    return bench_md_plain(layer->context, dnnl_f32, rank, dims);
}

int bench_reduction_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    struct reduction *r = layer->extra = bench_own_zeroed(&context->owned, 1, sizeof *r, error);
    bench_md in = bench_given_layout(layer), md[2], out;
    int status;

    if (!r)
        return BENCH_NO_MEMORY;
    if (bench_md_padded(in))
        in = bench_md_flat(context, in);
    md[0] = in;
    md[1] = kept_dimensions(layer, in);
    out = layer->standalone ? bench_role_md(layer, BENCH_OUTPUT, 0)
                            : bench_md_plain(context, dnnl_f32, layer->output_shape.rank,
                                             layer->output_shape.dim);
    r->kind = kind_of(layer);
    r->scale =
        r->kind == MEAN ? (float)bench_md_elements(md[1]) / (float)bench_md_elements(md[0]) : 1;
    status = bench_input(layer, 0, in, &layer->converted, error);
    if (status == BENCH_OK)
        status = bench_output(layer, out, error);
    if (status == BENCH_OK)
        status = bench_buffer_alias(context, layer->output->value, md[1], 0, &r->result, error);
    if (status)
        return status;
    if (bench_nest_make(&r->forward, md, 2, 2))
        return dlt_fail(error, "reduction: its input's layout cannot be run through");
    return bench_add_loop(layer, DLT_FORWARD, run_forward, r,
                          (struct bench_buffer *const[]){layer->converted, r->result, NULL}, error);
}

int bench_reduction_backward(struct bench_layer *layer, bool data, bool weight,
                             struct dlt_error *error)
{
    struct bench_tensor *input = layer->input[0];
    struct reduction *r = layer->extra;
    bench_md in = layer->converted->md, kept = r->result->md;
    bench_md md[] = {in, kept, in, kept};
    bool accumulate;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, layer->output->value->md,
                                       &r->gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_collect(layer, in, input->value->md, &input->gradient, &r->target,
                               &accumulate, error);
    if (status)
        return status;
    if (bench_nest_make(&r->backward, md, 4, 0))
        return dlt_fail(error, "reduction: its input's layout cannot be run through");
    status = bench_add_loop(
        layer, DLT_BACKWARD_DATA, run_backward, r,
        (struct bench_buffer *const[]){r->gradient, r->target,
                                       r->kind <= MEAN ? NULL : layer->converted, r->result, NULL},
        error);
    return status ? status
                  : bench_deliver(layer, DLT_BACKWARD_DATA, input->gradient, r->target, accumulate,
                                  error);
}
