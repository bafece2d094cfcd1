/* SPDX-License-Identifier: Apache-2.0 */
#include "backend_parts.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/grow.h"

int bench_own(struct bench_owned *owned, void *object, void (*destroy)(void *),
              struct dlt_error *error)
{
    if (dlt_grow(&owned->item, sizeof *owned->item, owned->count, 1, &owned->room)) {
        destroy(object);
        return dlt_fail_memory(error);
    }
    owned->item[owned->count++] = (struct bench_owned_object){object, destroy};
    return 0;
}

void *bench_own_zeroed(struct bench_owned *owned, size_t count, size_t size,
                       struct dlt_error *error)
{
    void *memory = calloc(count ? count : 1, size);

    if (!memory) {
        dlt_fail_memory(error);
        return NULL;
    }
    return bench_own(owned, memory, free, error) ? NULL : memory;
}

void bench_own_none(struct bench_owned *owned)
{
    while (owned->count > 0) {
        struct bench_owned_object *last = &owned->item[--owned->count];

        last->destroy(last->object);
    }
}

void bench_own_clear(struct bench_owned *owned)
{
    bench_own_none(owned);
    free(owned->item);
    *owned = (struct bench_owned){0};
}

int bench_repeat(struct bench_layer *layer, enum dlt_pass pass, int64_t iterations, int copies,
                 int *next, bench_execute_pass *execute, struct dlt_error *error)
{
    static const enum dlt_pass backward[] = {DLT_BACKWARD_DATA, DLT_BACKWARD_WEIGHT, DLT_BACKWARD};
    bool all = pass == DLT_BACKWARD;

    for (int64_t i = 0; i < iterations; i++) {
        int copy = *next;

        *next = (copy + 1) % copies;
        for (size_t p = 0; p < (all ? sizeof backward / sizeof *backward : 1); p++)
            if (execute(layer, all ? backward[p] : pass, copy, error))
                return -1;
    }
    return 0;
}
