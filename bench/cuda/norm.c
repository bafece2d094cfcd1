/* SPDX-License-Identifier: Apache-2.0 */

/* layer_norm, rms_norm and group_norm (instance_norm: as many groups as channels). */
#include <string.h>

#include "../shapes.h"
#include "cuda.h"

static const float epsilon = 1e-5f;

static bool is_kind(const struct bench_layer *layer, const char *kind)
{
    return strcmp(layer->record.kind->name, kind) == 0;
}

bool bench_norm_takes(const struct bench_context *context, const struct dlt_record *record)
{
    (void)context;
    return record->layout == DLT_NCHW;
}

/* What is normalised together is a row; its parameters follow from `groups` and `plane`. */
static struct bench_norm_arguments arguments_of(const struct bench_layer *layer)
{
    const struct dlt_rowwise *r = &layer->record.u.rowwise;
    const struct dlt_spatial *s = &layer->record.u.spatial;
    struct bench_norm_arguments norm = {.groups = 1, .plane = 1, .epsilon = epsilon};
    int64_t plane = 1;

    if (layer->record.kind->dims == 0) {
        norm.rows = r->rows;
        norm.columns = (int)r->columns;
        return norm;
    }
    for (int d = 0; d < layer->record.kind->dims; d++)
        plane *= s->in_size[d];
    norm.rows = s->batch * s->groups;
    norm.groups = (int)s->groups;
    norm.plane = (int)plane;
    norm.columns = (int)(s->in_channels / s->groups * plane);
    return norm;
}

static int make_arrays(struct bench_layer *layer, int64_t rows, struct dlt_error *error)
{
    int status =
        bench_role_parameter(layer, BENCH_WEIGHT, BENCH_F32, 1, 0.1f, &layer->weight, error);

    if (status == BENCH_OK && !is_kind(layer, "rms_norm"))
        status = bench_role_parameter(layer, BENCH_BIAS, BENCH_F32, 0, 0.1f, &layer->bias, error);
    if (status == BENCH_OK)
        status = bench_scratch(layer, BENCH_F32, rows, &layer->mean, error);
    if (status == BENCH_OK)
        status = bench_scratch(layer, BENCH_F32, rows, &layer->inverse, error);
    return status;
}

int bench_norm_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_norm_arguments norm = arguments_of(layer);
    int status = bench_input(layer, 0, error);

    if (status == BENCH_OK)
        status = make_arrays(layer, norm.rows, error);
    if (status == BENCH_OK)
        status = bench_output(layer, error);
    if (status)
        return status;
    return bench_add_call(
        layer, DLT_FORWARD,
        &(struct bench_call){.kernel = "norm",
                             .type = layer->type,
                             .grid = {bench_row_blocks(norm.rows)},
                             .block = bench_row_block(norm.columns),
                             BENCH_ARGUMENTS(norm),
                             .pointer = {BENCH_POINTER(norm, in, layer->value[0]),
                                         BENCH_POINTER(norm, out, layer->output->value),
                                         BENCH_POINTER(norm, scale, layer->weight.value),
                                         BENCH_POINTER(norm, mean, layer->mean),
                                         BENCH_POINTER(norm, inverse, layer->inverse),
                                         BENCH_POINTER(norm, shift, layer->bias.value)}},
        error);
}

static int backward_data(struct bench_layer *layer, const struct bench_buffer *gradient,
                         struct dlt_error *error)
{
    struct bench_norm_arguments norm = arguments_of(layer);
    struct bench_buffer *target;
    int status = bench_collect(layer, 0, &target, error);

    if (status == BENCH_OK)
        status = bench_add_call(
            layer, DLT_BACKWARD,
            &(struct bench_call){.kernel = "norm_back",
                                 .type = layer->type,
                                 .grid = {bench_row_blocks(norm.rows)},
                                 .block = bench_row_block(norm.columns),
                                 BENCH_ARGUMENTS(norm),
                                 .pointer = {BENCH_POINTER(norm, in, layer->value[0]),
                                             BENCH_POINTER(norm, gradient, gradient),
                                             BENCH_POINTER(norm, out, target),
                                             BENCH_POINTER(norm, scale, layer->weight.value),
                                             BENCH_POINTER(norm, mean, layer->mean),
                                             BENCH_POINTER(norm, inverse, layer->inverse),
                                             BENCH_POINTER(norm, shift, layer->bias.value)}},
            error);
    return status ? status : bench_deliver(layer, DLT_BACKWARD, 0, target, error);
}

/* Parts of both sums, then their sum. */
static int backward_parameters(struct bench_layer *layer, const struct bench_buffer *gradient,
                               struct dlt_error *error)
{
    struct bench_norm_arguments norm = arguments_of(layer);
    bool columns = layer->record.kind->dims == 0;
    int64_t parameters = (int64_t)layer->weight.value->count;
    int64_t blocks = columns ? (parameters + 31) / 32 : parameters;
    struct bench_buffer *partial;
    int status = bench_parameter_gradient(layer, &layer->weight, error);

    norm.splits = bench_splits(layer->context, blocks, norm.rows / norm.groups);
    if (status == BENCH_OK && layer->bias.value)
        status = bench_parameter_gradient(layer, &layer->bias, error);
    if (status == BENCH_OK)
        status = bench_scratch(layer, BENCH_F32, 2 * norm.splits * parameters, &partial, error);
    if (status == BENCH_OK)
        status = bench_add_call(
            layer, DLT_BACKWARD,
            &(struct bench_call){.kernel = columns ? "norm_columns" : "norm_channels",
                                 .type = layer->type,
                                 .grid = {(unsigned)blocks, (unsigned)norm.splits},
                                 BENCH_ARGUMENTS(norm),
                                 .pointer = {BENCH_POINTER(norm, in, layer->value[0]),
                                             BENCH_POINTER(norm, gradient, gradient),
                                             BENCH_POINTER(norm, partial, partial),
                                             BENCH_POINTER(norm, mean, layer->mean),
                                             BENCH_POINTER(norm, inverse, layer->inverse)}},
            error);
    if (status == BENCH_OK)
        status = bench_add_combine(layer, DLT_BACKWARD, partial, 0, 2 * parameters, norm.splits,
                                   layer->weight.gradient, error);
    if (status == BENCH_OK && layer->bias.value)
        status = bench_add_combine(layer, DLT_BACKWARD, partial, parameters, 2 * parameters,
                                   norm.splits, layer->bias.gradient, error);
    return status;
}

int bench_norm_backward(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error)
{
    struct bench_buffer *gradient = NULL;
    int status = bench_output_gradient(layer, DLT_BACKWARD, &gradient, error);

    if (status == BENCH_OK && data)
        status = backward_data(layer, gradient, error);
    return status == BENCH_OK && weight ? backward_parameters(layer, gradient, error) : status;
}
