/* SPDX-License-Identifier: Apache-2.0 */
/* The families of transformers that are known: keys, defaults and layers of their classes. */
#include <string.h>

#include "graph/hf_config.h"

static void embedding(struct dlt_hf *hf, const char *name, int64_t count, int64_t width,
                      const char *input)
{
    dlt_hf_layer(hf,
                 "\"embedding\", \"name\": \"%s\", \"num_embeddings\": %lld, "
                 "\"embedding_dim\": %lld, \"inputs\": [\"%s\"]",
                 name, (long long)count, (long long)width, input);
}

static void positions(struct dlt_hf *hf, int64_t count, int64_t width)
{
    dlt_hf_layer(hf, "\"arange\", \"name\": \"index\", \"end\": \"seq\"");
    embedding(hf, "positions", count, width, "index");
}

static void open_block(struct dlt_hf *hf, const char *name, int64_t repeat)
{
    fprintf(hf->out,
            ",\n{\"name\": \"%s\", \"repeat\": %lld, \"layers\": [{\"op\": \"identity\", "
            "\"name\": \"entry\", \"inputs\": [\"@input\"]}",
            name, (long long)repeat);
}

static void close_block(struct dlt_hf *hf)
{
    fputs("]}", hf->out);
}

static void add(struct dlt_hf *hf, const char *name, const char *other)
{
    dlt_hf_layer(hf, "\"add\", \"name\": \"%s\", \"inputs\": [\"@\", \"%s\"]", name, other);
}

/* The names of a family's keys for the sizes that all of them have. */
struct sizes {
    int64_t width, layers, heads, inner, head_size;
};

static struct sizes read_sizes(struct dlt_hf *hf, int64_t width, int64_t layers, int64_t heads,
                               int64_t inner)
{
    struct sizes s = {.width = dlt_hf_size(hf, HF_NAMES("hidden_size", "n_embd"), width),
                      .layers = dlt_hf_size(hf, HF_NAMES("num_hidden_layers", "n_layer"), layers),
                      .heads = dlt_hf_size(hf, HF_NAMES("num_attention_heads", "n_head"), heads)};

    s.inner = dlt_hf_size(hf, HF_NAMES("intermediate_size", "ffn_dim", "n_inner"),
                          inner ? inner : 4 * s.width);
    return s;
}

static int64_t head_size(struct dlt_hf *hf, const struct sizes *s)
{
    return dlt_hf_share(hf, "hidden_size", s->width, "num_attention_heads", s->heads);
}

static const char *word_or(struct dlt_hf *hf, const char *name, const char *fallback)
{
    const char *word = dlt_hf_word(hf, name);

    return *word ? word : fallback;
}

static void perceptron(struct dlt_hf *hf, const struct sizes *s, const char *activation, bool bias,
                       bool drops)
{
    dlt_hf_dense(hf, s->inner, bias, "");
    dlt_hf_activation(hf, activation);
    dlt_hf_dense(hf, s->width, bias, "");
    dlt_hf_dropout(hf, drops);
}

/* What stands on top of a bert: by the first of "architectures". */
static void bert_head(struct dlt_hf *hf, const struct sizes *s, int64_t words, const char *act)
{
    bool pretraining = dlt_hf_is(hf, "ForPreTraining");
    bool tokens = dlt_hf_is(hf, "ForMaskedLM") || pretraining;

    if (!dlt_hf_is(hf, "ForMaskedLM") && !dlt_hf_is(hf, "ForTokenClassification") &&
        !dlt_hf_is(hf, "ForQuestionAnswering")) {
        dlt_hf_layer(hf, "\"slice\", \"dim\": 1, \"end\": 1, \"inputs\": [\"encoded\"]");
        dlt_hf_layer(hf, "\"squeeze\", \"dim\": 1");
        dlt_hf_dense(hf, s->width, true, ", \"name\": \"pooler\"");
        dlt_hf_layer(hf, "\"tanh\"");
    }
    if (pretraining)
        dlt_hf_dense(hf, 2, true, ", \"name\": \"seq_relationship\"");
    if (dlt_hf_is(hf, "Classification") || dlt_hf_is(hf, "ForQuestionAnswering"))
        dlt_hf_dense(hf, dlt_hf_labels(hf), true, ", \"name\": \"classifier\"");
    if (!tokens)
        return;
    dlt_hf_dense(hf, s->width, true, ", \"name\": \"transform\", \"inputs\": [\"encoded\"]");
    dlt_hf_activation(hf, act);
    dlt_hf_layer(hf, "\"layer_norm\"");
    dlt_hf_dense(hf, words, true, ", \"name\": \"decoder\", \"weights\": \"words\"");
}

