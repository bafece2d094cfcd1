/* SPDX-License-Identifier: Apache-2.0 */

/* Cross-entropy against random labels: the end of a network, and the operator. */
#include <math.h>
#include <string.h>

#include "../shapes.h"
#include "onednn.h"

struct rows {
    struct bench_buffer *scores, *gradient;
    struct bench_buffer *change; /* the operator's: the mean's gradient */
    int32_t *label;
    double *loss; /* of each row */
    size_t rows, classes;
    /* Of the copy at hand. */
    const float *from;
    float *to;
    float scale; /* the loss's own gradient */
};

/* loss = log(sum exp z) - z[label]; its gradient, for the mean over rows, (softmax(z) - e) / rows.
 */
static void cross_entropy(void *data, size_t from, size_t to)
{
    const struct rows *r = data;

    for (size_t row = from; row < to; row++) {
        const float *z = r->from + row * r->classes;
        float *g = r->to + row * r->classes;
        float largest = z[0], sum = 0;
        size_t label = (size_t)r->label[row];

        for (size_t i = 1; i < r->classes; i++)
            largest = z[i] > largest ? z[i] : largest;
        for (size_t i = 0; i < r->classes; i++)
            sum += g[i] = expf(z[i] - largest);
        for (size_t i = 0; i < r->classes; i++)
            g[i] /= sum * (float)r->rows;
        g[label] -= 1 / (float)r->rows;
        /* The largest score alone contributes exp(0). */
        r->loss[row] = (double)(logf(fmaxf(sum, 1)) + largest - z[label]);
    }
}

static void run_loss(struct bench_layer *layer, void *data, int copy)
{
    struct rows *r = data;

    r->from = bench_buffer_data(r->scores, copy);
    r->to = bench_buffer_data(r->gradient, copy);
    bench_parallel(layer->context->threads, r->rows, 16, cross_entropy, r);
    layer->loss = 0;
    for (size_t i = 0; i < r->rows; i++)
        layer->loss += r->loss[i] / (double)r->rows;
}

static struct rows *make_rows(struct bench_layer *layer, int64_t rows, int64_t classes,
                              struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    struct rows *r = bench_own_zeroed(&context->owned, 1, sizeof *r, error);

    if (!r)
        return NULL;
    r->rows = (size_t)rows;
    r->classes = (size_t)classes;
    r->label = bench_own_zeroed(&context->owned, r->rows, sizeof *r->label, error);
    r->loss = bench_own_zeroed(&context->owned, r->rows, sizeof *r->loss, error);
    if (!r->label || !r->loss)
        return NULL;
    for (size_t i = 0; i < r->rows; i++)
        r->label[i] = (int32_t)(bench_random(context) % r->classes);
    return r;
}

int bench_loss_create(struct bench_context *context, struct bench_tensor *scores,
                      struct bench_layer **layer, struct dlt_error *error)
{
    bench_md plain = bench_md_plain(context, dnnl_f32, scores->shape.rank, scores->shape.dim);
    struct bench_layer *made;
    struct rows *r;
    int status = bench_layer_new(context, "loss", &made, error);

    if (status)
        return status;
    *layer = made;
    if (scores->shape.rank != 2)
        return dlt_fail(error, "the loss needs scores of shape [rows, classes]");
    r = made->extra = make_rows(made, scores->shape.dim[0], scores->shape.dim[1], error);
    if (!r)
        return BENCH_NO_MEMORY;
    r->scores = scores->value;
    status = bench_convert(made, DLT_FORWARD, plain, &r->scores, error);
    if (status == BENCH_OK)
        status = bench_buffer_create(context, plain, 1, &scores->gradient, error);
    r->gradient = scores->gradient;
    if (status)
        return status;
    return bench_add_loop(made, DLT_FORWARD, run_loss, r,
                          (struct bench_buffer *const[]){r->scores, r->gradient, NULL}, error);
}

double bench_loss_value(struct bench_layer *layer)
{
    return layer->loss;
}

/* ---- the operator, as frameworks run it: log_softmax and the labels' mean forward; backward the
 * mean's gradient, an array of its own, and log_softmax's ---- */

static void run_mean(struct bench_layer *layer, void *data, int copy)
{
    const struct rows *r = data;
    const float *p = bench_buffer_data(layer->workspace, copy);
    float *mean = bench_buffer_data(layer->output->value, copy);

    layer->loss = 0;
    for (size_t i = 0; i < r->rows; i++)
        layer->loss -= (double)p[i * r->classes + (size_t)r->label[i]] / (double)r->rows;
    *mean = (float)layer->loss;
}

