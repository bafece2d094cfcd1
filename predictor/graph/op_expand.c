/* SPDX-License-Identifier: Apache-2.0 */
/* multi_head_attention and mixture_of_experts, as the operators that frameworks run for them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/expand.h"

const struct dlt_tensor *dlt_expand_tensor(const struct dlt_expansion *e, int tensor)
{
    return dlt_builder_tensor(e->builder, tensor);
}

const struct dlt_tensor *dlt_expand_input(const struct dlt_expansion *e, size_t i)
{
    return dlt_expand_tensor(e, e->node->input[i]);
}

int dlt_expand_add(struct dlt_expansion *e, const char *op, const char *part,
                   const void *attributes, size_t attributes_size, const int *input,
                   size_t input_count, struct dlt_error *error)
{
    int64_t numbers[DLT_ATTRIBUTES];
    struct dlt_builder_node node = {.op = dlt_op_find(op),
                                    .attribute = numbers,
                                    .input = input,
                                    .input_count = input_count,
                                    .frozen = e->node->frozen,
                                    .weights_of = -1};
    char *name = NULL;
    int added;

    dlt_op_defaults(node.op, numbers);
    if (attributes)
        memcpy(numbers, attributes, attributes_size);
    if (asprintf(&name, "%s.%s", e->node->name, part) < 0)
        return dlt_fail_memory(error);
    node.name = name;
    if (e->node->weights_of >= 0)
        node.weights_of = dlt_builder_twin(e->builder, e->node->weights_of,
                                           (int)dlt_builder_node_count(e->builder) - e->first);
    added = dlt_builder_add(e->builder, &node, error);
    if (added < 0)
        dlt_fail_in(error, "%s: ", part);
    free(name);
    return added < 0 ? -1 : dlt_builder_output(e->builder, added, 0);
}

/* The parts below pass -1 on, so that a chain of them needs one check at its end. */
static int dense(struct dlt_expansion *e, const char *part, int input, int64_t features,
                 int64_t bias, struct dlt_error *error)
{
    struct dlt_dense_attributes a = {
        .in_features = DLT_ABSENT, .out_features = features, .bias = bias};

    return input < 0 ? -1 : dlt_expand_add(e, "dense", part, &a, sizeof a, &input, 1, error);
}

static int plain(struct dlt_expansion *e, const char *op, const char *part, int one, int other,
                 struct dlt_error *error)
{
    int input[] = {one, other};

    if (one < 0)
        return -1;
    return dlt_expand_add(e, op, part, NULL, 0, input, other < 0 ? 1 : 2, error);
}

static int reshape(struct dlt_expansion *e, const char *part, int input, const int64_t *shape,
                   size_t rank, struct dlt_error *error)
{
    struct dlt_reshape_attributes a = {.shape = {.count = (int64_t)rank}};

    memcpy(a.shape.value, shape, rank * sizeof *shape);
    return input < 0 ? -1 : dlt_expand_add(e, "reshape", part, &a, sizeof a, &input, 1, error);
}

static int permute(struct dlt_expansion *e, const char *part, int input, const int64_t order[4],
                   struct dlt_error *error)
{
    struct dlt_reshape_attributes a = {.shape = {.count = 4}};

    memcpy(a.shape.value, order, 4 * sizeof *order);
    return input < 0 ? -1 : dlt_expand_add(e, "permute", part, &a, sizeof a, &input, 1, error);
}

static int slice(struct dlt_expansion *e, const char *part, int input, int64_t dim, int64_t start,
                 int64_t end, struct dlt_error *error)
{
    struct dlt_slice_attributes a = {.dim = dim, .start = start, .end = end, .step = 1};

    return input < 0 ? -1 : dlt_expand_add(e, "slice", part, &a, sizeof a, &input, 1, error);
}

/* Projections of query, key and value: packed as far as their inputs are the same tensor, and then
 * copied apart, as in torch.nn.functional._in_projection_packed. */
static int project(struct dlt_expansion *e, const struct dlt_attention_attributes *a,
                   int projected[3], struct dlt_error *error)
{
    static const char *const names[] = {"query", "key", "value"};
    const struct dlt_builder_node *n = e->node;
    int source[3] = {n->input[0], n->input[n->input_count > 1 ? 1 : 0],
                     n->input[n->input_count > 2   ? 2
                              : n->input_count > 1 ? 1
                                                   : 0]};

    for (int i = 0; i < 3;) {
        int packed = 1, all;

        while (i + packed < 3 && source[i + packed] == source[i])
            packed++;
        all = dense(e, packed == 3 ? "in_proj" : names[i], source[i], a->embed_dim * packed,
                    a->bias, error);
        for (int k = 0; k < packed; k++, i++) {
            projected[i] = all;
            if (packed == 1)
                continue;
            projected[i] =
                slice(e, names[i], all, -1, k * a->embed_dim, (k + 1) * a->embed_dim, error);
            projected[i] = plain(e, "contiguous", names[i], projected[i], -1, error);
        }
    }
    return projected[0] < 0 || projected[1] < 0 || projected[2] < 0 ? -1 : 0;
}

