/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From rows that a model did not see: where its training rows end, and how wide its answers are.
 * The spread is a line in a few terms (distance, size, pass) fitted to the log of the residuals,
 * then scaled so that 1.645 of it covers 90 % of them: split-conformal, whatever their shape.
 */
#include <math.h>
#include <stdlib.h>

#include "learn/model_build.h"
#include "learn/nnls.h"

static const double central90 = 1.6448536;

/* Wider answers say nothing: a factor of 5 either way. */
static const double most_sigma = 1;

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The smallest value that at least `share` of a new draw and these would not exceed. Sorts. */
static double conformal_quantile(double *value, size_t count, double share)
{
    size_t rank = (size_t)ceil(share * (double)(count + 1));

    qsort(value, count, sizeof *value, ascending);
    return value[rank < 1 ? 0 : rank > count ? count - 1 : rank - 1];
}

/* The same where each counts by its weight, which are 1 on average. */
struct weighted {
    double value, weight;
};

static int ascending_weighted(const void *a, const void *b)
{
    const struct weighted *x = a, *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

static double weighted_quantile(struct weighted *w, size_t count, double share)
{
    double wanted = share * (double)(count + 1), sum = 0;
    size_t i = 0;

    qsort(w, count, sizeof *w, ascending_weighted);
    for (; i + 1 < count; i++)
        if ((sum += w[i].weight) >= wanted)
            break;
    return w[i].value;
}

/*
 * How much a row counts for the spread. Configurations drawn evenly hold few that are shaped like
 * layers of networks, which have many channels and small images: those terms of the line (see
 * enum dlt_sigma_term) say how much of that a row is. The factors were chosen so that both
 * kinds of rows are covered alike.
 */
static void weigh(struct dlt_held_out *h, size_t count)
{
    const double by_size = -0.15, by_channels = 0.25;
    double mean = 0;

    for (size_t r = 0; r < count; r++) {
        h[r].weight = exp(by_size * h[r].terms[DLT_SIGMA_IMAGE] +
                          by_channels * h[r].terms[DLT_SIGMA_CHANNELS]);
        mean += h[r].weight / (double)count;
    }
    for (size_t r = 0; r < count; r++)
        h[r].weight /= mean;
}

static double residual(const struct dlt_section *s, const struct dlt_held_out *h)
{
    double apart = dlt_section_extrapolation(s, h->distance, h->outside);

    return log(h->seconds / h->cost_s) - (1 - apart) * h->ratio;
}

void dlt_hold_out(const struct dlt_build *build, const struct dlt_rows *rows,
                  struct dlt_held_out *held_out)
{
    struct dlt_section section = dlt_build_section(build);

    for (size_t r = 0; r < rows->count; r++) {
        const struct dlt_record *record = &rows->row[r]->record;
        struct dlt_held_out *h = &held_out[r];
        double apart;

        h->seconds = rows->row[r]->seconds;
        h->further = false;
        h->cost_s = dlt_section_cost(&section, record);
        h->ratio = dlt_section_ratio(&section, rows->device, record, h->cost_s, &apart);
        h->distance = dlt_section_distance(&section, record, &h->outside);
        dlt_section_sigma_terms(&section, record, h->cost_s, h->distance, apart, h->terms);
    }
}

static double line(const struct dlt_build *b, const double terms[DLT_SIGMA_TERMS])
{
    double sum = 0;

    for (int i = 0; i < DLT_SIGMA_TERMS; i++)
        sum += b->line[i] * terms[i];
    return exp(sum);
}

/* Slope and curvature of sum(ln s + |residual| / s), ln s = sigma . terms, with slopes drawn
 * towards those known before; right: the slope's negative. */
static void slope_and_curvature(const struct dlt_build *b, const struct dlt_held_out *h,
                                size_t count, const double *size, double *gram, double *right)
{
    const struct dlt_spread_prior *prior = &b->spread;

    for (int i = 0; i < DLT_SIGMA_TERMS; i++) {
        right[i] = i ? prior->rows[i] * (prior->slope[i] - b->line[i]) : 0;
        for (int j = 0; j < DLT_SIGMA_TERMS; j++)
            gram[i * DLT_SIGMA_TERMS + j] = i != j ? 0 : i ? prior->rows[i] : 1e-9;
    }
    for (size_t r = 0; r < count; r++) {
        double scaled = fmin(size[r] / line(b, h[r].terms), 1e6), weight = h[r].weight;

        for (int i = 0; i < DLT_SIGMA_TERMS; i++) {
            right[i] += weight * h[r].terms[i] * (scaled - 1);
            for (int j = 0; j < DLT_SIGMA_TERMS; j++)
                gram[i * DLT_SIGMA_TERMS + j] += weight * scaled * h[r].terms[i] * h[r].terms[j];
        }
    }
}

/* Residuals in units of the line. */
static void scale_down(const struct dlt_build *b, const struct dlt_held_out *h, size_t count,
                       const double *size, struct weighted *scaled)
{
    for (size_t r = 0; r < count; r++) {
        double range = fmin(fmax(line(b, h[r].terms), b->model.sigma_low), b->model.sigma_high);

        scaled[r] = (struct weighted){.value = size[r] / range, .weight = h[r].weight};
    }
}

/* The quantile of 90 % among residuals in units of the line with that term, or without it. 0: too
 * few to tell. scratch: room for count. */
static double quantile_with(const struct dlt_build *b, const struct dlt_held_out *h, size_t count,
                            const double *size, enum dlt_sigma_term term, bool with,
                            struct weighted *scratch)
{
    const size_t least = 200;
    double sum = 0;
    size_t found = 0;

    for (size_t r = 0; r < count; r++)
        if ((h[r].terms[term] > 0) == with) {
            scratch[found++] =
                (struct weighted){.value = size[r] / line(b, h[r].terms), .weight = h[r].weight};
            sum += h[r].weight;
        }
    if (found < least)
        return 0;
    for (size_t r = 0; r < found; r++)
        scratch[r].weight *= (double)found / sum;
    return weighted_quantile(scratch, found, 0.9);
}

/* Passes have tails of their own (NOTES.md, Ranges); the line's term of the pass evens them. */
static void level_passes(struct dlt_build *b, const struct dlt_held_out *h, size_t count,
                         const double *size, struct weighted *scratch)
{
    double without = quantile_with(b, h, count, size, DLT_SIGMA_BACKWARD, false, scratch);
    double with = quantile_with(b, h, count, size, DLT_SIGMA_BACKWARD, true, scratch);

    if (with > 0 && without > 0)
        b->line[DLT_SIGMA_BACKWARD] += log(with / without);
}

/*
 * The line of Laplace's distribution that is likeliest to give these residuals, by Newton's steps:
 * large residuals tell more of the tails than they would in a line through their logarithms.
 */
static void fit_line(struct dlt_build *b, const struct dlt_held_out *h, size_t count,
                     const double *size)
{
    enum { STEPS = 25 };
    const double most = 1; /* of a step: beyond, the quadratic is no guide */
    double gram[DLT_SIGMA_TERMS * DLT_SIGMA_TERMS], factor[DLT_SIGMA_TERMS * DLT_SIGMA_TERMS];
    double right[DLT_SIGMA_TERMS], step[DLT_SIGMA_TERMS], mean = 0;
    size_t all[DLT_SIGMA_TERMS];

    for (size_t r = 0; r < count; r++)
        mean += h[r].weight * size[r] / (double)count;
    for (size_t i = 0; i < DLT_SIGMA_TERMS; i++) {
        all[i] = i;
        b->line[i] = i ? b->spread.slope[i] : log(mean);
    }
    for (int s = 0; s < STEPS; s++) {
        double largest = most;

        slope_and_curvature(b, h, count, size, gram, right);
        if (dlt_cholesky_solve(gram, DLT_SIGMA_TERMS, all, DLT_SIGMA_TERMS, right, factor, step))
            return;
        for (int i = 0; i < DLT_SIGMA_TERMS; i++)
            largest = fmax(largest, fabs(step[i]));
        for (int i = 0; i < DLT_SIGMA_TERMS; i++)
            b->line[i] += step[i] * most / largest;
    }
}

/* scratch: room for count. */
static void fit_terms(struct dlt_build *b, const struct dlt_held_out *h, size_t count,
                      const double *size, struct weighted *scratch)
{
    fit_line(b, h, count, size);
    level_passes(b, h, count, size, scratch);
}

/* The range around the middle of what the line says. */
static void limit(struct dlt_build *b, const struct dlt_held_out *h, size_t count, double *scratch)
{
    double middle;

    for (size_t r = 0; r < count; r++)
        scratch[r] = line(b, h[r].terms);
    middle = conformal_quantile(scratch, count, 0.5);
    b->model.sigma_low = middle / 4;
    b->model.sigma_high = middle * 6;
}

/* The quantile of 90 % of rows as they count, or of rows as they were drawn where that is more
 * (NOTES.md, Ranges). Sorts. */
static double safe_quantile(struct weighted *scaled, size_t count)
{
    double by_weight = weighted_quantile(scaled, count, 0.9);

    for (size_t r = 0; r < count; r++)
        scaled[r].weight = 1;
    return fmax(by_weight, weighted_quantile(scaled, count, 0.9));
}

static void reverse(struct dlt_held_out *h, double *size, size_t from, size_t to)
{
    for (; from + 1 < to; from++) {
        struct dlt_held_out row = h[from];
        double its = size[from];

        to--;
        h[from] = h[to];
        h[to] = row;
        size[from] = size[to];
        size[to] = its;
    }
}

/* Moves the first rows behind the others. */
static void rotate(struct dlt_held_out *h, double *size, size_t count, size_t by)
{
    reverse(h, size, 0, by);
    reverse(h, size, by, count);
    reverse(h, size, 0, count);
}

/* What to multiply the line by: from residuals in units of a line that other rows gave, since its
 * own rows flatter it; nine tenths of them, since half would give a worse one than all. The rows
 * are shuffled, and in the same order afterwards. */
static double conformal_scale(struct dlt_build *b, struct dlt_held_out *h, size_t count,
                              double *size, double *scratch, struct weighted *scaled)
{
    const size_t least = 40, folds = 10; /* rows; tenths of fewer would tell nothing */
    struct weighted *spare = scaled + count;

    if (count < least) {
        scale_down(b, h, count, size, scaled);
        return safe_quantile(scaled, count) / central90;
    }
    for (size_t fold = 0, done = 0; fold < folds; fold++) {
        size_t rows = (count - done) / (folds - fold);

        fit_terms(b, h + rows, count - rows, size + rows, spare);
        limit(b, h, count, scratch);
        scale_down(b, h, rows, size, scaled + done);
        rotate(h, size, count, rows);
        done += rows;
    }
    return safe_quantile(scaled, count) / central90;
}

static void keep_line(struct dlt_build *b)
{
    for (int i = 0; i < DLT_SIGMA_ALL; i++)
        b->model.sigma[i] = b->line[i];
    if (b->model.ratio != DLT_RATIO_TRANSFER)
        for (int i = DLT_SIGMA_ALL; i < DLT_SIGMA_TERMS; i++)
            b->model.sigma_last[i - DLT_SIGMA_ALL] = b->line[i];
}

/* Rows that say something of their own: an answer by less than there is repeats its row's. */
static size_t count_scored(const struct dlt_held_out *h, size_t count)
{
    size_t scored = 0;

    for (size_t r = 0; r < count; r++)
        scored += !h[r].further;
    return scored;
}

/* scratch: room for count; scaled: for twice that. */
static void fit_sigma(struct dlt_build *b, struct dlt_held_out *h, size_t count, double *size,
                      double *scratch, struct weighted *scaled)
{
    /* Few residuals say little about their spread: as Student's t does for a mean. */
    double scale = b->spread.learned ? 1 : sqrt(1 + 4 / (double)count_scored(h, count));

    fit_terms(b, h, count, size, scaled);
    limit(b, h, count, scratch);
    scale *= conformal_scale(b, h, count, size, scratch, scaled);
    fit_terms(b, h, count, size, scaled);
    limit(b, h, count, scratch);
    b->line[0] += log(scale);
    keep_line(b);
    b->model.sigma_low = fmin(b->model.sigma_low * scale, most_sigma);
    b->model.sigma_high = fmin(b->model.sigma_high * scale, most_sigma);
}

static void score(const struct dlt_section *s, const struct dlt_held_out *h, size_t count,
                  double *scratch, struct dlt_accuracy *a)
{
    *a = (struct dlt_accuracy){.count = count_scored(h, count)};
    for (size_t r = 0, scored = 0; r < count; r++) {
        double apart = dlt_section_extrapolation(s, h[r].distance, h[r].outside);
        double off = residual(s, &h[r]), error = h[r].seconds * expm1(-off);
        double sigma = (1 - apart) * dlt_section_sigma(s, h[r].terms) + apart * s->model.sigma_far;

        if (h[r].further)
            continue;
        scratch[scored] = fabs(expm1(-off));
        a->rmse_s += error * error / (double)a->count;
        a->mape += scratch[scored++] / (double)a->count;
        a->coverage90 += (fabs(off) <= central90 * sigma) / (double)a->count;
        a->mean_width += 2 * sinh(central90 * sigma) / (double)a->count;
    }
    a->rmse_s = sqrt(a->rmse_s);
    a->median_ape = conformal_quantile(scratch, a->count, 0.5);
}

int dlt_calibrate(struct dlt_build *b, struct dlt_held_out *h, size_t count,
                  struct dlt_accuracy *accuracy)
{
    const double least_residual = 1e-4;
    double *scratch = malloc((2 * count + 1) * sizeof *scratch);
    struct weighted *scaled = malloc((2 * count + 1) * sizeof *scaled);
    struct dlt_section section;

    if (!scratch || !scaled) {
        free(scratch);
        free(scaled);
        return -1;
    }
    for (size_t r = 0; r < count; r++)
        scratch[r] = h[r].distance;
    if (!b->spread.learned)
        b->model.near = fmax(conformal_quantile(scratch, count, 0.99), 0.1);
    b->model.far = b->model.near + fmax(b->model.near, 1);
    for (size_t r = 0; r < count; r++)
        h[r].terms[DLT_SIGMA_DISTANCE] = fmin(h[r].distance / b->model.near, 1.5);
    for (size_t r = 0; r < count; r++)
        scratch[r] = fabs(log(h[r].seconds / h[r].cost_s));
    b->model.sigma_far =
        fmin(fmax(1.5 * conformal_quantile(scratch, count, 0.9) / central90, 0.3), most_sigma);
    section = dlt_build_section(b);
    for (size_t r = 0; r < count; r++)
        scratch[r] = fmax(fabs(residual(&section, &h[r])), least_residual);
    weigh(h, count);
    fit_sigma(b, h, count, scratch, scratch + count, scaled);
    section = dlt_build_section(b);
    score(&section, h, count, scratch, accuracy);
    free(scaled);
    free(scratch);
    return 0;
}
