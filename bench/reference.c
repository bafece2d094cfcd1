/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <math.h>
#include <string.h>

#include "reference_sequence.h"
#include "reference_spatial.h"

static const double epsilon = 1e-5; /* of both norms */

static bool is_forward(const struct dlt_record *record)
{
    return record->pass == DLT_FORWARD;
}

/* y = x W^T + b; dx = dy W, dW = dy^T x, db = sum dy. */
static void dense(const struct dlt_record *record, struct bench_arrays *a)
{
    const struct dlt_matmul *d = &record->u.matmul;
    int64_t m = d->m, n = d->n, k = d->k;

    for (int64_t i = 0; i < m && is_forward(record); i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = a->bias[0] ? a->bias[0][j] : 0;

            for (int64_t l = 0; l < k; l++)
                sum += a->input[0][i * k + l] * a->weight[0][j * k + l];
            a->output[i * n + j] = sum;
        }
    }
    for (int64_t i = 0; i < m && !is_forward(record); i++) {
        for (int64_t j = 0; j < n; j++) {
            double g = a->output_gradient[i * n + j];

            if (a->bias_gradient[0])
                a->bias_gradient[0][j] += g;
            for (int64_t l = 0; l < k; l++) {
                if (a->input_gradient[0])
                    a->input_gradient[0][i * k + l] += g * a->weight[0][j * k + l];
                if (a->weight_gradient[0])
                    a->weight_gradient[0][j * k + l] += g * a->input[0][i * k + l];
            }
        }
    }
}

/* C = A B; dA = dC B^T, dB = A^T dC. */
static void bmm(const struct dlt_record *record, struct bench_arrays *a)
{
    const struct dlt_matmul *d = &record->u.matmul;
    int64_t m = d->m, n = d->n, k = d->k;

    for (int64_t i = 0; i < d->batch * m * n; i++) {
        int64_t batch = i / (m * n), row = i / n % m, column = i % n;
        double sum = 0;

        for (int64_t l = 0; l < k; l++) {
            int64_t left = (batch * m + row) * k + l, right = (batch * k + l) * n + column;

            sum += a->input[0][left] * a->input[1][right];
            if (!is_forward(record)) {
                a->input_gradient[0][left] += a->output_gradient[i] * a->input[1][right];
                a->input_gradient[1][right] += a->output_gradient[i] * a->input[0][left];
            }
        }
        if (is_forward(record))
            a->output[i] = sum;
    }
}

/* One normalised set of `count` elements, `stride` apart. scale and shift are indexed by parameter
 * for batch_norm (the same for the whole set) and by element for layer_norm. */
static void normalise(const struct dlt_record *record, struct bench_arrays *a, int64_t count,
                      int64_t (*at)(const struct dlt_record *, int64_t set, int64_t i),
                      int64_t (*parameter)(int64_t set, int64_t i), int64_t set)
{
    double mean = 0, variance = 0, inverse, sum_g = 0, sum_gx = 0;

    for (int64_t i = 0; i < count; i++)
        mean += a->input[0][at(record, set, i)] / (double)count;
    for (int64_t i = 0; i < count; i++)
        variance += pow(a->input[0][at(record, set, i)] - mean, 2) / (double)count;
    inverse = 1 / sqrt(variance + epsilon);
    for (int64_t i = 0; i < count; i++) {
        double x = (a->input[0][at(record, set, i)] - mean) * inverse;
        int64_t p = parameter(set, i);

        if (is_forward(record)) {
            a->output[at(record, set, i)] = x * a->weight[0][p] + a->bias[0][p];
            continue;
        }
        a->weight_gradient[0][p] += a->output_gradient[at(record, set, i)] * x;
        a->bias_gradient[0][p] += a->output_gradient[at(record, set, i)];
        sum_g += a->output_gradient[at(record, set, i)] * a->weight[0][p];
        sum_gx += a->output_gradient[at(record, set, i)] * a->weight[0][p] * x;
    }
    for (int64_t i = 0; i < count && !is_forward(record); i++) {
        double x = (a->input[0][at(record, set, i)] - mean) * inverse;
        double g = a->output_gradient[at(record, set, i)] * a->weight[0][parameter(set, i)];

        a->input_gradient[0][at(record, set, i)] =
            inverse * (g - (sum_g + x * sum_gx) / (double)count);
    }
}

static int64_t in_row(const struct dlt_record *record, int64_t set, int64_t i)
{
    return set * record->u.rowwise.columns + i;
}

static int64_t by_element(int64_t set, int64_t i)
{
    (void)set;
    return i;
}

