/* SPDX-License-Identifier: Apache-2.0 */

/* Softmax and elementwise functions. */
#include <string.h>

#include "../shapes.h"
#include "onednn.h"

/* Row-major where the layer is by itself; in a network, as the first input comes. */
static dnnl_memory_desc_t given_layout(const struct bench_layer *layer)
{
    struct bench_shape shape;

    if (!layer->standalone)
        return layer->input[0]->value->md;
    bench_role_shape(&layer->record, BENCH_INPUT, 0, &shape);
    return bench_md_plain(shape.rank, shape.dim);
}

static int one_input(struct bench_layer *layer, const dnnl_memory_desc_t *md,
                     struct dlt_error *error)
{
    int status = bench_input(layer, 0, md, &layer->converted, error);

    return status ? status : bench_output(layer, md, error);
}

static int add_one_input(struct bench_layer *layer, dnnl_primitive_desc_t pd,
                         struct dlt_error *error)
{
    return bench_add(layer, DLT_FORWARD, pd,
                     (struct bench_argument[]){{DNNL_ARG_SRC, layer->converted},
                                               {DNNL_ARG_DST, layer->output->value},
                                               {0, NULL}},
                     error);
}

int bench_softmax_forward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_shape shape;
    dnnl_memory_desc_t md;
    dnnl_primitive_desc_t pd;
    int status;

    bench_role_shape(&layer->record, BENCH_INPUT, 0, &shape);
    md = bench_md_plain(shape.rank, shape.dim);
    status = bench_pd_softmax(layer->context, DLT_FORWARD, &md, 1, NULL, &pd, error);
    if (status == BENCH_OK)
        status = bench_own_descriptor(layer->context, pd, error);
    if (status)
        return status;
    layer->forward = pd;
    status = one_input(layer, &md, error);
    return status ? status : add_one_input(layer, pd, error);
}

int bench_softmax_backward(struct bench_layer *layer, bool data, bool weight,
                           struct dlt_error *error)
{
    dnnl_memory_desc_t md = layer->output->value->md;
    struct bench_buffer *gradient;
    dnnl_primitive_desc_t pd;
    int status = bench_output_gradient(layer, &md, &gradient, error);

