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

/* NaN where the features do not tell. A CPU's half types run on units that its ISA's name may not
 * tell, and its caches are many times faster than its memory. */
static double products_s(const struct dlt_device *device, const struct dlt_record *record)
{
    int dtype = (int)record->dtype, threads = record->threads;
    struct dlt_work work;

    if (threads > 0 && dtype != DLT_FLOAT32)
        return NAN;
    dlt_record_work(record, &work);
    return 2 * products(record, &work) /
           fmax(dlt_device_peak(device, dtype, DLT_IEEE, threads),
                dlt_device_peak(device, dtype, DLT_TF32, threads));
}

static double bytes_s(const struct dlt_device *device, const struct dlt_record *record)
{
    struct dlt_work work;

    if (record->threads > 0 || !(device->memory_bandwidth > 0))
        return NAN;
    dlt_record_work(record, &work);
    return work.bytes / device->memory_bandwidth;
}

struct dlt_bound dlt_bound_of(const struct dlt_device *device, int threads)
{
    const struct dlt_device *found = threads > 0 ? NULL : dlt_catalogue_find(device->name);

    return (struct dlt_bound){.own = device, .listed = found ? found : device};
}

static double least(double own, double listed)
{
    double allowed = fmin(own, listed);

    return allowed > 0 ? surely * allowed : 0;
}

static double record_s(const struct dlt_device *device, const struct dlt_record *record)
{
    return fmax(products_s(device, record), bytes_s(device, record));
}

double dlt_bound_seconds(const struct dlt_bound *bound, const struct dlt_record *record)
{
    return least(record_s(bound->own, record), record_s(bound->listed, record));
}

static double plan_s(const struct dlt_device *device, const struct dlt_plan *plan, bool training)
{
    double sum = 0;

    for (size_t i = 0; i < plan->unit_count; i++) {
        const struct dlt_unit *unit = &plan->unit[i];
        int gradients = training ? unit->data_gradient + unit->weight_gradient : 0;

        if (unit->record.kind)
            sum += (1 + gradients) * products_s(device, &unit->record);
    }
    return sum;
}

double dlt_bound_step_seconds(const struct dlt_bound *bound, const struct dlt_plan *plan,
                              bool training)
{
    return least(plan_s(bound->own, plan, training), plan_s(bound->listed, plan, training));
}
