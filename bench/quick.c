/* SPDX-License-Identifier: Apache-2.0 */
#include "quick.h"

#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/paths.h"
#include "measure/parse.h"
#include "sampler_draw.h"

enum { QUICK_BYTES = 1 << 20, QUICK_ITEMS = 4096, LINE_DEPTH = 32 };

struct item {
    struct bench_sample sample;
    double repeat_s;
};

struct bench_quick {
    struct item *item;
    size_t count, room;
};

static struct item *add_item(struct bench_quick *quick)
{
    if (dlt_grow(&quick->item, sizeof *quick->item, quick->count, 1, &quick->room))
        return NULL;
    quick->item[quick->count] = (struct item){0};
    return &quick->item[quick->count++];
}

/* Side of a square product that takes so long at the peak rate, in whole multiples of 64. */
static int64_t product_side(double peak, double seconds)
{
    const double unknown = 5e10;
    double flops = seconds * (isfinite(peak) ? peak : unknown);

    return (int64_t)(cbrt(flops / 2) / 64 + 1) * 64;
}

static int add_fixed(struct bench_quick *quick, const struct bench_quick_options *options)
{
    /* Seconds of a product at the peak rate; rows of 1024 columns; how long a repeat lasts. */
    static const struct {
        const char *kind;
        double product_s;
        int64_t function, operands, rows;
        double repeat_s;
    } fixed[] = {
        {"dense", 20e-3, 0, 0, 0, 1},  {"elementwise", 0, DLT_RELU, 1, 16384, 0.3},
        {"dense", 2e-3, 0, 0, 0, 0.3}, {"elementwise", 0, DLT_ADD, 2, 8192, 0.3},
        {"dense", 0, 0, 0, 0, 0.02},   {"elementwise", 0, DLT_RELU, 1, 1, 0.02},
    };

    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        struct item *item = add_item(quick);
        int64_t side = fixed[i].product_s > 0 ? product_side(options->peak, fixed[i].product_s) : 1;
        struct dlt_record *record;

        if (!item)
            return -1;
        record = &item->sample.record;
        *record = dlt_record_make(dlt_record_kind_find(fixed[i].kind));
        record->cache = DLT_CACHE_COLD;
        record->threads = options->threads;
        if (fixed[i].rows > 0)
            record->u.rowwise = (struct dlt_rowwise){.function = fixed[i].function,
                                                     .operands = fixed[i].operands,
                                                     .rows = fixed[i].rows,
                                                     .columns = fixed[i].rows > 1 ? 1024 : 1};
        else
            record->u.matmul = (struct dlt_matmul){.batch = 1, .m = side, .n = side, .k = side};
        item->sample.pass[0] = DLT_FORWARD;
        item->sample.pass_count = 1;
        item->repeat_s = fixed[i].repeat_s;
    }
    return 0;
}

/* Makes a configuration small enough for the device; false where it cannot be. */
static bool fit(const struct bench_quick_options *options, struct dlt_record *record)
{
    for (;;) {
        struct dlt_work work;

        if (dlt_record_check(record, NULL) == 0) {
            dlt_record_work(record, &work);
            if (work.macs <= options->most_macs &&
                4 * (work.input + work.output + work.weights) <= options->most_bytes)
                return true;
        }
        if (!bench_draw_shrink(record))
            return false;
    }
}

/* The row as a pass of the sample before it, or as a sample of its own. */
static int add_row(struct bench_quick *quick, const struct bench_quick_options *options,
                   const struct dlt_record *row)
{
    struct dlt_record record = *row, before;
    struct item *item = quick->count ? &quick->item[quick->count - 1] : NULL;

    record.threads = options->threads;
    record.cache = record.cache == DLT_CACHE_WARM ? DLT_CACHE_WARM : DLT_CACHE_COLD;
    if (!fit(options, &record))
        return 0;
    if (item && item->repeat_s == 0 && item->sample.pass_count < BENCH_SAMPLE_PASSES) {
        before = item->sample.record;
        before.pass = record.pass;
        if (dlt_record_equal(&before, &record)) {
            item->sample.pass[item->sample.pass_count++] = record.pass;
            return 0;
        }
    }
    item = add_item(quick);
    if (!item)
        return -1;
    item->sample.record = record;
    item->sample.pass[0] = record.pass;
    item->sample.pass_count = 1;
    return 0;
}

