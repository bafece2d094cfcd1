/* SPDX-License-Identifier: Apache-2.0 */
/* The operator table: the families' rows together, and how they are found. */
#include <string.h>

#include "base/text.h"
#include "graph/op.h"

static const struct dlt_op_family *const families[] = {
    &dlt_ops_spatial, &dlt_ops_norm,     &dlt_ops_reduce, &dlt_ops_elementwise,
    &dlt_ops_matmul,  &dlt_ops_sequence, &dlt_ops_shape,  &dlt_ops_move};
enum { FAMILIES = sizeof families / sizeof *families, MOST_OPS = 256 };

_Static_assert(sizeof(struct dlt_dim_attributes) < DLT_ATTRIBUTES * sizeof(int64_t) &&
                   sizeof(struct dlt_layer_norm_attributes) < DLT_ATTRIBUTES * sizeof(int64_t) &&
                   sizeof(struct dlt_upsample_attributes) < DLT_ATTRIBUTES * sizeof(int64_t) &&
                   sizeof(struct dlt_reduce_attributes) < DLT_ATTRIBUTES * sizeof(int64_t),
               "attributes need more room; the last number is where ignored ones go");

size_t dlt_op_count(void)
{
    size_t count = 0;

    for (size_t f = 0; f < FAMILIES; f++)
        count += families[f]->count;
    return count;
}

const struct dlt_op *dlt_op_at(size_t index)
{
    size_t f = 0;

    while (f + 1 < FAMILIES && index >= families[f]->count)
        index -= families[f++]->count;
    return &families[f]->op[index];
}

const struct dlt_op *dlt_op_find(const char *name)
{
    /* Asked for with each layer of a network. */
    for (size_t f = 0; f < FAMILIES; f++)
        for (size_t i = 0; i < families[f]->count; i++)
            if (families[f]->op[i].name[0] == name[0] && strcmp(families[f]->op[i].name, name) == 0)
                return &families[f]->op[i];
    return NULL;
}

/* What other programs call the same thing; spelling alone would not find it. */
static const struct {
    const char *other, *name;
} synonyms[] = {
    {"linear", "dense"},
    {"fc", "dense"},
    {"fully_connected", "dense"},
    {"gemm", "dense"},
    {"cat", "concat"},
    {"concatenate", "concat"},
    {"chunk", "split"},
    {"residual", "add"},
    {"bn", "batch_norm"},
    {"batchnorm2d", "batch_norm"},
    {"ln", "layer_norm"},
    {"global_avg_pool", "adaptive_avg_pool2d"},
    {"global_avg_pool2d", "adaptive_avg_pool2d"},
    {"conv", "conv2d"},
    {"deconv2d", "conv_transpose2d"},
    {"mha", "multi_head_attention"},
    {"multiheadattention", "multi_head_attention"},
    {"attention", "scaled_dot_product_attention"},
    {"sdpa", "scaled_dot_product_attention"},
    {"moe", "mixture_of_experts"},
    {"swish", "silu"},
    {"interpolate", "upsample"},
    {"view", "reshape"},
    {"clip", "clamp"},
    {"constant", "parameter"},
};

const char *dlt_op_nearest(const char *name)
{
    const char *names[MOST_OPS];
    size_t count = dlt_op_count();

    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (dlt_text_same(name, synonyms[i].other))
            return synonyms[i].name;
    for (size_t i = 0; i < count && i < MOST_OPS; i++) {
        names[i] = dlt_op_at(i)->name;
        if (dlt_text_same(name, names[i]))
            return names[i];
    }
    return dlt_text_nearest(name, names, count < MOST_OPS ? count : MOST_OPS);
}
