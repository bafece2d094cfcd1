/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "../shapes.h"
#include "cuda.h"

enum { MOST_COPIES = 1024 };

static const struct bench_operator operators[] = {
    {"conv1d", bench_convolution_forward, bench_convolution_backward, true, true, NULL},
    {"conv2d", bench_convolution_forward, bench_convolution_backward, true, true, NULL},
    {"conv3d", bench_convolution_forward, bench_convolution_backward, true, true, NULL},
    {"conv_transpose1d", bench_convolution_forward, bench_convolution_backward, true, true, NULL},
    {"conv_transpose2d", bench_convolution_forward, bench_convolution_backward, true, true, NULL},
    {"conv_transpose3d", bench_convolution_forward, bench_convolution_backward, true, true, NULL},
    {"dense", bench_dense_forward, bench_dense_backward, true, true, bench_dense_takes},
    {"bmm", bench_bmm_forward, bench_bmm_backward, false, false, NULL},
    {"max_pool1d", bench_pool_forward, bench_pool_backward, false, false, NULL},
    {"avg_pool1d", bench_pool_forward, bench_pool_backward, false, false, NULL},
    {"max_pool2d", bench_pool_forward, bench_pool_backward, false, false, NULL},
    {"avg_pool2d", bench_pool_forward, bench_pool_backward, false, false, NULL},
    {"max_pool3d", bench_pool_forward, bench_pool_backward, false, false, NULL},
    {"avg_pool3d", bench_pool_forward, bench_pool_backward, false, false, NULL},
    {"batch_norm", bench_batch_norm_forward, bench_batch_norm_backward, true, false,
     bench_batch_norm_takes},
    {"layer_norm", bench_norm_forward, bench_norm_backward, true, false, NULL},
    {"rms_norm", bench_norm_forward, bench_norm_backward, true, false, NULL},
    {"group_norm", bench_norm_forward, bench_norm_backward, true, false, bench_norm_takes},
    {"softmax", bench_softmax_forward, bench_softmax_backward, false, false, NULL},
    {"elementwise", bench_elementwise_forward, bench_elementwise_backward, false, false,
     bench_elementwise_takes},
    {"cross_entropy", bench_cross_entropy_forward, bench_cross_entropy_backward, false, false,
     NULL},
    {"reduction", bench_reduction_forward, bench_reduction_backward, false, false, NULL},
    {"upsample", bench_upsample_forward, bench_upsample_backward, false, false,
     bench_upsample_takes},
    {"embedding", bench_embedding_forward, bench_embedding_backward, true, false, NULL},
    {"scaled_dot_product_attention", bench_attention_forward, bench_attention_backward, false,
     false, NULL},
    {"rnn", bench_recurrent_forward, bench_recurrent_backward, true, false, bench_recurrent_takes},
    {"gru", bench_recurrent_forward, bench_recurrent_backward, true, false, bench_recurrent_takes},
    {"lstm", bench_recurrent_forward, bench_recurrent_backward, true, false, bench_recurrent_takes},
};

static const struct bench_operator *find_operator(const struct dlt_record *record)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strcmp(operators[i].kind, record->kind->name) == 0)
            return &operators[i];
    return NULL;
}

/* bfloat16 has instructions from Ampere on, tf32 as well. */
static bool takes_type(const struct bench_context *context, const struct dlt_record *record)
{
    if (record->math == DLT_TF32)
        return record->dtype == DLT_FLOAT32 && context->capability >= 80;
    return record->dtype != DLT_BFLOAT16 || context->capability >= 80;
}

bool bench_supports(struct bench_context *context, const struct dlt_record *record)
{
    const struct bench_operator *operator= find_operator(record);

    if (!takes_type(context, record))
        return false;
    if (strcmp(record->kind->name, "optimizer_update") == 0)
        return record->pass == DLT_UPDATE && record->optimizer != DLT_OPTIMIZER_NONE;
    if (!operator||(operator->takes && !operator->takes(context, record)))
        return false;
    if (record->activation != DLT_FUNCTION_NONE && strcmp(record->kind->name, "dense") != 0)
        return false;
    switch (record->pass) {
    case DLT_FORWARD:
        return true;
    case DLT_BACKWARD_DATA:
        return operator->split || !operator->weights;
    case DLT_BACKWARD_WEIGHT:
        return operator->split;
    case DLT_BACKWARD:
        return true;
    default:
        return false;
    }
}

