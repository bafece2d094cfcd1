/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/model_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/moments.h"
#include "learn/start.h"

void dlt_build_start(struct dlt_build *build, const struct dlt_record_kind *kind)
{
    struct dlt_record record = dlt_record_make(kind);
    struct dlt_numbers columns;

    *build = (struct dlt_build){0};
    dlt_columns(&record, &columns);
    build->model.feature_set = DLT_FEATURE_SET;
    build->model.columns = (uint32_t)columns.count;
    build->model.signature = dlt_feature_signature(kind, SIZE_MAX, SIZE_MAX);
    build->model.near = 1e6;
    build->model.far = 2e6;
    for (int i = 0; i < DLT_SIGMA_TERMS; i++)
        build->spread.rows[i] = 10;
}

void dlt_build_clear(struct dlt_build *build)
{
    free(build->weight);
    free(build->scale);
    free(build->parameter);
    free(build->point);
    free(build->tree);
    free(build->neighbour);
    *build = (struct dlt_build){0};
}

struct dlt_section dlt_build_section(const struct dlt_build *b)
{
    struct dlt_section section = {.model = b->model,
                                  .coefficient = b->coefficient,
                                  .input = b->input,
                                  .input_mean = b->input_mean,
                                  .input_scale = b->input_scale,
                                  .weight = b->weight,
                                  .scale = b->scale,
                                  .parameter = b->parameter,
                                  .point = b->point,
                                  .tree = b->tree,
                                  .axis = b->axis,
                                  .axis_mean = b->axis_mean,
                                  .axis_scale = b->axis_scale,
                                  .axis_low = b->axis_low,
                                  .axis_high = b->axis_high,
                                  .neighbour = b->neighbour,
                                  .donor = b->donor};

    section.network.layers = (int)b->model.layers;
    for (uint32_t l = 0; l <= b->model.layers; l++)
        section.network.width[l] = (int)b->model.width[l];
    return section;
}

int dlt_build_networks(struct dlt_build *b, const struct dlt_network *network,
                       float *const *parameter, size_t members)
{
    size_t weights = dlt_network_weights(network), scales = dlt_network_scales(network);

    free(b->weight);
    free(b->scale);
    b->weight = malloc(members * weights + 1);
    b->scale = malloc((members * scales + 1) * sizeof *b->scale);
    if (!b->weight || !b->scale)
        return -1;
    for (size_t m = 0; m < members; m++)
        dlt_network_round(network, parameter[m], b->weight + m * weights, b->scale + m * scales);
    b->model.ratio = DLT_RATIO_NETWORK;
    b->model.members = (uint32_t)members;
    b->model.layers = (uint32_t)network->layers;
    for (int l = 0; l <= network->layers; l++)
        b->model.width[l] = (uint32_t)network->width[l];
    return 0;
}

struct writer {
    unsigned char *bytes; /* NULL: only count */
    size_t used;
};

static void put(struct writer *w, const void *data, size_t count, size_t element)
{
    size_t size = count * element, padded = (size + 7) / 8 * 8;

    if (w->bytes && size) {
        memset(w->bytes + w->used + size, 0, padded - size);
        memcpy(w->bytes + w->used, data, size);
    }
    w->used += padded;
}

static void put_all(struct writer *w, const struct dlt_build *b)
{
    const struct dlt_file_model *m = &b->model;
    struct dlt_section section = dlt_build_section(b);
    size_t weights = m->members * dlt_network_weights(&section.network);
    size_t scales = m->members * dlt_network_scales(&section.network);

    put(w, m, 1, sizeof *m);
    put(w, b->coefficient, m->columns, sizeof *b->coefficient);
    put(w, b->input, m->inputs, sizeof *b->input);
    put(w, b->input_mean, m->inputs, sizeof *b->input_mean);
    put(w, b->input_scale, m->inputs, sizeof *b->input_scale);
    put(w, b->weight, weights, sizeof *b->weight);
    put(w, b->scale, scales, sizeof *b->scale);
    put(w, b->parameter, m->points, sizeof *b->parameter);
    put(w, b->point, (size_t)m->points * m->inputs, sizeof *b->point);
    put(w, b->tree, (size_t)m->trees * m->tree_stride, sizeof *b->tree);
    put(w, b->axis, m->axes, sizeof *b->axis);
    put(w, b->axis_mean, m->axes, sizeof *b->axis_mean);
    put(w, b->axis_scale, m->axes, sizeof *b->axis_scale);
    put(w, b->axis_low, m->axes, sizeof *b->axis_low);
    put(w, b->axis_high, m->axes, sizeof *b->axis_high);
    put(w, b->neighbour, (size_t)m->neighbours * m->axes, sizeof *b->neighbour);
    put(w, b->donor, m->donors, sizeof *b->donor);
}

