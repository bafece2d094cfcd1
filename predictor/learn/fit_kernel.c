/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Few rows: a Gaussian process on the log of the ratio. It passes near what was measured and falls
 * back to the cost model away from it, so it cannot run wild. Length and noise are those with the
 * least leave-one-out error, which a process has in closed form: for weights a = K^-1 y the row i
 * left out is missed by a_i / (K^-1)_ii (Rasmussen and Williams 2006, section 5.4.2).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/model_build.h"

/* LAPACK's Cholesky factorisation and inverse; OpenBLAS has both and no header for them here. */
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
void dpotri_(const char *uplo, const int *n, double *a, const int *lda, int *info);

static bool is_smooth(const char *name)
{
    return strncmp(name, "q ", 2) != 0 && !strchr(name, '%') && !strchr(name, '<') &&
           !strchr(name, '>') && !strchr(name, '=');
}

struct process {
    size_t n;
    double *squared; /* n x n squared distances */
    double *inverse; /* n x n */
    double *weight, *best_weight;
    const float *y;
};

static void distances(struct process *p, const float *x, size_t width)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;

            for (size_t k = 0; k < width; k++) {
                double apart = (double)(x[i * width + k] - x[j * width + k]);

                sum += apart * apart;
            }
            p->squared[i * p->n + j] = p->squared[j * p->n + i] = sum;
        }
}

/* Weights for one length and noise; returns the mean absolute leave-one-out error. */
static double try_process(struct process *p, double length, double noise)
{
    int n = (int)p->n, info = 0;
    double error = 0;

    for (size_t i = 0; i < p->n * p->n; i++)
        p->inverse[i] = dlt_kernel(p->squared[i], length);
    for (size_t i = 0; i < p->n; i++)
        p->inverse[i * p->n + i] += noise;
    dpotrf_("L", &n, p->inverse, &n, &info);
    if (info == 0)
        dpotri_("L", &n, p->inverse, &n, &info);
    if (info != 0)
        return INFINITY;
    /* Column-major lower triangle: element (row i, column j <= i) lies at j n + i. */
    for (size_t i = 0; i < p->n; i++) {
        double sum = 0;

        for (size_t j = 0; j < p->n; j++)
            sum += p->inverse[j <= i ? j * p->n + i : i * p->n + j] * (double)p->y[j];
        p->weight[i] = sum;
        error += fabs(sum / p->inverse[i * p->n + i]);
    }
    return error / (double)p->n;
}

/* Returns the best error; the weights in best_weight, the length in *length. */
static double search(struct process *p, double width, double *length)
{
    static const double lengths[] = {0.5, 1, 2, 4, 8}; /* times the root of the width */
    static const double noises[] = {0.01, 0.03, 0.1, 0.3, 1, 3};
    double best = INFINITY;

    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (size_t s = 0; s < sizeof noises / sizeof *noises; s++) {
            double error = try_process(p, lengths[l] * sqrt(width), noises[s]);

            if (error < best) {
                best = error;
                *length = lengths[l] * sqrt(width);
                memcpy(p->best_weight, p->weight, p->n * sizeof *p->weight);
            }
        }
    return best;
}

static int fit(struct dlt_build *b, struct process *p, const float *x)
{
    size_t width = b->model.inputs;
    double plain = 0, length = 1;

    for (size_t i = 0; i < p->n; i++)
        plain += fabs((double)p->y[i]) / (double)p->n;
    distances(p, x, width);
    if (!(search(p, (double)width, &length) < 0.97 * plain)) {
        b->model.inputs = 0;
        return 0; /* the cost model alone is as good */
    }
    b->parameter = malloc(p->n * sizeof *b->parameter);
    b->point = malloc((p->n * width + 1) * sizeof *b->point);
    if (!b->parameter || !b->point)
        return -1;
    for (size_t i = 0; i < p->n; i++)
        b->parameter[i] = (float)p->best_weight[i];
    for (size_t i = 0; i < p->n * width; i++)
        b->point[i] = (int16_t)lrintf(x[i] * DLT_POINT_UNIT);
    b->model.ratio = DLT_RATIO_KERNEL;
    b->model.points = (uint32_t)p->n;
    b->model.kernel_length = length;
    return 0;
}

int dlt_fit_kernel(struct dlt_build *b, const struct dlt_rows *rows)
{
    struct process p = {.n = rows->count};
    float *x, *y;
    int result = -1;

    if (dlt_fit_features(b, rows, is_smooth, NULL, &x, &y))
        return -1;
    p.y = y;
    p.squared = calloc(p.n * p.n, sizeof *p.squared);
    p.inverse = malloc(p.n * p.n * sizeof *p.inverse);
    p.weight = malloc(p.n * sizeof *p.weight);
    p.best_weight = malloc(p.n * sizeof *p.best_weight);
    if (p.squared && p.inverse && p.weight && p.best_weight)
        result = fit(b, &p, x);
    free(p.squared);
    free(p.inverse);
    free(p.weight);
    free(p.best_weight);
    free(x);
    free(y);
    return result;
}
