/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which learner suits how many rows, and what is held out to judge it. Few rows: cross-validation,
 * so that every row both teaches and judges. Many: a fifth judges what the others taught, and then
 * teaches as well.
 */
#include "learn/fit_section.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/known.h"
#include "learn/drift.h"
#include "learn/parallel.h"
#include "learn/start.h"

enum {
    LEAST_RATIO = 8,       /* rows; below, the cost model alone */
    LEAST_ENSEMBLE = 1500, /* below, a Gaussian process */
    LEAST_FORCED = 64
};

enum learner { LEARN_COST, LEARN_LINEAR, LEARN_KERNEL, LEARN_ENSEMBLE };

static enum learner choose(enum dlt_method method, size_t rows, bool begun)
{
    if (method == DLT_METHOD_LINEAR)
        return LEARN_LINEAR;
    if (method == DLT_METHOD_COST || rows < LEAST_RATIO)
        return LEARN_COST;
    if (method == DLT_METHOD_MLP && rows >= LEAST_FORCED)
        return LEARN_ENSEMBLE;
    return rows < (begun ? (size_t)DLT_LEAST_BEGUN : LEAST_ENSEMBLE) ? LEARN_KERNEL
                                                                     : LEARN_ENSEMBLE;
}

/*
 * What sections below a number of rows pay for: rounds 0 for no trees. Products, normalisations,
 * softmax and elementwise operators have to fit together in the 256 KiB that a transformer may
 * touch. Of many convolutions trees had a share only where rows kept aside chose one by chance, and
 * none know where to begin.
 */
static const struct forest {
    const char *kind; /* NULL: all others */
    size_t rows;
    int rounds, leaves;
} forests[] = {
    {"conv2d", 2500, 40, 31}, {"conv2d", 10000, 80, 63}, {"conv2d", SIZE_MAX, 0, 0},
    {"dense", 2500, 40, 31},  {"dense", 10000, 40, 63},  {"dense", SIZE_MAX, 160, 31},
    {"bmm", 2500, 40, 31},    {"bmm", SIZE_MAX, 40, 63}, {NULL, 2500, 40, 31},
    {NULL, SIZE_MAX, 0, 0},
};

static const struct forest *forest_for(const struct dlt_rows *rows)
{
    const struct forest *f = forests;

    while (rows->count >= f->rows ||
           (f->kind && strcmp(f->kind, rows->row[0]->record.kind->name) != 0))
        f++;
    return f;
}

/* rows: all of the section, so that those without some and all learn alike. */
static struct dlt_ensemble_settings ensemble_settings(const struct dlt_fit_settings *s,
                                                      const struct dlt_rows *rows)
{
    const struct forest *forest = forest_for(rows);
    bool many = rows->count >= 30000;
    bool convolution = dlt_is_convolution(rows->row[0]->record.kind);
    bool begun = convolution && s->starts > 0;
    bool without_trees = s->method == DLT_METHOD_MLP || forest->rounds == 0 || begun;
    struct dlt_ensemble_settings e = {.members = 4,
                                      .kept = convolution,
                                      .epochs = many          ? 45
                                                : convolution ? 60
                                                              : 30,
                                      .start = s->start,
                                      .starts = begun ? s->starts : 0,
                                      .begun_epochs = many ? 30 : 40,
                                      .bags = without_trees ? 0 : 2,
                                      .rounds = forest->rounds,
                                      .leaves = forest->leaves,
                                      .share = -1,
                                      .student_epochs = many ? 40 : 60,
                                      .synthetic = 0.7,
                                      .threads = s->threads,
                                      .seed = s->seed,
                                      .stream = s->stream};

    return e;
}

static void choose_like(const struct dlt_build *like, struct dlt_ensemble_settings *e)
{
    e->share = like->model.trees ? like->model.tree_weight : 0;
    e->members = e->share < 1 ? e->members : 0;
    e->bags = e->share > 0 ? e->bags : 0;
    e->start = like->begun;
    e->starts = like->begun ? 1 : 0;
}

/* Everything but the calibration. The build is started here and the caller's to clear. ensemble:
 * for the learner that is one, and validation for its choices; else NULL. */
