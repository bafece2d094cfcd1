/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler_draw.h"

#include <string.h>

#include "random.h"

/* Most layers have whole multiples of 8 channels; some have not. */
static int64_t channels(uint64_t *random, int64_t from, int64_t to)
{
    int64_t value = bench_random_log(random, from, to);

    if (value > 8 && bench_random_below(random, 4) > 0)
        value = (value + 4) / 8 * 8;
    return value;
}

static int64_t pick(uint64_t *random, const int64_t *values, int64_t count)
{
    return values[bench_random_below(random, count)];
}

static void square(struct dlt_record *record, int64_t size, int64_t kernel, int64_t stride,
                   int64_t padding, int64_t dilation)
{
    struct dlt_spatial *s = &record->u.spatial;

    for (int d = 0; d < record->kind->dims; d++) {
        s->in_size[d] = size;
        s->kernel[d] = kernel;
        s->stride[d] = stride;
        s->dilation[d] = dilation;
        s->padding[d][0] = s->padding[d][1] = padding;
    }
}

/* A side of `to` in two dimensions: about as many points in three, and 32 times it in one. */
static int64_t side(const struct dlt_record *record, uint64_t *random, int64_t from, int64_t to)
{
    if (record->kind->dims == 1)
        return bench_random_log(random, 2 * from, 32 * to);
    return bench_random_log(random, from, record->kind->dims == 3 ? to / 4 : to);
}

void bench_draw_convolution(struct dlt_record *record, uint64_t *random)
{
    static const int64_t kernels[] = {1, 1, 1, 3, 3, 3, 3, 5, 5, 7};
    static const int64_t strides[] = {1, 1, 1, 2};
    struct dlt_spatial *s = &record->u.spatial;
    int64_t kernel = pick(random, kernels, 10), stride = pick(random, strides, 4);
    int64_t dilation = kernel > 1 && bench_random_below(random, 16) == 0 ? 2 : 1;
    int64_t same = dilation * (kernel - 1) / 2;
    int64_t padding = bench_random_below(random, 4) > 0 ? same : 0;

    s->batch = bench_random_log(random, 1, 128);
    s->in_channels = channels(random, 1, 512);
    s->out_channels = channels(random, 4, 512);
    s->bias = bench_random_below(random, 3) == 0;
    square(record, side(record, random, 4, 128), kernel, stride, padding, dilation);
    if (kernel > 1 && bench_random_below(random, 8) == 0) {
        s->groups = s->out_channels = s->in_channels;
    } else if (bench_random_below(random, 16) == 0) {
        s->groups = 4;
        s->in_channels = (s->in_channels + 3) / 4 * 4;
        s->out_channels = (s->out_channels + 3) / 4 * 4;
    }
}

void bench_draw_dense(struct dlt_record *record, uint64_t *random)
{
    struct dlt_matmul *d = &record->u.matmul;

    d->m = bench_random_log(random, 1, 1024);
    d->k = channels(random, 8, 8192);
    d->n = channels(random, 4, 8192);
    d->bias = bench_random_below(random, 4) > 0;
}

void bench_draw_bmm(struct dlt_record *record, uint64_t *random)
{
    struct dlt_matmul *d = &record->u.matmul;

    d->batch = bench_random_log(random, 1, 256);
    d->m = channels(random, 8, 1024);
    d->n = channels(random, 8, 1024);
    d->k = channels(random, 8, 512);
}

void bench_draw_pool(struct dlt_record *record, uint64_t *random)
{
    struct dlt_spatial *s = &record->u.spatial;
    int64_t kernel = 2 + bench_random_below(random, 2);
    int64_t size = side(record, random, 4, 112);

    s->batch = bench_random_log(random, 1, 128);
    s->in_channels = channels(random, 1, 512);
    square(record, size, kernel, bench_random_below(random, 4) > 0 ? 2 : 1,
           kernel == 3 ? bench_random_below(random, 2) : 0, 1);
    /* The mean over the whole image. */
    if (strncmp(record->kind->name, "avg_pool", 8) == 0 && bench_random_below(random, 2) == 0)
        square(record, size < 32 ? size : 7, size < 32 ? size : 7, 1, 0, 1);
}

