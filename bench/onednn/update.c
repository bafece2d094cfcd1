/* SPDX-License-Identifier: Apache-2.0 */

/* Optimizers, as torch.optim defines them with its defaults: one pass over each array (lamb: two).
 * w weight, g gradient, a and b the state. */
#include <math.h>
#include <string.h>

#include "../shapes.h"
#include "onednn.h"

static const float momentum = 0.9f, beta1 = 0.9f, beta2 = 0.999f, decay = 0.01f, rho = 0.9f,
                   alpha = 0.99f;

struct walk {
    float *w, *a, *b;
    const float *g;
    float rate;
    float correct1, correct2;      /* Adam's bias corrections */
    double weight_norm, step_norm; /* lamb: sums of squares */
};

static void sgd(void *data, size_t from, size_t to)
{
    const struct walk *o = data;

    for (size_t i = from; i < to; i++)
        o->w[i] -= o->rate * o->g[i];
}

static void sgd_momentum(void *data, size_t from, size_t to)
{
    const struct walk *o = data;

    for (size_t i = from; i < to; i++) {
        o->a[i] = momentum * o->a[i] + o->g[i];
        o->w[i] -= o->rate * o->a[i];
    }
}

static void nesterov(void *data, size_t from, size_t to)
{
    const struct walk *o = data;

    for (size_t i = from; i < to; i++) {
        o->a[i] = momentum * o->a[i] + o->g[i];
        o->w[i] -= o->rate * (o->g[i] + momentum * o->a[i]);
    }
}

/* Adam's step for one element; its state moves on. */
static inline float adam_step(const struct walk *o, size_t i)
{
    float g = o->g[i];

    o->a[i] = beta1 * o->a[i] + (1 - beta1) * g;
    o->b[i] = beta2 * o->b[i] + (1 - beta2) * g * g;
    return o->a[i] / o->correct1 / (sqrtf(o->b[i] / o->correct2) + 1e-8f);
}

static void adam(void *data, size_t from, size_t to)
{
    const struct walk *o = data;

    for (size_t i = from; i < to; i++)
        o->w[i] -= o->rate * adam_step(o, i);
}

static void adamw(void *data, size_t from, size_t to)
{
    const struct walk *o = data;

    for (size_t i = from; i < to; i++) {
        float w = o->w[i] * (1 - o->rate * decay);

        o->w[i] = w - o->rate * adam_step(o, i);
    }
}

static void adagrad(void *data, size_t from, size_t to)
{
    const struct walk *o = data;

    for (size_t i = from; i < to; i++) {
        o->a[i] += o->g[i] * o->g[i];
        o->w[i] -= o->rate * o->g[i] / (sqrtf(o->a[i]) + 1e-10f);
    }
}

static void adadelta(void *data, size_t from, size_t to)
{
    const struct walk *o = data;

    for (size_t i = from; i < to; i++) {
        float step;

        o->a[i] = rho * o->a[i] + (1 - rho) * o->g[i] * o->g[i];
        step = sqrtf(o->b[i] + 1e-6f) / sqrtf(o->a[i] + 1e-6f) * o->g[i];
        o->b[i] = rho * o->b[i] + (1 - rho) * step * step;
        o->w[i] -= o->rate * step;
    }
}

static void rmsprop(void *data, size_t from, size_t to)
{
    const struct walk *o = data;

    for (size_t i = from; i < to; i++) {
        o->a[i] = alpha * o->a[i] + (1 - alpha) * o->g[i] * o->g[i];
        o->w[i] -= o->rate * o->g[i] / (sqrtf(o->a[i]) + 1e-8f);
    }
}

