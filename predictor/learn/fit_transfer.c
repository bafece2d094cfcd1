/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few measurements of a device against what its donors say: ridge regression, which is what a
 * normal prior makes of them. The prior's widths and the noise are those that served best for
 * twenty and for a hundred rows of each of six GPUs (NOTES.md); a factor of two in any of them
 * matters little. Leave-one-out answers come in closed form: the residual over 1 - leverage.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/general.h"
#include "predict/section.h"

static const double factor_width = 0.2;                 /* of the constant, in ln time */
static const double term_widths[] = {0.01, 0.02, 0.04}; /* of each other term: what suits best */
static const double share_width = 0.2;                  /* of each donor's share */
static const double noise = 0.15;                       /* of one measurement against the line */
static const double most_weight = 3;                    /* of one row */
static const double outlier = 0.15; /* residuals beyond it count less (Huber 1964) */

/* LAPACK's Cholesky factorisation and inverse; OpenBLAS has both and no header for them here. */
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
void dpotri_(const char *uplo, const int *n, double *a, const int *lda, int *info);

struct line {
    size_t rows, terms, width; /* terms, then donors */
    double term_width;
    double *x, *y, *weight;
    double *inverse; /* of the normal equations; symmetric, width x width */
    double *solution;
};

static void line_clear(struct line *l)
{
    free(l->x);
    free(l->y);
    free(l->weight);
    free(l->inverse);
    free(l->solution);
}

static int line_create(struct line *l)
{
    l->x = calloc(l->rows * l->width + 1, sizeof *l->x);
    l->y = calloc(l->rows + 1, sizeof *l->y);
    l->weight = calloc(l->rows + 1, sizeof *l->weight);
    l->inverse = calloc(l->width * l->width + 1, sizeof *l->inverse);
    l->solution = calloc(l->width + 1, sizeof *l->solution);
    return l->x && l->y && l->weight && l->inverse && l->solution ? 0 : -1;
}

/* The donors that any row has. */
static void list_donors(struct dlt_build *b, const struct dlt_transfer_row *row, size_t count)
{
    b->model.donors = 0;
    for (size_t r = 0; r < count; r++)
        for (size_t d = 0; d < row[r].count; d++) {
            uint32_t i = 0;

            while (i < b->model.donors && b->donor[i].entry != row[r].donation[d].entry)
                i++;
            if (i == b->model.donors && i < DLT_DONORS)
                b->donor[b->model.donors++] =
                    (struct dlt_file_donor){.entry = row[r].donation[d].entry};
        }
}

static void fill_row(struct line *l, const struct dlt_build *b, size_t r,
                     const struct dlt_transfer_row *row)
{
    struct dlt_section section = dlt_build_section(b);
    double *x = l->x + r * l->width;
    struct dlt_numbers terms;

    dlt_transfer_terms(&section, &row->all, &row->row->record, &terms);
    for (size_t i = 0; i < l->terms; i++)
        x[i] = terms.value[i];
    for (uint32_t i = 0; i < b->model.donors; i++)
        for (size_t d = 0; d < row->count; d++)
            if (row->donation[d].entry == b->donor[i].entry)
                x[l->terms + i] = row->donation[d].ln_seconds - row->all.ln_seconds;
    l->y[r] = log(row->row->seconds) - row->all.ln_seconds;
    l->weight[r] = fmin((double)dlt_row_weight(row->row->seconds), most_weight);
}

static void fill(struct line *l, const struct dlt_build *b, const struct dlt_transfer_row *row)
{
    double mean = 0;

    for (size_t r = 0; r < l->rows; r++) {
        fill_row(l, b, r, &row[r]);
        mean += l->weight[r] / (double)l->rows;
    }
    for (size_t r = 0; r < l->rows; r++)
        l->weight[r] /= mean * noise * noise;
}

static double prior_width(const struct line *l, size_t i)
{
    return i == 0 ? factor_width : i < l->terms ? l->term_width : share_width;
}

