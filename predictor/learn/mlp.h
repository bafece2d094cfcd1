/*
 * mlp.h - trains a struct dlt_network (predict/network.h): smooth-L1 loss, AdamW, warm-up and
 * cosine.
 */
#ifndef DLT_LEARN_MLP_H
#define DLT_LEARN_MLP_H

#include <stdbool.h>
#include <stdint.h>

#include "predict/network.h"

struct dlt_mlp_settings {
    int epochs;
    int batch;
    double rate;    /* largest learning rate */
    double warm_up; /* share of the steps */
    double decay;   /* decoupled, on every parameter */
    double beta;    /* smooth L1: quadratic below, linear above */
    bool begun;     /* parameters hold what to begin from, and decay goes towards that */
    uint64_t seed, stream;
};

/*
 * x: rows x width[0], y: rows, weight: rows or NULL. He initialisation, the last layer scaled by
 * 0.3, unless `begun`. parameters: dlt_network_parameters() of them, the result.
 * Returns 0, or -1 out of memory. Runs on one thread; deterministic.
 */
int dlt_mlp_train(const struct dlt_network *network, const float *x, const float *y,
                  const float *weight, size_t rows, const struct dlt_mlp_settings *settings,
                  float *parameters);

/* Outputs for rows inputs, many at once. Returns -1 out of memory. */
int dlt_mlp_run(const struct dlt_network *network, const float *parameters, const float *x,
                size_t rows, float *y);

/* Mean loss over rows and its gradient by every parameter: what a test compares with differences.
 * Returns -1 out of memory. */
int dlt_mlp_gradient(const struct dlt_network *network, const float *parameters, const float *x,
                     const float *y, const float *weight, size_t rows, double beta, double *loss,
                     float *gradient);

/* One step of AdamW (Loshchilov and Hutter 2019), beta 0.9 and 0.999, epsilon 1e-8; step counts
 * from 1. */
void dlt_adamw(float *parameters, float *first, float *second, const float *gradient, size_t count,
               double rate, double decay, uint64_t step);

#endif