static int check_attention(const struct dlt_expansion *e, const struct dlt_attention_attributes *a,
                           struct dlt_error *error)
{
    const int64_t wanted[] = {a->embed_dim, a->kdim == DLT_ABSENT ? a->embed_dim : a->kdim,
                              a->vdim == DLT_ABSENT ? a->embed_dim : a->vdim};
    static const char *const names[] = {"embed_dim", "kdim", "vdim"};

    if (a->embed_dim % a->num_heads)
        return dlt_fail(error, "num_heads %lld does not divide embed_dim %lld",
                        (long long)a->num_heads, (long long)a->embed_dim);
    for (size_t i = 0; i < e->node->input_count && i < 3; i++) {
        const struct dlt_tensor *in = dlt_expand_input(e, i);
        char text[DLT_SHAPE_TEXT];

        if (in->rank != 3 || in->type != DLT_TENSOR_FLOAT || in->dim[2] != wanted[i])
            return dlt_fail(error, "input %zu is %s; it takes batch x length x %lld (%s)", i,
                            dlt_shape_text(in, text), (long long)wanted[i], names[i]);
    }
    return 0;
}

/* softmax(q k^T / sqrt(d)) v, a kernel for each step. */
static int eager_attention(struct dlt_expansion *e, const int heads[3], int mask,
                           struct dlt_error *error)
{
    struct dlt_transpose_attributes swap = {.dim0 = -2, .dim1 = -1};
    int scaled = plain(e, "scale", "scale", heads[0], -1, error), keys = -1, scores, out;

    if (scaled >= 0)
        keys = dlt_expand_add(e, "transpose", "keys", &swap, sizeof swap, &heads[1], 1, error);
    if (keys < 0)
        return -1;
    scores = plain(e, "matmul", "scores", scaled, keys, error);
    if (mask >= 0)
        scores = plain(e, "add", "masked", scores, mask, error);
    out = plain(e, "softmax", "softmax", scores, -1, error);
    return plain(e, "matmul", "context", out, heads[2], error);
}

/* torch.nn.MultiheadAttention: the weights of attention are asked for by default, which keeps the
 * fused kernel away; need_weights=False allows it. Inputs: query, key and value (one or two inputs
 * stand for the rest as well), and a mask that is added to the scores. */
int dlt_expand_attention(struct dlt_expansion *e, struct dlt_error *error)
{
    const struct dlt_attention_attributes *a = (const void *)e->node->attribute;
    static const int64_t to_heads[2][4] = {{1, 2, 0, 3}, {0, 2, 1, 3}};
    static const int64_t from_heads[2][4] = {{2, 0, 1, 3}, {0, 2, 1, 3}};
    static const char *const names[] = {"query_heads", "key_heads", "value_heads"};
    const int64_t split[] = {0, 0, a->num_heads, a->embed_dim / a->num_heads};
    const int64_t joined[] = {0, 0, a->embed_dim};
    struct dlt_attention_attributes fused = {.is_causal = a->is_causal};
    int first = a->batch_first ? 1 : 0, mask = e->node->input_count > 3 ? e->node->input[3] : -1;
    int heads[4], out;

    if (check_attention(e, a, error) || project(e, a, heads, error))
        return -1;
    for (int i = 0; i < 3; i++) {
        heads[i] = reshape(e, names[i], heads[i], split, 4, error);
        heads[i] = permute(e, names[i], heads[i], to_heads[first], error);
        if (heads[i] < 0)
            return -1;
    }
    heads[3] = mask;
    if (a->need_weights)
        out = eager_attention(e, heads, mask, error);
    else
        out = dlt_expand_add(e, "scaled_dot_product_attention", "attention", &fused, sizeof fused,
                             heads, mask < 0 ? 3 : 4, error);
    out = permute(e, "joined", out, from_heads[first], error);
    out = reshape(e, "joined", out, joined, 3, error);
    return dense(e, "out_proj", out, a->embed_dim, a->bias, error) < 0 ? -1 : 0;
}

const char *const dlt_expert_activations[] = {"relu", "gelu", "silu", NULL};

enum { MOST_EXPERTS = 1024 };

