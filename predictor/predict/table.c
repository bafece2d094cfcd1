/* SPDX-License-Identifier: Apache-2.0 */
/* A table of benchmarked convolutions: its bytes, and the time of one convolution. */
#include "predict/table.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char prefix[] = "conv-table ";

void dlt_table_kind(enum dlt_framework framework, char kind[32])
{
    snprintf(kind, 32, "%s%s", prefix, dlt_framework_names[framework]);
}

bool dlt_table_is(const char *kind)
{
    return strncmp(kind, prefix, sizeof prefix - 1) == 0;
}

static bool all_finite(const double *value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(value[i]))
            return false;
    return true;
}

static struct dlt_record record_of(const struct dlt_table_shape *s, double batch)
{
    static const char *const name[2][3] = {
        {"conv1d", "conv2d", "conv3d"},
        {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}};
    const struct dlt_record_kind *kind =
        dlt_record_kind_find(name[s->transposed != 0][s->dims - 1]);
    struct dlt_record record = dlt_record_make(kind);
    struct dlt_spatial *to = &record.u.spatial;

    to->batch = (int64_t)batch;
    to->in_channels = s->in_channels;
    to->out_channels = s->out_channels;
    to->groups = s->groups;
    to->bias = s->bias;
    for (int d = 0; d < s->dims; d++) {
        to->in_size[d] = s->in_size[d];
        to->kernel[d] = s->kernel[d];
        to->stride[d] = s->stride[d];
        to->dilation[d] = s->dilation[d];
        to->padding[d][0] = s->padding[d][0];
        to->padding[d][1] = s->padding[d][1];
        to->out_size[d] = s->out_size[d];
    }
    return record;
}

/* A shape's points are in the order of their batches, and its times are times or unknown. */
static bool points_are_sound(const struct dlt_table_point *point, size_t count)
{
    const float most = DLT_TABLE_BATCH_MAX;

    for (size_t i = 0; i < count; i++) {
        if (!(point[i].batch >= 1 && point[i].batch <= most) ||
            (i > 0 && !(point[i].batch > point[i - 1].batch)))
            return false;
        for (int slot = 0; slot < DLT_TABLE_SLOTS; slot++)
            if (!isnan(point[i].seconds[slot]) &&
                !(point[i].seconds[slot] > 0 && isfinite(point[i].seconds[slot])))
                return false;
    }
    return true;
}

static bool shape_is_sound(const struct dlt_table *table, const struct dlt_table_shape *s)
{
    uint32_t points = table->head->points;
    struct dlt_record record;
    struct dlt_error error;

    if (s->dims < 1 || s->dims > 3 || s->count == 0 || s->first > points ||
        s->count > points - s->first)
        return false;
    for (int axis = 0; axis < DLT_TABLE_AXES; axis++)
        if (!isfinite(s->axis[axis]))
            return false;
    record = record_of(s, 1);
    return dlt_record_check(&record, &error) == 0 &&
           points_are_sound(table->point + s->first, s->count);
}

bool dlt_table_parse(const unsigned char *bytes, size_t size, struct dlt_table *table)
{
    const struct dlt_file_table *h = (const void *)bytes;
    size_t first = offsetof(struct dlt_file_table, factor) / sizeof(double);

    if (size < sizeof *h || h->layout != DLT_TABLE_LAYOUT ||
        (size - sizeof *h) / sizeof *table->shape < h->shapes ||
        (size - sizeof *h - h->shapes * sizeof *table->shape) / sizeof *table->point < h->points ||
        !all_finite((const double *)(const void *)bytes + first,
                    sizeof *h / sizeof(double) - first))
        return false;
    table->head = h;
    table->shape = (const void *)(bytes + sizeof *h);
    table->point = (const void *)(bytes + sizeof *h + h->shapes * sizeof *table->shape);
    table->hidden = NULL;
    for (uint32_t i = 0; i < h->shapes; i++)
        if (!shape_is_sound(table, &table->shape[i]))
            return false;
    return true;
}

/* What of a shape is compared. */
enum { KEY = offsetof(struct dlt_table_shape, first) };

