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
    "none", "relu", "gelu", "sigmoid", "tanh",   "add",   "sub",
    "mul",  "div",  "pow",  "dropout", "concat", "relu6", "cast"};
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
    int64_t span = s->in_size[dim] + s->padding[dim][0] + s->padding[dim][1] -
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

/* Elements of the input plane, the output plane and the window. */
static void planes(const struct dlt_record *r, double *in, double *out, double *window)
{
    const struct dlt_spatial *s = &r->u.spatial;

    *in = *out = *window = 1;
    for (int d = 0; d < r->kind->dims; d++) {
        *in *= (double)s->in_size[d];
        *out *= (double)dlt_spatial_out(s, d);
        *window *= (double)s->kernel[d];
    }
}

/* Passes that a pass consists of, as multiples of the forward pass's matrix product. */
static double products(enum dlt_pass pass)
{
    static const double count[DLT_PASSES] = {
        [DLT_FORWARD] = 1,  [DLT_BACKWARD_DATA] = 1, [DLT_BACKWARD_WEIGHT] = 1,
        [DLT_BACKWARD] = 2, [DLT_UPDATE] = 0,        [DLT_STEP] = 3};

    return count[pass];
}

/* Fills in what every matmul-like operator shares: one product for each pass, each operand read or
 * written once, and the optimizer's walk over the weights for a step or an update. */
static void matmul_like(const struct dlt_record *r, struct dlt_work *w)
{
    double size = (double)dlt_dtype_size(r->dtype);
    double updates = r->pass == DLT_STEP || r->pass == DLT_UPDATE ? 1 : 0;
    double touches = updates * dlt_optimizer_touches(r->optimizer) * w->weights;

    w->macs = products(r->pass) * w->batch * w->m * w->n * w->k;
    w->flops = 2 * w->macs + touches;
    w->bytes = size * products(r->pass) * (w->input + w->output + w->weights) + 4 * touches;
}

static void convolution_work(const struct dlt_record *r, struct dlt_work *w)
{
    const struct dlt_spatial *s = &r->u.spatial;
    int64_t in_channels = s->in_channels / s->groups; /* of one group */
    int64_t out_channels = s->out_channels / s->groups;
    double in, out, window;

    planes(r, &in, &out, &window);
    w->batch = (double)s->groups;
    w->m = (double)s->batch * out;
    w->n = (double)out_channels;
    w->k = (double)in_channels * window;
    w->input = (double)s->batch * (double)s->in_channels * in;
    w->output = (double)s->batch * (double)s->out_channels * out;
    w->weights = (double)s->out_channels * w->k + (s->bias ? (double)s->out_channels : 0);
    matmul_like(r, w);
}

static void dense_work(const struct dlt_record *r, struct dlt_work *w)
{
    const struct dlt_matmul *d = &r->u.matmul;

    w->batch = 1;
    w->m = (double)d->m;
    w->n = (double)d->n;
    w->k = (double)d->k;
    w->input = w->m * w->k;
    w->output = w->m * w->n;
    w->weights = w->n * w->k + (d->bias ? w->n : 0);
    matmul_like(r, w);
}

static void bmm_work(const struct dlt_record *r, struct dlt_work *w)
{
    const struct dlt_matmul *d = &r->u.matmul;

    w->batch = (double)d->batch;
    w->m = (double)d->m;
    w->n = (double)d->n;
    w->k = (double)d->k;
    w->input = w->batch * (w->m * w->k + w->k * w->n);
    w->output = w->batch * w->m * w->n;
    w->weights = 0;
    matmul_like(r, w);
}

/* Work of an operator that memory bounds: elements moved per output (or input) element in each
 * direction and FLOPs on each. */
static void memory_bound(const struct dlt_record *r, struct dlt_work *w, double forward_elements,
                         double backward_elements, double flops)
{
    double size = (double)dlt_dtype_size(r->dtype);
    bool forward = r->pass == DLT_FORWARD || r->pass == DLT_STEP;
    bool backward = r->pass != DLT_FORWARD && r->pass != DLT_UPDATE;

    w->bytes = size * ((forward ? forward_elements : 0) + (backward ? backward_elements : 0));
    w->flops = (forward ? flops : 0) + (backward ? 2 * flops : 0);
}

static void pool_work(const struct dlt_record *r, struct dlt_work *w)
{
    const struct dlt_spatial *s = &r->u.spatial;
    double in, out, window, images = (double)s->batch * (double)s->in_channels;

    planes(r, &in, &out, &window);
    w->input = images * in;
    w->output = images * out;
    memory_bound(r, w, w->input + w->output, w->input + w->output, w->output * window);
}

/* Training reads the input twice (statistics, then normalising); backward reads the input and the
 * output's gradient twice and writes once. Inference reads once. */
