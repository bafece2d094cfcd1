/* SPDX-License-Identifier: Apache-2.0 */

/* batch_norm and layer_norm. */
#include "../shapes.h"
#include "spatial.h"

int bench_norm_arrays(struct bench_layer *layer, bool shift, int statistics_rank,
                      const int64_t *statistics_dim, struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    bench_md statistics = bench_md_plain(context, dnnl_f32, statistics_rank, statistics_dim);
    struct bench_shape shape;
    bench_md parameter;
    int status;

    bench_role_shape(&layer->record, BENCH_WEIGHT, 0, &shape);
    parameter = bench_md_plain(context, dnnl_f32, 1, shape.dim);
    status = bench_parameter(layer, parameter, 1, 0.1f, &layer->weight, error);
    if (status == BENCH_OK && shift)
        status = bench_parameter(layer, parameter, 0, 0.1f, &layer->bias, error);
    if (status == BENCH_OK)
        status = bench_buffer_create(context, statistics, layer->copies, &layer->mean, error);
    if (status == BENCH_OK)
        status = bench_buffer_create(context, statistics, layer->copies, &layer->variance, error);
    if (status == BENCH_OK)
        status = bench_buffer_fill(context, layer->mean, 0, 0.1f, error);
    if (status == BENCH_OK)
        status = bench_buffer_fill(context, layer->variance, 1, 0.1f, error);
    return status;
}

static int add_norm_forward(struct bench_layer *layer, dnnl_primitive_desc_t pd, bench_md md,
                            struct dlt_error *error)
{
    int status = bench_own_descriptor(layer->context, pd, error);

    if (status)
        return status;
    layer->forward = pd;
    status = bench_one_input(layer, md, error);
    if (status)
        return status;
    return bench_add(layer, DLT_FORWARD, pd,
                     (struct bench_argument[]){{DNNL_ARG_SRC, layer->converted},
                                               {DNNL_ARG_DST, layer->output->value},
                                               {DNNL_ARG_MEAN, layer->mean},
                                               {DNNL_ARG_VARIANCE, layer->variance},
                                               {DNNL_ARG_SCALE, layer->weight.value},
                                               {DNNL_ARG_SHIFT, layer->bias.value},
                                               {0, NULL}},
                     error);
}

int bench_batch_norm_forward(struct bench_layer *layer, struct dlt_error *error)
{
    const struct dlt_spatial *s = &layer->record.u.spatial;
    bench_md md;
    dnnl_primitive_desc_t pd;
    int status = bench_spatial_layout(layer, &md, error);

    if (status == BENCH_OK)
        status = bench_norm_arrays(layer, true, 1, &s->in_channels, error);
    if (status == BENCH_OK)
        status = bench_pd_batch_norm(layer->context, DLT_FORWARD, s->training != 0, md, NULL, &pd,
                                     error);
    return status ? status : add_norm_forward(layer, pd, md, error);
}

int bench_layer_norm_forward(struct bench_layer *layer, struct dlt_error *error)
{
    bench_md md = bench_role_md(layer, BENCH_INPUT, 0);
    dnnl_primitive_desc_t pd;
    int status = bench_norm_arrays(layer, true, 1, bench_md_dims(md), error);

    if (status == BENCH_OK)
        status = bench_pd_layer_norm(layer->context, DLT_FORWARD, md, NULL, &pd, error);
    return status ? status : add_norm_forward(layer, pd, md, error);
}

/* Data and parameters at once: they share their sums. */
int bench_norm_backward(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error)
{
    bench_md md = layer->converted->md;
    bool batch_norm = layer->record.kind->dims > 0;
    struct bench_context *context = layer->context;
    struct bench_buffer *gradient;
    dnnl_primitive_desc_t pd;
    int status = bench_output_gradient(layer, DLT_BACKWARD, md, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_parameter_gradient(layer, &layer->weight, error);
    if (status == BENCH_OK)
        status = bench_parameter_gradient(layer, &layer->bias, error);
    if (status == BENCH_OK)
        status =
            batch_norm
                ? bench_pd_batch_norm(context, DLT_BACKWARD, layer->record.u.spatial.training != 0,
                                      md, layer->forward, &pd, error)
                : bench_pd_layer_norm(context, DLT_BACKWARD, md, layer->forward, &pd, error);
    if (status)
        return status;
    status = bench_add_input_gradient(
        layer, DLT_BACKWARD, 0, pd, DNNL_ARG_DIFF_SRC,
        (struct bench_argument[]){
            {DNNL_ARG_SRC, layer->converted},
            {DNNL_ARG_DIFF_DST, gradient},
            {DNNL_ARG_MEAN, layer->mean},
            {DNNL_ARG_VARIANCE, layer->variance},
            {DNNL_ARG_SCALE, layer->weight.value},
            {DNNL_ARG_DIFF_SCALE, layer->weight.gradient},
            {DNNL_ARG_DIFF_SHIFT, layer->bias.gradient},
            {batch_norm ? BENCH_ARG_SHIFT_BACKWARD : DNNL_ARG_SHIFT, layer->bias.value},
            {0, NULL}},
        error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}
