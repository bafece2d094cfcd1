/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/lower.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/op.h"
#include "lower/scatter.h"

/* What a framework runs as one kernel: a node of class `next` joins the unit whose main node is of
 * class `main` if nothing else reads what lies between. */
struct fusion {
    enum dlt_op_class main, next;
    bool training, inference;
};

enum { MOST_FUSIONS = 10 };

struct rules {
    struct fusion fusion[MOST_FUSIONS];
    size_t fusions;
    bool bias_apart; /* a convolution's bias is a kernel of its own */
};

#define ELEMENTWISE_CHAINS                                                                         \
    {DLT_OP_ACTIVATION, DLT_OP_ACTIVATION, true, true},                                            \
        {DLT_OP_ACTIVATION, DLT_OP_ARITHMETIC, true, true},                                        \
        {DLT_OP_ACTIVATION, DLT_OP_DROPOUT, true, false},                                          \
        {DLT_OP_ARITHMETIC, DLT_OP_ACTIVATION, true, true},                                        \
        {DLT_OP_ARITHMETIC, DLT_OP_ARITHMETIC, true, true},                                        \
        {DLT_OP_ARITHMETIC, DLT_OP_DROPOUT, true, false},                                          \
        {DLT_OP_DROPOUT, DLT_OP_ACTIVATION, true, false},                                          \
    {                                                                                              \
        DLT_OP_DROPOUT, DLT_OP_ARITHMETIC, true, false                                             \
    }

static const struct rules eager = {.bias_apart = true};
static const struct rules compiled = {.fusion = {ELEMENTWISE_CHAINS}, .fusions = 8};
static const struct rules graph_mode = {
    /* Grappler's remapper: bias and activation into the product; in inference batch_norm as well.
     */
    .fusion = {{DLT_OP_CONVOLUTION, DLT_OP_ACTIVATION, true, true},
               {DLT_OP_MATMUL, DLT_OP_ACTIVATION, true, true},
               {DLT_OP_CONVOLUTION, DLT_OP_BATCH_NORM, false, true}},
    .fusions = 3};
static const struct rules primitives = {.fusions = 0};

static const struct rules *const framework_rules[DLT_FRAMEWORKS] = {
    [DLT_PYTORCH] = &eager,
    [DLT_TENSORFLOW] = &graph_mode,
    [DLT_JAX] = &compiled,
    [DLT_FRAMEWORK_NONE] = &primitives,
};

/* Kernels of one node in eager PyTorch. backward: whatever gradients are needed; data and weight:
 * on top, for each of the two. */
static const struct {
    double forward, backward, data, weight;
} class_kernels[DLT_OP_CLASSES] = {
    [DLT_OP_CONVOLUTION] = {1, 0, 1, 1}, [DLT_OP_MATMUL] = {1, 0, 1, 1},
    [DLT_OP_BATCH_NORM] = {2, 1, 0, 0}, /* counts the batch in a kernel of its own */
    [DLT_OP_NORM] = {1, 0, 1, 1},        [DLT_OP_SOFTMAX] = {1, 1, 0, 0},
    [DLT_OP_POOL] = {1, 1, 0, 0},        [DLT_OP_ACTIVATION] = {1, 1, 0, 0},
    [DLT_OP_ARITHMETIC] = {1, 1, 0, 0},  [DLT_OP_DROPOUT] = {1, 1, 0, 0},
    [DLT_OP_REDUCTION] = {1, 1, 0, 0},   [DLT_OP_LOSS] = {2, 2, 0, 0},
    [DLT_OP_EMBEDDING] = {1, 0, 0, 2}, /* the gradient is set to zero first */
    [DLT_OP_ATTENTION] = {1, 2, 0, 0},   [DLT_OP_RECURRENT] = {2, 0, 2, 2},
    [DLT_OP_MOVE] = {1, 1, 0, 0},
};

/* A unit while units are being made. */
struct draft {
    struct dlt_unit unit;
    int last; /* node whose output the unit's is */
};

struct lowering {
    const struct dlt_graph *graph;
    const struct dlt_training *settings;
    const struct rules *rules;
    bool training;
    int threads;
    unsigned char *dtype; /* of each tensor */
    struct draft *draft;
    size_t drafts;
    int *draft_of; /* of each node; -1: nothing runs */
    int *next;     /* the next node of the same draft; -1: the last */
    /* What amp adds. */
    double cast_elements, cast_kernels;
};

