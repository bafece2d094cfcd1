/* SPDX-License-Identifier: Apache-2.0 */

/* Elementwise functions that oneDNN does not have, and all whose operands are broadcast. */
#include <math.h>
#include <string.h>

#include "../shapes.h"
#include "onednn.h"

enum { MOST_OPERANDS = 3 };

/* Operand 0 is written; a, b and c follow in forward, g, a, b and c in backward. */
struct function {
    enum dlt_function function;
    int operands;
    struct bench_buffer *operand[MOST_OPERANDS], *gradient, *target[MOST_OPERANDS];
    struct bench_nest forward, backward[MOST_OPERANDS];
    bool adds[MOST_OPERANDS]; /* the gradient is a sum: the operand was broadcast */
    int index;                /* of the operand whose gradient is being made */
};

static inline float value_at(enum dlt_function function, float a, float b, float c)
{
    switch (function) {
    case DLT_ADD:
        return a + b;
    case DLT_SUB:
        return a - b;
    case DLT_MUL:
        return a * b;
    case DLT_DIV:
        return a / b;
    case DLT_MAXIMUM:
        return a > b ? a : b;
    case DLT_HARDSIGMOID:
        return fminf(fmaxf(a / 6 + 0.5f, 0), 1);
    case DLT_ERF:
        return erff(a);
    case DLT_PRELU: /* b: the slope */
        return a > 0 ? a : a * b;
    case DLT_WHERE: /* a: the condition */
        return a > 0 ? b : c;
    default:
        return a;
    }
}

/* The derivative by operand `index`. */
static inline float slope_at(enum dlt_function function, int index, float a, float b)
{
    switch (function) {
    case DLT_SUB:
        return index ? -1 : 1;
    case DLT_MUL:
        return index ? a : b;
    case DLT_DIV:
        return index ? -a / (b * b) : 1 / b;
    case DLT_MAXIMUM:
        return (a > b) == (index == 0);
    case DLT_HARDSIGMOID:
        return a > -3 && a < 3 ? 1.0f / 6 : 0;
    case DLT_ERF:
        return 1.1283791670955126f * expf(-a * a); /* 2 / sqrt(pi) */
    case DLT_PRELU:
        return index ? (a > 0 ? 0 : a) : (a > 0 ? 1 : b);
    case DLT_WHERE:
        return index == 0 ? 0 : (a > 0) == (index == 1);
    default:
        return 1;
    }
}

/* One loop for each function, so that the switch is outside of it. */
#define ALL_FUNCTIONS                                                                              \
    CASE(DLT_ADD)                                                                                  \
    CASE(DLT_SUB)                                                                                  \
    CASE(DLT_MUL)                                                                                  \
    CASE(DLT_DIV)                                                                                  \
    CASE(DLT_MAXIMUM)                                                                              \
    CASE(DLT_HARDSIGMOID)                                                                          \
    CASE(DLT_ERF)                                                                                  \
    CASE(DLT_PRELU)                                                                                \
    CASE(DLT_WHERE)

static inline __attribute__((always_inline)) void
forward_loop(enum dlt_function function, int64_t count, float *const *at, const int64_t *step)
{
    float *out = at[0];
    const float *a = at[1], *b = at[2], *c = at[3];

    if (step[0] == 1 && step[1] == 1 && step[2] == 1)
        for (int64_t i = 0; i < count; i++)
            out[i] = value_at(function, a[i], b[i], c[i * step[3]]);
    else if (step[0] == 1 && step[1] == 1 && step[2] == 0)
        for (int64_t i = 0; i < count; i++)
            out[i] = value_at(function, a[i], b[0], c[i * step[3]]);
    else
        for (int64_t i = 0; i < count; i++)
            out[i * step[0]] = value_at(function, a[i * step[1]], b[i * step[2]], c[i * step[3]]);
}

static void forward_row(void *data, int64_t count, float *const *at, const int64_t *step)
{
    const struct function *f = data;

    switch (f->function) {
#define CASE(name)                                                                                 \
    case name:                                                                                     \
        forward_loop(name, count, at, step);                                                       \
        break;
        ALL_FUNCTIONS
#undef CASE
    default:
        break;
    }
}

