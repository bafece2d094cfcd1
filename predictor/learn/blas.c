/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/blas.h"

#include <cblas.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "base/error.h"
#include "learn/parallel.h"

/* MiB: BLAS's buffer and a little to compute with; beside it a stack and an arena of malloc. */
enum { FIRST = 160, FURTHER = 300 };

/* Writable, which limits on data and a kernel that commits no more than it has count as well. */
static bool has_room(int threads)
{
    size_t size = ((size_t)FIRST + (size_t)(threads - 1) * FURTHER) << 20;
    void *place = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (place == MAP_FAILED)
        return false;
    munmap(place, size);
    return true;
}

/* Products so large need the buffer, which is kept: what is allocated from here on may fail. */
static void take_buffer(void)
{
    enum { SIDE = 128 };
    static float zero[SIDE * SIDE], product[SIDE * SIDE];

    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE, SIDE, 1, zero, SIDE, zero,
                SIDE, 0, product, SIDE);
}

int dlt_blas_start(int *threads, struct dlt_error *error)
{
    openblas_set_num_threads(1);
    if (*threads <= 0)
        *threads = dlt_parallel_cpus();
    while (*threads > 0 && !has_room(*threads))
        --*threads;
    if (*threads <= 0)
        return dlt_fail(error,
                        "training needs %d MiB more than the limits on this process's memory "
                        "leave; raise them (ulimit -v, ulimit -d)",
                        FIRST);
    take_buffer();
    return 0;
}
