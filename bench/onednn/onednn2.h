/*
 * onednn2.h - oneDNN 3's functions on oneDNN 2.
 *
 * The backend is written for oneDNN 3. Under oneDNN 2 (Debian 12 has 2.6) this header declares what
 * is new there, and onednn2.c implements it with the older functions: memory descriptors as opaque
 * pointers, and a primitive descriptor made in one call instead of through an operation's.
 */
#ifndef DLBENCH_ONEDNN2_H
#define DLBENCH_ONEDNN2_H

#include <oneapi/dnnl/dnnl.h>

#if DNNL_VERSION_MAJOR >= 3

typedef dnnl_memory_desc_t bench_md_made;
typedef const_dnnl_memory_desc_t bench_md;

/* The backward pass of batch normalization does not read the shift, and refuses it. */
enum { BENCH_ARG_SHIFT_BACKWARD = 0 };

#else

typedef dnnl_memory_desc_t *bench_md_made;
typedef const dnnl_memory_desc_t *bench_md;

/* The backward pass of batch normalization does not read the shift, but asks for it. */
enum { BENCH_ARG_SHIFT_BACKWARD = DNNL_ARG_SHIFT };

enum {
    dnnl_query_ndims_s32 = 1000,
    dnnl_query_dims,
    dnnl_query_data_type,
    dnnl_query_padded_dims,
    dnnl_query_strides,
    dnnl_query_inner_nblks_s32,
    dnnl_query_inner_blks,
    dnnl_query_inner_idxs
};

#define dnnl_post_ops_append_sum(ops, scale, zero, type) dnnl_post_ops_append_sum(ops, scale)
#define dnnl_post_ops_append_eltwise(ops, kind, alpha, beta)                                       \
    dnnl_post_ops_append_eltwise(ops, 1, kind, alpha, beta)
#define dnnl_memory_desc_query            onednn2_memory_desc_query
#define dnnl_concat_primitive_desc_create onednn2_concat_primitive_desc_create

dnnl_status_t dnnl_memory_desc_create_with_strides(bench_md_made *md, int rank,
                                                   const dnnl_dims_t dims, dnnl_data_type_t type,
                                                   const dnnl_dims_t strides);
dnnl_status_t dnnl_memory_desc_create_with_tag(bench_md_made *md, int rank, const dnnl_dims_t dims,
                                               dnnl_data_type_t type, dnnl_format_tag_t tag);
dnnl_status_t dnnl_memory_desc_create_submemory(bench_md_made *md, bench_md parent,
                                                const dnnl_dims_t dims, const dnnl_dims_t offsets);
dnnl_status_t dnnl_memory_desc_clone(bench_md_made *md, bench_md existing);
dnnl_status_t dnnl_memory_desc_destroy(bench_md_made md);
dnnl_status_t dnnl_memory_desc_query(bench_md md, int what, void *result);

#define CONVOLUTION_LIKE(name)                                                                     \
    dnnl_status_t dnnl_##name##_forward_primitive_desc_create(                                     \
        dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,                    \
        dnnl_alg_kind_t algorithm, bench_md src, bench_md weights, bench_md bias, bench_md dst,    \
        const dnnl_dims_t strides, const dnnl_dims_t dilates, const dnnl_dims_t before,            \
        const dnnl_dims_t after, const_dnnl_primitive_attr_t attr);                                \
    dnnl_status_t dnnl_##name##_backward_data_primitive_desc_create(                               \
        dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_alg_kind_t algorithm,                \
        bench_md diff_src, bench_md weights, bench_md diff_dst, const dnnl_dims_t strides,         \
        const dnnl_dims_t dilates, const dnnl_dims_t before, const dnnl_dims_t after,              \
        const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr);                       \
    dnnl_status_t dnnl_##name##_backward_weights_primitive_desc_create(                            \
        dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_alg_kind_t algorithm, bench_md src,  \
        bench_md diff_weights, bench_md diff_bias, bench_md diff_dst, const dnnl_dims_t strides,   \
        const dnnl_dims_t dilates, const dnnl_dims_t before, const dnnl_dims_t after,              \
        const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)
CONVOLUTION_LIKE(convolution);
CONVOLUTION_LIKE(deconvolution);
#undef CONVOLUTION_LIKE

