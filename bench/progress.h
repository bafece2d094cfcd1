/*
 * progress.h - how far a run is: a bar on a terminal, a plain line every ten seconds elsewhere.
 */
#ifndef DLBENCH_PROGRESS_H
#define DLBENCH_PROGRESS_H

#include "dltime.h"

struct bench_progress {
    const char *command;
    bool terminal, quiet;
    double start_s, shown_s; /* monotonic clock */
    double budget_s;         /* 0 or INFINITY: none */
    double total;            /* things to do; 0: as many as the budget allows */
};

/* start_s: when the command started, on the monotonic clock. */
void bench_progress_start(struct bench_progress *progress, const char *command, double start_s,
                          double budget_s, double total, bool quiet);
/* done: things done. what: the current one. rows: lines written so far. */
void bench_progress_show(struct bench_progress *progress, double done, size_t rows,
                         const char *unit, const char *what);
/* Takes the bar away. */
void bench_progress_end(struct bench_progress *progress);

/* Share done in [0, 1] and seconds left (NaN: cannot be said yet): by the budget where there is
 * one, by the things done where their number is known; whichever ends first. */
double bench_progress_share(double elapsed_s, double budget_s, double done, double total,
                            double *left_s);

#endif
