/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/evolve.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "learn/random.h"

struct population {
    const struct dlt_evolve_settings *settings;
    double (*function)(void *context, const double *point);
    void *context;
    struct dlt_random random;
    size_t count;
    double *point; /* count x dimensions */
    double *cost;
};

static double *member(const struct population *p, size_t i)
{
    return p->point + i * p->settings->dimensions;
}

static void scatter(struct population *p)
{
    const struct dlt_evolve_settings *s = p->settings;

    for (size_t i = 0; i < p->count; i++) {
        for (size_t d = 0; d < s->dimensions; d++)
            member(p, i)[d] = s->low[d] + dlt_random_uniform(&p->random) * (s->high[d] - s->low[d]);
        p->cost[i] = p->function(p->context, member(p, i));
    }
}

/* Three members other than i and one another. */
static void draw_three(struct population *p, size_t i, size_t drawn[3])
{
    for (size_t k = 0; k < 3; k++) {
        bool fresh;

        do {
            drawn[k] = dlt_random_below(&p->random, p->count);
            fresh = drawn[k] != i;
            for (size_t j = 0; j < k; j++)
                fresh = fresh && drawn[k] != drawn[j];
        } while (!fresh);
    }
}

/* A coordinate that left its bounds goes somewhere between the base's and the bound. */
static double within(struct population *p, size_t d, double base, double value)
{
    double bound;

    if (value >= p->settings->low[d] && value <= p->settings->high[d])
        return value;
    bound = value < p->settings->low[d] ? p->settings->low[d] : p->settings->high[d];
    return base + dlt_random_uniform(&p->random) * (bound - base);
}

static void breed(struct population *p, size_t i, double weight, double *trial)
{
    const double crossover = 0.9;
    size_t dimensions = p->settings->dimensions;
    size_t always = dlt_random_below(&p->random, dimensions), drawn[3];
    const double *base, *one, *other;

    draw_three(p, i, drawn);
    base = member(p, drawn[0]);
    one = member(p, drawn[1]);
    other = member(p, drawn[2]);
    memcpy(trial, member(p, i), dimensions * sizeof *trial);
    for (size_t d = 0; d < dimensions; d++)
        if (d == always || dlt_random_uniform(&p->random) < crossover)
            trial[d] = within(p, d, base[d], base[d] + weight * (one[d] - other[d]));
}

static void next_generation(struct population *p)
{
    double weight = 0.5 + 0.5 * dlt_random_uniform(&p->random);
    double trial[DLT_EVOLVE_DIMENSIONS];

    for (size_t i = 0; i < p->count; i++) {
        double cost;

        breed(p, i, weight, trial);
        cost = p->function(p->context, trial);
        if (cost <= p->cost[i]) {
            memcpy(member(p, i), trial, p->settings->dimensions * sizeof *trial);
            p->cost[i] = cost;
        }
    }
}

static size_t best_of(const struct population *p)
{
    size_t best = 0;

    for (size_t i = 1; i < p->count; i++)
        if (p->cost[i] < p->cost[best])
            best = i;
    return best;
}

/* Whether all costs are alike: the population has gathered in one place. */
static bool gathered(const struct population *p)
{
    double tolerance = p->settings->tolerance > 0 ? p->settings->tolerance : 1e-9;
    double least = INFINITY, most = 0, sum = 0;

    for (size_t i = 0; i < p->count; i++) {
        least = fmin(least, p->cost[i]);
        most = fmax(most, p->cost[i]);
        sum += p->cost[i];
    }
    if (isinf(most))
        return false;
    return most - least <= tolerance * fabs(sum) / (double)p->count || most < 1e-15;
}

double dlt_evolve(const struct dlt_evolve_settings *settings,
                  double (*cost)(void *context, const double *point), void *context, double *best)
{
    struct population p = {.settings = settings, .function = cost, .context = context};
    size_t generations = settings->generations ? settings->generations : 400;
    double least = NAN;

    p.count = settings->population ? settings->population : 10 * settings->dimensions;
    if (p.count < 20)
        p.count = 20;
    p.point = calloc(p.count * settings->dimensions, sizeof *p.point);
    p.cost = calloc(p.count, sizeof *p.cost);
    if (p.point && p.cost) {
        dlt_random_seed(&p.random, settings->seed, settings->stream);
        scatter(&p);
        for (size_t g = 0; g < generations && !gathered(&p); g++)
            next_generation(&p);
        memcpy(best, member(&p, best_of(&p)), settings->dimensions * sizeof *best);
        least = p.cost[best_of(&p)];
    }
    free(p.point);
    free(p.cost);
    return least;
}
