/* SPDX-License-Identifier: Apache-2.0 */
#include "reference_spatial.h"

#include <string.h>

#include "shapes.h"

struct planes {
    int64_t in, out, window; /* elements */
};

static struct planes planes_of(const struct dlt_record *record)
{
    const struct dlt_spatial *s = &record->u.spatial;
    struct planes p = {1, 1, 1};

    for (int d = 0; d < record->kind->dims; d++) {
        p.in *= s->in_size[d];
        p.out *= dlt_spatial_out(s, d);
        p.window *= s->kernel[d];
    }
    return p;
}

/* The input element under tap `tap` of the window at output element `out`; -1: padding. */
static int64_t under(const struct dlt_record *record, int64_t out, int64_t tap)
{
    const struct dlt_spatial *s = &record->u.spatial;
    int64_t index = 0, step = 1;

    for (int d = record->kind->dims - 1; d >= 0; d--) {
        int64_t size = dlt_spatial_out(s, d);
        int64_t x =
            out % size * s->stride[d] + tap % s->kernel[d] * s->dilation[d] - s->padding[d][0];

        if (x < 0 || x >= s->in_size[d])
            return -1;
        index += x * step;
        step *= s->in_size[d];
        out /= size;
        tap /= s->kernel[d];
    }
    return index;
}

/* One output channel of one image: a sum over the input channels of its group and the window. */
static void convolve(const struct dlt_record *record, struct bench_arrays *a, int64_t image,
                     int64_t channel)
{
    const struct dlt_spatial *s = &record->u.spatial;
    struct planes p = planes_of(record);
    int64_t inputs = s->in_channels / s->groups;
    int64_t group = channel / (s->out_channels / s->groups);
    bool backward = record->pass != DLT_FORWARD;

    for (int64_t out = 0; out < p.out; out++) {
        int64_t at = (image * s->out_channels + channel) * p.out + out;
        double sum = a->bias ? a->bias[channel] : 0;
        double g = backward ? a->output_gradient[at] : 0;

        for (int64_t i = 0; i < inputs * p.window; i++) {
            int64_t place = under(record, out, i % p.window);
            int64_t input = (image * s->in_channels + group * inputs + i / p.window) * p.in + place;
            int64_t weight = channel * inputs * p.window + i;

            if (place < 0)
                continue;
            sum += a->input[0][input] * a->weight[weight];
            if (backward && a->input_gradient[0])
                a->input_gradient[0][input] += g * a->weight[weight];
            if (backward && a->weight_gradient)
                a->weight_gradient[weight] += g * a->input[0][input];
        }
        if (backward && a->bias_gradient)
            a->bias_gradient[channel] += g;
        if (!backward)
            a->output[at] = sum;
    }
}

void bench_reference_convolution(const struct dlt_record *record, struct bench_arrays *arrays)
{
    const struct dlt_spatial *s = &record->u.spatial;

    for (int64_t image = 0; image < s->batch; image++)
        for (int64_t channel = 0; channel < s->out_channels; channel++)
            convolve(record, arrays, image, channel);
}

/* The largest element's gradient goes to it; a mean's gradient goes to all in equal parts. */
void bench_reference_pool(const struct dlt_record *record, struct bench_arrays *a)
{
    const struct dlt_spatial *s = &record->u.spatial;
    bool largest = strcmp(record->kind->name, "max_pool2d") == 0;
    struct planes p = planes_of(record);

    for (int64_t i = 0; i < s->batch * s->in_channels * p.out; i++) {
        int64_t base = i / p.out * p.in, best = -1;
        double sum = 0;

        for (int64_t tap = 0; tap < p.window; tap++) {
            int64_t place = under(record, i % p.out, tap);

            if (place < 0)
                continue;
            sum += a->input[0][base + place] / (double)p.window;
            if (best < 0 || a->input[0][base + place] > a->input[0][base + best])
                best = place;
            if (record->pass != DLT_FORWARD && !largest)
                a->input_gradient[0][base + place] += a->output_gradient[i] / (double)p.window;
        }
        if (record->pass == DLT_FORWARD)
            a->output[i] = largest ? a->input[0][base + best] : sum;
        else if (largest && best >= 0)
            a->input_gradient[0][base + best] += a->output_gradient[i];
    }
}
