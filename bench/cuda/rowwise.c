/* SPDX-License-Identifier: Apache-2.0 */

/* Softmax, elementwise functions, dropout and concat. */
#include <string.h>

#include "../shapes.h"
#include "base/known.h"
#include "cuda.h"

int bench_add_softmax(struct bench_layer *layer, enum dlt_pass pass, const char *kernel,
                      const struct bench_softmax_arguments *softmax, const struct bench_buffer *in,
                      const struct bench_buffer *gradient, struct bench_buffer *out,
                      struct dlt_error *error)
{
    struct bench_softmax_arguments arguments = *softmax;

    return bench_add_call(
        layer, pass,
        &(struct bench_call){.kernel = kernel,
                             .type = layer->type,
                             .grid = {bench_row_blocks(arguments.rows)},
                             .block = bench_row_block(arguments.columns),
                             BENCH_ARGUMENTS(arguments),
                             .pointer = {BENCH_POINTER(arguments, in, in),
                                         BENCH_POINTER(arguments, out, out),
                                         BENCH_POINTER(arguments, gradient, gradient)}},
        error);
}

static struct bench_softmax_arguments rows_of(const struct bench_layer *layer)
{
    return (struct bench_softmax_arguments){.rows = layer->record.u.rowwise.rows,
                                            .columns = (int)layer->record.u.rowwise.columns};
}

int bench_softmax_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_softmax_arguments softmax = rows_of(layer);
    int status;

    if (!layer->standalone && layer->options.axis &&
        layer->options.axis != layer->input[0]->shape.rank - 1) {
        dlt_fail(error, "softmax can be run over the last dimension only");
        return BENCH_UNSUPPORTED;
    }
    status = bench_input(layer, 0, error);
    if (status == BENCH_OK)
        status = layer->standalone ? bench_output(layer, error)
                                   : bench_output_shaped(layer, &layer->input[0]->shape, error);
    return status ? status
                  : bench_add_softmax(layer, DLT_FORWARD, "softmax", &softmax, layer->value[0],
                                      NULL, layer->output->value, error);
}

int bench_softmax_backward(struct bench_layer *layer, bool data, bool weight,
                           struct dlt_error *error)
{
    struct bench_softmax_arguments softmax = rows_of(layer);
    struct bench_buffer *gradient = NULL, *target = NULL;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_collect(layer, 0, &target, error);
    if (status == BENCH_OK)
        status = bench_add_softmax(layer, DLT_BACKWARD_DATA, "softmax_back", &softmax,
                                   layer->output->value, gradient, target, error);
    return status ? status : bench_deliver(layer, DLT_BACKWARD_DATA, 0, target, error);
}

/* ---- functions of one operand ---- */

/* Kernels by function; arithmetic with one operand is by a constant. */
static const char *const unary_kernels[DLT_FUNCTIONS] = {
    [DLT_RELU] = "relu",
    [DLT_GELU] = "gelu",
    [DLT_SIGMOID] = "sigmoid",
    [DLT_TANH] = "tanh",
    [DLT_ADD] = "scale",
    [DLT_SUB] = "scale",
    [DLT_MUL] = "scale",
    [DLT_DIV] = "scale",
    [DLT_POW] = "pow",
    [DLT_RELU6] = "relu6",
    [DLT_SILU] = "silu",
    [DLT_HARDSWISH] = "hardswish",
    [DLT_HARDSIGMOID] = "hardsigmoid",
    [DLT_HARDTANH] = "hardtanh",
    [DLT_LEAKY_RELU] = "leaky_relu",
    [DLT_ELU] = "elu",
    [DLT_SOFTPLUS] = "softplus",
    [DLT_MISH] = "mish",
    [DLT_EXP] = "exp",
    [DLT_LOG] = "log",
    [DLT_SQRT] = "sqrt",
    [DLT_ERF] = "erf",
    [DLT_ABS] = "abs",
    [DLT_COPY] = "copy",
};

static int add_unary(struct bench_layer *layer, enum dlt_pass pass, const char *family,
                     const struct bench_buffer *out, const struct bench_buffer *gradient,
                     struct dlt_error *error)
{
    struct bench_unary_arguments unary = {.count = (long long)layer->value[0]->count};
    char kernel[48];

