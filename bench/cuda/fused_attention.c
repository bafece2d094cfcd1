/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Attention as one operation, its scores never in memory (Dao et al. 2022, arXiv 2205.14135): the
 * pattern of operations that cuDNN's engines for it know, as NVIDIA's cudnn-frontend writes it
 * (scaled_dot_product_flash_attention.h) and frameworks use it. Dimensions are [batch][heads][rows]
 * [columns]; K is read as its transpose, [batch][heads][head size][keys], and V in backward as
 * well.
 */
#include <math.h>

#include "attention.h"
#include "graph.h"

/* cuDNN up to 9.15 needs the lengths of sequences for other numbers of keys in backward. */
enum { FIRST_ANY_LENGTH = 91501, KEYS_MULTIPLE = 128 };

struct builder {
    struct bench_graph *graph;
    struct bench_graph_place queries, keys, scores, rows; /* rows: a number for each query */
    bool causal;
};

static struct builder builder_of(const struct bench_layer *layer, struct bench_graph *graph)
{
    const struct dlt_attention *r = &layer->record.u.attention;

    return (struct builder){
        .graph = graph,
        .queries = bench_graph_rows(r->batch, r->heads, r->query_length, r->head_size),
        .keys = bench_graph_rows(r->batch, r->heads, r->key_length, r->head_size),
        .scores = bench_graph_rows(r->batch, r->heads, r->query_length, r->key_length),
        .rows = bench_graph_rows(r->batch, r->heads, r->query_length, 1),
        .causal = r->causal};
}

static float scale_of(const struct bench_layer *layer)
{
    return (float)(1 / sqrt((double)layer->record.u.attention.head_size));
}

/* y = mode(x, other), in float32. */
static bench_graph_tensor point_into(const struct builder *b, cudnnPointwiseMode_t mode,
                                     bench_graph_tensor x, bench_graph_tensor other,
                                     bench_graph_tensor y)
{
    bench_graph_point(
        b->graph, &(struct bench_graph_pointwise){
                      .mode = mode, .precision = CUDNN_DATA_FLOAT, .x = x, .other = other, .y = y});
    return y;
}

static bench_graph_tensor point(const struct builder *b, cudnnPointwiseMode_t mode,
                                bench_graph_tensor x, bench_graph_tensor other,
                                const struct bench_graph_place *place)
{
    return point_into(b, mode, x, other, bench_graph_between(b->graph, CUDNN_DATA_FLOAT, place));
}

static bench_graph_tensor product(const struct builder *b, bench_graph_tensor x,
                                  bench_graph_tensor y, const struct bench_graph_place *place)
{
    bench_graph_tensor made = bench_graph_between(b->graph, CUDNN_DATA_FLOAT, place);

    bench_graph_matmul(b->graph, x, y, made);
    return made;
}

static bench_graph_tensor reduce(const struct builder *b, cudnnReduceTensorOp_t how,
                                 bench_graph_tensor x)
{
    bench_graph_tensor made = bench_graph_between(b->graph, CUDNN_DATA_FLOAT, &b->rows);

    bench_graph_reduce(b->graph, how, x, made);
    return made;
}

static bench_graph_tensor index_of(const struct builder *b, bench_graph_tensor x, int64_t axis)
{
    bench_graph_tensor made = bench_graph_between(b->graph, CUDNN_DATA_INT32, &b->scores);

    bench_graph_point(b->graph, &(struct bench_graph_pointwise){.mode = CUDNN_POINTWISE_GEN_INDEX,
                                                                .precision = CUDNN_DATA_FLOAT,
                                                                .x = x,
                                                                .y = made,
                                                                .axis = axis});
    return made;
}

/* A causal layer's scores of keys after the query become minus infinity. */
static bench_graph_tensor mask(const struct builder *b, bench_graph_tensor scores)
{
    bench_graph_tensor nothing, row, column, seen, made;

    if (!b->causal)
        return scores;
    nothing = bench_graph_number(b->graph, -INFINITY);
    row = index_of(b, scores, 2);
    column = index_of(b, scores, 3);
    seen = bench_graph_between(b->graph, CUDNN_DATA_BOOLEAN, &b->scores);
    bench_graph_point(b->graph, &(struct bench_graph_pointwise){.mode = CUDNN_POINTWISE_CMP_GE,
                                                                .precision = CUDNN_DATA_BOOLEAN,
                                                                .x = row,
                                                                .other = column,
                                                                .y = seen});
    made = bench_graph_between(b->graph, CUDNN_DATA_FLOAT, &b->scores);
    bench_graph_point(b->graph,
                      &(struct bench_graph_pointwise){.mode = CUDNN_POINTWISE_BINARY_SELECT,
                                                      .precision = CUDNN_DATA_FLOAT,
                                                      .x = scores,
                                                      .other = nothing,
                                                      .mask = seen,
                                                      .y = made});
    return made;
}

/*
 * S = mask(scale Q K^T), m = max S, l = sum exp(S - m) by row; O = exp(S - m) / l V. What backward
 * needs of it is m + log l, a number for each query.
 */
