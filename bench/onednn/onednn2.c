/* SPDX-License-Identifier: Apache-2.0 */
#include "onednn2.h"

#if DNNL_VERSION_MAJOR < 3

#include <stdlib.h>
#include <string.h>

/* Hands a descriptor over, or nothing where it could not be made. */
static dnnl_status_t hand_over(bench_md_made *md, const dnnl_memory_desc_t *made,
                               dnnl_status_t status)
{
    if (status != dnnl_success)
        return status;
    *md = malloc(sizeof **md);
    if (!*md)
        return dnnl_out_of_memory;
    **md = *made;
    return dnnl_success;
}

dnnl_status_t dnnl_memory_desc_create_with_strides(bench_md_made *md, int rank,
                                                   const dnnl_dims_t dims, dnnl_data_type_t type,
                                                   const dnnl_dims_t strides)
{
    dnnl_memory_desc_t made;

    return hand_over(md, &made, dnnl_memory_desc_init_by_strides(&made, rank, dims, type, strides));
}

dnnl_status_t dnnl_memory_desc_create_with_tag(bench_md_made *md, int rank, const dnnl_dims_t dims,
                                               dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t made;

    return hand_over(md, &made, dnnl_memory_desc_init_by_tag(&made, rank, dims, type, tag));
}

dnnl_status_t dnnl_memory_desc_create_submemory(bench_md_made *md, bench_md parent,
                                                const dnnl_dims_t dims, const dnnl_dims_t offsets)
{
    dnnl_memory_desc_t made;

    return hand_over(md, &made, dnnl_memory_desc_init_submemory(&made, parent, dims, offsets));
}

dnnl_status_t dnnl_memory_desc_clone(bench_md_made *md, bench_md existing)
{
    return existing ? hand_over(md, existing, dnnl_success) : dnnl_invalid_arguments;
}

dnnl_status_t dnnl_memory_desc_destroy(bench_md_made md)
{
    free(md);
    return dnnl_success;
}

dnnl_status_t dnnl_memory_desc_query(bench_md md, int what, void *result)
{
    const dnnl_blocking_desc_t *blocking = &md->format_desc.blocking;

    if (what > dnnl_query_padded_dims && md->format_kind != dnnl_blocked)
        return dnnl_invalid_arguments;
    switch (what) {
    case dnnl_query_ndims_s32:
        *(int *)result = md->ndims;
        return dnnl_success;
    case dnnl_query_dims:
        *(const dnnl_dims_t **)result = &md->dims;
        return dnnl_success;
    case dnnl_query_data_type:
        *(dnnl_data_type_t *)result = md->data_type;
        return dnnl_success;
    case dnnl_query_padded_dims:
        *(const dnnl_dims_t **)result = &md->padded_dims;
        return dnnl_success;
    case dnnl_query_strides:
        *(const dnnl_dims_t **)result = &blocking->strides;
        return dnnl_success;
    case dnnl_query_inner_nblks_s32:
        *(int *)result = blocking->inner_nblks;
        return dnnl_success;
    case dnnl_query_inner_blks:
        *(const dnnl_dims_t **)result = &blocking->inner_blks;
        return dnnl_success;
    case dnnl_query_inner_idxs:
        *(const dnnl_dims_t **)result = &blocking->inner_idxs;
        return dnnl_success;
    default:
        return dnnl_invalid_arguments;
    }
}

/* An operation's descriptor, initialised with `status`, to a primitive descriptor. */
static dnnl_status_t finish(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_status_t status,
                            const void *operation, const_dnnl_primitive_desc_t hint,
                            const_dnnl_primitive_attr_t attr)
{
    *pd = NULL;
    if (status != dnnl_success)
        return status;
    return dnnl_primitive_desc_create(pd, operation, attr, engine, hint);
}

