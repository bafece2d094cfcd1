/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "predict/section.h"

/* The compiler vectorises the loops over rows only when asked to. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("O3")
#endif

enum { NEAREST = 3 };

static const double least_s = 1e-6;

double dlt_section_cost(const struct dlt_section *section, const struct dlt_record *record)
{
    struct dlt_numbers columns;
    double sum = 0;

    dlt_columns(record, &columns);
    for (size_t i = 0; i < columns.count && i < section->model.columns; i++)
        sum += section->coefficient[i] * columns.value[i];
    return fmax(sum, fmax(section->model.floor_s, least_s));
}

double dlt_section_update_cost(const struct dlt_section *section, const struct dlt_record *record,
                               bool input_only)
{
    struct dlt_numbers columns;
    double sum = 0;

    dlt_columns(record, &columns);
    for (size_t i = 0; i < columns.count && i < section->model.columns; i++)
        if (input_only ? dlt_column_is_input_update(columns.name[i])
                       : dlt_column_is_update(columns.name[i]))
            sum += section->coefficient[i] * columns.value[i];
    return sum;
}

/* Adds one axis to the squared distances of all kept rows. */
DLT_VECTORISED static void add_axis(float *restrict squared, const int8_t *restrict row,
                                    uint32_t rows, float at)
{
    for (uint32_t n = 0; n < rows; n++) {
        float apart = at - (float)row[n] * (1.0f / DLT_NEIGHBOUR_UNIT);

        squared[n] += apart * apart;
    }
}

/* Puts a value among the smallest few, which are in order. */
static void keep_nearest(float nearest[NEAREST], float value)
{
    int place = NEAREST;

    while (place > 0 && value < nearest[place - 1])
        place--;
    for (int later = NEAREST - 1; later > place; later--)
        nearest[later] = nearest[later - 1];
    if (place < NEAREST)
        nearest[place] = value;
}

static double neighbour_distance(const struct dlt_section *s, const float *at)
{
    float squared[DLT_NEIGHBOURS] = {0}, nearest[NEAREST] = {INFINITY, INFINITY, INFINITY};
    uint32_t rows = s->model.neighbours;
    double sum = 0;
    int found = 0;

    for (uint32_t a = 0; a < s->model.axes; a++)
        add_axis(squared, s->neighbour + (size_t)a * rows, rows, at[a]);
    for (uint32_t n = 0; n < rows; n++)
        if (squared[n] < nearest[NEAREST - 1])
            keep_nearest(nearest, squared[n]);
    for (; found < NEAREST && isfinite(nearest[found]); found++)
        sum += sqrt((double)nearest[found]);
    return found ? sum / found : 0;
}

/* Standardised coordinates; returns how far they lie beyond the ranges. */
static double locate(const struct dlt_section *s, const struct dlt_record *record, float *at)
{
    const double most = 127.0 / DLT_NEIGHBOUR_UNIT; /* what the stored rows can hold */
    struct dlt_numbers coordinates;
    double beyond = 0;

    dlt_coordinates(record, &coordinates);
    for (uint32_t a = 0; a < s->model.axes; a++) {
        size_t position = s->axis[a];
        double value = position < coordinates.count ? coordinates.value[position] : 0;
        double z = (value - (double)s->axis_mean[a]) * (double)s->axis_scale[a];
        double past = fmax(fmax(z - (double)s->axis_high[a], (double)s->axis_low[a] - z), 0);

        at[a] = (float)fmin(fmax(z, -most), most);
        beyond += past * past;
    }
    return sqrt(beyond);
}

void dlt_section_outside(const struct dlt_section *s, const struct dlt_record *record,
                         double *outside)
{
    float at[DLT_COORDINATES_MAX];

    *outside = locate(s, record, at);
}

double dlt_section_distance(const struct dlt_section *s, const struct dlt_record *record,
                            double *outside)
{
    float at[DLT_COORDINATES_MAX];

    *outside = locate(s, record, at);
    return neighbour_distance(s, at);
}

