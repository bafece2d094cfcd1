/* SPDX-License-Identifier: Apache-2.0 */

/* Layers that compute nothing: the same elements in another shape or in other places; and the loss.
 */
#include <stdlib.h>
#include <string.h>

#include "../shapes.h"
#include "cuda.h"

/* A layer with one input, which it reads in row-major order, and its output's shape. */
static int make_view(struct bench_context *context, const struct bench_operator *operator,
                     struct bench_tensor * tensor, const struct bench_shape *shape,
                     struct bench_layer **layer, struct dlt_error *error)
{
    struct bench_layer *made;
    struct bench_tensor *output;
    int status = bench_layer_new(context, operator->kind, &made, error);

    if (status)
        return status;
    made->operator= operator;
    made->input[0] = tensor;
    made->input_count = 1;
    made->type = tensor->value->type;
    made->value[0] = tensor->value;
    output = bench_own_zeroed(&context->owned, 1, sizeof *output, error);
    if (!output)
        return BENCH_NO_MEMORY;
    output->context = context;
    output->shape = *shape;
    made->output = output;
    *layer = made;
    return bench_convert(made, DLT_FORWARD, made->type, false, &made->value[0], error);
}

static int view_backward(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error)
{
    struct bench_tensor *tensor = layer->input[0];
    struct bench_buffer *gradient = NULL;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_buffer_alias(layer->context, gradient, &tensor->shape, 0, &gradient, error);
    return status ? status : bench_deliver(layer, DLT_BACKWARD_DATA, 0, gradient, error);
}

int bench_view_create(struct bench_context *context, struct bench_tensor *tensor,
                      const struct bench_shape *shape, struct bench_layer **layer,
                      struct bench_tensor **view, struct dlt_error *error)
{
    static const struct bench_operator operator= {.kind = "view", .backward = view_backward};
    int status;

    if (bench_shape_count(&tensor->shape) != bench_shape_count(shape))
        return dlt_fail(error, "a view has to have as many elements as its tensor");
    status = make_view(context, &operator, tensor, shape, layer, error);
    if (status)
        return status;
    *view = (*layer)->output;
    return bench_buffer_alias(context, (*layer)->value[0], shape, 0, &(*view)->value, error);
}

/* ---- maps ---- */

struct map {
    struct bench_map_arguments arguments;
    const struct bench_buffer *table[BENCH_MAP_RANK];
    bool once; /* no element is read twice */
    bool all;  /* every element is read */
};

static int descending(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (y[0] > x[0]) - (y[0] < x[0]);
}

/* Strides that each pass over all that the smaller ones reach never meet an element twice. Tables
 * are not looked into. */
static bool reads_once(const struct bench_map *map)
{
    int64_t step[BENCH_RANK][2], reach = 0; /* stride and size */
    int count = 0;

    for (int d = 0; d < map->shape.rank; d++) {
        if (map->table[d])
            return false;
        if (map->shape.dim[d] == 1)
            continue;
        step[count][0] = llabs(map->stride[d]);
        step[count++][1] = map->shape.dim[d];
    }
    qsort(step, (size_t)count, sizeof *step, descending);
    for (int i = count - 1; i >= 0; i--) {
        if (step[i][0] <= reach)
            return false;
        reach += step[i][0] * (step[i][1] - 1);
    }
    return true;
}

static int add_map(struct bench_layer *layer, enum dlt_pass pass, const char *kernel,
                   const struct bench_buffer *in, const struct bench_buffer *out,
                   struct dlt_error *error)
{
    struct map *m = layer->extra;
    struct bench_call call = {
        .kernel = kernel,
        .type = layer->type,
        .grid = {bench_blocks(layer->context, m->arguments.count)},
        BENCH_ARGUMENTS(m->arguments),
        .pointer = {BENCH_POINTER(m->arguments, in, in), BENCH_POINTER(m->arguments, out, out)}};

    /* Tables do not move: their addresses can stand in the arguments. */
    for (int d = 0; d < m->arguments.rank; d++)
        if (m->table[d])
            m->arguments.table[d] = bench_buffer_data(m->table[d], 0);
    return bench_add_call(layer, pass, &call, error);
}

/* What is read several times adds up in float32; what is never read is zero. */
static int map_backward(struct bench_layer *layer, bool data, bool weight, struct dlt_error *error)
{
    const struct map *m = layer->extra;
    struct bench_buffer *gradient = NULL, *target = NULL;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK && m->once)
        status = bench_collect(layer, 0, &target, error);
    else if (status == BENCH_OK)
        status = bench_buffer_create(layer->context, BENCH_F32, false, &layer->input[0]->shape, 1,
                                     &target, error);
    if (status == BENCH_OK && !m->all)
        status = bench_add_zero(layer, DLT_BACKWARD_DATA, target, error);
    if (status == BENCH_OK)
        status = add_map(layer, DLT_BACKWARD_DATA, m->once ? "map_back" : "map_sum", gradient,
                         target, error);
    return status ? status : bench_deliver(layer, DLT_BACKWARD_DATA, 0, target, error);
}

