/*
 * timer.h - how one pass of one layer is timed: warm-up until stable, then five repeats of as many
 * iterations as make a repeat long enough to be read off a clock.
 */
#ifndef DLBENCH_TIMER_H
#define DLBENCH_TIMER_H

#include "backend.h"
#include "dltime.h"

enum { BENCH_REPEATS = 5 };

struct bench_timer_settings {
    double repeat_s;  /* a repeat lasts at least this long */
    double limit_s;   /* an iteration that takes longer is not worth measuring */
    double stable;    /* warm-up ends when two batches agree within this share ... */
    double warm_up_s; /* ... or after this time */
    double disturbed; /* a middle_s / median_s above this is measured again, then marked */
};

/* What dlbench uses where nothing else is said. */
extern const struct bench_timer_settings bench_timer_defaults;

/* Seconds for one iteration. */
struct bench_times {
    double median_s, min_s, max_s, std_s;
    double middle_s; /* range of the middle half (of five: the second to the fourth) */
    int repeats;
    int64_t iterations; /* in each repeat */
    bool disturbed;
};

/* Statistics of `count` values (1 <= count <= 64): median (mean of the middle two), extremes, and
 * standard deviation with count - 1. */
void bench_times_of(const double *seconds, int count, struct bench_times *times);

/* Iterations that last at least repeat_s, one taking iteration_s; from 1 to 100 million. */
int64_t bench_timer_iterations(double iteration_s, double repeat_s);

/*
 * Times a pass. Returns 0; 1 where one iteration takes longer than the limit (times->median_s then
 * holds what it took); or -1.
 */
int bench_timer_measure(const struct dlbench_backend *backend, struct bench_context *context,
                        struct bench_layer *layer, enum dlt_pass pass,
                        const struct bench_timer_settings *settings, struct bench_times *times,
                        struct dlt_error *error);

/* Seconds of the monotonic clock. */
double bench_now(void);

#endif
