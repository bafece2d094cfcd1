/* SPDX-License-Identifier: Apache-2.0 */
#include "onednn.h"

/* [batch, rows, columns], or its transpose over the same memory. */
static bench_md stack(const struct bench_layer *layer, int64_t rows, int64_t columns,
                      bool transposed)
{
    int64_t dims[] = {layer->record.u.matmul.batch, rows, columns};
    int64_t strides[] = {rows * columns, transposed ? 1 : columns, transposed ? rows : 1};

    return bench_md_strided(layer->context, layer->type, 3, dims, strides);
}

int bench_bmm_forward(struct bench_layer *layer, struct dlt_error *error)
{
    const struct dlt_matmul *d = &layer->record.u.matmul;
    bench_md a = stack(layer, d->m, d->k, false), b = stack(layer, d->k, d->n, false);
    bench_md c = stack(layer, d->m, d->n, false);
    struct bench_buffer *left, *right;
    dnnl_primitive_desc_t pd;
    int status = bench_input(layer, 0, a, &left, error);

    if (status == BENCH_OK)
        status = bench_input(layer, 1, b, &right, error);
    if (status == BENCH_OK)
        status = bench_output(layer, c, error);
    if (status == BENCH_OK)
        status = bench_pd_matmul(layer->context, a, b, c, 1, &pd, error);
    if (status)
        return status;
    layer->converted = left;
    layer->workspace = right; /* kept for backward; the same in every copy as it is an input */
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
    bench_md a = stack(layer, d->m, d->k, false), b = stack(layer, d->k, d->n, false);
    bench_md c = stack(layer, d->m, d->n, false);
    bench_md at = stack(layer, d->k, d->m, true), bt = stack(layer, d->n, d->k, true);
    struct bench_buffer *left, *right, *gradient;
    int status = bench_output_gradient(layer, DLT_BACKWARD, c, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_buffer_alias(layer->context, layer->converted, at, 0, &left, error);
    if (status == BENCH_OK)
        status = bench_buffer_alias(layer->context, layer->workspace, bt, 0, &right, error);
    for (int i = 0; i < 2 && status == BENCH_OK; i++) {
        dnnl_primitive_desc_t pd;

        if (layer->options.constant >> i & 1)
            continue;
        status = i == 0 ? bench_pd_matmul(layer->context, c, bt, a, 1, &pd, error)
                        : bench_pd_matmul(layer->context, at, c, b, 1, &pd, error);
        if (status)
            return status;
        status = bench_add_input_gradient(
            layer, DLT_BACKWARD, i, pd, DNNL_ARG_DST,
            (struct bench_argument[]){{DNNL_ARG_SRC, i == 0 ? gradient : left},
                                      {DNNL_ARG_WEIGHTS, i == 0 ? right : gradient},
                                      {0, NULL}},
            error);
        dnnl_primitive_desc_destroy(pd);
    }
    return status;
}