double dlt_section_extrapolation(const struct dlt_section *s, double distance, double outside)
{
    const double all_outside = 2; /* standard deviations beyond a range */
    double far = s->model.far > s->model.near ? s->model.far : s->model.near + 1;
    double by_distance = (distance - s->model.near) / (far - s->model.near);
    double by_range = outside / all_outside;
    double larger = fmax(by_distance, by_range);

    return larger > 0 ? fmin(larger, 1) : 0;
}

double dlt_kernel(double squared_distance, double length)
{
    double d = sqrt(3 * squared_distance) / length;

    return (1 + d) * exp(-d);
}

double dlt_section_kernel(const struct dlt_section *s, const float *input)
{
    uint32_t inputs = s->model.inputs;
    double sum = 0;

    for (uint32_t p = 0; p < s->model.points; p++) {
        const int16_t *point = s->point + (size_t)p * inputs;
        double squared = 0;

        for (uint32_t i = 0; i < inputs; i++) {
            double apart = (double)input[i] - (double)point[i] / DLT_POINT_UNIT;

            squared += apart * apart;
        }
        sum += (double)s->parameter[p] * dlt_kernel(squared, s->model.kernel_length);
    }
    return sum;
}

/* The mean of the networks; variance: of one of them about it. */
static double network_output(const struct dlt_section *s, const float *input, double *variance)
{
    size_t weights = dlt_network_weights(&s->network), scales = dlt_network_scales(&s->network);
    double count = s->model.members, sum = 0, squares = 0;

    for (uint32_t m = 0; m < s->model.members; m++) {
        double output = (double)dlt_network_run(&s->network, s->weight + m * weights,
                                                s->scale + m * scales, input);

        sum += output;
        squares += output * output;
    }
    *variance = count > 1 ? fmax(squares - sum * sum / count, 0) / (count - 1) : 0;
    return sum / count;
}

static double forest_output(const struct dlt_section *s, const float *input)
{
    int16_t grid[DLT_FEATURES_MAX];

    for (uint32_t i = 0; i < s->model.inputs; i++)
        grid[i] = dlt_forest_input(input[i]);
    return s->model.tree_scale *
           (double)dlt_forest_run(s->tree, s->model.trees, s->model.tree_stride, grid);
}

void dlt_section_input(const struct dlt_section *s, const struct dlt_device *device,
                       const struct dlt_record *record, double cost_s, float *input)
{
    const float most = 6;
    struct dlt_numbers features;

    dlt_features(record, device, cost_s, &features);
    for (uint32_t i = 0; i < s->model.inputs; i++) {
        size_t position = s->input[i];
        float value = position < features.count ? (float)features.value[position] : 0;
        float z = (value - s->input_mean[i]) * s->input_scale[i];

        input[i] = z > most ? most : z < -most ? -most : z;
    }
}

double dlt_section_ratio(const struct dlt_section *s, const struct dlt_device *device,
                         const struct dlt_record *record, double cost_s, double *apart)
{
    const struct dlt_file_model *m = &s->model;
    float input[DLT_FEATURES_MAX];
    double output = 0, variance = 0, between = 0;

    if (apart)
        *apart = 0;
    if (m->ratio == DLT_RATIO_NONE && m->trees == 0)
        return 0;
    dlt_section_input(s, device, record, cost_s, input);
    if (m->ratio == DLT_RATIO_NETWORK)
        output = network_output(s, input, &variance);
    else if (m->ratio == DLT_RATIO_KERNEL)
        output = dlt_section_kernel(s, input);
    if (m->trees) {
        between = forest_output(s, input) - output;
        output += m->tree_weight * between;
    }
    if (apart)
        *apart = m->target_scale *
                 (m->ratio == DLT_RATIO_NONE ? 0 : sqrt(variance + between * between / 2));
    output = m->target_mean + m->target_scale * output;
    return fmin(fmax(output, m->ratio_low), m->ratio_high);
}

