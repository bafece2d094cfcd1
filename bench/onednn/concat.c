/* SPDX-License-Identifier: Apache-2.0 */
#include "../shapes.h"
#include "base/known.h"
#include "onednn.h"

/* Whether the operands follow each other in memory as wholes. oneDNN 2 copies these element by
 * element, at a sixth of the bandwidth. */
static bool is_one_row(const struct bench_layer *layer, bench_md dst)
{
    int64_t outer = 1;

    for (int d = 0; d < layer->axis; d++)
        outer *= bench_md_dims(dst)[d];
    return outer == 1;
}

/* Copies each operand to its place. False: a place does not start at a whole block of the layout,
 * and nothing was added. */
static bool add_copies(struct bench_layer *layer, const struct bench_argument *operand, int *status,
                       struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    int64_t offsets[DNNL_MAX_NDIMS] = {0};
    bench_md place[BENCH_OPERANDS] = {NULL};

    for (int i = 0; i < layer->input_count; i++) {
        const dnnl_dim_t *dims;

        DLT_KNOWN(operand[i].buffer);
        dims = bench_md_dims(operand[i].buffer->md);
        place[i] = bench_md_part(context, layer->output->value->md, dims, offsets);
        if (!place[i])
            return false;
        offsets[layer->axis] += dims[layer->axis];
    }
    for (int i = 0; i < layer->input_count && *status == BENCH_OK; i++) {
        struct bench_buffer *part = NULL;

        *status = bench_buffer_alias(context, layer->output->value, place[i], 0, &part, error);
        if (*status == BENCH_OK)
            *status = bench_add_copy(layer, DLT_FORWARD, operand[i].buffer, part, false, error);
    }
    return true;
}

int bench_concat_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_argument arguments[BENCH_ARGUMENTS] = {{0, NULL}};
    bench_md src[BENCH_OPERANDS];
    dnnl_primitive_desc_t pd;
    int count = layer->input_count;
    int status = BENCH_OK;

    if (layer->standalone)
        layer->axis = bench_concat_axis(&layer->record);
    for (int i = 0; i < count && status == BENCH_OK; i++) {
        src[i] = layer->standalone ? bench_role_md(layer, BENCH_INPUT, i)
                 : bench_md_dense(layer->input[i]->value->md)
                     ? layer->input[i]->value->md
                     : bench_md_flat(layer->context, layer->input[i]->value->md);
        status = bench_input(layer, i, src[i], &arguments[i].buffer, error);
        arguments[i].index = DNNL_ARG_MULTIPLE_SRC + i;
    }
    if (status == BENCH_OK)
        status = bench_pd_concat(layer->context, count, src, layer->axis, &pd, error);
    if (status)
        return status;
    status = bench_output(layer, bench_query(layer->context, pd, dnnl_query_dst_md), error);
    if (status == BENCH_OK && !(is_one_row(layer, layer->output->value->md) &&
                                add_copies(layer, arguments, &status, error))) {
        arguments[count] = (struct bench_argument){DNNL_ARG_DST, layer->output->value};
        status = bench_add(layer, DLT_FORWARD, pd, arguments, error);
    }
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* Each operand's gradient is a part of the output's. A part that does not start at a whole block of
 * the layout can only be cut out of the row-major array. */
static int part_of(struct bench_layer *layer, struct bench_buffer **gradient, int64_t offset,
                   bench_md operand, struct bench_buffer **part, struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    int64_t offsets[DNNL_MAX_NDIMS] = {0};
    bench_md md;
    int status;

    offsets[layer->axis] = offset;
    md = bench_md_part(context, (*gradient)->md, bench_md_dims(operand), offsets);
    if (!md) {
        status = bench_convert(layer, DLT_BACKWARD_DATA, bench_md_flat(context, (*gradient)->md),
                               gradient, error);
        if (status)
            return status;
        md = bench_md_part(context, (*gradient)->md, bench_md_dims(operand), offsets);
    }
    return bench_buffer_alias(context, *gradient, md, 0, part, error);
}

int bench_concat_backward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_buffer *gradient;
    int64_t offset = 0;
    int status =
        bench_output_gradient(layer, DLT_BACKWARD_DATA, layer->output->value->md, &gradient, error);

    for (int i = 0; i < layer->input_count && status == BENCH_OK; i++) {
        struct bench_tensor *input = layer->input[i];
        bench_md md = input->value->md;
        struct bench_buffer *part;
        bool accumulate = input->gradient != NULL;

        status = part_of(layer, &gradient, offset, md, &part, error);
        if (!bench_md_dense(md))
            md = bench_md_flat(layer->context, md);
        if (status == BENCH_OK && !accumulate)
            status =
                bench_buffer_create(layer->context, md, layer->copies, &input->gradient, error);
        if (status == BENCH_OK)
            status =
                bench_add_copy(layer, DLT_BACKWARD_DATA, part, input->gradient, accumulate, error);
        offset += bench_md_dims(md)[layer->axis];
    }
    return status;
}
