/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "learn/model_build.h"

enum { MOST_NEIGHBOURS = 384 };
_Static_assert((int)MOST_NEIGHBOURS <= (int)DLT_NEIGHBOURS, "room in prediction");

/* Coordinates that hardly vary in training still count: a logarithm or indicator this far off is
 * one unit away. */
static const double least_scale = 0.35;

static void measure_axes(struct dlt_build *b, const struct dlt_rows *rows)
{
    double sum[DLT_COORDINATES_MAX] = {0}, squares[DLT_COORDINATES_MAX] = {0};
    double low[DLT_COORDINATES_MAX] = {0}, high[DLT_COORDINATES_MAX] = {0};
    struct dlt_numbers c = {0};

    for (size_t r = 0; r < rows->count; r++) {
        dlt_coordinates(&rows->row[r]->record, &c);
        for (size_t a = 0; a < c.count && a < DLT_COORDINATES_MAX; a++) {
            sum[a] += c.value[a];
            squares[a] += c.value[a] * c.value[a];
            low[a] = r == 0 ? c.value[a] : fmin(low[a], c.value[a]);
            high[a] = r == 0 ? c.value[a] : fmax(high[a], c.value[a]);
        }
    }
    b->model.axes = (uint32_t)(c.count < DLT_COORDINATES_MAX ? c.count : DLT_COORDINATES_MAX);
    for (uint32_t a = 0; a < b->model.axes; a++) {
        double mean = sum[a] / (double)rows->count;
        double variance = squares[a] / (double)rows->count - mean * mean;
        double scale = fmax(variance > 0 ? sqrt(variance) : 0, least_scale);

        b->axis[a] = (uint16_t)a;
        b->axis_mean[a] = (float)mean;
        b->axis_scale[a] = (float)(1 / scale);
        /* A little room, so that rounding puts no training row outside. */
        b->axis_low[a] = (float)((low[a] - mean) / scale - 0.01);
        b->axis_high[a] = (float)((high[a] - mean) / scale + 0.01);
    }
}

int dlt_fit_density(struct dlt_build *b, const struct dlt_rows *rows, struct dlt_random *random)
{
    size_t count = rows->count < MOST_NEIGHBOURS ? rows->count : MOST_NEIGHBOURS;
    uint32_t *order = malloc((rows->count + 1) * sizeof *order);
    struct dlt_numbers c;

    measure_axes(b, rows);
    free(b->neighbour);
    b->neighbour = malloc((count * b->model.axes + 1) * sizeof *b->neighbour);
    if (!order || !b->neighbour) {
        free(order);
        return -1;
    }
    for (size_t r = 0; r < rows->count; r++)
        order[r] = (uint32_t)r;
    dlt_random_shuffle(random, order, rows->count);
    for (size_t n = 0; n < count; n++) {
        dlt_coordinates(&rows->row[order[n]]->record, &c);
        for (uint32_t a = 0; a < b->model.axes; a++) {
            double z = (c.value[a] - (double)b->axis_mean[a]) * (double)b->axis_scale[a];

            z = fmin(fmax(z * DLT_NEIGHBOUR_UNIT, -127), 127);
            b->neighbour[a * count + n] = (int8_t)lrint(z);
        }
    }
    b->model.neighbours = (uint32_t)count;
    free(order);
    return 0;
}
