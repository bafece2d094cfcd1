/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../plugin/advise/devices.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "command/command.h"
#include "command/score.h"
#include "graph/model.h"
#include "measure/measurements.h"
#include "predict/estimate.h"

static const char help[] =
    "Usage: dltime evaluate --profile PROFILE FILE... [--json]\n"
    "A profile's error on measurements or runs, which should not be those that it learned from.\n\n"
    "  --profile PROFILE   a file, or the name of a shipped or installed profile\n"
    "  --json              one object, contract in dltime(1)\n";

static const double central90 = 1.6448536;

struct evaluation {
    const struct dlt_profile *profile;
    const struct dlt_measure_header *header;
    struct scores *scores;
    size_t unread;            /* runs whose network cannot be read or priced */
    struct dlt_error example; /* why the first of them */
};

/* How well an entry stands for a file's device, software and threads; < 0: not at all. Timing
 * conventions are never mixed; a general entry is the last resort. */
static int likeness(const struct evaluation *v, size_t entry, int threads)
{
    const struct dlt_software *mine = dlt_profile_software(v->profile, entry);
    const struct dlt_software *theirs = &v->header->software;
    enum dlt_answers answers = dlt_profile_answers(v->profile, entry, v->header->device.name);

    if (mine->timing != theirs->timing || answers == DLT_ANSWERS_NOT ||
        (answers == DLT_ANSWERS_GENERAL &&
         (dlt_profile_threads(v->profile, entry) > 0) != (threads > 0)))
        return -1;
    return 8 * (int)answers + 4 * (dlt_profile_threads(v->profile, entry) == threads) +
           2 * (strcmp(mine->framework, theirs->framework) == 0) +
           (strcmp(mine->backend, theirs->backend) == 0);
}

static bool find_entry(const struct evaluation *v, int threads, size_t *entry)
{
    int best = -1;

    for (size_t i = 0; i < dlt_profile_entry_count(v->profile); i++) {
        int like = likeness(v, i, threads);

        if (like > best) {
            best = like;
            *entry = i;
        }
    }
    return best >= 0;
}

/* A general entry answers for the hardware that the file's header describes. */
static const struct dlt_device *hardware(const struct evaluation *v, size_t entry)
{
    enum dlt_answers answers = dlt_profile_answers(v->profile, entry, v->header->device.name);

    return answers == DLT_ANSWERS_GENERAL ? &v->header->device
                                          : dlt_profile_device(v->profile, entry);
}

static int score_operator(struct evaluation *v, const struct dlt_measurement *m)
{
    const struct dlt_record *record = &m->record;
    struct dlt_price price = {.seconds = NAN};
    struct score_key key = {0};
    double spread;
    size_t entry;

    dlt_text_copy(key.device, sizeof key.device, v->header->device.name);
    dlt_text_copy(key.op, sizeof key.op, record->kind->name);
    dlt_text_copy(key.pass, sizeof key.pass, dlt_pass_names[record->pass]);
    dlt_text_copy(key.dtype, sizeof key.dtype, dlt_dtype_names[record->dtype]);
    if (find_entry(v, record->threads, &entry))
        dlt_profile_price_on(v->profile, entry, hardware(v, entry), record, &price);
    key.basis = price.basis;
    if (!isfinite(price.seconds) || !(m->median_s > 0))
        return scores_skip(v->scores, &key);
    spread = exp(central90 * price.sigma);
    return scores_add(v->scores, &key, m->median_s, price.seconds, price.seconds / spread,
                      price.seconds * spread);
}

/* One time of a run beside the estimate's; low and high are as far off as the step's. */
static int score_time(struct evaluation *v, const struct score_key *key,
                      const struct dlt_estimate *e, double seen, double predicted)
{
    return scores_add(v->scores, key, seen, predicted,
                      predicted * dlt_estimate_step_quantile(e, 0.05) / e->step_s,
                      predicted * dlt_estimate_step_quantile(e, 0.95) / e->step_s);
}

/* The whole of a run and, of a training whose passes were timed apart, these. A run is scored as it
 * was measured: with what allocating memory anew cost in such runs. */
static int score_estimate(struct evaluation *v, const struct score_key *key,
                          const struct dlt_run *run, const struct dlt_estimate *e)
{
    struct score_key part = *key;
    int result =
        score_time(v, key, e, dlt_run_seconds(run), dlt_estimate_step_s(e) + e->allocate_s);

    if (result || run->pass == DLT_FORWARD || !(run->forward_s > 0) || !(run->backward_s > 0))
        return result;
    part.part = true;
    dlt_text_copy(part.pass, sizeof part.pass, "step's forward");
    result = score_time(v, &part, e, run->forward_s, e->forward_s + e->allocate_s);
    dlt_text_copy(part.pass, sizeof part.pass, "step's backward");
    return result ? result : score_time(v, &part, e, run->backward_s, e->backward_s);
}

