/* SPDX-License-Identifier: Apache-2.0 */

/* Nodes that compute: their inputs in the shapes of their record, the layer, their output in the
 * graph's shape. */
#include <string.h>

#include "base/error.h"
#include "network_build.h"

/* A layer while it is made. */
struct work {
    const struct dlt_unit *unit;
    const struct dlt_node *node;
    struct dlt_record record;
    struct bench_layer_options options;
    struct bench_tensor *input[BENCH_OPERANDS];
    size_t input_count;
    struct bench_shape output;
};

static int make_layer(struct bench_network *n, struct work *w, struct bench_tensor **output,
                      struct dlt_error *error)
{
    struct bench_layer *layer;
    int status = n->backend->layer_create(n->context, &w->record, &w->options, w->input,
                                          w->input_count, &layer, output, error);

    if (status)
        return status;
    n->node_layer[w->unit->node] = layer;
    return bench_network_add_stage(n, layer, w->unit->data_gradient, w->unit->weight_gradient,
                                   error);
}

static bool needs_gradient(const struct bench_network *n, const struct work *w, size_t input)
{
    return n->graph->tensor[w->node->input[input]].gradient && w->unit->data_gradient;
}

static int take_input(struct bench_network *n, struct work *w, size_t input,
                      struct dlt_error *error)
{
    if (!needs_gradient(n, w, input))
        w->options.constant |= UINT64_C(1) << input;
    w->input_count = input + 1;
    return bench_network_tensor(n, w->node->input[input], &w->input[input], error);
}

/* Each input in the record's shape, repeated where it has fewer batches. */
static int take_shaped(struct bench_network *n, struct work *w, size_t count,
                       struct dlt_error *error)
{
    int status = BENCH_OK;

    for (size_t i = 0; i < count && status == BENCH_OK; i++) {
        struct bench_shape own = bench_network_shape(n, w->node->input[i]), wanted;
        bool gradient = needs_gradient(n, w, i);

        status = take_input(n, w, i, error);
        if (status || !bench_role_shape(&w->record, BENCH_INPUT, (int)i, &wanted))
            continue;
        if (bench_shape_count(&own) != bench_shape_count(&wanted)) {
            struct bench_shape full = w->output;

            full.dim[full.rank - 2] = own.dim[own.rank - 2];
            full.dim[full.rank - 1] = own.dim[own.rank - 1];
            status = bench_network_expand(n, &own, &full, gradient, &w->input[i], error);
            own = full;
        }
        if (status == BENCH_OK)
            status = bench_network_reshape(n, &own, &wanted, gradient, &w->input[i], error);
    }
    return status;
}

/* The layer's output, in the graph's shape. */
static int finish(struct bench_network *n, struct work *w, struct bench_tensor *output,
                  struct dlt_error *error)
{
    struct bench_shape made = w->output;
    bool any = w->unit->data_gradient || w->unit->weight_gradient;
    int status;

    if (!bench_role_shape(&w->record, BENCH_OUTPUT, 0, &made))
        made = w->output;
    status = bench_network_reshape(n, &made, &w->output, any, &output, error);
    n->tensor[w->node->output] = output;
    return status;
}

static int add_shaped(struct bench_network *n, struct work *w, struct dlt_error *error)
{
    struct bench_tensor *output;
    size_t count = strcmp(w->record.kind->name, "embedding") == 0 ? 0 : w->node->input_count;
    int status = take_shaped(n, w, count, error);

    if (status == BENCH_OK)
        status = make_layer(n, w, &output, error);
    return status ? status : finish(n, w, output, error);
}

/* Queries, keys and values; a mask would be a step of its own. */
static int add_attention(struct bench_network *n, struct work *w, struct dlt_error *error)
{
    if (w->node->input_count > 3)
        return dlt_fail(error, "attention with a mask cannot be run");
    return add_shaped(n, w, error);
}

/* Operands in their own shapes, two at a time. */
static int add_elementwise(struct bench_network *n, struct work *w, struct dlt_error *error)
{
    enum dlt_function function = (enum dlt_function)w->record.u.rowwise.function;
    struct bench_tensor *output = NULL;
    size_t at_once = function == DLT_WHERE ? 3 : w->node->input_count > 1 ? 2 : 1;
    int status = BENCH_OK;

    if (function == DLT_POW)
        at_once = 1;
    w->options.output = &w->output;
    w->record.u.rowwise.operands = (int64_t)at_once;
    for (size_t i = 0; i < at_once && status == BENCH_OK; i++)
        status = take_input(n, w, i, error);
    if (status == BENCH_OK)
        status = make_layer(n, w, &output, error);
    for (size_t i = at_once; i < w->node->input_count && at_once == 2 && status == BENCH_OK; i++) {
        status = take_input(n, w, i, error);
        w->input[0] = output;
        w->input[1] = w->input[i];
        w->input_count = 2;
        if (status == BENCH_OK)
            status = make_layer(n, w, &output, error);
    }
    n->tensor[w->node->output] = output;
    return status;
}

