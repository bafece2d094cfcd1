/* SPDX-License-Identifier: Apache-2.0 */
#include "advise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "predict/estimate.h"
#include "predict/profile.h"
#include "table.h"
#include "words.h"

enum { PROFILES_MAX = 64 };

/* Profiles that were opened, or that could not be: several partitions share one. */
struct opened {
    const char *path;
    struct dlt_profile *profile;
    struct dlt_error error;
};

struct work {
    const struct dlt_advice_question *question;
    struct dlt_advice *advice;
    struct dlt_model *model;
    size_t opened_count;
    struct opened opened[PROFILES_MAX];
};

static const struct opened *open_profile(struct work *work, const char *path)
{
    struct opened *opened;
    char real[PATH_MAX];

    for (size_t i = 0; i < work->opened_count; i++) {
        if (strcmp(work->opened[i].path, path) == 0)
            return &work->opened[i];
    }
    if (work->opened_count == PROFILES_MAX)
        return NULL;
    opened = &work->opened[work->opened_count++];
    opened->path = path;
    if (dlt_trust_path(path, (uid_t)work->question->snapshot->slurm_uid, real, &opened->error) ||
        dlt_profile_load(real, &opened->profile, &opened->error))
        opened->profile = NULL;
    return opened;
}

static void forget(struct work *work)
{
    for (size_t i = 0; i < work->opened_count; i++)
        dlt_profile_destroy(work->opened[i].profile);
    dlt_model_destroy(work->model);
    free(work);
}

/* "90 epochs of 2503 steps", "2.5 epochs of 938 steps", "10000 steps", or "". */
static void describe_length(const struct dlt_estimate *e, char *text, size_t size)
{
    char epochs[32], steps[32];

    text[0] = '\0';
    if (isfinite(e->epochs) && isfinite(e->steps_per_epoch) && e->training.steps == 0)
        snprintf(text, size, "; %s epoch%s of %s steps", dlt_text_from_double(epochs, e->epochs, 6),
                 e->epochs == 1 ? "" : "s",
                 dlt_text_from_double(steps, ceil(e->steps_per_epoch), 12));
    else if (e->training.steps > 0)
        snprintf(text, size, "; %lld steps", (long long)e->training.steps);
}

/* "resnet50: 25.6 M parameters; 90 epochs of 2503 steps; 256 per GPU, 512 in all; float32" */
static void describe(struct dlt_advice *advice, const struct dlt_estimate *e, bool gpu)
{
    char parameters[32], length[96], batch[48], all[48] = "";

    describe_length(e, length, sizeof length);
    if (e->devices > 1)
        snprintf(all, sizeof all, ", %lld in all", (long long)e->batch * e->devices);
    if (!gpu && e->devices == 1)
        snprintf(batch, sizeof batch, "batches of %lld", (long long)e->batch);
    else
        snprintf(batch, sizeof batch, "%lld per %s", (long long)e->batch, gpu ? "GPU" : "node");
    snprintf(advice->headline, sizeof advice->headline, "%s: %s parameters%s; %s%s; %s", e->model,
             dlt_text_from_count(parameters, e->parameters), length, batch, all,
             dlt_precision_names[e->training.precision]);
    dlt_text_printable(advice->headline);
}

/* CPUs were benchmarked with so many threads; with another number of them the time is another. */
static enum dlt_basis basis_of(const struct dlt_candidate *candidate,
                               const struct dlt_profile *profile,
                               const struct dlt_question *question,
                               const struct dlt_estimate *estimate)
{
    enum dlt_basis basis = dlt_estimate_basis(estimate);
    struct dlt_error error;
    size_t entry;

    if (!candidate->gpu && basis > DLT_BASIS_GENERAL &&
        dlt_profile_find(profile, question->device, question->cpus, &entry, &error) == 0 &&
        dlt_profile_threads(profile, entry) > 0 &&
        dlt_profile_threads(profile, entry) != question->cpus)
        return DLT_BASIS_GENERAL;
    return basis;
}

static void take_estimate(struct work *work, struct dlt_candidate *candidate, char *device,
                          size_t device_size, const struct dlt_estimate *estimate)
{
    const struct dlt_config *config = work->question->config;
    double given = work->question->request->time_s;

    candidate->step_s = dlt_estimate_step_s(estimate);
    candidate->epoch_s = dlt_estimate_epoch_s(estimate);
    candidate->job_s = dlt_estimate_job_s(estimate);
    candidate->low_s = dlt_estimate_job_quantile(estimate, 0.05);
    candidate->high_s = dlt_estimate_job_quantile(estimate, 0.95);
    candidate->upper_s = dlt_estimate_job_quantile(estimate, config->confidence);
    candidate->p_over_time = isfinite(given) ? dlt_estimate_exceeds(estimate, given) : 0;
    candidate->p_over_max =
        isfinite(candidate->max_time_s) ? dlt_estimate_exceeds(estimate, candidate->max_time_s) : 0;
    candidate->fits = dlt_estimate_fits(estimate);
    candidate->memory_bytes = dlt_estimate_memory_bytes(estimate);
    if (!(candidate->device_memory_bytes > 0))
        candidate->device_memory_bytes =
            estimate->device.memory_bytes > 0 ? estimate->device.memory_bytes : NAN;
    dlt_text_copy(device, device_size, dlt_estimate_device(estimate));
    if (!work->advice->headline[0])
        describe(work->advice, estimate, candidate->gpu);
}