/* Copies a table to the device. */
static int make_table(struct bench_layer *layer, int d, const int64_t *table, int64_t size,
                      struct dlt_error *error)
{
    struct map *m = layer->extra;
    const struct bench_shape shape = {1, {size * (int64_t)sizeof(long long)}};
    struct bench_buffer *made;
    int status = bench_buffer_create(layer->context, BENCH_U8, false, &shape, 1, &made, error);

    if (status == BENCH_OK)
        status = bench_buffer_write(layer->context, made, table, error);
    m->table[d] = made;
    return status;
}

int bench_map_create(struct bench_context *context, struct bench_tensor *tensor,
                     const struct bench_map *map, struct bench_layer **layer,
                     struct bench_tensor **mapped, struct dlt_error *error)
{
    static const struct bench_operator operator= {.kind = "map", .backward = map_backward};
    struct bench_layer *made;
    struct map *m;
    int status = make_view(context, &operator, tensor, &map->shape, &made, error);

    if (status)
        return status;
    m = made->extra = bench_own_zeroed(&context->owned, 1, sizeof *m, error);
    if (!m)
        return BENCH_NO_MEMORY;
    m->once = reads_once(map);
    m->all = m->once && bench_shape_count(&map->shape) == bench_shape_count(&tensor->shape);
    m->arguments.count = (long long)bench_shape_count(&map->shape);
    m->arguments.start = map->start;
    m->arguments.rank = map->shape.rank;
    for (int d = 0; d < map->shape.rank && status == BENCH_OK; d++) {
        m->arguments.dim[d] = map->shape.dim[d];
        m->arguments.stride[d] = map->stride[d];
        if (map->table[d])
            status = make_table(made, d, map->table[d], map->shape.dim[d], error);
    }
    if (status == BENCH_OK)
        status = bench_buffer_create(context, made->type, false, &map->shape, 1,
                                     &made->output->value, error);
    if (status)
        return status;
    *layer = made;
    *mapped = made->output;
    return add_map(made, DLT_FORWARD, "map", made->value[0], made->output->value, error);
}

/* ---- a parameter as a tensor: what its readers' gradients add up to is its own ---- */

static int parameter_backward(struct bench_layer *layer, bool data, bool weight,
                              struct dlt_error *error)
{
    (void)data;
    (void)weight;
    return bench_output_gradient(layer, DLT_BACKWARD_WEIGHT, &layer->weight.gradient, error);
}

int bench_parameter_create(struct bench_context *context, const struct bench_shape *shape,
                           struct bench_layer **layer, struct bench_tensor **tensor,
                           struct dlt_error *error)
{
    static const struct bench_operator operator= {
        .kind = "parameter", .backward = parameter_backward, .weights = true};
    struct bench_layer *made;
    int status = bench_layer_new(context, operator.kind, &made, error);

    if (status)
        return status;
    made->operator= & operator;
    status = bench_tensor_create(context, shape, &made->output, error);
    if (status)
        return status;
    made->weight.value = made->output->value;
    *layer = made;
    *tensor = made->output;
    return BENCH_OK;
}

/* ---- the loss ---- */

int bench_loss_create(struct bench_context *context, struct bench_tensor *scores,
                      struct bench_layer **layer, struct dlt_error *error)
{
    static const struct bench_operator operator= {.kind = "loss"};
    struct bench_loss_arguments loss = {.rows = scores->shape.dim[0],
                                        .columns = (int)scores->shape.dim[1]};
    struct bench_layer *made;
    struct bench_buffer *label;
    int status;

    if (scores->shape.rank != 2)
        return dlt_fail(error, "the loss needs scores of shape [rows, classes]");
    status = make_view(context, &operator, scores, &scores->shape, &made, error);
    if (status)
        return status;
    *layer = made;
    status = bench_scratch(made, BENCH_I32, loss.rows, &label, error);
    if (status == BENCH_OK)
        status = bench_buffer_labels(context, label, loss.columns, error);
    if (status == BENCH_OK)
        status = bench_scratch(made, BENCH_F32, loss.rows, &made->loss, error);
    if (status == BENCH_OK) /* it is read after the step */
        status = bench_buffer_place(made->loss, error);
    if (status == BENCH_OK)
        status = bench_buffer_create(context, made->type, false, &scores->shape, 1,
                                     &scores->gradient, error);
    if (status)
        return status;
    made->operator= NULL; /* nothing is left for a backward pass */
    return bench_add_call(
        made, DLT_FORWARD,
        &(struct bench_call){.kernel = "loss",
                             .type = made->type,
                             .grid = {bench_row_blocks(loss.rows)},
                             .block = bench_row_block(loss.columns),
                             BENCH_ARGUMENTS(loss),
                             .pointer = {BENCH_POINTER(loss, scores, made->value[0]),
                                         BENCH_POINTER(loss, gradient, scores->gradient),
                                         BENCH_POINTER(loss, label, label),
                                         BENCH_POINTER(loss, loss, made->loss)}},
        error);
}

double bench_loss_value(struct bench_layer *layer)
{
    size_t rows = layer->loss->count;
    double *losses = calloc(rows + 1, sizeof *losses), sum = 0;
    struct dlt_error error;

    if (!losses || bench_buffer_read(layer->context, layer->loss, losses, rows, &error)) {
        free(losses);
        return 0;
    }
    for (size_t i = 0; i < rows; i++)
        sum += losses[i] / (double)rows;
    free(losses);
    return sum;
}
