/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/table_build.h"
#include "learn/table_fit.h"
#include "predict/prepare.h"
#include "predict/profile_format.h"

/* A run that can be a case, with what answers for it. */
struct candidate {
    const struct dlt_run *run;
    struct dlt_lowered *lowered;
    size_t entry;
    enum dlt_framework framework;
    enum dlt_precision precision;
};

struct candidates {
    struct candidate *item;
    size_t count;
};

/* Whether a plan has convolutions, and a table has room for the sizes of each. */
static bool can_be_case(const struct dlt_plan *plan)
{
    struct dlt_table_shape shape;
    size_t convolutions = 0;

    for (size_t i = 0; i < plan->unit_count; i++) {
        if (!dlt_is_convolution(plan->unit[i].record.kind))
            continue;
        if (!dlt_table_shape_of(&plan->unit[i].record, &shape))
            return false;
        convolutions++;
    }
    return convolutions > 0;
}

/* Takes a run of a CNN's training on one device; what cannot be read was told with the runs. */
static void add_run(const struct dlt_profile *profile, const struct dlt_run *run,
                    struct candidates *candidates)
{
    struct candidate c = {.run = run, .framework = dlt_run_framework(run)};
    double whole = dlt_run_seconds(run);
    struct dlt_prepared *prepared = NULL;
    struct dlt_model *model = NULL;
    struct dlt_target target;
    struct dlt_error why;
    char spec[512];

    if (run->pass == DLT_FORWARD || run->devices > 1 || run->batch < 1 || run->suspect[0] ||
        !(whole > 0) || !isfinite(whole) || !dlt_run_spec(run, spec, sizeof spec))
        return;
    if (dlt_profile_target(profile, run->device, run->threads, c.framework, &target, &why) == 0 &&
        !profile->entry[target.entry].general && dlt_model_load(spec, NULL, &model, &why) == 0 &&
        dlt_prepare(model, &prepared, &why) == 0 &&
        dlt_prepared_lower(prepared, run->batch, true, run->threads, &c.lowered, &why) == 0) {
        c.entry = target.entry;
        c.precision = model->training.precision;
        if (can_be_case(c.lowered->plan))
            candidates->item[candidates->count++] = c;
        else
            dlt_lowered_release(c.lowered);
    }
    dlt_prepared_destroy(prepared);
    dlt_model_destroy(model);
}

static bool is_of_framework(const char *software, enum dlt_framework framework)
{
    const char *name = dlt_framework_names[framework];

    return strncmp(software, name, strlen(name)) == 0;
}

/* Types of a convolution under a precision, as a plan has them. */
static bool like_plan(const struct dlt_record *record, const struct dlt_plan *plan)
{
    for (size_t i = 0; i < plan->unit_count; i++)
        if (dlt_is_convolution(plan->unit[i].record.kind))
            return plan->unit[i].record.dtype == record->dtype &&
                   plan->unit[i].record.math == record->math;
    return false;
}

/* Rows for the cases that `like` is one of. own: where no file is a table, the entry's own. */
static int add_rows(const struct dlt_corpus *corpus, const struct dlt_profile *profile,
                    const struct candidate *like, bool own, struct dlt_table_draft *draft)
{
    const struct dlt_file_entry *entry = &profile->entry[like->entry];

    for (size_t i = 0; i < corpus->looked_up_count; i++) {
        const struct dlt_looked_up *l = &corpus->looked_up[i];
        const struct dlt_measure_header *h = &corpus->source[l->source].header;

        if (strcmp(h->device.name, entry->device.name) == 0 &&
            l->record.threads == entry->threads &&
            is_of_framework(h->software.framework, like->framework) &&
            like_plan(&l->record, like->lowered->plan) &&
            dlt_table_rows_add(draft, &l->record, l->seconds))
            return -1;
    }
    own = own && draft->row_count == 0;
    for (size_t r = 0; r < corpus->row_count && own; r++) {
        const struct dlt_row *row = &corpus->row[r];
        const struct dlt_group *group = &corpus->group[row->group];

        if (strcmp(group->device.name, entry->device.name) == 0 &&
            group->threads == entry->threads &&
            memcmp(&group->software, &entry->software, sizeof group->software) == 0 &&
            like_plan(&row->record, like->lowered->plan) &&
            dlt_table_rows_add(draft, &row->record, row->seconds))
            return -1;
    }
    return 0;
}

static size_t name_length(const char *model)
{
    return strcspn(model, ",");
}

static bool same_network(const struct candidate *a, const struct candidate *b)
{
    const char *x = a->run->model, *y = b->run->model;

    return name_length(x) == name_length(y) && strncmp(x, y, name_length(x)) == 0;
}

static bool same_table(const struct candidate *a, const struct candidate *b)
{
    return a->entry == b->entry && a->framework == b->framework && a->precision == b->precision;
}

/* Cases of the candidates of one table, networks numbered from 0. Returns how many cases. */
static size_t fill_cases(const struct candidates *candidates, const struct candidate *like,
                         struct dlt_table_case *cases, int *networks)
{
    size_t count = 0;

    *networks = 0;
    for (size_t i = 0; i < candidates->count; i++) {
        const struct candidate *c = &candidates->item[i];
        struct dlt_table_case *to = &cases[count];

        if (!same_table(c, like))
            continue;
        *to = (struct dlt_table_case){.plan = c->lowered->plan,
                                      .step_s = dlt_run_seconds(c->run),
                                      .forward_s = c->run->forward_s,
                                      .backward_s = c->run->backward_s,
                                      .network = -1,
                                      .tag = i};
        for (size_t k = 0; k < count && to->network < 0; k++)
            if (same_network(&candidates->item[cases[k].tag], c))
                to->network = cases[k].network;
        if (to->network < 0)
            to->network = (*networks)++;
        count++;
    }
    return count;
}

