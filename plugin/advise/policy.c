/* SPDX-License-Identifier: Apache-2.0 */
#include "policy.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "scene.h"

/* Estimates of memory are some way off both ways: a device is ruled out only beyond this. */
static const double memory_margin = 1.25;

bool dlt_candidate_too_small(const struct dlt_candidate *candidate)
{
    return candidate->fits == DLT_FITS_NO &&
           !(candidate->memory_bytes <= memory_margin * candidate->device_memory_bytes);
}

char *dlt_text_difference(char buffer[32], double seconds)
{
    long long whole = isfinite(seconds) && seconds < 1e12 ? llround(seconds) : 0;

    if (whole >= 86400)
        snprintf(buffer, 32, "%lld d %lld h", whole / 86400, whole / 3600 % 24);
    else if (whole >= 3600)
        snprintf(buffer, 32, "%lld h %lld min", whole / 3600, whole / 60 % 60);
    else if (whole >= 60)
        snprintf(buffer, 32, "%lld min", whole / 60);
    else
        snprintf(buffer, 32, "%lld s", whole);
    return buffer;
}

__attribute__((format(printf, 3, 4))) void dlt_scene_say(struct dlt_decision *decision,
                                                         bool warning, const char *format, ...)
{
    size_t size = sizeof decision->line[0].text;
    va_list args;

    if (decision->line_count == DLT_DECISION_LINES)
        return;
    decision->line[decision->line_count].warning = warning;
    va_start(args, format);
    vsnprintf(decision->line[decision->line_count].text, size, format, args);
    va_end(args);
    dlt_text_printable(decision->line[decision->line_count].text);
    decision->line_count++;
}

const char *dlt_scene_would_be(const struct dlt_scene *scene)
{
    return scene->modes->rehearsal ? "would be " : "";
}

bool dlt_scene_has_time(const struct dlt_candidate *candidate)
{
    return !candidate->why && isfinite(candidate->upper_s);
}

static void mark_landing(const struct dlt_scene *scene)
{
    const char *list = scene->request->partitions;

    if (!*list)
        list = scene->config->default_candidates;
    for (size_t i = 0; i < scene->count; i++) {
        struct dlt_candidate *candidate = &scene->candidates[i];

        candidate->landing =
            *list ? dlt_list_has(list, candidate->partition) : candidate->is_default;
    }
}

/* The landing candidate for which `worse` (larger is worse) is largest, or DLT_NOWHERE. */
static int worst_landing(const struct dlt_scene *scene,
                         double (*worse)(const struct dlt_candidate *))
{
    int worst = DLT_NOWHERE;

    for (size_t i = 0; i < scene->count; i++) {
        if (scene->candidates[i].landing &&
            (worst < 0 || worse(&scene->candidates[i]) > worse(&scene->candidates[worst])))
            worst = (int)i;
    }
    return worst;
}

static double by_upper(const struct dlt_candidate *candidate)
{
    return dlt_scene_has_time(candidate) ? candidate->upper_s : INFINITY;
}

static double by_weak_basis(const struct dlt_candidate *candidate)
{
    return -(double)candidate->basis;
}

static double by_small_max(const struct dlt_candidate *candidate)
{
    return -candidate->max_time_s;
}

static double by_p_over_time(const struct dlt_candidate *candidate)
{
    return candidate->p_over_time;
}

double dlt_limit(const struct dlt_config *config, double seconds)
{
    double limit = fmax(seconds, config->min_limit_s);

    /* The hair keeps a time that is a multiple of the grain already where it is. */
    return ceil(limit / config->grain_s - 1e-9) * config->grain_s;
}

/* --dl-time=off: the partition alone is worth a word. */
static void judge_place_only(const struct dlt_scene *scene)
{
    char better[200];

    scene->decision->limit_s = NAN;
    if (*dlt_scene_better(scene, better, sizeof better))
        dlt_scene_say(scene->decision, false, "%s", better + 2);
}

