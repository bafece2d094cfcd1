/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "graph/op.h"
#include "graph/saved.h"
#include "lower/lower.h"

/* What a framework holds before the first tensor. On a GPU the driver's context, loaded kernels and
 * libraries: rules of thumb, as nvidia-smi shows them for an idle process. On a CPU the process
 * itself: PyTorch 1.13 after its import takes 226 MiB; the others are taken to be as large. */
static const struct {
    double gpu, cpu;
} context_bytes[DLT_FRAMEWORKS] = {
    [DLT_PYTORCH] = {600.0 * 1048576, 230.0 * 1048576},
    [DLT_TENSORFLOW] = {700.0 * 1048576, 230.0 * 1048576},
    [DLT_JAX] = {600.0 * 1048576, 230.0 * 1048576},
};

static const double most_workspace = 1073741824.0;

static bool backward_passes(const struct dlt_node *n)
{
    return n->data_gradient || n->weight_gradient;
}

/* Parameters that the graph has as tensors are counted with the others. */
static double tensor_bytes(const struct dlt_graph *g, const unsigned char *dtype, int tensor)
{
    int maker = g->tensor[tensor].node;

    if (maker >= 0 && g->node[maker].op->class == DLT_OP_PARAMETER)
        return 0;
    return dlt_tensor_bytes(g, tensor, dtype);
}

/* What is asked of each node more than once, and sums over all. */
struct nodes {
    unsigned char *dtype; /* of each tensor */
    double *parameters, *freed;
    double all, buffers, trainable;
    double products; /* elements that products multiply with: autocast keeps a half copy of them */
    double largest;  /* elements of the largest layer, which sharded parameters are gathered for */
};

/* Elements of a product's parameters; those that it shares with what is no product, such as tied
 * words, are cast for it alone. */
static double product_elements(const struct dlt_graph *g, size_t node, double own)
{
    const struct dlt_node *n = &g->node[node];
    enum dlt_op_class owner = g->node[n->weights_of].op->class;
    struct dlt_op_result result;

    if (n->weights_of == (int)node || owner == DLT_OP_CONVOLUTION || owner == DLT_OP_MATMUL)
        return own;
    dlt_node_infer(g, node, false, &result);
    return own + result.weight;
}

/* Returns whether there was memory; nodes_clear in any case. */
static bool nodes_fill(struct nodes *nodes, const struct dlt_graph *g, enum dlt_precision precision)
{
    nodes->dtype = malloc(g->tensor_count);
    nodes->parameters = calloc(g->node_count, sizeof *nodes->parameters);
    nodes->freed = calloc(g->node_count, sizeof *nodes->freed);
    if (!nodes->dtype || !nodes->parameters || !nodes->freed)
        return false;
    dlt_lower_dtypes(g, precision, nodes->dtype);
    for (size_t i = 0; i < g->node_count; i++) {
        enum dlt_op_class class = g->node[i].op->class;
        struct dlt_node_counts counts;

        dlt_node_count(g, i, false, &counts);
        nodes->parameters[i] = counts.parameters;
        nodes->all += counts.parameters;
        nodes->buffers += counts.buffers;
        nodes->trainable += g->node[i].trainable ? counts.parameters : 0;
        nodes->largest = fmax(nodes->largest, counts.parameters);
        if (class == DLT_OP_CONVOLUTION || class == DLT_OP_MATMUL)
            nodes->products += product_elements(g, i, counts.parameters);
    }
    return true;
}

static void nodes_clear(struct nodes *nodes)
{
    free(nodes->dtype);
    free(nodes->parameters);
    free(nodes->freed);
}

/* What backward walks through. */
struct backward {
    const struct dlt_graph *graph;
    const unsigned char *dtype;
    double inputs;            /* of the network, there all the time */
    double kept;              /* all that is kept, without inputs */
    double factor;            /* what recomputing leaves of it */
    double gradient_size;     /* bytes of a parameter's gradient, of its shard */
    bool accumulated;         /* gradients of earlier batches are there already */
    const double *parameters; /* of each node */
    double *freed;            /* bytes that are freed once a node has been passed */
};

