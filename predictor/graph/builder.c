/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/known.h"
#include "base/text.h"
#include "graph/expand.h"
#include "graph/saved.h"

struct dlt_builder {
    struct dlt_graph *graph;
    size_t tensor_room, node_room, input_room;
    size_t edges;
};

static int grow(void *array, size_t element, size_t count, size_t more, size_t *room,
                struct dlt_error *error)
{
    return dlt_grow(array, element, count, more, room) ? dlt_fail_memory(error) : 0;
}

struct dlt_builder *dlt_builder_create(const char *name, int64_t batch, int64_t seq)
{
    struct dlt_builder *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->graph = calloc(1, sizeof *b->graph);
    if (!b->graph || !(b->graph->name = strdup(name))) {
        dlt_builder_destroy(b);
        return NULL;
    }
    b->graph->batch = batch;
    b->graph->seq = seq;
    return b;
}

void dlt_builder_destroy(struct dlt_builder *builder)
{
    if (!builder)
        return;
    dlt_graph_destroy(builder->graph);
    free(builder);
}

static int add_tensors(struct dlt_builder *b, const struct dlt_tensor *tensor, size_t count,
                       int node, struct dlt_error *error)
{
    struct dlt_graph *g = b->graph;

    if (g->tensor_count + count > DLT_GRAPH_TENSORS)
        return dlt_fail(error, "the network has more than %d tensors", DLT_GRAPH_TENSORS);
    if (grow(&g->tensor, sizeof *g->tensor, g->tensor_count, count, &b->tensor_room, error))
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct dlt_tensor *t = &g->tensor[g->tensor_count];

        *t = tensor[i];
        t->node = node;
        t->storage = (int)g->tensor_count++;
        t->saved_by = -1;
        t->consumers = 0;
        t->gradient = false;
    }
    return 0;
}

int dlt_builder_input_shaped(struct dlt_builder *b, const int64_t *dim, size_t rank,
                             enum dlt_tensor_type type, struct dlt_error *error)
{
    struct dlt_graph *g = b->graph;
    struct dlt_tensor t = {.rank = (int)rank, .type = type};
    double elements = 1;

    if (rank > DLT_RANK)
        return dlt_fail(error, "an input has at most %d dimensions, the batch included", DLT_RANK);
    for (size_t d = 0; d < rank; d++) {
        t.dim[d] = dim[d];
        elements *= (double)dim[d];
        if (dim[d] < 1 || dim[d] > INT32_MAX)
            return dlt_fail(error, "a size of %lld; sizes range from 1 to 2147483647",
                            (long long)dim[d]);
    }
    if (elements > 9007199254740992.0)
        return dlt_fail(error, "an input of more than 2^53 elements");
    if (grow(&g->input, sizeof *g->input, g->input_count, 1, &b->input_room, error) ||
        add_tensors(b, &t, 1, -1, error))
        return -1;
    g->input[g->input_count++] = (int)g->tensor_count - 1;
    return (int)g->tensor_count - 1;
}

int dlt_builder_input(struct dlt_builder *b, const int64_t *dim, size_t rank,
                      enum dlt_tensor_type type, struct dlt_error *error)
{
    int64_t whole[DLT_RANK] = {b->graph->batch};

    if (rank >= DLT_RANK)
        return dlt_fail(error, "an input has at most %d dimensions besides the batch",
                        DLT_RANK - 1);
    if (b->graph->batch < 1 || b->graph->batch > INT32_MAX)
        return dlt_fail(error, "a batch of %lld; it ranges from 1 to 2147483647",
                        (long long)b->graph->batch);
    if (rank > 0)
        memcpy(whole + 1, dim, rank * sizeof *dim);
    return dlt_builder_input_shaped(b, whole, rank + 1, type, error);
}

