/* SPDX-License-Identifier: Apache-2.0 */
#include "summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/median.h"
#include "base/text.h"

struct line {
    const struct dlt_record_kind *kind;
    enum dlt_pass pass;
    double *seconds, *spread; /* sorted once the line is whole */
    size_t count;
    double flops, bytes; /* best rates */
    bool memory;         /* bytes is that of rows that outgrow the caches */
};

/* What lines are made from, and who takes them. */
struct summary {
    const struct bench_output *output;
    double peak, bandwidth, cache;
    double *room; /* two numbers for each row */
    void (*take)(void *context, const struct summary *summary, const struct line *line);
    void *context;
};

/* Of sorted values. */
static double median(const double *value, size_t count)
{
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

/* What is faster than the memory did not come from there, whatever its size: an operator reads
 * again what it has just written, or a framework would move more than this backend does. */
static bool from_memory(const struct summary *summary, const struct line *line)
{
    const double measured_within = 1.1;

    return line->memory &&
           !(summary->bandwidth > 0 && line->bytes > measured_within * summary->bandwidth);
}

static void print_line(void *context, const struct summary *summary, const struct line *line)
{
    char spread[16];
    char fastest[32], middle[32], slowest[32], flops[16], bytes[16], of_peak[16], of_bandwidth[16];

    fprintf(
        context, "  %-16.16s %-15s %5zu %8s %8s %8s %6s %7s %5s %5s %5s\n", line->kind->name,
        dlt_pass_names[line->pass], line->count, dlt_text_from_seconds(fastest, line->seconds[0]),
        dlt_text_from_seconds(middle, median(line->seconds, line->count)),
        dlt_text_from_seconds(slowest, line->seconds[line->count - 1]),
        spread_text(spread, median(line->spread, line->count)), number(flops, line->flops / 1e9),
        percent(of_peak, line->flops / summary->peak), number(bytes, line->bytes / 1e9),
        from_memory(summary, line) || !(line->bytes > 0)
            ? percent(of_bandwidth, line->bytes / summary->bandwidth)
            : "cache");
}

static void add_json(void *context, const struct summary *summary, const struct line *line)
{
    struct json_object *object = json_object_new_object();

    dlt_json_text(object, "op", line->kind->name);
    dlt_json_text(object, "pass", dlt_pass_names[line->pass]);
    dlt_json_count(object, "n", (double)line->count);
    dlt_json_number(object, "fastest_ms", 1e3 * line->seconds[0]);
    dlt_json_number(object, "median_ms", 1e3 * median(line->seconds, line->count));
    dlt_json_number(object, "slowest_ms", 1e3 * line->seconds[line->count - 1]);
    dlt_json_number(object, "spread", median(line->spread, line->count));
    dlt_json_number(object, "gflops", line->flops > 0 ? line->flops / 1e9 : NAN);
    dlt_json_number(object, "of_peak", line->flops > 0 ? line->flops / summary->peak : NAN);
    dlt_json_number(object, "gbs", line->bytes > 0 ? line->bytes / 1e9 : NAN);
    dlt_json_number(object, "of_bandwidth",
                    from_memory(summary, line) ? line->bytes / summary->bandwidth : NAN);
    json_object_array_add(context, object);
}

/* A row that moves more than the caches hold takes the place of those that do not. */
static void add_bytes(const struct summary *summary, struct line *line,
                      const struct dlt_measurement *m, double bytes)
{
    bool memory = m->record.cache != DLT_CACHE_WARM && bytes > summary->cache;

    if (memory < line->memory)
        return;
    if (memory > line->memory)
        line->bytes = 0;
    line->memory = memory;
    line->bytes = fmax(line->bytes, bytes / m->median_s);
}

static void add_row(const struct summary *summary, struct line *line,
                    const struct dlt_measurement *m)
{
    struct dlt_work work;

    dlt_record_work(&m->record, &work);
    line->seconds[line->count] = m->median_s;
    line->spread[line->count] = m->std_s / m->median_s;
    line->count++;
    if (work.macs > 0)
        line->flops = fmax(line->flops, work.flops / m->median_s);
    add_bytes(summary, line, m, work.bytes);
}

static void take_line(const struct summary *summary, const struct dlt_record_kind *kind,
                      enum dlt_pass pass)
{
    size_t rows = bench_output_count(summary->output);
    struct line line = {
        .kind = kind, .pass = pass, .seconds = summary->room, .spread = summary->room + rows};

    for (size_t i = 0; i < rows; i++) {
        const struct dlt_measurement *m = bench_output_at(summary->output, i);

        if (m->record.kind == kind && m->record.pass == pass)
            add_row(summary, &line, m);
    }
    if (line.count == 0)
        return;
    dlt_sort_values(line.seconds, line.count);
    dlt_sort_values(line.spread, line.count);
    summary->take(summary->context, summary, &line);
}

/* Hands out the lines and returns how many rows were disturbed. */
static size_t take_lines(struct summary *summary, const struct bench_output *output,
                         const struct dlt_device *device, int threads)
{
    size_t rows = bench_output_count(output), disturbed = 0;

    summary->output = output;
    summary->peak = dlt_device_peak(device, DLT_FLOAT32, DLT_IEEE, threads);
    summary->bandwidth = device->memory_bandwidth;
    summary->cache = 2 * device->l2_bytes; /* what one iteration left there is gone by the next */
    summary->room = calloc(2 * rows + 2, sizeof *summary->room);
    for (size_t k = 0; summary->room && k < dlt_record_kind_count(); k++)
        for (int pass = 0; pass < DLT_PASSES; pass++)
            take_line(summary, dlt_record_kind_at(k), (enum dlt_pass)pass);
    free(summary->room);
    for (size_t i = 0; i < rows; i++)
        disturbed += bench_output_at(output, i)->disturbed;
    return disturbed;
}

void bench_summary_print(FILE *stream, const struct bench_output *output,
                         const struct dlt_device *device, int threads)
{
    struct summary summary = {.take = print_line, .context = stream};
    char peak[16], bandwidth[16];
    size_t disturbed;

    fprintf(stream, "# %-16s %-15s %5s %8s %8s %8s %6s %7s %5s %5s %5s\n", "OPERATOR", "PASS", "N",
            "FASTEST", "MEDIAN", "SLOWEST", "SPREAD", "GFLOP/s", "PEAK", "GB/s", "BW");
    disturbed = take_lines(&summary, output, device, threads);
    fprintf(stream, "# %zu measurements, %zu disturbed; rates are the best; peak %s GFLOP/s,",
            bench_output_count(output), disturbed, number(peak, summary.peak / 1e9));
    fprintf(stream, " bandwidth %s GB/s\n", number(bandwidth, summary.bandwidth / 1e9));
}

void bench_summary_json(struct json_object *object, const struct bench_output *output,
                        const struct dlt_device *device, int threads)
{
    struct json_object *operators = json_object_new_array();
    struct summary summary = {.take = add_json, .context = operators};
    size_t disturbed = take_lines(&summary, output, device, threads);

    dlt_json_number(object, "peak_gflops", summary.peak / 1e9);
    dlt_json_number(object, "bandwidth_gbs", summary.bandwidth > 0 ? summary.bandwidth / 1e9 : NAN);
    dlt_json_count(object, "measurements", (double)bench_output_count(output));
    dlt_json_count(object, "disturbed", (double)disturbed);
    json_object_object_add(object, "operators", operators);
}
