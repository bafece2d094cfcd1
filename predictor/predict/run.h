/*
 * run.h - from a step to a run: devices, epochs, and the rest of a job.
 */
#ifndef DLT_PREDICT_RUN_H
#define DLT_PREDICT_RUN_H

#include "predict/step.h"

/* Seconds that a gradient all-reduce adds to a step: a ring moves 2 (n - 1) / n of the gradients
 * through the slowest link (Patarasuk and Yuan 2009), beside the backward pass as far as that
 * lasts. nodes > 1: the link between nodes, node_bandwidth, or 100 Gbit/s where that is 0; devices
 * on one node: the device's interconnect, 12 GB/s where it is unknown. */
double dlt_run_all_reduce(double gradient_bytes, double backward_s, int devices, int nodes,
                          const struct dlt_device *device, double node_bandwidth);

/* Fills step_s, epoch_s, job_s, steps_per_epoch, epochs and terms of an estimate whose training,
 * devices, nodes, batch, scaling and node_bandwidth are set. NaN where the training does not say
 * enough. */
void dlt_run_fill(struct dlt_estimate *estimate, const struct dlt_step_times *times,
                  double backward_s, double gradient_bytes, double parameters);

/* Seconds before the first step (imports, device context) where `setup` does not say. */
double dlt_run_default_setup(enum dlt_framework framework);

#endif
