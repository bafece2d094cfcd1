/*
 * quick_networks.h - the whole networks that a quick run trains for some steps.
 */
#ifndef DLBENCH_QUICK_NETWORKS_H
#define DLBENCH_QUICK_NETWORKS_H

#include "pin.h"

struct bench_quick_networks {
    const char *backend;
    int device, threads;           /* threads 0: all of the CPUs */
    const struct bench_cpus *cpus; /* that the process may use */
    double peak;                   /* FLOP/s of the device; NaN: unknown */
    const char *output;            /* of the operators; the runs' file is named after it */
    bool quiet;
};

/* Where runs that belong to a file of measurements go: x.jsonl, x.runs.jsonl. False where the path
 * is too long. */
bool bench_quick_networks_path(const char *output, char *path, size_t size);

/*
 * Runs `dlbench network` for those that the runs' file does not have yet, and waits for it. A
 * network that the backend cannot run is said and passed over. SIGINT and SIGTERM that this process
 * gets are handed on. Returns -1 where it cannot be started, or is killed.
 */
int bench_quick_networks_run(const struct bench_quick_networks *networks, struct dlt_error *error);

#endif