void dlt_hf_bert(struct dlt_hf *hf)
{
    struct sizes s = read_sizes(hf, 768, 12, 12, 3072);
    int64_t words = dlt_hf_size(hf, HF_NAMES("vocab_size"), 30522);
    int64_t types = dlt_hf_size(hf, HF_NAMES("type_vocab_size"), 2);
    bool drops = dlt_hf_drops(hf, "hidden_dropout_prob", 0.1);
    const char *act = word_or(hf, "hidden_act", "gelu");
    struct dlt_hf_attention a = {"entry",
                                 "entry",
                                 s.width,
                                 s.heads,
                                 s.heads,
                                 head_size(hf, &s),
                                 .bias = true,
                                 .out_bias = true,
                                 .drops = dlt_hf_drops(hf, "attention_probs_dropout_prob", 0.1)};

    embedding(hf, "words", words, s.width, "ids");
    embedding(hf, "types", types, s.width, "token_types");
    positions(hf, dlt_hf_size(hf, HF_NAMES("max_position_embeddings"), 512), s.width);
    dlt_hf_layer(hf, "\"add\", \"inputs\": [\"words\", \"types\"]");
    add(hf, "embedded", "positions");
    dlt_hf_layer(hf, "\"layer_norm\"");
    dlt_hf_dropout(hf, drops);
    open_block(hf, "layer", s.layers);
    dlt_hf_attend(hf, &a);
    dlt_hf_dropout(hf, drops);
    add(hf, "attended", "entry");
    dlt_hf_layer(hf, "\"layer_norm\", \"name\": \"normed\"");
    perceptron(hf, &s, act, true, drops);
    add(hf, "out", "normed");
    dlt_hf_layer(hf, "\"layer_norm\"");
    close_block(hf);
    dlt_hf_layer(hf, "\"identity\", \"name\": \"encoded\"");
    bert_head(hf, &s, words, act);
}

void dlt_hf_gpt2(struct dlt_hf *hf)
{
    struct sizes s = read_sizes(hf, 768, 12, 12, 0);
    int64_t words = dlt_hf_size(hf, HF_NAMES("vocab_size"), 50257);
    bool drops = dlt_hf_drops(hf, "resid_pdrop", 0.1);
    struct dlt_hf_attention a = {"normed",       "normed",
                                 s.width,        s.heads,
                                 s.heads,        head_size(hf, &s),
                                 .bias = true,   .out_bias = true,
                                 .causal = true, .drops = dlt_hf_drops(hf, "attn_pdrop", 0.1)};

    embedding(hf, "words", words, s.width, "ids");
    positions(hf, dlt_hf_size(hf, HF_NAMES("n_positions", "n_ctx"), 1024), s.width);
    add(hf, "embedded", "words");
    dlt_hf_dropout(hf, dlt_hf_drops(hf, "embd_pdrop", 0.1));
    open_block(hf, "h", s.layers);
    dlt_hf_layer(hf, "\"layer_norm\", \"name\": \"normed\"");
    dlt_hf_attend(hf, &a);
    dlt_hf_dropout(hf, drops);
    add(hf, "attended", "entry");
    dlt_hf_layer(hf, "\"layer_norm\"");
    perceptron(hf, &s, word_or(hf, "activation_function", "gelu_new"), true, drops);
    add(hf, "out", "attended");
    close_block(hf);
    dlt_hf_layer(hf, "\"layer_norm\"");
    if (!dlt_hf_is(hf, "GPT2Model"))
        dlt_hf_dense(hf, words, false,
                     dlt_hf_flag(hf, "tie_word_embeddings", true)
                         ? ", \"name\": \"lm_head\", \"weights\": \"words\""
                         : ", \"name\": \"lm_head\"");
}

