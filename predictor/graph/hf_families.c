/* SPDX-License-Identifier: Apache-2.0 */
/* The families of transformers that are known: keys, defaults and layers of their classes. */
#include <string.h>

#include "graph/hf_config.h"

static void positions(struct dlt_hf *hf, int64_t count, int64_t width)
{
    dlt_hf_layer(hf, "\"arange\", \"name\": \"index\", \"end\": \"seq\"");
    dlt_hf_embedding(hf, "positions", count, width, "index");
}

static void perceptron(struct dlt_hf *hf, const struct dlt_hf_sizes *s, const char *activation,
                       bool bias, bool drops)
{
    dlt_hf_dense(hf, s->inner, bias, "");
    dlt_hf_activation(hf, activation);
    dlt_hf_dense(hf, s->width, bias, "");
    dlt_hf_dropout(hf, drops);
}

/* What stands on top of a bert: by the first of "architectures". */
static const struct head {
    const char *end;
    bool pooler, words;
    int outputs; /* -1: the number of labels; 0: none */
} bert_heads[] = {
    {"ForPreTraining", true, true, 2},
    {"ForMaskedLM", false, true, 0},
    {"LMHeadModel", false, true, 0},
    {"ForCausalLM", false, true, 0},
    {"ForTokenClassification", false, false, -1},
    {"ForQuestionAnswering", false, false, -1},
    {"ForSequenceClassification", true, false, -1},
    {"ForMultipleChoice", true, false, 1},
    {"ForNextSentencePrediction", true, false, 2},
};

static void first_token(struct dlt_hf *hf)
{
    dlt_hf_layer(hf, "\"slice\", \"dim\": 1, \"end\": 1, \"inputs\": [\"encoded\"]");
    dlt_hf_layer(hf, "\"squeeze\", \"dim\": 1");
}

static void word_head(struct dlt_hf *hf, int64_t width, int64_t words, const char *act)
{
    dlt_hf_dense(hf, width, true, ", \"name\": \"transform\", \"inputs\": [\"encoded\"]");
    dlt_hf_activation(hf, act);
    dlt_hf_layer(hf, "\"layer_norm\"");
    dlt_hf_dense(hf, words, true, ", \"name\": \"decoder\", \"weights\": \"words\"");
}

static void bert_head(struct dlt_hf *hf, const struct dlt_hf_sizes *s, int64_t words,
                      const char *act)
{
    struct head head = {"Model", true, false, 0};

    for (size_t i = 0; i < sizeof bert_heads / sizeof *bert_heads; i++)
        if (dlt_hf_is(hf, bert_heads[i].end))
            head = bert_heads[i];
    if (head.pooler) {
        first_token(hf);
        dlt_hf_dense(hf, s->width, true, ", \"name\": \"pooler\"");
        dlt_hf_layer(hf, "\"tanh\"");
    }
    if (head.outputs != 0)
        dlt_hf_dense(hf, head.outputs < 0 ? dlt_hf_labels(hf) : head.outputs, true,
                     ", \"name\": \"classifier\"");
    if (head.words)
        word_head(hf, s->width, words, act);
}

/* Layers with their norms behind the sums. */
static void bert_layers(struct dlt_hf *hf, const struct dlt_hf_sizes *s, const char *act,
                        bool drops, bool attention_drops)
{
    struct dlt_hf_attention a = {"entry",      "entry",          s->width,
                                 s->heads,     s->heads,         dlt_hf_head_size(hf, s),
                                 .bias = true, .out_bias = true, .drops = attention_drops};

    dlt_hf_open(hf, "layer", s->layers);
    dlt_hf_attend(hf, &a);
    dlt_hf_dropout(hf, drops);
    dlt_hf_sum(hf, "attended", "entry");
    dlt_hf_layer(hf, "\"layer_norm\", \"name\": \"normed\"");
    perceptron(hf, s, act, true, drops);
    dlt_hf_sum(hf, "out", "normed");
    dlt_hf_layer(hf, "\"layer_norm\"");
    dlt_hf_close(hf);
    dlt_hf_layer(hf, "\"identity\", \"name\": \"encoded\"");
}

