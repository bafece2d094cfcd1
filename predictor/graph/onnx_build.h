/*
 * onnx_build.h - private to the ONNX loader: from an ONNX graph to ours, for one batch.
 *
 * Nodes are walked in the file's order. Each value is a tensor of the graph that is being built, or
 * a constant, which is folded, or a parameter: an initializer of real numbers, or a part of one.
 *   onnx_value.c   values, attributes of nodes
 *   onnx_fold.c    arithmetic on constants
 *   onnx_move.c    what only rearranges: of constants, parameters and tensors alike
 *   onnx_add.c     adding nodes of our operators; who holds which parameter
 *   onnx_layer.c   layers with parameters (onnx_product.c, onnx_norm.c); onnx_plain.c: without
 *   onnx_fuse.c, onnx_fused.c   layers that were exported as many nodes: found, and added
 *   onnx_einsum.c  products that an equation describes
 *   onnx_pick.c    what picks or places elements by an index
 *   onnx_attention.c  attention and embeddings that are one node
 *   onnx_walk.c    nodes, functions, branches; onnx_inputs.c: the inputs
 */
#ifndef DLT_GRAPH_ONNX_BUILD_H
#define DLT_GRAPH_ONNX_BUILD_H

#include "graph/builder.h"
#include "graph/onnx_model.h"

enum dlt_onnx_kind { DLT_ONNX_NOTHING, DLT_ONNX_TENSOR, DLT_ONNX_CONSTANT, DLT_ONNX_PARAMETER };

struct dlt_onnx_value {
    enum dlt_onnx_kind kind;
    int tensor;   /* in the graph; of a constant or parameter once it was needed as one, else -1 */
    bool literal; /* as the file has it: written for the file's batch */
    const struct dlt_onnx_tensor *constant; /* shape, type, and elements where they are known */
    uint64_t key; /* of a parameter: which initializer, and which part of it */
};

/* What a node of a graph is to a layer that was exported as many; the last node of it tells. */
struct dlt_onnx_fusion {
    const char *layer;          /* our operator; NULL: a node by itself, or one inside a layer */
    bool absorbed;              /* runs inside a layer that is told at another node */
    int x, scale, bias, groups; /* values: what the layer reads; -1: none */
    const struct dlt_onnx_node *reduce; /* the node that says over which dimensions */
};

/* The names of one graph or of one call of a function. */
struct dlt_onnx_scope {
    struct dlt_onnx_scope *outer; /* of the caller */
    const struct dlt_onnx_names *names;
    struct dlt_onnx_value *value;
    const struct dlt_onnx_node *call; /* of a function: its attributes are referred to */
    int opset;
    int depth;
};

struct dlt_onnx_build {
    const struct dlt_onnx_model *model;
    struct dlt_builder *builder;
    struct dlt_onnx_arena arena; /* constants of this graph */
    struct dlt_onnx_scope *scope;
    const struct dlt_onnx_node *node; /* at which it is */
    size_t visited;                   /* nodes, those in functions once a call */
    int64_t batch, file_batch, seq; /* file_batch: what literal shapes were written for; 0: none */
    struct dlt_onnx_owner *owner;   /* of parameters: hash table */
    size_t owners, owner_room;
    double state;   /* elements of initializers that are statistics, not parameters */
    double unknown; /* operators that are not known, and the first of them */
    const char *unknown_op;
    double guesses; /* their outputs of which neither the standard nor the file tells the shape */
    const char *guessed_op;
    struct dlt_error *error;
};

/* All functions return 0, or -1 with build->error filled (no place in it: the walk adds the node),
 * unless it says otherwise. */

/* ---- values ---- */

/* The k-th input of the node; NULL where it is left out. */
struct dlt_onnx_value *dlt_onnx_input(struct dlt_onnx_build *b, size_t k);
struct dlt_onnx_value *dlt_onnx_value(struct dlt_onnx_build *b, int name);
/* Its shape and type: a constant's own, or a tensor's in *room. */
const struct dlt_onnx_tensor *dlt_onnx_shape(const struct dlt_onnx_build *b,
                                             const struct dlt_onnx_value *value,
                                             struct dlt_onnx_tensor *room);
