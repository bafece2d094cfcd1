/*
 * worlds.h - made-up worlds of networks, devices and jobs whose errors are known, for the promise
 * that a limit keeps: step parameters are learned from some networks' runs as `dltime train` learns
 * them, and jobs of other networks are held against the quantile that the prediction promises.
 */
#ifndef DLT_TESTS_UNIT_WORLDS_H
#define DLT_TESTS_UNIT_WORLDS_H

#include <math.h>
#include <stdlib.h>

#include "learn/random.h"
#include "learn/steps.h"
#include "predict/spread.h"

/* Standard deviations of logs. */
struct world {
    const char *name;
    int networks;  /* that runs were seen of, on each device */
    int devices;   /* that runs were seen on; the jobs run on the first of them */
    bool far;      /* or on one more, which nothing was seen of */
    double device; /* of a device and its software: shared by all its networks */
    double network, run;
    double units;   /* of a network, by its operators: what the prediction says of itself */
    double freedom; /* Student's t of networks and runs with so many; 0: normal */
    int family;     /* so many networks in a row share three quarters of their variance; 0: none */
    double slow;    /* share of jobs that take a fifth longer: neighbours, file systems */
};

enum { WORLD_NETWORKS = 24, WORLD_DEVICES = 6, WORLD_BATCHES = 3, WORLD_JOBS = 20 };

/* What one drawing of a world showed. */
struct world_result {
    int exceeded;                   /* jobs that took longer than the quantile */
    double limit_ratio[WORLD_JOBS]; /* quantile / real time */
};

/* With a variance of 1, whatever the tails. */
static inline double world_error(struct dlt_random *random, double freedom)
{
    double z = dlt_random_normal(random), squares = 0;

    if (freedom <= 2)
        return z;
    for (int i = 0; i < (int)freedom; i++) {
        double one = dlt_random_normal(random);

        squares += one * one;
    }
    return z / sqrt(squares / freedom) / sqrt(freedom / (freedom - 2));
}

static inline struct dlt_step_sum world_network(struct dlt_random *random, double sigma)
{
    double work = 1e-3 * pow(100, dlt_random_uniform(random));
    double kernels = 40 * pow(10, dlt_random_uniform(random));

    return (struct dlt_step_sum){.forward_s = work,
                                 .backward_s = 2 * work * exp(0.1 * dlt_random_normal(random)),
                                 .update_s = 0.05 * work,
                                 .forward_kernels = kernels,
                                 .backward_kernels = 2 * kernels,
                                 .update_kernels = 10,
                                 .sigma = sigma};
}

static inline void world_scale(struct dlt_step_sum *sum, double factor)
{
    sum->forward_s *= factor;
    sum->backward_s *= factor;
}

/* The error of network n of a series. *family: of the networks that it is like. */
static inline double world_network_error(const struct world *w, struct dlt_random *random, int n,
                                         double *family)
{
    double sigma = hypot(w->network, w->units);

    if (w->family == 0)
        return sigma * world_error(random, w->freedom);
    if (n % w->family == 0)
        *family = world_error(random, w->freedom);
    return sigma * (sqrt(0.75) * *family + sqrt(0.25) * world_error(random, w->freedom));
}

static inline struct dlt_step_parameters world_host(struct dlt_random *random)
{
    return (struct dlt_step_parameters){.device_factor = 1,
                                        .backward_factor = exp(0.05 * dlt_random_normal(random)),
                                        .dispatch_s = 8e-6 * exp(0.5 * dlt_random_normal(random)),
                                        .constant_s = 2e-4 * exp(dlt_random_normal(random)),
                                        .corner = 4};
}

/* Runs of the networks on a device, in three batches each. */
static inline size_t world_runs(const struct world *w, struct dlt_random *random,
                                const struct dlt_step_sum *network, const double *error, int device,
                                double bias, const struct dlt_step_parameters *host,
                                struct dlt_step_case *cases)
{
    size_t count = 0;

    for (int n = 0; n < w->networks; n++)
        for (int b = 0; b < WORLD_BATCHES; b++) {
            struct dlt_step_case *c = &cases[count++];

            *c = (struct dlt_step_case){.sum = network[n], .network = n, .device = device};
            world_scale(&c->sum, 1 << b);
            c->observed_s = dlt_step_case_time(c, host) *
                            exp(bias + error[n] + w->run * world_error(random, w->freedom));
        }
    return count;
}

/* Draws a world, learns, and asks for the quantile of jobs of networks that nobody has seen. */
static inline void world_draw(const struct world *w, uint64_t seed, uint64_t stream,
                              double quantile, struct world_result *result)
{
    static struct dlt_step_case cases[WORLD_NETWORKS * WORLD_DEVICES * WORLD_BATCHES];
    struct dlt_step_sum network[WORLD_NETWORKS] = {0};
    struct dlt_step_parameters host, found;
    double error[WORLD_NETWORKS] = {0}, bias[WORLD_DEVICES + 1] = {0}, family = 0;
    struct dlt_random random;
    size_t count = 0;

    dlt_random_seed(&random, seed, stream);
    host = world_host(&random);
    for (int n = 0; n < w->networks; n++) {
        network[n] = world_network(&random, w->units);
        error[n] = world_network_error(w, &random, n, &family);
    }
    for (int d = 0; d <= w->devices; d++)
        bias[d] = w->device * dlt_random_normal(&random);
    for (int d = 0; d < w->devices; d++)
        count += world_runs(w, &random, network, error, d, bias[d], &host, cases + count);
    dlt_learn_steps(cases, count, DLT_PYTORCH, false, &found);
    *result = (struct world_result){0};
    for (int j = 0; j < WORLD_JOBS; j++) {
        struct dlt_step_case job = {.sum = world_network(&random, w->units)};
        struct dlt_estimate e = {.devices = 1, .nodes = 1};
        double real = dlt_step_case_time(&job, &host), limit, fresh = 0;

        /* Half of the jobs are of the family seen last, the others of new ones. */
        real *= exp(bias[w->far ? w->devices : 0] + w->run * world_error(&random, w->freedom) +
                    world_network_error(w, &random, j % 2, j % 2 ? &family : &fresh));
        if (dlt_random_uniform(&random) < w->slow)
            real *= 1.2;
        e.step_s = e.job_s = dlt_step_case_time(&job, &found);
        dlt_spread_fill(&e, &job.sum, &found);
        limit = dlt_estimate_job_quantile(&e, quantile);
        result->exceeded += real > limit;
        result->limit_ratio[j] = limit / real;
    }
}

#endif
