/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a configuration, and the layers that all families have. */
#include "graph/hf_config.h"

#include <stdarg.h>
#include <string.h>

static void fail(struct dlt_hf *hf, const char *name, const char *expected)
{
    if (!hf->failed)
        dlt_fail(hf->error, "%s: %s", name, expected);
    hf->failed = true;
}

int64_t dlt_hf_size(struct dlt_hf *hf, const char *const *names, int64_t fallback)
{
    json_object *value;

    for (size_t i = 0; names[i]; i++) {
        /* null: the default, as transformers writes it. */
        if (!json_object_object_get_ex(hf->root, names[i], &value) || !value)
            continue;
        if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 1 ||
            json_object_get_int64(value) > INT32_MAX)
            fail(hf, names[i], "expected a whole number from 1 to 2147483647");
        else
            return json_object_get_int64(value);
    }
    return fallback;
}

bool dlt_hf_flag(struct dlt_hf *hf, const char *name, bool fallback)
{
    json_object *value;

    if (!json_object_object_get_ex(hf->root, name, &value) || !value)
        return fallback;
    if (!json_object_is_type(value, json_type_boolean))
        fail(hf, name, "expected true or false");
    return json_object_get_boolean(value);
}

bool dlt_hf_drops(struct dlt_hf *hf, const char *name, double fallback)
{
    json_object *value;

    if (!json_object_object_get_ex(hf->root, name, &value))
        return fallback > 0;
    if (!value)
        return false; /* null: none, whatever the default */
    if (!json_object_is_type(value, json_type_double) && !json_object_is_type(value, json_type_int))
        fail(hf, name, "expected a number");
    return json_object_get_double(value) > 0;
}

bool dlt_hf_is_null(struct dlt_hf *hf, const char *name)
{
    json_object *value;

    return json_object_object_get_ex(hf->root, name, &value) && !value;
}

const char *dlt_hf_word(struct dlt_hf *hf, const char *name)
{
    json_object *value;

    if (!json_object_object_get_ex(hf->root, name, &value) ||
        !json_object_is_type(value, json_type_string))
        return "";
    return json_object_get_string(value);
}

void dlt_hf_unsupported(struct dlt_hf *hf, const char *name)
{
    fail(hf, name, "dltime has no such layers; export the network as ONNX (dltime-torch-export)");
}

bool dlt_hf_is(struct dlt_hf *hf, const char *end)
{
    json_object *list, *first;
    size_t length, tail = strlen(end);
    const char *name;

    if (!json_object_object_get_ex(hf->root, "architectures", &list) ||
        !json_object_is_type(list, json_type_array) || json_object_array_length(list) == 0)
        return false;
    first = json_object_array_get_idx(list, 0);
    if (!json_object_is_type(first, json_type_string))
        return false;
    name = json_object_get_string(first);
    length = strlen(name);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

int64_t dlt_hf_labels(struct dlt_hf *hf)
{
    json_object *labels;

    if (json_object_object_get_ex(hf->root, "id2label", &labels) &&
        json_object_is_type(labels, json_type_object) && json_object_object_length(labels) > 0)
        return json_object_object_length(labels);
    return dlt_hf_size(hf, HF_NAMES("num_labels"), 2);
}

int64_t dlt_hf_share(struct dlt_hf *hf, const char *whole, int64_t size, const char *divisor,
                     int64_t parts)
{
    if (size % parts && !hf->failed) {
        hf->failed = true;
        dlt_fail(hf->error, "%s: %lld does not divide %s, which is %lld", divisor, (long long)parts,
                 whole, (long long)size);
    }
    return size / parts;
}

void dlt_hf_layer(struct dlt_hf *hf, const char *format, ...)
{
    va_list args;

    fputs(hf->begun ? ",\n{\"op\": " : "{\"op\": ", hf->out);
    hf->begun = true;
    va_start(args, format);
    vfprintf(hf->out, format, args);
    va_end(args);
    fputc('}', hf->out);
}

void dlt_hf_dense(struct dlt_hf *hf, int64_t width, bool bias, const char *more)
{
    dlt_hf_layer(hf, "\"dense\", \"out_features\": %lld, \"bias\": %s%s", (long long)width,
                 bias ? "true" : "false", more);
}

void dlt_hf_dropout(struct dlt_hf *hf, bool drops)
{
    if (drops)
        dlt_hf_layer(hf, "\"dropout\"");
}

const char *dlt_hf_activation_name(struct dlt_hf *hf, const char *name)
{
    static const struct {
        const char *theirs, *ours;
    } table[] = {{"gelu", "gelu"},       {"gelu_new", "gelu"},
                 {"gelu_fast", "gelu"},  {"gelu_pytorch_tanh", "gelu"},
                 {"quick_gelu", "silu"}, {"relu", "relu"},
                 {"silu", "silu"},       {"swish", "silu"},
                 {"tanh", "tanh"},       {"mish", "mish"}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].theirs, name) == 0)
            return table[i].ours;
    fail(hf, "activation function",
         "not known; known are gelu, gelu_new, relu, silu, tanh, mish and their variants");
    return "relu";
}

