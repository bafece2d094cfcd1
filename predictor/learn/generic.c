/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/generic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/median.h"
#include "learn/evolve.h"
#include "learn/nnls.h"
#include "learn/parallel.h"
#include "learn/random.h"

/* Exponents beyond these are no law of scaling. */
static const double p_low = 0, p_high = 3, q_low = -2, q_high = 2;

enum { COLUMNS = DLT_FACTORS + 1 }; /* the intrinsic terms, and C */

struct fit {
    const struct dlt_generic_settings *settings;
    size_t rows, intrinsics, extrinsics;
    double *log_intrinsic; /* rows x intrinsics, less its factor's mean */
    double *log_extrinsic; /* rows x extrinsics */
    double *seconds;
    double *column; /* rows x COLUMNS: terms over the row's time */
    double *weight; /* of rows */
    double mean[DLT_FACTORS];
};

static void clear(struct fit *f)
{
    free(f->log_intrinsic);
    free(f->log_extrinsic);
    free(f->seconds);
    free(f->column);
    free(f->weight);
}

/* Takes the listed rows of the data; a row may be listed several times. */
static int take_rows(const struct dlt_generic_data *data, const size_t *row, size_t rows,
                     const struct dlt_generic_settings *settings, struct fit *f)
{
    *f = (struct fit){settings, rows, data->intrinsics, data->extrinsics, NULL, NULL, NULL, NULL,
                      NULL,     {0}};
    f->log_intrinsic = calloc(rows * DLT_FACTORS, sizeof *f->log_intrinsic);
    f->log_extrinsic = calloc(rows * DLT_FACTORS, sizeof *f->log_extrinsic);
    f->seconds = calloc(rows, sizeof *f->seconds);
    f->column = calloc(rows * COLUMNS, sizeof *f->column);
    f->weight = calloc(rows, sizeof *f->weight);
    if (!f->log_intrinsic || !f->log_extrinsic || !f->seconds || !f->column || !f->weight) {
        clear(f);
        return -1;
    }
    for (size_t r = 0; r < rows; r++) {
        const double *intrinsic = data->intrinsic + row[r] * data->intrinsics;
        const double *extrinsic = data->extrinsic + row[r] * data->extrinsics;

        f->seconds[r] = data->seconds[row[r]];
        for (size_t i = 0; i < data->intrinsics; i++) {
            f->log_intrinsic[r * DLT_FACTORS + i] = log(intrinsic[i]);
            f->mean[i] += log(intrinsic[i]) / (double)rows;
        }
        for (size_t j = 0; j < data->extrinsics; j++)
            f->log_extrinsic[r * DLT_FACTORS + j] = log(extrinsic[j]);
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < data->intrinsics; i++)
            f->log_intrinsic[r * DLT_FACTORS + i] -= f->mean[i];
    return 0;
}

static void fill_columns(struct fit *f, const double *p, const double *q)
{
    for (size_t r = 0; r < f->rows; r++) {
        double log_extrinsic = 0;

        for (size_t j = 0; j < f->extrinsics; j++)
            log_extrinsic += q[j] * f->log_extrinsic[r * DLT_FACTORS + j];
        for (size_t i = 0; i < f->intrinsics; i++)
            f->column[r * COLUMNS + i] =
                exp(p[i] * f->log_intrinsic[r * DLT_FACTORS + i] + log_extrinsic) / f->seconds[r];
        f->column[r * COLUMNS + f->intrinsics] = 1 / f->seconds[r];
    }
}

/* The linear constants for the columns and weights at hand. */
static void solve(const struct fit *f, double *linear)
{
    size_t n = f->intrinsics + 1;
    double gram[COLUMNS * COLUMNS] = {0}, right[COLUMNS] = {0}, scale[COLUMNS];

    for (size_t r = 0; r < f->rows; r++) {
        const double *x = f->column + r * COLUMNS;

        for (size_t i = 0; i < n; i++) {
            right[i] += f->weight[r] * x[i];
            for (size_t j = 0; j < n; j++)
                gram[i * n + j] += f->weight[r] * x[i] * x[j];
        }
    }
    for (size_t i = 0; i < n; i++)
        scale[i] = gram[i * n + i] > 0 ? sqrt(gram[i * n + i]) : 1;
    for (size_t i = 0; i < n; i++) {
        right[i] /= scale[i];
        for (size_t j = 0; j < n; j++)
            gram[i * n + j] /= scale[i] * scale[j];
    }
    memset(linear, 0, COLUMNS * sizeof *linear);
    if (dlt_nnls(gram, right, n, linear) == 0)
        for (size_t i = 0; i < n; i++)
            linear[i] /= scale[i];
}

