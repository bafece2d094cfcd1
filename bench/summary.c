/* SPDX-License-Identifier: Apache-2.0 */
#include "summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct line {
    const struct dlt_record_kind *kind;
    enum dlt_pass pass;
    double *seconds, *spread;
    size_t count;
    double flops, bytes; /* best rates */
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *value, size_t count)
{
    qsort(value, count, sizeof *value, ascending);
    return 0.5 * (value[(count - 1) / 2] + value[count / 2]);
}

/* "12.3 GFLOP/s" as the number alone, three digits; "-" for nothing. */
static const char *number(char buffer[16], double value)
{
    if (!(value > 0) || !isfinite(value))
        return "-";
    snprintf(buffer, 16, value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value);
    return buffer;
}

static const char *percent(char buffer[16], double share)
{
    if (!(share > 0) || !isfinite(share))
        return "-";
    snprintf(buffer, 16, "%.0f %%", 100 * share);
    return buffer;
}

/* A disturbed measurement can spread without bound; the column stays six wide. */
static const char *spread_text(char buffer[16], double spread)
{
    return spread > 9.99 ? ">999 %" : percent(buffer, spread);
}

static void print_line(FILE *stream, struct line *line, double peak, double bandwidth)
{
    char spread[16];
    char fastest[32], middle[32], slowest[32], flops[16], bytes[16], of_peak[16], of_bandwidth[16];
    double median_s = median(line->seconds, line->count);

    fprintf(stream, "  %-16s %-15s %5zu %8s %8s %8s %6s %7s %5s %5s %5s\n", line->kind->name,
            dlt_pass_names[line->pass], line->count,
            dlt_text_from_seconds(fastest, line->seconds[0]),
            dlt_text_from_seconds(middle, median_s),
            dlt_text_from_seconds(slowest, line->seconds[line->count - 1]),
            spread_text(spread, median(line->spread, line->count)),
            number(flops, line->flops / 1e9), percent(of_peak, line->flops / peak),
            number(bytes, line->bytes / 1e9), percent(of_bandwidth, line->bytes / bandwidth));
}

static void add_row(struct line *line, const struct dlt_measurement *m)
{
    struct dlt_work work;

    dlt_record_work(&m->record, &work);
    line->seconds[line->count] = m->median_s;
    line->spread[line->count] = m->std_s / m->median_s;
    line->count++;
    if (work.macs > 0)
        line->flops = fmax(line->flops, work.flops / m->median_s);
    if (m->record.cache != DLT_CACHE_WARM)
        line->bytes = fmax(line->bytes, work.bytes / m->median_s);
}

void bench_summary_print(FILE *stream, const struct bench_output *output,
                         const struct dlt_device *device, int threads)
{
    size_t rows = bench_output_count(output), disturbed = 0;
    double *room = calloc(2 * rows + 2, sizeof *room);
    double peak = dlt_device_peak(device, DLT_FLOAT32, DLT_IEEE, threads);
    char peak_text[16], bandwidth_text[16];

    if (!room)
        return;
    fprintf(stream, "# %-16s %-15s %5s %8s %8s %8s %6s %7s %5s %5s %5s\n", "OPERATOR", "PASS", "N",
            "FASTEST", "MEDIAN", "SLOWEST", "SPREAD", "GFLOP/s", "PEAK", "GB/s", "BW");
    for (size_t k = 0; k < dlt_record_kind_count(); k++) {
        for (int pass = 0; pass < DLT_PASSES; pass++) {
            struct line line = {
                dlt_record_kind_at(k), (enum dlt_pass)pass, room, room + rows, 0, 0, 0};

            for (size_t i = 0; i < rows; i++) {
                const struct dlt_measurement *m = bench_output_at(output, i);

                if (m->record.kind == line.kind && m->record.pass == line.pass)
                    add_row(&line, m);
            }
            if (line.count > 0)
                print_line(stream, &line, peak, device->memory_bandwidth);
        }
    }
    for (size_t i = 0; i < rows; i++)
        disturbed += bench_output_at(output, i)->disturbed;
    fprintf(stream, "# %zu measurements, %zu disturbed; rates are the best; peak %s GFLOP/s,", rows,
            disturbed, number(peak_text, peak / 1e9));
    fprintf(stream, " bandwidth %s GB/s\n", number(bandwidth_text, device->memory_bandwidth / 1e9));
    free(room);
}
