/* SPDX-License-Identifier: Apache-2.0 */
/* Values, what attributes say, and constants. */
#include <string.h>

#include "graph/onnx_build.h"
#include "graph/op.h"

struct dlt_onnx_value *dlt_onnx_value(struct dlt_onnx_build *b, int name)
{
    return name < 0 ? NULL : &b->scope->value[name];
}

struct dlt_onnx_value *dlt_onnx_input(struct dlt_onnx_build *b, size_t k)
{
    return k < b->node->input_count ? dlt_onnx_value(b, b->node->input[k]) : NULL;
}

enum dlt_tensor_type dlt_onnx_our_type(int type)
{
    if (type == DLT_ONNX_BOOL)
        return DLT_TENSOR_BOOL;
    /* Values of unknown type are taken for real ones. */
    return dlt_onnx_type_is_real(type) || type == 0 ? DLT_TENSOR_FLOAT : DLT_TENSOR_INT64;
}

static int their_type(enum dlt_tensor_type type)
{
    static const int types[] = {[DLT_TENSOR_FLOAT] = DLT_ONNX_FLOAT,
                                [DLT_TENSOR_INT64] = DLT_ONNX_INT64,
                                [DLT_TENSOR_BOOL] = DLT_ONNX_BOOL};

    return types[type];
}

const struct dlt_onnx_tensor *dlt_onnx_shape(const struct dlt_onnx_build *b,
                                             const struct dlt_onnx_value *value,
                                             struct dlt_onnx_tensor *room)
{
    const struct dlt_tensor *t;

    if (value->kind != DLT_ONNX_TENSOR)
        return value->constant;
    t = dlt_builder_tensor(b->builder, value->tensor);
    *room = (struct dlt_onnx_tensor){
        .name = -1, .type = their_type(t->type), .rank = t->rank, .count = 1};
    for (int d = 0; d < t->rank; d++) {
        room->dim[d] = t->dim[d];
        room->count *= t->dim[d];
    }
    return room;
}

bool dlt_onnx_is_parameter(const struct dlt_onnx_value *value)
{
    return value && value->kind == DLT_ONNX_PARAMETER;
}

bool dlt_onnx_is_constant(const struct dlt_onnx_value *value)
{
    return value && value->kind == DLT_ONNX_CONSTANT &&
           (value->constant->ints || value->constant->reals || value->constant->count == 0);
}

bool dlt_onnx_value_ints(const struct dlt_onnx_value *value, struct dlt_onnx_ints *ints)
{
    if (!value || value->kind == DLT_ONNX_TENSOR || value->kind == DLT_ONNX_NOTHING ||
        (!value->constant->ints && value->constant->count > 0))
        return false;
    ints->value = value->constant->ints;
    ints->count = (size_t)value->constant->count;
    return true;
}

bool dlt_onnx_value_real(const struct dlt_onnx_value *value, double *real)
{
    if (!value || value->kind == DLT_ONNX_TENSOR || value->kind == DLT_ONNX_NOTHING ||
        value->constant->count != 1 || (!value->constant->ints && !value->constant->reals))
        return false;
    *real = dlt_onnx_element(value->constant, 0);
    return true;
}

static const struct dlt_onnx_attribute *find(const struct dlt_onnx_node *node, const char *name)
{
    for (size_t i = 0; i < node->attribute_count; i++)
        if (strcmp(node->attribute[i].name, name) == 0)
            return &node->attribute[i];
    return NULL;
}

/* In a function an attribute may stand for one of the call, and so on outwards. */
const struct dlt_onnx_attribute *dlt_onnx_attribute(const struct dlt_onnx_build *b,
                                                    const char *name)
{
    const struct dlt_onnx_attribute *a = find(b->node, name);

    for (const struct dlt_onnx_scope *s = b->scope; a && *a->reference; s = s->outer) {
        if (!s || !s->call)
            return NULL;
        a = find(s->call, a->reference);
    }
    return a;
}

