/*
 * generic.h - the generic model of a distributed training's time (Kavarakuntla et al., IEEE Access
 * 2024, arXiv 2305.11665):
 *
 *     t(I, E) = t_I(I) f_E(E) + C,   t_I = sum over i of a_i I_i^p_i,   f_E = product of E_j^q_j.
 *
 * I are intrinsic factors (batch, samples, parameters: what is trained), E extrinsic ones (devices,
 * nodes: on what); C is what neither changes. With E counted from one device, on which every E_j is
 * 1, f_E = 1 there, and t_I is the time on one device. Exponents are found by differential
 * evolution, with a_i and C, which are linear, solved for at each of its points by non-negative
 * least squares of relative errors: constants come out of data without noise as they went in.
 */
#ifndef DLT_LEARN_GENERIC_H
#define DLT_LEARN_GENERIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dltime.h"

enum { DLT_FACTORS = 8 }; /* of either kind, at most */

/* Rows of factors and times, all > 0. */
struct dlt_generic_data {
    size_t rows, intrinsics, extrinsics;
    const double *intrinsic; /* rows x intrinsics */
    const double *extrinsic; /* rows x extrinsics */
    const double *seconds;   /* rows */
    const size_t *cluster;   /* rows that belong together (one network's), numbered from 0; the
                                bootstrap draws clusters. NULL: each row on its own */
    size_t clusters;
};

enum dlt_penalty { DLT_PENALTY_L1, DLT_PENALTY_L2 };

struct dlt_generic_settings {
    bool time_known; /* the one intrinsic factor is the time on one device: a = p = 1, C = 0 */
    enum dlt_penalty penalty;
    double weight; /* of the penalty on q and on p - 1; 0: none */
    uint64_t seed;
    int threads, resamples; /* of the bootstrap; 0 resamples: no ranges */
};

struct dlt_generic {
    size_t intrinsics, extrinsics;
    double a[DLT_FACTORS], p[DLT_FACTORS], q[DLT_FACTORS];
    double constant; /* seconds */
    double error;    /* mean absolute relative error on the rows that it was fitted to */
};

/* Fits *model; low and high (or NULL): the central 90 % of what resampled rows give, number by
 * number. Returns 0, or -1: fewer rows than constants, a factor that is not positive, no memory. */
int dlt_generic_fit(const struct dlt_generic_data *data,
                    const struct dlt_generic_settings *settings, struct dlt_generic *model,
                    struct dlt_generic *low, struct dlt_generic *high, struct dlt_error *error);

#endif
