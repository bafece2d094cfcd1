/* SPDX-License-Identifier: Apache-2.0 */
/* Layers with a weight: convolutions and dense. */
#include <math.h>
#include <string.h>

#include "../shapes.h"
#include "onednn.h"

static bool is_dense(const struct bench_layer *layer)
{
    return strcmp(layer->record.kind->name, "dense") == 0;
}

static int make(struct bench_layer *layer, enum dlt_pass pass, const dnnl_memory_desc_t *src,
                const dnnl_memory_desc_t *weights, const dnnl_memory_desc_t *bias,
                const dnnl_memory_desc_t *dst, dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    if (is_dense(layer))
        return bench_pd_inner_product(layer->context, pass, src, weights, bias, dst, layer->forward,
                                      pd, error);
    return bench_pd_convolution(layer->context, pass, &layer->record, src, weights, bias, dst,
                                layer->forward, pd, error);
}

static dnnl_memory_desc_t shape_any(const struct bench_layer *layer, enum bench_role role)
{
    struct bench_shape shape;

    bench_role_shape(&layer->record, role, 0, &shape);
    return bench_md_any(shape.rank, shape.dim);
}

bool bench_breaks_channels_last(const struct dlt_record *record)
{
    const struct dlt_spatial *s = &record->u.spatial;
    bool pointwise = true, strided = false;

    if (strncmp(record->kind->name, "conv", 4) != 0)
        return false;
    for (int d = 0; d < record->kind->dims; d++) {
        pointwise = pointwise && s->kernel[d] == 1;
        strided = strided || s->stride[d] > 1;
    }
    return pointwise && strided && !bench_fills_blocks(s->in_channels);
}

/* Images: channels last where the record says so, and where channels do not fill whole blocks:
 * blocked layouts would then carry padding through all layers behind. Three channels or fewer are a
 * picture, for which oneDNN has kernels of their own. Else as the primitive likes. */
static dnnl_memory_desc_t image(const struct bench_layer *layer, enum bench_role role)
{
    const struct dlt_spatial *s = &layer->record.u.spatial;
    struct bench_shape shape;

    bench_role_shape(&layer->record, role, 0, &shape);
    if (!is_dense(layer) && !bench_breaks_channels_last(&layer->record) &&
        (layer->record.layout == DLT_NHWC || !bench_fills_blocks(s->out_channels) ||
         (s->in_channels > 3 && !bench_fills_blocks(s->in_channels))))
        return bench_md_last(shape.rank, shape.dim);
    return bench_md_any(shape.rank, shape.dim);
}

/* Inputs of one output. */
static double fan_in(const struct bench_layer *layer)
{
    struct bench_shape shape;
    bool grouped;

    bench_role_shape(&layer->record, BENCH_WEIGHT, 0, &shape);
    grouped = !is_dense(layer) && layer->record.u.spatial.groups > 1;
    return (double)bench_shape_count(&shape) /
           (double)(shape.dim[0] * (grouped ? shape.dim[1] : 1));
}

/* NULL where the layer has no bias. */
static const dnnl_memory_desc_t *bias_md(const struct bench_layer *layer, dnnl_memory_desc_t *md)
{
    struct bench_shape shape;

    if (!bench_role_shape(&layer->record, BENCH_BIAS, 0, &shape))
        return NULL;
    *md = bench_md_plain(shape.rank, shape.dim);
    return md;
}

/* Weights get He's bound, sqrt(6 / fan in), which keeps the signal's size from layer to layer. */
static int make_parameters(struct bench_layer *layer, dnnl_primitive_desc_t pd,
                           struct dlt_error *error)
{
    dnnl_memory_desc_t weights = bench_query(pd, dnnl_query_weights_md), bias;
    double inputs = fan_in(layer);
    int status =
        bench_parameter(layer, &weights, 0, (float)sqrt(6 / inputs), &layer->weight, error);

    if (status == BENCH_OK && bias_md(layer, &bias))
        status = bench_parameter(layer, &bias, 0, (float)(1 / sqrt(inputs)), &layer->bias, error);
    return status;
}

int bench_weighted_forward(struct bench_layer *layer, struct dlt_error *error)
{
    dnnl_memory_desc_t src = image(layer, BENCH_INPUT), dst = image(layer, BENCH_OUTPUT);
    dnnl_memory_desc_t weights = shape_any(layer, BENCH_WEIGHT), bias;
    dnnl_primitive_desc_t pd;
    int status = make(layer, DLT_FORWARD, &src, &weights, bias_md(layer, &bias), &dst, &pd, error);

    if (status == BENCH_OK)
        status = bench_own_descriptor(layer->context, pd, error);
    if (status)
        return status;
    layer->forward = pd;
    src = bench_query(pd, dnnl_query_src_md);
    dst = bench_query(pd, dnnl_query_dst_md);
    status = bench_input(layer, 0, &src, &layer->converted, error);
    if (status == BENCH_OK)
        status = make_parameters(layer, pd, error);
    if (status == BENCH_OK)
        status = bench_output(layer, &dst, error);
    if (status)
        return status;
    return bench_add(
        layer, DLT_FORWARD, pd,
        (struct bench_argument[]){{DNNL_ARG_SRC, layer->converted},
                                  {DNNL_ARG_WEIGHTS, layer->weight.value},
                                  {DNNL_ARG_DST, layer->output->value},
                                  {layer->bias.value ? DNNL_ARG_BIAS : 0, layer->bias.value},
                                  {0, NULL}},
        error);
}