void bench_draw_batch_norm(struct dlt_record *record, uint64_t *random)
{
    struct dlt_spatial *s = &record->u.spatial;

    s->batch = bench_random_log(random, 2, 128);
    s->in_channels = channels(random, 4, 1024);
    s->training = 1;
    for (int d = 0; d < record->kind->dims; d++)
        s->in_size[d] = d ? s->in_size[0] : bench_random_log(random, 2, 112);
}

void bench_draw_rows(struct dlt_record *record, uint64_t *random)
{
    record->u.rowwise.rows = bench_random_log(random, 1, 16384);
    record->u.rowwise.columns = channels(random, 8, 4096);
}

/* Images twice or four times as wide, as decoders and pyramids make them. */
void bench_draw_upsample(struct dlt_record *record, uint64_t *random)
{
    static const int64_t modes[] = {DLT_NEAREST, DLT_BILINEAR};
    struct dlt_rowwise *r = &record->u.rowwise;
    int64_t from = bench_random_log(random, 4, 128);
    int64_t to = from * (bench_random_below(random, 4) > 0 ? 2 : 4);

    r->function = pick(random, modes, 2);
    r->rows = bench_random_log(random, 8, 16384);
    r->operands = from * from;
    r->columns = to * to;
}

void bench_draw_elementwise(struct dlt_record *record, uint64_t *random)
{
    static const int64_t functions[] = {DLT_RELU,    DLT_RELU, DLT_RELU, DLT_ADD, DLT_ADD,
                                        DLT_DROPOUT, DLT_GELU, DLT_TANH, DLT_MUL, DLT_SIGMOID,
                                        DLT_CONCAT,  DLT_SUB,  DLT_DIV,  DLT_POW, DLT_RELU6};
    struct dlt_rowwise *r = &record->u.rowwise;

    r->function = pick(random, functions, sizeof functions / sizeof *functions);
    r->operands = 1;
    if (r->function == DLT_CONCAT)
        r->operands = 2 + bench_random_below(random, 4);
    else if (r->function >= DLT_ADD && r->function <= DLT_DIV)
        r->operands = 2;
    r->rows = bench_random_log(random, 8, 65536);
    r->columns = bench_random_log(random, 8, 16384);
}

void bench_draw_update(struct dlt_record *record, uint64_t *random)
{
    static const int64_t optimizers[] = {DLT_SGD,     DLT_SGD,      DLT_MOMENTUM, DLT_MOMENTUM,
                                         DLT_ADAM,    DLT_ADAM,     DLT_ADAMW,    DLT_NESTEROV,
                                         DLT_ADAGRAD, DLT_ADADELTA, DLT_RMSPROP,  DLT_LAMB};
    struct dlt_update *u = &record->u.update;

    record->optimizer = (enum dlt_optimizer)pick(random, optimizers, 12);
    u->elements = bench_random_log(random, 1000, 8 * 1000 * 1000);
    u->tensors = bench_random_log(random, 1, 160);
    u->implementation = bench_random_below(random, 2) ? DLT_FOREACH : DLT_FOR_LOOP;
}

void bench_draw_transposed(struct dlt_record *record, uint64_t *random)
{
    static const int64_t kernels[] = {2, 2, 3, 4, 4, 5};
    struct dlt_spatial *s = &record->u.spatial;
    int64_t kernel = pick(random, kernels, 6);

    s->batch = bench_random_log(random, 1, 64);
    s->in_channels = channels(random, 4, 512);
    s->out_channels = channels(random, 1, 512);
    s->bias = bench_random_below(random, 2);
    square(record, side(record, random, 2, 64), kernel, 1 + (kernel > 1 ? 1 : 0),
           kernel > 2 ? 1 : 0, 1);
}

void bench_draw_group_norm(struct dlt_record *record, uint64_t *random)
{
    bench_draw_batch_norm(record, random);
    record->u.spatial.groups = bench_random_log(random, 1, 32);
}

void bench_draw_embedding(struct dlt_record *record, uint64_t *random)
{
    struct dlt_matmul *m = &record->u.matmul;

    m->m = bench_random_log(random, 1, 16384);
    m->k = bench_random_log(random, 16, 65536);
    m->n = channels(random, 8, 1024);
}

