/* SPDX-License-Identifier: Apache-2.0 */
#include "timer.h"

#include <math.h>
#include <string.h>
#include <time.h>

const struct bench_timer_settings bench_timer_defaults = {
    .repeat_s = 3e-3, .limit_s = 0.2, .stable = 0.05, .warm_up_s = 20e-3, .disturbed = 0.15};

double bench_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void bench_times_of(const double *seconds, int count, struct bench_times *times)
{
    double sorted[64] = {0};
    double mean = 0, squares = 0;

    for (int i = 0; i < count; i++) {
        int place = i;

        for (; place > 0 && sorted[place - 1] > seconds[i]; place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = seconds[i];
        mean += seconds[i] / count;
    }
    for (int i = 0; i < count; i++)
        squares += (seconds[i] - mean) * (seconds[i] - mean);
    times->median_s = 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]);
    times->min_s = sorted[0];
    times->max_s = sorted[count - 1];
    times->std_s = count > 1 ? sqrt(squares / (count - 1)) : 0;
    times->middle_s = sorted[count - 1 - count / 4] - sorted[count / 4];
    times->repeats = count;
}

int64_t bench_timer_iterations(double iteration_s, double repeat_s)
{
    double wanted = iteration_s > 0 ? ceil(repeat_s / iteration_s) : 1e8;

    return wanted < 1 ? 1 : wanted > 1e8 ? (int64_t)1e8 : (int64_t)wanted;
}

/* One batch between two marks; seconds for one iteration. */
static int batch(const struct dlbench_backend *backend, struct bench_context *context,
                 struct bench_layer *layer, enum dlt_pass pass, int64_t iterations, double *seconds,
                 struct dlt_error *error)
{
    if (backend->mark(context, 0, error) || backend->run(layer, pass, iterations, error) ||
        backend->mark(context, 1, error) || backend->between(context, 0, 1, seconds, error))
        return -1;
    *seconds /= (double)iterations;
    return 0;
}

/* Runs batches until two in a row agree. The first iteration is run by itself: it loads code and
 * tables, and tells how many iterations a batch needs; whether they take too long the next one
 * tells, as a library may compile for seconds first. */
static int warm_up(const struct dlbench_backend *backend, struct bench_context *context,
                   struct bench_layer *layer, enum dlt_pass pass,
                   const struct bench_timer_settings *settings, double *iteration_s,
                   struct dlt_error *error)
{
    double before, now, spent;

    if (batch(backend, context, layer, pass, 1, &before, error) ||
        (before > settings->limit_s && batch(backend, context, layer, pass, 1, &before, error)))
        return -1;
    *iteration_s = before;
    if (before > settings->limit_s)
        return 0;
    for (spent = 0; spent < settings->warm_up_s;) {
        int64_t iterations = bench_timer_iterations(before, settings->repeat_s / 2);

        if (batch(backend, context, layer, pass, iterations, &now, error))
            return -1;
        *iteration_s = now;
        spent += now * (double)iterations;
        if (fabs(now - before) <= settings->stable * before)
            return 0;
        before = now;
    }
    return 0;
}

static int repeat(const struct dlbench_backend *backend, struct bench_context *context,
                  struct bench_layer *layer, enum dlt_pass pass, int64_t iterations,
                  struct bench_times *times, struct dlt_error *error)
{
    double seconds[BENCH_REPEATS];

    for (int i = 0; i < BENCH_REPEATS; i++)
        if (batch(backend, context, layer, pass, iterations, &seconds[i], error))
            return -1;
    bench_times_of(seconds, BENCH_REPEATS, times);
    times->iterations = iterations;
    return 0;
}

int bench_timer_measure(const struct dlbench_backend *backend, struct bench_context *context,
                        struct bench_layer *layer, enum dlt_pass pass,
                        const struct bench_timer_settings *settings, struct bench_times *times,
                        struct dlt_error *error)
{
    struct bench_times again;
    double iteration_s;
    int64_t iterations;

    memset(times, 0, sizeof *times);
    if (warm_up(backend, context, layer, pass, settings, &iteration_s, error))
        return -1;
    times->median_s = iteration_s;
    if (iteration_s > settings->limit_s)
        return 1;
    iterations = bench_timer_iterations(iteration_s, settings->repeat_s);
    if (repeat(backend, context, layer, pass, iterations, times, error))
        return -1;
    if (times->middle_s > settings->disturbed * times->median_s) {
        if (repeat(backend, context, layer, pass, iterations, &again, error))
            return -1;
        if (again.middle_s / again.median_s < times->middle_s / times->median_s)
            *times = again;
        times->disturbed = times->middle_s > settings->disturbed * times->median_s;
    }
    return 0;
}