/* A layer of the same operator shares all parameters, one of another its weight. */
static int check_sharing(const struct dlt_graph *g, const struct dlt_op *op, int owner,
                         const struct dlt_op_result *result, struct dlt_error *error)
{
    struct dlt_op_result other;
    double mine, theirs;

    dlt_node_infer(g, (size_t)owner, true, &other);
    mine = op == g->node[owner].op ? result->parameters : result->weight;
    theirs = op == g->node[owner].op ? other.parameters : other.weight;
    if (mine != theirs)
        return dlt_fail(error, "weights: %s has %.0f parameters, and this layer needs %.0f",
                        g->node[owner].name, theirs, mine);
    if (mine == 0)
        return dlt_fail(error, "weights: %s has no parameters to share", g->node[owner].name);
    return 0;
}

static int check_inputs(const struct dlt_builder *b, const struct dlt_builder_node *node,
                        struct dlt_error *error)
{
    const struct dlt_op *op = node->op;

    if (node->input_count < op->least_inputs || node->input_count > op->most_inputs) {
        if (op->least_inputs == op->most_inputs)
            return dlt_fail(error, "inputs: %s takes %zu input%s, not %zu", op->name,
                            op->least_inputs, op->least_inputs > 1 ? "s" : "", node->input_count);
        return dlt_fail(error, "inputs: %s takes %zu to %zu inputs, not %zu", op->name,
                        op->least_inputs, op->most_inputs, node->input_count);
    }
    for (size_t i = 0; i < node->input_count; i++)
        if (b->graph->tensor[node->input[i]].type != DLT_TENSOR_FLOAT && !op->takes_integers)
            return dlt_fail(error, "inputs: %s does not take integers", op->name);
    return 0;
}

/* Puts the parts of an operator in its place. */
static int add_parts(struct dlt_builder *b, const struct dlt_builder_node *node,
                     struct dlt_error *error)
{
    struct dlt_graph *g = b->graph;
    struct dlt_expansion e = {.builder = b, .node = node, .first = (int)g->node_count};

    if (node->weights_of >= 0 && g->node[node->weights_of].whole != node->op)
        return dlt_fail(error, "weights: %s is no %s", g->node[node->weights_of].name,
                        node->op->name);
    if (check_inputs(b, node, error) || node->op->expand(&e, error))
        return -1;
    for (size_t i = (size_t)e.first; i < g->node_count; i++) {
        g->node[i].whole = node->op;
        g->node[i].first = e.first;
    }
    return (int)g->node_count - 1;
}

int dlt_builder_add(struct dlt_builder *b, const struct dlt_builder_node *node,
                    struct dlt_error *error)
{
    struct dlt_graph *g = b->graph;
    struct dlt_op_site site = {.op = node->op,
                               .attribute = node->attribute,
                               .tensor = g->tensor,
                               .input = node->input,
                               .input_count = node->input_count,
                               .training = true};
    struct dlt_op_result result;
    int first = (int)g->tensor_count;
    struct dlt_node *n;

    if (node->op->expand)
        return add_parts(b, node, error);
    if (g->node_count >= DLT_GRAPH_NODES)
        return dlt_fail(error, "the network has more than %d operators", DLT_GRAPH_NODES);
    if (b->edges + node->input_count > DLT_GRAPH_EDGES)
        return dlt_fail(error, "the network has more than %d connections", DLT_GRAPH_EDGES);
    if (check_inputs(b, node, error) || dlt_op_infer(&site, &result, error) ||
        (node->weights_of >= 0 && check_sharing(g, node->op, node->weights_of, &result, error)) ||
        grow(&g->node, sizeof *g->node, g->node_count, 1, &b->node_room, error) ||
        add_tensors(b, result.output, result.output_count, (int)g->node_count, error))
        return -1;
    n = &g->node[g->node_count];
    *n = (struct dlt_node){.op = node->op,
                           .output = first,
                           .output_count = result.output_count,
                           .input_count = node->input_count,
                           .trainable = !node->frozen,
                           .weights_of = (int)g->node_count,
                           .whole = node->op,
                           .first = (int)g->node_count,
                           .name = DLT_KEPT(strdup(node->name)),
                           .input = DLT_KEPT(malloc((node->input_count + 1) * sizeof *n->input))};
    if (!n->name || !n->input) {
        free(n->name);
        free(n->input);
        return dlt_fail_memory(error);
    }
    memcpy(n->attribute, node->attribute, sizeof n->attribute);
    if (node->input_count > 0)
        memcpy(n->input, node->input, node->input_count * sizeof *n->input);
    if (node->weights_of >= 0) {
        n->weights_of = g->node[node->weights_of].weights_of;
        n->trainable = g->node[n->weights_of].trainable;
    }
    b->edges += n->input_count;
    n->weight_gradient = n->trainable && result.parameters > 0;
    for (size_t i = 0; i < n->input_count; i++)
        g->tensor[n->input[i]].consumers++;
    if (n->op->class == DLT_OP_VIEW && n->input_count > 0)
        for (size_t i = 0; i < n->output_count; i++)
            g->tensor[first + (int)i].storage = g->tensor[n->input[0]].storage;
    return (int)g->node_count++;
}

