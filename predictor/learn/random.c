/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/random.h"

#include <math.h>

/* SplitMix64, which its authors recommend for filling the state. */
static uint64_t split(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15ULL;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ z >> 27) * 0x94D049BB133111EBULL;
    return z ^ z >> 31;
}

void dlt_random_seed(struct dlt_random *random, uint64_t seed, uint64_t stream)
{
    uint64_t state = seed;

    state = split(&state) ^ stream * 0xD1342543DE82EF95ULL;
    for (int i = 0; i < 4; i++)
        random->state[i] = split(&state);
}

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

uint64_t dlt_random_next(struct dlt_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

double dlt_random_uniform(struct dlt_random *random)
{
    return (double)(dlt_random_next(random) >> 11) * 0x1p-53;
}

size_t dlt_random_below(struct dlt_random *random, size_t count)
{
    return (size_t)(dlt_random_uniform(random) * (double)count);
}

size_t dlt_random_place(struct dlt_random *random, size_t before, size_t most)
{
    size_t place = before < most ? before : dlt_random_below(random, before + 1);

    return place < most ? place : most;
}

double dlt_random_normal(struct dlt_random *random)
{
    double u = 1 - dlt_random_uniform(random);
    double v = dlt_random_uniform(random);

    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

void dlt_random_shuffle(struct dlt_random *random, uint32_t *index, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = dlt_random_below(random, i);
        uint32_t kept = index[i - 1];

        index[i - 1] = index[other];
        index[other] = kept;
    }
}