    snprintf(kernel, sizeof kernel, "%s_%s", family,
             unary_kernels[layer->record.u.rowwise.function]);
    return bench_add_call(
        layer, pass,
        &(struct bench_call){.kernel = kernel,
                             .type = layer->type,
                             .grid = {bench_blocks(layer->context, unary.count)},
                             BENCH_ARGUMENTS(unary),
                             .pointer = {BENCH_POINTER(unary, in, layer->value[0]),
                                         BENCH_POINTER(unary, out, out),
                                         BENCH_POINTER(unary, gradient, gradient)}},
        error);
}

/* Input 0 and an output like it. */
static int one_operand(struct bench_layer *layer, struct dlt_error *error)
{
    int status = bench_input(layer, 0, error);

    return status ? status : bench_output_shaped(layer, &layer->input[0]->shape, error);
}

static int unary_forward(struct bench_layer *layer, struct dlt_error *error)
{
    int status = one_operand(layer, error);

    return status ? status
                  : add_unary(layer, DLT_FORWARD, "unary", layer->output->value, NULL, error);
}

static int unary_backward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_buffer *gradient = NULL, *target = NULL;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, &gradient, error);

    if (status == BENCH_OK)
        status = bench_collect(layer, 0, &target, error);
    if (status == BENCH_OK)
        status = add_unary(layer, DLT_BACKWARD_DATA, "unary_back", target, gradient, error);
    return status ? status : bench_deliver(layer, DLT_BACKWARD_DATA, 0, target, error);
}

static int add_dropout(struct bench_layer *layer, enum dlt_pass pass, const char *kernel,
                       const struct bench_buffer *in, const struct bench_buffer *out,
                       struct dlt_error *error)
{
    struct bench_dropout_arguments dropout = {.count = (long long)in->count,
                                              .seed = layer->context->random++};

    return bench_add_call(
        layer, pass,
        &(struct bench_call){.kernel = kernel,
                             .type = layer->type,
                             .grid = {bench_blocks(layer->context, dropout.count)},
                             BENCH_ARGUMENTS(dropout),
                             .pointer = {BENCH_POINTER(dropout, in, in),
                                         BENCH_POINTER(dropout, out, out),
                                         BENCH_POINTER(dropout, mask, layer->mask)}},
        error);
}

static int dropout_forward(struct bench_layer *layer, struct dlt_error *error)
{
    int status = one_operand(layer, error);

    if (status == BENCH_OK)
        status = bench_buffer_create(layer->context, BENCH_U8, layer->last, &layer->output->shape,
                                     layer->copies, &layer->mask, error);
    return status ? status
                  : add_dropout(layer, DLT_FORWARD, "dropout", layer->value[0],
                                layer->output->value, error);
}

static int dropout_backward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_buffer *gradient = NULL, *target = NULL;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, &gradient, error);

    if (status == BENCH_OK)
        status = bench_collect(layer, 0, &target, error);
    if (status == BENCH_OK)
        status = add_dropout(layer, DLT_BACKWARD_DATA, "dropout_back", gradient, target, error);
    return status ? status : bench_deliver(layer, DLT_BACKWARD_DATA, 0, target, error);
}

/* ---- concat: each operand is a block of every row of the output ---- */

/* Rows, and how many elements of a row belong to one index of the axis, as the layout has them. */
static void around_axis(const struct bench_buffer *buffer, int axis, int64_t *outer, int64_t *inner)
{
    int rank = buffer->shape.rank;

    *outer = *inner = 1;
    for (int d = 0; d < rank; d++) {
        int place = !buffer->last || d == 0 ? d : d == 1 ? rank : d;
        int own = !buffer->last || axis == 0 ? axis : axis == 1 ? rank : axis;

        if (d == axis)
            continue;
        *(place < own ? outer : inner) *= buffer->shape.dim[d];
    }
}

/* Copies between an operand and its place in the output or its gradient. */
static int add_block(struct bench_layer *layer, enum dlt_pass pass, const struct bench_buffer *part,
                     const struct bench_buffer *whole, int64_t offset, bool into,
                     struct dlt_error *error)
{
    struct bench_block_arguments block = {.rows = 0};
    struct bench_buffer *place;
    int64_t outer, inner;
    int status;

