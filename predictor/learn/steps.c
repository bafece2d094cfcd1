/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/steps.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "learn/nnls.h"

/* What is fitted, as logs; the corner as the log of what it is above 1. */
enum { FACTOR, BACKWARD, DISPATCH, CONSTANT, CORNER, ALLOCATE, FITTED };

/* How far the logs may lie from the priors: the factor is well known from operators, the corner
 * hardly at all. */
static const double prior_sigma[FITTED] = {[FACTOR] = 0.25,
                                           [BACKWARD] = 0.15,
                                           [DISPATCH] = DLT_SIGMA_DISPATCH,
                                           [CONSTANT] = DLT_SIGMA_CONSTANT,
                                           [CORNER] = 1,
                                           [ALLOCATE] = 1};

/* A session of TensorFlow took tens of milliseconds to begin and end, or none to speak of; it
 * returns when its results are there, so that the device does not hide them as it hides what is
 * queued: the corner is near 1, where the two add. */
static const double session_sigma = 2.5, session_corner = 1.1;

/* Errors that are expected however good the parameters are: of a network at the least, and of one
 * batch of it against the others. */
static const double least_network_sigma = 0.1, case_sigma = 0.05;

/* Degrees of freedom of a network's error, for its vote: few, so that a stray one counts little. */
static const double vote_freedom = 4;

struct problem {
    const struct dlt_step_case *cases;
    size_t count;
    int *group; /* of each case: a network on a device in a precision; -1: left out */
    int networks, groups;
    double *residual, *slope; /* of each case; of each case and parameter */
    double prior[FITTED], sigma[FITTED];
    double network_sigma; /* of a network on a device, that its vote is judged by */
};

static struct dlt_step_parameters parameters_of(const double theta[FITTED])
{
    return (struct dlt_step_parameters){.device_factor = exp(theta[FACTOR]),
                                        .backward_factor = exp(theta[BACKWARD]),
                                        .dispatch_s = exp(theta[DISPATCH]),
                                        .constant_s = exp(theta[CONSTANT]),
                                        .corner = 1 + exp(fmin(theta[CORNER], 3)),
                                        .allocate_s = exp(theta[ALLOCATE])};
}

double dlt_step_case_time(const struct dlt_step_case *c,
                          const struct dlt_step_parameters *parameters)
{
    struct dlt_step_times times;

    dlt_step_times(&c->sum, parameters, &times);
    switch (c->seen) {
    case DLT_SEEN_INFERENCE:
        return times.forward_s;
    case DLT_SEEN_FORWARD:
        return times.forward_s + times.allocate_s;
    case DLT_SEEN_BACKWARD:
        return times.backward_s;
    default:
        return times.micro_s + times.allocate_s + times.update_s;
    }
}

static double residual(const struct dlt_step_case *c, const double theta[FITTED])
{
    struct dlt_step_parameters parameters = parameters_of(theta);

    return log(c->observed_s / dlt_step_case_time(c, &parameters));
}

/* Mean of a group's residuals and how many they are. */
static double group_mean(const struct problem *p, int group, double *cases)
{
    double sum = 0;

    *cases = 0;
    for (size_t i = 0; i < p->count; i++) {
        if (p->group[i] == group) {
            sum += p->residual[i];
            ++*cases;
        }
    }
    return *cases > 0 ? sum / *cases : 0;
}

/* The variance of a group's mean. */
static double mean_variance(const struct problem *p, double cases)
{
    return p->network_sigma * p->network_sigma + case_sigma * case_sigma / cases;
}

static double loss(const struct problem *p, const double theta[FITTED])
{
    double sum = 0;

    for (int j = 0; j < FITTED; j++) {
        double z = (theta[j] - p->prior[j]) / p->sigma[j];

        sum += z * z;
    }
    for (size_t i = 0; i < p->count; i++)
        p->residual[i] = p->group[i] >= 0 ? residual(&p->cases[i], theta) : 0;
    for (int g = 0; g < p->groups; g++) {
        double cases, mean = group_mean(p, g, &cases);

        if (cases > 0)
            sum += (vote_freedom + 1) * log1p(mean * mean / mean_variance(p, cases) / vote_freedom);
        for (size_t i = 0; i < p->count; i++) {
            double z = (p->residual[i] - mean) / case_sigma;

            sum += p->group[i] == g ? z * z : 0;
        }
    }
    return sum;
}

