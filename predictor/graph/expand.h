/*
 * expand.h - operators that stand for several: multi_head_attention and the like.
 *
 * The builder calls the row's expand function, which adds its parts one after the other; the last
 * one's output is the operator's. Layers that share its weights are expanded in the same way and
 * share them part by part.
 */
#ifndef DLT_GRAPH_EXPAND_H
#define DLT_GRAPH_EXPAND_H

#include "graph/builder.h"

struct dlt_expansion {
    struct dlt_builder *builder;
    const struct dlt_builder_node *node; /* what is expanded */
    int first;                           /* its first part's node */
};

/* Inputs and attributes as its function sees them. */
const struct dlt_tensor *dlt_expand_input(const struct dlt_expansion *expansion, size_t i);
const struct dlt_tensor *dlt_expand_tensor(const struct dlt_expansion *expansion, int tensor);

/*
 * Adds a part of operator op, named "NAME.part". attributes: the operator's own struct,
 * attributes_size bytes of it; NULL: the defaults. Returns its first output, or -1.
 */
int dlt_expand_add(struct dlt_expansion *expansion, const char *op, const char *part,
                   const void *attributes, size_t attributes_size, const int *input,
                   size_t input_count, struct dlt_error *error);

/* The functions of the rows. */
int dlt_expand_attention(struct dlt_expansion *expansion, struct dlt_error *error);
int dlt_expand_experts(struct dlt_expansion *expansion, struct dlt_error *error);

/* Activations that mixture_of_experts takes; operators' names. */
extern const char *const dlt_expert_activations[];

#endif