int dlt_build_bytes(const struct dlt_build *build, unsigned char **bytes, size_t *size)
{
    struct writer writer = {0};

    put_all(&writer, build);
    *size = writer.used;
    writer = (struct writer){.bytes = malloc(*size)};
    if (!writer.bytes)
        return -1;
    put_all(&writer, build);
    *bytes = writer.bytes;
    return 0;
}

size_t dlt_varying_features(const struct dlt_moments *feature, size_t count, uint16_t *input,
                            float *mean, float *scale)
{
    size_t inputs = 0;

    for (size_t i = 0; i < count; i++) {
        double deviation = dlt_moments_deviation(&feature[i]);

        if (!(deviation > 1e-5))
            continue;
        input[inputs] = (uint16_t)i;
        mean[inputs] = (float)dlt_moments_mean(&feature[i]);
        scale[inputs++] = (float)(1 / fmax(deviation, (feature[i].high - feature[i].low) / 6));
    }
    return inputs;
}

static void choose_inputs(struct dlt_build *b, const struct dlt_rows *rows, const double *cost,
                          bool (*wanted)(const char *name))
{
    struct dlt_moments moments[DLT_FEATURES_MAX] = {0};
    struct dlt_numbers features = {0};

    for (size_t r = 0; r < rows->count; r++) {
        dlt_features(&rows->row[r]->record, rows->device, cost[r], &features);
        for (size_t i = 0; i < features.count; i++)
            if (!wanted || wanted(features.name[i]))
                dlt_moments_add(&moments[i], features.value[i]);
    }
    b->model.inputs = (uint32_t)dlt_varying_features(moments, features.count, b->input,
                                                     b->input_mean, b->input_scale);
}

static void standardise_target(struct dlt_build *b, const struct dlt_rows *rows, const double *cost,
                               const struct dlt_start *like, float *y)
{
    double sum = 0, squares = 0, count = (double)rows->count;
    double low = INFINITY, high = -INFINITY;

    for (size_t r = 0; r < rows->count; r++) {
        double ratio = log(rows->row[r]->seconds / cost[r]);

        sum += ratio;
        squares += ratio * ratio;
        low = fmin(low, ratio);
        high = fmax(high, ratio);
    }
    if (!like) {
        b->model.target_mean = sum / count;
        b->model.target_scale = sqrt(fmax(squares / count - sum / count * (sum / count), 1e-8));
    }
    b->model.ratio_low = low;
    b->model.ratio_high = high;
    for (size_t r = 0; r < rows->count; r++)
        y[r] = (float)((log(rows->row[r]->seconds / cost[r]) - b->model.target_mean) /
                       b->model.target_scale);
}

int dlt_fit_features(struct dlt_build *b, const struct dlt_rows *rows,
                     bool (*wanted)(const char *name), const struct dlt_start *like, float **x,
                     float **y)
{
    struct dlt_section section = dlt_build_section(b);
    double *cost = calloc(rows->count + 1, sizeof *cost);

    *x = *y = NULL;
    if (!cost)
        return -1;
    for (size_t r = 0; r < rows->count; r++)
        cost[r] = dlt_section_cost(&section, &rows->row[r]->record);
    if (like)
        dlt_start_begin(like, b);
    else
        choose_inputs(b, rows, cost, wanted);
    *x = calloc(rows->count * b->model.inputs + 1, sizeof **x);
    *y = calloc(rows->count + 1, sizeof **y);
    if (!*x || !*y) {
        free(cost);
        free(*x);
        free(*y);
        return -1;
    }
    standardise_target(b, rows, cost, like, *y);
    section = dlt_build_section(b);
    for (size_t r = 0; r < rows->count; r++)
        dlt_section_input(&section, rows->device, &rows->row[r]->record, cost[r],
                          *x + r * b->model.inputs);
    free(cost);
    return 0;
}
