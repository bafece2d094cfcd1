/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/features.h"

#include <math.h>
#include <string.h>

void dlt_numbers_add(struct dlt_numbers *numbers, const char *name, double value)
{
    if (numbers->count == DLT_FEATURES_MAX)
        return;
    numbers->name[numbers->count] = name;
    numbers->value[numbers->count++] = value;
}

double dlt_numbers_find(const struct dlt_numbers *numbers, const char *name)
{
    for (size_t i = 0; i < numbers->count; i++)
        if (strcmp(numbers->name[i], name) == 0)
            return numbers->value[i];
    return NAN;
}

double dlt_padding_waste(double x, double tile)
{
    return log(ceil(x / tile) * tile / x);
}

struct dlt_parts dlt_pass_parts(enum dlt_pass pass)
{
    static const struct dlt_parts parts[DLT_PASSES] = {
        [DLT_FORWARD] = {.forward = true},
        [DLT_BACKWARD_DATA] = {.data = true},
        [DLT_BACKWARD_WEIGHT] = {.weight = true},
        [DLT_BACKWARD] = {.data = true, .weight = true},
        [DLT_UPDATE] = {.update = true},
        [DLT_STEP] = {.forward = true, .data = true, .weight = true, .update = true},
    };

    return parts[pass];
}

bool dlt_column_is_update(const char *name)
{
    return strncmp(name, "update", 6) == 0;
}

bool dlt_column_is_input_update(const char *name)
{
    return strncmp(name, "update input", 12) == 0;
}

bool dlt_column_is_of_one(const char *name)
{
    size_t length = strlen(name);

    return length > 3 && strcmp(name + length - 3, " of") == 0;
}

bool dlt_column_is_retired(const char *name)
{
    /* Transforms also where they do not pay. */
    static const char *const retired[] = {"winograd macs",  "winograd elements",
                                          "fft macs",       "fft elements",
                                          "fft tiled macs", "fft tiled elements"};

    for (size_t i = 0; i < sizeof retired / sizeof *retired; i++)
        if (strcmp(name, retired[i]) == 0)
            return true;
    return false;
}

enum dlt_resource dlt_column_resource(const struct dlt_numbers *columns, size_t index)
{
    static const char *const arithmetic[] = {"macs", "flops", "tiles"};
    static const char *const constant[] = {"1", "pass", "update of"};
    const char *name = columns->name[index];

    for (size_t i = 0; i < sizeof arithmetic / sizeof *arithmetic; i++)
        if (strstr(name, arithmetic[i]))
            return DLT_COMPUTE;
    for (size_t i = 0; i < sizeof constant / sizeof *constant; i++)
        if (strcmp(name, constant[i]) == 0)
            return DLT_LAUNCH;
    /* A value of a named field has two columns: whether it is there, and its bytes. */
    if (index + 1 < columns->count && strcmp(name, columns->name[index + 1]) == 0)
        return DLT_LAUNCH;
    return DLT_MEMORY;
}

static size_t field_width(const struct dlt_record_kind *kind, const struct dlt_field *field)
{
    if (field->type == DLT_FIELD_LIST)
        return (size_t)kind->dims;
    return field->type == DLT_FIELD_PADDING ? 2 * (size_t)kind->dims : 1;
}

/* Mean of a field's numbers. */
static double field_mean(const struct dlt_record *record, const struct dlt_field *field)
{
    const int64_t *value = (const int64_t *)(const void *)((const char *)record + field->offset);
    size_t width = field_width(record->kind, field);
    double sum = 0;

    for (size_t i = 0; i < width; i++)
        sum += (double)value[i];
    return sum / (double)(width ? width : 1);
}

/* Columns of a kind without code of its own: launches, bytes, FLOPs and each size for every pass,
 * and bytes and FLOPs apart for each value of a named field (function, implementation) and each
 * optimizer. */
static void generic_columns(const struct dlt_record *record, const struct dlt_work *work,
                            struct dlt_numbers *columns)
{
    double cold = record->cache != DLT_CACHE_WARM;