#define CONVOLUTION_LIKE(name)                                                                     \
    dnnl_status_t dnnl_##name##_forward_primitive_desc_create(                                     \
        dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,                    \
        dnnl_alg_kind_t algorithm, bench_md src, bench_md weights, bench_md bias, bench_md dst,    \
        const dnnl_dims_t strides, const dnnl_dims_t dilates, const dnnl_dims_t before,            \
        const dnnl_dims_t after, const_dnnl_primitive_attr_t attr)                                 \
    {                                                                                              \
        dnnl_##name##_desc_t operation;                                                            \
                                                                                                   \
        return finish(pd, engine,                                                                  \
                      dnnl_dilated_##name##_forward_desc_init(&operation, prop, algorithm, src,    \
                                                              weights, bias, dst, strides,         \
                                                              dilates, before, after),             \
                      &operation, NULL, attr);                                                     \
    }                                                                                              \
    dnnl_status_t dnnl_##name##_backward_data_primitive_desc_create(                               \
        dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_alg_kind_t algorithm,                \
        bench_md diff_src, bench_md weights, bench_md diff_dst, const dnnl_dims_t strides,         \
        const dnnl_dims_t dilates, const dnnl_dims_t before, const dnnl_dims_t after,              \
        const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)                        \
    {                                                                                              \
        dnnl_##name##_desc_t operation;                                                            \
                                                                                                   \
        return finish(pd, engine,                                                                  \
                      dnnl_dilated_##name##_backward_data_desc_init(                               \
                          &operation, algorithm, diff_src, weights, diff_dst, strides, dilates,    \
                          before, after),                                                          \
                      &operation, hint, attr);                                                     \
    }                                                                                              \
    dnnl_status_t dnnl_##name##_backward_weights_primitive_desc_create(                            \
        dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_alg_kind_t algorithm, bench_md src,  \
        bench_md diff_weights, bench_md diff_bias, bench_md diff_dst, const dnnl_dims_t strides,   \
        const dnnl_dims_t dilates, const dnnl_dims_t before, const dnnl_dims_t after,              \
        const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)                        \
    {                                                                                              \
        dnnl_##name##_desc_t operation;                                                            \
                                                                                                   \
        return finish(pd, engine,                                                                  \
                      dnnl_dilated_##name##_backward_weights_desc_init(                            \
                          &operation, algorithm, src, diff_weights, diff_bias, diff_dst, strides,  \
                          dilates, before, after),                                                 \
                      &operation, hint, attr);                                                     \
    }
CONVOLUTION_LIKE(convolution)
CONVOLUTION_LIKE(deconvolution)

dnnl_status_t dnnl_inner_product_forward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop, bench_md src,
    bench_md weights, bench_md bias, bench_md dst, const_dnnl_primitive_attr_t attr)
{
    dnnl_inner_product_desc_t operation;

    return finish(pd, engine,
                  dnnl_inner_product_forward_desc_init(&operation, prop, src, weights, bias, dst),
                  &operation, NULL, attr);
}

dnnl_status_t dnnl_inner_product_backward_data_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, bench_md diff_src, bench_md weights,
    bench_md diff_dst, const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)
{
    dnnl_inner_product_desc_t operation;

    return finish(
        pd, engine,
        dnnl_inner_product_backward_data_desc_init(&operation, diff_src, weights, diff_dst),
        &operation, hint, attr);
}

dnnl_status_t dnnl_inner_product_backward_weights_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, bench_md src, bench_md diff_weights,
    bench_md diff_bias, bench_md diff_dst, const_dnnl_primitive_desc_t hint,
    const_dnnl_primitive_attr_t attr)
{
    dnnl_inner_product_desc_t operation;

    return finish(pd, engine,
                  dnnl_inner_product_backward_weights_desc_init(&operation, src, diff_weights,
                                                                diff_bias, diff_dst),
                  &operation, hint, attr);
}

dnnl_status_t dnnl_matmul_primitive_desc_create(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                bench_md src, bench_md weights, bench_md bias,
                                                bench_md dst, const_dnnl_primitive_attr_t attr)
{
    dnnl_matmul_desc_t operation;

    return finish(pd, engine, dnnl_matmul_desc_init(&operation, src, weights, bias, dst),
                  &operation, NULL, attr);
}

dnnl_status_t dnnl_pooling_forward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
    dnnl_alg_kind_t algorithm, bench_md src, bench_md dst, const dnnl_dims_t strides,
    const dnnl_dims_t kernel, const dnnl_dims_t dilation, const dnnl_dims_t before,
    const dnnl_dims_t after, const_dnnl_primitive_attr_t attr)
{
    dnnl_pooling_v2_desc_t operation;

    return finish(pd, engine,
                  dnnl_pooling_v2_forward_desc_init(&operation, prop, algorithm, src, dst, strides,
                                                    kernel, dilation, before, after),
                  &operation, NULL, attr);
}

