/* SPDX-License-Identifier: Apache-2.0 */
#include "network.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/text.h"
#include "network_build.h"
#include "plan.h"

double bench_learning_rate(enum dlt_optimizer optimizer)
{
    static const double rates[DLT_OPTIMIZERS] = {
        [DLT_SGD] = 1e-3,     [DLT_MOMENTUM] = 1e-4, [DLT_NESTEROV] = 1e-4,
        [DLT_ADAM] = 1e-4,    [DLT_ADAMW] = 1e-4,    [DLT_ADAGRAD] = 1e-3,
        [DLT_ADADELTA] = 0.1, [DLT_RMSPROP] = 1e-4,  [DLT_LAMB] = 1e-4};

    return rates[optimizer];
}

struct bench_shape bench_network_shape(const struct bench_network *n, int tensor)
{
    const struct dlt_tensor *t = &n->graph->tensor[tensor];
    struct bench_shape shape = {.rank = t->rank};

    memcpy(shape.dim, t->dim, sizeof(int64_t) * (size_t)t->rank);
    if (t->rank == 0)
        shape = (struct bench_shape){1, {1}};
    return shape;
}

static bool same_shape(const struct bench_shape *a, const struct bench_shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof *a->dim * (size_t)a->rank) == 0;
}

int bench_network_add_stage(struct bench_network *n, struct bench_layer *layer, bool data,
                            bool weight, struct dlt_error *error)
{
    if (dlt_grow(&n->stage, sizeof *n->stage, n->stage_count, 1, &n->stage_room))
        return dlt_fail_memory(error);
    n->stage[n->stage_count++] = (struct bench_stage){
        .layer = layer, .data_gradient = data, .weight_gradient = weight, .node = n->node};
    return BENCH_OK;
}

int bench_network_tensor(struct bench_network *n, int index, struct bench_tensor **tensor,
                         struct dlt_error *error)
{
    struct bench_shape shape = bench_network_shape(n, index);
    int status = BENCH_OK;

    if (!n->tensor[index])
        status = n->backend->tensor_create(n->context, &shape, &n->tensor[index], error);
    *tensor = n->tensor[index];
    return status;
}

int bench_network_reshape(struct bench_network *n, const struct bench_shape *from,
                          const struct bench_shape *to, bool gradient, struct bench_tensor **tensor,
                          struct dlt_error *error)
{
    struct bench_layer *layer;
    int status;

    if (same_shape(from, to))
        return BENCH_OK;
    if (bench_shape_count(from) != bench_shape_count(to))
        return dlt_fail(error, "a tensor of %zu elements cannot be seen as one of %zu",
                        bench_shape_count(from), bench_shape_count(to));
    status = n->backend->view_create(n->context, *tensor, to, &layer, tensor, error);
    return status ? status : bench_network_add_stage(n, layer, gradient, false, error);
}

static int add_parameter(struct bench_network *n, const struct dlt_node *node,
                         struct dlt_error *error)
{
    struct bench_shape shape = bench_network_shape(n, node->output);
    struct bench_layer *layer;
    int status;

    if (!n->backend->parameter_create)
        return dlt_fail(error, "the backend has no parameters as tensors");
    if (&n->graph->node[node->weights_of] != node) {
        n->tensor[node->output] = n->tensor[n->graph->node[node->weights_of].output];
        return BENCH_OK;
    }
    status =
        n->backend->parameter_create(n->context, &shape, &layer, &n->tensor[node->output], error);
    return status ? status : bench_network_add_stage(n, layer, false, node->weight_gradient, error);
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

        n->node = (int)i;
        if (unit_of[i])
            status = bench_network_add_unit(n, unit_of[i], error);
        else if (node->op->class == DLT_OP_PARAMETER)
            status = add_parameter(n, node, error);
        else
            status = bench_network_add_view(n, node, error);
        if (status)
            dlt_fail_in(error, "%s (%s): ", node->name, node->op->name);
    }
    free(unit_of);
    return status;
}

/* Numbers that are given to the network; token ids are the embeddings' own. */
static int add_inputs(struct bench_network *n, struct dlt_error *error)
{
    for (size_t i = 0; i < n->graph->input_count; i++) {
        struct bench_tensor *tensor;

        if (n->graph->tensor[n->graph->input[i]].type == DLT_TENSOR_FLOAT) {
            int status = bench_network_tensor(n, n->graph->input[i], &tensor, error);

            if (status)
                return status;
        }
    }
    return BENCH_OK;
}

static int add_losses(struct bench_network *n, struct dlt_error *error)
{
    n->node = -1;
    for (size_t i = 0; i < n->graph->output_count; i++) {
        const struct dlt_tensor *output = &n->graph->tensor[n->graph->output[i]];
        struct bench_tensor *scores = n->tensor[n->graph->output[i]];
        struct bench_shape shape = bench_network_shape(n, n->graph->output[i]);
        struct bench_shape flat = {.rank = 2};
        struct bench_layer *layer;
        int status;

        if (!scores || !output->gradient)
            continue;
        flat.dim[1] = shape.dim[shape.rank - 1];
        flat.dim[0] = (int64_t)bench_shape_count(&shape) / flat.dim[1];
        status = bench_network_reshape(n, &shape, &flat, true, &scores, error);
        if (status == BENCH_OK)
            status = n->backend->loss_create(n->context, scores, &layer, error);
        if (status == BENCH_OK)
            status = bench_network_add_stage(n, layer, false, false, error);
        if (status)
            return status;
        n->stage[n->stage_count - 1].loss = true;
    }
    return BENCH_OK;
}

static const char *stage_name(const struct bench_network *n, const struct bench_stage *stage)
{
    return stage->node < 0 ? "loss" : n->graph->node[stage->node].name;
}

