/*
 * scaling.h - fit predict/scaling.h's model to runs on several devices.
 */
#ifndef DLT_LEARN_SCALING_H
#define DLT_LEARN_SCALING_H

#include "learn/generic.h"
#include "predict/scaling.h"

/* One run on several devices beside its like on one. */
struct dlt_scaling_run {
    struct dlt_scaling_case where; /* network owned by the caller, one for each number below; ring
                                      NaN: not known */
    size_t network, family;        /* numbered from 0; a family of devices: every A100 */
    double one_s, seconds;         /* a step on one device, on all, with the same batch on each */
};

/* Mean absolute relative errors of step times on families left out in turn. */
struct dlt_scaling_scores {
    double copied;  /* median slowdown of the same network on other families */
    double generic; /* f_E alone */
    double ring;    /* the ring all-reduce alone; NaN where it is known for no run */
    double chosen;  /* all of the model, its ring share chosen without the family */
    double sigma;   /* of the log of `chosen`'s ratios, from their median absolute value;
                     * DLT_SIGMA_NODES where nothing could be held out */
};

/*
 * Fits all runs: the generic expression by differential evolution, then each network's departure
 * from it, then the share of the ring that does best on families left out (on networks left out
 * where all runs are of one family). settings: seed, threads, resamples, penalty; weight applies to
 * exponents. The result is the caller's to destroy.
 */
int dlt_scaling_fit(const struct dlt_scaling_run *run, size_t count,
                    const struct dlt_generic_settings *settings, struct dlt_scaling **scaling,
                    struct dlt_scaling_scores *scores, struct dlt_error *error);

#endif
