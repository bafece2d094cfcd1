/* SPDX-License-Identifier: Apache-2.0 */

/* Embedding, cross-entropy as an operator, and sums. */
#include <string.h>

#include "../shapes.h"
#include "cuda.h"

/* ---- embedding ---- */

static int add_embedding(struct bench_layer *layer, enum dlt_pass pass, const char *kernel,
                         const struct bench_buffer *in, const struct bench_buffer *out,
                         struct dlt_error *error)
{
    const struct dlt_matmul *m = &layer->record.u.matmul;
    struct bench_embedding_arguments embedding = {.rows = m->m, .width = (int)m->n};
    struct bench_call call = {.kernel = kernel,
                              .type = layer->type,
                              .grid = {bench_blocks(layer->context, m->m * m->n)},
                              BENCH_ARGUMENTS(embedding),
                              .pointer = {BENCH_POINTER(embedding, in, in),
                                          BENCH_POINTER(embedding, out, out),
                                          BENCH_POINTER(embedding, index, layer->mask)}};

    return bench_add_call(layer, pass, &call, error);
}

/* Its ids are its own: random ones. */
int bench_embedding_forward(struct bench_layer *layer, struct dlt_error *error)
{
    const struct dlt_matmul *m = &layer->record.u.matmul;
    int status = bench_scratch(layer, BENCH_I32, m->m, &layer->mask, error);

    if (status == BENCH_OK)
        status = bench_buffer_labels(layer->context, layer->mask, m->k, error);
    if (status == BENCH_OK && layer->options.share)
        layer->weight.value = layer->options.share->weight.value;
    else if (status == BENCH_OK)
        status =
            bench_role_parameter(layer, BENCH_WEIGHT, layer->type, 0, 1, &layer->weight, error);
    if (status == BENCH_OK)
        status = layer->options.output && !layer->standalone
                     ? bench_output_shaped(layer, layer->options.output, error)
                     : bench_output(layer, error);
    return status ? status
                  : add_embedding(layer, DLT_FORWARD, "embedding", layer->weight.value,
                                  layer->output->value, error);
}

/* Rows that are read several times add up, in float32. */
int bench_embedding_backward(struct bench_layer *layer, bool data, bool weight,
                             struct dlt_error *error)
{
    struct bench_buffer *gradient = NULL, *target = NULL, *sum;
    int status = bench_output_gradient(layer, DLT_BACKWARD, &gradient, error);

    (void)data;
    if (status || !weight)
        return status;
    status = bench_parameter_collect(layer, &layer->weight, &target, error);
    sum = target;
    if (status == BENCH_OK && target->type != BENCH_F32)
        status = bench_buffer_create(layer->context, BENCH_F32, false, &target->shape,
                                     layer->copies, &sum, error);
    if (status == BENCH_OK)
        status = bench_add_zero(layer, DLT_BACKWARD, sum, error);
    if (status == BENCH_OK)
        status = add_embedding(layer, DLT_BACKWARD, "embedding_back", gradient, sum, error);
    if (status == BENCH_OK && sum != target)
        status = bench_add_copy(layer, DLT_BACKWARD, sum, target, false, error);
    return status ? status
                  : bench_parameter_deliver(layer, DLT_BACKWARD, &layer->weight, target, error);
}

/* ---- cross_entropy ---- */

int bench_cross_entropy_forward(struct bench_layer *layer, struct dlt_error *error)
{
    const struct dlt_rowwise *r = &layer->record.u.rowwise;
    struct bench_loss_arguments loss = {.rows = r->rows, .columns = (int)r->columns};
    struct bench_reduce_arguments mean = {.outputs = 1,
                                          .reduced = r->rows,
                                          .factor = 1 / (float)r->rows,
                                          .inner_rank = 1,
                                          .inner = {r->rows},
                                          .inner_stride = {1}};
    struct bench_buffer *result;
    int status = bench_input(layer, 0, error);

    if (status == BENCH_OK)
        status = bench_output(layer, error);
    if (status == BENCH_OK)
        status = bench_scratch(layer, BENCH_I32, r->rows, &layer->mask, error);
    if (status == BENCH_OK)
        status = bench_buffer_labels(layer->context, layer->mask, r->columns, error);
    if (status == BENCH_OK)
        status = bench_scratch(layer, BENCH_F32, r->rows, &layer->loss, error);
    if (status == BENCH_OK)
        status = bench_scratch(layer, layer->type, r->rows * r->columns, &layer->kept, error);
    result = status == BENCH_OK ? layer->output->value : NULL;
    if (status == BENCH_OK && layer->type != BENCH_F32)
        status = bench_scratch(layer, BENCH_F32, 1, &result, error);
    if (status == BENCH_OK)
        status = bench_add_call(
            layer, DLT_FORWARD,
            &(struct bench_call){.kernel = "loss",
                                 .type = layer->type,
                                 .grid = {bench_row_blocks(loss.rows)},
                                 .block = bench_row_block(loss.columns),
                                 BENCH_ARGUMENTS(loss),
                                 .pointer = {BENCH_POINTER(loss, scores, layer->value[0]),
                                             BENCH_POINTER(loss, gradient, layer->kept),
                                             BENCH_POINTER(loss, label, layer->mask),
                                             BENCH_POINTER(loss, loss, layer->loss)}},
            error);
    if (status == BENCH_OK)
        status = bench_add_reduce(layer, DLT_FORWARD, &mean, layer->loss, result, error);
    if (status == BENCH_OK && result != layer->output->value)
        status = bench_add_copy(layer, DLT_FORWARD, result, layer->output->value, false, error);
    return status;
}