/* Derivatives of the log of the prediction, by differences. */
static void fill_slopes(const struct problem *p, const double theta[FITTED])
{
    const double step = 1e-4;

    for (size_t i = 0; i < p->count; i++) {
        for (int j = 0; j < FITTED && p->group[i] >= 0; j++) {
            double moved[FITTED];

            for (int k = 0; k < FITTED; k++)
                moved[k] = theta[k] + (k == j ? step : 0);
            p->slope[i * FITTED + (size_t)j] =
                (p->residual[i] - residual(&p->cases[i], moved)) / step;
        }
    }
}

static void add_row(const double slope[FITTED], double r, double weight,
                    double normal[FITTED * FITTED], double right[FITTED])
{
    for (int j = 0; j < FITTED; j++) {
        right[j] += weight * slope[j] * r;
        for (int k = 0; k < FITTED; k++)
            normal[j * FITTED + k] += weight * slope[j] * slope[k];
    }
}

/* A group's mean, by its vote, and its cases about it. */
static void add_group(const struct problem *p, int group, double normal[FITTED * FITTED],
                      double right[FITTED])
{
    double cases, mean = group_mean(p, group, &cases);
    double slope[FITTED] = {0};

    if (!(cases > 0))
        return;
    for (size_t i = 0; i < p->count; i++)
        for (int j = 0; j < FITTED && p->group[i] == group; j++)
            slope[j] += p->slope[i * FITTED + (size_t)j] / cases;
    add_row(slope, mean,
            (vote_freedom + 1) / (vote_freedom + mean * mean / mean_variance(p, cases)) /
                mean_variance(p, cases),
            normal, right);
    for (size_t i = 0; i < p->count; i++) {
        double apart[FITTED];

        for (int j = 0; j < FITTED && p->group[i] == group; j++)
            apart[j] = p->slope[i * FITTED + (size_t)j] - slope[j];
        if (p->group[i] == group)
            add_row(apart, p->residual[i] - mean, 1 / (case_sigma * case_sigma), normal, right);
    }
}

/* One step of Levenberg-Marquardt from theta, whose residuals are those of the problem. */
static bool propose(const struct problem *p, const double theta[FITTED], double damping,
                    double moved[FITTED])
{
    static const size_t index[FITTED] = {0, 1, 2, 3, 4, 5};
    double normal[FITTED * FITTED] = {0}, right[FITTED], factor[FITTED * FITTED], move[FITTED];

    for (int j = 0; j < FITTED; j++) {
        double precision = 1 / (p->sigma[j] * p->sigma[j]);

        normal[j * FITTED + j] = precision;
        right[j] = precision * (p->prior[j] - theta[j]);
    }
    for (int g = 0; g < p->groups; g++)
        add_group(p, g, normal, right);
    for (int j = 0; j < FITTED; j++)
        normal[j * FITTED + j] *= 1 + damping;
    if (dlt_cholesky_solve(normal, FITTED, index, FITTED, right, factor, move))
        return false;
    for (int j = 0; j < FITTED; j++)
        moved[j] = theta[j] + fmin(fmax(move[j], -1), 1);
    return true;
}

/* From where theta is, downhill; returns the loss. */
static double descend(const struct problem *p, double theta[FITTED])
{
    double damping = 1e-3, least = loss(p, theta);

    for (int iteration = 0; iteration < 200 && damping < 1e8; iteration++) {
        double moved[FITTED], now;

        fill_slopes(p, theta);
        if (!propose(p, theta, damping, moved))
            break;
        now = loss(p, moved);
        if (now < least) {
            double gain = least - now;

            for (int j = 0; j < FITTED; j++)
                theta[j] = moved[j];
            least = now;
            damping *= 0.3;
            if (gain < 1e-10 * least)
                break;
        } else {
            loss(p, theta);
            damping *= 10;
        }
    }
    return least;
}

/* The shortest time of the cases, and the shortest for each of its kernels. */
static void shortest(const struct problem *p, double *seconds, double *per_kernel)
{
    *seconds = *per_kernel = INFINITY;
    for (size_t i = 0; i < p->count; i++) {
        const struct dlt_step_case *c = &p->cases[i];
        double kernels = c->sum.forward_kernels + c->sum.backward_kernels + c->sum.update_kernels;

        if (p->group[i] < 0)
            continue;
        *seconds = fmin(*seconds, c->observed_s);
        *per_kernel = fmin(*per_kernel, c->observed_s / fmax(kernels, 1));
    }
}

