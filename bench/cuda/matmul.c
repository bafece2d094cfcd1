/* SPDX-License-Identifier: Apache-2.0 */

/* Matrix products by cublasLt: dense layers and batches of products. */
#include <math.h>
#include <string.h>

#include "../shapes.h"
#include "cuda.h"

/* What cublasLt may take beside the matrices; frameworks give it as much on the largest devices. */
static const size_t workspace_cap = 32 << 20;

/* cublasLt counts columns first: a row-major matrix is the transpose of a column-major one, and the
 * product's transpose has its factors the other way round: C^T = B^T A^T. */
struct product {
    cublasLtMatmulDesc_t description;
    cublasLtMatrixLayout_t first, second, result; /* of B, A and C */
    cublasLtMatmulAlgo_t algorithm;
    size_t workspace;
    float alpha;
    const struct bench_buffer *a, *b, *c, *bias;
};

static void destroy_description(void *object)
{
    (void)cublasLtMatmulDescDestroy(object);
}

static void destroy_layout(void *object)
{
    (void)cublasLtMatrixLayoutDestroy(object);
}

static cudaDataType_t data_type(enum bench_type type)
{
    return type == BENCH_F16 ? CUDA_R_16F : type == BENCH_B16 ? CUDA_R_16BF : CUDA_R_32F;
}

static int set(struct product *p, cublasLtMatmulDescAttributes_t what, const void *value,
               size_t size, struct dlt_error *error)
{
    return bench_cublas(cublasLtMatmulDescSetAttribute(p->description, what, value, size),
                        "a product's description", error);
}

/* A row-major rows x columns matrix as cublasLt sees it. */
static int make_layout(struct bench_layer *layer, int64_t batch, int64_t rows, int64_t columns,
                       cublasLtMatrixLayout_t *layout, struct dlt_error *error)
{
    int32_t count = (int32_t)batch;
    int64_t stride = rows * columns;
    int status =
        bench_cublas(cublasLtMatrixLayoutCreate(layout, data_type(layer->type), (uint64_t)columns,
                                                (uint64_t)rows, columns),
                     "a matrix", error);

    if (status)
        return status;
    if (bench_own(&layer->context->owned, *layout, destroy_layout, error))
        return BENCH_NO_MEMORY;
    if (batch == 1)
        return BENCH_OK;
    status = bench_cublas(cublasLtMatrixLayoutSetAttribute(
                              *layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
                          "a batch of matrices", error);
    return status ? status
                  : bench_cublas(cublasLtMatrixLayoutSetAttribute(
                                     *layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                     sizeof stride),
                                 "a batch of matrices", error);
}

static cublasLtEpilogue_t epilogue_of(const struct bench_matmul *m)
{
    switch (m->activation) {
    case DLT_RELU:
        return m->bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case DLT_GELU:
        return m->bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    default:
        return m->bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    }
}

static int describe(struct bench_layer *layer, struct product *p, const struct bench_matmul *m,
                    struct dlt_error *error)
{
    cublasComputeType_t compute =
        layer->record.math == DLT_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    int32_t first = m->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    int32_t second = m->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtEpilogue_t epilogue = epilogue_of(m);
    int status = bench_cublas(cublasLtMatmulDescCreate(&p->description, compute, CUDA_R_32F),
                              "a product's description", error);

    if (status)
        return status;
    if (bench_own(&layer->context->owned, p->description, destroy_description, error))
        return BENCH_NO_MEMORY;
    status = set(p, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first, error);
    if (status == BENCH_OK)
        status = set(p, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second, error);
    if (status == BENCH_OK)
        status = set(p, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue, error);
    if (status == BENCH_OK && m->bias) {
        const void *bias = bench_buffer_data(m->bias, 0);

        status = set(p, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias, error);
    }
    if (status == BENCH_OK)
        status = make_layout(layer, m->batch, m->transpose_b ? m->n : m->k,
                             m->transpose_b ? m->k : m->n, &p->first, error);
    if (status == BENCH_OK)
        status = make_layout(layer, m->batch, m->transpose_a ? m->k : m->m,
                             m->transpose_a ? m->m : m->k, &p->second, error);
    return status ? status : make_layout(layer, m->batch, m->m, m->n, &p->result, error);
}

static void note_choice(struct bench_layer *layer, enum dlt_pass pass, const struct product *p)
{
    struct bench_choice *choice = &layer->program[pass].choice;
    size_t written;
    int32_t id = -1;
    uint32_t tile = 0;

    (void)cublasLtMatmulAlgoConfigGetAttribute(&p->algorithm, CUBLASLT_ALGO_CONFIG_ID, &id,
                                               sizeof id, &written);
    (void)cublasLtMatmulAlgoConfigGetAttribute(&p->algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile,
                                               sizeof tile, &written);
    snprintf(choice->algorithm, sizeof choice->algorithm, "lt_%d_tile_%u", id, tile);
    choice->workspace_bytes = fmax(choice->workspace_bytes, (double)p->workspace);
    choice->workspace_cap_bytes = (double)workspace_cap;
}

/* The best of cublasLt's heuristics. */
static int choose(struct bench_layer *layer, struct product *p, struct dlt_error *error)
{
    cublasLtMatmulHeuristicResult_t found;
    cublasLtMatmulPreference_t preference;
    int count = 0;
    int status =
        bench_cublas(cublasLtMatmulPreferenceCreate(&preference), "choosing an algorithm", error);

    if (status)
        return status;
    status = bench_cublas(
        cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &workspace_cap, sizeof workspace_cap),
        "choosing an algorithm", error);
    if (status == BENCH_OK)
        status = bench_cublas(cublasLtMatmulAlgoGetHeuristic(
                                  layer->context->blas, p->description, p->first, p->second,
                                  p->result, p->result, preference, 1, &found, &count),
                              "choosing an algorithm", error);
    (void)cublasLtMatmulPreferenceDestroy(preference);
    if (status)
        return status;
    if (count < 1 || found.state != CUBLAS_STATUS_SUCCESS) {
        dlt_fail(error, "cublasLt has no algorithm for this product");
        return BENCH_UNSUPPORTED;
    }
    p->algorithm = found.algo;
    p->workspace = found.workspaceSize;
    return bench_workspace(layer->context, p->workspace, error);
}

