/* SPDX-License-Identifier: Apache-2.0 */
/* Field numbers are those of onnx.proto (https://github.com/onnx/onnx). */
#include "graph/onnx_model.h"

#include <stdlib.h>
#include <string.h>

#include "graph/onnx_read.h"

static int read_names(struct dlt_onnx_reader *r, const struct dlt_wire_field *field, int **list,
                      size_t *count, size_t *room)
{
    const char *text;

    if (dlt_onnx_grow(r->arena, list, *count, sizeof **list, room, r->error) ||
        dlt_onnx_text(r, field, &text))
        return -1;
    if (*text) {
        (*list)[*count] = dlt_onnx_number(r->names, r->arena, text, r->error);
        if ((*list)[*count] < 0)
            return -1;
    } else {
        (*list)[*count] = -1;
    }
    ++*count;
    return 0;
}

static int read_dimension(struct dlt_onnx_reader *r, int64_t end, struct dlt_onnx_dim *dim)
{
    struct dlt_wire_field f;
    int more;

    *dim = (struct dlt_onnx_dim){-1, ""};
    while ((more = dlt_wire_next(&r->wire, end, &f, r->error)) > 0) {
        if (f.number == 1 && f.type == DLT_WIRE_VARINT)
            dim->value = (int64_t)f.value;
        else if (f.number == 2 && f.type == DLT_WIRE_BYTES && dlt_onnx_text(r, &f, &dim->param))
            return -1;
    }
    /* Some exporters write 0 or -1 for what they do not know. */
    if (dim->value <= 0)
        dim->value = -1;
    return more;
}

static int read_shape(struct dlt_onnx_reader *r, int64_t end, struct dlt_onnx_info *info)
{
    struct dlt_wire_field f;
    size_t room = 0;
    int more;

    info->rank = 0;
    while ((more = dlt_wire_next(&r->wire, end, &f, r->error)) > 0) {
        if (f.number != 1 || f.type != DLT_WIRE_BYTES)
            continue;
        if (info->rank == DLT_RANK)
            return dlt_fail(r->error, "byte %lld: a shape of more than %d dimensions",
                            (long long)f.begin, DLT_RANK);
        if (dlt_onnx_grow(r->arena, &info->dim, (size_t)info->rank, sizeof *info->dim, &room,
                          r->error) ||
            DLT_ONNX_INSIDE(r, f, read_dimension(r, f.end, &info->dim[info->rank])))
            return -1;
        info->rank++;
    }
    return more;
}

/* TypeProto.Tensor, and SparseTensor which is built alike. */
static int read_tensor_type(struct dlt_onnx_reader *r, int64_t end, struct dlt_onnx_info *info)
{
    struct dlt_wire_field f;
    int more;

    while ((more = dlt_wire_next(&r->wire, end, &f, r->error)) > 0) {
        if (f.number == 1 && f.type == DLT_WIRE_VARINT)
            info->type = (int)(f.value & 0xff);
        else if (f.number == 2 && f.type == DLT_WIRE_BYTES &&
                 DLT_ONNX_INSIDE(r, f, read_shape(r, f.end, info)))
            return -1;
    }
    return more;
}

static int read_type(struct dlt_onnx_reader *r, int64_t end, struct dlt_onnx_info *info)
{
    struct dlt_wire_field f;
    int more;

    while ((more = dlt_wire_next(&r->wire, end, &f, r->error)) > 0)
        if ((f.number == 1 || f.number == 8) && f.type == DLT_WIRE_BYTES &&
            DLT_ONNX_INSIDE(r, f, read_tensor_type(r, f.end, info)))
            return -1;
    return more;
}

static int read_info(struct dlt_onnx_reader *r, const struct dlt_wire_field *field,
                     struct dlt_onnx_info **list, size_t *count, size_t *room)
{
    struct dlt_onnx_info *info;
    const char *name = "";
    struct dlt_wire_field f;
    int more;

    if (dlt_onnx_grow(r->arena, list, *count, sizeof **list, room, r->error))
        return -1;
    info = &(*list)[*count];
    *info = (struct dlt_onnx_info){.rank = -1};
    r->wire.at = field->begin;
    while ((more = dlt_wire_next(&r->wire, field->end, &f, r->error)) > 0) {
        if (f.number == 1 && f.type == DLT_WIRE_BYTES && dlt_onnx_text(r, &f, &name))
            return -1;
        if (f.number == 2 && f.type == DLT_WIRE_BYTES &&
            DLT_ONNX_INSIDE(r, f, read_type(r, f.end, info)))
            return -1;
    }
    if (more)
        return -1;
    info->name = dlt_onnx_number(r->names, r->arena, name, r->error);
    ++*count;
    return info->name < 0 ? -1 : 0;
}

