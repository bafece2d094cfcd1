/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Convolutions of one to three dimensions and their transposes by cuDNN. A transposed convolution's
 * forward pass is the data gradient of the convolution that goes the other way, and so on: `wide`
 * is the side that a kernel's window slides over, `narrow` the side with one element for each
 * window.
 */
#include <math.h>
#include <string.h>

#include "../shapes.h"
#include "cuda.h"

enum way { FORWARD, DATA, FILTER, WAYS };
enum { MOST_ALGORITHMS = 8 };

/* What the three kinds of algorithm structures have in common. */
struct candidate {
    int algorithm;
    cudnnStatus_t status;
    size_t memory;
    cudnnMathType_t math;
};

struct convolution {
    struct bench_layer *layer;
    enum dlt_pass pass;
    enum way way;
    cudnnTensorDescriptor_t wide, narrow;
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t convolution;
    const struct bench_buffer *wide_data, *narrow_data, *filter_data;
    struct candidate candidate[MOST_ALGORITHMS]; /* the best first */
    int candidates, next;                        /* next: after the one in use */
    int algorithm;
    size_t workspace;
    bool works; /* has been run */
};

static bool is_transposed(const struct dlt_record *record)
{
    return record->kind->name[4] == '_';
}

/* Whether the input is copied into a padded array. A transposed convolution's output has the size
 * that its record says. */
static bool is_padded(const struct bench_layer *layer)
{
    return !is_transposed(&layer->record) && bench_pad_needed(&layer->record);
}

#define LIST(kind, perf, get, measure, first, second, result)                                      \
    static int list_##kind(struct bench_context *context, struct convolution *c,                   \
                           struct dlt_error *error)                                                \
    {                                                                                              \
        perf found[MOST_ALGORITHMS];                                                               \
        int status = bench_cudnn(                                                                  \
            (context->find ? measure : get)(context->cudnn, c->first, c->second, c->convolution,   \
                                            c->result, MOST_ALGORITHMS, &c->candidates, found),    \
            "choosing an algorithm", error);                                                       \
                                                                                                   \
        for (int i = 0; status == BENCH_OK && i < c->candidates; i++)                              \
            c->candidate[i] = (struct candidate){(int)found[i].algo, found[i].status,              \
                                                 found[i].memory, found[i].mathType};              \
        return status;                                                                             \
    }

LIST(forward, cudnnConvolutionFwdAlgoPerf_t, cudnnGetConvolutionForwardAlgorithm_v7,
     cudnnFindConvolutionForwardAlgorithm, wide, filter, narrow)
LIST(data, cudnnConvolutionBwdDataAlgoPerf_t, cudnnGetConvolutionBackwardDataAlgorithm_v7,
     cudnnFindConvolutionBackwardDataAlgorithm, filter, narrow, wide)
LIST(filter, cudnnConvolutionBwdFilterAlgoPerf_t, cudnnGetConvolutionBackwardFilterAlgorithm_v7,
     cudnnFindConvolutionBackwardFilterAlgorithm, wide, narrow, filter)

static int workspace_size(struct bench_context *context, struct convolution *c,
                          struct dlt_error *error)
{
    cudnnStatus_t status;

    switch (c->way) {
    case FORWARD:
        status = cudnnGetConvolutionForwardWorkspaceSize(
            context->cudnn, c->wide, c->filter, c->convolution, c->narrow,
            (cudnnConvolutionFwdAlgo_t)c->algorithm, &c->workspace);
        break;
    case DATA:
        status = cudnnGetConvolutionBackwardDataWorkspaceSize(
            context->cudnn, c->filter, c->narrow, c->convolution, c->wide,
            (cudnnConvolutionBwdDataAlgo_t)c->algorithm, &c->workspace);
        break;
    default:
        status = cudnnGetConvolutionBackwardFilterWorkspaceSize(
            context->cudnn, c->wide, c->narrow, c->convolution, c->filter,
            (cudnnConvolutionBwdFilterAlgo_t)c->algorithm, &c->workspace);
    }
    return bench_cudnn(status, "an algorithm's workspace", error);
}

