/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "../shapes.h"
#include "onednn.h"

int bench_layer_new(struct bench_context *context, const char *name, struct bench_layer **layer,
                    struct dlt_error *error)
{
    *layer = bench_own_zeroed(&context->owned, 1, sizeof **layer, error);
    if (!*layer)
        return BENCH_NO_MEMORY;
    (*layer)->context = context;
    (*layer)->name = name;
    (*layer)->type = dnnl_f32;
    (*layer)->copies = 1;
    (*layer)->order = context->plan.layers++;
    return BENCH_OK;
}

static void destroy_descriptor(void *object)
{
    dnnl_primitive_desc_destroy(object);
}

int bench_own_descriptor(struct bench_context *context, dnnl_primitive_desc_t pd,
                         struct dlt_error *error)
{
    return bench_own(&context->owned, pd, destroy_descriptor, error) ? BENCH_NO_MEMORY : BENCH_OK;
}

bool bench_is_op(const struct bench_layer *layer, const char *op)
{
    return layer->options.op && strcmp(layer->options.op, op) == 0;
}

bench_md bench_role_md(const struct bench_layer *layer, enum bench_role role, int index)
{
    struct bench_shape shape;

    bench_role_shape(&layer->record, role, index, &shape);
    return bench_md_plain(layer->context, layer->type, shape.rank, shape.dim);
}

bench_md bench_given_layout(const struct bench_layer *layer)
{
    bench_md md;

    if (layer->standalone)
        return bench_role_md(layer, BENCH_INPUT, 0);
    md = layer->input[0]->value->md;
    return bench_md_dense(md) ? md : bench_md_flat(layer->context, md);
}

/* Powers, quotients, roots and logarithms stay away from zero and from negative numbers. */
static bool wants_positive(const struct bench_layer *layer)
{
    static const bool positive[DLT_FUNCTIONS] = {
        [DLT_POW] = true, [DLT_DIV] = true, [DLT_LOG] = true, [DLT_SQRT] = true};

    return layer->record.kind && strcmp(layer->record.kind->name, "elementwise") == 0 &&
           positive[layer->record.u.rowwise.function];
}

int bench_input(struct bench_layer *layer, int index, bench_md md, struct bench_buffer **buffer,
                struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    struct bench_buffer *value;
    struct bench_shape shape;
    int status;

    if (layer->standalone && !layer->input[index]) {
        bool positive = wants_positive(layer);

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

int bench_output(struct bench_layer *layer, bench_md md, struct dlt_error *error)
{
    struct bench_shape shape = {.rank = bench_md_rank(md)};

    if (!md)
        return dlt_fail(error, "%s: oneDNN cannot describe its output", layer->name);
    memcpy(shape.dim, bench_md_dims(md), sizeof(int64_t) * (size_t)shape.rank);
    return bench_tensor_make(layer->context, &shape, md, layer->copies, &layer->output, error);
}

int bench_one_input(struct bench_layer *layer, bench_md md, struct dlt_error *error)
{
    int status = bench_input(layer, 0, md, &layer->converted, error);

    return status ? status : bench_output(layer, md, error);
}

int bench_output_gradient(struct bench_layer *layer, enum dlt_pass pass, bench_md md,
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
    return status ? status : bench_convert(layer, pass, md, gradient, error);
}

int bench_parameter(struct bench_layer *layer, bench_md md, float center, float spread,
                    struct bench_parameter *parameter, struct dlt_error *error)
{
    int status = bench_buffer_create(layer->context, md, layer->copies, &parameter->value, error);

    return status ? status
                  : bench_buffer_fill(layer->context, parameter->value, center, spread, error);
}

int bench_parameter_gradient(struct bench_layer *layer, struct bench_parameter *parameter,
                             struct dlt_error *error)
{
    if (!parameter->value || parameter->gradient)
        return BENCH_OK;
    return bench_buffer_create(layer->context, parameter->value->md, layer->copies,
                               &parameter->gradient, error);
}

int bench_add_input_gradient(struct bench_layer *layer, enum dlt_pass pass, int index,
                             dnnl_primitive_desc_t pd, int argument,
                             const struct bench_argument *others, struct dlt_error *error)
{
    struct bench_tensor *input = layer->input[index];
    struct bench_argument arguments[BENCH_ARGUMENTS] = {{0, NULL}};
    bench_md md = bench_query(
        layer->context, pd, argument == DNNL_ARG_DST ? dnnl_query_dst_md : dnnl_query_diff_src_md);
    struct bench_buffer *target;
    bool accumulate;
    int count = 0;
    int status =
        bench_collect(layer, md, input->value->md, &input->gradient, &target, &accumulate, error);

    if (status)
        return status;
    for (; others[count].index; count++)
        arguments[count] = others[count];
    arguments[count] = (struct bench_argument){argument, target};
    status = bench_add(layer, pass, pd, arguments, error);
    return status ? status : bench_deliver(layer, pass, input->gradient, target, accumulate, error);
}