static bool is_product(enum dlt_op_class class)
{
    return class == DLT_OP_CONVOLUTION || class == DLT_OP_MATMUL;
}

/* Whose arithmetic a math mode changes, and whose weights autocast turns into half. */
static bool multiplies(enum dlt_op_class class)
{
    return is_product(class) || class == DLT_OP_ATTENTION || class == DLT_OP_RECURRENT;
}

/* The draft that a node may join through one of its inputs; NULL: none. */
static struct draft *find_host(const struct lowering *l, size_t node)
{
    const struct dlt_graph *g = l->graph;
    const struct dlt_node *n = &g->node[node];

    for (size_t k = 0; k < n->input_count; k++) {
        const struct dlt_tensor *in = &g->tensor[n->input[k]];
        struct draft *host;
        enum dlt_op_class main;

        if (in->node < 0 || in->consumers != 1 || l->draft_of[in->node] < 0)
            continue;
        host = &l->draft[l->draft_of[in->node]];
        main = g->node[host->unit.node].op->class;
        if (host->last != in->node)
            continue;
        if (n->op->class == DLT_OP_ACTIVATION && host->unit.record.activation)
            continue;
        for (size_t i = 0; i < l->rules->fusions; i++) {
            const struct fusion *f = &l->rules->fusion[i];

            if (f->main == main && f->next == n->op->class &&
                (l->training ? f->training : f->inference))
                return host;
        }
    }
    return NULL;
}

/* A product remembers the function at its end; a chain of elementwise functions reads all that its
 * members read but what passes between them. */
static void join(struct lowering *l, struct draft *host, size_t node,
                 const struct dlt_record *record)
{
    const struct dlt_node *n = &l->graph->node[node];

    if (is_product(l->graph->node[host->unit.node].op->class)) {
        if (n->op->class == DLT_OP_ACTIVATION)
            host->unit.record.activation = n->op->function;
    } else {
        int64_t operands = host->unit.record.u.rowwise.operands;

        host->unit.record.u.rowwise = record->u.rowwise;
        host->unit.record.u.rowwise.operands += operands - 1;
    }
    host->unit.data_gradient |= l->training && n->data_gradient;
    host->unit.weight_gradient |= l->training && n->weight_gradient;
    l->next[host->last] = (int)node;
    host->last = (int)node;
    host->unit.cover_count++;
    l->draft_of[node] = (int)(host - l->draft);
}

/* Products cast what comes in another type, each weight once; the other way round for operators
 * that autocast runs in float32. */
static void count_casts(struct lowering *l, size_t node, enum dlt_dtype dtype, double weights)
{
    const struct dlt_node *n = &l->graph->node[node];

    for (size_t k = 0; k < n->input_count; k++)
        if (l->graph->tensor[n->input[k]].type == DLT_TENSOR_FLOAT &&
            l->dtype[n->input[k]] != dtype) {
            l->cast_elements += dlt_tensor_elements(&l->graph->tensor[n->input[k]]);
            l->cast_kernels++;
        }
    if (weights > 0 && multiplies(n->op->class) && n->weights_of == (int)node &&
        dtype != dlt_lower_parameter_dtype(l->settings->precision)) {
        l->cast_elements += weights;
        l->cast_kernels++;
    }
}

static void set_kernels(const struct lowering *l, struct dlt_unit *unit, double tensors)
{
    enum dlt_op_class class = l->graph->node[unit->node].op->class;
    bool bias = is_product(class) && tensors > 1;

    unit->forward_kernels = class_kernels[class].forward;
    if (bias && l->rules->bias_apart && class == DLT_OP_CONVOLUTION)
        unit->forward_kernels++;
    if (l->graph->node[unit->node].op->class == DLT_OP_BATCH_NORM && !l->training)
        unit->forward_kernels = 1;
    if (!unit->data_gradient && !unit->weight_gradient)
        return;
    unit->backward_kernels = class_kernels[class].backward;
    if (unit->data_gradient)
        unit->backward_kernels += class_kernels[class].data;
    if (unit->both_gradients)
        unit->backward_kernels += class_kernels[class].data;
    if (unit->weight_gradient)
        unit->backward_kernels += class_kernels[class].weight + bias;
}

