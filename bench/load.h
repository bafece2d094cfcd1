/*
 * load.h - open a backend by name.
 */
#ifndef DLBENCH_LOAD_H
#define DLBENCH_LOAD_H

#include "backend.h"
#include "pin.h"

/* A backend with an open device. */
struct bench_session {
    const struct dlbench_backend *backend;
    struct bench_context *context;
    struct bench_cpus cpus;
    double memory_bytes; /* what layers may take */
    int threads;         /* that layers run on; 0 on a device of its own, such as a GPU */
    struct dlt_device device;
    struct dlt_software software;
};

struct bench_session_options {
    const char *backend;      /* "onednn", "cuda" */
    int device, threads;      /* threads 0: all CPUs that the process may use */
    double memory_bytes;      /* 0: as below, or 80 % of what a device of its own has free */
    double host_memory_bytes; /* 0: half of what is free */
    bool find, touch;         /* see struct bench_options */
    uint64_t seed;
};

/* The backend that a name means for a device: "cuda" is cuda12 or cuda13, as the driver and the
 * GPU's compute capability ask for; fails, with one sentence, where there is no driver or no build
 * that serves. Other names mean themselves. */
int bench_backend_resolve(const char *name, int device, const char **resolved,
                          struct dlt_error *error);
/* Loads backend_NAME.so beside dlbench or from where it is installed. The object stays loaded. A
 * name that is no backend gets the nearest one suggested. */
int bench_backend_load(const char *name, const struct dlbench_backend **backend,
                       struct dlt_error *error);
/* Names of the backends that are there, as "onednn, cuda"; for messages. */
void bench_backend_list(char *buffer, size_t size);

int bench_session_open(const struct bench_session_options *options, struct bench_session *session,
                       struct dlt_error *error);
void bench_session_close(struct bench_session *session);

/* Whether the device still does what it is told: after some errors of a kernel no later call of the
 * same process succeeds. For after a failure; waits for the queue, and moves mark 0. */
bool bench_session_answers(const struct bench_session *session);

/* ", 2 threads" for a screen's first line; "" on a device of its own. */
const char *bench_threads_text(int threads, char buffer[32]);

/* Bytes of memory that this process may still take: the machine's, or what the cgroup's limit or
 * those of the address space and of data (ulimit -v, -d) leave. */
double bench_memory_free(void);

#endif
