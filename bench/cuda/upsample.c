/* SPDX-License-Identifier: Apache-2.0 */

/* Upsampling of lines and planes, nearest or linear. */
#include "../shapes.h"
#include "cuda.h"

bool bench_upsample_takes(const struct bench_context *context, const struct dlt_record *record)
{
    (void)context;
    return record->u.rowwise.function != DLT_BICUBIC && record->u.rowwise.function != DLT_TRILINEAR;
}

static struct bench_upsample_arguments arguments_of(const struct bench_layer *layer)
{
    const struct bench_shape *in = &layer->input[0]->shape, *out = &layer->output->shape;
    struct bench_upsample_arguments upsample = {
        .planes = in->dim[0] * in->dim[1],
        .in_size = {in->rank == 4 ? (int)in->dim[2] : 1, (int)in->dim[in->rank - 1]},
        .out_size = {out->rank == 4 ? (int)out->dim[2] : 1, (int)out->dim[out->rank - 1]},
        .linear = layer->record.u.rowwise.function >= DLT_LINEAR};

    return upsample;
}

static int add_upsample(struct bench_layer *layer, enum dlt_pass pass, const char *kernel,
                        const struct bench_buffer *in, const struct bench_buffer *out,
                        struct dlt_error *error)
{
    struct bench_upsample_arguments upsample = arguments_of(layer);
    struct bench_call call = {
        .kernel = kernel,
        .type = layer->type,
        .grid = {bench_blocks(layer->context, 4 * (long long)layer->output->value->count)},
        BENCH_ARGUMENTS(upsample),
        .pointer = {BENCH_POINTER(upsample, in, in), BENCH_POINTER(upsample, out, out)}};

    return bench_add_call(layer, pass, &call, error);
}

int bench_upsample_forward(struct bench_layer *layer, struct dlt_error *error)
{
    int status = bench_input(layer, 0, error), rank;

    if (status)
        return status;
    rank = layer->input[0]->shape.rank;
    if (rank != 3 && rank != 4) {
        dlt_fail(error, "upsampling of lines and planes can be run, not of volumes");
        return BENCH_UNSUPPORTED;
    }
    status = !layer->standalone && layer->options.output
                 ? bench_output_shaped(layer, layer->options.output, error)
                 : bench_output(layer, error);
    return status ? status
                  : add_upsample(layer, DLT_FORWARD, "upsample", layer->value[0],
                                 layer->output->value, error);
}

/* Several outputs reach one element: their gradients add up in float32. */
int bench_upsample_backward(struct bench_layer *layer, bool data, bool weight,
                            struct dlt_error *error)
{
    struct bench_buffer *gradient = NULL, *target = NULL, *sum;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_collect(layer, 0, &target, error);
    sum = target;
    if (status == BENCH_OK && target->type != BENCH_F32)
        status = bench_buffer_create(layer->context, BENCH_F32, false, &target->shape,
                                     layer->copies, &sum, error);
    if (status == BENCH_OK)
        status = bench_add_zero(layer, DLT_BACKWARD_DATA, sum, error);
    if (status == BENCH_OK)
        status = add_upsample(layer, DLT_BACKWARD_DATA, "upsample_back", gradient, sum, error);
    if (status == BENCH_OK && sum != target)
        status = bench_add_copy(layer, DLT_BACKWARD_DATA, sum, target, false, error);
    return status ? status : bench_deliver(layer, DLT_BACKWARD_DATA, 0, target, error);
}