/* Bytes that are freed once backward has passed a node: what it was the first to keep. */
static double freed_after(const struct backward *b, size_t node)
{
    const struct dlt_graph *g = b->graph;
    const struct dlt_node *n = &g->node[node];
    double bytes = dlt_node_saved_bytes(g, node, b->dtype);

    for (size_t k = 0; k < n->input_count; k++) {
        int memory = g->tensor[n->input[k]].storage;
        bool again = false;

        for (size_t i = 0; i < k && !again; i++)
            again = g->tensor[n->input[i]].storage == memory;
        if (g->tensor[memory].node < 0 && g->tensor[memory].saved_by == (int)node && !again)
            bytes -= dlt_tensor_bytes(g, memory, b->dtype);
    }
    return bytes;
}

/* Gradients of a node's outputs and inputs, which are there together while it is passed. */
static double moving_at(const struct backward *b, const struct dlt_node *n)
{
    const struct dlt_graph *g = b->graph;
    double bytes = 0;

    for (size_t k = 0; k < n->output_count; k++)
        bytes += tensor_bytes(g, b->dtype, n->output + (int)k);
    for (size_t k = 0; k < n->input_count; k++)
        bytes += g->tensor[n->input[k]].gradient ? tensor_bytes(g, b->dtype, n->input[k]) : 0;
    return bytes;
}

static struct backward start_backward(const struct dlt_graph *g, const struct nodes *nodes,
                                      const struct dlt_training *settings)
{
    const unsigned char *dtype = nodes->dtype;
    struct backward b = {.graph = g,
                         .dtype = dtype,
                         .factor = 1,
                         .accumulated = settings->accumulate > 1,
                         .parameters = nodes->parameters,
                         .freed = nodes->freed};
    double keepers = 0;

    for (size_t i = 0; i < g->tensor_count; i++)
        b.inputs += g->tensor[i].node < 0 ? dlt_tensor_bytes(g, (int)i, dtype) : 0;
    for (size_t i = 0; i < g->node_count; i++) {
        if (!backward_passes(&g->node[i]))
            continue;
        keepers += g->node[i].op->saves != 0;
        b.freed[i] = freed_after(&b, i);
        b.kept += b.freed[i];
    }
    if (settings->recompute && keepers > 0) {
        /* sqrt(n) segments of sqrt(n) operators: the borders of all and the inside of one (Chen et
         * al. 2016, arXiv 1604.06174). */
        double segments = ceil(sqrt(keepers));

        b.factor = fmin(1, 1 / segments + segments / keepers);
    }
    return b;
}

/* Walks from the last node to the first: what was kept goes, gradients of parameters come.
 * *activations: the most that is not a parameter's gradient. Returns the most of both together. */
static double backward_peak(const struct backward *b, double *activations)
{
    double kept = b->kept, gradients = 0, peak = b->inputs + b->factor * b->kept;

    *activations = peak;
    for (size_t i = b->graph->node_count; i-- > 0;) {
        const struct dlt_node *n = &b->graph->node[i];
        double here;

        if (!backward_passes(n))
            continue;
        if (n->weight_gradient)
            gradients += b->gradient_size * b->parameters[i];
        here = b->inputs + b->factor * kept + moving_at(b, n);
        *activations = fmax(*activations, here);
        peak = fmax(peak, here + (b->accumulated ? 0 : gradients));
        kept -= b->freed[i];
    }
    return peak + (b->accumulated ? gradients : 0);
}

/* Forward alone: a tensor lives from its node to its last reader; inputs belong to the caller. */
static double inference_activations(const struct dlt_graph *g, const unsigned char *dtype)
{
    int *readers = calloc(g->tensor_count, sizeof *readers);
    double live = 0, peak = 0;

    if (!readers)
        return NAN;
    for (size_t i = 0; i < g->tensor_count; i++) {
        readers[g->tensor[i].storage] += g->tensor[i].consumers;
        if (g->tensor[i].node < 0)
            live += tensor_bytes(g, dtype, (int)i);
    }
    for (size_t i = 0; i < g->node_count; i++) {
        const struct dlt_node *n = &g->node[i];

        for (size_t k = 0; k < n->output_count; k++)
            if (g->tensor[n->output + (int)k].storage == n->output + (int)k)
                live += tensor_bytes(g, dtype, n->output + (int)k);
        peak = fmax(peak, live);
        for (size_t k = 0; k < n->input_count; k++) {
            int memory = g->tensor[n->input[k]].storage;

            if (--readers[memory] == 0 && g->tensor[memory].node >= 0)
                live -= tensor_bytes(g, dtype, memory);
        }
    }
    free(readers);
    return peak;
}

