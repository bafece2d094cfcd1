/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/median.h"
#include "base/text.h"
#include "learn/nnls.h"
#include "learn/parallel.h"

enum { TERMS = 3 };

static const double shares[] = {0, 0.25, 0.5, 0.75, 1};
enum { SHARES = sizeof shares / sizeof *shares };

/* The runs of one fit: all but those of one group. */
struct selection {
    const struct dlt_scaling_run *run;
    const size_t *index;
    size_t count;
    const struct dlt_generic_settings *settings;
};

static double log_ring(const struct dlt_scaling_run *run)
{
    return run->where.ring > 1 ? log(run->where.ring) : 0;
}

/* The log of seen over predicted by everything but the network's own departure. */
static double residual(const struct dlt_scaling *s, const struct dlt_scaling_run *run)
{
    struct dlt_scaling_case anyone = run->where;

    anyone.network = NULL;
    if (!(anyone.ring > 1))
        anyone.ring = 1;
    return log(run->seconds / run->one_s / dlt_scaling_slowdown(s, &anyone));
}

/* f_E for a given share of the ring. */
static int fit_factors(const struct selection *all, struct dlt_scaling *s, bool ranges,
                       struct dlt_error *error)
{
    double *values = calloc(all->count * (DLT_SCALING_FACTORS + 2), sizeof *values);
    size_t *cluster = calloc(all->count + 1, sizeof *cluster);
    struct dlt_generic_settings settings = *all->settings;
    struct dlt_generic generic, low, high;
    struct dlt_generic_data data = {
        .rows = all->count, .intrinsics = 1, .extrinsics = DLT_SCALING_FACTORS, .cluster = cluster};
    double *time, *factor, *seconds;
    int result = -1;

    if (!values || !cluster) {
        dlt_fail_memory(error);
        goto out;
    }
    data.intrinsic = time = values;
    data.seconds = seconds = values + all->count;
    data.extrinsic = factor = values + 2 * all->count;
    for (size_t i = 0; i < all->count; i++) {
        const struct dlt_scaling_run *run = &all->run[all->index[i]];

        time[i] = run->one_s * exp(s->ring_share * log_ring(run));
        seconds[i] = run->seconds;
        dlt_scaling_factors(&run->where, factor + i * DLT_SCALING_FACTORS);
        cluster[i] = run->network;
        if (run->network >= data.clusters)
            data.clusters = run->network + 1;
    }
    settings.time_known = true;
    result = dlt_generic_fit(&data, &settings, &generic, ranges ? &low : NULL,
                             ranges ? &high : NULL, error);
    for (int f = 0; f < DLT_SCALING_FACTORS && result == 0; f++) {
        s->exponent[f] = generic.q[f];
        s->low[f] = ranges ? low.q[f] : NAN;
        s->high[f] = ranges ? high.q[f] : NAN;
    }
out:
    free(values);
    free(cluster);
    return result;
}

/* One network's departure: least absolute residuals (reweighted least squares), drawn to 0 by a
 * ridge that a few runs of the network outweigh for its offset, and hardly for the rest. */
static void fit_network(const struct selection *all, size_t network, const struct dlt_scaling *s,
                        struct dlt_scaling_network *n)
{
    static const double ridge[TERMS] = {0.3, 3, 3};
    static const size_t index[TERMS] = {0, 1, 2};
    const double corner = 0.01,
                 unit = 0.05; /* |residual| below which weights stay; with weight 1 */
    double x[TERMS] = {0}, factor[TERMS * TERMS];

    n->runs = 0;
    for (int pass = 0; pass < 20; pass++) {
        double gram[TERMS * TERMS] = {0}, right[TERMS] = {0};

        n->runs = 0;
        for (int t = 0; t < TERMS; t++)
            gram[t * TERMS + t] = ridge[t];
        for (size_t i = 0; i < all->count; i++) {
            const struct dlt_scaling_run *run = &all->run[all->index[i]];
            double term[TERMS], seen, left, weight;

            if (run->network != network)
                continue;
            n->runs++;
            dlt_scaling_terms(&run->where, term);
            seen = residual(s, run);
            left = seen - term[0] * x[0] - term[1] * x[1] - term[2] * x[2];
            weight = pass ? unit / fmax(fabs(left), corner) : 1;
            for (int a = 0; a < TERMS; a++) {
                right[a] += weight * term[a] * seen;
                for (int b = 0; b < TERMS; b++)
                    gram[a * TERMS + b] += weight * term[a] * term[b];
            }
        }
        if (dlt_cholesky_solve(gram, TERMS, index, TERMS, right, factor, x))
            return;
    }
    n->offset = x[0];
    n->doubling = x[1];
    n->half = x[2];
}

/* Everything for one share of the ring. *s: zero-initialised; its networks are freed by the caller
 * also on failure. */
static int fit_share(const struct selection *all, double share, bool ranges, struct dlt_scaling *s,
                     struct dlt_error *error)
{
    size_t networks = 0;