static void add_draft(struct lowering *l, size_t node, const struct dlt_op_result *result)
{
    const struct dlt_node *n = &l->graph->node[node];
    struct draft *d = &l->draft[l->drafts];
    struct dlt_record *r = &d->unit.record;

    *d = (struct draft){
        .unit = {.record = result->record, .name = n->name, .node = (int)node, .cover_count = 1},
        .last = (int)node};
    d->unit.data_gradient = l->training && n->data_gradient;
    d->unit.weight_gradient = l->training && n->weight_gradient;
    d->unit.both_gradients = l->training && dlt_node_both_gradients(l->graph, node);
    d->unit.scattered = dlt_scattered(l->graph, node, &d->unit.scattered_operand);
    r->threads = l->threads;
    r->dtype = (enum dlt_dtype)l->dtype[n->output];
    if (multiplies(n->op->class) && l->settings->precision == DLT_PRECISION_TF32)
        r->math = DLT_TF32;
    if (r->kind->dims > 0)
        r->layout = l->settings->layout;
    set_kernels(l, &d->unit, result->tensors);
    count_casts(l, node, r->dtype, result->weight);
    l->draft_of[node] = (int)l->drafts++;
}

static void make_drafts(struct lowering *l)
{
    for (size_t i = 0; i < l->graph->node_count; i++) {
        struct dlt_op_result result;
        struct draft *host;

        dlt_node_infer(l->graph, i, l->training, &result);
        l->draft_of[i] = l->next[i] = -1;
        if (!result.record.kind)
            continue;
        host = find_host(l, i);
        if (host)
            join(l, host, i, &result.record);
        else
            add_draft(l, i, &result);
    }
}

/* A unit over elements of no particular node. */
static void add_loose(const struct lowering *l, struct dlt_plan *plan, const char *name,
                      enum dlt_function function, enum dlt_dtype dtype, double elements,
                      double kernels)
{
    struct dlt_unit *u = &plan->unit[plan->unit_count];

    *u = (struct dlt_unit){.name = name, .node = -1, .same_as = -1};
    u->record = dlt_record_make(dlt_record_kind_find("elementwise"));
    u->record.u.rowwise =
        (struct dlt_rowwise){.function = function, .operands = 1, .rows = 1, .columns = 1};
    u->record.u.rowwise.columns = (int64_t)fmin(elements, 9007199254740992.0);
    u->record.dtype = dtype;
    u->record.threads = l->threads;
    u->forward_kernels = kernels;
    plan->unit_count++;
}

/* Units in the order in which they finish, each with the nodes that it covers. */
static void emit_units(const struct lowering *l, struct dlt_plan *plan)
{
    int *cover = plan->cover;

    for (size_t i = 0; i < l->graph->node_count; i++) {
        int index = l->draft_of[i];
        struct dlt_unit *unit;

        if (index < 0 || l->draft[index].last != (int)i)
            continue;
        unit = &plan->unit[plan->unit_count++];
        *unit = l->draft[index].unit;
        unit->same_as = -1;
        unit->covers = cover;
        for (int k = unit->node; k >= 0; k = l->next[k])
            *cover++ = k;
    }
}

/* Units that are the same work, through a hash table of unit indices (-1: free). */
static int find_same(struct dlt_plan *plan, struct dlt_error *error)
{
    size_t room = 64;
    int *slot;

    while (room < 2 * plan->unit_count + 2)
        room *= 2;
    slot = malloc(room * sizeof *slot);
    if (!slot)
        return dlt_fail_memory(error);
    memset(slot, 0xff, room * sizeof *slot);
    for (size_t i = 0; i < plan->unit_count; i++) {
        struct dlt_unit *u = &plan->unit[i];
        size_t h = dlt_record_hash(&u->record) + (u->data_gradient ? 3 : 0) +
                   (u->weight_gradient ? 5 : 0) + (u->both_gradients ? 7 : 0);

        for (;; h++) {
            int *s = &slot[h & (room - 1)];
            const struct dlt_unit *other = *s < 0 ? NULL : &plan->unit[*s];

            if (!other) {
                *s = (int)i;
                break;
            }
            if (other->data_gradient == u->data_gradient &&
                other->weight_gradient == u->weight_gradient &&
                other->both_gradients == u->both_gradients && other->scattered == u->scattered &&
                other->scattered_operand == u->scattered_operand &&
                dlt_record_equal(&other->record, &u->record)) {
                u->same_as = *s;
                break;
            }
        }
    }
    free(slot);
    return 0;
}

