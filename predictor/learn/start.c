/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/known.h"
#include "learn/mlp.h"
#include "learn/moments.h"
#include "learn/parallel.h"
#include "predict/section.h"

enum { MEMBERS = 4, EPOCHS = 40 };

void dlt_start_clear(struct dlt_start *start)
{
    for (size_t m = 0; m < start->members; m++)
        free(start->parameter[m]);
    *start = (struct dlt_start){0};
}

/* Rows of all devices. */
struct pool {
    const struct dlt_rows *device;
    size_t devices, rows, inputs;
    const struct dlt_row **row; /* devices one after the other */
    size_t *of;                 /* rows: which device */
    double *cost;
    float *x; /* rows x (inputs + devices): the last say which device */
    float *y, *weight;
    struct dlt_start *start;
    struct dlt_network network; /* with inputs for the devices */
    uint64_t seed;
    bool failed[MEMBERS];
};

static void pool_clear(struct pool *p)
{
    free(p->row);
    free(p->of);
    free(p->cost);
    free(p->x);
    free(p->y);
    free(p->weight);
}

static int gather(struct pool *p)
{
    size_t room = 1;

    for (size_t d = 0; d < p->devices; d++)
        room += p->device[d].count;
    p->row = calloc(room, sizeof *p->row);
    p->of = calloc(room, sizeof *p->of);
    p->cost = calloc(room, sizeof *p->cost);
    p->y = calloc(room, sizeof *p->y);
    p->weight = calloc(room, sizeof *p->weight);
    if (!p->row || !p->of || !p->cost || !p->y || !p->weight)
        return -1;
    for (size_t d = 0; d < p->devices; d++)
        for (size_t r = 0; r < p->device[d].count; r++) {
            p->of[p->rows] = d;
            p->row[p->rows++] = p->device[d].row[r];
        }
    return p->rows > 0 ? 0 : -1;
}

/* Each row's time by the cost model of its device, learned from the device's rows in the pool. */
static int price(struct pool *p)
{
    int result = 0;

    for (size_t from = 0, to; from < p->rows && result == 0; from = to) {
        const struct dlt_rows *device = &p->device[p->of[from]];
        struct dlt_rows rows = {
            .row = p->row + from, .device = device->device, .rates = device->rates};
        struct dlt_build build = {0};
        struct dlt_section section;
        struct dlt_random random;

        for (to = from; to < p->rows && p->of[to] == p->of[from]; to++)
            rows.count++;
        dlt_random_seed(&random, p->seed, from);
        dlt_build_start(&build, p->row[from]->record.kind);
        result = dlt_fit_cost(&build, &rows, &random);
        section = dlt_build_section(&build);
        for (size_t r = from; r < to && result == 0; r++)
            p->cost[r] = dlt_section_cost(&section, &p->row[r]->record);
        dlt_build_clear(&build);
    }
    return result;
}

/* Inputs and target as a device alone chooses and scales them, for all together. */
static void describe(struct pool *p)
{
    struct dlt_moments feature[DLT_FEATURES_MAX] = {0}, target = {0};
    struct dlt_numbers f = {0};
    struct dlt_start *s = p->start;

    for (size_t r = 0; r < p->rows; r++) {
        dlt_features(&p->row[r]->record, p->device[p->of[r]].device, p->cost[r], &f);
        for (size_t i = 0; i < f.count; i++)
            dlt_moments_add(&feature[i], f.value[i]);
        dlt_moments_add(&target, log(p->row[r]->seconds / p->cost[r]));
    }
    p->inputs = dlt_varying_features(feature, f.count, s->input, s->mean, s->scale);
    s->target_mean = dlt_moments_mean(&target);
    s->target_scale = fmax(dlt_moments_deviation(&target), 1e-4);
}

