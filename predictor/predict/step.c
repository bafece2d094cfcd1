/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/step.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "predict/scattered.h"

/* What accumulates over units: the time and, weighted by it, how far it can be trusted. */
struct tally {
    double seconds;
    double variance;     /* of the sum, were units independent */
    double linear;       /* sum of seconds x sigma: the spread were they of one mind */
    double extrapolated; /* seconds */
    double by_basis[DLT_BASIS_MEASURED + 1];
};

static void add_price(struct tally *tally, const struct dlt_price *price, double count)
{
    double seconds = price->seconds * count;
    double spread = seconds * price->sigma;

    tally->seconds += seconds;
    tally->variance += spread * spread;
    tally->linear += spread;
    tally->extrapolated += seconds * price->extrapolated;
    tally->by_basis[price->basis] += seconds;
}

/* Errors of one model on alike layers are alike: a part of the variance is shared. Half of the
 * spread as correlated is between the two extremes that can be computed. */
static double relative_sigma(const struct tally *tally)
{
    const double shared = 0.5;
    double together = shared * tally->linear;
    double apart = (1 - shared * shared) * tally->variance;

    return tally->seconds > 0 ? sqrt(together * together + apart) / tally->seconds : 0;
}

static enum dlt_basis main_basis(const struct tally *tally)
{
    enum dlt_basis best = DLT_BASIS_COST_MODEL;

    for (int basis = DLT_BASIS_COST_MODEL; basis <= DLT_BASIS_MEASURED; basis++)
        if (tally->by_basis[basis] > tally->by_basis[best])
            best = (enum dlt_basis)basis;
    return best;
}

bool dlt_step_backward_pass(const struct dlt_unit *unit, enum dlt_pass *pass)
{
    if (unit->data_gradient && (unit->weight_gradient || unit->both_gradients))
        *pass = DLT_BACKWARD;
    else if (unit->weight_gradient)
        *pass = DLT_BACKWARD_WEIGHT;
    else if (unit->data_gradient)
        *pass = DLT_BACKWARD_DATA;
    else
        return false;
    return true;
}

static int no_price(const struct dlt_target *target, const char *name,
                    const struct dlt_record *record, struct dlt_error *error)
{
    return dlt_fail(error,
                    "%s: neither measurements nor hardware figures of %s give a time for %s; "
                    "benchmark this operator, or add the device to devices.conf",
                    name, target->device->name, record->kind->name);
}

struct unit_prices {
    struct dlt_price forward, backward;
};

/* What a price is inside a network: without the clock's own share, at least one short kernel. */
static void drop_clock(struct dlt_price *price)
{
    const double least_s = 4e-6;

    if (price->clock_s > 0)
        price->seconds = fmax(price->seconds - price->clock_s, fmin(price->seconds, least_s));
}

static int price_unit(const struct dlt_profile *profile, const struct dlt_target *target,
                      const struct dlt_unit *unit, bool forward_only, struct unit_prices *prices,
                      struct dlt_error *error)
{
    struct dlt_record record = unit->record;

    prices->backward = (struct dlt_price){0};
    dlt_target_price(profile, target, &record, &prices->forward);
    if (!forward_only && dlt_step_backward_pass(unit, &record.pass))
        dlt_target_price(profile, target, &record, &prices->backward);
    drop_clock(&prices->forward);
    drop_clock(&prices->backward);
    dlt_price_add_scattered(profile, target, unit, &prices->forward);
    if (isfinite(prices->forward.seconds) && isfinite(prices->backward.seconds))
        return 0;
    return no_price(target, unit->name, &record, error);
}

static struct dlt_unit_times unit_times(const struct unit_prices *prices)
{
    const struct dlt_price *f = &prices->forward, *b = &prices->backward;
    double seconds = f->seconds + b->seconds;
    struct dlt_unit_times times = {
        .forward_s = f->seconds, .backward_s = b->seconds, .basis = f->basis};

    if (b->seconds > 0 && b->basis < f->basis)
        times.basis = b->basis;
    if (seconds > 0) {
        times.sigma = hypot(f->seconds * f->sigma, b->seconds * b->sigma) / seconds;
        times.extrapolated = dlt_price_extrapolated(f, b);
    }
    return times;
}

int dlt_step_price(const struct dlt_profile *profile, const struct dlt_target *target,
                   const struct dlt_plan *plan, bool forward_only, struct dlt_unit_times *unit,
                   struct dlt_step_sum *sum, struct dlt_error *error)
{
    struct tally all = {0};
    struct unit_prices *prices = calloc(plan->unit_count + 1, sizeof *prices);

