/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/blas.h"

#include <cblas.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/error.h"
#include "learn/parallel.h"

/* MiB: BLAS's buffer and a little to compute with; beside it a stack and an arena of malloc. */
enum { FIRST = 160, FURTHER = 300 };

static bool has_room(int threads)
{
    size_t size = ((size_t)FIRST + (size_t)(threads - 1) * FURTHER) << 20;
    void *place = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

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
    struct rlimit limit;

    openblas_set_num_threads(1);
    if (*threads <= 0)
        *threads = dlt_parallel_cpus();
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    while (*threads > 0 && !has_room(*threads))
        --*threads;
    if (*threads <= 0)
        return dlt_fail(error,
                        "training needs %d MiB more than the limit on this process's address space "
                        "leaves; raise it (ulimit -v)",
                        FIRST);
    take_buffer();
    return 0;
}
