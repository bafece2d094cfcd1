/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders with rotary positions: llama and what is built like it. Sizes that a configuration does
 * not say are the defaults of transformers' classes. */
#include <string.h>

#include "graph/hf_config.h"

enum trait {
    QKV_BIAS = 1,      /* of queries, keys and values, whatever the configuration says */
    BIAS = 2,          /* of all products by default */
    HEAD_BIAS = 4,     /* of the product to words */
    TIED = 8,          /* words by default */
    LAYER_NORM = 16,   /* instead of rms_norm */
    PLAIN_MLP = 32,    /* two products, not gated */
    PACKED = 64,       /* one product for queries, keys and values, one for gate and up */
    HEAD_NORM = 128,   /* of each head's queries and keys */
    NORM_BEHIND = 256, /* attention and perceptron as well as before them */
    PARALLEL = 512,    /* attention and perceptron read the layer's input, each its norm */
    ONE_NORM = 1024,   /* of both */
    SOFTCAP = 2048,    /* of the logits, by default */
};

static const struct row {
    const char *type;
    int64_t words, width, layers, heads, key_heads, inner, head_size; /* 0: heads; the share */
    const char *activation;
    unsigned traits;
    int64_t experts, per_token; /* 0: one perceptron */
} rows[] = {
    {"llama", 32000, 4096, 32, 32, 0, 11008, 0, "silu", 0, 0, 0},
    {"mistral", 32000, 4096, 32, 32, 8, 14336, 0, "silu", 0, 0, 0},
    {"mixtral", 32000, 4096, 32, 32, 8, 14336, 0, "silu", 0, 8, 2},
    {"qwen2", 151936, 4096, 32, 32, 32, 22016, 0, "silu", QKV_BIAS, 0, 0},
    {"qwen3", 151936, 4096, 32, 32, 32, 22016, 128, "silu", HEAD_NORM, 0, 0},
    {"qwen3_moe", 151936, 2048, 24, 32, 4, 768, 0, "silu", HEAD_NORM, 128, 8},
    {"gemma", 256000, 3072, 28, 16, 0, 24576, 256, "gelu_pytorch_tanh", TIED, 0, 0},
    {"gemma2", 256000, 2304, 26, 8, 4, 9216, 256, "gelu_pytorch_tanh", TIED | NORM_BEHIND | SOFTCAP,
     0, 0},
    {"gemma3_text", 262208, 2304, 26, 8, 4, 9216, 256, "gelu_pytorch_tanh",
     TIED | NORM_BEHIND | HEAD_NORM, 0, 0},
    {"phi", 51200, 2048, 24, 32, 0, 8192, 0, "gelu_new",
     BIAS | HEAD_BIAS | LAYER_NORM | PLAIN_MLP | PARALLEL | ONE_NORM, 0, 0},
    {"phi3", 32064, 3072, 32, 32, 0, 8192, 0, "silu", PACKED, 0, 0},
    {"starcoder2", 49152, 3072, 30, 24, 2, 12288, 0, "gelu_pytorch_tanh",
     BIAS | TIED | LAYER_NORM | PLAIN_MLP, 0, 0},
    {"gpt_neox", 50432, 6144, 44, 64, 0, 24576, 0, "gelu",
     BIAS | LAYER_NORM | PLAIN_MLP | PARALLEL | PACKED, 0, 0},
};

static const struct row *row_of(struct dlt_hf *hf)
{
    const char *type = dlt_hf_word(hf, "model_type");

    for (size_t i = 1; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].type, type) == 0)
            return &rows[i];
    return &rows[0];
}

static void norm(struct dlt_hf *hf, unsigned traits, const char *more)
{
    dlt_hf_layer(hf, "\"%s\"%s", traits & LAYER_NORM ? "layer_norm" : "rms_norm", more);
}

/* Of the layer before, which is called "normed" or "again". */
static void perceptron(struct dlt_hf *hf, const struct row *row, const struct dlt_hf_sizes *s,
                       const char *activation)
{
    bool bias = dlt_hf_flag(hf, "mlp_bias", dlt_hf_flag(hf, "use_bias", row->traits & BIAS));

    if (row->traits & PLAIN_MLP) {
        dlt_hf_dense(hf, s->inner, bias, "");
        dlt_hf_activation(hf, activation);
    } else if (row->traits & PACKED) {
        dlt_hf_dense(hf, 2 * s->inner, bias, "");
        dlt_hf_layer(hf, "\"split\", \"name\": \"up\", \"sections\": 2, \"dim\": 2");
        dlt_hf_layer(hf, "\"%s\", \"name\": \"gate\", \"inputs\": [\"up:0\"]",
                     dlt_hf_activation_name(hf, activation));
        dlt_hf_layer(hf, "\"mul\", \"inputs\": [\"gate\", \"up:1\"]");
    } else {
        dlt_hf_dense(hf, s->inner, bias, "");
        dlt_hf_activation(hf, activation);
        dlt_hf_layer(hf, "\"identity\", \"name\": \"gate\"");
        dlt_hf_dense(hf, s->inner, bias, ", \"name\": \"up\", \"inputs\": [\"again\"]");
        dlt_hf_layer(hf, "\"mul\", \"inputs\": [\"gate\", \"up\"]");
    }
    dlt_hf_dense(hf, s->width, bias, "");
}

