/* SPDX-License-Identifier: Apache-2.0 */

/* rnn, gru and lstm: one primitive for each layer, as layers differ in the size of their input.
 * torch.nn.GRU is what oneDNN calls linear before reset. */
#include <math.h>
#include <string.h>

#include "../shapes.h"
#include "onednn.h"

enum { WEIGHTS, WEIGHTS_ITER, BIAS, ARRAYS };

/* One layer. */
struct cell {
    struct bench_rnn values;
    dnnl_primitive_desc_t forward;
    struct bench_tensor *input, *output; /* the first's input, the last's output are the layer's */
    struct bench_buffer *source, *workspace;
    /* States: zero before the first step, what the last leaves, and the first's gradient, which
     * nobody wants. oneDNN 2.6 makes wrong gradients without them. */
    struct bench_buffer *start, *end, *end_c, *unused, *unused_c;
};

struct cells {
    struct cell *cell;
    int count;
    struct bench_buffer **kept;
};

static bool is_lstm(const struct bench_layer *layer)
{
    return strcmp(layer->record.kind->name, "lstm") == 0;
}

static bench_md layout_of(struct bench_layer *layer, enum bench_role role, int index)
{
    struct bench_shape shape;

    if (!bench_role_shape(&layer->record, role, index, &shape))
        return NULL;
    return bench_md_plain(layer->context, dnnl_f32, shape.rank, shape.dim);
}

static struct bench_parameter *array_of(struct bench_layer *layer, int index, int array)
{
    return &layer->arrays[ARRAYS * index + array];
}

/* Weights of about 1 / sqrt(hidden), as torch.nn initialises them. */
static int make_arrays(struct bench_layer *layer, int index, struct dlt_error *error)
{
    float spread = (float)(1 / sqrt((double)layer->record.u.recurrent.hidden_size));
    int status = bench_parameter(layer, layout_of(layer, BENCH_WEIGHT, 2 * index), 0, spread,
                                 array_of(layer, index, WEIGHTS), error);

    if (status == BENCH_OK)
        status = bench_parameter(layer, layout_of(layer, BENCH_WEIGHT, 2 * index + 1), 0, spread,
                                 array_of(layer, index, WEIGHTS_ITER), error);
    if (status == BENCH_OK)
        status = bench_parameter(layer, layout_of(layer, BENCH_BIAS, index), 0, spread,
                                 array_of(layer, index, BIAS), error);
    return status;
}

static int make_states(struct bench_layer *layer, struct cell *cell, struct dlt_error *error)
{
    struct bench_buffer **made[] = {&cell->start, &cell->end, &cell->end_c, &cell->unused,
                                    &cell->unused_c};
    int status = BENCH_OK;

    for (size_t i = 0; i < sizeof made / sizeof *made && status == BENCH_OK; i++)
        status = bench_buffer_create(layer->context, cell->values.iter, 1, made[i], error);
    return status ? status : bench_buffer_fill(layer->context, cell->start, 0, 0, error);
}

static int make_tensors(struct bench_layer *layer, struct cells *c, int index,
                        struct dlt_error *error)
{
    struct cell *cell = &c->cell[index];
    const struct dlt_recurrent *r = &layer->record.u.recurrent;
    struct bench_shape shape = {3,
                                {r->length, r->batch, r->hidden_size * (r->bidirectional ? 2 : 1)}};
    int status;

    if (index == 0) {
        status = bench_input(layer, 0, cell->values.src, &cell->source, error);
        cell->input = layer->input[0];
    } else {
        cell->input = c->cell[index - 1].output;
        cell->source = cell->input->value;
        status = BENCH_OK;
    }
    if (status == BENCH_OK)
        status = bench_tensor_make(layer->context, &shape, cell->values.dst, layer->copies,
                                   &cell->output, error);
    if (status == BENCH_OK)
        status = bench_buffer_create(
            layer->context, bench_query(layer->context, cell->forward, dnnl_query_workspace_md),
            layer->copies, &cell->workspace, error);
    return status ? status : make_states(layer, cell, error);
}

