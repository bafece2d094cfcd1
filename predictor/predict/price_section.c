/* SPDX-License-Identifier: Apache-2.0 */
/* The price of a record in a pass that a section measured, and by hardware figures alone. */
#include <math.h>
#include <string.h>

#include "predict/price.h"

/* Spread that one elementwise function adds to another, of the log of the time. */
static const double sigma_function = 0.25;

const struct dlt_price dlt_no_price = {.seconds = NAN};

bool dlt_price_known(const struct dlt_price *price)
{
    return isfinite(price->seconds);
}

struct dlt_price dlt_price_widened(struct dlt_price price, double factor, double sigma)
{
    price.seconds *= factor;
    price.sigma = hypot(price.sigma, sigma);
    return price;
}

double dlt_price_extrapolated(const struct dlt_price *a, const struct dlt_price *b)
{
    double seconds = a->seconds + b->seconds;

    /* By rounding a mean may pass its larger part. */
    return fmin((a->seconds * a->extrapolated + b->seconds * b->extrapolated) / seconds, 1);
}

struct dlt_price dlt_price_sum(const struct dlt_price *a, const struct dlt_price *b)
{
    double seconds = a->seconds + b->seconds;

    if (!dlt_price_known(a) || !dlt_price_known(b))
        return dlt_no_price;
    return (struct dlt_price){.seconds = seconds,
                              .sigma =
                                  hypot(a->seconds * a->sigma, b->seconds * b->sigma) / seconds,
                              .basis = a->basis < b->basis ? a->basis : b->basis,
                              .clock_s = a->clock_s + b->clock_s,
                              .extrapolated = dlt_price_extrapolated(a, b)};
}

enum { NO_SECTION = -1 };

/* Index of the section of a record's operator, dtype and math whose passes include `pass`. */
static int64_t section_index(const struct dlt_price_query *q, const struct dlt_record *record,
                             enum dlt_pass pass)
{
    const struct dlt_file_entry *e = q->entry;

    for (uint32_t i = e->first_section; i < e->first_section + e->section_count; i++) {
        const struct dlt_file_section *s = &q->profile->section[i];

        if ((s->passes & 1U << pass) && s->dtype == (uint32_t)record->dtype &&
            s->math == (uint32_t)record->math && strcmp(s->kind, record->kind->name) == 0 &&
            !dlt_section_is_transfer(q->profile, i))
            return i;
    }
    return NO_SECTION;
}

/* That section, if it is sound. */
bool dlt_price_section(const struct dlt_price_query *q, const struct dlt_record *record,
                       enum dlt_pass pass, struct dlt_section *section)
{
    int64_t index = section_index(q, record, pass);

    return index != NO_SECTION && dlt_profile_section(q->profile, (size_t)index, section);
}

struct dlt_record dlt_price_in_pass(const struct dlt_record *record, enum dlt_pass pass)
{
    struct dlt_record other = *record;

    other.pass = pass;
    if (pass != DLT_STEP && pass != DLT_UPDATE)
        other.optimizer = DLT_OPTIMIZER_NONE;
    return other;
}

/*
 * Under a clock on the host even the shortest call takes a whole round through the framework.
 * Between two events around a single call the device waits for the host to launch it: about the
 * shortest time that any operator took (NeuSight's V100: 31 us, 10 of them with no kernel in
 * between), where a host that runs ahead leaves no such gap.
 */
static double clock_of(const struct dlt_price_query *q, const struct dlt_section *section)
{
    if (q->entry->threads > 0)
        return 0;
    switch (q->entry->software.timing) {
    case DLT_HOST_SYNCHRONOUS:
        return section->model.floor_s;
    case DLT_EVENTS_SINGLE:
        return DLT_FLOOR_SHARE * q->entry->floor_s;
    default:
        return 0;
    }
}

struct dlt_price dlt_price_of(const struct dlt_section *section, const struct dlt_answer *answer)
{
    struct dlt_price price = {.seconds = answer->seconds,
                              .sigma = answer->sigma,
                              .basis = (enum dlt_basis)section->index->basis,
                              .extrapolated = answer->extrapolated};

