/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/known.h"
#include "onednn.h"

struct bench_plan *bench_planned(struct bench_context *context)
{
    return &context->plan;
}

void bench_use(const struct bench_layer *layer, enum dlt_pass pass, struct bench_buffer *buffer)
{
    bench_plan_use(&buffer->root->extent, layer->order, pass);
}

static int give_memory(struct bench_buffer *buffer, char *base, struct dlt_error *error)
{
    buffer->data = DLT_KEPT(calloc(1, sizeof *buffer->data));
    if (!buffer->data) {
        dlt_fail_memory(error);
        return BENCH_NO_MEMORY;
    }
    buffer->data[0] = base + buffer->extent.offset;
    return BENCH_OK;
}

int bench_planned_end(struct bench_context *context, struct dlt_error *error)
{
    struct bench_plan *plan = &context->plan;
    size_t bytes = 0;
    char *base;
    int status = bench_plan_place(plan, &bytes, error);

    if (status)
        return status;
    plan->apart_bytes = (double)context->arena.used;
    base = bench_arena_take(&context->arena, bytes ? bytes : 1);
    if (!base) {
        dlt_fail(error, "a step takes %zu MiB, and there are %zu",
                 (context->arena.used + bytes) >> 20, context->arena.size >> 20);
        return BENCH_NO_MEMORY;
    }
    for (size_t i = 0; i < plan->count && status == BENCH_OK; i++)
        if (!plan->extent[i]->apart)
            status = give_memory(plan->extent[i]->buffer, base, error);
    for (size_t i = 0; i < plan->count && status == BENCH_OK; i++)
        status = bench_buffer_bind(plan->extent[i]->buffer, error);
    return status;
}
