/*
 * steps.h - step parameters from whole-network runs.
 *
 * Each run of a network is a case: the sum of its units' prices beside the time that was seen. The
 * parameters minimise the squared error of the log of the time, each network weighing the same
 * however many batches of it were run, with weak log-normal priors so that few runs move them only
 * as far as they should. Spreads come from networks left out in turn.
 */
#ifndef DLT_LEARN_STEPS_H
#define DLT_LEARN_STEPS_H

#include "measure/measurements.h"
#include "predict/step.h"

struct dlt_step_case {
    struct dlt_step_sum sum;
    bool forward_only;
    double observed_s;
    int network; /* cases of one network share a number, from 0 up */
};

/* Fits from count cases; without any, dlt_step_defaults. */
void dlt_learn_steps(const struct dlt_step_case *cases, size_t count, enum dlt_framework framework,
                     bool host_computes, struct dlt_step_parameters *parameters);

#endif