/* Predicts for a candidate, or leaves why not. */
static void predict(struct work *work, size_t index, const struct dlt_site_partition *site,
                    const struct dlt_shape *shape)
{
    struct dlt_candidate *candidate = &work->advice->candidates[index];
    char *why = work->advice->why[index], *device = work->advice->device[index];
    const size_t why_size = sizeof work->advice->why[0], device_size = sizeof *work->advice->device;
    const char *path = site && site->profile[0] ? site->profile : work->question->config->profile;
    const struct opened *opened = *path ? open_profile(work, path) : NULL;
    struct dlt_question question = {
        .devices = candidate->placement.devices,
        .nodes = candidate->placement.nodes,
        .cpus = candidate->placement.cpus,
        .memory_bytes = site ? site->memory_bytes : 0,
    };
    struct dlt_estimate *estimate = NULL;
    struct dlt_error error;

    dlt_text_copy(device, device_size, site && site->device[0] ? site->device : shape->gpu);
    if (*device)
        question.device = device;
    candidate->device_memory_bytes = question.memory_bytes;
    candidate->why = why;
    if (candidate->gpu && !dlt_request_wants_gpus(work->question->request))
        dlt_text_copy(why, why_size, "the job asks for no GPU; add --gres=gpu:1");
    else if (!*path)
        dlt_text_copy(why, why_size,
                      "dltime.conf names no profile for it; `dltime train` makes one");
    else if (!opened)
        dlt_text_copy(why, why_size, "dltime.conf names too many profiles");
    else if (!opened->profile)
        dlt_text_copy(why, why_size, opened->error.text);
    else if (dlt_predict(work->model, opened->profile, &question, &estimate, &error))
        dlt_text_copy(why, why_size, error.text);
    else
        candidate->why = NULL;
    if (estimate) {
        candidate->basis = basis_of(candidate, opened->profile, &question, estimate);
        take_estimate(work, candidate, device, device_size, estimate);
    }
    dlt_estimate_destroy(estimate);
}

static double longest(const struct dlt_config *config, const struct dlt_partition *partition,
                      const struct dlt_site_partition *site)
{
    double most = fmin(partition->max_time_s, config->max_limit_s);

    if (site && site->max_wall_s < most)
        most = site->max_wall_s;
    /* Slurm rounds a limit up to whole minutes, which must not lift it over this. */
    return isfinite(most) ? floor(most / 60) * 60 : most;
}

static void add_candidate(struct work *work, const struct dlt_partition *partition,
                          const struct dlt_site_partition *site, const struct dlt_shape *shape)
{
    struct dlt_advice *advice = work->advice;
    struct dlt_request request = *work->question->request;
    bool named = dlt_list_has(request.partitions, partition->name);
    struct dlt_shape whole = *shape;
    struct dlt_placement placement;
    size_t index = advice->count;

    if (!partition->up && !named)
        return;
    if (shape->gpus > 0 && !dlt_request_wants_gpus(&request) && !named && !partition->is_default)
        return;
    if (whole.nodes == 0 || (partition->max_nodes > 0 && partition->max_nodes < whole.nodes))
        whole.nodes = partition->max_nodes;
    request.exclusive = request.exclusive || partition->exclusive;
    if (!dlt_request_place(&request, &whole, &placement))
        return;
    advice->candidates[advice->count++] = (struct dlt_candidate){
        .partition = partition->name,
        .device = advice->device[index],
        .gpu = shape->gpus > 0,
        .up = partition->up,
        .is_default = partition->is_default,
        .default_time_s = partition->default_time_s,
        .max_time_s = longest(work->question->config, partition, site),
        .limit_unknown =
            work->question->snapshot->limits_enforced && !(site && isfinite(site->max_wall_s)),
        .placement = placement,
        .step_s = NAN,
        .epoch_s = NAN,
        .job_s = NAN,
        .low_s = NAN,
        .high_s = NAN,
        .upper_s = NAN,
        .memory_bytes = NAN,
        .device_memory_bytes = NAN,
    };
    predict(work, index, site, shape);
}

/* A partition that nobody describes is worth a row only where the job may land. */
static void add_undescribed(struct work *work, const struct dlt_partition *partition)
{
    struct dlt_advice *advice = work->advice;
    const char *list = work->question->request->partitions;
    size_t index = advice->count;

    if (!(*list ? dlt_list_has(list, partition->name) : partition->is_default))
        return;
    dlt_text_copy(advice->why[index], sizeof *advice->why, "dltime.conf does not describe it");
    advice->candidates[advice->count++] = (struct dlt_candidate){
        .partition = partition->name,
        .device = advice->device[index],
        .gpu = dlt_request_wants_gpus(work->question->request),
        .up = partition->up,
        .is_default = partition->is_default,
        .why = advice->why[index],
    };
}

