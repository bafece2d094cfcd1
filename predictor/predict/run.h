/*
 * run.h - from a step to a run: devices, epochs, and the rest of a job.
 */
#ifndef DLT_PREDICT_RUN_H
#define DLT_PREDICT_RUN_H

#include "predict/exchange.h"
#include "predict/step.h"

/* What a job is made of, on one device. */
struct dlt_run_parts {
    struct dlt_step_times whole; /* a batch */
    struct dlt_step_times last;  /* an epoch's last, smaller one: dlt_run_last_batch */
    double validate_last_s;      /* forward of a validation's last: dlt_run_last_validation */
    double backward_s;           /* the device's part of the backward pass */
    double gradient_bytes, parameter_bytes, parameters;
};

/* Samples of the last batch that a device takes in an epoch, of drop_last = false; 0: it is as
 * large as the others, or none is known to be. As PyTorch's DistributedSampler each device gets
 * an equal part, rounded up. */
int64_t dlt_run_last_batch(const struct dlt_estimate *estimate);
int64_t dlt_run_last_validation(const struct dlt_estimate *estimate);

/* Batches that a device takes in an epoch; NaN without samples. */
double dlt_run_batches(const struct dlt_estimate *estimate);

/* Fills step_s (a whole step), epoch_s, job_s, steps_per_epoch, epochs and terms of an estimate
 * whose training, devices, nodes, batch, scaling and bandwidths are set. NaN where the training
 * does not say enough. */
void dlt_run_fill(struct dlt_estimate *estimate, const struct dlt_run_parts *parts);

#endif
