/* SPDX-License-Identifier: Apache-2.0 */
#include "policy.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"

/* Estimates of memory are some way off both ways: a device is ruled out only beyond this. */
static const double memory_margin = 1.25;

struct scene {
    const struct dlt_config *config;
    const struct dlt_request *request;
    const struct dlt_modes *modes;
    struct dlt_candidate *candidates;
    size_t count;
    struct dlt_decision *decision;
};

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

__attribute__((format(printf, 3, 4))) static void say(struct dlt_decision *decision, bool warning,
                                                      const char *format, ...)
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

static bool has_time(const struct dlt_candidate *candidate)
{
    return !candidate->why && isfinite(candidate->upper_s);
}

static void mark_landing(const struct scene *scene)
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
static int worst_landing(const struct scene *scene, double (*worse)(const struct dlt_candidate *))
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
    return has_time(candidate) ? candidate->upper_s : INFINITY;
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

/* Could the job be sent here with good conscience? */
static bool recommendable(const struct scene *scene, const struct dlt_candidate *candidate)
{
    return candidate->up && has_time(candidate) && candidate->fits != DLT_FITS_NO &&
           candidate->basis >= scene->config->set_requires &&
           dlt_limit(scene->config, candidate->upper_s) <= candidate->max_time_s;
}

static const char *would_be(const struct scene *scene)
{
    return scene->modes->rehearsal ? "would be " : "";
}

/* Where --dl-partition=auto sends a job that names no partition: the shortest run. */
static void choose_partition(const struct scene *scene)
{
    struct dlt_decision *decision = scene->decision;
    int best = DLT_NOWHERE;

    if (scene->request->partitions[0]) {
        say(decision, false, "-p %s is left as it is", scene->request->partitions);
        return;
    }
    if (scene->request->hands_off) {
        say(decision, true, "partition left alone, because %s is given", scene->request->hands_off);
        return;
    }
    for (size_t i = 0; i < scene->count; i++) {
        if (recommendable(scene, &scene->candidates[i]) &&
            (best < 0 || scene->candidates[i].job_s < scene->candidates[best].job_s))
            best = (int)i;
    }
    if (best < 0) {
        say(decision, true, "no partition chosen: no estimate is good enough for that here");
        return;
    }
    decision->chosen = best;
    for (size_t i = 0; i < scene->count; i++)
        scene->candidates[i].landing =
            strcmp(scene->candidates[i].partition, scene->candidates[best].partition) == 0;
    say(decision, false, "partition %sset to %s", would_be(scene),
        scene->candidates[best].partition);
}

static void find_better(const struct scene *scene)
{
    const struct dlt_candidate *here;
    double least;

    if (scene->decision->slowest < 0)
        return;
    here = &scene->candidates[scene->decision->slowest];
    if (!has_time(here))
        return;
    least = here->job_s * (1 - scene->config->better_by);
    for (size_t i = 0; i < scene->count; i++) {
        const struct dlt_candidate *other = &scene->candidates[i];

        if (!other->landing && recommendable(scene, other) && other->job_s < least) {
            scene->decision->better = (int)i;
            least = other->job_s;
        }
    }
}

/* "; on a100 it would run 18 h 39 min less: -p a100", or "". */
static const char *better_clause(const struct scene *scene, char *buffer, size_t size)
{
    const struct dlt_candidate *better, *here;
    char less[32];

    buffer[0] = '\0';
    if (scene->decision->better >= 0) {
        better = &scene->candidates[scene->decision->better];
        here = &scene->candidates[scene->decision->slowest];
        dlt_text_difference(less, here->job_s - better->job_s);
        snprintf(buffer, size, "; on %s it would run %s less: -p %s", better->partition, less,
                 better->partition);
    }
    return buffer;
}

/* --dl-time=off: the partition alone is worth a word. */
static void judge_place_only(const struct scene *scene)
{
    char better[200];

    scene->decision->limit_s = NAN;
    if (*better_clause(scene, better, sizeof better))
        say(scene->decision, false, "%s", better + 2);
}

/* What else can be done about a job that is too long. */
static const char *mend_clause(const struct scene *scene, char *buffer, size_t size)
{
    char better[200];
    const struct dlt_candidate *here = &scene->candidates[scene->decision->slowest];

    snprintf(buffer, size, "write checkpoints and requeue, or take more %s%s",
             here->gpu ? "GPUs" : "CPUs", better_clause(scene, better, sizeof better));
    return buffer;
}

/* The user's own --time is never touched; what there is to say about it. */
static void judge_own_time(const struct scene *scene)
{
    struct dlt_decision *decision = scene->decision;
    const struct dlt_candidate *here = &scene->candidates[decision->slowest];
    const struct dlt_candidate *worst = &scene->candidates[worst_landing(scene, by_p_over_time)];
    char given[32], median[32], limit[32], better[200];

    dlt_text_from_duration(given, scene->request->time_s);
    dlt_text_from_duration(median, worst->job_s);
    dlt_text_from_duration(limit, decision->limit_s);
    better_clause(scene, better, sizeof better);
    if (worst->p_over_time >= scene->config->warn_above) {
        say(decision, true,
            "--time=%s is probably too short: on %s the job takes about %s and runs longer than "
            "that with a probability of %.0f %%; --time=%s would do%s",
            given, worst->partition, median, 100 * worst->p_over_time, limit, better);
    } else if (isfinite(scene->request->time_s)) {
        say(decision, false, "--time=%s is left as it is; %s would do (%s)%s", given, limit,
            here->partition, better);
    } else {
        say(decision, false, "the unlimited --time is left as it is; %s would do (%s)%s", limit,
            here->partition, better);
    }
}

