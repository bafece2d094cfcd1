/* SPDX-License-Identifier: Apache-2.0 */

/* rnn, gru and lstm by cuDNN: all layers, directions and steps in one call. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../shapes.h"
#include "cuda.h"

struct recurrent {
    cudnnRNNDescriptor_t cell;
    cudnnRNNDataDescriptor_t input_data, output_data;
    cudnnTensorDescriptor_t state, cell_state; /* an lstm's with a projection differ in width */
    size_t weights_size, workspace, reserve_size;
    const struct bench_buffer *input, *output, *weights, *lengths, *reserve;
    const struct bench_buffer *gradient, *to_input, *to_weights;
};

#define USES_OF(r)                                                                                 \
    BENCH_USES((r)->input, (r)->output, (r)->weights, (r)->lengths, (r)->reserve, (r)->gradient,   \
               (r)->to_input, (r)->to_weights)

static void destroy_cell(void *object)
{
    (void)cudnnDestroyRNNDescriptor(object);
}

static void destroy_dropout(void *object)
{
    (void)cudnnDestroyDropoutDescriptor(object);
}

static void destroy_data(void *object)
{
    (void)cudnnDestroyRNNDataDescriptor(object);
}

static void destroy_tensor(void *object)
{
    (void)cudnnDestroyTensorDescriptor(object);
}

/* cuDNN projects the outputs of an lstm, to fewer than the cell has. */
bool bench_recurrent_takes(const struct bench_context *context, const struct dlt_record *record)
{
    const struct dlt_recurrent *r = &record->u.recurrent;

    (void)context;
    return r->out_features == r->hidden_size ||
           (*record->kind->name == 'l' && r->out_features < r->hidden_size);
}

static cudnnRNNMode_t mode_of(const struct dlt_record *record)
{
    switch (*record->kind->name) {
    case 'l':
        return CUDNN_LSTM;
    case 'g':
        return CUDNN_GRU;
    default:
        return CUDNN_RNN_TANH;
    }
}

/* Without any, which takes no memory for random states. */
static int describe_dropout(struct bench_layer *layer, cudnnDropoutDescriptor_t *dropout,
                            struct dlt_error *error)
{
    int status = bench_cudnn(cudnnCreateDropoutDescriptor(dropout), "a cell's dropout", error);

    if (status)
        return status;
    if (bench_own(&layer->context->owned, *dropout, destroy_dropout, error))
        return BENCH_NO_MEMORY;
    return bench_cudnn(cudnnSetDropoutDescriptor(*dropout, layer->context->cudnn, 0, NULL, 0, 0),
                       "a cell's dropout", error);
}

static int describe_cell(struct bench_layer *layer, struct recurrent *r, struct dlt_error *error)
{
    const struct dlt_recurrent *n = &layer->record.u.recurrent;
    cudnnDropoutDescriptor_t dropout;
    int status = describe_dropout(layer, &dropout, error);

    if (status == BENCH_OK)
        status = bench_cudnn(cudnnCreateRNNDescriptor(&r->cell), "a cell's descriptor", error);
    if (status)
        return status;
    if (bench_own(&layer->context->owned, r->cell, destroy_cell, error))
        return BENCH_NO_MEMORY;
    return bench_cudnn(cudnnSetRNNDescriptor_v8(
                           r->cell, CUDNN_RNN_ALGO_STANDARD, mode_of(&layer->record),
                           n->bias ? CUDNN_RNN_DOUBLE_BIAS : CUDNN_RNN_NO_BIAS,
                           n->bidirectional ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
                           CUDNN_LINEAR_INPUT, bench_cudnn_type(layer->type), CUDNN_DATA_FLOAT,
                           bench_cudnn_math(&layer->record), (int32_t)n->in_features,
                           (int32_t)n->hidden_size, (int32_t)n->out_features,
                           (int32_t)n->num_layers, dropout, CUDNN_RNN_PADDED_IO_ENABLED),
                       "a cell's descriptor", error);
}

/* [length, batch, width], all sequences equally long. */
static int describe_data(struct bench_layer *layer, int64_t width,
                         cudnnRNNDataDescriptor_t *descriptor, struct dlt_error *error)
{
    const struct dlt_recurrent *n = &layer->record.u.recurrent;
    int *lengths =
        bench_own_zeroed(&layer->context->owned, (size_t)n->batch, sizeof *lengths, error);
    int status;

    if (!lengths)
        return BENCH_NO_MEMORY;
    for (int64_t i = 0; i < n->batch; i++)
        lengths[i] = (int)n->length;
    status =
        bench_cudnn(cudnnCreateRNNDataDescriptor(descriptor), "a sequence's descriptor", error);
    if (status)
        return status;
    if (bench_own(&layer->context->owned, *descriptor, destroy_data, error))
        return BENCH_NO_MEMORY;
    return bench_cudnn(cudnnSetRNNDataDescriptor(*descriptor, bench_cudnn_type(layer->type),
                                                 CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                                                 (int)n->length, (int)n->batch, (int)width, lengths,
                                                 NULL),
                       "a sequence's descriptor", error);
}

