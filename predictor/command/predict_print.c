/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "command/predict.h"
#include "device/catalogue.h"

static const double listed_quantiles[] = {0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99};
enum { LISTED = sizeof listed_quantiles / sizeof *listed_quantiles };

/* The job's quantile where there is a job, else the step's. */
static double quantile_s(const struct dlt_estimate *e, double quantile)
{
    return isnan(e->job_s) ? dlt_estimate_step_quantile(e, quantile)
                           : dlt_estimate_job_quantile(e, quantile);
}

/* A probability with as many digits as tell it from 1. */
static const char *probability(char buffer[32], double value)
{
    for (int digits = 6; digits <= 17; digits++)
        if (strcmp(dlt_text_from_double(buffer, value, digits), "1") != 0)
            break;
    return buffer;
}

static double step_samples(const struct dlt_estimate *e)
{
    double micro_steps = e->training.accumulate > 0 ? (double)e->training.accumulate : 1;

    return (double)e->batch * e->devices * micro_steps;
}

static struct json_object *quantiles_json(const struct dlt_estimate *e, double asked)
{
    struct json_object *object = json_object_new_object();
    char key[32];

    for (size_t i = 0; i < LISTED; i++)
        dlt_json_number(object, dlt_text_from_double(key, listed_quantiles[i], 6),
                        quantile_s(e, listed_quantiles[i]));
    if (asked > 0)
        dlt_json_number(object, probability(key, asked), quantile_s(e, asked));
    return object;
}

static struct json_object *terms_json(const double terms[DLT_TERMS])
{
    struct json_object *object = json_object_new_object();

    for (int i = 0; i < DLT_TERMS; i++)
        dlt_json_number(object, dlt_term_names[i], terms[i]);
    return object;
}

/* One row of --ops. A unit has no update of its own: the optimizer's is the last row. */
static struct json_object *op_json(const struct dlt_estimate *e, const char *name,
                                   const struct dlt_record_kind *kind, struct json_object *covers,
                                   const struct dlt_unit_times *times)
{
    double total = times->forward_s + times->backward_s + times->update_s;
    double spread = exp(1.645 * times->sigma); /* the normal's central 90 % */
    struct json_object *op = json_object_new_object();
    bool update = times->update_s > 0;

    dlt_json_text(op, "name", name);
    dlt_json_text(op, "op", kind->name);
    json_object_object_add(op, "covers", covers);
    dlt_json_number(op, "forward_ms", update ? NAN : times->forward_s * 1e3);
    dlt_json_number(op, "backward_ms", update || e->forward_only ? NAN : times->backward_s * 1e3);
    dlt_json_number(op, "update_ms", update ? times->update_s * 1e3 : NAN);
    dlt_json_number(op, "low_ms", total / spread * 1e3);
    dlt_json_number(op, "high_ms", total * spread * 1e3);
    dlt_json_text(op, "basis", dlt_basis_name(times->basis));
    return op;
}

static struct json_object *ops_json(const struct dlt_estimate *e)
{
    struct json_object *ops = json_object_new_array();

    for (size_t i = 0; i < e->plan->unit_count; i++) {
        const struct dlt_unit *unit = &e->plan->unit[i];
        struct json_object *covers = json_object_new_array();

        for (int c = 0; c < unit->cover_count; c++)
            json_object_array_add(covers,
                                  json_object_new_string(e->graph->node[unit->covers[c]].name));
        json_object_array_add(ops, op_json(e, unit->name, unit->record.kind, covers, &e->unit[i]));
    }
    if (e->unit[e->plan->unit_count].update_s > 0)
        json_object_array_add(ops, op_json(e, e->plan->update.kind->name, e->plan->update.kind,
                                           NULL, &e->unit[e->plan->unit_count]));
    return ops;
}

static struct json_object *estimate_json(const struct dlt_estimate *e, const char *profile,
                                         const struct predict_view *view)
{
    struct json_object *object = json_object_new_object();
    char software[112];

    snprintf(software, sizeof software, "%s%s%s", e->software.framework,
             e->software.framework[0] ? ", " : "", e->software.backend);
    dlt_json_text(object, "model", e->model);
    dlt_json_text(object, "device", e->device.name);
    dlt_json_text(object, "profile", profile);
    dlt_json_text(object, "software", software);
    dlt_json_number(object, "batch", (double)e->batch);
    dlt_json_number(object, "devices", e->devices);
    dlt_json_number(object, "nodes", e->nodes);
    dlt_json_text(object, "pass", e->forward_only ? "forward" : "step");
    dlt_json_text(object, "precision", dlt_precision_names[e->training.precision]);
    dlt_json_number(object, "step_ms", e->step_s * 1e3);
    dlt_json_number(object, "low_ms", dlt_estimate_step_quantile(e, 0.05) * 1e3);
    dlt_json_number(object, "high_ms", dlt_estimate_step_quantile(e, 0.95) * 1e3);
    dlt_json_number(object, "samples_per_s", step_samples(e) / e->step_s);
    dlt_json_number(object, "steps_per_epoch", e->steps_per_epoch);
    dlt_json_number(object, "epochs", e->epochs);
    dlt_json_number(object, "epoch_s", e->epoch_s);
    dlt_json_number(object, "job_s", e->job_s);
    dlt_json_number(object, "job_low_s", dlt_estimate_job_quantile(e, 0.05));
    dlt_json_number(object, "job_high_s", dlt_estimate_job_quantile(e, 0.95));
    json_object_object_add(object, "quantiles", quantiles_json(e, view->quantile));
    json_object_object_add(object, "terms", terms_json(e->terms));
    dlt_json_number(object, "correction", e->correction == 1 ? NAN : e->correction);
    dlt_json_number(object, "memory_gib", dlt_estimate_memory_bytes(e) / 1073741824.0);
    dlt_json_text(object, "fits", dlt_fits_name(e->fits));
    dlt_json_text(object, "basis", dlt_basis_name(e->basis));
    dlt_json_text(object, "method", e->by_table ? "conv-table" : "operators");
    dlt_json_number(object, "extrapolated", e->extrapolated);
    if (view->ops)
        json_object_object_add(object, "ops", ops_json(e));
    return object;
}

