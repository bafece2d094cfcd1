/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/record.h"

#include <string.h>

#include "base/error.h"

const char *const dlt_pass_names[DLT_PASSES] = {"forward",  "backward_data", "backward_weight",
                                                "backward", "update",        "step"};
const char *const dlt_dtype_names[DLT_DTYPES] = {"float32", "float16", "bfloat16"};
const char *const dlt_math_names[DLT_MATHS] = {"ieee", "tf32"};
const char *const dlt_layout_names[DLT_LAYOUTS] = {"nchw", "nhwc"};
const char *const dlt_cache_names[DLT_CACHES] = {"unknown", "cold", "warm"};
const char *const dlt_function_names[DLT_FUNCTIONS] = {
    "none",        "relu",     "gelu",       "sigmoid", "tanh",  "add",      "sub",     "mul",
    "div",         "pow",      "dropout",    "concat",  "relu6", "cast",     "silu",    "hardswish",
    "hardsigmoid", "hardtanh", "leaky_relu", "elu",     "prelu", "softplus", "mish",    "exp",
    "log",         "sqrt",     "erf",        "abs",     "where", "maximum",  "compare", "copy"};
const char *const dlt_optimizer_names[DLT_OPTIMIZERS] = {"none",    "sgd",   "momentum", "nesterov",
                                                         "adam",    "adamw", "adagrad",  "adadelta",
                                                         "rmsprop", "lamb"};
const char *const dlt_implementation_names[DLT_IMPLEMENTATIONS] = {"for_loop", "foreach", "fused"};