static void describe_forward(const struct builder *b, struct bench_layer *layer,
                             const struct bench_buffer *statistics)
{
    struct bench_graph *g = b->graph;
    const struct bench_graph_place transposed = bench_graph_transposed(&b->keys);
    bench_graph_tensor q = bench_graph_array(g, layer->value[0], &b->queries);
    bench_graph_tensor k = bench_graph_array(g, layer->value[1], &transposed);
    bench_graph_tensor v = bench_graph_array(g, layer->value[2], &b->keys);
    bench_graph_tensor output = bench_graph_array(g, layer->output->value, &b->queries);
    bench_graph_tensor scores, most, exponential, sum, weights;

    scores = product(b, q, k, &b->scores);
    scores =
        point(b, CUDNN_POINTWISE_MUL, scores, bench_graph_number(g, scale_of(layer)), &b->scores);
    scores = mask(b, scores);
    most = reduce(b, CUDNN_REDUCE_TENSOR_MAX, scores);
    scores = point(b, CUDNN_POINTWISE_SUB, scores, most, &b->scores);
    exponential = point(b, CUDNN_POINTWISE_EXP, scores, NULL, &b->scores);
    sum = reduce(b, CUDNN_REDUCE_TENSOR_ADD, exponential);
    point_into(b, CUDNN_POINTWISE_ADD, most, point(b, CUDNN_POINTWISE_LOG, sum, NULL, &b->rows),
               bench_graph_array(g, statistics, &b->rows));
    weights = bench_graph_between(g, bench_cudnn_type(layer->type), &b->scores);
    point_into(b, CUDNN_POINTWISE_DIV, exponential, sum, weights);
    bench_graph_matmul(g, weights, v, output);
}

/* x^T as a product's factor, in the arrays' type. */
static bench_graph_tensor transposed(const struct builder *b, const struct bench_layer *layer,
                                     bench_graph_tensor x)
{
    const struct bench_graph_place place = bench_graph_transposed(&b->scores);
    bench_graph_tensor made = bench_graph_between(b->graph, bench_cudnn_type(layer->type), &place);

    bench_graph_reshape(b->graph, x, made);
    return made;
}

/*
 * D = sum (dO o O) by row; P = exp(mask(scale Q K^T) - statistics); dV = P^T dO;
 * dS = scale P o (dO V^T - D); dK = dS^T Q; dQ = dS K, whose sums are taken in an array of float32.
 */
static void describe_backward(const struct builder *b, struct bench_layer *layer,
                              const struct bench_buffer *statistics,
                              const struct bench_fused_backward *arrays)
{
    struct bench_graph *g = b->graph;
    const struct bench_graph_place turned = bench_graph_transposed(&b->keys);
    bench_graph_tensor q = bench_graph_array(g, layer->value[0], &b->queries);
    bench_graph_tensor k = bench_graph_array(g, layer->value[1], &turned);
    bench_graph_tensor v = bench_graph_array(g, layer->value[2], &turned);
    bench_graph_tensor output = bench_graph_array(g, layer->output->value, &b->queries);
    bench_graph_tensor gradient = bench_graph_array(g, arrays->gradient, &b->queries);
    bench_graph_tensor scale = bench_graph_number(g, scale_of(layer));
    bench_graph_tensor sum, weights, change, key_rows, query_sums;

    sum = reduce(b, CUDNN_REDUCE_TENSOR_ADD,
                 point(b, CUDNN_POINTWISE_MUL, gradient, output, &b->queries));
    sum = point_into(b, CUDNN_POINTWISE_MUL, sum, bench_graph_number(g, 1),
                     bench_graph_array(g, arrays->sums, &b->rows));

    weights = product(b, q, k, &b->scores);
    weights = point(b, CUDNN_POINTWISE_MUL, weights, scale, &b->scores);
    weights = point(b, CUDNN_POINTWISE_SUB, weights, bench_graph_array(g, statistics, &b->rows),
                    &b->scores);
    weights = mask(b, weights);
    weights = point(b, CUDNN_POINTWISE_EXP, weights, NULL, &b->scores);
    bench_graph_matmul(g, transposed(b, layer, weights), gradient,
                       bench_graph_array(g, arrays->target[2], &b->keys));

    change = product(b, gradient, v, &b->scores);
    change = point(b, CUDNN_POINTWISE_SUB, change, sum, &b->scores);
    change = point(b, CUDNN_POINTWISE_MUL, change, weights, &b->scores);
    change = point(b, CUDNN_POINTWISE_MUL, change, scale, &b->scores);
    bench_graph_matmul(g, transposed(b, layer, change), q,
                       bench_graph_array(g, arrays->target[1], &b->keys));

    key_rows = bench_graph_between(g, bench_cudnn_type(layer->type), &b->keys);
    bench_graph_reshape(g, k, key_rows);
    query_sums = bench_graph_array(g, arrays->query_sums, &b->queries);
    bench_graph_matmul(g, change, key_rows, query_sums);
    point_into(b, CUDNN_POINTWISE_IDENTITY, query_sums, NULL,
               bench_graph_array(g, arrays->target[0], &b->queries));
}

int bench_fused_forward(struct bench_layer *layer, const struct bench_buffer *statistics,
                        struct bench_graph **graph, struct dlt_error *error)
{
    struct builder b;

    *graph = bench_graph_create(layer->context, error);
    if (!*graph)
        return BENCH_NO_MEMORY;
    b = builder_of(layer, *graph);
    describe_forward(&b, layer, statistics);
    return bench_graph_finish(*graph, error);
}

int bench_fused_backward(struct bench_layer *layer, const struct bench_buffer *statistics,
                         const struct bench_fused_backward *arrays, struct bench_graph **graph,
                         struct dlt_error *error)
{
    struct builder b;

    if (cudnnGetVersion() < FIRST_ANY_LENGTH &&
        layer->record.u.attention.key_length % KEYS_MULTIPLE != 0) {
        dlt_fail(error, "this cuDNN needs a multiple of %d keys", KEYS_MULTIPLE);
        return BENCH_UNSUPPORTED;
    }
    *graph = bench_graph_create(layer->context, error);
    if (!*graph)
        return BENCH_NO_MEMORY;
    b = builder_of(layer, *graph);
    describe_backward(&b, layer, statistics, arrays);
    return bench_graph_finish(*graph, error);
}