static int read_graph(struct dlt_onnx_reader *r, int64_t end, struct dlt_onnx_graph *graph);

static int read_attribute_graph(struct dlt_onnx_reader *r, const struct dlt_wire_field *field,
                                struct dlt_onnx_attribute *a)
{
    struct dlt_onnx_graph *graph;
    int status;

    if (++r->depth > DLT_ONNX_DEPTH)
        return dlt_fail(r->error, "byte %lld: graphs nested more than %d deep",
                        (long long)field->begin, DLT_ONNX_DEPTH);
    graph = dlt_onnx_alloc(r->arena, 1, sizeof *graph, r->error);
    if (!graph)
        return -1;
    a->graph = graph;
    status = DLT_ONNX_INSIDE(r, *field, read_graph(r, field->end, graph));
    r->depth--;
    return status;
}

static int read_attribute_bytes(struct dlt_onnx_reader *r, const struct dlt_wire_field *f,
                                struct dlt_onnx_attribute *a)
{
    struct dlt_onnx_tensor *tensor;

    switch (f->number) {
    case 1:
        return dlt_onnx_text(r, f, &a->name);
    case 4:
        return dlt_onnx_bytes(r, f, &a->text);
    case 5:
        tensor = dlt_onnx_alloc(r->arena, 1, sizeof *tensor, r->error);
        a->tensor = tensor;
        return tensor ? dlt_onnx_read_tensor(r, f, tensor) : -1;
    case 6:
        return read_attribute_graph(r, f, a);
    case 21:
        return dlt_onnx_text(r, f, &a->reference);
    default:
        return 0;
    }
}

static int read_attribute(struct dlt_onnx_reader *r, int64_t end, struct dlt_onnx_attribute *a)
{
    struct dlt_onnx_list ints = {0}, reals = {.real = true};
    struct dlt_wire_field f;
    int more;

    *a = (struct dlt_onnx_attribute){.name = "", .reference = "", .text = ""};
    while ((more = dlt_wire_next(&r->wire, end, &f, r->error)) > 0) {
        int status = 0;

        if (f.number == 7)
            status = dlt_onnx_append(r, &f, 4, &reals);
        else if (f.number == 8)
            status = dlt_onnx_append(r, &f, 0, &ints);
        else if (f.number == 20 && f.type == DLT_WIRE_VARINT)
            a->type = (int)(f.value & 0xff);
        else if (f.number == 3 && f.type == DLT_WIRE_VARINT)
            a->integer = (int64_t)f.value;
        else if (f.number == 2 && f.type == DLT_WIRE_32)
            a->real = dlt_onnx_real(f.value, 4);
        else if (f.type == DLT_WIRE_BYTES)
            status = read_attribute_bytes(r, &f, a);
        if (status)
            return -1;
    }
    a->ints = ints.ints;
    a->int_count = ints.count;
    a->reals = reals.reals;
    a->real_count = reals.count;
    return more;
}

struct node_rooms {
    size_t input, output, attribute;
};

static int read_node_field(struct dlt_onnx_reader *r, const struct dlt_wire_field *f,
                           struct dlt_onnx_node *n, struct node_rooms *rooms)
{
    switch (f->number) {
    case 1:
        return read_names(r, f, (int **)&n->input, &n->input_count, &rooms->input);
    case 2:
        return read_names(r, f, (int **)&n->output, &n->output_count, &rooms->output);
    case 3:
        return dlt_onnx_text(r, f, &n->name);
    case 4:
        return dlt_onnx_text(r, f, &n->op);
    case 5:
        if (dlt_onnx_grow(r->arena, &n->attribute, n->attribute_count, sizeof *n->attribute,
                          &rooms->attribute, r->error))
            return -1;
        return DLT_ONNX_INSIDE(
            r, *f,
            read_attribute(r, f->end,
                           (struct dlt_onnx_attribute *)&n->attribute[n->attribute_count++]));
    case 7:
        return dlt_onnx_text(r, f, &n->domain);
    default:
        return 0;
    }
}

