/* SPDX-License-Identifier: Apache-2.0 */
/* Loop and Scan: their body is walked as often as it runs, which has to be known. */
#include <stdlib.h>

#include "base/error.h"
#include "graph/onnx_build.h"

/* A body that runs, and what its runs gave. */
struct loop {
    const struct dlt_onnx_graph *body;
    int64_t trips;
    size_t carried; /* values that a run hands to the next one */
    size_t stacked; /* outputs of all runs, one beside the other */
    size_t begin;   /* the body's first output after a loop's condition */
    int *made;      /* trips x stacked tensors */
};

/* What the body binds, so that it can run again. */
static void forget(struct dlt_onnx_build *b, const struct dlt_onnx_graph *graph)
{
    for (size_t i = 0; i < graph->initializer_count; i++)
        b->scope->value[graph->initializer[i].name] = (struct dlt_onnx_value){0};
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct dlt_onnx_node *n = &graph->node[i];

        for (size_t k = 0; k < n->output_count; k++)
            if (n->output[k] >= 0)
                b->scope->value[n->output[k]] = (struct dlt_onnx_value){0};
        for (size_t k = 0; k < n->attribute_count; k++)
            if (n->attribute[k].graph)
                forget(b, n->attribute[k].graph);
    }
}

static int bind_counter(struct dlt_onnx_build *b, int name, int64_t trip)
{
    struct dlt_onnx_tensor *t = dlt_onnx_alloc(&b->arena, 1, sizeof *t, b->error);
    int64_t *number = t ? dlt_onnx_alloc(&b->arena, 1, sizeof *number, b->error) : NULL;

    if (!number)
        return -1;
    *number = trip;
    *t = (struct dlt_onnx_tensor){.name = -1, .type = DLT_ONNX_INT64, .count = 1, .ints = number};
    b->scope->value[name] = dlt_onnx_of(t, false);
    return 0;
}

static int run_body(struct dlt_onnx_build *b, struct loop *l, int64_t trip)
{
    const struct dlt_onnx_node *node = b->node;

    if (dlt_onnx_walk_inner(b, l->body))
        return -1;
    b->node = node;
    for (size_t k = l->begin; k < l->body->output_count; k++)
        if (b->scope->value[l->body->output[k].name].kind == DLT_ONNX_NOTHING)
            return dlt_fail(b->error, "no node makes \"%.200s\", which its body gives",
                            b->scope->names->text[l->body->output[k].name]);
    for (size_t k = 0; k < l->stacked; k++) {
        int name = l->body->output[l->begin + l->carried + k].name;
        int tensor = dlt_onnx_tensor(b, &b->scope->value[name]);

        if (tensor < 0)
            return -1;
        l->made[(size_t)trip * l->stacked + k] = tensor;
    }
    return 0;
}

/* Hands the carried values to the body's inputs from `first` on; they may trade places. */
static int carry(struct dlt_onnx_build *b, const struct loop *l, size_t first)
{
    struct dlt_onnx_value *kept = calloc(l->carried + 1, sizeof *kept);

    if (!kept)
        return dlt_fail_memory(b->error);
    for (size_t k = 0; k < l->carried; k++)
        kept[k] = b->scope->value[l->body->output[l->begin + k].name];
    forget(b, l->body);
    for (size_t k = 0; k < l->carried; k++)
        b->scope->value[l->body->input[first + k].name] = kept[k];
    free(kept);
    return 0;
}

/* The node's outputs: what the last run carried, then what all of them gave. */
static int bind_outputs(struct dlt_onnx_build *b, const struct loop *l, size_t first)
{
    for (size_t k = 0; k < l->carried && k < b->node->output_count; k++)
        if (b->node->output[k] >= 0 &&
            dlt_onnx_bind_value(b, k, &b->scope->value[l->body->input[first + k].name]))
            return -1;
    for (size_t k = 0; k < l->stacked && l->carried + k < b->node->output_count; k++) {
        struct dlt_onnx_value one = {.kind = DLT_ONNX_TENSOR, .tensor = l->made[k]};
        struct dlt_onnx_tensor room, shape = *dlt_onnx_shape(b, &one, &room);
        int *part;

        if (b->node->output[l->carried + k] < 0)
            continue;
        if (shape.rank >= DLT_RANK)
            return dlt_fail(b->error, "what its runs give has more than %d dimensions",
                            DLT_RANK - 1);
        for (int d = shape.rank++; d > 0; d--)
            shape.dim[d] = shape.dim[d - 1];
        shape.dim[0] = l->trips;
        shape.count *= l->trips;
        part = dlt_onnx_alloc(&b->arena, (size_t)l->trips, sizeof *part, b->error);
        if (!part)
            return -1;
        for (int64_t i = 0; i < l->trips; i++)
            part[i] = l->made[(size_t)i * l->stacked + k];
        if (dlt_onnx_bind(
                b, l->carried + k,
                dlt_onnx_add_given(b, DLT_ONNX_GIVEN_CONCAT, &shape, part, (size_t)l->trips)))
            return -1;
    }
    return 0;
}

