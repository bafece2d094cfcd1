/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/known.h"
#include "learn/steps.h"

/* One run with what it takes to be a case. */
struct candidate {
    struct dlt_step_case step;
    enum dlt_framework framework;
    size_t entry;
    const char *model;
};

static bool find_entry(const struct dlt_profile *profile, const struct dlt_run *run, size_t *entry)
{
    for (size_t i = 0; i < dlt_profile_entry_count(profile); i++) {
        if (strcmp(dlt_profile_device(profile, i)->name, run->device) == 0 &&
            dlt_profile_threads(profile, i) == run->threads) {
            *entry = i;
            return true;
        }
    }
    return false;
}

/* Prices the run's network. -1 with a sentence where its SPEC cannot be read or priced. */
static int price_run(const struct dlt_profile *profile, const struct dlt_run *run,
                     struct candidate *c, struct dlt_error *error)
{
    struct dlt_model *model = NULL;
    struct dlt_graph *graph = NULL;
    struct dlt_plan *plan = NULL;
    const struct dlt_target target = {c->entry, dlt_profile_device(profile, c->entry)};
    char spec[512];
    int result = -1;

    if (!dlt_run_spec(run, spec, sizeof spec))
        return dlt_fail(error, "%s: longer than a SPEC may be", run->model);
    if (dlt_model_load(spec, NULL, &model, error) == 0 &&
        dlt_model_graph(model, run->batch, &graph, error) == 0 &&
        dlt_lower(graph, &model->training, !c->step.forward_only, run->threads, &plan, error) == 0)
        result =
            dlt_step_price(profile, &target, plan, c->step.forward_only, NULL, &c->step.sum, error);
    dlt_plan_destroy(plan);
    dlt_graph_destroy(graph);
    dlt_model_destroy(model);
    return result;
}

/* Whether a run can tell about steps: one device, a time, a batch, nothing odd about it. */
static bool usable(const struct dlt_run *run, struct candidate *c)
{
    c->step.forward_only = run->pass == DLT_FORWARD;
    c->step.observed_s = c->step.forward_only ? run->forward_s : run->step_s;
    c->framework = dlt_run_framework(run);
    c->model = run->model;
    return run->devices <= 1 && run->batch > 0 && run->suspect[0] == '\0' &&
           c->step.observed_s > 0 && isfinite(c->step.observed_s);
}

static void make_candidates(const struct dlt_corpus *corpus, const struct dlt_profile *profile,
                            struct candidate *candidates, struct dlt_runs_report *report)
{
    for (size_t i = 0; i < corpus->run_count; i++) {
        const struct dlt_run *run = &corpus->run[i].run;
        struct candidate *c = &candidates[report->used];
        struct dlt_error why;

        if (!usable(run, c) || !find_entry(profile, run, &c->entry)) {
            report->skipped++;
        } else if (price_run(profile, run, c, &why)) {
            if (report->unread++ == 0)
                report->example = why;
        } else {
            report->used++;
        }
    }
}

static size_t name_length(const char *model)
{
    return strcspn(model, ",");
}

static bool same_network(const char *a, const char *b)
{
    DLT_KNOWN(a && b);
    return name_length(a) == name_length(b) && strncmp(a, b, name_length(a)) == 0;
}

/* The cases of one entry and framework, networks numbered from 0. Returns how many. */
static size_t select_cases(const struct candidate *candidates, size_t count, size_t entry,
                           enum dlt_framework framework, struct dlt_step_case *cases,
                           const char **names)
{
    size_t selected = 0;
    int networks = 0;

    for (size_t i = 0; i < count; i++) {
        const struct candidate *c = &candidates[i];
        int n = 0;

        if (c->entry != entry || c->framework != framework)
            continue;
        while (n < networks && !same_network(names[n], c->model))
            n++;
        if (n == networks)
            names[networks++] = c->model;
        cases[selected] = c->step;
        cases[selected++].network = n;
    }
    return selected;
}

static int fit_entries(const struct candidate *candidates, size_t count,
                       const struct dlt_profile *profile, struct dlt_profile_writer *writer,
                       struct dlt_error *error)
{
    struct dlt_step_case *cases = calloc(count + 1, sizeof *cases);
    const char **names = calloc(count + 1, sizeof *names);
    int result = cases && names ? 0 : dlt_fail_memory(error);

    for (size_t e = 0; e < dlt_profile_entry_count(profile); e++) {
        for (int f = 0; f < DLT_FRAMEWORKS && result == 0; f++) {
            struct dlt_step_parameters parameters;
            size_t selected =
                select_cases(candidates, count, e, (enum dlt_framework)f, cases, names);

            if (selected == 0)
                continue;
            dlt_learn_steps(cases, selected, (enum dlt_framework)f,
                            dlt_profile_threads(profile, e) > 0, &parameters);
            if (dlt_profile_writer_step(writer, e, (enum dlt_framework)f, &parameters))
                result = dlt_fail_memory(error);
        }
    }
    free(names);
    free(cases);
    return result;
}

int dlt_learn_runs(const struct dlt_corpus *corpus, struct dlt_profile_writer *writer,
                   struct dlt_runs_report *report, struct dlt_error *error)
{
    struct dlt_profile *profile = NULL;
    struct candidate *candidates;
    void *bytes;
    size_t size;
    int result;

    *report = (struct dlt_runs_report){0};
    if (corpus->run_count == 0)
        return 0;
    if (dlt_profile_writer_bytes(writer, &bytes, &size, error) ||
        dlt_profile_from_memory(bytes, size, "the profile in training", &profile, error))
        return -1;
    candidates = calloc(corpus->run_count + 1, sizeof *candidates);
    if (!candidates) {
        dlt_profile_destroy(profile);
        return dlt_fail_memory(error);
    }
    make_candidates(corpus, profile, candidates, report);
    result = fit_entries(candidates, report->used, profile, writer, error);
    free(candidates);
    dlt_profile_destroy(profile);
    return result;
}
