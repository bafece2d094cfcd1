/* SPDX-License-Identifier: Apache-2.0 */

/* Memory that is shared by what is never alive together. Each buffer is alive from the first to the
 * last moment at which a pass of a layer uses it; buffers are placed from the largest to the
 * smallest, each into the smallest gap among those that are alive with it (Pisarchyk and Lee 2020,
 * arXiv 2001.03288, "greedy by size"). */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/known.h"
#include "onednn.h"

enum { MOST_LAYERS = 1 << 24 };

int bench_plan_begin(struct bench_context *context, struct dlt_error *error)
{
    (void)error;
    memset(&context->plan, 0, sizeof context->plan);
    context->plan.open = true;
    return BENCH_OK;
}

double bench_plan_least(const struct bench_context *context)
{
    return context->plan.least_bytes;
}

/* Forward runs in the order in which layers were made, backward against it, then the updates. */
static int moment(const struct bench_layer *layer, enum dlt_pass pass)
{
    if (pass == DLT_FORWARD)
        return layer->order;
    if (pass == DLT_UPDATE)
        return 2 * MOST_LAYERS + layer->order;
    return 2 * MOST_LAYERS - 1 - layer->order;
}

void bench_plan_use(const struct bench_layer *layer, enum dlt_pass pass,
                    struct bench_buffer *buffer)
{
    struct bench_buffer *root = buffer->root;
    int now = moment(layer, pass);

    root->first = now < root->first ? now : root->first;
    root->last = now > root->last ? now : root->last;
}

int bench_plan_add(struct bench_context *context, struct bench_buffer *buffer,
                   struct dlt_error *error)
{
    struct bench_plan *plan = &context->plan;

    if (dlt_grow(&plan->buffer, sizeof *plan->buffer, plan->count, 1, &plan->room)) {
        dlt_fail_memory(error);
        return BENCH_NO_MEMORY;
    }
    plan->buffer[plan->count++] = buffer;
    return BENCH_OK;
}

/* A buffer that is to be placed. */
struct item {
    struct bench_buffer *buffer;
    size_t size, offset;
};

static int larger_first(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return (x->buffer->first > y->buffer->first) - (x->buffer->first < y->buffer->first);
}

static bool together(const struct item *a, const struct item *b)
{
    return a->buffer->first <= b->buffer->last && b->buffer->first <= a->buffer->last;
}

/* The smallest gap between the placed items that are alive with `item`; placed is sorted by offset.
 */
static size_t find_gap(struct item *const *placed, size_t count, const struct item *item)
{
    size_t best = SIZE_MAX, smallest = SIZE_MAX, end = 0;

    for (size_t i = 0; i < count; i++) {
        if (!together(placed[i], item))
            continue;
        if (placed[i]->offset >= end + item->size && placed[i]->offset - end < smallest) {
            smallest = placed[i]->offset - end;
            best = end;
        }
        if (placed[i]->offset + placed[i]->size > end)
            end = placed[i]->offset + placed[i]->size;
    }
    return best < SIZE_MAX ? best : end;
}

/* Returns the bytes that all of them take together. */
static size_t place_items(struct item *items, size_t count, struct item **placed)
{
    size_t most = 0;

    qsort(items, count, sizeof *items, larger_first);
    for (size_t i = 0; i < count; i++) {
        struct item *item = &items[i];
        size_t at = i;

        item->offset = find_gap(placed, i, item);
        while (at > 0 && placed[at - 1]->offset > item->offset)
            at--;
        memmove(&placed[at + 1], &placed[at], (i - at) * sizeof(struct item *));
        placed[at] = item;
        if (item->offset + item->size > most)
            most = item->offset + item->size;
    }
    return most;
}

/* An item's begin or end. */
struct event {
    int moment;
    double bytes;
};

static int by_moment(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    if (x->moment != y->moment)
        return x->moment > y->moment ? 1 : -1;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes); /* what begins comes before what ends */
}

static double most_alive(const struct item *items, size_t count, struct event *event)
{
    double alive = 0, most = 0;

    for (size_t i = 0; i < count; i++) {
        event[2 * i] = (struct event){items[i].buffer->first, (double)items[i].size};
        event[2 * i + 1] = (struct event){items[i].buffer->last, -(double)items[i].size};
    }
    qsort(event, 2 * count, sizeof *event, by_moment);
    for (size_t i = 0; i < 2 * count; i++) {
        alive += event[i].bytes;
        most = alive > most ? alive : most;
    }
    return most;
}

/* Roots that have no memory yet; those that nothing uses go together. */
static size_t list_items(const struct bench_plan *plan, struct item *items)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->count; i++) {
        struct bench_buffer *buffer = plan->buffer[i];

        if (buffer->root != buffer || buffer->data)
            continue;
        if (buffer->last < 0)
            buffer->first = buffer->last = 0;
        items[count++] = (struct item){buffer, bench_arena_round(buffer->size), 0};
    }
    return count;
}

static int give_memory(struct bench_context *context, struct item *items, size_t count,
                       size_t bytes, struct dlt_error *error)
{
    char *base = bench_arena_take(&context->arena, bytes ? bytes : 1);

    if (!base) {
        dlt_fail(error, "a step takes %zu MiB, and there are %zu",
                 (context->arena.used + bytes) >> 20, context->arena.size >> 20);
        return BENCH_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        struct bench_buffer *buffer = items[i].buffer;

        buffer->data = DLT_KEPT(calloc(1, sizeof *buffer->data));
        if (!buffer->data) {
            dlt_fail_memory(error);
            return BENCH_NO_MEMORY;
        }
        buffer->data[0] = base + items[i].offset;
    }
    return BENCH_OK;
}

int bench_plan_end(struct bench_context *context, struct dlt_error *error)
{
    struct bench_plan *plan = &context->plan;
    struct item *items = calloc(plan->count + 1, sizeof *items);
    struct item **placed = calloc(plan->count + 1, sizeof *placed);
    struct event *event = calloc(2 * plan->count + 1, sizeof *event);
    int status = BENCH_OK;

    plan->open = false;
    if (!items || !placed || !event) {
        dlt_fail_memory(error);
        status = BENCH_NO_MEMORY;
    } else {
        size_t count = list_items(plan, items);
        double standing = (double)context->arena.used;

        plan->least_bytes = standing + most_alive(items, count, event);
        status = give_memory(context, items, count, place_items(items, count, placed), error);
    }
    for (size_t i = 0; i < plan->count && status == BENCH_OK; i++)
        status = bench_buffer_bind(plan->buffer[i], error);
    free(items);
    free(placed);
    free(event);
    return status;
}
