/* SPDX-License-Identifier: Apache-2.0 */

/* add, sub, mul, div and maximum of two tensors, with one repeated along the other where their
 * shapes differ. */
#include <string.h>

#include "../shapes.h"
#include "cuda.h"

static const struct {
    const char *name;
    enum bench_binary_function function;
} functions[DLT_FUNCTIONS] = {
    [DLT_ADD] = {"add", BENCH_BINARY_add},
    [DLT_SUB] = {"sub", BENCH_BINARY_sub},
    [DLT_MUL] = {"mul", BENCH_BINARY_mul},
    [DLT_DIV] = {"div", BENCH_BINARY_div},
    [DLT_MAXIMUM] = {"maximum", BENCH_BINARY_maximum},
};

const char *bench_binary_name(int64_t function)
{
    return functions[function].name;
}

static bool same_shape(const struct bench_shape *a, const struct bench_shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof *a->dim * (size_t)a->rank) == 0;
}

/* The larger dimension of each, from the last one on. */
static bool broadcast_shape(const struct bench_shape *a, const struct bench_shape *b,
                            struct bench_shape *out)
{
    out->rank = a->rank > b->rank ? a->rank : b->rank;
    for (int d = 1; d <= out->rank; d++) {
        int64_t left = d <= a->rank ? a->dim[a->rank - d] : 1;
        int64_t right = d <= b->rank ? b->dim[b->rank - d] : 1;

        if (left != right && left != 1 && right != 1)
            return false;
        out->dim[out->rank - d] = left == 1 ? right : left;
    }
    return true;
}

/* Strides of an operand along the output's dimensions: 0 where it is repeated. */
static void strides_of(const struct bench_shape *operand, const struct bench_shape *out,
                       long long stride[BENCH_MAP_RANK])
{
    long long step = 1;

    for (int d = 1; d <= out->rank; d++) {
        int64_t size = d <= operand->rank ? operand->dim[operand->rank - d] : 1;

        stride[out->rank - d] = size == 1 ? 0 : step;
        step *= size;
    }
}

static bool is_broadcast(const struct bench_layer *layer)
{
    return !same_shape(&layer->input[0]->shape, &layer->input[1]->shape);
}

static struct bench_broadcast_arguments broadcast_of(const struct bench_layer *layer)
{
    const struct bench_shape *out = &layer->output->shape;
    struct bench_broadcast_arguments b = {
        .count = (long long)layer->output->value->count,
        .function = (int)functions[layer->record.u.rowwise.function].function,
        .rank = out->rank};

    for (int d = 0; d < out->rank; d++)
        b.dim[d] = out->dim[d];
    strides_of(&layer->input[0]->shape, out, b.stride_a);
    strides_of(&layer->input[1]->shape, out, b.stride_b);
    return b;
}

static int add_equal(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_binary_arguments binary = {.count = (long long)layer->output->value->count};
    char kernel[32];

    snprintf(kernel, sizeof kernel, "binary_%s", functions[layer->record.u.rowwise.function].name);
    return bench_add_call(
        layer, DLT_FORWARD,
        &(struct bench_call){.kernel = kernel,
                             .type = layer->type,
                             .grid = {bench_blocks(layer->context, binary.count)},
                             BENCH_ARGUMENTS(binary),
                             .pointer = {BENCH_POINTER(binary, a, layer->value[0]),
                                         BENCH_POINTER(binary, b, layer->value[1]),
                                         BENCH_POINTER(binary, out, layer->output->value)}},
        error);
}

static int add_broadcast(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_broadcast_arguments broadcast = broadcast_of(layer);

    return bench_add_call(
        layer, DLT_FORWARD,
        &(struct bench_call){.kernel = "broadcast",
                             .type = layer->type,
                             .grid = {bench_blocks(layer->context, broadcast.count)},
                             BENCH_ARGUMENTS(broadcast),
                             .pointer = {BENCH_POINTER(broadcast, a, layer->value[0]),
                                         BENCH_POINTER(broadcast, b, layer->value[1]),
                                         BENCH_POINTER(broadcast, out, layer->output->value)}},
        error);
}

int bench_binary_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_shape shape;
    int status;

    /* Repeating is done in row-major order. */
    if (!layer->standalone && is_broadcast(layer))
        layer->last = false;
    status = bench_input(layer, 0, error);
    if (status == BENCH_OK)
        status = bench_input(layer, 1, error);
    if (status)
        return status;
    if (!broadcast_shape(&layer->input[0]->shape, &layer->input[1]->shape, &shape))
        return dlt_fail(error, "%s: its operands' shapes do not go together", layer->name);
    status = bench_output_shaped(layer, &shape, error);
    if (status)
        return status;
    return is_broadcast(layer) ? add_broadcast(layer, error) : add_equal(layer, error);
}

