/* SPDX-License-Identifier: Apache-2.0 */
/* Plots with a name on each line, and the learning curve. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "command/report.h"

/* The step, 1, 2 or 5 times a power of ten, that makes about `most` of a span. */
static double nice_step(double span, int most)
{
    double step = span / most, ten = pow(10, floor(log10(step)));

    return step <= ten ? ten : step <= 2 * ten ? 2 * ten : step <= 5 * ten ? 5 * ten : 10 * ten;
}

void report_log_axis(FILE *script, const char *axis, double low, double high)
{
    static const double parts[] = {1, 2, 5};
    double decades = log10(high / low), step = nice_step(high - low, 7);
    size_t used = decades > 3 ? 1 : 3;

    fprintf(script, "set logscale %s\nset %srange [%.6g:%.6g]\nset format %s '%%g'\nset %stics (",
            axis, axis, low, high, axis, axis);
    if (decades > 0.9) {
        for (double ten = pow(10, floor(log10(low))); ten <= high; ten *= 10)
            for (size_t i = 0; i < used; i++)
                fprintf(script, "%s%.6g", ten == pow(10, floor(log10(low))) && i == 0 ? "" : ", ",
                        parts[i] * ten);
    } else {
        double first = ceil(low / step);

        for (int i = 0; (first + i) * step <= high && i < 20; i++)
            fprintf(script, "%s%.6g", i ? ", " : "", (first + i) * step);
    }
    fputs(")\n", script);
}

/* What there is room for left of the plot. */
static void write_name(struct plots *plots, const char *label)
{
    enum { ROOM = 34 };
    char text[ROOM + 8];

    if (!dlt_text_copy(text, ROOM, label))
        strcat(text, "…"); /* NOLINT: three bytes, and there is room for eight */
    plots_label(plots, text);
}

void report_draw_ranges(struct plots *plots, const char *name, const struct report_range *range,
                        size_t count, const char *axis, double reference)
{
    FILE *script = plots_begin(plots, name, 860, 76 + 27 * (int)count);
    double low = reference > 0 ? reference / 1.02 : INFINITY, high = reference * 1.02;

    fputs("$d << EOD\n", script);
    for (size_t i = 0; i < count; i++) {
        const struct report_range *r = &range[i];
        bool box = isfinite(r->q1) && isfinite(r->q3);

        fprintf(script, "%zu %.6g %.6g %.6g %.6g %.6g %d %d\n", count - i, r->low,
                box ? r->q1 : r->middle, r->middle, box ? r->q3 : r->middle, r->high, r->colour,
                box);
        low = fmin(low, r->low);
        high = fmax(high, r->high);
    }
    fputs("EOD\n", script);
    if (!(high > low * 1.04)) {
        low /= 1.02;
        high *= 1.02;
    }
    report_log_axis(script, "x", low * pow(high / low, -0.04), high * pow(high / low, 0.04));
    fprintf(script,
            "unset key\nset lmargin at screen 0.29\nset rmargin at screen 0.97\n"
            "set yrange [0.4:%zu.6]\nset xlabel '%s'\nset grid noytics\nset border 1\n"
            "set ytics scale 0 (",
            count, axis);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ", " : "", script);
        write_name(plots, range[i].label);
        fprintf(script, " %zu", count - i);
    }
    fputs(")\n", script);
    if (reference > 0)
        fprintf(script,
                "set arrow from first %.6g,graph 0 to first %.6g,graph 1 nohead back dt 2 lw 1 lc "
                "rgb '" PLOT_COLOUR "'\n",
                reference, reference, PLOT_REFERENCE);
    fprintf(script,
            "plot $d using 2:1:($6-$2):(0):7 with vectors nohead lw 1.8 lc rgb variable, "
            "$d using 4:1:3:5:($1-0.27):($1+0.27):($8 == 1 ? $7 : 1/0) with boxxyerror fs solid 1 "
            "noborder lc rgb variable, "
            "$d using 4:($1-0.27):(0):($8 == 1 ? 0.54 : 1/0) with vectors nohead lw 2.2 lc rgb "
            "'" PLOT_COLOUR "', "
            "$d using 4:($8 == 1 ? 1/0 : $1):7 with points pt 7 ps 0.75 lc rgb variable\n",
            PLOT_INK);
}

