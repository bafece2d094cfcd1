/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/saved.h"

#include "graph/op.h"

/* A parameter is there anyway. */
static bool is_parameter(const struct dlt_graph *g, int tensor)
{
    int maker = g->tensor[g->tensor[tensor].storage].node;

    return maker >= 0 && g->node[maker].op->class == DLT_OP_PARAMETER;
}

static void save(struct dlt_graph *g, int tensor, size_t node)
{
    struct dlt_tensor *memory = &g->tensor[g->tensor[tensor].storage];

    if (memory->saved_by < 0 && !is_parameter(g, tensor))
        memory->saved_by = (int)node;
}

/* Whether the gradient of another input than k is needed. */
static bool others_need(const struct dlt_graph *g, const struct dlt_node *n, size_t k)
{
    for (size_t i = 0; i < n->input_count; i++)
        if (i != k && g->tensor[n->input[i]].gradient)
            return true;
    return false;
}

/* Whether input k is kept. */
static bool keeps_input(const struct dlt_graph *g, const struct dlt_node *n, size_t k)
{
    unsigned saves = n->op->saves;
    bool product = n->op->class == DLT_OP_CONVOLUTION || n->op->class == DLT_OP_MATMUL;

    /* A layer with weights multiplies its input only for the weights' gradient. */
    if (saves & DLT_SAVE_INPUT && k == 0 && (n->weight_gradient || !product))
        return true;
    if (saves & DLT_SAVE_OTHERS && others_need(g, n, k))
        return true;
    if (saves & DLT_SAVE_DIVISOR && (k == 1 || g->tensor[n->input[1]].gradient))
        return true;
    return saves & DLT_SAVE_INPUTS || (saves & DLT_SAVE_SECOND && k == 1);
}

static bool keeps_output(const struct dlt_graph *g, const struct dlt_node *n)
{
    return n->op->saves & DLT_SAVE_OUTPUT ||
           (n->op->saves & DLT_SAVE_POWER && n->input_count > 1 && g->tensor[n->input[1]].gradient);
}

/* Whether a product of two tensors works on a copy of input k, and keeps that: a part of a larger
 * tensor, whose rows do not follow each other. torch.matmul makes one where it folds the dimensions
 * before the last two, multi_head_attention where it splits into heads. */
static bool copies_input(const struct dlt_graph *g, const struct dlt_node *n, size_t k)
{
    const struct dlt_tensor *t = &g->tensor[n->input[k]];

    return n->op->class == DLT_OP_MATMUL && n->input_count == 2 && t->rank > 2 &&
           dlt_tensor_elements(t) < dlt_tensor_elements(&g->tensor[t->storage]);
}

void dlt_graph_find_saved(struct dlt_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++) {
        const struct dlt_node *n = &g->node[i];

        if (!n->data_gradient && !n->weight_gradient)
            continue;
        if (keeps_output(g, n))
            save(g, n->output, i);
        for (size_t k = 0; k < n->input_count; k++)
            if (keeps_input(g, n, k) && !copies_input(g, n, k))
                save(g, n->input[k], i);
    }
}

static double element_bytes(const struct dlt_graph *g, int tensor, const unsigned char *dtype)
{
    switch (g->tensor[tensor].type) {
    case DLT_TENSOR_INT64:
        return 8;
    case DLT_TENSOR_BOOL:
        return 1;
    default:
        return dtype ? (double)dlt_dtype_size((enum dlt_dtype)dtype[tensor]) : 4;
    }
}

double dlt_tensor_bytes(const struct dlt_graph *g, int tensor, const unsigned char *dtype)
{
    return element_bytes(g, tensor, dtype) * dlt_tensor_elements(&g->tensor[tensor]);
}

/* Bytes that a node keeps and that are no tensor of the graph: masks, indices, copies of its
 * inputs, what is inside. */
static double kept_bytes(const struct dlt_graph *g, size_t node, const unsigned char *dtype)
{
    const struct dlt_node *n = &g->node[node];
    double output = dlt_tensor_elements(&g->tensor[n->output]);
    struct dlt_op_result result;
    double bytes;

    if (!n->data_gradient && !n->weight_gradient)
        return 0;
    dlt_node_infer(g, node, true, &result);
    bytes = result.inside * element_bytes(g, n->output, dtype);
    if (n->op->saves & DLT_SAVE_MASK && result.record.kind)
        bytes += output;
    if (n->op->saves & DLT_SAVE_INDICES)
        bytes += 8 * output;
    for (size_t k = 0; k < n->input_count; k++)
        if (copies_input(g, n, k) && keeps_input(g, n, k))
            bytes += dlt_tensor_bytes(g, n->input[k], dtype);
    return bytes;
}

double dlt_node_saved_bytes(const struct dlt_graph *g, size_t node, const unsigned char *dtype)
{
    const struct dlt_node *n = &g->node[node];
    double bytes = kept_bytes(g, node, dtype);

    for (size_t i = 0; i < n->input_count; i++) {
        int memory = g->tensor[n->input[i]].storage;
        bool again = false;

        for (size_t k = 0; k < i && !again; k++)
            again = g->tensor[n->input[k]].storage == memory;
        if (g->tensor[memory].saved_by == (int)node && !again)
            bytes += dlt_tensor_bytes(g, memory, dtype);
    }
    /* Only an operator that is no view saves its output, so that is memory of its own. */
    if (g->tensor[n->output].storage == n->output && g->tensor[n->output].saved_by == (int)node)
        bytes += dlt_tensor_bytes(g, n->output, dtype);
    return bytes;
}
