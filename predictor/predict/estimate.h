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

/* What adds up to a job's time. */
enum dlt_term {
    DLT_TERM_COMPUTE,     /* forward and backward: of each step one batch of full size */
    DLT_TERM_ACCUMULATE,  /* of its further ones */
    DLT_TERM_LAST_BATCH,  /* of each epoch's last, smaller one */
    DLT_TERM_RECOMPUTE,   /* forward again in backward */
    DLT_TERM_UPDATE,      /* the optimizer's */
    DLT_TERM_COMMUNICATE, /* the gradients' all-reduce, where it shows */
    DLT_TERM_SHARD,       /* what sharding passes round beyond that */
    DLT_TERM_LOAD,        /* what the loader takes longer than the training */
    DLT_TERM_VALIDATE,
    DLT_TERM_CHECKPOINT,
    DLT_TERM_SETUP,
    DLT_TERMS
};
/* As `predict --json` names them. */
extern const char *const dlt_term_names[DLT_TERMS];

/* bytes/s of checkpoints where nobody says more. Between what one thread of torch.save made of 1
 * GiB to a local disk, 0.2 GB/s (PyTorch 1.13, two busy cores), and 1 GB/s and more that parallel
 * file systems take from one client. */
#define DLT_CHECKPOINT_BANDWIDTH 0.5e9

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
    double terms[DLT_TERMS];   /* seconds over the whole job; NaN: not applicable */
    struct dlt_memory memory;
    enum dlt_fits fits;
    enum dlt_basis basis;
    bool by_table;               /* a table of convolutions, not the sum of operators */
    double extrapolated;         /* share of the time */
    struct dlt_lowered *lowered; /* a reference; graph and plan are its own */
    const struct dlt_graph *graph;
    const struct dlt_plan *plan;
    struct dlt_unit_times *unit; /* plan->unit_count of them, and the update */
    double parameters;
    const struct dlt_scaling *scaling; /* while it is being made */
    double node_bandwidth;
    double checkpoint_bandwidth; /* the site's; 0: not said */
    double correction;           /* by which finished jobs made it longer; 1: none */
};

#endif
