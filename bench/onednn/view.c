/* SPDX-License-Identifier: Apache-2.0 */

/* Another shape over the same elements. A layout that the primitives chose is first brought into
 * row-major order, as a framework has to do as well. */
#include <string.h>

#include "onednn.h"

int bench_view_create(struct bench_context *context, struct bench_tensor *tensor,
                      const struct bench_shape *shape, struct bench_layer **layer,
                      struct bench_tensor **view, struct dlt_error *error)
{
    dnnl_memory_desc_t plain = bench_md_plain(tensor->shape.rank, tensor->shape.dim);
    dnnl_memory_desc_t wanted = bench_md_plain(shape->rank, shape->dim);
    struct bench_buffer *value = tensor->value;
    struct bench_layer *made;
    struct bench_tensor *output;
    int status = bench_layer_new(context, "view", &made, error);

    if (status)
        return status;
    made->is_view = true;
    made->input[0] = tensor;
    made->input_count = 1;
    if (dnnl_memory_desc_get_size(&plain) != dnnl_memory_desc_get_size(&wanted))
        return dlt_fail(error, "a view has to have as many elements as its tensor");
    output = bench_own_zeroed(context, 1, sizeof *output, error);
    if (!output)
        return BENCH_NO_MEMORY;
    output->context = context;
    output->shape = *shape;
    made->output = output;
    status = bench_convert(made, DLT_FORWARD, &plain, &value, error);
    if (status == BENCH_OK)
        status = bench_buffer_alias(context, value, &wanted, &output->value, error);
    *layer = made;
    *view = output;
    return status;
}

int bench_view_backward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_tensor *tensor = layer->input[0];
    dnnl_memory_desc_t plain = bench_md_plain(tensor->shape.rank, tensor->shape.dim);
    dnnl_memory_desc_t own = bench_md_plain(layer->output->shape.rank, layer->output->shape.dim);
    struct bench_buffer *gradient = layer->output->gradient;
    bool accumulate = tensor->gradient != NULL;
    int status;

    if (!gradient)
        return dlt_fail(error, "view: nothing reads its output, so it has no gradient");
    status = bench_convert(layer, DLT_BACKWARD_DATA, &own, &gradient, error);
    if (status == BENCH_OK)
        status = bench_buffer_alias(layer->context, gradient, &plain, &gradient, error);
    if (status)
        return status;
    if (!accumulate && dnnl_memory_desc_equal(&plain, &tensor->value->md)) {
        tensor->gradient = gradient;
        return BENCH_OK;
    }
    if (!accumulate)
        status =
            bench_buffer_create(layer->context, &tensor->value->md, 1, &tensor->gradient, error);
    return status ? status
                  : bench_add_copy(layer, DLT_BACKWARD_DATA, gradient, tensor->gradient, accumulate,
                                   error);
}