/* prelu's slopes as a parameter, one for all or for each channel. */
static int add_prelu(struct bench_network *n, struct work *w, struct dlt_error *error)
{
    const struct dlt_prelu_attributes *a = (const void *)w->node->attribute;
    struct bench_shape shape = {.rank = w->output.rank};
    struct bench_layer *layer;
    int status = take_input(n, w, 0, error);

    for (int d = 0; d < shape.rank; d++)
        shape.dim[d] = d == 1 ? a->num_parameters : 1;
    if (!n->backend->parameter_create)
        return dlt_fail(error, "the backend has no parameters as tensors");
    if (status == BENCH_OK)
        status = n->backend->parameter_create(n->context, &shape, &layer, &w->input[1], error);
    if (status == BENCH_OK)
        status = bench_network_add_stage(n, layer, false, w->unit->weight_gradient, error);
    w->options.output = &w->output;
    w->record.u.rowwise.operands = 2;
    w->input_count = 2;
    return status ? status : make_layer(n, w, &n->tensor[w->node->output], error);
}

static int add_concat(struct bench_network *n, struct work *w, struct dlt_error *error)
{
    const struct dlt_dim_attributes *a = (const void *)w->node->attribute;
    int status = BENCH_OK;

    if (w->node->input_count > BENCH_OPERANDS)
        return dlt_fail(error, "more than %d inputs cannot be run", BENCH_OPERANDS);
    w->options.axis = (int)(a->dim < 0 ? a->dim + w->output.rank : a->dim);
    for (size_t i = 0; i < w->node->input_count && status == BENCH_OK; i++)
        status = take_input(n, w, i, error);
    return status ? status : make_layer(n, w, &n->tensor[w->node->output], error);
}

static int add_softmax(struct bench_network *n, struct work *w, struct dlt_error *error)
{
    const struct dlt_dim_attributes *a = (const void *)w->node->attribute;
    int status = take_input(n, w, 0, error);

    w->options.axis = (int)(a->dim < 0 ? a->dim + w->output.rank : a->dim);
    return status ? status : make_layer(n, w, &n->tensor[w->node->output], error);
}

static int add_reduction(struct bench_network *n, struct work *w, struct dlt_error *error)
{
    const struct dlt_reduce_attributes *a = (const void *)w->node->attribute;
    struct bench_shape in = bench_network_shape(n, w->node->input[0]);
    int64_t count = a->dim.count == DLT_ABSENT ? 0 : a->dim.count > 0 ? a->dim.count : 1;
    int status;

    if (w->node->op->class == DLT_OP_LOSS)
        return dlt_fail(error, "%s cannot be run", w->node->op->name);
    if (a->dim.count == DLT_ABSENT)
        w->options.reduced = (1U << in.rank) - 1;
    for (int64_t i = 0; i < count; i++)
        w->options.reduced |=
            1U << (a->dim.value[i] < 0 ? a->dim.value[i] + in.rank : a->dim.value[i]);
    w->options.output = &w->output;
    status = take_input(n, w, 0, error);
    return status ? status : make_layer(n, w, &n->tensor[w->node->output], error);
}

static int add_upsample(struct bench_network *n, struct work *w, struct dlt_error *error)
{
    int status = take_input(n, w, 0, error);

    w->options.output = &w->output;
    return status ? status : make_layer(n, w, &n->tensor[w->node->output], error);
}

/* Time first, and back to the graph's order; the last state of a single layer is its last output.
 */
