/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The price of a record in its own pass, from whatever an entry has: a section that measured the
 * pass; other passes of the same operator (what a training step takes beyond forward and update is
 * backward); the forward pass and physics; another dtype or a related operator; hardware figures.
 */
#include <math.h>
#include <string.h>

#include "predict/section.h"
#include "predict/transfer.h"

/* Who asks: everything that stays the same while a record's pass varies. */
struct query {
    const struct dlt_profile *profile;
    const struct dlt_file_entry *entry;
    const struct dlt_device *device; /* the entry's, or one that nobody measured */
    struct dlt_memo *memo;           /* NULL: nothing is kept */
};

/* Spread that a derivation adds, of the log of the time; what each leaves out is in its comment. */
static const double sigma_split = 0.2;     /* backward into its data and weight halves */
static const double sigma_physics = 0.25;  /* backward from forward */
static const double sigma_update = 0.25;   /* an update from training steps of one layer */
static const double sigma_precision = 0.4; /* one dtype from another */
static const double sigma_relative = 0.4;  /* one operator from another */
static const double sigma_function = 0.25; /* one elementwise function from another */
static const double sigma_roofline = 0.6;

static const struct dlt_price nothing = {.seconds = NAN};

static bool known(const struct dlt_price *price)
{
    return isfinite(price->seconds);
}

static struct dlt_price widened(struct dlt_price price, double factor, double sigma)
{
    price.seconds *= factor;
    price.sigma = hypot(price.sigma, sigma);
    return price;
}

static struct dlt_price sum_of(const struct dlt_price *a, const struct dlt_price *b)
{
    double seconds = a->seconds + b->seconds;

    if (!known(a) || !known(b))
        return nothing;
    return (struct dlt_price){
        .seconds = seconds,
        .sigma = hypot(a->seconds * a->sigma, b->seconds * b->sigma) / seconds,
        .basis = a->basis < b->basis ? a->basis : b->basis,
        .clock_s = a->clock_s + b->clock_s,
        .extrapolated = (a->seconds * a->extrapolated + b->seconds * b->extrapolated) / seconds};
}

enum { NO_SECTION = -1 };

/* Index of the section of a record's operator, dtype and math whose passes include `pass`. */
static int64_t section_index(const struct query *q, const struct dlt_record *record,
                             enum dlt_pass pass)
{
    const struct dlt_file_entry *e = q->entry;

    for (uint32_t i = e->first_section; i < e->first_section + e->section_count; i++) {
        const struct dlt_file_section *s = &q->profile->section[i];

        if (!dlt_section_is_transfer(s) && (s->passes & 1U << pass) &&
            s->dtype == (uint32_t)record->dtype && s->math == (uint32_t)record->math &&
            strcmp(s->kind, record->kind->name) == 0)
            return i;
    }
    return NO_SECTION;
}

/* That section, if it is sound. */
static bool find_section(const struct query *q, const struct dlt_record *record, enum dlt_pass pass,
                         struct dlt_section *section)
{
    int64_t index = section_index(q, record, pass);

    return index != NO_SECTION && dlt_profile_section(q->profile, (size_t)index, section);
}

static struct dlt_record in_pass(const struct dlt_record *record, enum dlt_pass pass)
{
    struct dlt_record other = *record;

    other.pass = pass;
    if (pass != DLT_STEP && pass != DLT_UPDATE)
        other.optimizer = DLT_OPTIMIZER_NONE;
    return other;
}

/* Under a clock on the host even the shortest call takes a whole round through the framework. */
static double clock_of(const struct query *q, const struct dlt_section *section)
{
    return q->entry->software.timing == DLT_HOST_SYNCHRONOUS && q->entry->threads == 0
               ? section->model.floor_s
               : 0;
}

static struct dlt_price price_of(const struct dlt_section *section, const struct dlt_answer *answer)
{
    struct dlt_price price = {.seconds = answer->seconds,
                              .sigma = answer->sigma,
                              .basis = (enum dlt_basis)section->index->basis,
                              .extrapolated = answer->extrapolated};

