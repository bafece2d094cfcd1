/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "base/grow.h"

enum { MOST_LAYERS = 1 << 24 };

struct bench_extent bench_extent_of(void *buffer, size_t size)
{
    return (struct bench_extent){.buffer = buffer, .size = size, .first = INT32_MAX, .last = -1};
}

void bench_plan_clear(struct bench_plan *plan)
{
    free(plan->extent);
    *plan = (struct bench_plan){0};
}

void bench_plan_open(struct bench_plan *plan)
{
    bench_plan_clear(plan);
    plan->open = true;
}

int bench_plan_add(struct bench_plan *plan, struct bench_extent *extent, struct dlt_error *error)
{
    if (dlt_grow(&plan->extent, sizeof *plan->extent, plan->count, 1, &plan->room)) {
        dlt_fail_memory(error);
        return BENCH_NO_MEMORY;
    }
    plan->extent[plan->count++] = extent;
    return BENCH_OK;
}

static int moment(int order, enum dlt_pass pass)
{
    if (pass == DLT_FORWARD)
        return order;
    if (pass == DLT_UPDATE)
        return 2 * MOST_LAYERS + order;
    return 2 * MOST_LAYERS - 1 - order;
}

void bench_plan_use(struct bench_extent *extent, int order, enum dlt_pass pass)
{
    int now = moment(order, pass);

    extent->first = now < extent->first ? now : extent->first;
    extent->last = now > extent->last ? now : extent->last;
}

static int larger_first(const void *a, const void *b)
{
    const struct bench_extent *x = *(struct bench_extent *const *)a;
    const struct bench_extent *y = *(struct bench_extent *const *)b;

    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return (x->first > y->first) - (x->first < y->first);
}

static bool together(const struct bench_extent *a, const struct bench_extent *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The smallest gap between what is placed and alive with `extent`; placed is sorted by offset. */
static size_t find_gap(struct bench_extent *const *placed, size_t count,
                       const struct bench_extent *extent)
{
    size_t best = SIZE_MAX, smallest = SIZE_MAX, end = 0;

    for (size_t i = 0; i < count; i++) {
        if (!together(placed[i], extent))
            continue;
        if (placed[i]->offset >= end + extent->size && placed[i]->offset - end < smallest) {
            smallest = placed[i]->offset - end;
            best = end;
        }
        if (placed[i]->offset + placed[i]->size > end)
            end = placed[i]->offset + placed[i]->size;
    }
    return best < SIZE_MAX ? best : end;
}

/* Returns the bytes that all of them take together. */
static size_t place_all(struct bench_extent *const *sorted, size_t count,
                        struct bench_extent **placed)
{
    size_t most = 0;

    for (size_t i = 0; i < count; i++) {
        struct bench_extent *extent = sorted[i];
        size_t at = i;

        extent->offset = find_gap(placed, i, extent);
        while (at > 0 && placed[at - 1]->offset > extent->offset)
            at--;
        memmove(&placed[at + 1], &placed[at], (i - at) * sizeof(struct bench_extent *));
        placed[at] = extent;
        if (extent->offset + extent->size > most)
            most = extent->offset + extent->size;
    }
    return most;
}

/* An extent's begin or end. */
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

static double most_alive(struct bench_extent *const *extent, size_t count, struct event *event)
{
    double alive = 0, most = 0;

    for (size_t i = 0; i < count; i++) {
        event[2 * i] = (struct event){extent[i]->first, (double)extent[i]->size};
        event[2 * i + 1] = (struct event){extent[i]->last, -(double)extent[i]->size};
    }
    qsort(event, 2 * count, sizeof *event, by_moment);
    for (size_t i = 0; i < 2 * count; i++) {
        alive += event[i].bytes;
        most = alive > most ? alive : most;
    }
    return most;
}

/* Those that are to be placed, the largest first; what nothing uses goes together. */
static size_t list_extents(struct bench_plan *plan, struct bench_extent **list)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->count; i++) {
        struct bench_extent *extent = plan->extent[i];

        if (extent->apart)
            continue;
        if (extent->last < 0)
            extent->first = extent->last = 0;
        plan->sum_bytes += (double)extent->size;
        list[count++] = extent;
    }
    qsort(list, count, sizeof(struct bench_extent *), larger_first);
    return count;
}

int bench_plan_place(struct bench_plan *plan, size_t *bytes, struct dlt_error *error)
{
    struct bench_extent **list = calloc(plan->count + 1, sizeof *list);
    struct bench_extent **placed = calloc(plan->count + 1, sizeof *placed);
    struct event *event = calloc(2 * plan->count + 1, sizeof *event);
    int status = BENCH_OK;

    plan->open = false;
    if (!list || !placed || !event) {
        dlt_fail_memory(error);
        status = BENCH_NO_MEMORY;
    } else {
        size_t count = list_extents(plan, list);

        plan->least_bytes = most_alive(list, count, event);
        if (plan->sum_bytes < (double)(SIZE_MAX / 2))
            *bytes = place_all(list, count, placed);
        else {
            dlt_fail(error, "a step takes more memory than can be addressed");
            status = BENCH_NO_MEMORY;
        }
    }
    free(list);
    free(placed);
    free(event);
    return status;
}

bool bench_plan_holds(const struct bench_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct bench_extent *a = plan->extent[i];

        for (size_t j = 0; j < i; j++) {
            const struct bench_extent *b = plan->extent[j];

            if (!a->apart && !b->apart && together(a, b) && a->offset < b->offset + b->size &&
                b->offset < a->offset + a->size)
                return false;
        }
    }
    return true;
}