void dlt_hf_activation(struct dlt_hf *hf, const char *name)
{
    dlt_hf_layer(hf, "\"%s\"", dlt_hf_activation_name(hf, name));
}

void dlt_hf_embedding(struct dlt_hf *hf, const char *name, int64_t count, int64_t width,
                      const char *input)
{
    dlt_hf_layer(hf,
                 "\"embedding\", \"name\": \"%s\", \"num_embeddings\": %lld, "
                 "\"embedding_dim\": %lld, \"inputs\": [\"%s\"]",
                 name, (long long)count, (long long)width, input);
}

void dlt_hf_open(struct dlt_hf *hf, const char *name, int64_t repeat)
{
    fprintf(hf->out,
            ",\n{\"name\": \"%s\", \"repeat\": %lld, \"layers\": [{\"op\": \"identity\", "
            "\"name\": \"entry\", \"inputs\": [\"@input\"]}",
            name, (long long)repeat);
}

void dlt_hf_close(struct dlt_hf *hf)
{
    fputs("]}", hf->out);
}

void dlt_hf_sum(struct dlt_hf *hf, const char *name, const char *other)
{
    dlt_hf_layer(hf, "\"add\", \"name\": \"%s\", \"inputs\": [\"@\", \"%s\"]", name, other);
}

struct dlt_hf_sizes dlt_hf_read_sizes(struct dlt_hf *hf, int64_t width, int64_t layers,
                                      int64_t heads, int64_t inner)
{
    struct dlt_hf_sizes s = {
        .width = dlt_hf_size(hf, HF_NAMES("hidden_size", "n_embd"), width),
        .layers = dlt_hf_size(hf, HF_NAMES("num_hidden_layers", "n_layer"), layers),
        .heads = dlt_hf_size(hf, HF_NAMES("num_attention_heads", "n_head"), heads)};

    s.inner = dlt_hf_size(hf, HF_NAMES("intermediate_size", "ffn_dim", "n_inner"),
                          inner ? inner : 4 * s.width);
    return s;
}

int64_t dlt_hf_head_size(struct dlt_hf *hf, const struct dlt_hf_sizes *s)
{
    return dlt_hf_share(hf, "hidden_size", s->width, "num_attention_heads", s->heads);
}

const char *dlt_hf_word_or(struct dlt_hf *hf, const char *name, const char *fallback)
{
    const char *word = dlt_hf_word(hf, name);

    return *word ? word : fallback;
}

/* The language model's head, unless the first of "architectures" says another. */
void dlt_hf_decoder_head(struct dlt_hf *hf, int64_t words, bool bias, bool tied)
{
    if (dlt_hf_is(hf, "ForSequenceClassification"))
        dlt_hf_dense(hf, dlt_hf_labels(hf), false, ", \"name\": \"score\"");
    else if (dlt_hf_is(hf, "ForTokenClassification"))
        dlt_hf_dense(hf, dlt_hf_labels(hf), true, ", \"name\": \"classifier\"");
    else if (dlt_hf_is(hf, "ForQuestionAnswering"))
        dlt_hf_dense(hf, 2, true, ", \"name\": \"qa_outputs\"");
    else if (!dlt_hf_is(hf, "Model") || dlt_hf_is(hf, "LMHeadModel") ||
             dlt_hf_is(hf, "DoubleHeadsModel"))
        dlt_hf_dense(hf, words, bias,
                     dlt_hf_flag(hf, "tie_word_embeddings", tied)
                         ? ", \"name\": \"lm_head\", \"weights\": \"words\""
                         : ", \"name\": \"lm_head\"");
}

static void rotate(struct dlt_hf *hf, const char *name)
{
    dlt_hf_layer(hf, "\"scale\", \"name\": \"%s_cos\", \"inputs\": [\"%s\"]", name, name);
    dlt_hf_layer(hf, "\"contiguous\", \"inputs\": [\"%s\"]", name);
    dlt_hf_layer(hf, "\"scale\"");
    dlt_hf_layer(hf, "\"add\", \"name\": \"%s_rotated\", \"inputs\": [\"%s_cos\", \"@\"]", name,
                 name);
}