static void print_ops(const struct dlt_estimate *e)
{
    char forward[32], backward[32];

    printf("\n  %-32s %-16s %10s %10s  %s\n", "UNIT", "OP", "FORWARD", "BACKWARD", "RESTS ON");
    for (size_t i = 0; i < e->plan->unit_count; i++) {
        const struct dlt_unit_times *times = &e->unit[i];

        printf("  %-32s %-16s %10s %10s  %s\n", e->plan->unit[i].name,
               e->plan->unit[i].record.kind->name, dlt_text_from_seconds(forward, times->forward_s),
               times->backward_s > 0 ? dlt_text_from_seconds(backward, times->backward_s) : "-",
               dlt_basis_name(times->basis));
    }
    if (e->unit[e->plan->unit_count].update_s > 0)
        printf("  %-32s %-16s %10s %10s  %s\n", "optimizer", e->plan->update.kind->name, "-",
               dlt_text_from_seconds(backward, e->unit[e->plan->unit_count].update_s),
               dlt_basis_name(e->unit[e->plan->unit_count].basis));
}

/* As Slurm writes it, or below a minute with what is left of a second. */
static char *duration_text(char *buffer, double seconds)
{
    return seconds < 60 ? dlt_text_from_seconds(buffer, seconds)
                        : dlt_text_from_duration(buffer, seconds);
}

/* "  step       1.23 s    (90 %: 1.1 - 1.4 s)" */
static void print_line(const char *what, double seconds, double low, double high,
                       char *(*format)(char *, double))
{
    char middle[32], from[32], to[32];

    if (isnan(seconds))
        return;
    printf("  %-10s %14s    90 %%: %s - %s\n", what, format(middle, seconds), format(from, low),
           format(to, high));
}

void predict_print_device(const char *label, const char *asked, const char *taken)
{
    const struct dlt_catalogue_entry *entry;
    size_t others = 0;

    for (size_t i = 0; asked && (entry = dlt_catalogue_at(i)) != NULL; i++) {
        const char *name = entry->device.name;

        if (strcmp(name, taken) == 0 || !dlt_device_matches(name, asked))
            continue;
        if (others++ == 0)
            printf("%s%s was taken for %s; it could also be %s", label, asked, taken, name);
        else
            printf(", %s", name);
    }
    if (others)
        putchar('\n');
}

static void print_screen(const struct dlt_estimate *e, const char *profile,
                         const struct predict_view *view)
{
    char text[32], memory[32];
    double epoch = e->epoch_s / e->step_s;

    printf("%s on %d x %s: %s parameters, batch %lld, %s\n", e->model, e->devices, e->device.name,
           dlt_text_from_count(text, e->parameters), (long long)e->batch,
           dlt_precision_names[e->training.precision]);
    print_line(e->forward_only ? "forward" : "step", e->step_s, dlt_estimate_step_quantile(e, 0.05),
               dlt_estimate_step_quantile(e, 0.95), dlt_text_from_seconds);
    print_line("epoch", e->epoch_s, dlt_estimate_step_quantile(e, 0.05) * epoch,
               dlt_estimate_step_quantile(e, 0.95) * epoch, duration_text);
    print_line("job", e->job_s, dlt_estimate_job_quantile(e, 0.05),
               dlt_estimate_job_quantile(e, 0.95), duration_text);
    if (view->quantile > 0)
        printf("  %-10s %14s    of the %s\n", probability(text, view->quantile),
               (isnan(e->job_s) ? dlt_text_from_seconds
                                : duration_text)(memory, quantile_s(e, view->quantile)),
               isnan(e->job_s) ? "step" : "job");
    printf("  %-10s %14s\n", "samples/s", dlt_text_from_count(text, step_samples(e) / e->step_s));
    printf("  %-10s %14s    fits: %s\n", "memory",
           dlt_text_from_bytes(memory, dlt_estimate_memory_bytes(e)), dlt_fits_name(e->fits));
    printf("  %-10s %14s    %.0f %% of the time extrapolated%s%s\n", "rests on",
           dlt_basis_name(e->basis), 100 * e->extrapolated,
           e->by_table ? "; by a table of convolutions" : "",
           view->untold_layout ? "; nhwc was not measured" : "");
    if (e->correction != 1)
        printf("  %-10s %13.2fx   by finished jobs of this network on this partition\n",
               "corrected", e->correction);
    predict_print_device("  device     ", view->device, e->device.name);
    printf("  %-10s %s\n", "profile", profile);
    if (isnan(e->job_s))
        printf("  add epochs= and samples= (or steps=) for a job time\n");
    if (view->ops)
        print_ops(e);
}

void predict_print(const struct dlt_estimate *estimate, const char *profile,
                   const struct predict_view *view)
{
    if (view->json) {
        struct json_object *object = estimate_json(estimate, profile, view);

        dlt_json_print(stdout, object);
        json_object_put(object);
    } else {
        print_screen(estimate, profile, view);
    }
}
