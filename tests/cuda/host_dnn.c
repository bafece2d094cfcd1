/* SPDX-License-Identifier: Apache-2.0 */
/* The device on the host: the calls of cuDNN that compute. See host_runtime.c. */
#include <cudnn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "host_elements.h"

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    *handle = malloc(1);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle,
                                        float share, void *states, size_t size,
                                        unsigned long long seed)
{
    (void)descriptor, (void)handle, (void)states, (void)size, (void)seed;
    return share == 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    (void)handle, (void)stream;
    return CUDNN_STATUS_SUCCESS;
}

/* Images of up to three spatial dimensions, filters and windows, as the descriptors say. */
struct tensor {
    cudnnDataType_t type;
    int rank, dim[5], stride[5];
    bool tf32; /* how tensor cores take its elements */
};

static double element(const struct tensor *t, const void *data, int64_t i)
{
    double value = get(data, t->type, i);
    unsigned bits = bench_bits_of((float)value);

    return t->tf32 ? (double)bench_float_of((bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu)
                   : value;
}

static struct tensor tensor_of(cudnnTensorDescriptor_t descriptor)
{
    struct tensor t = {.rank = 0};

    if (cudnnGetTensorNdDescriptor(descriptor, 5, &t.type, &t.rank, t.dim, t.stride))
        abort();
    return t;
}

static struct tensor filter_of(cudnnFilterDescriptor_t descriptor)
{
    cudnnTensorFormat_t format;
    struct tensor t = {.rank = 0};
    int step = 1;

    if (cudnnGetFilterNdDescriptor(descriptor, 5, &t.type, &format, &t.rank, t.dim))
        abort();
    if (format == CUDNN_TENSOR_NHWC) {
        t.stride[1] = 1;
        step = t.dim[1];
    }
    for (int d = t.rank - 1; d >= (format == CUDNN_TENSOR_NHWC ? 2 : 0); d--) {
        t.stride[d] = step;
        step *= t.dim[d];
    }
    if (format == CUDNN_TENSOR_NHWC)
        t.stride[0] = step;
    return t;
}

struct window {
    int dims, padding[3], stride[3], dilation[3], groups;
};

static struct window window_of(cudnnConvolutionDescriptor_t descriptor)
{
    cudnnConvolutionMode_t mode;
    cudnnDataType_t type;
    struct window w;

    if (cudnnGetConvolutionNdDescriptor(descriptor, 3, &w.dims, w.padding, w.stride, w.dilation,
                                        &mode, &type) ||
        cudnnGetConvolutionGroupCount(descriptor, &w.groups) || mode != CUDNN_CROSS_CORRELATION)
        abort();
    return w;
}

/* The place of spatial element i (of those of the dimensions) of channel c of image n. */
static int64_t spot(const struct tensor *t, int n, int c, const int place[3])
{
    int64_t index = (int64_t)n * t->stride[0] + (int64_t)c * t->stride[1];

    for (int d = 2; d < t->rank; d++)
        index += (int64_t)place[d - 2] * t->stride[d];
    return index;
}

static void split(const struct tensor *t, int64_t i, int place[3])
{
    for (int d = t->rank - 1; d >= 2; d--) {
        place[d - 2] = (int)(i % t->dim[d]);
        i /= t->dim[d];
    }
}

static int64_t plane(const struct tensor *t)
{
    int64_t size = 1;

    for (int d = 2; d < t->rank; d++)
        size *= t->dim[d];
    return size;
}

enum { FORWARD, DATA, FILTER };

/* All three are sums over the same products x[...] w[...] y[...]; `out` says which is made. */
static void convolve(int out, const struct tensor *x, void *x_data, const struct tensor *w,
                     void *w_data, const struct window *window, const struct tensor *y,
                     void *y_data)
{
    const struct tensor *made = out == FORWARD ? y : out == DATA ? x : w;
    void *data = out == FORWARD ? y_data : out == DATA ? x_data : w_data;
    int64_t elements = 1;
    double *sum;

    for (int d = 0; d < made->rank; d++)
        elements *= made->dim[d];
    sum = calloc((size_t)elements, sizeof *sum);
    for (int n = 0; n < y->dim[0]; n++) {
        for (int k = 0; k < y->dim[1]; k++) {
            for (int64_t o = 0; o < plane(y); o++) {
                for (int64_t i = 0; i < w->dim[1] * plane(w); i++) {
                    int c = (int)(i / plane(w)), to[3], tap[3], from[3];
                    int channel = k / (y->dim[1] / window->groups) * w->dim[1] + c;
                    bool inside = true;
                    int64_t xi, wi, yi;

                    split(y, o, to);
                    split(w, i % plane(w), tap);
                    for (int d = 0; d < window->dims; d++) {
                        from[d] = to[d] * window->stride[d] + tap[d] * window->dilation[d] -
                                  window->padding[d];
                        inside = inside && from[d] >= 0 && from[d] < x->dim[2 + d];
                    }
                    if (!inside)
                        continue;
                    xi = spot(x, n, channel, from);
                    wi = spot(w, k, c, tap);
                    yi = spot(y, n, k, to);
                    if (out == FORWARD)
                        sum[yi] += element(x, x_data, xi) * element(w, w_data, wi);
                    else if (out == DATA)
                        sum[xi] += element(y, y_data, yi) * element(w, w_data, wi);
                    else
                        sum[wi] += element(y, y_data, yi) * element(x, x_data, xi);
                }
            }
        }
    }
    for (int64_t i = 0; i < elements; i++)
        put(data, made->type, i, sum[i]);
    free(sum);
}

/* A call for one of the three, after what the library itself would refuse. */
static cudnnStatus_t checked(int out, const cudnnTensorDescriptor_t x, const void *x_data,
                             const cudnnFilterDescriptor_t w, const void *w_data,
                             const cudnnConvolutionDescriptor_t convolution,
                             const cudnnTensorDescriptor_t y, const void *y_data)
{
    struct tensor x_tensor = tensor_of(x), y_tensor = tensor_of(y), filter = filter_of(w);
    struct window window = window_of(convolution);
    cudnnMathType_t math;
    int dim[5];

    if (cudnnGetConvolutionNdForwardOutputDim(convolution, x, w, y_tensor.rank, dim) ||
        memcmp(dim, y_tensor.dim, sizeof *dim * (size_t)y_tensor.rank) != 0 ||
        cudnnGetConvolutionMathType(convolution, &math))
        return CUDNN_STATUS_BAD_PARAM;
    x_tensor.tf32 = y_tensor.tf32 = filter.tf32 =
        x_tensor.type == CUDNN_DATA_FLOAT && math != CUDNN_FMA_MATH;
    convolve(out, &x_tensor, (void *)x_data, &filter, (void *)w_data, &window, &y_tensor,
             (void *)y_data);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      const cudnnTensorDescriptor_t x, const void *x_data,
                                      const cudnnFilterDescriptor_t w, const void *w_data,
                                      const cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algo, void *workspace, size_t size,
                                      const void *beta, const cudnnTensorDescriptor_t y,
                                      void *y_data)
{
    (void)handle, (void)alpha, (void)workspace, (void)size, (void)beta;
    if (algo)
        return CUDNN_STATUS_NOT_SUPPORTED;
    return checked(FORWARD, x, x_data, w, w_data, convolution, y, y_data);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
                                           const cudnnFilterDescriptor_t w, const void *w_data,
                                           const cudnnTensorDescriptor_t y, const void *y_data,
                                           const cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algo, void *workspace,
                                           size_t size, const void *beta,
                                           const cudnnTensorDescriptor_t x, void *x_data)
{
    (void)handle, (void)alpha, (void)workspace, (void)size, (void)beta;
    if (algo)
        return CUDNN_STATUS_NOT_SUPPORTED;
    return checked(DATA, x, x_data, w, w_data, convolution, y, y_data);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha,
                                             const cudnnTensorDescriptor_t x, const void *x_data,
                                             const cudnnTensorDescriptor_t y, const void *y_data,
                                             const cudnnConvolutionDescriptor_t convolution,
                                             cudnnConvolutionBwdFilterAlgo_t algo, void *workspace,
                                             size_t size, const void *beta,
                                             const cudnnFilterDescriptor_t w, void *w_data)
{
    (void)handle, (void)alpha, (void)workspace, (void)size, (void)beta;
    if (algo)
        return CUDNN_STATUS_NOT_SUPPORTED;
    return checked(FILTER, x, x_data, w, w_data, convolution, y, y_data);
}

/* Three algorithms for each: the first turns out not to run, the second to have no workspace that
 * works. All are named with tensor cores' arithmetic. */
#define ALGORITHM(get, size, perf, algo_type, first_type, second_type, third_type)                 \
    cudnnStatus_t get(cudnnHandle_t handle, const first_type first, const second_type second,      \
                      const cudnnConvolutionDescriptor_t convolution, const third_type third,      \
                      const int wanted, int *count, perf *result)                                  \
    {                                                                                              \
        (void)handle, (void)first, (void)second, (void)convolution, (void)third;                   \
        memset(result, 0, 3 * sizeof *result);                                                     \
        for (*count = 0; *count < 3 && *count < wanted; (*count)++) {                              \
            result[*count].algo = (algo_type)(2 - *count);                                         \
            result[*count].memory = 512;                                                           \
            result[*count].mathType = CUDNN_DEFAULT_MATH;                                          \
        }                                                                                          \
        return CUDNN_STATUS_SUCCESS;                                                               \
    }                                                                                              \
    cudnnStatus_t size(cudnnHandle_t handle, const first_type first, const second_type second,     \
                       const cudnnConvolutionDescriptor_t convolution, const third_type third,     \
                       algo_type algo, size_t *bytes)                                              \
    {                                                                                              \
        (void)handle, (void)first, (void)second, (void)convolution, (void)third;                   \
        *bytes = 512;                                                                              \
        return algo == 1 ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;                      \
    }

ALGORITHM(cudnnGetConvolutionForwardAlgorithm_v7, cudnnGetConvolutionForwardWorkspaceSize,
          cudnnConvolutionFwdAlgoPerf_t, cudnnConvolutionFwdAlgo_t, cudnnTensorDescriptor_t,
          cudnnFilterDescriptor_t, cudnnTensorDescriptor_t)
ALGORITHM(cudnnGetConvolutionBackwardDataAlgorithm_v7, cudnnGetConvolutionBackwardDataWorkspaceSize,
          cudnnConvolutionBwdDataAlgoPerf_t, cudnnConvolutionBwdDataAlgo_t, cudnnFilterDescriptor_t,
          cudnnTensorDescriptor_t, cudnnTensorDescriptor_t)
ALGORITHM(cudnnGetConvolutionBackwardFilterAlgorithm_v7,
          cudnnGetConvolutionBackwardFilterWorkspaceSize, cudnnConvolutionBwdFilterAlgoPerf_t,
          cudnnConvolutionBwdFilterAlgo_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t,
          cudnnFilterDescriptor_t)

cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t z,
    const cudnnTensorDescriptor_t y, const cudnnTensorDescriptor_t parameters,
    const cudnnActivationDescriptor_t activation, size_t *size)
{
    (void)handle, (void)mode, (void)ops, (void)x, (void)z, (void)y, (void)parameters,
        (void)activation;
    *size = 256;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t y,
    const cudnnTensorDescriptor_t dy, const cudnnTensorDescriptor_t dz,
    const cudnnTensorDescriptor_t dx, const cudnnTensorDescriptor_t parameters,
    const cudnnActivationDescriptor_t activation, size_t *size)
{
    (void)handle, (void)mode, (void)ops, (void)x, (void)y, (void)dy, (void)dz, (void)dx,
        (void)parameters, (void)activation;
    *size = 256;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t x, size_t *size)
{
    (void)handle, (void)mode, (void)ops, (void)activation, (void)x;
    *size = 64;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void *alpha,
    const void *beta, const cudnnTensorDescriptor_t x, const void *x_data,
    const cudnnTensorDescriptor_t z, const void *z_data, const cudnnTensorDescriptor_t y,
    void *y_data, const cudnnTensorDescriptor_t parameters, const void *scale, const void *shift,
    double factor, void *running_mean, void *running_variance, double epsilon, void *mean,
    void *inverse, cudnnActivationDescriptor_t activation, void *workspace, size_t workspace_size,
    void *reserve, size_t reserve_size)
{
    struct tensor t = tensor_of(x), p = tensor_of(parameters);
    double count = (double)t.dim[0] * (double)plane(&t);

    (void)handle, (void)mode, (void)ops, (void)alpha, (void)beta, (void)z, (void)z_data, (void)y,
        (void)factor, (void)running_mean, (void)running_variance, (void)activation;
    if (p.dim[1] != t.dim[1] || p.type != CUDNN_DATA_FLOAT || !workspace || workspace_size < 256 ||
        !reserve || reserve_size < 64)
        return CUDNN_STATUS_BAD_PARAM;
    for (int c = 0; c < t.dim[1]; c++) {
        double sum = 0, squares = 0;
        int place[3];

        for (int64_t i = 0; i < t.dim[0] * plane(&t); i++) {
            split(&t, i % plane(&t), place);
            sum += get(x_data, t.type, spot(&t, (int)(i / plane(&t)), c, place)) / count;
        }
        for (int64_t i = 0; i < t.dim[0] * plane(&t); i++) {
            double v;

            split(&t, i % plane(&t), place);
            v = get(x_data, t.type, spot(&t, (int)(i / plane(&t)), c, place)) - sum;
            squares += v * v / count;
        }
        ((float *)mean)[c] = (float)sum;
        ((float *)inverse)[c] = (float)(1 / __builtin_sqrt(squares + epsilon));
        for (int64_t i = 0; i < t.dim[0] * plane(&t); i++) {
            int64_t s;

            split(&t, i % plane(&t), place);
            s = spot(&t, (int)(i / plane(&t)), c, place);
            put(y_data, t.type, s,
                (get(x_data, t.type, s) - sum) / __builtin_sqrt(squares + epsilon) *
                        (double)((const float *)scale)[c] +
                    (double)((const float *)shift)[c]);
        }
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const void *alpha_data, const void *beta_data, const void *alpha_parameters,
    const void *beta_parameters, const cudnnTensorDescriptor_t x, const void *x_data,
    const cudnnTensorDescriptor_t y, const void *y_data, const cudnnTensorDescriptor_t dy,
    const void *dy_data, const cudnnTensorDescriptor_t dz, void *dz_data,
    const cudnnTensorDescriptor_t dx, void *dx_data, const cudnnTensorDescriptor_t parameters,
    const void *scale, const void *shift, void *to_scale, void *to_shift, double epsilon,
    const void *mean, const void *inverse, cudnnActivationDescriptor_t activation, void *workspace,
    size_t workspace_size, void *reserve, size_t reserve_size)
{
    struct tensor t = tensor_of(x);
    double count = (double)t.dim[0] * (double)plane(&t);

    (void)handle, (void)mode, (void)ops, (void)alpha_data, (void)beta_data, (void)alpha_parameters,
        (void)beta_parameters, (void)y, (void)y_data, (void)dy, (void)dz, (void)dz_data, (void)dx,
        (void)parameters, (void)shift, (void)epsilon, (void)activation;
    if (!workspace || workspace_size < 256 || !reserve || reserve_size < 64)
        return CUDNN_STATUS_BAD_PARAM;
    for (int c = 0; c < t.dim[1]; c++) {
        double m = (double)((const float *)mean)[c], v = (double)((const float *)inverse)[c];
        double s = (double)((const float *)scale)[c], sum = 0, along = 0;
        int place[3];

        for (int pass = 0; pass < 2; pass++) {
            for (int64_t i = 0; i < t.dim[0] * plane(&t); i++) {
                int64_t e;
                double g, hat;

                split(&t, i % plane(&t), place);
                e = spot(&t, (int)(i / plane(&t)), c, place);
                g = get(dy_data, t.type, e);
                hat = (get(x_data, t.type, e) - m) * v;
                if (pass == 0) {
                    sum += g;
                    along += g * hat;
                } else {
                    put(dx_data, t.type, e, s * v * (g - sum / count - hat * along / count));
                }
            }
        }
        ((float *)to_scale)[c] = (float)along;
        ((float *)to_shift)[c] = (float)sum;
    }
    return CUDNN_STATUS_SUCCESS;
}

/* Recurrent layers are left out. */
cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t cell,
                                         size_t *size)
{
    (void)handle, (void)cell;
    *size = 0;
    return CUDNN_STATUS_NOT_SUPPORTED;
}
