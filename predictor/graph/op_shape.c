/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that only rearrange: flatten, concat, split, identity. */
#include <stdio.h>

#include "base/error.h"
#include "graph/op.h"

int dlt_infer_identity(const struct dlt_op_site *site, struct dlt_op_result *result,
                       struct dlt_error *error)
{
    (void)error;
    result->output[0] = *dlt_site_input(site, 0);
    result->output_count = 1;
    return 0;
}

int dlt_infer_flatten(const struct dlt_op_site *site, struct dlt_op_result *result,
                      struct dlt_error *error)
{
    const struct dlt_flatten_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    struct dlt_tensor *out = &result->output[0];
    int first, last;

    *out = *in;
    result->output_count = 1;
    /* [N] flattened from dimension 1: nothing is left to flatten. */
    if (in->rank == 1 && a->start_dim == 1)
        return 0;
    if (dlt_wrap_dim(a->start_dim, in->rank, &first, error))
        return dlt_fail_in(error, "start_dim: ");
    if (dlt_wrap_dim(a->end_dim, in->rank, &last, error))
        return dlt_fail_in(error, "end_dim: ");
    if (last < first)
        return dlt_fail(error, "end_dim %lld lies before start_dim %lld", (long long)a->end_dim,
                        (long long)a->start_dim);
    for (int d = first + 1; d <= last; d++) {
        if (out->dim[first] > INT32_MAX / in->dim[d])
            return dlt_fail(error, "the flattened dimension would pass 2147483647");
        out->dim[first] *= in->dim[d];
    }
    out->rank -= last - first;
    for (int d = first + 1; d < out->rank; d++)
        out->dim[d] = in->dim[d + last - first];
    return 0;
}

int dlt_infer_concat(const struct dlt_op_site *site, struct dlt_op_result *result,
                     struct dlt_error *error)
{
    const struct dlt_dim_attributes *a = (const void *)site->attribute;
    struct dlt_tensor *out = &result->output[0];
    char one[DLT_SHAPE_TEXT], other[DLT_SHAPE_TEXT];
    int dim;

    *out = *dlt_site_input(site, 0);
    result->output_count = 1;
    if (dlt_wrap_dim(a->dim, out->rank, &dim, error))
        return dlt_fail_in(error, "dim: ");
    for (size_t i = 1; i < site->input_count; i++) {
        const struct dlt_tensor *in = dlt_site_input(site, i);
        bool fits = in->rank == out->rank;

        for (int d = 0; fits && d < out->rank; d++)
            fits = d == dim || in->dim[d] == out->dim[d];
        if (!fits)
            return dlt_fail(error, "shapes %s and %s differ elsewhere than in dimension %d",
                            dlt_shape_text(dlt_site_input(site, 0), one), dlt_shape_text(in, other),
                            dim);
        out->dim[dim] += in->dim[dim];
    }
    dlt_rowwise_record(site->op, out, site->input_count, &result->record);
    return 0;
}

/* sections: a number of equal parts, or the size of each. */
int dlt_infer_split(const struct dlt_op_site *site, struct dlt_op_result *result,
                    struct dlt_error *error)
{
    const struct dlt_dim_attributes *a = (const void *)site->attribute;
    const struct dlt_sizes *sections = &a->sections;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    int64_t parts = sections->count > 0 ? sections->count : sections->value[0];
    int64_t sum = 0;
    int dim;

    if (dlt_wrap_dim(a->dim, in->rank, &dim, error))
        return dlt_fail_in(error, "dim: ");
    if (parts > DLT_OP_OUTPUTS)
        return dlt_fail(error, "sections: %lld parts; at most %d are supported", (long long)parts,
                        DLT_OP_OUTPUTS);
    if (sections->count <= 0 && in->dim[dim] % parts)
        return dlt_fail(error, "sections: %lld does not divide dimension %d, which is %lld",
                        (long long)parts, dim, (long long)in->dim[dim]);
    for (int64_t i = 0; i < parts; i++) {
        struct dlt_tensor *out = &result->output[i];

        *out = *in;
        out->dim[dim] = sections->count > 0 ? sections->value[i] : in->dim[dim] / parts;
        sum += out->dim[dim];
    }
    if (sum != in->dim[dim])
        return dlt_fail(error, "sections: they add up to %lld, but dimension %d is %lld",
                        (long long)sum, dim, (long long)in->dim[dim]);
    result->output_count = (size_t)parts;
    return 0;
}
