/* SPDX-License-Identifier: Apache-2.0 */

/* add, sub, mul, div of two tensors of one shape; other shapes are function.c's. */
#include <string.h>

#include "onednn.h"

static bool same_shapes(const struct bench_layer *layer)
{
    const struct bench_shape *a, *b;

    if (layer->standalone)
        return true;
    a = &layer->input[0]->shape;
    b = &layer->input[1]->shape;
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof(int64_t) * (size_t)a->rank) == 0;
}

/* Both operands in the first one's layout. A quotient of what pads a layout is not a number, so
 * quotients are taken of row-major arrays. */
int bench_binary_forward(struct bench_layer *layer, struct dlt_error *error)
{
    enum dlt_function function = (enum dlt_function)layer->record.u.rowwise.function;
    struct bench_buffer *left, *right;
    dnnl_primitive_desc_t pd;
    bench_md md;
    int status;

    if (!same_shapes(layer))
        return bench_function_forward(layer, error);
    md = bench_given_layout(layer);
    if (function == DLT_DIV)
        md = bench_md_flat(layer->context, md);
    status = bench_input(layer, 0, md, &left, error);
    if (status == BENCH_OK)
        status = bench_input(layer, 1, md, &right, error);
    if (status == BENCH_OK)
        status = bench_output(layer, md, error);
    if (status == BENCH_OK)
        status = bench_pd_binary(layer->context, function, md, md, md, &pd, error);
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

static const struct {
    void (*body)(void *, size_t, size_t);
    bool operands; /* reads them */
} backs[DLT_FUNCTIONS] = {[DLT_ADD] = {add_back, false},
                          [DLT_SUB] = {sub_back, false},
                          [DLT_MUL] = {mul_back, true},
                          [DLT_DIV] = {div_back, true}};

/* Where the loop finds and puts things; `target` is what collect gave for each operand. */
struct binary_backward {
    struct bench_buffer *gradient, *target[2];
};

static void run_back(struct bench_layer *layer, void *data, int copy)
{
    const struct binary_backward *b = data;
    enum dlt_function function = (enum dlt_function)layer->record.u.rowwise.function;
    struct product p = {.gradient = bench_buffer_data(b->gradient, copy),
                        .to_left = bench_buffer_data(b->target[0], copy),
                        .to_right = bench_buffer_data(b->target[1], copy)};

    if (backs[function].operands) {
        p.left = bench_buffer_data(layer->converted, copy);
        p.right = bench_buffer_data(layer->workspace, copy);
    }
    bench_parallel(layer->context->threads, bench_buffer_floats(b->gradient), 4096,
                   backs[function].body, &p);
}

int bench_binary_backward(struct bench_layer *layer, struct dlt_error *error)
{
    bench_md md = layer->output->value->md;
    bool reads = backs[layer->record.u.rowwise.function].operands, accumulate[2];
    struct binary_backward *b;
    int status;

    if (!same_shapes(layer))
        return bench_function_backward(layer, error);
    b = bench_own_zeroed(&layer->context->owned, 1, sizeof *b, error);
    if (!b)
        return BENCH_NO_MEMORY;
    status = bench_output_gradient(layer, DLT_BACKWARD_DATA, md, &b->gradient, error);
    for (int i = 0; i < 2 && status == BENCH_OK; i++)
        status = bench_collect(layer, md, layer->input[i]->value->md, &layer->input[i]->gradient,
                               &b->target[i], &accumulate[i], error);
    if (status == BENCH_OK)
        status = bench_add_loop(
            layer, DLT_BACKWARD_DATA, run_back, b,
            (struct bench_buffer *const[]){b->gradient, b->target[0], b->target[1],
                                           reads ? layer->converted : NULL, layer->workspace, NULL},
            error);
    for (int i = 0; i < 2 && status == BENCH_OK; i++)
        status = bench_deliver(layer, DLT_BACKWARD_DATA, layer->input[i]->gradient, b->target[i],
                               accumulate[i], error);
    return status;
}