    s->ring_share = share;
    s->cases = (double)all->count;
    for (size_t i = 0; i < all->count; i++)
        networks = all->run[all->index[i]].network >= networks ? all->run[all->index[i]].network + 1
                                                               : networks;
    s->network = calloc(networks + 1, sizeof *s->network);
    if (!s->network)
        return dlt_fail_memory(error);
    if (fit_factors(all, s, ranges, error))
        return -1;
    for (size_t i = 0; i < all->count; i++) {
        const struct dlt_scaling_run *run = &all->run[all->index[i]];
        size_t known = 0;

        while (known < s->network_count && strcmp(s->network[known].name, run->where.network) != 0)
            known++;
        if (known < s->network_count)
            continue;
        dlt_text_copy(s->network[known].name, sizeof s->network[known].name, run->where.network);
        fit_network(all, run->network, s, &s->network[known]);
        s->network_count++;
    }
    return 0;
}

/* Leaves out one group at a time: families, or networks where there is one family. */
struct fold {
    const struct dlt_scaling_run *run;
    size_t count;
    const struct dlt_generic_settings *settings;
    bool by_network;
    size_t outer;  /* group that is left out throughout; SIZE_MAX: none */
    double *ratio; /* count x SHARES: predicted over seen, by each share */
    bool *failed;  /* one a group */
};

static size_t group_of(const struct fold *f, size_t i)
{
    return f->by_network ? f->run[i].network : f->run[i].family;
}

static size_t group_count(const struct fold *f)
{
    size_t groups = 0;

    for (size_t i = 0; i < f->count; i++)
        groups = group_of(f, i) >= groups ? group_of(f, i) + 1 : groups;
    return groups;
}

static double predicted_over_seen(const struct dlt_scaling *s, const struct dlt_scaling_run *run)
{
    struct dlt_scaling_case where = run->where;

    if (!(where.ring > 1))
        where.ring = 1;
    return run->one_s * dlt_scaling_slowdown(s, &where) / run->seconds;
}

static size_t select_others(const struct fold *f, size_t group, size_t *index)
{
    size_t count = 0;

    for (size_t i = 0; i < f->count; i++)
        if (group_of(f, i) != group && group_of(f, i) != f->outer)
            index[count++] = i;
    return count;
}

static void leave_out(void *context, size_t group)
{
    struct fold *f = context;
    size_t *index = calloc(f->count + 1, sizeof *index);

    f->failed[group] = true;
    if (!index)
        return;
    if (group == f->outer) {
        f->failed[group] = false;
        free(index);
        return;
    }
    f->failed[group] = false;
    for (size_t w = 0; w < SHARES; w++) {
        struct selection others = {f->run, index, select_others(f, group, index), f->settings};
        struct dlt_scaling s = {0};
        struct dlt_error ignored;
        bool fitted = fit_share(&others, shares[w], false, &s, &ignored) == 0;

        for (size_t i = 0; i < f->count; i++)
            if (group_of(f, i) == group)
                f->ratio[i * SHARES + w] = fitted ? predicted_over_seen(&s, &f->run[i]) : NAN;
        free(s.network);
    }
    free(index);
}

/* Predictions of every run by fits without its group; groups of `outer` are left alone. */
static int run_folds(struct fold *f, struct dlt_error *error)
{
    size_t groups = group_count(f);
    bool failed = false;

    f->failed = calloc(groups + 1, sizeof *f->failed);
    if (!f->failed)
        return dlt_fail_memory(error);
    dlt_parallel(f->settings->threads, groups, leave_out, f);
    for (size_t g = 0; g < groups; g++)
        failed = failed || f->failed[g];
    free(f->failed);
    f->failed = NULL;
    return failed ? dlt_fail_memory(error) : 0;
}

/* The share whose predictions of runs outside `outer` are best. */
static size_t best_share(const struct fold *f)
{
    size_t best = 0;
    double least = INFINITY;

    for (size_t w = 0; w < SHARES; w++) {
        double sum = 0;

        for (size_t i = 0; i < f->count; i++)
            if (group_of(f, i) != f->outer && isfinite(f->ratio[i * SHARES + w]))
                sum += fabs(f->ratio[i * SHARES + w] - 1);
        if (sum < least) {
            least = sum;
            best = w;
        }
    }
    return best;
}

/* What a user without this program does: the median slowdown of the same network elsewhere. */
static double copied(const struct fold *f, size_t i, double *values)
{
    size_t count = 0;

    for (size_t j = 0; j < f->count; j++)
        if (f->run[j].network == f->run[i].network && group_of(f, j) != group_of(f, i))
            values[count++] = f->run[j].seconds / f->run[j].one_s;
    return dlt_median(values, count) * f->run[i].one_s / f->run[i].seconds;
}

