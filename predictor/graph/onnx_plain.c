/* SPDX-License-Identifier: Apache-2.0 */
/* Layers without parameters: activations, arithmetic, softmax, reductions. */
#include <string.h>

#include "graph/onnx_build.h"
#include "graph/op.h"

int dlt_onnx_needed(struct dlt_onnx_build *b, size_t k)
{
    struct dlt_onnx_value *value = dlt_onnx_input(b, k);

    return value ? dlt_onnx_tensor(b, value) : dlt_fail(b->error, "its input %zu is left out", k);
}

/* Binds the first output to an operator of ours without attributes: 1, or -1 failed. */
static int add_named(struct dlt_onnx_build *b, const char *op, const int *input, size_t inputs)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer(op);

    return dlt_onnx_bind(b, 0, dlt_onnx_add(b, &layer, input, inputs)) ? -1 : 1;
}

/* ---- one input, element by element ---- */

static const struct {
    const char *theirs, *ours;
} functions[] = {
    {"Relu", "relu"},
    {"Sigmoid", "sigmoid"},
    {"Tanh", "tanh"},
    {"Gelu", "gelu"},
    {"BiasGelu", "gelu"},
    {"FastGelu", "gelu"},
    {"QuickGelu", "silu"},
    {"Swish", "silu"},
    {"LeakyRelu", "leaky_relu"},
    {"Elu", "elu"},
    {"Selu", "selu"},
    {"Celu", "celu"},
    {"Softplus", "softplus"},
    {"Softsign", "softsign"},
    {"Shrink", "softshrink"},
    {"Mish", "mish"},
    {"HardSwish", "hardswish"},
    {"HardSigmoid", "hardsigmoid"},
    {"ThresholdedRelu", "relu"},
    {"Exp", "exp"},
    {"Log", "log"},
    {"Sin", "sin"},
    {"Cos", "cos"},
    {"Tan", "sin"},
    {"Asin", "sin"},
    {"Acos", "sin"},
    {"Atan", "sin"},
    {"Sinh", "exp"},
    {"Cosh", "exp"},
    {"Sqrt", "sqrt"},
    {"Reciprocal", "reciprocal"},
    {"Erf", "erf"},
    {"Abs", "abs"},
    {"Neg", "neg"},
    {"Sign", "sign"},
    {"Floor", "floor"},
    {"Ceil", "ceil"},
    {"Round", "round"},
    {"Not", "logical_not"},
    {"Clip", "clamp"},
    {"Dropout", "dropout"},
};

/* Clip from 0 to 6 is a layer of its own. */
static bool is_relu6(struct dlt_onnx_build *b)
{
    double low = dlt_onnx_number_of(b, "min", -1), high = dlt_onnx_number_of(b, "max", -1);

    dlt_onnx_value_real(dlt_onnx_input(b, 1), &low);
    dlt_onnx_value_real(dlt_onnx_input(b, 2), &high);
    return low == 0 && high == 6;
}

/* Its ratio is an attribute up to opset 11 and an input from 12 on. */
static bool drops_nothing(struct dlt_onnx_build *b)
{
    double ratio = dlt_onnx_number_of(b, "ratio", 0.5);

    dlt_onnx_value_real(dlt_onnx_input(b, 1), &ratio);
    return ratio == 0;
}

static int plain_function(struct dlt_onnx_build *b, const char *ours)
{
    int input[2] = {dlt_onnx_needed(b, 0), -1};
    struct dlt_onnx_layer sum = dlt_onnx_layer("add");
    bool biased = strcmp(b->node->op, "BiasGelu") == 0 || strcmp(b->node->op, "FastGelu") == 0;

    if (input[0] < 0)
        return -1;
    if (biased && dlt_onnx_input(b, 1)) {
        input[1] = dlt_onnx_needed(b, 1);
        if (input[1] < 0 || (input[0] = dlt_onnx_add(b, &sum, input, 2)) < 0)
            return -1;
    }
    /* The mask that dropout hands out is read by nothing but its gradient. */
    if (strcmp(ours, "dropout") == 0 && b->node->output_count > 1 && b->node->output[1] >= 0) {
        struct dlt_onnx_value value = {.kind = DLT_ONNX_TENSOR, .tensor = input[0]};

        if (dlt_onnx_bind_value(b, 1, &value))
            return -1;
    }
    if (strcmp(ours, "dropout") == 0 && drops_nothing(b))
        ours = "identity";
    return add_named(b, strcmp(ours, "clamp") == 0 && is_relu6(b) ? "relu6" : ours, input, 1);
}