static void add_to(double *sum, double value)
{
    double before, after;

    __atomic_load(sum, &before, __ATOMIC_RELAXED);
    do {
        after = before + value;
    } while (!__atomic_compare_exchange(sum, &before, &after, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
}

static inline float lamb_step(const struct walk *o, size_t i)
{
    return o->a[i] / o->correct1 / (sqrtf(o->b[i] / o->correct2) + 1e-6f) + decay * o->w[i];
}

static void lamb_norms(void *data, size_t from, size_t to)
{
    struct walk *o = data;
    double weight_norm = 0, step_norm = 0;

    for (size_t i = from; i < to; i++) {
        float step;

        (void)adam_step(o, i);
        step = lamb_step(o, i);
        weight_norm += (double)(o->w[i] * o->w[i]);
        step_norm += (double)(step * step);
    }
    add_to(&o->weight_norm, weight_norm);
    add_to(&o->step_norm, step_norm);
}

static void lamb(void *data, size_t from, size_t to)
{
    const struct walk *o = data;
    float trust = o->step_norm > 0 ? (float)sqrt(o->weight_norm / o->step_norm) : 1;

    for (size_t i = from; i < to; i++)
        o->w[i] -= o->rate * trust * lamb_step(o, i);
}

static const struct {
    void (*first)(void *data, size_t from, size_t to);
    void (*second)(void *data, size_t from, size_t to);
} walks[DLT_OPTIMIZERS] = {
    [DLT_SGD] = {sgd, NULL},           [DLT_MOMENTUM] = {sgd_momentum, NULL},
    [DLT_NESTEROV] = {nesterov, NULL}, [DLT_ADAM] = {adam, NULL},
    [DLT_ADAMW] = {adamw, NULL},       [DLT_ADAGRAD] = {adagrad, NULL},
    [DLT_ADADELTA] = {adadelta, NULL}, [DLT_RMSPROP] = {rmsprop, NULL},
    [DLT_LAMB] = {lamb_norms, lamb},
};

static void update_one(struct bench_layer *layer, const struct bench_parameter *p, int copy)
{
    const struct bench_training *training = &layer->training;
    size_t count = bench_buffer_floats(p->value);
    struct walk walk = {
        .w = bench_buffer_data(p->value, copy),
        .g = bench_buffer_data(p->gradient, copy),
        .a = p->state[0] ? bench_buffer_data(p->state[0], copy) : NULL,
        .b = p->state[1] ? bench_buffer_data(p->state[1], copy) : NULL,
        .rate = (float)training->learning_rate,
        .correct1 = (float)(1 - pow((double)beta1, (double)layer->updates)),
        .correct2 = (float)(1 - pow((double)beta2, (double)layer->updates)),
    };

    bench_parallel(layer->context->threads, count, 4096, walks[training->optimizer].first, &walk);
    if (walks[training->optimizer].second)
        bench_parallel(layer->context->threads, count, 4096, walks[training->optimizer].second,
                       &walk);
}

static int make_state(struct bench_layer *layer, struct bench_parameter *p, float center,
                      float spread, struct dlt_error *error)
{
    int status = BENCH_OK;

    for (int i = 0; i < dlt_optimizer_states(layer->training.optimizer) && status == BENCH_OK;
         i++) {
        status =
            bench_buffer_create(layer->context, p->value->md, layer->copies, &p->state[i], error);
        if (status == BENCH_OK)
            status = bench_buffer_fill(layer->context, p->state[i], center, spread, error);
    }
    return status;
}

/* The update of what has a gradient, added to the layer's program. */
static int add_update(struct bench_layer *layer, struct bench_parameter *p,
                      void (*update)(struct bench_layer *layer, void *data, int copy),
                      struct dlt_error *error)
{
    return bench_add_loop(layer, DLT_UPDATE, update, p,
                          (struct bench_buffer *const[]){p->value, p->gradient, NULL}, error);
}

static void update_parameter(struct bench_layer *layer, void *data, int copy)
{
    if (data == layer->arrays || data == &layer->weight)
        layer->updates++;
    update_one(layer, data, copy);
}

int bench_update_layer(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_parameter *own[] = {&layer->weight, &layer->bias};
    size_t owned = sizeof own / sizeof *own;

    for (size_t i = 0; i < owned + layer->array_count; i++) {
        struct bench_parameter *p = i < owned ? own[i] : &layer->arrays[i - owned];
        int status = BENCH_OK;

        if (p->gradient)
            status = make_state(layer, p, 0, 0, error);
        if (status == BENCH_OK && p->gradient)
            status = add_update(layer, p, update_parameter, error);
        if (status)
            return status;
    }
    return BENCH_OK;
}

int bench_update_arrays(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    struct bench_shape shape;
    size_t count = 0;

    layer->training =
        (struct bench_training){.optimizer = layer->record.optimizer, .learning_rate = 1e-3};
    while (bench_role_shape(&layer->record, BENCH_WEIGHT, (int)count, &shape))
        count++;
    layer->arrays = bench_own_zeroed(&context->owned, count, sizeof *layer->arrays, error);
    if (!layer->arrays)
        return BENCH_NO_MEMORY;
    layer->array_count = count;
    for (size_t i = 0; i < count; i++) {
        struct bench_parameter *p = &layer->arrays[i];
        bench_md md;
        int status;

        bench_role_shape(&layer->record, BENCH_WEIGHT, (int)i, &shape);
        md = bench_md_plain(context, dnnl_f32, 1, shape.dim);
        status = bench_parameter(layer, md, 0, 1, p, error);
        if (status == BENCH_OK)
            status = bench_parameter_gradient(layer, p, error);
        if (status == BENCH_OK)
            status = bench_buffer_fill(context, p->gradient, 0, 1, error);
        /* Sums of squares are not negative. */
        if (status == BENCH_OK)
            status = make_state(layer, p, 0.5f, 0.5f, error);
        if (status == BENCH_OK)
            status = add_update(layer, p, update_parameter, error);
        if (status)
            return status;
    }
    return BENCH_OK;
}

/* The gradient that readers made of the tensor is the parameter's. */
static int parameter_backward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_buffer *gradient = layer->output->gradient;
    int status = BENCH_OK;

    if (gradient)
        status =
            bench_convert(layer, DLT_BACKWARD_WEIGHT, layer->weight.value->md, &gradient, error);
    layer->weight.gradient = gradient;
    return status;
}

int bench_parameter_create(struct bench_context *context, const struct bench_shape *shape,
                           struct bench_layer **layer, struct bench_tensor **tensor,
                           struct dlt_error *error)
{
    struct bench_layer *made;
    int status = bench_layer_new(context, "parameter", &made, error);

    if (status == BENCH_OK)
        status = bench_tensor_create(context, shape, &made->output, error);
    if (status)
        return status;
    made->backward = parameter_backward;
    made->weight.value = made->output->value;
    *layer = made;
    *tensor = made->output;
    return BENCH_OK;
}
