/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The price of a record in its own pass, from whatever an entry has: a section that measured the
 * pass; other passes of the same operator (what a training step takes beyond forward and update is
 * backward); the forward pass and physics; another dtype or a related operator; hardware figures.
 */
#include <math.h>
#include <string.h>

#include "predict/price.h"
#include "predict/transfer.h"

/* Spread that a derivation adds, of the log of the time; what each leaves out is in its comment. */
static const double sigma_split = 0.2;     /* backward into its data and weight halves */
static const double sigma_physics = 0.25;  /* backward from forward */
static const double sigma_update = 0.25;   /* an update from training steps of one layer */
static const double sigma_precision = 0.4; /* one dtype from another */
static const double sigma_relative = 0.4;  /* one operator from another */
static const double sigma_roofline = 0.6;

/* Of the optimizers that steps were measured with, the one that moves least. */
static enum dlt_optimizer lightest(uint32_t optimizers)
{
    enum dlt_optimizer best = DLT_OPTIMIZER_NONE;

    for (int o = 1; o < DLT_OPTIMIZERS; o++)
        if ((optimizers & 1U << o) &&
            (best == DLT_OPTIMIZER_NONE ||
             dlt_optimizer_touches((enum dlt_optimizer)o) < dlt_optimizer_touches(best)))
            best = (enum dlt_optimizer)o;
    return best;
}

/*
 * Backward as a measured training step of one layer less its forward pass and its update, of the
 * weights and, where the benchmark trained it, the input. The cost model's own idea of backward
 * bounds the difference of two learned numbers.
 */
static struct dlt_price backward_from_step(const struct dlt_price_query *q,
                                           const struct dlt_record *asked)
{
    struct dlt_record record = dlt_price_in_pass(asked, DLT_STEP);
    struct dlt_record gradients = dlt_price_in_pass(asked, DLT_BACKWARD);
    struct dlt_price forward = dlt_price_direct(q, asked, DLT_FORWARD), price;
    struct dlt_section section;
    struct dlt_answer step;
    double update, expected, seconds;

    if (!dlt_price_known(&forward) || !dlt_price_section(q, &record, DLT_STEP, &section))
        return dlt_no_price;
    record.optimizer = lightest(section.model.optimizers);
    dlt_section_answer(&section, q->device, &record, &step);
    update = dlt_section_update_cost(&section, &record, false) / step.cost_s;
    expected = step.seconds * fmin(dlt_section_cost(&section, &gradients) / step.cost_s, 1);
    seconds = step.seconds * fmax(1 - update, 0) - forward.seconds;
    price = dlt_price_of(&section, &step);
    price.seconds = fmin(fmax(seconds, expected / 2.5), expected * 2.5);
    price.sigma = hypot(step.seconds * step.sigma, forward.seconds * forward.sigma) / price.seconds;
    price.sigma = fmin(price.sigma, 1);
    return dlt_price_known(&price) ? price : dlt_no_price;
}

/* The update of a layer's weights, from the columns that steps taught the cost model. */
static struct dlt_price update_from_step(const struct dlt_price_query *q,
                                         const struct dlt_record *asked)
{
    struct dlt_record record = dlt_price_in_pass(asked, DLT_UPDATE);
    struct dlt_section section;
    struct dlt_price price = {.sigma = sigma_update};
    double scale = 1;

    if (!dlt_price_section(q, &record, DLT_STEP, &section))
        return dlt_no_price;
    if (!(section.model.optimizers & 1U << record.optimizer)) {
        enum dlt_optimizer other = lightest(section.model.optimizers);

        scale = dlt_optimizer_touches(record.optimizer) / dlt_optimizer_touches(other);
        record.optimizer = other;
        price.sigma *= 2;
    }
    price.seconds = scale * (dlt_section_update_cost(&section, &record, false) -
                             dlt_section_update_cost(&section, &record, true));
    price.basis = (enum dlt_basis)section.index->basis;
    return isfinite(price.seconds) && price.seconds > 0 ? price : dlt_no_price;
}

static bool is_product(const struct dlt_record *record)
{
    struct dlt_record forward = dlt_price_in_pass(record, DLT_FORWARD);
    struct dlt_work work;

    if (record->kind->dims == 0 && strcmp(record->kind->name, "dense") != 0 &&
        strcmp(record->kind->name, "bmm") != 0)
        return false; /* attention and recurrent layers are priced as one thing */
    dlt_record_work(&forward, &work);
    return work.macs > 0;
}

