/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of an ONNX graph one after the other; functions and branches are walked in place. */
#include <stdlib.h>
#include <string.h>

#include "graph/onnx_build.h"
#include "graph/op.h"

enum { MOST_VISITED = 1000000, MOST_CALLS = 32 };

static int walk_graph(struct dlt_onnx_build *b, const struct dlt_onnx_graph *graph,
                      const struct dlt_onnx_fusion *fusion);

/* ---- initializers ---- */

/* Real numbers in any shape are parameters, but a single one without a shape is a constant. */
static int bind_initializers(struct dlt_onnx_build *b, const struct dlt_onnx_graph *graph)
{
    for (size_t i = 0; i < graph->initializer_count; i++) {
        const struct dlt_onnx_tensor *t = &graph->initializer[i];
        struct dlt_onnx_value value = dlt_onnx_of(t, true);

        if (t->name < 0)
            return dlt_fail(b->error, "initializer %zu has no name", i);
        if (b->scope->value[t->name].kind != DLT_ONNX_NOTHING)
            return dlt_fail(b->error, "initializer \"%.200s\" is there twice",
                            b->scope->names->text[t->name]);
        if (dlt_onnx_type_is_real(t->type) && t->rank > 0 && t->count > 0) {
            value.kind = DLT_ONNX_PARAMETER;
            value.key = dlt_onnx_initializer_key(t);
        }
        b->scope->value[t->name] = value;
    }
    return 0;
}

/* ---- what is not known ---- */

static const struct dlt_onnx_info *info_of(const struct dlt_onnx_build *b, int name)
{
    const struct dlt_onnx_graph *g = &b->model->graph;

    if (b->scope->names != &b->model->names)
        return NULL;
    for (size_t i = 0; i < g->value_count; i++)
        if (g->value[i].name == name)
            return &g->value[i];
    for (size_t i = 0; i < g->output_count; i++)
        if (g->output[i].name == name)
            return &g->output[i];
    return NULL;
}

/* The shape that the file tells of a value; false: it does not tell all of it, and *shape is as it
 * was. */
static bool told_shape(const struct dlt_onnx_build *b, int name, struct dlt_onnx_tensor *shape)
{
    /* Searching is linear; so many unknown operators make no estimate anyway. */
    const struct dlt_onnx_info *info = b->unknown < 1000 ? info_of(b, name) : NULL;
    struct dlt_onnx_tensor told;

    if (!info || info->rank < 0)
        return false;
    told = (struct dlt_onnx_tensor){.name = -1, .type = info->type, .rank = info->rank};
    for (int d = 0; d < info->rank; d++) {
        told.dim[d] = info->dim[d].value;
        if (told.dim[d] < 0)
            told.dim[d] = dlt_onnx_symbol(b, info->dim[d].param, d);
        else if (d == 0 && b->file_batch > 0 && told.dim[d] == b->file_batch)
            told.dim[d] = b->batch;
        if (told.dim[d] < 1 || told.dim[d] > INT32_MAX)
            return false;
    }
    *shape = told;
    return true;
}

/* Reads all its inputs and writes its outputs, each as large as the standard or the file says, or
 * as its first input of real numbers. */
static int unknown_node(struct dlt_onnx_build *b)
{
    const struct dlt_onnx_node *n = b->node;
    struct dlt_onnx_tensor like = {.name = -1, .type = DLT_ONNX_FLOAT, .rank = 1, .dim = {1}};
    struct dlt_onnx_value first = {.kind = DLT_ONNX_TENSOR};
    int *input = dlt_onnx_alloc(&b->arena, n->input_count + 1, sizeof *input, b->error), x = -1;
    size_t inputs = 0;

    if (!input)
        return -1;
    for (size_t k = 0; k < n->input_count; k++) {
        struct dlt_onnx_value *value = dlt_onnx_input(b, k);

        if (!value || (value->kind != DLT_ONNX_TENSOR && value->constant->count == 0))
            continue;
        input[inputs] = dlt_onnx_tensor(b, value);
        if (input[inputs++] < 0)
            return -1;
    }
    for (size_t k = 0; k < inputs; k++) {
        struct dlt_onnx_tensor room;

        first.tensor = input[k];
        if (k == 0 || !dlt_onnx_type_is_real(like.type))
            like = *dlt_onnx_shape(b, &first, &room);
    }
    for (size_t k = 0; k < n->output_count; k++) {
        struct dlt_onnx_tensor shape = like;

        if (n->output[k] < 0)
            continue;
        if (!dlt_onnx_picked_shape(b, k, &shape) && !told_shape(b, n->output[k], &shape) &&
            b->guesses++ == 0)
            b->guessed_op = n->op;
        x = inputs == 0 ? dlt_onnx_add_given(b, DLT_ONNX_GIVEN_CONSTANT, &shape, NULL, 0)
                        : dlt_onnx_add_given(b, DLT_ONNX_GIVEN_UNKNOWN, &shape, input, inputs);
        if (dlt_onnx_bind(b, k, x))
            return -1;
        /* The inputs are read once; further outputs hang on the first. */
        input[0] = x;
        inputs = 1;
    }
    return 0;
}