/* The user's own --time is never touched; what there is to say about it. */
static void judge_own_time(const struct dlt_scene *scene)
{
    struct dlt_decision *decision = scene->decision;
    const struct dlt_candidate *here = &scene->candidates[decision->slowest];
    const struct dlt_candidate *worst = &scene->candidates[worst_landing(scene, by_p_over_time)];
    const struct dlt_candidate *tight = &scene->candidates[worst_landing(scene, by_small_max)];
    char given[32], median[32], limit[32], most[32], better[200], mend[400];

    dlt_text_from_duration(given, scene->request->time_s);
    dlt_text_from_duration(median, worst->job_s);
    dlt_text_from_duration(limit, decision->limit_s);
    dlt_text_from_duration(most, tight->max_time_s);
    dlt_scene_better(scene, better, sizeof better);
    if (worst->p_over_time >= scene->config->warn_above && decision->limit_s > tight->max_time_s) {
        decision->too_long = decision->slowest;
        dlt_scene_say(
            decision, true,
            "--time=%s is probably too short: on %s the job takes about %s and runs longer than "
            "that with a probability of %.0f %%; the longest that %s allows is %s: %s",
            given, worst->partition, median, 100 * worst->p_over_time, tight->partition, most,
            dlt_scene_mend(scene, fmin(tight->max_time_s, scene->request->time_s), mend,
                           sizeof mend));
    } else if (worst->p_over_time >= scene->config->warn_above) {
        dlt_scene_say(
            decision, true,
            "--time=%s is probably too short: on %s the job takes about %s and runs longer than "
            "that with a probability of %.0f %%; --time=%s would do%s",
            given, worst->partition, median, 100 * worst->p_over_time, limit, better);
    } else if (isfinite(scene->request->time_s)) {
        dlt_scene_say(decision, false, "--time=%s is left as it is; %s would do (%s)%s", given,
                      limit, here->partition, better);
    } else {
        dlt_scene_say(decision, false, "the unlimited --time is left as it is; %s would do (%s)%s",
                      limit, here->partition, better);
    }
}

/* The limit does not fit under the smallest maximum of the landing partitions. Where the job
 * itself probably does, the maximum is the best limit; where it does not, none helps. */
static void judge_over_maximum(const struct dlt_scene *scene, const struct dlt_candidate *tight)
{
    struct dlt_decision *decision = scene->decision;
    const struct dlt_candidate *here = &scene->candidates[decision->slowest];
    char median[32], maximum[32], mend[400];
    char odds[64] = "may run longer than that";

    /* Only grain or min_limit reach beyond the maximum: it covers the job all the same. */
    if (here->upper_s <= tight->max_time_s) {
        decision->limit_s = tight->max_time_s;
        return;
    }
    dlt_text_from_duration(median, here->job_s);
    dlt_text_from_duration(maximum, tight->max_time_s);
    decision->too_long = decision->slowest;
    dlt_scene_mend(scene, tight->max_time_s, mend, sizeof mend);
    if (here->max_time_s == tight->max_time_s)
        snprintf(odds, sizeof odds, "runs longer than that with a probability of %.0f %%",
                 100 * here->p_over_max);
    if (here->job_s <= tight->max_time_s) {
        decision->limit_s = tight->max_time_s;
        dlt_scene_say(decision, true,
                      "the longest that %s allows is %s, and the job (about %s) %s; %s",
                      tight->partition, maximum, median, odds, mend);
    } else {
        decision->action = DLT_LEAVE;
        dlt_scene_say(
            decision, true,
            "time limit left alone: the job takes about %s on %s, and the longest that %s allows "
            "is %s; %s",
            median, here->partition, tight->partition, maximum, mend);
    }
}

/* A limit up to the partition's default is what a job without --time would have as well. */
static bool may_pass_unknown_limit(const struct dlt_scene *scene)
{
    for (size_t i = 0; i < scene->count; i++) {
        const struct dlt_candidate *candidate = &scene->candidates[i];

        if (candidate->landing && candidate->limit_unknown &&
            !(scene->decision->limit_s <= candidate->default_time_s))
            return true;
    }
    return false;
}

/* Why a limit that was worked out is only suggested: a clause in buffer, or NULL to set it. */
static const char *reservation(const struct dlt_scene *scene, char *buffer, size_t size)
{
    const struct dlt_candidate *weak = &scene->candidates[worst_landing(scene, by_weak_basis)];

    if (scene->request->hands_off)
        snprintf(buffer, size, "%s is given", scene->request->hands_off);
    else if (weak->basis < scene->config->set_requires)
        snprintf(buffer, size, "the estimate for %s rests on \"%s\", less than this site requires",
                 weak->partition, dlt_basis_name(weak->basis));
    else if (may_pass_unknown_limit(scene))
        snprintf(buffer, size, "what your account may use at most is not known here");
    else if (scene->modes->time == DLT_TIME_SUGGEST)
        snprintf(buffer, size, "only a suggestion is asked for");
    else
        return NULL;
    return buffer;
}

/* Below the evidence that the site requires, a suggestion never goes under what Slurm gives a job
 * without --time anyway. */
static void keep_above_default(const struct dlt_scene *scene)
{
    const struct dlt_candidate *weak = &scene->candidates[worst_landing(scene, by_weak_basis)];
    double usual = scene->candidates[scene->decision->slowest].default_time_s;

    if (weak->basis < scene->config->set_requires && usual > scene->decision->limit_s)
        scene->decision->limit_s = usual;
}

