/* SPDX-License-Identifier: Apache-2.0 */
/* What onnxruntime's transformer optimiser writes: attention and embeddings as one node (domain
 * com.microsoft; https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md), and
 * what the standard has of it since opset 23. */
#include <string.h>

#include "graph/onnx_build.h"
#include "graph/op.h"

static int tensor_of(struct dlt_onnx_build *b, size_t k)
{
    struct dlt_onnx_value *value = dlt_onnx_input(b, k);

    return value ? dlt_onnx_tensor(b, value) : dlt_fail(b->error, "its input %zu is left out", k);
}

/* batch x length x (heads size) as batch x heads x length x size. */
static int in_heads(struct dlt_onnx_build *b, int x, int64_t heads)
{
    const struct dlt_tensor *t = dlt_builder_tensor(b->builder, x);
    int64_t apart[4], dim[4];

    if (t->rank == 4)
        return x;
    if (t->rank != 3 || heads < 1 || t->dim[2] % heads)
        return dlt_fail(b->error, "%lld heads do not divide its input", (long long)heads);
    apart[0] = dim[0] = t->dim[0];
    apart[1] = dim[2] = t->dim[1];
    apart[2] = dim[1] = heads;
    apart[3] = dim[3] = t->dim[2] / heads;
    x = dlt_onnx_add_shaped(b, DLT_ONNX_GIVEN_RESHAPE, x, 4, apart);
    return x < 0 ? -1 : dlt_onnx_add_shaped(b, DLT_ONNX_GIVEN_PERMUTE, x, 4, dim);
}

/* Attention over batch x length x width tensors; gives batch x length x width of the values. Over
 * queries that come in heads it gives heads. */
static int attend(struct dlt_onnx_build *b, const int qkv[3], int64_t heads, int64_t key_heads)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("scaled_dot_product_attention");
    const struct dlt_tensor *t;
    int64_t apart[4], dim[3];
    int input[3], x;

    for (int i = 0; i < 3; i++)
        if ((input[i] = in_heads(b, qkv[i], i ? key_heads : heads)) < 0)
            return -1;
    dlt_onnx_set(&layer, "is_causal",
                 dlt_onnx_integer(b, "unidirectional", dlt_onnx_integer(b, "is_causal", 0)) != 0);
    x = dlt_onnx_add(b, &layer, input, 3);
    if (x < 0 || input[0] == qkv[0])
        return x;
    t = dlt_builder_tensor(b->builder, x);
    apart[0] = dim[0] = t->dim[0];
    apart[1] = dim[1] = t->dim[2];
    apart[2] = t->dim[1];
    apart[3] = t->dim[3];
    dim[2] = apart[2] * apart[3];
    x = dlt_onnx_add_shaped(b, DLT_ONNX_GIVEN_PERMUTE, x, 4, apart);
    return x < 0 ? -1 : dlt_onnx_add_shaped(b, DLT_ONNX_GIVEN_RESHAPE, x, 3, dim);
}

/* Attention: one product for query, key and value, then attention; no product behind it. */
static int packed_attention(struct dlt_onnx_build *b)
{
    const struct dlt_onnx_value *weight = dlt_onnx_input(b, 1);
    struct dlt_onnx_ints sizes = {0};
    int x = tensor_of(b, 0), qkv[3];
    int64_t dim[3], each[3];

    if (x < 0)
        return -1;
    if (!dlt_onnx_is_parameter(weight) || weight->constant->rank != 2)
        return dlt_fail(b->error, "its weight is no matrix of parameters");
    x = dlt_onnx_dense(b, x, weight, dlt_onnx_input(b, 2), weight->constant->dim[1]);
    if (x < 0)
        return -1;
    if (dlt_builder_tensor(b->builder, x)->rank != 3)
        return dlt_fail(b->error, "its input has not 3 dimensions");
    memcpy(dim, dlt_builder_tensor(b->builder, x)->dim, sizeof dim);
    dlt_onnx_ints(b, "qkv_hidden_sizes", &sizes);
    for (int i = 0; i < 3; i++) {
        each[i] = sizes.count == 3 ? sizes.value[i] : dim[2] / 3;
        if (each[i] < 1 || each[i] > dim[2])
            return dlt_fail(b->error, "qkv_hidden_sizes do not fit its weight");
    }
    for (int i = 0; i < 3; i++) {
        dim[2] = each[i];
        if ((qkv[i] = dlt_onnx_add_shaped(b, DLT_ONNX_GIVEN_SLICE, x, 3, dim)) < 0)
            return -1;
    }
    x = attend(b, qkv, dlt_onnx_integer(b, "num_heads", 1), dlt_onnx_integer(b, "num_heads", 1));
    return dlt_onnx_bind(b, 0, x) ? -1 : 1;
}