static inline __attribute__((always_inline)) void backward_loop(enum dlt_function function,
                                                                int index, bool adds, int64_t count,
                                                                float *const *at,
                                                                const int64_t *step)
{
    const float *g = at[0], *a = at[2], *b = at[3];
    float *to = at[1], sum = 0;

    if (adds && step[1] == 0) {
        for (int64_t i = 0; i < count; i++)
            sum += g[i * step[0]] * slope_at(function, index, a[i * step[2]], b[i * step[3]]);
        to[0] += sum;
    } else if (adds) {
        for (int64_t i = 0; i < count; i++)
            to[i * step[1]] +=
                g[i * step[0]] * slope_at(function, index, a[i * step[2]], b[i * step[3]]);
    } else if (step[0] == 1 && step[1] == 1 && step[2] == 1 && step[3] == 1) {
        for (int64_t i = 0; i < count; i++)
            to[i] = g[i] * slope_at(function, index, a[i], b[i]);
    } else if (step[0] == 1 && step[1] == 1 && step[2] == 1 && step[3] == 0) {
        for (int64_t i = 0; i < count; i++)
            to[i] = g[i] * slope_at(function, index, a[i], b[0]);
    } else {
        for (int64_t i = 0; i < count; i++)
            to[i * step[1]] =
                g[i * step[0]] * slope_at(function, index, a[i * step[2]], b[i * step[3]]);
    }
}

static void backward_row(void *data, int64_t count, float *const *at, const int64_t *step)
{
    const struct function *f = data;

    switch (f->function) {
#define CASE(name)                                                                                 \
    case name:                                                                                     \
        if (f->index)                                                                              \
            backward_loop(name, f->index, f->adds[f->index], count, at, step);                     \
        else                                                                                       \
            backward_loop(name, 0, f->adds[0], count, at, step);                                   \
        break;
        ALL_FUNCTIONS
#undef CASE
    default:
        break;
    }
}

static void run_forward(struct bench_layer *layer, void *data, int copy)
{
    struct function *f = data;
    float *base[BENCH_NEST] = {bench_buffer_data(layer->output->value, copy)};

    /* Operands that a function does not have are the last one again, and are not read. */
    for (int i = 0; i < MOST_OPERANDS; i++)
        base[1 + i] = bench_buffer_data(f->operand[i < f->operands ? i : f->operands - 1], copy);
    bench_nest_run(layer->context->threads, &f->forward, base, forward_row, f);
}

static void run_backward(struct bench_layer *layer, void *data, int copy)
{
    struct function *f = data;

    for (int k = 0; k < f->operands; k++) {
        float *base[BENCH_NEST] = {bench_buffer_data(f->gradient, copy)};

        if (!f->target[k])
            continue;
        base[1] = bench_buffer_data(f->target[k], copy);
        base[2] = bench_buffer_data(f->operand[0], copy);
        base[3] = bench_buffer_data(f->operand[f->operands > 1 ? 1 : 0], copy);
        if (f->adds[k])
            memset(base[1], 0, bench_md_size(f->target[k]->md));
        f->index = k;
        bench_nest_run(layer->context->threads, &f->backward[k], base, backward_row, f);
    }
}

/* Layouts: the output's is that of the first operand as large as it is; the others keep theirs
 * where they are regular. */
static bench_md output_layout(struct bench_layer *layer)
{
    struct bench_context *context = layer->context;
    struct bench_shape shape;

    if (layer->standalone)
        return bench_role_md(layer, BENCH_OUTPUT, 0);
    shape = layer->options.output ? layer->output_shape : layer->input[0]->shape;
    for (int i = 0; i < layer->input_count; i++) {
        bench_md md = layer->input[i]->value->md;

        if (bench_shape_count(&layer->input[i]->shape) == bench_shape_count(&shape) &&
            layer->input[i]->shape.rank == shape.rank && bench_md_dense(md) && !bench_md_padded(md))
            return md;
    }
    return bench_md_plain(context, dnnl_f32, shape.rank, shape.dim);
}

