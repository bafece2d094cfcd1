/* SPDX-License-Identifier: Apache-2.0 */
#include "command/score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/json.h"

struct scores {
    struct score_group *group;
    size_t count;
};

struct scores *scores_create(void)
{
    return calloc(1, sizeof(struct scores));
}

void scores_destroy(struct scores *scores)
{
    for (size_t i = 0; scores && i < scores->count; i++)
        free(scores->group[i].point);
    if (scores)
        free(scores->group);
    free(scores);
}

static bool same_key(const struct score_key *a, const struct score_key *b)
{
    return a->network == b->network && a->part == b->part && a->table == b->table &&
           a->basis == b->basis && strcmp(a->op, b->op) == 0 && strcmp(a->pass, b->pass) == 0 &&
           strcmp(a->dtype, b->dtype) == 0 && strcmp(a->device, b->device) == 0;
}

static struct score_group *find(struct scores *s, const struct score_key *key)
{
    struct score_group *larger;

    for (size_t i = s->count; i-- > 0;)
        if (same_key(&s->group[i].key, key))
            return &s->group[i];
    larger = reallocarray(s->group, s->count + 1, sizeof *s->group);
    if (!larger)
        return NULL;
    s->group = larger;
    s->group[s->count] = (struct score_group){.key = *key};
    dlt_random_seed(&s->group[s->count].random, 1, s->count);
    return &s->group[s->count++];
}

static void add_up(struct score_sums *s, const struct score_point *point)
{
    double error = point->predicted - point->seen, off = point->seen - s->mean;

    s->count++;
    s->mean += off / s->count;
    s->squares += off * (point->seen - s->mean); /* Welford 1962 */
    s->errors_squared += error * error;
    s->errors += fabs(error);
    s->shares += fabs(error) / point->seen;
    s->inside += point->seen >= point->low && point->seen <= point->high;
    s->widths += (point->high - point->low) / point->predicted;
}

/* The sums of both; of squares after Chan, Golub and LeVeque 1979. */
static void merge(struct score_sums *s, const struct score_sums *other)
{
    double count = s->count + other->count, apart = other->mean - s->mean;

    if (!(other->count > 0))
        return;
    s->squares += other->squares + apart * apart * s->count * other->count / count;
    s->mean += apart * other->count / count;
    s->count = count;
    s->errors_squared += other->errors_squared;
    s->errors += other->errors;
    s->shares += other->shares;
    s->inside += other->inside;
    s->widths += other->widths;
}

int scores_add(struct scores *scores, const struct score_key *key, const struct score_point *point)
{
    struct score_group *g = find(scores, key);
    size_t place;

    if (!g)
        return -1;
    place = dlt_random_place(&g->random, (size_t)g->sums.count, SCORE_POINTS);
    if (place < SCORE_POINTS && dlt_grow(&g->point, sizeof *g->point, place, 1, &g->room))
        return -1;
    add_up(&g->sums, point);
    if (place < SCORE_POINTS) {
        g->point[place] = *point;
        g->count += place == g->count;
    }
    return 0;
}

int scores_skip(struct scores *scores, const struct score_key *key)
{
    struct score_key without = *key;
    struct score_group *g;

    without.basis = DLT_BASIS_NONE;
    g = find(scores, &without);
    if (!g)
        return -1;
    g->skipped++;
    return 0;
}

/* A relative error, and how many it stands for. */
struct share {
    double value, weight;
};

