/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A device on the host for tests of the CUDA backend: the runtime's calls, and the calls of
 * cublasLt and cuDNN that compute, in plain loops over what the libraries' own descriptors say.
 * Everything else (descriptors, attributes, sizes) is the libraries' own. Comes before them in the
 * link.
 */
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "half.h"

void host_launch(void *kernel, const unsigned grid[3], unsigned block, const void *argument);

/* ---- runtime ---- */

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error" : "an error";
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    *available = *total = (size_t)1 << 30;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    (void)device;
    switch (attribute) {
    case cudaDevAttrL2CacheSize:
        *value = 1 << 16;
        return cudaSuccess;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
        *value = 1000000;
        return cudaSuccess;
    case cudaDevAttrGlobalMemoryBusWidth:
        *value = 64;
        return cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    (void)device;
    memset(properties, 0, sizeof *properties);
    snprintf(properties->name, sizeof properties->name, "host");
    properties->major = 9;
    properties->multiProcessorCount = 4;
    properties->totalGlobalMem = (size_t)1 << 30;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int size, int device)
{
    snprintf(id, (size_t)size, "%d", device);
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    *stream = malloc(1);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    double *made = calloc(1, sizeof *made);

    *event = (void *)made;
    return made ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    struct timespec now;

    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *(double *)event = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    (void)event;
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    *milliseconds = (float)(1e3 * (*(double *)to - *(double *)from));
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t size)
{
    *memory = aligned_alloc(256, (size + 255) / 256 * 256);
    if (!*memory)
        return cudaErrorMemoryAllocation;
    memset(*memory, 0xff, size); /* not a number, so that what is read before it is written shows */
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
    (void)kind;
    memcpy(to, from, size);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)stream;
    return cudaMemcpy(to, from, size, kind);
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t size, cudaStream_t stream)
{
    (void)stream;
    memset(memory, value, size);
    return cudaSuccess;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                enum cudaJitOption *jit_options, void **jit_values,
                                unsigned jit_count, enum cudaLibraryOption *options, void **values,
                                unsigned count)
{
    static const unsigned char elf[] = {0x7f, 'E', 'L', 'F'};
    Dl_info info;

    (void)jit_options, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
    if (memcmp(code, elf, sizeof elf) != 0 || !dladdr((void *)host_launch, &info))
        return cudaErrorInvalidKernelImage;
    *library = dlopen(info.dli_fname, RTLD_NOW);
    return *library ? cudaSuccess : cudaErrorInvalidKernelImage;
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    return dlclose(library) == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
    *kernel = dlsym(library, name);
    return *kernel ? cudaSuccess : cudaErrorSymbolNotFound;
}

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                             size_t shared, cudaStream_t stream)
{
    const unsigned size[3] = {grid.x, grid.y, grid.z};

    (void)shared, (void)stream;
    if (grid.x < 1 || grid.y < 1 || grid.z < 1 || grid.y > 65535 || grid.z > 65535 || block.x < 1 ||
        block.x > 256)
        return cudaErrorInvalidConfiguration;
    host_launch((void *)kernel, size, block.x, arguments[0]);
    return cudaSuccess;
}

/* ---- elements of any type ---- */

static double get(const void *array, cudnnDataType_t type, int64_t i)
{
    switch (type) {
    case CUDNN_DATA_HALF:
        return (double)bench_half_value(((const unsigned short *)array)[i]);
    case CUDNN_DATA_BFLOAT16:
        return (double)bench_bfloat_value(((const unsigned short *)array)[i]);
    default:
        return (double)((const float *)array)[i];
    }
}

