/* SPDX-License-Identifier: Apache-2.0 */
/* `dltime predict SPEC,batch=8:512`: which batch is worth it, and which still fits. */
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "command/predict.h"

static const double gib = 1073741824.0;

static const char blanks[] = " \t";

/* The value of batch= in a SPEC, which may have blanks around its words; NULL: there is none. */
static const char *batch_of(const char *spec)
{
    static const char key[] = "batch";

    while ((spec = strchr(spec, ','))) {
        spec += 1 + strspn(spec + 1, blanks);
        if (strncmp(spec, key, sizeof key - 1) == 0) {
            const char *after = spec + sizeof key - 1;

            after += strspn(after, blanks);
            if (*after == '=')
                return after + 1 + strspn(after + 1, blanks);
        }
    }
    return NULL;
}

/* The length of a text without the blanks at its end. */
static size_t trimmed(const char *text, size_t length)
{
    while (length > 0 && strchr(blanks, text[length - 1]))
        length--;
    return length;
}

char *predict_range_take(const char *spec, struct predict_range *range, struct dlt_error *error)
{
    const char *start = batch_of(spec);
    char text[64], *colon, *plain;
    size_t length;

    *range = (struct predict_range){0};
    dlt_fail_memory(error);
    if (!start)
        return strdup(spec);
    length = trimmed(start, strcspn(start, ","));
    if (length >= sizeof text)
        return strdup(spec);
    memcpy(text, start, length);
    text[length] = '\0';
    colon = strchr(text, ':');
    if (!colon)
        return strdup(spec);
    text[trimmed(text, (size_t)(colon - text))] = '\0';
    colon += 1 + strspn(colon + 1, blanks);
    if (!dlt_text_to_int64(text, &range->low) || !dlt_text_to_int64(colon, &range->high) ||
        range->low < 1 || range->high < range->low) {
        dlt_fail(error, "%s: batch: a range is LOW:HIGH, such as 8:512, not \"%.*s\"", spec,
                 (int)length, start);
        return NULL;
    }
    if (asprintf(&plain, "%.*s%s%s", (int)(start - spec), spec, text, start + length) < 0)
        return NULL;
    return plain;
}

/* One line of the table. */
struct line {
    double batch, step_s, samples, memory_bytes;
    enum dlt_fits fits;
    enum dlt_basis basis;
};

struct table {
    struct dlt_model *model;
    const struct dlt_profile *profile;
    const struct dlt_question *question;
    struct line line[64]; /* doubling ends before that */
    size_t count;
    double largest; /* that fits; 0: none, or unknown */
    int devices;
    char device[96];   /* "" before the first answer */
    double parameters; /* of the network */
};

static int ask(struct table *table, int64_t batch, struct line *line, struct dlt_error *error)
{
    struct dlt_estimate *e;

    table->model->training.batch = batch;
    if (dlt_predict(table->model, table->profile, table->question, &e, error))
        return -1;
    *line = (struct line){.batch = (double)batch,
                          .step_s = e->step_s,
                          .samples = (double)batch * e->devices *
                                     (double)(e->training.accumulate ? e->training.accumulate : 1),
                          .memory_bytes = dlt_estimate_memory_bytes(e),
                          .fits = e->fits,
                          .basis = e->basis};
    dlt_text_copy(table->device, sizeof table->device, e->device.name);
    table->devices = e->devices;
    table->parameters = e->parameters;
    dlt_estimate_destroy(e);
    return 0;
}

/* By halving between a batch that fits and a larger one that does not. */
static int refine(struct table *table, int64_t fits, int64_t too_large, struct dlt_error *error)
{
    while (too_large - fits > 1) {
        int64_t middle = fits + (too_large - fits) / 2;
        struct line line;

        if (ask(table, middle, &line, error))
            return -1;
        if (line.fits == DLT_FITS_YES)
            fits = middle;
        else
            too_large = middle;
    }
    table->largest = (double)fits;
    return 0;
}

static int fill(struct table *table, const struct predict_range *range, struct dlt_error *error)
{
    int64_t fits = 0, too_large = 0;

    for (int64_t batch = range->low;;) {
        struct line *line = &table->line[table->count];

        if (ask(table, batch, line, error))
            return -1;
        table->count++;
        if (line->fits == DLT_FITS_YES)
            fits = batch;
        else if (!too_large && line->fits != DLT_FITS_UNKNOWN)
            too_large = batch;
        if (batch == range->high)
            break;
        batch = batch > range->high / 2 ? range->high : batch * 2;
    }
    table->largest = (double)fits;
    return fits && too_large ? refine(table, fits, too_large, error) : 0;
}

static void print_json(const struct table *table)
{
    struct json_object *object = json_object_new_object(), *rows = json_object_new_array();

    for (size_t i = 0; i < table->count; i++) {
        const struct line *l = &table->line[i];
        struct json_object *row = json_object_new_object();

        dlt_json_number(row, "batch", l->batch);
        dlt_json_number(row, "step_ms", l->step_s * 1e3);
        dlt_json_number(row, "sample_ms", l->step_s * 1e3 / l->samples);
        dlt_json_number(row, "samples_per_s", l->samples / l->step_s);
        dlt_json_number(row, "memory_gib", l->memory_bytes / gib);
        dlt_json_text(row, "fits", dlt_fits_name(l->fits));
        dlt_json_text(row, "basis", dlt_basis_name(l->basis));
        json_object_array_add(rows, row);
    }
    dlt_json_text(object, "model", dlt_model_name(table->model));
    dlt_json_text(object, "device", table->device);
    dlt_json_number(object, "devices", table->devices);
    dlt_json_text(object, "profile", dlt_profile_path(table->profile));
    json_object_object_add(object, "batches", rows);
    dlt_json_number(object, "largest_that_fits", table->largest > 0 ? table->largest : NAN);
    dlt_json_print(stdout, object);
    json_object_put(object);
}

static void print_table(const struct table *table)
{
    char parameters[32];

    printf("%s on %d x %s: %s parameters, %s\n", dlt_model_name(table->model), table->devices,
           table->device, dlt_text_from_count(parameters, table->parameters),
           dlt_precision_names[table->model->training.precision]);
    printf("%8s %12s %12s %12s %10s  %-7s  %s\n", "BATCH", "STEP", "PER SAMPLE", "SAMPLES/S",
           "MEMORY", "FITS", "RESTS ON");
    for (size_t i = 0; i < table->count; i++) {
        const struct line *l = &table->line[i];
        char step[32], sample[32], rate[32], memory[32];

        printf("%8.0f %12s %12s %12s %10s  %-7s  %s\n", l->batch,
               dlt_text_from_seconds(step, l->step_s),
               dlt_text_from_seconds(sample, l->step_s / l->samples),
               dlt_text_from_count(rate, l->samples / l->step_s),
               dlt_text_from_bytes(memory, l->memory_bytes), dlt_fits_name(l->fits),
               dlt_basis_name(l->basis));
    }
    if (table->largest > 0)
        printf("largest batch that fits: %.0f\n", table->largest);
    predict_print_device("device: ", table->question->device, table->device);
    printf("profile: %s\n", dlt_profile_path(table->profile));
}

int predict_batches(struct dlt_model *model, const struct dlt_profile *profile,
                    const struct dlt_question *question, const struct predict_range *range,
                    bool json, struct dlt_error *error)
{
    struct table table = {.model = model, .profile = profile, .question = question};

    if (fill(&table, range, error))
        return -1;
    if (json)
        print_json(&table);
    else
        print_table(&table);
    return 0;
}
