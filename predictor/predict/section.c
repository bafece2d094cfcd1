/* SPDX-License-Identifier: Apache-2.0 */
/* A section's bytes: counts are checked before anything behind them is looked at, so that a forged
 * file with a right checksum cannot lead anywhere outside it. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "predict/profile_format.h"

enum { MOST_ROWS = 4096, MOST_TREES = 4096 };

struct cursor {
    const unsigned char *bytes;
    size_t size, used;
    bool failed;
};

/* The next array of count elements, padded to 8 bytes. */
static const void *take(struct cursor *cursor, size_t count, size_t element)
{
    size_t wanted = (count * element + 7) / 8 * 8;
    const void *at = cursor->bytes + cursor->used;

    if (cursor->failed || wanted > cursor->size - cursor->used) {
        cursor->failed = true;
        return NULL;
    }
    cursor->used += wanted;
    return at;
}

static bool finite_all(const double *value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(value[i]))
            return false;
    return true;
}

static bool counts_are_sound(const struct dlt_file_model *m)
{
    if (m->feature_set != DLT_FEATURE_SET || m->columns > DLT_COLUMNS_MAX ||
        m->ratio >= DLT_RATIOS || m->inputs > DLT_FEATURES_MAX || m->points > MOST_ROWS ||
        m->axes > DLT_COORDINATES_MAX || m->neighbours > DLT_NEIGHBOURS ||
        m->layers > DLT_NETWORK_LAYERS || m->trees > MOST_TREES || m->donors > DLT_DONORS ||
        m->members > DLT_MEMBERS || m->tree_stride > 2 * DLT_FOREST_LEAVES - 1 ||
        (m->trees && m->inputs > DLT_FOREST_INPUTS))
        return false;
    if (m->sigma_low < 0 || m->sigma_high > DLT_SIGMA_MOST || m->sigma_far < 0 ||
        m->sigma_far > DLT_SIGMA_MOST)
        return false;
    return finite_all(&m->floor_s,
                      (sizeof *m - offsetof(struct dlt_file_model, floor_s)) / sizeof(double));
}

/* The networks' shape; false where counts contradict one another. */
static bool network_is_sound(struct dlt_section *s)
{
    const struct dlt_file_model *m = &s->model;

    if (m->ratio != DLT_RATIO_NETWORK)
        return m->layers == 0 && m->members == 0;
    s->network.layers = (int)m->layers;
    for (uint32_t l = 0; l <= m->layers; l++) {
        if (m->width[l] > DLT_NETWORK_WIDTH)
            return false;
        s->network.width[l] = (int)m->width[l];
    }
    return dlt_network_parameters(&s->network) > 0 && m->width[0] == m->inputs && m->points == 0 &&
           m->members > 0;
}

/* Following trees costs as much as using them: once, when the section is verified, is enough. */
bool dlt_section_trees_are_sound(const struct dlt_section *s)
{
    return dlt_forest_is_sound(s->tree, s->model.trees, s->model.tree_stride, s->model.inputs);
}

static bool positions_are_sound(const struct dlt_section *s)
{
    for (uint32_t i = 0; i < s->model.inputs; i++)
        if (s->input[i] >= DLT_FEATURES_MAX)
            return false;
    for (uint32_t i = 0; i < s->model.axes; i++)
        if (s->axis[i] >= DLT_COORDINATES_MAX)
            return false;
    for (uint32_t i = 0; i < s->model.donors; i++)
        if (!isfinite(s->donor[i].share))
            return false;
    return finite_all(s->coefficient, s->model.columns);
}

size_t dlt_section_parse(const unsigned char *bytes, size_t size, struct dlt_section *s)
{
    struct cursor cursor = {.bytes = bytes, .size = size};
    const void *head = take(&cursor, 1, sizeof s->model);
    const struct dlt_file_model *m = &s->model;
    size_t weights, scales;

    if (!head)
        return 0;
    memcpy(&s->model, head, sizeof s->model);
    s->network = (struct dlt_network){0};
    if (!counts_are_sound(m) || !network_is_sound(s))
        return 0;
    weights = m->members * dlt_network_weights(&s->network);
    scales = m->members * dlt_network_scales(&s->network);
    s->coefficient = take(&cursor, m->columns, sizeof *s->coefficient);
    s->input = take(&cursor, m->inputs, sizeof *s->input);
    s->input_mean = take(&cursor, m->inputs, sizeof *s->input_mean);
    s->input_scale = take(&cursor, m->inputs, sizeof *s->input_scale);
    s->weight = take(&cursor, weights, sizeof *s->weight);
    s->scale = take(&cursor, scales, sizeof *s->scale);
    s->parameter = take(&cursor, m->points, sizeof *s->parameter);
    s->point = take(&cursor, (size_t)m->points * m->inputs, sizeof *s->point);
    s->tree = take(&cursor, (size_t)m->trees * m->tree_stride, sizeof *s->tree);
    s->axis = take(&cursor, m->axes, sizeof *s->axis);
    s->axis_mean = take(&cursor, m->axes, sizeof *s->axis_mean);
    s->axis_scale = take(&cursor, m->axes, sizeof *s->axis_scale);
    s->axis_low = take(&cursor, m->axes, sizeof *s->axis_low);
    s->axis_high = take(&cursor, m->axes, sizeof *s->axis_high);
    s->neighbour = take(&cursor, (size_t)m->neighbours * m->axes, sizeof *s->neighbour);
    s->donor = take(&cursor, m->donors, sizeof *s->donor);
    return cursor.failed || !positions_are_sound(s) ? 0 : cursor.used;
}