int64_t dlt_onnx_integer(const struct dlt_onnx_build *b, const char *name, int64_t fallback)
{
    const struct dlt_onnx_attribute *a = dlt_onnx_attribute(b, name);

    return a ? a->integer : fallback;
}

double dlt_onnx_number_of(const struct dlt_onnx_build *b, const char *name, double fallback)
{
    const struct dlt_onnx_attribute *a = dlt_onnx_attribute(b, name);

    return a ? a->real : fallback;
}

const char *dlt_onnx_word(const struct dlt_onnx_build *b, const char *name, const char *fallback)
{
    const struct dlt_onnx_attribute *a = dlt_onnx_attribute(b, name);

    return a ? a->text : fallback;
}

bool dlt_onnx_ints(const struct dlt_onnx_build *b, const char *name, struct dlt_onnx_ints *ints)
{
    const struct dlt_onnx_attribute *a = dlt_onnx_attribute(b, name);

    *ints = (struct dlt_onnx_ints){0};
    if (!a)
        return false;
    ints->value = a->ints;
    ints->count = a->int_count;
    return true;
}

int dlt_onnx_list_or_input(struct dlt_onnx_build *b, const char *name, size_t k,
                           struct dlt_onnx_ints *ints)
{
    const struct dlt_onnx_value *value = dlt_onnx_input(b, k);

    if (dlt_onnx_ints(b, name, ints))
        return 1;
    if (!value)
        return 0;
    return dlt_onnx_value_ints(value, ints) ? 1 : -1;
}

int dlt_onnx_axis(struct dlt_onnx_build *b, int64_t axis, int rank, int *wrapped)
{
    if (axis < -rank || axis >= rank)
        return dlt_fail(b->error, "axis %lld of a tensor of %d dimensions", (long long)axis, rank);
    *wrapped = (int)(axis < 0 ? axis + rank : axis);
    return 0;
}

struct dlt_onnx_tensor *dlt_onnx_constant(struct dlt_onnx_build *b, int type, int rank,
                                          const int64_t *dim, bool known)
{
    struct dlt_onnx_tensor *t = dlt_onnx_alloc(&b->arena, 1, sizeof *t, b->error);

    if (!t)
        return NULL;
    *t = (struct dlt_onnx_tensor){.name = -1, .type = type, .rank = rank, .count = 1};
    for (int d = 0; d < rank; d++) {
        t->dim[d] = dim[d];
        if (dim[d] < 0 || dim[d] > INT32_MAX ||
            __builtin_mul_overflow(t->count, dim[d], &t->count) || t->count > INT64_C(1) << 53) {
            dlt_fail(b->error, "a size of %lld, or more than 2^53 elements", (long long)dim[d]);
            return NULL;
        }
    }
    if (!known || t->count > DLT_ONNX_INTS)
        return t;
    if (dlt_onnx_type_is_real(type))
        t->reals = dlt_onnx_alloc(&b->arena, (size_t)t->count, sizeof *t->reals, b->error);
    else
        t->ints = dlt_onnx_alloc(&b->arena, (size_t)t->count, sizeof *t->ints, b->error);
    return t->reals || t->ints ? t : NULL;
}

struct dlt_onnx_value dlt_onnx_of(const struct dlt_onnx_tensor *constant, bool literal)
{
    return (struct dlt_onnx_value){
        .kind = DLT_ONNX_CONSTANT, .tensor = -1, .literal = literal, .constant = constant};
}

double dlt_onnx_element(const struct dlt_onnx_tensor *t, int64_t i)
{
    return t->reals ? t->reals[i] : (double)t->ints[i];
}

void dlt_onnx_set_element(struct dlt_onnx_tensor *t, int64_t i, double real, int64_t integer)
{
    if (t->reals)
        ((double *)t->reals)[i] = real;
    else
        ((int64_t *)t->ints)[i] = integer;
}
