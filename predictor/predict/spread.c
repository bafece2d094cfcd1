/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/spread.h"

#include <math.h>

#include "predict/scaling.h"

/* Degrees of freedom of a sum of variances, each known from so many cases (Satterthwaite 1946). */
static double freedom_of(const double variance[], const double freedom[], size_t count)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < count; i++) {
        sum += variance[i];
        squares += variance[i] * variance[i] / freedom[i];
    }
    return squares > 0 ? fmax(sum * sum / squares, 4) : 4;
}

/* What is not known of the host, where it rules the time: its prior, to which each network adds
 * what it tells, were it ruled as much. Never more than one network's variance over their number,
 * as of any parameter in a line through so many points. */
static double host_variance(const struct dlt_step_sum *sum, const struct dlt_step_parameters *p)
{
    double sigma, share = dlt_step_host_share(sum, p, &sigma);
    double prior = share * sigma * share * sigma;

    if (!(prior > 0) || !(p->networks > 0))
        return prior;
    return 1 / (1 / prior + p->networks / (p->network_sigma * p->network_sigma));
}

void dlt_spread_fill(struct dlt_estimate *e, const struct dlt_step_sum *sum,
                     const struct dlt_step_parameters *p)
{
    /* Set-up and checkpoints depend on the site's file system more than on anything known here. */
    const double rest_sigma = 0.5;
    /* Units' own spreads come from many measurements; what defaults stand for, from a few cases. */
    const double many = 30, few = 4;
    const double host = host_variance(sum, p);
    const double variance[] = {p->bias_sigma * p->bias_sigma + host,
                               p->network_sigma * p->network_sigma, p->run_sigma * p->run_sigma,
                               sum->sigma * sum->sigma};
    const double freedom[] = {few + (p->devices > 1 ? p->devices : p->networks) - 1,
                              few + p->networks - 1, few + p->runs - 1, many};
    const double ring_sigma = e->nodes > 1 ? DLT_SIGMA_NODES : DLT_SIGMA_DEVICES;
    double rest = e->terms[DLT_TERM_SETUP], share;

    e->step_sigma = sqrt(variance[0] + variance[1] + variance[2] + variance[3]);
    if (e->devices > 1)
        e->step_sigma = hypot(e->step_sigma, e->scaling ? e->scaling->sigma : ring_sigma);
    if (!isnan(e->terms[DLT_TERM_CHECKPOINT]))
        rest += e->terms[DLT_TERM_CHECKPOINT];
    share = e->job_s > 0 ? rest / e->job_s : 0;
    e->job_sigma = hypot((1 - share) * e->step_sigma, share * rest_sigma);
    e->degrees_of_freedom =
        p->networks > 0 ? freedom_of(variance, freedom, sizeof freedom / sizeof *freedom) : 4;
}