static int run_product(struct bench_context *context, const void *what, int copy,
                       struct dlt_error *error)
{
    const struct product *p = what;
    const float zero = 0;
    void *result = bench_buffer_data(p->c, copy);

    if (p->bias && p->bias->copies > 1) {
        const void *bias = bench_buffer_data(p->bias, copy);
        int status =
            bench_cublas(cublasLtMatmulDescSetAttribute(
                             p->description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias),
                         "a bias", error);

        if (status)
            return status;
    }
    return bench_cublas(cublasLtMatmul(context->blas, p->description, &p->alpha,
                                       bench_buffer_data(p->b, copy), p->first,
                                       bench_buffer_data(p->a, copy), p->second, &zero, result,
                                       p->result, result, p->result, &p->algorithm,
                                       context->workspace, p->workspace, context->stream),
                        "a product", error);
}

int bench_add_matmul(struct bench_layer *layer, enum dlt_pass pass,
                     const struct bench_matmul *product, struct dlt_error *error)
{
    struct product *p = bench_own_zeroed(&layer->context->owned, 1, sizeof *p, error);
    int status;

    if (!p)
        return BENCH_NO_MEMORY;
    p->alpha = product->alpha;
    p->a = product->a;
    p->b = product->b;
    p->c = product->c;
    p->bias = product->bias;
    if (product->batch > INT32_MAX)
        return dlt_fail(error, "%s: more than 2^31 products", layer->name);
    status = describe(layer, p, product, error);
    if (status == BENCH_OK)
        status = choose(layer, p, error);
    if (status)
        return status;
    note_choice(layer, pass, p);
    return bench_add(layer, pass, run_product, p, BENCH_USES(p->a, p->b, p->c, p->bias), error);
}

/* An activation at the end is for inference: training keeps what it is applied to. */
bool bench_dense_takes(const struct bench_context *context, const struct dlt_record *record)
{
    (void)context;
    if (record->activation == DLT_FUNCTION_NONE)
        return true;
    return record->pass == DLT_FORWARD &&
           (record->activation == DLT_RELU || record->activation == DLT_GELU);
}

int bench_dense_forward(struct bench_layer *layer, struct dlt_error *error)
{
    const struct dlt_matmul *d = &layer->record.u.matmul;
    int status = bench_input(layer, 0, error);

    if (status == BENCH_OK && layer->options.share)
        layer->weight.value = layer->options.share->weight.value;
    else if (status == BENCH_OK)
        status = bench_role_parameter(layer, BENCH_WEIGHT, layer->type, 0,
                                      (float)sqrt(6 / (double)d->k), &layer->weight, error);
    if (status == BENCH_OK)
        status = bench_role_parameter(layer, BENCH_BIAS, layer->type, 0,
                                      (float)(1 / sqrt((double)d->k)), &layer->bias, error);
    if (status == BENCH_OK)
        status = bench_output(layer, error);
    if (status)
        return status;
    return bench_add_matmul(layer, DLT_FORWARD,
                            &(struct bench_matmul){.batch = 1,
                                                   .m = d->m,
                                                   .n = d->n,
                                                   .k = d->k,
                                                   .transpose_b = true,
                                                   .alpha = 1,
                                                   .a = layer->value[0],
                                                   .b = layer->weight.value,
                                                   .bias = layer->bias.value,
                                                   .c = layer->output->value,
                                                   .activation = layer->record.activation},
                            error);
}

