/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "command/command.h"
#include "device/devices.h"
#include "learn/parallel.h"
#include "learn/scaling_runs.h"

static const char help[] =
    "Usage: dltime scaling RUNS... --output FILE [OPTION]...\n"
    "The distributed model: what several devices make of a step's time, from runs of networks on\n"
    "one device and on several (dltime-measurements(5)).\n\n"
    "  --output FILE       where to write it (JSON)\n"
    "  --intrinsic LIST    also fit the time itself from these numeric columns of the runs:\n"
    "                      sum of a I^p, as batch,parameters\n"
    "  --extrinsic LIST    what multiplies it: product of E^q (default devices,nodes)\n"
    "  --penalty l1|l2     what keeps exponents near 0 and 1 (default l1)\n"
    "  --weight X          how strongly (default 0.001)\n"
    "  --resamples N       for ranges of the constants (default 100)\n"
    "  --seed N, --threads N\n\n"
    "  dltime scaling site-runs.jsonl --output site.scaling\n";

struct options {
    const char *output;
    char *name[2 * DLT_FACTORS]; /* intrinsic, then extrinsic */
    char *extrinsic[DLT_FACTORS];
    size_t intrinsics, extrinsics;
    struct dlt_generic_settings settings;
    char **file;
    int file_count;
};

/* Splits a list of names at its commas into name. */
static int take_names(const char *option, char *list, char **name, size_t *count)
{
    char *rest = list, *word;

    *count = 0;
    while ((word = strsep(&rest, ","))) {
        if (*count == DLT_FACTORS || !*word)
            return command_usage("scaling", "--%s takes one to %d names of columns", option,
                                 DLT_FACTORS);
        name[(*count)++] = word;
    }
    return COMMAND_DONE;
}

enum { OUTPUT = 256, INTRINSIC, EXTRINSIC, PENALTY, WEIGHT, RESAMPLES, SEED, THREADS, HELP };

static const struct option long_options[] = {
    {"output", required_argument, NULL, OUTPUT},
    {"intrinsic", required_argument, NULL, INTRINSIC},
    {"extrinsic", required_argument, NULL, EXTRINSIC},
    {"penalty", required_argument, NULL, PENALTY},
    {"weight", required_argument, NULL, WEIGHT},
    {"resamples", required_argument, NULL, RESAMPLES},
    {"seed", required_argument, NULL, SEED},
    {"threads", required_argument, NULL, THREADS},
    {"help", no_argument, NULL, HELP},
    {0},
};

static int take_option(int option, char *value, void *context)
{
    struct options *o = context;
    int64_t number = 0;
    int status = COMMAND_DONE;

    switch (option) {
    case OUTPUT:
        o->output = value;
        break;
    case INTRINSIC:
        status = take_names("intrinsic", value, o->name, &o->intrinsics);
        break;
    case EXTRINSIC:
        status = take_names("extrinsic", value, o->extrinsic, &o->extrinsics);
        break;
    case PENALTY:
        if (strcmp(value, "l1") != 0 && strcmp(value, "l2") != 0)
            return command_usage("scaling", "--penalty is l1 or l2, not \"%s\"", value);
        o->settings.penalty = value[1] == '1' ? DLT_PENALTY_L1 : DLT_PENALTY_L2;
        break;
    case WEIGHT:
        if (!dlt_text_to_double(value, &o->settings.weight) || o->settings.weight < 0)
            return command_usage("scaling", "--weight takes a number from 0 on, not \"%s\"", value);
        break;
    case RESAMPLES:
        status = command_whole("scaling", "resamples", value, 0, 10000, &number);
        o->settings.resamples = (int)number;
        break;
    case SEED:
        status = command_whole("scaling", "seed", value, 0, INT64_MAX, &number);
        o->settings.seed = (uint64_t)number;
        break;
    case THREADS:
        status = command_whole("scaling", "threads", value, 1, 64, &number);
        o->settings.threads = (int)number;
        break;
    }
    return status;
}

static void print_constant(const char *symbol, const char *factor, double value, double low,
                           double high)
{
    printf("  %-3s %-16s %12.4g", symbol, factor, value);
    if (isfinite(low) && isfinite(high))
        printf("   %10.4g to %.4g", low, high);
    putchar('\n');
}