static int backward_data(struct bench_layer *layer, struct dlt_error *error)
{
    dnnl_memory_desc_t src = image(layer, BENCH_INPUT), dst = image(layer, BENCH_OUTPUT);
    dnnl_memory_desc_t weights = shape_any(layer, BENCH_WEIGHT);
    struct bench_buffer *weight = layer->weight.value, *gradient;
    dnnl_primitive_desc_t pd;
    int status = make(layer, DLT_BACKWARD_DATA, &src, &weights, NULL, &dst, &pd, error);

    if (status)
        return status;
    dst = bench_query(pd, dnnl_query_diff_dst_md);
    weights = bench_query(pd, dnnl_query_weights_md);
    status = bench_output_gradient(layer, &dst, &gradient, error);
    if (status == BENCH_OK)
        status = bench_convert(layer, DLT_BACKWARD_DATA, &dst, &gradient, error);
    if (status == BENCH_OK)
        status = bench_convert(layer, DLT_BACKWARD_DATA, &weights, &weight, error);
    if (status == BENCH_OK)
        status = bench_add_input_gradient(layer, DLT_BACKWARD_DATA, 0, pd, DNNL_ARG_DIFF_SRC,
                                          (struct bench_argument[]){{DNNL_ARG_WEIGHTS, weight},
                                                                    {DNNL_ARG_DIFF_DST, gradient},
                                                                    {0, NULL}},
                                          error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* The arguments of the weights' gradient once layouts are known. */
static int add_backward_weight(struct bench_layer *layer, dnnl_primitive_desc_t pd,
                               struct dlt_error *error)
{
    dnnl_memory_desc_t src = bench_query(pd, dnnl_query_src_md);
    dnnl_memory_desc_t dst = bench_query(pd, dnnl_query_diff_dst_md);
    dnnl_memory_desc_t weights = bench_query(pd, dnnl_query_diff_weights_md);
    struct bench_buffer *input = layer->converted, *gradient, *target, *bias = NULL;
    struct bench_parameter *weight = &layer->weight;
    bool accumulate = false;
    int status = bench_output_gradient(layer, &dst, &gradient, error);

    if (status == BENCH_OK)
        status = bench_convert(layer, DLT_BACKWARD_WEIGHT, &dst, &gradient, error);
    if (status == BENCH_OK)
        status = bench_convert(layer, DLT_BACKWARD_WEIGHT, &src, &input, error);
    if (status == BENCH_OK)
        status = bench_collect(layer, &weights, &weight->value->md, &weight->gradient, &target,
                               &accumulate, error);
    if (status == BENCH_OK && layer->bias.value) {
        status = bench_buffer_create(layer->context, &layer->bias.value->md, layer->copies, &bias,
                                     error);
        layer->bias.gradient = bias;
    }
    if (status == BENCH_OK)
        status = bench_add(layer, DLT_BACKWARD_WEIGHT, pd,
                           (struct bench_argument[]){{DNNL_ARG_SRC, input},
                                                     {DNNL_ARG_DIFF_DST, gradient},
                                                     {DNNL_ARG_DIFF_WEIGHTS, target},
                                                     {bias ? DNNL_ARG_DIFF_BIAS : 0, bias},
                                                     {0, NULL}},
                           error);
    return status ? status
                  : bench_deliver(layer, DLT_BACKWARD_WEIGHT, weight->gradient, target, accumulate,
                                  error);
}

int bench_weighted_backward(struct bench_layer *layer, bool data, bool weight,
                            struct dlt_error *error)
{
    dnnl_memory_desc_t src = image(layer, BENCH_INPUT), dst = image(layer, BENCH_OUTPUT);
    dnnl_memory_desc_t weights = shape_any(layer, BENCH_WEIGHT), bias;
    dnnl_primitive_desc_t pd;
    int status = BENCH_OK;

    if (weight) {
        status = make(layer, DLT_BACKWARD_WEIGHT, &src, &weights, bias_md(layer, &bias), &dst, &pd,
                      error);
        if (status == BENCH_OK) {
            status = add_backward_weight(layer, pd, error);
            dnnl_primitive_desc_destroy(pd);
        }
    }
    return status == BENCH_OK && data ? backward_data(layer, error) : status;
}