/*
 * One gradient of a matrix product is another matrix product of the same three sizes: with respect
 * to the left operand (m, k, n), to the right one (k, n, m). A convolution's data gradient swaps
 * its channels; its weight gradient is taken to cost what forward does.
 */
static struct dlt_price gradient_from_forward(const struct dlt_price_query *q,
                                              const struct dlt_record *asked, enum dlt_pass pass)
{
    struct dlt_record record = dlt_price_in_pass(asked, DLT_FORWARD);
    struct dlt_price price;

    if (record.kind->dims == 0) {
        struct dlt_matmul *d = &record.u.matmul;
        int64_t m = d->m, n = d->n, k = d->k;

        d->bias = 0;
        if (pass == DLT_BACKWARD_DATA) {
            d->n = k;
            d->k = n;
        } else if (strcmp(record.kind->name, "bmm") == 0) {
            d->m = k;
            d->k = m;
        } else {
            d->m = n;
            d->n = k;
            d->k = m;
        }
    } else if (pass == DLT_BACKWARD_DATA) {
        int64_t in_channels = record.u.spatial.in_channels;

        record.u.spatial.in_channels = record.u.spatial.out_channels;
        record.u.spatial.out_channels = in_channels;
        record.u.spatial.bias = 0;
        /* With a stride the swapped convolution does less work: keep the forward one instead. */
        for (int dim = 0; dim < record.kind->dims; dim++)
            if (record.u.spatial.stride[dim] != 1)
                record = dlt_price_in_pass(asked, DLT_FORWARD);
    }
    price = dlt_price_direct(q, &record, DLT_FORWARD);
    return dlt_price_known(&price) ? dlt_price_widened(price, 1, sigma_physics) : dlt_no_price;
}

/* A memory-bound operator's time grows with the bytes that the pass moves, from the shortest time
 * that the operator was seen to take. */
static struct dlt_price by_bytes(const struct dlt_price_query *q, const struct dlt_record *asked,
                                 enum dlt_pass from, enum dlt_pass to)
{
    struct dlt_record base = dlt_price_in_pass(asked, from), wanted = dlt_price_in_pass(asked, to);
    struct dlt_price price = dlt_price_direct(q, asked, from);
    struct dlt_work base_work, wanted_work;
    struct dlt_section section;
    double floor_s = q->entry->floor_s;

    if (!dlt_price_known(&price))
        return dlt_no_price;
    if (dlt_price_section(q, &base, from, &section))
        floor_s = fmax(floor_s, section.model.floor_s / DLT_FLOOR_SHARE);
    dlt_record_work(&base, &base_work);
    dlt_record_work(&wanted, &wanted_work);
    if (!(base_work.bytes > 0))
        return dlt_no_price;
    floor_s = fmin(floor_s, price.seconds);
    price.seconds = floor_s + (price.seconds - floor_s) * wanted_work.bytes / base_work.bytes;
    return dlt_price_widened(price, 1, sigma_physics);
}

static struct dlt_price backward(const struct dlt_price_query *q, const struct dlt_record *asked)
{
    struct dlt_price data, weight, price = dlt_price_direct(q, asked, DLT_BACKWARD);

    if (dlt_price_known(&price))
        return price;
    data = dlt_price_direct(q, asked, DLT_BACKWARD_DATA);
    if (!is_product(asked))
        return dlt_price_known(&data) ? data : by_bytes(q, asked, DLT_FORWARD, DLT_BACKWARD);
    weight = dlt_price_direct(q, asked, DLT_BACKWARD_WEIGHT);
    if (dlt_price_known(&data) && dlt_price_known(&weight))
        return dlt_price_sum(&data, &weight);
    if (dlt_price_known(&data))
        return dlt_price_widened(data, 2, sigma_split);
    if (dlt_price_known(&weight))
        return dlt_price_widened(weight, 2, sigma_split);
    price = backward_from_step(q, asked);
    if (dlt_price_known(&price))
        return price;
    data = gradient_from_forward(q, asked, DLT_BACKWARD_DATA);
    weight = gradient_from_forward(q, asked, DLT_BACKWARD_WEIGHT);
    return dlt_price_sum(&data, &weight);
}

/* One of the two gradients. */
static struct dlt_price gradient(const struct dlt_price_query *q, const struct dlt_record *asked)
{
    struct dlt_price price = dlt_price_direct(q, asked, asked->pass), both;

    if (dlt_price_known(&price))
        return price;
    both = backward(q, asked);
    if (!dlt_price_known(&both))
        return dlt_no_price;
    return is_product(asked) ? dlt_price_widened(both, 0.5, sigma_split) : both;
}