static const char *algorithm_name(enum way way, int algorithm)
{
    static const char *const names[WAYS][MOST_ALGORITHMS] = {
        {"implicit_gemm", "implicit_precomp_gemm", "gemm", "direct", "fft", "fft_tiling",
         "winograd", "winograd_nonfused"},
        {"data_0", "data_1", "fft", "fft_tiling", "winograd", "winograd_nonfused"},
        {"filter_0", "filter_1", "fft", "filter_3", "winograd", "winograd_nonfused", "fft_tiling"},
    };

    if (algorithm < 0 || algorithm >= MOST_ALGORITHMS || !names[way][algorithm])
        return "unknown";
    return names[way][algorithm];
}

/* Gets ready to run a candidate; BENCH_UNSUPPORTED: not in the record's arithmetic, or not within
 * the cap on workspace. */
static int take(struct convolution *c, const struct candidate *candidate, struct dlt_error *error)
{
    struct bench_context *context = c->layer->context;
    cudnnMathType_t own = bench_cudnn_math(&c->layer->record);
    int status;

    c->algorithm = candidate->algorithm;
    /* IEEE arithmetic is not left to what the library names with the algorithm. */
    status = bench_cudnn(
        cudnnSetConvolutionMathType(c->convolution, own == CUDNN_FMA_MATH ? own : candidate->math),
        "the arithmetic", error);
    if (status == BENCH_OK)
        status = workspace_size(context, c, error);
    if (status == BENCH_OK && (double)c->workspace > context->workspace_cap)
        return BENCH_UNSUPPORTED;
    return status ? status : bench_workspace(context, c->workspace, error);
}

/* The next candidate that works within the cap on its workspace, as frameworks choose. */
static int choose_next(struct convolution *c, struct dlt_error *error)
{
    struct bench_context *context = c->layer->context;
    struct bench_choice *choice = &c->layer->program[c->pass].choice;

    while (c->next < c->candidates) {
        const struct candidate *candidate = &c->candidate[c->next++];
        int status;

        if (candidate->status != CUDNN_STATUS_SUCCESS ||
            (double)candidate->memory > context->workspace_cap)
            continue;
        status = take(c, candidate, error);
        if (status == BENCH_UNSUPPORTED)
            continue;
        snprintf(choice->algorithm, sizeof choice->algorithm, "%s%s",
                 algorithm_name(c->way, c->algorithm), context->find ? ",find" : "");
        choice->workspace_bytes = (double)c->workspace;
        choice->workspace_cap_bytes = context->workspace_cap;
        return status;
    }
    dlt_fail(error, "cuDNN has no algorithm for this convolution within %.0f MiB of workspace",
             context->workspace_cap / 1048576);
    return BENCH_UNSUPPORTED;
}

static int choose(struct convolution *c, struct dlt_error *error)
{
    static int (*const lists[WAYS])(struct bench_context *, struct convolution *,
                                    struct dlt_error *) = {list_forward, list_data, list_filter};
    int status = lists[c->way](c->layer->context, c, error);

    return status ? status : choose_next(c, error);
}

static int call(struct bench_context *context, const struct convolution *c, int copy,
                struct dlt_error *error)
{
    static const float one = 1, zero = 0;
    void *wide = bench_buffer_data(c->wide_data, copy);
    void *narrow = bench_buffer_data(c->narrow_data, copy);
    void *filter = bench_buffer_data(c->filter_data, copy);
    cudnnStatus_t status;

    switch (c->way) {
    case FORWARD:
        status =
            cudnnConvolutionForward(context->cudnn, &one, c->wide, wide, c->filter, filter,
                                    c->convolution, (cudnnConvolutionFwdAlgo_t)c->algorithm,
                                    context->workspace, c->workspace, &zero, c->narrow, narrow);
        break;
    case DATA:
        status = cudnnConvolutionBackwardData(
            context->cudnn, &one, c->filter, filter, c->narrow, narrow, c->convolution,
            (cudnnConvolutionBwdDataAlgo_t)c->algorithm, context->workspace, c->workspace, &zero,
            c->wide, wide);
        break;
    default:
        status = cudnnConvolutionBackwardFilter(
            context->cudnn, &one, c->wide, wide, c->narrow, narrow, c->convolution,
            (cudnnConvolutionBwdFilterAlgo_t)c->algorithm, context->workspace, c->workspace, &zero,
            c->filter, filter);
    }
    return bench_cudnn(status, "a convolution", error);
}

/* What cuDNN names may turn out not to run: then the next one does, from the first run on. */
static int run_convolution(struct bench_context *context, const void *what, int copy,
                           struct dlt_error *error)
{
    struct convolution *c = (struct convolution *)what;
    int status = call(context, c, copy, error);