/* The operand's layout, or row-major where a nest cannot go through it. */
static bench_md operand_layout(struct bench_layer *layer, int index, bench_md out)
{
    int64_t strides[DNNL_MAX_NDIMS];
    bench_md md;

    if (layer->standalone)
        return bench_role_md(layer, BENCH_INPUT, index);
    md = layer->input[index]->value->md;
    if (bench_md_equal(md, out) || bench_md_strides(md, strides))
        return md;
    return bench_md_elements(md) == bench_md_elements(out) ? out
                                                           : bench_md_flat(layer->context, md);
}

int bench_function_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct function *f = bench_own_zeroed(&layer->context->owned, 1, sizeof *f, error);
    bench_md out = output_layout(layer), md[1 + MOST_OPERANDS] = {out};
    struct bench_buffer *used[MOST_OPERANDS + 2] = {NULL};
    int status;

    if (!f)
        return BENCH_NO_MEMORY;
    layer->extra = f;
    f->function = (enum dlt_function)layer->record.u.rowwise.function;
    f->operands = layer->input_count;
    status = bench_output(layer, out, error);
    for (int i = 0; i < f->operands && status == BENCH_OK; i++) {
        status = bench_input(layer, i, operand_layout(layer, i, out), &f->operand[i], error);
        used[i] = f->operand[i];
    }
    if (status)
        return status;
    for (int i = 0; i < MOST_OPERANDS; i++)
        md[1 + i] = f->operand[i < f->operands ? i : f->operands - 1]->md;
    if (bench_nest_make(&f->forward, md, 1 + MOST_OPERANDS, 0))
        return dlt_fail(error, "%s: its operands' layouts cannot be run through together",
                        dlt_function_names[f->function]);
    used[f->operands] = layer->output->value;
    return bench_add_loop(layer, DLT_FORWARD, run_forward, f, used, error);
}

/* Sets up the gradient of operand k. */
static int prepare_gradient(struct bench_layer *layer, struct function *f, int k, bool *accumulate,
                            struct dlt_error *error)
{
    struct bench_tensor *input = layer->input[k];
    bench_md md[4] = {f->gradient->md, f->operand[k]->md, f->operand[0]->md,
                      f->operand[f->operands > 1 ? 1 : 0]->md};
    int status;

    if (!bench_md_dense(md[1]))
        md[1] = bench_md_flat(layer->context, md[1]);
    f->adds[k] = bench_md_elements(md[1]) < bench_md_elements(md[0]);
    status = bench_collect(layer, md[1], input->value->md, &input->gradient, &f->target[k],
                           accumulate, error);
    if (status == BENCH_OK && bench_nest_make(&f->backward[k], md, 4, f->adds[k] ? 2 : 0))
        return dlt_fail(error, "%s: its operands' layouts cannot be run through together",
                        dlt_function_names[f->function]);
    return status;
}

int bench_function_backward(struct bench_layer *layer, struct dlt_error *error)
{
    struct function *f = layer->extra;
    struct bench_buffer *used[2 * MOST_OPERANDS + 2] = {NULL};
    bool accumulate[MOST_OPERANDS] = {false};
    int count = 0;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, layer->output->value->md,
                                       &f->gradient, error);

    for (int k = f->function == DLT_WHERE ? 1 : 0; k < f->operands && status == BENCH_OK; k++) {
        if (layer->options.constant >> k & 1)
            continue;
        status = prepare_gradient(layer, f, k, &accumulate[k], error);
        used[count++] = f->target[k];
    }
    used[count++] = f->gradient;
    for (int k = 0; k < f->operands && f->function != DLT_ADD && f->function != DLT_SUB; k++)
        used[count++] = f->operand[k];
    if (status == BENCH_OK)
        status = bench_add_loop(layer, DLT_BACKWARD_DATA, run_backward, f, used, error);
    for (int k = 0; k < f->operands && status == BENCH_OK; k++)
        if (f->target[k])
            status = bench_deliver(layer, DLT_BACKWARD_DATA, layer->input[k]->gradient,
                                   f->target[k], accumulate[k], error);
    return status;
}