static struct dlt_price forward(const struct dlt_price_query *q, const struct dlt_record *asked)
{
    struct dlt_price price = dlt_price_direct(q, asked, DLT_FORWARD);

    if (dlt_price_known(&price))
        return price;
    if (is_product(asked)) {
        price = dlt_price_direct(q, asked, DLT_BACKWARD_DATA);
        return dlt_price_known(&price) ? dlt_price_widened(price, 1, sigma_physics) : dlt_no_price;
    }
    price = by_bytes(q, asked, DLT_BACKWARD, DLT_FORWARD);
    return dlt_price_known(&price) ? price : by_bytes(q, asked, DLT_BACKWARD_DATA, DLT_FORWARD);
}

/* An optimizer's walk over all parameters costs what it costs over one layer's. */
static struct dlt_price walk(const struct dlt_price_query *q, const struct dlt_record *asked)
{
    struct dlt_record layer = dlt_record_make(dlt_record_kind_find("dense"));

    layer.dtype = asked->dtype;
    layer.math = asked->math;
    layer.optimizer = asked->optimizer;
    layer.threads = asked->threads;
    layer.u.matmul.k = asked->u.update.elements;
    return update_from_step(q, &layer);
}

static struct dlt_price update(const struct dlt_price_query *q, const struct dlt_record *asked)
{
    struct dlt_price price = dlt_price_direct(q, asked, DLT_UPDATE);

    if (dlt_price_known(&price))
        return price;
    if (strcmp(asked->kind->name, "optimizer_update") == 0)
        return walk(q, asked);
    return update_from_step(q, asked);
}

/* From other devices, where the entry has a section that says how; in whatever pass. */
static struct dlt_price transferred(const struct dlt_price_query *q, const struct dlt_record *asked)
{
    const struct dlt_file_entry *e = q->entry;
    struct dlt_section section;
    struct dlt_price price = dlt_no_price;

    for (uint32_t i = e->first_section; i < e->first_section + e->section_count; i++) {
        const struct dlt_file_section *s = &q->profile->section[i];

        if (s->dtype == (uint32_t)asked->dtype && s->math == (uint32_t)asked->math &&
            strcmp(s->kind, asked->kind->name) == 0 && dlt_section_is_transfer(q->profile, i) &&
            dlt_profile_section(q->profile, i, &section))
            dlt_transfer_price(q->profile, e, &section, q->device, asked, q->memo, &price);
    }
    return price;
}

/* From the sections of the record's own operator, dtype and math. */
static struct dlt_price own(const struct dlt_price_query *q, const struct dlt_record *asked)
{
    struct dlt_record part;
    struct dlt_price price, sum;

    if (q->entry->general || q->entry->adapted) {
        price = transferred(q, asked);
        if (dlt_price_known(&price))
            return price;
    }
    switch (asked->pass) {
    case DLT_FORWARD:
        return forward(q, asked);
    case DLT_BACKWARD_DATA:
    case DLT_BACKWARD_WEIGHT:
        return gradient(q, asked);
    case DLT_BACKWARD:
        return backward(q, asked);
    case DLT_UPDATE:
        return update(q, asked);
    case DLT_STEP:
        break;
    default:
        return dlt_no_price;
    }
    price = dlt_price_direct(q, asked, DLT_STEP);
    if (dlt_price_known(&price))
        return price;
    price = forward(q, asked);
    sum = backward(q, asked);
    sum = dlt_price_sum(&price, &sum);
    part = *asked;
    part.pass = DLT_UPDATE;
    price = asked->optimizer == DLT_OPTIMIZER_NONE ? dlt_no_price : update(q, &part);
    return dlt_price_known(&price) ? dlt_price_sum(&sum, &price) : sum;
}

void dlt_entry_price(const struct dlt_profile *profile, size_t entry,
                     const struct dlt_record *record, struct dlt_memo *memo,
                     struct dlt_price *price)
{
    const struct dlt_price_query q = {.profile = profile,
                                      .entry = &profile->entry[entry],
                                      .device = &profile->entry[entry].device,
                                      .memo = memo};

    *price = own(&q, record);
}

/* Whether plain arithmetic may have been spared multiplications by a transform (Winograd, Fourier),
 * which matrix units do not offer. */
static bool may_transform(const struct dlt_record *record)
{
    struct dlt_geometry g;

    if (!dlt_is_convolution(record->kind))
        return false;
    g = dlt_geometry_of(record);
    return g.kernel > 1 && g.stride == 1;
}