    if (!isfinite(price.seconds) || !isfinite(price.sigma))
        return nothing;
    if (price.extrapolated >= 1 && price.basis > DLT_BASIS_COST_MODEL)
        price.basis = DLT_BASIS_COST_MODEL;
    return price;
}

/* Whether rows of the record's elementwise function taught the section. */
static bool knows_function(const struct dlt_section *section, const struct dlt_record *record)
{
    const char *name = dlt_function_names[record->u.rowwise.function];
    struct dlt_numbers at;

    dlt_coordinates(record, &at);
    for (uint32_t a = 0; a < section->model.axes; a++) {
        size_t i = section->axis[a];
        double highest = (double)section->axis_high[a] / (double)section->axis_scale[a] +
                         (double)section->axis_mean[a];

        if (i < at.count && strcmp(at.name[i], name) == 0)
            return highest >= 1;
    }
    return true;
}

/* A function that nobody timed moves its bytes as others do: the record of one that was. */
static bool stand_in(const struct dlt_section *section, struct dlt_record *record)
{
    static const enum dlt_function others[] = {DLT_RELU, DLT_GELU, DLT_TANH, DLT_ADD, DLT_MUL};

    if (strcmp(record->kind->name, "elementwise") != 0 || knows_function(section, record))
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        record->u.rowwise.function = others[i];
        if ((record->u.rowwise.operands > 1) == (others[i] >= DLT_ADD) &&
            knows_function(section, record))
            return true;
    }
    return false;
}

/* Seconds that hardware figures alone give; NaN where there are none. */
static double roofline(const struct query *q, const struct dlt_record *record)
{
    const struct dlt_file_entry *e = q->entry;
    const double of_peak = 0.5, of_bandwidth = 0.75;
    bool own_rates = q->device == &e->device;
    double peak = dlt_device_peak(q->device, (int)record->dtype, (int)record->math, e->threads);
    double plain = dlt_device_peak(q->device, DLT_FLOAT32, DLT_IEEE, e->threads);
    double rate = of_peak * peak;
    double bandwidth =
        own_rates && e->bytes_s > 0 ? e->bytes_s : of_bandwidth * q->device->memory_bandwidth;
    /* A clock around whole calls of a framework puts hundreds of microseconds under each. */
    double floor_s = e->floor_s > 0 ? fmin(e->floor_s, 20e-6) : e->threads > 0 ? 2e-6 : 5e-6;
    struct dlt_work work;

    if (own_rates && e->flops_s > 0)
        rate = e->flops_s * (peak > 0 && plain > 0 ? peak / plain : 1);
    if (peak > 0)
        rate = fmin(rate, peak); /* transforms save arithmetic that other shapes have to do */
    /* Matrix units reach less of their data sheet than plain ones, which reach nine tenths: cuBLAS
     * 83 of 125 TFLOP/s on a V100 (Markidis et al. 2018, arXiv 1803.04014). */
    if (peak > plain)
        rate *= 83.0 / 125 / 0.9;
    dlt_record_work(record, &work);
    if (!(bandwidth > 0) || (work.flops > 0 && !(rate > 0)))
        return NAN;
    return floor_s + fmax(work.flops > 0 ? work.flops / rate : 0, work.bytes / bandwidth);
}

/* Outside the measured rows the cost model's columns may stand for what nobody measured: half of
 * the way, in logarithms, to what hardware figures say. */
static void lean_on_hardware(const struct query *q, const struct dlt_section *section,
                             const struct dlt_record *record, struct dlt_price *price)
{
    /* Under a clock around whole calls the host has a share that hardware figures do not know. */
    bool on_device = q->entry->software.timing != DLT_HOST_SYNCHRONOUS;
    double seconds = on_device && price->extrapolated > 0 ? roofline(q, record) : NAN;

    if (isfinite(seconds) && known(price))
        price->seconds =
            fmax(price->seconds * pow(seconds / price->seconds, 0.5 * price->extrapolated),
                 section->model.floor_s);
}