    (void)data;
    (void)weight;
    if (status == BENCH_OK)
        status = bench_convert(layer, DLT_BACKWARD_DATA, &md, &gradient, error);
    if (status == BENCH_OK)
        status =
            bench_pd_softmax(layer->context, DLT_BACKWARD_DATA, &md, 1, layer->forward, &pd, error);
    if (status)
        return status;
    status = bench_add_input_gradient(
        layer, DLT_BACKWARD_DATA, 0, pd, DNNL_ARG_DIFF_SRC,
        (struct bench_argument[]){
            {DNNL_ARG_DST, layer->output->value}, {DNNL_ARG_DIFF_DST, gradient}, {0, NULL}},
        error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* ---- dropout: oneDNN has none ---- */

struct dropout {
    const float *from;
    float *to, *mask;
    uint32_t seed;
};

/* Keeps half of the elements, doubled. The mask comes from a hash of the position (Wang's), which
 * vectorises where a generator with a state does not. */
static void drop(void *data, size_t from, size_t to)
{
    const struct dropout *d = data;

    for (size_t i = from; i < to; i++) {
        uint32_t h = (uint32_t)i * 0x9e3779b1u ^ d->seed;

        h = (h ^ (h >> 15)) * 0x85ebca6bu;
        h = (h ^ (h >> 13)) * 0xc2b2ae35u;
        d->mask[i] = h >> 31 ? 2.0f : 0.0f;
        d->to[i] = d->from[i] * d->mask[i];
    }
}

static void drop_back(void *data, size_t from, size_t to)
{
    const struct dropout *d = data;

    for (size_t i = from; i < to; i++)
        d->to[i] = d->from[i] * d->mask[i];
}

static void dropout_forward(struct bench_layer *layer, int copy)
{
    struct dropout d = {bench_buffer_data(layer->converted, copy),
                        bench_buffer_data(layer->output->value, copy),
                        bench_buffer_data(layer->mask, copy), layer->dropout_seed++};

    bench_parallel(layer->context->threads, bench_buffer_floats(layer->converted), 4096, drop, &d);
}

static void dropout_backward(struct bench_layer *layer, int copy)
{
    struct dropout d = {bench_buffer_data(layer->output->gradient, copy),
                        bench_buffer_data(layer->input[0]->gradient, copy),
                        bench_buffer_data(layer->mask, copy), 0};

    bench_parallel(layer->context->threads, bench_buffer_floats(layer->mask), 4096, drop_back, &d);
}

static int make_dropout(struct bench_layer *layer, struct dlt_error *error)
{
    dnnl_memory_desc_t md = given_layout(layer);
    int status = one_input(layer, &md, error);

    if (status == BENCH_OK)
        status = bench_buffer_create(layer->context, &md, layer->copies, &layer->mask, error);
    return status ? status : bench_add_call(layer, DLT_FORWARD, dropout_forward, error);
}

static int make_dropout_backward(struct bench_layer *layer, struct dlt_error *error)
{
    const dnnl_memory_desc_t md = layer->output->value->md;
    struct bench_tensor *input = layer->input[0];
    struct bench_buffer *gradient;
    int status = bench_output_gradient(layer, &md, &gradient, error);

    if (status)
        return status;
    if (input->gradient || !dnnl_memory_desc_equal(&gradient->md, &md))
        return dlt_fail(error, "dropout: its input has other readers, which onednn cannot run");
    status = bench_buffer_create(layer->context, &md, layer->copies, &input->gradient, error);
    return status ? status : bench_add_call(layer, DLT_BACKWARD_DATA, dropout_backward, error);
}

/* ---- functions of one operand ---- */

static int make_unary(struct bench_layer *layer, struct dlt_error *error)
{
    enum dlt_function function = (enum dlt_function)layer->record.u.rowwise.function;
    dnnl_memory_desc_t md = given_layout(layer);
    dnnl_primitive_desc_t pd;
    int status = bench_pd_eltwise(layer->context, DLT_FORWARD, function, &md, NULL, &pd, error);

    if (status == BENCH_OK)
        status = bench_own_descriptor(layer->context, pd, error);
    if (status)
        return status;
    layer->forward = pd;
    status = one_input(layer, &md, error);
    return status ? status : add_one_input(layer, pd, error);
}

static int make_unary_backward(struct bench_layer *layer, struct dlt_error *error)
{
    enum dlt_function function = (enum dlt_function)layer->record.u.rowwise.function;
    dnnl_memory_desc_t md = layer->output->value->md;
    struct bench_buffer *gradient;
    dnnl_primitive_desc_t pd;
    int status = bench_output_gradient(layer, &md, &gradient, error);

    if (status == BENCH_OK)
        status = bench_convert(layer, DLT_BACKWARD_DATA, &md, &gradient, error);
    if (status == BENCH_OK)
        status = bench_pd_eltwise(layer->context, DLT_BACKWARD_DATA, function, &md, layer->forward,
                                  &pd, error);
    if (status)
        return status;
    status = bench_add_input_gradient(layer, DLT_BACKWARD_DATA, 0, pd, DNNL_ARG_DIFF_SRC,
                                      (struct bench_argument[]){{DNNL_ARG_SRC, layer->converted},
                                                                {DNNL_ARG_DIFF_DST, gradient},
                                                                {0, NULL}},
                                      error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* ---- add, sub, mul, div ---- */

/* Both operands in the first one's layout. A quotient of what pads a layout is not a number, so
 * quotients are taken of row-major arrays. */
static int make_binary(struct bench_layer *layer, struct dlt_error *error)
{
    enum dlt_function function = (enum dlt_function)layer->record.u.rowwise.function;
    dnnl_memory_desc_t md = given_layout(layer);
    struct bench_buffer *left, *right;
    dnnl_primitive_desc_t pd;
    int status;

    if (function == DLT_DIV)
        md = bench_md_plain(md.ndims, md.dims);
    if (!layer->standalone) {
        const struct bench_shape *a = &layer->input[0]->shape, *b = &layer->input[1]->shape;

        if (a->rank != b->rank || memcmp(a->dim, b->dim, sizeof(int64_t) * (size_t)a->rank) != 0)
            return dlt_fail(error, "%s of operands of different shapes cannot be run by onednn",
                            dlt_function_names[function]);
    }
    status = bench_input(layer, 0, &md, &left, error);
    if (status == BENCH_OK)
        status = bench_input(layer, 1, &md, &right, error);
    if (status == BENCH_OK)
        status = bench_output(layer, &md, error);
    if (status == BENCH_OK)
        status = bench_pd_binary(layer->context, function, &md, &md, &md, &pd, error);
    if (status)
        return status;
    layer->converted = left;
    layer->workspace = right; /* kept for backward; the same in every copy as it is an input */
    status = bench_add(layer, DLT_FORWARD, pd,
                       (struct bench_argument[]){{DNNL_ARG_SRC_0, left},
                                                 {DNNL_ARG_SRC_1, right},
                                                 {DNNL_ARG_DST, layer->output->value},
                                                 {0, NULL}},
                       error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

struct product {
    const float *gradient, *left, *right;
    float *to_left, *to_right;
};

static void add_back(void *data, size_t from, size_t to)
{
    const struct product *p = data;

    for (size_t i = from; i < to; i++)
        p->to_left[i] = p->to_right[i] = p->gradient[i];
}

static void sub_back(void *data, size_t from, size_t to)
{
    const struct product *p = data;

    for (size_t i = from; i < to; i++) {
        p->to_left[i] = p->gradient[i];
        p->to_right[i] = -p->gradient[i];
    }
}

static void mul_back(void *data, size_t from, size_t to)
{
    const struct product *p = data;

    for (size_t i = from; i < to; i++) {
        p->to_left[i] = p->gradient[i] * p->right[i];
        p->to_right[i] = p->gradient[i] * p->left[i];
    }
}

static void div_back(void *data, size_t from, size_t to)
{
    const struct product *p = data;

    for (size_t i = from; i < to; i++) {
        p->to_left[i] = p->gradient[i] / p->right[i];
        p->to_right[i] = -p->to_left[i] * p->left[i] / p->right[i];
    }
}

/* Where the loop finds and puts things; `target` is what collect gave for each operand. */
struct binary_backward {
    struct bench_buffer *gradient, *target[2];
};

static void binary_backward(struct bench_layer *layer, int copy)
{
    static void (*const bodies[DLT_FUNCTIONS])(void *, size_t, size_t) = {
        [DLT_ADD] = add_back, [DLT_SUB] = sub_back, [DLT_MUL] = mul_back, [DLT_DIV] = div_back};
    const struct binary_backward *b = layer->extra;
    struct product p = {
        bench_buffer_data(b->gradient, copy), bench_buffer_data(layer->converted, copy),
        bench_buffer_data(layer->workspace, copy), bench_buffer_data(b->target[0], copy),
        bench_buffer_data(b->target[1], copy)};

    bench_parallel(layer->context->threads, bench_buffer_floats(b->gradient), 4096,
                   bodies[layer->record.u.rowwise.function], &p);
}

static int make_binary_backward(struct bench_layer *layer, struct dlt_error *error)
{
    const dnnl_memory_desc_t md = layer->output->value->md;
    struct binary_backward *b = bench_own_zeroed(layer->context, 1, sizeof *b, error);
    bool accumulate[2];
    int status;

    if (!b)
        return BENCH_NO_MEMORY;
    layer->extra = b;
    status = bench_output_gradient(layer, &md, &b->gradient, error);
    if (status == BENCH_OK)
        status = bench_convert(layer, DLT_BACKWARD_DATA, &md, &b->gradient, error);
    for (int i = 0; i < 2 && status == BENCH_OK; i++)
        status = bench_collect(layer, &md, &layer->input[i]->value->md, &layer->input[i]->gradient,
                               &b->target[i], &accumulate[i], error);
    if (status == BENCH_OK)
        status = bench_add_call(layer, DLT_BACKWARD_DATA, binary_backward, error);
    for (int i = 0; i < 2 && status == BENCH_OK; i++)
        status = bench_deliver(layer, DLT_BACKWARD_DATA, layer->input[i]->gradient, b->target[i],
                               accumulate[i], error);
    return status;
}

/* ---- concat ---- */

static int make_concat(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_argument arguments[BENCH_ARGUMENTS] = {{0, NULL}};
    dnnl_memory_desc_t src[BENCH_OPERANDS], dst;
    dnnl_primitive_desc_t pd;
    int count = layer->input_count;
    int status = BENCH_OK;

    if (layer->standalone)
        layer->axis = bench_concat_axis(&layer->record);
    for (int i = 0; i < count && status == BENCH_OK; i++) {
        struct bench_shape shape;

        bench_role_shape(&layer->record, BENCH_INPUT, i, &shape);
        src[i] =
            layer->standalone ? bench_md_plain(shape.rank, shape.dim) : layer->input[i]->value->md;
        status = bench_input(layer, i, &src[i], &arguments[i].buffer, error);
        arguments[i].index = DNNL_ARG_MULTIPLE_SRC + i;
    }
    if (status == BENCH_OK)
        status = bench_pd_concat(layer->context, count, src, layer->axis, NULL, &pd, error);
    if (status)
        return status;
    dst = bench_query(pd, dnnl_query_dst_md);
    status = bench_output(layer, &dst, error);
    if (status == BENCH_OK) {
        arguments[count] = (struct bench_argument){DNNL_ARG_DST, layer->output->value};
        status = bench_add(layer, DLT_FORWARD, pd, arguments, error);
    }
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* Each operand's gradient is a part of the output's. A part that does not start at a whole block of
 * the layout can only be cut out of the row-major array. */
static int part_of(struct bench_layer *layer, struct bench_buffer **gradient, int64_t offset,
                   const dnnl_memory_desc_t *operand, struct bench_buffer **part,
                   struct dlt_error *error)
{
    dnnl_dims_t offsets = {0};
    dnnl_memory_desc_t md;
    int status;

    offsets[layer->axis] = offset;
    if (dnnl_memory_desc_init_submemory(&md, &(*gradient)->md, operand->dims, offsets) !=
        dnnl_success) {
        dnnl_memory_desc_t plain = bench_md_plain((*gradient)->md.ndims, (*gradient)->md.dims);

        status = bench_convert(layer, DLT_BACKWARD_DATA, &plain, gradient, error);
        if (status == BENCH_OK)
            status = bench_check(
                dnnl_memory_desc_init_submemory(&md, &(*gradient)->md, operand->dims, offsets),
                "part of a tensor", error);
        if (status)
            return status;
    }
    return bench_buffer_alias(layer->context, *gradient, &md, part, error);
}

static int make_concat_backward(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_buffer *gradient;
    int64_t offset = 0;
    int status = bench_output_gradient(layer, &layer->output->value->md, &gradient, error);

    for (int i = 0; i < layer->input_count && status == BENCH_OK; i++) {
        struct bench_tensor *input = layer->input[i];
        struct bench_buffer *part;
        bool accumulate = input->gradient != NULL;

        status = part_of(layer, &gradient, offset, &input->value->md, &part, error);
        if (status == BENCH_OK && !accumulate)
            status = bench_buffer_create(layer->context, &input->value->md, layer->copies,
                                         &input->gradient, error);
        if (status == BENCH_OK)
            status =
                bench_add_copy(layer, DLT_BACKWARD_DATA, part, input->gradient, accumulate, error);
        offset += input->value->md.dims[layer->axis];
    }
    return status;
}

static const struct {
    int (*forward)(struct bench_layer *layer, struct dlt_error *error);
    int (*backward)(struct bench_layer *layer, struct dlt_error *error);
} families[DLT_FUNCTIONS] = {
    [DLT_RELU] = {make_unary, make_unary_backward},
    [DLT_GELU] = {make_unary, make_unary_backward},
    [DLT_SIGMOID] = {make_unary, make_unary_backward},
    [DLT_TANH] = {make_unary, make_unary_backward},
    [DLT_POW] = {make_unary, make_unary_backward},
    [DLT_RELU6] = {make_unary, make_unary_backward},
    [DLT_ADD] = {make_binary, make_binary_backward},
    [DLT_SUB] = {make_binary, make_binary_backward},
    [DLT_MUL] = {make_binary, make_binary_backward},
    [DLT_DIV] = {make_binary, make_binary_backward},
    [DLT_DROPOUT] = {make_dropout, make_dropout_backward},
    [DLT_CONCAT] = {make_concat, make_concat_backward},
};

int bench_elementwise_forward(struct bench_layer *layer, struct dlt_error *error)
{
    return families[layer->record.u.rowwise.function].forward(layer, error);
}

int bench_elementwise_backward(struct bench_layer *layer, bool data, bool weight,
                               struct dlt_error *error)
{
    (void)data;
    (void)weight;
    return families[layer->record.u.rowwise.function].backward(layer, error);
}