    while (status && !c->works) {
        struct dlt_error none;

        if (choose_next(c, &none))
            break;
        status = call(context, c, copy, error);
    }
    c->works = c->works || status == BENCH_OK;
    return status;
}

/* Adds one of the three kinds for the pass, with the arrays on the layer's sides. */
static int add(struct bench_layer *layer, enum dlt_pass pass, enum way way,
               const struct bench_buffer *input, const struct bench_buffer *output,
               const struct bench_buffer *filter, struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    bool transposed = is_transposed(&layer->record);
    struct convolution *c = bench_own_zeroed(&context->owned, 1, sizeof *c, error);
    struct bench_shape in, out;
    int status;

    if (!c)
        return BENCH_NO_MEMORY;
    bench_role_shape(&layer->record, BENCH_INPUT, 0, &in);
    bench_role_shape(&layer->record, BENCH_OUTPUT, 0, &out);
    if (is_padded(layer))
        bench_pad_shape(&layer->record, &in);
    c->layer = layer;
    c->pass = pass;
    c->way = way;
    c->wide_data = transposed ? output : input;
    c->narrow_data = transposed ? input : output;
    c->filter_data = filter;
    status = bench_tensor_descriptor(context, layer->type, layer->last, transposed ? &out : &in,
                                     &c->wide, error);
    if (status == BENCH_OK)
        status = bench_tensor_descriptor(context, layer->type, layer->last, transposed ? &in : &out,
                                         &c->narrow, error);
    if (status == BENCH_OK)
        status = bench_filter_descriptor(context, layer->type, layer->last, &layer->record,
                                         &c->filter, error);
    if (status == BENCH_OK)
        status = bench_convolution_descriptor(context, &layer->record, &c->convolution, error);
    if (status == BENCH_OK)
        status = choose(c, error);
    return status ? status
                  : bench_add(layer, pass, run_convolution, c, BENCH_USES(input, output, filter),
                              error);
}

/* Elements of one channel, and images x channels. */
static int64_t plane_of(const struct bench_shape *shape)
{
    int64_t plane = 1;

    for (int d = 2; d < shape->rank; d++)
        plane *= shape->dim[d];
    return plane;
}

/* Frameworks add the bias with a kernel of their own. */
static int add_bias(struct bench_layer *layer, struct dlt_error *error)
{
    const struct bench_shape *shape = &layer->output->shape;
    bool last = layer->output->value->last;
    struct bench_channel_arguments add_arguments = {.images = last ? shape->dim[0] * plane_of(shape)
                                                                   : shape->dim[0],
                                                    .channels = (int)shape->dim[1],
                                                    .plane = last ? 1 : (int)plane_of(shape)};
    struct bench_call call = {
        .kernel = "channel_add",
        .type = layer->type,
        .grid = {bench_blocks(layer->context, (long long)layer->output->value->count)},
        BENCH_ARGUMENTS(add_arguments),
        .pointer = {BENCH_POINTER(add_arguments, in, layer->bias.value),
                    BENCH_POINTER(add_arguments, out, layer->output->value)}};

    return bench_add_call(layer, DLT_FORWARD, &call, error);
}

/* He's bound, sqrt(6 / fan in), keeps the signal's size from layer to layer. The weights' shape is
 * [out][in / groups][window], or [in][out / groups][window] of a transposed convolution. */
static int make_parameters(struct bench_layer *layer, struct dlt_error *error)
{
    const struct dlt_record *record = &layer->record;
    const struct dlt_spatial *s = &record->u.spatial;
    bool transposed = is_transposed(record);
    struct bench_shape shape = {.rank = 2 + record->kind->dims};
    double inputs = (double)s->in_channels / (double)s->groups;
    int status;

    if (layer->options.share) {
        layer->weight.value = layer->options.share->weight.value;
        layer->bias.value = layer->options.share->bias.value;
        return BENCH_OK;
    }
    shape.dim[0] = transposed ? s->in_channels : s->out_channels;
    shape.dim[1] = (transposed ? s->out_channels : s->in_channels) / s->groups;
    for (int d = 0; d < record->kind->dims; d++) {
        shape.dim[2 + d] = s->kernel[d];
        inputs *= (double)s->kernel[d];
    }
    status = bench_parameter(layer, layer->type, layer->last, &shape, 0, (float)sqrt(6 / inputs),
                             &layer->weight, error);
    return status ? status
                  : bench_role_parameter(layer, BENCH_BIAS, layer->type, 0,
                                         (float)(1 / sqrt(inputs)), &layer->bias, error);
}

