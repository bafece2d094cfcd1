/* SPDX-License-Identifier: Apache-2.0 */
#include "network.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/op.h"
#include "lower/lower.h"
#include "shapes.h"

enum { LAYERS_OF_A_NODE = BENCH_OPERANDS + 2 };

/* A layer and the gradients that it owes. */
struct stage {
    struct bench_layer *layer;
    bool data_gradient, weight_gradient, loss;
    const char *name;
};

struct bench_network {
    const struct dlbench_backend *backend;
    struct bench_context *context;
    struct dlt_graph *graph;
    struct dlt_plan *plan;
    struct bench_tensor **tensor; /* of each of the graph's tensors */
    struct stage *stage;
    size_t stage_count;
    struct bench_training training;
};

double bench_learning_rate(enum dlt_optimizer optimizer)
{
    static const double rates[DLT_OPTIMIZERS] = {
        [DLT_SGD] = 1e-3,     [DLT_MOMENTUM] = 1e-4, [DLT_NESTEROV] = 1e-4,
        [DLT_ADAM] = 1e-4,    [DLT_ADAMW] = 1e-4,    [DLT_ADAGRAD] = 1e-3,
        [DLT_ADADELTA] = 0.1, [DLT_RMSPROP] = 1e-4,  [DLT_LAMB] = 1e-4};

    return rates[optimizer];
}

static struct bench_shape shape_of(const struct dlt_tensor *tensor)
{
    struct bench_shape shape = {.rank = tensor->rank};

    memcpy(shape.dim, tensor->dim, sizeof(int64_t) * (size_t)tensor->rank);
    return shape;
}

static bool same_shape(const struct bench_shape *a, const struct bench_shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof *a->dim * (size_t)a->rank) == 0;
}

static void add_stage(struct bench_network *n, struct bench_layer *layer, bool data, bool weight,
                      const char *name)
{
    n->stage[n->stage_count++] = (struct stage){layer, data, weight, false, name};
}

/* The tensor in another shape; itself where it has that shape. */
static int reshape(struct bench_network *n, const struct bench_shape *from,
                   const struct bench_shape *to, bool gradient, const char *name,
                   struct bench_tensor **tensor, struct dlt_error *error)
{
    struct bench_layer *layer;
    int status;

    if (same_shape(from, to))
        return BENCH_OK;
    if (bench_shape_count(from) != bench_shape_count(to))
        return dlt_fail(error, "a tensor of %zu elements cannot be seen as one of %zu",
                        bench_shape_count(from), bench_shape_count(to));
    status = n->backend->view_create(n->context, *tensor, to, &layer, tensor, error);
    if (status == BENCH_OK)
        add_stage(n, layer, gradient, false, name);
    return status;
}

/* The dimension that concat or softmax names, counted from the front. */
static int dimension_of(const struct dlt_node *node, int rank)
{
    const struct dlt_dim_attributes *a = (const void *)node->attribute;

    return (int)(a->dim < 0 ? a->dim + rank : a->dim);
}

static int check_node(const struct dlt_graph *graph, const struct dlt_node *node,
                      const struct dlt_record *record, struct dlt_error *error)
{
    const struct dlt_tensor *input = &graph->tensor[node->input[0]];

    if (&graph->node[node->weights_of] != node)
        return dlt_fail(error, "weights shared between layers cannot be run");
    if (node->op->class == DLT_OP_SOFTMAX && dimension_of(node, input->rank) != input->rank - 1)
        return dlt_fail(error, "softmax can be run over the last dimension only");
    if (record->kind && bench_operands(record) > BENCH_OPERANDS)
        return dlt_fail(error, "more than %d inputs cannot be run", BENCH_OPERANDS);
    return 0;
}

/* A unit of the plan: its inputs in the shapes of its record, its layer, its output in the graph's
 * shape. */
