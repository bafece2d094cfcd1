/*
 * random.h - a seeded stream of random numbers: xoshiro256** (Blackman and Vigna 2018), so that a
 * training repeats itself on any machine and with any number of threads.
 */
#ifndef DLT_LEARN_RANDOM_H
#define DLT_LEARN_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct dlt_random {
    uint64_t state[4];
};

/* Streams of different numbers under one seed are independent. */
void dlt_random_seed(struct dlt_random *random, uint64_t seed, uint64_t stream);
uint64_t dlt_random_next(struct dlt_random *random);
/* Uniform in [0, 1). */
double dlt_random_uniform(struct dlt_random *random);
/* Uniform in 0 .. count - 1; count > 0. */
size_t dlt_random_below(struct dlt_random *random, size_t count);
/* A fair sample of a stream (Vitter 1985, algorithm R): the place among `most` that the item takes
 * which `before` others came before, or `most` where it is not kept. */
size_t dlt_random_place(struct dlt_random *random, size_t before, size_t most);
/* Normal with mean 0 and variance 1. */
double dlt_random_normal(struct dlt_random *random);
/* Shuffles count indices. */
void dlt_random_shuffle(struct dlt_random *random, uint32_t *index, size_t count);

#endif
