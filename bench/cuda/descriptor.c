/* SPDX-License-Identifier: Apache-2.0 */

/* cuDNN's descriptors of tensors, filters and convolutions. None of them needs a device. */
#include "../shapes.h"
#include "cuda.h"

cudnnDataType_t bench_cudnn_type(enum bench_type type)
{
    static const cudnnDataType_t types[BENCH_TYPES] = {
        CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16, CUDNN_DATA_INT32, CUDNN_DATA_UINT8};

    return types[type];
}

static void destroy_tensor(void *object)
{
    (void)cudnnDestroyTensorDescriptor(object);
}

static void destroy_filter(void *object)
{
    (void)cudnnDestroyFilterDescriptor(object);
}

static void destroy_convolution(void *object)
{
    (void)cudnnDestroyConvolutionDescriptor(object);
}

/* Dimensions as int; cuDNN wants four at least: one spatial dimension becomes 1 x itself. */
static int widen(const struct bench_shape *shape, int dim[BENCH_RANK], struct dlt_error *error)
{
    int rank = 0;

    for (int d = 0; d < shape->rank; d++) {
        if (shape->dim[d] > INT32_MAX)
            return dlt_fail(error, "a dimension of %lld is too large for cuDNN",
                            (long long)shape->dim[d]);
        if (d == 2 && shape->rank == 3)
            dim[rank++] = 1;
        dim[rank++] = (int)shape->dim[d];
    }
    while (rank < 4)
        dim[rank++] = 1;
    return rank;
}

int bench_tensor_descriptor(struct bench_context *context, enum bench_type type, bool last,
                            const struct bench_shape *shape, cudnnTensorDescriptor_t *descriptor,
                            struct dlt_error *error)
{
    int dim[BENCH_RANK + 1], stride[BENCH_RANK + 1];
    int rank = widen(shape, dim, error);
    int64_t step = last ? dim[1] : 1;
    int status;

    if (rank < 0)
        return BENCH_UNSUPPORTED;
    for (int d = rank - 1; d >= (last ? 2 : 0); d--) {
        stride[d] = (int)step;
        step *= dim[d];
        if (step > INT32_MAX) {
            dlt_fail(error, "a tensor of more than 2^31 elements is too large for cuDNN");
            return BENCH_UNSUPPORTED;
        }
    }
    if (last) {
        stride[1] = 1;
        stride[0] = (int)step;
    }
    status = bench_cudnn(cudnnCreateTensorDescriptor(descriptor), "a tensor's descriptor", error);
    if (status)
        return status;
    if (bench_own(&context->owned, *descriptor, destroy_tensor, error))
        return BENCH_NO_MEMORY;
    return bench_cudnn(
        cudnnSetTensorNdDescriptor(*descriptor, bench_cudnn_type(type), rank, dim, stride),
        "a tensor's descriptor", error);
}

static bool is_transposed(const struct dlt_record *record)
{
    return record->kind->name[4] == '_';
}

int bench_filter_descriptor(struct bench_context *context, enum bench_type type, bool last,
                            const struct dlt_record *record, cudnnFilterDescriptor_t *descriptor,
                            struct dlt_error *error)
{
    const struct dlt_spatial *s = &record->u.spatial;
    struct bench_shape shape = {.rank = 2 + record->kind->dims};
    int dim[BENCH_RANK + 1], rank, status;

    /* A transposed convolution is the gradient of the convolution that goes the other way. */
    shape.dim[0] = is_transposed(record) ? s->in_channels : s->out_channels;
    shape.dim[1] = (is_transposed(record) ? s->out_channels : s->in_channels) / s->groups;
    for (int d = 0; d < record->kind->dims; d++)
        shape.dim[2 + d] = s->kernel[d];
    rank = widen(&shape, dim, error);
    if (rank < 0)
        return BENCH_UNSUPPORTED;
    status = bench_cudnn(cudnnCreateFilterDescriptor(descriptor), "a filter's descriptor", error);
    if (status)
        return status;
    if (bench_own(&context->owned, *descriptor, destroy_filter, error))
        return BENCH_NO_MEMORY;
    return bench_cudnn(cudnnSetFilterNdDescriptor(*descriptor, bench_cudnn_type(type),
                                                  last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                                                  rank, dim),
                       "a filter's descriptor", error);
}

cudnnMathType_t bench_cudnn_math(const struct dlt_record *record)
{
    if (record->dtype != DLT_FLOAT32)
        return CUDNN_TENSOR_OP_MATH;
    return record->math == DLT_IEEE ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
}

/* Sums are taken in float32 whatever the arrays' type. */
int bench_convolution_descriptor(struct bench_context *context, const struct dlt_record *record,
                                 cudnnConvolutionDescriptor_t *descriptor, struct dlt_error *error)
{
    const struct dlt_spatial *s = &record->u.spatial;
    int padding[3] = {0}, stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};
    int dims = record->kind->dims, shift = dims == 1 ? 1 : 0;
    int status = bench_cudnn(cudnnCreateConvolutionDescriptor(descriptor),
                             "a convolution's descriptor", error);

    if (status)
        return status;
    if (bench_own(&context->owned, *descriptor, destroy_convolution, error))
        return BENCH_NO_MEMORY;
    for (int d = 0; d < dims; d++) {
        padding[d + shift] =
            (int)(is_transposed(record) ? s->padding[d][0] : bench_pad_common(record, d));
        stride[d + shift] = (int)s->stride[d];
        dilation[d + shift] = (int)s->dilation[d];
    }
    status = bench_cudnn(cudnnSetConvolutionNdDescriptor(*descriptor, dims + shift, padding, stride,
                                                         dilation, CUDNN_CROSS_CORRELATION,
                                                         CUDNN_DATA_FLOAT),
                         "a convolution's descriptor", error);
    if (status == BENCH_OK)
        status = bench_cudnn(cudnnSetConvolutionGroupCount(*descriptor, (int)s->groups), "groups",
                             error);
    if (status == BENCH_OK)
        status = bench_cudnn(cudnnSetConvolutionMathType(*descriptor, bench_cudnn_math(record)),
                             "the arithmetic", error);
    return status;
}