static int add_cell(struct bench_layer *layer, struct cells *c, int index, struct dlt_error *error)
{
    struct cell *cell = &c->cell[index];
    const struct dlt_recurrent *r = &layer->record.u.recurrent;
    int64_t directions = r->bidirectional ? 2 : 1;
    int64_t source[] = {r->length, r->batch, index ? r->hidden_size * directions : r->in_features};
    int64_t result[] = {r->length, r->batch, r->hidden_size * directions};
    int64_t state[] = {1, directions, r->batch, r->hidden_size};
    struct bench_rnn *v = &cell->values;
    bool lstm = is_lstm(layer);
    int status;

    *v = (struct bench_rnn){.bidirectional = r->bidirectional != 0,
                            .src = bench_md_plain(layer->context, dnnl_f32, 3, source),
                            .weights = layout_of(layer, BENCH_WEIGHT, 2 * index),
                            .weights_iter = layout_of(layer, BENCH_WEIGHT, 2 * index + 1),
                            .bias = layout_of(layer, BENCH_BIAS, index),
                            .iter = bench_md_plain(layer->context, dnnl_f32, 4, state),
                            .dst = bench_md_plain(layer->context, dnnl_f32, 3, result)};
    status = bench_pd_rnn(layer->context, layer->record.kind->name, v, NULL, NULL, &cell->forward,
                          error);
    if (status == BENCH_OK)
        status = bench_own_descriptor(layer->context, cell->forward, error);
    if (status == BENCH_OK)
        status = make_arrays(layer, index, error);
    if (status == BENCH_OK)
        status = make_tensors(layer, c, index, error);
    if (status)
        return status;
    return bench_add(layer, DLT_FORWARD, cell->forward,
                     (struct bench_argument[]){
                         {DNNL_ARG_SRC_LAYER, cell->source},
                         {DNNL_ARG_SRC_ITER, cell->start},
                         {DNNL_ARG_DST_ITER, cell->end},
                         {DNNL_ARG_WEIGHTS_LAYER, array_of(layer, index, WEIGHTS)->value},
                         {DNNL_ARG_WEIGHTS_ITER, array_of(layer, index, WEIGHTS_ITER)->value},
                         {DNNL_ARG_BIAS, array_of(layer, index, BIAS)->value},
                         {DNNL_ARG_DST_LAYER, cell->output->value},
                         {DNNL_ARG_WORKSPACE, cell->workspace},
                         {lstm ? DNNL_ARG_SRC_ITER_C : 0, cell->start},
                         {DNNL_ARG_DST_ITER_C, cell->end_c},
                         {0, NULL}},
                     error);
}

int bench_recurrent_forward(struct bench_layer *layer, struct dlt_error *error)
{
    int layers = (int)layer->record.u.recurrent.num_layers;
    struct cells *c = layer->extra = bench_own_zeroed(&layer->context->owned, 1, sizeof *c, error);
    int status = BENCH_OK;

    if (!c)
        return BENCH_NO_MEMORY;
    c->count = layers;
    c->cell = bench_own_zeroed(&layer->context->owned, (size_t)layers, sizeof *c->cell, error);
    layer->array_count = ARRAYS * (size_t)layers;
    layer->arrays =
        bench_own_zeroed(&layer->context->owned, layer->array_count, sizeof *layer->arrays, error);
    layer->kept =
        bench_own_zeroed(&layer->context->owned, 2 * (size_t)layers, sizeof(void *), error);
    if (!c->cell || !layer->arrays || !layer->kept)
        return BENCH_NO_MEMORY;
    for (int i = 0; i < layers && status == BENCH_OK; i++) {
        status = add_cell(layer, c, i, error);
        layer->kept[layer->kept_count++] = c->cell[i].workspace;
        layer->kept[layer->kept_count++] = status ? NULL : c->cell[i].output->value;
    }
    if (status == BENCH_OK)
        layer->output = c->cell[layers - 1].output;
    return status;
}

/* The gradient of what a cell made: the layer's output's, or what the next cell has left. */
static int cell_gradient(struct bench_layer *layer, struct cells *c, int index,
                         struct bench_buffer **gradient, struct dlt_error *error)
{
    bench_md md = c->cell[index].values.dst;

    if (index == c->count - 1)
        return bench_output_gradient(layer, DLT_BACKWARD, md, gradient, error);
    *gradient = c->cell[index].output->gradient;
    return BENCH_OK;
}

/* The backward primitive wants its weights turned: converted in each pass, as they change. */
static int turned_weights(struct bench_layer *layer, int index, dnnl_primitive_desc_t pd,
                          struct bench_buffer *weights[2], struct dlt_error *error)
{
    int status;

