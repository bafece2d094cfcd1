/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "../shapes.h"
#include "onednn.h"

static bool is_linear(const struct bench_layer *layer)
{
    return layer->record.u.rowwise.function >= DLT_LINEAR;
}

/* In a network the tensors' own shapes; by itself those of the record, with planes that are squares
 * as squares. oneDNN resamples images, so shorter shapes get a height of one. */
static void shapes_of(const struct bench_layer *layer, struct bench_shape *in,
                      struct bench_shape *out)
{
    if (layer->standalone) {
        bench_role_shape(&layer->record, BENCH_INPUT, 0, in);
        bench_role_shape(&layer->record, BENCH_OUTPUT, 0, out);
        return;
    }
    *in = layer->input[0]->shape;
    *out = layer->output_shape;
}

int bench_upsample_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    struct bench_shape in, out;
    dnnl_primitive_desc_t pd;
    bench_md src, dst;
    int status;

    if (layer->record.u.rowwise.function == DLT_BICUBIC) {
        dlt_fail(error, "onednn has no bicubic interpolation");
        return BENCH_UNSUPPORTED;
    }
    shapes_of(layer, &in, &out);
    /* By itself with channels last: what convolutions hand over is that or blocks of channels. With
     * whole planes, which no network here has, oneDNN 2.6 goes backwards by plain loops. */
    src = layer->standalone ? bench_md_last(context, dnnl_f32, in.rank, in.dim)
                            : bench_given_layout(layer);
    dst = bench_md_any(context, dnnl_f32, out.rank, out.dim);
    status =
        bench_pd_resampling(context, DLT_FORWARD, is_linear(layer), src, dst, NULL, &pd, error);
    if (status == BENCH_OK)
        status = bench_own_descriptor(context, pd, error);
    if (status)
        return status;
    layer->forward = pd;
    status = bench_input(layer, 0, src, &layer->converted, error);
    if (status == BENCH_OK)
        status = bench_output(layer, bench_query(context, pd, dnnl_query_dst_md), error);
    if (status)
        return status;
    return bench_add(layer, DLT_FORWARD, pd,
                     (struct bench_argument[]){{DNNL_ARG_SRC, layer->converted},
                                               {DNNL_ARG_DST, layer->output->value},
                                               {0, NULL}},
                     error);
}

int bench_upsample_backward(struct bench_layer *layer, bool data, bool weight,
                            struct dlt_error *error)
{
    bench_md src = layer->converted->md, dst = layer->output->value->md;
    struct bench_buffer *gradient;
    dnnl_primitive_desc_t pd;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, dst, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_pd_resampling(layer->context, DLT_BACKWARD_DATA, is_linear(layer), src, dst,
                                     layer->forward, &pd, error);
    if (status)
        return status;
    status = bench_add_input_gradient(
        layer, DLT_BACKWARD_DATA, 0, pd, DNNL_ARG_DIFF_SRC,
        (struct bench_argument[]){{DNNL_ARG_DIFF_DST, gradient}, {0, NULL}}, error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}
