/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that cannot be times of what they say. More work takes at most so much longer: a row with f
 * times the FLOPs and b times the bytes of another takes no more than max(1, f, b) times as long,
 * and no less than min(1, f, b) times. Algorithms and caches depart from that, but hardly by a
 * factor of 30 from nine tenths of a section.
 */
#include <math.h>
#include <stdlib.h>

#include "learn/corpus.h"
#include "learn/train_parts.h"

enum {
    LEAST_ROWS = 5, /* of a section; fewer do not outvote one */
    JUDGES = 256    /* rows that each is compared with, at most */
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

/* 1: a row that took too long, -1: too little, 0: no stray. */
static int verdict(const struct judge *judge, size_t judges, const struct dlt_row *row)
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
    return ((double)above >= agreeing * (double)asked) -
           ((double)below >= agreeing * (double)asked);
}

static void judge_section(struct dlt_corpus *c, const struct dlt_row *const *row, size_t count,
                          bool *gone, dlt_stray_found *found, void *context)
{
    struct judge judge[JUDGES];
    size_t judges = count < JUDGES ? count : JUDGES;

    for (size_t j = 0; j < judges; j++) {
        judge[j].row = row[j * count / judges];
        dlt_record_work(&judge[j].row->record, &judge[j].work);
    }
    for (size_t r = 0; r < count; r++) {
        int said = verdict(judge, judges, row[r]);

        if (said == 0)
            continue;
        gone[row[r] - c->row] = true;
        found(context, row[r], said > 0);
    }
}

int dlt_corpus_drop_strays(struct dlt_corpus *c, dlt_stray_found *found, void *context)
{
    const struct dlt_row **row = dlt_sorted_rows(c);
    bool *gone = calloc(c->row_count + 1, sizeof *gone);
    int result = row && gone ? 0 : -1;
    size_t alike;

    for (size_t r = 0; result == 0 && r < c->row_count; r += alike) {
        alike = dlt_rows_alike(row, r, c->row_count);
        if (alike >= LEAST_ROWS)
            judge_section(c, row + r, alike, gone, found, context);
    }
    if (result == 0)
        dlt_corpus_drop(c, gone);
    free(row);
    free(gone);
    return result;
}
