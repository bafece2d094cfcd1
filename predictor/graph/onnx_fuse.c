/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that exporters write as many nodes, because the opset has no operator for them: a
 * framework runs them as one. */
#include <stdlib.h>

#include "graph/onnx_pattern.h"

/* Nobody else reads what is inside, and no node belongs to two layers. */
static bool is_closed(const struct dlt_onnx_map *m, const struct dlt_onnx_found *f,
                      const struct dlt_onnx_fusion *fusion)
{
    for (size_t i = 0; i < f->members; i++) {
        const struct dlt_onnx_node *n = f->member[i];
        int inside = 0;

        if (fusion[n - m->graph->node].absorbed || fusion[n - m->graph->node].layer || n > f->last)
            return false;
        if (n == f->last)
            continue;
        for (size_t k = 0; k < f->members; k++)
            for (size_t j = 0; j < f->member[k]->input_count; j++)
                inside += f->member[k]->input[j] == n->output[0];
        if (m->uses[n->output[0]] != inside)
            return false;
    }
    return true;
}

static void count_uses(const struct dlt_onnx_graph *graph, struct dlt_onnx_map *m, bool outer)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct dlt_onnx_node *n = &graph->node[i];

        for (size_t k = 0; k < n->input_count; k++) {
            if (n->input[k] < 0)
                continue;
            m->uses[n->input[k]]++;
            if (outer && m->first_use[n->input[k]] < 0)
                m->first_use[n->input[k]] = (int)i;
        }
        for (size_t k = 0; k < n->attribute_count; k++)
            if (n->attribute[k].graph)
                count_uses(n->attribute[k].graph, m, false);
    }
    for (size_t i = 0; i < graph->output_count; i++)
        m->uses[graph->output[i].name]++;
}

static void search(const struct dlt_onnx_map *m, struct dlt_onnx_fusion *fusion)
{
    for (size_t i = 0; i < m->graph->node_count; i++) {
        const struct dlt_onnx_node *n = &m->graph->node[i];

        if (*n->domain || n->output_count == 0 || n->output[0] < 0)
            continue;
        for (size_t k = 0; k < dlt_onnx_rules(); k++) {
            struct dlt_onnx_found f = {.fusion = {.x = -1, .scale = -1, .bias = -1, .groups = -1}};

            if (!dlt_onnx_match(m, n, k, &f) || !is_closed(m, &f, fusion))
                continue;
            for (size_t j = 0; j < f.members; j++)
                fusion[f.member[j] - m->graph->node].absorbed = true;
            fusion[f.last - m->graph->node] = f.fusion;
            break;
        }
    }
}

int dlt_onnx_find_fusions(const struct dlt_onnx_graph *graph, size_t names, const int *outputs,
                          size_t output_count, struct dlt_onnx_fusion *fusion,
                          struct dlt_error *error)
{
    struct dlt_onnx_map m = {.graph = graph,
                             .maker = malloc((names + 1) * sizeof *m.maker),
                             .first_use = malloc((names + 1) * sizeof *m.first_use),
                             .uses = calloc(names + 1, sizeof *m.uses),
                             .weight = calloc(names + 1, sizeof *m.weight)};
    int status = 0;

    if (m.maker && m.first_use && m.uses && m.weight) {
        for (size_t i = 0; i < names; i++)
            m.maker[i] = m.first_use[i] = -1;
        for (size_t i = 0; i < graph->initializer_count; i++)
            if (graph->initializer[i].name >= 0)
                m.weight[graph->initializer[i].name] = &graph->initializer[i];
        for (size_t i = 0; i < graph->node_count; i++)
            for (size_t k = 0; k < graph->node[i].output_count; k++)
                if (graph->node[i].output[k] >= 0)
                    m.maker[graph->node[i].output[k]] = (int)i;
        count_uses(graph, &m, true);
        for (size_t i = 0; i < output_count; i++)
            if (outputs[i] >= 0)
                m.uses[outputs[i]]++;
        search(&m, fusion);
    } else {
        status = dlt_fail_memory(error);
    }
    free(m.maker);
    free(m.first_use);
    free(m.uses);
    free(m.weight);
    return status;
}
