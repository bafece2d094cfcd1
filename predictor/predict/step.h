/*
 * step.h - from units to one training step on one device.
 *
 * The device's time is the sum of the units' prices times a factor learned from whole networks; the
 * host's time is its kernels times the cost of dispatching one, and a constant. A GPU works while
 * the host queues the next kernels, so a step takes whichever is larger, softly where they are
 * alike:
 *     t = (device^p + host^p)^(1/p),    device = factor x (forward + backward factor x backward +
 *                                       update),    host = constant + dispatch x kernels
 * On a CPU the same cores dispatch and compute, so the two add (p = 1).
 */
#ifndef DLT_PREDICT_STEP_H
#define DLT_PREDICT_STEP_H

#include "predict/estimate.h"

/* Sums over a plan, before any step parameter. Seconds. */
struct dlt_step_sum {
    double forward_s, backward_s, update_s;
    double forward_kernels, backward_kernels, update_kernels;
    double kept_bytes;    /* for backward; 0 where nobody asks what allocating it costs */
    double sigma;         /* of the log of the sum, from the units' own errors */
    double extrapolated;  /* share of the time */
    enum dlt_basis basis; /* what most of the time rests on */
    bool host_computes;   /* a CPU */
    bool by_parameters;   /* the constant is as dlt_step_constant says, not the same for all */
    double gradient_bytes;
};

/*
 * Prices every unit of a plan on a target. unit: room for plan->unit_count + 1
 * results, the last of them the update's; or NULL.
 * Fails where a unit cannot be priced at all (no features of the device), naming its node.
 */
int dlt_step_price(const struct dlt_profile *profile, const struct dlt_target *target,
                   const struct dlt_plan *plan, bool forward_only, struct dlt_unit_times *unit,
                   struct dlt_step_sum *sum, struct dlt_error *error);

/* The pass that a unit's gradients need, one or both together; false: none. */
bool dlt_step_backward_pass(const struct dlt_unit *unit, enum dlt_pass *pass);

/* Weights and biases of configuration D of Simonyan and Zisserman (2014, arXiv 1409.1556), as
 * `dltime check vgg16` counts them: thirteen convolutions and three fully connected layers. */
enum { DLT_VGG16_PARAMETERS = 138357544 };

/*
 * Seconds of the host beside its kernels. A session of TensorFlow takes 40 ms more for VGG-16 than
 * its layers do, and 0.14 to 0.28 ms in all for a small layer, forward or with its update (Justus
 * et al. 2018, V100): no session costs 40 ms by itself. The seconds that parameters.constant_s
 * holds are those of VGG-16's DLT_VGG16_PARAMETERS, others' in proportion to their gradients'
 * bytes, and no less than the default's. That it is the parameters is a guess, from one network: 40
 * ms for 553 MB are what a bus of the third generation takes.
 */
double dlt_step_constant(const struct dlt_step_sum *sum,
                         const struct dlt_step_parameters *parameters);

/* Seconds. A step is micro_s + update_s: forward and backward of one micro-batch run through
 * without a stop in between; forward_s and backward_s are those passes alone. */
struct dlt_step_times {
    double forward_s, backward_s, micro_s, update_s;
    double allocate_s; /* more, in the forward pass of training, where all memory is new */
};
void dlt_step_times(const struct dlt_step_sum *sum, const struct dlt_step_parameters *parameters,
                    struct dlt_step_times *times);

/*
 * What a framework's step parameters are before any run was seen on a device. Dispatch: eager
 * PyTorch issues a kernel every 5 to 10 us, a compiled graph or plain C much faster. Spreads: sums
 * of measured operators are 8 to 10 % off end to end (NeuSight's runs, Lee et al. 2025).
 */
struct dlt_step_parameters dlt_step_defaults(enum dlt_framework framework, bool host_computes);

/* How far the logs of dispatch and constant may lie from those defaults: a kernel's cost is known
 * to a factor of two or three, a constant hardly at all. */
#define DLT_SIGMA_DISPATCH 0.8
#define DLT_SIGMA_CONSTANT 2.0

/*
 * The share of a step's time that the host rules, d ln t / d ln host: 0 behind a busy device, 1
 * where the device waits. *sigma: of the log of the host's time, before any run was seen.
 */
double dlt_step_host_share(const struct dlt_step_sum *sum,
                           const struct dlt_step_parameters *parameters, double *sigma);

#endif
