/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "graph/op.h"
#include "graph/saved.h"
#include "lower/lower.h"

/* What a framework holds on a GPU before the first tensor: the driver's context, loaded kernels and
 * libraries. Rules of thumb, as nvidia-smi shows them for an idle process. */
static const double context_bytes[DLT_FRAMEWORKS] = {
    [DLT_PYTORCH] = 600.0 * 1048576,
    [DLT_TENSORFLOW] = 700.0 * 1048576,
    [DLT_JAX] = 600.0 * 1048576,
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

/* Activations kept until backward, and the most that gradients of activations take at one time. */
static double training_activations(const struct dlt_graph *g, const unsigned char *dtype,
                                   bool recompute)
{
    double saved = 0, keepers = 0, gradients = 0, inputs = 0;

    for (size_t i = 0; i < g->tensor_count; i++) {
        double bytes = tensor_bytes(g, dtype, (int)i);

        if (g->tensor[i].node < 0)
            inputs += bytes;
        else if (g->tensor[i].storage == (int)i && g->tensor[i].saved_by >= 0)
            saved += bytes;
    }
    for (size_t i = 0; i < g->node_count; i++) {
        const struct dlt_node *n = &g->node[i];
        double moving = 0;

        if (!backward_passes(n))
            continue;
        keepers += n->op->saves != 0;
        saved += dlt_node_kept_bytes(g, i, dtype);
        for (size_t k = 0; k < n->output_count; k++)
            moving += tensor_bytes(g, dtype, n->output + (int)k);
        for (size_t k = 0; k < n->input_count; k++)
            moving += g->tensor[n->input[k]].gradient ? tensor_bytes(g, dtype, n->input[k]) : 0;
        gradients = fmax(gradients, moving);
    }
    if (recompute && keepers > 0) {
        /* sqrt(n) segments of sqrt(n) operators: the borders of all and the inside of one (Chen et
         * al. 2016, arXiv 1604.06174). */
        double segments = ceil(sqrt(keepers));

        saved *= fmin(1, 1 / segments + segments / keepers);
    }
    return inputs + saved + gradients;
}

/* Forward alone: a tensor lives from its node to its last reader. */
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

            if (--readers[memory] == 0)
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

/* Elements of what products multiply with, which autocast keeps a half copy of; and of the largest
 * layer, which sharded parameters are gathered for. */
static void weigh(const struct dlt_graph *g, double *products, double *largest)
{
    *products = *largest = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        enum dlt_op_class class = g->node[i].op->class;
        struct dlt_node_counts counts;

        dlt_node_count(g, i, false, &counts);
        *largest = fmax(*largest, counts.parameters);
        if (class == DLT_OP_CONVOLUTION || class == DLT_OP_MATMUL)
            *products += counts.parameters;
    }
}

void dlt_plan_memory(const struct dlt_graph *graph, const struct dlt_training *settings,
                     bool training, int devices, struct dlt_memory *memory)
{
    enum dlt_sharding sharding = settings->sharding;
    double size = (double)dlt_dtype_size(dlt_lower_parameter_dtype(settings->precision));
    double shards = devices > 1 ? devices : 1;
    bool amp = settings->precision >= DLT_PRECISION_AMP_FLOAT16;
    unsigned char *dtype = malloc(graph->tensor_count);
    struct dlt_graph_counts counts;
    double products, largest;
    struct dlt_memory m = {.context = context_bytes[settings->framework]};

    dlt_graph_count(graph, training, &counts);
    weigh(graph, &products, &largest);
    m.parameters = size * counts.total.parameters + 4 * counts.total.buffers;
    if (training) {
        m.gradients = size * counts.trainable;
        m.optimizer = size * counts.trainable * dlt_optimizer_states(settings->optimizer);
        if (devices > 1 && sharding == DLT_DDP)
            m.workspace += m.gradients; /* the all-reduce's buckets */
    }
    if (training && sharding >= DLT_ZERO1)
        m.optimizer /= shards;
    if (training && sharding >= DLT_ZERO2)
        m.gradients /= shards;
    if (training && sharding >= DLT_ZERO3 && shards > 1)
        m.parameters = m.parameters / shards + size * largest;
    if (amp)
        m.parameters += 2 * products;
    if (dtype) {
        dlt_lower_dtypes(graph, settings->precision, dtype);
        m.activations = training ? training_activations(graph, dtype, settings->recompute)
                                 : inference_activations(graph, dtype);
        m.workspace += workspace(graph, dtype);
    } else {
        m.activations = NAN;
    }
    m.total = m.parameters + m.gradients + m.optimizer + m.activations + m.workspace + m.context;
    free(dtype);
    *memory = m;
}
