/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/table_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "learn/nnls.h"

int dlt_table_rows_add(struct dlt_table_draft *draft, const struct dlt_record *record,
                       double seconds)
{
    struct dlt_table_row row = {
        .batch = (double)record->u.spatial.batch, .log_s = log(seconds), .pass = record->pass};

    if (record->pass > DLT_BACKWARD || row.batch > DLT_TABLE_BATCH_MAX ||
        !dlt_table_shape_of(record, &row.shape))
        return 0;
    if (dlt_grow(&draft->row, sizeof *draft->row, draft->row_count, 1, &draft->row_room))
        return -1;
    draft->row[draft->row_count++] = row;
    return 0;
}

static int by_configuration(const void *a, const void *b)
{
    const struct dlt_table_row *x = a, *y = b;
    int shapes = memcmp(&x->shape, &y->shape, offsetof(struct dlt_table_shape, first));

    if (shapes)
        return shapes;
    if (x->batch != y->batch)
        return x->batch < y->batch ? -1 : 1;
    if (x->pass != y->pass)
        return x->pass < y->pass ? -1 : 1;
    return (x->log_s > y->log_s) - (x->log_s < y->log_s);
}

/* The rows from `from` on that are of one shape and batch, as a point. Returns how many. */
static size_t make_point(const struct dlt_table_draft *draft, size_t from,
                         struct dlt_table_point *point)
{
    const struct dlt_table_row *first = &draft->row[from];
    double sum[DLT_BACKWARD + 1] = {0}, seconds[DLT_BACKWARD + 1];
    size_t count[DLT_BACKWARD + 1] = {0}, r = from;

    for (; r < draft->row_count && draft->row[r].batch == first->batch &&
           dlt_table_same_shape(&draft->row[r].shape, &first->shape);
         r++) {
        sum[draft->row[r].pass] += draft->row[r].log_s;
        count[draft->row[r].pass]++;
    }
    for (int pass = 0; pass <= DLT_BACKWARD; pass++)
        seconds[pass] = count[pass] ? exp(sum[pass] / (double)count[pass]) : NAN;
    if (!count[DLT_BACKWARD])
        seconds[DLT_BACKWARD] = seconds[DLT_BACKWARD_DATA] + seconds[DLT_BACKWARD_WEIGHT];
    point->batch = (float)first->batch;
    point->seconds[DLT_TABLE_FORWARD] = (float)seconds[DLT_FORWARD];
    point->seconds[DLT_TABLE_WEIGHT] = (float)seconds[DLT_BACKWARD_WEIGHT];
    point->seconds[DLT_TABLE_BACKWARD] = (float)seconds[DLT_BACKWARD];
    return r - from;
}

int dlt_table_build(struct dlt_table_draft *draft)
{
    struct dlt_file_table *head = &draft->head;
    size_t room = draft->row_count + 1;

    draft->shape = calloc(room, sizeof *draft->shape);
    draft->point = calloc(room, sizeof *draft->point);
    draft->hidden = calloc(room, 1);
    if (!draft->shape || !draft->point || !draft->hidden)
        return -1;
    if (draft->row_count)
        qsort(draft->row, draft->row_count, sizeof *draft->row, by_configuration);
    head->layout = DLT_TABLE_LAYOUT;
    for (size_t r = 0; r < draft->row_count;) {
        const struct dlt_table_shape *shape = &draft->row[r].shape;
        struct dlt_table_shape *last = head->shapes ? &draft->shape[head->shapes - 1] : NULL;

        if (!last || !dlt_table_same_shape(last, shape)) {
            last = &draft->shape[head->shapes++];
            *last = *shape;
            last->first = head->points;
        }
        last->count++;
        r += make_point(draft, r, &draft->point[head->points++]);
    }
    draft->table = (struct dlt_table){head, draft->shape, draft->point, draft->hidden};
    return 0;
}

/* How far a time is from the cost model, as a weight: far ones lead no longer. */
static double cost_weight(double cost, double seconds)
{
    const double corner = 0.3;
    double apart = fabs(log(cost / seconds));

    return sqrt(fmin(1, corner / fmax(apart, 1e-9))) / cost;
}

/* Least squares of relative errors, three times with weights from the last fit. */
static int fit_costs(struct dlt_table_draft *draft, enum dlt_table_slot slot)
{
    enum { N = DLT_TABLE_COSTS, ROUNDS = 4 };
    double gram[N * N], right[N], scale[N], x[N];
    struct dlt_file_table *head = &draft->head;

    for (int round = 0; round < ROUNDS; round++) {
        memset(gram, 0, sizeof gram);
        memset(right, 0, sizeof right);
        for (uint32_t s = 0; s < head->shapes; s++) {
            const struct dlt_table_shape *shape = &draft->shape[s];

            for (uint32_t p = shape->first; p < shape->first + shape->count; p++) {
                double seconds = draft->point[p].seconds[slot], a[N], w;

                if (draft->hidden[s] || !(seconds > 0))
                    continue;
                dlt_table_costs(shape, draft->point[p].batch, a);
                w = round ? cost_weight(dlt_table_cost(head, shape, draft->point[p].batch, slot),
                                        seconds)
                          : 1 / seconds;
                for (int i = 0; i < N; i++) {
                    for (int j = 0; j < N; j++)
                        gram[i * N + j] += w * a[i] * w * a[j];
                    right[i] += w * a[i] * w * seconds;
                }
            }
        }
        for (int i = 0; i < N; i++)
            scale[i] = gram[i * N + i] > 0 ? 1 / sqrt(gram[i * N + i]) : 0;
        for (int i = 0; i < N * N; i++)
            gram[i] *= scale[i / N] * scale[i % N];
        for (int i = 0; i < N; i++)
            right[i] *= scale[i];
        if (dlt_nnls(gram, right, N, x))
            return -1;
        for (int i = 0; i < N; i++)
            head->cost[slot][i] = x[i] * scale[i];
    }
    return 0;
}

