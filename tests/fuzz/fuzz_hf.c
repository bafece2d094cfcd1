/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a Hugging Face configuration: behind a model_type, so that it is taken for one. */
#include "fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const families[] = {
        "bert",    "gpt2",   "opt",       "llama", "gemma",    "t5",         "vit",  "roberta",
        "mixtral", "gemma2", "qwen3_moe", "phi",   "gpt_neox", "distilbert", "phi3", "gemma3_text"};
    enum { FAMILIES = sizeof families / sizeof *families, HEAD = 128 };
    /* Where the input does not say how many: dozens take as long as so many inputs. */
    static const char few[] = "\"num_hidden_layers\": 2, \"n_layer\": 2, \"num_layers\": 2";
    static char text[16384 + HEAD + 1];
    size_t used;

    if (size > 16384)
        return 0;
    /* The first byte chooses the family, '0' bert; the rest are the keys, without the braces around
     * them. */
    used = (size_t)snprintf(text, HEAD, "{\"model_type\": \"%s\", %s%s",
                            families[size ? (data[0] - '0' + 256) % FAMILIES : 0], few,
                            size > 1 ? ", " : "");
    if (size > 1)
        memcpy(text + used, data + 1, size - 1);
    used += size > 1 ? size - 1 : 0;
    text[used++] = '}';
    fuzz_model("config.json", ",seq=16,batch=3", (const uint8_t *)text, used);
    return 0;
}
