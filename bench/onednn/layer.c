/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "../shapes.h"
#include "onednn.h"

enum { MOST_COPIES = 1024 };

#define SPLIT   true, true, true, DLT_BACKWARD
#define WHOLE   true, false
#define NOTHING false, false
#define CONVOLUTION(kind)                                                                          \
    {                                                                                              \
        kind, bench_weighted_forward, bench_weighted_backward, SPLIT                               \
    }
#define POOL(kind)                                                                                 \
    {                                                                                              \
        kind, bench_pool_forward, bench_pool_backward, NOTHING, true, DLT_BACKWARD_DATA            \
    }
#define RECURRENT(kind)                                                                            \
    {                                                                                              \
        kind, bench_recurrent_forward, bench_recurrent_backward, WHOLE, false, DLT_BACKWARD        \
    }

static const struct bench_operator operators[] = {
    CONVOLUTION("conv1d"),
    CONVOLUTION("conv2d"),
    CONVOLUTION("conv3d"),
    CONVOLUTION("conv_transpose1d"),
    CONVOLUTION("conv_transpose2d"),
    CONVOLUTION("conv_transpose3d"),
    CONVOLUTION("dense"),
    {"bmm", bench_bmm_forward, bench_bmm_backward, NOTHING, true, DLT_BACKWARD},
    POOL("max_pool1d"),
    POOL("max_pool2d"),
    POOL("max_pool3d"),
    POOL("avg_pool1d"),
    POOL("avg_pool2d"),
    POOL("avg_pool3d"),
    {"batch_norm", bench_batch_norm_forward, bench_norm_backward, WHOLE, true, DLT_BACKWARD},
    {"layer_norm", bench_layer_norm_forward, bench_norm_backward, WHOLE, true, DLT_BACKWARD},
    {"group_norm", bench_group_norm_forward, bench_group_norm_backward, WHOLE, false, DLT_BACKWARD},
    {"rms_norm", bench_rms_norm_forward, bench_rms_norm_backward, WHOLE, false, DLT_BACKWARD},
    {"softmax", bench_softmax_forward, bench_softmax_backward, NOTHING, true, DLT_BACKWARD_DATA},
    {"cross_entropy", bench_cross_entropy_forward, bench_cross_entropy_backward, NOTHING, false,
     DLT_BACKWARD_DATA},
    {"reduction", bench_reduction_forward, bench_reduction_backward, NOTHING, false,
     DLT_BACKWARD_DATA},
    {"elementwise", bench_elementwise_forward, bench_elementwise_backward, NOTHING, true,
     DLT_BACKWARD_DATA},
    {"upsample", bench_upsample_forward, bench_upsample_backward, NOTHING, false,
     DLT_BACKWARD_DATA},
    {"embedding", bench_embedding_forward, bench_embedding_backward, WHOLE, false, DLT_BACKWARD},
    {"scaled_dot_product_attention", bench_attention_forward, bench_attention_backward, NOTHING,
     true, DLT_BACKWARD},
    RECURRENT("rnn"),
    RECURRENT("gru"),
    RECURRENT("lstm"),
};

static const struct bench_operator *find_operator(const struct dlt_record *record)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strcmp(operators[i].kind, record->kind->name) == 0)
            return &operators[i];
    return NULL;
}

