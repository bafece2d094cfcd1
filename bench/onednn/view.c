/* SPDX-License-Identifier: Apache-2.0 */

/* Another shape over the same elements. A layout that the primitives chose is first brought into
 * row-major order, as a framework has to do as well. */
#include <string.h>

#include "onednn.h"

static bench_md plain_of(struct bench_context *context, const struct bench_shape *shape)
{
    return bench_md_plain(context, dnnl_f32, shape->rank, shape->dim);
}

static int view_backward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    struct bench_tensor *tensor = layer->input[0];
    bench_md plain = plain_of(context, &tensor->shape), home = tensor->value->md;
    struct bench_buffer *gradient;
    bool accumulate = tensor->gradient != NULL;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA,
                                       plain_of(context, &layer->output->shape), &gradient, error);

    if (status == BENCH_OK)
        status = bench_buffer_alias(context, gradient, plain, 0, &gradient, error);
    if (status)
        return status;
    if (!accumulate && bench_md_equal(plain, home)) {
        tensor->gradient = gradient;
        return BENCH_OK;
    }
    if (!bench_md_dense(home))
        home = plain;
    if (!accumulate)
        status = bench_buffer_create(context, home, 1, &tensor->gradient, error);
    return status ? status
                  : bench_add_copy(layer, DLT_BACKWARD_DATA, gradient, tensor->gradient, accumulate,
                                   error);
}

int bench_view_create(struct bench_context *context, struct bench_tensor *tensor,
                      const struct bench_shape *shape, struct bench_layer **layer,
                      struct bench_tensor **view, struct dlt_error *error)
{
    bench_md plain = plain_of(context, &tensor->shape), wanted = plain_of(context, shape);
    struct bench_buffer *value = tensor->value;
    struct bench_layer *made;
    struct bench_tensor *output;
    int status = bench_layer_new(context, "view", &made, error);

    if (status)
        return status;
    made->backward = view_backward;
    made->input[0] = tensor;
    made->input_count = 1;
    if (bench_md_size(plain) != bench_md_size(wanted))
        return dlt_fail(error, "a view has to have as many elements as its tensor");
    output = bench_own_zeroed(&context->owned, 1, sizeof *output, error);
    if (!output)
        return BENCH_NO_MEMORY;
    output->context = context;
    output->shape = *shape;
    made->output = output;
    status = bench_convert(made, DLT_FORWARD, plain, &value, error);
    if (status == BENCH_OK)
        status = bench_buffer_alias(context, value, wanted, 0, &output->value, error);
    *layer = made;
    *view = output;
    return status;
}