/* Queries, keys or values in heads, of one product or a part of one. */
static void in_heads(struct dlt_hf *hf, const struct dlt_hf_attention *a, const char *name,
                     const char *input, int64_t heads, bool normed)
{
    dlt_hf_layer(hf, "\"reshape\", \"shape\": [0, 0, %lld, %lld], \"inputs\": [\"%s\"]",
                 (long long)heads, (long long)a->head_size, input);
    if (normed)
        dlt_hf_layer(hf, "\"rms_norm\"");
    dlt_hf_layer(hf, "\"permute\", \"name\": \"%s\", \"dims\": [0, 2, 1, 3]", name);
}

static void project(struct dlt_hf *hf, const struct dlt_hf_attention *a, const char *name,
                    const char *input, int64_t heads)
{
    int64_t width = heads * a->head_size;

    dlt_hf_layer(hf,
                 "\"dense\", \"out_features\": %lld, \"bias\": %s, \"name\": \"%s_proj\", "
                 "\"inputs\": [\"%s\"]",
                 (long long)width, a->bias ? "true" : "false", name, input);
    in_heads(hf, a, name, "@", heads, a->head_norm && strcmp(name, "value") != 0);
}

/* So that three of them can be added; no product is as wide. */
static long long width_of(const struct dlt_hf_attention *a, int64_t heads)
{
    int64_t width = heads * a->head_size;

    return width < INT64_MAX / 4 ? width : INT64_MAX / 4;
}

static void project_packed(struct dlt_hf *hf, const struct dlt_hf_attention *a)
{
    long long query = width_of(a, a->heads), key = width_of(a, a->key_heads);

    dlt_hf_layer(hf,
                 "\"dense\", \"out_features\": %lld, \"bias\": %s, \"name\": \"qkv_proj\", "
                 "\"inputs\": [\"%s\"]",
                 query + 2 * key, a->bias ? "true" : "false", a->input);
    dlt_hf_layer(hf, "\"split\", \"name\": \"qkv\", \"sections\": [%lld, %lld, %lld], \"dim\": 2",
                 query, key, key);
    in_heads(hf, a, "query", "qkv:0", a->heads, false);
    in_heads(hf, a, "key", "qkv:1", a->key_heads, false);
    in_heads(hf, a, "value", "qkv:2", a->key_heads, false);
}

/* Written out where a bias is added to the scores, else as one operator. */
void dlt_hf_attend(struct dlt_hf *hf, const struct dlt_hf_attention *a)
{
    const char *rotated = a->rotary ? "_rotated" : "";
    int64_t width = a->heads * a->head_size;

    if (a->packed) {
        project_packed(hf, a);
    } else {
        project(hf, a, "query", a->input, a->heads);
        project(hf, a, "key", a->memory, a->key_heads);
        project(hf, a, "value", a->memory, a->key_heads);
    }
    if (a->rotary) {
        rotate(hf, "query");
        rotate(hf, "key");
    }
    if (a->position_bias) {
        dlt_hf_layer(hf, "\"transpose\", \"name\": \"keys\", \"dim0\": -2, \"dim1\": -1, "
                         "\"inputs\": [\"key\"]");
        dlt_hf_layer(hf, "\"matmul\", \"name\": \"scores\", \"inputs\": [\"query\", \"keys\"]");
        if (*a->position_bias)
            dlt_hf_layer(hf, "\"add\", \"inputs\": [\"scores\", \"%s\"]", a->position_bias);
        dlt_hf_layer(hf, "\"softmax\"");
        dlt_hf_dropout(hf, a->drops);
        dlt_hf_layer(hf, "\"matmul\", \"inputs\": [\"@\", \"value\"]");
    } else {
        dlt_hf_layer(hf,
                     "\"scaled_dot_product_attention\", \"is_causal\": %s, "
                     "\"inputs\": [\"query%s\", \"key%s\", \"value\"]",
                     a->causal ? "true" : "false", rotated, rotated);
    }
    dlt_hf_layer(hf, "\"permute\", \"dims\": [0, 2, 1, 3]");
    dlt_hf_layer(hf, "\"contiguous\"");
    dlt_hf_layer(hf, "\"reshape\", \"shape\": [0, 0, %lld]", (long long)width);
    dlt_hf_dense(hf, a->width, a->out_bias, "");
}
