/* SPDX-License-Identifier: Apache-2.0 */

/* Pooling and norms: they keep the layout of the tensor that they are given. */
#include <string.h>

#include "../shapes.h"
#include "onednn.h"

/* The layout in which a convolution with that many channels hands over its output: what comes
 * before a pool or a norm in a network. */
static int convolution_layout(struct bench_layer *layer, dnnl_memory_desc_t *md,
                              struct dlt_error *error)
{
    struct dlt_record record = dlt_record_make(dlt_record_kind_find("conv2d"));
    struct dlt_spatial *s = &record.u.spatial;
    const struct dlt_spatial *own = &layer->record.u.spatial;
    int64_t weights_dim[4] = {own->in_channels, own->in_channels, 1, 1};
    dnnl_memory_desc_t weights = bench_md_any(4, weights_dim);
    struct bench_shape shape;
    dnnl_primitive_desc_t pd;
    int status;

    bench_role_shape(&layer->record, BENCH_INPUT, 0, &shape);
    if (layer->record.layout == DLT_NHWC || !bench_fills_blocks(own->in_channels)) {
        *md = bench_md_last(shape.rank, shape.dim);
        return BENCH_OK;
    }
    s->batch = own->batch;
    s->in_channels = s->out_channels = own->in_channels;
    memcpy(s->in_size, own->in_size, sizeof s->in_size);
    *md = bench_md_any(shape.rank, shape.dim);
    status = bench_pd_convolution(layer->context, DLT_FORWARD, &record, md, &weights, NULL, md,
                                  NULL, &pd, error);
    if (status)
        return status;
    *md = bench_query(pd, dnnl_query_dst_md);
    dnnl_primitive_desc_destroy(pd);
    return BENCH_OK;
}

static int given_layout(struct bench_layer *layer, dnnl_memory_desc_t *md, struct dlt_error *error)
{
    if (layer->standalone)
        return convolution_layout(layer, md, error);
    *md = layer->input[0]->value->md;
    return BENCH_OK;
}

static bool averages(const struct bench_layer *layer)
{
    return strcmp(layer->record.kind->name, "avg_pool2d") == 0;
}

int bench_pool_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_shape shape;
    dnnl_memory_desc_t src, dst;
    dnnl_primitive_desc_t pd;
    int status = given_layout(layer, &src, error);

    if (status)
        return status;
    bench_role_shape(&layer->record, BENCH_OUTPUT, 0, &shape);
    dst = bench_md_any(shape.rank, shape.dim);
    status = bench_pd_pool(layer->context, DLT_FORWARD, &layer->record, averages(layer), &src, &dst,
                           NULL, &pd, error);
    if (status == BENCH_OK)
        status = bench_own_descriptor(layer->context, pd, error);
    if (status)
        return status;
    layer->forward = pd;
    dst = bench_query(pd, dnnl_query_dst_md);
    status = bench_input(layer, 0, &src, &layer->converted, error);
    if (status == BENCH_OK)
        status = bench_output(layer, &dst, error);
    if (status == BENCH_OK && !averages(layer)) {
        dnnl_memory_desc_t workspace = bench_query(pd, dnnl_query_workspace_md);

        status = bench_buffer_create(layer->context, &workspace, layer->copies, &layer->workspace,
                                     error);
    }
    if (status)
        return status;
    return bench_add(
        layer, DLT_FORWARD, pd,
        (struct bench_argument[]){{DNNL_ARG_SRC, layer->converted},
                                  {DNNL_ARG_DST, layer->output->value},
                                  {layer->workspace ? DNNL_ARG_WORKSPACE : 0, layer->workspace},
                                  {0, NULL}},
        error);
}

