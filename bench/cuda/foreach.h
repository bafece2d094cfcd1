/*
 * foreach.h - an optimizer's step as torch.optim takes it where it is not fused: one arithmetic
 * operation after the other, each over all arrays (foreach), or for each array (for loop).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DLBENCH_CUDA_FOREACH_H
#define DLBENCH_CUDA_FOREACH_H

#include "cuda.h"

enum { BENCH_FOREACH_STEPS = 12 };

/* The optimizer's operations in order; 0: torch has no such optimizer. arrays, chunk: not set. */
int bench_foreach_list(const struct bench_training *training, double correct1, double correct2,
                       struct bench_foreach_arguments step[BENCH_FOREACH_STEPS]);
/* Arrays besides the state that hold what is between operations. */
int bench_foreach_extra(enum dlt_optimizer optimizer);

#endif