static int fill_in(struct pool *p)
{
    size_t width = p->inputs + p->devices;
    struct dlt_build build = {0};
    struct dlt_section section;

    p->x = calloc(p->rows * width + 1, sizeof *p->x);
    if (!p->x)
        return -1;
    dlt_build_start(&build, p->row[0]->record.kind);
    p->start->network.width[0] = (int)p->inputs;
    dlt_start_begin(p->start, &build);
    section = dlt_build_section(&build);
    for (size_t r = 0; r < p->rows; r++) {
        double ratio = log(p->row[r]->seconds / p->cost[r]);

        dlt_section_input(&section, p->device[p->of[r]].device, &p->row[r]->record, p->cost[r],
                          p->x + r * width);
        p->x[r * width + p->inputs + p->of[r]] = 1;
        p->y[r] = (float)((ratio - p->start->target_mean) / p->start->target_scale);
        p->weight[r] = dlt_row_weight(p->row[r]->seconds);
    }
    dlt_build_clear(&build);
    return 0;
}

static void train(void *context, size_t member)
{
    struct pool *p = context;
    struct dlt_mlp_settings settings = {.epochs = EPOCHS,
                                        .batch = 128,
                                        .rate = 2e-3,
                                        .warm_up = 0.05,
                                        .decay = 0.1,
                                        .beta = 0.1,
                                        .seed = p->seed,
                                        .stream = 1 + member};
    float *parameter = malloc(dlt_network_parameters(&p->network) * sizeof *parameter);

    p->start->parameter[member] = parameter;
    p->failed[member] = !parameter || dlt_mlp_train(&p->network, p->x, p->y, p->weight, p->rows,
                                                    &settings, parameter);
}

/* What told the devices apart goes. */
static void forget_devices(struct pool *p)
{
    struct dlt_start *s = p->start;
    size_t first = p->inputs * (size_t)p->network.width[1];
    size_t told = p->devices * (size_t)p->network.width[1];

    s->network = p->network;
    s->network.width[0] = (int)p->inputs;
    for (size_t m = 0; m < MEMBERS; m++)
        memmove(s->parameter[m] + first, s->parameter[m] + first + told,
                (dlt_network_parameters(&s->network) - first) * sizeof(float));
}

int dlt_start_pool(struct dlt_start *start, const struct dlt_rows *device, size_t devices,
                   uint64_t seed, int threads)
{
    struct pool p = {.device = device, .devices = devices, .start = start, .seed = seed};
    int result = -1;

    *start = (struct dlt_start){0};
    if (!gather(&p) && !price(&p)) {
        describe(&p);
        p.network = (struct dlt_network){
            .layers = 4, .width = {(int)(p.inputs + devices), DLT_ENSEMBLE_WIDTHS, 1}};
        if (!fill_in(&p)) {
            start->members = MEMBERS;
            dlt_parallel(threads, MEMBERS, train, &p);
            result = 0;
        }
    }
    for (size_t m = 0; m < start->members; m++)
        if (p.failed[m])
            result = -1;
    if (result == 0)
        forget_devices(&p);
    else
        dlt_start_clear(start);
    pool_clear(&p);
    return result;
}

static bool are_finite(const float *value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(value[i]))
            return false;
    return true;
}

/* Whether a section's networks have a start's shape, and numbers to go on from. */
static bool can_begin(const struct dlt_section *section, const struct dlt_network *shape)
{
    const struct dlt_file_model *m = &section->model;

    if (m->ratio != DLT_RATIO_NETWORK || m->trees > 0 || m->inputs == 0 ||
        section->network.layers != shape->layers ||
        memcmp(shape->width, section->network.width, sizeof shape->width) != 0)
        return false;
    return isfinite(m->target_mean) && isfinite(m->target_scale) &&
           are_finite(section->input_mean, m->inputs) &&
           are_finite(section->input_scale, m->inputs) &&
           are_finite(section->scale, m->members * dlt_network_scales(shape));
}