static int learn(struct dlt_build *build, const struct dlt_rows *rows,
                 const struct dlt_rows *validation, const struct dlt_ensemble_settings *ensemble,
                 enum learner learner, const struct dlt_fit_settings *s)
{
    struct dlt_random random;

    dlt_random_seed(&random, s->seed, s->stream * 64 + 61);
    dlt_build_start(build, rows->row[0]->record.kind);
    if (learner == LEARN_LINEAR ? dlt_fit_linear(build, rows) : dlt_fit_cost(build, rows, &random))
        return -1;
    if (dlt_fit_density(build, rows, &random))
        return -1;
    if (learner == LEARN_KERNEL)
        return dlt_fit_kernel(build, rows);
    return learner == LEARN_ENSEMBLE ? dlt_fit_ensemble(build, rows, validation, ensemble) : 0;
}

struct folds {
    const struct dlt_rows *rows; /* shuffled */
    const struct dlt_fit_settings *settings;
    enum learner learner;
    size_t count;
    struct dlt_held_out *held_out; /* in the order of rows */
    bool *failed;
};

static void run_fold(void *context, size_t fold)
{
    struct folds *f = context;
    size_t from = fold * f->rows->count / f->count, to = (fold + 1) * f->rows->count / f->count;
    size_t rest = f->rows->count - (to - from);
    const struct dlt_row **kept = calloc(rest + 1, sizeof *kept);
    struct dlt_rows taught = {
        .row = kept, .count = rest, .device = f->rows->device, .rates = f->rows->rates};
    struct dlt_rows judged = {.row = f->rows->row + from,
                              .count = to - from,
                              .device = f->rows->device,
                              .rates = f->rows->rates};
    struct dlt_build build = {0};

    f->failed[fold] = true;
    if (!kept)
        return;
    for (size_t r = 0, k = 0; r < f->rows->count; r++)
        if (r < from || r >= to)
            kept[k++] = f->rows->row[r];
    DLT_KNOWN(kept[0]); /* there are several folds */
    if (!learn(&build, &taught, NULL, NULL, f->learner, f->settings)) {
        dlt_hold_out(&build, &judged, f->held_out + from);
        f->failed[fold] = false;
    }
    dlt_build_clear(&build);
    free(kept);
}

/* Learns from all rows; held-out answers come from models that missed a fold each. */
static int cross_validate(struct dlt_build *build, const struct dlt_rows *rows,
                          enum learner learner, const struct dlt_fit_settings *s,
                          struct dlt_held_out *held_out)
{
    struct dlt_fit_settings single = *s;
    struct folds folds = {.rows = rows,
                          .settings = &single,
                          .learner = learner,
                          .count = rows->count < 300 ? 10 : 5,
                          .held_out = held_out};
    bool failed[10] = {false};

    if (folds.count > rows->count)
        folds.count = rows->count;
    single.threads = 1;
    folds.failed = failed;
    dlt_parallel(s->threads, folds.count, run_fold, &folds);
    for (size_t f = 0; f < folds.count; f++)
        if (failed[f])
            return -1;
    return learn(build, rows, NULL, NULL, learner, s);
}

/* Spread of the log of what a single row says of other sizes: a guess. */
static const double sigma_far_of_one = 0.8;

/* A single row has nothing to be judged by: a wide guess. */
static void guess_spread(struct dlt_build *build, struct dlt_accuracy *accuracy)
{
    *accuracy = (struct dlt_accuracy){0};
    build->model.near = 1;
    build->model.far = 2;
    build->model.sigma[0] = -0.7;
    build->model.sigma_low = 0.5;
    build->model.sigma_high = 0.5;
    build->model.sigma_far = sigma_far_of_one;
}

/* What few rows say of sizes far from theirs is hardly more than what one says: the rows held out
 * lie as near to the others as those to each other, and do not show it. */
static void doubt_far(struct dlt_build *build, size_t rows)
{
    const double enough = 20;

    build->model.sigma_far =
        fmax(build->model.sigma_far, sigma_far_of_one * sqrt(fmin(1, enough / (double)rows)));
}