/* What forward kept, times the gradient of the mean. */
int bench_cross_entropy_backward(struct bench_layer *layer, bool data, bool weight,
                                 struct dlt_error *error)
{
    struct bench_broadcast_arguments product = {.count = (long long)layer->kept->count,
                                                .function = BENCH_BINARY_mul,
                                                .rank = 1,
                                                .dim = {(long long)layer->kept->count},
                                                .stride_a = {1}};
    struct bench_buffer *gradient = NULL, *target = NULL;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_collect(layer, 0, &target, error);
    if (status == BENCH_OK)
        status = bench_add_call(
            layer, DLT_BACKWARD_DATA,
            &(struct bench_call){.kernel = "broadcast",
                                 .type = layer->type,
                                 .grid = {bench_blocks(layer->context, product.count)},
                                 BENCH_ARGUMENTS(product),
                                 .pointer = {BENCH_POINTER(product, a, layer->kept),
                                             BENCH_POINTER(product, b, gradient),
                                             BENCH_POINTER(product, out, target)}},
            error);
    return status ? status : bench_deliver(layer, DLT_BACKWARD_DATA, 0, target, error);
}

/* ---- sums over dimensions: over columns, or over those that the network's layer names ---- */

static struct bench_reduce_arguments reduction_of(const struct bench_layer *layer)
{
    const struct bench_shape *shape = &layer->input[0]->shape;
    unsigned reduced = layer->standalone ? 1u << (shape->rank - 1) : layer->options.reduced;
    struct bench_reduce_arguments reduce = {.outputs = 1, .reduced = 1, .factor = 1};
    long long step = 1, stride[BENCH_MAP_RANK] = {0};

    for (int d = shape->rank - 1; d >= 0; d--) {
        stride[d] = step;
        step *= shape->dim[d];
    }
    for (int d = 0; d < shape->rank; d++) {
        bool goes = reduced >> d & 1u;
        int *rank = goes ? &reduce.inner_rank : &reduce.outer_rank;

        (goes ? reduce.inner : reduce.outer)[*rank] = shape->dim[d];
        (goes ? reduce.inner_stride : reduce.outer_stride)[*rank] = stride[d];
        *(goes ? &reduce.reduced : &reduce.outputs) *= shape->dim[d];
        (*rank)++;
    }
    /* Networks take means, which keep signals small; sums cost the same. */
    if (!layer->standalone)
        reduce.factor = 1 / (float)reduce.reduced;
    return reduce;
}

int bench_reduction_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_reduce_arguments reduce;
    int status = bench_input(layer, 0, error);

    if (status == BENCH_OK)
        status = !layer->standalone && layer->options.output
                     ? bench_output_shaped(layer, layer->options.output, error)
                     : bench_output(layer, error);
    if (status)
        return status;
    reduce = reduction_of(layer);
    if (reduce.outputs != (long long)layer->output->value->count)
        return dlt_fail(error, "%s: its output has not one element for each sum", layer->name);
    return bench_add_reduce(layer, DLT_FORWARD, &reduce, layer->value[0], layer->output->value,
                            error);
}

int bench_reduction_backward(struct bench_layer *layer, bool data, bool weight,
                             struct dlt_error *error)
{
    struct bench_reduce_arguments reduce = reduction_of(layer);
    struct bench_buffer *gradient = NULL, *target = NULL;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_collect(layer, 0, &target, error);
    if (status == BENCH_OK)
        status = bench_add_call(
            layer, DLT_BACKWARD_DATA,
            &(struct bench_call){.kernel = "reduce_back",
                                 .type = layer->type,
                                 .grid = {bench_blocks(layer->context, (long long)target->count)},
                                 BENCH_ARGUMENTS(reduce),
                                 .pointer = {BENCH_POINTER(reduce, in, gradient),
                                             BENCH_POINTER(reduce, out, target)}},
            error);
    return status ? status : bench_deliver(layer, DLT_BACKWARD_DATA, 0, target, error);
}
