/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/known.h"
#include "device/catalogue.h"
#include "learn/bound.h"
#include "learn/steps.h"
#include "predict/prepare.h"
#include "predict/profile_format.h"

/* One time of a run with what it takes to be a case. */
struct candidate {
    struct dlt_step_case step;
    enum dlt_framework framework;
    size_t entry;
    const char *model, *device;
};

struct candidates {
    struct candidate *item;
    size_t count;
};

/* What answers for a run's device: its own entry, and a general one. */
enum { TARGETS = 2, TIMES = 2 };

static bool is_own(const struct dlt_profile *profile, size_t entry, const struct dlt_run *run)
{
    return !profile->entry[entry].general &&
           strcmp(dlt_profile_device(profile, entry)->name, run->device) == 0 &&
           dlt_profile_threads(profile, entry) == run->threads;
}

/* The hardware of a run: as one of the entries has it, or as the catalogue does. */
static const struct dlt_device *hardware(const struct dlt_profile *profile,
                                         const struct dlt_run *run)
{
    for (size_t i = 0; i < dlt_profile_entry_count(profile); i++)
        if (is_own(profile, i, run))
            return dlt_profile_device(profile, i);
    return run->threads > 0 ? NULL : dlt_catalogue_find(run->device);
}

/* Of several entries of a device, the one of the run's framework; the first of them otherwise. */
static size_t find_targets(const struct dlt_profile *profile, const struct dlt_run *run,
                           struct dlt_target target[TARGETS])
{
    const char *framework = dlt_framework_names[dlt_run_framework(run)];
    const struct dlt_device *device = hardware(profile, run);
    bool found[TARGETS] = {false};
    struct dlt_target best[TARGETS];
    size_t count = 0;

    for (size_t i = 0; i < dlt_profile_entry_count(profile) && device; i++) {
        bool general = profile->entry[i].general != 0;
        const char *software = dlt_profile_software(profile, i)->framework;

        if (!general && !is_own(profile, i, run))
            continue;
        if (found[general] && strncmp(software, framework, strlen(framework)) != 0)
            continue;
        found[general] = true;
        best[general] = (struct dlt_target){.entry = i, .device = device};
    }
    for (int general = 0; general < TARGETS; general++)
        if (found[general])
            target[count++] = best[general];
    return count;
}

struct priced {
    struct dlt_step_sum sum;
    int variant;
    double least_s; /* no device of its kind is faster */
};

/* Prices a run's network. -1 with a sentence where its SPEC cannot be read or priced. */
static int price_run(const struct dlt_profile *profile, const struct dlt_run *run,
                     const struct dlt_target *target, struct priced *priced,
                     struct dlt_error *error)
{
    struct dlt_model *model = NULL;
    struct dlt_prepared *prepared = NULL;
    struct dlt_lowered *lowered = NULL;
    struct dlt_bound bound = dlt_bound_of(target->device, run->threads);
    bool training = run->pass != DLT_FORWARD;
    char spec[512];
    int result = -1;

    if (!dlt_run_spec(run, spec, sizeof spec))
        return dlt_fail(error, "%s: longer than a SPEC may be", run->model);
    if (dlt_model_load(spec, NULL, &model, error) == 0 &&
        dlt_prepare(model, &prepared, error) == 0 &&
        dlt_prepared_lower(prepared, run->batch, training, run->threads, &lowered, error) == 0 &&
        dlt_step_price(profile, target, lowered->plan, !training, NULL, &priced->sum, error) == 0) {
        priced->variant = (int)model->training.precision;
        priced->least_s = dlt_bound_step_seconds(&bound, lowered->plan, training);
        priced->sum.kept_bytes =
            training ? dlt_lowered_memory(lowered, &model->training, 1)->activations : 0;
        result = 0;
    }
    dlt_lowered_release(lowered);
    dlt_prepared_destroy(prepared);
    dlt_model_destroy(model);
    return result;
}

/* The times that a run tells: none where it is of several devices or odd. */
static size_t times_of(const struct dlt_run *run, enum dlt_seen seen[TIMES], double seconds[TIMES])
{
    double whole = dlt_run_seconds(run);

    if (run->devices > 1 || run->batch < 1 || run->suspect[0] || !(whole > 0) || !isfinite(whole))
        return 0;
    if (run->pass != DLT_FORWARD && run->forward_s > 0 && run->backward_s > 0 &&
        strcmp(run->optimizer, "none") == 0) {
        seen[0] = DLT_SEEN_FORWARD;
        seconds[0] = run->forward_s;
        seen[1] = DLT_SEEN_BACKWARD;
        seconds[1] = run->backward_s;
        return 2;
    }
    seen[0] = run->pass == DLT_FORWARD ? DLT_SEEN_INFERENCE : DLT_SEEN_STEP;
    seconds[0] = whole;
    return 1;
}

/* False where its device cannot be as fast. */
static bool add_run(const struct dlt_profile *profile, const struct dlt_run *run,
                    struct candidates *candidates, struct dlt_runs_report *report)
{
    struct dlt_target target[TARGETS];
    enum dlt_seen seen[TIMES];
    double seconds[TIMES];
    size_t times = times_of(run, seen, seconds), targets = find_targets(profile, run, target);
    size_t before = candidates->count;
    struct priced priced;
    struct dlt_error why;
    bool used = false;

