/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise.so: what happens to one submission. Loaded by spank_dltime.so in sbatch, salloc and srun
 * only, with the submitter's rights; exports one function.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../advise/advise.h"
#include "../advise/cache.h"
#include "../advise/child.h"
#include "../advise/tell.h"
#include "../advise/words.h"
#include "../spank/advise_call.h"
#include "base/error.h"
#include "base/text.h"
#include "fill.h"
#include "graph/record.h"
#include "jobspec.h"
#include "options_api.h"

__attribute__((visibility("default"))) dlt_advise_function dltime_advise;

/* The model of the last SPEC: checking an option and advising on it read it once. */
static struct {
    char *spec;
    struct dlt_model *model;
} loaded;

static int load(const char *spec, struct dlt_error *error)
{
    if (loaded.spec && strcmp(loaded.spec, spec) == 0)
        return 0;
    free(loaded.spec);
    dlt_model_destroy(loaded.model);
    loaded.spec = NULL;
    loaded.model = NULL;
    if (dlt_model_load(spec, NULL, &loaded.model, error))
        return -1;
    loaded.spec = strdup(spec);
    return loaded.spec ? 0 : dlt_fail_memory(error);
}

/* Runs in the child. */
static int fill(FILE *stream, void *context)
{
    const bool *nodes = context;
    struct dlt_snapshot *snapshot;
    struct dlt_error error;

    if (fill_snapshot(*nodes, &snapshot, &error)) {
        fputs(error.text, stream);
        return -1;
    }
    return dlt_snapshot_write(stream, snapshot);
}

static int get_snapshot(const struct dlt_config *config, const struct dlt_request *request,
                        struct dlt_snapshot **snapshot, struct dlt_error *error)
{
    bool nodes = config->partition_count == 0;
    char key[512], *text;
    size_t size;
    int result;

    /* To ask all the same would be logged as a violation of security. */
    if (fill_refused())
        return dlt_advice_assume_private(config, request, slurm_conf.slurm_user_id, snapshot,
                                         error);
    fill_key(nodes, key, sizeof key);
    if (dlt_cache_read(key, config->snapshot_age_s, DLT_SNAPSHOT_BYTES_MAX, &text, &size)) {
        result = dlt_snapshot_parse(text, size, snapshot, error);
        free(text);
        if (result == 0)
            return 0;
    }
    if (dlt_child_collect(fill, &nodes, "Slurm's controller", config->deadline_s,
                          DLT_SNAPSHOT_BYTES_MAX, &text, &size, error))
        return -1;
    result = dlt_snapshot_parse(text, size, snapshot, error);
    if (result == 0 && config->snapshot_age_s > 0)
        dlt_cache_write(key, text, size);
    free(text);
    return result;
}

/* What was set in this process: Slurm hands --time and -p of one component of a heterogeneous job
 * on to the next, where they would pass for the user's own. */
static struct {
    double time_s;
    char partition[DLT_NAME_SIZE];
    char tag[DLT_TAG_SIZE];
} ours;

/* Whether that is the time limit: one of more seconds than an int holds becomes another in Slurm.
 */
static bool has_time(void *opt, double time_s)
{
    char *time = slurm_option_get(opt, "time");
    double has_s;
    bool same = time && dlt_text_to_duration(time, 60, &has_s) && has_s == time_s;

    slurm_xfree((void **)&time);
    return same;
}

static void undo(void *opt)
{
    char *partition = slurm_option_get(opt, "partition");
    char *comment = slurm_option_get(opt, "comment");

    if (ours.time_s > 0 && has_time(opt, ours.time_s))
        slurm_option_reset(opt, "time");
    if (ours.partition[0] && partition && strcmp(partition, ours.partition) == 0)
        slurm_option_reset(opt, "partition");
    if (ours.tag[0] && comment && strcmp(comment, ours.tag) == 0)
        slurm_option_reset(opt, "comment");
    ours.time_s = 0;
    ours.partition[0] = ours.tag[0] = '\0';
    slurm_xfree((void **)&comment);
    slurm_xfree((void **)&partition);
}

