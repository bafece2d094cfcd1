/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "../shapes.h"
#include "cuda.h"

int bench_add(struct bench_layer *layer, enum dlt_pass pass,
              int (*run)(struct bench_context *context, const void *what, int copy,
                         struct dlt_error *error),
              const void *what, struct bench_uses uses, struct dlt_error *error)
{
    struct bench_program *program = &layer->program[pass];
    struct bench_step *step = bench_own_zeroed(&layer->context->owned, 1, sizeof *step, error);

    if (!step)
        return BENCH_NO_MEMORY;
    step->run = run;
    step->what = what;
    if (program->latest)
        program->latest->next = step;
    else
        program->first = step;
    program->latest = step;
    for (size_t i = 0; i < uses.count; i++)
        bench_use(layer, pass, uses.buffer[i]);
    return BENCH_OK;
}

static int run_zero(struct bench_context *context, const void *what, int copy,
                    struct dlt_error *error)
{
    const struct bench_buffer *buffer = what;

    return bench_cuda(cudaMemsetAsync(bench_buffer_data(buffer, copy), 0,
                                      buffer->count * bench_type_size(buffer->type),
                                      context->stream),
                      "clearing memory", error);
}

int bench_add_zero(struct bench_layer *layer, enum dlt_pass pass, struct bench_buffer *buffer,
                   struct dlt_error *error)
{
    return bench_add(layer, pass, run_zero, buffer, BENCH_USES(buffer), error);
}

/* One of the kernels that read one array and write one. */
static int add_pair(struct bench_layer *layer, enum dlt_pass pass, const char *kernel,
                    enum bench_type type, const struct bench_buffer *from,
                    const struct bench_buffer *to, struct dlt_error *error)
{
    struct bench_pair_arguments pair = {.count = (long long)from->count};
    struct bench_call call = {
        .kernel = kernel,
        .type = type,
        .grid = {bench_blocks(layer->context, pair.count)},
        BENCH_ARGUMENTS(pair),
        .pointer = {BENCH_POINTER(pair, in, from), BENCH_POINTER(pair, out, to)}};

    return bench_add_call(layer, pass, &call, error);
}

/* Channels to the end, or back. */
static int add_permute(struct bench_layer *layer, enum dlt_pass pass,
                       const struct bench_buffer *from, const struct bench_buffer *to,
                       struct dlt_error *error)
{
    int64_t images = from->shape.dim[0], channels = from->shape.dim[1];
    int64_t plane = (int64_t)from->count / images / channels;
    struct bench_permute_arguments permute = {.images = images,
                                              .rows = (int)(from->last ? plane : channels),
                                              .columns = (int)(from->last ? channels : plane)};
    struct bench_call call = {
        .kernel = "permute",
        .type = from->type,
        .grid = {(unsigned)(permute.columns + 31) / 32, (unsigned)(permute.rows + 31) / 32,
                 (unsigned)(images < 65535 ? images : 65535)},
        BENCH_ARGUMENTS(permute),
        .pointer = {BENCH_POINTER(permute, in, from), BENCH_POINTER(permute, out, to)}};

    if (call.grid[1] > 65535)
        return dlt_fail(error, "%s: its planes are too large to be reordered", layer->name);
    return bench_add_call(layer, pass, &call, error);
}

static int like(struct bench_layer *layer, const struct bench_buffer *from, enum bench_type type,
                bool last, struct bench_buffer **made, struct dlt_error *error)
{
    return bench_buffer_create(layer->context, type, last, &from->shape, from->copies, made, error);
}

/* Through float32, as no kernel goes from one short type to another. */
static int convert_type(struct bench_layer *layer, enum dlt_pass pass, enum bench_type type,
                        struct bench_buffer **buffer, struct dlt_error *error)
{
    struct bench_buffer *from = *buffer;
    int status = BENCH_OK;