static int back_equal(struct bench_layer *layer, const struct bench_buffer *gradient,
                      struct bench_buffer *const target[2], struct dlt_error *error)
{
    struct bench_binary_arguments binary = {.count = (long long)gradient->count};
    char kernel[32];

    snprintf(kernel, sizeof kernel, "binary_back_%s",
             functions[layer->record.u.rowwise.function].name);
    return bench_add_call(
        layer, DLT_BACKWARD_DATA,
        &(struct bench_call){.kernel = kernel,
                             .type = layer->type,
                             .grid = {bench_blocks(layer->context, binary.count)},
                             BENCH_ARGUMENTS(binary),
                             .pointer = {BENCH_POINTER(binary, a, layer->value[0]),
                                         BENCH_POINTER(binary, b, layer->value[1]),
                                         BENCH_POINTER(binary, gradient, gradient),
                                         BENCH_POINTER(binary, to_a, target[0]),
                                         BENCH_POINTER(binary, to_b, target[1])}},
        error);
}

/* Sums an array of the output's shape over the dimensions in which the operand is repeated. */
static int add_reduced(struct bench_layer *layer, int operand, const struct bench_buffer *whole,
                       const struct bench_buffer *target, struct dlt_error *error)
{
    const struct bench_shape *out = &layer->output->shape;
    struct bench_reduce_arguments reduce = {.outputs = 1, .reduced = 1, .factor = 1};
    long long stride[BENCH_MAP_RANK] = {0}, step[BENCH_MAP_RANK] = {0};
    long long size = 1;

    strides_of(&layer->input[operand]->shape, out, stride);
    for (int d = out->rank - 1; d >= 0; d--) {
        step[d] = size;
        size *= out->dim[d];
    }
    for (int d = 0; d < out->rank; d++) {
        bool stays = stride[d] != 0;
        int *rank = stays ? &reduce.outer_rank : &reduce.inner_rank;

        (stays ? reduce.outer : reduce.inner)[*rank] = out->dim[d];
        (stays ? reduce.outer_stride : reduce.inner_stride)[*rank] = step[d];
        *(stays ? &reduce.outputs : &reduce.reduced) *= out->dim[d];
        (*rank)++;
    }
    return bench_add_reduce(layer, DLT_BACKWARD_DATA, &reduce, whole, target, error);
}

static int back_broadcast(struct bench_layer *layer, const struct bench_buffer *gradient,
                          struct bench_buffer *const target[2], struct dlt_error *error)
{
    struct bench_broadcast_arguments broadcast = broadcast_of(layer);
    struct bench_buffer *whole[2];
    int status = BENCH_OK;

    for (int i = 0; i < 2 && status == BENCH_OK; i++) {
        whole[i] = target[i];
        if (target[i]->count != gradient->count)
            status = bench_buffer_create(layer->context, layer->type, false, &layer->output->shape,
                                         layer->copies, &whole[i], error);
    }
    if (status == BENCH_OK)
        status = bench_add_call(
            layer, DLT_BACKWARD_DATA,
            &(struct bench_call){.kernel = "broadcast_back",
                                 .type = layer->type,
                                 .grid = {bench_blocks(layer->context, broadcast.count)},
                                 BENCH_ARGUMENTS(broadcast),
                                 .pointer = {BENCH_POINTER(broadcast, a, layer->value[0]),
                                             BENCH_POINTER(broadcast, b, layer->value[1]),
                                             BENCH_POINTER(broadcast, gradient, gradient),
                                             BENCH_POINTER(broadcast, to_a, whole[0]),
                                             BENCH_POINTER(broadcast, to_b, whole[1])}},
            error);
    for (int i = 0; i < 2 && status == BENCH_OK; i++)
        if (whole[i] != target[i])
            status = add_reduced(layer, i, whole[i], target[i], error);
    return status;
}

int bench_binary_backward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_buffer *gradient, *target[2];
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, &gradient, error);

    /* One tensor for both operands gets the second's gradient added to the first's. */
    for (int i = 0; i < 2 && status == BENCH_OK; i++)
        status = bench_collect(layer, i, &target[i], error);
    if (status == BENCH_OK)
        status = is_broadcast(layer) ? back_broadcast(layer, gradient, target, error)
                                     : back_equal(layer, gradient, target, error);
    for (int i = 0; i < 2 && status == BENCH_OK; i++)
        status = bench_deliver(layer, DLT_BACKWARD_DATA, i, target[i], error);
    return status;
}
