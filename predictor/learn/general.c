/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/general.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "learn/train_parts.h"
#include "predict/section.h"

/* Rows of each device that judge: for the choice of mix and reach, and for the spread. */
enum { ROWS_TO_CHOOSE = 160, ROWS_TO_CALIBRATE = 480 };

struct general {
    const struct dlt_corpus *corpus;
    const struct dlt_profile *profile; /* of what has been learned so far */
    struct dlt_profile_writer *writer;
    const struct dlt_row **row; /* sorted */
    uint32_t entry;             /* the general one */
    uint32_t first;             /* a group of the convention */
};

static bool same_convention(const struct dlt_corpus *corpus, size_t a, size_t b)
{
    const struct dlt_group *x = &corpus->group[a], *y = &corpus->group[b];

    return x->software.timing == y->software.timing && (x->threads > 0) == (y->threads > 0);
}

static bool same_section(const struct dlt_record *a, const struct dlt_record *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && a->math == b->math;
}

/* Up to `most` rows of a device, evenly over what there is; those of another software count too. */
struct judge {
    const struct dlt_row **row;
    size_t count;
};

static void take_rows(const struct dlt_row *const *row, size_t count, size_t most,
                      struct judge *judge)
{
    size_t taken = count < most ? count : most;

    for (size_t i = 0; i < taken; i++)
        judge->row[judge->count++] = row[i * count / taken];
}

static struct dlt_transfer transfer_of(const struct general *g, const struct dlt_file_model *model,
                                       const struct dlt_row *row)
{
    const struct dlt_group *group = &g->corpus->group[row->group];

    return (struct dlt_transfer){.profile = g->profile,
                                 .device = &group->device,
                                 .except = group->device.name,
                                 .timing = group->software.timing,
                                 .threads = group->threads,
                                 .mix = model->mix,
                                 .reach = model->reach};
}

/* Mean error of the logarithm over rows, each answered by the devices other than its own. */
static double loss(const struct general *g, const struct dlt_file_model *model,
                   const struct judge *judge)
{
    struct dlt_donation donation[DLT_DONORS];
    double sum = 0, weights = 0;

    for (size_t r = 0; r < judge->count; r++) {
        const struct dlt_row *row = judge->row[r];
        struct dlt_transfer transfer = transfer_of(g, model, row);
        size_t count = dlt_donations(&transfer, &row->record, donation);
        double weight = (double)dlt_row_weight(row->seconds);

        if (count == 0)
            continue;
        sum += weight * fabs(dlt_donated_of(donation, count).ln_seconds - log(row->seconds));
        weights += weight;
    }
    return weights > 0 ? sum / weights : INFINITY;
}

/* What differs from the default has to pay: a handful of devices say little about it. */
static void choose(const struct general *g, struct dlt_build *build, const struct judge *judge)
{
    static const double mixes[] = {DLT_TRANSFER_MIX, 0.25, 0.75, 1};
    static const double reaches[] = {DLT_TRANSFER_REACH, 0.3, 1.2};
    const double handicap = 1.03;
    double least = INFINITY;

    for (size_t m = 0; m < sizeof mixes / sizeof *mixes; m++)
        for (size_t r = 0; r < sizeof reaches / sizeof *reaches; r++) {
            struct dlt_file_model model = {.mix = mixes[m], .reach = reaches[r]};
            double error = loss(g, &model, judge) * (m ? handicap : 1) * (r ? handicap : 1);

            if (error < least) {
                least = error;
                build->model.mix = model.mix;
                build->model.reach = model.reach;
            }
        }
}

/* Mean and spread of ln time, for the terms of the spread. */
static void describe(struct dlt_build *build, const struct dlt_transfer_row *row, size_t count)
{
    double sum = 0, squares = 0, n = (double)count;

    for (size_t r = 0; r < count; r++) {
        sum += row[r].all.ln_seconds;
        squares += row[r].all.ln_seconds * row[r].all.ln_seconds;
    }
    build->model.cost_mean = sum / n;
    build->model.cost_scale = sqrt(fmax(squares / n - sum / n * (sum / n), 1e-4));
}

void dlt_transfer_hold_out(const struct dlt_build *build, const struct dlt_transfer_row *row,
                           double correction, struct dlt_held_out *held_out)
{
    struct dlt_section section = dlt_build_section(build);

    *held_out = (struct dlt_held_out){.seconds = row->row->seconds,
                                      .further = row->further,
                                      .cost_s = exp(row->all.ln_seconds),
                                      .ratio = correction,
                                      .distance = row->all.spread};
    dlt_transfer_sigma_terms(&section, &row->all, &row->row->record, held_out->terms);
}

bool dlt_transfer_see(const struct dlt_transfer *transfer, const struct dlt_row *row,
                      struct dlt_transfer_row *seen)
{
    seen->row = row;
    seen->further = false;
    seen->count = dlt_donations(transfer, &row->record, seen->donation);
    seen->all = dlt_donated_of(seen->donation, seen->count);
    return seen->count > 0;
}