static int read_node(struct dlt_onnx_reader *r, const struct dlt_wire_field *field,
                     struct dlt_onnx_graph *graph, size_t *room)
{
    struct node_rooms rooms = {0};
    /* A graph within an attribute is read meanwhile: the array may move. */
    struct dlt_onnx_node node = {.name = "", .op = "", .domain = ""};
    struct dlt_wire_field f;
    int more;

    if (++*r->nodes > DLT_ONNX_NODES)
        return dlt_fail(r->error, "the file has more than %d nodes", DLT_ONNX_NODES);
    r->wire.at = field->begin;
    while ((more = dlt_wire_next(&r->wire, field->end, &f, r->error)) > 0)
        if (f.type == DLT_WIRE_BYTES && read_node_field(r, &f, &node, &rooms))
            return -1;
    if (more ||
        dlt_onnx_grow(r->arena, &graph->node, graph->node_count, sizeof node, room, r->error))
        return -1;
    if (strcmp(node.domain, "ai.onnx") == 0)
        node.domain = "";
    graph->node[graph->node_count++] = node;
    return 0;
}

/* SparseTensorProto: the shape is the whole's; what elements there are does not matter. */
static int read_sparse(struct dlt_onnx_reader *r, const struct dlt_wire_field *field,
                       struct dlt_onnx_tensor *tensor)
{
    struct dlt_onnx_list dims = {0};
    struct dlt_wire_field f;
    int more;

    *tensor = (struct dlt_onnx_tensor){.name = -1};
    r->wire.at = field->begin;
    while ((more = dlt_wire_next(&r->wire, field->end, &f, r->error)) > 0) {
        if (f.number == 1 && f.type == DLT_WIRE_BYTES && dlt_onnx_read_tensor(r, &f, tensor))
            return -1;
        if (f.number == 3 && dlt_onnx_append(r, &f, 0, &dims))
            return -1;
    }
    tensor->ints = NULL;
    tensor->reals = NULL;
    return more ? -1 : dlt_onnx_set_dims(r, tensor, &dims);
}

struct graph_rooms {
    size_t node, initializer, input, output, value;
};

static int read_initializer(struct dlt_onnx_reader *r, const struct dlt_wire_field *f,
                            struct dlt_onnx_graph *g, size_t *room)
{
    struct dlt_onnx_tensor *tensor;

    if (dlt_onnx_grow(r->arena, &g->initializer, g->initializer_count, sizeof *tensor, room,
                      r->error))
        return -1;
    tensor = &g->initializer[g->initializer_count++];
    return f->number == 5 ? dlt_onnx_read_tensor(r, f, tensor) : read_sparse(r, f, tensor);
}

static int read_graph_field(struct dlt_onnx_reader *r, const struct dlt_wire_field *f,
                            struct dlt_onnx_graph *g, struct graph_rooms *rooms)
{
    switch (f->number) {
    case 1:
        return read_node(r, f, g, &rooms->node);
    case 2:
        return dlt_onnx_text(r, f, &g->name);
    case 5:
    case 15:
        return read_initializer(r, f, g, &rooms->initializer);
    case 11:
        return read_info(r, f, &g->input, &g->input_count, &rooms->input);
    case 12:
        return read_info(r, f, &g->output, &g->output_count, &rooms->output);
    case 13:
        return read_info(r, f, &g->value, &g->value_count, &rooms->value);
    default:
        return 0;
    }
}

static int read_graph(struct dlt_onnx_reader *r, int64_t end, struct dlt_onnx_graph *graph)
{
    struct graph_rooms rooms = {0};
    struct dlt_wire_field f;
    int more;

    graph->name = "";
    while ((more = dlt_wire_next(&r->wire, end, &f, r->error)) > 0) {
        if (f.type == DLT_WIRE_BYTES && read_graph_field(r, &f, graph, &rooms))
            return -1;
        r->wire.at = f.type == DLT_WIRE_BYTES ? f.end : r->wire.at;
    }
    return more;
}

/* OperatorSetIdProto; only the default domain's matters. */
static int read_opset(struct dlt_onnx_reader *r, int64_t end, int *opset)
{
    const char *domain = "";
    int64_t version = 0;
    struct dlt_wire_field f;
    int more;

    while ((more = dlt_wire_next(&r->wire, end, &f, r->error)) > 0) {
        if (f.number == 1 && f.type == DLT_WIRE_BYTES && dlt_onnx_text(r, &f, &domain))
            return -1;
        if (f.number == 2 && f.type == DLT_WIRE_VARINT)
            version = (int64_t)f.value;
    }
    if (!*domain || strcmp(domain, "ai.onnx") == 0)
        *opset = version > 0 && version < 10000 ? (int)version : 0;
    return more;
}

