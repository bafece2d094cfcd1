/*
 * attention.h - attention in one kernel each way, where cuDNN has an engine for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DLBENCH_CUDA_ATTENTION_H
#define DLBENCH_CUDA_ATTENTION_H

#include "cuda.h"

struct bench_graph;

/* What backward works on besides the layer's inputs and output; until backward is built, buffers
 * that only say of which type they are. */
struct bench_fused_backward {
    const struct bench_buffer *gradient;   /* of the output */
    const struct bench_buffer *sums;       /* float32, [batch][heads][queries] */
    const struct bench_buffer *query_sums; /* float32, of the queries' shape */
    const struct bench_buffer *target[3];  /* gradients of queries, keys and values */
};

/* Graphs that are ready to be added to a pass. statistics: what backward needs of forward's scores,
 * float32, [batch][heads][queries]. BENCH_UNSUPPORTED: no engine takes them, as of float32, on
 * devices before Ampere, or where the head size is no multiple of 8. */
int bench_fused_forward(struct bench_layer *layer, const struct bench_buffer *statistics,
                        struct bench_graph **graph, struct dlt_error *error);
int bench_fused_backward(struct bench_layer *layer, const struct bench_buffer *statistics,
                         const struct bench_fused_backward *arrays, struct bench_graph **graph,
                         struct dlt_error *error);

#endif
