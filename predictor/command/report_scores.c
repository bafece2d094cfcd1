/* SPDX-License-Identifier: Apache-2.0 */
/* Plots of predictions beside measurements. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/median.h"
#include "base/text.h"
#include "command/report.h"

const double report_levels[REPORT_LEVELS] = {0.1, 0.2, 0.3, 0.4,  0.5,  0.6,
                                             0.7, 0.8, 0.9, 0.95, 0.98, 0.99};

static bool is_shown(const struct score_group *group, bool network)
{
    return group->count > 0 && !group->key.part && group->key.network == network;
}

static int by_count(const void *a, const void *b)
{
    const struct report_series *x = a, *y = b;

    return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
                                : strcmp(x->name, y->name);
}

size_t report_series(const struct scores *scores, bool network,
                     struct report_series series[SERIES_MOST])
{
    size_t groups = scores_groups(scores), count = 0;
    struct report_series *all = calloc(groups + 1, sizeof *all);

    for (size_t i = 0; all && i < groups; i++) {
        const struct score_group *group = scores_group(scores, i);
        size_t at = 0;

        if (!is_shown(group, network))
            continue;
        while (at < count && strcmp(all[at].name, group->key.op) != 0)
            at++;
        if (at == count)
            dlt_text_copy(all[count++].name, sizeof all->name, group->key.op);
        all[at].count += group->count;
    }
    if (count > 1)
        qsort(all, count, sizeof *all, by_count);
    for (size_t i = SERIES_MOST; i < count; i++)
        all[SERIES_OWN].count += all[i].count;
    if (count > SERIES_MOST) {
        dlt_text_copy(all[SERIES_OWN].name, sizeof all->name, "others");
        count = SERIES_MOST;
    }
    if (count > 0)
        memcpy(series, all, count * sizeof *all);
    free(all);
    return count;
}

int report_series_of(const struct report_series *series, size_t count, bool network,
                     const struct score_group *group)
{
    if (!is_shown(group, network))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (strcmp(series[i].name, group->key.op) == 0)
            return (int)i;
    return (int)count - 1;
}

double report_coverage(const struct score_point *point, size_t count, double level, double *low,
                       double *high)
{
    static const double z = 1.959964;
    double n = (double)count, inside = 0, share, middle, half;

    for (size_t i = 0; i < count; i++)
        inside += fabs(2 * point[i].rank - 1) <= level;
    if (count == 0)
        return *low = *high = NAN;
    share = inside / n;
    middle = (share + z * z / (2 * n)) / (1 + z * z / n);
    half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
    *low = fmax(middle - half, 0);
    *high = fmin(middle + half, 1);
    return share;
}

/* As much of an operator's or a network's name as a plot has room for. */
struct short_name {
    char text[32];
};
static struct short_name shorten(const char *name)
{
    struct short_name shown = {""};

    dlt_text_copy(shown.text, sizeof shown.text, name);
    return shown;
}

/* A group's name in a plot: "conv2d step", with dtype and device where these differ. */
static void group_label(const struct scores *scores, const struct score_group *group, char *text,
                        size_t size)
{
    const struct score_key *key = &group->key;
    char whole[256];
    bool dtypes = false, devices = false;

    for (size_t i = 0; i < scores_groups(scores); i++) {
        const struct score_key *other = &scores_group(scores, i)->key;

        if (!is_shown(scores_group(scores, i), key->network))
            continue;
        dtypes |= strcmp(other->dtype, key->dtype) != 0;
        devices |= strcmp(other->device, key->device) != 0;
    }
    snprintf(whole, sizeof whole, "%s %s%s%s%s%s", shorten(key->op).text, key->pass,
             dtypes ? " " : "", dtypes ? key->dtype : "", devices ? ", " : "",
             devices ? key->device : "");
    dlt_text_copy(text, size, whole);
}

/* What of the axes predictions and measurements take, ms, and how many there are. So few get bars,
 * which are to be seen whole. */
enum { FEW = 100 };
struct extent {
    double low, high;
    size_t count;
};

static struct extent extent_of(const struct scores *scores, bool network, bool bars)
{
    struct extent e = {INFINITY, 0, 0};

    for (size_t g = 0; g < scores_groups(scores); g++) {
        const struct score_group *group = scores_group(scores, g);

        for (size_t i = 0; is_shown(group, network) && i < group->count; i++) {
            const struct score_point *p = &group->point[i];

            e.low = fmin(e.low, 1e3 * fmin(p->seen, bars ? p->low : p->predicted));
            e.high = fmax(e.high, 1e3 * fmax(p->seen, bars ? p->high : p->predicted));
            e.count++;
        }
    }
    return e;
}