/* A device's own error is shared by all its rows, and the devices are few: Student's t instead of a
 * normal distribution, with a degree of freedom lost to the choice of mix and reach. */
static void allow_for_few_devices(struct dlt_build *build, size_t devices)
{
    static const double factor[] = {2, 2, 2, 1.77, 1.43, 1.3, 1.22, 1.18, 1.15};
    const size_t last = sizeof factor / sizeof *factor - 1;
    double by = factor[devices - 1 < last ? devices - 1 : last];

    build->model.sigma[0] += log(by);
    build->model.sigma_low = fmin(build->model.sigma_low * by, 1);
    build->model.sigma_high = fmin(build->model.sigma_high * by, 1);
}

/* The answer without its nearest donors. */
static struct dlt_transfer_row without_nearest(const struct dlt_transfer_row *row, size_t donors)
{
    struct dlt_transfer_row rest = *row;
    double sum = 0;

    for (; donors > 0; donors--) {
        size_t nearest = 0;

        for (size_t d = 1; d < rest.count; d++)
            if (rest.donation[d].apart < rest.donation[nearest].apart)
                nearest = d;
        rest.donation[nearest] = rest.donation[--rest.count];
    }
    for (size_t d = 0; d < rest.count; d++)
        sum += rest.donation[d].weight;
    for (size_t d = 0; d < rest.count; d++)
        rest.donation[d].weight = sum > 0 ? rest.donation[d].weight / sum : 1 / (double)rest.count;
    rest.all = dlt_donated_of(rest.donation, rest.count);
    rest.further = true;
    return rest;
}

/*
 * Rows as the devices other than their own answer them; then each once more without the nearest of
 * those, as many as its turn says: how much wider a range has to be where all are far is not told
 * by devices that have a near one. seen: room for two each. Returns how many.
 */
static size_t see_rows(const struct general *g, const struct dlt_build *build,
                       const struct judge *judge, struct dlt_transfer_row *seen)
{
    size_t count = 0;

    for (size_t r = 0; r < judge->count; r++) {
        struct dlt_transfer transfer = transfer_of(g, &build->model, judge->row[r]);
        const struct dlt_transfer_row *row = &seen[count];

        count += dlt_transfer_see(&transfer, judge->row[r], &seen[count]);
        if (row->count > 1)
            seen[count++] = without_nearest(row, 1 + r % (row->count - 1));
    }
    return count;
}

static int calibrate(const struct general *g, struct dlt_build *build, const struct judge *judge,
                     size_t devices, struct dlt_accuracy *accuracy)
{
    struct dlt_transfer_row *seen = calloc(2 * judge->count + 1, sizeof *seen);
    struct dlt_held_out *held_out = calloc(2 * judge->count + 1, sizeof *held_out);
    size_t count = 0;
    int result = -1;

    if (seen && held_out)
        count = see_rows(g, build, judge, seen);
    /* Where no donor knows the operator there is nothing to say. */
    if (seen && held_out && count == 0)
        result = 0;
    if (count > 0) {
        describe(build, seen, count);
        for (size_t r = 0; r < count; r++)
            dlt_transfer_hold_out(build, &seen[r], 0, &held_out[r]);
        /* Rows of one device err together, so that their number says little of this slope. */
        build->spread.rows[DLT_SIGMA_APART] = (double)count / (double)devices;
        result = dlt_calibrate(build, held_out, count, accuracy);
        allow_for_few_devices(build, devices);
    }
    free(seen);
    free(held_out);
    return result;
}

int dlt_put_transfer(struct dlt_profile_writer *writer, struct dlt_build *build, uint32_t entry,
                     const struct dlt_record *record, enum dlt_basis basis, size_t rows,
                     const struct dlt_accuracy *accuracy)
{
    struct dlt_file_section index;
    unsigned char *bytes;
    size_t size;

    memset(&index, 0, sizeof index);
    if (dlt_build_bytes(build, &bytes, &size))
        return -1;
    dlt_text_copy(index.kind, sizeof index.kind, record->kind->name);
    index.entry = entry;
    index.passes = (1U << DLT_PASSES) - 1;
    index.dtype = (uint32_t)record->dtype;
    index.math = (uint32_t)record->math;
    index.basis = (uint32_t)basis;
    index.rows = (uint32_t)rows;
    index.size = size;
    index.held_out = accuracy->count;
    index.rmse_s = accuracy->rmse_s;
    index.mape = accuracy->mape;
    index.median_ape = accuracy->median_ape;
    index.coverage90 = accuracy->coverage90;
    index.mean_width = accuracy->mean_width;
    return dlt_profile_writer_section(writer, &index, bytes);
}

/* Whether the rows that judge have one of the device. */
static bool has_device(const struct general *g, const struct judge *judge, const char *name)
{
    for (size_t r = 0; r < judge->count; r++)
        if (strcmp(g->corpus->group[judge->row[r]->group].device.name, name) == 0)
            return true;
    return false;
}

