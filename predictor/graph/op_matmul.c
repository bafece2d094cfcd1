/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products, and attention as one operator. */
#include <stdio.h>

#include "base/error.h"
#include "graph/expand.h"
#include "graph/op_row.h"

/* The last dimension, whatever the others: their product is the number of rows. */
static int dense(const struct dlt_op_site *site, struct dlt_op_result *result,
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
    d->m = dlt_shape_product(in, 0, last);
    d->k = in->dim[last];
    d->n = a->out_features;
    d->bias = a->bias;
    result->weight = (double)d->k * (double)d->n;
    result->parameters = result->weight + (a->bias ? (double)d->n : 0);
    result->tensors = a->bias ? 2 : 1;
    dlt_same_shape(site, result);
    result->output[0].dim[last] = d->n;
    return 0;
}

/* The dimensions before the last two of a and b, broadcast, into out, whose last two are m x n. */
static int batches(const struct dlt_tensor *a, const struct dlt_tensor *b, struct dlt_tensor *out,
                   struct dlt_error *error)
{
    const struct dlt_tensor *longer = a->rank > b->rank ? a : b;
    char one[DLT_SHAPE_TEXT], other[DLT_SHAPE_TEXT];

    *out = *longer;
    for (int d = 3; d <= a->rank && d <= b->rank; d++) {
        int64_t x = a->dim[a->rank - d], y = b->dim[b->rank - d];

        if (x != y && x != 1 && y != 1)
            return dlt_fail(error, "shapes %s and %s do not go together", dlt_shape_text(a, one),
                            dlt_shape_text(b, other));
        out->dim[out->rank - d] = x == 1 ? y : x;
    }
    out->dim[out->rank - 2] = a->dim[a->rank - 2];
    out->dim[out->rank - 1] = b->dim[b->rank - 1];
    return 0;
}

/* ... x M x K by ... x K x N. A right factor without batches is one product over all rows. */
static int matmul(const struct dlt_op_site *site, struct dlt_op_result *result,
                  struct dlt_error *error)
{
    const struct dlt_tensor *a = dlt_site_input(site, 0), *b = dlt_site_input(site, 1);
    struct dlt_matmul *d = &result->record.u.matmul;
    char one[DLT_SHAPE_TEXT], other[DLT_SHAPE_TEXT];

    if (a->rank < 2 || b->rank < 2 || a->dim[a->rank - 1] != b->dim[b->rank - 2])
        return dlt_fail(error, "shapes %s and %s do not multiply", dlt_shape_text(a, one),
                        dlt_shape_text(b, other));
    if (batches(a, b, &result->output[0], error))
        return -1;
    result->output_count = 1;
    result->record = dlt_op_record(site->op);
    d->n = b->dim[b->rank - 1];
    d->k = a->dim[a->rank - 1];
    if (b->rank == 2) {
        d->batch = 1;
        d->m = dlt_shape_product(a, 0, a->rank - 1);
    } else {
        d->batch = dlt_shape_product(&result->output[0], 0, result->output[0].rank - 2);
        d->m = a->dim[a->rank - 2];
    }
    return 0;
}

static int bmm(const struct dlt_op_site *site, struct dlt_op_result *result,
               struct dlt_error *error)
{
    const struct dlt_tensor *a = dlt_site_input(site, 0), *b = dlt_site_input(site, 1);
    char one[DLT_SHAPE_TEXT], other[DLT_SHAPE_TEXT];

    if (a->rank != 3 || b->rank != 3 || a->dim[0] != b->dim[0])
        return dlt_fail(error, "shapes %s and %s; it takes batch x m x k and batch x k x n",
                        dlt_shape_text(a, one), dlt_shape_text(b, other));
    return matmul(site, result, error);
}

/* Query, key, value (and a mask): ... x length x size each. Heads are the dimension before the
 * length; keys and values may have fewer of them (grouped queries). */
