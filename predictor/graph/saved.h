/*
 * saved.h - what the forward pass keeps for backward.
 */
#ifndef DLT_GRAPH_SAVED_H
#define DLT_GRAPH_SAVED_H

#include "graph/graph.h"

/* Sets saved_by of every tensor's memory. Gradients have to be known. */
void dlt_graph_find_saved(struct dlt_graph *graph);

/* Bytes of a tensor. dtype: of each tensor (enum dlt_dtype); NULL: float32. Integers and booleans
 * have their own size whatever dtype says. */
double dlt_tensor_bytes(const struct dlt_graph *graph, int tensor, const unsigned char *dtype);

/* Bytes that a node keeps: masks, indices, copies of its inputs, what is inside, and the tensors
 * that it is the first to keep. */
double dlt_node_saved_bytes(const struct dlt_graph *graph, size_t node, const unsigned char *dtype);

#endif
