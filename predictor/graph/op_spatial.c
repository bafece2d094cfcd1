/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and pools: N x C x spatial. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "graph/op_row.h"

/* The input's sizes into a record of the row's kind. */
static int start_record(const struct dlt_op_site *site, struct dlt_record *record,
                        struct dlt_error *error)
{
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    char text[DLT_SHAPE_TEXT];
    struct dlt_spatial *s = &record->u.spatial;

    if (in->rank != site->op->dims + 2)
        return dlt_fail(error,
                        "its input is %s; it takes batch x channels x %d spatial dimension%s",
                        dlt_shape_text(in, text), site->op->dims, site->op->dims > 1 ? "s" : "");
    *record = dlt_op_record(site->op);
    s->batch = in->dim[0];
    s->in_channels = in->dim[1];
    for (int d = 0; d < site->op->dims; d++)
        s->in_size[d] = in->dim[d + 2];
    return 0;
}

static void set_window(const struct dlt_op *op, struct dlt_spatial *s, const int64_t *kernel,
                       const int64_t *stride, const int64_t *dilation, const int64_t padding[3][2])
{
    for (int d = 0; d < op->dims; d++) {
        s->kernel[d] = kernel[d];
        s->stride[d] = stride[d] == DLT_ABSENT ? kernel[d] : stride[d];
        s->dilation[d] = dilation[d] ? dilation[d] : 1; /* avg_pool2d has none */
        s->padding[d][0] = padding[d][0];
        s->padding[d][1] = padding[d][1];
    }
    if (padding[0][0] == DLT_PADDING_SAME)
        dlt_spatial_pad_same(s, op->dims);
}

/* One output, N x channels x the record's output plane. */
static int set_output(const struct dlt_op_site *site, struct dlt_op_result *result,
                      int64_t channels, struct dlt_error *error)
{
    const struct dlt_spatial *s = &result->record.u.spatial;
    struct dlt_tensor *out = &result->output[0];

    *out = *dlt_site_input(site, 0);
    out->dim[1] = channels;
    for (int d = 0; d < site->op->dims; d++) {
        int64_t window = s->dilation[d] * (s->kernel[d] - 1) + 1;
        int64_t padding = s->padding[d][0] + s->padding[d][1];

        out->dim[d + 2] = dlt_spatial_out(s, d);
        if (out->dim[d + 2] < 1)
            return dlt_fail(error, "kernel %lld does not fit into an input of %lld padded by %lld",
                            (long long)window, (long long)s->in_size[d], (long long)padding);
    }
    result->output_count = 1;
    return 0;
}

static int start_convolution(const struct dlt_op_site *site, struct dlt_op_result *result,
                             struct dlt_error *error)
{
    const struct dlt_convolution_attributes *a = (const void *)site->attribute;
    struct dlt_spatial *s = &result->record.u.spatial;

    if (start_record(site, &result->record, error))
        return -1;
    if (a->in_channels != DLT_ABSENT && a->in_channels != s->in_channels)
        return dlt_fail(error, "in_channels is %lld, but its input has %lld channels",
                        (long long)a->in_channels, (long long)s->in_channels);
    if (s->in_channels % a->groups || a->out_channels % a->groups)
        return dlt_fail(error, "groups %lld has to divide the %lld channels in and the %lld out",
                        (long long)a->groups, (long long)s->in_channels,
                        (long long)a->out_channels);
    s->out_channels = a->out_channels;
    s->groups = a->groups;
    s->bias = a->bias;
    set_window(site->op, s, a->kernel_size, a->stride, a->dilation, a->padding);
    return 0;
}

static int convolution(const struct dlt_op_site *site, struct dlt_op_result *result,
                       struct dlt_error *error)
{
    const struct dlt_convolution_attributes *a = (const void *)site->attribute;
    double window = 1;
    int64_t group;

    if (start_convolution(site, result, error))
        return -1;
    group = result->record.u.spatial.in_channels / a->groups;
    for (int d = 0; d < site->op->dims; d++)
        window *= (double)a->kernel_size[d];
    result->weight = (double)a->out_channels * (double)group * window;
    result->parameters = result->weight + (a->bias ? (double)a->out_channels : 0);
    result->tensors = a->bias ? 2 : 1;
    return set_output(site, result, a->out_channels, error);
}

/* out = (in - 1) stride - padding + dilation (kernel - 1) + output_padding + 1. */
static int transposed(const struct dlt_op_site *site, struct dlt_op_result *result,
                      struct dlt_error *error)
{
    const struct dlt_convolution_attributes *a = (const void *)site->attribute;
    struct dlt_spatial *s = &result->record.u.spatial;
    int64_t group = a->out_channels / a->groups;
    double window = 1;

