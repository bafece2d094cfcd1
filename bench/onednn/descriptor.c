/* SPDX-License-Identifier: Apache-2.0 */

/* Primitive descriptors. */
#include <string.h>

#include "onednn.h"

static const float epsilon = 1e-5f; /* torch.nn's default of all norms */

int bench_pd_convolution(struct bench_context *context, enum dlt_pass pass,
                         const struct dlt_record *record, bool transposed, bench_md src,
                         bench_md weights, bench_md bias, bench_md dst, dnnl_primitive_desc_t hint,
                         dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    const dnnl_alg_kind_t direct = transposed ? dnnl_deconvolution_direct : dnnl_convolution_direct;
    const struct dlt_spatial *s = &record->u.spatial;
    const_dnnl_primitive_attr_t attributes = context->attributes;
    dnnl_engine_t engine = context->engine;
    dnnl_dims_t stride = {0}, dilation = {0}, before = {0}, after = {0};
    dnnl_status_t status;

    for (int d = 0; d < record->kind->dims; d++) {
        stride[d] = s->stride[d];
        dilation[d] = s->dilation[d] - 1; /* oneDNN counts the gaps */
        before[d] = s->padding[d][0];
        after[d] = s->padding[d][1];
        /* output_padding makes the output longer, as less padding behind it does. */
        if (transposed)
            after[d] = (s->in_size[d] - 1) * s->stride[d] + s->dilation[d] * (s->kernel[d] - 1) +
                       1 - dlt_spatial_out(s, d) - before[d];
    }
    if (pass == DLT_FORWARD)
        status = (transposed ? dnnl_deconvolution_forward_primitive_desc_create
                             : dnnl_convolution_forward_primitive_desc_create)(
            pd, engine, dnnl_forward_training, direct, src, weights, bias, dst, stride, dilation,
            before, after, attributes);
    else if (pass == DLT_BACKWARD_DATA)
        status = (transposed ? dnnl_deconvolution_backward_data_primitive_desc_create
                             : dnnl_convolution_backward_data_primitive_desc_create)(
            pd, engine, direct, src, weights, dst, stride, dilation, before, after, hint,
            attributes);
    else
        status = (transposed ? dnnl_deconvolution_backward_weights_primitive_desc_create
                             : dnnl_convolution_backward_weights_primitive_desc_create)(
            pd, engine, direct, src, weights, bias, dst, stride, dilation, before, after, hint,
            attributes);
    return bench_check(status, "convolution", error);
}

int bench_pd_inner_product(struct bench_context *context, enum dlt_pass pass, bench_md src,
                           bench_md weights, bench_md bias, bench_md dst,
                           dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd,
                           struct dlt_error *error)
{
    const_dnnl_primitive_attr_t attributes = context->attributes;
    dnnl_engine_t engine = context->engine;
    dnnl_status_t status;

    if (pass == DLT_FORWARD)
        status = dnnl_inner_product_forward_primitive_desc_create(
            pd, engine, dnnl_forward_training, src, weights, bias, dst, attributes);
    else if (pass == DLT_BACKWARD_DATA)
        status = dnnl_inner_product_backward_data_primitive_desc_create(pd, engine, src, weights,
                                                                        dst, hint, attributes);
    else
        status = dnnl_inner_product_backward_weights_primitive_desc_create(
            pd, engine, src, weights, bias, dst, hint, attributes);
    return bench_check(status, "inner product", error);
}

/* Attributes with one step after the primitive: its result is added to what is there, or scaled. */
static dnnl_status_t with_post_op(bool sum, float scale, dnnl_primitive_attr_t *attributes)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(attributes);

    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(*attributes, dnnl_scratchpad_mode_user);
    if (status == dnnl_success)
        status = dnnl_post_ops_create(&ops);
    if (status == dnnl_success)
        status = sum ? dnnl_post_ops_append_sum(ops, 1, 0, dnnl_data_type_undef)
                     : dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_linear, scale, 0);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_post_ops(*attributes, ops);
    if (ops)
        dnnl_post_ops_destroy(ops);
    return status;
}

