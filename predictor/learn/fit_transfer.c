/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few measurements of a device against what its donors say: a Gaussian process on the difference
 * of the logarithms. Its prior is what one device differs from others by: a constant factor, other
 * shares of the donors, and something that is alike for alike rows. The widths are those that
 * served best for twenty and for a hundred rows of each of six GPUs, near the likeliest ones of the
 * other five each time (NOTES.md); a factor of 1.5 in any of them matters little. Leave-one-out
 * answers come in closed form: for weights a = K^-1 y row i is missed by a_i / (K^-1)_ii (Rasmussen
 * and Williams 2006, section 5.4.2).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/general.h"
#include "predict/section.h"

static const double factor_width = 0.1; /* of the constant, in ln time */
static const double share_width = 0.2;  /* of each donor's share */
static const double rise_width = 0.1;   /* of what alike rows share, in ln time */
static const double rise_length = 2.5;  /* of the terms: how unlike rows are strangers */
static const double noise = 0.07;       /* of one measurement, in ln time */
static const double outlier = 2;        /* noises beyond which residuals count less (Huber 1964) */

/* LAPACK's Cholesky factorisation and inverse; OpenBLAS has both and no header for them here. */
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
void dpotri_(const char *uplo, const int *n, double *a, const int *lda, int *info);

struct process {
    size_t rows, terms, donors;
    double *term;             /* rows x terms */
    double *share;            /* rows x donors: what each says beyond the mean, ln time */
    double *y, *trust;        /* trust: 1, less for rows that the others contradict */
    double *kernel, *inverse; /* rows x rows, symmetric; inverse: of kernel and noise */
    double *weight;
};

static void process_clear(struct process *p)
{
    free(p->term);
    free(p->share);
    free(p->y);
    free(p->trust);
    free(p->kernel);
    free(p->inverse);
    free(p->weight);
}

static int process_create(struct process *p)
{
    p->term = calloc(p->rows * p->terms + 1, sizeof *p->term);
    p->share = calloc(p->rows * p->donors + 1, sizeof *p->share);
    p->y = calloc(p->rows + 1, sizeof *p->y);
    p->trust = calloc(p->rows + 1, sizeof *p->trust);
    p->kernel = calloc(p->rows * p->rows + 1, sizeof *p->kernel);
    p->inverse = calloc(p->rows * p->rows + 1, sizeof *p->inverse);
    p->weight = calloc(p->rows + 1, sizeof *p->weight);
    return p->term && p->share && p->y && p->trust && p->kernel && p->inverse && p->weight ? 0 : -1;
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

static void fill_row(struct process *p, const struct dlt_build *b, size_t r,
                     const struct dlt_transfer_row *row)
{
    struct dlt_section section = dlt_build_section(b);
    struct dlt_numbers terms;

    dlt_transfer_terms(&section, &row->all, &row->row->record, &terms);
    memcpy(p->term + r * p->terms, terms.value, p->terms * sizeof *p->term);
    for (uint32_t i = 0; i < b->model.donors; i++)
        for (size_t d = 0; d < row->count; d++)
            if (row->donation[d].entry == b->donor[i].entry)
                p->share[r * p->donors + i] = row->donation[d].ln_seconds - row->all.ln_seconds;
    p->y[r] = log(row->row->seconds) - row->all.ln_seconds;
    p->trust[r] = 1;
}

static double covariance(const struct process *p, size_t i, size_t j)
{
    const double *a = p->term + i * p->terms, *b = p->term + j * p->terms;
    double squared = 0, product = 0;

    for (size_t t = 0; t < p->terms; t++)
        squared += (a[t] - b[t]) * (a[t] - b[t]);
    for (size_t d = 0; d < p->donors; d++)
        product += p->share[i * p->donors + d] * p->share[j * p->donors + d];
    return factor_width * factor_width + share_width * share_width * product +
           rise_width * rise_width * dlt_kernel(squared, rise_length);
}

static int solve(struct process *p)
{
    int n = (int)p->rows, info = 0;

    memcpy(p->inverse, p->kernel, p->rows * p->rows * sizeof *p->inverse);
    for (size_t r = 0; r < p->rows; r++)
        p->inverse[r * p->rows + r] += noise * noise / p->trust[r];
    dpotrf_("L", &n, p->inverse, &n, &info);
    if (info == 0)
        dpotri_("L", &n, p->inverse, &n, &info);
    if (info != 0)
        return -1;
    /* Column-major lower triangle to a full matrix. */
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = 0; j < i; j++)
            p->inverse[i * p->rows + j] = p->inverse[j * p->rows + i];
    for (size_t i = 0; i < p->rows; i++) {
        p->weight[i] = 0;
        for (size_t j = 0; j < p->rows; j++)
            p->weight[i] += p->inverse[i * p->rows + j] * p->y[j];
    }
    return 0;
}