    for (int pass = 0; pass < DLT_PASSES; pass++) {
        double here = (int)record->pass == pass;

        dlt_numbers_add(columns, "pass", here);
        dlt_numbers_add(columns, "pass bytes", here * work->bytes);
        dlt_numbers_add(columns, "pass cold bytes", here * cold * work->bytes);
        dlt_numbers_add(columns, "pass flops", here * work->flops);
    }
    for (const struct dlt_field *field = record->kind->fields; field->name; field++) {
        double value = field_mean(record, field);

        if (field->type == DLT_FIELD_INT)
            dlt_numbers_add(columns, field->name, value);
        for (size_t name = 0; field->type == DLT_FIELD_NAME && name < field->name_count; name++) {
            double here = value == (double)name;

            dlt_numbers_add(columns, field->names[name], here);
            dlt_numbers_add(columns, field->names[name], here * work->bytes);
        }
    }
    for (int optimizer = 1; optimizer < DLT_OPTIMIZERS; optimizer++)
        dlt_numbers_add(columns, dlt_optimizer_names[optimizer],
                        (int)record->optimizer == optimizer ? work->bytes : 0);
}

static bool is_matmul(const struct dlt_record_kind *kind)
{
    return strcmp(kind->name, "dense") == 0 || strcmp(kind->name, "bmm") == 0;
}

void dlt_columns(const struct dlt_record *record, struct dlt_numbers *columns)
{
    struct dlt_work work;

    columns->count = 0;
    dlt_record_work(record, &work);
    if (dlt_is_convolution(record->kind) || is_matmul(record->kind))
        dlt_columns_matmul(record, &work, columns);
    else
        generic_columns(record, &work, columns);
}

/* What of every kind: pass, optimizer, activation, cache, layout, sizes of the work. */
static void common_features(const struct dlt_record *record, const struct dlt_work *work,
                            const struct dlt_device *device, double cost_s, struct dlt_numbers *f)
{
    double peak = dlt_device_peak(device, (int)record->dtype, (int)record->math, record->threads);
    double bandwidth = device->memory_bandwidth > 0 ? device->memory_bandwidth : 1e11;
    double compute, memory;

    if (!(peak > 0))
        peak = 1e12;
    compute = fmax(work->flops, 1) / peak;
    memory = fmax(work->bytes, 1) / bandwidth;
    for (int pass = 0; pass < DLT_PASSES; pass++)
        dlt_numbers_add(f, dlt_pass_names[pass], (int)record->pass == pass);
    for (int optimizer = 0; optimizer < DLT_OPTIMIZERS; optimizer++)
        dlt_numbers_add(f, dlt_optimizer_names[optimizer], (int)record->optimizer == optimizer);
    for (int function = 0; function < DLT_FUNCTIONS; function++)
        dlt_numbers_add(f, dlt_function_names[function], (int)record->activation == function);
    dlt_numbers_add(f, "warm", record->cache == DLT_CACHE_WARM);
    dlt_numbers_add(f, "nhwc", record->layout == DLT_NHWC);
    dlt_numbers_add(f, "ln input", log(fmax(work->input, 1)));
    dlt_numbers_add(f, "ln output", log(fmax(work->output, 1)));
    dlt_numbers_add(f, "ln weights", log(fmax(work->weights, 1)));
    dlt_numbers_add(f, "ln flops", log(fmax(work->flops, 1)));
    dlt_numbers_add(f, "ln bytes", log(fmax(work->bytes, 1)));
    dlt_numbers_add(f, "ln intensity", log(fmax(work->flops, 1) / fmax(work->bytes, 1)));
    dlt_numbers_add(f, "ln cost", log(cost_s));
    dlt_numbers_add(f, "ln compute", log(compute));
    dlt_numbers_add(f, "ln memory", log(memory));
    dlt_numbers_add(f, "ln roofline", log(fmax(compute, memory) + 5e-6));
    dlt_numbers_add(f, "ln balance", log(compute) - log(memory));
}

/* Images have their channels side by side in blocks: the kernels for counts that fill none are
 * other ones. Padding to a tile hardly tells 639 channels from 640, which take an eighth of the
 * time. */
static void divisors(const struct dlt_field *field, double value, struct dlt_numbers *f)
{
    for (int divisor = 4; divisor <= 16; divisor *= 2)
        dlt_numbers_add(f, field->name, fmod(value, divisor) == 0);
}

