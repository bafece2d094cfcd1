/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions, pools and batch_norm: N x C x spatial. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "graph/op.h"

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

int dlt_infer_convolution(const struct dlt_op_site *site, struct dlt_op_result *result,
                          struct dlt_error *error)
{
    const struct dlt_convolution_attributes *a = (const void *)site->attribute;
    struct dlt_spatial *s = &result->record.u.spatial;
    double window = 1;
    int64_t group;

    if (start_record(site, &result->record, error))
        return -1;
    if (a->in_channels != DLT_ABSENT && a->in_channels != s->in_channels)
        return dlt_fail(error, "in_channels is %lld, but its input has %lld channels",
                        (long long)a->in_channels, (long long)s->in_channels);
    if (s->in_channels % a->groups || a->out_channels % a->groups)
        return dlt_fail(error, "groups %lld has to divide the %lld channels in and the %lld out",
                        (long long)a->groups, (long long)s->in_channels,
                        (long long)a->out_channels);
    group = s->in_channels / a->groups;
    s->out_channels = a->out_channels;
    s->groups = a->groups;
    s->bias = a->bias;
    set_window(site->op, s, a->kernel_size, a->stride, a->dilation, a->padding);
    for (int d = 0; d < site->op->dims; d++)
        window *= (double)a->kernel_size[d];
    result->weight = (double)a->out_channels * (double)group * window;
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
        int64_t out = (span + s->stride[d] - 1) / s->stride[d] + 1;
        int64_t needed;

        if (span < 0)
            continue;
        if ((out - 1) * s->stride[d] >= s->in_size[d] + s->padding[d][0])
            out--;
        needed = (out - 1) * s->stride[d] + window - s->in_size[d] - s->padding[d][0];
        if (needed > s->padding[d][1])
            s->padding[d][1] = needed;
    }
}

int dlt_infer_pool(const struct dlt_op_site *site, struct dlt_op_result *result,
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
int dlt_infer_adaptive_pool(const struct dlt_op_site *site, struct dlt_op_result *result,
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

/* Any rank from N x C on; the record holds the plane that remains as height x width. */
int dlt_infer_batch_norm(const struct dlt_op_site *site, struct dlt_op_result *result,
                         struct dlt_error *error)
{
    const struct dlt_batch_norm_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    struct dlt_spatial *s = &result->record.u.spatial;
    char text[DLT_SHAPE_TEXT];
    double channels;

    if (in->rank < 2)
        return dlt_fail(error, "its input is %s; it takes batch x channels at the least",
                        dlt_shape_text(in, text));
    if (a->num_features != DLT_ABSENT && a->num_features != in->dim[1])
        return dlt_fail(error, "num_features is %lld, but its input has %lld channels",
                        (long long)a->num_features, (long long)in->dim[1]);
    result->record = dlt_op_record(site->op);
    s->batch = in->dim[0];
    s->in_channels = s->out_channels = in->dim[1];
    s->in_size[0] = s->in_size[1] = 1;
    for (int d = 2; d < in->rank; d++)
        s->in_size[d + 1 < in->rank ? 0 : 1] *= in->dim[d];
    s->training = site->training || !a->track_running_stats;
    channels = (double)in->dim[1];
    result->weight = result->parameters = a->affine ? 2 * channels : 0;
    result->tensors = a->affine ? 2 : 0;
    result->buffers = a->track_running_stats ? 2 * channels : 0;
    result->output[0] = *in;
    result->output_count = 1;
    return 0;
}