/* ---- functions and branches ---- */

static const struct dlt_onnx_function *function_of(const struct dlt_onnx_build *b)
{
    for (size_t i = 0; i < b->model->function_count; i++)
        if (strcmp(b->model->function[i].name, b->node->op) == 0 &&
            strcmp(b->model->function[i].domain, b->node->domain) == 0)
            return &b->model->function[i];
    return NULL;
}

static int walk_body(struct dlt_onnx_build *b, const struct dlt_onnx_function *fn)
{
    struct dlt_onnx_fusion *fusion = calloc(fn->graph.node_count + 1, sizeof *fusion);
    int status = -1;

    if (!fusion)
        return dlt_fail_memory(b->error);
    if (dlt_onnx_find_fusions(&fn->graph, fn->names.count, fn->output, fn->output_count, fusion,
                              b->error) == 0)
        status = walk_graph(b, &fn->graph, fusion);
    free(fusion);
    return status;
}

static int call(struct dlt_onnx_build *b, const struct dlt_onnx_function *fn)
{
    const struct dlt_onnx_node *node = b->node;
    struct dlt_onnx_scope *outer = b->scope;
    struct dlt_onnx_scope scope = {.outer = outer,
                                   .names = &fn->names,
                                   .call = node,
                                   .opset = fn->opset ? fn->opset : outer->opset,
                                   .depth = outer->depth + 1};
    int status = -1;

    if (scope.depth > MOST_CALLS)
        return dlt_fail(b->error, "functions call one another more than %d deep", MOST_CALLS);
    b->visited += fn->names.count;
    scope.value = calloc(fn->names.count + 1, sizeof *scope.value);
    if (!scope.value)
        return dlt_fail_memory(b->error);
    for (size_t k = 0; k < fn->input_count && k < node->input_count; k++)
        if (fn->input[k] >= 0 && node->input[k] >= 0)
            scope.value[fn->input[k]] = outer->value[node->input[k]];
    b->scope = &scope;
    status = walk_body(b, fn);
    b->scope = outer;
    b->node = node;
    for (size_t k = 0; status == 0 && k < fn->output_count && k < node->output_count; k++) {
        const struct dlt_onnx_value *out = fn->output[k] < 0 ? NULL : &scope.value[fn->output[k]];

        if (out && out->kind != DLT_ONNX_NOTHING)
            status = dlt_onnx_bind_value(b, k, out);
    }
    free(scope.value);
    return status;
}

int dlt_onnx_walk_inner(struct dlt_onnx_build *b, const struct dlt_onnx_graph *graph)
{
    if (++b->scope->depth > MOST_CALLS)
        return dlt_fail(b->error, "graphs nested more than %d deep", MOST_CALLS);
    if (bind_initializers(b, graph) || walk_graph(b, graph, NULL))
        return -1;
    b->scope->depth--;
    return 0;
}

/* If: the branch that the condition, if it is known, takes; else the larger one, with a note. */
static int branch(struct dlt_onnx_build *b)
{
    const struct dlt_onnx_node *node = b->node;
    const struct dlt_onnx_attribute *then = dlt_onnx_attribute(b, "then_branch");
    const struct dlt_onnx_attribute *otherwise = dlt_onnx_attribute(b, "else_branch");
    const struct dlt_onnx_graph *graph;
    double condition;

    if (!then || !otherwise || !then->graph || !otherwise->graph)
        return dlt_fail(b->error, "has not two branches");
    if (dlt_onnx_value_real(dlt_onnx_input(b, 0), &condition)) {
        graph = condition != 0 ? then->graph : otherwise->graph;
    } else {
        graph = then->graph->node_count >= otherwise->graph->node_count ? then->graph
                                                                        : otherwise->graph;
        dlt_builder_note(b->builder,
                         "%s%.200s: which branch is taken depends on the data; it is "
                         "taken for the longer one",
                         *node->name ? "" : "an If without a name", node->name);
    }
    if (dlt_onnx_walk_inner(b, graph))
        return -1;
    b->node = node;
    for (size_t k = 0; k < graph->output_count && k < node->output_count; k++) {
        const struct dlt_onnx_value *out = &b->scope->value[graph->output[k].name];

        if (out->kind == DLT_ONNX_NOTHING)
            return dlt_fail(b->error, "no node makes \"%.200s\", which its branch gives",
                            b->scope->names->text[graph->output[k].name]);
        if (dlt_onnx_bind_value(b, k, out))
            return -1;
    }
    return 0;
}