static void layer_norm(const struct dlt_record *record, struct bench_arrays *a)
{
    for (int64_t row = 0; row < record->u.rowwise.rows; row++)
        normalise(record, a, record->u.rowwise.columns, in_row, by_element, row);
}

static int64_t plane_of(const struct dlt_record *record)
{
    int64_t plane = 1;

    for (int d = 0; d < record->kind->dims; d++)
        plane *= record->u.spatial.in_size[d];
    return plane;
}

static int64_t in_channel(const struct dlt_record *record, int64_t set, int64_t i)
{
    int64_t plane = plane_of(record);

    return (i / plane * record->u.spatial.in_channels + set) * plane + i % plane;
}

static int64_t by_set(int64_t set, int64_t i)
{
    (void)i;
    return set;
}

static void batch_norm(const struct dlt_record *record, struct bench_arrays *a)
{
    for (int64_t channel = 0; channel < record->u.spatial.in_channels; channel++)
        normalise(record, a, record->u.spatial.batch * plane_of(record), in_channel, by_set,
                  channel);
}

/* y = exp(x - max) / sum; dx = y (g - sum g y). */
static void softmax(const struct dlt_record *record, struct bench_arrays *a)
{
    int64_t columns = record->u.rowwise.columns;

    for (int64_t row = 0; row < record->u.rowwise.rows; row++) {
        const double *x = a->input[0] + row * columns;
        double largest = x[0], sum = 0, inner = 0;

        for (int64_t i = 1; i < columns; i++)
            largest = fmax(largest, x[i]);
        for (int64_t i = 0; i < columns; i++)
            sum += exp(x[i] - largest);
        for (int64_t i = 0; i < columns; i++) {
            double y = exp(x[i] - largest) / sum;

            if (is_forward(record))
                a->output[row * columns + i] = y;
            else
                inner += y * a->output_gradient[row * columns + i];
        }
        for (int64_t i = 0; i < columns && !is_forward(record); i++)
            a->input_gradient[0][row * columns + i] =
                exp(x[i] - largest) / sum * (a->output_gradient[row * columns + i] - inner);
    }
}

/* A function and its derivatives at (x, y). */
struct value {
    double f, dx, dy;
};

static struct value function_at(enum dlt_function function, double x, double y)
{
    double s;

    switch (function) {
    case DLT_RELU:
        return (struct value){x > 0 ? x : 0, x > 0, 0};
    case DLT_RELU6:
        return (struct value){fmin(fmax(x, 0), 6), x > 0 && x < 6, 0};
    case DLT_GELU: /* x Phi(x), the exact form */
        s = 0.5 * (1 + erf(x / sqrt(2)));
        return (struct value){x * s, s + x * exp(-0.5 * x * x) / sqrt(2 * M_PI), 0};
    case DLT_SIGMOID:
        s = 1 / (1 + exp(-x));
        return (struct value){s, s * (1 - s), 0};
    case DLT_TANH:
        s = tanh(x);
        return (struct value){s, 1 - s * s, 0};
    case DLT_POW:
        return (struct value){x * x * x, 3 * x * x, 0};
    case DLT_ADD:
        return (struct value){x + y, 1, 1};
    case DLT_SUB:
        return (struct value){x - y, 1, -1};
    case DLT_MUL:
        return (struct value){x * y, y, x};
    case DLT_DIV:
        return (struct value){x / y, 1 / y, -x / (y * y)};
    case DLT_SILU:
        s = 1 / (1 + exp(-x));
        return (struct value){x * s, s * (1 + x * (1 - s)), 0};
    case DLT_HARDSWISH:
        s = fmin(fmax(x / 6 + 0.5, 0), 1);
        return (struct value){x * s, s + (s > 0 && s < 1 ? x / 6 : 0), 0};
    case DLT_HARDSIGMOID:
        s = fmin(fmax(x / 6 + 0.5, 0), 1);
        return (struct value){s, s > 0 && s < 1 ? 1.0 / 6 : 0, 0};
    case DLT_HARDTANH:
        return (struct value){fmin(fmax(x, -1), 1), x > -1 && x < 1, 0};
    case DLT_LEAKY_RELU:
        return (struct value){x > 0 ? x : 0.01 * x, x > 0 ? 1 : 0.01, 0};
    case DLT_ELU:
        return (struct value){x > 0 ? x : expm1(x), x > 0 ? 1 : exp(x), 0};
    case DLT_SOFTPLUS:
        return (struct value){log1p(exp(x)), 1 / (1 + exp(-x)), 0};
    case DLT_MISH:
        s = tanh(log1p(exp(x)));
        return (struct value){x * s, s + x * (1 - s * s) / (1 + exp(-x)), 0};
    case DLT_EXP:
        return (struct value){exp(x), exp(x), 0};
    case DLT_LOG:
        return (struct value){log(x), 1 / x, 0};
    case DLT_SQRT:
        return (struct value){sqrt(x), 0.5 / sqrt(x), 0};
    case DLT_ERF:
        return (struct value){erf(x), 2 / sqrt(M_PI) * exp(-x * x), 0};
    case DLT_ABS:
        return (struct value){fabs(x), x > 0 ? 1 : -1, 0};
    case DLT_MAXIMUM:
        return (struct value){fmax(x, y), x > y, x <= y};
    case DLT_COPY:
        return (struct value){x, 1, 0};
    case DLT_DROPOUT: /* y: the mask */
        return (struct value){x * y, y, 0};
    default:
        return (struct value){NAN, NAN, NAN};
    }
}

