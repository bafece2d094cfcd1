/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One small network that answers like a large ensemble. It learns from the ensemble's answers to
 * the measured configurations and to made-up ones in between, of which there are as many as it
 * takes (Bucila, Caruana and Niculescu-Mizil 2006).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/mlp.h"
#include "learn/model_build.h"

float dlt_row_weight(double seconds)
{
    return (float)fmin(fmax(cbrt(seconds / 1e-3), 0.25), 8);
}

/* Inputs and weights: measured rows first, then made-up ones; returns how many. */
static size_t fill_in(const struct dlt_build *b, const struct dlt_rows *rows, const float *x,
                      size_t most, struct dlt_random *random, float *wide, float *weight)
{
    struct dlt_section section = dlt_build_section(b);
    size_t width = b->model.inputs, count = rows->count;

    memcpy(wide, x, rows->count * width * sizeof *wide);
    for (size_t r = 0; r < rows->count; r++)
        weight[r] = dlt_row_weight(rows->row[r]->seconds);
    for (size_t attempt = 0; count < most && attempt < 4 * most; attempt++) {
        struct dlt_record record;
        double outside, cost;

        if (!dlt_synthesise(rows, random, 0.25, &record))
            continue;
        dlt_section_outside(&section, &record, &outside);
        if (outside > 0)
            continue;
        cost = dlt_section_cost(&section, &record);
        weight[count] = dlt_row_weight(cost);
        dlt_section_input(&section, rows->device, &record, cost, wide + count++ * width);
    }
    return count;
}

static int train(struct dlt_build *b, const struct dlt_rows *rows, const float *x,
                 const struct dlt_student *s, const struct dlt_network *network, float *wide,
                 float *target, float *weight, size_t most, float *parameter)
{
    struct dlt_mlp_settings settings = {.epochs = s->epochs,
                                        .batch = 64,
                                        .rate = 2e-3,
                                        .warm_up = 0.05,
                                        .decay = 0.01, /* made-up rows regularise enough */
                                        .beta = 0.1,
                                        .seed = s->seed,
                                        .stream = s->stream * 64 + 62};
    struct dlt_random random;
    size_t count;

    dlt_random_seed(&random, s->seed, s->stream * 64 + 63);
    count = fill_in(b, rows, x, most, &random, wide, weight);
    if (s->teach(s->context, wide, count, target))
        return -1;
    return dlt_mlp_train(network, wide, target, weight, count, &settings, parameter);
}

int dlt_fit_student(struct dlt_build *b, const struct dlt_rows *rows, const float *x,
                    const struct dlt_student *s)
{
    struct dlt_network network = {
        .layers = 4, .width = {(int)b->model.inputs, s->width[0], s->width[1], s->width[2], 1}};
    size_t most = rows->count + (size_t)(s->synthetic * (double)rows->count);
    float *wide = malloc((most * b->model.inputs + 1) * sizeof *wide);
    float *target = malloc((most + 1) * sizeof *target);
    float *weight = malloc((most + 1) * sizeof *weight);
    float *parameter = malloc(dlt_network_parameters(&network) * sizeof *parameter);
    int result = -1;

    if (wide && target && weight && parameter)
        result = train(b, rows, x, s, &network, wide, target, weight, most, parameter);
    if (result == 0)
        result = dlt_build_networks(b, &network, &parameter, 1);
    free(parameter);
    free(wide);
    free(target);
    free(weight);
    return result;
}