dnnl_status_t dnnl_pooling_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_alg_kind_t algorithm, bench_md diff_src,
    bench_md diff_dst, const dnnl_dims_t strides, const dnnl_dims_t kernel,
    const dnnl_dims_t dilation, const dnnl_dims_t before, const dnnl_dims_t after,
    const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)
{
    dnnl_pooling_v2_desc_t operation;

    return finish(pd, engine,
                  dnnl_pooling_v2_backward_desc_init(&operation, algorithm, diff_src, diff_dst,
                                                     strides, kernel, dilation, before, after),
                  &operation, hint, attr);
}

dnnl_status_t dnnl_batch_normalization_forward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop, bench_md src,
    bench_md dst, float epsilon, unsigned flags, const_dnnl_primitive_attr_t attr)
{
    dnnl_batch_normalization_desc_t operation;

    (void)dst; /* as src */
    return finish(pd, engine,
                  dnnl_batch_normalization_forward_desc_init(&operation, prop, src, epsilon, flags),
                  &operation, NULL, attr);
}

dnnl_status_t dnnl_batch_normalization_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop, bench_md diff_src,
    bench_md diff_dst, bench_md src, float epsilon, unsigned flags,
    const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)
{
    dnnl_batch_normalization_desc_t operation;

    (void)diff_src; /* as diff_dst */
    return finish(pd, engine,
                  dnnl_batch_normalization_backward_desc_init(&operation, prop, diff_dst, src,
                                                              epsilon, flags),
                  &operation, hint, attr);
}

dnnl_status_t dnnl_layer_normalization_forward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop, bench_md src,
    bench_md dst, bench_md statistics, float epsilon, unsigned flags,
    const_dnnl_primitive_attr_t attr)
{
    dnnl_layer_normalization_desc_t operation;

    (void)dst; /* as src */
    return finish(pd, engine,
                  dnnl_layer_normalization_forward_desc_init(&operation, prop, src, statistics,
                                                             epsilon, flags),
                  &operation, NULL, attr);
}

dnnl_status_t dnnl_layer_normalization_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop, bench_md diff_src,
    bench_md diff_dst, bench_md src, bench_md statistics, float epsilon, unsigned flags,
    const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)
{
    dnnl_layer_normalization_desc_t operation;

    (void)diff_src; /* as diff_dst */
    return finish(pd, engine,
                  dnnl_layer_normalization_backward_desc_init(&operation, prop, diff_dst, src,
                                                              statistics, epsilon, flags),
                  &operation, hint, attr);
}

dnnl_status_t dnnl_softmax_forward_primitive_desc_create(dnnl_primitive_desc_t *pd,
                                                         dnnl_engine_t engine,
                                                         dnnl_prop_kind_t prop,
                                                         dnnl_alg_kind_t algorithm, bench_md src,
                                                         bench_md dst, int axis,
                                                         const_dnnl_primitive_attr_t attr)
{
    dnnl_softmax_v2_desc_t operation;

    return finish(pd, engine,
                  dnnl_softmax_v2_forward_desc_init(&operation, prop, algorithm, src, dst, axis),
                  &operation, NULL, attr);
}

dnnl_status_t dnnl_softmax_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_alg_kind_t algorithm, bench_md diff_src,
    bench_md diff_dst, bench_md dst, int axis, const_dnnl_primitive_desc_t hint,
    const_dnnl_primitive_attr_t attr)
{
    dnnl_softmax_v2_desc_t operation;

    return finish(
        pd, engine,
        dnnl_softmax_v2_backward_desc_init(&operation, algorithm, diff_src, diff_dst, dst, axis),
        &operation, hint, attr);
}

dnnl_status_t dnnl_eltwise_forward_primitive_desc_create(dnnl_primitive_desc_t *pd,
                                                         dnnl_engine_t engine,
                                                         dnnl_prop_kind_t prop,
                                                         dnnl_alg_kind_t algorithm, bench_md src,
                                                         bench_md dst, float alpha, float beta,
                                                         const_dnnl_primitive_attr_t attr)
{
    dnnl_eltwise_desc_t operation;

    (void)dst; /* as src */
    return finish(pd, engine,
                  dnnl_eltwise_forward_desc_init(&operation, prop, algorithm, src, alpha, beta),
                  &operation, NULL, attr);
}