static bool is_positive(const struct bench_layer *layer)
{
    static const bool positive[DLT_FUNCTIONS] = {
        [DLT_POW] = true, [DLT_DIV] = true, [DLT_LOG] = true, [DLT_SQRT] = true};

    return layer->record.kind && strcmp(layer->record.kind->name, "elementwise") == 0 &&
           positive[layer->record.u.rowwise.function];
}

int bench_input(struct bench_layer *layer, int index, struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    struct bench_shape shape;
    int status;

    if (layer->standalone) {
        /* Powers, quotients, roots and logarithms stay away from zero and from negative numbers. */
        bool positive = is_positive(layer);

        bench_role_shape(&layer->record, BENCH_INPUT, index, &shape);
        status = bench_tensor_make(context, layer->type, layer->last, &shape, layer->copies,
                                   &layer->input[index], error);
        if (status == BENCH_OK)
            status = bench_buffer_fill(context, layer->input[index]->value, positive ? 1.5f : 0,
                                       positive ? 0.5f : 1, error);
        if (status)
            return status;
    }
    layer->value[index] = layer->input[index]->value;
    return bench_convert(layer, DLT_FORWARD, layer->type, layer->last, &layer->value[index], error);
}

int bench_output_shaped(struct bench_layer *layer, const struct bench_shape *shape,
                        struct dlt_error *error)
{
    return bench_tensor_make(layer->context, layer->type, layer->last, shape, layer->copies,
                             &layer->output, error);
}

int bench_output(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_shape shape;

    if (!bench_role_shape(&layer->record, BENCH_OUTPUT, 0, &shape))
        return dlt_fail(error, "%s has no output", layer->name);
    return bench_output_shaped(layer, &shape, error);
}

int bench_output_gradient(struct bench_layer *layer, enum dlt_pass pass,
                          struct bench_buffer **gradient, struct dlt_error *error)
{
    struct bench_tensor *output = layer->output;
    int status = BENCH_OK;

    if (!output->gradient) {
        if (!layer->standalone)
            return dlt_fail(error, "%s: nothing reads its output, so it has no gradient",
                            layer->name);
        status = bench_buffer_create(layer->context, layer->type, layer->last, &output->shape,
                                     layer->copies, &output->gradient, error);
        if (status == BENCH_OK)
            status = bench_buffer_fill(layer->context, output->gradient, 0, 1, error);
    }
    *gradient = output->gradient;
    return status ? status : bench_convert(layer, pass, layer->type, layer->last, gradient, error);
}

int bench_parameter(struct bench_layer *layer, enum bench_type type, bool last,
                    const struct bench_shape *shape, float center, float spread,
                    struct bench_parameter *parameter, struct dlt_error *error)
{
    int status = bench_buffer_create(layer->context, type, last, shape, layer->copies,
                                     &parameter->value, error);

    return status ? status
                  : bench_buffer_fill(layer->context, parameter->value, center, spread, error);
}

int bench_role_parameter(struct bench_layer *layer, enum bench_role role, enum bench_type type,
                         float center, float spread, struct bench_parameter *parameter,
                         struct dlt_error *error)
{
    struct bench_shape shape;

    if (!bench_role_shape(&layer->record, role, 0, &shape))
        return BENCH_OK;
    return bench_parameter(layer, type, false, &shape, center, spread, parameter, error);
}

int bench_parameter_gradient(struct bench_layer *layer, struct bench_parameter *parameter,
                             struct dlt_error *error)
{
    const struct bench_buffer *value = parameter->value;

    return bench_buffer_create(layer->context, value->type, value->last, &value->shape,
                               value->copies, &parameter->gradient, error);
}

/* The one that owns the weight, or a bias that is shared with it. */
static struct bench_parameter *owner_of(struct bench_layer *layer,
                                        struct bench_parameter *parameter)
{
    struct bench_layer *share = layer->options.share;

    if (share && parameter == &layer->weight)
        return &share->weight;
    return share && parameter->value == share->bias.value ? &share->bias : parameter;
}

int bench_parameter_collect(struct bench_layer *layer, struct bench_parameter *parameter,
                            struct bench_buffer **target, struct dlt_error *error)
{
    struct bench_parameter *owner = owner_of(layer, parameter);
    const struct bench_buffer *value = parameter->value;
    int status = bench_buffer_create(layer->context, value->type, value->last, &value->shape,
                                     value->copies, target, error);

    if (status == BENCH_OK && !owner->gradient)
        owner->gradient = *target;
    return status;
}

int bench_parameter_deliver(struct bench_layer *layer, enum dlt_pass pass,
                            struct bench_parameter *parameter, struct bench_buffer *target,
                            struct dlt_error *error)
{
    struct bench_parameter *owner = owner_of(layer, parameter);

