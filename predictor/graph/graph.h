/*
 * graph.h - a network as operators and tensors, with every shape known.
 *
 * Shapes include the batch as their first dimension; a graph is built for one batch size and one
 * sequence length. Nodes stand in an order in which every input is made before it is used.
 */
#ifndef DLT_GRAPH_GRAPH_H
#define DLT_GRAPH_GRAPH_H

#include "graph/record.h"

enum { DLT_RANK = 8, DLT_ATTRIBUTES = 24, DLT_NOTES = 16 };

/* What a tensor holds. Integer tensors (token ids) carry no gradient. */
enum dlt_tensor_type { DLT_TENSOR_FLOAT, DLT_TENSOR_INT64, DLT_TENSOR_BOOL };

struct dlt_tensor {
    int rank;
    int64_t dim[DLT_RANK];
    enum dlt_tensor_type type;
    int node;    /* index of the node that makes it; -1: an input of the network */
    int storage; /* the tensor whose memory it shares (a view's input); itself if it has its own */
    int consumers; /* uses by nodes */
    int saved_by;  /* the first node that keeps this memory for backward; -1: none */
    bool gradient; /* training computes its gradient: a trainable parameter lies before it */
};

struct dlt_op; /* graph/op.h: one row of the operator table */

struct dlt_node {
    const struct dlt_op *op;
    char *name;                        /* the path that errors and tables show: "layer3[1].conv2" */
    int64_t attribute[DLT_ATTRIBUTES]; /* by the operator row's own order; lists take several */
    int *input;                        /* tensor indices */
    size_t input_count;
    int output; /* first output tensor; the others follow it */
    size_t output_count;
    const struct dlt_op *whole; /* the operator that it is a part of; op itself mostly */
    int first;                  /* ... and the first part's node; itself mostly */
    bool trainable;
    int weights_of;       /* index of the node whose parameters these are; itself if it owns them */
    bool data_gradient;   /* training computes the gradient of one of its inputs at least */
    bool weight_gradient; /* ... and of its parameters: it has some and is not frozen */
};

struct dlt_graph {
    char *name;
    int64_t batch, seq; /* what it was built for; seq 0: no symbolic length in it */
    struct dlt_tensor *tensor;
    size_t tensor_count;
    struct dlt_node *node;
    size_t node_count;
    int *input; /* tensor indices of the network's inputs */
    size_t input_count;
    int *output; /* tensors that nothing consumes */
    size_t output_count;
    char *note[DLT_NOTES]; /* what its loader could not take at its word, a sentence each */
    size_t note_count;
};

void dlt_graph_destroy(struct dlt_graph *graph);

/* Whether training needs the gradients of both operands of a node that multiplies two tensors: its
 * backward pass is two products, as a layer's with weights is. */
bool dlt_node_both_gradients(const struct dlt_graph *graph, size_t node);

/* Elements of a tensor. Shapes are checked when a graph is built, so the product fits. */
double dlt_tensor_elements(const struct dlt_tensor *tensor);

/* What one node holds and does, for the whole batch. */
struct dlt_node_counts {
    double parameters;     /* elements that the node owns; shared ones count at their owner only */
    double tensors;        /* parameter tensors among them (weight, bias, ...) */
    double buffers;        /* elements of state that is not trained (running statistics) */
    double macs;           /* forward */
    double flops;          /* forward */
    double forward_bytes;  /* compulsory traffic at float32 */
    double backward_bytes; /* the same, all gradients */
    double saved; /* kept for backward, in float32 elements (shared storage counted once) */
};
void dlt_node_count(const struct dlt_graph *graph, size_t node, bool training,
                    struct dlt_node_counts *counts);

/* Totals over the network; trainable: parameters that are not frozen. */
struct dlt_graph_counts {
    struct dlt_node_counts total;
    double trainable;
};
void dlt_graph_count(const struct dlt_graph *graph, bool training, struct dlt_graph_counts *counts);

#endif
