/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"

struct bench_plan *bench_planned(struct bench_context *context)
{
    return &context->plan;
}

void bench_use(const struct bench_layer *layer, enum dlt_pass pass,
               const struct bench_buffer *buffer)
{
    if (buffer)
        bench_plan_use(&buffer->root->extent, layer->order, pass);
}

int bench_planned_end(struct bench_context *context, struct dlt_error *error)
{
    struct bench_plan *plan = &context->plan;
    struct bench_arena *arena = &context->arena;
    size_t bytes = 0;
    char *base;
    int status = bench_plan_place(plan, &bytes, error);

    if (status)
        return status;
    plan->apart_bytes = (double)(arena->used + context->workspace_size);
    base = bench_arena_take(arena, bytes);
    if (!base) {
        dlt_fail(error, "a step takes %zu MiB, and there are %zu", (arena->used + bytes) >> 20,
                 arena->size >> 20);
        return BENCH_NO_MEMORY;
    }
    for (size_t i = 0; i < plan->count; i++) {
        struct bench_buffer *buffer = plan->extent[i]->buffer;

        if (!plan->extent[i]->apart)
            buffer->data = base + plan->extent[i]->offset;
    }
    return BENCH_OK;
}
