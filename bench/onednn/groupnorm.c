/* SPDX-License-Identifier: Apache-2.0 */

/* group_norm and rms_norm, which oneDNN 2 does not have. Each normalises sets of elements that
 * stand next to each other in row-major order: the channels of a group, or a row. */
#include <math.h>

#include "../shapes.h"
#include "spatial.h"

static const float epsilon = 1e-5f;

/* What the loops work on. A set has `channels` channels of `plane` elements each, which share a
 * parameter; a row of rms_norm has planes of one element. */
struct sets {
    struct bench_layer *layer;
    struct bench_buffer *gradient, *target;
    bool centered; /* group_norm subtracts the mean */
    int64_t count, groups, channels, plane;
    /* Of the copy at hand. */
    const float *x, *g, *scale, *shift;
    float *y, *mean, *inverse, *dx, *dscale, *dshift;
};

/* Sums in so many parts, as a sum of floats in order cannot be vectorised; short ones are not worth
 * it.
 */
enum { LANES = 16 };

static float sum_of(const float *x, int64_t count)
{
    float lane[LANES] = {0}, sum = 0;
    int64_t i = 0;

    if (count >= LANES) {
        for (; i + LANES <= count; i += LANES)
            for (int l = 0; l < LANES; l++)
                lane[l] += x[i + l];
        for (int l = 0; l < LANES; l++)
            sum += lane[l];
    }
    for (; i < count; i++)
        sum += x[i];
    return sum;
}

/* Of g (x - mean), or, where g is x, of (x - mean)^2. */
static float sum_products(const float *g, const float *x, float mean, int64_t count)
{
    float lane[LANES] = {0}, sum = 0, off = g == x ? mean : 0;
    int64_t i = 0;

    if (count >= LANES) {
        for (; i + LANES <= count; i += LANES)
            for (int l = 0; l < LANES; l++)
                lane[l] += (g[i + l] - off) * (x[i + l] - mean);
        for (int l = 0; l < LANES; l++)
            sum += lane[l];
    }
    for (; i < count; i++)
        sum += (g[i] - off) * (x[i] - mean);
    return sum;
}

/* The two sums of one channel; rms_norm's have one element. */
static inline void channel_sums(const float *g, const float *x, float mean, int64_t plane,
                                float *sum_g, float *sum_gx)
{
    if (plane == 1) {
        *sum_g = *g;
        *sum_gx = *g * (*x - mean);
        return;
    }
    *sum_g = sum_of(g, plane);
    *sum_gx = sum_products(g, x, mean, plane);
}

static void statistics(const struct sets *s, int64_t set)
{
    int64_t elements = s->channels * s->plane;
    const float *x = s->x + set * elements;
    float mean = s->centered ? sum_of(x, elements) / (float)elements : 0;
    float squares = sum_products(x, x, mean, elements);

    s->mean[set] = mean;
    s->inverse[set] = 1 / sqrtf(squares / (float)elements + epsilon);
}

static void forward_sets(void *data, size_t from, size_t to)
{
    const struct sets *s = data;

    for (int64_t set = (int64_t)from; set < (int64_t)to; set++) {
        int64_t first = set % s->groups * s->channels;

        statistics(s, set);
        for (int64_t c = 0; c < s->channels; c++) {
            int64_t at = (set * s->channels + c) * s->plane;
            float a = s->inverse[set] * s->scale[first + c];
            float b = (s->shift ? s->shift[first + c] : 0) - s->mean[set] * a;

            for (int64_t i = 0; i < s->plane; i++)
                s->y[at + i] = a * s->x[at + i] + b;
        }
    }
}

/* dx = inverse (g w - mean(g w) - x^ mean(g w x^)); rms_norm lacks the first mean. */
static void backward_sets(void *data, size_t from, size_t to)
{
    const struct sets *s = data;
    float elements = (float)(s->channels * s->plane);

    for (int64_t set = (int64_t)from; set < (int64_t)to; set++) {
        int64_t first = set % s->groups * s->channels;
        float inverse = s->inverse[set], mean = s->mean[set], sum_g = 0, sum_gx = 0;

        for (int64_t c = 0; c < s->channels; c++) {
            int64_t at = (set * s->channels + c) * s->plane;
            float g, gx;

            channel_sums(s->g + at, s->x + at, mean, s->plane, &g, &gx);
            sum_g += g * s->scale[first + c];
            sum_gx += gx * inverse * s->scale[first + c];
        }
        sum_g = s->centered ? sum_g / elements : 0;
        sum_gx /= elements;
        for (int64_t c = 0; c < s->channels; c++) {
            int64_t at = (set * s->channels + c) * s->plane;
            float w = s->scale[first + c];

            for (int64_t i = 0; i < s->plane; i++)
                s->dx[at + i] =
                    inverse * (s->g[at + i] * w - sum_g - (s->x[at + i] - mean) * inverse * sum_gx);
        }
    }
}