/* A host whose time hides behind the device's leaves no slope to follow: so also from a slow host,
 * which rules the shortest of the cases. */
static void fit(const struct problem *p, double theta[FITTED])
{
    enum { STARTS = 3 };
    const double of_shortest = 0.7;
    double least = INFINITY, seconds, per_kernel;

    shortest(p, &seconds, &per_kernel);
    for (int start = 0; start < STARTS; start++) {
        double from[FITTED], now;

        for (int j = 0; j < FITTED; j++) {
            from[j] = p->prior[j];
            theta[j] = start == 0 ? p->prior[j] : theta[j];
        }
        if (start == 1 && isfinite(seconds))
            from[CONSTANT] = log(of_shortest * seconds);
        if (start == 2 && isfinite(per_kernel))
            from[DISPATCH] = log(of_shortest * per_kernel);
        now = descend(p, from);
        if (!(now < least))
            continue;
        least = now;
        for (int j = 0; j < FITTED; j++)
            theta[j] = from[j];
    }
}

/* Groups for a fit without one network or one device (-1: none). */
static void leave_out(const struct problem *p, int devices, int network, int device)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct dlt_step_case *c = &p->cases[i];

        p->group[i] = c->network == network || c->device == device
                          ? -1
                          : (c->variant * p->networks + c->network) * devices + c->device;
    }
}

/* Residuals of all cases, also of those that were left out. */
static void fill_residuals(const struct problem *p, const double theta[FITTED], double *out,
                           int network, int device)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->cases[i].network == network || p->cases[i].device == device)
            out[i] = residual(&p->cases[i], theta);
}

struct spread {
    double network, networks; /* sum of squares of networks' means, and its degrees of freedom */
    double within, runs;      /* of the cases about those means */
    double device, devices;   /* of the devices' means, when left out */
};

/* Mean residual over the networks of one device, each counting once. */
static double device_mean(const struct problem *p, int devices, int device)
{
    double sum = 0, networks = 0;

    for (int g = device; g < p->groups; g += devices) {
        double cases, mean = group_mean(p, g, &cases);

        if (cases > 0) {
            sum += mean;
            networks++;
        }
    }
    return networks > 0 ? sum / networks : 0;
}

/* Splits residuals of networks left out into what a network and what a batch adds. */
static void split(const struct problem *p, int devices, struct spread *s)
{
    leave_out(p, devices, -1, -1);
    for (int d = 0; d < devices; d++) {
        /* Of one device alone, its common error is in the factor already. */
        double common = devices > 1 ? device_mean(p, devices, d) : 0;

        s->networks -= devices > 1;
        for (int g = d; g < p->groups; g += devices) {
            double cases, mean = group_mean(p, g, &cases);

            if (!(cases > 0))
                continue;
            s->network += (mean - common) * (mean - common);
            s->networks++;
            s->runs += cases - 1;
            for (size_t i = 0; i < p->count; i++)
                if (p->group[i] == g)
                    s->within += (p->residual[i] - mean) * (p->residual[i] - mean);
        }
    }
    s->networks = fmax(s->networks, 0);
}

static void leave_each_out(const struct problem *p, int networks, int devices, double *left,
                           struct spread *s)
{
    double theta[FITTED];

    for (int n = 0; n < networks; n++) {
        /* Without the only network nothing would be left to learn from: it tells of its batches. */
        leave_out(p, devices, networks > 1 ? n : -1, -1);
        fit(p, theta);
        fill_residuals(p, theta, left, n, -1);
    }
    for (size_t i = 0; i < p->count; i++)
        p->residual[i] = left[i];
    split(p, devices, s);
    if (networks == 1)
        s->network = s->networks = 0;
    for (int d = 0; d < devices && devices > 1; d++) {
        leave_out(p, devices, -1, d);
        fit(p, theta);
        fill_residuals(p, theta, left, -1, d);
    }
    for (size_t i = 0; i < p->count; i++)
        p->residual[i] = left[i];
    leave_out(p, devices, -1, -1);
    for (int d = 0; d < devices && devices > 1; d++) {
        double mean = device_mean(p, devices, d);

        s->device += mean * mean;
        s->devices++;
    }
}

