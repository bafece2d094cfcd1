/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that work element by element: activations, arithmetic, dropout. */
#include "base/error.h"
#include "graph/op_row.h"

static int activation(const struct dlt_op_site *site, struct dlt_op_result *result,
                      struct dlt_error *error)
{
    (void)error;
    dlt_same_shape(site, result);
    dlt_rowwise_record(site->op, &result->output[0], 1, &result->record);
    return 0;
}

static int prelu(const struct dlt_op_site *site, struct dlt_op_result *result,
                 struct dlt_error *error)
{
    const struct dlt_prelu_attributes *a = (const void *)site->attribute;
    const struct dlt_tensor *in = dlt_site_input(site, 0);

    if (a->num_parameters != 1 && (in->rank < 2 || in->dim[1] != a->num_parameters))
        return dlt_fail(error, "num_parameters is %lld; it has to be 1 or the number of channels",
                        (long long)a->num_parameters);
    result->weight = result->parameters = (double)a->num_parameters;
    result->tensors = 1;
    return activation(site, result, error);
}

/* Two operators in PyTorch, with a tensor between them that is kept: softsign's 1 + |x| besides x,
 * tanhshrink's tanh(x) alone. */
static int of_two(const struct dlt_op_site *site, struct dlt_op_result *result,
                  struct dlt_error *error)
{
    result->inside = dlt_tensor_elements(dlt_site_input(site, 0));
    return activation(site, result, error);
}

/* Inference passes its input on; so does training that drops nothing. */
static int dropout(const struct dlt_op_site *site, struct dlt_op_result *result,
                   struct dlt_error *error)
{
    const struct dlt_dropout_attributes *a = (const void *)site->attribute;

    if (site->training && a->p)
        return activation(site, result, error);
    dlt_same_shape(site, result);
    return 0;
}

static int arithmetic(const struct dlt_op_site *site, struct dlt_op_result *result,
                      struct dlt_error *error)
{
    struct dlt_tensor *out = &result->output[0];

    if (dlt_broadcast(site, 0, out, error))
        return -1;
    result->output_count = 1;
    /* A float among integers makes the result a float. */
    for (size_t i = 0; i < site->input_count; i++)
        if (dlt_site_input(site, i)->type == DLT_TENSOR_FLOAT)
            out->type = DLT_TENSOR_FLOAT;
    dlt_rowwise_record(site->op, out, site->input_count, &result->record);
    return 0;
}

static int compare(const struct dlt_op_site *site, struct dlt_op_result *result,
                   struct dlt_error *error)
{
    if (arithmetic(site, result, error))
        return -1;
    result->output[0].type = DLT_TENSOR_BOOL;
    return 0;
}

/* where(condition, a, b). */
static int where(const struct dlt_op_site *site, struct dlt_op_result *result,
                 struct dlt_error *error)
{
    if (arithmetic(site, result, error))
        return -1;
    if (dlt_site_input(site, 1)->type != DLT_TENSOR_FLOAT &&
        dlt_site_input(site, 2)->type != DLT_TENSOR_FLOAT)
        result->output[0].type = dlt_site_input(site, 1)->type;
    return 0;
}

static const char *const gelu_forms[] = {"none", "tanh", NULL};

