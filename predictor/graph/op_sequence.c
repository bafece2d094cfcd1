/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers, tables, and tensors that come from nothing: parameters and positions. */
#include <stdio.h>

#include "base/error.h"
#include "graph/op_row.h"
#include "graph/record_work.h"

/* What is kept besides input and output, as PyTorch's cells do it a step: the gates, and of an lstm
 * c, tanh c and h, of a gru the new gate, its product with the reset gate, h and h less the new
 * gate; what a projection makes; the outputs between layers. With batch_first, or behind a
 * transpose, the second direction has a copy of the input of its own. cuDNN does not say what its
 * reserve holds; its size is known only where there is a device. */
static double reserve(const struct dlt_recurrent *r, double gates, bool turned)
{
    double steps = (double)r->batch * (double)r->length * (r->bidirectional ? 2 : 1);
    double extra = gates == 4 ? 3 : gates == 3 ? 4 : 0;
    double layer = (gates + extra) * (double)r->hidden_size;
    double copy = r->bidirectional && turned ? (double)r->in_features / 2 : 0;

    if (r->out_features != r->hidden_size)
        layer += (double)r->out_features;
    return steps * (layer * (double)r->num_layers +
                    (double)(r->num_layers - 1) * (double)r->out_features + copy);
}

static void recurrent_outputs(const struct dlt_op_site *site, const struct dlt_recurrent *r,
                              struct dlt_op_result *result)
{
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    int64_t directions = r->bidirectional ? 2 : 1;
    struct dlt_tensor *state = &result->output[1];

    result->output[0] = *in;
    result->output[0].dim[2] = r->out_features * directions;
    *state = (struct dlt_tensor){.rank = 3, .type = DLT_TENSOR_FLOAT};
    state->dim[0] = r->num_layers * directions;
    state->dim[1] = r->batch;
    state->dim[2] = r->out_features;
    result->output_count = 2;
    if (dlt_recurrent_gates(result->record.kind) == 4) {
        result->output[2] = *state;
        result->output[2].dim[2] = r->hidden_size;
        result->output_count = 3;
    }
}

/* length x batch x features, or batch x length x features with batch_first; the initial states, if
 * given, cost nothing. */
static int recurrent(const struct dlt_op_site *site, struct dlt_op_result *result,
                     struct dlt_error *error)
{
    const struct dlt_recurrent_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);
    struct dlt_recurrent *r = &result->record.u.recurrent;
    char text[DLT_SHAPE_TEXT];
    struct dlt_work work;

    if (in->rank != 3)
        return dlt_fail(error, "its input is %s; it takes batch, length and features",
                        dlt_shape_text(in, text));
    if (a->input_size != DLT_ABSENT && a->input_size != in->dim[2])
        return dlt_fail(error, "input_size is %lld, but its input has %lld features",
                        (long long)a->input_size, (long long)in->dim[2]);
    if (a->proj_size >= a->hidden_size)
        return dlt_fail(error, "proj_size %lld has to be smaller than hidden_size %lld",
                        (long long)a->proj_size, (long long)a->hidden_size);
    result->record = dlt_op_record(site->op);
    *r = (struct dlt_recurrent){.batch = in->dim[a->batch_first ? 0 : 1],
                                .length = in->dim[a->batch_first ? 1 : 0],
                                .in_features = in->dim[2],
                                .hidden_size = a->hidden_size,
                                .out_features = a->proj_size ? a->proj_size : a->hidden_size,
                                .num_layers = a->num_layers,
                                .bidirectional = a->bidirectional,
                                .bias = a->bias};
    dlt_record_work(&result->record, &work);
    result->weight = result->parameters = work.weights;
    result->tensors = (double)(a->num_layers * (a->bidirectional ? 2 : 1) *
                               (2 + 2 * a->bias + (a->proj_size > 0)));
    result->inside = reserve(r, dlt_recurrent_gates(result->record.kind),
                             a->batch_first || in->storage != site->input[0]);
    recurrent_outputs(site, r, result);
    return 0;
}