static void judge_no_time(const struct dlt_scene *scene)
{
    struct dlt_decision *decision = scene->decision;
    const struct dlt_candidate *here = &scene->candidates[decision->slowest];
    const struct dlt_candidate *tight = &scene->candidates[worst_landing(scene, by_small_max)];
    char because[200], limit[32], better[200];
    bool capped = false;

    decision->action = DLT_SET;
    keep_above_default(scene);
    if (decision->limit_s > tight->max_time_s) {
        judge_over_maximum(scene, tight);
        if (decision->action == DLT_LEAVE)
            return;
        capped = true;
    }
    dlt_text_from_duration(limit, decision->limit_s);
    dlt_scene_better(scene, better, sizeof better);
    if (reservation(scene, because, sizeof because)) {
        decision->action = DLT_SUGGEST;
        dlt_scene_say(decision, scene->request->hands_off != NULL,
                      "time limit left alone, because %s; --time=%s %s (%s)%s", because, limit,
                      capped ? "is the longest" : "would do", here->partition,
                      capped ? "" : better);
    } else {
        dlt_scene_say(decision, false, "time limit %sset to %s (%s)%s", dlt_scene_would_be(scene),
                      limit, here->partition, capped ? "" : better);
    }
}

/* Memory never refuses; it is worth a word where the job will land. */
static void judge_memory(const struct dlt_scene *scene)
{
    for (size_t i = 0; i < scene->count; i++) {
        const struct dlt_candidate *candidate = &scene->candidates[i];
        char need[32], have[32], mend[300];

        if (!candidate->landing || candidate->why || candidate->fits != DLT_FITS_NO)
            continue;
        scene->decision->too_large = (int)i;
        dlt_text_from_bytes(need, candidate->memory_bytes);
        dlt_text_from_bytes(have, candidate->device_memory_bytes);
        dlt_scene_say(scene->decision, true,
                      "%s: the training needs about %s on each device, which has %s: %s",
                      candidate->partition, need, have,
                      dlt_scene_memory(scene, candidate, mend, sizeof mend));
        return;
    }
}

static void judge_nowhere(const struct dlt_scene *scene)
{
    const char *list = scene->request->partitions;

    if (scene->count == 0)
        dlt_scene_say(scene->decision, true,
                      "no partition could run the job as it is asked for, or none is "
                      "described; nothing is changed");
    else if (*list)
        dlt_scene_say(scene->decision, true,
                      "what the job asks for does not match -p %s; nothing is changed", list);
    else
        dlt_scene_say(
            scene->decision, true,
            "the default partition could not run the job as it is asked for; name one with -p");
}

static void decide_nothing(struct dlt_decision *decision)
{
    *decision = (struct dlt_decision){.limit_s = NAN,
                                      .slowest = DLT_NOWHERE,
                                      .better = DLT_NOWHERE,
                                      .chosen = DLT_NOWHERE,
                                      .too_long = DLT_NOWHERE,
                                      .too_large = DLT_NOWHERE};
}

void dlt_decide_nothing(struct dlt_decision *decision, const char *why)
{
    decide_nothing(decision);
    dlt_scene_say(decision, true, "%s", why);
}

void dlt_decide(const struct dlt_config *config, const struct dlt_request *request,
                const struct dlt_modes *modes, struct dlt_candidate *candidates, size_t count,
                struct dlt_decision *decision)
{
    struct dlt_scene scene = {config, request, modes, candidates, count, decision};
    const int objective = dlt_config_objective(config, modes->partition);
    const struct dlt_candidate *slowest;

    decide_nothing(decision);
    if (request->elsewhere) {
        dlt_scene_say(decision, true,
                      "nothing is set, because %s is given: this cluster's partitions say nothing "
                      "about where the job will run",
                      request->elsewhere);
        return;
    }
    mark_landing(&scene);
    if (objective >= 0)
        dlt_scene_choose(&scene, (enum dlt_objective)objective);
    decision->slowest = worst_landing(&scene, by_upper);
    if (decision->slowest < 0) {
        judge_nowhere(&scene);
        return;
    }
    slowest = &candidates[decision->slowest];
    if (slowest->why) {
        dlt_scene_say(decision, true, "no estimate for %s, so the time limit is left alone: %s",
                      slowest->partition, slowest->why);
        return;
    }
    if (modes->partition == DLT_PARTITION_SUGGEST)
        dlt_scene_find_better(&scene);
    if (!dlt_scene_has_time(slowest)) {
        dlt_scene_say(
            decision, true,
            "the time limit is left alone, because the length of the training is not known: add "
            "epochs= and samples=, or steps=, to --dl-model");
    } else {
        decision->limit_s = dlt_limit(config, slowest->upper_s);
        if (modes->time == DLT_TIME_OFF)
            judge_place_only(&scene);
        else if (!isnan(request->time_s))
            judge_own_time(&scene);
        else
            judge_no_time(&scene);
    }
    judge_memory(&scene);
}
