/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "onednn.h"

int bench_arena_open(struct bench_arena *arena, size_t size, bool touch, struct dlt_error *error)
{
    arena->base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena->base == MAP_FAILED) {
        arena->base = NULL;
        return dlt_fail(error, "%zu MiB for tensors: %s", size >> 20, strerror(errno));
    }
    arena->size = size;
    arena->touched = touch ? 0 : size;
    (void)madvise(arena->base, size, MADV_HUGEPAGE);
    return 0;
}

void bench_arena_close(struct bench_arena *arena)
{
    if (arena->base)
        munmap(arena->base, arena->size);
    memset(arena, 0, sizeof *arena);
}

size_t bench_arena_round(size_t size)
{
    /* Odd multiples of a cache line between arrays, so that equal arrays do not fall into the same
     * sets of the caches. */
    size_t rounded;

    if (__builtin_add_overflow(size, (size_t)127, &rounded))
        return SIZE_MAX;
    return (rounded & ~(size_t)63) | 64;
}

void *bench_arena_take(struct bench_arena *arena, size_t size)
{
    size_t rounded = bench_arena_round(size);
    void *memory;

    if (rounded > arena->size - arena->used)
        return NULL;
    memory = arena->base + arena->used;
    arena->used += rounded;
    if (arena->used > arena->touched) {
        memset(arena->base + arena->touched, 0, arena->used - arena->touched);
        arena->touched = arena->used;
    }
    return memory;
}

void bench_release(struct bench_context *context)
{
    bench_own_none(&context->owned);
    context->arena.used = 0;
    bench_plan_clear(&context->plan);
}
