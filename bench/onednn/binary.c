/* SPDX-License-Identifier: Apache-2.0 */

/* add, sub, mul, div of two tensors. */
#include <string.h>

#include "onednn.h"

/* Both operands in the first one's layout. A quotient of what pads a layout is not a number, so
 * quotients are taken of row-major arrays. */
int bench_binary_forward(struct bench_layer *layer, struct dlt_error *error)
{
    enum dlt_function function = (enum dlt_function)layer->record.u.rowwise.function;
    dnnl_memory_desc_t md = bench_given_layout(layer);
    struct bench_buffer *left, *right;
    dnnl_primitive_desc_t pd;
    int status;

    if (function == DLT_DIV)
        md = bench_md_plain(md.ndims, md.dims);
    if (!layer->standalone) {
        const struct bench_shape *a = &layer->input[0]->shape, *b = &layer->input[1]->shape;

        if (a->rank != b->rank || memcmp(a->dim, b->dim, sizeof(int64_t) * (size_t)a->rank) != 0)
            return dlt_fail(error, "%s of operands of different shapes cannot be run by onednn",
                            dlt_function_names[function]);
    }
    status = bench_input(layer, 0, &md, &left, error);
    if (status == BENCH_OK)
        status = bench_input(layer, 1, &md, &right, error);
    if (status == BENCH_OK)
        status = bench_output(layer, &md, error);
    if (status == BENCH_OK)
        status = bench_pd_binary(layer->context, function, &md, &md, &md, &pd, error);
    if (status)
        return status;
    layer->converted = left;
    layer->workspace = right; /* kept for backward; the same in every copy as it is an input */
    status = bench_add(layer, DLT_FORWARD, pd,
                       (struct bench_argument[]){{DNNL_ARG_SRC_0, left},
                                                 {DNNL_ARG_SRC_1, right},
                                                 {DNNL_ARG_DST, layer->output->value},
                                                 {0, NULL}},
                       error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

struct product {
    const float *gradient, *left, *right;
    float *to_left, *to_right;
};

static void add_back(void *data, size_t from, size_t to)
{
    const struct product *p = data;

    for (size_t i = from; i < to; i++)
        p->to_left[i] = p->to_right[i] = p->gradient[i];
}

static void sub_back(void *data, size_t from, size_t to)
{
    const struct product *p = data;

    for (size_t i = from; i < to; i++) {
        p->to_left[i] = p->gradient[i];
        p->to_right[i] = -p->gradient[i];
    }
}

static void mul_back(void *data, size_t from, size_t to)
{
    const struct product *p = data;

    for (size_t i = from; i < to; i++) {
        p->to_left[i] = p->gradient[i] * p->right[i];
        p->to_right[i] = p->gradient[i] * p->left[i];
    }
}

static void div_back(void *data, size_t from, size_t to)
{
    const struct product *p = data;

    for (size_t i = from; i < to; i++) {
        p->to_left[i] = p->gradient[i] / p->right[i];
        p->to_right[i] = -p->to_left[i] * p->left[i] / p->right[i];
    }
}

/* Where the loop finds and puts things; `target` is what collect gave for each operand. */
struct binary_backward {
    struct bench_buffer *gradient, *target[2];
};

static void binary_backward(struct bench_layer *layer, int copy)
{
    static void (*const bodies[DLT_FUNCTIONS])(void *, size_t, size_t) = {
        [DLT_ADD] = add_back, [DLT_SUB] = sub_back, [DLT_MUL] = mul_back, [DLT_DIV] = div_back};
    const struct binary_backward *b = layer->extra;
    struct product p = {
        bench_buffer_data(b->gradient, copy), bench_buffer_data(layer->converted, copy),
        bench_buffer_data(layer->workspace, copy), bench_buffer_data(b->target[0], copy),
        bench_buffer_data(b->target[1], copy)};

    bench_parallel(layer->context->threads, bench_buffer_floats(b->gradient), 4096,
                   bodies[layer->record.u.rowwise.function], &p);
}

int bench_binary_backward(struct bench_layer *layer, struct dlt_error *error)
{
    const dnnl_memory_desc_t md = layer->output->value->md;
    struct binary_backward *b = bench_own_zeroed(layer->context, 1, sizeof *b, error);
    bool accumulate[2];
    int status;

    if (!b)
        return BENCH_NO_MEMORY;
    layer->extra = b;
    status = bench_output_gradient(layer, &md, &b->gradient, error);
    if (status == BENCH_OK)
        status = bench_convert(layer, DLT_BACKWARD_DATA, &md, &b->gradient, error);
    for (int i = 0; i < 2 && status == BENCH_OK; i++)
        status = bench_collect(layer, &md, &layer->input[i]->value->md, &layer->input[i]->gradient,
                               &b->target[i], &accumulate[i], error);
    if (status == BENCH_OK)
        status = bench_add_call(layer, DLT_BACKWARD_DATA, binary_backward, error);
    for (int i = 0; i < 2 && status == BENCH_OK; i++)
        status = bench_deliver(layer, DLT_BACKWARD_DATA, layer->input[i]->gradient, b->target[i],
                               accumulate[i], error);
    return status;
}