static void batch_norm_work(const struct dlt_record *r, struct dlt_work *w)
{
    const struct dlt_spatial *s = &r->u.spatial;
    double elements = (double)s->batch * (double)s->in_channels;

    for (int d = 0; d < r->kind->dims; d++)
        elements *= (double)s->in_size[d];
    w->input = w->output = elements;
    w->weights = 2 * (double)s->in_channels;
    memory_bound(r, w, elements * (s->training ? 3 : 2), elements * 5, elements * 5);
}

static void rows_work(const struct dlt_record *r, struct dlt_work *w, double backward_touches)
{
    double elements = (double)r->u.rowwise.rows * (double)r->u.rowwise.columns;

    w->input = w->output = elements;
    memory_bound(r, w, 2 * elements, backward_touches * elements, 5 * elements);
}

/* Elements moved in backward, per element, by PyTorch's kernels: softmax 24 bytes, layer_norm 28
 * bytes in float32 (read off operator traces of NeuSight, Lee et al. 2025). */
static void layer_norm_work(const struct dlt_record *r, struct dlt_work *w)
{
    rows_work(r, w, 7);
    w->weights = 2 * (double)r->u.rowwise.columns;
}

static void softmax_work(const struct dlt_record *r, struct dlt_work *w)
{
    rows_work(r, w, 6);
}

/* FLOPs of one element: what the function costs where arithmetic is scalar. */
static const double function_flops[DLT_FUNCTIONS] = {
    [DLT_RELU] = 1, [DLT_GELU] = 10,   [DLT_SIGMOID] = 8, [DLT_TANH] = 8,
    [DLT_ADD] = 1,  [DLT_SUB] = 1,     [DLT_MUL] = 1,     [DLT_DIV] = 4,
    [DLT_POW] = 20, [DLT_DROPOUT] = 6, [DLT_RELU6] = 2,   [DLT_CAST] = 1};

/* Reads its operands, writes one output; backward reads the output's gradient and, where the
 * derivative needs it, what was kept, and writes a gradient for each operand. */
static void elementwise_work(const struct dlt_record *r, struct dlt_work *w)
{
    const struct dlt_rowwise *e = &r->u.rowwise;
    double output = (double)e->rows * (double)e->columns;
    double operands = (double)e->operands;
    double reads = operands;

    if (e->function == DLT_CONCAT)
        reads = 1; /* the operands together are as large as the output */
    w->output = output;
    w->input = output * reads;
    memory_bound(r, w, output * (reads + 1), output * (reads + 2),
                 output * function_flops[e->function]);
}

static void update_work(const struct dlt_record *r, struct dlt_work *w)
{
    double touches = dlt_optimizer_touches(r->optimizer) * (double)r->u.update.elements;

    w->weights = (double)r->u.update.elements;
    w->flops = touches;
    w->bytes = 4 * touches;
}

#define SPATIAL(field) offsetof(struct dlt_record, u.spatial.field)
#define MATMUL(field)  offsetof(struct dlt_record, u.matmul.field)
#define ROWWISE(field) offsetof(struct dlt_record, u.rowwise.field)
#define UPDATE(field)  offsetof(struct dlt_record, u.update.field)
#define REQUIRED(name, type, offset)                                                               \
    {                                                                                              \
        name, type, offset, true, 1, NULL, 0                                                       \
    }
#define OPTIONAL(name, type, offset, fallback)                                                     \
    {                                                                                              \
        name, type, offset, false, fallback, NULL, 0                                               \
    }

#define CONVOLUTION(kind_name, kind_dims)                                                          \
    {                                                                                              \
        kind_name, kind_dims,                                                                      \
            {REQUIRED("batch", DLT_FIELD_INT, SPATIAL(batch)),                                     \
             REQUIRED("in_channels", DLT_FIELD_INT, SPATIAL(in_channels)),                         \
             REQUIRED("in_size", DLT_FIELD_LIST, SPATIAL(in_size)),                                \
             REQUIRED("out_channels", DLT_FIELD_INT, SPATIAL(out_channels)),                       \
             REQUIRED("kernel", DLT_FIELD_LIST, SPATIAL(kernel)),                                  \
             OPTIONAL("stride", DLT_FIELD_LIST, SPATIAL(stride), 1),                               \
             OPTIONAL("dilation", DLT_FIELD_LIST, SPATIAL(dilation), 1),                           \
             OPTIONAL("padding", DLT_FIELD_PADDING, SPATIAL(padding), 0),                          \
             OPTIONAL("groups", DLT_FIELD_INT, SPATIAL(groups), 1),                                \
             OPTIONAL("bias", DLT_FIELD_BOOL, SPATIAL(bias), 0)},                                  \
            convolution_work                                                                       \
    }