static int add_unit(struct bench_network *n, const struct dlt_unit *unit, struct dlt_error *error)
{
    const struct dlt_node *node = &n->graph->node[unit->node];
    const struct dlt_record *record = &unit->record;
    bool elementwise = strcmp(record->kind->name, "elementwise") == 0;
    bool any = unit->data_gradient || unit->weight_gradient;
    struct bench_layer_options options = {.copies = 1};
    struct bench_tensor *input[BENCH_OPERANDS], *output;
    struct bench_shape own, wanted;
    struct bench_layer *layer;
    int status = check_node(n->graph, node, record, error);

    if (record->u.rowwise.function == DLT_CONCAT && elementwise)
        options.axis = dimension_of(node, n->graph->tensor[node->input[0]].rank);
    for (size_t i = 0; i < node->input_count && status == BENCH_OK; i++) {
        own = shape_of(&n->graph->tensor[node->input[i]]);
        input[i] = n->tensor[node->input[i]];
        if (elementwise || !bench_role_shape(record, BENCH_INPUT, (int)i, &wanted))
            continue;
        status = reshape(n, &own, &wanted, unit->data_gradient, node->name, &input[i], error);
    }
    if (status == BENCH_OK)
        status = n->backend->layer_create(n->context, record, &options, input, node->input_count,
                                          &layer, &output, error);
    if (status)
        return status;
    add_stage(n, layer, unit->data_gradient, unit->weight_gradient, node->name);
    own = shape_of(&n->graph->tensor[node->output]);
    if (elementwise || !bench_role_shape(record, BENCH_OUTPUT, 0, &wanted))
        wanted = own;
    status = reshape(n, &wanted, &own, any, node->name, &output, error);
    n->tensor[node->output] = output;
    return status;
}

/* A node that runs nothing: another view of its input. */
static int add_view(struct bench_network *n, const struct dlt_node *node, struct dlt_error *error)
{
    struct bench_shape from, to;
    struct bench_tensor *tensor;
    int status;

    if (node->op->class != DLT_OP_VIEW || node->input_count != 1 || node->output_count != 1)
        return dlt_fail(error, "%s cannot be run", node->op->name);
    from = shape_of(&n->graph->tensor[node->input[0]]);
    to = shape_of(&n->graph->tensor[node->output]);
    tensor = n->tensor[node->input[0]];
    status = reshape(n, &from, &to, node->data_gradient, node->name, &tensor, error);
    n->tensor[node->output] = tensor;
    return status;
}

static int add_nodes(struct bench_network *n, struct dlt_error *error)
{
    const struct dlt_unit **unit_of = calloc(n->graph->node_count + 1, sizeof *unit_of);
    int status = BENCH_OK;

    if (!unit_of)
        return dlt_fail_memory(error);
    for (size_t i = 0; i < n->plan->unit_count; i++)
        if (n->plan->unit[i].node >= 0 && n->plan->unit[i].record.kind)
            unit_of[n->plan->unit[i].node] = &n->plan->unit[i];
    for (size_t i = 0; i < n->graph->node_count && status == BENCH_OK; i++) {
        const struct dlt_node *node = &n->graph->node[i];

        status = unit_of[i] ? add_unit(n, unit_of[i], error) : add_view(n, node, error);
        if (status)
            dlt_fail_in(error, "%s: ", node->name);
    }
    free(unit_of);
    return status;
}

static int add_inputs(struct bench_network *n, struct dlt_error *error)
{
    for (size_t i = 0; i < n->graph->input_count; i++) {
        const struct dlt_tensor *tensor = &n->graph->tensor[n->graph->input[i]];
        struct bench_shape shape = shape_of(tensor);
        int status;

        if (tensor->type != DLT_TENSOR_FLOAT)
            return dlt_fail(error, "inputs of whole numbers cannot be run");
        status =
            n->backend->tensor_create(n->context, &shape, &n->tensor[n->graph->input[i]], error);
        if (status)
            return status;
    }
    return BENCH_OK;
}

static int add_losses(struct bench_network *n, struct dlt_error *error)
{
    for (size_t i = 0; i < n->graph->output_count; i++) {
        const struct dlt_tensor *output = &n->graph->tensor[n->graph->output[i]];
        struct bench_tensor *scores = n->tensor[n->graph->output[i]];
        struct bench_shape shape = shape_of(output), flat = {.rank = 2};
        struct bench_layer *layer;
        int status;

        flat.dim[1] = output->dim[output->rank - 1];
        flat.dim[0] = (int64_t)bench_shape_count(&shape) / flat.dim[1];
        status = reshape(n, &shape, &flat, true, "loss", &scores, error);
        if (status == BENCH_OK)
            status = n->backend->loss_create(n->context, scores, &layer, error);
        if (status)
            return status;
        add_stage(n, layer, false, false, "loss");
        n->stage[n->stage_count - 1].loss = true;
    }
    return BENCH_OK;
}

/* Readers of a tensor come after its maker, so that from the end backwards gradients are there when
 * they are wanted. */
