/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "command/check.h"
#include "graph/op.h"

enum { SHAPE = 64 };

/* Without the batch: "64 x 112 x 112"; a single number per sample: "1". */
static const char *sample_shape(const struct dlt_tensor *tensor, char buffer[SHAPE])
{
    size_t used = 0;

    dlt_text_copy(buffer, SHAPE, "1");
    for (int d = 1; d < tensor->rank && used < SHAPE - 1; d++) {
        int length = snprintf(buffer + used, SHAPE - used, "%s%lld", d > 1 ? " x " : "",
                              (long long)tensor->dim[d]);

        used += length > 0 ? (size_t)length : 0;
    }
    return buffer;
}

/* 25557032 as "25,557,032". */
static const char *grouped(double count, char buffer[48])
{
    char digits[32];
    size_t length, used = 0;

    snprintf(digits, sizeof digits, "%.0f", count);
    length = strlen(digits);
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            buffer[used++] = ',';
        buffer[used++] = digits[i];
    }
    buffer[used] = '\0';
    return buffer;
}

static int widest_name(const struct dlt_graph *g)
{
    size_t widest = strlen("LAYER");

    for (size_t i = 0; i < g->node_count; i++)
        if (strlen(g->node[i].name) > widest)
            widest = strlen(g->node[i].name);
    return widest < 40 ? (int)widest : 40;
}

static void print_layers(const struct check_report *r)
{
    const struct dlt_graph *g = r->graph;
    int width = widest_name(g);

    printf("  %-*s  %-19s  %-20s %10s %10s\n", width, "LAYER", "OP", "OUTPUT", "PARAMETERS",
           "MACS");
    for (size_t i = 0; i < g->node_count; i++) {
        const struct dlt_node *n = &g->node[i];
        char shape[SHAPE], parameters[32] = "-", macs[32] = "-";
        struct dlt_node_counts counts;

        dlt_node_count(g, i, true, &counts);
        if (counts.parameters > 0)
            dlt_text_from_count(parameters, counts.parameters);
        else if (n->weights_of != (int)i)
            dlt_text_copy(parameters, sizeof parameters, "shared");
        if (counts.macs > 0)
            dlt_text_from_count(macs, counts.macs / (double)g->batch);
        printf("  %-*s  %-19.19s  %-20s %10s %10s%s\n", width, n->name, n->op->name,
               sample_shape(&g->tensor[n->output], shape), parameters, macs,
               n->trainable || counts.parameters == 0 ? "" : "  frozen");
    }
}

static void print_memory(const struct check_report *r)
{
    const struct dlt_training *t = &r->model->training;
    const struct dlt_memory *m = &r->memory;
    char part[6][32], total[32];

    dlt_text_from_bytes(part[0], m->parameters);
    dlt_text_from_bytes(part[1], m->gradients);
    dlt_text_from_bytes(part[2], m->optimizer);
    dlt_text_from_bytes(part[3], m->activations);
    dlt_text_from_bytes(part[4], m->workspace);
    dlt_text_from_bytes(part[5], m->context);
    printf("  memory      %s to train a batch of %lld with %s in %s:\n"
           "              parameters %s, gradients %s, optimizer %s,\n"
           "              activations %s, workspace %s, framework %s\n",
           dlt_text_from_bytes(total, m->total), (long long)r->graph->batch,
           dlt_optimizer_names[t->optimizer], dlt_precision_names[t->precision], part[0], part[1],
           part[2], part[3], part[4], part[5]);
}

/* What is known of the whole run, and what a prediction of it still needs. */
static void print_run(const struct dlt_training *t)
{
    char count[32], epochs[32];

    printf("  run         ");
    if (t->samples > 0)
        printf("%s samples an epoch; ", dlt_text_from_count(count, (double)t->samples));
    if (t->steps > 0)
        printf("%lld steps\n", (long long)t->steps);
    else if (t->epochs > 0)
        printf("%s epochs\n", dlt_text_from_double(epochs, t->epochs, 9));
    else
        printf("epochs=N or steps=N would make it a whole run\n");
}

