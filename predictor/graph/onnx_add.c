/* SPDX-License-Identifier: Apache-2.0 */
/* Adding nodes of our operators, and who holds which parameter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "graph/onnx_build.h"
#include "graph/op.h"

/* ---- operators that only this loader has ---- */

struct given {
    int64_t type, rank, dim[DLT_RANK];
};

static int infer_given(const struct dlt_op_site *site, struct dlt_op_result *result,
                       struct dlt_error *error)
{
    const struct given *g = (const void *)site->attribute;
    struct dlt_tensor *out = &result->output[0];
    const struct dlt_tensor *widest = out;

    (void)error;
    *out = (struct dlt_tensor){.rank = (int)g->rank, .type = (enum dlt_tensor_type)g->type};
    memcpy(out->dim, g->dim, sizeof g->dim);
    result->output_count = 1;
    if (!site->op->kind)
        return 0;
    for (size_t i = 0; i < site->input_count; i++)
        if (dlt_tensor_elements(dlt_site_input(site, i)) > dlt_tensor_elements(widest))
            widest = dlt_site_input(site, i);
    dlt_rowwise_record(site->op, site->op->class == DLT_OP_MOVE ? out : widest, site->input_count,
                       &result->record);
    return 0;
}

#define GIVEN(op_name, op_class, most, op_kind, op_function)                                       \
    {                                                                                              \
        .name = (op_name), .class = (op_class), .least_inputs = (most) ? 1 : 0,                    \
        .most_inputs = (most), .takes_integers = true, .kind = (op_kind),                          \
        .function = (op_function), .infer = infer_given                                            \
    }
enum { MANY = 100000 };

static const struct dlt_op given_ops[DLT_ONNX_GIVENS] = {
    [DLT_ONNX_GIVEN_CONSTANT] = GIVEN("constant", DLT_OP_PARAMETER, 0, NULL, DLT_FUNCTION_NONE),
    [DLT_ONNX_GIVEN_RESHAPE] = GIVEN("reshape", DLT_OP_VIEW, 1, NULL, DLT_FUNCTION_NONE),
    [DLT_ONNX_GIVEN_PERMUTE] = GIVEN("permute", DLT_OP_VIEW, 1, NULL, DLT_FUNCTION_NONE),
    [DLT_ONNX_GIVEN_SLICE] = GIVEN("slice", DLT_OP_VIEW, 1, NULL, DLT_FUNCTION_NONE),
    [DLT_ONNX_GIVEN_EXPAND] = GIVEN("expand", DLT_OP_VIEW, 1, NULL, DLT_FUNCTION_NONE),
    [DLT_ONNX_GIVEN_GATHER] = GIVEN("gather", DLT_OP_MOVE, 2, "elementwise", DLT_COPY),
    [DLT_ONNX_GIVEN_CONCAT] = GIVEN("concat", DLT_OP_MOVE, MANY, "elementwise", DLT_CONCAT),
    [DLT_ONNX_GIVEN_PAD] = GIVEN("pad", DLT_OP_MOVE, 1, "elementwise", DLT_COPY),
    [DLT_ONNX_GIVEN_TILE] = GIVEN("tile", DLT_OP_MOVE, 1, "elementwise", DLT_COPY),
    [DLT_ONNX_GIVEN_MASK] = GIVEN("mask", DLT_OP_ARITHMETIC, MANY, "elementwise", DLT_COMPARE),
    [DLT_ONNX_GIVEN_SCALE] = GIVEN("scale", DLT_OP_ACTIVATION, 1, "elementwise", DLT_MUL),
    [DLT_ONNX_GIVEN_PLAIN] = GIVEN("plain", DLT_OP_ACTIVATION, 1, "elementwise", DLT_ABS),
    [DLT_ONNX_GIVEN_UNKNOWN] = GIVEN("unknown", DLT_OP_ARITHMETIC, MANY, "elementwise", DLT_COPY),
};

/* ---- who holds a parameter ---- */

struct dlt_onnx_owner {
    uint64_t key; /* 0: free */
    int node, tensor;
};

static struct dlt_onnx_owner *owner_slot(struct dlt_onnx_owner *table, size_t room, uint64_t key)
{
    size_t at = (size_t)(key * 0x9e3779b97f4a7c15U >> 32) % room;

    while (table[at].key && table[at].key != key)
        at = (at + 1) % room;
    return &table[at];
}

uint64_t dlt_onnx_initializer_key(const struct dlt_onnx_tensor *t)
{
    return ((uint64_t)t->name + 1) * 0x9e3779b97f4a7c15U | 1;
}

int dlt_onnx_owner(const struct dlt_onnx_build *b, uint64_t key, int *tensor)
{
    const struct dlt_onnx_owner *slot;

    *tensor = -1;
    if (b->owner_room == 0)
        return -1;
    slot = owner_slot(b->owner, b->owner_room, key);
    if (!slot->key)
        return -1;
    *tensor = slot->tensor;
    return slot->node;
}