static int describe_state(struct bench_layer *layer, int64_t width, cudnnTensorDescriptor_t *state,
                          struct dlt_error *error)
{
    const struct dlt_recurrent *n = &layer->record.u.recurrent;
    int layers = (int)n->num_layers * (n->bidirectional ? 2 : 1);
    int dim[3] = {layers, (int)n->batch, (int)width};
    int stride[3] = {dim[1] * dim[2], dim[2], 1};
    int status = bench_cudnn(cudnnCreateTensorDescriptor(state), "a state's descriptor", error);

    if (status)
        return status;
    if (bench_own(&layer->context->owned, *state, destroy_tensor, error))
        return BENCH_NO_MEMORY;
    return bench_cudnn(
        cudnnSetTensorNdDescriptor(*state, bench_cudnn_type(layer->type), 3, dim, stride),
        "a state's descriptor", error);
}

static int describe(struct bench_layer *layer, struct recurrent *r, struct dlt_error *error)
{
    const struct dlt_recurrent *n = &layer->record.u.recurrent;
    cudnnHandle_t cudnn = layer->context->cudnn;
    int status = describe_cell(layer, r, error);

    if (status == BENCH_OK)
        status = describe_data(layer, n->in_features, &r->input_data, error);
    if (status == BENCH_OK)
        status = describe_data(layer, n->out_features * (n->bidirectional ? 2 : 1), &r->output_data,
                               error);
    if (status == BENCH_OK)
        status = describe_state(layer, n->out_features, &r->state, error);
    if (status == BENCH_OK)
        status = describe_state(layer, n->hidden_size, &r->cell_state, error);
    if (status == BENCH_OK)
        status = bench_cudnn(cudnnGetRNNWeightSpaceSize(cudnn, r->cell, &r->weights_size),
                             "a cell's weights", error);
    if (status == BENCH_OK)
        status =
            bench_cudnn(cudnnGetRNNTempSpaceSizes(cudnn, r->cell, CUDNN_FWD_MODE_TRAINING,
                                                  r->input_data, &r->workspace, &r->reserve_size),
                        "a cell's workspace", error);
    return status ? status : bench_workspace(layer->context, r->workspace, error);
}

static void *data_of(const struct bench_buffer *buffer, int copy)
{
    return buffer ? bench_buffer_data(buffer, copy) : NULL;
}

static int run_forward(struct bench_context *context, const void *what, int copy,
                       struct dlt_error *error)
{
    const struct recurrent *r = what;

    return bench_cudnn(
        cudnnRNNForward(context->cudnn, r->cell, CUDNN_FWD_MODE_TRAINING, data_of(r->lengths, copy),
                        r->input_data, data_of(r->input, copy), r->output_data,
                        data_of(r->output, copy), r->state, NULL, NULL, r->cell_state, NULL, NULL,
                        r->weights_size, data_of(r->weights, copy), r->workspace,
                        context->workspace, r->reserve_size, data_of(r->reserve, copy)),
        "a recurrent layer", error);
}

/* The weights' gradient adds to what is there, and uses what the data's gradient left. */
static int run_backward(struct bench_context *context, const void *what, int copy,
                        struct dlt_error *error)
{
    const struct recurrent *r = what;
    int status =
        bench_cudnn(cudnnRNNBackwardData_v8(
                        context->cudnn, r->cell, data_of(r->lengths, copy), r->output_data,
                        data_of(r->output, copy), data_of(r->gradient, copy), r->input_data,
                        data_of(r->to_input, copy), r->state, NULL, NULL, NULL, r->cell_state, NULL,
                        NULL, NULL, r->weights_size, data_of(r->weights, copy), r->workspace,
                        context->workspace, r->reserve_size, data_of(r->reserve, copy)),
                    "a recurrent layer's gradient", error);

