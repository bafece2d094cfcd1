/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/mlp.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/known.h"
#include "learn/random.h"

#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("O3", "no-trapping-math") /* as network.c */
#endif

/* Activations and gradients of one batch. z and d: batch x width of each layer. */
struct pass {
    float *a[DLT_NETWORK_LAYERS + 1]; /* a[0] the input */
    float *z[DLT_NETWORK_LAYERS + 1]; /* before the activation */
    float *d[DLT_NETWORK_LAYERS + 1]; /* loss by z */
    float *memory;
};

static int pass_create(struct pass *p, const struct dlt_network *n, size_t batch)
{
    size_t total = 0, used = 0;

    DLT_KNOWN(n->layers > 0);
    for (int l = 0; l <= n->layers; l++)
        total += 3 * batch * (size_t)n->width[l];
    p->memory = DLT_KEPT(calloc(total, sizeof *p->memory));
    if (!p->memory)
        return -1;
    for (int l = 0; l <= n->layers; l++) {
        size_t size = batch * (size_t)n->width[l];

        p->a[l] = p->memory + used;
        p->z[l] = p->memory + used + size;
        p->d[l] = p->memory + used + 2 * size;
        used += 3 * size;
    }
    return 0;
}

DLT_VECTORISED static void spread_bias(float *z, const float *bias, size_t rows, size_t width)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < width; j++)
            z[r * width + j] = bias[j];
}

/* d = d * silu'(z), with silu'(z) = s + a (1 - s), s = a / z. */
DLT_VECTORISED static void through_silu(float *restrict d, const float *restrict z,
                                        const float *restrict a, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float s = fabsf(z[i]) > 1e-6f ? a[i] / z[i] : 0.5f;

        d[i] *= s + a[i] * (1.0f - s);
    }
}

DLT_VECTORISED static void sum_rows(float *restrict out, const float *restrict d, size_t rows,
                                    size_t width)
{
    for (size_t j = 0; j < width; j++)
        out[j] = 0;
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < width; j++)
            out[j] += d[r * width + j];
}

DLT_VECTORISED static void adamw(float *restrict p, float *restrict m, float *restrict v,
                                 const float *restrict g, size_t count, float rate, float shrink,
                                 float correct1, float correct2)
{
    for (size_t i = 0; i < count; i++) {
        m[i] = 0.9f * m[i] + 0.1f * g[i];
        v[i] = 0.999f * v[i] + 0.001f * g[i] * g[i];
        p[i] = shrink * p[i] - rate * (m[i] * correct1) / (sqrtf(v[i] * correct2) + 1e-8f);
    }
}

void dlt_adamw(float *parameters, float *first, float *second, const float *gradient, size_t count,
               double rate, double decay, uint64_t step)
{
    adamw(parameters, first, second, gradient, count, (float)rate, (float)(1 - rate * decay),
          (float)(1 / (1 - pow(0.9, (double)step))), (float)(1 / (1 - pow(0.999, (double)step))));
}

/* After a step whose decay went towards zero: as if it had gone towards the beginning. */
DLT_VECTORISED static void draw_back(float *restrict p, const float *restrict beginning,
                                     size_t count, float share)
{
    for (size_t i = 0; i < count; i++)
        p[i] += share * beginning[i];
}

static void forward(const struct dlt_network *n, const float *parameters, struct pass *p,
                    size_t rows)
{
    for (int l = 0; l < n->layers; l++) {
        int ins = n->width[l], outs = n->width[l + 1];
        size_t count = rows * (size_t)outs;

        spread_bias(p->z[l + 1], parameters + (size_t)ins * (size_t)outs, rows, (size_t)outs);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, outs, ins, 1, p->a[l],
                    ins, parameters, outs, 1, p->z[l + 1], outs);
        memcpy(p->a[l + 1], p->z[l + 1], count * sizeof(float));
        if (l + 1 < n->layers)
            dlt_silu(p->a[l + 1], count);
        parameters += (size_t)(ins + 1) * (size_t)outs;
    }
}

/* Smooth L1 of the outputs against y, divided by the rows; d of the last layer. */
static double loss_and_slope(const float *out, const float *y, const float *weight, size_t rows,
                             float beta, float *d)
{
    double loss = 0;

    for (size_t r = 0; r < rows; r++) {
        float e = out[r] - y[r], size = fabsf(e);
        float w = (weight ? weight[r] : 1) / (float)rows;

        loss += (double)(w * (size < beta ? 0.5f * e * e / beta : size - 0.5f * beta));
        d[r] = w * (size < beta ? e / beta : e > 0 ? 1.0f : -1.0f);
    }
    return loss;
}

static void backward(const struct dlt_network *n, const float *parameters, struct pass *p,
                     size_t rows, float *gradient)
{
    size_t at = dlt_network_parameters(n);

    for (int l = n->layers - 1; l >= 0; l--) {
        int ins = n->width[l], outs = n->width[l + 1];
        size_t weights = (size_t)ins * (size_t)outs;

        at -= weights + (size_t)outs;
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, ins, outs, (int)rows, 1, p->a[l], ins,
                    p->d[l + 1], outs, 0, gradient + at, outs);
        sum_rows(gradient + at + weights, p->d[l + 1], rows, (size_t)outs);
        if (l == 0)
            break;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, ins, outs, 1, p->d[l + 1],
                    outs, parameters + at, outs, 0, p->d[l], ins);
        through_silu(p->d[l], p->z[l], p->a[l], rows * (size_t)ins);
    }
}

