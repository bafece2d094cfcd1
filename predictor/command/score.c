/* SPDX-License-Identifier: Apache-2.0 */
#include "command/score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    return a->network == b->network && a->part == b->part && a->basis == b->basis &&
           strcmp(a->op, b->op) == 0 && strcmp(a->pass, b->pass) == 0 &&
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
    return &s->group[s->count++];
}

int scores_add(struct scores *scores, const struct score_key *key, const struct score_point *point)
{
    struct score_group *g = find(scores, key);

    if (!g)
        return -1;
    if (g->count == g->room) {
        size_t room = g->room ? 2 * g->room : 64;
        struct score_point *larger = reallocarray(g->point, room, sizeof *g->point);

        if (!larger)
            return -1;
        g->point = larger;
        g->room = room;
    }
    g->point[g->count++] = *point;
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

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(const struct score_point *point, size_t count)
{
    double *ape = malloc((count + 1) * sizeof *ape);
    double middle = NAN;

    for (size_t i = 0; ape && i < count; i++)
        ape[i] = fabs(point[i].predicted / point[i].seen - 1);
    if (ape && count) {
        qsort(ape, count, sizeof *ape, ascending);
        middle = (ape[(count - 1) / 2] + ape[count / 2]) / 2;
    }
    free(ape);
    return middle;
}

struct score_summary score_summarise(const struct score_point *point, size_t count)
{
    struct score_summary s = {0};
    double mean = 0, squares = 0, n = (double)count;

    if (count == 0)
        return (struct score_summary){NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    for (size_t i = 0; i < count; i++)
        mean += point[i].seen / n;
    for (size_t i = 0; i < count; i++) {
        double error = point[i].predicted - point[i].seen;

        squares += (point[i].seen - mean) * (point[i].seen - mean);
        s.rmse += error * error;
        s.mae += fabs(error) / n;
        s.mape += fabs(error) / point[i].seen / n;
        s.coverage += (point[i].seen >= point[i].low && point[i].seen <= point[i].high) / n;
        s.width += (point[i].high - point[i].low) / point[i].predicted / n;
    }
    s.r2 = squares > 0 ? 1 - s.rmse / squares : NAN;
    s.rmse = sqrt(s.rmse / n);
    s.median_ape = median(point, count);
    return s;
}

static struct json_object *summary_json(const struct score_point *point, size_t count,
                                        size_t skipped, struct json_object *object)
{
    struct score_summary s = score_summarise(point, count);

    dlt_json_number(object, "n", (double)count);
    dlt_json_number(object, "skipped", (double)skipped);
    dlt_json_number(object, "rmse_ms", s.rmse * 1e3);
    dlt_json_number(object, "mae_ms", s.mae * 1e3);
    dlt_json_number(object, "mape", s.mape);
    dlt_json_number(object, "median_ape", s.median_ape);
    dlt_json_number(object, "r2", s.r2);
    dlt_json_number(object, "coverage90", s.coverage);
    dlt_json_number(object, "mean_width", s.width);
    return object;
}

size_t scores_groups(const struct scores *scores)
{
    return scores->count;
}

const struct score_group *scores_group(const struct scores *scores, size_t index)
{
    return &scores->group[index];
}

static bool counts(const struct score_group *g, enum scores_of of)
{
    return !g->key.part && (of == SCORES_ALL || g->key.network == (of == SCORES_NETWORKS));
}

struct score_point *scores_pool(const struct scores *scores, enum scores_of of, size_t *count,
                                size_t *skipped)
{
    struct score_point *all;
    size_t used = 0;

    *count = *skipped = 0;
    for (size_t i = 0; i < scores->count; i++) {
        *count += counts(&scores->group[i], of) ? scores->group[i].count : 0;
        *skipped += counts(&scores->group[i], of) ? scores->group[i].skipped : 0;
    }
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

static struct json_object *total_json(const struct scores *scores, enum scores_of of)
{
    size_t count, skipped;
    struct score_point *all = scores_pool(scores, of, &count, &skipped);
    struct json_object *object =
        summary_json(all, all ? count : 0, skipped, json_object_new_object());

    free(all);
    return object;
}

struct json_object *scores_json(const struct scores *scores)
{
    struct json_object *object = json_object_new_object();
    struct json_object *groups = json_object_new_array();

    for (size_t i = 0; i < scores->count; i++) {
        const struct score_group *g = &scores->group[i];
        struct json_object *one = json_object_new_object();

        dlt_json_text(one, "kind", g->key.network ? "network" : "operator");
        dlt_json_text(one, "device", g->key.device);
        dlt_json_text(one, "op", g->key.op);
        dlt_json_text(one, "pass", g->key.pass);
        dlt_json_text(one, "dtype", g->key.dtype);
        dlt_json_text(one, "basis", dlt_basis_name(g->key.basis));
        json_object_array_add(groups, summary_json(g->point, g->count, g->skipped, one));
    }
    json_object_object_add(object, "groups", groups);
    json_object_object_add(object, "operators", total_json(scores, SCORES_OPERATORS));
    json_object_object_add(object, "networks", total_json(scores, SCORES_NETWORKS));
    json_object_object_add(object, "all", total_json(scores, SCORES_ALL));
    return object;
}

static void print_line(const struct score_key *key, const struct score_point *point, size_t count,
                       size_t skipped)
{
    struct score_summary s = score_summarise(point, count);
    char r2[16] = "-"; /* one row, or rows of one time, have none */

    if (isfinite(s.r2))
        snprintf(r2, sizeof r2, "%.4f", s.r2);
    printf("%-28.28s %-16.16s %-15s %-9s %-10s %7zu", key->device, key->op, key->pass, key->dtype,
           dlt_basis_name(key->basis), count);
    if (count)
        printf(" %10.4g %6.1f %% %6.1f %% %7s %5.1f %% %6.1f %%", s.rmse * 1e3, 100 * s.mape,
               100 * s.median_ape, r2, 100 * s.coverage, 100 * s.width);
    if (skipped)
        printf("  %zu skipped", skipped);
    putchar('\n');
}

void scores_print(const struct scores *scores)
{
    static const struct score_key everything = {.device = "all"};
    size_t count, skipped;
    struct score_point *all = scores_pool(scores, SCORES_ALL, &count, &skipped);

    printf("%-28s %-16s %-15s %-9s %-10s %7s %10s %8s %8s %7s %7s %8s\n", "DEVICE", "OPERATOR",
           "PASS", "DTYPE", "RESTS ON", "N", "RMSE ms", "MAPE", "MEDIAN", "R2", "IN 90 %", "WIDTH");
    for (size_t i = 0; i < scores->count; i++) {
        const struct score_group *g = &scores->group[i];

        print_line(&g->key, g->point, g->count, g->skipped);
    }
    if (all && scores->count > 1)
        print_line(&everything, all, count, skipped);
    free(all);
}