int bench_pd_matmul(struct bench_context *context, bench_md a, bench_md b, bench_md c, float scale,
                    dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    dnnl_primitive_attr_t scaled = NULL;
    bool scales = scale < 1 || scale > 1;
    dnnl_status_t status = scales ? with_post_op(false, scale, &scaled) : dnnl_success;

    if (status == dnnl_success)
        status = dnnl_matmul_primitive_desc_create(pd, context->engine, a, b, NULL, c,
                                                   scales ? scaled : context->attributes);
    if (scaled)
        dnnl_primitive_attr_destroy(scaled);
    return bench_check(status, "matrix product", error);
}

int bench_pd_pool(struct bench_context *context, enum dlt_pass pass,
                  const struct dlt_record *record, bool average, bench_md src, bench_md dst,
                  dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    const struct dlt_spatial *s = &record->u.spatial;
    dnnl_alg_kind_t algorithm = average ? dnnl_pooling_avg_include_padding : dnnl_pooling_max;
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
        status = dnnl_pooling_forward_primitive_desc_create(
            pd, context->engine, dnnl_forward_training, algorithm, src, dst, stride, window,
            dilation, before, after, context->attributes);
    else
        status = dnnl_pooling_backward_primitive_desc_create(pd, context->engine, algorithm, src,
                                                             dst, stride, window, dilation, before,
                                                             after, hint, context->attributes);
    return bench_check(status, "pooling", error);
}

int bench_pd_batch_norm(struct bench_context *context, enum dlt_pass pass, bool training,
                        bench_md data, dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd,
                        struct dlt_error *error)
{
    unsigned flags = dnnl_use_scale | dnnl_use_shift;
    dnnl_status_t status;

    if (!training)
        flags |= dnnl_use_global_stats;
    if (pass == DLT_FORWARD)
        status = dnnl_batch_normalization_forward_primitive_desc_create(
            pd, context->engine, training ? dnnl_forward_training : dnnl_forward_inference, data,
            data, epsilon, flags, context->attributes);
    else
        status = dnnl_batch_normalization_backward_primitive_desc_create(
            pd, context->engine, dnnl_backward, data, data, data, epsilon, flags, hint,
            context->attributes);
    return bench_check(status, "batch normalization", error);
}

int bench_pd_layer_norm(struct bench_context *context, enum dlt_pass pass, bench_md data,
                        dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd,
                        struct dlt_error *error)
{
    unsigned flags = dnnl_use_scale | dnnl_use_shift;
    bench_md statistics =
        bench_md_plain(context, dnnl_f32, bench_md_rank(data) - 1, bench_md_dims(data));
    dnnl_status_t status;

    if (pass == DLT_FORWARD)
        status = dnnl_layer_normalization_forward_primitive_desc_create(
            pd, context->engine, dnnl_forward_training, data, data, statistics, epsilon, flags,
            context->attributes);
    else
        status = dnnl_layer_normalization_backward_primitive_desc_create(
            pd, context->engine, dnnl_backward, data, data, data, statistics, epsilon, flags, hint,
            context->attributes);
    return bench_check(status, "layer normalization", error);
}

int bench_pd_softmax(struct bench_context *context, enum dlt_pass pass, bool logarithm,
                     bench_md data, int axis, dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd,
                     struct dlt_error *error)
{
    dnnl_alg_kind_t algorithm = logarithm ? dnnl_softmax_log : dnnl_softmax_accurate;
    dnnl_status_t status;

    if (pass == DLT_FORWARD)
        status = dnnl_softmax_forward_primitive_desc_create(pd, context->engine,
                                                            dnnl_forward_training, algorithm, data,
                                                            data, axis, context->attributes);
    else
        status = dnnl_softmax_backward_primitive_desc_create(
            pd, context->engine, algorithm, data, data, data, axis, hint, context->attributes);
    return bench_check(status, "softmax", error);
}