static void put(void *array, cudnnDataType_t type, int64_t i, double value)
{
    unsigned bits = bench_bits_of((float)value);

    if (type == CUDNN_DATA_HALF)
        ((unsigned short *)array)[i] = bench_half_bits((float)value);
    else if (type == CUDNN_DATA_BFLOAT16)
        ((unsigned short *)array)[i] =
            (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
    else
        ((float *)array)[i] = (float)value;
}

/* ---- cublasLt ---- */

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    *handle = malloc(1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t *result, int *count)
{
    (void)handle, (void)desc, (void)a, (void)b, (void)c, (void)d, (void)preference, (void)wanted;
    memset(result, 0, sizeof *result);
    result->workspaceSize = 4096;
    result->state = CUBLAS_STATUS_SUCCESS;
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
}

struct matrix {
    uint64_t rows, columns;
    int64_t pitch, stride;
    int32_t batch;
    cudnnDataType_t type;
};

static struct matrix matrix_of(cublasLtMatrixLayout_t layout)
{
    struct matrix m = {0};
    uint32_t type = 0;
    size_t written;

    cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &m.rows, 8, &written);
    cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_COLS, &m.columns, 8, &written);
    cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_LD, &m.pitch, 8, &written);
    cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &m.stride,
                                     8, &written);
    cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &m.batch, 4,
                                     &written);
    cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, &type, 4, &written);
    m.type = type == CUDA_R_16F    ? CUDNN_DATA_HALF
             : type == CUDA_R_16BF ? CUDNN_DATA_BFLOAT16
                                   : CUDNN_DATA_FLOAT;
    return m;
}

static int64_t at(const struct matrix *m, int batch, int64_t row, int64_t column, bool transposed)
{
    return batch * m->stride + (transposed ? column + row * m->pitch : row + column * m->pitch);
}

static double activate(uint32_t epilogue, double x)
{
    if (epilogue & CUBLASLT_EPILOGUE_RELU)
        return x > 0 ? x : 0;
    if (epilogue & CUBLASLT_EPILOGUE_GELU)
        return 0.5 * x * (1 + __builtin_tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
    return x;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t workspace_size, cudaStream_t stream)
{
    struct matrix first = matrix_of(a_layout), second = matrix_of(b_layout);
    struct matrix result = matrix_of(d_layout);
    int32_t transpose_a = 0, transpose_b = 0;
    uint32_t epilogue = 0;
    const void *bias = NULL;
    int64_t inner;
    size_t written;

    (void)handle, (void)c, (void)c_layout, (void)algo, (void)stream;
    cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transpose_a, 4, &written);
    cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSB, &transpose_b, 4, &written);
    cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, 4, &written);
    cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias,
                                   &written);
    inner = (int64_t)(transpose_a ? first.rows : first.columns);
    if (inner != (int64_t)(transpose_b ? second.columns : second.rows) ||
        result.rows != (transpose_a ? first.columns : first.rows) ||
        result.columns != (transpose_b ? second.rows : second.columns) ||
        *(const float *)beta != 0 || (workspace_size > 0 && !workspace))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int batch = 0; batch < result.batch; batch++) {
        for (int64_t i = 0; i < (int64_t)result.rows; i++) {
            for (int64_t j = 0; j < (int64_t)result.columns; j++) {
                double sum = 0;

                for (int64_t l = 0; l < inner; l++)
                    sum += get(a, first.type, at(&first, batch, i, l, transpose_a)) *
                           get(b, second.type, at(&second, batch, l, j, transpose_b));
                sum *= (double)*(const float *)alpha;
                if (epilogue & CUBLASLT_EPILOGUE_BIAS)
                    sum += get(bias, result.type, i);
                put(d, result.type, at(&result, batch, i, j, false),
                    activate(epilogue & ~(uint32_t)CUBLASLT_EPILOGUE_BIAS, sum));
            }
        }
    }
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- cuDNN ---- */

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

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    (void)handle, (void)stream;
    return CUDNN_STATUS_SUCCESS;
}

/* Images of up to three spatial dimensions, filters and windows, as the descriptors say. */
struct tensor {
    cudnnDataType_t type;
    int rank, dim[5], stride[5];
};

static struct tensor tensor_of(cudnnTensorDescriptor_t descriptor)
{
    struct tensor t;

    if (cudnnGetTensorNdDescriptor(descriptor, 5, &t.type, &t.rank, t.dim, t.stride))
        abort();
    return t;
}