/* How many operands a function takes at the least; 0: the backend does not have it. */
static const struct {
    signed char least, most;
    bool half;
} functions[DLT_FUNCTIONS] = {
    [DLT_RELU] = {1, 1, true},         [DLT_GELU] = {1, 1, true},
    [DLT_SIGMOID] = {1, 1, true},      [DLT_TANH] = {1, 1, true},
    [DLT_ADD] = {2, 2, false},         [DLT_SUB] = {2, 2, false},
    [DLT_MUL] = {2, 2, false},         [DLT_DIV] = {2, 2, false},
    [DLT_POW] = {1, 1, true},          [DLT_DROPOUT] = {1, 1, false},
    [DLT_CONCAT] = {1, 64, true},      [DLT_RELU6] = {1, 1, true},
    [DLT_SILU] = {1, 1, true},         [DLT_HARDSWISH] = {1, 1, true},
    [DLT_HARDSIGMOID] = {1, 1, false}, [DLT_HARDTANH] = {1, 1, true},
    [DLT_LEAKY_RELU] = {1, 1, true},   [DLT_ELU] = {1, 1, true},
    [DLT_PRELU] = {2, 2, false},       [DLT_SOFTPLUS] = {1, 1, true},
    [DLT_MISH] = {1, 1, true},         [DLT_EXP] = {1, 1, true},
    [DLT_LOG] = {1, 1, true},          [DLT_SQRT] = {1, 1, true},
    [DLT_ERF] = {1, 1, false},         [DLT_ABS] = {1, 1, true},
    [DLT_MAXIMUM] = {2, 2, false},     [DLT_WHERE] = {2, 3, false},
    [DLT_COPY] = {1, 1, true},
};

static bool supports_function(const struct dlt_record *record)
{
    const struct dlt_rowwise *r = &record->u.rowwise;

    if (r->function <= 0 || r->function >= DLT_FUNCTIONS || functions[r->function].least == 0)
        return false;
    if (record->dtype != DLT_FLOAT32 && !functions[r->function].half)
        return false;
    return r->operands >= functions[r->function].least &&
           r->operands <= functions[r->function].most;
}

/* oneDNN 2.6 itself says no to bfloat16 where the CPU cannot; asking would cost a descriptor. */
static bool has_bfloat16(void)
{
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_bf16) ==
           dnnl_cpu_isa_avx512_core_bf16;
}

static bool supports_type(const struct bench_operator *operator, const struct dlt_record * record)
{
    if (record->math != DLT_IEEE)
        return false;
    if (record->dtype == DLT_FLOAT32)
        return true;
    return record->dtype == DLT_BFLOAT16 && operator&& operator->half && has_bfloat16();
}

bool bench_supports(struct bench_context *context, const struct dlt_record *record)
{
    const struct bench_operator *operator= find_operator(record);

    (void)context;
    if (!supports_type(operator, record) || record->activation != DLT_FUNCTION_NONE)
        return false;
    if (strcmp(record->kind->name, "optimizer_update") == 0)
        return record->pass == DLT_UPDATE && record->optimizer != DLT_OPTIMIZER_NONE;
    if (!operator||(strcmp(record->kind->name, "elementwise") == 0 && !supports_function(record)))
        return false;
    if (operator->forward == bench_recurrent_forward &&
        record->u.recurrent.out_features != record->u.recurrent.hidden_size)
        return false; /* projections */
    switch (record->pass) {
    case DLT_FORWARD:
    case DLT_BACKWARD:
        return true;
    case DLT_BACKWARD_DATA:
    case DLT_BACKWARD_WEIGHT:
        return operator->split || operator->pass == record->pass;
    default:
        return false;
    }
}

static double role_bytes(const struct dlt_record *record, enum bench_role role, int index)
{
    struct bench_shape shape;

    if (!bench_role_shape(record, role, index, &shape))
        return 0;
    return (double)dlt_dtype_size(record->dtype) * (double)bench_shape_count(&shape);
}

/* Bytes that a pass touches besides weights. Attention and recurrent layers keep more than their
 * inputs and outputs. */
static double touched_bytes(const struct dlt_record *record)
{
    double touched = role_bytes(record, BENCH_OUTPUT, 0);

    for (int i = 0; i < bench_operands(record); i++)
        touched += role_bytes(record, BENCH_INPUT, i);
    if (record->pass == DLT_UPDATE)
        return 4.0 * (double)record->u.update.elements *
               (2 + dlt_optimizer_states(record->optimizer));
    if (strcmp(record->kind->name, "scaled_dot_product_attention") == 0) {
        const struct dlt_attention *a = &record->u.attention;

        touched += (double)dlt_dtype_size(record->dtype) * (double)(a->batch * a->heads) *
                   (double)(a->query_length * a->key_length);
    }
    return touched;
}

