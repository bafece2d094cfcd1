/* SPDX-License-Identifier: Apache-2.0 */
/* A whole step by the table, and where it replaces the sum of operators. */
#include <math.h>
#include <string.h>

#include "predict/profile_format.h"
#include "predict/table.h"

/* A pass of one convolution; *near: whether it comes from the nearest shapes. */
static double time_of(const struct dlt_table *table, const struct dlt_table_shape *known,
                      const struct dlt_table_shape *shape, double batch, enum dlt_table_slot slot,
                      bool *near)
{
    double seconds = known ? dlt_table_known(table, known, batch, slot) : NAN;

    *near = !(seconds > 0);
    return *near ? dlt_table_near(table, shape, batch, slot) : seconds;
}

static double backward_time(const struct dlt_table *table, const struct dlt_table_shape *known,
                            const struct dlt_table_shape *shape, const struct dlt_unit *unit,
                            bool *near)
{
    double batch = (double)unit->record.u.spatial.batch, both, weight;

    if (!unit->data_gradient && !unit->weight_gradient)
        return 0;
    if (!unit->data_gradient && known) {
        weight = dlt_table_known(table, known, batch, DLT_TABLE_WEIGHT);
        *near = false;
        if (weight > 0)
            return weight;
    }
    both = time_of(table, known, shape, batch, DLT_TABLE_BACKWARD, near);
    if (unit->data_gradient && unit->weight_gradient)
        return both;
    if (!unit->data_gradient && *near)
        return fmin(both, dlt_table_near(table, shape, batch, DLT_TABLE_WEIGHT));
    weight = known ? dlt_table_known(table, known, batch, DLT_TABLE_WEIGHT) : NAN;
    return unit->data_gradient && weight > 0 && weight < both ? both - weight : both / 2;
}

static const struct dlt_table_shape *find(const struct dlt_table *table,
                                          const struct dlt_table_shape *shape)
{
    for (uint32_t i = 0; i < table->head->shapes; i++)
        if (!(table->hidden && table->hidden[i]) && dlt_table_same_shape(&table->shape[i], shape))
            return &table->shape[i];
    return NULL;
}

struct passes {
    double seconds[2], near_s;
};

static struct passes time_unit(const struct dlt_table *table, const struct dlt_unit *unit,
                               const struct dlt_table_shape *shape)
{
    const struct dlt_table_shape *known = find(table, shape);
    struct passes p = {0};
    bool near = false;

    p.seconds[0] = time_of(table, known, shape, (double)unit->record.u.spatial.batch,
                           DLT_TABLE_FORWARD, &near);
    p.near_s = near ? p.seconds[0] : 0;
    p.seconds[1] = backward_time(table, known, shape, unit, &near);
    p.near_s += near ? p.seconds[1] : 0;
    return p;
}

void dlt_table_convolutions(const struct dlt_table *table, const struct dlt_plan *plan,
                            struct dlt_unit_times *unit, struct dlt_table_sum *sum)
{
    *sum = (struct dlt_table_sum){0};
    for (size_t i = 0; i < plan->unit_count; i++) {
        const struct dlt_unit *u = &plan->unit[i];
        struct dlt_table_shape shape;
        struct passes p;

        if (!dlt_is_convolution(u->record.kind))
            continue;
        if (!dlt_table_shape_of(&u->record, &shape)) {
            sum->too_large++;
            continue;
        }
        p = time_unit(table, u, &shape);
        sum->seconds[0] += p.seconds[0];
        sum->seconds[1] += p.seconds[1];
        sum->near_s += p.near_s;
        sum->convolutions++;
        if (unit) {
            double whole = p.seconds[0] + p.seconds[1];

            unit[i].forward_s = p.seconds[0];
            unit[i].backward_s = p.seconds[1];
            unit[i].basis = DLT_BASIS_MEASURED;
            unit[i].extrapolated = whole > 0 ? p.near_s / whole : 0;
        }
    }
}

void dlt_table_parts(const struct dlt_file_table *head, const struct dlt_table_sum *sum,
                     double term[DLT_TABLE_PARTS][DLT_TABLE_TERMS], double seconds[DLT_TABLE_PARTS])
{
    for (int part = 0; part < DLT_TABLE_PARTS; part++) {
        seconds[part] = part < 2 ? head->factor[part] * sum->seconds[part] : 0;
        for (int i = 0; i < DLT_TABLE_TERMS; i++)
            seconds[part] += head->term[part][i] * term[part][i];
    }
}

