/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/transfer.h"

#include <math.h>
#include <string.h>

#include "predict/section.h"

double dlt_device_apart(const struct dlt_device *a, const struct dlt_device *b)
{
    const double other_maker = 3, of_size = 0.1;
    double apart = fabs(a->compute_capability - b->compute_capability);
    double size = a->memory_bandwidth > 0 && b->memory_bandwidth > 0
                      ? fabs(log(a->memory_bandwidth / b->memory_bandwidth))
                      : 0;

    if (strcmp(a->vendor, b->vendor) != 0 || strcmp(a->isa, b->isa) != 0)
        apart += other_maker;
    return apart + of_size * size;
}

/* The donor's section for a record: of its pass, else of any. */
static bool find_section(const struct dlt_transfer *t, const struct dlt_file_entry *entry,
                         const struct dlt_record *record, struct dlt_section *section)
{
    uint32_t last = entry->first_section + entry->section_count, any = last;

    for (uint32_t i = entry->first_section; i < last; i++) {
        const struct dlt_file_section *s = &t->profile->section[i];

        if (s->dtype != (uint32_t)record->dtype || s->math != (uint32_t)record->math ||
            strcmp(s->kind, record->kind->name) != 0 || dlt_section_is_transfer(t->profile, i))
            continue;
        any = i;
        if (s->passes & 1U << record->pass)
            break;
    }
    return any < last && dlt_profile_section(t->profile, any, section);
}

static double split_by(const struct dlt_section *section, const struct dlt_numbers *columns,
                       double part[DLT_RESOURCES])
{
    double sum = 0;

    memset(part, 0, DLT_RESOURCES * sizeof *part);
    for (size_t i = 0; i < columns->count && i < section->model.columns; i++) {
        double seconds = section->coefficient[i] * columns->value[i];

        if (seconds == 0)
            continue;
        part[dlt_column_resource(columns, i)] += seconds;
        sum += seconds;
    }
    return sum;
}

/* A record's columns, and those of its forward pass for donors that measured no other. */
struct columns {
    bool filled;
    struct dlt_numbers own, forward;
};

static void fill_columns(const struct dlt_record *record, struct columns *columns)
{
    struct dlt_record forward = *record;

    if (columns->filled)
        return;
    columns->filled = true;
    forward.pass = DLT_FORWARD;
    forward.optimizer = DLT_OPTIMIZER_NONE;
    dlt_columns(record, &columns->own);
    dlt_columns(&forward, &columns->forward);
}

/* Seconds of each resource in the donor's cost model; memory alone where it has none (NULL). */
static void split(const struct dlt_section *section, const struct columns *columns,
                  double part[DLT_RESOURCES])
{
    if (section && (split_by(section, &columns->own, part) > 0 ||
                    split_by(section, &columns->forward, part) > 0))
        return;
    memset(part, 0, DLT_RESOURCES * sizeof *part);
    part[DLT_MEMORY] = 1;
}

static double ratio_of(double donor, double asker)
{
    return donor > 0 && asker > 0 ? donor / asker : 1;
}

/* What each second of the donor's takes on the asking device. */
static void scales(const struct dlt_transfer *t, const struct dlt_file_entry *entry,
                   const struct dlt_record *record, double scale[DLT_RESOURCES])
{
    int dtype = (int)record->dtype, math = (int)record->math;
    double bandwidth = ratio_of(entry->device.memory_bandwidth, t->device->memory_bandwidth);
    double reach = ratio_of(dlt_device_reach(&entry->device, DLT_FLOAT32, DLT_IEEE, entry->threads),
                            dlt_device_reach(t->device, DLT_FLOAT32, DLT_IEEE, t->threads));

    scale[DLT_LAUNCH] = 1;
    scale[DLT_MEMORY] = pow(bandwidth, t->mix) * pow(reach, 1 - t->mix);
    scale[DLT_COMPUTE] = ratio_of(dlt_device_reach(&entry->device, dtype, math, entry->threads),
                                  dlt_device_reach(t->device, dtype, math, t->threads));
}

static bool is_donor(const struct dlt_transfer *t, const struct dlt_file_entry *entry)
{
    return !entry->general && !entry->adapted && entry->software.timing == t->timing &&
           (entry->threads > 0) == (t->threads > 0) &&
           (!t->except || strcmp(entry->device.name, t->except) != 0);
}