dnnl_status_t dnnl_eltwise_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_alg_kind_t algorithm, bench_md diff_src,
    bench_md diff_dst, bench_md data, float alpha, float beta, const_dnnl_primitive_desc_t hint,
    const_dnnl_primitive_attr_t attr)
{
    dnnl_eltwise_desc_t operation;

    (void)diff_src; /* as diff_dst */
    return finish(
        pd, engine,
        dnnl_eltwise_backward_desc_init(&operation, algorithm, diff_dst, data, alpha, beta),
        &operation, hint, attr);
}

dnnl_status_t dnnl_binary_primitive_desc_create(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                dnnl_alg_kind_t algorithm, bench_md a, bench_md b,
                                                bench_md dst, const_dnnl_primitive_attr_t attr)
{
    dnnl_binary_desc_t operation;

    return finish(pd, engine, dnnl_binary_desc_init(&operation, algorithm, a, b, dst), &operation,
                  NULL, attr);
}

#undef dnnl_concat_primitive_desc_create
dnnl_status_t onednn2_concat_primitive_desc_create(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                   bench_md dst, int count, int axis,
                                                   const bench_md *src,
                                                   const_dnnl_primitive_attr_t attr)
{
    dnnl_memory_desc_t *values = malloc((size_t)count * sizeof *values);
    dnnl_status_t status = dnnl_out_of_memory;

    for (int i = 0; values && i < count; i++)
        values[i] = *src[i];
    if (values)
        status = dnnl_concat_primitive_desc_create(pd, dst, count, axis, values, attr, engine);
    free(values);
    return status;
}

dnnl_status_t
dnnl_resampling_forward_primitive_desc_create(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                              dnnl_prop_kind_t prop, dnnl_alg_kind_t algorithm,
                                              const float *factors, bench_md src, bench_md dst,
                                              const_dnnl_primitive_attr_t attr)
{
    dnnl_resampling_desc_t operation;

    return finish(pd, engine,
                  dnnl_resampling_forward_desc_init(&operation, prop, algorithm, factors, src, dst),
                  &operation, NULL, attr);
}

dnnl_status_t dnnl_resampling_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_alg_kind_t algorithm,
    const float *factors, bench_md diff_src, bench_md diff_dst, const_dnnl_primitive_desc_t hint,
    const_dnnl_primitive_attr_t attr)
{
    dnnl_resampling_desc_t operation;

    return finish(
        pd, engine,
        dnnl_resampling_backward_desc_init(&operation, algorithm, factors, diff_src, diff_dst),
        &operation, hint, attr);
}

dnnl_status_t dnnl_vanilla_rnn_forward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
    dnnl_alg_kind_t activation, dnnl_rnn_direction_t direction, bench_md src_layer,
    bench_md src_iter, bench_md weights_layer, bench_md weights_iter, bench_md bias,
    bench_md dst_layer, bench_md dst_iter, unsigned flags, float alpha, float beta,
    const_dnnl_primitive_attr_t attr)
{
    dnnl_rnn_desc_t operation;

    return finish(pd, engine,
                  dnnl_vanilla_rnn_forward_desc_init(
                      &operation, prop, activation, direction, src_layer, src_iter, weights_layer,
                      weights_iter, bias, dst_layer, dst_iter, flags, alpha, beta),
                  &operation, NULL, attr);
}

dnnl_status_t dnnl_vanilla_rnn_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
    dnnl_alg_kind_t activation, dnnl_rnn_direction_t direction, bench_md src_layer,
    bench_md src_iter, bench_md weights_layer, bench_md weights_iter, bench_md bias,
    bench_md dst_layer, bench_md dst_iter, bench_md diff_src_layer, bench_md diff_src_iter,
    bench_md diff_weights_layer, bench_md diff_weights_iter, bench_md diff_bias,
    bench_md diff_dst_layer, bench_md diff_dst_iter, unsigned flags, float alpha, float beta,
    const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)
{
    dnnl_rnn_desc_t operation;

    return finish(pd, engine,
                  dnnl_vanilla_rnn_backward_desc_init(
                      &operation, prop, activation, direction, src_layer, src_iter, weights_layer,
                      weights_iter, bias, dst_layer, dst_iter, diff_src_layer, diff_src_iter,
                      diff_weights_layer, diff_weights_iter, diff_bias, diff_dst_layer,
                      diff_dst_iter, flags, alpha, beta),
                  &operation, hint, attr);
}