static void experts(struct dlt_hf *hf, const struct row *row, const struct dlt_hf_sizes *s,
                    const char *activation)
{
    json_object *plain;

    /* Layers without experts among them are another network. */
    if (dlt_hf_size(hf, HF_NAMES("decoder_sparse_step"), 1) > 1)
        dlt_hf_unsupported(hf, "decoder_sparse_step");
    if (json_object_object_get_ex(hf->root, "mlp_only_layers", &plain) &&
        json_object_is_type(plain, json_type_array) && json_object_array_length(plain) > 0)
        dlt_hf_unsupported(hf, "mlp_only_layers");
    dlt_hf_layer(
        hf,
        "\"mixture_of_experts\", \"num_experts\": %lld, \"top_k\": %lld, \"hidden_features\": "
        "%lld, "
        "\"bias\": false, \"gated\": true, \"activation\": \"%s\"",
        (long long)dlt_hf_size(hf, HF_NAMES("num_local_experts", "num_experts"), row->experts),
        (long long)dlt_hf_size(hf, HF_NAMES("num_experts_per_tok"), row->per_token),
        (long long)dlt_hf_size(hf, HF_NAMES("moe_intermediate_size"), s->inner),
        dlt_hf_activation_name(hf, activation));
}

/* Whether a probability is above 0 that each class calls by a name of its own. */
static bool drops(struct dlt_hf *hf, const char *name, const char *other)
{
    /* gpt_neox has one for both. */
    return dlt_hf_drops(hf, name, 0) || dlt_hf_drops(hf, other, 0) ||
           dlt_hf_drops(hf, "hidden_dropout", 0);
}

static void layer(struct dlt_hf *hf, const struct row *row, const struct dlt_hf_sizes *s,
                  const struct dlt_hf_attention *a, const char *activation)
{
    unsigned traits = row->traits;
    bool residual = drops(hf, "residual_dropout", "resid_pdrop");
    bool parallel = traits & PARALLEL && dlt_hf_flag(hf, "use_parallel_residual", true);

    norm(hf, traits, ", \"name\": \"normed\"");
    dlt_hf_attend(hf, a);
    dlt_hf_dropout(hf, residual);
    if (traits & NORM_BEHIND)
        norm(hf, traits, "");
    dlt_hf_sum(hf, "attended", "entry");
    if (traits & ONE_NORM)
        dlt_hf_layer(hf, "\"identity\", \"name\": \"again\", \"inputs\": [\"normed\"]");
    else
        norm(hf, traits,
             parallel ? ", \"name\": \"again\", \"inputs\": [\"entry\"]" : ", \"name\": \"again\"");
    if (row->experts > 0)
        experts(hf, row, s, activation);
    else
        perceptron(hf, row, s, activation);
    dlt_hf_dropout(hf, residual);
    if (traits & NORM_BEHIND)
        norm(hf, traits, "");
    dlt_hf_sum(hf, "out", "attended");
}

void dlt_hf_llama(struct dlt_hf *hf)
{
    const struct row *row = row_of(hf);
    struct dlt_hf_sizes s = dlt_hf_read_sizes(hf, row->width, row->layers, row->heads, row->inner);
    int64_t words = dlt_hf_size(hf, HF_NAMES("vocab_size"), row->words);
    bool grouped = row->key_heads && !dlt_hf_is_null(hf, "num_key_value_heads");
    int64_t groups =
        dlt_hf_size(hf, HF_NAMES("num_key_value_heads"), grouped ? row->key_heads : s.heads);
    int64_t each = dlt_hf_size(hf, HF_NAMES("head_dim"), row->head_size);
    bool bias = dlt_hf_flag(hf, "attention_bias", dlt_hf_flag(hf, "use_bias", row->traits & BIAS));
    const char *activation =
        dlt_hf_word_or(hf, "hidden_activation", dlt_hf_word_or(hf, "hidden_act", row->activation));
    struct dlt_hf_attention a = {"normed",
                                 "normed",
                                 s.width,
                                 s.heads,
                                 groups,
                                 each ? each : dlt_hf_head_size(hf, &s),
                                 .bias = bias || (row->traits & QKV_BIAS),
                                 .out_bias = bias,
                                 .causal = true,
                                 .rotary = true,
                                 .head_norm = row->traits & HEAD_NORM,
                                 .packed = row->traits & PACKED};

    if (dlt_hf_flag(hf, "qk_layernorm", false))
        dlt_hf_unsupported(hf, "qk_layernorm");
    dlt_hf_share(hf, "num_attention_heads", s.heads, "num_key_value_heads", groups);
    dlt_hf_embedding(hf, "words", words, s.width, "ids");
    dlt_hf_dropout(hf, drops(hf, "embedding_dropout", "embd_pdrop"));
    dlt_hf_open(hf, "layers", s.layers);
    layer(hf, row, &s, &a, activation);
    dlt_hf_close(hf);
    norm(hf, row->traits, "");
    dlt_hf_decoder_head(hf, words, row->traits & HEAD_BIAS, row->traits & TIED);
    if (dlt_hf_drops(hf, "final_logit_softcapping", row->traits & SOFTCAP ? 30 : 0) &&
        !dlt_hf_is(hf, "Classification") && !dlt_hf_is(hf, "Model")) {
        dlt_hf_layer(hf, "\"scale\"");
        dlt_hf_layer(hf, "\"tanh\"");
        dlt_hf_layer(hf, "\"scale\"");
    }
}
