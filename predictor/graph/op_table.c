/* SPDX-License-Identifier: Apache-2.0 */
/* The operator table. Names, meanings and defaults are torch.nn's; where torch has a function and
 * no module (add, concat, split), the function's. */
#include <string.h>

#include "base/text.h"
#include "graph/op.h"

/* Kernels, strides and paddings beyond this make no sense, and below it no sum of products of two
 * can overflow. */
#define MOST_WINDOW (INT64_C(1) << 24)
#define MOST_SIZE   INT64_C(2147483647)
#define MOST_INPUTS 1024

#define SLOT(family, field) (offsetof(struct dlt_##family##_attributes, field) / sizeof(int64_t))

/* Sizes: one whole number >= 1. */
#define SIZE(name, family)                                                                         \
    {                                                                                              \
#name, DLT_ATTRIBUTE_INT, SLOT(family, name), true, 0, 1, MOST_SIZE, NULL                  \
    }
/* The same, but it follows from the input; where it is given it has to agree. */
#define AGREES(name, family)                                                                       \
    {                                                                                              \
#name, DLT_ATTRIBUTE_INT, SLOT(family, name), false, DLT_ABSENT, 1, MOST_SIZE, NULL        \
    }
#define COUNT(name, family, fallback)                                                              \
    {                                                                                              \
#name, DLT_ATTRIBUTE_INT, SLOT(family, name), false, fallback, 1, MOST_SIZE, NULL          \
    }
#define DIM(name, family, fallback)                                                                \
    {                                                                                              \
#name, DLT_ATTRIBUTE_INT, SLOT(family, name), false, fallback, -DLT_RANK, DLT_RANK - 1,    \
            NULL                                                                                   \
    }
#define WINDOW(name, family, required, fallback)                                                   \
    {                                                                                              \
#name, DLT_ATTRIBUTE_LIST, SLOT(family, name), required, fallback, 1, MOST_WINDOW, NULL    \
    }
#define PADDING(family)                                                                            \
    {                                                                                              \
        "padding", DLT_ATTRIBUTE_PADDING, SLOT(family, padding), false, 0, 0, MOST_WINDOW, NULL    \
    }
#define FLAG(name, family, fallback)                                                               \
    {                                                                                              \
#name, DLT_ATTRIBUTE_BOOL, SLOT(family, name), false, fallback, 0, 1, NULL                 \
    }
#define SIZES(name, family, required)                                                              \
    {                                                                                              \
#name, DLT_ATTRIBUTE_SIZES, SLOT(family, name), required, DLT_ABSENT, 1, MOST_SIZE, NULL   \
    }
/* Accepted because torch has it; nothing that dltime computes depends on it. */
#define REAL_IGNORED(name)                                                                         \
    {                                                                                              \
        name, DLT_ATTRIBUTE_REAL, DLT_ATTRIBUTES - 1, false, 0, 0, 0, NULL                         \
    }
#define FLAG_IGNORED(name)                                                                         \
    {                                                                                              \
        name, DLT_ATTRIBUTE_BOOL, DLT_ATTRIBUTES - 1, false, 0, 0, 1, NULL                         \
    }
#define NAME_IGNORED(name, names)                                                                  \
    {                                                                                              \
        name, DLT_ATTRIBUTE_NAME, DLT_ATTRIBUTES - 1, false, 0, 0, 0, names                        \
    }

static const char *const padding_modes[] = {"zeros", "reflect", "replicate", "circular", NULL};
static const char *const gelu_forms[] = {"none", "tanh", NULL};

#define ACTIVATION(op_name, op_function, op_saves)                                                 \
    {                                                                                              \
        .name = (op_name), .class = DLT_OP_ACTIVATION, .least_inputs = 1, .most_inputs = 1,        \
        .saves = (op_saves), .kind = "elementwise", .function = (op_function),                     \
        .attribute = {FLAG_IGNORED("inplace")}, .infer = dlt_infer_activation                      \
    }
#define ARITHMETIC(op_name, op_function, most, op_saves)                                           \
    {                                                                                              \
        .name = (op_name), .class = DLT_OP_ARITHMETIC, .least_inputs = 2, .most_inputs = (most),   \
        .saves = (op_saves), .kind = "elementwise", .function = (op_function),                     \
        .infer = dlt_infer_arithmetic                                                              \
    }