    if (times == 0 || targets == 0) {
        report->skipped++;
        return true;
    }
    for (size_t t = 0; t < targets; t++) {
        if (price_run(profile, run, &target[t], &priced, &why))
            continue;
        if (dlt_run_seconds(run) < priced.least_s) {
            candidates->count = before;
            return false;
        }
        used = true;
        for (size_t k = 0; k < times; k++)
            candidates->item[candidates->count++] =
                (struct candidate){.step = {.sum = priced.sum,
                                            .seen = seen[k],
                                            .observed_s = seconds[k],
                                            .variant = priced.variant},
                                   .framework = dlt_run_framework(run),
                                   .entry = target[t].entry,
                                   .model = run->model,
                                   .device = run->device};
    }
    report->used += used;
    if (!used && report->unread++ == 0)
        report->example = why;
    return true;
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

/* The number of a name in a list that grows. */
static int number_of(const char **names, int *count, const char *name,
                     bool (*same)(const char *, const char *))
{
    int n = 0;

    while (n < *count && !same(names[n], name))
        n++;
    if (n == *count)
        names[(*count)++] = name;
    return n;
}

static bool same_name(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* Cases of one entry and framework, with room for the names of their networks and devices. */
struct selection {
    struct dlt_step_case *cases;
    const char **networks, **devices;
};

/* Networks and devices are numbered from 0. Returns how many cases there are. */
static size_t select_cases(const struct candidates *candidates, size_t entry,
                           enum dlt_framework framework, struct selection *s)
{
    size_t selected = 0;
    int networks = 0, devices = 0;

    for (size_t i = 0; i < candidates->count; i++) {
        const struct candidate *c = &candidates->item[i];

        if (c->entry != entry || c->framework != framework)
            continue;
        s->cases[selected] = c->step;
        s->cases[selected].network = number_of(s->networks, &networks, c->model, same_network);
        s->cases[selected++].device = number_of(s->devices, &devices, c->device, same_name);
    }
    return selected;
}

/* What a base says of every device is not given up for fewer networks. */
static bool is_known_better(const struct dlt_profile_writer *writer, size_t entry,
                            enum dlt_framework framework,
                            const struct dlt_step_parameters *parameters)
{
    for (size_t i = 0; i < writer->step_count; i++) {
        const struct dlt_file_step *known = &writer->step[i];

        if (known->entry == entry && known->framework == (uint32_t)framework)
            return writer->entry[entry].general &&
                   known->parameters.networks > parameters->networks;
    }
    return false;
}

static int fit_entries(const struct candidates *candidates, const struct dlt_profile *profile,
                       struct dlt_profile_writer *writer, struct dlt_error *error)
{
    size_t room = candidates->count + 1;
    struct selection s = {.cases = calloc(room, sizeof *s.cases),
                          .networks = calloc(room, sizeof *s.networks),
                          .devices = calloc(room, sizeof *s.devices)};
    int result = s.cases && s.networks && s.devices ? 0 : dlt_fail_memory(error);

    for (size_t e = 0; e < dlt_profile_entry_count(profile); e++) {
        for (int f = 0; f < DLT_FRAMEWORKS && result == 0; f++) {
            struct dlt_step_parameters parameters;
            size_t selected = select_cases(candidates, e, (enum dlt_framework)f, &s);

            if (selected == 0)
                continue;
            dlt_learn_steps(s.cases, selected, (enum dlt_framework)f,
                            dlt_profile_threads(profile, e) > 0, &parameters);
            if (!dlt_step_is_sound(&parameters))
                result = dlt_fail(error,
                                  "the runs on %s, framework %s, take times that have nothing to "
                                  "do with those of their operators; step_ms and the like are "
                                  "milliseconds",
                                  dlt_profile_device(profile, e)->name, dlt_framework_names[f]);
            else if (!is_known_better(writer, e, (enum dlt_framework)f, &parameters) &&
                     dlt_profile_writer_step(writer, e, (enum dlt_framework)f, &parameters))
                result = dlt_fail_memory(error);
        }
    }
    free(s.cases);
    free(s.networks);
    free(s.devices);
    return result;
}

/* Keeps those that are not gone. */
static void drop_runs(struct dlt_corpus *corpus, const bool *gone)
{
    size_t kept = 0;

    for (size_t i = 0; i < corpus->run_count; i++)
        if (!gone[i])
            corpus->run[kept++] = corpus->run[i];
    corpus->run_count = kept;
}

int dlt_learn_runs(struct dlt_corpus *corpus, struct dlt_profile_writer *writer,
                   dlt_stray_run_found *found, void *context, struct dlt_runs_report *report,
                   struct dlt_error *error)
{
    struct dlt_profile *profile = NULL;
    struct candidates candidates = {0};
    bool *gone = NULL;
    void *bytes;
    size_t size;
    int result = -1;

    *report = (struct dlt_runs_report){0};
    if (corpus->run_count == 0)
        return 0;
    if (dlt_profile_writer_bytes(writer, &bytes, &size, error) ||
        dlt_profile_from_memory(bytes, size, "the profile in training", &profile, error))
        return -1;
    candidates.item = calloc(corpus->run_count + 1, TARGETS * TIMES * sizeof *candidates.item);
    gone = calloc(corpus->run_count + 1, sizeof *gone);
    if (candidates.item && gone) {
        for (size_t i = 0; i < corpus->run_count; i++) {
            gone[i] = !add_run(profile, &corpus->run[i].run, &candidates, report);
            if (gone[i])
                found(context, &corpus->run[i], DLT_STRAY_IMPOSSIBLE);
        }
        result = fit_entries(&candidates, profile, writer, error);
        drop_runs(corpus, gone);
    } else {
        dlt_fail_memory(error);
    }
    free(candidates.item);
    free(gone);
    dlt_profile_destroy(profile);
    return result;
}