dnnl_status_t dnnl_lstm_forward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
    dnnl_rnn_direction_t direction, bench_md src_layer, bench_md src_iter, bench_md src_iter_c,
    bench_md weights_layer, bench_md weights_iter, bench_md weights_peephole,
    bench_md weights_projection, bench_md bias, bench_md dst_layer, bench_md dst_iter,
    bench_md dst_iter_c, unsigned flags, const_dnnl_primitive_attr_t attr)
{
    dnnl_rnn_desc_t operation;

    return finish(pd, engine,
                  dnnl_lstm_forward_desc_init_v3(&operation, prop, direction, src_layer, src_iter,
                                                 src_iter_c, weights_layer, weights_iter,
                                                 weights_peephole, weights_projection, bias,
                                                 dst_layer, dst_iter, dst_iter_c, flags),
                  &operation, NULL, attr);
}

dnnl_status_t dnnl_lstm_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
    dnnl_rnn_direction_t direction, bench_md src_layer, bench_md src_iter, bench_md src_iter_c,
    bench_md weights_layer, bench_md weights_iter, bench_md weights_peephole,
    bench_md weights_projection, bench_md bias, bench_md dst_layer, bench_md dst_iter,
    bench_md dst_iter_c, bench_md diff_src_layer, bench_md diff_src_iter, bench_md diff_src_iter_c,
    bench_md diff_weights_layer, bench_md diff_weights_iter, bench_md diff_weights_peephole,
    bench_md diff_weights_projection, bench_md diff_bias, bench_md diff_dst_layer,
    bench_md diff_dst_iter, bench_md diff_dst_iter_c, unsigned flags,
    const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)
{
    dnnl_rnn_desc_t operation;

    return finish(pd, engine,
                  dnnl_lstm_backward_desc_init_v3(
                      &operation, prop, direction, src_layer, src_iter, src_iter_c, weights_layer,
                      weights_iter, weights_peephole, weights_projection, bias, dst_layer, dst_iter,
                      dst_iter_c, diff_src_layer, diff_src_iter, diff_src_iter_c,
                      diff_weights_layer, diff_weights_iter, diff_weights_peephole,
                      diff_weights_projection, diff_bias, diff_dst_layer, diff_dst_iter,
                      diff_dst_iter_c, flags),
                  &operation, hint, attr);
}

dnnl_status_t dnnl_lbr_gru_forward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
    dnnl_rnn_direction_t direction, bench_md src_layer, bench_md src_iter, bench_md weights_layer,
    bench_md weights_iter, bench_md bias, bench_md dst_layer, bench_md dst_iter, unsigned flags,
    const_dnnl_primitive_attr_t attr)
{
    dnnl_rnn_desc_t operation;

    return finish(pd, engine,
                  dnnl_lbr_gru_forward_desc_init(&operation, prop, direction, src_layer, src_iter,
                                                 weights_layer, weights_iter, bias, dst_layer,
                                                 dst_iter, flags),
                  &operation, NULL, attr);
}

dnnl_status_t dnnl_lbr_gru_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
    dnnl_rnn_direction_t direction, bench_md src_layer, bench_md src_iter, bench_md weights_layer,
    bench_md weights_iter, bench_md bias, bench_md dst_layer, bench_md dst_iter,
    bench_md diff_src_layer, bench_md diff_src_iter, bench_md diff_weights_layer,
    bench_md diff_weights_iter, bench_md diff_bias, bench_md diff_dst_layer, bench_md diff_dst_iter,
    unsigned flags, const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)
{
    dnnl_rnn_desc_t operation;

    return finish(pd, engine,
                  dnnl_lbr_gru_backward_desc_init(
                      &operation, prop, direction, src_layer, src_iter, weights_layer, weights_iter,
                      bias, dst_layer, dst_iter, diff_src_layer, diff_src_iter, diff_weights_layer,
                      diff_weights_iter, diff_bias, diff_dst_layer, diff_dst_iter, flags),
                  &operation, hint, attr);
}

#endif