/* from, first: where the carried values stand among the inputs of the node and of the body. */
static int prepare(struct dlt_onnx_build *b, struct loop *l, size_t from, size_t first)
{
    const struct dlt_onnx_attribute *body = dlt_onnx_attribute(b, "body");

    if (!body || !body->graph)
        return dlt_fail(b->error, "has no body");
    l->body = body->graph;
    if (l->trips < 1)
        return dlt_fail(b->error, "its body never runs");
    if (l->trips > DLT_ONNX_TRIPS)
        return dlt_fail(b->error, "its body runs more than %d times", DLT_ONNX_TRIPS);
    if (l->body->output_count < l->begin + l->carried || l->body->input_count < first + l->carried)
        return dlt_fail(b->error, "its body has not the inputs and outputs of its node");
    for (size_t k = 0; k < l->body->input_count + l->body->output_count; k++)
        if ((k < l->body->input_count ? l->body->input[k]
                                      : l->body->output[k - l->body->input_count])
                .name < 0)
            return dlt_fail(b->error, "its body has an input or output without a name");
    for (size_t k = 0; k < l->carried; k++) {
        const struct dlt_onnx_value *begin = dlt_onnx_input(b, from + k);

        if (!begin)
            return dlt_fail(b->error, "lacks an input");
        b->scope->value[l->body->input[first + k].name] = *begin;
    }
    l->stacked = l->body->output_count - l->begin - l->carried;
    l->made =
        dlt_onnx_alloc(&b->arena, (size_t)l->trips * l->stacked + 1, sizeof *l->made, b->error);
    return l->made ? 0 : -1;
}

int dlt_onnx_loop(struct dlt_onnx_build *b)
{
    struct loop l = {.carried = b->node->input_count > 2 ? b->node->input_count - 2 : 0,
                     .begin = 1};
    const struct dlt_onnx_value *trips = dlt_onnx_input(b, 0);
    double count, condition;

    if (!trips || !dlt_onnx_value_real(trips, &count))
        return dlt_fail(b->error, "how often its body runs depends on the data; export it with a "
                                  "number, or unrolled");
    l.trips = count < 1 ? 0 : count > DLT_ONNX_TRIPS ? DLT_ONNX_TRIPS + 1 : (int64_t)count;
    if (dlt_onnx_input(b, 1) && dlt_onnx_value_real(dlt_onnx_input(b, 1), &condition) &&
        condition == 0)
        l.trips = 0;
    if (prepare(b, &l, 2, 2))
        return -1;
    for (int64_t i = 0; i < l.trips; i++) {
        if (bind_counter(b, l.body->input[0].name, i) ||
            bind_counter(b, l.body->input[1].name, 1) || run_body(b, &l, i) || carry(b, &l, 2))
            return -1;
    }
    return bind_outputs(b, &l, 2);
}

/* One step of each scanned input, which run along their first dimension. */
static int take_step(struct dlt_onnx_build *b, const struct loop *l)
{
    for (size_t k = l->carried; k < b->node->input_count; k++) {
        int x = dlt_onnx_tensor(b, dlt_onnx_input(b, k));
        struct dlt_onnx_value whole = {.kind = DLT_ONNX_TENSOR, .tensor = x};
        struct dlt_onnx_value *part = &b->scope->value[l->body->input[k].name];
        struct dlt_onnx_tensor room, shape;

        if (x < 0)
            return -1;
        shape = *dlt_onnx_shape(b, &whole, &room);
        if (shape.rank < 1 || shape.dim[0] != l->trips)
            return dlt_fail(b->error, "its inputs are not of one length");
        shape.count /= shape.dim[0];
        shape.rank--;
        for (int d = 0; d < shape.rank; d++)
            shape.dim[d] = shape.dim[d + 1];
        *part = (struct dlt_onnx_value){
            .kind = DLT_ONNX_TENSOR,
            .tensor = dlt_onnx_add_given(b, DLT_ONNX_GIVEN_SLICE, &shape, &x, 1)};
        if (part->tensor < 0)
            return -1;
    }
    return 0;
}

int dlt_onnx_scan(struct dlt_onnx_build *b)
{
    int64_t scanned = dlt_onnx_integer(b, "num_scan_inputs", 0);
    struct dlt_onnx_ints axes;
    struct dlt_onnx_tensor room;
    struct loop l = {0};

    if (scanned < 1 || (uint64_t)scanned > b->node->input_count)
        return dlt_fail(b->error, "num_scan_inputs is not a number of its inputs");
    for (int i = 0; i < 2; i++)
        if (dlt_onnx_ints(b, i ? "scan_output_axes" : "scan_input_axes", &axes))
            for (size_t k = 0; k < axes.count; k++)
                if (axes.value[k] != 0)
                    return dlt_fail(b->error, "runs along another dimension than the first");
    l.carried = b->node->input_count - (size_t)scanned;
    for (size_t k = 0; k < b->node->input_count; k++)
        if (!dlt_onnx_input(b, k))
            return dlt_fail(b->error, "lacks an input");
    l.trips = dlt_onnx_shape(b, dlt_onnx_input(b, l.carried), &room)->dim[0];
    if (prepare(b, &l, 0, 0))
        return -1;
    if (l.body->input_count < b->node->input_count)
        return dlt_fail(b->error, "its body has not the inputs and outputs of its node");
    for (int64_t i = 0; i < l.trips; i++)
        if (take_step(b, &l) || run_body(b, &l, i) || carry(b, &l, 0))
            return -1;
    return bind_outputs(b, &l, 0);
}