bool dlt_table_same_shape(const struct dlt_table_shape *a, const struct dlt_table_shape *b)
{
    return memcmp(a, b, KEY) == 0;
}

/* The coordinates of the distance: logarithms of sizes. */
static void fill_axes(struct dlt_table_shape *s, double in, double out)
{
    double window = 1, stride = 1, dilation = 1;

    for (int d = 0; d < s->dims; d++) {
        window *= s->kernel[d];
        stride *= s->stride[d];
        dilation *= s->dilation[d];
    }
    s->axis[0] = (float)log((double)s->in_channels / s->groups);
    s->axis[1] = (float)log((double)s->out_channels / s->groups);
    s->axis[2] = (float)log(s->groups);
    s->axis[3] = (float)log(in);
    s->axis[4] = (float)log(out);
    s->axis[5] = (float)log(window);
    s->axis[6] = (float)log(stride);
    s->axis[7] = (float)log(dilation);
}

bool dlt_table_shape_of(const struct dlt_record *record, struct dlt_table_shape *shape)
{
    const int64_t most = UINT16_MAX, most_channels = UINT32_MAX;
    static const char transposed[] = "conv_transpose";
    const struct dlt_spatial *s = &record->u.spatial;
    double in = 1, out = 1;

    if (!dlt_is_convolution(record->kind) || s->in_channels > most_channels ||
        s->out_channels > most_channels)
        return false;
    memset(shape, 0, sizeof *shape);
    shape->in_channels = (uint32_t)s->in_channels;
    shape->out_channels = (uint32_t)s->out_channels;
    shape->groups = (uint32_t)s->groups;
    shape->dims = (uint8_t)record->kind->dims;
    shape->transposed = strncmp(record->kind->name, transposed, sizeof transposed - 1) == 0;
    shape->bias = s->bias != 0;
    shape->activation = (uint8_t)record->activation;
    for (int d = 0; d < record->kind->dims; d++) {
        const int64_t small[] = {s->in_size[d],    s->kernel[d],     s->stride[d],  s->dilation[d],
                                 s->padding[d][0], s->padding[d][1], s->out_size[d]};

        for (size_t i = 0; i < sizeof small / sizeof *small; i++)
            if (small[i] < 0 || small[i] > most)
                return false;
        shape->in_size[d] = (uint32_t)s->in_size[d];
        shape->kernel[d] = (uint16_t)s->kernel[d];
        shape->stride[d] = (uint16_t)s->stride[d];
        shape->dilation[d] = (uint16_t)s->dilation[d];
        shape->padding[d][0] = (uint16_t)s->padding[d][0];
        shape->padding[d][1] = (uint16_t)s->padding[d][1];
        shape->out_size[d] = shape->transposed ? (uint16_t)s->out_size[d] : 0;
        in *= (double)s->in_size[d];
        out *= shape->transposed ? (double)s->out_size[d] : (double)dlt_spatial_out(s, d);
    }
    fill_axes(shape, fmax(in, 1), fmax(out, 1));
    return true;
}

void dlt_table_costs(const struct dlt_table_shape *shape, double batch, double *cost)
{
    const struct dlt_record record = record_of(shape, fmax(batch, 1));
    struct dlt_work work;
    bool alone = shape->groups > 1 && shape->groups == shape->in_channels;

    dlt_record_work(&record, &work);
    cost[0] = 1;
    cost[1] = work.input;
    cost[2] = work.output;
    cost[3] = work.weights;
    cost[4] = shape->groups == 1 ? work.macs : 0;
    cost[5] = shape->groups > 1 && !alone ? work.macs : 0;
    cost[6] = alone ? work.macs : 0;
}

double dlt_table_cost(const struct dlt_file_table *head, const struct dlt_table_shape *shape,
                      double batch, enum dlt_table_slot slot)
{
    double cost[DLT_TABLE_COSTS], sum = 0;

    dlt_table_costs(shape, batch, cost);
    for (int i = 0; i < DLT_TABLE_COSTS; i++)
        sum += head->cost[slot][i] * cost[i];
    return fmax(sum, 1e-9);
}

static bool has(const struct dlt_table_point *point, enum dlt_table_slot slot)
{
    return point->seconds[slot] > 0;
}