int dlt_onnx_own(struct dlt_onnx_build *b, uint64_t key, int node, int tensor)
{
    struct dlt_onnx_owner *slot;

    if (b->owners * 2 >= b->owner_room) {
        size_t room = b->owner_room ? b->owner_room * 2 : 256;
        struct dlt_onnx_owner *table = dlt_onnx_alloc(&b->arena, room, sizeof *table, b->error);

        if (!table)
            return -1;
        for (size_t i = 0; i < b->owner_room; i++)
            if (b->owner[i].key)
                *owner_slot(table, room, b->owner[i].key) = b->owner[i];
        b->owner = table;
        b->owner_room = room;
    }
    slot = owner_slot(b->owner, b->owner_room, key);
    if (!slot->key) {
        *slot = (struct dlt_onnx_owner){key, node, tensor};
        b->owners++;
    } else if (slot->tensor < 0) {
        slot->tensor = tensor;
    }
    return 0;
}

/* ---- adding ---- */

struct dlt_onnx_layer dlt_onnx_layer(const char *op)
{
    struct dlt_onnx_layer layer = {.op = dlt_op_find(op)};

    if (layer.op)
        dlt_op_defaults(layer.op, layer.attribute);
    return layer;
}

static const struct dlt_attribute *attribute_of(const struct dlt_onnx_layer *layer,
                                                const char *name)
{
    for (const struct dlt_attribute *a = layer->op ? layer->op->attribute : NULL; a && a->name; a++)
        if (strcmp(a->name, name) == 0)
            return a;
    return NULL;
}

void dlt_onnx_set_at(struct dlt_onnx_layer *layer, const char *attribute, size_t index,
                     int64_t value)
{
    const struct dlt_attribute *a = attribute_of(layer, attribute);

    if (a && index < dlt_attribute_width(layer->op, a))
        layer->attribute[a->slot + index] = value;
}

void dlt_onnx_set(struct dlt_onnx_layer *layer, const char *attribute, int64_t value)
{
    dlt_onnx_set_at(layer, attribute, 0, value);
}

void dlt_onnx_set_list(struct dlt_onnx_layer *layer, const char *attribute, const int64_t *value,
                       size_t count)
{
    dlt_onnx_set(layer, attribute, (int64_t)count);
    for (size_t i = 0; i < count; i++)
        dlt_onnx_set_at(layer, attribute, i + 1, value[i]);
}

/* As the file has it, so that it can be found there; behind the calls around it. */
static void node_name(const struct dlt_onnx_build *b, char *name, size_t size)
{
    const struct dlt_onnx_node *n = b->node;
    size_t used = 0;
    int length = 0;

    if (b->scope->call)
        length = snprintf(name, size, "%s/", b->scope->call->name);
    used = length > 0 && (size_t)length < size ? (size_t)length : 0;
    if (*n->name)
        snprintf(name + used, size - used, "%s", n->name);
    else
        snprintf(name + used, size - used, "%s_%zu", n->op, b->visited - 1);
    dlt_text_printable(name);
}

/* Which node of ours it takes its weight from; -1: its own. A layer of the same operator has to be
 * the same in all. */
static int sharing(const struct dlt_onnx_build *b, const struct dlt_onnx_layer *layer)
{
    const struct dlt_node *owner;
    int tensor, node;

    if (!layer->weight || layer->weight->kind != DLT_ONNX_PARAMETER)
        return -1;
    node = dlt_onnx_owner(b, layer->weight->key, &tensor);
    if (node < 0)
        return -1;
    owner = dlt_builder_node(b->builder, node);
    if (owner->op == layer->op &&
        memcmp(owner->attribute, layer->attribute, sizeof layer->attribute) != 0)
        return -1;
    return node;
}

static int add(struct dlt_onnx_build *b, const struct dlt_op *op, const int64_t *attribute,
               const int *input, size_t inputs, int weights_of)
{
    char name[1024];
    struct dlt_builder_node node = {.op = op,
                                    .name = name,
                                    .attribute = attribute,
                                    .input = input,
                                    .input_count = inputs,
                                    .weights_of = weights_of};

    node_name(b, name, sizeof name);
    return dlt_builder_add(b->builder, &node, b->error);
}

int dlt_onnx_add(struct dlt_onnx_build *b, struct dlt_onnx_layer *layer, const int *input,
                 size_t inputs)
{
    int node;

    if (!layer->op)
        return dlt_fail(b->error, "this version of dltime has no such operator");
    node = add(b, layer->op, layer->attribute, input, inputs, sharing(b, layer));
    if (node < 0)
        return -1;
    if (dlt_onnx_is_parameter(layer->weight) && dlt_onnx_own(b, layer->weight->key, node, -1))
        return -1;
    if (dlt_onnx_is_parameter(layer->bias) && dlt_onnx_own(b, layer->bias->key, node, -1))
        return -1;
    return dlt_builder_output(b->builder, node, 0);
}