/* Variances are pulled towards the defaults as if those had been seen on so many. */
static const double prior_networks = 3, prior_devices = 2;

static void fill_spread(const struct spread *s, int networks, int devices,
                        struct dlt_step_parameters *p)
{
    const double between_devices = 0.15; /* of a device that no run was seen on */
    const double factor = prior_sigma[FACTOR];
    double network = p->network_sigma * p->network_sigma;
    double run = p->run_sigma * p->run_sigma;

    run = (prior_networks * run + s->within) / (prior_networks + s->runs);
    network = (prior_networks * network + s->network) / (prior_networks + s->networks);
    p->network_sigma = sqrt(network);
    p->run_sigma = sqrt(run);
    /* What is left of the device's and software's common error once `networks` have voted on it
     * beside the factor's prior, and the difference between two devices of one kind, some 3 %. */
    p->bias_sigma = hypot(0.03, sqrt(network / (networks + network / (factor * factor))));
    if (devices > 1)
        p->bias_sigma = sqrt((prior_devices * between_devices * between_devices + s->device) /
                             (prior_devices + s->devices));
    p->networks = networks;
    p->devices = devices;
}

/* One more than the largest number at an offset into the cases. */
static int count_of(const struct dlt_step_case *cases, size_t count, size_t offset)
{
    int most = 0;

    for (size_t i = 0; i < count; i++) {
        int number = *(const int *)((const char *)&cases[i] + offset);

        most = number >= most ? number + 1 : most;
    }
    return most;
}

static void set_prior(struct problem *p, const struct dlt_step_parameters *defaults,
                      enum dlt_framework framework)
{
    /* A driver hands out new memory at some terabytes a second, give or take a factor of ten. */
    const double allocate_s = 2e-13;

    for (int j = 0; j < FITTED; j++)
        p->sigma[j] = prior_sigma[j];
    p->prior[FACTOR] = log(defaults->device_factor);
    p->prior[BACKWARD] = log(defaults->backward_factor);
    p->prior[DISPATCH] = log(defaults->dispatch_s);
    p->prior[CONSTANT] = log(defaults->constant_s);
    p->prior[CORNER] = log(defaults->corner - 1);
    p->prior[ALLOCATE] = log(allocate_s);
    if (framework == DLT_TENSORFLOW) {
        p->sigma[CONSTANT] = session_sigma;
        p->prior[CORNER] = log(session_corner - 1);
    }
}

void dlt_learn_steps(const struct dlt_step_case *cases, size_t count, enum dlt_framework framework,
                     bool host_computes, struct dlt_step_parameters *parameters)
{
    const struct dlt_step_parameters defaults = dlt_step_defaults(framework, host_computes);
    struct problem p = {.cases = cases, .count = count};
    struct spread spread = {0};
    double theta[FITTED], *left = calloc(count + 1, sizeof *left);
    int networks = count_of(cases, count, offsetof(struct dlt_step_case, network));
    int devices = count_of(cases, count, offsetof(struct dlt_step_case, device));
    int variants = count_of(cases, count, offsetof(struct dlt_step_case, variant));

    *parameters = defaults;
    p.group = calloc(count + 1, sizeof *p.group);
    p.residual = calloc(count + 1, sizeof *p.residual);
    p.slope = calloc(count + 1, FITTED * sizeof *p.slope);
    p.network_sigma = least_network_sigma;
    /* Twice: where networks turn out to differ widely, none of them is a stray for being far off.
     */
    for (int round = 0; round < 2 && count > 0 && left && p.group && p.residual && p.slope;
         round++) {
        p.networks = networks;
        p.groups = variants * networks * devices;
        set_prior(&p, &defaults, framework);
        spread = (struct spread){0};
        leave_each_out(&p, networks, devices, left, &spread);
        leave_out(&p, devices, -1, -1);
        fit(&p, theta);
        *parameters = parameters_of(theta);
        parameters->network_sigma = defaults.network_sigma;
        parameters->run_sigma = defaults.run_sigma;
        parameters->runs = (double)count;
        fill_spread(&spread, networks, devices, parameters);
        p.network_sigma =
            fmax(least_network_sigma, hypot(parameters->network_sigma, parameters->bias_sigma));
    }
    free(p.slope);
    free(p.residual);
    free(p.group);
    free(left);
}
