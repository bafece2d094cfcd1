/*
 * lower.h - from a graph to priced units.
 *
 * A unit is one or several nodes that a framework runs as one thing. It carries the canonical
 * record of its forward pass with the storage dtype and math mode that the precision policy gives
 * it, which gradients are needed, and the nodes it covers. Rules are a table for each framework.
 */
#ifndef DLT_LOWER_LOWER_H
#define DLT_LOWER_LOWER_H

#include "graph/model.h"

struct dlt_unit {
    struct dlt_record record; /* pass is DLT_FORWARD; the pricing side sets the others */
    bool data_gradient;       /* false for the first layer, and below the lowest trainable one */
    bool weight_gradient;     /* false where frozen or without parameters */
    bool both_gradients;      /* of both operands of a product of two tensors: a product for each */
    const char *name;         /* the main node's, owned by the graph; or "casts", "unscale" */
    int node;                 /* the unit's main node; -1: none (casts of amp, unscaling) */
    const int *covers; /* nodes that run inside it, main node included, in the graph's order */
    int cover_count;
    int same_as; /* an earlier unit with equal record and gradients; -1: the first of its kind */
    double forward_kernels; /* launches by the host, for dispatch */
    double backward_kernels;
    double scattered; /* elements that forward reads across their memory, and of the tensor that */
    double scattered_operand; /* they lie in; see lower/scatter.h */
};

struct dlt_plan {
    struct dlt_unit *unit;
    size_t unit_count;
    struct dlt_record update; /* kind optimizer_update, pass DLT_UPDATE; kind NULL: no optimizer */
    double update_kernels;
    double gradient_bytes; /* what an all-reduce moves per device and step */
    enum dlt_framework framework;
    int *cover; /* what the units' covers point into */
};

/*
 * Lowers a graph for a training (training = true) or an inference pass.
 * threads: CPU threads written into the records; 0 for a GPU.
 * The caller frees the plan with dlt_plan_destroy.
 */
int dlt_lower(const struct dlt_graph *graph, const struct dlt_training *settings, bool training,
              int threads, struct dlt_plan **plan, struct dlt_error *error);
void dlt_plan_destroy(struct dlt_plan *plan);

/*
 * The storage type that a precision gives each tensor of a graph: one enum dlt_dtype a tensor, in
 * dtype[0 ... tensor_count - 1]. Where one number for the whole graph is enough (parameters), pure
 * half precisions give half and all others float32.
 *   float16, bfloat16: everything. tf32: float32, with tf32 arithmetic in matrix products.
 *   amp-*: half out of convolutions and matrix products; float32 out of layer_norm and softmax; the
 *   rest takes its inputs' (PyTorch's autocast op reference: batch_norm is on neither of its lists,
 *   it reads and writes half and keeps its statistics in float32).
 */
void dlt_lower_dtypes(const struct dlt_graph *graph, enum dlt_precision precision,
                      unsigned char *dtype);
enum dlt_dtype dlt_lower_parameter_dtype(enum dlt_precision precision);

/* Whether matrix products take 16-bit numbers. */
bool dlt_lower_is_half(enum dlt_precision precision);

/* Kernels that one step of an optimizer launches (PyTorch's implementations). */
double dlt_update_kernels(const struct dlt_record *update);

/*
 * Bytes on one device. total is the peak of the whole step: activations fall while gradients grow,
 * so the two need not be at their largest together, and total is less than the sum.
 * training: a step, else the forward pass alone. threads: CPU threads, 0 for a GPU, whose driver
 * holds memory of its own.
 */
struct dlt_memory {
    double parameters;  /* and buffers, half copies of amp, what sharding gathers */
    double gradients;   /* of parameters */
    double optimizer;   /* its state */
    double activations; /* what is kept for backward, and gradients of activations; the inputs */
    double workspace;   /* of convolutions, and buckets of the all-reduce */
    double context;     /* the framework and its libraries */
    double total;
};
void dlt_plan_memory(const struct dlt_graph *graph, const struct dlt_training *settings,
                     bool training, int devices, int threads, struct dlt_memory *memory);

#endif