static void opt_layer(struct dlt_hf *hf, const struct sizes *s, bool before, bool drops)
{
    const char *from = before ? "normed" : "entry";
    bool bias = dlt_hf_flag(hf, "enable_bias", true);
    struct dlt_hf_attention a = {from,           from,
                                 s->width,       s->heads,
                                 s->heads,       head_size(hf, s),
                                 .bias = bias,   .out_bias = bias,
                                 .causal = true, .drops = dlt_hf_drops(hf, "attention_dropout", 0)};

    if (before)
        dlt_hf_layer(hf, "\"layer_norm\", \"name\": \"normed\"");
    dlt_hf_attend(hf, &a);
    dlt_hf_dropout(hf, drops);
    add(hf, before ? "attended" : "summed", "entry");
    if (!before)
        dlt_hf_layer(hf, "\"layer_norm\", \"name\": \"attended\"");
    else
        dlt_hf_layer(hf, "\"layer_norm\"");
    perceptron(hf, s, word_or(hf, "activation_function", "relu"), bias, drops);
    add(hf, "out", "attended");
    if (!before)
        dlt_hf_layer(hf, "\"layer_norm\"");
}

/* Positions begin behind two that mark padding; small ones embed into another width. */
void dlt_hf_opt(struct dlt_hf *hf)
{
    struct sizes s = read_sizes(hf, 768, 12, 12, 3072);
    int64_t words = dlt_hf_size(hf, HF_NAMES("vocab_size"), 50272);
    int64_t wide = dlt_hf_size(hf, HF_NAMES("word_embed_proj_dim"), s.width);
    bool before = dlt_hf_flag(hf, "do_layer_norm_before", true);

    embedding(hf, "words", words, wide, "ids");
    if (wide != s.width)
        dlt_hf_dense(hf, s.width, false, ", \"name\": \"project_in\"");
    dlt_hf_layer(hf, "\"identity\", \"name\": \"projected\"");
    positions(hf, dlt_hf_size(hf, HF_NAMES("max_position_embeddings"), 2048) + 2, s.width);
    add(hf, "embedded", "projected");
    open_block(hf, "layer", s.layers);
    opt_layer(hf, &s, before, dlt_hf_drops(hf, "dropout", 0.1));
    close_block(hf);
    if (before && !dlt_hf_flag(hf, "_remove_final_layer_norm", false))
        dlt_hf_layer(hf, "\"layer_norm\"");
    if (wide != s.width)
        dlt_hf_dense(hf, wide, false, ", \"name\": \"project_out\"");
    if (!dlt_hf_is(hf, "OPTModel"))
        dlt_hf_dense(hf, words, false,
                     dlt_hf_flag(hf, "tie_word_embeddings", true)
                         ? ", \"name\": \"lm_head\", \"weights\": \"words\""
                         : ", \"name\": \"lm_head\"");
}

