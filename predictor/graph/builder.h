/*
 * builder.h - what every loader builds a graph with.
 *
 * Inputs first, then nodes in an order in which each input is made before it is used. Each call
 * checks what it is given and infers shapes at once, so an error can name its place.
 */
#ifndef DLT_GRAPH_BUILDER_H
#define DLT_GRAPH_BUILDER_H

#include "graph/op.h"

/* The most that a graph may have. */
enum { DLT_GRAPH_NODES = 200000, DLT_GRAPH_TENSORS = 1000000, DLT_GRAPH_EDGES = 2000000 };

struct dlt_builder;

/* batch >= 1 is put before the shape of every input. seq: what it was built for, 0 if nothing. NULL
 * when out of memory. */
struct dlt_builder *dlt_builder_create(const char *name, int64_t batch, int64_t seq);
void dlt_builder_destroy(struct dlt_builder *builder);

/* Adds an input of the network: dim[0..rank-1] without the batch. Returns its tensor, or -1. */
int dlt_builder_input(struct dlt_builder *builder, const int64_t *dim, size_t rank,
                      enum dlt_tensor_type type, struct dlt_error *error);

/* The same with all dimensions as they are: what an input is that does not begin with the batch. */
int dlt_builder_input_shaped(struct dlt_builder *builder, const int64_t *dim, size_t rank,
                             enum dlt_tensor_type type, struct dlt_error *error);

struct dlt_builder_node {
    const struct dlt_op *op;
    const char *name;         /* copied */
    const int64_t *attribute; /* DLT_ATTRIBUTES of them, copied */
    const int *input;         /* tensors, copied */
    size_t input_count;
    bool frozen;
    int weights_of; /* node whose parameters it shares; -1: its own */
};
/* Adds a node. Returns its index, or -1. Its outputs are dlt_builder_output(0 ...). */
int dlt_builder_add(struct dlt_builder *builder, const struct dlt_builder_node *node,
                    struct dlt_error *error);

/* The k-th output tensor of a node; -1 if it has fewer. */
int dlt_builder_output(const struct dlt_builder *builder, int node, size_t k);
/* The node that makes a tensor; -1: an input. */
int dlt_builder_maker(const struct dlt_builder *builder, int tensor);
/* A tensor's shape and type; valid until the next addition. */
const struct dlt_tensor *dlt_builder_tensor(const struct dlt_builder *builder, int tensor);
/* A node that was added; valid until the next addition. */
const struct dlt_node *dlt_builder_node(const struct dlt_builder *builder, int node);
/* Of an operator that was added as several parts (graph/expand.h), given as its last node: the node
 * that part `part` has its parameters from; -1: it has none. */
int dlt_builder_twin(const struct dlt_builder *builder, int last, int part);
size_t dlt_builder_node_count(const struct dlt_builder *builder);
/* Elements of all parameters so far, shared ones once. */
double dlt_builder_parameters(const struct dlt_builder *builder);

/* Adds a sentence to the graph's notes: what whoever asks for the network should know of it. */
__attribute__((format(printf, 2, 3))) void dlt_builder_note(struct dlt_builder *builder,
                                                            const char *format, ...);

/* Works out which gradients training needs and what it keeps, and hands the graph over; the caller
 * destroys both. Fails for a graph without nodes. */
int dlt_builder_finish(struct dlt_builder *builder, struct dlt_graph **graph,
                       struct dlt_error *error);

#endif
