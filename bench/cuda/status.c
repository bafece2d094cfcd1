/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"

int bench_cuda(cudaError_t status, const char *what, struct dlt_error *error)
{
    if (status == cudaSuccess)
        return BENCH_OK;
    dlt_fail(error, "CUDA: %s: %s", what, cudaGetErrorString(status));
    (void)cudaGetLastError(); /* whoever asks for it next would take it for an error of his own */
    return status == cudaErrorMemoryAllocation ? BENCH_NO_MEMORY : BENCH_FAILED;
}

/* CUDNN_STATUS_NOT_SUPPORTED has a block of finer codes behind it, 3000 to 3999. */
static bool is_unsupported(cudnnStatus_t status)
{
    return status >= CUDNN_STATUS_NOT_SUPPORTED && (int)status < 4000;
}

int bench_cudnn(cudnnStatus_t status, const char *what, struct dlt_error *error)
{
    if (status == CUDNN_STATUS_SUCCESS)
        return BENCH_OK;
    dlt_fail(error, "cuDNN: %s: %s", what, cudnnGetErrorString(status));
    if (is_unsupported(status))
        return BENCH_UNSUPPORTED;
    return status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
                   status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED
               ? BENCH_NO_MEMORY
               : BENCH_FAILED;
}

int bench_cublas(cublasStatus_t status, const char *what, struct dlt_error *error)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return BENCH_OK;
    dlt_fail(error, "cublasLt: %s: %s", what, cublasLtGetStatusString(status));
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH)
        return BENCH_UNSUPPORTED;
    return status == CUBLAS_STATUS_ALLOC_FAILED ? BENCH_NO_MEMORY : BENCH_FAILED;
}
