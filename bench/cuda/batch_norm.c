/* SPDX-License-Identifier: Apache-2.0 */

/* batch_norm by cuDNN, as frameworks call it. */
#include "../shapes.h"
#include "cuda.h"

static const double epsilon = 1e-5, average_factor = 0.1;

struct batch_norm {
    cudnnBatchNormMode_t mode;
    cudnnTensorDescriptor_t data, parameters;
    const struct bench_buffer *input, *output, *scale, *shift, *mean, *inverse;
    const struct bench_buffer *running_mean, *running_variance, *reserve;
    const struct bench_buffer *gradient, *to_input, *to_scale, *to_shift;
    size_t workspace, reserve_size;
};

#define USES_OF(b)                                                                                 \
    BENCH_USES((b)->input, (b)->output, (b)->scale, (b)->shift, (b)->mean, (b)->inverse,           \
               (b)->running_mean, (b)->running_variance, (b)->reserve, (b)->gradient,              \
               (b)->to_input, (b)->to_scale, (b)->to_shift)

static void destroy_tensor(void *object)
{
    (void)cudnnDestroyTensorDescriptor(object);
}

/* Backward needs the statistics of training. */
bool bench_batch_norm_takes(const struct bench_context *context, const struct dlt_record *record)
{
    (void)context;
    return record->pass == DLT_FORWARD || record->u.spatial.training;
}

static void *data_of(const struct bench_buffer *buffer, int copy)
{
    return buffer ? bench_buffer_data(buffer, copy) : NULL;
}

static int run_training(struct bench_context *context, const void *what, int copy,
                        struct dlt_error *error)
{
    static const float one = 1, zero = 0;
    const struct batch_norm *b = what;

    return bench_cudnn(cudnnBatchNormalizationForwardTrainingEx(
                           context->cudnn, b->mode, CUDNN_BATCHNORM_OPS_BN, &one, &zero, b->data,
                           data_of(b->input, copy), NULL, NULL, b->data, data_of(b->output, copy),
                           b->parameters, data_of(b->scale, copy), data_of(b->shift, copy),
                           average_factor, data_of(b->running_mean, copy),
                           data_of(b->running_variance, copy), epsilon, data_of(b->mean, copy),
                           data_of(b->inverse, copy), NULL, context->workspace, b->workspace,
                           data_of(b->reserve, copy), b->reserve_size),
                       "batch_norm", error);
}

static int run_inference(struct bench_context *context, const void *what, int copy,
                         struct dlt_error *error)
{
    static const float one = 1, zero = 0;
    const struct batch_norm *b = what;

    return bench_cudnn(cudnnBatchNormalizationForwardInference(
                           context->cudnn, b->mode, &one, &zero, b->data, data_of(b->input, copy),
                           b->data, data_of(b->output, copy), b->parameters,
                           data_of(b->scale, copy), data_of(b->shift, copy),
                           data_of(b->running_mean, copy), data_of(b->running_variance, copy),
                           epsilon),
                       "batch_norm", error);
}

static int run_backward(struct bench_context *context, const void *what, int copy,
                        struct dlt_error *error)
{
    static const float one = 1, zero = 0;
    const struct batch_norm *b = what;

    return bench_cudnn(
        cudnnBatchNormalizationBackwardEx(
            context->cudnn, b->mode, CUDNN_BATCHNORM_OPS_BN, &one, &zero, &one, &zero, b->data,
            data_of(b->input, copy), NULL, NULL, b->data, data_of(b->gradient, copy), NULL, NULL,
            b->data, data_of(b->to_input, copy), b->parameters, data_of(b->scale, copy), NULL,
            data_of(b->to_scale, copy), data_of(b->to_shift, copy), epsilon, data_of(b->mean, copy),
            data_of(b->inverse, copy), NULL, context->workspace, b->workspace,
            data_of(b->reserve, copy), b->reserve_size),
        "batch_norm", error);
}

static int describe(struct bench_layer *layer, struct batch_norm *b, struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    struct bench_shape shape;
    int status;

    b->mode = layer->last && layer->record.u.spatial.training ? CUDNN_BATCHNORM_SPATIAL_PERSISTENT
                                                              : CUDNN_BATCHNORM_SPATIAL;
    bench_role_shape(&layer->record, BENCH_INPUT, 0, &shape);
    status = bench_tensor_descriptor(context, layer->type, layer->last, &shape, &b->data, error);
    if (status == BENCH_OK)
        status = bench_cudnn(cudnnCreateTensorDescriptor(&b->parameters), "batch_norm", error);
    if (status)
        return status;
    if (bench_own(&context->owned, b->parameters, destroy_tensor, error))
        return BENCH_NO_MEMORY;
    return bench_cudnn(cudnnDeriveBNTensorDescriptor(b->parameters, b->data, b->mode), "batch_norm",
                       error);
}