/* The parameters' gradients: channels are shared out, so that no two threads add to one. */
static void backward_parameters(void *data, size_t from, size_t to)
{
    const struct sets *s = data;
    int64_t all = s->groups * s->channels;

    for (size_t c = from; c < to; c++) {
        s->dscale[c] = 0;
        if (s->dshift)
            s->dshift[c] = 0;
    }
    for (int64_t image = 0; image < s->count / s->groups; image++) {
        int64_t set = image * s->groups + (int64_t)from / s->channels;
        int64_t left = s->channels - (int64_t)from % s->channels; /* channels of that set */

        for (int64_t c = (int64_t)from; c < (int64_t)to; c++, left--) {
            int64_t at = (image * all + c) * s->plane;
            float g, gx;

            if (left == 0) {
                set++;
                left = s->channels;
            }
            channel_sums(s->g + at, s->x + at, s->mean[set], s->plane, &g, &gx);
            s->dscale[c] += gx * s->inverse[set];
            if (s->dshift)
                s->dshift[c] += g;
        }
    }
}

static void bind_forward(struct sets *s, int copy)
{
    const struct bench_layer *layer = s->layer;

    s->x = bench_buffer_data(layer->converted, copy);
    s->y = bench_buffer_data(layer->output->value, copy);
    s->mean = bench_buffer_data(layer->mean, copy);
    s->inverse = bench_buffer_data(layer->variance, copy);
    s->scale = bench_buffer_data(layer->weight.value, copy);
    s->shift = layer->bias.value ? bench_buffer_data(layer->bias.value, copy) : NULL;
}

static void run_forward(struct bench_layer *layer, void *data, int copy)
{
    struct sets *s = data;

    bind_forward(s, copy);
    bench_parallel(layer->context->threads, (size_t)s->count, 1, forward_sets, s);
}

static void run_backward(struct bench_layer *layer, void *data, int copy)
{
    struct sets *s = data;

    bind_forward(s, copy);
    s->g = bench_buffer_data(s->gradient, copy);
    s->dx = bench_buffer_data(s->target, copy);
    s->dscale = bench_buffer_data(layer->weight.gradient, copy);
    s->dshift = layer->bias.gradient ? bench_buffer_data(layer->bias.gradient, copy) : NULL;
    bench_parallel(layer->context->threads, (size_t)s->count, 1, backward_sets, s);
    bench_parallel(layer->context->threads, (size_t)(s->groups * s->channels), 16,
                   backward_parameters, s);
}

static int forward(struct bench_layer *layer, struct sets *s, struct dlt_error *error)
{
    bench_md md = bench_role_md(layer, BENCH_INPUT, 0);
    int status = bench_norm_arrays(layer, s->centered, 1, &s->count, error);

    s->layer = layer;
    if (status == BENCH_OK)
        status = bench_one_input(layer, md, error);
    if (status)
        return status;
    return bench_add_loop(
        layer, DLT_FORWARD, run_forward, s,
        (struct bench_buffer *const[]){layer->converted, layer->output->value, NULL}, error);
}

int bench_group_norm_forward(struct bench_layer *layer, struct dlt_error *error)
{
    const struct dlt_spatial *r = &layer->record.u.spatial;
    struct sets *s = layer->extra = bench_own_zeroed(&layer->context->owned, 1, sizeof *s, error);

    if (!s)
        return BENCH_NO_MEMORY;
    s->centered = true;
    s->groups = r->groups;
    s->count = r->batch * r->groups;
    s->channels = r->in_channels / r->groups;
    s->plane = r->in_size[0] * r->in_size[1];
    return forward(layer, s, error);
}

int bench_rms_norm_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct sets *s = layer->extra = bench_own_zeroed(&layer->context->owned, 1, sizeof *s, error);

    if (!s)
        return BENCH_NO_MEMORY;
    s->groups = 1;
    s->count = layer->record.u.rowwise.rows;
    s->channels = layer->record.u.rowwise.columns;
    s->plane = 1;
    return forward(layer, s, error);
}

int bench_group_norm_backward(struct bench_layer *layer, bool data, bool weight,
                              struct dlt_error *error)
{
    struct bench_tensor *input = layer->input[0];
    struct sets *s = layer->extra;
    bench_md md = layer->converted->md;
    bool accumulate;
    int status = bench_output_gradient(layer, DLT_BACKWARD, md, &s->gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_parameter_gradient(layer, &layer->weight, error);
    if (status == BENCH_OK)
        status = bench_parameter_gradient(layer, &layer->bias, error);
    if (status == BENCH_OK)
        status = bench_collect(layer, md, input->value->md, &input->gradient, &s->target,
                               &accumulate, error);
    if (status)
        return status;
    status = bench_add_loop(layer, DLT_BACKWARD, run_backward, s,
                            (struct bench_buffer *const[]){layer->converted, s->gradient, s->target,
                                                           layer->weight.gradient,
                                                           layer->bias.gradient, NULL},
                            error);
    return status
               ? status
               : bench_deliver(layer, DLT_BACKWARD, input->gradient, s->target, accumulate, error);
}

int bench_rms_norm_backward(struct bench_layer *layer, bool data, bool weight,
                            struct dlt_error *error)
{
    return bench_group_norm_backward(layer, data, weight, error);
}