/* Predicted over seen time, less one. */
static double relative_error(const struct fit *f, size_t row, const double *linear)
{
    double sum = 0;

    for (size_t i = 0; i <= f->intrinsics; i++)
        sum += linear[i] * f->column[row * COLUMNS + i];
    return sum - 1;
}

/* Mean absolute relative error with the best linear constants; large errors count like small ones
 * (iteratively reweighted towards least absolute errors). */
static double fit_linear(struct fit *f, double *linear)
{
    const double corner = 0.02; /* below it errors count by their square */
    double sum = 0;

    for (size_t r = 0; r < f->rows; r++)
        f->weight[r] = 1;
    if (f->settings->time_known) {
        memset(linear, 0, COLUMNS * sizeof *linear);
        linear[0] = exp(f->mean[0]);
    }
    for (int pass = 0; pass < 3 && !f->settings->time_known; pass++) {
        solve(f, linear);
        for (size_t r = 0; r < f->rows; r++)
            f->weight[r] = 1 / fmax(fabs(relative_error(f, r, linear)), corner);
    }
    for (size_t r = 0; r < f->rows; r++)
        sum += fabs(relative_error(f, r, linear));
    return sum / (double)f->rows;
}

static double penalty(const struct fit *f, const double *p, const double *q)
{
    bool squared = f->settings->penalty == DLT_PENALTY_L2;
    double sum = 0;

    for (size_t i = 0; i < f->intrinsics; i++)
        sum += squared ? (p[i] - 1) * (p[i] - 1) : fabs(p[i] - 1);
    for (size_t j = 0; j < f->extrinsics; j++)
        sum += squared ? q[j] * q[j] : fabs(q[j]);
    return f->settings->weight * sum;
}

/* A point of the search: p, then q. */
static double cost(void *context, const double *point)
{
    struct fit *f = context;
    const double *q = point + f->intrinsics;
    double linear[COLUMNS], error;

    fill_columns(f, point, q);
    error = fit_linear(f, linear) + penalty(f, point, q);
    return isfinite(error) ? error : INFINITY;
}

/* A factor that is 1 in every row tells nothing of its exponent: none. */
static bool varies(const struct fit *f, size_t extrinsic)
{
    for (size_t r = 0; r < f->rows; r++)
        if (fabs(f->log_extrinsic[r * DLT_FACTORS + extrinsic]) > 0)
            return true;
    return false;
}

static int fit_rows(struct fit *f, uint64_t stream, struct dlt_generic *model)
{
    double low[2 * DLT_FACTORS], high[2 * DLT_FACTORS], best[2 * DLT_FACTORS], linear[COLUMNS];
    struct dlt_evolve_settings settings = {.dimensions = f->intrinsics + f->extrinsics,
                                           .low = low,
                                           .high = high,
                                           .seed = f->settings->seed,
                                           .stream = stream};

    for (size_t i = 0; i < f->intrinsics; i++) {
        low[i] = f->settings->time_known ? 1 : p_low;
        high[i] = f->settings->time_known ? 1 : p_high;
    }
    for (size_t j = 0; j < f->extrinsics; j++) {
        low[f->intrinsics + j] = varies(f, j) ? q_low : 0;
        high[f->intrinsics + j] = varies(f, j) ? q_high : 0;
    }
    if (isnan(dlt_evolve(&settings, cost, f, best)))
        return -1;
    *model = (struct dlt_generic){.intrinsics = f->intrinsics, .extrinsics = f->extrinsics};
    memcpy(model->p, best, f->intrinsics * sizeof *best);
    memcpy(model->q, best + f->intrinsics, f->extrinsics * sizeof *best);
    fill_columns(f, model->p, model->q);
    model->error = fit_linear(f, linear);
    for (size_t i = 0; i < f->intrinsics; i++)
        model->a[i] = linear[i] * exp(-model->p[i] * f->mean[i]);
    model->constant = linear[f->intrinsics];
    return 0;
}

struct bootstrap {
    const struct dlt_generic_data *data;
    const struct dlt_generic_settings *settings;
    struct dlt_generic *result;
    bool *failed;
};

/* Draws as many clusters as there are, with replacement, and lists their rows. */
static size_t draw_rows(const struct dlt_generic_data *data, struct dlt_random *random, size_t *row,
                        size_t room)
{
    size_t clusters = data->cluster ? data->clusters : data->rows, rows = 0;

    for (size_t c = 0; c < clusters; c++) {
        size_t drawn = dlt_random_below(random, clusters);

        for (size_t r = 0; r < data->rows; r++)
            if ((data->cluster ? data->cluster[r] : r) == drawn && rows < room)
                row[rows++] = r;
    }
    return rows;
}

