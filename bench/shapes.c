/* SPDX-License-Identifier: Apache-2.0 */
#include "shapes.h"

#include <math.h>
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
    bool norm = is_kind(record, "batch_norm") || is_kind(record, "group_norm");
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

    if (role == BENCH_WEIGHT)
        return (is_kind(record, "layer_norm") || is_kind(record, "rms_norm")) &&
               vector(shape, r->columns);
    if (role == BENCH_BIAS)
        return is_kind(record, "layer_norm") && vector(shape, r->columns);
    if (is_kind(record, "cross_entropy") && role != BENCH_INPUT)
        return (role == BENCH_OUTPUT || role == BENCH_MASK) &&
               vector(shape, role == BENCH_MASK ? r->rows : 1);
    if (is_kind(record, "reduction") && role == BENCH_OUTPUT)
        return vector(shape, r->rows);
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

static bool upsample_shape(const struct dlt_record *record, enum bench_role role,
                           struct bench_shape *shape)
{
    const struct dlt_rowwise *r = &record->u.rowwise;
    int64_t plane = role == BENCH_INPUT ? r->operands : r->columns;
    int64_t side = (int64_t)sqrt((double)plane);
    int64_t other = (int64_t)sqrt((double)(role == BENCH_INPUT ? r->columns : r->operands));
    bool squares = side * side == plane && other * other == r->operands + r->columns - plane;

    *shape = (struct bench_shape){4, {1, r->rows, squares ? side : 1, squares ? side : plane}};
    return role == BENCH_INPUT || role == BENCH_OUTPUT;
}

static bool embedding_shape(const struct dlt_record *record, enum bench_role role,
                            struct bench_shape *shape)
{
    const struct dlt_matmul *m = &record->u.matmul;

    switch (role) {
    case BENCH_WEIGHT:
        return matrix(shape, m->k, m->n);
    case BENCH_OUTPUT:
        return matrix(shape, m->m, m->n);
    case BENCH_MASK:
        return vector(shape, m->m);
    default:
        return false;
    }
}

static bool attention_shape(const struct dlt_record *record, enum bench_role role, int index,
                            struct bench_shape *shape)
{
    const struct dlt_attention *a = &record->u.attention;
    bool key = role == BENCH_INPUT && index > 0;

    *shape = (struct bench_shape){
        3, {a->batch * a->heads, key ? a->key_length : a->query_length, a->head_size}};
    return role == BENCH_INPUT || role == BENCH_OUTPUT;
}

static bool recurrent_shape(const struct dlt_record *record, enum bench_role role, int index,
                            struct bench_shape *shape)
{
    const struct dlt_recurrent *r = &record->u.recurrent;
    int64_t directions = r->bidirectional ? 2 : 1;
    int64_t gates = is_kind(record, "lstm") ? 4 : is_kind(record, "gru") ? 3 : 1;
    int64_t in = index > 1 ? r->hidden_size * directions : r->in_features;

    switch (role) {
    case BENCH_INPUT:
        *shape = (struct bench_shape){3, {r->length, r->batch, r->in_features}};
        return true;
    case BENCH_OUTPUT:
        *shape = (struct bench_shape){3, {r->length, r->batch, r->hidden_size * directions}};
        return true;
    case BENCH_WEIGHT:
        *shape = (struct bench_shape){
            5, {1, directions, index % 2 ? r->hidden_size : in, gates, r->hidden_size}};
        return index < 2 * r->num_layers;
    case BENCH_BIAS:
        *shape = (struct bench_shape){4, {1, directions, gates + (gates == 3), r->hidden_size}};
        return index < r->num_layers;
    default:
        return false;
    }
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
    if (is_kind(record, "scaled_dot_product_attention"))
        return 3;
    return is_kind(record, "optimizer_update") || is_kind(record, "embedding") ? 0 : 1;
}

/* Whether the record has more than one array of a role that is not an input. */
static bool has_several(const struct dlt_record *record)
{
    return is_kind(record, "optimizer_update") || is_kind(record, "lstm") ||
           is_kind(record, "gru") || is_kind(record, "rnn");
}

bool bench_role_shape(const struct dlt_record *record, enum bench_role role, int index,
                      struct bench_shape *shape)
{
    role = value_role(role);
    memset(shape, 0, sizeof *shape);
    if (role == BENCH_INPUT && index >= bench_operands(record))
        return false;
    if (index > 0 && (role == BENCH_WEIGHT || role == BENCH_BIAS) && !has_several(record))
        return false;
    if (record->kind->dims > 0)
        return spatial_shape(record, role, shape);
    if (is_kind(record, "dense"))
        return dense_shape(record, role, shape);
    if (is_kind(record, "bmm"))
        return bmm_shape(record, role, index, shape);
    if (is_kind(record, "optimizer_update"))
        return update_shape(record, role, index, shape);
    if (is_kind(record, "upsample"))
        return upsample_shape(record, role, shape);
    if (is_kind(record, "embedding"))
        return embedding_shape(record, role, shape);
    if (is_kind(record, "scaled_dot_product_attention"))
        return attention_shape(record, role, index, shape);
    if (is_kind(record, "lstm") || is_kind(record, "gru") || is_kind(record, "rnn"))
        return recurrent_shape(record, role, index, shape);
    return rowwise_shape(record, role, index, shape);
}