/* ---- nodes ---- */

/* NULL: none of the graph's nodes. */
static const struct dlt_onnx_node *maker_of(const struct dlt_onnx_graph *graph, int name)
{
    for (size_t i = 0; i < graph->node_count; i++)
        for (size_t k = 0; k < graph->node[i].output_count; k++)
            if (graph->node[i].output[k] == name)
                return &graph->node[i];
    return NULL;
}

static int check_inputs(struct dlt_onnx_build *b, const struct dlt_onnx_graph *graph)
{
    for (size_t k = 0; k < b->node->input_count; k++) {
        int name = b->node->input[k];
        const struct dlt_onnx_node *maker;

        if (name < 0 || b->scope->value[name].kind != DLT_ONNX_NOTHING)
            continue;
        maker = maker_of(graph, name);
        if (maker && maker < b->node)
            return dlt_fail(b->error,
                            "reads \"%.200s\", an output of the %.80s before it that is not "
                            "understood",
                            b->scope->names->text[name], maker->op);
        if (maker)
            return dlt_fail(b->error,
                            "reads \"%.200s\", which only a later node makes: the graph is "
                            "cyclic or not in order",
                            b->scope->names->text[name]);
        return dlt_fail(b->error, "reads \"%.200s\", which nothing makes",
                        b->scope->names->text[name]);
    }
    return 0;
}

static int known_node(struct dlt_onnx_build *b)
{
    static int (*const handlers[])(struct dlt_onnx_build *) = {
        dlt_onnx_fold,      dlt_onnx_move,   dlt_onnx_layer_node, dlt_onnx_plain_node,
        dlt_onnx_copy_node, dlt_onnx_einsum, dlt_onnx_pick_node,  dlt_onnx_attention_node};
    int status = 0;

    for (size_t i = 0; status == 0 && i < sizeof handlers / sizeof *handlers; i++)
        status = handlers[i](b);
    return status;
}

/* The running mean and variance of batch_norm; exporters may give one tensor to several. */
static int note_statistics(struct dlt_onnx_build *b)
{
    static const uint64_t mark = 0x5bd1e995; /* apart from the keys of parameters */
    int tensor;

    if (strcmp(b->node->op, "BatchNormalization") != 0)
        return 0;
    for (size_t k = 3; k < 5; k++) {
        const struct dlt_onnx_value *value = dlt_onnx_input(b, k);

        if (!dlt_onnx_is_parameter(value) || dlt_onnx_owner(b, value->key ^ mark, &tensor) >= 0)
            continue;
        b->state += (double)value->constant->count;
        if (dlt_onnx_own(b, value->key ^ mark, 0, -1))
            return -1;
    }
    return 0;
}

static int visit(struct dlt_onnx_build *b, const struct dlt_onnx_graph *graph,
                 const struct dlt_onnx_fusion *fusion)
{
    const struct dlt_onnx_function *fn;
    int status;

    if (fusion && fusion->layer)
        return dlt_onnx_fused_node(b, fusion) < 0 ? -1 : 0;
    if (fusion && fusion->absorbed)
        return 0;
    if (check_inputs(b, graph))
        return -1;
    if (!*b->node->domain && strcmp(b->node->op, "If") == 0)
        return branch(b);
    if (!*b->node->domain && strcmp(b->node->op, "Loop") == 0)
        return dlt_onnx_loop(b);
    if (!*b->node->domain && strcmp(b->node->op, "Scan") == 0)
        return dlt_onnx_scan(b);
    if (note_statistics(b))
        return -1;
    status = known_node(b);
    if (status != 0)
        return status < 0 ? -1 : 0;
    fn = function_of(b);
    return fn ? call(b, fn) : unknown_node(b);
}

/* Behind an operator that is not known the mistake may be its shape, which was a guess. */
static void blame_unknown(struct dlt_onnx_build *b)
{
    struct dlt_error sentence = *b->error;

    if (b->guesses > 0)
        dlt_fail(b->error,
                 "%.560s; before it %.0f operator%s not known, whose shape is a guess (%.60s)",
                 sentence.text, b->guesses, b->guesses > 1 ? "s are" : " is", b->guessed_op);
}

