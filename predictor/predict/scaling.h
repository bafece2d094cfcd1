/*
 * scaling.h - what several devices make of a step's time, as `dltime scaling` learned it from runs.
 *
 *     t(n devices, N nodes) = t(1) x ring^w x f_E x g,
 *     f_E = e^q1 [n > 1] x e^q2 [n > 1, half precision] x n^q3 x N^q4
 *
 * f_E is the product of powers of Kavarakuntla et al. (arXiv 2305.11665), 1 on one device; ring the
 * slowdown that an analytic ring all-reduce gives (run.h), with the share w that validated best;
 * g what sets a network apart from others, for networks that were seen:
 * ln g = offset + doubling log2(n / 2) + half [half precision], shrunk towards 0 by its few runs.
 */
#ifndef DLT_PREDICT_SCALING_H
#define DLT_PREDICT_SCALING_H

#include "dltime.h"

enum dlt_scaling_factor {
    DLT_FACTOR_PARALLEL,
    DLT_FACTOR_HALF,
    DLT_FACTOR_DEVICES,
    DLT_FACTOR_NODES,
    DLT_SCALING_FACTORS
};
extern const char *const dlt_scaling_factor_names[DLT_SCALING_FACTORS];

/* Rings of a known device went wrong by about so much on networks measured elsewhere, without
 * anything learned from runs on several devices; more between nodes. */
#define DLT_SIGMA_DEVICES 0.15
#define DLT_SIGMA_NODES   0.25

struct dlt_scaling_network {
    char name[64];
    double offset, doubling, half;
    double runs;
};

/* Text of a source and its figures are kept with it, so that a file tells what it rests on. */
struct dlt_scaling {
    double exponent[DLT_SCALING_FACTORS];
    double low[DLT_SCALING_FACTORS], high[DLT_SCALING_FACTORS]; /* central 90 % of resamples */
    double ring_share;                                          /* w, 0 to 1 */
    double sigma;    /* of the log of the ratio, on device families left out */
    double cases;    /* runs on several devices that it rests on */
    double held_out; /* mean absolute relative error on families left out */
    struct dlt_scaling_network *network;
    size_t network_count;
};

/* Where and how a network runs. */
struct dlt_scaling_case {
    const char *network; /* its name, as the runs had it */
    int devices, nodes;
    bool half;   /* 16-bit products: amp, float16, bfloat16 */
    double ring; /* slowdown by the ring alone, at least 1 */
};

/* The values of f_E's factors for a case: all 1 on one device. */
void dlt_scaling_factors(const struct dlt_scaling_case *c, double factor[DLT_SCALING_FACTORS]);

/* The terms that multiply offset, doubling and half of a network; all 0 on one device. */
void dlt_scaling_terms(const struct dlt_scaling_case *c, double term[3]);

/* t(n, N) / t(1); 1 on one device. */
double dlt_scaling_slowdown(const struct dlt_scaling *scaling, const struct dlt_scaling_case *c);

/* Writes a scaling file (JSON), which dlt_scaling_load reads. source: what it was fitted to. */
int dlt_scaling_save(const struct dlt_scaling *scaling, const char *source, const char *path,
                     struct dlt_error *error);

#endif
