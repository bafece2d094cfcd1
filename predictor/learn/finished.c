/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/finished.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/median.h"
#include "base/text.h"

/* Jobs against which the prior counts: run-to-run noise of about 15 % against predictions that are
 * wrong by about 25 %, (0.15 / 0.25)^2. Five jobs leave a fifteenth of a bias. */
static const double prior_jobs = 0.36;

/* The same for users: a site's value rests on several of them. */
static const double prior_users = 0.5;

int dlt_finished_add(struct dlt_finished *finished, const struct dlt_finished_job *job)
{
    if (dlt_grow(&finished->job, sizeof *finished->job, finished->count, 1, &finished->room))
        return -1;
    finished->job[finished->count++] = *job;
    finished->order = DLT_FINISHED_UNSORTED;
    return 0;
}

void dlt_finished_clear(struct dlt_finished *finished)
{
    free(finished->job);
    *finished = (struct dlt_finished){0};
}

static double log_ratio(const struct dlt_finished_job *job)
{
    return log(job->elapsed_s / job->predicted_s);
}

static int by_cell(const struct dlt_finished_job *a, const struct dlt_finished_job *b)
{
    int order = strcmp(a->partition, b->partition);

    if (order == 0)
        order = (a->network > b->network) - (a->network < b->network);
    return order;
}

/* Partition, network, user, ratio; of equal ratios completed jobs first. */
static int by_place(const void *left, const void *right)
{
    const struct dlt_finished_job *a = left, *b = right;
    int order = by_cell(a, b);

    if (order == 0)
        order = strcmp(a->user, b->user);
    if (order == 0)
        order = (log_ratio(a) > log_ratio(b)) - (log_ratio(a) < log_ratio(b));
    return order ? order : (int)a->finish - (int)b->finish;
}

static int by_user(const void *left, const void *right)
{
    const struct dlt_finished_job *a = left, *b = right;
    int order = strcmp(a->user, b->user);

    return order ? order : by_place(left, right);
}

static void sort(struct dlt_finished *finished, enum dlt_finished_order order)
{
    if (finished->order != order && finished->count > 0)
        qsort(finished->job, finished->count, sizeof *finished->job,
              order == DLT_FINISHED_BY_USER ? by_user : by_place);
    finished->order = order;
}