/* Readers of a tensor come after its maker, so that from the end backwards gradients are there when
 * they are wanted. */
static int add_backward(struct bench_network *n, struct dlt_error *error)
{
    for (size_t i = n->stage_count; i-- > 0;) {
        const struct bench_stage *stage = &n->stage[i];
        int status = n->backend->layer_train(stage->layer, stage->data_gradient,
                                             stage->weight_gradient, &n->training, error);

        if (status) {
            dlt_fail_in(error, "%s: ", stage_name(n, stage));
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

/* Each trained parameter has a weight, a gradient and the optimizer's states. */
static int check_memory(const struct bench_network *n, double memory_bytes, struct dlt_error *error)
{
    const struct dlt_record *update = &n->plan->update;
    double elements = update->kind ? (double)update->u.update.elements : 0;
    double bytes = 4 * elements * (2 + dlt_optimizer_states(n->training.optimizer));
    char needed[32], given[32];

    if (bytes <= memory_bytes)
        return BENCH_OK;
    dlt_fail(error,
             "weights, gradients and states of %s take %s, and there are %s: say optimizer=sgd, or "
             "run a smaller network",
             dlt_optimizer_names[n->training.optimizer], dlt_text_from_bytes(needed, bytes),
             dlt_text_from_bytes(given, memory_bytes));
    return BENCH_NO_MEMORY;
}

int bench_network_create(const struct bench_session *session, const struct dlt_model *model,
                         int64_t batch, struct bench_network **network, struct dlt_error *error)
{
    const struct dlbench_backend *backend = session->backend;
    struct bench_context *context = session->context;
    struct bench_network *n = calloc(1, sizeof *n);
    int status;

    if (!n)
        return dlt_fail_memory(error);
    n->backend = backend;
    n->context = context;
    status = lower(n, model, batch, session->threads, error);
    if (status == BENCH_OK)
        status = check_memory(n, session->memory_bytes, error);
    if (status == BENCH_OK) {
        n->tensor = calloc(n->graph->tensor_count + 1, sizeof(struct bench_tensor *));
        n->node_layer = calloc(n->graph->node_count + 1, sizeof(struct bench_layer *));
        status = n->tensor && n->node_layer ? BENCH_OK : dlt_fail_memory(error);
    }
    if (status == BENCH_OK && backend->plan)
        bench_plan_open(backend->plan(context));
    if (status == BENCH_OK)
        status = add_inputs(n, error);
    if (status == BENCH_OK)
        status = add_nodes(n, error);
    if (status == BENCH_OK)
        status = add_losses(n, error);
    if (status == BENCH_OK)
        status = add_backward(n, error);
    if (status == BENCH_OK && backend->plan)
        status = backend->plan_end(context, error);
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
    free(network->node_layer);
    free(network->stage);
    free(network);
}

static int run_stages(struct bench_network *n, enum dlt_pass pass, bool backwards,
                      struct dlt_error *error)
{
    for (size_t i = 0; i < n->stage_count; i++) {
        const struct bench_stage *stage = &n->stage[backwards ? n->stage_count - 1 - i : i];

        if (stage->loss && pass != DLT_FORWARD)
            continue;
        if (n->backend->run(stage->layer, pass, 1, error))
            return dlt_fail_in(error, "%s: ", stage_name(n, stage));
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

double bench_network_least_memory(const struct bench_network *network)
{
    const struct bench_plan *plan =
        network->backend->plan ? network->backend->plan(network->context) : NULL;

    return plan ? plan->apart_bytes + plan->least_bytes : 0;
}

/* One pass of one stage between two marks. */
static int time_stage(struct bench_network *n, const struct bench_stage *stage, enum dlt_pass pass,
                      double *sum_s, struct dlt_error *error)
{
    const struct dlbench_backend *backend = n->backend;
    double seconds;

    if (stage->loss && pass != DLT_FORWARD)
        return 0;
    if (backend->mark(n->context, 0, error) || backend->run(stage->layer, pass, 1, error) ||
        backend->mark(n->context, 1, error) || backend->between(n->context, 0, 1, &seconds, error))
        return dlt_fail_in(error, "%s: ", stage_name(n, stage));
    *sum_s += seconds;
    return 0;
}

int bench_network_profile(struct bench_network *n, struct dlt_error *error)
{
    for (size_t i = 0; i < n->stage_count; i++)
        if (time_stage(n, &n->stage[i], DLT_FORWARD, &n->stage[i].forward_s, error))
            return -1;
    for (size_t i = n->stage_count; i-- > 0;)
        if (time_stage(n, &n->stage[i], DLT_BACKWARD, &n->stage[i].backward_s, error))
            return -1;
    for (size_t i = 0; i < n->stage_count; i++)
        if (time_stage(n, &n->stage[i], DLT_UPDATE, &n->stage[i].update_s, error))
            return -1;
    n->profiled++;
    return 0;
}

size_t bench_network_op_count(const struct bench_network *n)
{
    return n->graph->node_count + 1;
}

struct bench_network_op bench_network_op_at(const struct bench_network *n, size_t index)
{
    bool loss = index == n->graph->node_count;
    double steps = n->profiled > 0 ? n->profiled : 1;
    struct bench_network_op op = {.name = loss ? "loss" : n->graph->node[index].name,
                                  .op = loss ? "loss" : n->graph->node[index].op->name};

    for (size_t i = 0; i < n->stage_count; i++) {
        const struct bench_stage *stage = &n->stage[i];

        if (stage->node != (loss ? -1 : (int)index))
            continue;
        op.forward_s += stage->forward_s / steps;
        op.backward_s += stage->backward_s / steps;
        op.update_s += stage->update_s / steps;
    }
    return op;
}