/* The sizes of a kind without code of its own: logarithms, and what padding to tiles adds. */
static void generic_features(const struct dlt_record *record, struct dlt_numbers *f)
{
    static const double tiles[] = {8, 32, 128};

    for (const struct dlt_field *field = record->kind->fields; field->name; field++) {
        double value = field_mean(record, field);

        if (field->type == DLT_FIELD_INT || field->type == DLT_FIELD_LIST) {
            dlt_numbers_add(f, field->name, log(fmax(value, 1)));
            for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++)
                dlt_numbers_add(f, field->name, dlt_padding_waste(fmax(value, 1), tiles[t]));
            if (field->type == DLT_FIELD_INT && record->kind->dims > 0)
                divisors(field, value, f);
        } else if (field->type == DLT_FIELD_NAME) {
            for (size_t name = 0; name < field->name_count; name++)
                dlt_numbers_add(f, field->names[name], value == (double)name);
        } else {
            dlt_numbers_add(f, field->name, value);
        }
    }
}

void dlt_features(const struct dlt_record *record, const struct dlt_device *device, double cost_s,
                  struct dlt_numbers *features)
{
    struct dlt_work work;

    features->count = 0;
    dlt_record_work(record, &work);
    common_features(record, &work, device, cost_s, features);
    if (dlt_is_convolution(record->kind))
        dlt_features_convolution(record, &work, device, features);
    else if (is_matmul(record->kind))
        dlt_features_matmul(record, &work, device, features);
    else
        generic_features(record, features);
}

void dlt_coordinates(const struct dlt_record *record, struct dlt_numbers *c)
{
    struct dlt_parts parts = dlt_pass_parts(record->pass);
    struct dlt_work work;

    c->count = 0;
    dlt_record_work(record, &work);
    dlt_numbers_add(c, "ln flops", log(fmax(work.flops, 1)));
    dlt_numbers_add(c, "ln bytes", log(fmax(work.bytes, 1)));
    dlt_numbers_add(c, "forward", parts.forward);
    dlt_numbers_add(c, "data", parts.data);
    dlt_numbers_add(c, "weight", parts.weight);
    dlt_numbers_add(c, "update", parts.update);
    dlt_numbers_add(c, "warm", record->cache == DLT_CACHE_WARM);
    dlt_numbers_add(c, "nhwc", record->layout == DLT_NHWC);
    dlt_numbers_add(c, "touches", 0.2 * dlt_optimizer_touches(record->optimizer));
    for (const struct dlt_field *field = record->kind->fields; field->name; field++) {
        double value = field_mean(record, field);

        if (field->type == DLT_FIELD_INT || field->type == DLT_FIELD_LIST)
            dlt_numbers_add(c, field->name, log(fmax(value, 1)));
        else if (field->type == DLT_FIELD_PADDING)
            dlt_numbers_add(c, field->name, log1p(fmax(value, 0)));
        else if (field->type == DLT_FIELD_BOOL)
            dlt_numbers_add(c, field->name, 0.3 * value);
        else
            for (size_t name = 0; name < field->name_count; name++)
                dlt_numbers_add(c, field->names[name], value == (double)name);
    }
}

static uint32_t add_names(uint32_t hash, const struct dlt_numbers *numbers)
{
    for (size_t i = 0; i < numbers->count; i++) {
        for (const char *c = numbers->name[i]; *c; c++)
            hash = (hash ^ (unsigned char)*c) * 16777619U; /* FNV-1a */
        hash = (hash ^ '/') * 16777619U;
    }
    return hash;
}

uint32_t dlt_feature_signature(const struct dlt_record_kind *kind, size_t columns, size_t features)
{
    static const struct dlt_device none;
    struct dlt_record record = dlt_record_make(kind);
    struct dlt_numbers numbers;
    uint32_t hash = 2166136261U;

    dlt_columns(&record, &numbers);
    numbers.count = numbers.count < columns ? numbers.count : columns;
    hash = add_names(hash, &numbers);
    dlt_features(&record, &none, 1, &numbers);
    numbers.count = numbers.count < features ? numbers.count : features;
    hash = add_names(hash, &numbers);
    dlt_coordinates(&record, &numbers);
    return add_names(hash, &numbers);
}
