/* SPDX-License-Identifier: Apache-2.0 */
#include "shapes.h"

#include <string.h>

static bool is_kind(const struct dlt_record *record, const char *name)
{
    return strcmp(record->kind->name, name) == 0;
}

size_t bench_shape_count(const struct bench_shape *shape)
{
    size_t count = 1;

    for (int d = 0; d < shape->rank; d++)
        count *= (size_t)shape->dim[d];
    return count;
}

static bool vector(struct bench_shape *shape, int64_t length)
{
    *shape = (struct bench_shape){1, {length}};
    return true;
}

static bool matrix(struct bench_shape *shape, int64_t rows, int64_t columns)
{
    *shape = (struct bench_shape){2, {rows, columns}};
    return true;
}

static bool convolution_weight(const struct dlt_record *record, struct bench_shape *shape)
{
    const struct dlt_spatial *s = &record->u.spatial;
    int at = 0;

    if (s->groups > 1)
        shape->dim[at++] = s->groups;
    shape->dim[at++] = s->out_channels / s->groups;
    shape->dim[at++] = s->in_channels / s->groups;
    for (int d = 0; d < record->kind->dims; d++)
        shape->dim[at++] = s->kernel[d];
    shape->rank = at;
    return true;
}

/* Convolutions, pools, batch_norm. */
static bool spatial_shape(const struct dlt_record *record, enum bench_role role,
                          struct bench_shape *shape)
{
    const struct dlt_spatial *s = &record->u.spatial;
    bool norm = is_kind(record, "batch_norm");
    bool convolution = strncmp(record->kind->name, "conv", 4) == 0;

    switch (role) {
    case BENCH_INPUT:
    case BENCH_OUTPUT:
        shape->rank = 2 + record->kind->dims;
        shape->dim[0] = s->batch;
        shape->dim[1] = role == BENCH_OUTPUT && convolution ? s->out_channels : s->in_channels;
        for (int d = 0; d < record->kind->dims; d++)
            shape->dim[2 + d] = role == BENCH_INPUT || norm ? s->in_size[d] : dlt_spatial_out(s, d);
        return true;
    case BENCH_WEIGHT:
        if (norm)
            return vector(shape, s->in_channels);
        return convolution && convolution_weight(record, shape);
    case BENCH_BIAS:
        if (norm)
            return vector(shape, s->in_channels);
        return convolution && s->bias && vector(shape, s->out_channels);
    default:
        return false;
    }
}

static bool dense_shape(const struct dlt_record *record, enum bench_role role,
                        struct bench_shape *shape)
{
    const struct dlt_matmul *d = &record->u.matmul;

    switch (role) {
    case BENCH_INPUT:
        return matrix(shape, d->m, d->k);
    case BENCH_WEIGHT:
        return matrix(shape, d->n, d->k);
    case BENCH_BIAS:
        return d->bias && vector(shape, d->n);
    case BENCH_OUTPUT:
        return matrix(shape, d->m, d->n);
    default:
        return false;
    }
}

static bool bmm_shape(const struct dlt_record *record, enum bench_role role, int index,
                      struct bench_shape *shape)
{
    const struct dlt_matmul *d = &record->u.matmul;

    if (role != BENCH_INPUT && role != BENCH_OUTPUT)
        return false;
    *shape = (struct bench_shape){3, {d->batch, d->m, d->n}};
    if (role == BENCH_INPUT && index == 0)
        shape->dim[2] = d->k;
    else if (role == BENCH_INPUT)
        shape->dim[1] = d->k;
    return true;
}

int bench_concat_axis(const struct dlt_record *record)
{
    return record->u.rowwise.rows >= record->u.rowwise.operands ? 0 : 1;
}

static bool rowwise_shape(const struct dlt_record *record, enum bench_role role, int index,
                          struct bench_shape *shape)
{
    const struct dlt_rowwise *r = &record->u.rowwise;
    bool elementwise = is_kind(record, "elementwise");

    if (role == BENCH_WEIGHT || role == BENCH_BIAS)
        return is_kind(record, "layer_norm") && vector(shape, r->columns);
    if (role == BENCH_MASK && !(elementwise && r->function == DLT_DROPOUT))
        return false;
    matrix(shape, r->rows, r->columns);
    if (role == BENCH_INPUT && elementwise && r->function == DLT_CONCAT) {
        int64_t *side = &shape->dim[bench_concat_axis(record)];
        int64_t part = *side / r->operands;

        *side = index == r->operands - 1 ? *side - part * (r->operands - 1) : part;
    }
    return role == BENCH_INPUT || role == BENCH_OUTPUT || role == BENCH_MASK;
}

static bool update_shape(const struct dlt_record *record, enum bench_role role, int index,
                         struct bench_shape *shape)
{
    const struct dlt_update *u = &record->u.update;
    int64_t tensors = u->tensors > u->elements ? u->elements : u->tensors;
    int64_t part = u->elements / tensors;

    if (role == BENCH_STATE)
        return index < dlt_optimizer_states(record->optimizer) &&
               vector(shape, u->elements - part * (tensors - 1));
    if (role != BENCH_WEIGHT || index >= tensors)
        return false;
    return vector(shape, index == 0 ? u->elements - part * (tensors - 1) : part);
}

/* What a gradient is the gradient of. */
static enum bench_role value_role(enum bench_role role)
{
    switch (role) {
    case BENCH_INPUT_GRADIENT:
        return BENCH_INPUT;
    case BENCH_WEIGHT_GRADIENT:
        return BENCH_WEIGHT;
    case BENCH_BIAS_GRADIENT:
        return BENCH_BIAS;
    case BENCH_OUTPUT_GRADIENT:
        return BENCH_OUTPUT;
    default:
        return role;
    }
}

int bench_operands(const struct dlt_record *record)
{
    if (is_kind(record, "bmm"))
        return 2;
    if (is_kind(record, "elementwise"))
        return (int)record->u.rowwise.operands;
    return is_kind(record, "optimizer_update") ? 0 : 1;
}

bool bench_role_shape(const struct dlt_record *record, enum bench_role role, int index,
                      struct bench_shape *shape)
{
    role = value_role(role);
    memset(shape, 0, sizeof *shape);
    if (role == BENCH_INPUT && index >= bench_operands(record))
        return false;
    if (record->kind->dims > 0)
        return spatial_shape(record, role, shape);
    if (is_kind(record, "dense"))
        return dense_shape(record, role, shape);
    if (is_kind(record, "bmm"))
        return bmm_shape(record, role, index, shape);
    if (is_kind(record, "optimizer_update"))
        return update_shape(record, role, index, shape);
    return rowwise_shape(record, role, index, shape);
}