/* Rows that the process cannot explain have less say in the next round. What it misses of a row is
 * the row's weight times its noise. */
static void doubt_outliers(struct process *p)
{
    for (size_t r = 0; r < p->rows; r++) {
        double off = fabs(p->weight[r]) * noise * noise / p->trust[r];

        p->trust[r] = fmin(1, outlier * noise / fmax(off, 1e-9));
    }
}

static int fit(struct process *p)
{
    const int rounds = 4;
    int result;

    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = 0; j <= i; j++)
            p->kernel[i * p->rows + j] = p->kernel[j * p->rows + i] = covariance(p, i, j);
    result = solve(p);
    for (int round = 1; result == 0 && round < rounds; round++) {
        doubt_outliers(p);
        result = solve(p);
    }
    return result;
}

/* What prediction needs: the constant, the donors' shares, and each row's weight in what alike rows
 * share. */
static int take(struct dlt_build *b, const struct process *p)
{
    const double most = (double)INT16_MAX;

    b->parameter = malloc((p->rows + 1) * sizeof *b->parameter);
    b->point = malloc((p->rows * p->terms + 1) * sizeof *b->point);
    if (!b->parameter || !b->point)
        return -1;
    b->model.columns = 1;
    b->coefficient[0] = 0;
    for (size_t r = 0; r < p->rows; r++) {
        b->coefficient[0] += factor_width * factor_width * p->weight[r];
        for (uint32_t d = 0; d < b->model.donors; d++)
            b->donor[d].share +=
                share_width * share_width * p->weight[r] * p->share[r * p->donors + d];
        b->parameter[r] = (float)(rise_width * rise_width * p->weight[r]);
    }
    for (size_t i = 0; i < p->rows * p->terms; i++)
        b->point[i] = (int16_t)lrint(fmin(fmax(p->term[i] * DLT_POINT_UNIT, -most), most));
    b->model.points = (uint32_t)p->rows;
    b->model.kernel_length = rise_length;
    b->model.inputs = (uint32_t)p->terms;
    for (uint32_t i = 0; i < b->model.inputs; i++) {
        b->input[i] = (uint16_t)i;
        b->input_mean[i] = 0;
        b->input_scale[i] = 1;
    }
    return 0;
}

int dlt_fit_transfer(struct dlt_build *b, const struct dlt_transfer_row *row, size_t count,
                     struct dlt_held_out *held_out)
{
    struct process p = {.rows = count, .terms = 4 + b->model.axes};
    int result;

    list_donors(b, row, count);
    p.donors = b->model.donors;
    result = process_create(&p);
    if (result == 0) {
        for (size_t r = 0; r < count; r++)
            fill_row(&p, b, r, &row[r]);
        result = fit(&p) || take(b, &p) ? -1 : 0;
    }
    if (result == 0)
        for (size_t r = 0; r < count; r++) {
            double off = p.weight[r] / p.inverse[r * p.rows + r];

            dlt_transfer_hold_out(b, &row[r], p.y[r] - off, &held_out[r]);
        }
    process_clear(&p);
    return result;
}
