/* SPDX-License-Identifier: Apache-2.0 */
#include "../shapes.h"
#include "onednn.h"

int bench_concat_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_argument arguments[BENCH_ARGUMENTS] = {{0, NULL}};
    dnnl_memory_desc_t src[BENCH_OPERANDS], dst;
    dnnl_primitive_desc_t pd;
    int count = layer->input_count;
    int status = BENCH_OK;

    if (layer->standalone)
        layer->axis = bench_concat_axis(&layer->record);
    for (int i = 0; i < count && status == BENCH_OK; i++) {
        struct bench_shape shape;

        bench_role_shape(&layer->record, BENCH_INPUT, i, &shape);
        src[i] =
            layer->standalone ? bench_md_plain(shape.rank, shape.dim) : layer->input[i]->value->md;
        status = bench_input(layer, i, &src[i], &arguments[i].buffer, error);
        arguments[i].index = DNNL_ARG_MULTIPLE_SRC + i;
    }
    if (status == BENCH_OK)
        status = bench_pd_concat(layer->context, count, src, layer->axis, NULL, &pd, error);
    if (status)
        return status;
    dst = bench_query(pd, dnnl_query_dst_md);
    status = bench_output(layer, &dst, error);
    if (status == BENCH_OK) {
        arguments[count] = (struct bench_argument){DNNL_ARG_DST, layer->output->value};
        status = bench_add(layer, DLT_FORWARD, pd, arguments, error);
    }
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* Each operand's gradient is a part of the output's. A part that does not start at a whole block of
 * the layout can only be cut out of the row-major array. */
static int part_of(struct bench_layer *layer, struct bench_buffer **gradient, int64_t offset,
                   const dnnl_memory_desc_t *operand, struct bench_buffer **part,
                   struct dlt_error *error)
{
    dnnl_dims_t offsets = {0};
    dnnl_memory_desc_t md;
    int status;

    offsets[layer->axis] = offset;
    if (dnnl_memory_desc_init_submemory(&md, &(*gradient)->md, operand->dims, offsets) !=
        dnnl_success) {
        dnnl_memory_desc_t plain = bench_md_plain((*gradient)->md.ndims, (*gradient)->md.dims);

        status = bench_convert(layer, DLT_BACKWARD_DATA, &plain, gradient, error);
        if (status == BENCH_OK)
            status = bench_check(
                dnnl_memory_desc_init_submemory(&md, &(*gradient)->md, operand->dims, offsets),
                "part of a tensor", error);
        if (status)
            return status;
    }
    return bench_buffer_alias(layer->context, *gradient, &md, part, error);
}

int bench_concat_backward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_buffer *gradient;
    int64_t offset = 0;
    int status = bench_output_gradient(layer, &layer->output->value->md, &gradient, error);

    for (int i = 0; i < layer->input_count && status == BENCH_OK; i++) {
        struct bench_tensor *input = layer->input[i];
        struct bench_buffer *part;
        bool accumulate = input->gradient != NULL;

        status = part_of(layer, &gradient, offset, &input->value->md, &part, error);
        if (status == BENCH_OK && !accumulate)
            status = bench_buffer_create(layer->context, &input->value->md, layer->copies,
                                         &input->gradient, error);
        if (status == BENCH_OK)
            status =
                bench_add_copy(layer, DLT_BACKWARD_DATA, part, input->gradient, accumulate, error);
        offset += input->value->md.dims[layer->axis];
    }
    return status;
}