/* By the section of that index, which measured the record's pass. */
static struct dlt_price by_section(const struct query *q, size_t index,
                                   const struct dlt_record *record)
{
    struct dlt_record other = *record;
    struct dlt_section section;
    struct dlt_answer answer;
    struct dlt_work work, others;
    struct dlt_price price;
    bool stands_in;

    if (!dlt_profile_section(q->profile, index, &section))
        return nothing;
    stands_in = stand_in(&section, &other);
    dlt_section_answer(&section, q->device, stands_in ? &other : record, &answer);
    price = price_of(&section, &answer);
    price.clock_s = clock_of(q, &section);
    lean_on_hardware(q, &section, stands_in ? &other : record, &price);
    if (!stands_in || !known(&price))
        return price;
    dlt_record_work(record, &work);
    dlt_record_work(&other, &others);
    return widened(price, others.bytes > 0 ? work.bytes / others.bytes : 1, sigma_function);
}

/* The same in another pass. Passes are derived from one another, so that each is asked for more
 * than once. */
static struct dlt_price direct(const struct query *q, const struct dlt_record *asked,
                               enum dlt_pass pass)
{
    const int64_t index = section_index(q, asked, pass);
    struct dlt_record record = in_pass(asked, pass);
    const struct dlt_memo_value *kept;
    struct dlt_memo_value made = {0};
    struct dlt_memo_key key;

    if (index == NO_SECTION)
        return nothing;
    dlt_memo_key(&key, q->profile, q->entry, q->device, &record);
    kept = dlt_memo_find(q->memo, &key);
    if (kept)
        return kept->price;
    made.price = by_section(q, (size_t)index, &record);
    dlt_memo_keep(q->memo, &key, &made);
    return made.price;
}

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
static struct dlt_price backward_from_step(const struct query *q, const struct dlt_record *asked)
{
    struct dlt_record record = in_pass(asked, DLT_STEP);
    struct dlt_record gradients = in_pass(asked, DLT_BACKWARD);
    struct dlt_price forward = direct(q, asked, DLT_FORWARD), price;
    struct dlt_section section;
    struct dlt_answer step;
    double update, expected, seconds;

    if (!known(&forward) || !find_section(q, &record, DLT_STEP, &section))
        return nothing;
    record.optimizer = lightest(section.model.optimizers);
    dlt_section_answer(&section, q->device, &record, &step);
    update = dlt_section_update_cost(&section, &record, false) / step.cost_s;
    expected = step.seconds * fmin(dlt_section_cost(&section, &gradients) / step.cost_s, 1);
    seconds = step.seconds * fmax(1 - update, 0) - forward.seconds;
    price = price_of(&section, &step);
    price.seconds = fmin(fmax(seconds, expected / 2.5), expected * 2.5);
    price.sigma = hypot(step.seconds * step.sigma, forward.seconds * forward.sigma) / price.seconds;
    price.sigma = fmin(price.sigma, 1);
    return known(&price) ? price : nothing;
}

/* The update of a layer's weights, from the columns that steps taught the cost model. */
static struct dlt_price update_from_step(const struct query *q, const struct dlt_record *asked)
{
    struct dlt_record record = in_pass(asked, DLT_UPDATE);
    struct dlt_section section;
    struct dlt_price price = {.sigma = sigma_update};
    double scale = 1;

    if (!find_section(q, &record, DLT_STEP, &section))
        return nothing;
    if (!(section.model.optimizers & 1U << record.optimizer)) {
        enum dlt_optimizer other = lightest(section.model.optimizers);

        scale = dlt_optimizer_touches(record.optimizer) / dlt_optimizer_touches(other);
        record.optimizer = other;
        price.sigma *= 2;
    }
    price.seconds = scale * (dlt_section_update_cost(&section, &record, false) -
                             dlt_section_update_cost(&section, &record, true));
    price.basis = (enum dlt_basis)section.index->basis;
    return isfinite(price.seconds) && price.seconds > 0 ? price : nothing;
}

static bool is_product(const struct dlt_record *record)
{
    struct dlt_record forward = in_pass(record, DLT_FORWARD);
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
static struct dlt_price gradient_from_forward(const struct query *q, const struct dlt_record *asked,
                                              enum dlt_pass pass)
{
    struct dlt_record record = in_pass(asked, DLT_FORWARD);
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
                record = in_pass(asked, DLT_FORWARD);
    }
    price = direct(q, &record, DLT_FORWARD);
    return known(&price) ? widened(price, 1, sigma_physics) : nothing;
}

