/* SPDX-License-Identifier: Apache-2.0 */

/* Softmax and elementwise functions of one operand. */
#include "../shapes.h"
#include "onednn.h"

static int add_one_input(struct bench_layer *layer, dnnl_primitive_desc_t pd,
                         struct dlt_error *error)
{
    return bench_add(layer, DLT_FORWARD, pd,
                     (struct bench_argument[]){{DNNL_ARG_SRC, layer->converted},
                                               {DNNL_ARG_DST, layer->output->value},
                                               {0, NULL}},
                     error);
}

/* A row-major array; by itself rows x columns, in a network the input with the axis named. */
int bench_softmax_forward(struct bench_layer *layer, struct dlt_error *error)
{
    bool logarithm = bench_is_op(layer, "log_softmax");
    dnnl_primitive_desc_t pd;
    bench_md md;
    int status;

    if (layer->standalone) {
        md = bench_role_md(layer, BENCH_INPUT, 0);
        layer->axis = 1;
    } else {
        md = bench_md_flat(layer->context, layer->input[0]->value->md);
    }
    status =
        bench_pd_softmax(layer->context, DLT_FORWARD, logarithm, md, layer->axis, NULL, &pd, error);
    if (status == BENCH_OK)
        status = bench_own_descriptor(layer->context, pd, error);
    if (status)
        return status;
    layer->forward = pd;
    status = bench_one_input(layer, md, error);
    return status ? status : add_one_input(layer, pd, error);
}

int bench_softmax_backward(struct bench_layer *layer, bool data, bool weight,
                           struct dlt_error *error)
{
    bench_md md = layer->output->value->md;
    struct bench_buffer *gradient;
    dnnl_primitive_desc_t pd;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, md, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status =
            bench_pd_softmax(layer->context, DLT_BACKWARD_DATA, bench_is_op(layer, "log_softmax"),
                             md, layer->axis, layer->forward, &pd, error);
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

static enum dlt_function function_of(const struct bench_layer *layer)
{
    return (enum dlt_function)layer->record.u.rowwise.function;
}

int bench_unary_forward(struct bench_layer *layer, struct dlt_error *error)
{
    bench_md md = bench_given_layout(layer);
    dnnl_primitive_desc_t pd;
    int status =
        bench_pd_eltwise(layer->context, DLT_FORWARD, function_of(layer), md, NULL, &pd, error);

    if (status == BENCH_OK)
        status = bench_own_descriptor(layer->context, pd, error);
    if (status)
        return status;
    layer->forward = pd;
    status = bench_one_input(layer, md, error);
    return status ? status : add_one_input(layer, pd, error);
}

int bench_unary_backward(struct bench_layer *layer, struct dlt_error *error)
{
    bool from_output = bench_eltwise_keeps_output(function_of(layer));
    bench_md md = layer->output->value->md;
    struct bench_buffer *gradient;
    dnnl_primitive_desc_t pd;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, md, &gradient, error);

    if (status == BENCH_OK)
        status = bench_pd_eltwise(layer->context, DLT_BACKWARD_DATA, function_of(layer), md,
                                  layer->forward, &pd, error);
    if (status)
        return status;
    status = bench_add_input_gradient(
        layer, DLT_BACKWARD_DATA, 0, pd, DNNL_ARG_DIFF_SRC,
        (struct bench_argument[]){{from_output ? DNNL_ARG_DST : DNNL_ARG_SRC,
                                   from_output ? layer->output->value : layer->converted},
                                  {DNNL_ARG_DIFF_DST, gradient},
                                  {0, NULL}},
        error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

static int copy_forward(struct bench_layer *layer, struct dlt_error *error)
{
    int status = bench_one_input(layer, bench_given_layout(layer), error);

    return status ? status
                  : bench_add_copy(layer, DLT_FORWARD, layer->converted, layer->output->value,
                                   false, error);
}

static int copy_backward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_tensor *input = layer->input[0];
    struct bench_buffer *gradient;
    bool accumulate = input->gradient != NULL;
    int status =
        bench_output_gradient(layer, DLT_BACKWARD_DATA, layer->output->value->md, &gradient, error);

    if (status == BENCH_OK && !accumulate)
        status = bench_buffer_create(layer->context, gradient->md, layer->copies, &input->gradient,
                                     error);
    return status ? status
                  : bench_add_copy(layer, DLT_BACKWARD_DATA, gradient, input->gradient, accumulate,
                                   error);
}

static const struct {
    bench_forward *forward;
    bench_function_back *backward;
} families[DLT_FUNCTIONS] = {
    [DLT_ADD] = {bench_binary_forward, bench_binary_backward},
    [DLT_SUB] = {bench_binary_forward, bench_binary_backward},
    [DLT_MUL] = {bench_binary_forward, bench_binary_backward},
    [DLT_DIV] = {bench_binary_forward, bench_binary_backward},
    [DLT_DROPOUT] = {bench_dropout_forward, bench_dropout_backward},
    [DLT_CONCAT] = {bench_concat_forward, bench_concat_backward},
    [DLT_COPY] = {copy_forward, copy_backward},
    [DLT_HARDSIGMOID] = {bench_function_forward, bench_function_backward},
    [DLT_ERF] = {bench_function_forward, bench_function_backward},
    [DLT_PRELU] = {bench_function_forward, bench_function_backward},
    [DLT_MAXIMUM] = {bench_function_forward, bench_function_backward},
    [DLT_WHERE] = {bench_function_forward, bench_function_backward},
};

int bench_elementwise_forward(struct bench_layer *layer, struct dlt_error *error)
{
    enum dlt_function function = function_of(layer);

    return families[function].forward ? families[function].forward(layer, error)
                                      : bench_unary_forward(layer, error);
}

int bench_elementwise_backward(struct bench_layer *layer, bool data, bool weight,
                               struct dlt_error *error)
{
    enum dlt_function function = function_of(layer);

    (void)data;
    (void)weight;
    return families[function].backward ? families[function].backward(layer, error)
                                       : bench_unary_backward(layer, error);
}
