/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/bound.h"

#include <math.h>

#include "device/catalogue.h"

static const double surely = 0.1;

/* Multiplications that no known algorithm does without. */
static double products(const struct dlt_record *record, const struct dlt_work *work)
{
    double window = 1;

    for (int d = 0; work->macs > 0 && d < record->kind->dims; d++)
        window *= (double)record->u.spatial.kernel[d];
    return work->macs / window;
}

/* FLOP/s, NaN where the features do not tell: half types and TF32 may run on units that a CPU's ISA
 * or a GPU's name without an architecture says nothing of. */
static double peak_of(const struct dlt_device *device, const struct dlt_record *record)
{
    int dtype = (int)record->dtype, threads = record->threads;
    double plain = dlt_device_peak(device, DLT_FLOAT32, DLT_IEEE, threads);
    double peak = fmax(dlt_device_peak(device, dtype, DLT_IEEE, threads),
                       dlt_device_peak(device, dtype, DLT_TF32, threads));
    bool matrix_units = dtype != DLT_FLOAT32 || record->math == DLT_TF32;

    return matrix_units && (threads > 0 || peak <= plain) ? NAN : peak;
}

/* 0 for what multiplies nothing. */
static double products_s(const struct dlt_device *device, const struct dlt_record *record,
                         const struct dlt_work *work)
{
    double count = products(record, work);

    return count > 0 ? 2 * count / peak_of(device, record) : 0;
}

/* NaN for a CPU, whose caches are many times faster than its memory. */
static double bytes_s(const struct dlt_device *device, const struct dlt_record *record,
                      const struct dlt_work *work)
{
    if (record->threads > 0 || !(device->memory_bandwidth > 0))
        return NAN;
    return work->bytes / device->memory_bandwidth;
}

struct dlt_bound dlt_bound_of(const struct dlt_device *device, int threads)
{
    const struct dlt_device *found = threads > 0 ? NULL : dlt_catalogue_find(device->name);

    return (struct dlt_bound){.own = device, .listed = found ? found : device};
}

/* Of what the two say, where they do, what allows more. */
static double least_products_s(const struct dlt_bound *bound, const struct dlt_record *record,
                               const struct dlt_work *work)
{
    return fmin(products_s(bound->own, record, work), products_s(bound->listed, record, work));
}

double dlt_bound_seconds(const struct dlt_bound *bound, const struct dlt_record *record)
{
    struct dlt_work work;
    double bytes, allowed;

    dlt_record_work(record, &work);
    bytes = fmin(bytes_s(bound->own, record, &work), bytes_s(bound->listed, record, &work));
    allowed = fmax(least_products_s(bound, record, &work), bytes);
    return allowed > 0 ? surely * allowed : 0;
}

double dlt_bound_step_seconds(const struct dlt_bound *bound, const struct dlt_plan *plan,
                              bool training)
{
    double sum = 0;

    for (size_t i = 0; i < plan->unit_count; i++) {
        const struct dlt_unit *unit = &plan->unit[i];
        int gradients = training ? unit->data_gradient + unit->weight_gradient : 0;
        struct dlt_work work;

        if (!unit->record.kind)
            continue;
        dlt_record_work(&unit->record, &work);
        sum += (1 + gradients) * least_products_s(bound, &unit->record, &work);
    }
    return sum > 0 ? surely * sum : 0;
}