/* From a section of another dtype or math mode, scaled as hardware figures scale. */
static struct dlt_price other_precision(const struct dlt_price_query *q,
                                        const struct dlt_record *asked)
{
    double wanted = dlt_price_roofline(q, asked);

    for (int variant = 0; variant < DLT_DTYPES * DLT_MATHS; variant++) {
        struct dlt_record record = *asked;
        struct dlt_price price;
        double plain;

        record.dtype = (enum dlt_dtype)(variant / DLT_MATHS);
        record.math = (enum dlt_math)(variant % DLT_MATHS);
        if (record.dtype == asked->dtype && record.math == asked->math)
            continue;
        price = own(q, &record);
        if (!dlt_price_known(&price))
            continue;
        plain = price.seconds;
        if (isfinite(wanted)) {
            price =
                dlt_price_widened(price, wanted / dlt_price_roofline(q, &record), sigma_precision);
            if (may_transform(asked)) /* where the transform remains faster it is kept */
                price.seconds = fmax(price.seconds, fmin(wanted, plain));
        }
        if (price.basis > DLT_BASIS_ADAPTED)
            price.basis = DLT_BASIS_ADAPTED;
        return price;
    }
    return dlt_no_price;
}

/* A one-dimensional convolution is a two-dimensional one over images of width 1. */
static void widen_to_images(struct dlt_spatial *s)
{
    s->in_size[1] = s->kernel[1] = s->stride[1] = s->dilation[1] = 1;
    s->padding[1][0] = s->padding[1][1] = 0;
}

/* From an operator that does the same work in a related way, by its cost model. */
static struct dlt_price relative(const struct dlt_price_query *q, const struct dlt_record *asked)
{
    static const char *const pairs[][2] = {{"conv1d", "conv2d"},
                                           {"dense", "bmm"},
                                           {"bmm", "dense"},
                                           {"max_pool2d", "avg_pool2d"},
                                           {"avg_pool2d", "max_pool2d"},
                                           {"softmax", "layer_norm"},
                                           {"layer_norm", "softmax"}};

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct dlt_record_kind *kind = dlt_record_kind_find(pairs[i][1]);
        struct dlt_record record = *asked;
        struct dlt_price price;

        if (strcmp(pairs[i][0], asked->kind->name) != 0 || !kind)
            continue;
        record.kind = kind;
        if (strcmp(kind->name, "bmm") == 0)
            record.u.matmul.batch = 1;
        if (strcmp(pairs[i][0], "bmm") == 0)
            record.u.matmul.m *= record.u.matmul.batch;
        if (strcmp(pairs[i][0], "conv1d") == 0)
            widen_to_images(&record.u.spatial);
        price = own(q, &record);
        if (!dlt_price_known(&price))
            continue;
        price = dlt_price_widened(price, 1, sigma_relative);
        price.extrapolated = 1;
        price.basis = DLT_BASIS_COST_MODEL;
        return price;
    }
    return dlt_no_price;
}

void dlt_target_price(const struct dlt_profile *profile, const struct dlt_target *target,
                      const struct dlt_record *record, struct dlt_price *price)
{
    const struct dlt_price_query q = {.profile = profile,
                                      .entry = &profile->entry[target->entry],
                                      .device = target->device,
                                      .memo = target->memo};
    const double most = 1e12; /* 30,000 years: nothing that was measured led there */
    double seconds;

    *price = dlt_no_price;
    if (!record->kind)
        return;
    *price = own(&q, record);
    if (!dlt_price_known(price))
        *price = other_precision(&q, record);
    if (!dlt_price_known(price))
        *price = relative(&q, record);
    if (price->seconds > 0 && price->seconds < most)
        return;
    seconds = dlt_price_roofline(&q, record);
    if (seconds > 0 && seconds < most)
        *price = (struct dlt_price){.seconds = seconds,
                                    .sigma = sigma_roofline,
                                    .basis = DLT_BASIS_COST_MODEL,
                                    .extrapolated = 1};
    else
        *price = dlt_no_price;
}

void dlt_profile_price_on(const struct dlt_profile *profile, size_t entry,
                          const struct dlt_device *device, const struct dlt_record *record,
                          struct dlt_price *price)
{
    const struct dlt_target target = {.entry = entry, .device = device};

    dlt_target_price(profile, &target, record, price);
}

void dlt_profile_price(const struct dlt_profile *profile, size_t entry,
                       const struct dlt_record *record, struct dlt_price *price)
{
    dlt_profile_price_on(profile, entry, &profile->entry[entry].device, record, price);
}
