/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations and softmax. */
#include <stdio.h>

#include "base/error.h"
#include "graph/op_row.h"

/* N x C and what follows as height x width into the record. */
static int channel_record(const struct dlt_op_site *site, int64_t channels, const char *attribute,
                          struct dlt_op_result *result, struct dlt_error *error)
{
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    struct dlt_spatial *s = &result->record.u.spatial;
    char text[DLT_SHAPE_TEXT];

    if (in->rank < 2)
        return dlt_fail(error, "its input is %s; it takes batch x channels at the least",
                        dlt_shape_text(in, text));
    if (channels != DLT_ABSENT && channels != in->dim[1])
        return dlt_fail(error, "%s is %lld, but its input has %lld channels", attribute,
                        (long long)channels, (long long)in->dim[1]);
    result->record = dlt_op_record(site->op);
    s->batch = in->dim[0];
    s->in_channels = s->out_channels = in->dim[1];
    s->in_size[0] = s->in_size[1] = 1;
    for (int d = 2; d < in->rank; d++)
        s->in_size[d + 1 < in->rank ? 0 : 1] *= in->dim[d];
    dlt_same_shape(site, result);
    return 0;
}

/* A scale and a shift for each channel. */
static void channel_parameters(int64_t channels, int64_t affine, struct dlt_op_result *result)
{
    result->weight = result->parameters = affine ? 2 * (double)channels : 0;
    result->tensors = affine ? 2 : 0;
}

/* Any rank from N x C on; the record holds the plane that remains as height x width. */
static int batch_norm(const struct dlt_op_site *site, struct dlt_op_result *result,
                      struct dlt_error *error)
{
    const struct dlt_batch_norm_attributes *a = (const void *)site->attribute;
    int64_t channels;

    if (channel_record(site, a->num_features, "num_features", result, error))
        return -1;
    channels = result->record.u.spatial.in_channels;
    result->record.u.spatial.training = site->training || !a->track_running_stats;
    channel_parameters(channels, a->affine, result);
    result->buffers = a->track_running_stats ? 2 * (double)channels : 0;
    return 0;
}

/* PyTorch runs it as batch_norm of one image with N x C channels. */
static int instance_norm(const struct dlt_op_site *site, struct dlt_op_result *result,
                         struct dlt_error *error)
{
    const struct dlt_batch_norm_attributes *a = (const void *)site->attribute;
    struct dlt_spatial *s = &result->record.u.spatial;

    if (channel_record(site, a->num_features, "num_features", result, error))
        return -1;
    channel_parameters(s->in_channels, a->affine, result);
    result->buffers = a->track_running_stats ? 2 * (double)s->in_channels : 0;
    if (__builtin_mul_overflow(s->in_channels, s->batch, &s->in_channels))
        return dlt_fail(error, "batch x channels would pass 2^63");
    s->out_channels = s->in_channels;
    s->batch = 1;
    s->training = 1;
    return 0;
}

static int group_norm(const struct dlt_op_site *site, struct dlt_op_result *result,
                      struct dlt_error *error)
{
    const struct dlt_group_norm_attributes *a = (const void *)site->attribute;
    struct dlt_spatial *s = &result->record.u.spatial;

    if (channel_record(site, a->num_channels, "num_channels", result, error))
        return -1;
    if (s->in_channels % a->num_groups)
        return dlt_fail(error, "num_groups %lld does not divide the %lld channels",
                        (long long)a->num_groups, (long long)s->in_channels);
    s->groups = a->num_groups;
    channel_parameters(s->in_channels, a->affine, result);
    result->inside = 2 * (double)s->batch * (double)s->groups;
    return 0;
}

/* normalized_shape is the end of the input's shape; by default its last dimension. */
static int layer_norm(const struct dlt_op_site *site, struct dlt_op_result *result,
                      struct dlt_error *error)
{
    const struct dlt_layer_norm_attributes *a = (const void *)site->attribute;
    const struct dlt_sizes *shape = &a->normalized_shape;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    int first = in->rank - (int)(shape->count > 0 ? shape->count : 1);
    char text[DLT_SHAPE_TEXT];
    double columns;

