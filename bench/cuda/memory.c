/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "../shapes.h"
#include "cuda.h"
#include "half.h"

enum { ALIGNMENT = 256 };

size_t bench_type_size(enum bench_type type)
{
    static const size_t sizes[BENCH_TYPES] = {4, 2, 2, 4, 1};

    return sizes[type];
}

void bench_release(struct bench_context *context)
{
    /* What is queued may still use it. */
    (void)cudaStreamSynchronize(context->stream);
    bench_own_none(&context->owned);
    bench_plan_clear(&context->plan);
    context->arena.used = 0;
}

char *bench_arena_take(struct bench_arena *arena, size_t size)
{
    char *memory = arena->base + arena->used;

    if (size > arena->size - arena->used)
        return NULL;
    arena->used += size;
    return memory;
}

int bench_buffer_place(struct bench_buffer *buffer, struct dlt_error *error)
{
    struct bench_buffer *root = buffer->root;
    struct bench_arena *arena = root->arena;

    if (root->data)
        return BENCH_OK;
    root->extent.apart = true;
    root->data = bench_arena_take(arena, root->extent.size);
    if (!root->data) {
        dlt_fail(error, "its tensors do not fit into %zu MiB", arena->size >> 20);
        return BENCH_NO_MEMORY;
    }
    return BENCH_OK;
}

int bench_buffer_create(struct bench_context *context, enum bench_type type, bool last,
                        const struct bench_shape *shape, int copies, struct bench_buffer **buffer,
                        struct dlt_error *error)
{
    struct bench_buffer *made = bench_own_zeroed(&context->owned, 1, sizeof *made, error);
    size_t bytes, total;

    if (!made)
        return BENCH_NO_MEMORY;
    made->type = type;
    made->last = last && shape->rank > 2;
    made->shape = *shape;
    made->copies = copies;
    made->count = bench_shape_count(shape);
    bytes = made->count * bench_type_size(type);
    made->pitch = (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    if (__builtin_mul_overflow(made->pitch, (size_t)copies, &total))
        total = SIZE_MAX; /* fits nowhere */
    made->arena = &context->arena;
    made->root = made;
    made->extent = bench_extent_of(made, total);
    *buffer = made;
    if (context->plan.open)
        return bench_plan_add(&context->plan, &made->extent, error);
    return bench_buffer_place(made, error);
}

int bench_buffer_alias(struct bench_context *context, const struct bench_buffer *buffer,
                       const struct bench_shape *shape, size_t offset, struct bench_buffer **alias,
                       struct dlt_error *error)
{
    struct bench_buffer *made = bench_own_zeroed(&context->owned, 1, sizeof *made, error);

    if (!made)
        return BENCH_NO_MEMORY;
    *made = *buffer;
    made->shape = *shape;
    made->offset += offset;
    *alias = made;
    return BENCH_OK;
}

void *bench_buffer_data(const struct bench_buffer *buffer, int copy)
{
    return buffer->root->data + buffer->offset + (size_t)(copy % buffer->copies) * buffer->pitch;
}

int bench_buffer_fill(struct bench_context *context, struct bench_buffer *buffer, float center,
                      float spread, struct dlt_error *error)
{
    struct bench_fill_arguments fill = {.count = (long long)buffer->count,
                                        .center = center,
                                        .spread = spread,
                                        .seed = context->random++};
    struct bench_call call = {.kernel = "fill",
                              .type = buffer->type,
                              .grid = {bench_blocks(context, fill.count)},
                              BENCH_ARGUMENTS(fill),
                              .pointer = {BENCH_POINTER(fill, out, buffer)}};
    int status = bench_buffer_place(buffer, error);

    for (int copy = 0; copy < buffer->copies && status == BENCH_OK; copy++)
        status = bench_call_now(context, &call, copy, error);
    return status;
}

int bench_buffer_labels(struct bench_context *context, struct bench_buffer *buffer, int64_t classes,
                        struct dlt_error *error)
{
    struct bench_labels_arguments labels = {
        .count = (long long)buffer->count, .classes = classes, .seed = context->random++};
    struct bench_call call = {.kernel = "labels",
                              .type = BENCH_TYPES,
                              .grid = {bench_blocks(context, labels.count)},
                              BENCH_ARGUMENTS(labels),
                              .pointer = {BENCH_POINTER(labels, out, buffer)}};
    int status = bench_buffer_place(buffer, error);

    for (int copy = 0; copy < buffer->copies && status == BENCH_OK; copy++)
        status = bench_call_now(context, &call, copy, error);
    return status;
}

int bench_buffer_spread(struct bench_context *context, struct bench_buffer *buffer,
                        struct dlt_error *error)
{
    int status = BENCH_OK;

