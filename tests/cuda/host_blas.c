/* SPDX-License-Identifier: Apache-2.0 */
/* The device on the host: the calls of cublasLt that compute. See host_runtime.c. */
#include <cublasLt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "host_elements.h"

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
