/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that look at the same memory in another shape: views, which are free. */
#include <stdio.h>

#include "base/error.h"
#include "graph/op_row.h"

static int identity(const struct dlt_op_site *site, struct dlt_op_result *result,
                    struct dlt_error *error)
{
    (void)error;
    dlt_same_shape(site, result);
    return 0;
}

static int flatten(const struct dlt_op_site *site, struct dlt_op_result *result,
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

/* sections: a number of equal parts, or the size of each. */
static int split(const struct dlt_op_site *site, struct dlt_op_result *result,
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

/* The dimension that -1 stands for: what is left of the input's elements. */
static int fill_rest(const struct dlt_tensor *in, struct dlt_tensor *out, int rest,
                     struct dlt_error *error)
{
    int64_t all = dlt_shape_product(in, 0, in->rank), known;
    char one[DLT_SHAPE_TEXT], other[DLT_SHAPE_TEXT];

    if (rest >= 0)
        out->dim[rest] = 1;
    known = dlt_shape_product(out, 0, out->rank);
    if (rest >= 0 && known > 0 && all % known == 0) {
        out->dim[rest] = all / known;
        return 0;
    }
    if (rest < 0 && known == all)
        return 0;
    if (rest >= 0)
        out->dim[rest] = -1;
    return dlt_fail(error, "%s does not have the elements of %s", dlt_shape_text(out, one),
                    dlt_shape_text(in, other));
}

/* torch.reshape, the batch included: one -1 is what is left, 0 the input's dimension at that place
 * (as in ONNX, so that the batch need not be known). */
static int reshape(const struct dlt_op_site *site, struct dlt_op_result *result,
                   struct dlt_error *error)
{
    const struct dlt_reshape_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    struct dlt_tensor *out = &result->output[0];
    int64_t count = a->shape.count > 0 ? a->shape.count : 1;
    int rest = -1;

    dlt_same_shape(site, result);
    if (count > DLT_RANK)
        return dlt_fail(error, "shape: at most %d dimensions", DLT_RANK);
    out->rank = (int)count;
    for (int d = 0; d < out->rank; d++) {
        out->dim[d] = a->shape.value[d];
        if (out->dim[d] == 0 && d >= in->rank)
            return dlt_fail(error, "shape: its input has no dimension %d for the 0 to keep", d);
        if (out->dim[d] == 0)
            out->dim[d] = in->dim[d];
        if (out->dim[d] < 0 && rest >= 0)
            return dlt_fail(error, "shape: -1 stands in it twice");
        if (out->dim[d] < 0)
            rest = d;
    }
    return fill_rest(in, out, rest, error);
}

static int transpose(const struct dlt_op_site *site, struct dlt_op_result *result,
                     struct dlt_error *error)
{
    const struct dlt_transpose_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    int one, other;

    if (dlt_wrap_dim(a->dim0, in->rank, &one, error))
        return dlt_fail_in(error, "dim0: ");
    if (dlt_wrap_dim(a->dim1, in->rank, &other, error))
        return dlt_fail_in(error, "dim1: ");
    dlt_same_shape(site, result);
    result->output[0].dim[one] = in->dim[other];
    result->output[0].dim[other] = in->dim[one];
    return 0;
}

static int permute(const struct dlt_op_site *site, struct dlt_op_result *result,
                   struct dlt_error *error)
{
    const struct dlt_reshape_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    unsigned seen = 0;

    if (a->shape.count != in->rank)
        return dlt_fail(error, "dims: its input has %d dimensions, so it takes a list of %d",
                        in->rank, in->rank);
    dlt_same_shape(site, result);
    for (int d = 0; d < in->rank; d++) {
        int from;

        if (dlt_wrap_dim(a->shape.value[d], in->rank, &from, error))
            return dlt_fail_in(error, "dims: ");
        if (seen >> from & 1)
            return dlt_fail(error, "dims: dimension %d stands in it twice", from);
        seen |= 1U << from;
        result->output[0].dim[d] = in->dim[from];
    }
    return 0;
}

/* Without dim: every dimension of size 1 but the batch, which may happen to be 1. */
static int squeeze(const struct dlt_op_site *site, struct dlt_op_result *result,
                   struct dlt_error *error)
{
    const struct dlt_dim_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    struct dlt_tensor *out = &result->output[0];
    int only = -1;

    if (a->dim != DLT_ABSENT && dlt_wrap_dim(a->dim, in->rank, &only, error))
        return dlt_fail_in(error, "dim: ");
    dlt_same_shape(site, result);
    out->rank = 0;
    for (int d = 0; d < in->rank; d++)
        if (in->dim[d] != 1 || (only >= 0 ? d != only : d == 0))
            out->dim[out->rank++] = in->dim[d];
    return 0;
}

static int unsqueeze(const struct dlt_op_site *site, struct dlt_op_result *result,
                     struct dlt_error *error)
{
    const struct dlt_dim_attributes *a = (const void *)site->attribute;
    struct dlt_tensor *out = &result->output[0];
    int dim;

    dlt_same_shape(site, result);
    if (out->rank >= DLT_RANK)
        return dlt_fail(error, "its output would have more than %d dimensions", DLT_RANK);
    if (dlt_wrap_dim(a->dim, out->rank + 1, &dim, error))
        return dlt_fail_in(error, "dim: ");
    for (int d = out->rank++; d > dim; d--)
        out->dim[d] = out->dim[d - 1];
    out->dim[dim] = 1;
    return 0;
}

/* From start to before end; both may count from the end, and lie outside. */
static int slice(const struct dlt_op_site *site, struct dlt_op_result *result,
                 struct dlt_error *error)
{
    const struct dlt_slice_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    int64_t start, end, size;
    int dim;

    if (dlt_wrap_dim(a->dim, in->rank, &dim, error))
        return dlt_fail_in(error, "dim: ");
    size = in->dim[dim];
    start = a->start < 0 ? a->start + size : a->start;
    end = a->end == DLT_ABSENT ? size : a->end < 0 ? a->end + size : a->end;
    start = start < 0 ? 0 : start;
    end = end > size ? size : end;
    if (start >= end)
        return dlt_fail(error, "nothing of the %lld in dimension %d lies between start and end",
                        (long long)size, dim);
    dlt_same_shape(site, result);
    result->output[0].dim[dim] = (end - start + a->step - 1) / a->step;
    return 0;
}

/* torch.expand: -1 keeps a dimension; 0 takes that of the second input. */
static int expand(const struct dlt_op_site *site, struct dlt_op_result *result,
                  struct dlt_error *error)
{
    const struct dlt_reshape_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    const struct dlt_tensor *like = dlt_site_input(site, site->input_count - 1);
    struct dlt_tensor *out = &result->output[0];
    int64_t count = a->shape.count > 0 ? a->shape.count : 1;
    char text[DLT_SHAPE_TEXT];

    dlt_same_shape(site, result);
    if (count > DLT_RANK || count < in->rank)
        return dlt_fail(error, "shape: it takes %d to %d dimensions for an input of %s", in->rank,
                        DLT_RANK, dlt_shape_text(in, text));
    out->rank = (int)count;
    for (int d = 0; d < out->rank; d++) {
        int from = d - out->rank + in->rank;
        int64_t own = from >= 0 ? in->dim[from] : 1, wanted = a->shape.value[d];

        if (wanted == 0 && d < like->rank)
            wanted = like->dim[d];
        out->dim[d] = wanted < 0 ? own : wanted;
        if (wanted == 0 || (own != 1 && own != out->dim[d]))
            return dlt_fail(error, "shape: dimension %d of %s cannot become %lld", from,
                            dlt_shape_text(in, text), (long long)wanted);
    }
    return 0;
}

#define VIEW(op_name, op_infer, ...)                                                               \
    {                                                                                              \
        .name = (op_name), .class = DLT_OP_VIEW, .least_inputs = 1, .most_inputs = 1,              \
        .attribute = {__VA_ARGS__}, .takes_integers = true, .infer = (op_infer)                    \
    }
#define SHAPE(name, required, least) SIZES_FROM(name, SLOT(reshape, shape), required, least)

static const struct dlt_op rows[] = {
    VIEW("identity", identity, {0}),
    VIEW("detach", identity, {0}),
    VIEW("flatten", flatten, DIM(start_dim, flatten, 1), DIM(end_dim, flatten, -1)),
    VIEW("split", split, SIZES(sections, dim, true), DIM(dim, dim, 1)),
    VIEW("reshape", reshape, SHAPE("shape", true, -1)),
    VIEW("transpose", transpose, NEEDED_DIM(dim0, transpose), NEEDED_DIM(dim1, transpose)),
    VIEW("permute", permute, SHAPE("dims", true, -DLT_RANK)),
    VIEW("squeeze", squeeze, DIM(dim, dim, DLT_ABSENT)),
    VIEW("unsqueeze", unsqueeze, NEEDED_DIM(dim, dim)),
    VIEW("slice", slice, NEEDED_DIM(dim, slice), AT_LEAST(start, slice, 0, -MOST_SIZE),
         AT_LEAST(end, slice, DLT_ABSENT, -MOST_SIZE), COUNT(step, slice, 1)),
    {.name = "expand",
     .class = DLT_OP_VIEW,
     .least_inputs = 1,
     .most_inputs = 2,
     .attribute = {SHAPE("shape", true, -1)},
     .takes_integers = true,
     .infer = expand},
};
FAMILY(dlt_ops_shape, rows);