int dlt_start_of_section(struct dlt_start *start, const struct dlt_section *section)
{
    const struct dlt_file_model *m = &section->model;
    const struct dlt_network shape = {.layers = 4,
                                      .width = {(int)m->inputs, DLT_ENSEMBLE_WIDTHS, 1}};
    size_t weights, scales;

    *start = (struct dlt_start){0};
    if (!can_begin(section, &shape))
        return 1;
    start->network = shape;
    weights = dlt_network_weights(&shape);
    scales = dlt_network_scales(&shape);
    memcpy(start->input, section->input, m->inputs * sizeof *start->input);
    memcpy(start->mean, section->input_mean, m->inputs * sizeof *start->mean);
    memcpy(start->scale, section->input_scale, m->inputs * sizeof *start->scale);
    start->target_mean = m->target_mean;
    start->target_scale = m->target_scale;
    for (; start->members < m->members; start->members++) {
        float *parameter = malloc(dlt_network_parameters(&shape) * sizeof *parameter);

        if (!parameter) {
            dlt_start_clear(start);
            return -1;
        }
        dlt_network_restore(&shape, section->weight + start->members * weights,
                            section->scale + start->members * scales, parameter);
        start->parameter[start->members] = parameter;
    }
    return 0;
}

int dlt_start_bytes(const struct dlt_start *start, const struct dlt_record_kind *kind,
                    unsigned char **bytes, size_t *size)
{
    struct dlt_build build;
    int result;

    dlt_build_start(&build, kind);
    dlt_start_begin(start, &build);
    result = dlt_build_networks(&build, &start->network, start->parameter, start->members) ||
                     dlt_build_bytes(&build, bytes, size)
                 ? -1
                 : 0;
    dlt_build_clear(&build);
    return result;
}

void dlt_start_begin(const struct dlt_start *start, struct dlt_build *build)
{
    size_t inputs = (size_t)start->network.width[0];

    build->model.inputs = (uint32_t)inputs;
    memcpy(build->input, start->input, inputs * sizeof *build->input);
    memcpy(build->input_mean, start->mean, inputs * sizeof *build->input_mean);
    memcpy(build->input_scale, start->scale, inputs * sizeof *build->input_scale);
    build->model.target_mean = start->target_mean;
    build->model.target_scale = start->target_scale;
}

/* Mean error of ln time, weighted, of the first member: its mean is the rows' to learn. Returns -1
 * out of memory. */
static int loss(const struct dlt_start *start, const struct dlt_build *build,
                const struct dlt_rows *rows, double *mean_error)
{
    const size_t most = 2000;
    size_t used = rows->count < most ? rows->count : most, width = (size_t)start->network.width[0];
    struct dlt_build begun = *build;
    struct dlt_section section;
    float *x = calloc(used * width + 1, sizeof *x), *out = calloc(used + 1, sizeof *out);
    double *off = calloc(2 * used + 1, sizeof *off), *weight = off ? off + used : NULL;
    double mean = 0, error = 0, weights = 0;

    dlt_start_begin(start, &begun);
    section = dlt_build_section(&begun);
    for (size_t i = 0; x && out && off && i < used; i++) {
        const struct dlt_row *row = rows->row[i * rows->count / used];
        double cost = dlt_section_cost(&section, &row->record);

        off[i] = log(row->seconds / cost);
        weight[i] = (double)dlt_row_weight(row->seconds);
        dlt_section_input(&section, rows->device, &row->record, cost, x + i * width);
    }
    if (x && out && off && dlt_mlp_run(&start->network, start->parameter[0], x, used, out) == 0) {
        for (size_t i = 0; i < used; i++) {
            off[i] -= start->target_scale * (double)out[i];
            mean += weight[i] * off[i];
            weights += weight[i];
        }
        for (size_t i = 0; i < used; i++)
            error += weight[i] * fabs(off[i] - mean / weights);
    }
    free(x);
    free(out);
    free(off);
    *mean_error = error / weights;
    return weights > 0 ? 0 : -1;
}

int dlt_start_choose(const struct dlt_start *start, size_t count, const struct dlt_build *build,
                     const struct dlt_rows *rows, const struct dlt_start **chosen)
{
    double least = INFINITY;

    *chosen = count > 0 ? start : NULL;
    for (size_t i = 0; i < count && count > 1; i++) {
        double error;

        if (loss(&start[i], build, rows, &error))
            return -1;
        if (error < least) {
            least = error;
            *chosen = &start[i];
        }
    }
    return 0;
}
