/* parallel.h - independent jobs on a few threads. Results must not depend on which thread or in
 * which order a job runs. */
#ifndef DLT_LEARN_PARALLEL_H
#define DLT_LEARN_PARALLEL_H

#include <stddef.h>

/* Runs job(context, 0 .. count - 1) on at most `threads` threads, the caller's among them. Where a
 * thread cannot be started, the others do its work. */
void dlt_parallel(int threads, size_t count, void (*job)(void *context, size_t index),
                  void *context);

/* CPUs that this process may use. */
int dlt_parallel_cpus(void);

#endif