static int plain_attention(struct dlt_onnx_build *b)
{
    int64_t heads = dlt_onnx_integer(b, "num_heads", dlt_onnx_integer(b, "q_num_heads", 1));
    int qkv[3];

    for (size_t k = 0; k < 3; k++) {
        /* Packed queries, keys and values: too many layouts to tell apart. */
        if (!dlt_onnx_input(b, k))
            return 0;
        if ((qkv[k] = tensor_of(b, k)) < 0)
            return -1;
    }
    return dlt_onnx_bind(b, 0, attend(b, qkv, heads, dlt_onnx_integer(b, "kv_num_heads", heads)))
               ? -1
               : 1;
}

static int embed(struct dlt_onnx_build *b, const struct dlt_onnx_value *table, int ids)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("embedding");

    if (!dlt_onnx_is_parameter(table) || table->constant->rank != 2)
        return dlt_fail(b->error, "its tables are no matrices of parameters");
    layer.weight = table;
    dlt_onnx_set(&layer, "num_embeddings", table->constant->dim[0]);
    dlt_onnx_set(&layer, "embedding_dim", table->constant->dim[1]);
    return dlt_onnx_add(b, &layer, &ids, 1);
}

/* Words, positions and (where there are any) segments, their sum, and a layer_norm. */
static int embed_norm(struct dlt_onnx_build *b)
{
    struct dlt_onnx_layer sum = dlt_onnx_layer("add"), norm = dlt_onnx_layer("layer_norm");
    int ids = tensor_of(b, 0), part[3], x;
    size_t parts = 0;

    if (ids < 0 || (part[parts++] = embed(b, dlt_onnx_input(b, 2), ids)) < 0 ||
        (part[parts++] = embed(b, dlt_onnx_input(b, 3), ids)) < 0)
        return -1;
    if (dlt_onnx_input(b, 4) && (part[parts++] = embed(b, dlt_onnx_input(b, 4), ids)) < 0)
        return -1;
    x = dlt_onnx_add(b, &sum, part, parts);
    norm.weight = dlt_onnx_input(b, 5);
    norm.bias = dlt_onnx_input(b, 6);
    if (x < 0 || dlt_onnx_bind(b, 0, dlt_onnx_add(b, &norm, &x, 1)))
        return -1;
    return dlt_onnx_bind(b, 1, ids) ? -1 : 1;
}

/* Products with sines and cosines, in place. */
static int rotary(struct dlt_onnx_build *b)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("scale");
    int x = tensor_of(b, 0);

    return x < 0 || dlt_onnx_bind(b, 0, dlt_onnx_add(b, &layer, &x, 1)) ? -1 : 1;
}

static const struct {
    const char *domain, *op;
    int (*add)(struct dlt_onnx_build *);
} nodes[] = {
    {"com.microsoft", "Attention", packed_attention},
    {"com.microsoft", "MultiHeadAttention", plain_attention},
    {"com.microsoft", "GroupQueryAttention", plain_attention},
    {"com.microsoft", "EmbedLayerNormalization", embed_norm},
    {"com.microsoft", "RotaryEmbedding", rotary},
    {"", "Attention", plain_attention},
    {"", "RotaryEmbedding", rotary},
};

int dlt_onnx_attention_node(struct dlt_onnx_build *b)
{
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        if (strcmp(nodes[i].domain, b->node->domain) == 0 && strcmp(nodes[i].op, b->node->op) == 0)
            return nodes[i].add(b);
    return 0;
}