/* Where element (row, column) of operand `index` stands in the output. */
static void concat(const struct dlt_record *record, struct bench_arrays *a)
{
    int64_t columns = record->u.rowwise.columns, offset = 0;
    int axis = bench_concat_axis(record);

    for (int index = 0; index < bench_operands(record); index++) {
        struct bench_shape part;

        bench_role_shape(record, BENCH_INPUT, index, &part);
        for (int64_t i = 0; i < part.dim[0] * part.dim[1]; i++) {
            int64_t row = i / part.dim[1] + (axis == 0 ? offset : 0);
            int64_t column = i % part.dim[1] + (axis == 1 ? offset : 0);

            if (is_forward(record))
                a->output[row * columns + column] = a->input[index][i];
            else
                a->input_gradient[index][i] = a->output_gradient[row * columns + column];
        }
        offset += part.dim[axis];
    }
}

static void elementwise(const struct dlt_record *record, struct bench_arrays *a)
{
    const struct dlt_rowwise *r = &record->u.rowwise;
    const double *second = r->function == DLT_DROPOUT ? a->mask : a->input[1];

    if (r->function == DLT_CONCAT) {
        concat(record, a);
        return;
    }
    for (int64_t i = 0; i < r->rows * r->columns; i++) {
        struct value v =
            function_at((enum dlt_function)r->function, a->input[0][i], second ? second[i] : 0);

        if (is_forward(record)) {
            a->output[i] = v.f;
            continue;
        }
        a->input_gradient[0][i] = a->output_gradient[i] * v.dx;
        if (a->input_gradient[1])
            a->input_gradient[1][i] = a->output_gradient[i] * v.dy;
    }
}

/* ---- kinds whose gradients are taken by central differences of forward ---- */

typedef void forward_of(const struct dlt_record *record, struct bench_arrays *a);

static double objective(const struct dlt_record *record, struct bench_arrays *a,
                        forward_of *forward, size_t outputs)
{
    double sum = 0;

    memset(a->output, 0, outputs * sizeof *a->output);
    forward(record, a);
    for (size_t i = 0; i < outputs; i++)
        sum += a->output[i] * a->output_gradient[i];
    return sum;
}

/* Central differences of a step whose error is far below float32's rounding. */
static void differentiate(const struct dlt_record *record, struct bench_arrays *a,
                          forward_of *forward, enum bench_role role, int index, double *values,
                          double *gradient)
{
    const double step = 1e-4;
    struct bench_shape shape, output;
    size_t outputs;

    if (!gradient || !bench_role_shape(record, role, index, &shape))
        return;
    bench_role_shape(record, BENCH_OUTPUT, 0, &output);
    outputs = bench_shape_count(&output);
    for (size_t i = 0; i < bench_shape_count(&shape); i++) {
        double value = values[i], above, below;

        values[i] = value + step;
        above = objective(record, a, forward, outputs);
        values[i] = value - step;
        below = objective(record, a, forward, outputs);
        values[i] = value;
        gradient[i] = (above - below) / (2 * step);
    }
}

static void by_differences(const struct dlt_record *record, struct bench_arrays *a,
                           forward_of *forward)
{
    if (is_forward(record)) {
        forward(record, a);
        return;
    }
    for (int i = 0; i < bench_operands(record); i++)
        differentiate(record, a, forward, BENCH_INPUT, i, a->input[i], a->input_gradient[i]);
    for (int i = 0; i < BENCH_WEIGHTS; i++) {
        differentiate(record, a, forward, BENCH_WEIGHT, i, a->weight[i], a->weight_gradient[i]);
        differentiate(record, a, forward, BENCH_BIAS, i, a->bias[i], a->bias_gradient[i]);
    }
}

static const double momentum = 0.9, beta1 = 0.9, beta2 = 0.999, decay = 0.01, rho = 0.9,
                    alpha = 0.99;