/* ---- several inputs, element by element ---- */

static const struct {
    const char *theirs, *ours;
    bool scales; /* with a single number it is a function of one input */
} arithmetic[] = {
    {"Add", "add", true},
    {"Sub", "sub", true},
    {"Mul", "mul", true},
    {"Div", "div", true},
    {"Sum", "add", false},
    {"Mean", "add", false},
    {"Max", "maximum", false},
    {"Min", "minimum", false},
    {"Pow", "pow", false},
    {"Mod", "div", false},
    {"And", "compare", false},
    {"Or", "compare", false},
    {"Xor", "compare", false},
    {"Equal", "compare", false},
    {"Less", "compare", false},
    {"Greater", "compare", false},
    {"LessOrEqual", "compare", false},
    {"GreaterOrEqual", "compare", false},
    {"Where", "where", false},
};

/* One of two operands is a single number, which is no tensor in any framework. */
static struct dlt_onnx_value *operand_of_scale(struct dlt_onnx_build *b)
{
    for (size_t k = 0; b->node->input_count == 2 && k < 2; k++) {
        struct dlt_onnx_value *number = dlt_onnx_input(b, k), *x = dlt_onnx_input(b, 1 - k);

        if (number && x && number->kind == DLT_ONNX_CONSTANT && number->constant->count == 1 &&
            x->kind != DLT_ONNX_CONSTANT)
            return x;
    }
    return NULL;
}

static int plain_arithmetic(struct dlt_onnx_build *b, size_t which)
{
    struct dlt_onnx_value *scaled = operand_of_scale(b);
    struct dlt_onnx_layer layer = dlt_onnx_layer(arithmetic[which].ours);
    int *input, x;

    if (scaled && (arithmetic[which].scales || strcmp(b->node->op, "Pow") == 0)) {
        /* A number over a tensor is no scaling: its gradient needs the quotient. */
        bool over = strcmp(b->node->op, "Div") == 0 && scaled == dlt_onnx_input(b, 1);

        x = dlt_onnx_tensor(b, scaled);
        return x < 0 ? -1
                     : add_named(b,
                                 over                       ? "reciprocal"
                                 : arithmetic[which].scales ? "scale"
                                                            : "pow",
                                 &x, 1);
    }
    if (!layer.op || b->node->input_count > layer.op->most_inputs)
        return 0;
    input = dlt_onnx_alloc(&b->arena, b->node->input_count + 1, sizeof *input, b->error);
    if (!input)
        return -1;
    for (size_t k = 0; k < b->node->input_count; k++) {
        input[k] = dlt_onnx_needed(b, k);
        if (input[k] < 0)
            return -1;
    }
    if (b->node->input_count == 1 && layer.op->least_inputs > 1)
        return dlt_onnx_bind(b, 0, input[0]) ? -1 : 1;
    return dlt_onnx_bind(b, 0, dlt_onnx_add(b, &layer, input, b->node->input_count)) ? -1 : 1;
}

/* ---- softmax ---- */

/* Before opset 13 it is over all dimensions from the axis on, which nobody means but the last. */
static int plain_softmax(struct dlt_onnx_build *b)
{
    struct dlt_onnx_layer layer =
        dlt_onnx_layer(strcmp(b->node->op, "LogSoftmax") == 0 ? "log_softmax" : "softmax");
    bool old = b->scope->opset > 0 && b->scope->opset < 13;
    int x = dlt_onnx_needed(b, 0), axis;

    if (x < 0 || dlt_onnx_axis(b, dlt_onnx_integer(b, "axis", old ? 1 : -1),
                               dlt_builder_tensor(b->builder, x)->rank, &axis))
        return -1;
    dlt_onnx_set(&layer, "dim", axis);
    return dlt_onnx_bind(b, 0, dlt_onnx_add(b, &layer, &x, 1)) ? -1 : 1;
}

/* ---- reductions ---- */

static const struct {
    const char *theirs, *ours;
} reductions[] = {
    {"ReduceMean", "mean"},      {"ReduceSum", "sum"},  {"ReduceMax", "max"},
    {"ReduceMin", "min"},        {"ReduceL1", "norm"},  {"ReduceL2", "norm"},
    {"ReduceSumSquare", "norm"}, {"ReduceProd", "sum"}, {"ReduceLogSum", "sum"},
    {"ReduceLogSumExp", "sum"},  {"ArgMax", "argmax"},  {"ArgMin", "argmax"},
};

