/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { MOST_THREADS = 64 };

struct work {
    size_t count;
    atomic_size_t next;
    void (*job)(void *context, size_t index);
    void *context;
};

static void *take_jobs(void *argument)
{
    struct work *work = argument;
    size_t index;

    while ((index = atomic_fetch_add(&work->next, 1)) < work->count)
        work->job(work->context, index);
    return NULL;
}

void dlt_parallel(int threads, size_t count, void (*job)(void *context, size_t index),
                  void *context)
{
    struct work work = {.count = count, .job = job, .context = context};
    pthread_t helper[MOST_THREADS];
    int started = 0;

    while (started + 1 < threads && started < MOST_THREADS && (size_t)started + 1 < count &&
           pthread_create(&helper[started], NULL, take_jobs, &work) == 0)
        started++;
    take_jobs(&work);
    for (int i = 0; i < started; i++)
        pthread_join(helper[i], NULL);
}

int dlt_parallel_cpus(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}