void check_print_table(const struct check_report *r)
{
    const struct dlt_graph *g = r->graph;
    double batch = (double)g->batch;
    char shape[SHAPE], count[48], trainable[48];

    printf("%s:", r->model->name);
    for (size_t i = 0; i < g->input_count; i++)
        printf("%s %s", i ? "," : "", sample_shape(&g->tensor[g->input[i]], shape));
    printf("; %zu layer%s\n\n", g->node_count, g->node_count > 1 ? "s" : "");
    print_layers(r);
    printf("\n  parameters  %s, %s of them trainable\n", grouped(r->counts.total.parameters, count),
           r->counts.trainable == r->counts.total.parameters
               ? "all"
               : grouped(r->counts.trainable, trainable));
    printf("  MACs        %s for one sample, forward",
           grouped(r->counts.total.macs / batch, count));
    printf("; %s FLOPs\n", grouped(r->counts.total.flops / batch, count));
    print_memory(r);
    print_run(&r->model->training);
    for (size_t i = 0; i < r->problems; i++)
        printf("%s%s\n", i ? "              " : "  problems    ", r->problem[i]);
}

static struct json_object *shape_json(const struct dlt_tensor *tensor)
{
    struct json_object *array = json_object_new_array();

    for (int d = 0; d < tensor->rank; d++)
        json_object_array_add(array, json_object_new_int64(tensor->dim[d]));
    return array;
}

static struct json_object *whole_json(int64_t value)
{
    return value == DLT_ABSENT ? NULL : json_object_new_int64(value);
}

/* What an attribute came to: numbers, a list where it is one for each dimension, true or false, a
 * name. A padding: [[before, after], ...], or "same". */
static struct json_object *attribute_json(const struct dlt_op *op, const struct dlt_attribute *a,
                                          const int64_t *value)
{
    const struct dlt_sizes *sizes = (const void *)value;
    size_t width = dlt_attribute_width(op, a);
    struct json_object *array;

    if (a->type == DLT_ATTRIBUTE_BOOL)
        return json_object_new_boolean(*value != 0);
    if (a->type == DLT_ATTRIBUTE_NAME)
        return json_object_new_string(a->names[*value]);
    if (a->type == DLT_ATTRIBUTE_INT || (a->type == DLT_ATTRIBUTE_SIZES && sizes->count <= 0))
        return whole_json(a->type == DLT_ATTRIBUTE_INT || sizes->count ? value[0]
                                                                       : sizes->value[0]);
    if (a->type == DLT_ATTRIBUTE_PADDING && *value == DLT_PADDING_SAME)
        return json_object_new_string("same");
    array = json_object_new_array();
    if (a->type == DLT_ATTRIBUTE_SIZES) {
        for (int64_t i = 0; i < sizes->count; i++)
            json_object_array_add(array, json_object_new_int64(sizes->value[i]));
    } else if (a->type == DLT_ATTRIBUTE_LIST) {
        for (size_t i = 0; i < width; i++)
            json_object_array_add(array, whole_json(value[i]));
    } else {
        for (size_t i = 0; i + 1 < width; i += 2) {
            struct json_object *pair = json_object_new_array();

            json_object_array_add(pair, json_object_new_int64(value[i]));
            json_object_array_add(pair, json_object_new_int64(value[i + 1]));
            json_object_array_add(array, pair);
        }
    }
    return array;
}

static struct json_object *attributes_json(const struct dlt_node *node)
{
    struct json_object *object = json_object_new_object();

    for (size_t i = 0; i < DLT_OP_ATTRIBUTES && node->op->attribute[i].name; i++) {
        const struct dlt_attribute *a = &node->op->attribute[i];

        /* Those that no time depends on were checked and forgotten: they share the last slot. */
        if (a->slot < DLT_ATTRIBUTES - 1)
            json_object_object_add(object, a->name,
                                   attribute_json(node->op, a, node->attribute + a->slot));
    }
    return object;
}

/* Tensors by number: what makes a graph of the layers, whose names need not be unique. */
static struct json_object *numbers_json(const int *tensor, size_t count)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < count; i++)
        json_object_array_add(array, json_object_new_int(tensor[i]));
    return array;
}

static struct json_object *layer_json(const struct dlt_graph *g, size_t node)
{
    const struct dlt_node *n = &g->node[node];
    struct json_object *layer = json_object_new_object();
    struct json_object *outputs = json_object_new_array();
    struct json_object *inputs = json_object_new_array();
    struct dlt_node_counts counts;

