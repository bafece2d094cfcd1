/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/steps.h"

#include <math.h>
#include <stdlib.h>

/* Logs of device factor, dispatch and constant. */
enum { FITTED = 3 };

struct problem {
    const struct dlt_step_case *cases;
    size_t count;
    double *weight; /* of each case; 0: left out */
    double prior[FITTED];
};

/* How far the logs may lie from the priors: the factor is well known from operators, the host's
 * cost of a kernel to a factor of two or three, a constant hardly at all. */
static const double prior_sigma[FITTED] = {0.25, 0.8, 1.5};

static double case_time(const struct dlt_step_case *c, const double theta[FITTED])
{
    struct dlt_step_parameters p = {
        .device_factor = exp(theta[0]), .dispatch_s = exp(theta[1]), .constant_s = exp(theta[2])};
    struct dlt_step_times times;

    dlt_step_times(&c->sum, &p, &times);
    return c->forward_only ? times.forward_s : times.micro_s + times.update_s;
}

static double residual(const struct dlt_step_case *c, const double theta[FITTED])
{
    return log(c->observed_s / case_time(c, theta));
}

/* Error of one case that is expected however good the parameters are. */
static const double case_sigma = 0.1;

static double loss(const struct problem *p, const double theta[FITTED])
{
    double sum = 0;

    for (int j = 0; j < FITTED; j++) {
        double z = (theta[j] - p->prior[j]) / prior_sigma[j];

        sum += z * z;
    }
    for (size_t i = 0; i < p->count; i++) {
        double z = p->weight[i] > 0 ? residual(&p->cases[i], theta) / case_sigma : 0;

        sum += p->weight[i] * z * z;
    }
    return sum;
}

/* Solves the 3 x 3 system a x = b by Cramer's rule; a is positive definite by its priors. */
static void solve3(const double a[FITTED][FITTED], const double b[FITTED], double x[FITTED])
{
    double minor[FITTED][FITTED];
    double determinant = 0;

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int r = (i + 1) % 3, s = (i + 2) % 3, u = (j + 1) % 3, v = (j + 2) % 3;

            minor[i][j] = a[r][u] * a[s][v] - a[r][v] * a[s][u];
        }
    for (int j = 0; j < 3; j++)
        determinant += a[0][j] * minor[0][j];
    for (int j = 0; j < 3; j++) {
        x[j] = 0;
        for (int i = 0; i < 3; i++)
            x[j] += minor[i][j] * b[i] / determinant;
    }
}

/* Adds one case's share to the normal equations; derivatives by differences. */
static void add_case(const struct dlt_step_case *c, double weight, const double theta[FITTED],
                     double normal[FITTED][FITTED], double right[FITTED])
{
    const double step = 1e-4;
    double slope[FITTED];
    double r = residual(c, theta);
    double scale = weight / (case_sigma * case_sigma);

    for (int j = 0; j < FITTED; j++) {
        double moved[FITTED] = {theta[0], theta[1], theta[2]};

        moved[j] += step;
        slope[j] = (r - residual(c, moved)) / step; /* d log(prediction) / d theta */
    }
    for (int j = 0; j < FITTED; j++) {
        right[j] += scale * slope[j] * r;
        for (int k = 0; k < FITTED; k++)
            normal[j][k] += scale * slope[j] * slope[k];
    }
}