static struct tensor filter_of(cudnnFilterDescriptor_t descriptor)
{
    cudnnTensorFormat_t format;
    struct tensor t;
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
                        sum[yi] += get(x_data, x->type, xi) * get(w_data, w->type, wi);
                    else if (out == DATA)
                        sum[xi] += get(y_data, y->type, yi) * get(w_data, w->type, wi);
                    else
                        sum[wi] += get(y_data, y->type, yi) * get(x_data, x->type, xi);
                }
            }
        }
    }
    for (int64_t i = 0; i < elements; i++)
        put(data, made->type, i, sum[i]);
    free(sum);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      const cudnnTensorDescriptor_t x, const void *x_data,
                                      const cudnnFilterDescriptor_t w, const void *w_data,
                                      const cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algo, void *workspace, size_t size,
                                      const void *beta, const cudnnTensorDescriptor_t y,
                                      void *y_data)
{
    struct tensor x_tensor = tensor_of(x), y_tensor = tensor_of(y), filter = filter_of(w);
    struct window window = window_of(convolution);
    int dim[5];

    (void)handle, (void)alpha, (void)algo, (void)workspace, (void)size, (void)beta;
    if (cudnnGetConvolutionNdForwardOutputDim(convolution, x, w, y_tensor.rank, dim) ||
        memcmp(dim, y_tensor.dim, sizeof *dim * (size_t)y_tensor.rank) != 0)
        return CUDNN_STATUS_BAD_PARAM;
    convolve(FORWARD, &x_tensor, (void *)x_data, &filter, (void *)w_data, &window, &y_tensor,
             y_data);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
                                           const cudnnFilterDescriptor_t w, const void *w_data,
                                           const cudnnTensorDescriptor_t y, const void *y_data,
                                           const cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algo, void *workspace,
                                           size_t size, const void *beta,
                                           const cudnnTensorDescriptor_t x, void *x_data)
{
    struct tensor x_tensor = tensor_of(x), y_tensor = tensor_of(y), filter = filter_of(w);
    struct window window = window_of(convolution);
    int dim[5];

    (void)handle, (void)alpha, (void)algo, (void)workspace, (void)size, (void)beta;
    if (cudnnGetConvolutionNdForwardOutputDim(convolution, x, w, y_tensor.rank, dim) ||
        memcmp(dim, y_tensor.dim, sizeof *dim * (size_t)y_tensor.rank) != 0)
        return CUDNN_STATUS_BAD_PARAM;
    convolve(DATA, &x_tensor, x_data, &filter, (void *)w_data, &window, &y_tensor, (void *)y_data);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha,
                                             const cudnnTensorDescriptor_t x, const void *x_data,
                                             const cudnnTensorDescriptor_t y, const void *y_data,
                                             const cudnnConvolutionDescriptor_t convolution,
                                             cudnnConvolutionBwdFilterAlgo_t algo, void *workspace,
                                             size_t size, const void *beta,
                                             const cudnnFilterDescriptor_t w, void *w_data)
{
    struct tensor x_tensor = tensor_of(x), y_tensor = tensor_of(y), filter = filter_of(w);
    struct window window = window_of(convolution);

    (void)handle, (void)alpha, (void)algo, (void)workspace, (void)size, (void)beta;
    convolve(FILTER, &x_tensor, (void *)x_data, &filter, w_data, &window, &y_tensor,
             (void *)y_data);
    return CUDNN_STATUS_SUCCESS;
}

/* One algorithm for each, that takes some workspace. */
#define ALGORITHM(get, size, perf, algo_type, first_type, second_type, third_type)                 \
    cudnnStatus_t get(cudnnHandle_t handle, const first_type first, const second_type second,      \
                      const cudnnConvolutionDescriptor_t convolution, const third_type third,      \
                      const int wanted, int *count, perf *result)                                  \
    {                                                                                              \
        (void)handle, (void)first, (void)second, (void)third, (void)wanted;                        \
        memset(result, 0, sizeof *result);                                                         \
        result->memory = 512;                                                                      \
        *count = 1;                                                                                \
        return cudnnGetConvolutionMathType(convolution, &result->mathType);                        \
    }                                                                                              \
    cudnnStatus_t size(cudnnHandle_t handle, const first_type first, const second_type second,     \
                       const cudnnConvolutionDescriptor_t convolution, const third_type third,     \
                       algo_type algo, size_t *bytes)                                              \
    {                                                                                              \
        (void)handle, (void)first, (void)second, (void)convolution, (void)third, (void)algo;       \
        *bytes = 512;                                                                              \
        return CUDNN_STATUS_SUCCESS;                                                               \
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
