/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "../shapes.h"
#include "onednn.h"

enum { MOST_COPIES = 1024 };

static const struct bench_operator operators[] = {
    {"conv1d", bench_weighted_forward, bench_weighted_backward, true, true},
    {"conv2d", bench_weighted_forward, bench_weighted_backward, true, true},
    {"conv3d", bench_weighted_forward, bench_weighted_backward, true, true},
    {"dense", bench_weighted_forward, bench_weighted_backward, true, true},
    {"bmm", bench_bmm_forward, bench_bmm_backward, false, false},
    {"max_pool2d", bench_pool_forward, bench_pool_backward, false, false},
    {"avg_pool2d", bench_pool_forward, bench_pool_backward, false, false},
    {"batch_norm", bench_batch_norm_forward, bench_norm_backward, true, false},
    {"layer_norm", bench_layer_norm_forward, bench_norm_backward, true, false},
    {"softmax", bench_softmax_forward, bench_softmax_backward, false, false},
    {"elementwise", bench_elementwise_forward, bench_elementwise_backward, false, false},
};

static const struct bench_operator *find_operator(const struct dlt_record *record)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strcmp(operators[i].kind, record->kind->name) == 0)
            return &operators[i];
    return NULL;
}

static bool supports_function(const struct dlt_rowwise *r)
{
    static const int operands[DLT_FUNCTIONS] = {
        [DLT_RELU] = 1, [DLT_GELU] = 1,    [DLT_SIGMOID] = 1, [DLT_TANH] = 1,
        [DLT_POW] = 1,  [DLT_ADD] = 2,     [DLT_SUB] = 2,     [DLT_MUL] = 2,
        [DLT_DIV] = 2,  [DLT_DROPOUT] = 1, [DLT_RELU6] = 1};

    if (r->function == DLT_CONCAT)
        return r->operands >= 1 && r->operands <= BENCH_OPERANDS;
    return r->function > 0 && r->function < DLT_FUNCTIONS && operands[r->function] == r->operands;
}