/* bert, and roberta and its like, which number positions from 2 on. */
void dlt_hf_bert(struct dlt_hf *hf)
{
    const char *type = dlt_hf_word(hf, "model_type");
    struct dlt_hf_sizes s = dlt_hf_read_sizes(hf, 768, 12, 12, 3072);
    int64_t words =
        dlt_hf_size(hf, HF_NAMES("vocab_size"), strcmp(type, "roberta") == 0 ? 50265 : 30522);
    int64_t types = dlt_hf_size(hf, HF_NAMES("type_vocab_size"), 2);
    bool drops = dlt_hf_drops(hf, "hidden_dropout_prob", 0.1);
    const char *act = dlt_hf_word_or(hf, "hidden_act", "gelu");

    dlt_hf_embedding(hf, "words", words, s.width, "ids");
    dlt_hf_embedding(hf, "types", types, s.width, "token_types");
    positions(hf, dlt_hf_size(hf, HF_NAMES("max_position_embeddings"), 512), s.width);
    dlt_hf_layer(hf, "\"add\", \"inputs\": [\"words\", \"types\"]");
    dlt_hf_sum(hf, "embedded", "positions");
    dlt_hf_layer(hf, "\"layer_norm\"");
    dlt_hf_dropout(hf, drops);
    bert_layers(hf, &s, act, drops, dlt_hf_drops(hf, "attention_probs_dropout_prob", 0.1));
    bert_head(hf, &s, words, act);
}

void dlt_hf_distilbert(struct dlt_hf *hf)
{
    struct dlt_hf_sizes s = {.width = dlt_hf_size(hf, HF_NAMES("dim", "hidden_size"), 768),
                             .layers = dlt_hf_size(hf, HF_NAMES("n_layers"), 6),
                             .heads = dlt_hf_size(hf, HF_NAMES("n_heads"), 12),
                             .inner = dlt_hf_size(hf, HF_NAMES("hidden_dim"), 3072)};
    int64_t words = dlt_hf_size(hf, HF_NAMES("vocab_size"), 30522);
    bool drops = dlt_hf_drops(hf, "dropout", 0.1);
    const char *act = dlt_hf_word_or(hf, "activation", "gelu");

    dlt_hf_embedding(hf, "words", words, s.width, "ids");
    positions(hf, dlt_hf_size(hf, HF_NAMES("max_position_embeddings"), 512), s.width);
    dlt_hf_sum(hf, "embedded", "words");
    dlt_hf_layer(hf, "\"layer_norm\"");
    dlt_hf_dropout(hf, drops);
    bert_layers(hf, &s, act, drops, dlt_hf_drops(hf, "attention_dropout", 0.1));
    if (dlt_hf_is(hf, "ForMaskedLM"))
        word_head(hf, s.width, words, act);
    if (dlt_hf_is(hf, "ForSequenceClassification") || dlt_hf_is(hf, "ForMultipleChoice")) {
        first_token(hf);
        dlt_hf_dense(hf, s.width, true, ", \"name\": \"pre_classifier\"");
        dlt_hf_layer(hf, "\"relu\"");
    }
    if (dlt_hf_is(hf, "Classification") || dlt_hf_is(hf, "ForQuestionAnswering"))
        dlt_hf_dense(hf, dlt_hf_labels(hf), true, ", \"name\": \"classifier\"");
    if (dlt_hf_is(hf, "ForMultipleChoice"))
        dlt_hf_dense(hf, 1, true, ", \"name\": \"classifier\"");
}

void dlt_hf_gpt2(struct dlt_hf *hf)
{
    struct dlt_hf_sizes s = dlt_hf_read_sizes(hf, 768, 12, 12, 0);
    int64_t words = dlt_hf_size(hf, HF_NAMES("vocab_size"), 50257);
    bool drops = dlt_hf_drops(hf, "resid_pdrop", 0.1);
    struct dlt_hf_attention a = {"normed",       "normed",
                                 s.width,        s.heads,
                                 s.heads,        dlt_hf_head_size(hf, &s),
                                 .bias = true,   .out_bias = true,
                                 .causal = true, .drops = dlt_hf_drops(hf, "attn_pdrop", 0.1)};

    dlt_hf_embedding(hf, "words", words, s.width, "ids");
    positions(hf, dlt_hf_size(hf, HF_NAMES("n_positions", "n_ctx"), 1024), s.width);
    dlt_hf_sum(hf, "embedded", "words");
    dlt_hf_dropout(hf, dlt_hf_drops(hf, "embd_pdrop", 0.1));
    dlt_hf_open(hf, "h", s.layers);
    dlt_hf_layer(hf, "\"layer_norm\", \"name\": \"normed\"");
    dlt_hf_attend(hf, &a);
    dlt_hf_dropout(hf, drops);
    dlt_hf_sum(hf, "attended", "entry");
    dlt_hf_layer(hf, "\"layer_norm\"");
    perceptron(hf, &s, dlt_hf_word_or(hf, "activation_function", "gelu_new"), true, drops);
    dlt_hf_sum(hf, "out", "attended");
    dlt_hf_close(hf);
    dlt_hf_layer(hf, "\"layer_norm\"");
    dlt_hf_decoder_head(hf, words, false, true);
}

