/* SPDX-License-Identifier: Apache-2.0 */
/* Operators along one dimension or over all elements: dense, norms, softmax, elementwise ones. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "graph/op.h"

static void same_shape(const struct dlt_op_site *site, struct dlt_op_result *result)
{
    result->output[0] = *dlt_site_input(site, 0);
    result->output_count = 1;
}

/* Product of the dimensions from first to last - 1. */
static int64_t product(const struct dlt_tensor *tensor, int first, int last)
{
    int64_t elements = 1;

    for (int d = first; d < last; d++)
        elements *= tensor->dim[d];
    return elements;
}

/* The last dimension, whatever the others: their product is the number of rows. */
int dlt_infer_dense(const struct dlt_op_site *site, struct dlt_op_result *result,
                    struct dlt_error *error)
{
    const struct dlt_dense_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    struct dlt_matmul *d = &result->record.u.matmul;
    int last = in->rank - 1;

    if (in->rank < 2)
        return dlt_fail(error, "its input has no dimension besides the batch");
    if (a->in_features != DLT_ABSENT && a->in_features != in->dim[last])
        return dlt_fail(error, "in_features is %lld, but its input's last dimension is %lld",
                        (long long)a->in_features, (long long)in->dim[last]);
    result->record = dlt_op_record(site->op);
    d->m = product(in, 0, last);
    d->k = in->dim[last];
    d->n = a->out_features;
    d->bias = a->bias;
    result->weight = (double)d->k * (double)d->n;
    result->parameters = result->weight + (a->bias ? (double)d->n : 0);
    result->tensors = a->bias ? 2 : 1;
    same_shape(site, result);
    result->output[0].dim[last] = d->n;
    return 0;
}

/* normalized_shape is the end of the input's shape; by default its last dimension. */
int dlt_infer_layer_norm(const struct dlt_op_site *site, struct dlt_op_result *result,
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
    result->record.u.rowwise.rows = product(in, 0, first);
    result->record.u.rowwise.columns = product(in, first, in->rank);
    columns = (double)result->record.u.rowwise.columns;
    if (a->elementwise_affine) {
        result->weight = columns;
        result->parameters = a->bias ? 2 * columns : columns;
        result->tensors = a->bias ? 2 : 1;
    }
    same_shape(site, result);
    return 0;
}

int dlt_infer_softmax(const struct dlt_op_site *site, struct dlt_op_result *result,
                      struct dlt_error *error)
{
    const struct dlt_dim_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    int dim;

    if (dlt_wrap_dim(a->dim, in->rank, &dim, error))
        return dlt_fail_in(error, "dim: ");
    result->record = dlt_op_record(site->op);
    result->record.u.rowwise.columns = in->dim[dim];
    result->record.u.rowwise.rows = product(in, 0, dim) * product(in, dim + 1, in->rank);
    same_shape(site, result);
    return 0;
}

int dlt_infer_activation(const struct dlt_op_site *site, struct dlt_op_result *result,
                         struct dlt_error *error)
{
    (void)error;
    same_shape(site, result);
    dlt_rowwise_record(site->op, &result->output[0], 1, &result->record);
    return 0;
}

/* Inference passes its input on. */
int dlt_infer_dropout(const struct dlt_op_site *site, struct dlt_op_result *result,
                      struct dlt_error *error)
{
    if (site->training)
        return dlt_infer_activation(site, result, error);
    same_shape(site, result);
    return 0;
}

/* Broadcasts as NumPy does: aligned at the last dimension, sizes equal or 1. */
int dlt_infer_arithmetic(const struct dlt_op_site *site, struct dlt_op_result *result,
                         struct dlt_error *error)
{
    struct dlt_tensor *out = &result->output[0];
    char one[DLT_SHAPE_TEXT], other[DLT_SHAPE_TEXT];

    same_shape(site, result);
    for (size_t i = 1; i < site->input_count; i++) {
        const struct dlt_tensor *in = dlt_site_input(site, i);
        const struct dlt_tensor *longer = in->rank > out->rank ? in : out;
        struct dlt_tensor merged = *longer;

        for (int d = 1; d <= in->rank && d <= out->rank; d++) {
            int64_t a = out->dim[out->rank - d], b = in->dim[in->rank - d];

            if (a != b && a != 1 && b != 1)
                return dlt_fail(error, "shapes %s and %s do not go together",
                                dlt_shape_text(out, one), dlt_shape_text(in, other));
            merged.dim[merged.rank - d] = a == 1 ? b : a;
        }
        *out = merged;
    }
    dlt_rowwise_record(site->op, out, site->input_count, &result->record);
    return 0;
}