/* The spread of the sum of operators on networks left out, as the step parameters have it. */
static double sum_sigma(const struct dlt_profile_writer *writer, const struct candidate *like)
{
    for (size_t i = 0; i < writer->step_count; i++) {
        const struct dlt_file_step *s = &writer->step[i];

        if (s->entry == like->entry && s->framework == (uint32_t)like->framework)
            return hypot(s->parameters.network_sigma, s->parameters.run_sigma);
    }
    return 1e3; /* no runs, so nothing is known */
}

static void drop_earlier(struct dlt_profile_writer *writer, const struct dlt_file_section *like,
                         uint32_t precision)
{
    size_t kept = 0;

    for (size_t i = 0; i < writer->section_count; i++) {
        const struct dlt_file_section *s = &writer->section[i].index;
        const struct dlt_file_table *head = (const void *)writer->section[i].bytes;

        if (s->entry == like->entry && strcmp(s->kind, like->kind) == 0 &&
            head->precision == precision)
            free(writer->section[i].bytes);
        else
            writer->section[kept++] = writer->section[i];
    }
    writer->section_count = kept;
}

static int write_table(struct dlt_profile_writer *writer, const struct candidate *like,
                       const struct dlt_table_draft *draft)
{
    const struct dlt_file_table *head = &draft->head;
    size_t shapes = head->shapes * sizeof *draft->shape;
    size_t points = head->points * sizeof *draft->point, size = sizeof *head + shapes + points;
    unsigned char *bytes = malloc(size);
    struct dlt_file_section index;

    if (!bytes)
        return -1;
    memcpy(bytes, head, sizeof *head);
    memcpy(bytes + sizeof *head, draft->shape, shapes);
    memcpy(bytes + sizeof *head + shapes, draft->point, points);
    memset(&index, 0, sizeof index);
    dlt_table_kind(like->framework, index.kind);
    index.entry = (uint32_t)like->entry;
    index.passes = 1U << DLT_STEP;
    index.basis = DLT_BASIS_MEASURED;
    index.rows = (uint32_t)draft->row_count;
    index.size = size;
    index.held_out = (uint64_t)head->runs;
    index.mape = index.median_ape = head->mape;
    drop_earlier(writer, &index, head->precision);
    return dlt_profile_writer_section(writer, &index, bytes);
}

/* Returns 1 where a table was made, 0 where there is too little for one, -1 out of memory. */
static int learn_table(const struct dlt_corpus *corpus, const struct dlt_profile *profile,
                       const struct candidates *candidates, const struct candidate *like,
                       bool forced, struct dlt_profile_writer *writer)
{
    struct dlt_table_draft draft = {0};
    struct dlt_table_case *cases = calloc(candidates->count + 1, sizeof *cases);
    int networks, result = cases ? 0 : -1;
    size_t count;

    if (result == 0 && (add_rows(corpus, profile, like, forced, &draft) || dlt_table_build(&draft)))
        result = -1;
    if (result == 0 && draft.head.shapes > 0) {
        count = fill_cases(candidates, like, cases, &networks);
        draft.head.precision = (uint32_t)like->precision;
        draft.head.sigma_sum = sum_sigma(writer, like);
        draft.head.forced = forced;
        if (networks >= DLT_TABLE_LEAST_NETWORKS) {
            result = dlt_table_learn(&draft, cases, count, networks,
                                     profile->entry[like->entry].threads > 0);
            result = result || write_table(writer, like, &draft) ? -1 : 1;
        }
    }
    dlt_table_draft_clear(&draft);
    free(cases);
    return result;
}

static int learn_all(const struct dlt_corpus *corpus, const struct dlt_profile *profile,
                     const struct candidates *candidates, bool forced,
                     struct dlt_profile_writer *writer, struct dlt_error *error)
{
    int made = 0;

    for (size_t i = 0; i < candidates->count; i++) {
        bool first = true;
        int result;

        for (size_t k = 0; k < i && first; k++)
            first = !same_table(&candidates->item[k], &candidates->item[i]);
        if (!first)
            continue;
        result = learn_table(corpus, profile, candidates, &candidates->item[i], forced, writer);
        if (result < 0)
            return dlt_fail_memory(error);
        made += result;
    }
    if (forced && made == 0)
        return dlt_fail(error,
                        "--method conv-table needs measured convolutions of a device, and runs of "
                        "training steps of at least %d CNNs on it (torch-run, with and without "
                        "--convolutions)",
                        DLT_TABLE_LEAST_NETWORKS);
    return 0;
}

int dlt_learn_tables(const struct dlt_corpus *corpus, bool forced,
                     struct dlt_profile_writer *writer, struct dlt_error *error)
{
    struct candidates candidates = {calloc(corpus->run_count + 1, sizeof *candidates.item), 0};
    struct dlt_profile *profile = NULL;
    void *bytes;
    size_t size;
    int result = candidates.item ? 0 : dlt_fail_memory(error);

    if (result == 0 &&
        (dlt_profile_writer_bytes(writer, &bytes, &size, error) ||
         dlt_profile_from_memory(bytes, size, "the profile in training", &profile, error)))
        result = -1;
    for (size_t i = 0; i < corpus->run_count && result == 0; i++)
        add_run(profile, &corpus->run[i].run, &candidates);
    if (result == 0)
        result = learn_all(corpus, profile, &candidates, forced, writer, error);
    for (size_t i = 0; i < candidates.count; i++)
        dlt_lowered_release(candidates.item[i].lowered);
    free(candidates.item);
    dlt_profile_destroy(profile);
    return result;
}
