/*
 * onnx_pattern.h - private to the ONNX loader: what layers look like that exporters write as many
 * nodes. Each is recognised by its shape as a graph, which no other computation shares; constants
 * are not looked at.
 */
#ifndef DLT_GRAPH_ONNX_PATTERN_H
#define DLT_GRAPH_ONNX_PATTERN_H

#include "graph/onnx_build.h"

/* The graph from the sides of its values. */
struct dlt_onnx_map {
    const struct dlt_onnx_graph *graph;
    int *maker;     /* node of each name; -1 */
    int *first_use; /* node that reads it first; -1 */
    int *uses;      /* how often it is read, by this graph's nodes, graphs within and outputs */
    const struct dlt_onnx_tensor **weight; /* the initializer of each name, if it is one */
};

enum { DLT_ONNX_MEMBERS = 16 };

/* A layer that was found, and the nodes of it. */
struct dlt_onnx_found {
    const struct dlt_onnx_node *member[DLT_ONNX_MEMBERS];
    size_t members;
    struct dlt_onnx_fusion fusion;
    const struct dlt_onnx_node *last;
};

/* Whether a node is where a rule finds its layer. Zeroed but for fusion's values, which are -1. */
bool dlt_onnx_match(const struct dlt_onnx_map *map, const struct dlt_onnx_node *node, size_t rule,
                    struct dlt_onnx_found *found);
size_t dlt_onnx_rules(void);

#endif