#define ACTIVATION(op_name, op_function, op_saves, ...)                                            \
    {                                                                                              \
        .name = (op_name), .class = DLT_OP_ACTIVATION, .least_inputs = 1, .most_inputs = 1,        \
        .saves = (op_saves), .kind = "elementwise", .function = (op_function),                     \
        .attribute = {FLAG_IGNORED("inplace"), ##__VA_ARGS__}, .infer = activation                 \
    }
/* Functions of torch itself, which have no module: on autocast's float32 list or not. */
#define FUNCTION(op_name, op_function, op_saves, in_float, ...)                                    \
    {                                                                                              \
        .name = (op_name), .class = DLT_OP_ACTIVATION, .least_inputs = 1, .most_inputs = 1,        \
        .saves = (op_saves), .takes_integers = true, .float_in_amp = (in_float),                   \
        .kind = "elementwise", .function = (op_function), .attribute = {__VA_ARGS__},              \
        .infer = activation                                                                        \
    }
#define ARITHMETIC(op_name, op_function, most, op_saves, op_infer)                                 \
    {                                                                                              \
        .name = (op_name), .class = DLT_OP_ARITHMETIC, .least_inputs = 2, .most_inputs = (most),   \
        .saves = (op_saves), .takes_integers = true, .kind = "elementwise",                        \
        .function = (op_function), .infer = (op_infer)                                             \
    }

/* What is saved: torch 1.13's derivatives.yaml; the in-place forms save their result instead. */
static const struct dlt_op rows[] = {
    ACTIVATION("relu", DLT_RELU, DLT_SAVE_OUTPUT),
    ACTIVATION("relu6", DLT_RELU6, DLT_SAVE_INPUT),
    ACTIVATION("sigmoid", DLT_SIGMOID, DLT_SAVE_OUTPUT),
    ACTIVATION("tanh", DLT_TANH, DLT_SAVE_OUTPUT),
    ACTIVATION("gelu", DLT_GELU, DLT_SAVE_INPUT, NAME_IGNORED("approximate", gelu_forms)),
    ACTIVATION("silu", DLT_SILU, DLT_SAVE_INPUT),
    ACTIVATION("mish", DLT_MISH, DLT_SAVE_INPUT),
    ACTIVATION("hardswish", DLT_HARDSWISH, DLT_SAVE_INPUT),
    ACTIVATION("hardsigmoid", DLT_HARDSIGMOID, DLT_SAVE_INPUT),
    ACTIVATION("hardtanh", DLT_HARDTANH, DLT_SAVE_INPUT, REAL_IGNORED("min_val"),
               REAL_IGNORED("max_val")),
    ACTIVATION("leaky_relu", DLT_LEAKY_RELU, DLT_SAVE_INPUT, REAL_IGNORED("negative_slope")),
    ACTIVATION("elu", DLT_ELU, DLT_SAVE_INPUT, REAL_IGNORED("alpha")),
    ACTIVATION("selu", DLT_ELU, DLT_SAVE_INPUT),
    ACTIVATION("celu", DLT_ELU, DLT_SAVE_INPUT, REAL_IGNORED("alpha")),
    {.name = "prelu",
     .class = DLT_OP_ACTIVATION,
     .least_inputs = 1,
     .most_inputs = 1,
     .saves = DLT_SAVE_INPUT,
     .kind = "elementwise",
     .function = DLT_PRELU,
     .attribute = {COUNT(num_parameters, prelu, 1), REAL_IGNORED("init")},
     .infer = prelu},
    FUNCTION("softplus", DLT_SOFTPLUS, DLT_SAVE_INPUT, true, REAL_IGNORED("beta"),
             REAL_IGNORED("threshold")),
    {.name = "softsign",
     .class = DLT_OP_ACTIVATION,
     .least_inputs = 1,
     .most_inputs = 1,
     .saves = DLT_SAVE_INPUT,
     .takes_integers = true,
     .kind = "elementwise",
     .function = DLT_DIV,
     .infer = of_two},
    {.name = "tanhshrink",
     .class = DLT_OP_ACTIVATION,
     .least_inputs = 1,
     .most_inputs = 1,
     .kind = "elementwise",
     .function = DLT_TANH,
     .infer = of_two},
    FUNCTION("softshrink", DLT_HARDTANH, DLT_SAVE_INPUT, false, REAL_IGNORED("lambd")),
    FUNCTION("hardshrink", DLT_HARDTANH, DLT_SAVE_INPUT, false, REAL_IGNORED("lambd")),
    FUNCTION("logsigmoid", DLT_SOFTPLUS, DLT_SAVE_INPUT, false, {0}),
    FUNCTION("exp", DLT_EXP, DLT_SAVE_OUTPUT, true, {0}),
    FUNCTION("sin", DLT_EXP, DLT_SAVE_INPUT, false, {0}),
    FUNCTION("cos", DLT_EXP, DLT_SAVE_INPUT, false, {0}),
    FUNCTION("log", DLT_LOG, DLT_SAVE_INPUT, true, {0}),
    FUNCTION("sqrt", DLT_SQRT, DLT_SAVE_OUTPUT, false, {0}),
    FUNCTION("rsqrt", DLT_SQRT, DLT_SAVE_OUTPUT, true, {0}),
    FUNCTION("reciprocal", DLT_DIV, DLT_SAVE_OUTPUT, true, {0}),
    FUNCTION("erf", DLT_ERF, DLT_SAVE_INPUT, true, {0}),
    FUNCTION("square", DLT_ABS, DLT_SAVE_INPUT, true, {0}),
    FUNCTION("abs", DLT_ABS, DLT_SAVE_INPUT, false, {0}),
    FUNCTION("neg", DLT_ABS, 0, false, {0}),
    FUNCTION("sign", DLT_ABS, 0, false, {0}),
    FUNCTION("floor", DLT_ABS, 0, false, {0}),
    FUNCTION("ceil", DLT_ABS, 0, false, {0}),
    FUNCTION("round", DLT_ABS, 0, false, {0}),
    FUNCTION("logical_not", DLT_ABS, 0, false, {0}),
    FUNCTION("clamp", DLT_HARDTANH, DLT_SAVE_INPUT, false, REAL_IGNORED("min"),
             REAL_IGNORED("max")),
    FUNCTION("scale", DLT_ABS, 0, false, REAL_IGNORED("factor"), REAL_IGNORED("offset")),
    {.name = "dropout",
     .class = DLT_OP_DROPOUT,
     .least_inputs = 1,
     .most_inputs = 1,
     .saves = DLT_SAVE_MASK,
     .kind = "elementwise",
     .function = DLT_DROPOUT,
     .attribute = {{"p", DLT_ATTRIBUTE_REAL, SLOT(dropout, p), false, 1, 0, 0, NULL},
                   FLAG_IGNORED("inplace")},
     .infer = dropout},
    ARITHMETIC("add", DLT_ADD, MOST_INPUTS, 0, arithmetic),
    ARITHMETIC("sub", DLT_SUB, 2, 0, arithmetic),
    ARITHMETIC("mul", DLT_MUL, MOST_INPUTS, DLT_SAVE_OTHERS, arithmetic),
    ARITHMETIC("div", DLT_DIV, 2, DLT_SAVE_DIVISOR, arithmetic),
    {.name = "pow",
     .class = DLT_OP_ARITHMETIC,
     .least_inputs = 1,
     .most_inputs = 2,
     .saves = DLT_SAVE_INPUTS | DLT_SAVE_POWER,
     .takes_integers = true,
     .float_in_amp = true,
     .kind = "elementwise",
     .function = DLT_POW,
     .attribute = {REAL_IGNORED("exponent")},
     .infer = arithmetic},
    ARITHMETIC("maximum", DLT_MAXIMUM, MOST_INPUTS, DLT_SAVE_INPUTS, arithmetic),
    ARITHMETIC("minimum", DLT_MAXIMUM, MOST_INPUTS, DLT_SAVE_INPUTS, arithmetic),
    ARITHMETIC("compare", DLT_COMPARE, 2, 0, compare),
    {.name = "where",
     .class = DLT_OP_ARITHMETIC,
     .least_inputs = 3,
     .most_inputs = 3,
     .saves = DLT_SAVE_INPUT,
     .takes_integers = true,
     .kind = "elementwise",
     .function = DLT_WHERE,
     .infer = where},
};
FAMILY(dlt_ops_elementwise, rows);