    if (owner->gradient == target)
        return BENCH_OK;
    return bench_add_copy(layer, pass, target, owner->gradient, true, error);
}

int bench_scratch(struct bench_layer *layer, enum bench_type type, int64_t count,
                  struct bench_buffer **buffer, struct dlt_error *error)
{
    const struct bench_shape shape = {1, {count}};

    return bench_buffer_create(layer->context, type, false, &shape, layer->copies, buffer, error);
}

int bench_layer_new(struct bench_context *context, const char *name, struct bench_layer **layer,
                    struct dlt_error *error)
{
    struct bench_layer *made = bench_own_zeroed(&context->owned, 1, sizeof *made, error);

    if (!made)
        return BENCH_NO_MEMORY;
    made->context = context;
    made->name = name;
    made->copies = 1;
    made->order = context->plan.layers++;
    *layer = made;
    return BENCH_OK;
}

/* As many as outgrow the cache twice, within what memory holds. */
static void choose_copies(struct bench_layer *layer, int wanted)
{
    const struct bench_context *context = layer->context;
    double size = (double)bench_type_size(layer->type);
    struct dlt_work work;
    double touched, held, copies;

    dlt_record_work(&layer->record, &work);
    touched = size * (work.input + work.output + work.weights);
    if (layer->record.pass == DLT_UPDATE)
        touched = work.bytes;
    touched = touched > 1 ? touched : 1;
    held = 3 * touched + 4096;
    /* The scores, their softmax and its gradient are in memory. */
    if (strcmp(layer->name, "scaled_dot_product_attention") == 0)
        held += 3 * size * work.batch * work.m * work.n;
    copies = 1 + 2 * context->cache_bytes / touched;
    if (copies * held > 0.8 * (double)context->arena.size)
        copies = 0.8 * (double)context->arena.size / held;
    if (copies > MOST_COPIES)
        copies = MOST_COPIES;
    layer->copies = wanted > 0 ? wanted : copies > 1 ? (int)copies : 1;
    layer->cold = layer->copies * touched > 1.5 * context->cache_bytes;
}

static int take_inputs(struct bench_layer *layer, struct bench_tensor **inputs, size_t input_count,
                       struct dlt_error *error)
{
    const struct dlt_record *record = &layer->record;
    struct bench_shape shape;

    layer->standalone = inputs == NULL;
    layer->input_count = bench_operands(record);
    if (!inputs)
        return BENCH_OK;
    if (input_count != (size_t)layer->input_count)
        return dlt_fail(error, "%s: %zu inputs where %d are read", layer->name, input_count,
                        layer->input_count);
    for (size_t i = 0; i < input_count; i++) {
        layer->input[i] = inputs[i];
        if (strcmp(layer->name, "elementwise") == 0 || layer->options.output ||
            !bench_role_shape(record, BENCH_INPUT, (int)i, &shape))
            continue;
        if (bench_shape_count(&inputs[i]->shape) != bench_shape_count(&shape))
            return dlt_fail(error, "%s: input %zu has %zu elements, not %zu", layer->name, i,
                            bench_shape_count(&inputs[i]->shape), bench_shape_count(&shape));
    }
    return BENCH_OK;
}

int bench_layer_create(struct bench_context *context, const struct dlt_record *record,
                       const struct bench_layer_options *options, struct bench_tensor **inputs,
                       size_t input_count, struct bench_layer **layer, struct bench_tensor **output,
                       struct dlt_error *error)
{
    struct bench_layer *made;
    int status;

    if (!bench_supports(context, record)) {
        dlt_fail(error, "%s does not run %s (pass %s, %s)", "cuda", record->kind->name,
                 dlt_pass_names[record->pass], dlt_dtype_names[record->dtype]);
        return BENCH_UNSUPPORTED;
    }
    status = bench_layer_new(context, record->kind->name, &made, error);
    if (status)
        return status;
    made->record = *record;
    made->options = *options;
    made->operator= find_operator(record);
    made->type = (enum bench_type)record->dtype;
    made->last = record->kind->dims > 0 && record->layout == DLT_NHWC;
    status = take_inputs(made, inputs, input_count, error);
    if (status)
        return status;
    choose_copies(made, made->standalone ? options->copies : 1);
    status = record->pass == DLT_UPDATE ? bench_update_arrays(made, error)
                                        : made->operator->forward(made, error);
    *layer = made;
    if (output)
        *output = made->output;
    return status;
}