/* Rows that go to an expert, through it: dense, activation, dense; gated: times another dense. */
static int expert(struct dlt_expansion *e, const struct dlt_experts_attributes *a, int tokens,
                  int64_t index, int64_t share, int64_t width, struct dlt_error *error)
{
    int64_t rows = dlt_expand_tensor(e, tokens)->dim[0];
    int64_t start = index * share < rows ? index * share : rows - 1;
    int64_t end = start + share < rows ? start + share : rows;
    const char *activation = dlt_expert_activations[a->activation];
    char part[64];
    int mine, out;

    snprintf(part, sizeof part, "expert[%lld].tokens", (long long)index);
    mine = slice(e, part, tokens, 0, start, end, error);
    snprintf(part, sizeof part, "expert[%lld].wi", (long long)index);
    out = dense(e, part, mine, a->hidden_features, a->bias, error);
    snprintf(part, sizeof part, "expert[%lld].%s", (long long)index, activation);
    out = plain(e, activation, part, out, -1, error);
    if (a->gated) {
        snprintf(part, sizeof part, "expert[%lld].up", (long long)index);
        mine = dense(e, part, mine, a->hidden_features, a->bias, error);
        snprintf(part, sizeof part, "expert[%lld].gated", (long long)index);
        out = mine < 0 ? -1 : plain(e, "mul", part, out, mine, error);
    }
    snprintf(part, sizeof part, "expert[%lld].wo", (long long)index);
    return dense(e, part, out, width, a->bias, error);
}

/* Rows first .. of a matrix once for each of the top_k experts that they go to. */
static int dispatch(struct dlt_expansion *e, const char *part, int input, int64_t rows,
                    struct dlt_error *error)
{
    struct dlt_arange_attributes range = {.end = rows};
    struct dlt_dim_attributes first = {.dim = 0};
    int index[2] = {input, -1};

    if (input < 0 || rows > INT32_MAX)
        return input < 0 ? -1 : dlt_fail(error, "more than 2147483647 tokens");
    index[1] = dlt_expand_add(e, "arange", "routes", &range, sizeof range, NULL, 0, error);
    if (index[1] < 0)
        return -1;
    return dlt_expand_add(e, "index_select", part, &first, sizeof first, index, 2, error);
}

/* Routing by a softmax over a dense layer without bias; each token to top_k experts, the experts
 * taken as equally busy; the results weighted by the router's probability and added. */
int dlt_expand_experts(struct dlt_expansion *e, struct dlt_error *error)
{
    const struct dlt_experts_attributes *a = (const void *)e->node->attribute;
    const struct dlt_tensor in = *dlt_expand_input(e, 0);
    int64_t width = in.dim[in.rank > 0 ? in.rank - 1 : 0];
    int64_t rows = dlt_shape_product(&in, 0, in.rank - 1), routed, share;
    struct dlt_reduce_attributes last = {.dim = {.count = 0, .value = {-1}}, .keepdim = 1};
    struct dlt_reduce_attributes middle = {.dim = {.count = 0, .value = {1}}};
    struct dlt_dim_attributes along = {.dim = 0};
    int out[MOST_EXPERTS], probability, tokens, all;

    if (in.rank < 2)
        return dlt_fail(error, "its input has no features besides the batch");
    if (a->num_experts > MOST_EXPERTS || a->top_k > a->num_experts)
        return dlt_fail(error, "at most %d experts, and top_k of them", MOST_EXPERTS);
    if (__builtin_mul_overflow(rows, a->top_k, &routed))
        return dlt_fail(error, "top_k x tokens would pass 2^63");
    share = (routed + a->num_experts - 1) / a->num_experts;
    probability = dense(e, "router", e->node->input[0], a->num_experts, 0, error);
    probability = plain(e, "softmax", "probabilities", probability, -1, error);
    if (probability < 0)
        return -1;
    probability = dlt_expand_add(e, "max", "chosen", &last, sizeof last, &probability, 1, error);
    probability = reshape(e, "chosen_rows", probability, (const int64_t[]){-1, 1}, 2, error);
    tokens = reshape(e, "rows", e->node->input[0], (const int64_t[]){-1, width}, 2, error);
    tokens = dispatch(e, "dispatched", tokens, routed, error);
    if (a->top_k > 1)
        probability = dispatch(e, "chosen_routes", probability, routed, error);
    if (tokens < 0 || probability < 0)
        return -1;
    for (int64_t i = 0; i < a->num_experts; i++) {
        out[i] = expert(e, a, tokens, i, share, width, error);
        if (out[i] < 0)
            return -1;
    }
    all = dlt_expand_add(e, "concat", "combined", &along, sizeof along, out, (size_t)a->num_experts,
                         error);
    all = slice(e, "combined_rows", all, 0, 0, routed, error);
    all = plain(e, "mul", "weighted", all, probability, error);
    if (all >= 0 && a->top_k > 1) {
        all = reshape(e, "routes_of_token", all, (const int64_t[]){-1, a->top_k, width}, 3, error);
        if (all >= 0)
            all = dlt_expand_add(e, "sum", "added", &middle, sizeof middle, &all, 1, error);
    }
    return reshape(e, "output", all, in.dim, (size_t)in.rank, error) < 0 ? -1 : 0;
}