static const struct dlt_op ops[] = {
    {.name = "conv2d",
     .class = DLT_OP_CONVOLUTION,
     .dims = 2,
     .least_inputs = 1,
     .most_inputs = 1,
     .saves = DLT_SAVE_INPUT,
     .kind = "conv2d",
     .attribute = {AGREES(in_channels, convolution), SIZE(out_channels, convolution),
                   WINDOW(kernel_size, convolution, true, 1), WINDOW(stride, convolution, false, 1),
                   PADDING(convolution), WINDOW(dilation, convolution, false, 1),
                   COUNT(groups, convolution, 1), FLAG(bias, convolution, 1),
                   NAME_IGNORED("padding_mode", padding_modes)},
     .infer = dlt_infer_convolution},
    {.name = "dense",
     .class = DLT_OP_MATMUL,
     .least_inputs = 1,
     .most_inputs = 1,
     .saves = DLT_SAVE_INPUT,
     .kind = "dense",
     .attribute = {AGREES(in_features, dense), SIZE(out_features, dense), FLAG(bias, dense, 1)},
     .infer = dlt_infer_dense},
    {.name = "max_pool2d",
     .class = DLT_OP_POOL,
     .dims = 2,
     .least_inputs = 1,
     .most_inputs = 1,
     .saves = DLT_SAVE_INPUT | DLT_SAVE_INDICES,
     .kind = "max_pool2d",
     .attribute = {WINDOW(kernel_size, pool, true, 1), WINDOW(stride, pool, false, DLT_ABSENT),
                   PADDING(pool), WINDOW(dilation, pool, false, 1), FLAG(ceil_mode, pool, 0)},
     .infer = dlt_infer_pool},
    {.name = "avg_pool2d",
     .class = DLT_OP_POOL,
     .dims = 2,
     .least_inputs = 1,
     .most_inputs = 1,
     .saves = DLT_SAVE_INPUT,
     .kind = "avg_pool2d",
     .attribute = {WINDOW(kernel_size, pool, true, 1), WINDOW(stride, pool, false, DLT_ABSENT),
                   PADDING(pool), FLAG(ceil_mode, pool, 0), FLAG(count_include_pad, pool, 1)},
     .infer = dlt_infer_pool},
    {.name = "adaptive_avg_pool2d",
     .class = DLT_OP_POOL,
     .dims = 2,
     .least_inputs = 1,
     .most_inputs = 1,
     .saves = DLT_SAVE_INPUT,
     .kind = "avg_pool2d",
     .attribute = {WINDOW(output_size, adaptive_pool, true, 1)},
     .infer = dlt_infer_adaptive_pool},
    {.name = "batch_norm",
     .class = DLT_OP_BATCH_NORM,
     .least_inputs = 1,
     .most_inputs = 1,
     .saves = DLT_SAVE_INPUT,
     .kind = "batch_norm",
     .attribute = {AGREES(num_features, batch_norm), REAL_IGNORED("eps"), REAL_IGNORED("momentum"),
                   FLAG(affine, batch_norm, 1), FLAG(track_running_stats, batch_norm, 1)},
     .infer = dlt_infer_batch_norm},
    {.name = "layer_norm",
     .class = DLT_OP_NORM,
     .least_inputs = 1,
     .most_inputs = 1,
     .saves = DLT_SAVE_INPUT,
     .kind = "layer_norm",
     .attribute = {SIZES(normalized_shape, layer_norm, false), REAL_IGNORED("eps"),
                   FLAG(elementwise_affine, layer_norm, 1), FLAG(bias, layer_norm, 1)},
     .infer = dlt_infer_layer_norm},
    {.name = "softmax",
     .class = DLT_OP_SOFTMAX,
     .least_inputs = 1,
     .most_inputs = 1,
     .saves = DLT_SAVE_OUTPUT,
     .kind = "softmax",
     .attribute = {DIM(dim, dim, -1)},
     .infer = dlt_infer_softmax},
    ACTIVATION("relu", DLT_RELU, DLT_SAVE_OUTPUT),
    ACTIVATION("relu6", DLT_RELU6, DLT_SAVE_INPUT),
    ACTIVATION("sigmoid", DLT_SIGMOID, DLT_SAVE_OUTPUT),
    ACTIVATION("tanh", DLT_TANH, DLT_SAVE_OUTPUT),
    {.name = "gelu",
     .class = DLT_OP_ACTIVATION,
     .least_inputs = 1,
     .most_inputs = 1,
     .saves = DLT_SAVE_INPUT,
     .kind = "elementwise",
     .function = DLT_GELU,
     .attribute = {NAME_IGNORED("approximate", gelu_forms)},
     .infer = dlt_infer_activation},
    {.name = "dropout",
     .class = DLT_OP_DROPOUT,
     .least_inputs = 1,
     .most_inputs = 1,
     .saves = DLT_SAVE_MASK,
     .kind = "elementwise",
     .function = DLT_DROPOUT,
     .attribute = {REAL_IGNORED("p"), FLAG_IGNORED("inplace")},
     .infer = dlt_infer_dropout},
    ARITHMETIC("add", DLT_ADD, MOST_INPUTS, 0),
    ARITHMETIC("sub", DLT_SUB, 2, 0),
    ARITHMETIC("mul", DLT_MUL, MOST_INPUTS, DLT_SAVE_INPUTS),
    ARITHMETIC("div", DLT_DIV, 2, DLT_SAVE_INPUTS),
    {.name = "concat",
     .class = DLT_OP_MOVE,
     .least_inputs = 1,
     .most_inputs = MOST_INPUTS,
     .kind = "elementwise",
     .function = DLT_CONCAT,
     .attribute = {DIM(dim, dim, 1)},
     .takes_integers = true,
     .infer = dlt_infer_concat},
    {.name = "split",
     .class = DLT_OP_VIEW,
     .least_inputs = 1,
     .most_inputs = 1,
     .attribute = {SIZES(sections, dim, true), DIM(dim, dim, 1)},
     .takes_integers = true,
     .infer = dlt_infer_split},
    {.name = "flatten",
     .class = DLT_OP_VIEW,
     .least_inputs = 1,
     .most_inputs = 1,
     .attribute = {DIM(start_dim, flatten, 1), DIM(end_dim, flatten, -1)},
     .takes_integers = true,
     .infer = dlt_infer_flatten},
    {.name = "identity",
     .class = DLT_OP_VIEW,
     .least_inputs = 1,
     .most_inputs = 1,
     .takes_integers = true,
     .infer = dlt_infer_identity},
};
enum { OPS = sizeof ops / sizeof *ops };