    if (status || !r->to_weights)
        return status;
    status = bench_cuda(
        cudaMemsetAsync(data_of(r->to_weights, copy), 0, r->weights_size, context->stream),
        "clearing a gradient", error);
    if (status)
        return status;
    return bench_cudnn(cudnnRNNBackwardWeights_v8(
                           context->cudnn, r->cell, CUDNN_WGRAD_MODE_ADD, data_of(r->lengths, copy),
                           r->input_data, data_of(r->input, copy), r->state, NULL, r->output_data,
                           data_of(r->output, copy), r->weights_size, data_of(r->to_weights, copy),
                           r->workspace, context->workspace, r->reserve_size,
                           data_of(r->reserve, copy)),
                       "a recurrent layer's gradient", error);
}

/* Weights and biases of all layers are one array, whose order is cuDNN's own. */
static int make_arrays(struct bench_layer *layer, struct recurrent *r, struct dlt_error *error)
{
    const struct dlt_recurrent *n = &layer->record.u.recurrent;
    size_t size = bench_type_size(layer->type);
    const struct bench_shape shape = {1, {(int64_t)((r->weights_size + size - 1) / size)}};
    const struct bench_shape batch = {1, {n->batch}};
    int *lengths =
        bench_own_zeroed(&layer->context->owned, (size_t)n->batch, sizeof *lengths, error);
    struct bench_buffer *on_device;
    int status =
        lengths ? bench_parameter(layer, layer->type, false, &shape, 0,
                                  (float)(1 / sqrt((double)n->hidden_size)), &layer->weight, error)
                : BENCH_NO_MEMORY;

    for (int64_t i = 0; status == BENCH_OK && i < n->batch; i++)
        lengths[i] = (int)n->length;
    if (status == BENCH_OK)
        status =
            bench_buffer_create(layer->context, BENCH_I32, false, &batch, 1, &on_device, error);
    if (status == BENCH_OK)
        status = bench_buffer_write(layer->context, on_device, lengths, error);
    if (status == BENCH_OK && r->reserve_size > 0)
        status = bench_scratch(layer, BENCH_U8, (int64_t)r->reserve_size, &layer->kept, error);
    if (status)
        return status;
    r->lengths = on_device;
    r->weights = layer->weight.value;
    r->reserve = layer->kept;
    return BENCH_OK;
}

int bench_recurrent_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct recurrent *r = bench_own_zeroed(&layer->context->owned, 1, sizeof *r, error);
    int status = r ? bench_input(layer, 0, error) : BENCH_NO_MEMORY;

    layer->extra = r;
    if (status == BENCH_OK)
        status = bench_output(layer, error);
    if (status == BENCH_OK)
        status = describe(layer, r, error);
    if (status == BENCH_OK)
        status = make_arrays(layer, r, error);
    if (status)
        return status;
    r->input = layer->value[0];
    r->output = layer->output->value;
    layer->program[DLT_FORWARD].choice.workspace_bytes = (double)r->workspace;
    return bench_add(layer, DLT_FORWARD, run_forward, r, USES_OF(r), error);
}

int bench_recurrent_backward(struct bench_layer *layer, bool data, bool weight,
                             struct dlt_error *error)
{
    struct recurrent *r = bench_own_zeroed(&layer->context->owned, 1, sizeof *r, error);
    struct bench_buffer *gradient = NULL, *target = NULL;
    int status = r ? bench_output_gradient(layer, DLT_BACKWARD, &gradient, error) : BENCH_NO_MEMORY;

    (void)data;
    if (status)
        return status;
    *r = *(const struct recurrent *)layer->extra;
    status = bench_collect(layer, 0, &target, error);
    if (status == BENCH_OK && weight)
        status = bench_parameter_gradient(layer, &layer->weight, error);
    if (status)
        return status;
    r->gradient = gradient;
    r->to_input = target;
    r->to_weights = layer->weight.gradient;
    status = bench_add(layer, DLT_BACKWARD, run_backward, r, USES_OF(r), error);
    return status ? status : bench_deliver(layer, DLT_BACKWARD, 0, target, error);
}

/* ---- reading weights in canonical order ---- */

/* cuDNN's number of a gate: i f g o of an lstm as they are, z r n of a gru as 1 0 2. */
static int gate_number(const struct dlt_record *record, int64_t gate)
{
    return *record->kind->name == 'g' && gate < 2 ? 1 - (int)gate : (int)gate;
}

/* Where a matrix or bias of one layer, direction and gate begins, in elements; SIZE_MAX: nowhere.
 */
static size_t find_part(struct bench_layer *layer, int pseudo_layer, int number, bool bias,
                        struct dlt_error *error)
{
    const struct recurrent *r = layer->extra;
    const char *space = bench_buffer_data(r->weights, 0);
    cudnnTensorDescriptor_t matrix = NULL, vector = NULL;
    void *matrix_data = NULL, *vector_data = NULL;
    const char *found;
    int status = bench_cudnn(cudnnCreateTensorDescriptor(&matrix), "a matrix of a cell", error);