/* What a donor says of a record, whoever asks. */
static void donor_says(const struct dlt_transfer *t, uint32_t e, const struct dlt_record *record,
                       struct columns *columns, struct dlt_memo_value *said)
{
    const struct dlt_file_entry *entry = &t->profile->entry[e];
    const struct dlt_memo_value *kept;
    struct dlt_record theirs = *record;
    struct dlt_section section;
    struct dlt_memo_key key;
    bool has;

    dlt_memo_key(&key, t->profile, entry, NULL, record);
    kept = dlt_memo_find(t->memo, &key);
    if (kept) {
        *said = *kept;
        return;
    }
    *said = (struct dlt_memo_value){.price.seconds = NAN};
    theirs.threads = entry->threads;
    has = find_section(t, entry, record, &section);
    /* Rows that contradict one another are no evidence of other devices either. */
    if (!has || section.index->basis != DLT_BASIS_COST_MODEL)
        dlt_entry_price(t->profile, e, &theirs, t->memo, &said->price);
    if (isfinite(said->price.seconds)) {
        fill_columns(record, columns);
        split(has ? &section : NULL, columns, said->part);
    }
    dlt_memo_keep(t->memo, &key, said);
}

static bool ask(const struct dlt_transfer *t, uint32_t e, const struct dlt_record *record,
                struct columns *columns, struct dlt_donation *d)
{
    const struct dlt_file_entry *entry = &t->profile->entry[e];
    double scale[DLT_RESOURCES], sum = 0, scaled = 0;
    double apart = dlt_device_apart(&entry->device, t->device);
    struct dlt_memo_value said;
    struct dlt_price price;

    donor_says(t, e, record, columns, &said);
    price = said.price;
    if (!(price.seconds > 0) || !isfinite(price.sigma))
        return false;
    *d = (struct dlt_donation){.entry = e,
                               .weight = exp(-apart / fmax(t->reach, 1e-3)),
                               .apart = apart,
                               .sigma = price.sigma,
                               .extrapolated = price.extrapolated,
                               .clock_s = price.clock_s,
                               .basis = price.basis};
    memcpy(d->part, said.part, sizeof d->part);
    scales(t, entry, record, scale);
    for (int r = 0; r < DLT_RESOURCES; r++) {
        sum += d->part[r];
        d->part[r] *= scale[r];
        scaled += d->part[r];
    }
    for (int r = 0; r < DLT_RESOURCES; r++)
        d->part[r] /= scaled;
    d->ln_seconds = log(price.seconds) + log(scaled / sum);
    return isfinite(d->ln_seconds);
}

/* Where a donation goes once all places are taken: the place of the one farthest off, if that is
 * farther. DLT_DONORS: none. */
static size_t place_of(const struct dlt_donation donation[DLT_DONORS], double apart)
{
    size_t farthest = 0;

    for (size_t d = 1; d < DLT_DONORS; d++)
        if (donation[d].apart > donation[farthest].apart)
            farthest = d;
    return donation[farthest].apart > apart ? farthest : DLT_DONORS;
}

size_t dlt_donations(const struct dlt_transfer *t, const struct dlt_record *record,
                     struct dlt_donation donation[DLT_DONORS])
{
    struct columns columns;
    size_t count = 0;
    double sum = 0;

    columns.filled = false;
    for (uint32_t e = 0; e < t->profile->header->entry_count; e++) {
        const struct dlt_file_entry *entry = &t->profile->entry[e];
        struct dlt_donation one;
        size_t place = count;

        if (!is_donor(t, entry))
            continue;
        if (count == DLT_DONORS)
            place = place_of(donation, dlt_device_apart(&entry->device, t->device));
        if (place == DLT_DONORS || !ask(t, e, record, &columns, &one))
            continue;
        donation[place] = one;
        count += place == count;
    }
    for (size_t d = 0; d < count; d++)
        sum += donation[d].weight;
    for (size_t d = 0; d < count; d++)
        donation[d].weight = sum > 0 ? donation[d].weight / sum : 1 / (double)count;
    return count;
}

struct dlt_donated dlt_donated_of(const struct dlt_donation *donation, size_t count)
{
    struct dlt_donated all = {.basis = DLT_BASIS_COST_MODEL};
    double squares = 0;

    for (size_t d = 0; d < count; d++) {
        const struct dlt_donation *one = &donation[d];

        all.ln_seconds += one->weight * one->ln_seconds;
        all.sigma += one->weight * one->sigma;
        all.apart += one->weight * one->apart;
        all.extrapolated += one->weight * one->extrapolated;
        all.clock_s += one->weight * one->clock_s;
        for (int r = 0; r < DLT_RESOURCES; r++)
            all.part[r] += one->weight * one->part[r];
        if (one->basis > all.basis)
            all.basis = one->basis;
    }
    for (size_t d = 0; d < count; d++) {
        double apart = donation[d].ln_seconds - all.ln_seconds;

        squares += donation[d].weight * apart * apart;
    }
    all.spread = sqrt(squares);
    return all;
}

