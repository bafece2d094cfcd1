/* SPDX-License-Identifier: Apache-2.0 */

/* Primitive descriptors as oneDNN 2 makes them: an operation descriptor first, then its
 * implementation on the engine. */
#include "onednn.h"

static const float epsilon = 1e-5f; /* torch.nn's default of both norms */

static int create(struct bench_context *context, dnnl_status_t status, const void *operation,
                  dnnl_primitive_desc_t hint, const char *what, dnnl_primitive_desc_t *pd,
                  struct dlt_error *error)
{
    *pd = NULL;
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(pd, operation, NULL, context->engine, hint);
    return bench_check(status, what, error);
}

int bench_pd_convolution(struct bench_context *context, enum dlt_pass pass,
                         const struct dlt_record *record, const dnnl_memory_desc_t *src,
                         const dnnl_memory_desc_t *weights, const dnnl_memory_desc_t *bias,
                         const dnnl_memory_desc_t *dst, dnnl_primitive_desc_t hint,
                         dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    const struct dlt_spatial *s = &record->u.spatial;
    dnnl_convolution_desc_t operation;
    dnnl_dims_t stride = {0}, dilation = {0}, before = {0}, after = {0};
    dnnl_status_t status;

    for (int d = 0; d < record->kind->dims; d++) {
        stride[d] = s->stride[d];
        dilation[d] = s->dilation[d] - 1; /* oneDNN counts the gaps */
        before[d] = s->padding[d][0];
        after[d] = s->padding[d][1];
    }
    if (pass == DLT_FORWARD)
        status = dnnl_dilated_convolution_forward_desc_init(
            &operation, dnnl_forward_training, dnnl_convolution_direct, src, weights, bias, dst,
            stride, dilation, before, after);
    else if (pass == DLT_BACKWARD_DATA)
        status = dnnl_dilated_convolution_backward_data_desc_init(
            &operation, dnnl_convolution_direct, src, weights, dst, stride, dilation, before,
            after);
    else
        status = dnnl_dilated_convolution_backward_weights_desc_init(
            &operation, dnnl_convolution_direct, src, weights, bias, dst, stride, dilation, before,
            after);
    return create(context, status, &operation, hint, "convolution", pd, error);
}

int bench_pd_inner_product(struct bench_context *context, enum dlt_pass pass,
                           const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *weights,
                           const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *dst,
                           dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd,
                           struct dlt_error *error)
{
    dnnl_inner_product_desc_t operation;
    dnnl_status_t status;

    if (pass == DLT_FORWARD)
        status = dnnl_inner_product_forward_desc_init(&operation, dnnl_forward_training, src,
                                                      weights, bias, dst);
    else if (pass == DLT_BACKWARD_DATA)
        status = dnnl_inner_product_backward_data_desc_init(&operation, src, weights, dst);
    else
        status = dnnl_inner_product_backward_weights_desc_init(&operation, src, weights, bias, dst);
    return create(context, status, &operation, hint, "inner product", pd, error);
}

int bench_pd_matmul(struct bench_context *context, const dnnl_memory_desc_t *a,
                    const dnnl_memory_desc_t *b, const dnnl_memory_desc_t *c,
                    dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    dnnl_matmul_desc_t operation;
    dnnl_status_t status = dnnl_matmul_desc_init(&operation, a, b, NULL, c);

    return create(context, status, &operation, NULL, "matrix product", pd, error);
}

int bench_pd_pool(struct bench_context *context, enum dlt_pass pass,
                  const struct dlt_record *record, bool average, const dnnl_memory_desc_t *src,
                  const dnnl_memory_desc_t *dst, dnnl_primitive_desc_t hint,
                  dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    const struct dlt_spatial *s = &record->u.spatial;
    dnnl_alg_kind_t algorithm = average ? dnnl_pooling_avg_include_padding : dnnl_pooling_max;
    dnnl_pooling_v2_desc_t operation;
    dnnl_dims_t stride = {0}, window = {0}, dilation = {0}, before = {0}, after = {0};
    dnnl_status_t status;

    for (int d = 0; d < record->kind->dims; d++) {
        stride[d] = s->stride[d];
        window[d] = s->kernel[d];
        dilation[d] = s->dilation[d] - 1;
        before[d] = s->padding[d][0];
        after[d] = s->padding[d][1];
    }
    if (pass == DLT_FORWARD)
        status =
            dnnl_pooling_v2_forward_desc_init(&operation, dnnl_forward_training, algorithm, src,
                                              dst, stride, window, dilation, before, after);
    else
        status = dnnl_pooling_v2_backward_desc_init(&operation, algorithm, src, dst, stride, window,
                                                    dilation, before, after);
    return create(context, status, &operation, hint, "pooling", pd, error);
}

int bench_pd_batch_norm(struct bench_context *context, enum dlt_pass pass, bool training,
                        const dnnl_memory_desc_t *data, dnnl_primitive_desc_t hint,
                        dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    unsigned flags = dnnl_use_scale | dnnl_use_shift;
    dnnl_batch_normalization_desc_t operation;
    dnnl_status_t status;

    if (!training)
        flags |= dnnl_use_global_stats;
    if (pass == DLT_FORWARD)
        status = dnnl_batch_normalization_forward_desc_init(
            &operation, training ? dnnl_forward_training : dnnl_forward_inference, data, epsilon,
            flags);
    else
        status = dnnl_batch_normalization_backward_desc_init(&operation, dnnl_backward, data, data,
                                                             epsilon, flags);
    return create(context, status, &operation, hint, "batch normalization", pd, error);
}