/* Rows that have all the columns, as data for the generic model. Returns their number. */
static size_t gather(const struct dlt_scaling_table *t, const struct options *o, double *intrinsic,
                     double *extrinsic, double *seconds)
{
    size_t rows = 0;

    for (size_t r = 0; r < t->count; r++) {
        const double *column = t->column + r * t->columns;
        bool whole = true;

        for (size_t c = 0; c < t->columns; c++)
            whole = whole && column[c] > 0 && isfinite(column[c]);
        if (!whole)
            continue;
        for (size_t i = 0; i < o->intrinsics; i++)
            intrinsic[rows * o->intrinsics + i] = column[i];
        for (size_t j = 0; j < o->extrinsics; j++)
            extrinsic[rows * o->extrinsics + j] = column[o->intrinsics + j];
        seconds[rows++] = dlt_run_seconds(&t->run[r]);
    }
    return rows;
}

static void print_generic(const struct options *o, const struct dlt_generic *m,
                          const struct dlt_generic *low, const struct dlt_generic *high,
                          size_t rows)
{
    bool ranges = o->settings.resamples > 0;

    printf("t = (sum of a I^p) (product of E^q) + C, %zu runs, mean error %.1f %%\n", rows,
           100 * m->error);
    printf("  %-20s %12s   %s\n", "CONSTANT", "VALUE", "90 % RANGE");
    for (size_t i = 0; i < m->intrinsics; i++) {
        print_constant("a", o->name[i], m->a[i], ranges ? low->a[i] : NAN,
                       ranges ? high->a[i] : NAN);
        print_constant("p", o->name[i], m->p[i], ranges ? low->p[i] : NAN,
                       ranges ? high->p[i] : NAN);
    }
    for (size_t j = 0; j < m->extrinsics; j++)
        print_constant("q", o->name[o->intrinsics + j], m->q[j], ranges ? low->q[j] : NAN,
                       ranges ? high->q[j] : NAN);
    print_constant("C", "s", m->constant, ranges ? low->constant : NAN,
                   ranges ? high->constant : NAN);
}

static int fit_columns(const struct dlt_scaling_table *t, const struct options *o,
                       struct dlt_error *error)
{
    double *intrinsic = calloc(t->count * o->intrinsics + 1, sizeof *intrinsic);
    double *extrinsic = calloc(t->count * o->extrinsics + 1, sizeof *extrinsic);
    double *seconds = calloc(t->count + 1, sizeof *seconds);
    struct dlt_generic model, low, high;
    struct dlt_generic_data data = {0};
    int result = -1;

    if (!intrinsic || !extrinsic || !seconds) {
        dlt_fail_memory(error);
    } else {
        data = (struct dlt_generic_data){
            .rows = gather(t, o, intrinsic, extrinsic, seconds),
            .intrinsics = o->intrinsics,
            .extrinsics = o->extrinsics,
            .intrinsic = intrinsic,
            .extrinsic = extrinsic,
            .seconds = seconds,
        };
        result = dlt_generic_fit(&data, &o->settings, &model, &low, &high, error);
        if (result)
            dlt_fail_in(error, "of %zu runs %zu have all columns: ", t->count, data.rows);
        else
            print_generic(o, &model, &low, &high, data.rows);
    }
    free(intrinsic);
    free(extrinsic);
    free(seconds);
    return result;
}

static void print_score(const char *what, double error)
{
    if (isfinite(error))
        printf("  %-58s %5.1f %%\n", what, 100 * error);
}

static void print_scaling(const struct dlt_scaling *s, const struct dlt_scaling_scores *scores,
                          bool ranges)
{
    printf("t(n devices, N nodes) / t(1), %.0f runs of %zu networks\n", s->cases, s->network_count);
    printf("  %-20s %12s   %s\n", "CONSTANT", "VALUE", ranges ? "90 % RANGE" : "");
    for (int f = 0; f < DLT_SCALING_FACTORS; f++)
        print_constant("q", dlt_scaling_factor_names[f], s->exponent[f], s->low[f], s->high[f]);
    print_constant("w", "ring", s->ring_share, NAN, NAN);
    printf("  %-20s %9s %9s %9s %6s\n", "NETWORK", "2", "8", "8 half", "RUNS");
    for (size_t i = 0; i < s->network_count; i++) {
        struct dlt_scaling_case c = {
            .network = s->network[i].name, .devices = 2, .nodes = 1, .ring = 1};
        double two = dlt_scaling_slowdown(s, &c), eight;

        c.devices = 8;
        eight = dlt_scaling_slowdown(s, &c);
        c.half = true;
        printf("  %-20s %9.3f %9.3f %9.3f %6.0f\n", s->network[i].name, two, eight,
               dlt_scaling_slowdown(s, &c), s->network[i].runs);
    }
    printf("Mean error of step times on families of devices left out\n");
    print_score("copied: the network's median slowdown on other families", scores->copied);
    print_score("the generic expression alone", scores->generic);
    print_score("the ring all-reduce alone", scores->ring);
    print_score("this model, its share of the ring chosen without the family", scores->chosen);
}