bool dlt_onnx_is_parameter(const struct dlt_onnx_value *value); /* NULL: false */
bool dlt_onnx_is_constant(const struct dlt_onnx_value *value);  /* with elements that are known */
/* The tensor of a value; makes one of a constant or a parameter. -1: failed. */
int dlt_onnx_tensor(struct dlt_onnx_build *b, struct dlt_onnx_value *value);
/* Binds the node's k-th output. */
int dlt_onnx_bind(struct dlt_onnx_build *b, size_t k, int tensor);
int dlt_onnx_bind_value(struct dlt_onnx_build *b, size_t k, const struct dlt_onnx_value *value);

/* Whole numbers of a value: constants, or an attribute. false: not there or not known. */
struct dlt_onnx_ints {
    const int64_t *value;
    size_t count;
};
bool dlt_onnx_value_ints(const struct dlt_onnx_value *value, struct dlt_onnx_ints *ints);
bool dlt_onnx_value_real(const struct dlt_onnx_value *value, double *real);

/* ---- attributes of the node; NULL or the fallback where it has none of that name ---- */
const struct dlt_onnx_attribute *dlt_onnx_attribute(const struct dlt_onnx_build *b,
                                                    const char *name);
int64_t dlt_onnx_integer(const struct dlt_onnx_build *b, const char *name, int64_t fallback);
double dlt_onnx_number_of(const struct dlt_onnx_build *b, const char *name, double fallback);
const char *dlt_onnx_word(const struct dlt_onnx_build *b, const char *name, const char *fallback);
bool dlt_onnx_ints(const struct dlt_onnx_build *b, const char *name, struct dlt_onnx_ints *ints);
/* An attribute's list, or, where newer opsets moved it, the k-th input's elements: 1 found, 0 not
 * given, -1 not known when the graph is built. */
int dlt_onnx_list_or_input(struct dlt_onnx_build *b, const char *name, size_t k,
                           struct dlt_onnx_ints *ints);
/* 0..rank-1 from a dimension that may count from the end. */
int dlt_onnx_axis(struct dlt_onnx_build *b, int64_t axis, int rank, int *wrapped);

/* ---- adding nodes of our operators ---- */

struct dlt_onnx_layer {
    const struct dlt_op *op; /* NULL: dltime has none of that name */
    int64_t attribute[DLT_ATTRIBUTES];
    const struct dlt_onnx_value *weight, *bias; /* its parameters, to share them; NULL: none */
};
struct dlt_onnx_layer dlt_onnx_layer(const char *op);
void dlt_onnx_set(struct dlt_onnx_layer *layer, const char *attribute, int64_t value);
void dlt_onnx_set_at(struct dlt_onnx_layer *layer, const char *attribute, size_t index,
                     int64_t value);
void dlt_onnx_set_list(struct dlt_onnx_layer *layer, const char *attribute, const int64_t *value,
                       size_t count);
/* Adds it over tensors; returns its first output, or -1. */
int dlt_onnx_add(struct dlt_onnx_build *b, struct dlt_onnx_layer *layer, const int *input,
                 size_t inputs);
/* Operators that only the loader has; their output's shape is given. */
enum dlt_onnx_given {
    DLT_ONNX_GIVEN_CONSTANT,
    DLT_ONNX_GIVEN_RESHAPE,
    DLT_ONNX_GIVEN_PERMUTE,
    DLT_ONNX_GIVEN_SLICE,
    DLT_ONNX_GIVEN_EXPAND,
    DLT_ONNX_GIVEN_GATHER,
    DLT_ONNX_GIVEN_CONCAT,
    DLT_ONNX_GIVEN_PAD,
    DLT_ONNX_GIVEN_TILE,
    DLT_ONNX_GIVEN_MASK,    /* arithmetic with integers or booleans */
    DLT_ONNX_GIVEN_SCALE,   /* arithmetic of a tensor with one number */
    DLT_ONNX_GIVEN_PLAIN,   /* any elementwise function */
    DLT_ONNX_GIVEN_UNKNOWN, /* one that nobody knows: reads its inputs, writes its output */
    DLT_ONNX_GIVENS
};
int dlt_onnx_add_given(struct dlt_onnx_build *b, enum dlt_onnx_given which,
                       const struct dlt_onnx_tensor *shape, const int *input, size_t inputs);
