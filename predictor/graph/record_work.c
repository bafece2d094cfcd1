/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of record has to do at the least. */
#include "graph/record_work.h"

/* Elements of the input plane, the output plane and the window. */
static void planes(const struct dlt_record *r, double *in, double *out, double *window)
{
    const struct dlt_spatial *s = &r->u.spatial;

    *in = *out = *window = 1;
    for (int d = 0; d < r->kind->dims; d++) {
        *in *= (double)s->in_size[d];
        *out *= (double)dlt_spatial_out(s, d);
        *window *= (double)s->kernel[d];
    }
}

/* Passes that a pass consists of, as multiples of the forward pass's matrix product. */
static double products(enum dlt_pass pass)
{
    static const double count[DLT_PASSES] = {
        [DLT_FORWARD] = 1,  [DLT_BACKWARD_DATA] = 1, [DLT_BACKWARD_WEIGHT] = 1,
        [DLT_BACKWARD] = 2, [DLT_UPDATE] = 0,        [DLT_STEP] = 3};

    return count[pass];
}

/* Fills in what every matmul-like operator shares: one product for each pass, each operand read or
 * written once, and the optimizer's walk over the weights for a step or an update. */
static void matmul_like(const struct dlt_record *r, struct dlt_work *w)
{
    double size = (double)dlt_dtype_size(r->dtype);
    double updates = r->pass == DLT_STEP || r->pass == DLT_UPDATE ? 1 : 0;
    double touches = updates * dlt_optimizer_touches(r->optimizer) * w->weights;

    w->macs = products(r->pass) * w->batch * w->m * w->n * w->k;
    w->flops = 2 * w->macs + touches;
    w->bytes = size * products(r->pass) * (w->input + w->output + w->weights) + 4 * touches;
}

void dlt_work_convolution(const struct dlt_record *r, struct dlt_work *w)
{
    const struct dlt_spatial *s = &r->u.spatial;
    int64_t in_channels = s->in_channels / s->groups; /* of one group */
    int64_t out_channels = s->out_channels / s->groups;
    double in, out, window;

    planes(r, &in, &out, &window);
    w->batch = (double)s->groups;
    w->m = (double)s->batch * out;
    w->n = (double)out_channels;
    w->k = (double)in_channels * window;
    w->input = (double)s->batch * (double)s->in_channels * in;
    w->output = (double)s->batch * (double)s->out_channels * out;
    w->weights = (double)s->out_channels * w->k + (s->bias ? (double)s->out_channels : 0);
    matmul_like(r, w);
}

/* Each element of the input meets the whole window of every output channel. */
void dlt_work_transposed(const struct dlt_record *r, struct dlt_work *w)
{
    const struct dlt_spatial *s = &r->u.spatial;
    int64_t in_channels = s->in_channels / s->groups; /* of one group */
    int64_t out_channels = s->out_channels / s->groups;
    double in, out, window;

    planes(r, &in, &out, &window);
    w->batch = (double)s->groups;
    w->m = (double)s->batch * in;
    w->n = (double)out_channels * window;
    w->k = (double)in_channels;
    w->input = (double)s->batch * (double)s->in_channels * in;
    w->output = (double)s->batch * (double)s->out_channels * out;
    w->weights = (double)s->in_channels * w->n + (s->bias ? (double)s->out_channels : 0);
    matmul_like(r, w);
}

void dlt_work_dense(const struct dlt_record *r, struct dlt_work *w)
{
    const struct dlt_matmul *d = &r->u.matmul;

    w->batch = 1;
    w->m = (double)d->m;
    w->n = (double)d->n;
    w->k = (double)d->k;
    w->input = w->m * w->k;
    w->output = w->m * w->n;
    w->weights = w->n * w->k + (d->bias ? w->n : 0);
    matmul_like(r, w);
}

void dlt_work_bmm(const struct dlt_record *r, struct dlt_work *w)
{
    const struct dlt_matmul *d = &r->u.matmul;

    w->batch = (double)d->batch;
    w->m = (double)d->m;
    w->n = (double)d->n;
    w->k = (double)d->k;
    w->input = w->batch * (w->m * w->k + w->k * w->n);
    w->output = w->batch * w->m * w->n;
    w->weights = 0;
    matmul_like(r, w);
}

/* The flash kernel: scores and probabilities never reach memory; backward makes the scores again,
 * five products for the two of forward (Dao et al. 2022, arXiv 2205.14135, section 3 and appendix
 * B). */
