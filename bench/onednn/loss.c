/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "onednn.h"

struct rows {
    const float *scores;
    float *gradient;
    const int32_t *label;
    double *loss; /* of each row */
    size_t rows, classes;
};

/* loss = log(sum exp z) - z[label]; its gradient, for the mean over rows, (softmax(z) - e) / rows.
 */
static void cross_entropy(void *data, size_t from, size_t to)
{
    const struct rows *r = data;

    for (size_t row = from; row < to; row++) {
        const float *z = r->scores + row * r->classes;
        float *g = r->gradient + row * r->classes;
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

static void run_loss(struct bench_layer *layer, int copy)
{
    struct rows *r = layer->extra;

    (void)copy;
    bench_parallel(layer->context->threads, r->rows, 16, cross_entropy, r);
    layer->loss = 0;
    for (size_t i = 0; i < r->rows; i++)
        layer->loss += r->loss[i] / (double)r->rows;
}

int bench_loss_create(struct bench_context *context, struct bench_tensor *scores,
                      struct bench_layer **layer, struct dlt_error *error)
{
    dnnl_memory_desc_t plain = bench_md_plain(2, scores->shape.dim);
    struct bench_buffer *value = scores->value;
    struct bench_layer *made;
    struct rows *rows;
    int status = bench_layer_new(context, "loss", &made, error);

    if (status)
        return status;
    *layer = made;
    made->is_loss = true;
    if (scores->shape.rank != 2)
        return dlt_fail(error, "the loss needs scores of shape [rows, classes]");
    rows = made->extra = bench_own_zeroed(context, 1, sizeof *rows, error);
    if (!rows)
        return BENCH_NO_MEMORY;
    rows->rows = (size_t)scores->shape.dim[0];
    rows->classes = (size_t)scores->shape.dim[1];
    made->label = bench_own_zeroed(context, rows->rows, sizeof *made->label, error);
    rows->loss = bench_own_zeroed(context, rows->rows, sizeof *rows->loss, error);
    if (!made->label || !rows->loss)
        return BENCH_NO_MEMORY;
    for (size_t i = 0; i < rows->rows; i++)
        made->label[i] = (int32_t)(bench_random(context) % rows->classes);
    status = bench_convert(made, DLT_FORWARD, &plain, &value, error);
    if (status == BENCH_OK)
        status = bench_buffer_create(context, &plain, 1, &scores->gradient, error);
    if (status)
        return status;
    rows->scores = bench_buffer_data(value, 0);
    rows->gradient = bench_buffer_data(scores->gradient, 0);
    rows->label = made->label;
    return bench_add_call(made, DLT_FORWARD, run_loss, error);
}

double bench_loss_value(struct bench_layer *layer)
{
    return layer->loss;
}
