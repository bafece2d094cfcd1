/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that cannot be times of what they say. More work takes at most so much longer: a row with f
 * times the FLOPs and b times the bytes of another takes no more than max(1, f, b) times as long,
 * and no less than min(1, f, b) times. Algorithms and caches depart from that, but hardly by a
 * factor of 30 from nine tenths of a section.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/bound.h"
#include "learn/corpus.h"
#include "learn/train_parts.h"

enum {
    LEAST_ROWS = 5, /* of a section; fewer do not outvote one */
    JUDGES = 256,   /* rows that each is compared with, at most */
    NEAR = 1000     /* places before and behind a run that are looked for its other batches */
};
static const double stray_factor = 30, agreeing = 0.9;

struct judge {
    struct dlt_work work;
    const struct dlt_row *row;
};

/* Whether by the judge a row took too long (1) or too little (-1). */
static int opinion(const struct judge *judge, const struct dlt_work *work, double seconds)
{
    double flops = judge->work.flops > 0 ? work->flops / judge->work.flops : 1;
    double bytes = judge->work.bytes > 0 ? work->bytes / judge->work.bytes : 1;
    double most = judge->row->seconds * fmax(1, fmax(flops, bytes));
    double least = judge->row->seconds * fmin(1, fmin(flops, bytes));

    return (seconds > stray_factor * most) - (stray_factor * seconds < least);
}

/* What a share of those asked say. */
static enum dlt_stray decide(size_t asked, size_t above, size_t below)
{
    if ((double)above >= agreeing * (double)asked)
        return (double)below >= agreeing * (double)asked ? DLT_STRAY_NONE : DLT_STRAY_LONG;
    return (double)below >= agreeing * (double)asked ? DLT_STRAY_SHORT : DLT_STRAY_NONE;
}

static enum dlt_stray verdict(const struct judge *judge, size_t judges, const struct dlt_row *row)
{
    struct dlt_work work;
    size_t asked = 0, above = 0, below = 0;

    dlt_record_work(&row->record, &work);
    for (size_t j = 0; j < judges; j++) {
        int said = judge[j].row == row ? 0 : opinion(&judge[j], &work, row->seconds);

        asked += judge[j].row != row;
        above += said > 0;
        below += said < 0;
    }
    return decide(asked, above, below);
}

static void judge_section(const struct dlt_corpus *c, const struct dlt_row *const *row,
                          size_t count, bool *gone, dlt_stray_found *found, void *context)
{
    struct judge judge[JUDGES];
    size_t judges = count < JUDGES ? count : JUDGES;

    if (count < LEAST_ROWS)
        return;
    for (size_t j = 0; j < judges; j++) {
        judge[j].row = row[j * count / judges];
        dlt_record_work(&judge[j].row->record, &judge[j].work);
    }
    for (size_t r = 0; r < count; r++) {
        enum dlt_stray why = verdict(judge, judges, row[r]);

        if (why == DLT_STRAY_NONE)
            continue;
        gone[row[r] - c->row] = true;
        found(context, row[r], why);
    }
}

/* What makes runs batches of one thing. */
static bool same_but_for_batch(const struct dlt_run *a, const struct dlt_run *b)
{
    return strcmp(a->model, b->model) == 0 && strcmp(a->device, b->device) == 0 &&
           strcmp(a->configuration, b->configuration) == 0 && strcmp(a->variant, b->variant) == 0 &&
           strcmp(a->precision, b->precision) == 0 && strcmp(a->optimizer, b->optimizer) == 0 &&
           strcmp(a->framework, b->framework) == 0 && strcmp(a->layout, b->layout) == 0 &&
           a->pass == b->pass && a->devices == b->devices && a->nodes == b->nodes &&
           a->threads == b->threads && a->sequence == b->sequence &&
           memcmp(a->input, b->input, sizeof a->input) == 0;
}

/* As verdict, of run r among those that stand near it in the files. */
static enum dlt_stray verdict_on_run(const struct dlt_corpus *c, size_t r)
{
    const struct dlt_run *run = &c->run[r].run;
    const double seconds = dlt_run_seconds(run);
    size_t asked = 0, above = 0, below = 0;

    for (size_t i = r > NEAR ? r - NEAR : 0;
         seconds > 0 && run->batch > 0 && i < c->run_count && i < r + NEAR; i++) {
        const struct dlt_run *other = &c->run[i].run;
        double more, took = dlt_run_seconds(other);

        if (other == run || !(took > 0) || other->batch < 1 || !same_but_for_batch(run, other))
            continue;
        more = (double)run->batch / (double)other->batch;
        asked++;
        above += seconds > stray_factor * took * fmax(1, more);
        below += stray_factor * seconds < took * fmin(1, more);
    }
    return asked < 2 ? DLT_STRAY_NONE : decide(asked, above, below);
}