_Static_assert(sizeof(struct dlt_convolution_attributes) < DLT_ATTRIBUTES * sizeof(int64_t) &&
                   sizeof(struct dlt_dim_attributes) < DLT_ATTRIBUTES * sizeof(int64_t) &&
                   sizeof(struct dlt_layer_norm_attributes) < DLT_ATTRIBUTES * sizeof(int64_t),
               "attributes need more room; the last number is where ignored ones go");

size_t dlt_op_count(void)
{
    return OPS;
}

const struct dlt_op *dlt_op_at(size_t index)
{
    return &ops[index];
}

const struct dlt_op *dlt_op_find(const char *name)
{
    for (size_t i = 0; i < OPS; i++)
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
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
    {"sum", "add"},
    {"bn", "batch_norm"},
    {"batchnorm2d", "batch_norm"},
    {"ln", "layer_norm"},
    {"global_avg_pool", "adaptive_avg_pool2d"},
    {"global_avg_pool2d", "adaptive_avg_pool2d"},
    {"conv", "conv2d"},
};

const char *dlt_op_nearest(const char *name)
{
    const char *names[OPS];

    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcasecmp(name, synonyms[i].other) == 0)
            return synonyms[i].name;
    for (size_t i = 0; i < OPS; i++) {
        names[i] = ops[i].name;
        if (strcasecmp(name, names[i]) == 0)
            return names[i];
    }
    return dlt_text_nearest(name, names, OPS);
}