    if (from->type != BENCH_F32) {
        status = like(layer, from, BENCH_F32, from->last, buffer, error);
        if (status == BENCH_OK)
            status = add_pair(layer, pass, "widen", from->type, from, *buffer, error);
        from = *buffer;
    }
    if (status || type == BENCH_F32)
        return status;
    status = like(layer, from, type, from->last, buffer, error);
    return status ? status : add_pair(layer, pass, "narrow", type, from, *buffer, error);
}

int bench_convert(struct bench_layer *layer, enum dlt_pass pass, enum bench_type type, bool last,
                  struct bench_buffer **buffer, struct dlt_error *error)
{
    struct bench_buffer *from = *buffer;
    int status = BENCH_OK;

    if (from->type > BENCH_B16)
        return BENCH_OK;
    if (from->type != type)
        status = convert_type(layer, pass, type, buffer, error);
    from = *buffer;
    last = last && from->shape.rank > 2;
    if (status || from->last == last)
        return status;
    status = like(layer, from, from->type, last, buffer, error);
    return status ? status : add_permute(layer, pass, from, *buffer, error);
}

struct pair {
    const struct bench_buffer *from, *to;
};

static int run_copy(struct bench_context *context, const void *what, int copy,
                    struct dlt_error *error)
{
    const struct pair *pair = what;

    return bench_cuda(cudaMemcpyAsync(bench_buffer_data(pair->to, copy),
                                      bench_buffer_data(pair->from, copy),
                                      pair->to->count * bench_type_size(pair->to->type),
                                      cudaMemcpyDeviceToDevice, context->stream),
                      "copying", error);
}

int bench_add_copy(struct bench_layer *layer, enum dlt_pass pass, struct bench_buffer *from,
                   struct bench_buffer *to, bool accumulate, struct dlt_error *error)
{
    struct pair *pair;
    int status = bench_convert(layer, pass, to->type, to->last, &from, error);

    if (status || accumulate)
        return status ? status : add_pair(layer, pass, "accumulate", to->type, from, to, error);
    pair = bench_own_zeroed(&layer->context->owned, 1, sizeof *pair, error);
    if (!pair)
        return BENCH_NO_MEMORY;
    *pair = (struct pair){from, to};
    return bench_add(layer, pass, run_copy, pair, BENCH_USES(from, to), error);
}

int bench_collect(struct bench_layer *layer, int input, struct bench_buffer **target,
                  struct dlt_error *error)
{
    const struct bench_buffer *value = layer->value[input];
    struct bench_tensor *tensor = layer->input[input];
    bool home = tensor->value->type == layer->type && tensor->value->last == value->last;
    int status;

    if (!tensor->gradient && home) {
        status = like(layer, tensor->value, tensor->value->type, tensor->value->last,
                      &tensor->gradient, error);
        *target = tensor->gradient;
        return status;
    }
    return like(layer, value, layer->type, value->last, target, error);
}

int bench_deliver(struct bench_layer *layer, enum dlt_pass pass, int input,
                  struct bench_buffer *target, struct dlt_error *error)
{
    struct bench_tensor *tensor = layer->input[input];
    const struct bench_buffer *value = tensor->value;
    int status;

    if (tensor->gradient == target)
        return BENCH_OK;
    if (tensor->gradient)
        return bench_add_copy(layer, pass, target, tensor->gradient, true, error);
    status = bench_convert(layer, pass, value->type, value->last, &target, error);
    tensor->gradient = target;
    return status;
}

int bench_execute(struct bench_layer *layer, enum dlt_pass pass, int copy, struct dlt_error *error)
{
    for (const struct bench_step *step = layer->program[pass].first; step; step = step->next) {
        int status = step->run(layer->context, step->what, copy, error);

        if (status)
            return status;
    }
    return BENCH_OK;
}

int bench_layer_run(struct bench_layer *layer, enum dlt_pass pass, int64_t iterations,
                    struct dlt_error *error)
{
    return bench_repeat(layer, pass, iterations, layer->copies, &layer->program[pass].next,
                        bench_execute, error);
}
