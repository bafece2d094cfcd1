/*
 * runner.h - measure one sample after the other until the budget or the list ends.
 */
#ifndef DLBENCH_RUNNER_H
#define DLBENCH_RUNNER_H

#include "choose.h"
#include "load.h"
#include "output.h"
#include "progress.h"
#include "quick.h"
#include "sampler.h"

struct bench_runner {
    struct bench_session *session;
    struct bench_sampler *sampler;
    struct bench_output *output;
    struct bench_progress *progress;
    double clock_hz;   /* of the device, where the CPU's own cannot be read */
    double deadline_s; /* on the monotonic clock, for all but the first row; INFINITY: none */
    uint64_t samples;
    const struct bench_quick *quick; /* the telling configurations first; NULL: none */
    double quick_s;                  /* time for them; 0: as much as they take */
    /* Where there is one, each sample is the best of a few; NULL: samples as they are drawn. */
    struct bench_chooser *chooser;

    /* Counted here. */
    uint64_t done;                               /* samples, those of an earlier run included */
    int late;                                    /* samples that were begun after the deadline */
    size_t no_memory, unsupported, slow, failed; /* samples or passes that gave no row */
    bool lost;                                   /* the device: the run ended there */
    char failure[768];                           /* the last failed one's sentence */
};

/* Returns 0, or -1 where the output cannot be written. */
int bench_runner_run(struct bench_runner *runner, struct dlt_error *error);

/*
 * Bytes read and written per second by the largest copy-like operator (relu) that fits: what the
 * header says about memory where the system does not know. 0 where it cannot be measured.
 */
double bench_runner_bandwidth(struct bench_session *session, double memory_bytes);

/* SIGINT and SIGTERM ask for an orderly end; a second one ends the process. */
void bench_signals_catch(void);
bool bench_signals_seen(void);

#endif