int dlt_corpus_drop_stray_runs(struct dlt_corpus *c, dlt_stray_run_found *found, void *context)
{
    enum dlt_stray *why = calloc(c->run_count + 1, sizeof *why);
    size_t kept = 0;

    if (!why)
        return -1;
    for (size_t r = 0; r < c->run_count; r++)
        why[r] = verdict_on_run(c, r);
    for (size_t r = 0; r < c->run_count; r++) {
        if (why[r] != DLT_STRAY_NONE)
            found(context, &c->run[r], why[r]);
        else
            c->run[kept++] = c->run[r];
    }
    c->run_count = kept;
    free(why);
    return 0;
}

/* Rows faster than their device can be, which rows as wrong would confirm. Where they are most,
 * what made them so made the others as wrong. */
static void find_impossible(const struct dlt_corpus *c, const struct dlt_row *const *row,
                            size_t count, bool *gone, dlt_stray_found *found, void *context)
{
    const struct dlt_record *first = &row[0]->record;
    struct dlt_bound bound = dlt_bound_of(&c->group[row[0]->group].device, first->threads);
    size_t fast = 0;
    bool most;

    for (size_t r = 0; r < count; r++)
        fast += gone[row[r] - c->row] =
            row[r]->seconds < dlt_bound_seconds(&bound, &row[r]->record);
    most = count >= LEAST_ROWS && 2 * fast > count;
    for (size_t r = 0; r < count; r++) {
        bool impossible = gone[row[r] - c->row];

        if (impossible || most)
            found(context, row[r], impossible ? DLT_STRAY_IMPOSSIBLE : DLT_STRAY_COMPANY);
        gone[row[r] - c->row] = impossible || most;
    }
}

/* Marks those of a section's rows that have to go. */
typedef void judge_rows(const struct dlt_corpus *c, const struct dlt_row *const *row, size_t count,
                        bool *gone, dlt_stray_found *found, void *context);

static int drop_by(judge_rows *judge, struct dlt_corpus *c, dlt_stray_found *found, void *context)
{
    const struct dlt_row **row = dlt_sorted_rows(c);
    bool *gone = calloc(c->row_count + 1, sizeof *gone);
    int result = row && gone ? 0 : -1;
    size_t alike;

    for (size_t r = 0; result == 0 && r < c->row_count; r += alike) {
        alike = dlt_rows_alike(row, r, c->row_count);
        judge(c, row + r, alike, gone, found, context);
    }
    if (result == 0)
        dlt_corpus_drop(c, gone);
    free(row);
    free(gone);
    return result;
}

static int drop_rows(struct dlt_corpus *c, dlt_stray_found *found, void *context)
{
    return drop_by(find_impossible, c, found, context) || drop_by(judge_section, c, found, context)
               ? -1
               : 0;
}

/* The rows of tables, as if they were learned from: each file by itself, which is of one device. */
static int drop_from_tables(struct dlt_corpus *c, dlt_stray_found *found, void *context)
{
    struct dlt_corpus rows = {.row = calloc(c->looked_up_count + 1, sizeof *rows.row),
                              .row_count = c->looked_up_count,
                              .group = calloc(c->source_count + 1, sizeof *rows.group)};
    int result = rows.row && rows.group ? 0 : -1;

    for (size_t i = 0; result == 0 && i < c->source_count; i++)
        rows.group[i].device = c->source[i].header.device;
    for (size_t i = 0; result == 0 && i < c->looked_up_count; i++)
        rows.row[i] = (struct dlt_row){.record = c->looked_up[i].record,
                                       .seconds = c->looked_up[i].seconds,
                                       .group = (uint32_t)c->looked_up[i].source,
                                       .place = i,
                                       .source = (uint32_t)c->looked_up[i].source,
                                       .line = c->looked_up[i].line};
    if (result == 0)
        result = drop_rows(&rows, found, context);
    if (result == 0) {
        for (size_t i = 0; i < rows.row_count; i++)
            c->looked_up[i] = c->looked_up[rows.row[i].place];
        c->looked_up_count = rows.row_count;
    }
    free(rows.row);
    free(rows.group);
    return result;
}

int dlt_corpus_drop_strays(struct dlt_corpus *c, dlt_stray_found *found, void *context)
{
    return drop_rows(c, found, context) || drop_from_tables(c, found, context) ? -1 : 0;
}