static int add_backward(struct bench_network *n, struct dlt_error *error)
{
    for (size_t i = n->stage_count; i-- > 0;) {
        const struct stage *stage = &n->stage[i];
        int status = n->backend->layer_train(stage->layer, stage->data_gradient,
                                             stage->weight_gradient, &n->training, error);

        if (status) {
            dlt_fail_in(error, "%s: ", stage->name);
            return status;
        }
    }
    return BENCH_OK;
}

static int lower(struct bench_network *n, const struct dlt_model *model, int64_t batch, int threads,
                 struct dlt_error *error)
{
    struct dlt_training settings = model->training;

    if (settings.precision != DLT_PRECISION_FLOAT32)
        return dlt_fail(error, "precision %s cannot be run; float32 can",
                        dlt_precision_names[settings.precision]);
    if (settings.accumulate > 1)
        return dlt_fail(error, "accumulate=%lld cannot be run", (long long)settings.accumulate);
    settings.framework = DLT_FRAMEWORK_NONE;
    n->training.optimizer = settings.optimizer;
    n->training.learning_rate = bench_learning_rate(settings.optimizer);
    if (dlt_model_graph(model, batch, &n->graph, error) ||
        dlt_lower(n->graph, &settings, true, threads, &n->plan, error))
        return BENCH_FAILED;
    return BENCH_OK;
}

int bench_network_create(const struct dlbench_backend *backend, struct bench_context *context,
                         const struct dlt_model *model, int64_t batch, int threads,
                         struct bench_network **network, struct dlt_error *error)
{
    struct bench_network *n = calloc(1, sizeof *n);
    int status;

    if (!n)
        return dlt_fail_memory(error);
    n->backend = backend;
    n->context = context;
    status = lower(n, model, batch, threads, error);
    if (status == BENCH_OK) {
        size_t layers = LAYERS_OF_A_NODE * n->graph->node_count + 2 * n->graph->output_count;

        n->tensor = calloc(n->graph->tensor_count + 1, sizeof(struct bench_tensor *));
        n->stage = calloc(layers + 1, sizeof *n->stage);
        status = n->tensor && n->stage ? BENCH_OK : dlt_fail_memory(error);
    }
    if (status == BENCH_OK)
        status = add_inputs(n, error);
    if (status == BENCH_OK)
        status = add_nodes(n, error);
    if (status == BENCH_OK)
        status = add_losses(n, error);
    if (status == BENCH_OK)
        status = add_backward(n, error);
    if (status)
        bench_network_destroy(n);
    else
        *network = n;
    return status;
}

void bench_network_destroy(struct bench_network *network)
{
    if (!network)
        return;
    network->backend->reset(network->context);
    dlt_plan_destroy(network->plan);
    dlt_graph_destroy(network->graph);
    free(network->tensor);
    free(network->stage);
    free(network);
}

static int run_stages(struct bench_network *n, enum dlt_pass pass, bool backwards,
                      struct dlt_error *error)
{
    for (size_t i = 0; i < n->stage_count; i++) {
        const struct stage *stage = &n->stage[backwards ? n->stage_count - 1 - i : i];

        if (stage->loss && pass != DLT_FORWARD)
            continue;
        if (n->backend->run(stage->layer, pass, 1, error))
            return dlt_fail_in(error, "%s: ", stage->name);
    }
    return 0;
}

int bench_network_step(struct bench_network *n, struct bench_step_times *times,
                       struct dlt_error *error)
{
    const struct dlbench_backend *backend = n->backend;

    if (backend->mark(n->context, 0, error) || run_stages(n, DLT_FORWARD, false, error) ||
        backend->mark(n->context, 1, error) || run_stages(n, DLT_BACKWARD, true, error) ||
        backend->mark(n->context, 2, error) || run_stages(n, DLT_UPDATE, false, error) ||
        backend->mark(n->context, 3, error))
        return -1;
    if (backend->between(n->context, 0, 1, &times->forward_s, error) ||
        backend->between(n->context, 1, 2, &times->backward_s, error) ||
        backend->between(n->context, 2, 3, &times->update_s, error))
        return -1;
    return 0;
}

double bench_network_loss(const struct bench_network *network)
{
    double sum = 0;

    for (size_t i = 0; i < network->stage_count; i++)
        if (network->stage[i].loss)
            sum += network->backend->loss_value(network->stage[i].layer);
    return sum;
}

double bench_network_memory(const struct bench_network *network)
{
    return network->backend->memory(network->context);
}