static int score_run(struct evaluation *v, const struct dlt_run *run)
{
    struct score_key key = {.network = true};
    struct dlt_question question = {.device = run->device[0] ? run->device : NULL,
                                    .devices = run->devices,
                                    .nodes = run->nodes,
                                    .cpus = run->threads,
                                    .forward_only = run->pass == DLT_FORWARD};
    struct dlt_model *model = NULL;
    struct dlt_estimate *estimate = NULL;
    double seen = dlt_run_seconds(run);
    struct dlt_error why;
    char spec[512];
    int result;

    dlt_text_copy(key.device, sizeof key.device, run->device);
    dlt_text_copy(key.op, sizeof key.op, run->model);
    dlt_text_copy(key.pass, sizeof key.pass, dlt_pass_names[run->pass]);
    dlt_text_copy(key.dtype, sizeof key.dtype, run->precision);
    if (run->suspect[0] || !isfinite(seen) || !dlt_run_spec(run, spec, sizeof spec)) {
        result = scores_skip(v->scores, &key);
    } else if (dlt_model_load(spec, NULL, &model, &why) ||
               dlt_predict(model, v->profile, &question, &estimate, &why)) {
        if (v->unread++ == 0)
            v->example = why;
        result = scores_skip(v->scores, &key);
    } else {
        key.basis = dlt_estimate_basis(estimate);
        result = score_estimate(v, &key, run, estimate);
    }
    dlt_estimate_destroy(estimate);
    dlt_model_destroy(model);
    return result;
}

static int score_file(struct evaluation *v, const char *path, struct dlt_error *error)
{
    struct dlt_measure_reader *reader;
    struct dlt_measurement measurement;
    struct dlt_run run;
    int got;

    if (dlt_measure_open(path, &reader, error))
        return -1;
    v->header = dlt_measure_header(reader);
    while ((got = dlt_measure_next(reader, &measurement, &run, error)) > 0) {
        if (v->header->runs ? score_run(v, &run) : score_operator(v, &measurement)) {
            got = dlt_fail_memory(error);
            break;
        }
    }
    if (dlt_measure_cut(reader))
        fprintf(stderr, "dltime evaluate: %s: the last line is cut short and was skipped\n", path);
    if (dlt_measure_unknown(reader))
        fprintf(stderr, "dltime evaluate: %s: %zu rows of operators unknown to this version\n",
                path, dlt_measure_unknown(reader));
    dlt_measure_close(reader);
    return got;
}

static int evaluate(const char *name, char **file, int count, bool json)
{
    char buffer[PATH_MAX];
    const char *path = command_profile_path(name, buffer, sizeof buffer);
    struct dlt_profile *profile = NULL;
    struct dlt_error error;
    struct evaluation v = {0};
    int result = dlt_devices_load_installed(&error) ? -1 : dlt_profile_load(path, &profile, &error);

    v.profile = profile;
    if (result == 0 && !(v.scores = scores_create()))
        result = dlt_fail_memory(&error);
    for (int i = 0; i < count && result == 0; i++)
        result = score_file(&v, file[i], &error);
    if (result == 0)
        result = dlt_profile_check(profile, &error);
    if (result == 0 && v.unread)
        fprintf(stderr, "dltime evaluate: %zu runs were skipped: %s\n", v.unread, v.example.text);
    if (result == 0 && json) {
        struct json_object *object = scores_json(v.scores);

        dlt_json_print(stdout, object);
        json_object_put(object);
    } else if (result == 0) {
        scores_print(v.scores);
    }
    scores_destroy(v.scores);
    dlt_profile_destroy(profile);
    return result ? command_fail("evaluate", &error) : COMMAND_DONE;
}

int command_evaluate(int argc, char **argv)
{
    enum { PROFILE = 256, JSON, HELP };
    static const struct option options[] = {{"profile", required_argument, NULL, PROFILE},
                                            {"json", no_argument, NULL, JSON},
                                            {"help", no_argument, NULL, HELP},
                                            {0}};
    const char *profile = NULL;
    bool json = false;
    int option;

    optind = 0;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == HELP) {
            fputs(help, stdout);
            return COMMAND_DONE;
        }
        if (option == PROFILE)
            profile = optarg;
        else if (option == JSON)
            json = true;
        else
            return command_unknown("evaluate", argv);
    }
    if (!profile)
        return command_usage("evaluate", "say which profile: --profile FILE or NAME");
    if (optind == argc)
        return command_usage("evaluate", "name at least one file of measurements or runs");
    return evaluate(profile, argv + optind, argc - optind, json);
}