void dlt_work_attention(const struct dlt_record *r, struct dlt_work *w)
{
    static const double times[DLT_PASSES] = {
        [DLT_FORWARD] = 1,    [DLT_BACKWARD_DATA] = 2.5, [DLT_BACKWARD_WEIGHT] = 0,
        [DLT_BACKWARD] = 2.5, [DLT_UPDATE] = 0,          [DLT_STEP] = 3.5};
    const struct dlt_attention *a = &r->u.attention;
    double keys, scores;

    w->batch = (double)a->batch * (double)a->heads;
    w->m = (double)a->query_length;
    w->n = (double)a->key_length;
    w->k = 2 * (double)a->head_size;
    keys = w->batch * w->n * w->k;
    scores = w->batch * w->m * w->n;
    w->output = w->batch * w->m * (double)a->head_size;
    w->input = w->output + keys;
    matmul_like(r, w);
    w->macs = times[r->pass] * w->batch * w->m * w->n * w->k;
    w->flops = 2 * w->macs + 5 * times[r->pass] * scores;
    w->bytes = (double)dlt_dtype_size(r->dtype) * times[r->pass] * (w->input + w->output);
}

double dlt_recurrent_gates(const struct dlt_record_kind *kind)
{
    return *kind->name == 'l' ? 4 : *kind->name == 'g' ? 3 : 1;
}

/* torch.nn.LSTM's sizes: each layer and direction has gates x hidden_size rows of weights for its
 * input and for its own output, which a projection makes out_features wide, and two biases. */
void dlt_work_recurrent(const struct dlt_record *r, struct dlt_work *w)
{
    const struct dlt_recurrent *a = &r->u.recurrent;
    double gates = dlt_recurrent_gates(r->kind);
    double hidden = (double)a->hidden_size, out = (double)a->out_features;
    double directions = a->bidirectional ? 2 : 1, steps = (double)a->batch * (double)a->length;
    double macs = 0;

    for (int64_t layer = 0; layer < a->num_layers && layer < 2; layer++) {
        double in = layer ? out * directions : (double)a->in_features;
        double times = directions * (layer ? (double)(a->num_layers - 1) : 1);
        double weights = gates * hidden * (in + out) + (out < hidden ? out * hidden : 0);

        macs += times * weights;
        w->weights += times * (weights + (a->bias ? 2 * gates * hidden : 0));
    }
    w->input = steps * (double)a->in_features;
    w->output = steps * out * directions;
    w->m = (double)a->batch;
    w->n = gates * hidden;
    w->k = (double)a->in_features + out;
    w->batch = steps * macs / (w->m * w->n * w->k);
    matmul_like(r, w);
}

/* Work of an operator that memory bounds: elements moved per output (or input) element in each
 * direction and FLOPs on each. */
static void memory_bound(const struct dlt_record *r, struct dlt_work *w, double forward_elements,
                         double backward_elements, double flops)
{
    double size = (double)dlt_dtype_size(r->dtype);
    bool forward = r->pass == DLT_FORWARD || r->pass == DLT_STEP;
    bool backward = r->pass != DLT_FORWARD && r->pass != DLT_UPDATE;

    w->bytes = size * ((forward ? forward_elements : 0) + (backward ? backward_elements : 0));
    w->flops = (forward ? flops : 0) + (backward ? 2 * flops : 0);
}

void dlt_work_pool(const struct dlt_record *r, struct dlt_work *w)
{
    const struct dlt_spatial *s = &r->u.spatial;
    double in, out, window, images = (double)s->batch * (double)s->in_channels;

    planes(r, &in, &out, &window);
    w->input = images * in;
    w->output = images * out;
    memory_bound(r, w, w->input + w->output, w->input + w->output, w->output * window);
}

/* Training reads the input twice (statistics, then normalising); backward reads the input and the
 * output's gradient twice and writes once. Inference reads once. */
static void channel_norm(const struct dlt_record *r, struct dlt_work *w, double forward_touches)
{
    const struct dlt_spatial *s = &r->u.spatial;
    double elements = (double)s->batch * (double)s->in_channels;

    for (int d = 0; d < r->kind->dims; d++)
        elements *= (double)s->in_size[d];
    w->input = w->output = elements;
    w->weights = 2 * (double)s->in_channels;
    memory_bound(r, w, elements * forward_touches, elements * 5, elements * 5);
}

void dlt_work_batch_norm(const struct dlt_record *r, struct dlt_work *w)
{
    channel_norm(r, w, r->u.spatial.training ? 3 : 2);
}

/* Its statistics are the sample's own, in inference as well. */
void dlt_work_group_norm(const struct dlt_record *r, struct dlt_work *w)
{
    channel_norm(r, w, 3);
}

static void rows_work(const struct dlt_record *r, struct dlt_work *w, double backward_touches)
{
    double elements = (double)r->u.rowwise.rows * (double)r->u.rowwise.columns;

    w->input = w->output = elements;
    memory_bound(r, w, 2 * elements, backward_touches * elements, 5 * elements);
}

/* Elements moved in backward, per element, by PyTorch's kernels: softmax 24 bytes, layer_norm 28
 * bytes in float32 (read off operator traces of NeuSight, Lee et al. 2025). */