    if (!isfinite(price.seconds) || !isfinite(price.sigma))
        return dlt_no_price;
    /* A size that training knew one value of, and the double is asked for, is 98 % outside. */
    if (price.extrapolated > 0.9 && price.basis > DLT_BASIS_COST_MODEL)
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
double dlt_price_roofline(const struct dlt_price_query *q, const struct dlt_record *record)
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
static void lean_on_hardware(const struct dlt_price_query *q, const struct dlt_section *section,
                             const struct dlt_record *record, struct dlt_price *price)
{
    /* Under a clock around whole calls the host has a share that hardware figures do not know. */
    bool on_device = q->entry->software.timing != DLT_HOST_SYNCHRONOUS;
    double seconds = on_device && price->extrapolated > 0 ? dlt_price_roofline(q, record) : NAN;

    if (isfinite(seconds) && dlt_price_known(price))
        price->seconds =
            fmax(price->seconds * pow(seconds / price->seconds, 0.5 * price->extrapolated),
                 section->model.floor_s);
}

/*
 * Seconds that its arithmetic takes at the device's peak; 0 where the peak is not known. Winograd's
 * F(4x4, 3x3) needs 36 multiplications where the direct sum has 144 (Lavin and Gray 2016, arXiv
 * 1509.09308); other shapes have no such way that nobody measured could count on.
 */
static double least_seconds(const struct dlt_price_query *q, const struct dlt_record *record)
{
    double peak =
        dlt_device_peak(q->device, (int)record->dtype, (int)record->math, q->entry->threads);
    const struct dlt_spatial *s = &record->u.spatial;
    bool winograd = record->kind->dims == 2;
    struct dlt_work work;

    for (int dim = 0; dim < 2 && winograd; dim++)
        winograd = s->kernel[dim] == 3 && s->stride[dim] == 1 && s->dilation[dim] == 1;
    dlt_record_work(record, &work);
    return peak > 0 ? work.flops / peak / (winograd ? 4 : 1) : 0;
}

/* What was measured may beat the peak of plain arithmetic; what the cost model makes of shapes that
 * nobody measured may not, once an answer rests on that more than on rows. */
static void stay_below_peak(const struct dlt_price_query *q, const struct dlt_record *record,
                            struct dlt_price *price)
{
    double least = price->extrapolated > 0 ? least_seconds(q, record) : 0;

    if (dlt_price_known(price) && price->seconds < least)
        price->seconds *= pow(least / price->seconds, fmin(2 * price->extrapolated, 1));
}

/* By the section of that index, which measured the record's pass. */
static struct dlt_price by_section(const struct dlt_price_query *q, size_t index,
                                   const struct dlt_record *record)
{
    struct dlt_record other = *record;
    struct dlt_section section;
    struct dlt_answer answer;
    struct dlt_work work, others;
    struct dlt_price price;
    bool stands_in;

    if (!dlt_profile_section(q->profile, index, &section))
        return dlt_no_price;
    stands_in = stand_in(&section, &other);
    dlt_section_answer(&section, q->device, stands_in ? &other : record, &answer);
    price = dlt_price_of(&section, &answer);
    price.clock_s = clock_of(q, &section);
    lean_on_hardware(q, &section, stands_in ? &other : record, &price);
    stay_below_peak(q, stands_in ? &other : record, &price);
    if (!stands_in || !dlt_price_known(&price))
        return price;
    dlt_record_work(record, &work);
    dlt_record_work(&other, &others);
    return dlt_price_widened(price, others.bytes > 0 ? work.bytes / others.bytes : 1,
                             sigma_function);
}

/* The same in another pass. Passes are derived from one another, so that each is asked for more
 * than once. */
struct dlt_price dlt_price_direct(const struct dlt_price_query *q, const struct dlt_record *asked,
                                  enum dlt_pass pass)
{
    const int64_t index = section_index(q, asked, pass);
    struct dlt_record record = dlt_price_in_pass(asked, pass);
    const struct dlt_memo_value *kept;
    struct dlt_memo_value made = {0};
    struct dlt_memo_key key;

    if (index == NO_SECTION)
        return dlt_no_price;
    dlt_memo_key(&key, q->profile, q->entry, q->device, &record);
    kept = dlt_memo_find(q->memo, &key);
    if (kept)
        return kept->price;
    made.price = by_section(q, (size_t)index, &record);
    dlt_memo_keep(q->memo, &key, &made);
    return made.price;
}