/* As many copies as outgrow the last-level cache twice with what one pass touches, gradients held
 * beside the values in the same memory. Very small operators cannot be made cold this way: their
 * own bookkeeping would have to outgrow the cache. */
static void choose_copies(struct bench_layer *layer, int wanted)
{
    const struct bench_context *context = layer->context;
    const struct dlt_record *record = &layer->record;
    double touched = touched_bytes(record), held, weights = 0, copies;

    for (int i = 0; record->pass != DLT_UPDATE && i < BENCH_WEIGHTS; i++)
        weights += role_bytes(record, BENCH_WEIGHT, i);
    held = record->pass == DLT_UPDATE ? touched : 2.5 * touched + 4 * weights;
    touched += weights;
    copies = 1 + 2 * context->cache_bytes / touched;
    if (copies * held > 0.8 * (double)context->arena.size)
        copies = 0.8 * (double)context->arena.size / held;
    if (copies > MOST_COPIES)
        copies = MOST_COPIES;
    layer->copies = wanted > 0 ? wanted : copies > 1 ? (int)copies : 1;
    layer->cold = layer->copies * touched > 1.5 * context->cache_bytes;
}

/* Functions, reductions and softmax take tensors in their own shapes. */
static bool takes_any_shape(const struct bench_layer *layer)
{
    const char *kind = layer->record.kind->name;

    return strcmp(kind, "elementwise") == 0 || strcmp(kind, "reduction") == 0 ||
           strcmp(kind, "softmax") == 0 || strcmp(kind, "upsample") == 0;
}

static int take_inputs(struct bench_layer *layer, const struct dlt_record *record,
                       struct bench_tensor **inputs, size_t input_count, struct dlt_error *error)
{
    struct bench_shape shape;

    layer->standalone = inputs == NULL;
    layer->input_count = bench_operands(record);
    if (!inputs)
        return BENCH_OK;
    if (input_count != (size_t)layer->input_count)
        return dlt_fail(error, "%s: %zu inputs where %d are read", layer->name, input_count,
                        layer->input_count);
    for (size_t i = 0; i < input_count; i++) {
        bench_role_shape(record, BENCH_INPUT, (int)i, &shape);
        if (!takes_any_shape(layer) &&
            bench_shape_count(&inputs[i]->shape) != bench_shape_count(&shape))
            return dlt_fail(error, "%s: input %zu has %zu elements, not %zu", layer->name, i,
                            bench_shape_count(&inputs[i]->shape), bench_shape_count(&shape));
        layer->input[i] = inputs[i];
    }
    return BENCH_OK;
}

static void take_options(struct bench_layer *layer, const struct bench_layer_options *options)
{
    layer->options = *options;
    layer->axis = options->axis;
    if (options->output) {
        layer->output_shape = *options->output;
        layer->options.output = &layer->output_shape;
    }
}

int bench_layer_create(struct bench_context *context, const struct dlt_record *record,
                       const struct bench_layer_options *options, struct bench_tensor **inputs,
                       size_t input_count, struct bench_layer **layer, struct bench_tensor **output,
                       struct dlt_error *error)
{
    struct bench_layer *made;
    int status;

    if (!bench_supports(context, record)) {
        dlt_fail(error, "onednn does not run %s (pass %s, %s)", record->kind->name,
                 dlt_pass_names[record->pass], dlt_dtype_names[record->dtype]);
        return BENCH_UNSUPPORTED;
    }
    status = bench_layer_new(context, record->kind->name, &made, error);
    if (status)
        return status;
    made->record = *record;
    made->operator= find_operator(record);
    made->type = record->dtype == DLT_BFLOAT16 ? dnnl_bf16 : dnnl_f32;
    take_options(made, options);
    status = take_inputs(made, record, inputs, input_count, error);
    if (status)
        return status;
    choose_copies(made, made->standalone ? options->copies : 1);
    if (record->pass == DLT_UPDATE)
        status = bench_update_arrays(made, error);
    else
        status = made->operator->forward(made, error);
    *layer = made;
    if (output)
        *output = made->output;
    return status;
}