    if (start_convolution(site, result, error))
        return -1;
    if (a->padding[0][0] == DLT_PADDING_SAME)
        return dlt_fail(error, "padding: \"same\" is not defined for it; give numbers");
    for (int d = 0; d < site->op->dims; d++) {
        int64_t most = a->stride[d] > a->dilation[d] ? a->stride[d] : a->dilation[d];

        if (a->output_padding[d] >= most)
            return dlt_fail(error, "output_padding %lld has to be smaller than stride or dilation",
                            (long long)a->output_padding[d]);
        s->out_size[d] = (s->in_size[d] - 1) * s->stride[d] - s->padding[d][0] - s->padding[d][1] +
                         s->dilation[d] * (s->kernel[d] - 1) + a->output_padding[d] + 1;
        if (s->out_size[d] < 1)
            return dlt_fail(error, "padding leaves nothing of the output in dimension %d", d);
        window *= (double)a->kernel_size[d];
    }
    result->weight = (double)s->in_channels * (double)group * window;
    result->parameters = result->weight + (a->bias ? (double)a->out_channels : 0);
    result->tensors = a->bias ? 2 : 1;
    return set_output(site, result, a->out_channels, error);
}

/* ceil_mode lets the last window hang over the end, as if more padding stood there, as long as it
 * starts inside the input or the padding before it (PyTorch's pooling_output_shape). */
static void pad_for_ceil(struct dlt_spatial *s, int dims)
{
    for (int d = 0; d < dims; d++) {
        int64_t window = s->dilation[d] * (s->kernel[d] - 1) + 1;
        int64_t span = s->in_size[d] + s->padding[d][0] + s->padding[d][1] - window;
        int64_t out =
            span + s->stride[d] - 1 < 0 ? 0 : (span + s->stride[d] - 1) / s->stride[d] + 1;
        int64_t needed;

        if (out > 0 && (out - 1) * s->stride[d] >= s->in_size[d] + s->padding[d][0])
            out--;
        if (out < 1)
            continue;
        needed = (out - 1) * s->stride[d] + window - s->in_size[d] - s->padding[d][0];
        if (needed > s->padding[d][1])
            s->padding[d][1] = needed;
    }
}

static int pool(const struct dlt_op_site *site, struct dlt_op_result *result,
                struct dlt_error *error)
{
    const struct dlt_pool_attributes *a = (const void *)site->attribute;
    struct dlt_spatial *s = &result->record.u.spatial;

    if (start_record(site, &result->record, error))
        return -1;
    set_window(site->op, s, a->kernel_size, a->stride, a->dilation, a->padding);
    s->out_channels = s->in_channels;
    if (a->padding[0][0] != DLT_PADDING_SAME)
        for (int d = 0; d < site->op->dims; d++)
            if (a->padding[d][0] > a->kernel_size[d] / 2 ||
                a->padding[d][1] > a->kernel_size[d] / 2)
                return dlt_fail(error, "padding %lld is more than half of kernel_size %lld",
                                (long long)(a->padding[d][0] > a->padding[d][1] ? a->padding[d][0]
                                                                                : a->padding[d][1]),
                                (long long)a->kernel_size[d]);
    if (a->ceil_mode)
        pad_for_ceil(s, site->op->dims);
    return set_output(site, result, s->in_channels, error);
}

/* The window that gives that output: exact where the sizes divide, and the nearest regular one
 * where PyTorch's windows differ in size by one. */
static int adaptive_pool(const struct dlt_op_site *site, struct dlt_op_result *result,
                         struct dlt_error *error)
{
    const struct dlt_adaptive_pool_attributes *a = (const void *)site->attribute;
    struct dlt_spatial *s = &result->record.u.spatial;

    if (start_record(site, &result->record, error))
        return -1;
    s->out_channels = s->in_channels;
    for (int d = 0; d < site->op->dims; d++) {
        int64_t out = a->output_size[d];

        s->stride[d] = s->in_size[d] / out > 0 ? s->in_size[d] / out : 1;
        s->kernel[d] = s->in_size[d] - (out - 1) * s->stride[d];
        if (s->kernel[d] < 1) { /* more out than in: elements repeat */
            s->padding[d][1] = 1 - s->kernel[d];
            s->kernel[d] = 1;
        }
    }
    return set_output(site, result, s->in_channels, error);
}

static const char *const padding_modes[] = {"zeros", "reflect", "replicate", "circular", NULL};

#define CONVOLUTION(op_dims)                                                                       \
    {                                                                                              \
        .name = "conv" #op_dims "d", .class = DLT_OP_CONVOLUTION, .dims = (op_dims),               \
        .least_inputs = 1, .most_inputs = 1, .saves = DLT_SAVE_INPUT, .kind = "conv" #op_dims "d", \
        .attribute = {AGREES(in_channels, convolution),                                            \
                      SIZE(out_channels, convolution),                                             \
                      WINDOW(kernel_size, convolution, true, 1),                                   \
                      WINDOW(stride, convolution, false, 1),                                       \
                      PADDING(convolution),                                                        \
                      WINDOW(dilation, convolution, false, 1),                                     \
                      COUNT(groups, convolution, 1),                                               \
                      FLAG(bias, convolution, 1),                                                  \
                      NAME_IGNORED("padding_mode", padding_modes)},                                \
        .infer = convolution                                                                       \
    }