void bench_draw_attention(struct dlt_record *record, uint64_t *random)
{
    static const int64_t heads[] = {32, 64, 64, 64, 80, 96, 128};
    struct dlt_attention *a = &record->u.attention;

    a->batch = bench_random_log(random, 1, 32);
    a->heads = bench_random_log(random, 1, 32);
    a->query_length = a->key_length = bench_random_log(random, 8, 1024);
    a->head_size = pick(random, heads, 7);
    a->causal = bench_random_below(random, 2);
}

void bench_draw_recurrent(struct dlt_record *record, uint64_t *random)
{
    struct dlt_recurrent *r = &record->u.recurrent;

    r->batch = bench_random_log(random, 1, 64);
    r->length = bench_random_log(random, 1, 128);
    r->in_features = channels(random, 8, 1024);
    r->hidden_size = r->out_features = channels(random, 8, 1024);
    r->num_layers = 1 + bench_random_below(random, 2);
    r->bidirectional = bench_random_below(random, 3) == 0;
}

enum bench_member bench_draw_member(const struct dlt_record *record)
{
    static const struct {
        const char *kind;
        enum bench_member member;
    } members[] = {
        {"dense", BENCH_MATMUL},   {"embedding", BENCH_MATMUL},
        {"bmm", BENCH_BATCHED},    {"scaled_dot_product_attention", BENCH_ATTENTION},
        {"lstm", BENCH_RECURRENT}, {"gru", BENCH_RECURRENT},
        {"rnn", BENCH_RECURRENT},  {"optimizer_update", BENCH_UPDATE},
    };

    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strcmp(members[i].kind, record->kind->name) == 0)
            return members[i].member;
    return record->kind->dims > 0 ? BENCH_SPATIAL : BENCH_ROWWISE;
}

void bench_draw_settle(struct dlt_record *record)
{
    struct dlt_spatial *s = &record->u.spatial;

    if (strcmp(record->kind->name, "group_norm") == 0)
        while (s->in_channels % s->groups)
            s->groups--;
    if (strncmp(record->kind->name, "conv_transpose", 14) != 0)
        return;
    for (int d = 0; d < record->kind->dims; d++)
        s->out_size[d] = (s->in_size[d] - 1) * s->stride[d] - s->padding[d][0] - s->padding[d][1] +
                         s->dilation[d] * (s->kernel[d] - 1) + 1;
}

static int64_t *image_to_shrink(struct dlt_record *record)
{
    struct dlt_spatial *s = &record->u.spatial;
    int64_t *size = s->batch > 1 ? &s->batch : NULL;

    if (size)
        return size;
    for (int d = 0; d < record->kind->dims; d++)
        if (s->in_size[d] > 8 && (!size || s->in_size[d] > *size))
            size = &s->in_size[d];
    return size;
}

static int64_t *larger(int64_t *first, int64_t *second)
{
    return *first > 1 ? first : second;
}

bool bench_draw_shrink(struct dlt_record *record)
{
    struct dlt_attention *a = &record->u.attention;
    struct dlt_recurrent *r = &record->u.recurrent;
    int64_t *size = NULL;

    switch (bench_draw_member(record)) {
    case BENCH_SPATIAL:
        size = image_to_shrink(record);
        break;
    case BENCH_MATMUL:
        size = larger(&record->u.matmul.m, &record->u.matmul.k);
        if (strcmp(record->kind->name, "dense") == 0)
            size = &record->u.matmul.m;
        break;
    case BENCH_BATCHED:
        size = &record->u.matmul.batch;
        break;
    case BENCH_UPDATE:
        size = &record->u.update.elements;
        break;
    case BENCH_ATTENTION:
        size = a->batch > 1 ? &a->batch : larger(&a->heads, &a->query_length);
        break;
    case BENCH_RECURRENT:
        size = r->batch > 1 ? &r->batch : larger(&r->length, &r->num_layers);
        break;
    case BENCH_ROWWISE:
        size = larger(&record->u.rowwise.rows, &record->u.rowwise.columns);
    }
    if (!size || *size < 2)
        return false;
    *size /= 2;
    bench_draw_settle(record);
    return true;
}
