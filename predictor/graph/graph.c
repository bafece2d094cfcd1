/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph.h"

#include <stdlib.h>

#include "graph/op.h"
#include "graph/saved.h"

void dlt_graph_destroy(struct dlt_graph *graph)
{
    if (!graph)
        return;
    for (size_t i = 0; i < graph->node_count; i++) {
        free(graph->node[i].name);
        free(graph->node[i].input);
    }
    for (size_t i = 0; i < graph->note_count; i++)
        free(graph->note[i]);
    free(graph->node);
    free(graph->tensor);
    free(graph->input);
    free(graph->output);
    free(graph->name);
    free(graph);
}

double dlt_tensor_elements(const struct dlt_tensor *tensor)
{
    double elements = 1;

    for (int d = 0; d < tensor->rank; d++)
        elements *= (double)tensor->dim[d];
    return elements;
}

static double pass_bytes(struct dlt_record *record, enum dlt_pass pass)
{
    struct dlt_work work;

    record->pass = pass;
    dlt_record_work(record, &work);
    return work.bytes;
}

bool dlt_node_both_gradients(const struct dlt_graph *graph, size_t node)
{
    const struct dlt_node *n = &graph->node[node];

    return n->op->class == DLT_OP_MATMUL && n->input_count == 2 &&
           graph->tensor[n->input[0]].gradient && graph->tensor[n->input[1]].gradient;
}

void dlt_node_count(const struct dlt_graph *graph, size_t node, bool training,
                    struct dlt_node_counts *counts)
{
    const struct dlt_node *n = &graph->node[node];
    struct dlt_op_result result;
    struct dlt_work work = {0};

    dlt_node_infer(graph, node, training, &result);
    *counts = (struct dlt_node_counts){
        .parameters = result.parameters, .tensors = result.tensors, .buffers = result.buffers};
    if (n->weights_of != (int)node) {
        bool all = n->op == graph->node[n->weights_of].op;

        counts->parameters = all ? 0 : result.parameters - result.weight;
        counts->tensors = all ? 0 : result.tensors - 1;
    }
    if (training)
        counts->saved = dlt_node_saved_bytes(graph, node, NULL) / 4;
    if (!result.record.kind)
        return;
    dlt_record_work(&result.record, &work);
    counts->macs = work.macs;
    counts->flops = work.flops;
    counts->forward_bytes = work.bytes;
    if (training && (n->data_gradient || n->weight_gradient))
        counts->backward_bytes = pass_bytes(
            &result.record, !n->data_gradient ? DLT_BACKWARD_WEIGHT
                            : !n->weight_gradient && !dlt_node_both_gradients(graph, node)
                                ? DLT_BACKWARD_DATA
                                : DLT_BACKWARD);
}

void dlt_graph_count(const struct dlt_graph *graph, bool training, struct dlt_graph_counts *counts)
{
    struct dlt_node_counts *total = &counts->total;

    *counts = (struct dlt_graph_counts){0};
    for (size_t i = 0; i < graph->node_count; i++) {
        struct dlt_node_counts node;

        dlt_node_count(graph, i, training, &node);
        total->parameters += node.parameters;
        total->tensors += node.tensors;
        total->buffers += node.buffers;
        total->macs += node.macs;
        total->flops += node.flops;
        total->forward_bytes += node.forward_bytes;
        total->backward_bytes += node.backward_bytes;
        total->saved += node.saved;
        if (graph->node[i].trainable)
            counts->trainable += node.parameters;
    }
}
