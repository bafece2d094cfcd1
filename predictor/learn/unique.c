/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations that were measured more than once. */
#include <stdlib.h>
#include <string.h>

#include "base/median.h"
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

static bool alike(const struct dlt_corpus *c, const struct print *a, const struct print *b)
{
    const struct dlt_row *x = &c->row[a->row], *y = &c->row[b->row];

    /* Readers clear a record before they fill it, padding too. */
    return a->hash == b->hash && x->group == y->group &&
           memcmp(&x->record, &y->record, sizeof x->record) == 0; /* NOLINT(bugprone-*,cert-*) */
}

/* Times of `count` rows, each once; of calm ones where there are such. Returns how many; *copies:
 * how many more there were. */
static size_t times_of(const struct dlt_corpus *c, const struct print *print, size_t count,
                       double *seconds, bool *disturbed, size_t *copies)
{
    size_t used = 0, distinct = 0;

    *disturbed = true;
    for (size_t i = 0; i < count; i++)
        *disturbed &= c->row[print[i].row].disturbed;
    for (size_t i = 0; i < count; i++)
        if (*disturbed || !c->row[print[i].row].disturbed)
            seconds[used++] = c->row[print[i].row].seconds;
    dlt_sort_values(seconds, used);
    for (size_t i = 0; i < used; i++)
        if (i == 0 || seconds[i] > seconds[distinct - 1])
            seconds[distinct++] = seconds[i];
    *copies = used - distinct;
    return distinct;
}

/* Leaves one of `count` rows of a configuration; seconds: room for count. */
static void merge(struct dlt_corpus *c, const struct print *print, size_t count, double *seconds,
                  bool *gone, struct dlt_repeats *repeats)
{
    bool disturbed;
    size_t copies, distinct = times_of(c, print, count, seconds, &disturbed, &copies);

    repeats->again += count - 1 - copies;
    repeats->same += copies;
    c->row[print[0].row].seconds = dlt_median(seconds, distinct);
    c->row[print[0].row].disturbed = disturbed;
    for (size_t i = 1; i < count; i++)
        gone[print[i].row] = true;
}

static void merge_all(struct dlt_corpus *c, struct print *print, double *seconds, bool *gone,
                      struct dlt_repeats *repeats)
{
    size_t to;

    for (size_t r = 0; r < c->row_count; r++)
        print[r] = (struct print){
            dlt_checksum(&c->row[r].record, sizeof c->row[r].record, c->row[r].group), r};
    qsort(print, c->row_count, sizeof *print, by_hash);
    for (size_t r = 0; r < c->row_count; r = to) {
        to = r + 1;
        while (to < c->row_count && alike(c, &print[r], &print[to]))
            to++;
        if (to - r > 1)
            merge(c, print + r, to - r, seconds, gone, repeats);
    }
    dlt_corpus_drop(c, gone);
}

int dlt_corpus_unique(struct dlt_corpus *c, struct dlt_repeats *repeats)
{
    struct print *print = calloc(c->row_count + 1, sizeof *print);
    double *seconds = calloc(c->row_count + 1, sizeof *seconds);
    bool *gone = calloc(c->row_count + 1, sizeof *gone);
    int result = print && seconds && gone ? 0 : -1;

    *repeats = (struct dlt_repeats){0};
    if (result == 0)
        merge_all(c, print, seconds, gone, repeats);
    free(print);
    free(seconds);
    free(gone);
    return result;
}