/* What the configuration says of a partition stands; what it leaves out comes from its nodes. */
static void add_partition(struct work *work, const struct dlt_partition *partition)
{
    const struct dlt_config *config = work->question->config;
    bool described = false;

    for (size_t i = 0; i < config->partition_count; i++) {
        const struct dlt_site_partition *site = &config->partitions[i];
        struct dlt_shape shape = site->shape;

        if (strcmp(site->name, partition->name) != 0)
            continue;
        described = true;
        if (partition->shape_count == 1 && shape.gpus == 0)
            shape.gpus = partition->shapes[0].gpus;
        if (partition->shape_count == 1 && shape.cpus == 0)
            shape.cpus = partition->shapes[0].cpus;
        if (partition->shape_count == 1 && !shape.gpu[0])
            dlt_text_copy(shape.gpu, sizeof shape.gpu, partition->shapes[0].gpu);
        if (shape.nodes == 0)
            shape.nodes = partition->nodes;
        add_candidate(work, partition, site, &shape);
    }
    for (size_t i = 0; i < partition->shape_count && !described; i++)
        add_candidate(work, partition, NULL, &partition->shapes[i]);
    if (!described && partition->shape_count == 0)
        add_undescribed(work, partition);
}

/* For each entry of the configuration and each kind of node: one that was left out might be the
 * slowest that the job can land on. */
static int make_room(struct dlt_advice *advice, const struct dlt_advice_question *question,
                     struct dlt_error *error)
{
    size_t most = question->config->partition_count + 1;

    for (size_t i = 0; i < question->snapshot->partition_count; i++)
        most += question->snapshot->partitions[i].shape_count + 1;
    advice->candidates = calloc(most, sizeof *advice->candidates);
    advice->device = calloc(most, sizeof *advice->device);
    advice->why = calloc(most, sizeof *advice->why);
    return advice->candidates && advice->device && advice->why ? 0 : dlt_fail_memory(error);
}

int dlt_advise(const struct dlt_advice_question *question, struct dlt_advice **advice,
               struct dlt_error *error)
{
    struct work *work = calloc(1, sizeof *work);
    struct dlt_advice *made = calloc(1, sizeof *made);

    if (!work || !made) {
        free(work);
        free(made);
        return dlt_fail_memory(error);
    }
    work->question = question;
    work->advice = made;
    made->config = question->config;
    if (make_room(made, question, error) ||
        dlt_model_load(question->spec, NULL, &work->model, error)) {
        forget(work);
        dlt_advice_destroy(made);
        return -1;
    }
    for (size_t i = 0; i < question->snapshot->partition_count; i++)
        add_partition(work, &question->snapshot->partitions[i]);
    dlt_decide(question->config, question->request, &question->modes, made->candidates, made->count,
               &made->decision);
    forget(work);
    *advice = made;
    return 0;
}

void dlt_advice_destroy(struct dlt_advice *advice)
{
    if (!advice)
        return;
    free(advice->candidates);
    free(advice->device);
    free(advice->why);
    free(advice);
}

void dlt_advice_print(FILE *stream, const struct dlt_advice *advice, bool quiet)
{
    struct dlt_decision warnings = {0};

    if (!quiet) {
        dlt_table_print(stream, advice->headline, advice->candidates, advice->count, advice->config,
                        &advice->decision);
        return;
    }
    for (size_t i = 0; i < advice->decision.line_count; i++) {
        if (advice->decision.line[i].warning)
            warnings.line[warnings.line_count++] = advice->decision.line[i];
    }
    dlt_table_print(stream, "", NULL, 0, advice->config, &warnings);
}

static void add_variable(struct dlt_advice_variable *variables, size_t *count, const char *name,
                         const char *value)
{
    variables[*count].name = name;
    dlt_text_copy(variables[(*count)++].value, sizeof variables->value, value);
}

size_t dlt_advice_variables(const struct dlt_advice *advice, double limit_s,
                            struct dlt_advice_variable variables[DLT_ADVICE_VARIABLES])
{
    static const char *const numbers[] = {DLT_TOLD_NUMBERS}, *const texts[] = {DLT_TOLD_TEXTS};
    int slowest = advice->decision.slowest;
    const struct dlt_candidate *c = slowest < 0 ? NULL : &advice->candidates[slowest];
    size_t count = 0;

    if (c && !c->why) {
        const double number[] = {c->job_s, limit_s, c->step_s, c->epoch_s};
        const char *const text[] = {c->partition, dlt_basis_name(c->basis), DLT_VERSION};
        char digits[32];

        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            if (isfinite(number[i]))
                add_variable(variables, &count, numbers[i],
                             dlt_text_from_double(digits, number[i], 9));
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            add_variable(variables, &count, texts[i], text[i]);
    }
    return count;
}