    weights[0] = array_of(layer, index, WEIGHTS)->value;
    weights[1] = array_of(layer, index, WEIGHTS_ITER)->value;
    status = bench_convert(layer, DLT_BACKWARD,
                           bench_query_at(layer->context, pd, dnnl_query_weights_md, 0),
                           &weights[0], error);
    return status ? status
                  : bench_convert(layer, DLT_BACKWARD,
                                  bench_query_at(layer->context, pd, dnnl_query_weights_md, 1),
                                  &weights[1], error);
}

/* Weights' gradients are added to by the primitive, so they start at zero. */
static int make_gradients(struct bench_layer *layer, int index, struct dlt_error *error)
{
    int status = BENCH_OK;

    for (int i = 0; i < ARRAYS && status == BENCH_OK; i++) {
        struct bench_parameter *p = array_of(layer, index, i);

        status = bench_parameter_gradient(layer, p, error);
        if (status == BENCH_OK)
            status = bench_add_zero(layer, DLT_BACKWARD, p->gradient, error);
    }
    return status;
}

static int add_cell_back(struct bench_layer *layer, struct cells *c, int index,
                         dnnl_primitive_desc_t pd, struct dlt_error *error)
{
    struct cell *cell = &c->cell[index];
    struct bench_buffer *gradient, *weights[2], *target = NULL;
    bool accumulate = false;
    int status = cell_gradient(layer, c, index, &gradient, error);

    if (status == BENCH_OK)
        status = turned_weights(layer, index, pd, weights, error);
    if (status == BENCH_OK)
        status = make_gradients(layer, index, error);
    if (status == BENCH_OK)
        status = bench_collect(layer, cell->values.src, cell->input->value->md,
                               &cell->input->gradient, &target, &accumulate, error);
    if (status == BENCH_OK)
        status = bench_add(
            layer, DLT_BACKWARD, pd,
            (struct bench_argument[]){
                {DNNL_ARG_SRC_LAYER, cell->source},
                {DNNL_ARG_SRC_ITER, cell->start},
                {DNNL_ARG_DST_ITER, cell->end},
                {DNNL_ARG_DIFF_DST_ITER, cell->start},
                {DNNL_ARG_DIFF_SRC_ITER, cell->unused},
                {DNNL_ARG_WEIGHTS_LAYER, weights[0]},
                {DNNL_ARG_WEIGHTS_ITER, weights[1]},
                {DNNL_ARG_BIAS, array_of(layer, index, BIAS)->value},
                {DNNL_ARG_DST_LAYER, cell->output->value},
                {DNNL_ARG_WORKSPACE, cell->workspace},
                {DNNL_ARG_DIFF_DST_LAYER, gradient},
                {DNNL_ARG_DIFF_SRC_LAYER, target},
                {DNNL_ARG_DIFF_WEIGHTS_LAYER, array_of(layer, index, WEIGHTS)->gradient},
                {DNNL_ARG_DIFF_WEIGHTS_ITER, array_of(layer, index, WEIGHTS_ITER)->gradient},
                {DNNL_ARG_DIFF_BIAS, array_of(layer, index, BIAS)->gradient},
                {is_lstm(layer) ? DNNL_ARG_SRC_ITER_C : 0, cell->start},
                {DNNL_ARG_DST_ITER_C, cell->end_c},
                {DNNL_ARG_DIFF_DST_ITER_C, cell->start},
                {DNNL_ARG_DIFF_SRC_ITER_C, cell->unused_c},
                {0, NULL}},
            error);
    return status ? status
                  : bench_deliver(layer, DLT_BACKWARD, cell->input->gradient, target, accumulate,
                                  error);
}

int bench_recurrent_backward(struct bench_layer *layer, bool data, bool weight,
                             struct dlt_error *error)
{
    struct cells *c = layer->extra;
    int status = BENCH_OK;

    (void)data;
    (void)weight;
    for (int i = c->count - 1; i >= 0 && status == BENCH_OK; i--) {
        struct bench_rnn values = c->cell[i].values, gradients = values;
        const int64_t *in = NULL;
        dnnl_primitive_desc_t pd;

        in = bench_md_dims(values.weights);
        values.weights = bench_md_any(layer->context, dnnl_f32, 5, in);
        in = bench_md_dims(values.weights_iter);
        values.weights_iter = bench_md_any(layer->context, dnnl_f32, 5, in);
        status = bench_pd_rnn(layer->context, layer->record.kind->name, &values, &gradients,
                              c->cell[i].forward, &pd, error);
        if (status)
            return status;
        status = add_cell_back(layer, c, i, pd, error);
        dnnl_primitive_desc_destroy(pd);
    }
    return status;
}
