/* SPDX-License-Identifier: Apache-2.0 */
/* A profile of other devices, adapted to a few measurements of one. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/blas.h"
#include "learn/general.h"
#include "learn/starts.h"
#include "learn/train_parts.h"

enum {
    OWN_ROWS = 1500, /* from here on, its own learner beats the others' help */
    CALIBRATED = 12  /* fewer rows say nothing of the spread */
};

struct adapt {
    const struct dlt_profile *base;
    const struct dlt_corpus *corpus;
    struct dlt_profile_writer *writer;
    struct dlt_profile *donors; /* the writer's, in memory */
};

/* An entry that was adapted itself is no donor. */
static bool is_kept(const struct dlt_file_entry *entry)
{
    return !entry->adapted;
}

/* Whether a section of the donors says something of the group's device. */
static bool is_relevant(const struct adapt *a, const struct dlt_file_section *s,
                        const struct dlt_group *group)
{
    const struct dlt_file_entry *entry = &a->donors->entry[s->entry];

    return dlt_record_kind_find(s->kind) && !entry->adapted &&
           entry->software.timing == group->software.timing &&
           (entry->threads > 0) == (group->threads > 0);
}

/* The section that stands for an operator: the general one where there is one. */
static const struct dlt_file_section *find(const struct adapt *a, const struct dlt_group *group,
                                           const struct dlt_record *record)
{
    const struct dlt_file_section *found = NULL;

    for (uint32_t i = 0; i < a->donors->header->section_count; i++) {
        const struct dlt_file_section *s = &a->donors->section[i];

        if (is_relevant(a, s, group) && s->dtype == (uint32_t)record->dtype &&
            s->math == (uint32_t)record->math && strcmp(s->kind, record->kind->name) == 0 &&
            (!found || dlt_section_is_transfer(a->donors, i)))
            found = s;
    }
    return found;
}

/* What a general section knows of the spread and of mix and reach; defaults from a single donor. */
static void start(const struct adapt *a, const struct dlt_file_section *from,
                  struct dlt_build *build)
{
    const double unknown_device = 0.4;
    const double rows_told = 100; /* NOTES.md, Ranges */
    size_t index = (size_t)(from - a->donors->section);
    struct dlt_section section;

    dlt_build_start(build, dlt_record_kind_find(from->kind));
    if (dlt_section_is_transfer(a->donors, index) &&
        dlt_profile_section(a->donors, index, &section)) {
        build->model = section.model;
        for (int i = 0; i < DLT_SIGMA_TERMS; i++) {
            build->spread.slope[i] = dlt_sigma_coefficient(&section.model, i);
            build->spread.rows[i] = rows_told;
        }
        build->spread.learned = true;
        return;
    }
    build->model.ratio = DLT_RATIO_TRANSFER;
    build->model.columns = 0;
    build->model.mix = DLT_TRANSFER_MIX;
    build->model.reach = DLT_TRANSFER_REACH;
    build->model.sigma_low = build->model.sigma_high = build->model.sigma_far = unknown_device;
}

static int fit_rows(struct adapt *a, const struct dlt_rows *rows, struct dlt_build *build,
                    struct dlt_accuracy *accuracy)
{
    const struct dlt_group *group = &a->corpus->group[rows->row[0]->group];
    const struct dlt_transfer transfer = {.profile = a->donors,
                                          .device = &group->device,
                                          .timing = group->software.timing,
                                          .threads = group->threads,
                                          .mix = build->model.mix,
                                          .reach = build->model.reach};
    struct dlt_transfer_row *seen = calloc(rows->count, sizeof *seen);
    struct dlt_held_out *held_out = calloc(rows->count, sizeof *held_out);
    struct dlt_random random;
    size_t count = 0;
    int result = -1;

    for (size_t r = 0; seen && held_out && r < rows->count; r++)
        count += dlt_transfer_see(&transfer, rows->row[r], &seen[count]);
    dlt_random_seed(&random, 1, 1);
    if (seen && held_out && count == 0)
        result = 0;
    else if (seen && held_out && !dlt_fit_density(build, rows, &random))
        result = dlt_fit_transfer(build, seen, count, held_out);
    if (result == 0 && count >= CALIBRATED)
        result = dlt_calibrate(build, held_out, count, accuracy);
    free(seen);
    free(held_out);
    return result;
}