/* The line through two points at a batch; below the smaller it goes on no further than to half of
 * its time for a vanishing batch, nor does time fall as the batch grows. */
static double on_line(const struct dlt_table_point *a, const struct dlt_table_point *b,
                      double batch, enum dlt_table_slot slot)
{
    double ta = a->seconds[slot], tb = b->seconds[slot];
    double slope = (tb - ta) / ((double)b->batch - (double)a->batch);

    if (batch > (double)b->batch)
        return tb + fmax(slope, 0) * (batch - (double)b->batch);
    if (batch < (double)a->batch)
        return fmin(ta, fmax(ta - fmax(slope, 0) * ((double)a->batch - batch),
                             ta * batch / (double)a->batch));
    return ta + slope * (batch - (double)a->batch);
}

double dlt_table_known(const struct dlt_table *table, const struct dlt_table_shape *shape,
                       double batch, enum dlt_table_slot slot)
{
    const struct dlt_table_point *before = NULL, *last = NULL, *end;

    end = table->point + shape->first + shape->count;
    for (const struct dlt_table_point *p = table->point + shape->first; p < end; p++) {
        if (!has(p, slot))
            continue;
        if ((double)p->batch == batch)
            return p->seconds[slot];
        before = last;
        last = p;
        if (before && (double)last->batch > batch)
            break;
    }
    if (!last)
        return NAN;
    if (!before) /* one batch alone: as the cost model grows */
        return (double)last->seconds[slot] * dlt_table_cost(table->head, shape, batch, slot) /
               dlt_table_cost(table->head, shape, (double)last->batch, slot);
    return on_line(before, last, batch, slot);
}

enum { NEIGHBOURS = 16 };

struct neighbour {
    double distance; /* squared */
    uint32_t shape;
};

/* Keeps the nearest, in the order of their distances. */
static size_t keep(struct neighbour *kept, size_t count, struct neighbour found)
{
    size_t at = count < NEIGHBOURS ? count : NEIGHBOURS;

    while (at > 0 && kept[at - 1].distance > found.distance) {
        if (at < NEIGHBOURS)
            kept[at] = kept[at - 1];
        at--;
    }
    if (at < NEIGHBOURS)
        kept[at] = found;
    return count < NEIGHBOURS ? count + 1 : count;
}

static double distance(const double *length, const struct dlt_table_shape *a,
                       const struct dlt_table_shape *b)
{
    double sum = 0;

    for (int i = 0; i < DLT_TABLE_AXES; i++) {
        double d = (double)a->axis[i] - (double)b->axis[i];

        sum += length[i] * d * d;
    }
    return sum;
}

double dlt_table_near(const struct dlt_table *table, const struct dlt_table_shape *shape,
                      double batch, enum dlt_table_slot slot)
{
    const double far = 40; /* exp(-far / 2) counts nothing */
    const double *length = table->head->length[slot != DLT_TABLE_FORWARD];
    double weights = table->head->prior[slot != DLT_TABLE_FORWARD], sum = 0;
    struct neighbour kept[NEIGHBOURS] = {0};
    size_t count = 0;

    for (uint32_t i = 0; i < table->head->shapes; i++) {
        const struct dlt_table_shape *other = &table->shape[i];
        struct neighbour found = {.shape = i};

        if ((table->hidden && table->hidden[i]) || other->dims != shape->dims ||
            other->transposed != shape->transposed || dlt_table_same_shape(other, shape))
            continue;
        found.distance = distance(length, other, shape);
        if (found.distance < far)
            count = keep(kept, count, found);
    }
    for (size_t k = 0; k < count; k++) {
        const struct dlt_table_shape *other = &table->shape[kept[k].shape];
        double seconds = dlt_table_known(table, other, batch, slot), weight;

        if (!(seconds > 0))
            continue;
        weight = exp(-kept[k].distance / 2);
        sum += weight * log(seconds / dlt_table_cost(table->head, other, batch, slot));
        weights += weight;
    }
    return dlt_table_cost(table->head, shape, batch, slot) * exp(weights > 0 ? sum / weights : 0);
}