bool bench_supports(struct bench_context *context, const struct dlt_record *record)
{
    const struct bench_operator *operator= find_operator(record);

    (void)context;
    if (record->dtype != DLT_FLOAT32 || record->math != DLT_IEEE ||
        record->activation != DLT_FUNCTION_NONE)
        return false;
    if (strcmp(record->kind->name, "optimizer_update") == 0)
        return record->pass == DLT_UPDATE && record->optimizer != DLT_OPTIMIZER_NONE;
    if (!operator||(strcmp(record->kind->name, "elementwise") == 0 &&
                    !supports_function(&record->u.rowwise)))
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

static void destroy_descriptor(void *object)
{
    dnnl_primitive_desc_destroy(object);
}

int bench_own_descriptor(struct bench_context *context, dnnl_primitive_desc_t pd,
                         struct dlt_error *error)
{
    return bench_own(context, pd, destroy_descriptor, error) ? BENCH_NO_MEMORY : BENCH_OK;
}

dnnl_memory_desc_t bench_query(dnnl_primitive_desc_t pd, dnnl_query_t what)
{
    return *dnnl_primitive_desc_query_md(pd, what, 0);
}

int bench_input(struct bench_layer *layer, int index, const dnnl_memory_desc_t *md,
                struct bench_buffer **buffer, struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    struct bench_buffer *value;
    struct bench_shape shape;
    int status;

    if (layer->standalone && !layer->input[index]) {
        /* Powers and quotients stay away from zero and from negative numbers. */
        bool positive = layer->record.kind && !strcmp(layer->record.kind->name, "elementwise") &&
                        (layer->record.u.rowwise.function == DLT_POW ||
                         layer->record.u.rowwise.function == DLT_DIV);

        bench_role_shape(&layer->record, BENCH_INPUT, index, &shape);
        status = bench_tensor_make(context, &shape, md, layer->copies, &layer->input[index], error);
        if (status == BENCH_OK)
            status = bench_buffer_fill(context, layer->input[index]->value, positive ? 1.5f : 0,
                                       positive ? 0.5f : 1, error);
        if (status)
            return status;
    }
    value = layer->input[index]->value;
    status = bench_convert(layer, DLT_FORWARD, md, &value, error);
    if (buffer)
        *buffer = value;
    return status;
}

int bench_output(struct bench_layer *layer, const dnnl_memory_desc_t *md, struct dlt_error *error)
{
    struct bench_shape shape = {.rank = md->ndims};

    memcpy(shape.dim, md->dims, sizeof(int64_t) * (size_t)md->ndims);
    return bench_tensor_make(layer->context, &shape, md, layer->copies, &layer->output, error);
}

int bench_output_gradient(struct bench_layer *layer, const dnnl_memory_desc_t *md,
                          struct bench_buffer **gradient, struct dlt_error *error)
{
    int status = BENCH_OK;

    if (!layer->output->gradient) {
        if (!layer->standalone)
            return dlt_fail(error, "%s: nothing reads its output, so it has no gradient",
                            layer->name);
        status =
            bench_buffer_create(layer->context, md, layer->copies, &layer->output->gradient, error);
        if (status == BENCH_OK)
            status = bench_buffer_fill(layer->context, layer->output->gradient, 0, 1, error);
    }
    *gradient = layer->output->gradient;
    return status;
}

int bench_parameter(struct bench_layer *layer, const dnnl_memory_desc_t *md, float center,
                    float spread, struct bench_parameter *parameter, struct dlt_error *error)
{
    int status = bench_buffer_create(layer->context, md, layer->copies, &parameter->value, error);

    return status ? status
                  : bench_buffer_fill(layer->context, parameter->value, center, spread, error);
}

int bench_add_input_gradient(struct bench_layer *layer, enum dlt_pass pass, int index,
                             dnnl_primitive_desc_t pd, int argument,
                             const struct bench_argument *others, struct dlt_error *error)
{
    struct bench_tensor *input = layer->input[index];
    struct bench_argument arguments[BENCH_ARGUMENTS] = {{0, NULL}};
    dnnl_memory_desc_t md =
        bench_query(pd, argument == DNNL_ARG_DST ? dnnl_query_dst_md : dnnl_query_diff_src_md);
    struct bench_buffer *target;
    bool accumulate;
    int count = 0;
    int status =
        bench_collect(layer, &md, &input->value->md, &input->gradient, &target, &accumulate, error);

    if (status)
        return status;
    while (others[count].index) {
        arguments[count] = others[count];
        count++;
    }
    arguments[count] = (struct bench_argument){argument, target};
    status = bench_add(layer, pass, pd, arguments, error);
    return status ? status : bench_deliver(layer, pass, input->gradient, target, accumulate, error);
}

int bench_layer_new(struct bench_context *context, const char *name, struct bench_layer **layer,
                    struct dlt_error *error)
{
    *layer = bench_own_zeroed(context, 1, sizeof **layer, error);
    if (!*layer)
        return BENCH_NO_MEMORY;
    (*layer)->context = context;
    (*layer)->name = name;
    (*layer)->copies = 1;
    return BENCH_OK;
}

static double role_bytes(const struct dlt_record *record, enum bench_role role, int index)
{
    struct bench_shape shape;

    if (!bench_role_shape(record, role, index, &shape))
        return 0;
    return (double)sizeof(float) * (double)bench_shape_count(&shape);
}

/* As many copies as outgrow the last-level cache twice with what one pass touches, gradients held
 * beside the values in the same memory. Very small operators cannot be made cold this way: their
 * own bookkeeping would have to outgrow the cache. */
static void choose_copies(struct bench_layer *layer, int wanted)
{
    const struct bench_context *context = layer->context;
    const struct dlt_record *record = &layer->record;
    double touched = role_bytes(record, BENCH_OUTPUT, 0), held;
    double weights = role_bytes(record, BENCH_WEIGHT, 0);
    double copies;

    for (int i = 0; i < bench_operands(record); i++)
        touched += role_bytes(record, BENCH_INPUT, i);
    if (record->pass == DLT_UPDATE) {
        touched =
            4.0 * (double)record->u.update.elements * (2 + dlt_optimizer_states(record->optimizer));
        weights = 0;
    }
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
        if (strcmp(layer->name, "elementwise") != 0 &&
            bench_shape_count(&inputs[i]->shape) != bench_shape_count(&shape))
            return dlt_fail(error, "%s: input %zu has %zu elements, not %zu", layer->name, i,
                            bench_shape_count(&inputs[i]->shape), bench_shape_count(&shape));
        layer->input[i] = inputs[i];
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
        dlt_fail(error, "onednn does not run %s (pass %s, %s)", record->kind->name,
                 dlt_pass_names[record->pass], dlt_dtype_names[record->dtype]);
        return BENCH_UNSUPPORTED;
    }
    status = bench_layer_new(context, record->kind->name, &made, error);
    if (status)
        return status;
    made->record = *record;
    made->axis = options->axis;
    status = take_inputs(made, record, inputs, input_count, error);
    if (status)
        return status;
    choose_copies(made, made->standalone ? options->copies : 1);
    if (record->pass == DLT_UPDATE)
        status = bench_update_arrays(made, error);
    else
        status = find_operator(record)->forward(made, error);
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
    return status;
}

int bench_layer_train(struct bench_layer *layer, bool data_gradient, bool weight_gradient,
                      const struct bench_training *training, struct dlt_error *error)
{
    const struct bench_operator *operator;
    int status;

    if (layer->is_view)
        return data_gradient ? bench_view_backward(layer, error) : BENCH_OK;
    if (layer->is_loss)
        return BENCH_OK;
    operator= find_operator(&layer->record);
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

int bench_layer_read(struct bench_layer *layer, enum bench_role role, int index, double *values,
                     size_t count, struct dlt_error *error)
{
    struct bench_buffer *buffer = find_array(layer, role, index);

    if (!buffer)
        return dlt_fail(error, "%s has no such array", layer->name);
    return bench_buffer_read(layer->context, buffer, values, count, error);
}