/* The input as cuDNN is to have it; copied in each pass that reads it, as frameworks do. The padded
 * array is the layer's `extra`. */
static int add_input(struct bench_layer *layer, enum dlt_pass pass,
                     const struct bench_buffer **input, struct dlt_error *error)
{
    struct bench_buffer *padded = layer->extra;
    int status = BENCH_OK;

    *input = layer->value[0];
    if (!is_padded(layer))
        return BENCH_OK;
    if (!padded)
        status = bench_pad_buffer(layer, &padded, error);
    if (status == BENCH_OK)
        status = bench_pad_add(layer, pass, true, layer->value[0], padded, error);
    *input = layer->extra = padded;
    return status;
}

int bench_convolution_forward(struct bench_layer *layer, struct dlt_error *error)
{
    const struct bench_buffer *input = NULL;
    int status = bench_input(layer, 0, error);

    if (status == BENCH_OK)
        status = make_parameters(layer, error);
    if (status == BENCH_OK)
        status = bench_output(layer, error);
    if (status == BENCH_OK)
        status = add_input(layer, DLT_FORWARD, &input, error);
    if (status == BENCH_OK)
        status = add(layer, DLT_FORWARD, is_transposed(&layer->record) ? DATA : FORWARD, input,
                     layer->output->value, layer->weight.value, error);
    return status || !layer->bias.value ? status : add_bias(layer, error);
}

/* Sums over images and places. */
static int add_bias_gradient(struct bench_layer *layer, const struct bench_buffer *gradient,
                             struct dlt_error *error)
{
    const struct bench_shape *shape = &layer->output->shape;
    int64_t plane = plane_of(shape), images = shape->dim[0];
    struct bench_buffer *target = NULL;
    int status = bench_parameter_collect(layer, &layer->bias, &target, error);

    if (gradient->last) {
        images *= plane;
        plane = 1;
    }
    if (status == BENCH_OK)
        status = bench_add_channel_sum(layer, DLT_BACKWARD_WEIGHT, gradient, images, shape->dim[1],
                                       plane, target, error);
    return status
               ? status
               : bench_parameter_deliver(layer, DLT_BACKWARD_WEIGHT, &layer->bias, target, error);
}

static int backward_weight(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_buffer *gradient = NULL, *target = NULL;
    const struct bench_buffer *input = NULL;
    int status = bench_output_gradient(layer, DLT_BACKWARD_WEIGHT, &gradient, error);

    if (status == BENCH_OK)
        status = bench_parameter_collect(layer, &layer->weight, &target, error);
    if (status == BENCH_OK)
        status = add_input(layer, DLT_BACKWARD_WEIGHT, &input, error);
    if (status == BENCH_OK)
        status = add(layer, DLT_BACKWARD_WEIGHT, FILTER, input, gradient, target, error);
    if (status == BENCH_OK)
        status = bench_parameter_deliver(layer, DLT_BACKWARD_WEIGHT, &layer->weight, target, error);
    return status || !layer->bias.value ? status : add_bias_gradient(layer, gradient, error);
}

static int backward_data(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_buffer *gradient = NULL, *target = NULL, *wide;
    int status = bench_output_gradient(layer, DLT_BACKWARD_DATA, &gradient, error);

    if (status == BENCH_OK)
        status = bench_collect(layer, 0, &target, error);
    wide = target;
    if (status == BENCH_OK && is_padded(layer))
        status = bench_pad_buffer(layer, &wide, error);
    if (status == BENCH_OK)
        status = add(layer, DLT_BACKWARD_DATA, is_transposed(&layer->record) ? FORWARD : DATA, wide,
                     gradient, layer->weight.value, error);
    if (status == BENCH_OK && is_padded(layer))
        status = bench_pad_add(layer, DLT_BACKWARD_DATA, false, target, wide, error);
    return status ? status : bench_deliver(layer, DLT_BACKWARD_DATA, 0, target, error);
}

int bench_convolution_backward(struct bench_layer *layer, bool data, bool weight,
                               struct dlt_error *error)
{
    int status = weight ? backward_weight(layer, error) : BENCH_OK;

    return status == BENCH_OK && data ? backward_data(layer, error) : status;
}