void dlt_work_layer_norm(const struct dlt_record *r, struct dlt_work *w)
{
    rows_work(r, w, 7);
    w->weights = 2 * (double)r->u.rowwise.columns;
}

void dlt_work_rms_norm(const struct dlt_record *r, struct dlt_work *w)
{
    rows_work(r, w, 7);
    w->weights = (double)r->u.rowwise.columns;
}

void dlt_work_softmax(const struct dlt_record *r, struct dlt_work *w)
{
    rows_work(r, w, 6);
}

/* log_softmax forward and backward; the losses themselves are one number a row. */
void dlt_work_cross_entropy(const struct dlt_record *r, struct dlt_work *w)
{
    rows_work(r, w, 4);
    w->output = 1;
}

/* Reads all, writes one number a row; backward spreads it again. */
void dlt_work_reduction(const struct dlt_record *r, struct dlt_work *w)
{
    w->output = (double)r->u.rowwise.rows;
    w->input = w->output * (double)r->u.rowwise.columns;
    memory_bound(r, w, w->input + w->output, w->input + w->output, w->input);
}

/* Rows of a table. Backward sets the whole gradient of the table to zero and adds the rows to it.
 */
void dlt_work_embedding(const struct dlt_record *r, struct dlt_work *w)
{
    double rows = (double)r->u.matmul.m, width = (double)r->u.matmul.n;

    w->input = rows;
    w->output = rows * width;
    w->weights = (double)r->u.matmul.k * width;
    memory_bound(r, w, 2 * w->output, w->weights + 3 * w->output, 0);
}

/* operands is the plane of the input, columns that of the output. */
void dlt_work_upsample(const struct dlt_record *r, struct dlt_work *w)
{
    static const double taps[DLT_UPSAMPLES] = {1, 1, 2, 4, 16, 8};
    double rows = (double)r->u.rowwise.rows;

    w->input = rows * (double)r->u.rowwise.operands;
    w->output = rows * (double)r->u.rowwise.columns;
    memory_bound(r, w, w->input + w->output, w->input + w->output,
                 2 * w->output * taps[r->u.rowwise.function]);
}

/* FLOPs of one element: what the function costs where arithmetic is scalar. */
static const double function_flops[DLT_FUNCTIONS] = {
    [DLT_RELU] = 1,       [DLT_GELU] = 10,     [DLT_SIGMOID] = 8,     [DLT_TANH] = 8,
    [DLT_ADD] = 1,        [DLT_SUB] = 1,       [DLT_MUL] = 1,         [DLT_DIV] = 4,
    [DLT_POW] = 20,       [DLT_DROPOUT] = 6,   [DLT_RELU6] = 2,       [DLT_CAST] = 1,
    [DLT_SILU] = 9,       [DLT_HARDSWISH] = 5, [DLT_HARDSIGMOID] = 4, [DLT_HARDTANH] = 2,
    [DLT_LEAKY_RELU] = 2, [DLT_ELU] = 10,      [DLT_PRELU] = 2,       [DLT_SOFTPLUS] = 16,
    [DLT_MISH] = 24,      [DLT_EXP] = 8,       [DLT_LOG] = 8,         [DLT_SQRT] = 4,
    [DLT_ERF] = 10,       [DLT_ABS] = 1,       [DLT_WHERE] = 1,       [DLT_MAXIMUM] = 1,
    [DLT_COMPARE] = 1};

/* Reads its operands, writes one output; backward reads the output's gradient and, where the
 * derivative needs it, what was kept, and writes a gradient for each operand. Dropout moves 9 bytes
 * in forward, a mask of one byte among them, and 25 in backward, in float32 (as softmax's above).
 */
void dlt_work_elementwise(const struct dlt_record *r, struct dlt_work *w)
{
    const struct dlt_rowwise *e = &r->u.rowwise;
    double output = (double)e->rows * (double)e->columns;
    double operands = (double)e->operands;
    double reads = operands;

    w->weights = e->function == DLT_PRELU ? 1 : 0;
    if (e->function == DLT_CONCAT)
        reads = 1; /* the operands together are as large as the output */
    w->output = output;
    w->input = output * reads;
    memory_bound(r, w, output * (reads + 1), output * (reads + 2),
                 output * function_flops[e->function]);
    if (e->function == DLT_DROPOUT)
        memory_bound(r, w, output * 2.25, output * 6.25, output * function_flops[e->function]);
}

void dlt_work_update(const struct dlt_record *r, struct dlt_work *w)
{
    double touches = dlt_optimizer_touches(r->optimizer) * (double)r->u.update.elements;

    w->weights = (double)r->u.update.elements;
    w->flops = touches;
    w->bytes = 4 * touches;
}