/* Of sorted values, by linear interpolation. */
static double quantile(const double *sorted, size_t count, double q)
{
    double at = q * (double)(count - 1);
    size_t below = (size_t)at, above = below + 1 < count ? below + 1 : below;

    return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

enum { BINS = 28 };

/* The medians of the ranges' ends by bins of the measured time, around the diagonal. False where
 * every bin holds next to nothing. */
static bool write_band(FILE *script, const struct scores *scores, bool network,
                       const struct extent *e)
{
    enum { LEAST = 8 };
    double *below = malloc((e->count + 1) * sizeof *below);
    double *above = malloc((e->count + 1) * sizeof *above);
    double width = log(e->high / e->low) / BINS;
    bool some = false;

    fputs("$band << EOD\n", script);
    for (int bin = 0; below && above && width > 0 && bin < BINS; bin++) {
        double left = e->low * exp(width * bin), middle = left * exp(width / 2);
        size_t count = 0;

        for (size_t g = 0; g < scores_groups(scores); g++) {
            const struct score_group *group = scores_group(scores, g);

            for (size_t i = 0; is_shown(group, network) && i < group->count; i++) {
                const struct score_point *p = &group->point[i];
                double ms = 1e3 * p->seen;

                if (ms < left || ms >= left * exp(width))
                    continue;
                below[count] = p->predicted / p->high;
                above[count++] = p->predicted / p->low;
            }
        }
        if (count < LEAST)
            continue;
        some = true;
        dlt_sort_values(below, count);
        dlt_sort_values(above, count);
        fprintf(script, "%.6g %.6g %.6g\n", middle, middle * quantile(below, count, 0.5),
                middle * quantile(above, count, 0.5));
    }
    fputs("EOD\n", script);
    free(below);
    free(above);
    return some;
}

/* The series' points, every stride-th of all. */
static size_t write_points(FILE *script, const struct report *report, bool network,
                           const struct report_series *series, size_t count, size_t stride)
{
    size_t seen = 0, drawn = 0;

    for (size_t s = 0; s < count; s++) {
        fprintf(script, "$s%zu << EOD\n", s);
        for (size_t g = 0; g < scores_groups(report->scores); g++) {
            const struct score_group *group = scores_group(report->scores, g);

            if (report_series_of(series, count, network, group) != (int)s)
                continue;
            for (size_t i = 0; i < group->count; i++) {
                const struct score_point *p = &group->point[i];

                if (seen++ % stride)
                    continue;
                fprintf(script, "%.6g %.6g %.6g %.6g\n", 1e3 * p->seen, 1e3 * p->predicted,
                        1e3 * p->low, 1e3 * p->high);
                drawn++;
            }
        }
        fputs("EOD\n", script);
    }
    return drawn;
}

bool report_draw_predicted(const struct report *report, struct plots *plots, bool network,
                           size_t *drawn)
{
    struct report_series series[SERIES_MOST];
    size_t count = report_series(report->scores, network, series);
    struct extent e = extent_of(report->scores, network, false);
    bool band = e.count > FEW;
    FILE *script;

    if (count == 0)
        return false;
    if (!band)
        e = extent_of(report->scores, network, true);
    script = plots_begin(plots, network ? "predictednetworks" : "predicted", 860, 560);
    *drawn = write_points(script, report, network, series, count, 1 + (e.count - 1) / POINTS_MOST);
    if (band)
        band = write_band(script, report->scores, network, &e);
    report_log_axis(script, "x", e.low / 1.15, e.high * 1.15);
    report_log_axis(script, "y", e.low / 1.15, e.high * 1.15);
    fputs("set xlabel 'measured (ms)'\nset ylabel 'predicted (ms)'\nplot ", script);
    if (band) {
        fprintf(script,
                "$band using 1:2:3 with filledcurves fs transparent solid 0.28 noborder lc rgb "
                "'" PLOT_COLOUR "' title ",
                PLOT_BAND);
        plots_label(plots, "90 % range, median");
        fputs(", ", script);
    }
    fprintf(script, "x with lines lw 1 dt 2 lc rgb '" PLOT_COLOUR "' title ", PLOT_REFERENCE);
    plots_label(plots, "predicted = measured");
    for (size_t s = 0; s < count; s++) {
        int colour = (int)s + 1;

        if (!band)
            fprintf(script,
                    ", $s%zu using 1:3:(0):($4-$3) with vectors nohead lw 1.2 lc rgb '" PLOT_COLOUR
                    "' notitle",
                    s, colour);
        fprintf(script, ", $s%zu using 1:2 with points pt 7 ps %s lc rgb '" PLOT_COLOUR "' title ",
                s, e.count > 400 ? "0.28" : "0.55", colour);
        plots_label(plots, shorten(series[s].name).text);
    }
    /* Its edges, over the points that hide it. */
    for (int edge = 2; band && edge <= 3; edge++)
        fprintf(script, ", $band using 1:%d with lines lw 0.9 lc rgb '" PLOT_COLOUR "' notitle",
                edge, PLOT_INK);
    fputs("\n", script);
    return true;
}

static int larger_group(const void *a, const void *b)
{
    const struct score_group *x = *(const struct score_group *const *)a,
                             *y = *(const struct score_group *const *)b;

    return (x->count < y->count) - (x->count > y->count);
}

static bool fill_range(const struct report *report, const struct score_group *group,
                       struct report_range *range)
{
    double *ratio = malloc((group->count + 1) * sizeof *ratio);

    if (!ratio)
        return false;
    for (size_t i = 0; i < group->count; i++)
        ratio[i] = group->point[i].predicted / group->point[i].seen;
    dlt_sort_values(ratio, group->count);
    range->low = quantile(ratio, group->count, 0.05);
    range->q1 = quantile(ratio, group->count, 0.25);
    range->middle = quantile(ratio, group->count, 0.5);
    range->q3 = quantile(ratio, group->count, 0.75);
    range->high = quantile(ratio, group->count, 0.95);
    group_label(report->scores, group, range->label, sizeof range->label);
    free(ratio);
    return true;
}

bool report_draw_residuals(const struct report *report, struct plots *plots, bool network)
{
    size_t groups = scores_groups(report->scores), shown = 0, used = 0;
    const struct score_group **group = calloc(groups + 1, sizeof *group);
    struct report_series series[SERIES_MOST];
    size_t series_count = report_series(report->scores, network, series);
    struct report_range range[RANGES_MOST];

    for (size_t i = 0; group && i < groups; i++)
        if (is_shown(scores_group(report->scores, i), network))
            group[shown++] = scores_group(report->scores, i);
    if (shown > 1)
        qsort(group, shown, sizeof *group, larger_group);
    for (size_t i = 0; i < shown && used < RANGES_MOST; i++) {
        if (!fill_range(report, group[i], &range[used]))
            continue;
        range[used++].colour = 1 + report_series_of(series, series_count, network, group[i]);
    }
    free(group);
    if (used > 0)
        report_draw_ranges(plots, network ? "residualsnetworks" : "residuals", range, used,
                           "predicted / measured", 1);
    return used > 0;
}

/* One line of the coverage plot. */
static void write_coverage(FILE *script, const struct score_point *point, size_t count)
{
    double low, high;

    for (int i = 0; i < REPORT_LEVELS; i++)
        fprintf(script, "%.6g %.6g\n", 100 * report_levels[i],
                100 * report_coverage(point, count, report_levels[i], &low, &high));
}

/* The points of a series in one array; NULL out of memory. */
static struct score_point *series_points(const struct report *report,
                                         const struct report_series *series, size_t count,
                                         size_t index)
{
    struct score_point *all = malloc((series[index].count + 1) * sizeof *all);
    size_t used = 0;

    for (size_t g = 0; all && g < scores_groups(report->scores); g++) {
        const struct score_group *group = scores_group(report->scores, g);

        if (report_series_of(series, count, false, group) != (int)index)
            continue;
        memcpy(all + used, group->point, group->count * sizeof *all);
        used += group->count;
    }
    return all;
}

bool report_draw_coverage(const struct report *report, struct plots *plots)
{
    struct report_series series[SERIES_MOST];
    size_t count = report_series(report->scores, false, series), networks;
    struct score_point *point = scores_pool(report->scores, SCORES_NETWORKS, &networks);
    FILE *script;

    if (!point || (count == 0 && networks == 0)) {
        free(point);
        return false;
    }
    script = plots_begin(plots, "coverage", 860, 460);
    fputs("$networks << EOD\n", script);
    write_coverage(script, point, networks);
    fputs("EOD\n", script);
    free(point);
    for (size_t s = 0; s < count; s++) {
        point = series_points(report, series, count, s);
        fprintf(script, "$s%zu << EOD\n", s);
        write_coverage(script, point, point ? series[s].count : 0);
        fputs("EOD\n", script);
        free(point);
    }
    fputs("set xrange [0:100]\nset yrange [0:100]\nset xtics 10\nset ytics 10\n"
          "set xlabel 'promised (%)'\nset ylabel 'observed (%)'\n",
          script);
    fprintf(script, "plot x with lines lw 1 dt 2 lc rgb '" PLOT_COLOUR "' title ", PLOT_REFERENCE);
    plots_label(plots, "observed = promised");
    for (size_t s = 0; s < count; s++) {
        fprintf(script,
                ", $s%zu using 1:2 with linespoints lw 1.6 pt 7 ps 0.45 lc rgb '" PLOT_COLOUR
                "' title ",
                s, (int)s + 1);
        plots_label(plots, shorten(series[s].name).text);
    }
    if (networks > 0) {
        fprintf(script,
                ", $networks using 1:2 with linespoints lw 1.6 dt 4 pt 5 ps 0.45 lc rgb "
                "'" PLOT_COLOUR "' title ",
                PLOT_SERIES);
        plots_label(plots, "whole networks");
    }
    fputs("\n", script);
    return true;
}