/* A memory-bound operator's time grows with the bytes that the pass moves, from the shortest time
 * that the operator was seen to take. */
static struct dlt_price by_bytes(const struct query *q, const struct dlt_record *asked,
                                 enum dlt_pass from, enum dlt_pass to)
{
    struct dlt_record base = in_pass(asked, from), wanted = in_pass(asked, to);
    struct dlt_price price = direct(q, asked, from);
    struct dlt_work base_work, wanted_work;
    struct dlt_section section;
    double floor_s = q->entry->floor_s;

    if (!known(&price))
        return nothing;
    if (find_section(q, &base, from, &section))
        floor_s = fmax(floor_s, section.model.floor_s / DLT_FLOOR_SHARE);
    dlt_record_work(&base, &base_work);
    dlt_record_work(&wanted, &wanted_work);
    if (!(base_work.bytes > 0))
        return nothing;
    floor_s = fmin(floor_s, price.seconds);
    price.seconds = floor_s + (price.seconds - floor_s) * wanted_work.bytes / base_work.bytes;
    return widened(price, 1, sigma_physics);
}

static struct dlt_price backward(const struct query *q, const struct dlt_record *asked)
{
    struct dlt_price data, weight, price = direct(q, asked, DLT_BACKWARD);

    if (known(&price))
        return price;
    data = direct(q, asked, DLT_BACKWARD_DATA);
    if (!is_product(asked))
        return known(&data) ? data : by_bytes(q, asked, DLT_FORWARD, DLT_BACKWARD);
    weight = direct(q, asked, DLT_BACKWARD_WEIGHT);
    if (known(&data) && known(&weight))
        return sum_of(&data, &weight);
    if (known(&data))
        return widened(data, 2, sigma_split);
    if (known(&weight))
        return widened(weight, 2, sigma_split);
    price = backward_from_step(q, asked);
    if (known(&price))
        return price;
    data = gradient_from_forward(q, asked, DLT_BACKWARD_DATA);
    weight = gradient_from_forward(q, asked, DLT_BACKWARD_WEIGHT);
    return sum_of(&data, &weight);
}

/* One of the two gradients. */
static struct dlt_price gradient(const struct query *q, const struct dlt_record *asked)
{
    struct dlt_price price = direct(q, asked, asked->pass), both;

    if (known(&price))
        return price;
    both = backward(q, asked);
    if (!known(&both))
        return nothing;
    return is_product(asked) ? widened(both, 0.5, sigma_split) : both;
}

static struct dlt_price forward(const struct query *q, const struct dlt_record *asked)
{
    struct dlt_price price = direct(q, asked, DLT_FORWARD);

    if (known(&price))
        return price;
    if (is_product(asked)) {
        price = direct(q, asked, DLT_BACKWARD_DATA);
        return known(&price) ? widened(price, 1, sigma_physics) : nothing;
    }
    price = by_bytes(q, asked, DLT_BACKWARD, DLT_FORWARD);
    return known(&price) ? price : by_bytes(q, asked, DLT_BACKWARD_DATA, DLT_FORWARD);
}

/* An optimizer's walk over all parameters costs what it costs over one layer's. */
static struct dlt_price walk(const struct query *q, const struct dlt_record *asked)
{
    struct dlt_record layer = dlt_record_make(dlt_record_kind_find("dense"));

    layer.dtype = asked->dtype;
    layer.math = asked->math;
    layer.optimizer = asked->optimizer;
    layer.threads = asked->threads;
    layer.u.matmul.k = asked->u.update.elements;
    return update_from_step(q, &layer);
}

static struct dlt_price update(const struct query *q, const struct dlt_record *asked)
{
    struct dlt_price price = direct(q, asked, DLT_UPDATE);

    if (known(&price))
        return price;
    if (strcmp(asked->kind->name, "optimizer_update") == 0)
        return walk(q, asked);
    return update_from_step(q, asked);
}

/* From other devices, where the entry has a section that says how; in whatever pass. */
static struct dlt_price transferred(const struct query *q, const struct dlt_record *asked)
{
    const struct dlt_file_entry *e = q->entry;
    struct dlt_section section;
    struct dlt_price price = nothing;

