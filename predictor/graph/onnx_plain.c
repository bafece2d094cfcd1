/* SPDX-License-Identifier: Apache-2.0 */
/* Layers without parameters: activations, arithmetic, softmax, reductions, copies. */
#include <string.h>

#include "graph/onnx_build.h"
#include "graph/op.h"

static int need_input(struct dlt_onnx_build *b, size_t k)
{
    struct dlt_onnx_value *value = dlt_onnx_input(b, k);

    return value ? dlt_onnx_tensor(b, value) : dlt_fail(b->error, "its input %zu is left out", k);
}

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
    int input[2] = {need_input(b, 0), -1};
    struct dlt_onnx_layer sum = dlt_onnx_layer("add");
    bool biased = strcmp(b->node->op, "BiasGelu") == 0 || strcmp(b->node->op, "FastGelu") == 0;

    if (input[0] < 0)
        return -1;
    if (biased && dlt_onnx_input(b, 1)) {
        input[1] = need_input(b, 1);
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
        input[k] = need_input(b, k);
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
    int x = need_input(b, 0), axis;

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
    x = need_input(b, 0);
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

/* ---- copies ---- */

/* A tensor that was written for the file's batch, as wide as the others. */
static int widen(struct dlt_onnx_build *b, int tensor, int64_t size)
{
    struct dlt_onnx_value value = {.kind = DLT_ONNX_TENSOR, .tensor = tensor};
    struct dlt_onnx_tensor shape, room;

    shape = *dlt_onnx_shape(b, &value, &room);
    shape.dim[0] = size;
    return dlt_onnx_add_given(b, DLT_ONNX_GIVEN_EXPAND, &shape, &tensor, 1);
}

static int widen_all(struct dlt_onnx_build *b, int *input, size_t count, int axis)
{
    int64_t widest = 0;

    if (axis == 0 || b->file_batch == 0 || b->file_batch == b->batch)
        return 0;
    for (size_t k = 0; k < count; k++) {
        const struct dlt_tensor *t = dlt_builder_tensor(b->builder, input[k]);

        if (t->rank > 0 && t->dim[0] > widest)
            widest = t->dim[0];
    }
    for (size_t k = 0; k < count; k++) {
        const struct dlt_tensor *t = dlt_builder_tensor(b->builder, input[k]);

        if (t->rank > 0 && t->dim[0] == b->file_batch && widest > b->file_batch &&
            (input[k] = widen(b, input[k], widest)) < 0)
            return -1;
    }
    return 0;
}

/* Parameters put together are a parameter. */
static int concat_parameters(struct dlt_onnx_build *b, int axis)
{
    struct dlt_onnx_value value = {.kind = DLT_ONNX_CONSTANT, .tensor = -1, .key = 0x51ed270b};
    struct dlt_onnx_tensor shape = *dlt_onnx_input(b, 0)->constant, *out;
    bool known = true;
    int64_t at = 0, before = 1, inner = 1;

    shape.dim[axis] = 0;
    for (size_t k = 0; k < b->node->input_count; k++) {
        const struct dlt_onnx_value *part = dlt_onnx_input(b, k);

        shape.dim[axis] += part->constant->dim[axis];
        known &= part->constant->ints || part->constant->reals;
        value.literal |= part->literal;
        if (part->kind == DLT_ONNX_PARAMETER)
            value.kind = DLT_ONNX_PARAMETER;
        value.key = (value.key ^ part->key) * 0x9e3779b97f4a7c15U | 1;
    }
    out = dlt_onnx_constant(b, shape.type, shape.rank, shape.dim, known);
    value.constant = out;
    if (!out)
        return -1;
    for (int d = 0; d < shape.rank; d++) {
        before *= d < axis ? shape.dim[d] : 1;
        inner *= d > axis ? shape.dim[d] : 1;
    }
    for (int64_t row = 0; (out->ints || out->reals) && row < before; row++)
        for (size_t k = 0; k < b->node->input_count; k++) {
            const struct dlt_onnx_tensor *t = dlt_onnx_input(b, k)->constant;
            int64_t run = t->dim[axis] * inner;

            for (int64_t i = 0; i < run; i++, at++)
                dlt_onnx_set_element(out, at, dlt_onnx_element(t, row * run + i),
                                     t->ints ? t->ints[row * run + i] : 0);
        }
    return dlt_onnx_bind_value(b, 0, &value) ? -1 : 1;
}

static int check_concat(struct dlt_onnx_build *b, int *axis, bool *constant)
{
    struct dlt_onnx_tensor first_room, room;
    const struct dlt_onnx_tensor *first, *t;

    if (b->node->input_count == 0 || !dlt_onnx_input(b, 0))
        return dlt_fail(b->error, "needs an input");
    first = dlt_onnx_shape(b, dlt_onnx_input(b, 0), &first_room);
    if (dlt_onnx_axis(b, dlt_onnx_integer(b, "axis", 1), first->rank, axis))
        return -1;
    *constant = true;
    for (size_t k = 0; k < b->node->input_count; k++) {
        if (!dlt_onnx_input(b, k))
            return dlt_fail(b->error, "its input %zu is left out", k);
        t = dlt_onnx_shape(b, dlt_onnx_input(b, k), &room);
        *constant &= dlt_onnx_input(b, k)->kind != DLT_ONNX_TENSOR;
        if (t->rank != first->rank)
            return dlt_fail(b->error, "tensors of %d and of %d dimensions", first->rank, t->rank);
    }
    for (size_t k = 1; *constant && k < b->node->input_count; k++) {
        t = dlt_onnx_input(b, k)->constant;
        for (int d = 0; d < t->rank; d++)
            if (d != *axis && t->dim[d] != first->dim[d])
                return dlt_fail(b->error, "sizes %lld and %lld do not go together",
                                (long long)first->dim[d], (long long)t->dim[d]);
        if (!t->ints != !first->ints && (t->ints || t->reals) && (first->ints || first->reals))
            return dlt_fail(b->error, "whole and real numbers together");
    }
    return 0;
}

static int plain_concat(struct dlt_onnx_build *b)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("concat");
    size_t count = b->node->input_count;
    bool constant = false;
    int *input, axis = 0;

    if (check_concat(b, &axis, &constant))
        return -1;
    if (constant)
        return concat_parameters(b, axis);
    input = dlt_onnx_alloc(&b->arena, count, sizeof *input, b->error);
    if (!input)
        return -1;
    for (size_t k = 0; k < count; k++)
        if ((input[k] = need_input(b, k)) < 0)
            return -1;
    if (widen_all(b, input, count, axis))
        return -1;
    if (count == 1)
        return dlt_onnx_bind(b, 0, input[0]) ? -1 : 1;
    dlt_onnx_set(&layer, "dim", axis);
    return dlt_onnx_bind(b, 0, dlt_onnx_add(b, &layer, input, count)) ? -1 : 1;
}

