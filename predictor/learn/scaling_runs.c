/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/scaling_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/text.h"
#include "device/catalogue.h"
#include "lower/lower.h"
#include "predict/run.h"

static int make_room(struct dlt_scaling_table *table, struct dlt_error *error)
{
    size_t row = (table->columns + 1) * sizeof *table->column;
    size_t room = table->room, places = room;

    if (dlt_grow(&table->run, sizeof *table->run, table->count, 1, &room) ||
        dlt_grow(&table->place, sizeof *table->place, table->count, 1, &places) ||
        dlt_grow(&table->column, row, table->count, 1, &table->room))
        return dlt_fail_memory(error);
    return 0;
}

static void take_columns(struct dlt_scaling_table *table, const struct dlt_measure_reader *reader,
                         const char *const *name)
{
    const struct dlt_run *run = &table->run[table->count];

    for (size_t c = 0; c < table->columns; c++) {
        double value = dlt_measure_number(reader, name[c]);

        if (isnan(value) && strcmp(name[c], "devices") == 0)
            value = run->devices;
        if (isnan(value) && strcmp(name[c], "nodes") == 0)
            value = run->nodes;
        table->column[table->count * table->columns + c] = value;
    }
}

int dlt_scaling_read(struct dlt_scaling_table *table, const char *path, const char *const *name,
                     size_t columns, struct dlt_error *error)
{
    struct dlt_measure_reader *reader;
    struct dlt_measurement unused;
    struct dlt_run run;
    int got = -1;

    table->columns = columns;
    if (dlt_measure_open(path, &reader, error))
        return -1;
    if (!dlt_measure_header(reader)->runs)
        dlt_fail(error,
                 "%s: holds measurements of operators; the distributed model is fitted to "
                 "runs of whole networks (\"dltime-runs\")",
                 path);
    else
        while ((got = dlt_measure_next(reader, &unused, &run, error)) > 0) {
            if (run.suspect[0]) {
                table->suspect++;
            } else if (!(dlt_run_seconds(&run) > 0 || run.throughput > 0)) {
                table->timeless++;
            } else {
                if (make_room(table, error)) {
                    got = -1;
                    break;
                }
                table->run[table->count] = run;
                table->place[table->count] =
                    (struct dlt_scaling_place){path, dlt_measure_line(reader)};
                take_columns(table, reader, name);
                table->count++;
            }
        }
    dlt_measure_close(reader);
    return got;
}

void dlt_scaling_table_clear(struct dlt_scaling_table *table)
{
    free(table->run);
    free(table->place);
    free(table->name);
    free(table->column);
    *table = (struct dlt_scaling_table){0};
}

static size_t name_length(const char *model)
{
    return strcspn(model, ",");
}

static bool same_network(const struct dlt_run *a, const struct dlt_run *b)
{
    return name_length(a->model) == name_length(b->model) &&
           strncmp(a->model, b->model, name_length(a->model)) == 0;
}

static bool alike(const struct dlt_run *a, const struct dlt_run *b)
{
    return strcmp(a->model, b->model) == 0 && strcmp(a->device, b->device) == 0 &&
           strcmp(a->precision, b->precision) == 0 && a->pass == b->pass &&
           strcmp(a->framework, b->framework) == 0 && strcmp(a->unit, b->unit) == 0 &&
           strcmp(a->variant, b->variant) == 0 && a->sequence == b->sequence;
}

/* Its like on one device, of the nearest batch; NULL: there is none. */
static const struct dlt_run *find_one(const struct dlt_scaling_table *table,
                                      const struct dlt_run *run)
{
    const struct dlt_run *best = NULL;
    double nearest = INFINITY;

    for (size_t i = 0; i < table->count; i++) {
        const struct dlt_run *one = &table->run[i];
        double distance = fabs(log((double)one->batch / (double)run->batch));

        if (one->devices <= 1 && alike(one, run) && distance < nearest) {
            best = one;
            nearest = distance;
        }
    }
    return best;
}

static bool is_half(const char *precision)
{
    return strncmp(precision, "amp", 3) == 0 || strcmp(precision, "float16") == 0 ||
           strcmp(precision, "bfloat16") == 0;
}

/* Bytes that a step's all-reduce moves; NaN where the network cannot be read. name: what it is
 * called. */