/* The job's comment, never over the user's own. A job without a tag runs as well: what was decided
 * for it stands. */
static void leave_tag(void *opt, const char *tag)
{
    char *comment;

    if (!tag[0] || slurm_option_isset(opt, "comment"))
        return;
    slurm_option_set(opt, "comment", tag, false);
    comment = slurm_option_get(opt, "comment");
    if (comment && strcmp(comment, tag) == 0)
        dlt_text_copy(ours.tag, sizeof ours.tag, tag);
    else
        dlt_tell_warning("Slurm did not take the job's comment; nothing will be learned from it");
    slurm_xfree((void **)&comment);
}

/* Puts the decision into the submission's options: time, partition and the site's tag, nothing
 * else. */
static int apply(void *opt, const struct dlt_advice *advice, struct dlt_error *error)
{
    const struct dlt_decision *decision = &advice->decision;
    char limit[32];

    /* Releases differ in what slurm_option_set returns; whether it worked is seen afterwards. */
    if (decision->chosen >= 0) {
        slurm_option_set(opt, "partition", advice->candidates[decision->chosen].partition, false);
        if (!slurm_option_isset(opt, "partition"))
            return dlt_fail(error, "Slurm did not take the partition");
        dlt_text_copy(ours.partition, sizeof ours.partition,
                      advice->candidates[decision->chosen].partition);
    }
    if (decision->action == DLT_SET) {
        double set_s;

        dlt_text_from_duration(limit, decision->limit_s);
        slurm_option_set(opt, "time", limit, false);
        /* Slurm keeps whole minutes. */
        if (dlt_text_to_duration(limit, 60, &set_s))
            ours.time_s = ceil(set_s / 60) * 60;
        if (!has_time(opt, ours.time_s)) {
            slurm_option_reset(opt, "time");
            undo(opt);
            return dlt_fail(error, "Slurm did not take the time limit %s", limit);
        }
    }
    leave_tag(opt, advice->tag);
    return 0;
}

static const char *const told_names[] = {DLT_TOLD_NUMBERS, DLT_TOLD_TEXTS};

/* The controller's plugins and the prologs see of each component of a job what was said of it. */
static void tell_controller(const struct dlt_advise_call *call,
                            const struct dlt_advice_variable *variables, size_t count)
{
    for (size_t i = 0; i < sizeof told_names / sizeof *told_names; i++) {
        const char *value = NULL;

        for (size_t j = 0; j < count && !value; j++)
            if (strcmp(variables[j].name, told_names[i]) == 0)
                value = variables[j].value;
        call->tell(call->context, told_names[i], value);
    }
}

/* Only variables that begin with SLURM survive --export=NONE: each goes out under both names. */
static void tell_job(const struct dlt_advise_call *call, const struct dlt_advice *advice,
                     const struct dlt_request *request)
{
    static bool told; /* the components of a heterogeneous job share one environment: the first's */
    struct dlt_advice_variable variables[DLT_ADVICE_VARIABLES];
    double limit_s =
        advice->decision.action == DLT_SET ? advice->decision.limit_s : request->time_s;
    size_t count = dlt_advice_variables(advice, limit_s, variables);

    tell_controller(call, variables, count);
    for (size_t i = 0; i < count && !told; i++) {
        char name[64];

        setenv(variables[i].name, variables[i].value, 1);
        snprintf(name, sizeof name, "SLURM_%s", variables[i].name);
        setenv(name, variables[i].value, 1);
    }
    told = true;
}

static void print(const struct dlt_advice *advice, bool quiet)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    if (!stream)
        return;
    dlt_advice_print(stream, advice, quiet);
    if (fclose(stream) == 0)
        dlt_tell(text);
    free(text);
}

/* For the children that ask when the job would start. */
struct start_work {
    void *opt;
    double end_s; /* by dlt_child_now_s */
    const struct dlt_start *start;
};