/* A copy whose shape is known here. */
static int copy_as(struct dlt_onnx_build *b, enum dlt_onnx_given given,
                   const struct dlt_onnx_tensor *shape)
{
    int x = need_input(b, 0);

    return x < 0 || dlt_onnx_bind(b, 0, dlt_onnx_add_given(b, given, shape, &x, 1)) ? -1 : 1;
}

static int plain_pad(struct dlt_onnx_build *b)
{
    struct dlt_onnx_ints pads, axes;
    struct dlt_onnx_tensor shape, room;
    int found = dlt_onnx_list_or_input(b, "pads", 1, &pads);

    if (found == 0)
        found = dlt_onnx_ints(b, "paddings", &pads);
    if (!dlt_onnx_input(b, 0) || found <= 0)
        return 0;
    shape = *dlt_onnx_shape(b, dlt_onnx_input(b, 0), &room);
    if (!dlt_onnx_value_ints(dlt_onnx_input(b, 3), &axes))
        axes = (struct dlt_onnx_ints){NULL, (size_t)shape.rank};
    if (pads.count != 2 * axes.count)
        return dlt_fail(b->error, "%zu paddings for %zu dimensions", pads.count, axes.count);
    for (size_t i = 0; i < axes.count; i++) {
        int axis = (int)i;

        if (axes.value && dlt_onnx_axis(b, axes.value[i], shape.rank, &axis))
            return -1;
        for (size_t side = 0; side < 2; side++) {
            int64_t pad = pads.value[i + side * axes.count];

            if (pad < -INT32_MAX || pad > INT32_MAX)
                return dlt_fail(b->error, "a padding of %lld", (long long)pad);
            shape.dim[axis] += pad;
        }
    }
    return copy_as(b, DLT_ONNX_GIVEN_PAD, &shape);
}

static int plain_tile(struct dlt_onnx_build *b)
{
    struct dlt_onnx_ints repeats;
    struct dlt_onnx_tensor shape, room;

    if (!dlt_onnx_input(b, 0) || !dlt_onnx_value_ints(dlt_onnx_input(b, 1), &repeats))
        return 0;
    shape = *dlt_onnx_shape(b, dlt_onnx_input(b, 0), &room);
    if (repeats.count != (size_t)shape.rank)
        return dlt_fail(b->error, "%zu repeats for %d dimensions", repeats.count, shape.rank);
    for (int d = 0; d < shape.rank; d++)
        if (repeats.value[d] < 1 || repeats.value[d] > INT32_MAX ||
            __builtin_mul_overflow(shape.dim[d], repeats.value[d], &shape.dim[d]))
            return dlt_fail(b->error, "%lld repeats", (long long)repeats.value[d]);
    return copy_as(b, DLT_ONNX_GIVEN_TILE, &shape);
}