int dlt_name_index(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

size_t dlt_dtype_size(enum dlt_dtype dtype)
{
    return dtype == DLT_FLOAT32 ? 4 : 2;
}

static const struct {
    double touches;
    int states;
} optimizers[DLT_OPTIMIZERS] = {
    [DLT_SGD] = {3, 0},      [DLT_MOMENTUM] = {5, 1}, [DLT_NESTEROV] = {5, 1},
    [DLT_ADAM] = {7, 2},     [DLT_ADAMW] = {7, 2},    [DLT_ADAGRAD] = {5, 1},
    [DLT_ADADELTA] = {9, 2}, [DLT_RMSPROP] = {7, 1},  [DLT_LAMB] = {11, 2},
};

double dlt_optimizer_touches(enum dlt_optimizer optimizer)
{
    return optimizers[optimizer].touches;
}

int dlt_optimizer_states(enum dlt_optimizer optimizer)
{
    return optimizers[optimizer].states;
}

int64_t dlt_spatial_out(const struct dlt_spatial *s, int dim)
{
    int64_t span;

    if (s->out_size[dim])
        return s->out_size[dim];
    span = s->in_size[dim] + s->padding[dim][0] + s->padding[dim][1] -
           s->dilation[dim] * (s->kernel[dim] - 1) - 1;
    return span < 0 ? 0 : span / s->stride[dim] + 1;
}

void dlt_spatial_pad_same(struct dlt_spatial *s, int dims)
{
    for (int d = 0; d < dims; d++) {
        int64_t out = (s->in_size[d] + s->stride[d] - 1) / s->stride[d];
        int64_t total =
            (out - 1) * s->stride[d] + s->dilation[d] * (s->kernel[d] - 1) + 1 - s->in_size[d];

        if (total < 0)
            total = 0;
        s->padding[d][0] = total / 2;
        s->padding[d][1] = total - total / 2;
    }
}

int64_t *dlt_record_field(struct dlt_record *record, const struct dlt_field *field)
{
    return (int64_t *)(void *)((char *)record + field->offset);
}

/* Numbers behind a field: a list has one a dimension, padding two. */
static size_t field_width(const struct dlt_record_kind *kind, const struct dlt_field *field)
{
    if (field->type == DLT_FIELD_LIST)
        return (size_t)kind->dims;
    return field->type == DLT_FIELD_PADDING ? 2 * (size_t)kind->dims : 1;
}

struct dlt_record dlt_record_make(const struct dlt_record_kind *kind)
{
    struct dlt_record record;

    /* Zeroed with its holes, so that records can be hashed and compared field by field or whole. */
    memset(&record, 0, sizeof record);
    record.kind = kind;
    for (const struct dlt_field *field = kind->fields; field->name; field++) {
        int64_t *value = dlt_record_field(&record, field);

        for (size_t i = 0; i < field_width(kind, field); i++)
            value[i] = field->fallback;
    }
    /* Kinds of one struct use different parts of it; the work functions see neutral values. */
    if (kind->dims > 0) {
        struct dlt_spatial *s = &record.u.spatial;

        s->groups = s->groups ? s->groups : 1;
        for (int d = 0; d < kind->dims; d++) {
            s->kernel[d] = s->kernel[d] ? s->kernel[d] : 1;
            s->stride[d] = s->stride[d] ? s->stride[d] : 1;
            s->dilation[d] = s->dilation[d] ? s->dilation[d] : 1;
        }
    }
    return record;
}

void dlt_record_work(const struct dlt_record *record, struct dlt_work *work)
{
    *work = (struct dlt_work){0};
    record->kind->work(record, work);
}

static const double largest_product = 9007199254740992.0; /* 2^53: exact in a double */

/* A transposed convolution's output is what the windows of its input cover, and output_padding,
 * which is smaller than stride or dilation. */
static bool covers(const struct dlt_spatial *s, int dim)
{
    int64_t more = s->out_size[dim] + s->padding[dim][0] + s->padding[dim][1] -
                   s->dilation[dim] * (s->kernel[dim] - 1) - 1 -
                   (s->in_size[dim] - 1) * s->stride[dim];

    return more >= 0 && (more < s->stride[dim] || more < s->dilation[dim]);
}

static int check_spatial(const struct dlt_record *r, struct dlt_error *error)
{
    const struct dlt_spatial *s = &r->u.spatial;

    if (s->in_channels % s->groups || s->out_channels % s->groups)
        return dlt_fail(error,
                        "%s: groups %lld does not divide in_channels %lld and out_channels %lld",
                        r->kind->name, (long long)s->groups, (long long)s->in_channels,
                        (long long)s->out_channels);
    for (int d = 0; d < r->kind->dims; d++) {
        if (s->out_size[d] && !covers(s, d))
            return dlt_fail(error, "%s: out_size %lld does not follow from an in_size of %lld",
                            r->kind->name, (long long)s->out_size[d], (long long)s->in_size[d]);
        if (dlt_spatial_out(s, d) < 1)
            return dlt_fail(error, "%s: kernel %lld does not fit into %lld padded by %lld + %lld",
                            r->kind->name, (long long)s->kernel[d], (long long)s->in_size[d],
                            (long long)s->padding[d][0], (long long)s->padding[d][1]);
    }
    return 0;
}

int dlt_record_check(const struct dlt_record *record, struct dlt_error *error)
{
    struct dlt_record copy = *record;
    struct dlt_work work;

    for (const struct dlt_field *field = record->kind->fields; field->name; field++) {
        const int64_t *value = dlt_record_field(&copy, field);
        int64_t least = field->type == DLT_FIELD_INT || field->type == DLT_FIELD_LIST ? 1 : 0;

        for (size_t i = 0; i < field_width(record->kind, field); i++) {
            if (value[i] < least)
                return dlt_fail(error, "%s: %s is %lld; it has to be at least %lld",
                                record->kind->name, field->name, (long long)value[i],
                                (long long)least);
            if (value[i] > INT32_MAX && field->type != DLT_FIELD_INT)
                return dlt_fail(error, "%s: %s is %lld; it may be at most 2147483647",
                                record->kind->name, field->name, (long long)value[i]);
        }
    }
    if (record->kind->dims > 0 && check_spatial(record, error))
        return -1;
    dlt_record_work(record, &work);
    if (!(work.input < largest_product && work.output < largest_product &&
          work.weights < largest_product && work.macs < 1e24))
        return dlt_fail(error, "%s: its sizes multiply to more than 2^53 elements",
                        record->kind->name);
    return 0;
}

/* A warm cache changes the time but not the work; it is compared all the same, like the threads. */
bool dlt_record_equal(const struct dlt_record *a, const struct dlt_record *b)
{
    struct dlt_record x = *a, y = *b;

    if (a->kind != b->kind || a->pass != b->pass || a->dtype != b->dtype || a->math != b->math ||
        a->layout != b->layout || a->cache != b->cache || a->activation != b->activation ||
        a->optimizer != b->optimizer || a->threads != b->threads)
        return false;
    for (const struct dlt_field *field = a->kind->fields; field->name; field++)
        if (memcmp(dlt_record_field(&x, field), dlt_record_field(&y, field),
                   field_width(a->kind, field) * sizeof(int64_t)) != 0)
            return false;
    return true;
}

/* One number into an FNV-1a hash. */
static uint64_t hash_number(uint64_t hash, int64_t number)
{
    for (size_t i = 0; i < sizeof number; i++)
        hash = (hash ^ ((uint64_t)number >> (8 * i) & 0xff)) * 1099511628211ULL;
    return hash;
}

uint64_t dlt_record_hash(const struct dlt_record *record)
{
    struct dlt_record copy = *record;
    uint64_t hash = hash_number(14695981039346656037ULL, record->kind - dlt_record_kind_at(0));

    hash = hash_number(hash, record->pass);
    for (const struct dlt_field *field = record->kind->fields; field->name; field++)
        for (size_t i = 0; i < field_width(record->kind, field); i++)
            hash = hash_number(hash, dlt_record_field(&copy, field)[i]);
    return hash;
}
