/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/drift.h"

#include <math.h>
#include <stdlib.h>

/* Rows of all files lie one after the other in the corpus. */
static int by_place(const void *a, const void *b)
{
    const struct dlt_row *const *x = a, *const *y = b;

    return (*x > *y) - (*x < *y);
}

static void put_in_order(const struct dlt_rows *rows, const struct dlt_row **row)
{
    for (size_t r = 0; r < rows->count; r++)
        row[r] = rows->row[r];
    qsort(row, rows->count, sizeof *row, by_place);
}

/* From the beginning of the files, 0, to their end, 1. */
static double place_of(size_t index, size_t count)
{
    return ((double)index + 0.5) / (double)count;
}

struct slope {
    double seconds, score; /* score: slope over its standard deviation */
    double sorted;         /* correlation of place and size */
};

/* Of what the cost model leaves against the place, at relative error. Residuals are cut off at
 * their own size, so that rows which another algorithm served have no more say than others. */
static struct slope slope_of(const struct dlt_rows *rows, const double *cost)
{
    double place_size = 0, place_square = 0, size_square = 0, mean_size = 0;
    double mean = 0, weights = 0, product = 0, square = 0, noise = 0, count = (double)rows->count;

    for (size_t r = 0; r < rows->count; r++) {
        double weight = 1 / (cost[r] * cost[r]);

        weights += weight;
        mean += weight * place_of(r, rows->count);
        mean_size += log(cost[r]) / count;
    }
    mean /= weights;
    for (size_t r = 0; r < rows->count; r++) {
        double apart = place_of(r, rows->count) - mean;
        double middle = place_of(r, rows->count) - 0.5, size = log(cost[r]) - mean_size;
        double off = fmin(fmax(rows->row[r]->seconds / cost[r] - 1, -1), 1);

        product += off * apart / cost[r];
        square += apart * apart / (cost[r] * cost[r]);
        noise += off * off / count;
        place_size += middle * size;
        place_square += middle * middle;
        size_square += size * size;
    }
    return (struct slope){.seconds = product / square,
                          .score = product / sqrt(square * noise),
                          .sorted = place_size / sqrt(place_square * size_square + 1e-300)};
}

static int refit(const struct dlt_rows *rows, uint64_t seed, double *cost)
{
    struct dlt_build build = {0};
    struct dlt_section section;
    struct dlt_random random;
    int result;

    dlt_random_seed(&random, seed, 0);
    dlt_build_start(&build, rows->row[0]->record.kind);
    result = dlt_fit_cost(&build, rows, &random);
    section = dlt_build_section(&build);
    for (size_t r = 0; result == 0 && r < rows->count; r++)
        cost[r] = dlt_section_cost(&section, &rows->row[r]->record);
    dlt_build_clear(&build);
    return result;
}

/* Finds the drift of rows in file order; makes their times those of the middle. */
static int level(struct dlt_rows *rows, struct dlt_row *copy, uint64_t seed, double *cost,
                 double *drift_s)
{
    const double least_score = 8; /* as sessions.c: squared, far beyond chance */
    const double most_sorted = 0.15;
    const int rounds = 4;

    *drift_s = 0;
    for (int round = 0; round < rounds; round++) {
        struct slope slope;

        if (refit(rows, seed, cost))
            return -1;
        slope = slope_of(rows, cost);
        if (round == 0 && (slope.score < least_score || fabs(slope.sorted) > most_sorted))
            return 0;
        *drift_s += slope.seconds;
        for (size_t r = 0; r < rows->count; r++)
            copy[r].seconds =
                fmax(copy[r].seconds - slope.seconds * (place_of(r, rows->count) - 0.5), 1e-6);
    }
    *drift_s = fmax(*drift_s, 0);
    return 0;
}

int dlt_find_drift(const struct dlt_rows *rows, uint64_t seed, double *drift_s)
{
    const struct dlt_row **row = calloc(rows->count + 1, sizeof *row);
    struct dlt_row *copy = calloc(rows->count + 1, sizeof *copy);
    double *cost = calloc(rows->count + 1, sizeof *cost);
    struct dlt_rows ordered = *rows;
    int result = -1;

    if (row && copy && cost) {
        put_in_order(rows, row);
        for (size_t r = 0; r < rows->count; r++) {
            copy[r] = *row[r];
            row[r] = &copy[r];
        }
        ordered.row = row;
        result = level(&ordered, copy, seed, cost, drift_s);
    }
    free(row);
    free(copy);
    free(cost);
    return result;
}

int dlt_undrift(const struct dlt_rows *rows, double drift_s, struct dlt_row **copy,
                const struct dlt_row **row)
{
    double least = INFINITY;

    *copy = calloc(rows->count + 1, sizeof **copy);
    if (!*copy)
        return -1;
    put_in_order(rows, row);
    for (size_t r = 0; r < rows->count; r++)
        least = fmin(least, row[r]->seconds);
    for (size_t r = 0; r < rows->count; r++) {
        double first = row[r]->seconds - drift_s * place_of(r, rows->count);

        first = fmax(first, least / 2);
        (*copy)[r] = *row[r];
        (*copy)[r].seconds = sqrt(first * (first + drift_s));
        row[r] = &(*copy)[r];
    }
    return 0;
}
