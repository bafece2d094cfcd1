/* SPDX-License-Identifier: Apache-2.0 */

/* Pooling; and the layout that what follows a convolution gets. */
#include <string.h>

#include "../shapes.h"
#include "onednn.h"
#include "spatial.h"

/* The layout in which a convolution with that many channels hands over its output: what comes
 * before a pool or a norm in a network. */
static int convolution_layout(struct bench_layer *layer, bench_md *md, struct dlt_error *error)
{
    static const char *const kinds[] = {"", "conv1d", "conv2d", "conv3d"};
    struct dlt_record record =
        dlt_record_make(dlt_record_kind_find(kinds[layer->record.kind->dims]));
    struct bench_context *context = layer->context;
    struct dlt_spatial *s = &record.u.spatial;
    const struct dlt_spatial *own = &layer->record.u.spatial;
    int64_t weights_dim[5] = {own->in_channels, own->in_channels, 1, 1, 1};
    bench_md weights = bench_md_any(context, layer->type, 2 + record.kind->dims, weights_dim), any;
    struct bench_shape shape;
    dnnl_primitive_desc_t pd;
    int status;

    bench_role_shape(&layer->record, BENCH_INPUT, 0, &shape);
    if (layer->record.layout == DLT_NHWC || !bench_fills_blocks(own->in_channels)) {
        *md = bench_md_last(context, layer->type, shape.rank, shape.dim);
        return BENCH_OK;
    }
    s->batch = own->batch;
    s->in_channels = s->out_channels = own->in_channels;
    memcpy(s->in_size, own->in_size, sizeof s->in_size);
    any = bench_md_any(context, layer->type, shape.rank, shape.dim);
    status = bench_pd_convolution(context, DLT_FORWARD, &record, false, any, weights, NULL, any,
                                  NULL, &pd, error);
    if (status)
        return status;
    *md = bench_query(context, pd, dnnl_query_dst_md);
    dnnl_primitive_desc_destroy(pd);
    return BENCH_OK;
}

int bench_spatial_layout(struct bench_layer *layer, bench_md *md, struct dlt_error *error)
{
    if (layer->standalone)
        return convolution_layout(layer, md, error);
    *md = bench_given_layout(layer);
    return BENCH_OK;
}

static bool averages(const struct bench_layer *layer)
{
    return strncmp(layer->record.kind->name, "avg", 3) == 0;
}

int bench_pool_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    struct bench_shape shape;
    bench_md src, dst;
    dnnl_primitive_desc_t pd;
    int status = bench_spatial_layout(layer, &src, error);

    if (status)
        return status;
    bench_role_shape(&layer->record, BENCH_OUTPUT, 0, &shape);
    dst = bench_md_any(context, layer->type, shape.rank, shape.dim);
    status = bench_pd_pool(context, DLT_FORWARD, &layer->record, averages(layer), src, dst, NULL,
                           &pd, error);
    if (status == BENCH_OK)
        status = bench_own_descriptor(context, pd, error);
    if (status)
        return status;
    layer->forward = pd;
    status = bench_input(layer, 0, src, &layer->converted, error);
    if (status == BENCH_OK)
        status = bench_output(layer, bench_query(context, pd, dnnl_query_dst_md), error);
    if (status == BENCH_OK && !averages(layer))
        status = bench_buffer_create(context, bench_query(context, pd, dnnl_query_workspace_md),
                                     layer->copies, &layer->workspace, error);
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
    bench_md src = layer->converted->md, dst = layer->output->value->md;
    struct bench_buffer *gradient;
    dnnl_primitive_desc_t pd;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, dst, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_pd_pool(layer->context, DLT_BACKWARD_DATA, &layer->record, averages(layer),
                               src, dst, layer->forward, &pd, error);
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