static double mean_error(const double *ratio, size_t count)
{
    double sum = 0;
    size_t known = 0;

    for (size_t i = 0; i < count; i++) {
        if (isfinite(ratio[i])) {
            sum += fabs(ratio[i] - 1);
            known++;
        }
    }
    return known ? sum / (double)known : NAN;
}

/* f_E alone, fitted without the run's group. */
static int score_generic(const struct fold *f, double *ratio, struct dlt_error *error)
{
    size_t *index = calloc(f->count + 1, sizeof *index);
    int result = index ? 0 : dlt_fail_memory(error);

    for (size_t g = 0; g < group_count(f) && result == 0; g++) {
        struct selection others = {f->run, index, select_others(f, g, index), f->settings};
        struct dlt_scaling s = {0};

        if (others.count < DLT_SCALING_FACTORS)
            continue;
        result = fit_factors(&others, &s, false, error);
        for (size_t i = 0; i < f->count && result == 0; i++)
            if (group_of(f, i) == g)
                ratio[i] = predicted_over_seen(&s, &f->run[i]);
    }
    free(index);
    return result;
}

/* The whole model on each group, with the ring share chosen on the other groups. */
static int score_chosen(struct fold *f, double *ratio, struct dlt_error *error)
{
    const double *outer_ratio = f->ratio;
    struct fold inner = *f;
    int result = 0;

    inner.ratio = calloc(f->count * SHARES, sizeof *inner.ratio);
    if (!inner.ratio)
        return dlt_fail_memory(error);
    for (size_t g = 0; g < group_count(f) && result == 0; g++) {
        size_t share;

        inner.outer = g;
        result = run_folds(&inner, error);
        share = best_share(&inner);
        for (size_t i = 0; i < f->count; i++)
            if (group_of(f, i) == g)
                ratio[i] = outer_ratio[i * SHARES + share];
    }
    free(inner.ratio);
    return result;
}

static int score(struct fold *f, struct dlt_scaling_scores *scores, struct dlt_error *error)
{
    double *ratio = calloc(f->count, sizeof *ratio), *spare = calloc(f->count + 1, sizeof *spare);
    size_t rings = 0;
    int result = -1;

    if (!ratio || !spare) {
        dlt_fail_memory(error);
        goto out;
    }
    for (size_t i = 0; i < f->count; i++)
        ratio[i] = copied(f, i, spare);
    scores->copied = mean_error(ratio, f->count);
    for (size_t i = 0; i < f->count; i++) {
        ratio[i] = f->run[i].where.ring * f->run[i].one_s / f->run[i].seconds;
        rings += isfinite(ratio[i]) ? 1 : 0;
    }
    scores->ring = rings ? mean_error(ratio, f->count) : NAN;
    for (size_t i = 0; i < f->count; i++)
        ratio[i] = NAN;
    if (score_generic(f, ratio, error))
        goto out;
    scores->generic = mean_error(ratio, f->count);
    if (score_chosen(f, ratio, error))
        goto out;
    scores->chosen = mean_error(ratio, f->count);
    rings = 0;
    for (size_t i = 0; i < f->count; i++)
        if (isfinite(ratio[i]))
            spare[rings++] = fabs(log(ratio[i]));
    /* The median of |normal| is 0.6745 sigma; the mean's share keeps long tails in. Runs of one
     * network on one device leave nothing to hold out: no narrower than without them. */
    scores->sigma =
        rings ? fmax(dlt_median(spare, rings) / 0.6745, 1.2533 * scores->chosen) : DLT_SIGMA_NODES;
    result = 0;
out:
    free(ratio);
    free(spare);
    return result;
}

int dlt_scaling_fit(const struct dlt_scaling_run *run, size_t count,
                    const struct dlt_generic_settings *settings, struct dlt_scaling **scaling,
                    struct dlt_scaling_scores *scores, struct dlt_error *error)
{
    struct fold f = {.run = run, .count = count, .settings = settings, .outer = SIZE_MAX};
    struct dlt_scaling *s = calloc(1, sizeof *s);
    size_t *index = calloc(count + 1, sizeof *index);
    struct selection all = {run, index, count, settings};
    int result = -1;

    *scaling = NULL;
    *scores = (struct dlt_scaling_scores){NAN, NAN, NAN, NAN, NAN};
    f.ratio = calloc(count * SHARES + 1, sizeof *f.ratio);
    if (!s || !index || !f.ratio) {
        dlt_fail_memory(error);
        goto out;
    }
    for (size_t i = 0; i < count; i++)
        index[i] = i;
    f.by_network = group_count(&f) < 2;
    if (run_folds(&f, error) || score(&f, scores, error) ||
        fit_share(&all, shares[best_share(&f)], settings->resamples > 0, s, error))
        goto out;
    s->sigma = scores->sigma;
    s->held_out = scores->chosen;
    *scaling = s;
    s = NULL;
    result = 0;
out:
    dlt_scaling_destroy(s);
    free(index);
    free(f.ratio);
    return result;
}