static void opt_layer(struct dlt_hf *hf, const struct dlt_hf_sizes *s, bool before, bool drops)
{
    const char *from = before ? "normed" : "entry";
    bool bias = dlt_hf_flag(hf, "enable_bias", true);
    struct dlt_hf_attention a = {from,           from,
                                 s->width,       s->heads,
                                 s->heads,       dlt_hf_head_size(hf, s),
                                 .bias = bias,   .out_bias = bias,
                                 .causal = true, .drops = dlt_hf_drops(hf, "attention_dropout", 0)};

    if (before)
        dlt_hf_layer(hf, "\"layer_norm\", \"name\": \"normed\"");
    dlt_hf_attend(hf, &a);
    dlt_hf_dropout(hf, drops);
    dlt_hf_sum(hf, before ? "attended" : "summed", "entry");
    if (!before)
        dlt_hf_layer(hf, "\"layer_norm\", \"name\": \"attended\"");
    else
        dlt_hf_layer(hf, "\"layer_norm\"");
    perceptron(hf, s, dlt_hf_word_or(hf, "activation_function", "relu"), bias, drops);
    dlt_hf_sum(hf, "out", "attended");
    if (!before)
        dlt_hf_layer(hf, "\"layer_norm\"");
}

/* Positions begin behind two that mark padding; small ones embed into another width. */
void dlt_hf_opt(struct dlt_hf *hf)
{
    struct dlt_hf_sizes s = dlt_hf_read_sizes(hf, 768, 12, 12, 3072);
    int64_t words = dlt_hf_size(hf, HF_NAMES("vocab_size"), 50272);
    int64_t wide = dlt_hf_size(hf, HF_NAMES("word_embed_proj_dim"), s.width);
    bool before = dlt_hf_flag(hf, "do_layer_norm_before", true);

    dlt_hf_embedding(hf, "words", words, wide, "ids");
    if (wide != s.width)
        dlt_hf_dense(hf, s.width, false, ", \"name\": \"project_in\"");
    dlt_hf_layer(hf, "\"identity\", \"name\": \"projected\"");
    positions(hf, dlt_hf_size(hf, HF_NAMES("max_position_embeddings"), 2048) + 2, s.width);
    dlt_hf_sum(hf, "embedded", "projected");
    dlt_hf_open(hf, "layer", s.layers);
    opt_layer(hf, &s, before, dlt_hf_drops(hf, "dropout", 0.1));
    dlt_hf_close(hf);
    if (before && !dlt_hf_flag(hf, "_remove_final_layer_norm", false))
        dlt_hf_layer(hf, "\"layer_norm\"");
    if (wide != s.width)
        dlt_hf_dense(hf, wide, false, ", \"name\": \"project_out\"");
    dlt_hf_decoder_head(hf, words, false, true);
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

static void t5_perceptron(struct dlt_hf *hf, const struct dlt_hf_sizes *s, bool drops)
{
    const char *form = dlt_hf_word_or(hf, "feed_forward_proj", "relu");
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
    dlt_hf_sum(hf, "out", "attended");
}

static void t5_stack(struct dlt_hf *hf, const struct dlt_hf_sizes *s, const char *name,
                     int64_t layers, bool drops, bool decoder)
{
    struct dlt_hf_attention a = {
        "normed",       "normed",
        s->width,       s->heads,
        s->heads,       s->head_size,
        .drops = drops, .position_bias = decoder ? "decoder_bias" : "encoder_bias"};

    dlt_hf_open(hf, name, layers);
    dlt_hf_layer(hf, "\"rms_norm\", \"name\": \"normed\"");
    fputs(",\n{\"name\": \"self\", \"layers\": [", hf->out);
    hf->begun = false;
    dlt_hf_attend(hf, &a);
    fputs("]}", hf->out);
    dlt_hf_dropout(hf, drops);
    dlt_hf_sum(hf, decoder ? "self_out" : "attended", "entry");
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
        dlt_hf_sum(hf, "attended", "self_out");
    }
    t5_perceptron(hf, s, drops);
    dlt_hf_close(hf);
    dlt_hf_layer(hf, "\"rms_norm\"");
    dlt_hf_dropout(hf, drops);
}