    for (int i = 1; i < buffer->copies && status == BENCH_OK; i++)
        status =
            bench_cuda(cudaMemcpyAsync(bench_buffer_data(buffer, i), bench_buffer_data(buffer, 0),
                                       buffer->count * bench_type_size(buffer->type),
                                       cudaMemcpyDeviceToDevice, context->stream),
                       "copying", error);
    return status;
}

int bench_buffer_write(struct bench_context *context, struct bench_buffer *buffer,
                       const void *values, struct dlt_error *error)
{
    int status = bench_buffer_place(buffer, error);

    if (status == BENCH_OK)
        status = bench_cuda(cudaMemcpyAsync(bench_buffer_data(buffer, 0), values,
                                            buffer->count * bench_type_size(buffer->type),
                                            cudaMemcpyHostToDevice, context->stream),
                            "writing", error);
    if (status == BENCH_OK)
        status = bench_buffer_spread(context, buffer, error);
    /* The values belong to the caller again. */
    return status ? status : bench_cuda(cudaStreamSynchronize(context->stream), "writing", error);
}

static double value_at(const char *raw, enum bench_type type, size_t i)
{
    unsigned short half;
    int32_t whole;
    float single;

    switch (type) {
    case BENCH_F32:
        memcpy(&single, raw + 4 * i, sizeof single);
        return (double)single;
    case BENCH_F16:
        memcpy(&half, raw + 2 * i, sizeof half);
        return (double)bench_half_value(half);
    case BENCH_B16:
        memcpy(&half, raw + 2 * i, sizeof half);
        return (double)bench_bfloat_value(half);
    case BENCH_I32:
        memcpy(&whole, raw + 4 * i, sizeof whole);
        return whole;
    default:
        return (unsigned char)raw[i];
    }
}

/* Where element i of the canonical order is stored. */
static size_t place_of(const struct bench_buffer *buffer, size_t i)
{
    size_t plane = 1, channels = (size_t)buffer->shape.dim[1], image;

    if (!buffer->last)
        return i;
    for (int d = 2; d < buffer->shape.rank; d++)
        plane *= (size_t)buffer->shape.dim[d];
    image = i / plane / channels;
    return (image * plane + i % plane) * channels + i / plane % channels;
}

int bench_buffer_read(struct bench_context *context, const struct bench_buffer *buffer,
                      double *values, size_t count, struct dlt_error *error)
{
    char *raw;
    int status;

    if (count != buffer->count)
        return dlt_fail(error, "the array has %zu values, not %zu", buffer->count, count);
    raw = malloc(count * bench_type_size(buffer->type) + 1);
    if (!raw)
        return dlt_fail_memory(error);
    status = bench_cuda(cudaStreamSynchronize(context->stream), "the queue", error);
    if (status == BENCH_OK)
        status =
            bench_cuda(cudaMemcpy(raw, bench_buffer_data(buffer, 0),
                                  count * bench_type_size(buffer->type), cudaMemcpyDeviceToHost),
                       "reading", error);
    for (size_t i = 0; i < count && status == BENCH_OK; i++)
        values[i] = value_at(raw, buffer->type, place_of(buffer, i));
    free(raw);
    return status;
}

int bench_workspace(struct bench_context *context, size_t size, struct dlt_error *error)
{
    int status;

    if (size <= context->workspace_size)
        return BENCH_OK;
    status = bench_cuda(cudaStreamSynchronize(context->stream), "the queue", error);
    if (status)
        return status;
    (void)cudaFree(context->workspace);
    context->workspace = NULL;
    context->workspace_size = 0;
    status = bench_cuda(cudaMalloc((void **)&context->workspace, size), "workspace", error);
    if (status == BENCH_OK)
        context->workspace_size = size;
    return status;
}

int bench_tensor_make(struct bench_context *context, enum bench_type type, bool last,
                      const struct bench_shape *shape, int copies, struct bench_tensor **tensor,
                      struct dlt_error *error)
{
    struct bench_tensor *made = bench_own_zeroed(&context->owned, 1, sizeof *made, error);

    if (!made)
        return BENCH_NO_MEMORY;
    made->context = context;
    made->shape = *shape;
    *tensor = made;
    return bench_buffer_create(context, type, last, shape, copies, &made->value, error);
}

int bench_tensor_create(struct bench_context *context, const struct bench_shape *shape,
                        struct bench_tensor **tensor, struct dlt_error *error)
{
    int status = bench_tensor_make(context, BENCH_F32, false, shape, 1, tensor, error);

    return status ? status : bench_buffer_fill(context, (*tensor)->value, 0, 1, error);
}