/* The labels as numbers, for whoever checks the result. */
static int show_labels(struct bench_layer *layer, const struct rows *r, struct dlt_error *error)
{
    int status = bench_buffer_create(layer->context, bench_role_md(layer, BENCH_MASK, 0), 1,
                                     &layer->mask, error);
    float *shown = status ? NULL : bench_buffer_data(layer->mask, 0);

    for (size_t i = 0; shown && i < r->rows; i++)
        shown[i] = (float)r->label[i];
    return status;
}

int bench_cross_entropy_forward(struct bench_layer *layer, struct dlt_error *error)
{
    const struct dlt_rowwise *shape = &layer->record.u.rowwise;
    bench_md md = bench_role_md(layer, BENCH_INPUT, 0);
    dnnl_primitive_desc_t pd;
    struct rows *r = layer->extra = make_rows(layer, shape->rows, shape->columns, error);
    int status = r ? bench_input(layer, 0, md, &layer->converted, error) : BENCH_NO_MEMORY;

    if (status == BENCH_OK)
        status = bench_output(layer, bench_role_md(layer, BENCH_OUTPUT, 0), error);
    if (status == BENCH_OK)
        status = bench_buffer_create(layer->context, md, layer->copies, &layer->workspace, error);
    if (status == BENCH_OK && layer->standalone)
        status = show_labels(layer, r, error);
    if (status == BENCH_OK)
        status = bench_pd_softmax(layer->context, DLT_FORWARD, true, md, 1, NULL, &pd, error);
    if (status == BENCH_OK)
        status = bench_own_descriptor(layer->context, pd, error);
    if (status)
        return status;
    layer->forward = pd;
    status = bench_add(layer, DLT_FORWARD, pd,
                       (struct bench_argument[]){{DNNL_ARG_SRC, layer->converted},
                                                 {DNNL_ARG_DST, layer->workspace},
                                                 {0, NULL}},
                       error);
    return status ? status
                  : bench_add_loop(layer, DLT_FORWARD, run_mean, r,
                                   (struct bench_buffer *const[]){layer->workspace,
                                                                  layer->output->value, NULL},
                                   error);
}

static void mean_rows(void *data, size_t from, size_t to)
{
    const struct rows *r = data;

    memset(r->to + from * r->classes, 0, (to - from) * r->classes * sizeof *r->to);
    for (size_t row = from; row < to; row++)
        r->to[row * r->classes + (size_t)r->label[row]] = -r->scale / (float)r->rows;
}

static void run_mean_back(struct bench_layer *layer, void *data, int copy)
{
    struct rows *r = data;

    r->to = bench_buffer_data(r->change, copy);
    r->scale = *(float *)bench_buffer_data(layer->output->gradient, copy);
    bench_parallel(layer->context->threads, r->rows, 16, mean_rows, r);
}

static int add_backward(struct bench_layer *layer, struct rows *r, struct dlt_error *error)
{
    dnnl_primitive_desc_t pd;
    int status =
        bench_buffer_create(layer->context, layer->workspace->md, layer->copies, &r->change, error);

    if (status == BENCH_OK)
        status = bench_add_loop(layer, DLT_BACKWARD_DATA, run_mean_back, r,
                                (struct bench_buffer *const[]){r->change, NULL}, error);
    if (status == BENCH_OK)
        status = bench_pd_softmax(layer->context, DLT_BACKWARD_DATA, true, layer->workspace->md, 1,
                                  layer->forward, &pd, error);
    if (status)
        return status;
    status = bench_add(layer, DLT_BACKWARD_DATA, pd,
                       (struct bench_argument[]){{DNNL_ARG_DST, layer->workspace},
                                                 {DNNL_ARG_DIFF_DST, r->change},
                                                 {DNNL_ARG_DIFF_SRC, r->gradient},
                                                 {0, NULL}},
                       error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

int bench_cross_entropy_backward(struct bench_layer *layer, bool data, bool weight,
                                 struct dlt_error *error)
{
    struct bench_tensor *input = layer->input[0];
    struct rows *r = layer->extra;
    struct bench_buffer *gradient;
    bool accumulate = false;
    int status =
        bench_output_gradient(layer, DLT_BACKWARD_DATA, layer->output->value->md, &gradient, error);

    if (status == BENCH_OK)
        status = bench_collect(layer, layer->workspace->md, input->value->md, &input->gradient,
                               &r->gradient, &accumulate, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = add_backward(layer, r, error);
    return status ? status
                  : bench_deliver(layer, DLT_BACKWARD_DATA, input->gradient, r->gradient,
                                  accumulate, error);
}