/* The same of one real tensor, its shape as a list. */
int dlt_onnx_add_shaped(struct dlt_onnx_build *b, enum dlt_onnx_given which, int x, int rank,
                        const int64_t *dim);
/* Our type of an ONNX one. */
enum dlt_tensor_type dlt_onnx_our_type(int type);

/* The key of the parameter that an initializer is. */
uint64_t dlt_onnx_initializer_key(const struct dlt_onnx_tensor *t);
/* Remembers which node of ours holds a parameter. */
int dlt_onnx_own(struct dlt_onnx_build *b, uint64_t key, int node, int tensor);
/* -1: nobody yet. */
int dlt_onnx_owner(const struct dlt_onnx_build *b, uint64_t key, int *tensor);

/* ---- constants ---- */

/* A constant in the arena, its elements zero where count is small enough to be kept; NULL: failed.
 */
struct dlt_onnx_tensor *dlt_onnx_constant(struct dlt_onnx_build *b, int type, int rank,
                                          const int64_t *dim, bool known);
struct dlt_onnx_value dlt_onnx_of(const struct dlt_onnx_tensor *constant, bool literal);
double dlt_onnx_element(const struct dlt_onnx_tensor *t, int64_t i);
void dlt_onnx_set_element(struct dlt_onnx_tensor *t, int64_t i, double real, int64_t integer);

/* The shape of the node's k-th output, for operators that pick or place elements by an index.
 * false: it is none of those, or what its shape depends on is not known; *shape is as it was. */
bool dlt_onnx_picked_shape(struct dlt_onnx_build *b, size_t k, struct dlt_onnx_tensor *shape);

/* The k-th input as a tensor; it has to be there. */
int dlt_onnx_needed(struct dlt_onnx_build *b, size_t k);
/* The default one, or onnxruntime's. */
bool dlt_onnx_known_domain(const char *domain);

/* Each handles a node, if it is one of its own: 1 done, 0 not mine, -1 failed. */
int dlt_onnx_fold(struct dlt_onnx_build *b);
int dlt_onnx_move(struct dlt_onnx_build *b);
int dlt_onnx_layer_node(struct dlt_onnx_build *b);
int dlt_onnx_plain_node(struct dlt_onnx_build *b);
int dlt_onnx_copy_node(struct dlt_onnx_build *b);
int dlt_onnx_einsum(struct dlt_onnx_build *b);
int dlt_onnx_pick_node(struct dlt_onnx_build *b);
int dlt_onnx_attention_node(struct dlt_onnx_build *b);
int dlt_onnx_fused_node(struct dlt_onnx_build *b, const struct dlt_onnx_fusion *fusion);
/* Loop and Scan, whose bodies are walked as often as they run: up to DLT_ONNX_TRIPS times. */
enum { DLT_ONNX_TRIPS = 10000 };
int dlt_onnx_loop(struct dlt_onnx_build *b);
int dlt_onnx_scan(struct dlt_onnx_build *b);
/* Walks a graph within the graph, in the same names; b->node is another one afterwards. */
int dlt_onnx_walk_inner(struct dlt_onnx_build *b, const struct dlt_onnx_graph *graph);
/* A layer's output in the parts that several families need. */
int dlt_onnx_dense(struct dlt_onnx_build *b, int x, const struct dlt_onnx_value *weight,
                   const struct dlt_onnx_value *bias, int64_t out_features);

/* Looks for layers exported as many nodes. names: how many values are numbered; outputs: those that
 * the graph's own list of outputs does not have (a function's); fusion: one for each node, zeroed.
 */
int dlt_onnx_find_fusions(const struct dlt_onnx_graph *graph, size_t names, const int *outputs,
                          size_t output_count, struct dlt_onnx_fusion *fusion,
                          struct dlt_error *error);

/* Binds the graph's inputs: symbolic sizes become batch and seq. */
int dlt_onnx_bind_inputs(struct dlt_onnx_build *b);
/* A symbolic size; position: which dimension it is. 0: it needs a seq that was not said. */
int64_t dlt_onnx_symbol(const struct dlt_onnx_build *b, const char *param, int position);

/* Builds all of it. */
int dlt_onnx_walk(struct dlt_onnx_build *b);

#endif