/* Jobs are sorted by user: the first that is of this user or of one behind him. */
static size_t first_of(const struct dlt_finished *finished, const char *user)
{
    size_t low = 0, high = finished->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(finished->job[middle].user, user) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A user's jobs of one network on one partition. */
struct middle {
    double value, weight;
    size_t jobs;
};

/* Jobs are sorted by ratio. Where so many were ended by their limits that half of them never came
 * to be seen, the last of the seen or censored ratios is the least that can be said. */
static struct middle find_middle(const struct dlt_finished_job *job, size_t count,
                                 double half_life_s)
{
    struct middle m = {log_ratio(&job[count - 1]), 0, count};
    double at_risk, survival = 1, before = NAN;

    for (size_t i = 0; i < count; i++)
        m.weight += exp2(-job[i].age_s / half_life_s);
    at_risk = m.weight;
    for (size_t i = 0; i < count && at_risk > 0; i++) {
        double weight = exp2(-job[i].age_s / half_life_s);

        if (job[i].finish == DLT_COMPLETED) {
            survival *= 1 - fmin(weight / at_risk, 1);
            if (survival < 0.5 - 1e-9) {
                /* Between two jobs that each end at the half: their middle. */
                m.value = isnan(before) ? log_ratio(&job[i]) : (before + log_ratio(&job[i])) / 2;
                return m;
            }
            before = survival <= 0.5 + 1e-9 ? log_ratio(&job[i]) : NAN;
        }
        at_risk -= weight;
    }
    return m;
}

static double clamp(double log_factor)
{
    return fmin(fmax(exp(log_factor), DLT_FACTOR_LEAST), DLT_FACTOR_MOST);
}

static double half_life(const struct dlt_finished_settings *settings)
{
    return settings->half_life_s > 0 ? settings->half_life_s : 30 * 86400.0;
}

static size_t same_user(const struct dlt_finished_job *job, size_t count)
{
    size_t n = 1;

    while (n < count && by_cell(&job[n], job) == 0 && strcmp(job[n].user, job->user) == 0)
        n++;
    return n;
}

/* Values of the users of one network on one partition: a number for each. */
struct cell {
    double *value;
    const char **user;
    size_t users, jobs;
};

static int add_correction(const struct cell *cell, double least_users, uint64_t network,
                          const char *partition, struct dlt_history *history)
{
    struct dlt_correction c = {
        .network = network, .jobs = (double)cell->jobs, .users = (double)cell->users};
    double users = (double)cell->users;

    if (users < least_users)
        return 0;
    dlt_text_copy(c.partition, sizeof c.partition, partition);
    c.factor = clamp(dlt_median(cell->value, cell->users) * users / (users + prior_users));
    return dlt_history_add(history, &c);
}

/* For any network of a partition each user counts once, with the median of his networks. */
static int add_partition(const struct cell *all, double least_users, const char *partition,
                         double *spare, struct dlt_history *history)
{
    struct cell merged = {.value = spare, .jobs = all->jobs};

    for (size_t i = 0; i < all->users; i++) {
        bool counted = false;
        size_t own = 0;

        for (size_t j = 0; j < i && !counted; j++)
            counted = strcmp(all->user[j], all->user[i]) == 0;
        if (counted)
            continue;
        for (size_t j = i; j < all->users; j++)
            if (strcmp(all->user[j], all->user[i]) == 0)
                spare[merged.users + own++] = all->value[j];
        spare[merged.users] = dlt_median(spare + merged.users, own);
        merged.users++;
    }
    return add_correction(&merged, least_users, 0, partition, history);
}

static int learn_site(const struct dlt_finished *f, const struct dlt_finished_settings *settings,
                      double *value, const char **user, double *spare, struct dlt_history *history)
{
    double least = settings->site_users > 0 ? settings->site_users : 3;
    struct cell all = {.value = value, .user = user};
    size_t i = 0;

    while (i < f->count) {
        const struct dlt_finished_job *first = &f->job[i];
        struct cell cell = {0};

        if (i > 0 && strcmp(f->job[i - 1].partition, first->partition) != 0)
            all.users = all.jobs = 0;
        cell.value = spare;
        while (i < f->count && by_cell(&f->job[i], first) == 0) {
            size_t jobs = same_user(&f->job[i], f->count - i);
            struct middle m = find_middle(&f->job[i], jobs, half_life(settings));

            value[all.users] = m.value * m.weight / (m.weight + prior_jobs);
            user[all.users] = f->job[i].user;
            spare[cell.users++] = value[all.users++];
            cell.jobs += jobs;
            all.jobs += jobs;
            i += jobs;
        }
        if (add_correction(&cell, least, first->network, first->partition, history))
            return -1;
        if ((i == f->count || strcmp(f->job[i].partition, first->partition) != 0) &&
            add_partition(&all, least, first->partition, spare, history))
            return -1;
    }
    return 0;
}

int dlt_finished_site(struct dlt_finished *finished, const struct dlt_finished_settings *settings,
                      struct dlt_history *history, struct dlt_error *error)
{
    double *value = calloc(finished->count + 1, sizeof *value);
    double *spare = calloc(finished->count + 1, sizeof *spare);
    const char **user = calloc(finished->count + 1, sizeof *user);
    int result = -1;

    if (value && spare && user) {
        sort(finished, DLT_FINISHED_BY_PLACE);
        result = learn_site(finished, settings, value, user, spare, history);
    }
    free(value);
    free(spare);
    free(user);
    return result ? dlt_fail_memory(error) : 0;
}

int dlt_finished_user(struct dlt_finished *finished, const char *user,
                      const struct dlt_history *site, const struct dlt_finished_settings *settings,
                      struct dlt_history *history, struct dlt_error *error)
{
    sort(finished, DLT_FINISHED_BY_USER);
    for (size_t i = first_of(finished, user);
         i < finished->count && strcmp(finished->job[i].user, user) == 0;) {
        const struct dlt_finished_job *first = &finished->job[i];
        size_t jobs = same_user(first, finished->count - i);
        const struct dlt_correction *others;
        struct dlt_correction c = {.network = first->network, .users = 1, .jobs = (double)jobs};
        struct middle m;
        double start, share;

        i += jobs;
        m = find_middle(first, jobs, half_life(settings));
        others = dlt_history_find(site, first->network, first->partition);
        start = others ? log(others->factor) : 0;
        share = m.weight / (m.weight + prior_jobs);
        dlt_text_copy(c.partition, sizeof c.partition, first->partition);
        c.factor = clamp(start + share * (m.value - start));
        if (dlt_history_add(history, &c))
            return dlt_fail_memory(error);
    }
    return 0;
}