/* Runs in the child. */
static int ask_one(FILE *stream, void *context)
{
    const struct start_work *work = context;
    double start_s;

    if (!jobspec_start(work->opt, work->start->partition, work->start->limit_s, &start_s))
        return -1;
    fprintf(stream, "%.0f", start_s);
    return 0;
}

/* dlt_ask_start. */
static void ask_start(void *context, struct dlt_start *starts, size_t count)
{
    struct start_work *work = context;

    for (size_t i = 0; i < count; i++) {
        double left_s = work->end_s - dlt_child_now_s();
        struct dlt_error error;
        char *text;
        size_t size;

        work->start = &starts[i];
        if (left_s > 0 && dlt_child_collect(ask_one, work, "Slurm's controller", left_s, 64, &text,
                                            &size, &error) == 0) {
            if (!dlt_text_to_double(text, &starts[i].start_s))
                starts[i].start_s = NAN;
            free(text);
        }
    }
}

static int submit(const struct dlt_advise_call *call, const struct dlt_config *config,
                  const struct dlt_request *request, struct dlt_error *error)
{
    struct dlt_advice_question question = {
        .config = config,
        .request = request,
        .spec = call->spec,
        .modes = {.time = config->dl_time, .partition = config->dl_partition},
        .ask_start = ask_start,
    };
    struct start_work starts = {.opt = call->opt, .end_s = dlt_child_now_s() + config->deadline_s};
    struct dlt_snapshot *snapshot = NULL;
    struct dlt_advice *advice = NULL;
    int result;

    if (load(call->spec, error))
        return dlt_fail_in(error, "%s: ", call->from_environment ? "DL_MODEL" : "--dl-model");
    question.model = loaded.model;
    question.ask_context = &starts;

    if (call->dl_time)
        question.modes.time =
            (enum dlt_time_mode)dlt_name_index(dlt_time_mode_names, DLT_TIME_MODES, call->dl_time);
    if (call->dl_partition)
        question.modes.partition = (enum dlt_partition_mode)dlt_name_index(
            dlt_partition_mode_names, DLT_PARTITION_MODES, call->dl_partition);
    /* Where the job goes elsewhere, this cluster is not asked. */
    if (request->elsewhere ? dlt_advice_assume(config, request, &snapshot, error)
                           : get_snapshot(config, request, &snapshot, error))
        return -1;
    question.snapshot = snapshot;
    result = dlt_advise(&question, &advice, error);
    if (result == 0) {
        result = apply(call->opt, advice, error);
        if (result == 0) {
            print(advice, slurm_option_isset(call->opt, "quiet"));
            tell_job(call, advice, request);
        }
        dlt_advice_destroy(advice);
    }
    dlt_snapshot_destroy(snapshot);
    return result;
}

static int submit_or_undo(const struct dlt_advise_call *call, struct dlt_error *error)
{
    struct dlt_request request;
    struct dlt_config config;
    int result;

    undo(call->opt);
    tell_controller(call, NULL, 0);
    /* Nothing to do: a step in a job that is there, or what Slurm is about to refuse. */
    if (call->action == DLT_ADVISE_UNDO || (call->srun && slurm_option_isset(call->opt, "jobid")) ||
        !jobspec_read(call->opt, &request))
        return 0;
    dlt_config_init(&config);
    result = dlt_config_load(call->conf, (uid_t)slurm_conf.slurm_user_id, &config, error);
    if (result == 0)
        result = submit(call, &config, &request, error);
    dlt_config_clear(&config);
    return result;
}

int dltime_advise(struct dlt_advise_call *call)
{
    struct dlt_error error = {""};
    int result;

    if (call->size != sizeof *call || call->slurm_version >> 8 != SLURM_VERSION_NUMBER >> 8)
        return DLT_ADVISE_ALIEN;
    if (call->action == DLT_ADVISE_CHECK)
        result = load(call->spec, &error);
    else
        result = submit_or_undo(call, &error);
    if (result)
        dlt_text_copy(call->message, sizeof call->message, error.text);
    return result;
}