dnnl_status_t dnnl_inner_product_forward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop, bench_md src,
    bench_md weights, bench_md bias, bench_md dst, const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_inner_product_backward_data_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, bench_md diff_src, bench_md weights,
    bench_md diff_dst, const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_inner_product_backward_weights_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, bench_md src, bench_md diff_weights,
    bench_md diff_bias, bench_md diff_dst, const_dnnl_primitive_desc_t hint,
    const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_matmul_primitive_desc_create(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                bench_md src, bench_md weights, bench_md bias,
                                                bench_md dst, const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_pooling_forward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
    dnnl_alg_kind_t algorithm, bench_md src, bench_md dst, const dnnl_dims_t strides,
    const dnnl_dims_t kernel, const dnnl_dims_t dilation, const dnnl_dims_t before,
    const dnnl_dims_t after, const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_pooling_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_alg_kind_t algorithm, bench_md diff_src,
    bench_md diff_dst, const dnnl_dims_t strides, const dnnl_dims_t kernel,
    const dnnl_dims_t dilation, const dnnl_dims_t before, const dnnl_dims_t after,
    const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_batch_normalization_forward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop, bench_md src,
    bench_md dst, float epsilon, unsigned flags, const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_batch_normalization_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop, bench_md diff_src,
    bench_md diff_dst, bench_md src, float epsilon, unsigned flags,
    const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_layer_normalization_forward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop, bench_md src,
    bench_md dst, bench_md statistics, float epsilon, unsigned flags,
    const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_layer_normalization_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop, bench_md diff_src,
    bench_md diff_dst, bench_md src, bench_md statistics, float epsilon, unsigned flags,
    const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_softmax_forward_primitive_desc_create(dnnl_primitive_desc_t *pd,
                                                         dnnl_engine_t engine,
                                                         dnnl_prop_kind_t prop,
                                                         dnnl_alg_kind_t algorithm, bench_md src,
                                                         bench_md dst, int axis,
                                                         const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_softmax_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_alg_kind_t algorithm, bench_md diff_src,
    bench_md diff_dst, bench_md dst, int axis, const_dnnl_primitive_desc_t hint,
    const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_eltwise_forward_primitive_desc_create(dnnl_primitive_desc_t *pd,
                                                         dnnl_engine_t engine,
                                                         dnnl_prop_kind_t prop,
                                                         dnnl_alg_kind_t algorithm, bench_md src,
                                                         bench_md dst, float alpha, float beta,
                                                         const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_eltwise_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_alg_kind_t algorithm, bench_md diff_src,
    bench_md diff_dst, bench_md data, float alpha, float beta, const_dnnl_primitive_desc_t hint,
    const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_binary_primitive_desc_create(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                dnnl_alg_kind_t algorithm, bench_md a, bench_md b,
                                                bench_md dst, const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_concat_primitive_desc_create(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                bench_md dst, int count, int axis,
                                                const bench_md *src,
                                                const_dnnl_primitive_attr_t attr);
dnnl_status_t
dnnl_resampling_forward_primitive_desc_create(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                              dnnl_prop_kind_t prop, dnnl_alg_kind_t algorithm,
                                              const float *factors, bench_md src, bench_md dst,
                                              const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_resampling_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_alg_kind_t algorithm,
    const float *factors, bench_md diff_src, bench_md diff_dst, const_dnnl_primitive_desc_t hint,
    const_dnnl_primitive_attr_t attr);

dnnl_status_t dnnl_vanilla_rnn_forward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
    dnnl_alg_kind_t activation, dnnl_rnn_direction_t direction, bench_md src_layer,
    bench_md src_iter, bench_md weights_layer, bench_md weights_iter, bench_md bias,
    bench_md dst_layer, bench_md dst_iter, unsigned flags, float alpha, float beta,
    const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_vanilla_rnn_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
    dnnl_alg_kind_t activation, dnnl_rnn_direction_t direction, bench_md src_layer,
    bench_md src_iter, bench_md weights_layer, bench_md weights_iter, bench_md bias,
    bench_md dst_layer, bench_md dst_iter, bench_md diff_src_layer, bench_md diff_src_iter,
    bench_md diff_weights_layer, bench_md diff_weights_iter, bench_md diff_bias,
    bench_md diff_dst_layer, bench_md diff_dst_iter, unsigned flags, float alpha, float beta,
    const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_lstm_forward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
    dnnl_rnn_direction_t direction, bench_md src_layer, bench_md src_iter, bench_md src_iter_c,
    bench_md weights_layer, bench_md weights_iter, bench_md weights_peephole,
    bench_md weights_projection, bench_md bias, bench_md dst_layer, bench_md dst_iter,
    bench_md dst_iter_c, unsigned flags, const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_lstm_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
    dnnl_rnn_direction_t direction, bench_md src_layer, bench_md src_iter, bench_md src_iter_c,
    bench_md weights_layer, bench_md weights_iter, bench_md weights_peephole,
    bench_md weights_projection, bench_md bias, bench_md dst_layer, bench_md dst_iter,
    bench_md dst_iter_c, bench_md diff_src_layer, bench_md diff_src_iter, bench_md diff_src_iter_c,
    bench_md diff_weights_layer, bench_md diff_weights_iter, bench_md diff_weights_peephole,
    bench_md diff_weights_projection, bench_md diff_bias, bench_md diff_dst_layer,
    bench_md diff_dst_iter, bench_md diff_dst_iter_c, unsigned flags,
    const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_lbr_gru_forward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
    dnnl_rnn_direction_t direction, bench_md src_layer, bench_md src_iter, bench_md weights_layer,
    bench_md weights_iter, bench_md bias, bench_md dst_layer, bench_md dst_iter, unsigned flags,
    const_dnnl_primitive_attr_t attr);
dnnl_status_t dnnl_lbr_gru_backward_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
    dnnl_rnn_direction_t direction, bench_md src_layer, bench_md src_iter, bench_md weights_layer,
    bench_md weights_iter, bench_md bias, bench_md dst_layer, bench_md dst_iter,
    bench_md diff_src_layer, bench_md diff_src_iter, bench_md diff_weights_layer,
    bench_md diff_weights_iter, bench_md diff_bias, bench_md diff_dst_layer, bench_md diff_dst_iter,
    unsigned flags, const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr);

#endif
#endif
