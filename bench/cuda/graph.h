/*
 * graph.h - several operations that cuDNN runs as one: its graph API.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A graph is operations on tensors of four dimensions. Tensors between operations exist in
 * registers only; the others are buffers, or numbers that are given by value. cuDNN is asked for an
 * engine that runs all of it in one go: it knows patterns, such as attention, and refuses other
 * graphs. A function that fails is remembered, those after it do nothing, and bench_graph_finish
 * tells it.
 */
#ifndef DLBENCH_CUDA_GRAPH_H
#define DLBENCH_CUDA_GRAPH_H

#include "cuda.h"

enum { BENCH_GRAPH_RANK = 4 };

typedef cudnnBackendDescriptor_t bench_graph_tensor;
struct bench_graph;

struct bench_graph_place {
    int64_t dim[BENCH_GRAPH_RANK], stride[BENCH_GRAPH_RANK]; /* in elements */
};

/* One operation on each element; see cudnnPointwiseMode_t. */
struct bench_graph_pointwise {
    cudnnPointwiseMode_t mode;
    cudnnDataType_t precision;         /* of the arithmetic */
    bench_graph_tensor x, other, mask; /* NULL where the mode has none */
    bench_graph_tensor y;
    int64_t axis; /* GEN_INDEX: which index */
};

/* The context keeps it until its reset. NULL after filling the error. */
struct bench_graph *bench_graph_create(struct bench_context *context, struct dlt_error *error);

/* Row-major order, and the same elements with the last two dimensions exchanged. */
struct bench_graph_place bench_graph_rows(int64_t a, int64_t b, int64_t c, int64_t d);
struct bench_graph_place bench_graph_transposed(const struct bench_graph_place *place);

/* A buffer's elements. */
bench_graph_tensor bench_graph_array(struct bench_graph *graph, const struct bench_buffer *buffer,
                                     const struct bench_graph_place *place);
bench_graph_tensor bench_graph_number(struct bench_graph *graph, float value);
/* What only the graph sees. */
bench_graph_tensor bench_graph_between(struct bench_graph *graph, cudnnDataType_t type,
                                       const struct bench_graph_place *place);

/* c = a b for each pair of the first two dimensions; sums in float32. */
void bench_graph_matmul(struct bench_graph *graph, bench_graph_tensor a, bench_graph_tensor b,
                        bench_graph_tensor c);
void bench_graph_point(struct bench_graph *graph, const struct bench_graph_pointwise *point);
/* Over the dimensions in which y has one element. */
void bench_graph_reduce(struct bench_graph *graph, cudnnReduceTensorOp_t how, bench_graph_tensor x,
                        bench_graph_tensor y);
/* The same elements in y's dimensions and strides. */
void bench_graph_reshape(struct bench_graph *graph, bench_graph_tensor x, bench_graph_tensor y);

/* The first engine of cuDNN's heuristics that takes the graph within the cap on workspace.
 * BENCH_UNSUPPORTED: there is none. */
int bench_graph_finish(struct bench_graph *graph, struct dlt_error *error);
/* A finished graph works on `buffer` from now on where it was described with `place`, which only
 * said of which type it is. */
void bench_graph_bind(struct bench_graph *graph, const struct bench_buffer *place,
                      const struct bench_buffer *buffer);
/* Runs a finished graph once, on the first copy of buffers that have their memory, and waits for
 * it: whether the engine that takes it also runs it. */
int bench_graph_try(struct bench_graph *graph, struct dlt_error *error);
/* Adds a finished graph to a pass, and notes the engine as its algorithm. */
int bench_graph_add(struct bench_layer *layer, enum dlt_pass pass, struct bench_graph *graph,
                    struct dlt_error *error);

#endif
