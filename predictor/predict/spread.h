/*
 * spread.h - how far a time may be off: the spread of its log, and how well that is known.
 */
#ifndef DLT_PREDICT_SPREAD_H
#define DLT_PREDICT_SPREAD_H

#include "predict/step.h"

/*
 * Fills step_sigma, job_sigma and degrees_of_freedom of an estimate whose times are set. The log of
 * a time errs by a part of the device and its software, one of the network, one of the run (step.h)
 * and one of its units' prices. The degrees of freedom are those of the sum of variances
 * (Satterthwaite 1946).
 */
void dlt_spread_fill(struct dlt_estimate *estimate, const struct dlt_step_sum *sum,
                     const struct dlt_step_parameters *parameters);

#endif