/* What the lengths are chosen on: each shape's mean distance from the cost model. */
struct sample {
    const struct dlt_table_shape **shape;
    double *beyond;
    size_t count;
};

static void fill_sample(const struct dlt_table_draft *draft, enum dlt_table_slot slot,
                        struct sample *sample)
{
    sample->count = 0;
    for (uint32_t s = 0; s < draft->head.shapes; s++) {
        const struct dlt_table_shape *shape = &draft->shape[s];
        double sum = 0, count = 0;

        for (uint32_t p = shape->first; p < shape->first + shape->count && !draft->hidden[s]; p++) {
            double seconds = draft->point[p].seconds[slot];

            if (!(seconds > 0))
                continue;
            sum += log(seconds / dlt_table_cost(&draft->head, shape, draft->point[p].batch, slot));
            count++;
        }
        if (!(count > 0))
            continue;
        sample->shape[sample->count] = shape;
        sample->beyond[sample->count++] = sum / count;
    }
}

/* Mean squared error of shapes that follow from the others; of so many at most, evenly drawn. */
static double left_out_error(const struct sample *s, const double *theta)
{
    enum { ASKED = 128 };
    const double far = 25;
    size_t step = s->count / ASKED + 1;
    double length[DLT_TABLE_AXES], errors = 0, asked = 0;

    for (int a = 0; a < DLT_TABLE_AXES; a++)
        length[a] = exp(theta[a]);
    for (size_t i = 0; i < s->count; i += step) {
        double weights = exp(theta[DLT_TABLE_AXES]), sum = 0, error;

        for (size_t j = 0; j < s->count; j++) {
            double d2 = 0;

            for (int a = 0; a < DLT_TABLE_AXES; a++) {
                double d = (double)s->shape[i]->axis[a] - (double)s->shape[j]->axis[a];

                d2 += length[a] * d * d;
            }
            if (i == j || d2 > far)
                continue;
            d2 = exp(-d2 / 2);
            sum += d2 * s->beyond[j];
            weights += d2;
        }
        error = s->beyond[i] - sum / weights;
        errors += error * error;
        asked++;
    }
    return asked > 0 ? errors / asked : 0;
}

/* One coordinate after the other, in steps that shrink. */
static void fit_lengths(const struct sample *sample, double *length, double *prior)
{
    enum { N = DLT_TABLE_AXES + 1 };
    const double from_length = log(2), from_prior = log(0.1);
    double theta[N], least, step = log(6);

    for (int a = 0; a < N; a++)
        theta[a] = a < DLT_TABLE_AXES ? from_length : from_prior;
    least = left_out_error(sample, theta);
    for (int sweep = 0; sweep < 12 && step > 0.1; sweep++) {
        bool moved = false;

        for (int a = 0; a < N; a++) {
            for (int sign = -1; sign <= 1; sign += 2) {
                double was = theta[a], now;

                theta[a] = fmin(fmax(was + sign * step, -12), 12);
                now = left_out_error(sample, theta);
                if (now < least) {
                    least = now;
                    moved = true;
                    break;
                }
                theta[a] = was;
            }
        }
        if (!moved)
            step /= 2;
    }
    for (int a = 0; a < DLT_TABLE_AXES; a++)
        length[a] = exp(theta[a]);
    *prior = exp(theta[DLT_TABLE_AXES]);
}

int dlt_table_fit(struct dlt_table_draft *draft)
{
    static const enum dlt_table_slot slots[] = {DLT_TABLE_FORWARD, DLT_TABLE_BACKWARD};
    struct sample sample = {.shape = calloc(draft->head.shapes + 1, sizeof *sample.shape),
                            .beyond = calloc(draft->head.shapes + 1, sizeof *sample.beyond)};
    int result = sample.shape && sample.beyond ? 0 : -1;

    for (int slot = 0; slot < DLT_TABLE_SLOTS && result == 0; slot++)
        result = fit_costs(draft, (enum dlt_table_slot)slot);
    for (int i = 0; i < 2 && result == 0; i++) {
        fill_sample(draft, slots[i], &sample);
        fit_lengths(&sample, draft->head.length[i], &draft->head.prior[i]);
    }
    free(sample.shape);
    free(sample.beyond);
    return result;
}

void dlt_table_draft_clear(struct dlt_table_draft *draft)
{
    free(draft->row);
    free(draft->shape);
    free(draft->point);
    free(draft->hidden);
    *draft = (struct dlt_table_draft){0};
}
