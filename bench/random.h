/*
 * random.h - a small generator whose state is one number (splitmix64, Steele et al. 2014).
 */
#ifndef DLBENCH_RANDOM_H
#define DLBENCH_RANDOM_H

#include <math.h>
#include <stdint.h>

static inline uint64_t bench_random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/* In [0, 1). */
static inline double bench_random_unit(uint64_t *state)
{
    return (double)(bench_random_next(state) >> 11) * 0x1p-53;
}

/* 0 ... count - 1. */
static inline int64_t bench_random_below(uint64_t *state, int64_t count)
{
    return (int64_t)(bench_random_unit(state) * (double)count);
}

/* A whole number in [from, to], its logarithm uniform. */
static inline int64_t bench_random_log(uint64_t *state, int64_t from, int64_t to)
{
    double low = log((double)from), high = log((double)to + 1);
    int64_t value = (int64_t)exp(low + (high - low) * bench_random_unit(state));

    return value < from ? from : value > to ? to : value;
}

#endif