#define TRANSPOSED(op_dims)                                                                        \
    {                                                                                              \
        .name = "conv_transpose" #op_dims "d", .class = DLT_OP_CONVOLUTION, .dims = (op_dims),     \
        .least_inputs = 1, .most_inputs = 1, .saves = DLT_SAVE_INPUT,                              \
        .kind = "conv_transpose" #op_dims "d",                                                     \
        .attribute = {AGREES(in_channels, convolution),                                            \
                      SIZE(out_channels, convolution),                                             \
                      WINDOW(kernel_size, convolution, true, 1),                                   \
                      WINDOW(stride, convolution, false, 1),                                       \
                      PADDING(convolution),                                                        \
                      OUTPUT_PADDING,                                                              \
                      COUNT(groups, convolution, 1),                                               \
                      FLAG(bias, convolution, 1),                                                  \
                      WINDOW(dilation, convolution, false, 1),                                     \
                      NAME_IGNORED("padding_mode", padding_modes)},                                \
        .infer = transposed                                                                        \
    }
#define OUTPUT_PADDING                                                                             \
    {                                                                                              \
        "output_padding", DLT_ATTRIBUTE_LIST, SLOT(convolution, output_padding), false, 0, 0,      \
            MOST_WINDOW, NULL                                                                      \
    }
#define MAX_POOL(op_dims)                                                                          \
    {                                                                                              \
        .name = "max_pool" #op_dims "d", .class = DLT_OP_POOL, .dims = (op_dims),                  \
        .least_inputs = 1, .most_inputs = 1, .saves = DLT_SAVE_INPUT | DLT_SAVE_INDICES,           \
        .kind = "max_pool" #op_dims "d",                                                           \
        .attribute = {WINDOW(kernel_size, pool, true, 1), WINDOW(stride, pool, false, DLT_ABSENT), \
                      PADDING(pool), WINDOW(dilation, pool, false, 1), FLAG(ceil_mode, pool, 0)},  \
        .infer = pool                                                                              \
    }
#define AVERAGE_POOL(op_dims)                                                                      \
    {                                                                                              \
        .name = "avg_pool" #op_dims "d", .class = DLT_OP_POOL, .dims = (op_dims),                  \
        .least_inputs = 1, .most_inputs = 1, .saves = DLT_SAVE_INPUT,                              \
        .kind = "avg_pool" #op_dims "d",                                                           \
        .attribute = {WINDOW(kernel_size, pool, true, 1), WINDOW(stride, pool, false, DLT_ABSENT), \
                      PADDING(pool), FLAG(ceil_mode, pool, 0), FLAG(count_include_pad, pool, 1)},  \
        .infer = pool                                                                              \
    }
#define ADAPTIVE(form, op_dims, op_saves)                                                          \
    {                                                                                              \
        .name = "adaptive_" form "_pool" #op_dims "d", .class = DLT_OP_POOL, .dims = (op_dims),    \
        .least_inputs = 1, .most_inputs = 1, .saves = (op_saves),                                  \
        .kind = form "_pool" #op_dims "d",                                                         \
        .attribute = {WINDOW(output_size, adaptive_pool, true, 1)}, .infer = adaptive_pool         \
    }

static const struct dlt_op rows[] = {
    CONVOLUTION(1),
    CONVOLUTION(2),
    CONVOLUTION(3),
    TRANSPOSED(1),
    TRANSPOSED(2),
    TRANSPOSED(3),
    MAX_POOL(1),
    MAX_POOL(2),
    MAX_POOL(3),
    AVERAGE_POOL(1),
    AVERAGE_POOL(2),
    AVERAGE_POOL(3),
    ADAPTIVE("avg", 1, DLT_SAVE_INPUT),
    ADAPTIVE("avg", 2, DLT_SAVE_INPUT),
    ADAPTIVE("avg", 3, DLT_SAVE_INPUT),
    ADAPTIVE("max", 1, DLT_SAVE_INPUT | DLT_SAVE_INDICES),
    ADAPTIVE("max", 2, DLT_SAVE_INPUT | DLT_SAVE_INDICES),
    ADAPTIVE("max", 3, DLT_SAVE_INPUT | DLT_SAVE_INDICES),
};
FAMILY(dlt_ops_spatial, rows);

_Static_assert(sizeof(struct dlt_convolution_attributes) < DLT_ATTRIBUTES * sizeof(int64_t),
               "attributes need more room; the last number is where ignored ones go");