static void initialise(const struct dlt_network *n, struct dlt_random *random, float *parameters)
{
    for (int l = 0; l < n->layers; l++) {
        size_t ins = (size_t)n->width[l], outs = (size_t)n->width[l + 1];
        double scale = sqrt(2.0 / (double)ins) * (l + 1 == n->layers ? 0.3 : 1);

        for (size_t i = 0; i < ins * outs; i++)
            parameters[i] = (float)(scale * dlt_random_normal(random));
        memset(parameters + ins * outs, 0, outs * sizeof *parameters);
        parameters += (ins + 1) * outs;
    }
}

static double learning_rate(const struct dlt_mlp_settings *s, double progress)
{
    if (progress < s->warm_up)
        return s->rate * progress / s->warm_up;
    progress = (progress - s->warm_up) / (1 - s->warm_up);
    return s->rate * 0.5 * (1 + cos(M_PI * progress));
}

struct training {
    const struct dlt_network *network;
    const struct dlt_mlp_settings *settings;
    const float *x, *y, *weight;
    size_t rows, batch, parameters;
    uint32_t *order;
    float *first, *second, *gradient, *batch_y, *batch_weight;
    float *beginning; /* NULL: random */
    struct pass pass;
};

static void gather(struct training *t, size_t from, size_t rows)
{
    size_t width = (size_t)t->network->width[0];

    for (size_t r = 0; r < rows; r++) {
        size_t row = t->order[from + r];

        memcpy(t->pass.a[0] + r * width, t->x + row * width, width * sizeof(float));
        t->batch_y[r] = t->y[row];
        t->batch_weight[r] = t->weight ? t->weight[row] : 1;
    }
}

static void run_epochs(struct training *t, struct dlt_random *random, float *parameters)
{
    const struct dlt_network *n = t->network;
    const struct dlt_mlp_settings *s = t->settings;
    size_t batches = (t->rows + t->batch - 1) / t->batch;
    double steps = (double)batches * s->epochs, rate;
    uint64_t step = 0;

    for (int epoch = 0; epoch < s->epochs; epoch++) {
        dlt_random_shuffle(random, t->order, t->rows);
        for (size_t from = 0; from < t->rows; from += t->batch) {
            size_t rows = t->rows - from < t->batch ? t->rows - from : t->batch;

            gather(t, from, rows);
            forward(n, parameters, &t->pass, rows);
            loss_and_slope(t->pass.a[n->layers], t->batch_y, t->batch_weight, rows, (float)s->beta,
                           t->pass.d[n->layers]);
            backward(n, parameters, &t->pass, rows, t->gradient);
            rate = learning_rate(s, (double)++step / steps);
            dlt_adamw(parameters, t->first, t->second, t->gradient, t->parameters, rate, s->decay,
                      step);
            if (t->beginning)
                draw_back(parameters, t->beginning, t->parameters, (float)(rate * s->decay));
        }
    }
}

int dlt_mlp_train(const struct dlt_network *network, const float *x, const float *y,
                  const float *weight, size_t rows, const struct dlt_mlp_settings *settings,
                  float *parameters)
{
    struct training t = {.network = network,
                         .settings = settings,
                         .x = x,
                         .y = y,
                         .weight = weight,
                         .rows = rows,
                         .batch = (size_t)settings->batch,
                         .parameters = dlt_network_parameters(network)};
    struct dlt_random random;
    int result = -1;

    dlt_random_seed(&random, settings->seed, settings->stream);
    if (!settings->begun)
        initialise(network, &random, parameters);
    else if (!(t.beginning = malloc(t.parameters * sizeof *t.beginning)))
        return -1;
    else
        memcpy(t.beginning, parameters, t.parameters * sizeof *t.beginning);
    t.order = malloc((rows + 1) * sizeof *t.order);
    t.first = calloc(t.parameters, sizeof *t.first);
    t.second = calloc(t.parameters, sizeof *t.second);
    t.gradient = calloc(t.parameters, sizeof *t.gradient);
    t.batch_y = calloc(t.batch, sizeof *t.batch_y);
    t.batch_weight = calloc(t.batch, sizeof *t.batch_weight);
    if (!pass_create(&t.pass, network, t.batch) && t.order && t.first && t.second && t.gradient &&
        t.batch_y && t.batch_weight) {
        for (size_t i = 0; i < rows; i++)
            t.order[i] = (uint32_t)i;
        run_epochs(&t, &random, parameters);
        result = 0;
    }
    free(t.order);
    free(t.beginning);
    free(t.first);
    free(t.second);
    free(t.gradient);
    free(t.batch_y);
    free(t.batch_weight);
    free(t.pass.memory);
    return result;
}

int dlt_mlp_run(const struct dlt_network *network, const float *parameters, const float *x,
                size_t rows, float *y)
{
    const size_t batch = 256;
    size_t width = (size_t)network->width[0];
    struct pass pass;

    if (pass_create(&pass, network, batch))
        return -1;
    for (size_t from = 0; from < rows; from += batch) {
        size_t now = rows - from < batch ? rows - from : batch;

        memcpy(pass.a[0], x + from * width, now * width * sizeof *x);
        forward(network, parameters, &pass, now);
        memcpy(y + from, pass.a[network->layers], now * sizeof *y);
    }
    free(pass.memory);
    return 0;
}

int dlt_mlp_gradient(const struct dlt_network *network, const float *parameters, const float *x,
                     const float *y, const float *weight, size_t rows, double beta, double *loss,
                     float *gradient)
{
    struct pass pass;

    if (pass_create(&pass, network, rows))
        return -1;
    memcpy(pass.a[0], x, rows * (size_t)network->width[0] * sizeof *x);
    forward(network, parameters, &pass, rows);
    *loss = loss_and_slope(pass.a[network->layers], y, weight, rows, (float)beta,
                           pass.d[network->layers]);
    backward(network, parameters, &pass, rows, gradient);
    free(pass.memory);
    return 0;
}
