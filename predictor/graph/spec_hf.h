/*
 * spec_hf.h - a Hugging Face config.json as a JSON spec of ours.
 */
#ifndef DLT_GRAPH_SPEC_HF_H
#define DLT_GRAPH_SPEC_HF_H

#include <json-c/json.h>

#include "base/error.h"

/* Whether a document is a configuration of transformers: it says its model_type. */
bool dlt_hf_recognise(json_object *root);

/*
 * Writes the layers of the model that a configuration describes as a JSON spec (dltime-model(5)):
 * *text is malloc'ed, the caller's. Families: bert, gpt2, opt, llama and what is built like them,
 * t5, vit; layers, defaults and parameter counts are those of transformers' classes of that name
 * (https://github.com/huggingface/transformers). Errors name the key.
 */
int dlt_hf_write(json_object *root, char **text, struct dlt_error *error);

/* The network's name: the last part of _name_or_path, else the model_type. */
const char *dlt_hf_name(json_object *root);

#endif
