/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/nnls.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

int dlt_cholesky_solve(const double *a, size_t n, const size_t *index, size_t count,
                       const double *b, double *factor, double *x)
{
    const double least_pivot = 1e-12; /* of the diagonal: below it columns count as dependent */

    for (size_t i = 0; i < count; i++) {
        double *row = factor + i * count;

        for (size_t j = 0; j <= i; j++) {
            double sum = a[index[i] * n + index[j]];

            for (size_t k = 0; k < j; k++)
                sum -= row[k] * factor[j * count + k];
            if (i != j)
                row[j] = sum / factor[j * count + j];
            else if (sum > least_pivot * a[index[i] * n + index[i]])
                row[i] = sqrt(sum);
            else
                return -1;
        }
    }
    for (size_t i = 0; i < count; i++) {
        double sum = b[index[i]];

        for (size_t k = 0; k < i; k++)
            sum -= factor[i * count + k] * x[k];
        x[i] = sum / factor[i * count + i];
    }
    for (size_t i = count; i-- > 0;) {
        double sum = x[i];

        for (size_t k = i + 1; k < count; k++)
            sum -= factor[k * count + i] * x[k];
        x[i] = sum / factor[i * count + i];
    }
    return 0;
}

struct active_set {
    const double *gram, *right;
    size_t n;
    bool *passive, *barred; /* barred: would be linearly dependent on the passive ones */
    size_t *index;
    size_t count;
    double *factor, *solution;
    double least_slope; /* smaller ones are rounding errors */
};

static void list_passive(struct active_set *s)
{
    s->count = 0;
    for (size_t j = 0; j < s->n; j++)
        if (s->passive[j])
            s->index[s->count++] = j;
}

/* The coefficient at zero whose growth lowers the error fastest; n: none. */
static size_t steepest(const struct active_set *s, const double *x)
{
    double most = 0;
    size_t best = s->n;

    for (size_t j = 0; j < s->n; j++) {
        double slope = s->right[j];

        if (s->passive[j] || s->barred[j] || !(s->gram[j * s->n + j] > 0))
            continue;
        for (size_t k = 0; k < s->n; k++)
            slope -= s->gram[j * s->n + k] * x[k];
        slope /= sqrt(s->gram[j * s->n + j]);
        if (slope > most) {
            most = slope;
            best = j;
        }
    }
    return most > s->least_slope ? best : s->n;
}

/* Moves x towards the solution over the passive set until a coefficient would turn negative; those
 * that reach zero leave the set, the one that stopped the move always. Returns true once the
 * solution itself is reached. */
static bool approach(struct active_set *s, double *x)
{
    size_t stopped_by = s->n;
    double alpha = 1;

    for (size_t i = 0; i < s->count; i++) {
        size_t j = s->index[i];
        double share;

        if (s->solution[i] > 0)
            continue;
        share = x[j] > 0 ? x[j] / (x[j] - s->solution[i]) : 0;
        if (share < alpha || stopped_by == s->n) {
            alpha = fmin(alpha, share);
            stopped_by = j;
        }
    }
    for (size_t i = 0; i < s->count; i++) {
        size_t j = s->index[i];

        x[j] += alpha * (s->solution[i] - x[j]);
        if (j == stopped_by || (stopped_by < s->n && x[j] <= 0)) {
            x[j] = 0;
            s->passive[j] = false;
        }
    }
    return stopped_by == s->n;
}

static void iterate(struct active_set *s, double *x)
{
    for (size_t round = 0; round < 3 * s->n + 10; round++) {
        size_t entering = steepest(s, x);

        if (entering == s->n)
            return;
        s->passive[entering] = true;
        for (size_t inner = 0; inner <= s->n; inner++) {
            list_passive(s);
            if (dlt_cholesky_solve(s->gram, s->n, s->index, s->count, s->right, s->factor,
                                   s->solution)) {
                s->passive[entering] = false;
                s->barred[entering] = true;
                x[entering] = 0;
                break;
            }
            if (approach(s, x))
                break;
        }
    }
}

int dlt_nnls(const double *gram, const double *right, size_t n, double *x)
{
    struct active_set s = {.gram = gram, .right = right, .n = n};
    int result = -1;

    s.passive = calloc(n + 1, sizeof *s.passive);
    s.barred = calloc(n + 1, sizeof *s.barred);
    s.index = calloc(n + 1, sizeof *s.index);
    s.factor = calloc(n * n + 1, sizeof *s.factor);
    s.solution = calloc(n + 1, sizeof *s.solution);
    if (s.passive && s.barred && s.index && s.factor && s.solution) {
        for (size_t j = 0; j < n; j++) {
            x[j] = 0;
            if (gram[j * n + j] > 0)
                s.least_slope = fmax(s.least_slope, 1e-10 * fabs(right[j]) / sqrt(gram[j * n + j]));
        }
        iterate(&s, x);
        result = 0;
    }
    free(s.passive);
    free(s.barred);
    free(s.index);
    free(s.factor);
    free(s.solution);
    return result;
}