    if (!prices)
        return dlt_fail_memory(error);
    *sum = (struct dlt_step_sum){.host_computes = dlt_profile_threads(profile, target->entry) > 0,
                                 .by_parameters = plan->framework == DLT_TENSORFLOW,
                                 .gradient_bytes = plan->gradient_bytes};
    for (size_t i = 0; i < plan->unit_count; i++) {
        const struct dlt_unit *u = &plan->unit[i];

        if (u->same_as >= 0) {
            prices[i] = prices[u->same_as];
        } else if (price_unit(profile, target, u, forward_only, &prices[i], error)) {
            free(prices);
            return -1;
        }
        add_price(&all, &prices[i].forward, 1);
        sum->forward_s += prices[i].forward.seconds;
        sum->forward_kernels += u->forward_kernels;
        if (!forward_only) {
            add_price(&all, &prices[i].backward, 1);
            sum->backward_s += prices[i].backward.seconds;
            sum->backward_kernels += u->backward_kernels;
        }
        if (unit)
            unit[i] = unit_times(&prices[i]);
    }
    free(prices);
    if (!forward_only && plan->update.kind) {
        struct dlt_price price;

        dlt_target_price(profile, target, &plan->update, &price);
        if (!isfinite(price.seconds))
            return no_price(target, "optimizer", &plan->update, error);
        add_price(&all, &price, 1);
        sum->update_s = price.seconds;
        if (unit)
            unit[plan->unit_count] = (struct dlt_unit_times){.update_s = price.seconds,
                                                             .sigma = price.sigma,
                                                             .extrapolated = price.extrapolated,
                                                             .basis = price.basis};
        sum->update_kernels = plan->update_kernels;
    }
    sum->sigma = relative_sigma(&all);
    sum->extrapolated = all.seconds > 0 ? fmin(all.extrapolated / all.seconds, 1) : 0;
    sum->basis = main_basis(&all);
    return 0;
}

/* The larger of device and host with a soft corner; their sum where they are the same cores. */
static double combine(double device, double host, double corner, bool host_computes)
{
    double larger = device > host ? device : host;
    double smaller = device > host ? host : device;

    if (host_computes)
        return device + host;
    if (larger <= 0)
        return 0;
    return larger * pow(1 + pow(smaller / larger, corner), 1 / corner);
}

static const double default_constant_s = 200e-6;

double dlt_step_constant(const struct dlt_step_sum *sum, const struct dlt_step_parameters *p)
{
    const double vgg16_bytes = 4.0 * DLT_VGG16_PARAMETERS; /* of float32 */

    if (!sum->by_parameters)
        return p->constant_s;
    return fmax(p->constant_s * sum->gradient_bytes / vgg16_bytes,
                fmin(p->constant_s, default_constant_s));
}

void dlt_step_times(const struct dlt_step_sum *sum, const struct dlt_step_parameters *parameters,
                    struct dlt_step_times *times)
{
    const struct dlt_step_parameters *p = parameters;
    double forward = p->device_factor * sum->forward_s;
    double backward = p->device_factor * p->backward_factor * sum->backward_s;
    double update = p->device_factor * sum->update_s;
    double constant_s = dlt_step_constant(sum, p);
    double forward_host = constant_s / 2 + p->dispatch_s * sum->forward_kernels;
    double backward_host = constant_s / 2 + p->dispatch_s * sum->backward_kernels;
    double update_host = p->dispatch_s * sum->update_kernels;
    bool adds = sum->host_computes;

    times->forward_s = combine(forward, forward_host, p->corner, adds);
    times->backward_s = combine(backward, backward_host, p->corner, adds);
    times->micro_s = combine(forward + backward, forward_host + backward_host, p->corner, adds);
    times->update_s = combine(forward + backward + update,
                              forward_host + backward_host + update_host, p->corner, adds) -
                      times->micro_s;
    times->allocate_s = p->allocate_s * sum->kept_bytes;
}

double dlt_step_host_share(const struct dlt_step_sum *sum, const struct dlt_step_parameters *p,
                           double *sigma)
{
    double device =
        p->device_factor * (sum->forward_s + p->backward_factor * sum->backward_s + sum->update_s);
    double dispatch =
        p->dispatch_s * (sum->forward_kernels + sum->backward_kernels + sum->update_kernels);
    double constant_s = dlt_step_constant(sum, p);
    double host = constant_s + dispatch, corner = sum->host_computes ? 1 : p->corner;

    *sigma = 0;
    if (!(host > 0) || !(device + host > 0))
        return 0;
    *sigma = hypot(DLT_SIGMA_DISPATCH * dispatch, DLT_SIGMA_CONSTANT * constant_s) / host;
    return 1 / (1 + pow(device / host, corner));
}

struct dlt_step_parameters dlt_step_defaults(enum dlt_framework framework, bool host_computes)
{
    static const double dispatch_s[DLT_FRAMEWORKS] = {[DLT_PYTORCH] = 8e-6,
                                                      [DLT_TENSORFLOW] = 12e-6,
                                                      [DLT_JAX] = 3e-6,
                                                      [DLT_FRAMEWORK_NONE] = 2e-6};
    /* A clock around plain C on a CPU has the calls in the units' times. */
    const bool in_units = host_computes && framework == DLT_FRAMEWORK_NONE;
    struct dlt_step_parameters defaults = {
        .device_factor = 1,
        .backward_factor = 1,
        .corner = 4,
        .constant_s = framework == DLT_FRAMEWORK_NONE ? 10e-6 : default_constant_s,
        .dispatch_s = in_units ? 1e-7 : dispatch_s[framework],
        .bias_sigma = 0.08,
        .network_sigma = host_computes ? 0.12 : 0.09,
        .run_sigma = 0.03,
    };

    return defaults;
}