double dlt_table_sigma(const struct dlt_file_table *head, double near_share)
{
    double more = head->sigma_near * head->sigma_near - head->sigma * head->sigma;

    return sqrt(head->sigma * head->sigma + near_share * fmax(more, 0));
}

/* The table for a framework and precision. */
static bool find_table(const struct dlt_profile *profile, size_t entry,
                       const struct dlt_training *training, struct dlt_table *table)
{
    const struct dlt_file_entry *e = &profile->entry[entry];
    char kind[32];

    dlt_table_kind(training->framework, kind);
    for (uint32_t i = e->first_section; i < e->first_section + e->section_count; i++) {
        const struct dlt_file_section *s = &profile->section[i];
        const unsigned char *bytes;

        if (strcmp(s->kind, kind) != 0)
            continue;
        bytes = dlt_profile_bytes(profile, i);
        if (bytes && dlt_table_parse(bytes, s->size, table) &&
            table->head->precision == (uint32_t)training->precision)
            return true;
    }
    return false;
}

/* Units that are no convolutions share what the regression gives, in proportion to their prices;
 * where there are none, the convolutions do. */
static void scale_units(const struct dlt_plan *plan, struct dlt_unit_times *unit,
                        const struct dlt_file_table *head, const struct dlt_table_sum *sum,
                        const double seconds[DLT_TABLE_PARTS])
{
    double others[2] = {0}, factor[2], share[2];

    for (size_t i = 0; i < plan->unit_count; i++) {
        if (dlt_is_convolution(plan->unit[i].record.kind))
            continue;
        others[0] += unit[i].forward_s;
        others[1] += unit[i].backward_s;
    }
    for (int part = 0; part < 2; part++) {
        double convolutions = head->factor[part] * sum->seconds[part];

        factor[part] = head->factor[part];
        share[part] = others[part] > 0 ? (seconds[part] - convolutions) / others[part] : 0;
        if (!(others[part] > 0) && sum->seconds[part] > 0)
            factor[part] = seconds[part] / sum->seconds[part];
    }
    for (size_t i = 0; i < plan->unit_count; i++) {
        bool convolution = dlt_is_convolution(plan->unit[i].record.kind);

        unit[i].forward_s *= convolution ? factor[0] : share[0];
        unit[i].backward_s *= convolution ? factor[1] : share[1];
    }
    unit[plan->unit_count].update_s = seconds[DLT_PART_UPDATE];
}

bool dlt_table_apply(const struct dlt_profile *profile, const struct dlt_target *target,
                     const struct dlt_training *training, const struct dlt_plan *plan,
                     struct dlt_unit_times *unit, struct dlt_step_sum *sum,
                     struct dlt_step_parameters *parameters)
{
    double term[DLT_TABLE_PARTS][DLT_TABLE_TERMS], seconds[DLT_TABLE_PARTS] = {0}, share;
    struct dlt_table_sum convolutions;
    const struct dlt_file_table *head;
    struct dlt_table table;

    if (!find_table(profile, target->entry, training, &table))
        return false;
    head = table.head;
    dlt_table_convolutions(&table, plan, NULL, &convolutions);
    share = convolutions.near_s / (convolutions.seconds[0] + convolutions.seconds[1]);
    if (convolutions.convolutions == 0 || convolutions.too_large > 0 ||
        (!head->forced && dlt_table_sigma(head, share) >= head->sigma_sum))
        return false;
    dlt_table_terms(plan, term);
    dlt_table_parts(head, &convolutions, term, seconds);
    if (!(seconds[0] + seconds[1] + seconds[2] > 0))
        return false;
    if (unit) {
        dlt_table_convolutions(&table, plan, unit, &convolutions);
        scale_units(plan, unit, head, &convolutions, seconds);
    }
    sum->forward_s = seconds[DLT_PART_FORWARD];
    sum->backward_s = seconds[DLT_PART_BACKWARD];
    sum->update_s = seconds[DLT_PART_UPDATE];
    sum->sigma = sqrt(fmax(pow(dlt_table_sigma(head, share), 2) - pow(head->sigma, 2), 0));
    sum->basis = DLT_BASIS_MEASURED;
    sum->extrapolated = share * (convolutions.seconds[0] + convolutions.seconds[1]) /
                        (seconds[0] + seconds[1] + seconds[2]);
    parameters->device_factor = parameters->backward_factor = 1;
    parameters->constant_s = parameters->dispatch_s = 0;
    parameters->network_sigma = head->network_sigma;
    parameters->run_sigma = head->run_sigma;
    parameters->bias_sigma = head->bias_sigma;
    parameters->devices = 1;
    parameters->networks = head->networks;
    parameters->runs = head->runs;
    return true;
}
