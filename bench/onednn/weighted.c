/* SPDX-License-Identifier: Apache-2.0 */

/* Layers with a weight: convolutions, transposed or not, and dense. */
#include <math.h>
#include <string.h>

#include "../shapes.h"
#include "onednn.h"

static bool is_dense(const struct bench_layer *layer)
{
    return strcmp(layer->record.kind->name, "dense") == 0;
}

static bool is_transposed(const struct dlt_record *record)
{
    return strncmp(record->kind->name, "conv_t", 6) == 0;
}

/* The layer's own weight, or the one that it shares. */
static struct bench_parameter *weight_of(struct bench_layer *layer)
{
    return layer->options.share ? &layer->options.share->weight : &layer->weight;
}

/* Layouts of one pass; bias NULL: has none. */
struct layouts {
    bench_md src, weights, bias, dst;
};

static int make(struct bench_layer *layer, enum dlt_pass pass, const struct layouts *l,
                dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    bench_md bias = pass == DLT_BACKWARD_DATA ? NULL : l->bias;

    if (is_dense(layer))
        return bench_pd_inner_product(layer->context, pass, l->src, l->weights, bias, l->dst,
                                      layer->forward, pd, error);
    return bench_pd_convolution(layer->context, pass, &layer->record, is_transposed(&layer->record),
                                l->src, l->weights, bias, l->dst, layer->forward, pd, error);
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
static bench_md image(const struct bench_layer *layer, enum bench_role role)
{
    const struct dlt_spatial *s = &layer->record.u.spatial;
    struct bench_shape shape;

    bench_role_shape(&layer->record, role, 0, &shape);
    if (!is_dense(layer) && !bench_breaks_channels_last(&layer->record) &&
        (layer->record.layout == DLT_NHWC || !bench_fills_blocks(s->out_channels) ||
         (s->in_channels > 3 && !bench_fills_blocks(s->in_channels))))
        return bench_md_last(layer->context, layer->type, shape.rank, shape.dim);
    return bench_md_any(layer->context, layer->type, shape.rank, shape.dim);
}

static struct layouts wanted_layouts(const struct bench_layer *layer)
{
    const struct bench_layer *share = layer->options.share;
    struct layouts l = {.src = image(layer, BENCH_INPUT), .dst = image(layer, BENCH_OUTPUT)};
    struct bench_shape shape;

    bench_role_shape(&layer->record, BENCH_WEIGHT, 0, &shape);
    l.weights = share ? share->weight.value->md
                      : bench_md_any(layer->context, layer->type, shape.rank, shape.dim);
    if (bench_role_shape(&layer->record, BENCH_BIAS, 0, &shape))
        l.bias = bench_md_plain(layer->context, dnnl_f32, shape.rank, shape.dim);
    return l;
}

/* Whether the shared weight has this layer's shape: [out][in]. */
static bool shares_shape(const struct bench_layer *layer)
{
    bench_md shared = layer->options.share->weight.value->md;
    struct bench_shape shape;

    bench_role_shape(&layer->record, BENCH_WEIGHT, 0, &shape);
    return bench_md_rank(shared) == shape.rank &&
           memcmp(bench_md_dims(shared), shape.dim, sizeof(int64_t) * (size_t)shape.rank) == 0;
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

/* Weights get He's bound, sqrt(6 / fan in), which keeps the signal's size from layer to layer. */
static int make_parameters(struct bench_layer *layer, const struct layouts *l,
                           struct dlt_error *error)
{
    double inputs = fan_in(layer);
    int status = BENCH_OK;

    if (!layer->options.share)
        status =
            bench_parameter(layer, l->weights, 0, (float)sqrt(6 / inputs), &layer->weight, error);
    if (status == BENCH_OK && l->bias)
        status = bench_parameter(layer, l->bias, 0, (float)(1 / sqrt(inputs)), &layer->bias, error);
    return status;
}

int bench_weighted_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    struct layouts l = wanted_layouts(layer);
    dnnl_primitive_desc_t pd;
    int status;

    if (layer->options.share && !shares_shape(layer))
        return dlt_fail(error, "a weight that is shared as its transpose cannot be run by onednn");
    status = make(layer, DLT_FORWARD, &l, &pd, error);
    if (status == BENCH_OK)
        status = bench_own_descriptor(context, pd, error);
    if (status)
        return status;
    layer->forward = pd;
    l.weights = bench_query(context, pd, dnnl_query_weights_md);
    status = bench_input(layer, 0, bench_query(context, pd, dnnl_query_src_md), &layer->converted,
                         error);
    if (status == BENCH_OK)
        status = make_parameters(layer, &l, error);
    if (status == BENCH_OK)
        status = bench_output(layer, bench_query(context, pd, dnnl_query_dst_md), error);
    if (status)
        return status;
    return bench_add(
        layer, DLT_FORWARD, pd,
        (struct bench_argument[]){{DNNL_ARG_SRC, layer->converted},
                                  {DNNL_ARG_WEIGHTS, weight_of(layer)->value},
                                  {DNNL_ARG_DST, layer->output->value},
                                  {layer->bias.value ? DNNL_ARG_BIAS : 0, layer->bias.value},
                                  {0, NULL}},
        error);
}

static int backward_data(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    struct layouts l = wanted_layouts(layer);
    struct bench_buffer *weight = weight_of(layer)->value, *gradient;
    dnnl_primitive_desc_t pd;
    int status = make(layer, DLT_BACKWARD_DATA, &l, &pd, error);

    if (status)
        return status;
    status =
        bench_output_gradient(layer, DLT_BACKWARD_DATA,
                              bench_query(context, pd, dnnl_query_diff_dst_md), &gradient, error);
    if (status == BENCH_OK)
        status = bench_convert(layer, DLT_BACKWARD_DATA,
                               bench_query(context, pd, dnnl_query_weights_md), &weight, error);
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
    struct bench_context *context = layer->context;
    struct bench_parameter *weight = weight_of(layer);
    struct bench_buffer *input = layer->converted, *gradient, *target;
    bool accumulate = false;
    int status =
        bench_output_gradient(layer, DLT_BACKWARD_WEIGHT,
                              bench_query(context, pd, dnnl_query_diff_dst_md), &gradient, error);

    if (status == BENCH_OK)
        status = bench_convert(layer, DLT_BACKWARD_WEIGHT,
                               bench_query(context, pd, dnnl_query_src_md), &input, error);
    if (status == BENCH_OK)
        status = bench_collect(layer, bench_query(context, pd, dnnl_query_diff_weights_md),
                               weight->value->md, &weight->gradient, &target, &accumulate, error);
    if (status == BENCH_OK)
        status = bench_parameter_gradient(layer, &layer->bias, error);
    if (status == BENCH_OK)
        status = bench_add(layer, DLT_BACKWARD_WEIGHT, pd,
                           (struct bench_argument[]){
                               {DNNL_ARG_SRC, input},
                               {DNNL_ARG_DIFF_DST, gradient},
                               {DNNL_ARG_DIFF_WEIGHTS, target},
                               {layer->bias.value ? DNNL_ARG_DIFF_BIAS : 0, layer->bias.gradient},
                               {0, NULL}},
                           error);
    return status ? status
                  : bench_deliver(layer, DLT_BACKWARD_WEIGHT, weight->gradient, target, accumulate,
                                  error);
}

int bench_weighted_backward(struct bench_layer *layer, bool data, bool weight,
                            struct dlt_error *error)
{
    struct layouts l = wanted_layouts(layer);
    dnnl_primitive_desc_t pd;
    int status = BENCH_OK;

    if (weight) {
        status = make(layer, DLT_BACKWARD_WEIGHT, &l, &pd, error);
        if (status == BENCH_OK) {
            status = add_backward_weight(layer, pd, error);
            dnnl_primitive_desc_destroy(pd);
        }
    }
    return status == BENCH_OK && data ? backward_data(layer, error) : status;
}
