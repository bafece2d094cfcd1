/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many rows: an ensemble of networks on the log of the ratio, and one small network that learned
 * from them on the measured rows and on made-up ones in between, so that an answer costs one small
 * network and is nearly as good as all of them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/mlp.h"
#include "learn/model_build.h"
#include "learn/parallel.h"

static const struct dlt_mlp_settings recipe = {
    .batch = 64, .rate = 2e-3, .warm_up = 0.05, .decay = 0.1, .beta = 0.1};

struct ensemble {
    struct dlt_network network;
    const struct dlt_network_settings *settings;
    const float *x, *y;
    size_t rows;
    float **parameter; /* of each member */
    float **output;    /* of each member, for the rows asked for */
    const float *asked;
    size_t asked_rows;
    bool *failed;
};

static void train_member(void *context, size_t member)
{
    struct ensemble *e = context;
    struct dlt_mlp_settings settings = recipe;

    settings.epochs = e->settings->epochs;
    settings.seed = e->settings->seed;
    settings.stream = e->settings->stream * 64 + member;
    e->failed[member] =
        dlt_mlp_train(&e->network, e->x, e->y, NULL, e->rows, &settings, e->parameter[member]) != 0;
}

static void run_member(void *context, size_t member)
{
    struct ensemble *e = context;

    e->failed[member] = dlt_mlp_run(&e->network, e->parameter[member], e->asked, e->asked_rows,
                                    e->output[member]) != 0;
}

static bool any_failed(const struct ensemble *e)
{
    for (int m = 0; m < e->settings->members; m++)
        if (e->failed[m])
            return true;
    return false;
}

/* Mean output of the members for rows x, into y. */
static int run_ensemble(struct ensemble *e, const float *x, size_t rows, float *y)
{
    size_t members = (size_t)e->settings->members;
    int result = 0;

    e->asked = x;
    e->asked_rows = rows;
    for (size_t m = 0; m < members; m++)
        if (!(e->output[m] = malloc((rows + 1) * sizeof **e->output)))
            result = -1;
    if (result == 0) {
        dlt_parallel(e->settings->threads, members, run_member, e);
        result = any_failed(e) ? -1 : 0;
    }
    for (size_t r = 0; result == 0 && r < rows; r++) {
        float sum = 0;

        for (size_t m = 0; m < members; m++)
            sum += e->output[m][r];
        y[r] = sum / (float)members;
    }
    for (size_t m = 0; m < members; m++)
        free(e->output[m]);
    return result;
}

static void ensemble_clear(struct ensemble *e)
{
    for (int m = 0; e->parameter && m < e->settings->members; m++)
        free(e->parameter[m]);
    free(e->parameter);
    free(e->output);
    free(e->failed);
}

static int ensemble_create(struct ensemble *e)
{
    size_t members = (size_t)e->settings->members;

    e->parameter = calloc(members, sizeof *e->parameter);
    e->output = calloc(members, sizeof *e->output);
    e->failed = calloc(members, sizeof *e->failed);
    if (!e->parameter || !e->output || !e->failed)
        return -1;
    for (size_t m = 0; m < members; m++)
        if (!(e->parameter[m] =
                  malloc(dlt_network_parameters(&e->network) * sizeof **e->parameter)))
            return -1;
    return 0;
}

/* Measured rows first, then made-up ones; returns how many. */
static size_t fill_in(const struct dlt_build *b, const struct dlt_rows *rows, const float *x,
                      size_t most, struct dlt_random *random, float *wide)
{
    struct dlt_section section = dlt_build_section(b);
    size_t width = b->model.inputs, count = rows->count;

    memcpy(wide, x, rows->count * width * sizeof *wide);
    for (size_t attempt = 0; count < most && attempt < 4 * most; attempt++) {
        struct dlt_record record;
        double outside;

        if (!dlt_synthesise(rows, random, &record))
            continue;
        dlt_section_distance(&section, &record, &outside);
        if (outside > 0)
            continue;
        dlt_build_input(b, rows->device, &record, dlt_section_cost(&section, &record),
                        wide + count++ * width);
    }
    return count;
}

static int train_student(struct dlt_build *b, const struct dlt_rows *rows, struct ensemble *e,
                         const float *x)
{
    const struct dlt_network_settings *s = e->settings;
    struct dlt_network student = {.layers = 3,
                                  .width = {e->network.width[0], s->student[0], s->student[1], 1}};
    struct dlt_mlp_settings settings = recipe;
    size_t width = b->model.inputs;
    size_t most = rows->count + (size_t)(s->synthetic * (double)rows->count);
    float *wide = malloc((most * width + 1) * sizeof *wide);
    float *target = malloc((most + 1) * sizeof *target);
    struct dlt_random random;
    int result = -1;

    free(b->parameter);
    b->parameter = malloc(dlt_network_parameters(&student) * sizeof *b->parameter);
    dlt_random_seed(&random, s->seed, s->stream * 64 + 63);
    settings.epochs = s->student_epochs;
    settings.seed = s->seed;
    settings.stream = s->stream * 64 + 62;
    settings.decay = 0.01;
    if (wide && target && b->parameter) {
        size_t count = fill_in(b, rows, x, most, &random, wide);

        if (!run_ensemble(e, wide, count, target))
            result = dlt_mlp_train(&student, wide, target, NULL, count, &settings, b->parameter);
    }
    b->model.layers = 3;
    for (int l = 0; l <= 3; l++)
        b->model.width[l] = (uint32_t)student.width[l];
    free(wide);
    free(target);
    return result;
}

static int take_member(struct dlt_build *b, struct ensemble *e)
{
    free(b->parameter);
    b->parameter = e->parameter[0];
    e->parameter[0] = NULL;
    b->model.layers = (uint32_t)e->network.layers;
    for (int l = 0; l <= e->network.layers; l++)
        b->model.width[l] = (uint32_t)e->network.width[l];
    return 0;
}

int dlt_fit_network(struct dlt_build *b, const struct dlt_rows *rows,
                    const struct dlt_network_settings *settings)
{
    struct ensemble e = {.settings = settings, .rows = rows->count};
    float *x, *y;
    int result = -1;

    if (dlt_fit_features(b, rows, NULL, &x, &y))
        return -1;
    e.network = (struct dlt_network){.layers = 4, .width = {(int)b->model.inputs, 128, 128, 64, 1}};
    e.x = x;
    e.y = y;
    if (!ensemble_create(&e)) {
        dlt_parallel(settings->threads, (size_t)settings->members, train_member, &e);
        if (!any_failed(&e))
            result = settings->student[0] ? train_student(b, rows, &e, x) : take_member(b, &e);
    }
    b->model.ratio = DLT_RATIO_NETWORK;
    ensemble_clear(&e);
    free(x);
    free(y);
    return result;
}