    around_axis(whole, layer->options.axis, &outer, &inner);
    status =
        bench_buffer_alias(layer->context, whole, &whole->shape,
                           (size_t)(offset * inner) * bench_type_size(whole->type), &place, error);
    if (status)
        return status;
    block.rows = outer;
    block.columns = (int64_t)part->count / outer;
    block.in_pitch = into ? block.columns : (int64_t)whole->count / outer;
    block.out_pitch = into ? (int64_t)whole->count / outer : block.columns;
    return bench_add_call(
        layer, pass,
        &(struct bench_call){.kernel = "block",
                             .type = layer->type,
                             .grid = {bench_blocks(layer->context, (long long)part->count)},
                             BENCH_ARGUMENTS(block),
                             .pointer = {BENCH_POINTER(block, in, into ? part : place),
                                         BENCH_POINTER(block, out, into ? place : part)}},
        error);
}

static int concat_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_shape shape;
    int64_t offset = 0;
    int axis, status = BENCH_OK;

    if (layer->standalone)
        layer->options.axis = bench_concat_axis(&layer->record);
    axis = layer->options.axis;
    for (int i = 0; i < layer->input_count && status == BENCH_OK; i++)
        status = bench_input(layer, i, error);
    if (status)
        return status;
    shape = layer->input[0]->shape;
    for (int i = 1; i < layer->input_count; i++)
        shape.dim[axis] += layer->input[i]->shape.dim[axis];
    status = bench_output_shaped(layer, &shape, error);
    for (int i = 0; i < layer->input_count && status == BENCH_OK; i++) {
        status = add_block(layer, DLT_FORWARD, layer->value[i], layer->output->value, offset, true,
                           error);
        offset += layer->input[i]->shape.dim[axis];
    }
    return status;
}

static int concat_backward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_buffer *gradient = NULL, *target = NULL;
    int64_t offset = 0;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, &gradient, error);

    for (int i = 0; i < layer->input_count && status == BENCH_OK; i++) {
        status = bench_collect(layer, i, &target, error);
        if (status == BENCH_OK)
            status = add_block(layer, DLT_BACKWARD_DATA, target, gradient, offset, false, error);
        if (status == BENCH_OK)
            status = bench_deliver(layer, DLT_BACKWARD_DATA, i, target, error);
        offset += layer->input[i]->shape.dim[layer->options.axis];
    }
    return status;
}

/* ---- which function is run by what ---- */

struct family {
    int (*forward)(struct bench_layer *layer, struct dlt_error *error);
    int (*backward)(struct bench_layer *layer, struct dlt_error *error);
};

static const struct family *family_of(const struct dlt_rowwise *r)
{
    static const struct family unary = {unary_forward, unary_backward};
    static const struct family binary = {bench_binary_forward, bench_binary_backward};
    static const struct family dropout = {dropout_forward, dropout_backward};
    static const struct family concat = {concat_forward, concat_backward};

    if (r->function <= DLT_FUNCTION_NONE || r->function >= DLT_FUNCTIONS)
        return NULL;
    if (r->function == DLT_CONCAT)
        return r->operands >= 1 && r->operands <= BENCH_OPERANDS ? &concat : NULL;
    if (r->function == DLT_DROPOUT)
        return r->operands == 1 ? &dropout : NULL;
    if (r->operands == 1)
        return unary_kernels[r->function] ? &unary : NULL;
    return r->operands == 2 && bench_binary_name(r->function) ? &binary : NULL;
}

bool bench_elementwise_takes(const struct bench_context *context, const struct dlt_record *record)
{
    (void)context;
    return family_of(&record->u.rowwise) != NULL;
}

/* Of a layer that was made, and so was taken. */
static const struct family *taken(const struct bench_layer *layer)
{
    const struct family *family = family_of(&layer->record.u.rowwise);

    DLT_KNOWN(family);
    return family;
}

int bench_elementwise_forward(struct bench_layer *layer, struct dlt_error *error)
{
    /* In a network the first operand's layout is kept. */
    if (!layer->standalone)
        layer->last = layer->input[0]->value->last;
    return taken(layer)->forward(layer, error);
}

int bench_elementwise_backward(struct bench_layer *layer, bool data, bool weight,
                               struct dlt_error *error)
{
    (void)data;
    (void)weight;
    return taken(layer)->backward(layer, error);
}