/* The file names, for the record in the output. */
static void list_files(const struct options *o, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < o->file_count; i++) {
        const char *base = strrchr(o->file[i], '/');

        dlt_text_copy(text + used, size - used, i ? ", " : "");
        used = strlen(text);
        dlt_text_copy(text + used, size - used, base ? base + 1 : o->file[i]);
        used = strlen(text);
    }
}

static void warn_absurd(const struct dlt_scaling_table *t)
{
    if (t->absurd)
        fprintf(stderr,
                "dltime scaling: %s: line %zu: its time and that on one device, %s: line %zu, are "
                "further apart than devices and links explain, and are not used: mend or remove "
                "the wrong one\n",
                t->several.path, t->several.line, t->one.path, t->one.line);
    if (t->absurd > 1)
        fprintf(stderr, "dltime scaling: not used for the same reason: %zu more\n", t->absurd - 1);
}

static int fit_pairs(struct dlt_scaling_table *t, const struct options *o, struct dlt_error *error)
{
    struct dlt_scaling_run *run = NULL;
    struct dlt_scaling *scaling = NULL;
    struct dlt_scaling_scores scores;
    struct dlt_error ignored;
    char source[512];
    size_t count;
    int result;

    /* Without the catalogue the ring's link is not known: the generic expression does without. */
    dlt_devices_load_installed(&ignored);
    result = dlt_scaling_pairs(t, &run, &count, error);
    warn_absurd(t);
    if (result == 0 && count == 0)
        result = dlt_fail(error, "no run on several devices has its like on one device (same "
                                 "model, device, precision, pass and framework); measure some "
                                 "networks on one device too");
    if (result == 0)
        result = dlt_scaling_fit(run, count, &o->settings, &scaling, &scores, error);
    list_files(o, source, sizeof source);
    if (result == 0)
        result = dlt_scaling_save(scaling, source, o->output, error);
    if (result == 0)
        print_scaling(scaling, &scores, o->settings.resamples > 0);
    dlt_scaling_destroy(scaling);
    free(run);
    return result;
}

static int run_command(struct options *o)
{
    struct dlt_scaling_table table = {0};
    struct dlt_error error;
    int result = 0;

    for (int i = 0; i < o->file_count && result == 0; i++)
        result = dlt_scaling_read(&table, o->file[i], (const char *const *)o->name,
                                  o->intrinsics ? o->intrinsics + o->extrinsics : 0, &error);
    if (result == 0 && table.suspect + table.timeless > 0)
        fprintf(stderr,
                "dltime scaling: passed over: %zu runs that their source calls suspect, %zu "
                "without a time\n",
                table.suspect, table.timeless);
    if (result == 0 && o->intrinsics)
        result = fit_columns(&table, o, &error);
    if (result == 0)
        result = fit_pairs(&table, o, &error);
    dlt_scaling_table_clear(&table);
    return result ? command_fail("scaling", &error) : COMMAND_DONE;
}

int command_scaling(int argc, char **argv)
{
    static char default_devices[] = "devices", default_nodes[] = "nodes";
    struct options o = {.settings = {.seed = 1,
                                     .threads = dlt_parallel_cpus(),
                                     .resamples = 100,
                                     .penalty = DLT_PENALTY_L1,
                                     .weight = 0.001},
                        .extrinsic = {default_devices, default_nodes},
                        .extrinsics = 2};
    int status = command_options("scaling", help, long_options, argc, argv, take_option, &o);

    if (status >= 0)
        return status;
    memcpy(o.name + o.intrinsics, o.extrinsic, o.extrinsics * sizeof *o.extrinsic);
    o.file = argv + optind;
    o.file_count = argc - optind;
    if (o.file_count == 0)
        return command_usage("scaling", "name at least one file of runs");
    if (!o.output)
        return command_usage("scaling", "say where to write the model: --output FILE");
    for (int i = 0; i < o.file_count; i++)
        if (command_same_file(o.output, o.file[i]))
            return command_usage("scaling", "--output %s would replace the runs in %s", o.output,
                                 o.file[i]);
    return run_command(&o);
}