/* The sizes that Resize and Upsample give: 1; 0 not known. */
static int resized(struct dlt_onnx_build *b, struct dlt_onnx_tensor *shape)
{
    bool upsample = strcmp(b->node->op, "Upsample") == 0 || b->node->input_count == 2;
    const struct dlt_onnx_value *scales = dlt_onnx_input(b, upsample ? 1 : 2);
    const struct dlt_onnx_attribute *old = dlt_onnx_attribute(b, "scales");
    const double *scale = old ? old->reals : NULL;
    size_t count = old ? old->real_count : 0;
    struct dlt_onnx_ints sizes;

    if (dlt_onnx_value_ints(dlt_onnx_input(b, 3), &sizes) && sizes.count == (size_t)shape->rank) {
        for (int d = 0; d < shape->rank; d++)
            if (d > 0 || b->file_batch == 0 || sizes.value[0] != b->file_batch ||
                !dlt_onnx_input(b, 3)->literal)
                shape->dim[d] = sizes.value[d];
        return 1;
    }
    if (scales && scales->kind != DLT_ONNX_TENSOR && scales->constant->reals) {
        scale = scales->constant->reals;
        count = (size_t)scales->constant->count;
    }
    if (!scale || count != (size_t)shape->rank)
        return 0;
    for (int d = 0; d < shape->rank; d++) {
        double size = (double)shape->dim[d] * scale[d];

        if (!(size >= 1 && size <= INT32_MAX))
            return dlt_fail(b->error, "a scale of %g", scale[d]);
        shape->dim[d] = (int64_t)size;
    }
    return 1;
}

static int plain_resize(struct dlt_onnx_build *b)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("upsample");
    struct dlt_onnx_tensor shape, room;
    const char *mode = dlt_onnx_word(b, "mode", "nearest");
    int status, x;

    if (!dlt_onnx_input(b, 0))
        return 0;
    shape = *dlt_onnx_shape(b, dlt_onnx_input(b, 0), &room);
    status = resized(b, &shape);
    if (status <= 0)
        return status;
    if (shape.rank < 3 || shape.rank > 5)
        return copy_as(b, DLT_ONNX_GIVEN_TILE, &shape);
    dlt_onnx_set_list(&layer, "size", shape.dim + 2, (size_t)shape.rank - 2);
    if (strcmp(mode, "linear") == 0)
        dlt_onnx_set(&layer, "mode",
                     shape.rank == 3   ? DLT_LINEAR
                     : shape.rank == 4 ? DLT_BILINEAR
                                       : DLT_TRILINEAR);
    if (strcmp(mode, "cubic") == 0)
        dlt_onnx_set(&layer, "mode", shape.rank == 4 ? DLT_BICUBIC : DLT_TRILINEAR);
    x = need_input(b, 0);
    return x < 0 || dlt_onnx_bind(b, 0, dlt_onnx_add(b, &layer, &x, 1)) ? -1 : 1;
}

static int plain_blocks(struct dlt_onnx_build *b)
{
    bool up = strcmp(b->node->op, "DepthToSpace") == 0;
    int64_t size = dlt_onnx_integer(b, "blocksize", 1);
    struct dlt_onnx_tensor shape, room;

    if (!dlt_onnx_input(b, 0))
        return 0;
    shape = *dlt_onnx_shape(b, dlt_onnx_input(b, 0), &room);
    if (shape.rank != 4 || size < 1 || size > 1 << 15)
        return dlt_fail(b->error, "%d dimensions in blocks of %lld", shape.rank, (long long)size);
    if (up ? shape.dim[1] % (size * size) : shape.dim[2] % size || shape.dim[3] % size)
        return dlt_fail(b->error, "blocks of %lld do not divide its input", (long long)size);
    shape.dim[1] = up ? shape.dim[1] / (size * size) : shape.dim[1] * size * size;
    for (int d = 2; d < 4; d++)
        shape.dim[d] = up ? shape.dim[d] * size : shape.dim[d] / size;
    return copy_as(b, DLT_ONNX_GIVEN_TILE, &shape);
}

/* ---- table ---- */

static const struct {
    const char *op;
    int (*add)(struct dlt_onnx_build *);
} others[] = {
    {"Softmax", plain_softmax}, {"LogSoftmax", plain_softmax},  {"Concat", plain_concat},
    {"Pad", plain_pad},         {"Tile", plain_tile},           {"Resize", plain_resize},
    {"Upsample", plain_resize}, {"DepthToSpace", plain_blocks}, {"SpaceToDepth", plain_blocks},
};

static bool is_known_domain(const char *domain)
{
    return !*domain || strcmp(domain, "com.microsoft") == 0;
}

int dlt_onnx_plain_node(struct dlt_onnx_build *b)
{
    const char *op = b->node->op;

    if (!is_known_domain(b->node->domain) || !dlt_onnx_input(b, 0))
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
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].op, op) == 0)
            return others[i].add(b);
    return 0;
}