int bench_pool_backward(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error)
{
    dnnl_memory_desc_t src = layer->converted->md, dst = layer->output->value->md;
    struct bench_buffer *gradient;
    dnnl_primitive_desc_t pd;
    int status = bench_output_gradient(layer, &dst, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_convert(layer, DLT_BACKWARD_DATA, &dst, &gradient, error);
    if (status == BENCH_OK)
        status = bench_pd_pool(layer->context, DLT_BACKWARD_DATA, &layer->record, averages(layer),
                               &src, &dst, layer->forward, &pd, error);
    if (status)
        return status;
    status = bench_add_input_gradient(
        layer, DLT_BACKWARD_DATA, 0, pd, DNNL_ARG_DIFF_SRC,
        (struct bench_argument[]){{DNNL_ARG_DIFF_DST, gradient},
                                  {layer->workspace ? DNNL_ARG_WORKSPACE : 0, layer->workspace},
                                  {0, NULL}},
        error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* Scale around one, shift around zero, and where the statistics go. */
static int norm_arrays(struct bench_layer *layer, int statistics_rank,
                       const int64_t *statistics_dim, struct dlt_error *error)
{
    dnnl_memory_desc_t statistics = bench_md_plain(statistics_rank, statistics_dim);
    struct bench_context *context = layer->context;
    struct bench_shape shape;
    dnnl_memory_desc_t parameter;
    int status;

    bench_role_shape(&layer->record, BENCH_WEIGHT, 0, &shape);
    parameter = bench_md_plain(1, shape.dim);
    status = bench_parameter(layer, &parameter, 1, 0.1f, &layer->weight, error);
    if (status == BENCH_OK)
        status = bench_parameter(layer, &parameter, 0, 0.1f, &layer->bias, error);
    if (status == BENCH_OK)
        status = bench_buffer_create(context, &statistics, layer->copies, &layer->mean, error);
    if (status == BENCH_OK)
        status = bench_buffer_create(context, &statistics, layer->copies, &layer->variance, error);
    if (status == BENCH_OK)
        status = bench_buffer_fill(context, layer->mean, 0, 0.1f, error);
    if (status == BENCH_OK)
        status = bench_buffer_fill(context, layer->variance, 1, 0.1f, error);
    return status;
}

static int add_norm_forward(struct bench_layer *layer, dnnl_primitive_desc_t pd,
                            const dnnl_memory_desc_t *md, struct dlt_error *error)
{
    int status = bench_own_descriptor(layer->context, pd, error);

    if (status)
        return status;
    layer->forward = pd;
    status = bench_input(layer, 0, md, &layer->converted, error);
    if (status == BENCH_OK)
        status = bench_output(layer, md, error);
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
    dnnl_memory_desc_t md;
    dnnl_primitive_desc_t pd;
    int status = given_layout(layer, &md, error);

    if (status == BENCH_OK)
        status = norm_arrays(layer, 1, &s->in_channels, error);
    if (status == BENCH_OK)
        status = bench_pd_batch_norm(layer->context, DLT_FORWARD, s->training != 0, &md, NULL, &pd,
                                     error);
    return status ? status : add_norm_forward(layer, pd, &md, error);
}

int bench_layer_norm_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_shape shape;
    dnnl_memory_desc_t md;
    dnnl_primitive_desc_t pd;
    int status;

    bench_role_shape(&layer->record, BENCH_INPUT, 0, &shape);
    md = bench_md_plain(shape.rank, shape.dim);
    status = norm_arrays(layer, 1, shape.dim, error);
    if (status == BENCH_OK)
        status = bench_pd_layer_norm(layer->context, DLT_FORWARD, &md, NULL, &pd, error);
    return status ? status : add_norm_forward(layer, pd, &md, error);
}

/* Data and parameters at once: they share their sums. */
int bench_norm_backward(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error)
{
    const dnnl_memory_desc_t md = layer->converted->md;
    bool batch_norm = layer->record.kind->dims > 0;
    struct bench_context *context = layer->context;
    struct bench_buffer *gradient;
    dnnl_primitive_desc_t pd;
    int status = bench_output_gradient(layer, &md, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_convert(layer, DLT_BACKWARD, &md, &gradient, error);
    if (status == BENCH_OK)
        status = bench_buffer_create(context, &layer->weight.value->md, layer->copies,
                                     &layer->weight.gradient, error);
    if (status == BENCH_OK)
        status = bench_buffer_create(context, &layer->bias.value->md, layer->copies,
                                     &layer->bias.gradient, error);
    if (status == BENCH_OK)
        status =
            batch_norm
                ? bench_pd_batch_norm(context, DLT_BACKWARD, layer->record.u.spatial.training != 0,
                                      &md, layer->forward, &pd, error)
                : bench_pd_layer_norm(context, DLT_BACKWARD, &md, layer->forward, &pd, error);
    if (status)
        return status;
    status = bench_add_input_gradient(
        layer, DLT_BACKWARD, 0, pd, DNNL_ARG_DIFF_SRC,
        (struct bench_argument[]){{DNNL_ARG_SRC, layer->converted},
                                  {DNNL_ARG_DIFF_DST, gradient},
                                  {DNNL_ARG_MEAN, layer->mean},
                                  {DNNL_ARG_VARIANCE, layer->variance},
                                  {DNNL_ARG_SCALE, layer->weight.value},
                                  {DNNL_ARG_SHIFT, layer->bias.value},
                                  {DNNL_ARG_DIFF_SCALE, layer->weight.gradient},
                                  {DNNL_ARG_DIFF_SHIFT, layer->bias.gradient},
                                  {0, NULL}},
        error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}