/* Scratch of the convolution library: as much as the largest convolution moves, within limits. */
static double workspace(const struct dlt_graph *g, const unsigned char *dtype)
{
    double most = 0;

    for (size_t i = 0; i < g->node_count; i++)
        if (g->node[i].op->class == DLT_OP_CONVOLUTION)
            most = fmax(most, tensor_bytes(g, dtype, g->node[i].input[0]) +
                                  tensor_bytes(g, dtype, g->node[i].output));
    return fmin(most, most_workspace);
}

/* Bytes of parameters, gradients and the optimizer, sharded where they are. */
static void fill_states(const struct nodes *nodes, const struct dlt_training *settings,
                        bool training, double shards, struct dlt_memory *m)
{
    double size = (double)dlt_dtype_size(dlt_lower_parameter_dtype(settings->precision));
    bool amp = settings->precision >= DLT_PRECISION_AMP_FLOAT16;
    enum dlt_sharding sharding = settings->sharding;

    m->parameters = size * nodes->all + 4 * nodes->buffers;
    if (training) {
        m->gradients = size * nodes->trainable;
        m->optimizer = size * nodes->trainable * dlt_optimizer_states(settings->optimizer);
        if (shards > 1 && sharding == DLT_DDP)
            m->workspace += m->gradients; /* the all-reduce's buckets */
        if (sharding >= DLT_ZERO1)
            m->optimizer /= shards;
        if (sharding >= DLT_ZERO2)
            m->gradients /= shards;
        if (sharding >= DLT_ZERO3 && shards > 1)
            m->parameters = m->parameters / shards + size * nodes->largest;
    }
    if (amp)
        m->parameters += 2 * nodes->products;
}

/* While the optimizer works, batched kernels hold one list of intermediate results as large as the
 * gradients (torch.optim's _multi_tensor_* with a second moment). */
static double update_bytes(const struct dlt_training *settings, const struct dlt_memory *m)
{
    bool lists = settings->framework == DLT_PYTORCH && settings->implementation == DLT_FOREACH &&
                 dlt_optimizer_states(settings->optimizer) > 1;

    return m->gradients * (lists ? 2 : 1);
}

void dlt_plan_memory(const struct dlt_graph *graph, const struct dlt_training *settings,
                     bool training, int devices, int threads, struct dlt_memory *memory)
{
    double shards = devices > 1 ? devices : 1, peak;
    struct nodes nodes = {0};
    struct dlt_memory m = {.context = threads > 0 ? context_bytes[settings->framework].cpu
                                                  : context_bytes[settings->framework].gpu};

    if (!nodes_fill(&nodes, graph, settings->precision)) {
        nodes_clear(&nodes);
        m.activations = m.total = NAN;
        *memory = m;
        return;
    }
    fill_states(&nodes, settings, training, shards, &m);
    m.workspace += workspace(graph, nodes.dtype);
    if (training) {
        struct backward b = start_backward(graph, &nodes, settings);

        b.gradient_size = (double)dlt_dtype_size(dlt_lower_parameter_dtype(settings->precision)) /
                          (settings->sharding >= DLT_ZERO2 ? shards : 1);
        peak = backward_peak(&b, &m.activations);
        peak = fmax(peak, update_bytes(settings, &m));
    } else {
        peak = m.activations = inference_activations(graph, nodes.dtype);
    }
    m.total = m.parameters + m.optimizer + m.workspace + m.context + peak;
    nodes_clear(&nodes);
    *memory = m;
}