/* The limit does not fit under the smallest maximum of the landing partitions. Where the job
 * itself probably does, the maximum is the best limit; where it does not, none helps. */
static void judge_over_maximum(const struct scene *scene, const struct dlt_candidate *tight)
{
    struct dlt_decision *decision = scene->decision;
    const struct dlt_candidate *here = &scene->candidates[decision->slowest];
    char median[32], maximum[32], mend[300];
    char odds[64] = "may run longer than that";

    /* Only grain or min_limit reach beyond the maximum: it covers the job all the same. */
    if (here->upper_s <= tight->max_time_s) {
        decision->limit_s = tight->max_time_s;
        return;
    }
    dlt_text_from_duration(median, here->job_s);
    dlt_text_from_duration(maximum, tight->max_time_s);
    mend_clause(scene, mend, sizeof mend);
    if (here->max_time_s == tight->max_time_s)
        snprintf(odds, sizeof odds, "runs longer than that with a probability of %.0f %%",
                 100 * here->p_over_max);
    if (here->job_s <= tight->max_time_s) {
        decision->limit_s = tight->max_time_s;
        say(decision, true, "the longest that %s allows is %s, and the job (about %s) %s; %s",
            tight->partition, maximum, median, odds, mend);
    } else {
        decision->action = DLT_LEAVE;
        say(decision, true,
            "time limit left alone: the job takes about %s on %s, and the longest that %s allows "
            "is %s; %s",
            median, here->partition, tight->partition, maximum, mend);
    }
}

/* A limit up to the partition's default is what a job without --time would have as well. */
static bool may_pass_unknown_limit(const struct scene *scene)
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
static const char *reservation(const struct scene *scene, char *buffer, size_t size)
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
static void keep_above_default(const struct scene *scene)
{
    const struct dlt_candidate *weak = &scene->candidates[worst_landing(scene, by_weak_basis)];
    double usual = scene->candidates[scene->decision->slowest].default_time_s;

    if (weak->basis < scene->config->set_requires && usual > scene->decision->limit_s)
        scene->decision->limit_s = usual;
}

static void judge_no_time(const struct scene *scene)
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
    better_clause(scene, better, sizeof better);
    if (reservation(scene, because, sizeof because)) {
        decision->action = DLT_SUGGEST;
        say(decision, scene->request->hands_off != NULL,
            "time limit left alone, because %s; --time=%s %s (%s)%s", because, limit,
            capped ? "is the longest" : "would do", here->partition, capped ? "" : better);
    } else {
        say(decision, false, "time limit %sset to %s (%s)%s", would_be(scene), limit,
            here->partition, capped ? "" : better);
    }
}

/* Memory never refuses; it is worth a word where the job will land. */
static void judge_memory(const struct scene *scene)
{
    for (size_t i = 0; i < scene->count; i++) {
        const struct dlt_candidate *candidate = &scene->candidates[i];
        char need[32], have[32];

        if (!candidate->landing || candidate->why || candidate->fits != DLT_FITS_NO)
            continue;
        dlt_text_from_bytes(need, candidate->memory_bytes);
        dlt_text_from_bytes(have, candidate->device_memory_bytes);
        say(scene->decision, true,
            "%s: the training needs about %s on each device, which has %s: take a smaller batch "
            "with accumulate=, recompute=true, or a larger device",
            candidate->partition, need, have);
        return;
    }
}

static void judge_nowhere(const struct scene *scene)
{
    const char *list = scene->request->partitions;

    if (scene->count == 0)
        say(scene->decision, true,
            "no partition could run the job as it is asked for, or none is "
            "described; nothing is changed");
    else if (*list)
        say(scene->decision, true, "what the job asks for does not match -p %s; nothing is changed",
            list);
    else
        say(scene->decision, true,
            "the default partition could not run the job as it is asked for; name one with -p");
}

void dlt_decide(const struct dlt_config *config, const struct dlt_request *request,
                const struct dlt_modes *modes, struct dlt_candidate *candidates, size_t count,
                struct dlt_decision *decision)
{
    struct scene scene = {config, request, modes, candidates, count, decision};
    const struct dlt_candidate *slowest;

    *decision = (struct dlt_decision){
        .limit_s = NAN, .slowest = DLT_NOWHERE, .better = DLT_NOWHERE, .chosen = DLT_NOWHERE};
    mark_landing(&scene);
    if (modes->partition == DLT_PARTITION_AUTO)
        choose_partition(&scene);
    decision->slowest = worst_landing(&scene, by_upper);
    if (decision->slowest < 0) {
        judge_nowhere(&scene);
        return;
    }
    slowest = &candidates[decision->slowest];
    if (slowest->why) {
        say(decision, true, "no estimate for %s, so the time limit is left alone: %s",
            slowest->partition, slowest->why);
        return;
    }
    if (modes->partition == DLT_PARTITION_SUGGEST)
        find_better(&scene);
    if (!has_time(slowest)) {
        say(decision, true,
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
