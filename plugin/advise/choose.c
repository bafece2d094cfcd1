/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "scene.h"

/* Could the job be sent here with good conscience? */
bool dlt_scene_recommends(const struct dlt_scene *scene, const struct dlt_candidate *candidate)
{
    return candidate->up && dlt_scene_has_time(candidate) && candidate->fits != DLT_FITS_NO &&
           candidate->access != DLT_ACCESS_CLOSED && !scene->request->bound &&
           candidate->basis >= scene->config->set_requires &&
           dlt_limit(scene->config, candidate->upper_s) <= candidate->max_time_s;
}

/* Nobody looks at what is chosen before it is submitted. */
static bool choosable(const struct dlt_scene *scene, const struct dlt_candidate *candidate)
{
    return dlt_scene_recommends(scene, candidate) && candidate->access == DLT_ACCESS_OPEN;
}

/*
 * Candidates of one partition stand side by side. Of its kinds of nodes the one counts for which
 * `value` is largest: its index, or DLT_NOWHERE where one of them is not `good` or has no value.
 * *next: where the next partition begins.
 */
static int worst_kind(const struct dlt_scene *scene, size_t first,
                      bool (*good)(const struct dlt_scene *, const struct dlt_candidate *),
                      double (*value)(const struct dlt_candidate *), size_t *next)
{
    int worst = (int)first;
    size_t i = first;

    do {
        const struct dlt_candidate *candidate = &scene->candidates[i];

        if (worst >= 0 && (!good(scene, candidate) || isnan(value(candidate))))
            worst = DLT_NOWHERE;
        else if (worst >= 0 && value(candidate) > value(&scene->candidates[worst]))
            worst = (int)i;
        i++;
    } while (i < scene->count &&
             strcmp(scene->candidates[i].partition, scene->candidates[first].partition) == 0);
    *next = i;
    return worst;
}

static double run_of(const struct dlt_candidate *candidate)
{
    return candidate->job_s;
}

static double cost_of(const struct dlt_candidate *candidate)
{
    return candidate->price * candidate->placement.devices * candidate->job_s / 3600;
}

static double finish_of(const struct dlt_candidate *candidate)
{
    return candidate->start_s + candidate->job_s;
}

static const struct {
    double (*least)(const struct dlt_candidate *candidate);
    const char *missing; /* why nothing could be chosen */
} objectives[DLT_OBJECTIVES] = {
    [DLT_OBJECTIVE_RUN] = {run_of, "no estimate is good enough for that here"},
    [DLT_OBJECTIVE_COST] = {cost_of, "no partition has both a price in dltime.conf and an estimate "
                                     "that is good enough"},
    [DLT_OBJECTIVE_FINISH] = {finish_of, "Slurm did not say in time when the job would start"},
};

/* "partition set to a100: ..." */
static void say_chosen(const struct dlt_scene *scene, enum dlt_objective objective)
{
    const struct dlt_candidate *chosen = &scene->candidates[scene->decision->chosen];
    char why[160] = "", figure[32];

    if (objective == DLT_OBJECTIVE_COST)
        snprintf(why, sizeof why, ": the cheapest run, %s",
                 dlt_text_from_double(figure, cost_of(chosen), 3));
    else if (objective == DLT_OBJECTIVE_FINISH)
        snprintf(
            why, sizeof why,
            ": the job would end earliest there, in about %s by what Slurm guesses of the queue",
            dlt_text_difference(figure, finish_of(chosen)));
    dlt_scene_say(scene->decision, false, "partition %sset to %s%s", dlt_scene_would_be(scene),
                  chosen->partition, why);
}

/* Why --dl-partition=auto may not choose, as a clause, or NULL. */
static const char *choice_refused(const struct dlt_scene *scene, enum dlt_objective objective)
{
    if (objective == DLT_OBJECTIVE_FINISH && !scene->config->ask_start)
        return "this site does not let Slurm be asked when a job would start; "
               "--dl-partition=auto:run chooses the shortest run";
    return scene->request->hands_off ? scene->request->hands_off : scene->request->bound;
}

/* Where --dl-partition=auto sends a job that names no partition. */
void dlt_scene_choose(const struct dlt_scene *scene, enum dlt_objective objective)
{
    struct dlt_decision *decision = scene->decision;
    const char *refused = choice_refused(scene, objective);
    double (*value)(const struct dlt_candidate *) = objectives[objective].least;

    if (scene->request->partitions[0]) {
        dlt_scene_say(decision, false, "-p %s is left as it is", scene->request->partitions);
        return;
    }
    if (refused) {
        dlt_scene_say(decision, true, "partition left alone, because %s%s", refused,
                      *refused == '-' ? " is given" : "");
        return;
    }
    for (size_t i = 0; i < scene->count;) {
        int worst = worst_kind(scene, i, choosable, value, &i);

        if (worst >= 0 && (decision->chosen < 0 || value(&scene->candidates[worst]) <
                                                       value(&scene->candidates[decision->chosen])))
            decision->chosen = worst;
    }
    if (decision->chosen < 0) {
        dlt_scene_say(decision, true, "no partition chosen: %s", objectives[objective].missing);
        return;
    }
    for (size_t i = 0; i < scene->count; i++)
        scene->candidates[i].landing = strcmp(scene->candidates[i].partition,
                                              scene->candidates[decision->chosen].partition) == 0;
    say_chosen(scene, objective);
}

size_t dlt_shortlist(const struct dlt_config *config, const struct dlt_request *request,
                     const struct dlt_candidate *candidates, size_t count,
                     size_t index[DLT_SHORTLIST])
{
    /* Not changed: the scene of a decision may be. */
    const struct dlt_scene scene = {.config = config,
                                    .request = request,
                                    .candidates = (struct dlt_candidate *)candidates,
                                    .count = count};
    size_t filled = 0;

    for (size_t i = 0; i < count;) {
        int worst = worst_kind(&scene, i, choosable, run_of, &i);
        size_t at = filled < DLT_SHORTLIST ? filled : DLT_SHORTLIST - 1;

        if (worst < 0 ||
            (filled == DLT_SHORTLIST && candidates[worst].job_s >= candidates[index[at]].job_s))
            continue;
        filled += filled < DLT_SHORTLIST;
        for (; at > 0 && candidates[worst].job_s < candidates[index[at - 1]].job_s; at--)
            index[at] = index[at - 1];
        index[at] = (size_t)worst;
    }
    return filled;
}

void dlt_scene_find_better(const struct dlt_scene *scene)
{
    const struct dlt_candidate *here;
    double least;

    if (scene->decision->slowest < 0)
        return;
    here = &scene->candidates[scene->decision->slowest];
    if (!dlt_scene_has_time(here))
        return;
    least = here->job_s * (1 - scene->config->better_by);
    for (size_t i = 0; i < scene->count;) {
        int worst = worst_kind(scene, i, dlt_scene_recommends, run_of, &i);

        if (worst >= 0 && !scene->candidates[worst].landing &&
            scene->candidates[worst].job_s < least) {
            scene->decision->better = worst;
            least = scene->candidates[worst].job_s;
        }
    }
}