/* By the first of "architectures"; without any, words. */
static void t5_head(struct dlt_hf *hf, int64_t width, int64_t words, bool drops)
{
    if (dlt_hf_is(hf, "T5Model"))
        return;
    if (dlt_hf_is(hf, "ForSequenceClassification")) {
        dlt_hf_dense(hf, width, true, ", \"name\": \"classifier\"");
        dlt_hf_layer(hf, "\"tanh\"");
        dlt_hf_dropout(hf, drops);
        dlt_hf_dense(hf, dlt_hf_labels(hf), true, "");
    } else if (dlt_hf_is(hf, "ForQuestionAnswering")) {
        dlt_hf_dense(hf, dlt_hf_labels(hf), true, ", \"name\": \"classifier\"");
    } else if (dlt_hf_flag(hf, "tie_word_embeddings", true)) {
        dlt_hf_layer(hf, "\"scale\"");
        dlt_hf_dense(hf, words, false, ", \"name\": \"lm_head\", \"weights\": \"shared\"");
    } else {
        dlt_hf_dense(hf, words, false, ", \"name\": \"lm_head\"");
    }
}

void dlt_hf_t5(struct dlt_hf *hf)
{
    struct dlt_hf_sizes s = {
        .width = dlt_hf_size(hf, HF_NAMES("d_model", "hidden_size"), 512),
        .layers = dlt_hf_size(hf, HF_NAMES("num_layers", "num_hidden_layers"), 6),
        .heads = dlt_hf_size(hf, HF_NAMES("num_heads", "num_attention_heads"), 8),
        .inner = dlt_hf_size(hf, HF_NAMES("d_ff"), 2048),
        .head_size = dlt_hf_size(hf, HF_NAMES("d_kv"), 64)};
    int64_t words = dlt_hf_size(hf, HF_NAMES("vocab_size"), 32128);
    int64_t buckets = dlt_hf_size(hf, HF_NAMES("relative_attention_num_buckets"), 32);
    bool drops = dlt_hf_drops(hf, "dropout_rate", 0.1);

    dlt_hf_embedding(hf, "shared", words, s.width, "ids");
    dlt_hf_layer(hf, "\"identity\", \"name\": \"words\"");
    relative_bias(hf, "encoder_bias", buckets, s.heads);
    dlt_hf_layer(hf, "\"dropout\", \"inputs\": [\"words\"]");
    t5_stack(hf, &s, "encoder", s.layers, drops, false);
    if (dlt_hf_is(hf, "EncoderModel") || dlt_hf_is(hf, "ForTokenClassification")) {
        if (!dlt_hf_is(hf, "EncoderModel"))
            dlt_hf_dense(hf, dlt_hf_labels(hf), true, ", \"name\": \"classifier\"");
        return;
    }
    dlt_hf_layer(hf, "\"identity\", \"name\": \"memory\"");
    dlt_hf_layer(hf,
                 "\"embedding\", \"name\": \"decoder_words\", \"num_embeddings\": %lld, "
                 "\"embedding_dim\": %lld, \"weights\": \"shared\", \"inputs\": [\"decoder_ids\"]",
                 (long long)words, (long long)s.width);
    relative_bias(hf, "decoder_bias", buckets, s.heads);
    dlt_hf_layer(hf, "\"dropout\", \"inputs\": [\"decoder_words\"]");
    t5_stack(hf, &s, "decoder", dlt_hf_size(hf, HF_NAMES("num_decoder_layers"), s.layers), drops,
             true);
    t5_head(hf, s.width, words, drops);
}

/* ---- vit ---- */

void dlt_hf_vit(struct dlt_hf *hf)
{
    struct dlt_hf_sizes s = dlt_hf_read_sizes(hf, 768, 12, 12, 3072);
    int64_t image = dlt_hf_size(hf, HF_NAMES("image_size"), 224);
    int64_t patch = dlt_hf_size(hf, HF_NAMES("patch_size"), 16), side = image / patch;
    int64_t tokens = side * side + 1;
    bool drops = dlt_hf_drops(hf, "hidden_dropout_prob", 0);
    struct dlt_hf_attention a = {"normed",
                                 "normed",
                                 s.width,
                                 s.heads,
                                 s.heads,
                                 dlt_hf_head_size(hf, &s),
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
    dlt_hf_sum(hf, "embedded", "all");
    dlt_hf_dropout(hf, drops);
    dlt_hf_open(hf, "layer", s.layers);
    dlt_hf_layer(hf, "\"layer_norm\", \"name\": \"normed\"");
    dlt_hf_attend(hf, &a);
    dlt_hf_dropout(hf, drops);
    dlt_hf_sum(hf, "attended", "entry");
    dlt_hf_layer(hf, "\"layer_norm\"");
    perceptron(hf, &s, dlt_hf_word_or(hf, "hidden_act", "gelu"), true, drops);
    dlt_hf_sum(hf, "out", "attended");
    dlt_hf_close(hf);
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