/* "node NAME (Op): " before the sentence, once: a function's own node was named already. */
static int fail_at(struct dlt_onnx_build *b, const struct dlt_onnx_node *n, size_t index)
{
    if (strncmp(b->error->text, "node ", 5) == 0 || strncmp(b->error->text, "the ", 4) == 0)
        return -1;
    blame_unknown(b);
    if (*n->name)
        return dlt_fail_in(b->error, "node \"%.200s\" (%.80s): ", n->name, n->op);
    return dlt_fail_in(b->error, "node %zu (%.80s): ", index, n->op);
}

static int walk_graph(struct dlt_onnx_build *b, const struct dlt_onnx_graph *graph,
                      const struct dlt_onnx_fusion *fusion)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        b->node = &graph->node[i];
        if (++b->visited > MOST_VISITED)
            return dlt_fail(b->error, "the network has more than %d nodes", MOST_VISITED);
        if (visit(b, graph, fusion ? &fusion[i] : NULL))
            return fail_at(b, &graph->node[i], i);
    }
    return 0;
}

/* ---- the whole ---- */

/* How much of the graph lies behind operators that are not known. */
static int note_unknown(struct dlt_onnx_build *b)
{
    size_t count = dlt_builder_node_count(b->builder), behind = 0;
    bool *depends;

    if (b->unknown == 0)
        return 0;
    depends = calloc(count, sizeof *depends);
    if (!depends)
        return dlt_fail_memory(b->error);
    for (size_t i = 0; i < count; i++) {
        const struct dlt_node *n = dlt_builder_node(b->builder, (int)i);

        depends[i] = strcmp(n->op->name, "unknown") == 0;
        for (size_t k = 0; k < n->input_count && !depends[i]; k++) {
            int maker = dlt_builder_maker(b->builder, n->input[k]);

            depends[i] = maker >= 0 && depends[maker];
        }
        behind += depends[i];
    }
    free(depends);
    dlt_builder_note(b->builder,
                     "%.0f operator%s not known (%.80s%s): estimated from the bytes that they "
                     "read and write; %.0f %% of the network's operators depend on them",
                     b->unknown, b->unknown > 1 ? "s are" : " is", b->unknown_op,
                     b->unknown > 1 ? ", ..." : "", 100.0 * (double)behind / (double)count);
    return 0;
}

static void note_parameters(struct dlt_onnx_build *b)
{
    const struct dlt_onnx_graph *g = &b->model->graph;
    size_t count = dlt_builder_node_count(b->builder);
    double held = 0, counted = dlt_builder_parameters(b->builder);

    for (size_t i = 0; i < g->initializer_count; i++)
        if (dlt_onnx_type_is_real(g->initializer[i].type) && g->initializer[i].rank > 0)
            held += (double)g->initializer[i].count;
    held -= b->state;
    /* Without initializers the weights are inputs: their values lie elsewhere. */
    if (held != counted && count > 0 && g->initializer_count > 0)
        dlt_builder_note(b->builder,
                         "its initializers hold %.0f real numbers; %.0f of them were recognised "
                         "as parameters of layers",
                         held, counted);
}

static int walk_main(struct dlt_onnx_build *b)
{
    const struct dlt_onnx_graph *g = &b->model->graph;
    struct dlt_onnx_fusion *fusion = calloc(g->node_count + 1, sizeof *fusion);
    int status = -1;

    if (!fusion)
        return dlt_fail_memory(b->error);
    if (dlt_onnx_find_fusions(g, b->model->names.count, NULL, 0, fusion, b->error) == 0)
        status = walk_graph(b, g, fusion);
    free(fusion);
    for (size_t i = 0; status == 0 && i < g->output_count; i++)
        if (b->scope->value[g->output[i].name].kind == DLT_ONNX_NOTHING)
            return dlt_fail(b->error, "output \"%.200s\": nothing makes it",
                            b->scope->names->text[g->output[i].name]);
    return status;
}

int dlt_onnx_walk(struct dlt_onnx_build *b)
{
    struct dlt_onnx_scope scope = {.names = &b->model->names, .opset = b->model->opset};
    int status = -1;

    scope.value = calloc(b->model->names.count + 1, sizeof *scope.value);
    if (!scope.value)
        return dlt_fail_memory(b->error);
    b->scope = &scope;
    if (bind_initializers(b, &b->model->graph) == 0 && dlt_onnx_bind_inputs(b) == 0 &&
        walk_main(b) == 0 && note_unknown(b) == 0) {
        note_parameters(b);
        status = 0;
    }
    b->scope = NULL;
    free(scope.value);
    return status;
}
