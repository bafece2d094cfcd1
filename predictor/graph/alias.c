/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/alias.h"

#include "base/text.h"

/* Hugging Face's and timm's names, and those of published measurements. */
static const struct dlt_alias aliases[] = {
    {"bert-base-uncased", "bert_base"},
    {"bert-large-uncased", "bert_large"},
    {"bert_base_squad", "bert_base"},
    {"bert_large_squad", "bert_large"},
    {"gpt2-small", "gpt2"},
    {"gpt3_27", "gpt3_2.7b"},
    {"opt_13", "opt_1.3b"},
    {"ssd", "ssd300"},
    {"ssd300_vgg16", "ssd300"},
    {"swin_tiny_patch4_window7_224", "swin_t"},
    {"switch-base-8", "switch_base"},
    {"switch_xl", "switch_xl_4"},
    {"t5", "t5_base"},
    {"transfo-xl-wt103", "transformer_xl_large"},
    {"vit_base_patch16_224", "vit_b_16"},
    {"vit_large_patch16_224", "vit_l_16"},
};

size_t dlt_alias_count(void)
{
    return sizeof aliases / sizeof *aliases;
}

const struct dlt_alias *dlt_alias_at(size_t index)
{
    return &aliases[index];
}

static const char *past_marks(const char *text)
{
    while (*text == '-' || *text == '_' || *text == ' ')
        text++;
    return text;
}

bool dlt_alias_same(const char *a, const char *b)
{
    for (;; a++, b++) {
        a = past_marks(a);
        b = past_marks(b);
        if (dlt_text_lower(*a) != dlt_text_lower(*b))
            return false;
        if (!*a)
            return true;
    }
}

const char *dlt_alias_find(const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (dlt_alias_same(name, aliases[i].name))
            return aliases[i].model;
    return NULL;
}