static void resample(void *context, size_t index)
{
    struct bootstrap *b = context;
    size_t room = 4 * b->data->rows, rows;
    size_t *row = calloc(room, sizeof *row);
    struct dlt_random random;
    struct fit f;

    b->failed[index] = true;
    if (!row)
        return;
    dlt_random_seed(&random, b->settings->seed, 2 * index + 1);
    rows = draw_rows(b->data, &random, row, room);
    if (take_rows(b->data, row, rows, b->settings, &f) == 0) {
        b->failed[index] = fit_rows(&f, 2 * index + 2, &b->result[index]) != 0;
        clear(&f);
    }
    free(row);
}

/* The 5th and 95th percentile of one number of the resampled models, at an offset within them. */
static void range_of(const struct bootstrap *b, size_t count, size_t offset, double *values,
                     struct dlt_generic *low, struct dlt_generic *high)
{
    size_t margin = count / 20;

    for (size_t i = 0; i < count; i++)
        memcpy(&values[i], (const char *)&b->result[i] + offset, sizeof values[i]);
    dlt_sort_values(values, count);
    memcpy((char *)low + offset, &values[margin], sizeof *values);
    memcpy((char *)high + offset, &values[count - 1 - margin], sizeof *values);
}

static int find_ranges(const struct dlt_generic_data *data,
                       const struct dlt_generic_settings *settings, struct dlt_generic *low,
                       struct dlt_generic *high, struct dlt_error *error)
{
    size_t count = (size_t)settings->resamples;
    struct bootstrap b = {data, settings, calloc(count, sizeof *b.result),
                          calloc(count, sizeof *b.failed)};
    double *values = calloc(count, sizeof *values);
    bool failed = !b.result || !b.failed || !values;

    if (!failed)
        dlt_parallel(settings->threads, count, resample, &b);
    for (size_t i = 0; i < count && !failed; i++)
        failed = b.failed[i];
    for (size_t i = 0; i < DLT_FACTORS && !failed; i++) {
        size_t step = i * sizeof(double);

        range_of(&b, count, offsetof(struct dlt_generic, a) + step, values, low, high);
        range_of(&b, count, offsetof(struct dlt_generic, p) + step, values, low, high);
        range_of(&b, count, offsetof(struct dlt_generic, q) + step, values, low, high);
    }
    if (!failed)
        range_of(&b, count, offsetof(struct dlt_generic, constant), values, low, high);
    free(b.result);
    free(b.failed);
    free(values);
    return failed ? dlt_fail_memory(error) : 0;
}

static int check(const struct dlt_generic_data *data, bool time_known, struct dlt_error *error)
{
    size_t constants = time_known ? data->extrinsics : 2 * data->intrinsics + data->extrinsics + 1;

    if (data->rows < constants)
        return dlt_fail(error, "%zu rows are too few for %zu constants", data->rows, constants);
    for (size_t r = 0; r < data->rows; r++) {
        bool good = data->seconds[r] > 0 && isfinite(data->seconds[r]);

        for (size_t i = 0; i < data->intrinsics; i++)
            good = good && data->intrinsic[r * data->intrinsics + i] > 0;
        for (size_t j = 0; j < data->extrinsics; j++)
            good = good && data->extrinsic[r * data->extrinsics + j] > 0;
        if (!good)
            return dlt_fail(error, "a factor or the time of a run is not above 0");
    }
    return 0;
}

int dlt_generic_fit(const struct dlt_generic_data *data,
                    const struct dlt_generic_settings *settings, struct dlt_generic *model,
                    struct dlt_generic *low, struct dlt_generic *high, struct dlt_error *error)
{
    size_t *row;
    struct fit f;
    int result;

    if (check(data, settings->time_known, error))
        return -1;
    row = calloc(data->rows, sizeof *row);
    if (!row)
        return dlt_fail_memory(error);
    for (size_t r = 0; r < data->rows; r++)
        row[r] = r;
    result = take_rows(data, row, data->rows, settings, &f);
    if (result == 0) {
        result = fit_rows(&f, 0, model);
        clear(&f);
    }
    free(row);
    if (result)
        return dlt_fail_memory(error);
    if (low && high && settings->resamples > 0)
        return find_ranges(data, settings, low, high, error);
    return 0;
}
