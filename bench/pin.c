/* SPDX-License-Identifier: Apache-2.0 */
#include "pin.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

int bench_cpus_parse(const char *text)
{
    int64_t value;

    if (!text || !dlt_text_to_int64(text, &value) || value < 1 || value > BENCH_CPUS)
        return 0;
    return (int)value;
}

int bench_cpus_first(const char *list)
{
    int first = 0;
    size_t i = 0;

    for (; list[i] >= '0' && list[i] <= '9'; i++) {
        if (first > BENCH_CPUS)
            return -1;
        first = 10 * first + (list[i] - '0');
    }
    return i > 0 && first < BENCH_CPUS ? first : -1;
}

/* Whether the CPU is the first of its core's hardware threads. Unknown counts as first. */
static bool leads_core(int cpu)
{
    char path[96];
    char list[64] = "";
    FILE *file;
    int first;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    file = fopen(path, "re");
    if (!file)
        return true;
    if (!fgets(list, sizeof list, file))
        list[0] = '\0';
    fclose(file);
    first = bench_cpus_first(list);
    return first < 0 || first == cpu;
}

int bench_cpus_find(int threads, struct bench_cpus *cpus, struct dlt_error *error)
{
    size_t size = CPU_ALLOC_SIZE(BENCH_CPUS);
    cpu_set_t *set = CPU_ALLOC(BENCH_CPUS);
    int limit = bench_cpus_parse(getenv("SLURM_CPUS_PER_TASK"));

    cpus->count = 0;
    if (!set)
        return dlt_fail_memory(error);
    if (sched_getaffinity(0, size, set) != 0) {
        CPU_FREE(set);
        return dlt_fail(error, "the CPUs that this process may use: %s", strerror(errno));
    }
    for (int leading = 1; leading >= 0; leading--)
        for (int cpu = 0; cpu < BENCH_CPUS; cpu++)
            if (CPU_ISSET_S((size_t)cpu, size, set) && leads_core(cpu) == (leading == 1))
                cpus->cpu[cpus->count++] = cpu;
    CPU_FREE(set);
    if (limit > 0 && limit < cpus->count)
        cpus->count = limit;
    if (threads > cpus->count)
        return dlt_fail(error, "%d threads asked for, but this process may use %d CPUs only",
                        threads, cpus->count);
    if (threads > 0)
        cpus->count = threads;
    return cpus->count > 0 ? 0 : dlt_fail(error, "this process may use no CPU");
}

void bench_unpin(const struct bench_cpus *cpus)
{
    size_t size = CPU_ALLOC_SIZE(BENCH_CPUS);
    cpu_set_t *set = CPU_ALLOC(BENCH_CPUS);

    if (!set)
        return;
    CPU_ZERO_S(size, set);
    for (int i = 0; i < cpus->count; i++)
        CPU_SET_S((size_t)cpus->cpu[i], size, set);
    (void)sched_setaffinity(0, size, set);
    CPU_FREE(set);
}

void bench_pin(int cpu)
{
    static struct bench_cpus one = {.count = 1};

    one.cpu[0] = cpu;
    bench_unpin(&one);
}
