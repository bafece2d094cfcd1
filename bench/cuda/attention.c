/* SPDX-License-Identifier: Apache-2.0 */

/* Attention, softmax(scale Q K^T) V: by cuDNN as one operation where it has an engine for it, else
 * from products and a softmax, with the scores in memory. */
#include "attention.h"

#include <math.h>

#include "graph.h"

enum { PLACES = 6 }; /* the output's gradient, three inputs', two that backward takes besides */

struct attention {
    int64_t batch, queries, keys, size; /* batch: of products, heads included */
    float scale;
    struct bench_graph *backward;          /* fused; NULL: unfused */
    struct bench_buffer place[PLACES];     /* its arrays, before there are any */
    struct bench_buffer *statistics;       /* fused: what backward needs of the scores */
    struct bench_buffer *scores, *weights; /* unfused: before and after the softmax */
};

/* ---- one operation ---- */

/* cuDNN has to have an engine for the way back as well: it is looked for now, and finds its arrays
 * when backward is built. */
static int prepare_backward(struct bench_layer *layer, struct attention *a, struct dlt_error *error)
{
    struct bench_fused_backward arrays = {.gradient = &a->place[0],
                                          .target = {&a->place[1], &a->place[2], &a->place[3]},
                                          .sums = &a->place[4],
                                          .query_sums = &a->place[5]};

    for (int i = 0; i < PLACES; i++)
        a->place[i].type = i < 4 ? layer->type : BENCH_F32;
    return bench_fused_backward(layer, a->statistics, &arrays, &a->backward, error);
}

/* BENCH_UNSUPPORTED: to be run from its parts. */
static int forward_fused(struct bench_layer *layer, struct attention *a, struct dlt_error *error)
{
    struct bench_graph *graph;
    int status;

    if (layer->type != BENCH_F16 && layer->type != BENCH_B16)
        return BENCH_UNSUPPORTED;
    status = bench_scratch(layer, BENCH_F32, a->batch * a->queries, &a->statistics, error);
    if (status)
        return status;
    status = bench_fused_forward(layer, a->statistics, &graph, error);
    if (status == BENCH_OK && layer->standalone)
        status = bench_graph_try(graph, error);
    if (status == BENCH_OK)
        status = prepare_backward(layer, a, error);
    if (status) {
        a->backward = NULL;
        return status == BENCH_NO_MEMORY ? status : BENCH_UNSUPPORTED;
    }
    layer->kept = a->statistics;
    return bench_graph_add(layer, DLT_FORWARD, graph, error);
}

static int backward_fused(struct bench_layer *layer, const struct attention *a,
                          struct bench_buffer *gradient, struct bench_buffer *const target[3],
                          struct dlt_error *error)
{
    struct bench_buffer *array[PLACES] = {gradient, target[0], target[1], target[2]};
    int status = bench_scratch(layer, BENCH_F32, a->batch * a->queries, &array[4], error);

    if (status == BENCH_OK)
        status = bench_scratch(layer, BENCH_F32, a->batch * a->queries * a->size, &array[5], error);
    if (status)
        return status;
    for (int i = 0; i < PLACES; i++)
        bench_graph_bind(a->backward, &a->place[i], array[i]);
    return bench_graph_add(layer, DLT_BACKWARD_DATA, a->backward, error);
}

/* ---- its parts ---- */

static void name_parts(struct bench_layer *layer, enum dlt_pass pass)
{
    struct bench_choice *choice = &layer->program[pass].choice;

    snprintf(choice->algorithm, sizeof choice->algorithm, "unfused");
}

static struct bench_softmax_arguments softmax_of(const struct bench_layer *layer,
                                                 const struct attention *a)
{
    return (struct bench_softmax_arguments){
        .rows = a->batch * a->queries,
        .columns = (int)a->keys,
        .period = layer->record.u.attention.causal ? (int)a->queries : 0};
}

static int scores_like(struct bench_layer *layer, const struct attention *a,
                       struct bench_buffer **buffer, struct dlt_error *error)
{
    return bench_scratch(layer, layer->type, a->batch * a->queries * a->keys, buffer, error);
}