    dlt_node_count(g, node, true, &counts);
    dlt_json_text(layer, "name", n->name);
    dlt_json_text(layer, "op", n->op->name);
    for (size_t i = 0; i < n->input_count; i++) {
        int maker = g->tensor[n->input[i]].node;

        json_object_array_add(inputs,
                              maker < 0 ? NULL : json_object_new_string(g->node[maker].name));
    }
    json_object_object_add(layer, "inputs", inputs);
    json_object_object_add(layer, "reads", numbers_json(n->input, n->input_count));
    json_object_object_add(layer, "writes", json_object_new_int(n->output));
    json_object_object_add(layer, "attributes", attributes_json(n));
    json_object_object_add(layer, "output", shape_json(&g->tensor[n->output]));
    for (size_t k = 0; k < n->output_count; k++)
        json_object_array_add(outputs, shape_json(&g->tensor[n->output + (int)k]));
    json_object_object_add(layer, "outputs", outputs);
    dlt_json_count(layer, "parameters", counts.parameters);
    json_object_object_add(layer, "trainable", json_object_new_boolean(n->trainable));
    if (n->weights_of != (int)node) {
        dlt_json_text(layer, "weights", g->node[n->weights_of].name);
        json_object_object_add(layer, "weights_of", json_object_new_int(n->weights_of));
    }
    dlt_json_count(layer, "macs", counts.macs / (double)g->batch);
    dlt_json_count(layer, "flops", counts.flops / (double)g->batch);
    dlt_json_count(layer, "forward_bytes", counts.forward_bytes);
    dlt_json_count(layer, "backward_bytes", counts.backward_bytes);
    dlt_json_count(layer, "saved_bytes", 4 * counts.saved);
    return layer;
}

static struct json_object *memory_json(const struct dlt_memory *m)
{
    static const double gib = 1073741824.0;
    struct json_object *object = json_object_new_object();

    dlt_json_number(object, "total_gib", m->total / gib);
    dlt_json_number(object, "parameters_gib", m->parameters / gib);
    dlt_json_number(object, "gradients_gib", m->gradients / gib);
    dlt_json_number(object, "optimizer_gib", m->optimizer / gib);
    dlt_json_number(object, "activations_gib", m->activations / gib);
    dlt_json_number(object, "workspace_gib", m->workspace / gib);
    dlt_json_number(object, "context_gib", m->context / gib);
    return object;
}

/* All that comes before the layers. */
static struct json_object *totals_json(const struct check_report *r)
{
    static const char *const type_names[] = {"float", "int64", "bool"};
    const struct dlt_graph *g = r->graph;
    struct json_object *object = json_object_new_object();
    struct json_object *inputs = json_object_new_array();
    struct json_object *types = json_object_new_array();

    dlt_json_text(object, "name", r->model->name);
    dlt_json_count(object, "batch", (double)g->batch);
    for (size_t i = 0; i < g->input_count; i++) {
        json_object_array_add(inputs, shape_json(&g->tensor[g->input[i]]));
        json_object_array_add(types,
                              json_object_new_string(type_names[g->tensor[g->input[i]].type]));
    }
    json_object_object_add(object, "inputs", inputs);
    json_object_object_add(object, "input_types", types);
    json_object_object_add(object, "reads", numbers_json(g->input, g->input_count));
    dlt_json_count(object, "parameters", r->counts.total.parameters);
    dlt_json_count(object, "trainable", r->counts.trainable);
    dlt_json_count(object, "macs", r->counts.total.macs / (double)g->batch);
    dlt_json_count(object, "flops", r->counts.total.flops / (double)g->batch);
    json_object_object_add(object, "memory", memory_json(&r->memory));
    return object;
}

/* One layer after the other: a network may have a hundred thousand. */
void check_print_json(const struct check_report *r)
{
    struct json_object *totals = totals_json(r);
    struct json_object *problems = json_object_new_array();

    printf("{\n");
    json_object_object_foreach(totals, key, value)
    {
        printf("  \"%s\": ", key);
        dlt_json_print_inside(stdout, value, 1);
        printf(",\n");
    }
    json_object_put(totals);
    printf("  \"layers\": [");
    for (size_t i = 0; i < r->graph->node_count; i++) {
        struct json_object *layer = layer_json(r->graph, i);

        printf("%s\n    ", i ? "," : "");
        dlt_json_print_inside(stdout, layer, 2);
        json_object_put(layer);
    }
    for (size_t i = 0; i < r->problems; i++)
        json_object_array_add(problems, json_object_new_string(r->problem[i]));
    printf("\n  ],\n  \"problems\": ");
    dlt_json_print_inside(stdout, problems, 1);
    printf("\n}\n");
    json_object_put(problems);
}