/* llama, mistral, qwen2, gemma: rms_norm, rotary positions, grouped queries, a gated perceptron. */
void dlt_hf_llama(struct dlt_hf *hf)
{
    const char *type = dlt_hf_word(hf, "model_type");
    bool gemma = strcmp(type, "gemma") == 0, qwen = strcmp(type, "qwen2") == 0;
    bool mistral = strcmp(type, "mistral") == 0;
    struct sizes s = read_sizes(hf, gemma ? 3072 : 4096, gemma ? 28 : 32, gemma ? 16 : 32,
                                gemma     ? 24576
                                : qwen    ? 22016
                                : mistral ? 14336
                                          : 11008);
    int64_t words = dlt_hf_size(hf, HF_NAMES("vocab_size"), gemma ? 256000 : qwen ? 151936 : 32000);
    int64_t groups = dlt_hf_size(hf, HF_NAMES("num_key_value_heads"),
                                 mistral ? 8
                                 : qwen  ? 32
                                         : s.heads);
    int64_t each = dlt_hf_size(hf, HF_NAMES("head_dim"), gemma ? 256 : 0);
    bool bias = dlt_hf_flag(hf, "attention_bias", false);
    bool mlp_bias = dlt_hf_flag(hf, "mlp_bias", false);
    struct dlt_hf_attention a = {"normed",
                                 "normed",
                                 s.width,
                                 s.heads,
                                 groups,
                                 each ? each : head_size(hf, &s),
                                 .bias = bias || qwen,
                                 .out_bias = bias,
                                 .causal = true,
                                 .rotary = true};

    dlt_hf_share(hf, "num_attention_heads", s.heads, "num_key_value_heads", groups);
    embedding(hf, "words", words, s.width, "ids");
    open_block(hf, "layers", s.layers);
    dlt_hf_layer(hf, "\"rms_norm\", \"name\": \"normed\"");
    dlt_hf_attend(hf, &a);
    add(hf, "attended", "entry");
    dlt_hf_layer(hf, "\"rms_norm\", \"name\": \"again\"");
    dlt_hf_dense(hf, s.inner, mlp_bias, "");
    dlt_hf_activation(hf, word_or(hf, "hidden_act", gemma ? "gelu_pytorch_tanh" : "silu"));
    dlt_hf_layer(hf, "\"identity\", \"name\": \"gate\"");
    dlt_hf_dense(hf, s.inner, mlp_bias, ", \"name\": \"up\", \"inputs\": [\"again\"]");
    dlt_hf_layer(hf, "\"mul\", \"inputs\": [\"gate\", \"up\"]");
    dlt_hf_dense(hf, s.width, mlp_bias, "");
    add(hf, "out", "attended");
    close_block(hf);
    dlt_hf_layer(hf, "\"rms_norm\"");
    if (dlt_hf_is(hf, "ForCausalLM") || !dlt_hf_is(hf, "Model"))
        dlt_hf_dense(hf, words, false,
                     dlt_hf_flag(hf, "tie_word_embeddings", gemma)
                         ? ", \"name\": \"lm_head\", \"weights\": \"words\""
                         : ", \"name\": \"lm_head\"");
}

/* ---- t5 ---- */

static void relative_bias(struct dlt_hf *hf, const char *name, int64_t buckets, int64_t heads)
{
    dlt_hf_layer(hf, "\"parameter\", \"name\": \"%s_table\", \"shape\": [%lld, %lld]", name,
                 (long long)buckets, (long long)heads);
    dlt_hf_layer(hf, "\"arange\", \"name\": \"%s_index\", \"end\": \"seq\"", name);
    dlt_hf_layer(hf, "\"reshape\", \"shape\": [-1, 1]");
    dlt_hf_layer(hf, "\"expand\", \"name\": \"%s_pairs\", \"shape\": [\"seq\", \"seq\"]", name);
    dlt_hf_layer(hf, "\"index_select\", \"dim\": 0, \"inputs\": [\"%s_table\", \"%s_pairs\"]", name,
                 name);
    dlt_hf_layer(hf, "\"permute\", \"dims\": [2, 0, 1]");
    dlt_hf_layer(hf, "\"unsqueeze\", \"name\": \"%s\", \"dim\": 0", name);
}