static int embedding(const struct dlt_op_site *site, struct dlt_op_result *result,
                     struct dlt_error *error)
{
    const struct dlt_embedding_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);

    if (in->type == DLT_TENSOR_FLOAT)
        return dlt_fail(error, "its input holds no integers; give it \"dtype\": \"int64\"");
    if (in->rank >= DLT_RANK)
        return dlt_fail(error, "its output would have more than %d dimensions", DLT_RANK);
    result->record = dlt_op_record(site->op);
    result->record.u.matmul.m = dlt_shape_product(in, 0, in->rank);
    result->record.u.matmul.k = a->num_embeddings;
    result->record.u.matmul.n = a->embedding_dim;
    result->weight = (double)a->num_embeddings * (double)a->embedding_dim;
    result->parameters = result->weight;
    result->tensors = 1;
    dlt_same_shape(site, result);
    result->output[0].dim[result->output[0].rank++] = a->embedding_dim;
    result->output[0].type = DLT_TENSOR_FLOAT;
    return 0;
}

static int arange(const struct dlt_op_site *site, struct dlt_op_result *result,
                  struct dlt_error *error)
{
    const struct dlt_arange_attributes *a = (const void *)site->attribute;

    (void)error;
    result->output[0] = (struct dlt_tensor){.rank = 1, .dim = {a->end}, .type = DLT_TENSOR_INT64};
    result->output_count = 1;
    return 0;
}

static int parameter(const struct dlt_op_site *site, struct dlt_op_result *result,
                     struct dlt_error *error)
{
    const struct dlt_reshape_attributes *a = (const void *)site->attribute;
    struct dlt_tensor *out = &result->output[0];
    int64_t count = a->shape.count > 0 ? a->shape.count : 1;

    if (count > DLT_RANK)
        return dlt_fail(error, "shape: at most %d dimensions", DLT_RANK);
    *out = (struct dlt_tensor){.rank = (int)count, .type = DLT_TENSOR_FLOAT};
    result->output_count = 1;
    result->weight = 1;
    for (int d = 0; d < out->rank; d++) {
        out->dim[d] = a->shape.value[d];
        result->weight *= (double)out->dim[d];
    }
    result->parameters = result->weight;
    result->tensors = 1;
    return 0;
}

static const char *const nonlinearities[] = {"tanh", "relu", NULL};

#define RECURRENT(op_name, most, ...)                                                              \
    {                                                                                              \
        .name = (op_name), .class = DLT_OP_RECURRENT, .least_inputs = 1, .most_inputs = (most),    \
        .saves = DLT_SAVE_INPUT, .kind = (op_name),                                                \
        .attribute = {AGREES(input_size, recurrent),                                               \
                      SIZE(hidden_size, recurrent),                                                \
                      COUNT(num_layers, recurrent, 1),                                             \
                      FLAG(bias, recurrent, 1),                                                    \
                      FLAG(batch_first, recurrent, 0),                                             \
                      REAL_IGNORED("dropout"),                                                     \
                      FLAG(bidirectional, recurrent, 0),                                           \
                      AT_LEAST(proj_size, recurrent, 0, 0),                                        \
                      ##__VA_ARGS__},                                                              \
        .infer = recurrent                                                                         \
    }

static const struct dlt_op rows[] = {
    RECURRENT("rnn", 2, NAME_IGNORED("nonlinearity", nonlinearities)),
    RECURRENT("gru", 2),
    RECURRENT("lstm", 3),
    {.name = "embedding",
     .class = DLT_OP_EMBEDDING,
     .least_inputs = 1,
     .most_inputs = 1,
     .saves = DLT_SAVE_INPUT,
     .takes_integers = true,
     .kind = "embedding",
     .attribute = {SIZE(num_embeddings, embedding), SIZE(embedding_dim, embedding),
                   REAL_IGNORED("padding_idx")},
     .infer = embedding},
    {.name = "arange",
     .class = DLT_OP_VIEW,
     .attribute = {SIZE(end, arange)},
     .takes_integers = true,
     .infer = arange},
    {.name = "parameter",
     .class = DLT_OP_PARAMETER,
     .attribute = {SIZES(shape, reshape, true)},
     .infer = parameter},
};
FAMILY(dlt_ops_sequence, rows);