/* keeps_output: frameworks save the output of these for backward, not the input. */
static const struct {
    dnnl_alg_kind_t algorithm;
    float alpha, beta;
    dnnl_alg_kind_t keeps_output; /* 0: the derivative is taken from the input */
} eltwise[DLT_FUNCTIONS] = {
    [DLT_RELU] = {dnnl_eltwise_relu, 0, 0, dnnl_eltwise_relu_use_dst_for_bwd},
    [DLT_GELU] = {dnnl_eltwise_gelu_erf, 0, 0, 0},
    [DLT_SIGMOID] = {dnnl_eltwise_logistic, 0, 0, dnnl_eltwise_logistic_use_dst_for_bwd},
    [DLT_TANH] = {dnnl_eltwise_tanh, 0, 0, dnnl_eltwise_tanh_use_dst_for_bwd},
    [DLT_POW] = {dnnl_eltwise_pow, 1, 3, 0},
    [DLT_RELU6] = {dnnl_eltwise_clip_v2, 0, 6, 0},
    [DLT_SILU] = {dnnl_eltwise_swish, 1, 0, 0},
    [DLT_HARDSWISH] = {dnnl_eltwise_hardswish, 1.0f / 6, 0.5f, 0},
    [DLT_HARDTANH] = {dnnl_eltwise_clip_v2, -1, 1, 0},
    [DLT_LEAKY_RELU] = {dnnl_eltwise_relu, 0.01f, 0, 0},
    [DLT_ELU] = {dnnl_eltwise_elu, 1, 0, 0},
    [DLT_SOFTPLUS] = {dnnl_eltwise_soft_relu, 1, 0, 0},
    [DLT_MISH] = {dnnl_eltwise_mish, 0, 0, 0},
    [DLT_EXP] = {dnnl_eltwise_exp, 0, 0, dnnl_eltwise_exp_use_dst_for_bwd},
    [DLT_LOG] = {dnnl_eltwise_log, 0, 0, 0},
    [DLT_SQRT] = {dnnl_eltwise_sqrt, 0, 0, dnnl_eltwise_sqrt_use_dst_for_bwd},
    [DLT_ABS] = {dnnl_eltwise_abs, 0, 0, 0},
};

bool bench_eltwise_keeps_output(enum dlt_function function)
{
    return eltwise[function].keeps_output != 0;
}

int bench_pd_eltwise(struct bench_context *context, enum dlt_pass pass, enum dlt_function function,
                     bench_md data, dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd,
                     struct dlt_error *error)
{
    dnnl_alg_kind_t algorithm = eltwise[function].algorithm;
    float alpha = eltwise[function].alpha, beta = eltwise[function].beta;
    dnnl_status_t status;

    if (bench_eltwise_keeps_output(function))
        algorithm = eltwise[function].keeps_output;
    if (pass == DLT_FORWARD)
        status = dnnl_eltwise_forward_primitive_desc_create(pd, context->engine,
                                                            dnnl_forward_training, algorithm, data,
                                                            data, alpha, beta, context->attributes);
    else
        status = dnnl_eltwise_backward_primitive_desc_create(pd, context->engine, algorithm, data,
                                                             data, data, alpha, beta, hint,
                                                             context->attributes);
    return bench_check(status, "elementwise function", error);
}

int bench_pd_binary(struct bench_context *context, enum dlt_function function, bench_md a,
                    bench_md b, bench_md c, dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    static const dnnl_alg_kind_t algorithms[DLT_FUNCTIONS] = {[DLT_ADD] = dnnl_binary_add,
                                                              [DLT_SUB] = dnnl_binary_sub,
                                                              [DLT_MUL] = dnnl_binary_mul,
                                                              [DLT_DIV] = dnnl_binary_div};

    return bench_check(dnnl_binary_primitive_desc_create(pd, context->engine, algorithms[function],
                                                         a, b, c, context->attributes),
                       "elementwise function", error);
}

int bench_pd_concat(struct bench_context *context, int count, const bench_md *src, int axis,
                    dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    return bench_check(dnnl_concat_primitive_desc_create(pd, context->engine, NULL, count, axis,
                                                         src, context->attributes),
                       "concat", error);
}

int bench_pd_resampling(struct bench_context *context, enum dlt_pass pass, bool linear,
                        bench_md src, bench_md dst, dnnl_primitive_desc_t hint,
                        dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    dnnl_alg_kind_t algorithm = linear ? dnnl_resampling_linear : dnnl_resampling_nearest;
    dnnl_status_t status;

    if (pass == DLT_FORWARD)
        status = dnnl_resampling_forward_primitive_desc_create(pd, context->engine,
                                                               dnnl_forward_training, algorithm,
                                                               NULL, src, dst, context->attributes);
    else
        status = dnnl_resampling_backward_primitive_desc_create(
            pd, context->engine, algorithm, NULL, src, dst, hint, context->attributes);
    return bench_check(status, "resampling", error);
}