    if (first < 1)
        return dlt_fail(error, "its input is %s; the batch cannot be normalised over",
                        dlt_shape_text(in, text));
    for (int d = first; d < in->rank && shape->count != DLT_ABSENT; d++)
        if (shape->value[d - first] != in->dim[d])
            return dlt_fail(error, "normalized_shape ends in %lld where its input is %s",
                            (long long)shape->value[d - first], dlt_shape_text(in, text));
    result->record = dlt_op_record(site->op);
    result->record.u.rowwise.rows = dlt_shape_product(in, 0, first);
    result->record.u.rowwise.columns = dlt_shape_product(in, first, in->rank);
    columns = (double)result->record.u.rowwise.columns;
    if (a->elementwise_affine) {
        result->weight = columns;
        result->parameters = a->bias ? 2 * columns : columns;
        result->tensors = a->bias ? 2 : 1;
    }
    result->inside = 2 * (double)result->record.u.rowwise.rows; /* mean and deviation */
    dlt_same_shape(site, result);
    return 0;
}

/* PyTorch runs it as several operators, as networks write it: kept are the reciprocal root of each
 * row and, where it is scaled, the normalised rows. Fused kernels (CUDA, from 2.8) keep less. */
static int rms_norm(const struct dlt_op_site *site, struct dlt_op_result *result,
                    struct dlt_error *error)
{
    const struct dlt_layer_norm_attributes *a = (const void *)site->attribute;

    if (layer_norm(site, result, error))
        return -1;
    result->inside = (double)result->record.u.rowwise.rows;
    if (a->elementwise_affine)
        result->inside += dlt_tensor_elements(dlt_site_input(site, 0));
    return 0;
}

static int softmax(const struct dlt_op_site *site, struct dlt_op_result *result,
                   struct dlt_error *error)
{
    const struct dlt_dim_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    int dim;

    if (dlt_wrap_dim(a->dim, in->rank, &dim, error))
        return dlt_fail_in(error, "dim: ");
    result->record = dlt_op_record(site->op);
    result->record.u.rowwise.columns = in->dim[dim];
    if (__builtin_mul_overflow(dlt_shape_product(in, 0, dim),
                               dlt_shape_product(in, dim + 1, in->rank),
                               &result->record.u.rowwise.rows))
        result->record.u.rowwise.rows = INT64_MAX;
    dlt_same_shape(site, result);
    return 0;
}

#define NORM(op_name, op_class, op_kind, op_saves, op_infer, ...)                                  \
    {                                                                                              \
        .name = (op_name), .class = (op_class), .least_inputs = 1, .most_inputs = 1,               \
        .saves = (op_saves), .kind = (op_kind), .attribute = {__VA_ARGS__}, .infer = (op_infer)    \
    }

static const struct dlt_op rows[] = {
    NORM("batch_norm", DLT_OP_BATCH_NORM, "batch_norm", DLT_SAVE_INPUT, batch_norm,
         AGREES(num_features, batch_norm), REAL_IGNORED("eps"), REAL_IGNORED("momentum"),
         FLAG(affine, batch_norm, 1), FLAG(track_running_stats, batch_norm, 1)),
    NORM("instance_norm", DLT_OP_BATCH_NORM, "batch_norm", DLT_SAVE_INPUT, instance_norm,
         AGREES(num_features, batch_norm), REAL_IGNORED("eps"), REAL_IGNORED("momentum"),
         FLAG(affine, batch_norm, 0), FLAG(track_running_stats, batch_norm, 0)),
    NORM("group_norm", DLT_OP_NORM, "group_norm", DLT_SAVE_INPUT, group_norm,
         SIZE(num_groups, group_norm), AGREES(num_channels, group_norm), REAL_IGNORED("eps"),
         FLAG(affine, group_norm, 1)),
    NORM("layer_norm", DLT_OP_NORM, "layer_norm", DLT_SAVE_INPUT, layer_norm,
         SIZES(normalized_shape, layer_norm, false), REAL_IGNORED("eps"),
         FLAG(elementwise_affine, layer_norm, 1), FLAG(bias, layer_norm, 1)),
    NORM("rms_norm", DLT_OP_NORM, "rms_norm", DLT_SAVE_INPUT, rms_norm,
         SIZES(normalized_shape, layer_norm, false), REAL_IGNORED("eps"),
         FLAG(elementwise_affine, layer_norm, 1)),
    NORM("softmax", DLT_OP_SOFTMAX, "softmax", DLT_SAVE_OUTPUT, softmax, DIM(dim, dim, -1)),
    NORM("log_softmax", DLT_OP_SOFTMAX, "softmax", DLT_SAVE_OUTPUT, softmax, DIM(dim, dim, -1)),
};
FAMILY(dlt_ops_norm, rows);