int dlt_builder_output(const struct dlt_builder *b, int node, size_t k)
{
    const struct dlt_node *n = &b->graph->node[node];

    return k < n->output_count ? n->output + (int)k : -1;
}

int dlt_builder_maker(const struct dlt_builder *b, int tensor)
{
    return b->graph->tensor[tensor].node;
}

const struct dlt_node *dlt_builder_node(const struct dlt_builder *b, int node)
{
    return &b->graph->node[node];
}

void dlt_builder_note(struct dlt_builder *b, const char *format, ...)
{
    struct dlt_graph *g = b->graph;
    struct dlt_error text;
    va_list args;

    if (g->note_count == DLT_NOTES)
        return;
    va_start(args, format);
    vsnprintf(text.text, sizeof text.text, format, args);
    va_end(args);
    dlt_text_printable(text.text);
    g->note[g->note_count] = DLT_KEPT(strdup(text.text));
    if (g->note[g->note_count])
        g->note_count++;
}

const struct dlt_tensor *dlt_builder_tensor(const struct dlt_builder *b, int tensor)
{
    return &b->graph->tensor[tensor];
}

int dlt_builder_twin(const struct dlt_builder *b, int last, int part)
{
    int node = b->graph->node[last].first + part;
    struct dlt_node_counts counts;

    if (node > last)
        return -1;
    dlt_node_count(b->graph, (size_t)node, false, &counts);
    return counts.parameters > 0 || b->graph->node[node].weights_of != node ? node : -1;
}

double dlt_builder_parameters(const struct dlt_builder *b)
{
    double parameters = 0;

    for (size_t i = 0; i < b->graph->node_count; i++) {
        struct dlt_node_counts counts;

        dlt_node_count(b->graph, i, false, &counts);
        parameters += counts.parameters;
    }
    return parameters;
}

size_t dlt_builder_node_count(const struct dlt_builder *b)
{
    return b->graph->node_count;
}

/* A tensor's gradient is needed where a trainable parameter lies before it. */
static void find_gradients(struct dlt_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++) {
        struct dlt_node *n = &g->node[i];

        for (size_t k = 0; k < n->input_count; k++)
            n->data_gradient |= g->tensor[n->input[k]].gradient;
        for (size_t k = 0; k < n->output_count; k++) {
            struct dlt_tensor *out = &g->tensor[n->output + (int)k];

            out->gradient =
                out->type == DLT_TENSOR_FLOAT && (n->data_gradient || n->weight_gradient);
        }
    }
}

static int find_outputs(struct dlt_graph *g, struct dlt_error *error)
{
    size_t room = 0;

    for (size_t i = 0; i < g->tensor_count; i++) {
        if (g->tensor[i].consumers > 0 || g->tensor[i].node < 0)
            continue;
        if (grow(&g->output, sizeof *g->output, g->output_count, 1, &room, error))
            return -1;
        g->output[g->output_count++] = (int)i;
    }
    return 0;
}

int dlt_builder_finish(struct dlt_builder *b, struct dlt_graph **graph, struct dlt_error *error)
{
    if (b->graph->node_count == 0)
        return dlt_fail(error, "layers: the network has none");
    find_gradients(b->graph);
    dlt_graph_find_saved(b->graph);
    if (find_outputs(b->graph, error))
        return -1;
    *graph = b->graph;
    b->graph = NULL;
    return 0;
}