static int plain_reduction(struct dlt_onnx_build *b, const char *ours)
{
    bool argument = strcmp(ours, "argmax") == 0;
    struct dlt_onnx_layer layer = dlt_onnx_layer(ours);
    struct dlt_onnx_ints axes = {0};
    int64_t axis = dlt_onnx_integer(b, "axis", 0);
    int found = 1, x, rank;

    if (argument)
        axes = (struct dlt_onnx_ints){&axis, 1};
    else
        found = dlt_onnx_list_or_input(b, "axes", 1, &axes);
    if (found < 0)
        return 0;
    if (axes.count == 0 && dlt_onnx_integer(b, "noop_with_empty_axes", 0))
        return dlt_onnx_bind_value(b, 0, dlt_onnx_input(b, 0)) ? -1 : 1;
    x = dlt_onnx_needed(b, 0);
    if (x < 0)
        return -1;
    rank = dlt_builder_tensor(b->builder, x)->rank;
    if (axes.count > DLT_RANK)
        return dlt_fail(b->error, "%zu axes; %d is the most", axes.count, DLT_RANK);
    for (size_t i = 0; i < axes.count; i++) {
        int wrapped;

        if (dlt_onnx_axis(b, axes.value[i], rank, &wrapped))
            return -1;
    }
    if (rank == 0)
        return dlt_onnx_bind(b, 0, x) ? -1 : 1;
    if (axes.count > 0)
        dlt_onnx_set_list(&layer, "dim", axes.value, axes.count);
    dlt_onnx_set(&layer, "keepdim", dlt_onnx_integer(b, "keepdims", 1) != 0);
    return dlt_onnx_bind(b, 0, dlt_onnx_add(b, &layer, &x, 1)) ? -1 : 1;
}

/* ---- quantization ---- */

/* Whole numbers that stand for a weight are a parameter of the same shape. */
static int quantized_weight(struct dlt_onnx_build *b, const struct dlt_onnx_value *in)
{
    struct dlt_onnx_value value = {.kind = DLT_ONNX_PARAMETER, .tensor = -1};
    struct dlt_onnx_tensor *weight = dlt_onnx_alloc(&b->arena, 1, sizeof *weight, b->error);

    if (!weight)
        return -1;
    *weight = *in->constant;
    weight->type = DLT_ONNX_FLOAT;
    weight->ints = NULL;
    value.constant = weight;
    value.key = dlt_onnx_initializer_key(weight);
    b->state -= (double)weight->count; /* not among the initializers of real numbers */
    return dlt_onnx_bind_value(b, 0, &value) ? -1 : 1;
}

/* To whole numbers and back: weights stay weights, tensors pass a kernel each time. */
static int plain_quantization(struct dlt_onnx_build *b)
{
    struct dlt_onnx_value *in = dlt_onnx_input(b, 0);
    struct dlt_onnx_tensor shape, room;
    int x;

    if (in->kind == DLT_ONNX_CONSTANT && in->constant->name >= 0 && in->constant->rank > 0 &&
        in->constant->count > 0)
        return quantized_weight(b, in);
    if (in->kind != DLT_ONNX_TENSOR)
        return dlt_onnx_bind_value(b, 0, in) ? -1 : 1;
    shape = *dlt_onnx_shape(b, in, &room);
    shape.type = DLT_ONNX_FLOAT;
    x = in->tensor;
    return dlt_onnx_bind(b, 0, dlt_onnx_add_given(b, DLT_ONNX_GIVEN_PLAIN, &shape, &x, 1)) ? -1 : 1;
}

/* ---- table ---- */

bool dlt_onnx_known_domain(const char *domain)
{
    return !*domain || strcmp(domain, "com.microsoft") == 0;
}

int dlt_onnx_plain_node(struct dlt_onnx_build *b)
{
    const char *op = b->node->op;

    if (!dlt_onnx_known_domain(b->node->domain) || !dlt_onnx_input(b, 0))
        return 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].theirs, op) == 0)
            return plain_function(b, functions[i].ours);
    for (size_t i = 0; i < sizeof arithmetic / sizeof *arithmetic; i++)
        if (strcmp(arithmetic[i].theirs, op) == 0)
            return plain_arithmetic(b, i);
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (strcmp(reductions[i].theirs, op) == 0)
            return plain_reduction(b, reductions[i].ours);
    if (strcmp(op, "Softmax") == 0 || strcmp(op, "LogSoftmax") == 0)
        return plain_softmax(b);
    if (strcmp(op, "QuantizeLinear") == 0 || strcmp(op, "DequantizeLinear") == 0)
        return plain_quantization(b);
    return 0;
}