/* Backward passes read what forward left; in every copy it is the same. */
static int run_forward_once(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_buffer *made[] = {layer->output->value, layer->mean,  layer->inverse,
                                   layer->mask,          layer->index, layer->kept};
    int status = bench_execute(layer, DLT_FORWARD, 0, error);

    for (size_t i = 0; status == BENCH_OK && i < sizeof made / sizeof *made; i++)
        if (made[i])
            status = bench_buffer_spread(layer->context, made[i], error);
    return status;
}

int bench_layer_train(struct bench_layer *layer, bool data_gradient, bool weight_gradient,
                      const struct bench_training *training, struct dlt_error *error)
{
    const struct bench_operator *operator= layer->operator;
    int status;

    if (!operator)
        return BENCH_OK;
    if (training)
        layer->training = *training;
    if (layer->standalone) {
        status = run_forward_once(layer, error);
        if (status)
            return status;
    }
    weight_gradient = weight_gradient && operator->weights;
    if (data_gradient || weight_gradient) {
        status = operator->backward(layer, data_gradient, weight_gradient, error);
        if (status)
            return status;
    }
    if (weight_gradient && training && training->optimizer != DLT_OPTIMIZER_NONE)
        return bench_update_layer(layer, error);
    return BENCH_OK;
}

int bench_layer_copies(const struct bench_layer *layer, bool *cold)
{
    *cold = layer->cold;
    return layer->copies;
}

void bench_layer_choice(const struct bench_layer *layer, enum dlt_pass pass,
                        struct bench_choice *choice)
{
    /* All gradients at once are the passes one by one. */
    if (pass == DLT_BACKWARD && !layer->program[pass].first)
        pass = DLT_BACKWARD_DATA;
    *choice = layer->program[pass].choice;
}

static struct bench_buffer *find_array(struct bench_layer *layer, enum bench_role role, int index)
{
    struct bench_parameter *array = layer->arrays;

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
        return array ? array[index].value : layer->weight.value;
    case BENCH_WEIGHT_GRADIENT:
        return array ? array[index].gradient : layer->weight.gradient;
    case BENCH_BIAS:
        return layer->bias.value;
    case BENCH_BIAS_GRADIENT:
        return layer->bias.gradient;
    case BENCH_MASK:
        return layer->mask;
    case BENCH_STATE:
        return array ? array[0].state[index] : NULL;
    default:
        return NULL;
    }
}

/* cuDNN keeps the weights of a transposed convolution input channels first; the canonical order has
 * output channels first, within each group. */
static int read_transposed(struct bench_layer *layer, const struct bench_buffer *buffer,
                           double *values, size_t count, struct dlt_error *error)
{
    const struct dlt_spatial *s = &layer->record.u.spatial;
    size_t ins = (size_t)(s->in_channels / s->groups), outs = (size_t)(s->out_channels / s->groups);
    size_t window = count / ins / outs / (size_t)s->groups;
    double *found = calloc(count + 1, sizeof *found);
    int status = found ? bench_buffer_read(layer->context, buffer, found, count, error)
                       : dlt_fail_memory(error);

    for (size_t i = 0; status == BENCH_OK && i < count; i++) {
        size_t tap = i % window, out = i / window % outs, in = i / window / outs % ins;
        size_t group = i / window / outs / ins;

        values[((group * outs + out) * ins + in) * window + tap] = found[i];
    }
    free(found);
    return status;
}

int bench_layer_read(struct bench_layer *layer, enum bench_role role, int index, double *values,
                     size_t count, struct dlt_error *error)
{
    const struct bench_buffer *buffer;
    int status;

    if (layer->operator&& layer->operator->forward ==
        bench_recurrent_forward &&(role == BENCH_WEIGHT || role == BENCH_WEIGHT_GRADIENT ||
                                   role == BENCH_BIAS || role == BENCH_BIAS_GRADIENT))
        return bench_recurrent_read(layer, role, index, values, error);
    buffer = find_array(layer, role, index);

    if (!buffer)
        return dlt_fail(error, "%s has no such array", layer->name);
    if (strncmp(layer->name, "conv_transpose", 14) == 0 &&
        (role == BENCH_WEIGHT || role == BENCH_WEIGHT_GRADIENT))
        return read_transposed(layer, buffer, values, count, error);
    status = bench_buffer_read(layer->context, buffer, values, count, error);
    /* A mask of bytes says what is kept; what is kept is doubled. */
    for (size_t i = 0; status == BENCH_OK && buffer->type == BENCH_U8 && i < count; i++)
        values[i] *= 2;
    return status;
}
