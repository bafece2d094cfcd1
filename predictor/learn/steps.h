/*
 * steps.h - step parameters from whole-network runs.
 *
 * Each time that a run tells is a case: the sums of its units' prices beside what was seen. The log
 * of a time errs by a part that the device and its software have in common, a part of the network
 * and a part of the run,
 *     ln(seen / predicted) = device + network + run,
 * and the parameters are the most likely ones under it: within a network, batches tell finely how
 * time grows; between networks, each counts once however many batches of it were run. Weak
 * log-normal priors let few runs move them only as far as they should, and a network that the rest
 * contradicts (a name that meant another network) loses its vote. The variances come from
 * networks, and where there are several from devices, left out in turn.
 */
#ifndef DLT_LEARN_STEPS_H
#define DLT_LEARN_STEPS_H

#include "measure/measurements.h"
#include "predict/step.h"

/* What was timed. Passes of a training run are synchronised in between; STEP ran through. */
enum dlt_seen {
    DLT_SEEN_STEP,
    DLT_SEEN_INFERENCE, /* a forward pass that keeps nothing for backward */
    DLT_SEEN_FORWARD,   /* of a training step */
    DLT_SEEN_BACKWARD
};

struct dlt_step_case {
    struct dlt_step_sum sum;
    enum dlt_seen seen;
    double observed_s;
    int network; /* cases of one network share a number, from 0 up */
    int device;  /* the same of devices */
    int variant; /* precision and the like: another one is no other batch of the same */
};

/* What the model says for a case. */
double dlt_step_case_time(const struct dlt_step_case *c,
                          const struct dlt_step_parameters *parameters);

/* Fits from count cases; without any, dlt_step_defaults. */
void dlt_learn_steps(const struct dlt_step_case *cases, size_t count, enum dlt_framework framework,
                     bool host_computes, struct dlt_step_parameters *parameters);

#endif