#define POOL(kind_name, kind_dims)                                                                 \
    {                                                                                              \
        kind_name, kind_dims,                                                                      \
            {REQUIRED("batch", DLT_FIELD_INT, SPATIAL(batch)),                                     \
             REQUIRED("channels", DLT_FIELD_INT, SPATIAL(in_channels)),                            \
             REQUIRED("in_size", DLT_FIELD_LIST, SPATIAL(in_size)),                                \
             REQUIRED("kernel", DLT_FIELD_LIST, SPATIAL(kernel)),                                  \
             OPTIONAL("stride", DLT_FIELD_LIST, SPATIAL(stride), 1),                               \
             OPTIONAL("dilation", DLT_FIELD_LIST, SPATIAL(dilation), 1),                           \
             OPTIONAL("padding", DLT_FIELD_PADDING, SPATIAL(padding), 0)},                         \
            pool_work                                                                              \
    }

static const struct dlt_record_kind kinds[] = {
    CONVOLUTION("conv1d", 1),
    CONVOLUTION("conv2d", 2),
    CONVOLUTION("conv3d", 3),
    {"dense",
     0,
     {REQUIRED("batch", DLT_FIELD_INT, MATMUL(m)),
      REQUIRED("in_features", DLT_FIELD_INT, MATMUL(k)),
      REQUIRED("out_features", DLT_FIELD_INT, MATMUL(n)),
      OPTIONAL("bias", DLT_FIELD_BOOL, MATMUL(bias), 0)},
     dense_work},
    {"bmm",
     0,
     {REQUIRED("batch", DLT_FIELD_INT, MATMUL(batch)), REQUIRED("m", DLT_FIELD_INT, MATMUL(m)),
      REQUIRED("n", DLT_FIELD_INT, MATMUL(n)), REQUIRED("k", DLT_FIELD_INT, MATMUL(k))},
     bmm_work},
    POOL("max_pool2d", 2),
    POOL("avg_pool2d", 2),
    {"batch_norm",
     2,
     {REQUIRED("batch", DLT_FIELD_INT, SPATIAL(batch)),
      REQUIRED("channels", DLT_FIELD_INT, SPATIAL(in_channels)),
      REQUIRED("in_size", DLT_FIELD_LIST, SPATIAL(in_size)),
      OPTIONAL("training", DLT_FIELD_BOOL, SPATIAL(training), 1)},
     batch_norm_work},
    {"layer_norm",
     0,
     {REQUIRED("rows", DLT_FIELD_INT, ROWWISE(rows)),
      REQUIRED("columns", DLT_FIELD_INT, ROWWISE(columns))},
     layer_norm_work},
    {"softmax",
     0,
     {REQUIRED("rows", DLT_FIELD_INT, ROWWISE(rows)),
      REQUIRED("columns", DLT_FIELD_INT, ROWWISE(columns))},
     softmax_work},
    {"elementwise",
     0,
     {{"function", DLT_FIELD_NAME, ROWWISE(function), true, 0, dlt_function_names, DLT_FUNCTIONS},
      OPTIONAL("operands", DLT_FIELD_INT, ROWWISE(operands), 1),
      REQUIRED("rows", DLT_FIELD_INT, ROWWISE(rows)),
      REQUIRED("columns", DLT_FIELD_INT, ROWWISE(columns))},
     elementwise_work},
    {"optimizer_update",
     0,
     {REQUIRED("elements", DLT_FIELD_INT, UPDATE(elements)),
      OPTIONAL("tensors", DLT_FIELD_INT, UPDATE(tensors), 1),
      {"implementation", DLT_FIELD_NAME, UPDATE(implementation), false, DLT_FOR_LOOP,
       dlt_implementation_names, DLT_IMPLEMENTATIONS}},
     update_work},
};

size_t dlt_record_kind_count(void)
{
    return sizeof kinds / sizeof *kinds;
}

const struct dlt_record_kind *dlt_record_kind_at(size_t index)
{
    return &kinds[index];
}

const struct dlt_record_kind *dlt_record_kind_find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
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

static int check_spatial(const struct dlt_record *r, struct dlt_error *error)
{
    const struct dlt_spatial *s = &r->u.spatial;

    if (s->in_channels % s->groups || s->out_channels % s->groups)
        return dlt_fail(error,
                        "%s: groups %lld does not divide in_channels %lld and out_channels %lld",
                        r->kind->name, (long long)s->groups, (long long)s->in_channels,
                        (long long)s->out_channels);
    for (int d = 0; d < r->kind->dims; d++) {
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
    uint64_t hash = hash_number(14695981039346656037ULL, record->kind - kinds);

    hash = hash_number(hash, record->pass);
    for (const struct dlt_field *field = record->kind->fields; field->name; field++)
        for (size_t i = 0; i < field_width(record->kind, field); i++)
            hash = hash_number(hash, dlt_record_field(&copy, field)[i]);
    return hash;
}