/* The rows of one operator from all devices of the convention; returns how many devices, each of
 * which may have rows of several software or numbers of threads. */
static size_t gather(const struct general *g, const struct dlt_record *like, size_t most,
                     struct judge *judge)
{
    size_t devices = 0, count = g->corpus->row_count, alike;

    judge->count = 0;
    for (size_t r = 0; r < count; r += alike) {
        const struct dlt_row *first = g->row[r];

        alike = dlt_rows_alike(g->row, r, count);
        if (!same_convention(g->corpus, first->group, g->first) ||
            !same_section(&first->record, like))
            continue;
        devices += !has_device(g, judge, g->corpus->group[first->group].device.name);
        take_rows(g->row + r, alike, most, judge);
    }
    return devices;
}

static int learn_section(const struct general *g, const struct dlt_record *like)
{
    struct judge judge = {.row = calloc(g->corpus->row_count + 1, sizeof *judge.row)};
    struct dlt_accuracy accuracy = {0};
    struct dlt_build build;
    size_t devices;
    int result = 0;

    if (!judge.row)
        return -1;
    devices = gather(g, like, ROWS_TO_CHOOSE, &judge);
    dlt_build_start(&build, like->kind);
    build.model.ratio = DLT_RATIO_TRANSFER;
    build.model.columns = 0;
    if (devices > 1) {
        choose(g, &build, &judge);
        gather(g, like, ROWS_TO_CALIBRATE, &judge);
        result = calibrate(g, &build, &judge, devices, &accuracy);
        if (result == 0 && accuracy.count > 0)
            result = dlt_put_transfer(g->writer, &build, g->entry, like, DLT_BASIS_GENERAL,
                                      judge.count, &accuracy);
    }
    dlt_build_clear(&build);
    free(judge.row);
    return result;
}

/* Whether an earlier run of rows of the convention is of the same operator. */
static bool is_repeated(const struct general *g, size_t at)
{
    size_t alike;

    for (size_t r = 0; r < at; r += alike) {
        alike = dlt_rows_alike(g->row, r, g->corpus->row_count);
        if (same_convention(g->corpus, g->row[r]->group, g->first) &&
            same_section(&g->row[r]->record, &g->row[at]->record))
            return true;
    }
    return false;
}

static int learn_convention(struct general *g)
{
    const struct dlt_group *group = &g->corpus->group[g->first];
    struct dlt_file_entry entry;
    size_t alike;

    memset(&entry, 0, sizeof entry);
    dlt_text_copy(entry.device.name, sizeof entry.device.name, "any device");
    entry.software = group->software;
    entry.threads = group->threads;
    entry.general = 1;
    for (size_t i = 0; i < g->corpus->group_count; i++)
        entry.rows += same_convention(g->corpus, i, g->first) ? g->corpus->group[i].rows : 0;
    g->entry = (uint32_t)g->writer->entry_count;
    if (dlt_profile_writer_entry(g->writer, &entry))
        return -1;
    for (size_t r = 0; r < g->corpus->row_count; r += alike) {
        alike = dlt_rows_alike(g->row, r, g->corpus->row_count);
        if (same_convention(g->corpus, g->row[r]->group, g->first) && !is_repeated(g, r) &&
            learn_section(g, &g->row[r]->record))
            return -1;
    }
    return 0;
}

/* Whether the group is the first of a convention under which several devices were measured. */
static bool begins_convention(const struct dlt_corpus *corpus, size_t group)
{
    bool several = false;

    for (size_t i = 0; i < corpus->group_count; i++) {
        if (!same_convention(corpus, i, group))
            continue;
        if (i < group)
            return false;
        several |= strcmp(corpus->group[i].device.name, corpus->group[group].device.name) != 0;
    }
    return several;
}

int dlt_writer_profile(struct dlt_profile_writer *writer, struct dlt_profile **profile,
                       struct dlt_error *error)
{
    void *bytes;
    size_t size;

    return dlt_profile_writer_bytes(writer, &bytes, &size, error) ||
                   dlt_profile_from_memory(bytes, size, "training", profile, error)
               ? -1
               : 0;
}

int dlt_learn_general(const struct dlt_corpus *corpus, const struct dlt_train_settings *settings,
                      struct dlt_profile_writer *writer, struct dlt_error *error)
{
    struct general g = {.corpus = corpus, .writer = writer};
    struct dlt_profile *profile = NULL;
    int result = 0;

    (void)settings;
    for (size_t group = 0; group < corpus->group_count && result == 0; group++) {
        if (!begins_convention(corpus, group))
            continue;
        if (!profile && dlt_writer_profile(writer, &profile, error))
            return -1;
        g.profile = profile;
        g.first = (uint32_t)group;
        if (!g.row)
            g.row = dlt_sorted_rows(corpus);
        if (!g.row || learn_convention(&g))
            result = dlt_fail_memory(error);
    }
    free(g.row);
    dlt_profile_destroy(profile);
    return result;
}
