/*
 * hf_config.h - private to the Hugging Face loader: the keys of a configuration, and what the
 * writers of the families share.
 */
#ifndef DLT_GRAPH_HF_CONFIG_H
#define DLT_GRAPH_HF_CONFIG_H

#include <json-c/json.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* A writer adds layers to the stream; the first error stops it: everything after that is noise. */
struct dlt_hf {
    json_object *root;
    FILE *out;
    bool begun; /* a list of layers: the next one stands behind a comma */
    bool failed;
    struct dlt_error *error;
};

/* A whole number >= 1; names: the key and others for the same thing, ended by NULL. */
int64_t dlt_hf_size(struct dlt_hf *hf, const char *const *names, int64_t fallback);
bool dlt_hf_flag(struct dlt_hf *hf, const char *name, bool fallback);
/* Whether the key is there, as null. */
bool dlt_hf_is_null(struct dlt_hf *hf, const char *name);
/* A probability, or a limit; whether it is more than zero. null: it is not. */
bool dlt_hf_drops(struct dlt_hf *hf, const char *name, double fallback);
/* "" where it is not there. */
const char *dlt_hf_word(struct dlt_hf *hf, const char *name);
const char *dlt_hf_word_or(struct dlt_hf *hf, const char *name, const char *fallback);
/* The key asks for layers that dltime has none of. */
void dlt_hf_unsupported(struct dlt_hf *hf, const char *name);
/* Whether the first of "architectures" ends in this ("ForMaskedLM"). */
bool dlt_hf_is(struct dlt_hf *hf, const char *end);
/* num_labels, or how many id2label has. */
int64_t dlt_hf_labels(struct dlt_hf *hf);
/* divisor has to divide; both keys are named where it does not. Gives the quotient. */
int64_t dlt_hf_share(struct dlt_hf *hf, const char *whole, int64_t size, const char *divisor,
                     int64_t parts);

/* What all families have, and their keys for it; inner 0: four times the width. */
struct dlt_hf_sizes {
    int64_t width, layers, heads, inner, head_size;
};
struct dlt_hf_sizes dlt_hf_read_sizes(struct dlt_hf *hf, int64_t width, int64_t layers,
                                      int64_t heads, int64_t inner);
int64_t dlt_hf_head_size(struct dlt_hf *hf, const struct dlt_hf_sizes *sizes);

#define HF_NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Adds one layer: {"op": op, ...}. */
__attribute__((format(printf, 2, 3))) void dlt_hf_layer(struct dlt_hf *hf, const char *format, ...);
void dlt_hf_dense(struct dlt_hf *hf, int64_t width, bool bias, const char *more);
void dlt_hf_dropout(struct dlt_hf *hf, bool drops);
/* The activation that transformers calls so ("gelu_new"): a layer of it, or our name. */
void dlt_hf_activation(struct dlt_hf *hf, const char *name);
const char *dlt_hf_activation_name(struct dlt_hf *hf, const char *name);
void dlt_hf_embedding(struct dlt_hf *hf, const char *name, int64_t count, int64_t width,
                      const char *input);
/* A block; its input is called "entry" in it. */
void dlt_hf_open(struct dlt_hf *hf, const char *name, int64_t repeat);
void dlt_hf_close(struct dlt_hf *hf);
/* The layer before plus another one. */
void dlt_hf_sum(struct dlt_hf *hf, const char *name, const char *other);
/* What stands on top of a decoder: words, by "words" where they are tied, or what the first of
 * "architectures" says. */
void dlt_hf_decoder_head(struct dlt_hf *hf, int64_t words, bool bias, bool tied);

/* Attention of `input` over `memory` (names of layers), the product behind it included. */
struct dlt_hf_attention {
    const char *input, *memory;
    int64_t width, heads, key_heads, head_size;
    bool bias, out_bias; /* of the products before and behind */
    bool causal, rotary, drops;
    bool head_norm;            /* rms_norm of each head's queries and keys */
    bool packed;               /* one product for queries, keys and values */
    const char *position_bias; /* a layer to be added to the scores; NULL: none */
};
void dlt_hf_attend(struct dlt_hf *hf, const struct dlt_hf_attention *attention);

/* The families. */
void dlt_hf_bert(struct dlt_hf *hf);
void dlt_hf_gpt2(struct dlt_hf *hf);
void dlt_hf_opt(struct dlt_hf *hf);
void dlt_hf_llama(struct dlt_hf *hf); /* hf_llama.c */
void dlt_hf_distilbert(struct dlt_hf *hf);
void dlt_hf_t5(struct dlt_hf *hf);
void dlt_hf_vit(struct dlt_hf *hf);

#endif
