/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/scatter.h"

#include <string.h>

#include "graph/op.h"

static bool is_last(int64_t dim, int rank)
{
    return dim == -1 || dim == rank - 1;
}

/* Whether a view has another last dimension than what it looks at. */
static bool moves_last(const struct dlt_graph *g, const struct dlt_node *n)
{
    int rank = g->tensor[n->input[0]].rank;

    if (strcmp(n->op->name, "transpose") == 0) {
        const struct dlt_transpose_attributes *a = (const void *)n->attribute;

        return is_last(a->dim0, rank) != is_last(a->dim1, rank);
    }
    if (strcmp(n->op->name, "permute") == 0) {
        const struct dlt_reshape_attributes *a = (const void *)n->attribute;

        return !is_last(a->shape.value[rank - 1], rank);
    }
    return false;
}

static bool lies_across(const struct dlt_graph *g, int tensor)
{
    while (g->tensor[tensor].storage != tensor && g->tensor[tensor].node >= 0) {
        const struct dlt_node *n = &g->node[g->tensor[tensor].node];

        if (moves_last(g, n))
            return true;
        tensor = n->input[0];
    }
    return false;
}

double dlt_scattered(const struct dlt_graph *g, size_t node, double *operand)
{
    const struct dlt_node *n = &g->node[node];
    double elements = dlt_tensor_elements(&g->tensor[n->output]);
    bool ordered = false;

    *operand = 0;
    if (n->op->class != DLT_OP_ARITHMETIC || n->input_count < 2)
        return 0;
    for (size_t k = 0; k < n->input_count; k++) {
        double size = dlt_tensor_elements(&g->tensor[n->input[k]]);

        if (lies_across(g, n->input[k]))
            *operand = size > *operand ? size : *operand;
        else
            ordered |= size == elements;
    }
    return ordered && *operand > 0 ? elements : 0;
}
