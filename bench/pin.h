/*
 * pin.h - the CPUs that this process may use, and how many threads that makes.
 */
#ifndef DLBENCH_PIN_H
#define DLBENCH_PIN_H

#include "dltime.h"

enum { BENCH_CPUS = 4096 };

struct bench_cpus {
    int count;
    int cpu[BENCH_CPUS]; /* one of each core before the second of any */
};

/*
 * The CPUs of the process's affinity mask, limited to SLURM_CPUS_PER_TASK where Slurm set it and to
 * `threads` where that is > 0. Never empty.
 */
int bench_cpus_find(int threads, struct bench_cpus *cpus, struct dlt_error *error);

/* A positive whole number as Slurm writes it into SLURM_CPUS_PER_TASK; 0 for NULL or anything
 * else. */
int bench_cpus_parse(const char *text);

/* The first CPU of a list such as sysfs writes ("3,67" or "2-3"); -1 if it is none. */
int bench_cpus_first(const char *list);

/* Binds the calling thread to one CPU. Not being allowed to is no error: the kernel then decides.
 */
void bench_pin(int cpu);
/* Binds the calling thread, and processes that it starts, to all of the CPUs again. */
void bench_unpin(const struct bench_cpus *cpus);

#endif
