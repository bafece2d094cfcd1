/* SPDX-License-Identifier: Apache-2.0 */

/* softmax(Q K^T / sqrt(d)) V from matrix products and a softmax, as frameworks run it where they
 * have no fused kernel. */
#include <math.h>

#include "../shapes.h"
#include "onednn.h"

struct attention {
    bench_md q, k, v, scores, output;
    struct bench_buffer *query, *key, *value, *probability;
    float scale;
};

static bench_md stack(const struct bench_layer *layer, int64_t rows, int64_t columns,
                      bool transposed)
{
    const struct dlt_attention *a = &layer->record.u.attention;
    int64_t dims[] = {a->batch * a->heads, rows, columns};
    int64_t strides[] = {rows * columns, transposed ? 1 : columns, transposed ? rows : 1};

    return bench_md_strided(layer->context, layer->type, 3, dims, strides);
}

/* What a query must not see; the exponential of it is 0. */
struct mask {
    void *scores;
    int64_t queries, keys;
    bool half;
};

static void hide(void *data, size_t from, size_t to)
{
    const struct mask *m = data;

    for (size_t row = from; row < to; row++) {
        int64_t query = (int64_t)row % m->queries;

        for (int64_t key = query + 1; key < m->keys; key++) {
            if (m->half)
                ((uint16_t *)m->scores)[(int64_t)row * m->keys + key] = 0xf149; /* -1e30 */
            else
                ((float *)m->scores)[(int64_t)row * m->keys + key] = -1e30f;
        }
    }
}

static void run_mask(struct bench_layer *layer, void *data, int copy)
{
    const struct attention *t = data;
    const struct dlt_attention *a = &layer->record.u.attention;
    struct mask mask = {bench_buffer_data(t->probability, copy), a->query_length, a->key_length,
                        layer->type == dnnl_bf16};

    bench_parallel(layer->context->threads, (size_t)(a->batch * a->heads * a->query_length), 16,
                   hide, &mask);
}

static int add_product(struct bench_layer *layer, enum dlt_pass pass, bench_md a, bench_md b,
                       bench_md c, float scale, struct bench_buffer *left,
                       struct bench_buffer *right, struct bench_buffer *product,
                       struct dlt_error *error)
{
    dnnl_primitive_desc_t pd;
    int status = bench_pd_matmul(layer->context, a, b, c, scale, &pd, error);

