/* SPDX-License-Identifier: Apache-2.0 */
/* The learning curve: what more measurements would be worth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/text.h"
#include "command/judge.h"
#include "command/report.h"
#include "command/starts.h"
#include "learn/random.h"
#include "learn/train.h"

enum { FIRST_ROWS = 50, SEED = 1 };

/* One part of a file's rows learned from, the others scored. */
struct part {
    const struct dlt_corpus *corpus; /* rows in random order, those held out first */
    size_t held_out, trained;
    struct report_curve *curve;
    const struct dlt_profile *starts; /* or NULL */
};

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void shuffle(struct dlt_corpus *corpus)
{
    struct dlt_random random;

    dlt_random_seed(&random, SEED, 0);
    for (size_t i = corpus->row_count; i > 1; i--) {
        size_t other = (size_t)dlt_random_below(&random, i);
        struct dlt_row moved = corpus->row[i - 1];

        corpus->row[i - 1] = corpus->row[other];
        corpus->row[other] = moved;
    }
}

/* A profile of the part's rows. */
static int learn(const struct part *part, struct dlt_profile **profile, struct dlt_error *error)
{
    const struct dlt_train_settings settings = {.seed = SEED, .starts = part->starts};
    struct dlt_corpus corpus = *part->corpus;
    struct dlt_profile_writer writer = {0};
    struct dlt_group *group = calloc(corpus.group_count + 1, sizeof *group);
    void *bytes = NULL;
    size_t size;
    int result;

    *profile = NULL;
    if (!group)
        return dlt_fail_memory(error);
    memcpy(group, corpus.group, corpus.group_count * sizeof *group);
    corpus.group = group;
    corpus.row += part->held_out;
    corpus.row_count = part->trained;
    corpus.run_count = 0;
    for (size_t g = 0; g < corpus.group_count; g++)
        group[g].rows = 0;
    for (size_t i = 0; i < corpus.row_count; i++)
        group[corpus.row[i].group].rows++;
    result = dlt_train(&corpus, &settings, &writer, error);
    if (result == 0)
        result = dlt_profile_writer_bytes(&writer, &bytes, &size, error);
    if (result == 0)
        result = dlt_profile_from_memory(bytes, size, "the learning curve", profile, error);
    dlt_profile_writer_clear(&writer);
    free(group);
    return result;
}

static struct report_curve_point *add_point(struct report_curve *curve)
{
    if (dlt_grow(&curve->point, sizeof *curve->point, curve->count, 1, &curve->room))
        return NULL;
    return &curve->point[curve->count++];
}

/* The points of one operator, over its passes, in one array. */
static int take_operator(const struct part *part, const struct scores *scores, const char *op)
{
    struct score_point *all = malloc((part->held_out + 1) * sizeof *all);
    struct report_curve_point *made;
    size_t used = 0, trained = 0;

    if (!all)
        return -1;
    for (size_t g = 0; g < scores_groups(scores); g++) {
        const struct score_group *group = scores_group(scores, g);

        if (strcmp(group->key.op, op) != 0 || group->count == 0)
            continue;
        memcpy(all + used, group->point, group->count * sizeof *all);
        used += group->count;
    }
    for (size_t i = 0; i < part->trained; i++)
        trained += strcmp(part->corpus->row[part->held_out + i].record.kind->name, op) == 0;
    made = used > 0 && trained > 0 ? add_point(part->curve) : NULL;
    if (made) {
        made->trained = trained;
        made->summary = score_summarise(all, used);
        dlt_text_copy(made->op, sizeof made->op, op);
    }
    free(all);
    return made || used == 0 || trained == 0 ? 0 : -1;
}

static int score(const struct part *part, const struct dlt_profile *profile,
                 struct dlt_error *error)
{
    struct judge judge = {.command = "report", .profile = profile, .scores = scores_create()};
    const struct dlt_corpus *corpus = part->corpus;
    int result = judge.scores ? 0 : -1;