static int add_recurrent(struct bench_network *n, struct work *w, struct dlt_error *error)
{
    static const int turned[] = {1, 0, 2};
    const struct dlt_recurrent_attributes *a = (const void *)w->node->attribute;
    const struct dlt_recurrent *r = &w->record.u.recurrent;
    struct bench_shape in = bench_network_shape(n, w->node->input[0]), made;
    bool any = w->unit->data_gradient || w->unit->weight_gradient;
    struct bench_tensor *output, *state;
    int status = take_input(n, w, 0, error);

    if (status == BENCH_OK && a->batch_first)
        status =
            bench_network_permute(n, &in, turned, needs_gradient(n, w, 0), &w->input[0], error);
    if (status == BENCH_OK)
        status = make_layer(n, w, &output, error);
    if (status)
        return status;
    bench_role_shape(&w->record, BENCH_OUTPUT, 0, &made);
    state = output;
    if (a->batch_first)
        status = bench_network_permute(n, &made, turned, any, &output, error);
    n->tensor[w->node->output] = output;
    for (size_t i = 1; i < w->node->output_count && status == BENCH_OK; i++) {
        const struct dlt_tensor *t = &n->graph->tensor[w->node->output + (int)i];
        struct bench_map last = {.shape = {3, {1, r->batch, r->hidden_size}},
                                 .start = (r->length - 1) * r->batch * r->hidden_size,
                                 .stride = {1, r->hidden_size, 1}};

        if (t->consumers == 0)
            continue;
        if (i > 1 || r->num_layers > 1 || r->bidirectional)
            return dlt_fail(error, "%s whose states are read cannot be run", w->node->op->name);
        status = bench_network_map(n, &last, any, &state, error);
        n->tensor[w->node->output + 1] = state;
    }
    return status;
}

/* Classes last. */
static int add_cross_entropy(struct bench_network *n, struct work *w, struct dlt_error *error)
{
    struct bench_shape own = bench_network_shape(n, w->node->input[0]), wanted;
    int order[BENCH_RANK] = {0};
    int status = take_input(n, w, 0, error);

    for (int d = 1; d < own.rank; d++)
        order[d] = d + 1 < own.rank ? d + 1 : 1;
    if (status == BENCH_OK && own.rank > 2)
        status =
            bench_network_permute(n, &own, order, needs_gradient(n, w, 0), &w->input[0], error);
    bench_role_shape(&w->record, BENCH_INPUT, 0, &wanted);
    if (own.rank > 2) {
        int64_t classes = own.dim[1];

        memmove(&own.dim[1], &own.dim[2], sizeof(int64_t) * (size_t)(own.rank - 2));
        own.dim[own.rank - 1] = classes;
    }
    if (status == BENCH_OK)
        status =
            bench_network_reshape(n, &own, &wanted, needs_gradient(n, w, 0), &w->input[0], error);
    return status ? status : make_layer(n, w, &n->tensor[w->node->output], error);
}

static const struct {
    const char *kind;
    enum dlt_function function; /* DLT_FUNCTION_NONE: any */
    int (*add)(struct bench_network *n, struct work *w, struct dlt_error *error);
} adders[] = {
    {"elementwise", DLT_CONCAT, add_concat},
    {"elementwise", DLT_PRELU, add_prelu},
    {"elementwise", DLT_FUNCTION_NONE, add_elementwise},
    {"softmax", DLT_FUNCTION_NONE, add_softmax},
    {"reduction", DLT_FUNCTION_NONE, add_reduction},
    {"upsample", DLT_FUNCTION_NONE, add_upsample},
    {"cross_entropy", DLT_FUNCTION_NONE, add_cross_entropy},
    {"scaled_dot_product_attention", DLT_FUNCTION_NONE, add_attention},
    {"rnn", DLT_FUNCTION_NONE, add_recurrent},
    {"gru", DLT_FUNCTION_NONE, add_recurrent},
    {"lstm", DLT_FUNCTION_NONE, add_recurrent},
};

static bool shares_what_can_be(const struct dlt_record *record)
{
    return strcmp(record->kind->name, "dense") == 0 || strcmp(record->kind->name, "embedding") == 0;
}

int bench_network_add_unit(struct bench_network *n, const struct dlt_unit *unit,
                           struct dlt_error *error)
{
    const struct dlt_node *node = &n->graph->node[unit->node];
    struct work w = {.unit = unit,
                     .node = node,
                     .record = unit->record,
                     .options = {.copies = 1, .op = node->op->name},
                     .output = bench_network_shape(n, node->output)};

    if (n->graph->tensor[node->output].type != DLT_TENSOR_FLOAT)
        return BENCH_OK;
    if (node->op->class == DLT_OP_MOVE && unit->record.u.rowwise.function == DLT_COPY)
        return bench_network_add_view(n, node, error);
    if (node->weights_of != unit->node) {
        w.options.share = n->node_layer[node->weights_of];
        if (!w.options.share || !shares_what_can_be(&w.record))
            return dlt_fail(error, "weights shared between these layers cannot be run");
    }
    for (size_t i = 0; i < sizeof adders / sizeof *adders; i++)
        if (strcmp(adders[i].kind, w.record.kind->name) == 0 &&
            (adders[i].function == DLT_FUNCTION_NONE ||
             (int64_t)adders[i].function == w.record.u.rowwise.function))
            return adders[i].add(n, &w, error);
    return add_shaped(n, &w, error);
}