static const struct dlt_row **shuffled(const struct dlt_rows *rows,
                                       const struct dlt_fit_settings *s)
{
    const struct dlt_row **row = calloc(rows->count + 1, sizeof *row);
    uint32_t *order = malloc((rows->count + 1) * sizeof *order);
    struct dlt_random random;

    if (row && order) {
        for (size_t r = 0; r < rows->count; r++)
            order[r] = (uint32_t)r;
        dlt_random_seed(&random, s->seed, s->stream * 64 + 60);
        dlt_random_shuffle(&random, order, rows->count);
        for (size_t r = 0; r < rows->count; r++)
            row[r] = rows->row[order[r]];
        DLT_KNOWN(row[0]); /* there is a section only where there are rows */
    } else {
        free(row);
        row = NULL;
    }
    free(order);
    return row;
}

/* Kept aside to choose and to calibrate by. A quantile of 300 rows is off by 1.7 points of
 * coverage, one of 3,000 by half a point. */
static size_t rows_aside(size_t rows)
{
    return rows / 5;
}

/* Learns from rows with what a benchmark's slowing down added to each made even. */
static int learn_even(struct dlt_build *build, const struct dlt_rows *rows,
                      const struct dlt_rows *validation,
                      const struct dlt_ensemble_settings *ensemble,
                      const struct dlt_fit_settings *s)
{
    const struct dlt_row **row = calloc(rows->count + 1, sizeof *row);
    struct dlt_rows even = *rows;
    struct dlt_row *copy = NULL;
    double drift_s = 0;
    int result = row ? dlt_find_drift(rows, s->seed, &drift_s) : -1;

    if (result == 0 && drift_s > 0) {
        result = dlt_undrift(rows, drift_s, &copy, row);
        even.row = row;
    }
    if (result == 0)
        result = learn(build, &even, validation, ensemble, LEARN_ENSEMBLE, s);
    free(row);
    free(copy);
    return result;
}

/* Many rows: some are kept aside to choose by and to be judged by, with the times that they took,
 * while the others teach; then all teach what was chosen. */
static int learn_twice(struct dlt_build *build, const struct dlt_rows *rows, size_t aside,
                       const struct dlt_fit_settings *s, struct dlt_held_out *held_out)
{
    struct dlt_ensemble_settings ensemble = ensemble_settings(s, rows);
    struct dlt_rows judged = *rows, taught = *rows;
    struct dlt_build first = {0};
    int result;

    judged.count = aside;
    taught.row += aside;
    taught.count -= aside;
    result = learn_even(&first, &taught, &judged, &ensemble, s);
    if (result == 0) {
        dlt_hold_out(&first, &judged, held_out);
        choose_like(&first, &ensemble);
        result = learn_even(build, rows, NULL, &ensemble, s);
    }
    dlt_build_clear(&first);
    return result;
}

static int fit_shuffled(struct dlt_build *build, const struct dlt_rows *rows,
                        const struct dlt_fit_settings *s, struct dlt_accuracy *accuracy)
{
    enum learner learner = choose(s->method, rows->count, s->starts > 0);
    size_t aside = learner == LEARN_ENSEMBLE ? rows_aside(rows->count) : rows->count;
    struct dlt_held_out *held_out = malloc((aside + 1) * sizeof *held_out);
    int result = -1;

    if (!held_out)
        return -1;
    if (rows->count < 2) {
        result = learn(build, rows, NULL, NULL, learner, s);
        if (result == 0)
            guess_spread(build, accuracy);
    } else if (learner == LEARN_ENSEMBLE) {
        result = learn_twice(build, rows, aside, s, held_out);
    } else {
        result = cross_validate(build, rows, learner, s, held_out);
    }
    if (result == 0 && rows->count >= 2)
        result = dlt_calibrate(build, held_out, aside, accuracy);
    doubt_far(build, rows->count);
    free(held_out);
    return result;
}

int dlt_fit_section(const struct dlt_rows *rows, const struct dlt_fit_settings *settings,
                    unsigned char **bytes, size_t *size, struct dlt_accuracy *accuracy)
{
    const struct dlt_row **row = shuffled(rows, settings);
    struct dlt_rows mixed = {
        .row = row, .count = rows->count, .device = rows->device, .rates = rows->rates};
    struct dlt_build build = {0};
    int result = -1;

    if (!row)
        return -1;
    if (!fit_shuffled(&build, &mixed, settings, accuracy))
        result = dlt_build_bytes(&build, bytes, size);
    dlt_build_clear(&build);
    free(row);
    return result;
}