static int ascending(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

static struct share *put_shares(const struct score_point *point, size_t count, double weight,
                                struct share *share)
{
    for (size_t i = 0; i < count; i++)
        *share++ = (struct share){fabs(point[i].predicted / point[i].seen - 1), weight};
    return share;
}

/* NaN where there is none, and out of memory, where share is NULL. Frees it. */
static double median_share(struct share *share, size_t count)
{
    double half = 0, before = 0, middle = 0;

    if (!share || count == 0) {
        free(share);
        return NAN;
    }
    qsort(share, count, sizeof *share, ascending);
    for (size_t i = 0; i < count; i++)
        half += share[i].weight / 2;
    for (size_t i = 0; i < count && before <= half; i++) {
        double up_to = before + share[i].weight;

        if (before < half && up_to >= half)
            middle += share[i].value / 2;
        if (up_to > half)
            middle += share[i].value / 2;
        before = up_to;
    }
    free(share);
    return middle;
}

/* Frees the shares. */
static struct score_summary summary_of(const struct score_sums *s, struct share *share,
                                       size_t count)
{
    double n = s->count, median = median_share(share, count);

    if (!(n > 0))
        return (struct score_summary){NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    return (struct score_summary){.rmse = sqrt(s->errors_squared / n),
                                  .mae = s->errors / n,
                                  .mape = s->shares / n,
                                  .median_ape = median,
                                  .r2 = s->squares > 0 ? 1 - s->errors_squared / s->squares : NAN,
                                  .coverage = s->inside / n,
                                  .width = s->widths / n};
}

struct score_summary score_summarise(const struct score_point *point, size_t count)
{
    struct share *share = calloc(count + 1, sizeof *share);
    struct score_sums sums = {0};

    for (size_t i = 0; i < count; i++)
        add_up(&sums, &point[i]);
    if (share)
        put_shares(point, count, 1, share);
    return summary_of(&sums, share, count);
}

struct score_summary score_of_group(const struct score_group *g)
{
    struct share *share = calloc(g->count + 1, sizeof *share);

    if (share)
        put_shares(g->point, g->count, 1, share);
    return summary_of(&g->sums, share, g->count);
}

static bool counts(const struct score_group *g, enum scores_of of)
{
    return !g->key.part && (of == SCORES_ALL || g->key.network == (of == SCORES_NETWORKS));
}

/* How many points of a total are kept. */
static size_t kept(const struct scores *scores, enum scores_of of)
{
    size_t count = 0;

    for (size_t i = 0; i < scores->count; i++)
        count += counts(&scores->group[i], of) ? scores->group[i].count : 0;
    return count;
}

struct score_summary scores_total(const struct scores *scores, enum scores_of of, size_t *count,
                                  size_t *skipped)
{
    size_t points = kept(scores, of);
    struct share *share = calloc(points + 1, sizeof *share), *next = share;
    struct score_sums sums = {0};

    *skipped = 0;
    for (size_t i = 0; i < scores->count; i++) {
        const struct score_group *g = &scores->group[i];

        if (!counts(g, of))
            continue;
        *skipped += g->skipped;
        merge(&sums, &g->sums);
        if (next && g->count)
            next = put_shares(g->point, g->count, g->sums.count / (double)g->count, next);
    }
    *count = (size_t)sums.count;
    return summary_of(&sums, share, points);
}

size_t scores_groups(const struct scores *scores)
{
    return scores->count;
}

const struct score_group *scores_group(const struct scores *scores, size_t index)
{
    return &scores->group[index];
}

struct score_point *scores_pool(const struct scores *scores, enum scores_of of, size_t *count)
{
    struct score_point *all;
    size_t used = 0;

    *count = kept(scores, of);
    all = malloc((*count + 1) * sizeof *all);
    for (size_t i = 0; all && i < scores->count; i++) {
        const struct score_group *g = &scores->group[i];

        if (!counts(g, of) || !g->count)
            continue;
        memcpy(all + used, g->point, g->count * sizeof *all);
        used += g->count;
    }
    return all;
}

static struct json_object *summary_json(const struct score_summary *s, size_t count, size_t skipped,
                                        struct json_object *object)
{
    dlt_json_number(object, "n", (double)count);
    dlt_json_number(object, "skipped", (double)skipped);
    dlt_json_number(object, "rmse_ms", s->rmse * 1e3);
    dlt_json_number(object, "mae_ms", s->mae * 1e3);
    dlt_json_number(object, "mape", s->mape);
    dlt_json_number(object, "median_ape", s->median_ape);
    dlt_json_number(object, "r2", s->r2);
    dlt_json_number(object, "coverage90", s->coverage);
    dlt_json_number(object, "mean_width", s->width);
    return object;
}

static struct json_object *total_json(const struct scores *scores, enum scores_of of)
{
    size_t count, skipped;
    struct score_summary s = scores_total(scores, of, &count, &skipped);

    return summary_json(&s, count, skipped, json_object_new_object());
}

struct json_object *scores_json(const struct scores *scores)
{
    struct json_object *object = json_object_new_object();
    struct json_object *groups = json_object_new_array();

    for (size_t i = 0; i < scores->count; i++) {
        const struct score_group *g = &scores->group[i];
        struct score_summary s = score_of_group(g);
        struct json_object *one = json_object_new_object();

        dlt_json_text(one, "kind", g->key.network ? "network" : "operator");
        dlt_json_text(one, "device", g->key.device);
        dlt_json_text(one, "op", g->key.op);
        dlt_json_text(one, "pass", g->key.pass);
        dlt_json_text(one, "dtype", g->key.dtype);
        dlt_json_text(one, "basis", dlt_basis_name(g->key.basis));
        if (g->key.network)
            dlt_json_text(one, "method", g->key.table ? "conv-table" : "operators");
        json_object_array_add(groups, summary_json(&s, (size_t)g->sums.count, g->skipped, one));
    }
    json_object_object_add(object, "groups", groups);
    json_object_object_add(object, "operators", total_json(scores, SCORES_OPERATORS));
    json_object_object_add(object, "networks", total_json(scores, SCORES_NETWORKS));
    json_object_object_add(object, "all", total_json(scores, SCORES_ALL));
    return object;
}

static void print_line(const struct score_key *key, const struct score_summary *s, size_t count,
                       size_t skipped)
{
    char r2[16] = "-"; /* one row, or rows of one time, have none */

    if (isfinite(s->r2))
        snprintf(r2, sizeof r2, "%.4f", s->r2);
    printf("%-28.28s %-16.16s %-15s %-9s %-10s %7zu", key->device, key->op, key->pass, key->dtype,
           key->table ? "conv-table" : dlt_basis_name(key->basis), count);
    if (count)
        printf(" %10.4g %6.1f %% %6.1f %% %7s %5.1f %% %6.1f %%", s->rmse * 1e3, 100 * s->mape,
               100 * s->median_ape, r2, 100 * s->coverage, 100 * s->width);
    if (skipped)
        printf("  %zu skipped", skipped);
    putchar('\n');
}

void scores_print(const struct scores *scores)
{
    static const struct score_key everything = {.device = "all"};
    size_t count, skipped;
    struct score_summary s = scores_total(scores, SCORES_ALL, &count, &skipped);

    printf("%-28s %-16s %-15s %-9s %-10s %7s %10s %8s %8s %7s %7s %8s\n", "DEVICE", "OPERATOR",
           "PASS", "DTYPE", "RESTS ON", "N", "RMSE ms", "MAPE", "MEDIAN", "R2", "IN 90 %", "WIDTH");
    for (size_t i = 0; i < scores->count; i++) {
        const struct score_group *g = &scores->group[i];
        struct score_summary one = score_of_group(g);

        print_line(&g->key, &one, (size_t)g->sums.count, g->skipped);
    }
    if (scores->count > 1)
        print_line(&everything, &s, count, skipped);
}
