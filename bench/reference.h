/*
 * reference.h - every operator in plain double-precision loops: what a backend's result is held
 * against. Slow; for small shapes.
 */
#ifndef DLBENCH_REFERENCE_H
#define DLBENCH_REFERENCE_H

#include "backend.h"
#include "shapes.h"

/* Arrays by role, in the canonical order of shapes.h; NULL where the record has none. */
struct bench_arrays {
    double *input[BENCH_OPERANDS], *input_gradient[BENCH_OPERANDS];
    double *weight[BENCH_WEIGHTS], *bias[BENCH_WEIGHTS], *output, *mask, *state[2];
    double *weight_gradient[BENCH_WEIGHTS], *bias_gradient[BENCH_WEIGHTS], *output_gradient;
};

/*
 * Computes the record's pass in place: forward writes output; backward passes read inputs,
 * parameters and output_gradient, and write the gradients that are not NULL; an update reads and
 * writes weight and state as the first step of an optimizer (torch.optim's defaults).
 * learning_rate is for updates. Returns false where it does not know the kind.
 */
bool bench_reference(const struct dlt_record *record, double learning_rate,
                     struct bench_arrays *arrays);

#endif