void dlt_transfer_terms(const struct dlt_section *s, const struct dlt_donated *donated,
                        const struct dlt_record *record, struct dlt_numbers *terms)
{
    const double most = 3;
    struct dlt_numbers at;

    terms->count = 0;
    dlt_numbers_add(terms, "1", 1);
    dlt_numbers_add(terms, "size", (donated->ln_seconds + 6) / 2);
    dlt_numbers_add(terms, "launch", donated->part[DLT_LAUNCH]);
    dlt_numbers_add(terms, "memory", donated->part[DLT_MEMORY]);
    dlt_coordinates(record, &at);
    for (uint32_t a = 0; a < s->model.axes; a++) {
        double value = s->axis[a] < at.count ? at.value[s->axis[a]] : 0;
        double z = (value - (double)s->axis_mean[a]) * (double)s->axis_scale[a];

        dlt_numbers_add(terms, "coordinate", fmin(fmax(z, -most), most));
    }
}

void dlt_transfer_sigma_terms(const struct dlt_section *s, const struct dlt_donated *donated,
                              const struct dlt_record *record, double terms[DLT_SIGMA_TERMS])
{
    const double most = 3; /* generations: beyond, no device that was left out tells */

    dlt_section_sigma_terms(s, record, exp(donated->ln_seconds), donated->spread, 0, terms);
    terms[DLT_SIGMA_APART] = fmin(donated->apart, most);
    for (int i = DLT_SIGMA_ALL; i < DLT_SIGMA_TERMS; i++)
        terms[i] = 0;
}

/* What rows of the device like this one were missed by. */
static double like_rows(const struct dlt_section *s, const struct dlt_numbers *terms)
{
    float input[DLT_FEATURES_MAX];

    for (uint32_t i = 0; i < s->model.inputs; i++) {
        double value = s->input[i] < terms->count ? terms->value[s->input[i]] : 0;

        input[i] = ((float)value - s->input_mean[i]) * s->input_scale[i];
    }
    return dlt_section_kernel(s, input);
}

/* ln of what the section's constant, shares and rows make of the mean. */
static double correction_of(const struct dlt_section *s, const struct dlt_donated *donated,
                            const struct dlt_donation *donation, size_t count,
                            const struct dlt_record *record)
{
    struct dlt_numbers terms;
    double sum = 0;

    for (uint32_t i = 0; i < s->model.donors; i++)
        for (size_t d = 0; d < count; d++)
            if (donation[d].entry == s->donor[i].entry)
                sum += s->donor[i].share * (donation[d].ln_seconds - donated->ln_seconds);
    if (s->model.columns > 0)
        sum += s->coefficient[0];
    if (s->model.points == 0)
        return sum;
    dlt_transfer_terms(s, donated, record, &terms);
    return sum + like_rows(s, &terms);
}

void dlt_transfer_price(const struct dlt_profile *profile, const struct dlt_file_entry *entry,
                        const struct dlt_section *section, const struct dlt_device *device,
                        const struct dlt_record *record, struct dlt_memo *memo,
                        struct dlt_price *price)
{
    const struct dlt_transfer transfer = {.profile = profile,
                                          .device = device,
                                          .timing = entry->software.timing,
                                          .threads = entry->threads,
                                          .mix = section->model.mix,
                                          .reach = section->model.reach,
                                          .memo = memo};
    struct dlt_donation donation[DLT_DONORS];
    size_t count = dlt_donations(&transfer, record, donation);
    struct dlt_donated all;
    double terms[DLT_SIGMA_TERMS], correction, inside;

    *price = (struct dlt_price){.seconds = NAN};
    if (count == 0)
        return;
    all = dlt_donated_of(donation, count);
    correction = correction_of(section, &all, donation, count, record);
    dlt_transfer_sigma_terms(section, &all, record, terms);
    inside = dlt_section_sigma(section, terms);
    price->seconds = exp(all.ln_seconds + correction);
    price->sigma = hypot(inside, all.extrapolated * all.sigma);
    price->extrapolated = fmin(all.extrapolated, 1);
    price->clock_s = fmin(all.clock_s, price->seconds);
    price->basis = (enum dlt_basis)section->index->basis;
    if (all.basis < price->basis)
        price->basis = all.basis;
}