/* Levenberg-Marquardt; the loss never rises. */
static void fit(const struct problem *p, double theta[FITTED])
{
    double damping = 1e-3;
    double least;

    for (int j = 0; j < FITTED; j++)
        theta[j] = p->prior[j];
    least = loss(p, theta);
    for (int iteration = 0; iteration < 100 && damping < 1e8; iteration++) {
        double normal[FITTED][FITTED] = {{0}}, right[FITTED], move[FITTED], moved[FITTED], now;

        for (int j = 0; j < FITTED; j++) {
            double precision = 1 / (prior_sigma[j] * prior_sigma[j]);

            normal[j][j] = precision;
            right[j] = precision * (p->prior[j] - theta[j]);
        }
        for (size_t i = 0; i < p->count; i++)
            if (p->weight[i] > 0)
                add_case(&p->cases[i], p->weight[i], theta, normal, right);
        for (int j = 0; j < FITTED; j++)
            normal[j][j] *= 1 + damping;
        solve3((const double(*)[FITTED])normal, right, move);
        for (int j = 0; j < FITTED; j++)
            moved[j] = theta[j] + fmin(fmax(move[j], -2), 2);
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
            damping *= 10;
        }
    }
}

/* Weights so that each network counts once, and no network counts if it is `left_out`. */
static void weigh(struct problem *p, int networks, int left_out)
{
    for (int n = 0; n < networks; n++) {
        size_t cases = 0;

        for (size_t i = 0; i < p->count; i++)
            cases += p->cases[i].network == n;
        for (size_t i = 0; i < p->count; i++)
            if (p->cases[i].network == n)
                p->weight[i] = n == left_out ? 0 : 1 / (double)cases;
    }
}

struct spread {
    double network; /* sum over networks of the squared mean error when left out */
    double within;  /* sum of squares of the cases about their network's mean */
    double within_freedom;
};

static void add_network(const struct problem *p, int network, const double theta[FITTED],
                        struct spread *spread)
{
    double sum = 0, squares = 0, cases = 0, mean;

    for (size_t i = 0; i < p->count; i++) {
        if (p->cases[i].network == network) {
            double r = residual(&p->cases[i], theta);

            sum += r;
            squares += r * r;
            cases++;
        }
    }
    mean = sum / cases;
    spread->network += mean * mean;
    spread->within += squares - cases * mean * mean;
    spread->within_freedom += cases - 1;
}

/* Variances are pulled towards the defaults as if those had been seen on so many networks. */
static const double prior_networks = 3;

static void fill_spread(const struct spread *s, int networks, struct dlt_step_parameters *p)
{
    double network = p->network_sigma * p->network_sigma;
    double run = p->run_sigma * p->run_sigma;

    network = (prior_networks * network + s->network) / (prior_networks + networks);
    run = (prior_networks * run + s->within) / (prior_networks + s->within_freedom);
    p->network_sigma = sqrt(network);
    p->run_sigma = sqrt(run);
    /* What is left of the device's and software's common error once `networks` have voted on it,
     * and the difference between two devices of one kind, some 3 %. */
    p->bias_sigma = hypot(0.03, sqrt(network / (networks + 1)));
    p->networks = networks;
}

void dlt_learn_steps(const struct dlt_step_case *cases, size_t count, enum dlt_framework framework,
                     bool host_computes, struct dlt_step_parameters *parameters)
{
    struct problem p = {.cases = cases, .count = count};
    struct spread spread = {0};
    double theta[FITTED];
    int networks = 0;

    *parameters = dlt_step_defaults(framework, host_computes);
    p.weight = calloc(count + 1, sizeof *p.weight);
    if (count == 0 || !p.weight) {
        free(p.weight);
        return;
    }
    p.prior[0] = log(parameters->device_factor);
    p.prior[1] = log(parameters->dispatch_s);
    p.prior[2] = log(parameters->constant_s);
    for (size_t i = 0; i < count; i++)
        if (cases[i].network >= networks)
            networks = cases[i].network + 1;
    for (int n = 0; n < networks; n++) {
        weigh(&p, networks, n);
        fit(&p, theta);
        add_network(&p, n, theta, &spread);
    }
    weigh(&p, networks, -1);
    fit(&p, theta);
    parameters->device_factor = exp(theta[0]);
    parameters->dispatch_s = exp(theta[1]);
    parameters->constant_s = exp(theta[2]);
    parameters->runs = (double)count;
    fill_spread(&spread, networks, parameters);
    free(p.weight);
}