int dlt_onnx_add_given(struct dlt_onnx_build *b, enum dlt_onnx_given which,
                       const struct dlt_onnx_tensor *shape, const int *input, size_t inputs)
{
    int64_t attribute[DLT_ATTRIBUTES] = {0};
    struct given given = {.type = dlt_onnx_our_type(shape->type), .rank = shape->rank};
    int node;

    memcpy(given.dim, shape->dim, sizeof given.dim);
    memcpy(attribute, &given, sizeof given);
    node = add(b, &given_ops[which], attribute, input, inputs, -1);
    if (node >= 0 && which == DLT_ONNX_GIVEN_UNKNOWN && b->unknown++ == 0)
        b->unknown_op = b->node->op;
    return node < 0 ? -1 : dlt_builder_output(b->builder, node, 0);
}

int dlt_onnx_add_shaped(struct dlt_onnx_build *b, enum dlt_onnx_given which, int x, int rank,
                        const int64_t *dim)
{
    struct dlt_onnx_tensor shape = {.name = -1, .type = DLT_ONNX_FLOAT, .rank = rank};

    memcpy(shape.dim, dim, (size_t)rank * sizeof *dim);
    return dlt_onnx_add_given(b, which, &shape, &x, 1);
}

static bool same_shape(const struct dlt_tensor *a, const struct dlt_onnx_tensor *t)
{
    bool same = a->rank == t->rank;

    for (int d = 0; same && d < t->rank; d++)
        same = a->dim[d] == t->dim[d];
    return same;
}

/* A parameter as a tensor: one node holds it, whatever shapes it is seen in. */
static int parameter_tensor(struct dlt_onnx_build *b, const struct dlt_onnx_value *value)
{
    struct dlt_onnx_layer layer = dlt_onnx_layer("parameter");
    const struct dlt_onnx_tensor *t = value->constant;
    static const int64_t one = 1;
    int tensor, node;

    node = dlt_onnx_owner(b, value->key, &tensor);
    if (tensor < 0) {
        dlt_onnx_set_list(&layer, "shape", t->rank ? t->dim : &one, t->rank ? (size_t)t->rank : 1);
        if (!layer.op)
            return dlt_onnx_add_given(b, DLT_ONNX_GIVEN_CONSTANT, t, NULL, 0);
        /* Where a layer has more than this one parameter, only its weight can be shared. */
        if (node >= 0) {
            struct dlt_onnx_value weight = *value;

            layer.weight = &weight;
            node = add(b, layer.op, layer.attribute, NULL, 0, sharing(b, &layer));
        } else {
            node = add(b, layer.op, layer.attribute, NULL, 0, -1);
        }
        if (node < 0)
            return -1;
        tensor = dlt_builder_output(b->builder, node, 0);
        if (dlt_onnx_own(b, value->key, node, tensor))
            return -1;
    }
    if (same_shape(dlt_builder_tensor(b->builder, tensor), t))
        return tensor;
    return dlt_onnx_add_given(b, DLT_ONNX_GIVEN_RESHAPE, t, &tensor, 1);
}

int dlt_onnx_tensor(struct dlt_onnx_build *b, struct dlt_onnx_value *value)
{
    if (value->kind == DLT_ONNX_TENSOR || value->tensor >= 0)
        return value->tensor;
    if (value->constant->count == 0)
        return dlt_fail(b->error, "reads a tensor without elements");
    if (value->kind == DLT_ONNX_PARAMETER)
        value->tensor = parameter_tensor(b, value);
    else
        value->tensor = dlt_onnx_add_given(b, DLT_ONNX_GIVEN_CONSTANT, value->constant, NULL, 0);
    return value->tensor;
}

int dlt_onnx_bind_value(struct dlt_onnx_build *b, size_t k, const struct dlt_onnx_value *value)
{
    int name = k < b->node->output_count ? b->node->output[k] : -1;

    if (name < 0)
        return 0;
    if (b->scope->value[name].kind != DLT_ONNX_NOTHING)
        return dlt_fail(b->error, "makes \"%.200s\", which is there already",
                        b->scope->names->text[name]);
    b->scope->value[name] = *value;
    return 0;
}

int dlt_onnx_bind(struct dlt_onnx_build *b, size_t k, int tensor)
{
    struct dlt_onnx_value value = {.kind = DLT_ONNX_TENSOR, .tensor = tensor};

    return tensor < 0 ? -1 : dlt_onnx_bind_value(b, k, &value);
}