static int dense_backward_weight(struct bench_layer *layer, struct dlt_error *error)
{
    const struct dlt_matmul *d = &layer->record.u.matmul;
    struct bench_buffer *gradient = NULL, *target = NULL;
    int status = bench_output_gradient(layer, DLT_BACKWARD_WEIGHT, &gradient, error);

    if (status == BENCH_OK)
        status = bench_parameter_collect(layer, &layer->weight, &target, error);
    if (status == BENCH_OK)
        status = bench_add_matmul(layer, DLT_BACKWARD_WEIGHT,
                                  &(struct bench_matmul){.batch = 1,
                                                         .m = d->n,
                                                         .n = d->k,
                                                         .k = d->m,
                                                         .transpose_a = true,
                                                         .alpha = 1,
                                                         .a = gradient,
                                                         .b = layer->value[0],
                                                         .c = target},
                                  error);
    if (status == BENCH_OK)
        status = bench_parameter_deliver(layer, DLT_BACKWARD_WEIGHT, &layer->weight, target, error);
    if (status || !layer->bias.value)
        return status;
    status = bench_parameter_gradient(layer, &layer->bias, error);
    return status ? status
                  : bench_add_channel_sum(layer, DLT_BACKWARD_WEIGHT, gradient, d->m, d->n, 1,
                                          layer->bias.gradient, error);
}

int bench_dense_backward(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error)
{
    const struct dlt_matmul *d = &layer->record.u.matmul;
    struct bench_buffer *gradient = NULL, *target = NULL;
    int status = weight ? dense_backward_weight(layer, error) : BENCH_OK;

    if (status || !data)
        return status;
    status = bench_output_gradient(layer, DLT_BACKWARD_DATA, &gradient, error);
    if (status == BENCH_OK)
        status = bench_collect(layer, 0, &target, error);
    if (status == BENCH_OK)
        status = bench_add_matmul(layer, DLT_BACKWARD_DATA,
                                  &(struct bench_matmul){.batch = 1,
                                                         .m = d->m,
                                                         .n = d->k,
                                                         .k = d->n,
                                                         .alpha = 1,
                                                         .a = gradient,
                                                         .b = layer->weight.value,
                                                         .c = target},
                                  error);
    return status ? status : bench_deliver(layer, DLT_BACKWARD_DATA, 0, target, error);
}

int bench_bmm_forward(struct bench_layer *layer, struct dlt_error *error)
{
    const struct dlt_matmul *d = &layer->record.u.matmul;
    int status = bench_input(layer, 0, error);

    if (status == BENCH_OK)
        status = bench_input(layer, 1, error);
    if (status == BENCH_OK)
        status = bench_output(layer, error);
    if (status)
        return status;
    return bench_add_matmul(layer, DLT_FORWARD,
                            &(struct bench_matmul){.batch = d->batch,
                                                   .m = d->m,
                                                   .n = d->n,
                                                   .k = d->k,
                                                   .alpha = 1,
                                                   .a = layer->value[0],
                                                   .b = layer->value[1],
                                                   .c = layer->output->value},
                            error);
}

/* dA = dC B^T and dB = A^T dC. */
int bench_bmm_backward(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error)
{
    const struct dlt_matmul *d = &layer->record.u.matmul;
    struct bench_buffer *gradient = NULL;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, &gradient, error);

    (void)data;
    (void)weight;
    for (int i = 0; i < 2 && status == BENCH_OK; i++) {
        struct bench_buffer *target;
        struct bench_matmul product = {.batch = d->batch,
                                       .m = i == 0 ? d->m : d->k,
                                       .n = i == 0 ? d->k : d->n,
                                       .k = i == 0 ? d->n : d->m,
                                       .transpose_a = i == 1,
                                       .transpose_b = i == 0,
                                       .alpha = 1,
                                       .a = i == 0 ? gradient : layer->value[0],
                                       .b = i == 0 ? layer->value[1] : gradient};

        status = bench_collect(layer, i, &target, error);
        if (status)
            return status;
        product.c = target;
        status = bench_add_matmul(layer, DLT_BACKWARD_DATA, &product, error);
        if (status == BENCH_OK)
            status = bench_deliver(layer, DLT_BACKWARD_DATA, i, target, error);
    }
    return status;
}
