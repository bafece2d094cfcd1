/* SPDX-License-Identifier: Apache-2.0 */
#include "../pin.h"
#include "onednn.h"

/* The OpenMP runtime that oneDNN runs on, entered through its stable binary interface (libgomp;
 * LLVM's runtime has the same entry), so that any compiler builds this, with or without OpenMP. */
extern void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags);
extern int omp_get_thread_num(void);
extern int omp_get_num_threads(void);
extern void omp_set_num_threads(int threads);
extern void omp_set_dynamic(int dynamic);

struct share {
    size_t count, grain;
    void (*body)(void *data, size_t from, size_t to);
    void *data;
};

static void run_share(void *argument)
{
    const struct share *share = argument;
    size_t threads = (size_t)omp_get_num_threads();
    size_t thread = (size_t)omp_get_thread_num();
    size_t grains = (share->count + share->grain - 1) / share->grain;
    size_t from = grains * thread / threads * share->grain;
    size_t to = grains * (thread + 1) / threads * share->grain;

    if (to > share->count)
        to = share->count;
    if (from < to)
        share->body(share->data, from, to);
}

void bench_parallel(int threads, size_t count, size_t grain,
                    void (*body)(void *data, size_t from, size_t to), void *data)
{
    struct share share = {count, grain, body, data};

    if (threads <= 1 || count <= grain)
        body(data, 0, count);
    else
        GOMP_parallel(run_share, &share, (unsigned)threads, 0);
}

static void pin_this(void *argument)
{
    const int *cpus = argument;

    bench_pin(cpus[omp_get_thread_num()]);
}

void bench_parallel_pin(const int *cpus, int threads)
{
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
    GOMP_parallel(pin_this, (void *)(uintptr_t)cpus, (unsigned)threads, 0);
}