    for (size_t i = 0; i < part->held_out && result == 0; i++)
        result = judge_operator(&judge, &corpus->source[0].header, &corpus->row[i].record,
                                corpus->row[i].seconds);
    for (size_t g = 0; result == 0 && g < scores_groups(judge.scores); g++) {
        const char *op = scores_group(judge.scores, g)->key.op;
        bool first = true;

        for (size_t before = 0; before < g && first; before++)
            first = strcmp(scores_group(judge.scores, before)->key.op, op) != 0;
        if (first)
            result = take_operator(part, judge.scores, op);
    }
    scores_destroy(judge.scores);
    return result ? dlt_fail_memory(error) : 0;
}

static int by_operator(const void *a, const void *b)
{
    const struct report_curve_point *x = a, *y = b;
    int order = strcmp(x->op, y->op);

    return order ? order : (x->trained > y->trained) - (x->trained < y->trained);
}

/* 50, 100, 200, 500, ... and all at the end. */
static size_t next_rows(size_t rows, size_t most)
{
    size_t lead = rows;

    while (lead >= 10)
        lead /= 10;
    rows = lead == 2 ? rows / 2 * 5 : rows * 2;
    return rows < most ? rows : most;
}

static int grow(struct part *part, struct dlt_error *error)
{
    struct report_curve *curve = part->curve;
    size_t there = part->corpus->row_count - part->held_out;
    size_t most = there < CURVE_ROWS ? there : CURVE_ROWS;
    double begin = now_s();

    part->trained = most < FIRST_ROWS ? most : FIRST_ROWS;
    for (;;) {
        struct dlt_profile *profile;
        double before = now_s(), took;
        size_t next;

        if (learn(part, &profile, error))
            return -1;
        if (score(part, profile, error)) {
            dlt_profile_destroy(profile);
            return -1;
        }
        dlt_profile_destroy(profile);
        took = now_s() - before;
        curve->seconds = now_s() - begin;
        next = next_rows(part->trained, most);
        if (part->trained == most ||
            curve->seconds + took * (double)next / (double)part->trained > CURVE_SECONDS)
            break;
        part->trained = next;
    }
    curve->stopped = part->trained < there;
    if (curve->count > 1)
        qsort(curve->point, curve->count, sizeof *curve->point, by_operator);
    return 0;
}

/* They would be most of the errors. */
static void leave_out(void *context, const struct dlt_row *row, enum dlt_stray why)
{
    (void)context;
    (void)row;
    (void)why;
}

int report_curve_make(const char *path, struct report_curve *curve, struct dlt_error *error)
{
    struct dlt_corpus corpus = {0};
    struct part part = {.corpus = &corpus, .curve = curve};
    struct dlt_profile *starts = NULL;
    struct dlt_repeats repeats;
    int result = dlt_corpus_add(&corpus, path, error);

    curve->path = path;
    if (result == 0 &&
        (dlt_corpus_unique(&corpus, &repeats) || dlt_corpus_drop_strays(&corpus, leave_out, NULL)))
        result = dlt_fail_memory(error);
    if (result == 0 && corpus.row_count < 2 * FIRST_ROWS)
        result = dlt_fail(error,
                          "%s: a learning curve needs at least %d measurements of operators, it "
                          "has %zu that can be learned from",
                          path, 2 * FIRST_ROWS, corpus.row_count);
    if (result == 0) {
        part.held_out =
            corpus.row_count / 5 < CURVE_HELD_OUT ? corpus.row_count / 5 : CURVE_HELD_OUT;
        curve->rows = corpus.row_count;
        curve->held_out = part.held_out;
        dlt_text_copy(curve->device, sizeof curve->device, corpus.source[0].header.device.name);
        shuffle(&corpus);
        part.starts = starts = command_starts_load("report", &corpus);
        curve->begun = starts != NULL;
        result = grow(&part, error);
    }
    dlt_profile_destroy(starts);
    dlt_corpus_clear(&corpus);
    return result;
}
