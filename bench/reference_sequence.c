/* SPDX-License-Identifier: Apache-2.0 */
#include "reference_sequence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void bench_reference_rms_norm(const struct dlt_record *record, struct bench_arrays *a)
{
    int64_t columns = record->u.rowwise.columns;

    for (int64_t row = 0; row < record->u.rowwise.rows; row++) {
        const double *x = a->input[0] + row * columns;
        double squares = 0;

        for (int64_t i = 0; i < columns; i++)
            squares += x[i] * x[i] / (double)columns;
        for (int64_t i = 0; i < columns; i++)
            a->output[row * columns + i] = x[i] / sqrt(squares + 1e-5) * a->weight[0][i];
    }
}

/* The mean over rows of log(sum exp x) - x[label]; the labels are in mask. */
void bench_reference_cross_entropy(const struct dlt_record *record, struct bench_arrays *a)
{
    int64_t rows = record->u.rowwise.rows, columns = record->u.rowwise.columns;

    a->output[0] = 0;
    for (int64_t row = 0; row < rows; row++) {
        const double *x = a->input[0] + row * columns;
        double sum = exp(x[0]);

        for (int64_t i = 1; i < columns; i++)
            sum += exp(x[i]);
        a->output[0] += (log(sum) - x[(int64_t)a->mask[row]]) / (double)rows;
    }
}

void bench_reference_reduction(const struct dlt_record *record, struct bench_arrays *a)
{
    int64_t columns = record->u.rowwise.columns;

    for (int64_t row = 0; row < record->u.rowwise.rows; row++) {
        a->output[row] = 0;
        for (int64_t i = 0; i < columns; i++)
            a->output[row] += a->input[0][row * columns + i];
    }
}

void bench_reference_embedding(const struct dlt_record *record, struct bench_arrays *a)
{
    const struct dlt_matmul *m = &record->u.matmul;

    for (int64_t i = 0; i < m->m * m->n; i++)
        a->output[i] = a->weight[0][(int64_t)a->mask[i / m->n] * m->n + i % m->n];
}

void bench_reference_attention(const struct dlt_record *record, struct bench_arrays *arrays)
{
    const struct dlt_attention *a = &record->u.attention;
    int64_t size = a->head_size, queries = a->query_length, keys = a->key_length;

    for (int64_t i = 0; i < a->batch * a->heads * queries; i++) {
        int64_t head = i / queries, visible = a->causal ? i % queries + 1 : keys;
        const double *q = arrays->input[0] + i * size;
        const double *k = arrays->input[1] + head * keys * size;
        const double *v = arrays->input[2] + head * keys * size;
        double sum = 0;

        for (int64_t d = 0; d < size; d++)
            arrays->output[i * size + d] = 0;
        for (int64_t j = 0; j < visible && j < keys; j++) {
            double score = 0;

            for (int64_t d = 0; d < size; d++)
                score += q[d] * k[j * size + d] / sqrt((double)size);
            sum += exp(score);
            for (int64_t d = 0; d < size; d++)
                arrays->output[i * size + d] += exp(score) * v[j * size + d];
        }
        for (int64_t d = 0; d < size; d++)
            arrays->output[i * size + d] /= sum;
    }
}

/* A layer in one direction. */
struct cell {
    const struct dlt_recurrent *r;
    char kind; /* r, g, l */
    int64_t in, gates;
    const double *w, *u, *b; /* [in][gates][hidden], [hidden][gates][hidden], [gates (+ 1)][hidden]
                              */
    double *h, *c, *next;
};

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* What gate `gate` of unit `j` gets from the input x, and from the state. */
static double from_input(const struct cell *s, const double *x, int64_t gate, int64_t j)
{
    int64_t hidden = s->r->hidden_size;
    double sum = s->b[gate * hidden + j];

    for (int64_t i = 0; i < s->in; i++)
        sum += x[i] * s->w[(i * s->gates + gate) * hidden + j];
    return sum;
}

static double from_state(const struct cell *s, int64_t gate, int64_t j)
{
    int64_t hidden = s->r->hidden_size;
    double sum = 0;

    for (int64_t i = 0; i < hidden; i++)
        sum += s->h[i] * s->u[(i * s->gates + gate) * hidden + j];
    return sum;
}

static double step_unit(struct cell *s, const double *x, int64_t j)
{
    double gate[4] = {0};

    if (s->kind == 'g') {
        double z = sigmoid(from_input(s, x, 0, j) + from_state(s, 0, j));
        double r = sigmoid(from_input(s, x, 1, j) + from_state(s, 1, j));
        double inside = from_state(s, 2, j) + s->b[3 * s->r->hidden_size + j];

        return (1 - z) * tanh(from_input(s, x, 2, j) + r * inside) + z * s->h[j];
    }
    for (int64_t g = 0; g < s->gates; g++)
        gate[g] = from_input(s, x, g, j) + from_state(s, g, j);
    if (s->kind == 'r')
        return tanh(gate[0]);
    s->c[j] = sigmoid(gate[1]) * s->c[j] + sigmoid(gate[0]) * tanh(gate[2]);
    return sigmoid(gate[3]) * tanh(s->c[j]);
}

/* One sequence of the batch through the cell; `width` numbers a step in the output. */
static void run_sequence(struct cell *s, const double *x, double *y, int64_t width, bool backwards)
{
    int64_t length = s->r->length, batch = s->r->batch, hidden = s->r->hidden_size;

    memset(s->h, 0, sizeof *s->h * (size_t)hidden);
    memset(s->c, 0, sizeof *s->c * (size_t)hidden);
    for (int64_t i = 0; i < length; i++) {
        int64_t t = backwards ? length - 1 - i : i;

        for (int64_t j = 0; j < hidden; j++)
            s->next[j] = step_unit(s, x + t * batch * s->in, j);
        memcpy(s->h, s->next, sizeof *s->h * (size_t)hidden);
        memcpy(y + t * batch * width, s->h, sizeof *s->h * (size_t)hidden);
    }
}

void bench_reference_recurrent(const struct dlt_record *record, struct bench_arrays *a)
{
    const struct dlt_recurrent *r = &record->u.recurrent;
    int64_t directions = r->bidirectional ? 2 : 1, hidden = r->hidden_size;
    int64_t width = directions * hidden;
    struct cell s = {.r = r, .kind = *record->kind->name};
    size_t values =
        (size_t)(r->length * r->batch * (width > r->in_features ? width : r->in_features));
    double *x = calloc(values, sizeof *x), *state = calloc(3 * (size_t)hidden, sizeof *state);

    if (!x || !state)
        goto out;
    memcpy(x, a->input[0], sizeof *x * (size_t)(r->length * r->batch * r->in_features));
    s.gates = s.kind == 'l' ? 4 : s.kind == 'g' ? 3 : 1;
    s.h = state;
    s.c = state + hidden;
    s.next = state + 2 * hidden;
    for (int64_t layer = 0; layer < r->num_layers; layer++) {
        s.in = layer ? width : r->in_features;
        for (int64_t d = 0; d < directions; d++) {
            s.w = a->weight[2 * layer] + d * s.in * s.gates * hidden;
            s.u = a->weight[2 * layer + 1] + d * hidden * s.gates * hidden;
            s.b = a->bias[layer] + d * (s.gates + (s.kind == 'g')) * hidden;
            for (int64_t n = 0; n < r->batch; n++)
                run_sequence(&s, x + n * s.in, a->output + n * width + d * hidden, width, d == 1);
        }
        memcpy(x, a->output, sizeof *x * (size_t)(r->length * r->batch * width));
    }
out:
    free(x);
    free(state);
}