struct function_rooms {
    size_t input, output, node;
};

static int read_function_field(struct dlt_onnx_reader *r, const struct dlt_wire_field *f,
                               struct dlt_onnx_function *fn, struct function_rooms *rooms)
{
    switch (f->number) {
    case 1:
        return dlt_onnx_text(r, f, &fn->name);
    case 4:
        return read_names(r, f, &fn->input, &fn->input_count, &rooms->input);
    case 5:
        return read_names(r, f, &fn->output, &fn->output_count, &rooms->output);
    case 7:
        return read_node(r, f, &fn->graph, &rooms->node);
    case 9:
        return DLT_ONNX_INSIDE(r, *f, read_opset(r, f->end, &fn->opset));
    case 10:
        return dlt_onnx_text(r, f, &fn->domain);
    default:
        return 0;
    }
}

static int read_function(struct dlt_onnx_reader *r, const struct dlt_wire_field *field,
                         struct dlt_onnx_model *model, size_t *room)
{
    struct function_rooms rooms = {0};
    struct dlt_onnx_names *outer = r->names;
    struct dlt_onnx_function *fn;
    struct dlt_wire_field f;
    int more;

    if (dlt_onnx_grow(r->arena, &model->function, model->function_count, sizeof *fn, room,
                      r->error))
        return -1;
    fn = &model->function[model->function_count++];
    *fn = (struct dlt_onnx_function){.name = "", .domain = "", .graph.name = ""};
    r->names = &fn->names;
    r->wire.at = field->begin;
    while ((more = dlt_wire_next(&r->wire, field->end, &f, r->error)) > 0) {
        if (f.type == DLT_WIRE_BYTES && read_function_field(r, &f, fn, &rooms))
            return -1;
        r->wire.at = f.type == DLT_WIRE_BYTES ? f.end : r->wire.at;
    }
    dlt_onnx_names_close(&fn->names);
    r->names = outer;
    return more;
}

static int read_model(struct dlt_onnx_reader *r, int64_t end, struct dlt_onnx_model *model)
{
    size_t functions = 0;
    bool graph = false;
    struct dlt_wire_field f;
    int more;

    while ((more = dlt_wire_next(&r->wire, end, &f, r->error)) > 0) {
        int status = 0;

        if (f.type != DLT_WIRE_BYTES)
            continue;
        if (f.number == 7 && graph)
            return dlt_fail(r->error, "byte %lld: a second graph", (long long)f.begin);
        if (f.number == 7)
            status = DLT_ONNX_INSIDE(r, f, read_graph(r, f.end, &model->graph));
        else if (f.number == 8)
            status = DLT_ONNX_INSIDE(r, f, read_opset(r, f.end, &model->opset));
        else if (f.number == 25)
            status = read_function(r, &f, model, &functions);
        if (status)
            return -1;
        graph |= f.number == 7;
        r->wire.at = f.end;
    }
    if (more == 0 && !graph)
        return dlt_fail(r->error, "holds no graph: not an ONNX model");
    return more;
}

int dlt_onnx_read(int fd, int64_t size, struct dlt_onnx_model **model, struct dlt_error *error)
{
    struct dlt_onnx_reader *reader = calloc(1, sizeof *reader);
    struct dlt_onnx_model *m = calloc(1, sizeof *m);
    int status = -1;

    if (reader && m) {
        dlt_wire_init(&reader->wire, fd);
        reader->arena = &m->arena;
        reader->names = &m->names;
        reader->nodes = &m->nodes;
        reader->error = error;
        m->graph.name = "";
        status = size > 0 ? read_model(reader, size, m) : dlt_fail(error, "is empty");
    } else {
        dlt_fail_memory(error);
    }
    free(reader);
    if (status) {
        dlt_onnx_destroy(m);
        return -1;
    }
    dlt_onnx_names_close(&m->names);
    *model = m;
    return 0;
}

void dlt_onnx_destroy(struct dlt_onnx_model *model)
{
    if (!model)
        return;
    dlt_onnx_names_close(&model->names);
    for (size_t i = 0; i < model->function_count; i++)
        dlt_onnx_names_close(&model->function[i].names);
    dlt_onnx_release(&model->arena);
    free(model);
}