/* One line: a row, or the header or a comment, which have no `op`. */
static int read_line(struct bench_quick *quick, const struct bench_quick_options *options,
                     struct json_tokener *tokener, const char *line, size_t length,
                     struct dlt_error *error)
{
    struct dlt_measurement row;
    struct json_object *object;
    int status = 0;

    json_tokener_reset(tokener);
    object = json_tokener_parse_ex(tokener, line, (int)length);
    if (!json_object_is_type(object, json_type_object)) {
        status = dlt_fail(error, "is no JSON object; mend or remove the line");
    } else if (dlt_member_find(object, "op")) {
        /* What is read is a row of measurements, which has a time. */
        json_object_object_add(object, "median_ms", json_object_new_int(1));
        switch (dlt_parse_measurement(object, &row, error)) {
        case DLT_PARSED:
            status = quick->count < QUICK_ITEMS ? add_row(quick, options, &row.record) : 0;
            if (status)
                dlt_fail_memory(error);
            break;
        case DLT_PARSED_WRONG:
            status = -1;
            break;
        case DLT_PARSED_UNKNOWN:
            break;
        }
    }
    json_object_put(object);
    return status;
}

static int read_rows(struct bench_quick *quick, const struct bench_quick_options *options,
                     const char *path, struct dlt_error *error)
{
    struct json_tokener *tokener = json_tokener_new_ex(LINE_DEPTH);
    char *text = NULL, *at, *line;
    size_t size, number = 0;
    int status = tokener ? 0 : dlt_fail_memory(error);

    if (status == 0)
        status = dlt_file_read(path, QUICK_BYTES, &text, &size, error);
    for (at = text; status == 0 && (line = strsep(&at, "\n")) != NULL;) {
        number++;
        if (line[strspn(line, " \t\r")] == '\0')
            continue;
        status = read_line(quick, options, tokener, line, strlen(line), error);
        if (status)
            dlt_fail_in(error, "%s: line %zu: ", path, number);
    }
    free(text);
    if (tokener)
        json_tokener_free(tokener);
    return status;
}

int bench_quick_create(const struct bench_quick_options *options, struct bench_quick **quick,
                       struct dlt_error *error)
{
    struct bench_quick *made = calloc(1, sizeof *made);
    char shipped[PATH_MAX];
    const char *path = options->path;
    int status = made && add_fixed(made, options) == 0 ? 0 : dlt_fail_memory(error);

    if (status == 0 && !path) {
        path = dlt_path(DLT_FOLDER_DATA, "quick.jsonl", shipped, sizeof shipped);
        if (!path)
            status = dlt_fail(error, "quick.jsonl: the path of the data folder is too long");
    }
    if (status == 0)
        status = read_rows(made, options, path, error);
    if (status)
        bench_quick_destroy(made);
    else
        *quick = made;
    return status;
}

void bench_quick_destroy(struct bench_quick *quick)
{
    if (quick)
        free(quick->item);
    free(quick);
}

size_t bench_quick_count(const struct bench_quick *quick)
{
    return quick->count;
}

const struct bench_sample *bench_quick_at(const struct bench_quick *quick, size_t index,
                                          double *repeat_s)
{
    *repeat_s = quick->item[index].repeat_s;
    return &quick->item[index].sample;
}

const char *bench_quick_network(double peak, int index)
{
    /* One of convolutions and one of products; a step takes tens of milliseconds. */
    static const char *const large[] = {"resnet50,batch=32", "bert_base,batch=8,seq=128"};
    static const char *const small[] = {"resnet8,batch=32", "mlp,batch=128"};
    const double many_cores = 3e12;

    return isfinite(peak) && peak >= many_cores ? large[index] : small[index];
}
