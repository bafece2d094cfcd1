/*
 * bench.h - what every benchmark program shares: a clock, the peak memory and a line of the table.
 *
 * A program prints one line a figure with bench_line and ends with bench_status(). Prefer counts
 * and ratios, which hold on any machine, to seconds; a limit is what the design promises.
 */
#ifndef DLT_TESTS_BENCH_H
#define DLT_TESTS_BENCH_H

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "base/text.h"

static int bench_over; /* figures past their limit */

/* Seconds of a clock that only runs forward. */
static inline double bench_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds of the processor: of what waits for nobody, where others may use the machine. */
static inline double bench_busy(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Bytes that this process held at the most. */
static inline double bench_peak_memory(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return 1024.0 * (double)usage.ru_maxrss;
}

/* One figure. limit: NAN for none; a figure above it fails the benchmark. */
static inline void bench_line(const char *what, double value, const char *unit, double limit)
{
    char shown[32], bound[32] = "";

    dlt_text_from_double(shown, value, value >= 1000 ? 7 : 3);
    if (isfinite(limit))
        dlt_text_from_double(bound, limit, 6);
    printf("  %-58s %12s %-10s %s%s%s\n", what, shown, unit, *bound ? "limit " : "", bound,
           value > limit ? "  OVER" : "");
    bench_over += value > limit;
}

static inline int bench_status(void)
{
    fflush(stdout);
    return bench_over ? 1 : 0;
}

#endif