int bench_pd_layer_norm(struct bench_context *context, enum dlt_pass pass,
                        const dnnl_memory_desc_t *data, dnnl_primitive_desc_t hint,
                        dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    unsigned flags = dnnl_use_scale | dnnl_use_shift;
    dnnl_memory_desc_t statistics = bench_md_plain(data->ndims - 1, data->dims);
    dnnl_layer_normalization_desc_t operation;
    dnnl_status_t status;

    if (pass == DLT_FORWARD)
        status = dnnl_layer_normalization_forward_desc_init(&operation, dnnl_forward_training, data,
                                                            &statistics, epsilon, flags);
    else
        status = dnnl_layer_normalization_backward_desc_init(&operation, dnnl_backward, data, data,
                                                             &statistics, epsilon, flags);
    return create(context, status, &operation, hint, "layer normalization", pd, error);
}

int bench_pd_softmax(struct bench_context *context, enum dlt_pass pass,
                     const dnnl_memory_desc_t *data, int axis, dnnl_primitive_desc_t hint,
                     dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    dnnl_softmax_desc_t operation;
    dnnl_status_t status;

    if (pass == DLT_FORWARD)
        status = dnnl_softmax_forward_desc_init(&operation, dnnl_forward_training, data, axis);
    else
        status = dnnl_softmax_backward_desc_init(&operation, data, data, axis);
    return create(context, status, &operation, hint, "softmax", pd, error);
}

int bench_pd_eltwise(struct bench_context *context, enum dlt_pass pass, enum dlt_function function,
                     const dnnl_memory_desc_t *data, dnnl_primitive_desc_t hint,
                     dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    static const struct {
        dnnl_alg_kind_t algorithm;
        float alpha, beta;
    } rows[DLT_FUNCTIONS] = {
        [DLT_RELU] = {dnnl_eltwise_relu, 0, 0},        [DLT_GELU] = {dnnl_eltwise_gelu_erf, 0, 0},
        [DLT_SIGMOID] = {dnnl_eltwise_logistic, 0, 0}, [DLT_TANH] = {dnnl_eltwise_tanh, 0, 0},
        [DLT_POW] = {dnnl_eltwise_pow, 1, 3},          [DLT_RELU6] = {dnnl_eltwise_clip_v2, 0, 6},
    };
    dnnl_eltwise_desc_t operation;
    dnnl_status_t status;

    if (pass == DLT_FORWARD)
        status = dnnl_eltwise_forward_desc_init(&operation, dnnl_forward_training,
                                                rows[function].algorithm, data,
                                                rows[function].alpha, rows[function].beta);
    else
        status = dnnl_eltwise_backward_desc_init(&operation, rows[function].algorithm, data, data,
                                                 rows[function].alpha, rows[function].beta);
    return create(context, status, &operation, hint, "elementwise function", pd, error);
}

int bench_pd_binary(struct bench_context *context, enum dlt_function function,
                    const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b,
                    const dnnl_memory_desc_t *c, dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    static const dnnl_alg_kind_t algorithms[DLT_FUNCTIONS] = {[DLT_ADD] = dnnl_binary_add,
                                                              [DLT_SUB] = dnnl_binary_sub,
                                                              [DLT_MUL] = dnnl_binary_mul,
                                                              [DLT_DIV] = dnnl_binary_div};
    dnnl_binary_desc_t operation;
    dnnl_status_t status = dnnl_binary_desc_init(&operation, algorithms[function], a, b, c);

    return create(context, status, &operation, NULL, "elementwise function", pd, error);
}

int bench_pd_concat(struct bench_context *context, int count, const dnnl_memory_desc_t *src,
                    int axis, const dnnl_memory_desc_t *dst, dnnl_primitive_desc_t *pd,
                    struct dlt_error *error)
{
    return bench_check(
        dnnl_concat_primitive_desc_create(pd, dst, count, axis, src, NULL, context->engine),
        "concat", error);
}

int bench_pd_reorder(struct bench_context *context, const dnnl_memory_desc_t *from,
                     const dnnl_memory_desc_t *to, bool accumulate, dnnl_primitive_desc_t *pd,
                     struct dlt_error *error)
{
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_post_ops_t sum = NULL;
    dnnl_status_t status = dnnl_success;

    if (accumulate) {
        status = dnnl_primitive_attr_create(&attributes);
        if (status == dnnl_success)
            status = dnnl_post_ops_create(&sum);
        if (status == dnnl_success)
            status = dnnl_post_ops_append_sum(sum, 1);
        if (status == dnnl_success)
            status = dnnl_primitive_attr_set_post_ops(attributes, sum);
    }
    if (status == dnnl_success)
        status = dnnl_reorder_primitive_desc_create(pd, from, context->engine, to, context->engine,
                                                    attributes);
    if (sum)
        dnnl_post_ops_destroy(sum);
    if (attributes)
        dnnl_primitive_attr_destroy(attributes);
    return bench_check(status, "reorder", error);
}
