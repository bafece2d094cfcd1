/* SPDX-License-Identifier: Apache-2.0 */
#include "onednn.h"

/* [batch, rows, columns], or its transpose over the same memory. */
static dnnl_memory_desc_t stack(int64_t batch, int64_t rows, int64_t columns, bool transposed)
{
    dnnl_dims_t dims = {batch, rows, columns};
    dnnl_dims_t strides = {rows * columns, transposed ? 1 : columns, transposed ? rows : 1};
    dnnl_memory_desc_t md;

    if (dnnl_memory_desc_init_by_strides(&md, 3, dims, dnnl_f32, strides) != dnnl_success)
        md.ndims = 0;
    return md;
}

int bench_bmm_forward(struct bench_layer *layer, struct dlt_error *error)
{
    const struct dlt_matmul *d = &layer->record.u.matmul;
    dnnl_memory_desc_t a = stack(d->batch, d->m, d->k, false);
    dnnl_memory_desc_t b = stack(d->batch, d->k, d->n, false);
    dnnl_memory_desc_t c = stack(d->batch, d->m, d->n, false);
    struct bench_buffer *left, *right;
    dnnl_primitive_desc_t pd;
    int status = bench_input(layer, 0, &a, &left, error);

    if (status == BENCH_OK)
        status = bench_input(layer, 1, &b, &right, error);
    if (status == BENCH_OK)
        status = bench_output(layer, &c, error);
    if (status == BENCH_OK)
        status = bench_pd_matmul(layer->context, &a, &b, &c, &pd, error);
    if (status)
        return status;
    status = bench_add(layer, DLT_FORWARD, pd,
                       (struct bench_argument[]){{DNNL_ARG_SRC, left},
                                                 {DNNL_ARG_WEIGHTS, right},
                                                 {DNNL_ARG_DST, layer->output->value},
                                                 {0, NULL}},
                       error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* dA = dC B^T and dB = A^T dC. */
int bench_bmm_backward(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error)
{
    const struct dlt_matmul *d = &layer->record.u.matmul;
    dnnl_memory_desc_t a = stack(d->batch, d->m, d->k, false);
    dnnl_memory_desc_t b = stack(d->batch, d->k, d->n, false);
    dnnl_memory_desc_t c = stack(d->batch, d->m, d->n, false);
    dnnl_memory_desc_t at = stack(d->batch, d->k, d->m, true);
    dnnl_memory_desc_t bt = stack(d->batch, d->n, d->k, true);
    struct bench_buffer *left = layer->input[0]->value, *right = layer->input[1]->value;
    struct bench_buffer *gradient;
    int status = bench_output_gradient(layer, &c, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_buffer_alias(layer->context, left, &at, &left, error);
    if (status == BENCH_OK)
        status = bench_buffer_alias(layer->context, right, &bt, &right, error);
    for (int i = 0; i < 2 && status == BENCH_OK; i++) {
        dnnl_primitive_desc_t pd;

        status = i == 0 ? bench_pd_matmul(layer->context, &c, &bt, &a, &pd, error)
                        : bench_pd_matmul(layer->context, &at, &c, &b, &pd, error);
        if (status)
            return status;
        status = bench_add_input_gradient(
            layer, DLT_BACKWARD_DATA, i, pd, DNNL_ARG_DST,
            (struct bench_argument[]){{DNNL_ARG_SRC, i == 0 ? gradient : left},
                                      {DNNL_ARG_WEIGHTS, i == 0 ? right : gradient},
                                      {0, NULL}},
            error);
        dnnl_primitive_desc_destroy(pd);
    }
    return status;
}