int bench_pd_reorder(struct bench_context *context, bench_md from, bench_md to, bool accumulate,
                     dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    dnnl_primitive_attr_t sum = NULL;
    dnnl_status_t status = accumulate ? with_post_op(true, 1, &sum) : dnnl_success;

    if (status == dnnl_success)
        status = dnnl_reorder_primitive_desc_create(pd, from, context->engine, to, context->engine,
                                                    accumulate ? sum : context->attributes);
    if (sum)
        dnnl_primitive_attr_destroy(sum);
    return bench_check(status, "reorder", error);
}

static int pd_rnn_forward(struct bench_context *context, const char *kind,
                          const struct bench_rnn *v, dnnl_rnn_direction_t direction,
                          dnnl_primitive_desc_t *pd, struct dlt_error *error)
{
    const_dnnl_primitive_attr_t attributes = context->attributes;
    dnnl_engine_t engine = context->engine;
    dnnl_status_t status;

    if (strcmp(kind, "lstm") == 0)
        status = dnnl_lstm_forward_primitive_desc_create(
            pd, engine, dnnl_forward_training, direction, v->src, v->iter, v->iter, v->weights,
            v->weights_iter, NULL, NULL, v->bias, v->dst, v->iter, v->iter, 0, attributes);
    else if (strcmp(kind, "gru") == 0)
        status = dnnl_lbr_gru_forward_primitive_desc_create(
            pd, engine, dnnl_forward_training, direction, v->src, v->iter, v->weights,
            v->weights_iter, v->bias, v->dst, v->iter, 0, attributes);
    else
        status = dnnl_vanilla_rnn_forward_primitive_desc_create(
            pd, engine, dnnl_forward_training, dnnl_eltwise_tanh, direction, v->src, v->iter,
            v->weights, v->weights_iter, v->bias, v->dst, v->iter, 0, 0, 0, attributes);
    return bench_check(status, kind, error);
}

int bench_pd_rnn(struct bench_context *context, const char *kind, const struct bench_rnn *v,
                 const struct bench_rnn *g, dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd,
                 struct dlt_error *error)
{
    dnnl_rnn_direction_t direction =
        v->bidirectional ? dnnl_bidirectional_concat : dnnl_unidirectional_left2right;
    const_dnnl_primitive_attr_t attributes = context->attributes;
    dnnl_engine_t engine = context->engine;
    dnnl_status_t status;

    if (!g)
        return pd_rnn_forward(context, kind, v, direction, pd, error);
    if (strcmp(kind, "lstm") == 0)
        status = dnnl_lstm_backward_primitive_desc_create(
            pd, engine, dnnl_backward, direction, v->src, v->iter, v->iter, v->weights,
            v->weights_iter, NULL, NULL, v->bias, v->dst, v->iter, v->iter, g->src, g->iter,
            g->iter, g->weights, g->weights_iter, NULL, NULL, g->bias, g->dst, g->iter, g->iter, 0,
            hint, attributes);
    else if (strcmp(kind, "gru") == 0)
        status = dnnl_lbr_gru_backward_primitive_desc_create(
            pd, engine, dnnl_backward, direction, v->src, v->iter, v->weights, v->weights_iter,
            v->bias, v->dst, v->iter, g->src, g->iter, g->weights, g->weights_iter, g->bias, g->dst,
            g->iter, 0, hint, attributes);
    else
        status = dnnl_vanilla_rnn_backward_primitive_desc_create(
            pd, engine, dnnl_backward, dnnl_eltwise_tanh, direction, v->src, v->iter, v->weights,
            v->weights_iter, v->bias, v->dst, v->iter, g->src, g->iter, g->weights, g->weights_iter,
            g->bias, g->dst, g->iter, 0, 0, 0, hint, attributes);
    return bench_check(status, kind, error);
}