static int solve(struct line *l)
{
    int n = (int)l->width, info = 0;
    double *right = l->solution, *answer = calloc(l->width + 1, sizeof *answer);

    memset(right, 0, l->width * sizeof *right);
    memset(l->inverse, 0, l->width * l->width * sizeof *l->inverse);
    for (size_t r = 0; r < l->rows; r++) {
        const double *x = l->x + r * l->width;

        for (size_t i = 0; i < l->width; i++) {
            right[i] += l->weight[r] * x[i] * l->y[r];
            for (size_t j = 0; j < l->width; j++)
                l->inverse[i * l->width + j] += l->weight[r] * x[i] * x[j];
        }
    }
    for (size_t i = 0; i < l->width; i++)
        l->inverse[i * l->width + i] += 1 / (prior_width(l, i) * prior_width(l, i));
    dpotrf_("L", &n, l->inverse, &n, &info);
    if (info == 0)
        dpotri_("L", &n, l->inverse, &n, &info);
    if (info != 0 || !answer) {
        free(answer);
        return -1;
    }
    /* Column-major lower triangle to a full matrix. */
    for (size_t i = 0; i < l->width; i++)
        for (size_t j = 0; j < i; j++)
            l->inverse[i * l->width + j] = l->inverse[j * l->width + i];
    for (size_t i = 0; i < l->width; i++)
        for (size_t j = 0; j < l->width; j++)
            answer[i] += l->inverse[i * l->width + j] * right[j];
    memcpy(l->solution, answer, l->width * sizeof *answer);
    free(answer);
    return 0;
}

/* Weights for another round: rows that the line cannot explain have less say. */
static void doubt_outliers(struct line *l, const double *trusted)
{
    for (size_t r = 0; r < l->rows; r++) {
        double off = l->y[r];

        for (size_t i = 0; i < l->width; i++)
            off -= l->x[r * l->width + i] * l->solution[i];
        l->weight[r] = trusted[r] * fmin(1, outlier / fmax(fabs(off), 1e-9));
    }
}

static int solve_robustly(struct line *l, const double *trusted)
{
    const int rounds = 4;
    int result;

    memcpy(l->weight, trusted, l->rows * sizeof *trusted);
    result = solve(l);
    for (int round = 1; result == 0 && round < rounds; round++) {
        doubt_outliers(l, trusted);
        result = solve(l);
    }
    return result;
}

/* The correction of row r by a line that did not see it. */
static double left_out(const struct line *l, size_t r)
{
    const double *x = l->x + r * l->width;
    double fitted = 0, leverage = 0;

    for (size_t i = 0; i < l->width; i++) {
        double sum = 0;

        for (size_t j = 0; j < l->width; j++)
            sum += l->inverse[i * l->width + j] * x[j];
        leverage += x[i] * sum;
        fitted += x[i] * l->solution[i];
    }
    leverage = fmin(leverage * l->weight[r], 0.99);
    return l->y[r] - (l->y[r] - fitted) / (1 - leverage);
}

/* Mean error of the rows that were left out, by how much each counts. */
static double loss(const struct line *l, const double *trusted)
{
    double sum = 0, weights = 0;

    for (size_t r = 0; r < l->rows; r++) {
        sum += trusted[r] * fabs(l->y[r] - left_out(l, r));
        weights += trusted[r];
    }
    return sum / weights;
}

/* The narrowest prior that is not clearly worse than the others. */
static int fit(struct line *l)
{
    const double handicap = 1.02;
    const size_t widths = sizeof term_widths / sizeof *term_widths;
    double *trusted = calloc(l->rows + 1, sizeof *trusted);
    double least = INFINITY, best = term_widths[0];
    int result = trusted ? 0 : -1;

    if (trusted)
        memcpy(trusted, l->weight, l->rows * sizeof *trusted);
    for (size_t w = 0; result == 0 && w < widths; w++) {
        l->term_width = term_widths[w];
        result = solve_robustly(l, trusted);
        if (result == 0 && handicap * loss(l, trusted) < least) {
            least = loss(l, trusted);
            best = l->term_width;
        }
    }
    l->term_width = best;
    if (result == 0)
        result = solve_robustly(l, trusted);
    free(trusted);
    return result;
}

int dlt_fit_transfer(struct dlt_build *b, const struct dlt_transfer_row *row, size_t count,
                     struct dlt_held_out *held_out)
{
    struct line line = {.rows = count, .terms = 4 + b->model.axes};
    int result;

    list_donors(b, row, count);
    line.width = line.terms + b->model.donors;
    result = line_create(&line);
    if (result == 0) {
        fill(&line, b, row);
        result = fit(&line);
    }
    if (result == 0) {
        b->model.columns = (uint32_t)line.terms;
        memcpy(b->coefficient, line.solution, line.terms * sizeof *b->coefficient);
        for (uint32_t i = 0; i < b->model.donors; i++)
            b->donor[i].share = line.solution[line.terms + i];
        for (size_t r = 0; r < count; r++)
            dlt_transfer_hold_out(b, &row[r], left_out(&line, r), &held_out[r]);
    }
    line_clear(&line);
    return result;
}