/* Statistics are kept in float32; `running` ones are moved by every forward pass of training. */
static int make_arrays(struct bench_layer *layer, struct batch_norm *b, struct dlt_error *error)
{
    const struct {
        struct bench_buffer **place;
        float center, spread;
    } arrays[] = {{(struct bench_buffer **)&b->running_mean, 0, 0.1f},
                  {(struct bench_buffer **)&b->running_variance, 1, 0.1f},
                  {&layer->mean, 0, 0.1f},
                  {&layer->inverse, 1, 0.1f}};
    int64_t channels = layer->record.u.spatial.in_channels;
    int status =
        bench_role_parameter(layer, BENCH_WEIGHT, BENCH_F32, 1, 0.1f, &layer->weight, error);

    if (status == BENCH_OK)
        status = bench_role_parameter(layer, BENCH_BIAS, BENCH_F32, 0, 0.1f, &layer->bias, error);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && status == BENCH_OK; i++) {
        status = bench_scratch(layer, BENCH_F32, channels, arrays[i].place, error);
        if (status == BENCH_OK)
            status = bench_buffer_fill(layer->context, *arrays[i].place, arrays[i].center,
                                       arrays[i].spread, error);
    }
    return status;
}

static int make_spaces(struct bench_layer *layer, struct batch_norm *b, struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    int status = bench_cudnn(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
                                 context->cudnn, b->mode, CUDNN_BATCHNORM_OPS_BN, b->data, NULL,
                                 b->data, b->parameters, NULL, &b->workspace),
                             "batch_norm", error);

    if (status == BENCH_OK)
        status = bench_cudnn(
            cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
                context->cudnn, b->mode, CUDNN_BATCHNORM_OPS_BN, NULL, b->data, &b->reserve_size),
            "batch_norm", error);
    if (status == BENCH_OK)
        status = bench_workspace(context, b->workspace, error);
    if (status == BENCH_OK && b->reserve_size > 0)
        status = bench_scratch(layer, BENCH_U8, (int64_t)b->reserve_size, &layer->kept, error);
    b->reserve = layer->kept;
    return status;
}

int bench_batch_norm_forward(struct bench_layer *layer, struct dlt_error *error)
{
    bool training = layer->record.u.spatial.training != 0;
    struct batch_norm *b = bench_own_zeroed(&layer->context->owned, 1, sizeof *b, error);
    int status;

    if (!b)
        return BENCH_NO_MEMORY;
    /* In a network it keeps the layout that it is given. */
    if (!layer->standalone)
        layer->last = layer->input[0]->value->last;
    layer->extra = b;
    status = bench_input(layer, 0, error);
    if (status == BENCH_OK)
        status = make_arrays(layer, b, error);
    if (status == BENCH_OK)
        status = bench_output(layer, error);
    if (status == BENCH_OK)
        status = describe(layer, b, error);
    if (status == BENCH_OK && training)
        status = make_spaces(layer, b, error);
    if (status)
        return status;
    b->input = layer->value[0];
    b->output = layer->output->value;
    b->scale = layer->weight.value;
    b->shift = layer->bias.value;
    b->mean = layer->mean;
    b->inverse = layer->inverse;
    return bench_add(layer, DLT_FORWARD, training ? run_training : run_inference, b, USES_OF(b),
                     error);
}

int bench_batch_norm_backward(struct bench_layer *layer, bool data, bool weight,
                              struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    struct batch_norm *b = bench_own_zeroed(&context->owned, 1, sizeof *b, error);
    struct bench_buffer *gradient = NULL, *target = NULL;
    int status;

    (void)data;
    (void)weight;
    if (!b)
        return BENCH_NO_MEMORY;
    *b = *(const struct batch_norm *)layer->extra;
    status = bench_output_gradient(layer, DLT_BACKWARD, &gradient, error);
    if (status == BENCH_OK)
        status = bench_parameter_gradient(layer, &layer->weight, error);
    if (status == BENCH_OK)
        status = bench_parameter_gradient(layer, &layer->bias, error);
    if (status == BENCH_OK)
        status = bench_collect(layer, 0, &target, error);
    if (status == BENCH_OK)
        status = bench_cudnn(cudnnGetBatchNormalizationBackwardExWorkspaceSize(
                                 context->cudnn, b->mode, CUDNN_BATCHNORM_OPS_BN, b->data, NULL,
                                 b->data, NULL, b->data, b->parameters, NULL, &b->workspace),
                             "batch_norm", error);
    if (status == BENCH_OK)
        status = bench_workspace(context, b->workspace, error);
    if (status)
        return status;
    b->gradient = gradient;
    b->to_input = target;
    b->to_scale = layer->weight.gradient;
    b->to_shift = layer->bias.gradient;
    status = bench_add(layer, DLT_BACKWARD, run_backward, b, USES_OF(b), error);
    return status ? status : bench_deliver(layer, DLT_BACKWARD, 0, target, error);
}