static int adapt_section(struct adapt *a, uint32_t group, const struct dlt_file_section *from,
                         const struct dlt_row *const *row, size_t count)
{
    struct dlt_rows rows = {.row = row, .count = count, .device = &a->corpus->group[group].device};
    struct dlt_record record = dlt_record_make(dlt_record_kind_find(from->kind));
    struct dlt_accuracy accuracy = {0};
    struct dlt_build build;
    bool adapted;
    int result = 0;

    record.dtype = (enum dlt_dtype)from->dtype;
    record.math = (enum dlt_math)from->math;
    start(a, from, &build);
    if (count)
        result = fit_rows(a, &rows, &build, &accuracy);
    adapted = count > 0 && !dlt_accuracy_is_absurd(&accuracy);
    if (result == 0)
        result =
            dlt_put_transfer(a->writer, &build, group, &record,
                             adapted ? DLT_BASIS_ADAPTED : DLT_BASIS_GENERAL, count, &accuracy);
    dlt_build_clear(&build);
    return result;
}

static bool is_own(void *context, const struct dlt_row *const *row, size_t count)
{
    const struct adapt *a = context;

    return count >= OWN_ROWS || !find(a, &a->corpus->group[row[0]->group], &row[0]->record);
}

/* Sections of operators that the device measured a little. */
static int adapt_measured(struct adapt *a, const struct dlt_row **row)
{
    size_t alike;

    for (size_t r = 0; r < a->corpus->row_count; r += alike) {
        const struct dlt_group *group = &a->corpus->group[row[r]->group];
        const struct dlt_file_section *from = find(a, group, &row[r]->record);

        alike = dlt_rows_alike(row, r, a->corpus->row_count);
        if (from && alike < OWN_ROWS && adapt_section(a, row[r]->group, from, row + r, alike))
            return -1;
    }
    return 0;
}

static bool has_section(const struct dlt_profile_writer *writer, uint32_t entry,
                        const struct dlt_file_section *like)
{
    for (size_t i = 0; i < writer->section_count; i++) {
        const struct dlt_file_section *s = &writer->section[i].index;

        if (s->entry == entry && s->dtype == like->dtype && s->math == like->math &&
            strcmp(s->kind, like->kind) == 0)
            return true;
    }
    return false;
}

/* Sections of what only the others measured: once those that the device has itself are there. */
static int adapt_rest(struct adapt *a)
{
    for (uint32_t g = 0; g < a->corpus->group_count; g++)
        for (uint32_t i = 0; i < a->donors->header->section_count; i++) {
            const struct dlt_file_section *s = &a->donors->section[i];
            const struct dlt_record_kind *kind = dlt_record_kind_find(s->kind);
            struct dlt_record record;

            if (!kind) /* a table of convolutions */
                continue;
            record = dlt_record_make(kind);
            record.dtype = (enum dlt_dtype)s->dtype;
            record.math = (enum dlt_math)s->math;
            if (is_relevant(a, s, &a->corpus->group[g]) && !has_section(a->writer, g, s) &&
                adapt_section(a, g, find(a, &a->corpus->group[g], &record), NULL, 0))
                return -1;
        }
    return 0;
}

/* Entries and sources of the corpus and, behind them, what the base knows; that is read whole here,
 * and what of it is damaged told before anything is learned. */
static int begin(struct adapt *a, struct dlt_error *error)
{
    if (dlt_train_entries(a->corpus, a->writer))
        return dlt_fail_memory(error);
    for (size_t g = 0; g < a->corpus->group_count; g++)
        a->writer->entry[g].adapted = 1;
    if (dlt_profile_writer_copy(a->writer, a->base, is_kept, NULL) ||
        dlt_train_sources(a->corpus, a->writer))
        return dlt_fail_memory(error);
    dlt_starts_drop(a->writer);
    if (dlt_profile_check(a->base, error))
        return -1;
    return dlt_writer_profile(a->writer, &a->donors, error);
}

static int adapt(struct adapt *a, const struct dlt_train_settings *settings,
                 struct dlt_error *error)
{
    const struct dlt_row **row = dlt_sorted_rows(a->corpus);
    int result = -1;

    if (row && !adapt_measured(a, row) &&
        !dlt_train_sections(a->corpus, settings, is_own, a, a->writer) && !adapt_rest(a))
        result = 0;
    free(row);
    return result ? dlt_fail_memory(error) : 0;
}

int dlt_adapt(const struct dlt_profile *base, const struct dlt_corpus *corpus,
              const struct dlt_train_settings *settings, struct dlt_profile_writer *writer,
              struct dlt_error *error)
{
    struct adapt a = {.base = base, .corpus = corpus, .writer = writer};
    struct dlt_train_settings begun = *settings;
    int result;

    if (corpus->row_count == 0)
        return dlt_fail(error, "the files hold no measured operator that can be learned from; "
                               "measure some with `dlbench run --quick`");
    begun.starts = base;
    result = dlt_blas_start(&begun.threads, error) || begin(&a, error) || adapt(&a, &begun, error)
                 ? -1
                 : dlt_profile_check(base, error);
    dlt_profile_destroy(a.donors);
    return result;
}