bool report_draw_curve(const struct report *report, struct plots *plots)
{
    const struct report_curve *curve = &report->curve;
    double least = INFINITY, most = 0, fewest = INFINITY, rows = 0;
    FILE *script;
    int lines = 0;

    if (curve->count == 0)
        return false;
    script = plots_begin(plots, "curve", 860, 420);
    for (size_t i = 0; i < curve->count; i++) {
        const struct report_curve_point *p = &curve->point[i];
        bool first = i == 0 || strcmp(p->op, p[-1].op) != 0;
        bool last = i + 1 == curve->count || strcmp(p->op, p[1].op) != 0;

        if (first)
            fprintf(script, "$s%d << EOD\n", lines++);
        fprintf(script, "%zu %.6g\n", p->trained, 100 * p->summary.mape);
        if (last)
            fputs("EOD\n", script);
        least = fmin(least, 100 * p->summary.mape);
        most = fmax(most, 100 * p->summary.mape);
        fewest = fmin(fewest, (double)p->trained);
        rows = fmax(rows, (double)p->trained);
    }
    report_log_axis(script, "x", fewest / 1.2, rows * 1.2);
    report_log_axis(script, "y", fmax(least, 1e-3) / 1.3, fmax(most, 2e-3) * 1.3);
    fputs("set key top right\nset xlabel 'rows trained on'\nset ylabel 'MAPE (%)'\nplot ", script);
    for (size_t i = 0, line = 0; i < curve->count; i++) {
        if (i > 0 && strcmp(curve->point[i].op, curve->point[i - 1].op) == 0)
            continue;
        fprintf(script,
                "%s$s%zu using 1:2 with linespoints lw 1.6 pt 7 ps 0.5 lc rgb '" PLOT_COLOUR
                "' title ",
                line ? ", " : "", line, 1 + (int)(line % PLOT_SERIES));
        plots_label(plots, curve->point[i].op);
        line++;
    }
    fputs("\n", script);
    return true;
}

bool report_draw_partitions(const struct report *report, struct plots *plots)
{
    struct report_range range[RANGES_MOST];
    size_t used = 0;

    for (size_t i = 0; i < report->partition_count && used < RANGES_MOST; i++) {
        const struct report_partition *p = &report->partition[i];
        char label[256];

        if (!(p->step_s > 0))
            continue;
        snprintf(label, sizeof label, "%s, %s", p->name, p->device);
        range[used] = (struct report_range){.low = 1e3 * p->low_s,
                                            .q1 = NAN,
                                            .middle = 1e3 * p->step_s,
                                            .q3 = NAN,
                                            .high = 1e3 * p->high_s,
                                            .colour = 1 + (int)(DLT_BASIS_MEASURED - p->basis)};
        dlt_text_copy(range[used].label, sizeof range->label, label);
        used++;
    }
    if (used > 0)
        report_draw_ranges(plots, "partitions", range, used, "step (ms)", 0);
    return used > 0;
}

bool report_draw_history(const struct report *report, struct plots *plots)
{
    struct report_range range[RANGES_MOST];
    size_t used = 0;

    for (size_t i = 0; report->history && i < report->history->count && used < RANGES_MOST; i++) {
        const struct dlt_correction *c = &report->history->correction[i];
        char network[24] = "any network", label[128];

        if (c->network)
            snprintf(network, sizeof network, "%016" PRIx64, c->network);
        snprintf(label, sizeof label, "%s, %s", c->partition, network);
        range[used] = (struct report_range){.low = fmin(c->factor, 1),
                                            .q1 = NAN,
                                            .middle = c->factor,
                                            .q3 = NAN,
                                            .high = fmax(c->factor, 1),
                                            .colour = c->factor > 1 ? 2 : 1};
        dlt_text_copy(range[used].label, sizeof range->label, label);
        used++;
    }
    if (used > 0)
        report_draw_ranges(plots, "history", range, used, "factor on the predicted time", 1);
    return used > 0;
}