/* One element's step, to be subtracted times the learning rate; moves its state (s, t). */
static double optimizer_step(enum dlt_optimizer optimizer, double w, double g, double *s, double *t)
{
    double step;

    switch (optimizer) {
    case DLT_MOMENTUM:
        return *s = momentum * *s + g;
    case DLT_NESTEROV:
        *s = momentum * *s + g;
        return g + momentum * *s;
    case DLT_ADAM:
    case DLT_ADAMW:
    case DLT_LAMB:
        *s = beta1 * *s + (1 - beta1) * g;
        *t = beta2 * *t + (1 - beta2) * g * g;
        step = *s / (1 - beta1) / (sqrt(*t / (1 - beta2)) + (optimizer == DLT_LAMB ? 1e-6 : 1e-8));
        return optimizer == DLT_ADAM ? step : step + decay * w;
    case DLT_ADAGRAD:
        *s += g * g;
        return g / (sqrt(*s) + 1e-10);
    case DLT_ADADELTA:
        *s = rho * *s + (1 - rho) * g * g;
        step = sqrt(*t + 1e-6) / sqrt(*s + 1e-6) * g;
        *t = rho * *t + (1 - rho) * step * step;
        return step;
    case DLT_RMSPROP:
        *s = alpha * *s + (1 - alpha) * g * g;
        return g / (sqrt(*s) + 1e-8);
    default:
        return g;
    }
}

static void update(const struct dlt_record *record, double learning_rate, struct bench_arrays *a)
{
    double weights = 0, steps = 0, unused = 0, trust = 1;
    struct bench_shape shape;
    int64_t count;

    bench_role_shape(record, BENCH_WEIGHT, 0, &shape);
    count = shape.dim[0];
    for (int64_t i = 0; i < count; i++) {
        double *s = a->state[0] ? &a->state[0][i] : &unused;
        double *t = a->state[1] ? &a->state[1][i] : &unused;
        double step =
            optimizer_step(record->optimizer, a->weight[0][i], a->weight_gradient[0][i], s, t);

        weights += a->weight[0][i] * a->weight[0][i];
        steps += step * step;
        a->weight_gradient[0][i] = step;
    }
    if (record->optimizer == DLT_LAMB)
        trust = sqrt(weights / steps);
    for (int64_t i = 0; i < count; i++)
        a->weight[0][i] -= learning_rate * trust * a->weight_gradient[0][i];
}

bool bench_reference(const struct dlt_record *record, double learning_rate,
                     struct bench_arrays *arrays)
{
    static const struct {
        const char *kind;
        void (*compute)(const struct dlt_record *record, struct bench_arrays *arrays);
    } kinds[] = {
        {"conv1d", bench_reference_convolution},
        {"conv2d", bench_reference_convolution},
        {"conv3d", bench_reference_convolution},
        {"max_pool1d", bench_reference_pool},
        {"avg_pool1d", bench_reference_pool},
        {"max_pool2d", bench_reference_pool},
        {"avg_pool2d", bench_reference_pool},
        {"max_pool3d", bench_reference_pool},
        {"avg_pool3d", bench_reference_pool},
        {"dense", dense},
        {"bmm", bmm},
        {"batch_norm", batch_norm},
        {"layer_norm", layer_norm},
        {"softmax", softmax},
        {"elementwise", elementwise},
    };
    static const struct {
        const char *kind;
        forward_of *forward;
    } forwards[] = {
        {"conv_transpose1d", bench_reference_transposed},
        {"conv_transpose2d", bench_reference_transposed},
        {"conv_transpose3d", bench_reference_transposed},
        {"upsample", bench_reference_upsample},
        {"group_norm", bench_reference_group_norm},
        {"rms_norm", bench_reference_rms_norm},
        {"cross_entropy", bench_reference_cross_entropy},
        {"reduction", bench_reference_reduction},
        {"embedding", bench_reference_embedding},
        {"scaled_dot_product_attention", bench_reference_attention},
        {"rnn", bench_reference_recurrent},
        {"gru", bench_reference_recurrent},
        {"lstm", bench_reference_recurrent},
    };

    if (strcmp(record->kind->name, "optimizer_update") == 0) {
        update(record, learning_rate, arrays);
        return true;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].kind, record->kind->name) == 0) {
            kinds[i].compute(record, arrays);
            return true;
        }
    }
    for (size_t i = 0; i < sizeof forwards / sizeof *forwards; i++) {
        if (strcmp(forwards[i].kind, record->kind->name) == 0) {
            by_differences(record, arrays, forwards[i].forward);
            return true;
        }
    }
    return false;
}