/* Where cuDNN chooses among algorithms, and which sizes few uniform samples have. */
static void convolution_terms(const struct dlt_record *record, double *terms)
{
    struct dlt_geometry g = dlt_geometry_of(record);
    double channels = log(fmin(g.in_channels, g.out_channels));
    double batch = log(g.batch);

    terms[DLT_SIGMA_STRIDE_1] = g.stride == 1 && g.kernel > 1;
    terms[DLT_SIGMA_IMAGE] = fmin(fmax(log(fmax(g.out, 1)) - 4, -3), 3);
    terms[DLT_SIGMA_CHANNELS] = fmin(fmax(channels - 3, -3), 3);
    terms[DLT_SIGMA_PRODUCT] = g.stride == 1 && g.kernel == 1;
    terms[DLT_SIGMA_BATCH] = fmin(fmax(batch - 3, -3), 1.5);
}

void dlt_section_sigma_terms(const struct dlt_section *s, const struct dlt_record *record,
                             double cost_s, double distance, double apart,
                             double terms[DLT_SIGMA_TERMS])
{
    const struct dlt_file_model *m = &s->model;
    struct dlt_parts parts = dlt_pass_parts(record->pass);
    double cost = m->cost_scale > 0 ? (log(cost_s) - m->cost_mean) / m->cost_scale : 0;
    const double usual = 0.018; /* ln(time), between networks of one section */

    cost = fmin(fmax(cost, -3), 3);
    for (int i = 0; i < DLT_SIGMA_TERMS; i++)
        terms[i] = 0;
    terms[DLT_SIGMA_CONSTANT] = 1;
    terms[DLT_SIGMA_DISTANCE] = m->near > 0 ? fmin(distance / m->near, 1.5) : 0;
    terms[DLT_SIGMA_COST] = cost;
    terms[DLT_SIGMA_COST_SQUARED] = cost * cost;
    terms[DLT_SIGMA_BACKWARD] = parts.data || parts.weight;
    terms[DLT_SIGMA_UPDATE] = parts.update;
    terms[DLT_SIGMA_APART] = apart > 0 ? fmin(fmax(log(apart / usual), -2.5), 2.5) : 0;
    if (dlt_is_convolution(record->kind))
        convolution_terms(record, terms);
}

double dlt_sigma_coefficient(const struct dlt_file_model *m, int term)
{
    if (term < DLT_SIGMA_ALL)
        return m->sigma[term];
    return m->ratio == DLT_RATIO_TRANSFER ? 0 : m->sigma_last[term - DLT_SIGMA_ALL];
}

double dlt_section_sigma(const struct dlt_section *s, const double terms[DLT_SIGMA_TERMS])
{
    double ln_sigma = 0;

    for (int i = 0; i < DLT_SIGMA_TERMS; i++)
        ln_sigma += dlt_sigma_coefficient(&s->model, i) * terms[i];
    return fmin(fmax(exp(ln_sigma), s->model.sigma_low), s->model.sigma_high);
}

void dlt_section_answer(const struct dlt_section *s, const struct dlt_device *device,
                        const struct dlt_record *record, struct dlt_answer *answer)
{
    double terms[DLT_SIGMA_TERMS];
    double outside, distance = dlt_section_distance(s, record, &outside);
    double cost_s = dlt_section_cost(s, record);
    double apart = dlt_section_extrapolation(s, distance, outside);
    double spread, ratio = dlt_section_ratio(s, device, record, cost_s, &spread);

    dlt_section_sigma_terms(s, record, cost_s, distance, spread, terms);
    answer->cost_s = cost_s;
    answer->extrapolated = apart;
    answer->seconds = fmax(cost_s * exp((1 - apart) * ratio), s->model.floor_s);
    answer->sigma = (1 - apart) * dlt_section_sigma(s, terms) + apart * s->model.sigma_far;
}