    for (uint32_t i = e->first_section; i < e->first_section + e->section_count; i++) {
        const struct dlt_file_section *s = &q->profile->section[i];

        if (dlt_section_is_transfer(s) && s->dtype == (uint32_t)asked->dtype &&
            s->math == (uint32_t)asked->math && strcmp(s->kind, asked->kind->name) == 0 &&
            dlt_profile_section(q->profile, i, &section))
            dlt_transfer_price(q->profile, e, &section, q->device, asked, q->memo, &price);
    }
    return price;
}

/* From the sections of the record's own operator, dtype and math. */
static struct dlt_price own(const struct query *q, const struct dlt_record *asked)
{
    struct dlt_record part;
    struct dlt_price price, sum;

    if (q->entry->general || q->entry->adapted) {
        price = transferred(q, asked);
        if (known(&price))
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
        return nothing;
    }
    price = direct(q, asked, DLT_STEP);
    if (known(&price))
        return price;
    price = forward(q, asked);
    sum = backward(q, asked);
    sum = sum_of(&price, &sum);
    part = *asked;
    part.pass = DLT_UPDATE;
    price = asked->optimizer == DLT_OPTIMIZER_NONE ? nothing : update(q, &part);
    return known(&price) ? sum_of(&sum, &price) : sum;
}

void dlt_entry_price(const struct dlt_profile *profile, size_t entry,
                     const struct dlt_record *record, struct dlt_memo *memo,
                     struct dlt_price *price)
{
    const struct query q = {.profile = profile,
                            .entry = &profile->entry[entry],
                            .device = &profile->entry[entry].device,
                            .memo = memo};

    *price = own(&q, record);
}

/* From a section of another dtype or math mode, scaled as hardware figures scale. */
static struct dlt_price other_precision(const struct query *q, const struct dlt_record *asked)
{
    double wanted = roofline(q, asked);

    for (int variant = 0; variant < DLT_DTYPES * DLT_MATHS; variant++) {
        struct dlt_record record = *asked;
        struct dlt_price price;

        record.dtype = (enum dlt_dtype)(variant / DLT_MATHS);
        record.math = (enum dlt_math)(variant % DLT_MATHS);
        if (record.dtype == asked->dtype && record.math == asked->math)
            continue;
        price = own(q, &record);
        if (!known(&price))
            continue;
        if (isfinite(wanted))
            price = widened(price, wanted / roofline(q, &record), sigma_precision);
        if (price.basis > DLT_BASIS_ADAPTED)
            price.basis = DLT_BASIS_ADAPTED;
        return price;
    }
    return nothing;
}

/* A one-dimensional convolution is a two-dimensional one over images of width 1. */
static void widen_to_images(struct dlt_spatial *s)
{
    s->in_size[1] = s->kernel[1] = s->stride[1] = s->dilation[1] = 1;
    s->padding[1][0] = s->padding[1][1] = 0;
}

/* From an operator that does the same work in a related way, by its cost model. */
static struct dlt_price relative(const struct query *q, const struct dlt_record *asked)
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
        if (!known(&price))
            continue;
        price = widened(price, 1, sigma_relative);
        price.extrapolated = 1;
        price.basis = DLT_BASIS_COST_MODEL;
        return price;
    }
    return nothing;
}

void dlt_target_price(const struct dlt_profile *profile, const struct dlt_target *target,
                      const struct dlt_record *record, struct dlt_price *price)
{
    const struct query q = {.profile = profile,
                            .entry = &profile->entry[target->entry],
                            .device = target->device,
                            .memo = target->memo};
    double seconds;

    *price = nothing;
    if (!record->kind)
        return;
    *price = own(&q, record);
    if (!known(price))
        *price = other_precision(&q, record);
    if (!known(price))
        *price = relative(&q, record);
    if (known(price) && price->seconds >= 0)
        return;
    seconds = roofline(&q, record);
    if (isfinite(seconds))
        *price = (struct dlt_price){.seconds = seconds,
                                    .sigma = sigma_roofline,
                                    .basis = DLT_BASIS_COST_MODEL,
                                    .extrapolated = 1};
    else
        *price = nothing;
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