static double gradient_bytes(const struct dlt_run *run, char name[64])
{
    struct dlt_model *model = NULL;
    struct dlt_graph *graph = NULL;
    struct dlt_plan *plan = NULL;
    struct dlt_error ignored;
    double bytes = NAN;
    size_t length = name_length(run->model);
    char spec[512];

    dlt_text_copy(name, length < 64 ? length + 1 : 64, run->model);
    if (dlt_run_spec(run, spec, sizeof spec) && dlt_model_load(spec, NULL, &model, &ignored) == 0 &&
        dlt_model_graph(model, 1, &graph, &ignored) == 0 &&
        dlt_lower(graph, &model->training, true, 0, &plan, &ignored) == 0)
        bytes = plan->gradient_bytes;
    if (model)
        dlt_text_copy(name, 64, dlt_model_name(model));
    dlt_plan_destroy(plan);
    dlt_graph_destroy(graph);
    dlt_model_destroy(model);
    return bytes;
}

static double ring_slowdown(const struct dlt_run *run, double bytes, double one_s)
{
    /* Of a training step two thirds are backward: each product has two gradients. */
    const double backward = 2.0 / 3;
    const struct dlt_device *device = dlt_catalogue_find(run->device);

    if (isnan(bytes) || isnan(one_s) || !device)
        return NAN;
    return 1 +
           dlt_run_all_reduce(bytes, backward * one_s, run->devices, run->nodes, device, 0) / one_s;
}

/* Seconds of the step on one device, at the batch that each of several has; NaN: not known. */
static double alone_s(const struct dlt_run *one, const struct dlt_run *several)
{
    return dlt_run_seconds(one) * (double)several->batch / (double)one->batch;
}

/* Throughputs in a unit that is no sample tell how times compare, not what they are. */
static void take_times(const struct dlt_run *one, const struct dlt_run *several,
                       struct dlt_scaling_run *fresh)
{
    fresh->one_s = alone_s(one, several);
    fresh->seconds = dlt_run_seconds(several);
    if (isnan(fresh->one_s) || isnan(fresh->seconds)) {
        fresh->one_s = 1;
        fresh->seconds = one->throughput * several->devices / several->throughput;
    }
}

/* Numbers a run's network and family like those of an earlier pair, or as new ones. */
static void number(const struct dlt_run *const *of, const struct dlt_scaling_run *run, size_t count,
                   size_t *networks, size_t *families, struct dlt_scaling_run *fresh)
{
    fresh->network = SIZE_MAX;
    fresh->family = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        if (same_network(of[i], of[count]))
            fresh->network = run[i].network;
        if (dlt_device_same_model(of[i]->device, of[count]->device))
            fresh->family = run[i].family;
    }
    if (fresh->network == SIZE_MAX)
        fresh->network = (*networks)++;
    if (fresh->family == SIZE_MAX)
        fresh->family = (*families)++;
}

/* Whether one of a pair is off by a unit or worse: devices share work, and links are slow, but not
 * so. Remembers the first. */
static bool is_absurd(struct dlt_scaling_table *table, const struct dlt_run *several,
                      const struct dlt_run *one, const struct dlt_scaling_run *pair)
{
    double ratio = pair->seconds / pair->one_s;

    if (ratio > 1.0 / 30 && ratio < 1000)
        return false;
    if (table->absurd++ == 0) {
        table->several = table->place[several - table->run];
        table->one = table->place[one - table->run];
    }
    return true;
}

int dlt_scaling_pairs(struct dlt_scaling_table *table, struct dlt_scaling_run **runs, size_t *count,
                      struct dlt_error *error)
{
    struct dlt_scaling_run *run = calloc(table->count + 1, sizeof *run);
    const struct dlt_run **of = calloc(table->count + 1, sizeof *of);
    double *bytes = calloc(table->count + 1, sizeof *bytes); /* by network */
    size_t networks = 0, families = 0;

    *count = 0;
    *runs = run;
    free(table->name);
    table->name = calloc(table->count + 1, sizeof *table->name);
    if (!run || !of || !bytes || !table->name) {
        free(run);
        free(of);
        free(bytes);
        *runs = NULL;
        return dlt_fail_memory(error);
    }
    for (size_t i = 0; i < table->count; i++) {
        const struct dlt_run *several = &table->run[i];
        const struct dlt_run *one = several->devices > 1 ? find_one(table, several) : NULL;
        struct dlt_scaling_run *fresh = &run[*count];
        size_t known = networks;

        if (!one)
            continue;
        take_times(one, several, fresh);
        if (is_absurd(table, several, one, fresh))
            continue;
        of[*count] = several;
        number(of, run, *count, &networks, &families, fresh);
        if (networks > known)
            bytes[fresh->network] = gradient_bytes(several, table->name[fresh->network]);
        fresh->where = (struct dlt_scaling_case){
            .network = table->name[fresh->network],
            .devices = several->devices,
            .nodes = several->nodes,
            .half = is_half(several->precision),
            .ring = ring_slowdown(several, bytes[fresh->network], alone_s(one, several))};
        ++*count;
    }
    free(of);
    free(bytes);
    return 0;
}
