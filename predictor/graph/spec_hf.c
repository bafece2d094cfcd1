/* SPDX-License-Identifier: Apache-2.0 */
/* A Hugging Face config.json as a JSON spec. */
#include "graph/spec_hf.h"

#include <stdlib.h>
#include <string.h>

#include "graph/hf_config.h"

/* What model_type says. keys: the longest sequence that it takes, and its default. */
static const struct family {
    const char *type;
    void (*write)(struct dlt_hf *hf);
    const char *inputs;
    const char *longest[3];
    int64_t length;
    int64_t taken; /* of those positions, by padding */
} families[] = {
#define TOKENS "\"inputs\": {\"ids\": {\"shape\": [\"seq\"], \"dtype\": \"int64\"}}"
#define MORE(name)                                                                                 \
    "\"inputs\": {\"ids\": {\"shape\": [\"seq\"], \"dtype\": \"int64\"}, \"" name                  \
    "\": {\"shape\": [\"seq\"], \"dtype\": \"int64\"}}"
    {"bert", dlt_hf_bert, MORE("token_types"), {"max_position_embeddings"}, 512, 0},
    {"roberta", dlt_hf_bert, MORE("token_types"), {"max_position_embeddings"}, 512, 2},
    {"xlm-roberta", dlt_hf_bert, MORE("token_types"), {"max_position_embeddings"}, 512, 2},
    {"camembert", dlt_hf_bert, MORE("token_types"), {"max_position_embeddings"}, 512, 2},
    {"distilbert", dlt_hf_distilbert, TOKENS, {"max_position_embeddings"}, 512, 0},
    {"gpt2", dlt_hf_gpt2, TOKENS, {"n_positions", "n_ctx"}, 1024, 0},
    {"opt", dlt_hf_opt, TOKENS, {"max_position_embeddings"}, 2048, 0},
    {"llama", dlt_hf_llama, TOKENS, {"max_position_embeddings"}, 2048, 0},
    {"mistral", dlt_hf_llama, TOKENS, {"max_position_embeddings"}, 2048, 0},
    {"mixtral", dlt_hf_llama, TOKENS, {"max_position_embeddings"}, 2048, 0},
    {"qwen2", dlt_hf_llama, TOKENS, {"max_position_embeddings"}, 2048, 0},
    {"qwen3", dlt_hf_llama, TOKENS, {"max_position_embeddings"}, 2048, 0},
    {"qwen3_moe", dlt_hf_llama, TOKENS, {"max_position_embeddings"}, 2048, 0},
    {"gemma", dlt_hf_llama, TOKENS, {"max_position_embeddings"}, 2048, 0},
    {"gemma2", dlt_hf_llama, TOKENS, {"max_position_embeddings"}, 2048, 0},
    {"gemma3_text", dlt_hf_llama, TOKENS, {"max_position_embeddings"}, 2048, 0},
    {"phi", dlt_hf_llama, TOKENS, {"max_position_embeddings"}, 2048, 0},
    {"phi3", dlt_hf_llama, TOKENS, {"max_position_embeddings"}, 2048, 0},
    {"starcoder2", dlt_hf_llama, TOKENS, {"max_position_embeddings"}, 2048, 0},
    {"gpt_neox", dlt_hf_llama, TOKENS, {"max_position_embeddings"}, 2048, 0},
    {"t5", dlt_hf_t5, MORE("decoder_ids"), {"n_positions"}, 512, 0},
    {"vit", dlt_hf_vit, NULL, {NULL}, 0, 0},
};
enum { FAMILIES = sizeof families / sizeof *families, MOST_LENGTH = 2048 };

bool dlt_hf_recognise(json_object *root)
{
    json_object *type;

    return json_object_is_type(root, json_type_object) &&
           json_object_object_get_ex(root, "model_type", &type) &&
           !json_object_object_get_ex(root, "layers", NULL);
}

const char *dlt_hf_name(json_object *root)
{
    json_object *value;
    const char *name, *slash;

    if (json_object_object_get_ex(root, "_name_or_path", &value) &&
        json_object_is_type(value, json_type_string)) {
        name = json_object_get_string(value);
        slash = strrchr(name, '/');
        name = slash ? slash + 1 : name;
        if (*name && strlen(name) <= 200)
            return name;
    }
    json_object_object_get_ex(root, "model_type", &value);
    name = json_object_get_string(value);
    return name && *name && strlen(name) <= 200 ? name : "model";
}

/* No nearest name: another family of a near name is another network. */
static const struct family *find_family(json_object *root, struct dlt_error *error)
{
    char known[512] = "";
    const char *type;
    json_object *value;
    size_t used = 0;

    json_object_object_get_ex(root, "model_type", &value);
    type = json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
    for (size_t i = 0; i < FAMILIES; i++) {
        if (strcmp(type, families[i].type) == 0)
            return &families[i];
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                 i == 0              ? ""
                                 : i + 1 == FAMILIES ? " and "
                                                     : ", ",
                                 families[i].type);
    }
    dlt_fail(error,
             "model_type: \"%.80s\" is not known; known are %s: export others as ONNX "
             "(dltime-torch-export)",
             type, known);
    return NULL;
}

/* "inputs" and the training that a configuration implies. */
static void write_head(struct dlt_hf *hf, const struct family *family)
{
    int64_t length = dlt_hf_size(hf, family->longest, family->length);
    int64_t channels, image;

    length -= length > family->taken ? family->taken : 0;
    fputs("{", hf->out);
    if (family->inputs) {
        fputs(family->inputs, hf->out);
        fprintf(hf->out, ", \"training\": {\"seq\": %lld}",
                (long long)(length < MOST_LENGTH ? length : MOST_LENGTH));
    } else {
        channels = dlt_hf_size(hf, HF_NAMES("num_channels"), 3);
        image = dlt_hf_size(hf, HF_NAMES("image_size"), 224);
        fprintf(hf->out, "\"inputs\": {\"pixels\": [%lld, %lld, %lld]}", (long long)channels,
                (long long)image, (long long)image);
    }
    fputs(", \"layers\": [", hf->out);
}

int dlt_hf_write(json_object *root, char **text, struct dlt_error *error)
{
    struct dlt_hf hf = {.root = root, .error = error};
    const struct family *family = find_family(root, error);
    bool short_of_memory;
    size_t size;

    *text = NULL;
    if (!family)
        return -1;
    hf.out = open_memstream(text, &size);
    if (!hf.out)
        return dlt_fail_memory(error);
    write_head(&hf, family);
    family->write(&hf);
    short_of_memory = fputs("]}\n", hf.out) < 0 || ferror(hf.out);
    /* Without a first buffer there is no text, and glibc's fclose says nothing of it. */
    short_of_memory = fclose(hf.out) || short_of_memory || !*text;
    if (short_of_memory && !hf.failed) {
        hf.failed = true;
        dlt_fail_memory(error);
    }
    if (!hf.failed)
        return 0;
    free(*text);
    *text = NULL;
    return -1;
}