static void t5_perceptron(struct dlt_hf *hf, const struct sizes *s, bool drops)
{
    const char *form = word_or(hf, "feed_forward_proj", "relu");
    bool gated = strncmp(form, "gated-", 6) == 0;

    dlt_hf_layer(hf, "\"rms_norm\", \"name\": \"last\", \"inputs\": [\"attended\"]");
    dlt_hf_dense(hf, s->inner, false, "");
    dlt_hf_activation(hf, gated ? form + 6 : form);
    if (gated) {
        dlt_hf_layer(hf, "\"identity\", \"name\": \"gate\"");
        dlt_hf_dense(hf, s->inner, false, ", \"name\": \"linear\", \"inputs\": [\"last\"]");
        dlt_hf_layer(hf, "\"mul\", \"inputs\": [\"gate\", \"linear\"]");
    }
    dlt_hf_dropout(hf, drops);
    dlt_hf_dense(hf, s->width, false, "");
    dlt_hf_dropout(hf, drops);
    add(hf, "out", "attended");
}

static void t5_stack(struct dlt_hf *hf, const struct sizes *s, const char *name, int64_t layers,
                     bool drops, bool decoder)
{
    struct dlt_hf_attention a = {
        "normed",       "normed",
        s->width,       s->heads,
        s->heads,       s->head_size,
        .drops = drops, .position_bias = decoder ? "decoder_bias" : "encoder_bias"};

    open_block(hf, name, layers);
    dlt_hf_layer(hf, "\"rms_norm\", \"name\": \"normed\"");
    fputs(",\n{\"name\": \"self\", \"layers\": [", hf->out);
    hf->begun = false;
    dlt_hf_attend(hf, &a);
    fputs("]}", hf->out);
    dlt_hf_dropout(hf, drops);
    add(hf, decoder ? "self_out" : "attended", "entry");
    if (decoder) {
        dlt_hf_layer(hf, "\"rms_norm\", \"name\": \"crossing\"");
        a.input = "crossing";
        a.memory = "memory";
        a.position_bias = "";
        fputs(",\n{\"name\": \"cross\", \"layers\": [", hf->out);
        hf->begun = false;
        dlt_hf_attend(hf, &a);
        fputs("]}", hf->out);
        dlt_hf_dropout(hf, drops);
        add(hf, "attended", "self_out");
    }
    t5_perceptron(hf, s, drops);
    close_block(hf);
    dlt_hf_layer(hf, "\"rms_norm\"");
    dlt_hf_dropout(hf, drops);
}

void dlt_hf_t5(struct dlt_hf *hf)
{
    struct sizes s = {.width = dlt_hf_size(hf, HF_NAMES("d_model", "hidden_size"), 512),
                      .layers = dlt_hf_size(hf, HF_NAMES("num_layers", "num_hidden_layers"), 6),
                      .heads = dlt_hf_size(hf, HF_NAMES("num_heads", "num_attention_heads"), 8),
                      .inner = dlt_hf_size(hf, HF_NAMES("d_ff"), 2048),
                      .head_size = dlt_hf_size(hf, HF_NAMES("d_kv"), 64)};
    int64_t words = dlt_hf_size(hf, HF_NAMES("vocab_size"), 32128);
    int64_t buckets = dlt_hf_size(hf, HF_NAMES("relative_attention_num_buckets"), 32);
    bool drops = dlt_hf_drops(hf, "dropout_rate", 0.1);

    embedding(hf, "shared", words, s.width, "ids");
    dlt_hf_layer(hf, "\"identity\", \"name\": \"words\"");
    relative_bias(hf, "encoder_bias", buckets, s.heads);
    dlt_hf_layer(hf, "\"dropout\", \"inputs\": [\"words\"]");
    t5_stack(hf, &s, "encoder", s.layers, drops, false);
    dlt_hf_layer(hf, "\"identity\", \"name\": \"memory\"");
    dlt_hf_layer(hf,
                 "\"embedding\", \"name\": \"decoder_words\", \"num_embeddings\": %lld, "
                 "\"embedding_dim\": %lld, \"weights\": \"shared\", \"inputs\": [\"decoder_ids\"]",
                 (long long)words, (long long)s.width);
    relative_bias(hf, "decoder_bias", buckets, s.heads);
    dlt_hf_layer(hf, "\"dropout\", \"inputs\": [\"decoder_words\"]");
    t5_stack(hf, &s, "decoder", dlt_hf_size(hf, HF_NAMES("num_decoder_layers"), s.layers), drops,
             true);
    if (dlt_hf_is(hf, "T5Model"))
        return;
    if (dlt_hf_flag(hf, "tie_word_embeddings", true)) {
        dlt_hf_layer(hf, "\"scale\"");
        dlt_hf_dense(hf, words, false, ", \"name\": \"lm_head\", \"weights\": \"shared\"");
    } else {
        dlt_hf_dense(hf, words, false, ", \"name\": \"lm_head\"");
    }
}

