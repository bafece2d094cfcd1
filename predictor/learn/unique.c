/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "learn/corpus.h"
#include "predict/checksum.h"

struct print {
    uint64_t hash;
    size_t row;
};

static int by_hash(const void *a, const void *b)
{
    const struct print *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static bool same_row(const struct dlt_row *a, const struct dlt_row *b)
{
    /* Readers clear a record before they fill it, padding too. */
    return a->group == b->group && a->seconds == b->seconds &&
           memcmp(&a->record, &b->record, sizeof a->record) == 0; /* NOLINT(bugprone-*,cert-*) */
}

/* Marks all but the first of equal rows; returns how many. */
static size_t mark_repeated(const struct dlt_corpus *c, struct print *print, bool *repeated)
{
    size_t count = 0;

    for (size_t r = 0; r < c->row_count; r++) {
        const struct dlt_row *row = &c->row[r];
        uint64_t hash = dlt_checksum(&row->record, sizeof row->record, row->group);

        print[r] = (struct print){dlt_checksum(&row->seconds, sizeof row->seconds, hash), r};
    }
    qsort(print, c->row_count, sizeof *print, by_hash);
    for (size_t r = 1; r < c->row_count; r++) {
        repeated[print[r].row] = print[r].hash == print[r - 1].hash &&
                                 same_row(&c->row[print[r].row], &c->row[print[r - 1].row]);
        count += repeated[print[r].row];
    }
    return count;
}

int dlt_corpus_unique(struct dlt_corpus *c, size_t *dropped)
{
    struct print *print = calloc(c->row_count + 1, sizeof *print);
    bool *repeated = calloc(c->row_count + 1, sizeof *repeated);
    size_t kept = 0;
    int result = -1;

    *dropped = 0;
    if (print && repeated) {
        *dropped = mark_repeated(c, print, repeated);
        for (size_t r = 0; r < c->row_count; r++) {
            if (repeated[r])
                c->group[c->row[r].group].rows--;
            else
                c->row[kept++] = c->row[r];
        }
        c->row_count = kept;
        result = 0;
    }
    free(print);
    free(repeated);
    return result;
}