/* Backward passes read what forward left; in every copy it is the same. */
static int run_forward_once(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_buffer *made[] = {layer->output->value, layer->mean, layer->variance,
                                   layer->workspace, layer->mask};
    int status = bench_execute(layer, DLT_FORWARD, 0, error);

    if (status == BENCH_OK)
        status = bench_check(dnnl_stream_wait(layer->context->stream), "wait", error);
    for (size_t i = 0; status == BENCH_OK && i < sizeof made / sizeof *made; i++)
        if (made[i])
            bench_buffer_spread(made[i]);
    for (int i = 0; status == BENCH_OK && i < layer->kept_count; i++)
        bench_buffer_spread(layer->kept[i]);
    return status;
}

int bench_layer_train(struct bench_layer *layer, bool data_gradient, bool weight_gradient,
                      const struct bench_training *training, struct dlt_error *error)
{
    bool updates = training && training->optimizer != DLT_OPTIMIZER_NONE;
    int status = BENCH_OK;

    if (training)
        layer->training = *training;
    if (!layer->operator) {
        if ((data_gradient || weight_gradient) && layer->backward)
            status = layer->backward(layer, error);
        return status == BENCH_OK && weight_gradient && updates && layer->weight.gradient
                   ? bench_update_layer(layer, error)
                   : status;
    }
    if (layer->standalone) {
        status = run_forward_once(layer, error);
        if (status)
            return status;
    }
    weight_gradient = weight_gradient && layer->operator->weights;
    if (data_gradient || weight_gradient) {
        status = layer->operator->backward(layer, data_gradient, weight_gradient, error);
        if (status)
            return status;
    }
    if (weight_gradient && updates && !layer->options.share)
        return bench_update_layer(layer, error);
    return BENCH_OK;
}

int bench_layer_copies(const struct bench_layer *layer, bool *cold)
{
    *cold = layer->cold;
    return layer->copies;
}

/* Recurrent layers have three arrays a layer: two weights and a bias. */
static struct bench_parameter *recurrent_array(struct bench_layer *layer, enum bench_role role,
                                               int index)
{
    bool bias = role == BENCH_BIAS || role == BENCH_BIAS_GRADIENT;

    return &layer->arrays[bias ? 3 * index + 2 : 3 * (index / 2) + index % 2];
}

static struct bench_buffer *find_array(struct bench_layer *layer, enum bench_role role, int index)
{
    struct bench_parameter *array = layer->arrays, *weight = &layer->weight, *bias = &layer->bias;

    if (array && layer->record.pass != DLT_UPDATE &&
        layer->operator->forward == bench_recurrent_forward)
        weight = bias = recurrent_array(layer, role, index);
    else if (array)
        weight = &array[index];
    switch (role) {
    case BENCH_INPUT:
        return layer->input[index]->value;
    case BENCH_INPUT_GRADIENT:
        return layer->input[index]->gradient;
    case BENCH_OUTPUT:
        return layer->output ? layer->output->value : NULL;
    case BENCH_OUTPUT_GRADIENT:
        return layer->output ? layer->output->gradient : NULL;
    case BENCH_WEIGHT:
        return weight->value;
    case BENCH_WEIGHT_GRADIENT:
        return weight->gradient;
    case BENCH_BIAS:
        return bias->value;
    case BENCH_BIAS_GRADIENT:
        return bias->gradient;
    case BENCH_MASK:
        return layer->mask;
    case BENCH_STATE:
        return array ? array[0].state[index] : NULL;
    default:
        return NULL;
    }
}

int bench_layer_read(struct bench_layer *layer, enum bench_role role, int index, double *values,
                     size_t count, struct dlt_error *error)
{
    struct bench_buffer *buffer = find_array(layer, role, index);

    if (!buffer)
        return dlt_fail(error, "%s has no such array", layer->name);
    return bench_buffer_read(layer->context, buffer, values, count, error);
}