static void make_update(struct lowering *l, struct dlt_plan *plan)
{
    static const enum dlt_implementation fixed[DLT_FRAMEWORKS] = {
        [DLT_TENSORFLOW] = DLT_FUSED, [DLT_JAX] = DLT_FUSED, [DLT_FRAMEWORK_NONE] = DLT_FOR_LOOP};
    enum dlt_framework framework = l->settings->framework;
    double elements = 0, tensors = 0;
    struct dlt_record *update = &plan->update;

    for (size_t i = 0; i < l->graph->node_count; i++) {
        struct dlt_node_counts counts;

        if (!l->graph->node[i].weight_gradient)
            continue;
        dlt_node_count(l->graph, i, false, &counts);
        elements += counts.parameters;
        tensors += counts.tensors;
    }
    plan->gradient_bytes =
        elements * (double)dlt_dtype_size(dlt_lower_parameter_dtype(l->settings->precision));
    if (elements == 0 || l->settings->optimizer == DLT_OPTIMIZER_NONE)
        return;
    *update = dlt_record_make(dlt_record_kind_find("optimizer_update"));
    update->pass = DLT_UPDATE;
    update->dtype = dlt_lower_parameter_dtype(l->settings->precision);
    update->optimizer = l->settings->optimizer;
    update->threads = l->threads;
    update->u.update.elements = (int64_t)elements;
    update->u.update.tensors = (int64_t)tensors;
    update->u.update.implementation =
        framework == DLT_PYTORCH ? l->settings->implementation : fixed[framework];
    /* torch.optim takes lists of tensors by itself only where all of them are on a GPU. */
    if (l->threads > 0 && update->u.update.implementation == DLT_FOREACH)
        update->u.update.implementation = DLT_FOR_LOOP;
    plan->update_kernels = dlt_update_kernels(update);
    if (l->settings->precision == DLT_PRECISION_AMP_FLOAT16)
        add_loose(l, plan, "unscale", DLT_MUL, DLT_FLOAT32, elements, ceil(tensors / 110));
}

static int fill_plan(struct lowering *l, struct dlt_plan *plan, struct dlt_error *error)
{
    size_t nodes = l->graph->node_count;

    /* Two units more than nodes: casts and unscaling. */
    plan->unit = calloc(nodes + 2, sizeof *plan->unit);
    plan->cover = malloc(nodes * sizeof *plan->cover);
    if (!plan->unit || !plan->cover)
        return dlt_fail_memory(error);
    if (l->cast_elements > 0) {
        enum dlt_precision precision = l->settings->precision;

        add_loose(l, plan, "casts", DLT_CAST,
                  precision == DLT_PRECISION_AMP_FLOAT16 ? DLT_FLOAT16 : DLT_BFLOAT16,
                  l->cast_elements, l->cast_kernels);
        plan->unit[0].data_gradient = l->training;
        plan->unit[0].backward_kernels = l->training ? l->cast_kernels : 0;
    }
    emit_units(l, plan);
    if (l->training)
        make_update(l, plan);
    return find_same(plan, error);
}

int dlt_lower(const struct dlt_graph *graph, const struct dlt_training *settings, bool training,
              int threads, struct dlt_plan **plan, struct dlt_error *error)
{
    struct lowering l = {.graph = graph,
                         .settings = settings,
                         .rules =
                             settings->compile ? &compiled : framework_rules[settings->framework],
                         .training = training,
                         .threads = threads};
    struct dlt_plan *p = calloc(1, sizeof *p);
    int status = -1;

    *plan = NULL;
    l.dtype = malloc(graph->tensor_count);
    l.draft = calloc(graph->node_count, sizeof *l.draft);
    l.draft_of = calloc(graph->node_count, sizeof *l.draft_of);
    l.next = calloc(graph->node_count, sizeof *l.next);
    if (!p || !l.dtype || !l.draft || !l.draft_of || !l.next) {
        dlt_fail_memory(error);
        goto out;
    }
    p->framework = settings->framework;
    dlt_lower_dtypes(graph, settings->precision, l.dtype);
    make_drafts(&l);
    status = fill_plan(&l, p, error);
    if (status == 0) {
        *plan = p;
        p = NULL;
    }
out:
    dlt_plan_destroy(p);
    free(l.dtype);
    free(l.draft);
    free(l.draft_of);
    free(l.next);
    return status;
}

void dlt_plan_destroy(struct dlt_plan *plan)
{
    if (!plan)
        return;
    free(plan->unit);
    free(plan->cover);
    free(plan);
}