/* ---- vit ---- */

void dlt_hf_vit(struct dlt_hf *hf)
{
    struct sizes s = read_sizes(hf, 768, 12, 12, 3072);
    int64_t image = dlt_hf_size(hf, HF_NAMES("image_size"), 224);
    int64_t patch = dlt_hf_size(hf, HF_NAMES("patch_size"), 16), side = image / patch;
    int64_t tokens = side * side + 1;
    bool drops = dlt_hf_drops(hf, "hidden_dropout_prob", 0);
    struct dlt_hf_attention a = {"normed",
                                 "normed",
                                 s.width,
                                 s.heads,
                                 s.heads,
                                 head_size(hf, &s),
                                 .bias = dlt_hf_flag(hf, "qkv_bias", true),
                                 .out_bias = true,
                                 .drops = dlt_hf_drops(hf, "attention_probs_dropout_prob", 0)};

    if (patch > image)
        dlt_hf_share(hf, "image_size", image, "patch_size", patch);
    dlt_hf_layer(hf,
                 "\"conv2d\", \"out_channels\": %lld, \"kernel_size\": %lld, \"stride\": %lld, "
                 "\"name\": \"patches\", \"inputs\": [\"pixels\"]",
                 (long long)s.width, (long long)patch, (long long)patch);
    dlt_hf_layer(hf, "\"flatten\", \"start_dim\": 2");
    dlt_hf_layer(hf, "\"permute\", \"name\": \"tokens\", \"dims\": [0, 2, 1]");
    dlt_hf_layer(hf, "\"parameter\", \"name\": \"class\", \"shape\": [1, 1, %lld]",
                 (long long)s.width);
    dlt_hf_layer(hf, "\"expand\", \"name\": \"classes\", \"shape\": [0, -1, -1], "
                     "\"inputs\": [\"class\", \"tokens\"]");
    dlt_hf_layer(hf, "\"concat\", \"name\": \"all\", \"inputs\": [\"classes\", \"tokens\"]");
    dlt_hf_layer(hf, "\"parameter\", \"name\": \"positions\", \"shape\": [1, %lld, %lld]",
                 (long long)tokens, (long long)s.width);
    add(hf, "embedded", "all");
    dlt_hf_dropout(hf, drops);
    open_block(hf, "layer", s.layers);
    dlt_hf_layer(hf, "\"layer_norm\", \"name\": \"normed\"");
    dlt_hf_attend(hf, &a);
    dlt_hf_dropout(hf, drops);
    add(hf, "attended", "entry");
    dlt_hf_layer(hf, "\"layer_norm\"");
    perceptron(hf, &s, word_or(hf, "hidden_act", "gelu"), true, drops);
    add(hf, "out", "attended");
    close_block(hf);
    dlt_hf_layer(hf, "\"layer_norm\"");
    dlt_hf_layer(hf, "\"slice\", \"dim\": 1, \"end\": 1");
    dlt_hf_layer(hf, "\"squeeze\", \"dim\": 1");
    if (dlt_hf_is(hf, "ViTModel")) {
        dlt_hf_dense(hf, s.width, true, ", \"name\": \"pooler\"");
        dlt_hf_layer(hf, "\"tanh\"");
    } else {
        dlt_hf_dense(hf, dlt_hf_labels(hf), true, ", \"name\": \"classifier\"");
    }
}
