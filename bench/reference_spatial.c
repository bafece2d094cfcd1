/* SPDX-License-Identifier: Apache-2.0 */
#include "reference_spatial.h"

#include <math.h>
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

/* The output element of a transposed convolution that tap `tap` of the window at input element `in`
 * adds to; -1: cut off. */
static int64_t over(const struct dlt_record *record, int64_t in, int64_t tap)
{
    const struct dlt_spatial *s = &record->u.spatial;
    int64_t index = 0, step = 1;

    for (int d = record->kind->dims - 1; d >= 0; d--) {
        int64_t size = dlt_spatial_out(s, d);
        int64_t x = in % s->in_size[d] * s->stride[d] + tap % s->kernel[d] * s->dilation[d] -
                    s->padding[d][0];

        if (x < 0 || x >= size)
            return -1;
        index += x * step;
        step *= size;
        in /= s->in_size[d];
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
        double sum = a->bias[0] ? a->bias[0][channel] : 0;
        double g = backward ? a->output_gradient[at] : 0;

        for (int64_t i = 0; i < inputs * p.window; i++) {
            int64_t place = under(record, out, i % p.window);
            int64_t input = (image * s->in_channels + group * inputs + i / p.window) * p.in + place;
            int64_t weight = channel * inputs * p.window + i;

            if (place < 0)
                continue;
            sum += a->input[0][input] * a->weight[0][weight];
            if (backward && a->input_gradient[0])
                a->input_gradient[0][input] += g * a->weight[0][weight];
            if (backward && a->weight_gradient[0])
                a->weight_gradient[0][weight] += g * a->input[0][input];
        }
        if (backward && a->bias_gradient[0])
            a->bias_gradient[0][channel] += g;
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
    bool largest = strncmp(record->kind->name, "max", 3) == 0;
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

/* Each input element is spread over the window of every output channel of its group. */
void bench_reference_transposed(const struct dlt_record *record, struct bench_arrays *a)
{
    const struct dlt_spatial *s = &record->u.spatial;
    struct planes p = planes_of(record);
    int64_t inputs = s->in_channels / s->groups, outputs = s->out_channels / s->groups;

    for (int64_t i = 0; i < s->batch * s->out_channels * p.out; i++)
        a->output[i] = a->bias[0] ? a->bias[0][i / p.out % s->out_channels] : 0;
    for (int64_t i = 0; i < s->batch * s->in_channels * p.in; i++) {
        int64_t image = i / p.in / s->in_channels, channel = i / p.in % s->in_channels;
        int64_t group = channel / inputs;

        for (int64_t j = 0; j < outputs * p.window; j++) {
            int64_t out = group * outputs + j / p.window, tap = j % p.window;
            int64_t place = over(record, i % p.in, tap);
            int64_t weight = (out * inputs + channel % inputs) * p.window + tap;

            if (place >= 0)
                a->output[(image * s->out_channels + out) * p.out + place] +=
                    a->input[0][i] * a->weight[0][weight];
        }
    }
}

/* torch.nn.GroupNorm: a mean and a variance of each image's group of channels. */
void bench_reference_group_norm(const struct dlt_record *record, struct bench_arrays *a)
{
    const struct dlt_spatial *s = &record->u.spatial;
    int64_t plane = s->in_size[0] * s->in_size[1];
    int64_t channels = s->in_channels / s->groups, count = channels * plane;

    for (int64_t set = 0; set < s->batch * s->groups; set++) {
        const double *x = a->input[0] + set * count;
        double mean = 0, variance = 0;

        for (int64_t i = 0; i < count; i++)
            mean += x[i] / (double)count;
        for (int64_t i = 0; i < count; i++)
            variance += (x[i] - mean) * (x[i] - mean) / (double)count;
        for (int64_t i = 0; i < count; i++) {
            int64_t channel = set % s->groups * channels + i / plane;

            a->output[set * count + i] =
                (x[i] - mean) / sqrt(variance + 1e-5) * a->weight[0][channel] + a->bias[0][channel];
        }
    }
}

/* One dimension's source places: nearest, or two with their weights, half-pixel centres. */
static void sample(bool linear, int64_t in, int64_t out, int64_t at, int64_t place[2],
                   double weight[2])
{
    double x = ((double)at + 0.5) * (double)in / (double)out;

    place[0] = place[1] = (int64_t)x;
    weight[0] = 1;
    weight[1] = 0;
    if (!linear)
        return;
    x = fmin(fmax(x - 0.5, 0), (double)in - 1);
    place[0] = (int64_t)x;
    place[1] = place[0] + 1 < in ? place[0] + 1 : place[0];
    weight[1] = x - (double)place[0];
    weight[0] = 1 - weight[1];
}

void bench_reference_upsample(const struct dlt_record *record, struct bench_arrays *a)
{
    bool linear = record->u.rowwise.function >= DLT_LINEAR;
    struct bench_shape in, out;

    bench_role_shape(record, BENCH_INPUT, 0, &in);
    bench_role_shape(record, BENCH_OUTPUT, 0, &out);
    for (int64_t i = 0; i < record->u.rowwise.rows * out.dim[2] * out.dim[3]; i++) {
        int64_t row = i / out.dim[3] % out.dim[2], column = i % out.dim[3];
        int64_t base = i / (out.dim[2] * out.dim[3]) * in.dim[2] * in.dim[3], y[2], x[2];
        double wy[2], wx[2];

        sample(linear, in.dim[2], out.dim[2], row, y, wy);
        sample(linear, in.dim[3], out.dim[3], column, x, wx);
        a->output[i] = 0;
        for (int k = 0; k < 4; k++)
            a->output[i] +=
                wy[k / 2] * wx[k % 2] * a->input[0][base + y[k / 2] * in.dim[3] + x[k % 2]];
    }
}
