/*
 * estimate.h - unit -> step -> run -> spread: what is inside a struct dlt_estimate.
 */
#ifndef DLT_PREDICT_ESTIMATE_H
#define DLT_PREDICT_ESTIMATE_H

#include "predict/prepare.h"
#include "predict/profile.h"

/* Times of one unit, for --ops. */
struct dlt_unit_times {
    double forward_s, backward_s, update_s, sigma;
    double extrapolated;
    enum dlt_basis basis;
};

/* Terms of one job, seconds over the whole of it; NaN: not applicable. */
struct dlt_terms {
    double compute, recompute, update, communicate, load, validate, checkpoint, setup;
};

struct dlt_estimate {
    char *model;
    struct dlt_device device;
    struct dlt_software software;
    struct dlt_training training;
    int devices, nodes;
    bool forward_only;
    int64_t batch; /* of one device */
    double step_s, epoch_s, job_s;
    double forward_s, backward_s; /* passes of one micro-batch alone; NaN: there is none */
    double allocate_s;            /* more in forward_s where each step allocates its memory anew */
    double steps_per_epoch, epochs;
    double step_sigma;         /* of the log of the step time: bias + network + run */
    double job_sigma;          /* the same for the job */
    double degrees_of_freedom; /* of Student's t */
    struct dlt_terms terms;
    struct dlt_memory memory;
    enum dlt_fits fits;
    enum dlt_basis basis;
    double extrapolated;         /* share of the time */
    struct dlt_lowered *lowered; /* a reference; graph and plan are its own */
    const struct dlt_graph *graph;
    const struct dlt_plan *plan;
    struct dlt_unit_times *unit; /* plan->unit_count of them, and the update */
    double parameters;
    const struct dlt_scaling *scaling; /* while it is being made */
    double node_bandwidth;
    double correction; /* by which finished jobs made it longer; 1: none */
};

#endif