static int forward_parts(struct bench_layer *layer, struct attention *a, struct dlt_error *error)
{
    struct bench_softmax_arguments softmax = softmax_of(layer, a);
    int status = scores_like(layer, a, &a->scores, error);

    if (status == BENCH_OK)
        status = scores_like(layer, a, &a->weights, error);
    if (status == BENCH_OK)
        status = bench_add_matmul(layer, DLT_FORWARD,
                                  &(struct bench_matmul){.batch = a->batch,
                                                         .m = a->queries,
                                                         .n = a->keys,
                                                         .k = a->size,
                                                         .transpose_b = true,
                                                         .alpha = a->scale,
                                                         .a = layer->value[0],
                                                         .b = layer->value[1],
                                                         .c = a->scores},
                                  error);
    if (status == BENCH_OK)
        status = bench_add_softmax(layer, DLT_FORWARD, "softmax", &softmax, a->scores, NULL,
                                   a->weights, error);
    if (status == BENCH_OK)
        status = bench_add_matmul(layer, DLT_FORWARD,
                                  &(struct bench_matmul){.batch = a->batch,
                                                         .m = a->queries,
                                                         .n = a->size,
                                                         .k = a->keys,
                                                         .alpha = 1,
                                                         .a = a->weights,
                                                         .b = layer->value[2],
                                                         .c = layer->output->value},
                                  error);
    layer->kept = a->weights;
    name_parts(layer, DLT_FORWARD);
    return status;
}

/* dV = P^T dO, dP = dO V^T, dQ = scale dS K, dK = scale dS^T Q. */
static int backward_parts(struct bench_layer *layer, const struct attention *a,
                          struct bench_buffer *gradient, struct bench_buffer *const target[3],
                          struct dlt_error *error)
{
    const enum dlt_pass pass = DLT_BACKWARD_DATA;
    struct bench_softmax_arguments softmax = softmax_of(layer, a);
    struct bench_buffer *to_weights, *to_scores = a->scores;
    int status = scores_like(layer, a, &to_weights, error);

    if (status)
        return status;
    const struct bench_matmul products[] = {
        {.m = a->keys,
         .n = a->size,
         .k = a->queries,
         .transpose_a = true,
         .alpha = 1,
         .a = a->weights,
         .b = gradient,
         .c = target[2]},
        {.m = a->queries,
         .n = a->keys,
         .k = a->size,
         .transpose_b = true,
         .alpha = 1,
         .a = gradient,
         .b = layer->value[2],
         .c = to_weights},
        {.m = a->queries,
         .n = a->size,
         .k = a->keys,
         .alpha = a->scale,
         .a = to_scores,
         .b = layer->value[1],
         .c = target[0]},
        {.m = a->keys,
         .n = a->size,
         .k = a->queries,
         .transpose_a = true,
         .alpha = a->scale,
         .a = to_scores,
         .b = layer->value[0],
         .c = target[1]},
    };
    for (int i = 0; i < 4 && status == BENCH_OK; i++) {
        struct bench_matmul product = products[i];

        product.batch = a->batch;
        if (i == 2)
            status = bench_add_softmax(layer, pass, "softmax_back", &softmax, a->weights,
                                       to_weights, to_scores, error);
        if (status == BENCH_OK)
            status = bench_add_matmul(layer, pass, &product, error);
    }
    name_parts(layer, pass);
    return status;
}

/* ---- both ---- */

int bench_attention_forward(struct bench_layer *layer, struct dlt_error *error)
{
    const struct dlt_attention *r = &layer->record.u.attention;
    struct attention *a = bench_own_zeroed(&layer->context->owned, 1, sizeof *a, error);
    struct dlt_error refusal;
    int status = a ? BENCH_OK : BENCH_NO_MEMORY;

    for (int i = 0; i < 3 && status == BENCH_OK; i++)
        status = bench_input(layer, i, error);
    if (status == BENCH_OK)
        status = bench_output(layer, error);
    if (status)
        return status;
    layer->extra = a;
    *a = (struct attention){.batch = r->batch * r->heads,
                            .queries = r->query_length,
                            .keys = r->key_length,
                            .size = r->head_size,
                            .scale = (float)(1 / sqrt((double)r->head_size))};
    status = forward_fused(layer, a, &refusal);
    if (status == BENCH_UNSUPPORTED)
        return forward_parts(layer, a, error);
    if (status)
        *error = refusal;
    return status;
}

int bench_attention_backward(struct bench_layer *layer, bool data, bool weight,
                             struct dlt_error *error)
{
    const struct attention *a = layer->extra;
    struct bench_buffer *gradient, *target[3];
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, &gradient, error);

    (void)data;
    (void)weight;
    for (int i = 0; i < 3 && status == BENCH_OK; i++)
        status = bench_collect(layer, i, &target[i], error);
    if (status == BENCH_OK)
        status = (a->backward ? backward_fused : backward_parts)(layer, a, gradient, target, error);
    for (int i = 0; i < 3 && status == BENCH_OK; i++)
        status = bench_deliver(layer, DLT_BACKWARD_DATA, i, target[i], error);
    return status;
}
