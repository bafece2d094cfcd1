/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and losses. */
#include "base/error.h"
#include "graph/op_row.h"

/* Which dimensions go; all where none is named. */
static int reduced(const struct dlt_sizes *dims, int rank, bool gone[DLT_RANK],
                   struct dlt_error *error)
{
    int64_t count = dims->count == DLT_ABSENT ? 0 : dims->count > 0 ? dims->count : 1;

    for (int d = 0; d < rank; d++)
        gone[d] = dims->count == DLT_ABSENT;
    for (int64_t i = 0; i < count; i++) {
        int dim;

        if (dlt_wrap_dim(dims->value[i], rank, &dim, error))
            return dlt_fail_in(error, "dim: ");
        if (gone[dim])
            return dlt_fail(error, "dim: dimension %d is named twice", dim);
        gone[dim] = true;
    }
    return 0;
}

static int reduce(const struct dlt_op_site *site, struct dlt_op_result *result,
                  struct dlt_error *error)
{
    const struct dlt_reduce_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    struct dlt_tensor *out = &result->output[0];
    bool gone[DLT_RANK];

    if (reduced(&a->dim, in->rank, gone, error))
        return -1;
    dlt_same_shape(site, result);
    result->record = dlt_op_record(site->op);
    result->record.u.rowwise.rows = result->record.u.rowwise.columns = 1;
    out->rank = 0;
    for (int d = 0; d < in->rank; d++) {
        int64_t *side =
            gone[d] ? &result->record.u.rowwise.columns : &result->record.u.rowwise.rows;

        *side *= in->dim[d]; /* a tensor's elements fit */
        if (!gone[d] || a->keepdim)
            out->dim[out->rank++] = gone[d] ? 1 : in->dim[d];
    }
    return 0;
}

static int argmax(const struct dlt_op_site *site, struct dlt_op_result *result,
                  struct dlt_error *error)
{
    if (reduce(site, result, error))
        return -1;
    result->output[0].type = DLT_TENSOR_INT64;
    return 0;
}

/* One number, the mean over the batch. */
static void scalar(struct dlt_op_result *result)
{
    result->output[0] = (struct dlt_tensor){.type = DLT_TENSOR_FLOAT};
    result->output_count = 1;
}

/* Logits N x C x ..., and, where it is part of the network, the target. */
static int cross_entropy(const struct dlt_op_site *site, struct dlt_op_result *result,
                         struct dlt_error *error)
{
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    int classes = in->rank > 1 ? 1 : 0;
    char text[DLT_SHAPE_TEXT];

    if (in->rank < 1 || in->type != DLT_TENSOR_FLOAT)
        return dlt_fail(error, "its first input is %s; it takes logits, batch x classes",
                        dlt_shape_text(in, text));
    result->record = dlt_op_record(site->op);
    result->record.u.rowwise.columns = in->dim[classes];
    result->record.u.rowwise.rows = dlt_shape_product(in, 0, in->rank) / in->dim[classes];
    result->inside = (double)dlt_shape_product(in, 0, in->rank); /* log_softmax's result */
    scalar(result);
    return 0;
}

/* Input and target of one shape, compared element by element, and the mean. */
static int elementwise_loss(const struct dlt_op_site *site, struct dlt_op_result *result,
                            struct dlt_error *error)
{
    struct dlt_tensor both;

    if (dlt_broadcast(site, 0, &both, error))
        return -1;
    result->record = dlt_op_record(site->op);
    result->record.u.rowwise.rows = 1;
    result->record.u.rowwise.columns = dlt_shape_product(&both, 0, both.rank);
    scalar(result);
    return 0;
}

/* The absolute value of the difference, which keeps that. */
static int l1_loss(const struct dlt_op_site *site, struct dlt_op_result *result,
                   struct dlt_error *error)
{
    if (elementwise_loss(site, result, error))
        return -1;
    result->inside = (double)result->record.u.rowwise.columns;
    return 0;
}

static const char *const reductions[] = {"mean", "sum", "none", NULL};

#define REDUCTION(op_name, op_saves, in_float, op_infer)                                           \
    {                                                                                              \
        .name = (op_name), .class = DLT_OP_REDUCTION, .least_inputs = 1, .most_inputs = 1,         \
        .saves = (op_saves), .takes_integers = true, .float_in_amp = (in_float),                   \
        .kind = "reduction",                                                                       \
        .attribute = {SIZES_FROM("dim", SLOT(reduce, dim), false, -DLT_RANK),                      \
                      FLAG(keepdim, reduce, 0)},                                                   \
        .infer = (op_infer)                                                                        \
    }
#define LOSS(op_name, op_kind, least, op_saves, op_infer)                                          \
    {                                                                                              \
        .name = (op_name), .class = DLT_OP_LOSS, .least_inputs = (least), .most_inputs = 2,        \
        .saves = (op_saves), .takes_integers = true, .float_in_amp = true, .kind = (op_kind),      \
        .attribute = {NAME_IGNORED("reduction", reductions)}, .infer = (op_infer)                  \
    }

static const struct dlt_op rows[] = {
    REDUCTION("mean", 0, false, reduce),
    REDUCTION("sum", 0, true, reduce),
    REDUCTION("max", DLT_SAVE_INDICES, false, reduce),
    REDUCTION("min", DLT_SAVE_INDICES, false, reduce),
    REDUCTION("norm", DLT_SAVE_INPUT | DLT_SAVE_OUTPUT, true, reduce),
    REDUCTION("argmax", 0, false, argmax),
    LOSS("cross_entropy", "cross_entropy", 1, DLT_SAVE_SECOND, cross_entropy),
    LOSS("mse_loss", "reduction", 2, DLT_SAVE_INPUTS, elementwise_loss),
    LOSS("l1_loss", "reduction", 2, 0, l1_loss),
    LOSS("smooth_l1_loss", "reduction", 2, DLT_SAVE_INPUTS, elementwise_loss),
    LOSS("bce_with_logits_loss", "reduction", 2, DLT_SAVE_INPUTS, elementwise_loss),
};
FAMILY(dlt_ops_reduce, rows);
