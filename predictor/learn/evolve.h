/*
 * evolve.h - differential evolution: the least of a function of a few bounded numbers that has no
 * derivative worth following. Storn and Price, Journal of Global Optimization 11 (1997), their
 * DE/rand/1/bin, with the difference's weight drawn anew for each generation (dither).
 */
#ifndef DLT_LEARN_EVOLVE_H
#define DLT_LEARN_EVOLVE_H

#include <stddef.h>
#include <stdint.h>

enum { DLT_EVOLVE_DIMENSIONS = 24 };

struct dlt_evolve_settings {
    size_t dimensions;        /* 1 to DLT_EVOLVE_DIMENSIONS */
    const double *low, *high; /* bounds of each; low <= high, equal ones hold it fixed */
    size_t population;        /* 0: ten for each dimension, at least 20 */
    size_t generations;       /* at most; 0: 400 */
    double tolerance;         /* stops where the population's costs differ by no more than this
                                 share of their mean; 0: 1e-9 */
    uint64_t seed, stream;    /* the same ones give the same result anywhere */
};

/*
 * Writes the best point to best (dimensions numbers) and returns its cost, or NaN out of memory.
 * cost must be finite or +INFINITY everywhere within the bounds.
 */
double dlt_evolve(const struct dlt_evolve_settings *settings,
                  double (*cost)(void *context, const double *point), void *context, double *best);

#endif