static int attention(const struct dlt_op_site *site, struct dlt_op_result *result,
                     struct dlt_error *error)
{
    const struct dlt_attention_attributes *at = (const void *)site->attribute;
    const struct dlt_tensor *q = dlt_site_input(site, 0), *k = dlt_site_input(site, 1);
    const struct dlt_tensor *v = dlt_site_input(site, 2);
    struct dlt_attention *a = &result->record.u.attention;
    char text[3][DLT_SHAPE_TEXT];
    int rank = q->rank;

    if (rank < 3 || k->rank != rank || v->rank != rank || k->dim[0] != q->dim[0] ||
        k->dim[rank - 1] != q->dim[rank - 1] || v->dim[rank - 2] != k->dim[rank - 2] ||
        q->dim[rank - 3] % k->dim[rank - 3])
        return dlt_fail(error,
                        "shapes %s, %s and %s; it takes batch x heads x length x size, the same "
                        "length for the last two and the same size for the first two",
                        dlt_shape_text(q, text[0]), dlt_shape_text(k, text[1]),
                        dlt_shape_text(v, text[2]));
    result->record = dlt_op_record(site->op);
    a->heads = rank > 3 ? q->dim[rank - 3] : 1;
    a->batch = dlt_shape_product(q, 0, rank - 2) / a->heads;
    a->query_length = q->dim[rank - 2];
    a->key_length = k->dim[rank - 2];
    a->head_size = q->dim[rank - 1];
    a->causal = at->is_causal;
    dlt_same_shape(site, result);
    result->output[0].dim[rank - 1] = v->dim[rank - 1];
    /* The logarithm of each row's sum. */
    result->inside = (double)dlt_shape_product(q, 0, rank - 1);
    return 0;
}

static const struct dlt_op rows[] = {
    {.name = "dense",
     .class = DLT_OP_MATMUL,
     .least_inputs = 1,
     .most_inputs = 1,
     .saves = DLT_SAVE_INPUT,
     .kind = "dense",
     .attribute = {AGREES(in_features, dense), SIZE(out_features, dense), FLAG(bias, dense, 1)},
     .infer = dense},
    {.name = "matmul",
     .class = DLT_OP_MATMUL,
     .least_inputs = 2,
     .most_inputs = 2,
     .saves = DLT_SAVE_OTHERS,
     .kind = "bmm",
     .infer = matmul},
    {.name = "bmm",
     .class = DLT_OP_MATMUL,
     .least_inputs = 2,
     .most_inputs = 2,
     .saves = DLT_SAVE_OTHERS,
     .kind = "bmm",
     .infer = bmm},
    {.name = "scaled_dot_product_attention",
     .class = DLT_OP_ATTENTION,
     .least_inputs = 3,
     .most_inputs = 4,
     .saves = DLT_SAVE_INPUTS | DLT_SAVE_OUTPUT,
     .takes_integers = true,
     .kind = "scaled_dot_product_attention",
     .attribute = {FLAG(is_causal, attention, 0), REAL_IGNORED("dropout_p"), REAL_IGNORED("scale")},
     .infer = attention},
    {.name = "multi_head_attention",
     .least_inputs = 1,
     .most_inputs = 4,
     .takes_integers = true,
     .attribute = {SIZE(embed_dim, attention), SIZE(num_heads, attention), REAL_IGNORED("dropout"),
                   FLAG(bias, attention, 1), AGREES(kdim, attention), AGREES(vdim, attention),
                   FLAG(batch_first, attention, 0), FLAG(need_weights, attention, 1),
                   FLAG(is_causal, attention, 0)},
     .expand = dlt_expand_attention},
    {.name = "mixture_of_experts",
     .least_inputs = 1,
     .most_inputs = 1,
     .attribute = {SIZE(num_experts, experts), COUNT(top_k, experts, 1),
                   SIZE(hidden_features, experts), FLAG(bias, experts, 1),
                   NAMED(activation, experts, 0, dlt_expert_activations), FLAG(gated, experts, 0)},
     .expand = dlt_expand_experts},
};
FAMILY(dlt_ops_matmul, rows);
