/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "timer.h"

enum { BAR = 24 };

static const double terminal_every_s = 0.1, line_every_s = 10;

void bench_progress_start(struct bench_progress *progress, const char *command, double start_s,
                          double budget_s, double total, bool quiet)
{
    *progress = (struct bench_progress){.command = command,
                                        .terminal = isatty(STDERR_FILENO) == 1,
                                        .quiet = quiet,
                                        .start_s = start_s,
                                        .shown_s = start_s,
                                        .budget_s = budget_s,
                                        .total = total};
}

double bench_progress_share(double elapsed_s, double budget_s, double done, double total,
                            double *left_s)
{
    const bool limited = budget_s > 0 && isfinite(budget_s);
    double by_time = limited ? elapsed_s / budget_s : 0;
    double by_count = total > 0 ? done / total : 0;
    double share = fmin(1, fmax(by_time, by_count));

    *left_s = NAN;
    if (limited)
        *left_s = fmax(0, budget_s - elapsed_s);
    if (by_count > 0)
        *left_s = fmin(*left_s, elapsed_s * (1 - by_count) / by_count); /* fmin passes over NaN */
    return share;
}

static void print_left(char text[32], double seconds)
{
    long whole = isnan(seconds) ? 0 : (long)ceil(seconds);

    if (isnan(seconds))
        snprintf(text, 32, "-:--");
    else if (whole >= 3600)
        snprintf(text, 32, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(text, 32, "%ld:%02ld", whole / 60, whole % 60);
}

void bench_progress_show(struct bench_progress *progress, double done, size_t rows,
                         const char *unit, const char *what)
{
    double now = bench_now(), share, left_s;
    char left[32], bar[BAR + 1];

    if (progress->quiet ||
        now - progress->shown_s < (progress->terminal ? terminal_every_s : line_every_s))
        return;
    progress->shown_s = now;
    share = bench_progress_share(now - progress->start_s, progress->budget_s, done, progress->total,
                                 &left_s);
    print_left(left, left_s);
    if (!progress->terminal) {
        fprintf(stderr, "dlbench %s: %3.0f %%, %zu %s, %s left; %s\n", progress->command,
                100 * share, rows, unit, left, what);
        return;
    }
    for (int i = 0; i < BAR; i++)
        bar[i] = i < (int)(share * BAR) ? '#' : '.';
    bar[BAR] = '\0';
    fprintf(stderr, "\r[%s] %3.0f %%  %zu %s  %s left  %s\033[K", bar, 100 * share, rows, unit,
            left, what);
    fflush(stderr);
}

void bench_progress_end(struct bench_progress *progress)
{
    if (progress->terminal && !progress->quiet)
        fputs("\r\033[K", stderr);
}
