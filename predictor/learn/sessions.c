/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/sessions.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_SESSIONS = 4 };

/* A row's place in the files, how far its value is off the mean, and the same cut off at one
 * standard deviation, so that outliers make no session. */
struct place {
    const struct dlt_row *row;
    size_t index;
    double off, value;
};

/* Rows of all files lie one after the other in the corpus. */
static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return (x->row > y->row) - (x->row < y->row);
}

struct cut {
    size_t at;
    double score; /* squared difference of the two means over its variance */
};

/* Where two means describe [from, to) best. sum[i] and squares[i] are of the places before i. */
static struct cut best_cut(const double *sum, const double *squares, size_t from, size_t to,
                           size_t least)
{
    struct cut best = {0};
    double count = (double)(to - from), mean = (sum[to] - sum[from]) / count;
    double variance = (squares[to] - squares[from]) / count - mean * mean;

    for (size_t at = from + least; at + least <= to; at++) {
        double left = (double)(at - from), right = (double)(to - at);
        double apart = (sum[at] - sum[from]) / left - (sum[to] - sum[at]) / right;
        double score = apart * apart * left * right / count / fmax(variance, 1e-12);

        if (score > best.score)
            best = (struct cut){at, score};
    }
    return best;
}

/* The limits of sessions in limit[0 .. result], ascending. */
static size_t segment(const double *sum, const double *squares, size_t count,
                      size_t limit[MOST_SESSIONS + 1])
{
    const double least_score = 60; /* far beyond the largest of many chance cuts, about 15 */
    size_t sessions = 1, least = count / 20 + 1;

    limit[0] = 0;
    limit[1] = count;
    while (sessions < MOST_SESSIONS) {
        struct cut best = {0};
        size_t place = 0;

        for (size_t s = 0; s < sessions; s++) {
            struct cut cut = best_cut(sum, squares, limit[s], limit[s + 1], least);

            if (cut.score > best.score) {
                best = cut;
                place = s + 1;
            }
        }
        if (best.score < least_score)
            break;
        for (size_t s = sessions + 1; s > place; s--)
            limit[s] = limit[s - 1];
        limit[place] = best.at;
        sessions++;
    }
    return sessions;
}

static void sum_up(const struct place *place, size_t count, double *sum, double *squares)
{
    sum[0] = squares[0] = 0;
    for (size_t i = 0; i < count; i++) {
        sum[i + 1] = sum[i] + place[i].value;
        squares[i + 1] = squares[i] + place[i].value * place[i].value;
    }
}

/* Values less their mean, cut off at one standard deviation. */
static void level_out(struct place *place, size_t count)
{
    double mean = 0, squares = 0, most;

    for (size_t i = 0; i < count; i++) {
        mean += place[i].value / (double)count;
        squares += place[i].value * place[i].value / (double)count;
    }
    most = sqrt(fmax(squares - mean * mean, 0));
    for (size_t i = 0; i < count; i++) {
        place[i].off = place[i].value - mean;
        place[i].value = fmin(fmax(place[i].off, -most), most);
    }
}

/* Of sizes, in the order of the files. Where those change from one part to another, times do for
 * that reason, and nothing tells sessions apart. sum, squares: room for count + 1. */
static bool is_sorted(struct place *place, size_t count, double *sum, double *squares)
{
    size_t limit[MOST_SESSIONS + 1];
    struct dlt_work work;

    for (size_t i = 0; i < count; i++) {
        dlt_record_work(&place[i].row->record, &work);
        place[i].value = log(fmax(work.bytes, 1));
    }
    level_out(place, count);
    sum_up(place, count, sum, squares);
    return segment(sum, squares, count, limit) > 1;
}

static size_t find(struct place *place, const float *value, size_t count, double *sum,
                   double *squares, size_t limit[MOST_SESSIONS + 1])
{
    for (size_t i = 0; i < count; i++)
        place[i].value = (double)value[place[i].index];
    level_out(place, count);
    sum_up(place, count, sum, squares);
    return segment(sum, squares, count, limit);
}

size_t dlt_find_sessions(const struct dlt_row *const *row, const float *value, size_t count,
                         float *level)
{
    struct place *place = calloc(count + 1, sizeof *place);
    double *sum = calloc(count + 1, sizeof *sum), *squares = calloc(count + 1, sizeof *squares);
    size_t limit[MOST_SESSIONS + 1], sessions = 0;

    if (place && sum && squares) {
        for (size_t r = 0; r < count; r++)
            place[r] = (struct place){.row = row[r], .index = r};
        qsort(place, count, sizeof *place, by_place);
        limit[0] = 0;
        limit[1] = count;
        sessions = is_sorted(place, count, sum, squares)
                       ? 1
                       : find(place, value, count, sum, squares, limit);
        for (size_t s = 0; s < sessions; s++) {
            double mean = 0;

            for (size_t i = limit[s]; i < limit[s + 1]; i++)
                mean += place[i].off / (double)(limit[s + 1] - limit[s]);
            for (size_t i = limit[s]; i < limit[s + 1]; i++)
                level[place[i].index] = sessions > 1 ? (float)mean : 0;
        }
    }
    free(place);
    free(sum);
    free(squares);
    return sessions;
}