    if (status == BENCH_OK)
        status = bench_cudnn(cudnnCreateTensorDescriptor(&vector), "a bias of a cell", error);
    if (status == BENCH_OK)
        status = bench_cudnn(cudnnGetRNNWeightParams(layer->context->cudnn, r->cell, pseudo_layer,
                                                     r->weights_size, space, number, matrix,
                                                     &matrix_data, vector, &vector_data),
                             "a cell's weights", error);
    if (matrix)
        destroy_tensor(matrix);
    if (vector)
        destroy_tensor(vector);
    found = bias ? vector_data : matrix_data;
    if (status || !found)
        return SIZE_MAX;
    return (size_t)(found - space) / bench_type_size(layer->type);
}

/* Where the canonical array's elements are: row by row of gates and units, or the biases. */
struct reading {
    const double *space;
    double *values;
    bool gradient;
    int gates;
};

static int read_matrices(struct bench_layer *layer, const struct reading *at, int index,
                         struct dlt_error *error)
{
    const struct dlt_recurrent *n = &layer->record.u.recurrent;
    int64_t directions = n->bidirectional ? 2 : 1, hidden = n->hidden_size;
    int64_t in = index % 2 ? hidden : index > 1 ? hidden * directions : n->in_features;

    for (int64_t d = 0; d < directions; d++) {
        for (int64_t g = 0; g < at->gates; g++) {
            int number = gate_number(&layer->record, g) + (index % 2 ? at->gates : 0);
            size_t start =
                find_part(layer, (int)(index / 2 * directions + d), number, false, error);

            if (start == SIZE_MAX)
                return dlt_fail(error, "%s has no such weights", layer->name);
            for (int64_t i = 0; i < in; i++)
                for (int64_t j = 0; j < hidden; j++)
                    at->values[((d * in + i) * at->gates + g) * hidden + j] =
                        at->space[start + (size_t)(j * in + i)];
        }
    }
    return BENCH_OK;
}

/* Two biases add up, but the one that a gru's reset gate multiplies; their gradients are equal. */
static int read_biases(struct bench_layer *layer, const struct reading *at, int index,
                       struct dlt_error *error)
{
    const struct dlt_recurrent *n = &layer->record.u.recurrent;
    int64_t directions = n->bidirectional ? 2 : 1, hidden = n->hidden_size;
    bool gru = *layer->record.kind->name == 'g';
    int all = at->gates + (gru ? 1 : 0);

    for (int64_t d = 0; d < directions; d++) {
        for (int g = 0; g < all; g++) {
            bool inside = g == 3 && gru, alone = inside || (g == 2 && gru);
            int number = gate_number(&layer->record, inside ? 2 : g);
            int pseudo = (int)(index * directions + d);
            size_t first = find_part(layer, pseudo, number, true, error);
            size_t second = find_part(layer, pseudo, number + at->gates, true, error);

            if (first == SIZE_MAX || second == SIZE_MAX)
                return dlt_fail(error, "%s has no such bias", layer->name);
            for (int64_t j = 0; j < hidden; j++) {
                double own = at->space[(inside ? second : first) + (size_t)j];
                double other = at->space[second + (size_t)j];

                at->values[(d * all + g) * hidden + j] = alone || at->gradient ? own : own + other;
            }
        }
    }
    return BENCH_OK;
}

int bench_recurrent_read(struct bench_layer *layer, enum bench_role role, int index, double *values,
                         struct dlt_error *error)
{
    bool gradient = role == BENCH_WEIGHT_GRADIENT || role == BENCH_BIAS_GRADIENT;
    bool bias = role == BENCH_BIAS || role == BENCH_BIAS_GRADIENT;
    const struct bench_buffer *buffer = gradient ? layer->weight.gradient : layer->weight.value;
    const char kind = *layer->record.kind->name;
    double *space = buffer ? calloc(buffer->count + 1, sizeof *space) : NULL;
    const struct reading at = {space, values, gradient, kind == 'l' ? 4 : kind == 'g' ? 3 : 1};
    int status;

    if (!space)
        return dlt_fail(error, "%s has no such array", layer->name);
    status = bench_buffer_read(layer->context, buffer, space, buffer->count, error);
    if (status == BENCH_OK)
        status =
            bias ? read_biases(layer, &at, index, error) : read_matrices(layer, &at, index, error);
    free(space);
    return status;
}
