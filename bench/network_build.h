/*
 * network_build.h - what the parts of a network under construction share.
 */
#ifndef DLBENCH_NETWORK_BUILD_H
#define DLBENCH_NETWORK_BUILD_H

#include "graph/op.h"
#include "lower/lower.h"
#include "network.h"
#include "shapes.h"

/* A layer and the gradients that it owes. */
struct bench_stage {
    struct bench_layer *layer;
    bool data_gradient, weight_gradient, loss;
    int node; /* -1: a loss */
    double forward_s, backward_s, update_s;
};

struct bench_network {
    const struct dlbench_backend *backend;
    struct bench_context *context;
    struct dlt_graph *graph;
    struct dlt_plan *plan;
    struct bench_tensor **tensor;    /* of each of the graph's tensors; NULL: whole numbers */
    struct bench_layer **node_layer; /* of each node: whose weights others may share */
    struct bench_stage *stage;
    size_t stage_count, stage_room;
    struct bench_training training;
    int node;        /* being built */
    double profiled; /* steps */
};

int bench_network_add_stage(struct bench_network *n, struct bench_layer *layer, bool data,
                            bool weight, struct dlt_error *error);
/* The shape; a single number is an array of one. */
struct bench_shape bench_network_shape(const struct bench_network *n, int tensor);
/* A tensor of the graph; whole numbers, masks and the like become random numbers. */
int bench_network_tensor(struct bench_network *n, int index, struct bench_tensor **tensor,
                         struct dlt_error *error);
/* The tensor in another shape; itself where it has that shape. */
int bench_network_reshape(struct bench_network *n, const struct bench_shape *from,
                          const struct bench_shape *to, bool gradient, struct bench_tensor **tensor,
                          struct dlt_error *error);
/* Row-major strides. */
void bench_strides(const struct bench_shape *shape, int64_t strides[BENCH_RANK]);
int bench_network_map(struct bench_network *n, const struct bench_map *map, bool gradient,
                      struct bench_tensor **tensor, struct dlt_error *error);
/* The dimensions in another order. */
int bench_network_permute(struct bench_network *n, const struct bench_shape *shape,
                          const int *order, bool gradient, struct bench_tensor **tensor,
                          struct dlt_error *error);
/* Repeats dimensions of size one. */
int bench_network_expand(struct bench_network *n, const struct bench_shape *from,
                         const struct bench_shape *to, bool gradient, struct bench_tensor **tensor,
                         struct dlt_error *error);

/* network_views.c: a node that looks at its input's elements elsewhere, or copies them there. */
int bench_network_add_view(struct bench_network *n, const struct dlt_node *node,
                           struct dlt_error *error);
/* network_units.c: a node that computes. */
int bench_network_add_unit(struct bench_network *n, const struct dlt_unit *unit,
                           struct dlt_error *error);

#endif