    if (status)
        return status;
    status = bench_add(
        layer, pass, pd,
        (struct bench_argument[]){
            {DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, product}, {0, NULL}},
        error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* The same memory seen as its transpose. */
static int turned(struct bench_layer *layer, struct bench_buffer *buffer, bench_md md,
                  struct bench_buffer **alias, struct dlt_error *error)
{
    return bench_buffer_alias(layer->context, buffer, md, 0, alias, error);
}

static int add_softmax(struct bench_layer *layer, struct attention *t, struct dlt_error *error)
{
    int status = bench_pd_softmax(layer->context, DLT_FORWARD, false, t->scores, 2, NULL,
                                  &layer->forward, error);

    if (status == BENCH_OK)
        status = bench_own_descriptor(layer->context, layer->forward, error);
    if (status)
        return status;
    return bench_add(layer, DLT_FORWARD, layer->forward,
                     (struct bench_argument[]){
                         {DNNL_ARG_SRC, t->probability}, {DNNL_ARG_DST, t->probability}, {0, NULL}},
                     error);
}

int bench_attention_forward(struct bench_layer *layer, struct dlt_error *error)
{
    const struct dlt_attention *a = &layer->record.u.attention;
    struct attention *t = layer->extra =
        bench_own_zeroed(&layer->context->owned, 1, sizeof *t, error);
    bench_md turned_key = stack(layer, a->head_size, a->key_length, true);
    struct bench_buffer *key;
    int status;

    if (!t)
        return BENCH_NO_MEMORY;
    t->q = t->output = stack(layer, a->query_length, a->head_size, false);
    t->k = t->v = stack(layer, a->key_length, a->head_size, false);
    t->scores = stack(layer, a->query_length, a->key_length, false);
    t->scale = (float)(1 / sqrt((double)a->head_size));
    status = bench_input(layer, 0, t->q, &t->query, error);
    if (status == BENCH_OK)
        status = bench_input(layer, 1, t->k, &t->key, error);
    if (status == BENCH_OK)
        status = bench_input(layer, 2, t->v, &t->value, error);
    if (status == BENCH_OK)
        status = bench_output(layer, t->output, error);
    if (status == BENCH_OK)
        status =
            bench_buffer_create(layer->context, t->scores, layer->copies, &t->probability, error);
    if (status == BENCH_OK)
        status = turned(layer, t->key, turned_key, &key, error);
    layer->workspace = t->probability;
    if (status == BENCH_OK)
        status = add_product(layer, DLT_FORWARD, t->q, turned_key, t->scores, t->scale, t->query,
                             key, t->probability, error);
    if (status == BENCH_OK && a->causal)
        status = bench_add_loop(layer, DLT_FORWARD, run_mask, t,
                                (struct bench_buffer *const[]){t->probability, NULL}, error);
    if (status == BENCH_OK)
        status = add_softmax(layer, t, error);
    return status ? status
                  : add_product(layer, DLT_FORWARD, t->scores, t->v, t->output, 1, t->probability,
                                t->value, layer->output->value, error);
}

/* A gradient as a product, put where the input's gradient is. */
static int add_gradient(struct bench_layer *layer, int index, bench_md a, bench_md b, bench_md c,
                        float scale, struct bench_buffer *left, struct bench_buffer *right,
                        struct dlt_error *error)
{
    dnnl_primitive_desc_t pd;
    int status = bench_pd_matmul(layer->context, a, b, c, scale, &pd, error);

    if (status)
        return status;
    status = bench_add_input_gradient(
        layer, DLT_BACKWARD, index, pd, DNNL_ARG_DST,
        (struct bench_argument[]){{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {0, NULL}},
        error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

static int add_softmax_back(struct bench_layer *layer, struct attention *t,
                            struct bench_buffer *scores, struct dlt_error *error)
{
    dnnl_primitive_desc_t pd;
    int status = bench_pd_softmax(layer->context, DLT_BACKWARD_DATA, false, t->scores, 2,
                                  layer->forward, &pd, error);

    if (status)
        return status;
    status = bench_add(layer, DLT_BACKWARD, pd,
                       (struct bench_argument[]){{DNNL_ARG_DST, t->probability},
                                                 {DNNL_ARG_DIFF_DST, scores},
                                                 {DNNL_ARG_DIFF_SRC, scores},
                                                 {0, NULL}},
                       error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* dV = P^T dO; dP = dO V^T; dS = P (dP - rowsum(dP P)); dQ = scale dS K; dK = scale dS^T Q. */
int bench_attention_backward(struct bench_layer *layer, bool data, bool weight,
                             struct dlt_error *error)
{
    const struct dlt_attention *a = &layer->record.u.attention;
    struct attention *t = layer->extra;
    bench_md vt = stack(layer, a->head_size, a->key_length, true);
    bench_md st = stack(layer, a->key_length, a->query_length, true);
    struct bench_buffer *gradient, *scores, *turned_scores = NULL, *turned_value,
                                            *turned_probability;
    int status = bench_output_gradient(layer, DLT_BACKWARD, t->output, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_buffer_create(layer->context, t->scores, layer->copies, &scores, error);
    if (status == BENCH_OK)
        status = turned(layer, scores, st, &turned_scores, error);
    if (status == BENCH_OK)
        status = turned(layer, t->value, vt, &turned_value, error);
    if (status == BENCH_OK)
        status = turned(layer, t->probability, st, &turned_probability, error);
    if (status == BENCH_OK)
        status =
            add_gradient(layer, 2, st, t->output, t->v, 1, turned_probability, gradient, error);
    if (status == BENCH_OK)
        status = add_product(layer, DLT_BACKWARD, t->output, vt, t->scores, 1, gradient,
                             turned_value, scores, error);
    if (status == BENCH_OK)
        status = add_softmax_back(layer, t, scores, error);
    if (status == BENCH_OK)
        status = add_gradient(layer, 0, t->scores, t->k, t->q, t->scale, scores, t->key, error);
    return status
               ? status
               : add_gradient(layer, 1, st, t->q, t->k, t->scale, turned_scores, t->query, error);
}
