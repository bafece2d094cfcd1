/* SPDX-License-Identifier: Apache-2.0 */

/* Softmax and elementwise functions. */
#include <string.h>

#include "../shapes.h"
#include "onednn.h"

dnnl_memory_desc_t bench_given_layout(const struct bench_layer *layer)
{
    struct bench_shape shape;

    if (!layer->standalone)
        return layer->input[0]->value->md;
    bench_role_shape(&layer->record, BENCH_INPUT, 0, &shape);
    return bench_md_plain(shape.rank, shape.dim);
}

int bench_one_input(struct bench_layer *layer, const dnnl_memory_desc_t *md,
                    struct dlt_error *error)
{
    int status = bench_input(layer, 0, md, &layer->converted, error);

    return status ? status : bench_output(layer, md, error);
}

static int add_one_input(struct bench_layer *layer, dnnl_primitive_desc_t pd,
                         struct dlt_error *error)
{
    return bench_add(layer, DLT_FORWARD, pd,
                     (struct bench_argument[]){{DNNL_ARG_SRC, layer->converted},
                                               {DNNL_ARG_DST, layer->output->value},
                                               {0, NULL}},
                     error);
}

int bench_softmax_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_shape shape;
    dnnl_memory_desc_t md;
    dnnl_primitive_desc_t pd;
    int status;

    bench_role_shape(&layer->record, BENCH_INPUT, 0, &shape);
    md = bench_md_plain(shape.rank, shape.dim);
    status = bench_pd_softmax(layer->context, DLT_FORWARD, &md, 1, NULL, &pd, error);
    if (status == BENCH_OK)
        status = bench_own_descriptor(layer->context, pd, error);
    if (status)
        return status;
    layer->forward = pd;
    status = bench_one_input(layer, &md, error);
    return status ? status : add_one_input(layer, pd, error);
}

int bench_softmax_backward(struct bench_layer *layer, bool data, bool weight,
                           struct dlt_error *error)
{
    dnnl_memory_desc_t md = layer->output->value->md;
    struct bench_buffer *gradient;
    dnnl_primitive_desc_t pd;
    int status = bench_output_gradient(layer, &md, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_convert(layer, DLT_BACKWARD_DATA, &md, &gradient, error);
    if (status == BENCH_OK)
        status =
            bench_pd_softmax(layer->context, DLT_BACKWARD_DATA, &md, 1, layer->forward, &pd, error);
    if (status)
        return status;
    status = bench_add_input_gradient(
        layer, DLT_BACKWARD_DATA, 0, pd, DNNL_ARG_DIFF_SRC,
        (struct bench_argument[]){
            {DNNL_ARG_DST, layer->output->value}, {DNNL_ARG_DIFF_DST, gradient}, {0, NULL}},
        error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* Functions of one operand. */
static int make_unary(struct bench_layer *layer, struct dlt_error *error)
{
    enum dlt_function function = (enum dlt_function)layer->record.u.rowwise.function;
    dnnl_memory_desc_t md = bench_given_layout(layer);
    dnnl_primitive_desc_t pd;
    int status = bench_pd_eltwise(layer->context, DLT_FORWARD, function, &md, NULL, &pd, error);

    if (status == BENCH_OK)
        status = bench_own_descriptor(layer->context, pd, error);
    if (status)
        return status;
    layer->forward = pd;
    status = bench_one_input(layer, &md, error);
    return status ? status : add_one_input(layer, pd, error);
}

static int make_unary_backward(struct bench_layer *layer, struct dlt_error *error)
{
    enum dlt_function function = (enum dlt_function)layer->record.u.rowwise.function;
    dnnl_memory_desc_t md = layer->output->value->md;
    struct bench_buffer *gradient;
    dnnl_primitive_desc_t pd;
    int status = bench_output_gradient(layer, &md, &gradient, error);

    if (status == BENCH_OK)
        status = bench_convert(layer, DLT_BACKWARD_DATA, &md, &gradient, error);
    if (status == BENCH_OK)
        status = bench_pd_eltwise(layer->context, DLT_BACKWARD_DATA, function, &md, layer->forward,
                                  &pd, error);
    if (status)
        return status;
    status = bench_add_input_gradient(layer, DLT_BACKWARD_DATA, 0, pd, DNNL_ARG_DIFF_SRC,
                                      (struct bench_argument[]){{DNNL_ARG_SRC, layer->converted},
                                                                {DNNL_ARG_DIFF_DST, gradient},
                                                                {0, NULL}},
                                      error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

static const struct {
    int (*forward)(struct bench_layer *layer, struct dlt_error *error);
    int (*backward)(struct bench_layer *layer, struct dlt_error *error);
} families[DLT_FUNCTIONS] = {
    [DLT_RELU] = {make_unary, make_unary_backward},
    [DLT_GELU] = {make_unary, make_unary_backward},
    [DLT_SIGMOID] = {make_unary, make_unary_backward},
    [DLT_TANH] = {make_unary, make_unary_backward},
    [DLT_POW] = {make_unary, make_unary_backward},
    [DLT_RELU6] = {make_unary, make_unary_backward},
    [DLT_ADD] = {bench_binary_forward, bench_binary_backward},
    [DLT_SUB] = {bench_binary_forward, bench_binary_backward},
    [DLT_MUL] = {bench_binary_forward, bench_binary_backward},
    [DLT_DIV] = {bench_binary_forward, bench_binary_backward},
    [DLT_DROPOUT] = {bench_dropout_forward, bench_dropout_backward},
    [DLT_CONCAT] = {bench_concat_forward, bench_concat_backward},
};

int bench_elementwise_forward(struct bench_layer *layer, struct dlt_error *error)
{
    return families[layer->record.u.rowwise.function].forward(layer, error);
}

int bench_elementwise_backward(struct bench_layer *layer, bool data, bool weight,
                               struct dlt_error *error)
{
    (void)data;
    (void)weight;
    return families[layer->record.u.rowwise.function].backward(layer, error);
}
