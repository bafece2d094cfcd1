/* SPDX-License-Identifier: Apache-2.0 */
#include "forecast.h"

#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/paths.h"
#include "base/text.h"
#include "device/devices.h"
#include "predict/estimate.h"
#include "predict/history.h"
#include "predict/prepare.h"
#include "predict/profile.h"
#include "predict/tag.h"
#include "trust.h"

enum { PROFILES_MAX = 256, ANSWERS_MAX = 4096 };

/* A profile that was opened, or could not be. */
struct opened {
    const char *path;
    struct dlt_profile *profile;
    struct dlt_error error;
};

/* The probability that the job exceeds a limit, of the candidate before: most have the same. */
struct odds {
    double limit_s; /* 0: there was none yet */
    double p;
};

/* A question and its answer. The candidate's own limits are no part of it. */
struct answer {
    const struct opened *opened;
    struct dlt_question question; /* device points to asked */
    char asked[96];
    struct dlt_candidate candidate;
    char device[sizeof((struct dlt_forecast_text *)0)->device];
    struct dlt_estimate *estimate; /* NULL: why says why */
    char why[400];
    struct odds over_time, over_max;
};

struct dlt_forecast {
    const struct dlt_config *config;
    uid_t slurm_uid;
    double time_s;
    struct dlt_model *model;
    struct dlt_prepared *prepared;
    char headline[400];
    char general[PATH_MAX]; /* the shipped profile of any device; "": none */
    struct dlt_scaling *scaling;
    struct dlt_history *site, *own; /* corrections: everybody's, the caller's */
    uint64_t network;               /* of the model, where there are corrections */
    const char *corrected;          /* the partition before, and its correction */
    double correction;
    struct dlt_error notice;
    size_t opened_count, answer_count, next;
    struct opened opened[PROFILES_MAX];
    struct answer *answers[ANSWERS_MAX];
};

/* One of the two files of corrections; that there is none yet is no fault. */
static void load_history(struct dlt_forecast *forecast, const char *below,
                         struct dlt_history **history)
{
    char path[PATH_MAX], real[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/%s", forecast->config->history, below) >=
            (int)sizeof path ||
        access(path, F_OK) != 0)
        return;
    if (dlt_trust_path(path, forecast->slurm_uid, real, &forecast->notice) ||
        dlt_history_load(real, history, &forecast->notice))
        *history = NULL;
}

static void load_corrections(struct dlt_forecast *forecast)
{
    const struct passwd *user = getpwuid(getuid());
    char below[128];

    load_history(forecast, "site.json", &forecast->site);
    if (user && snprintf(below, sizeof below, "users/%s.json", user->pw_name) < (int)sizeof below)
        load_history(forecast, below, &forecast->own);
    if ((forecast->site || forecast->own) &&
        dlt_tag_network(forecast->model, &forecast->network, &forecast->notice))
        forecast->network = 0;
}

static void load_scaling(struct dlt_forecast *forecast)
{
    char real[PATH_MAX];

    if (dlt_trust_path(forecast->config->scaling, forecast->slurm_uid, real, &forecast->notice) ||
        dlt_scaling_load(real, &forecast->scaling, &forecast->notice))
        forecast->scaling = NULL;
}

const char *dlt_forecast_notice(const struct dlt_forecast *forecast)
{
    return forecast->notice.text;
}

int dlt_forecast_create(const struct dlt_config *config, uid_t slurm_uid, double time_s,
                        struct dlt_model *model, struct dlt_forecast **forecast,
                        struct dlt_error *error)
{
    struct dlt_forecast *made = calloc(1, sizeof *made);

    if (!made)
        return dlt_fail_memory(error);
    made->config = config;
    made->slurm_uid = slurm_uid;
    made->time_s = time_s;
    made->model = model;
    if (dlt_prepare(model, &made->prepared, error)) {
        free(made);
        return -1;
    }
    if (!dlt_path(DLT_FOLDER_DATA, "profiles/general.dlp", made->general, sizeof made->general) ||
        access(made->general, F_OK) != 0)
        made->general[0] = '\0';
    if (*config->scaling)
        load_scaling(made);
    if (*config->history)
        load_corrections(made);
    *forecast = made;
    return 0;
}

void dlt_forecast_destroy(struct dlt_forecast *forecast)
{
    if (!forecast)
        return;
    for (size_t i = 0; i < forecast->answer_count; i++) {
        dlt_estimate_destroy(forecast->answers[i]->estimate);
        free(forecast->answers[i]);
    }
    for (size_t i = 0; i < forecast->opened_count; i++)
        dlt_profile_destroy(forecast->opened[i].profile);
    dlt_prepared_destroy(forecast->prepared);
    dlt_scaling_destroy(forecast->scaling);
    dlt_history_destroy(forecast->site);
    dlt_history_destroy(forecast->own);
    free(forecast);
}

const char *dlt_forecast_headline(const struct dlt_forecast *forecast)
{
    return forecast->headline;
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

static void describe(struct dlt_forecast *forecast, const struct dlt_estimate *e, bool gpu)
{
    char parameters[32], length[96], batch[48], all[48] = "";

    describe_length(e, length, sizeof length);
    if (e->devices > 1)
        snprintf(all, sizeof all, ", %lld in all", (long long)e->batch * e->devices);
    if (!gpu && e->devices == 1)
        snprintf(batch, sizeof batch, "batches of %lld", (long long)e->batch);
    else
        snprintf(batch, sizeof batch, "%lld per %s", (long long)e->batch, gpu ? "GPU" : "node");
    snprintf(forecast->headline, sizeof forecast->headline, "%s: %s parameters%s; %s%s; %s",
             e->model, dlt_text_from_count(parameters, e->parameters), length, batch, all,
             dlt_precision_names[e->training.precision]);
    dlt_text_printable(forecast->headline);
}

/* NULL where there are too many. */
static const struct opened *open_profile(struct dlt_forecast *forecast, const char *path)
{
    struct opened *opened;
    char real[PATH_MAX];

    for (size_t i = 0; i < forecast->opened_count; i++) {
        if (forecast->opened[i].path == path || strcmp(forecast->opened[i].path, path) == 0)
            return &forecast->opened[i];
    }
    if (forecast->opened_count == PROFILES_MAX)
        return NULL;
    opened = &forecast->opened[forecast->opened_count++];
    opened->path = path;
    if (dlt_trust_path(path, forecast->slurm_uid, real, &opened->error) ||
        dlt_profile_load(real, &opened->profile, &opened->error))
        opened->profile = NULL;
    return opened;
}

/* CPUs were benchmarked with so many threads; with another number of them the time is another. */
static enum dlt_basis basis_of(const struct answer *answer)
{
    enum dlt_basis basis = dlt_estimate_basis(answer->estimate);
    const struct dlt_profile *profile = answer->opened->profile;
    struct dlt_error error;
    size_t entry;

    if (!answer->candidate.gpu && basis > DLT_BASIS_GENERAL &&
        dlt_profile_find(profile, answer->question.device, answer->question.cpus, &entry, &error) ==
            0 &&
        dlt_profile_threads(profile, entry) > 0 &&
        dlt_profile_threads(profile, entry) != answer->question.cpus)
        return DLT_BASIS_GENERAL;
    return basis;
}

static void take_estimate(struct dlt_forecast *forecast, struct answer *answer)
{
    const struct dlt_estimate *estimate = answer->estimate;
    struct dlt_candidate *candidate = &answer->candidate;

    candidate->basis = basis_of(answer);
    candidate->step_s = dlt_estimate_step_s(estimate);
    candidate->epoch_s = dlt_estimate_epoch_s(estimate);
    candidate->job_s = dlt_estimate_job_s(estimate);
    candidate->low_s = dlt_estimate_job_quantile(estimate, 0.05);
    candidate->high_s = dlt_estimate_job_quantile(estimate, 0.95);
    candidate->upper_s = dlt_estimate_job_quantile(estimate, forecast->config->confidence);
    candidate->fits = dlt_estimate_fits(estimate);
    candidate->memory_bytes = dlt_estimate_memory_bytes(estimate);
    candidate->device_memory_bytes = answer->question.memory_bytes;
    if (!(candidate->device_memory_bytes > 0))
        candidate->device_memory_bytes =
            estimate->device.memory_bytes > 0 ? estimate->device.memory_bytes : NAN;
    dlt_text_copy(answer->device, sizeof answer->device, dlt_estimate_device(estimate));
    if (!forecast->headline[0])
        describe(forecast, estimate, candidate->gpu);
}

/* A device that no profile names may be one of the catalogue, which is read when it is needed. */
static int predict(struct dlt_forecast *forecast, const struct opened *opened,
                   const struct dlt_question *question, struct dlt_estimate **estimate,
                   struct dlt_error *error)
{
    struct dlt_error ignored;

    if (dlt_predict_prepared(forecast->prepared, opened->profile, question, estimate, error) == 0)
        return 0;
    return question->device && dlt_devices_load_installed(&ignored) == 0
               ? dlt_predict_prepared(forecast->prepared, opened->profile, question, estimate,
                                      error)
               : -1;
}

static void ask(struct dlt_forecast *forecast, struct answer *answer)
{
    char *why = answer->why;
    const size_t size = sizeof answer->why;
    struct dlt_error error;

    dlt_text_copy(answer->device, sizeof answer->device, answer->asked);
    answer->candidate.device_memory_bytes = answer->question.memory_bytes;
    if (!answer->opened)
        dlt_text_copy(why, size, "dltime.conf names too many profiles");
    else if (!answer->opened->profile)
        dlt_text_copy(why, size, answer->opened->error.text);
    else if (predict(forecast, answer->opened, &answer->question, &answer->estimate, &error))
        dlt_text_copy(why, size, error.text);
    else
        take_estimate(forecast, answer);
}

static bool same_question(const struct answer *answer, const struct opened *opened,
                          const struct dlt_question *question, bool gpu)
{
    const struct dlt_question *mine = &answer->question;

    return answer->opened == opened && mine->devices == question->devices &&
           mine->nodes == question->nodes && mine->cpus == question->cpus &&
           mine->node_bandwidth == question->node_bandwidth &&
           mine->memory_bytes == question->memory_bytes && answer->candidate.gpu == gpu &&
           strcmp(answer->asked, question->device ? question->device : "") == 0;
}

/* NULL out of memory. Partitions often have the same kinds of nodes in the same order: the search
 * begins behind the last answer. */
static struct answer *find_answer(struct dlt_forecast *forecast, const struct opened *opened,
                                  const struct dlt_question *question, bool gpu)
{
    struct answer *answer;

    for (size_t i = 0; i < forecast->answer_count; i++) {
        size_t at = (forecast->next + i) % forecast->answer_count;

        if (same_question(forecast->answers[at], opened, question, gpu)) {
            forecast->next = at + 1;
            return forecast->answers[at];
        }
    }
    if (forecast->answer_count == ANSWERS_MAX) {
        answer = forecast->answers[ANSWERS_MAX - 1];
        dlt_estimate_destroy(answer->estimate);
        memset(answer, 0, sizeof *answer);
    } else {
        answer = calloc(1, sizeof *answer);
        if (!answer)
            return NULL;
        forecast->answers[forecast->answer_count++] = answer;
    }
    answer->opened = opened;
    answer->question = *question;
    answer->candidate.gpu = gpu;
    dlt_text_copy(answer->asked, sizeof answer->asked, question->device ? question->device : "");
    answer->question.device = answer->asked[0] ? answer->asked : NULL;
    ask(forecast, answer);
    return answer;
}

static const char *profile_of(const struct dlt_forecast *forecast,
                              const struct dlt_forecast_place *place)
{
    if (place->site && place->site->profile[0])
        return place->site->profile;
    if (forecast->config->profile[0])
        return forecast->config->profile;
    /* The general one is of cards: of CPUs nobody knows the model. */
    return place->shape.gpus > 0 || (place->site && place->site->device[0]) ? forecast->general
                                                                            : "";
}

/* The question about a place for a placement; device points into place. */
static struct dlt_question question_of(const struct dlt_forecast *forecast,
                                       const struct dlt_forecast_place *place,
                                       const struct dlt_placement *placement)
{
    const char *device =
        place->site && place->site->device[0] ? place->site->device : place->shape.gpu;

    return (struct dlt_question){
        .device = *device ? device : NULL,
        .devices = placement->devices,
        .nodes = placement->nodes,
        .cpus = placement->cpus,
        .memory_bytes = place->site ? place->site->memory_bytes : 0,
        .node_bandwidth = place->site ? place->site->node_bandwidth : 0,
        .scaling = forecast->scaling,
        .checkpoint_bandwidth = forecast->config->checkpoint_bandwidth,
    };
}

/* What finished jobs say of the network on a partition: the caller's own before everybody's. */
static double correction_of(struct dlt_forecast *forecast, const char *partition)
{
    const struct dlt_correction *found;

    /* A partition's kinds of nodes come one after another and share its name. */
    if (forecast->corrected == partition)
        return forecast->correction;
    found = dlt_history_find(forecast->own, forecast->network, partition);
    if (!found)
        found = dlt_history_find(forecast->site, forecast->network, partition);
    forecast->corrected = partition;
    forecast->correction = found ? found->factor : 1;
    return forecast->correction;
}

static void copy_estimate(struct dlt_candidate *to, const struct dlt_candidate *from, double factor)
{
    to->step_s = from->step_s * factor;
    to->epoch_s = from->epoch_s * factor;
    to->job_s = from->job_s * factor;
    to->predicted_s = from->job_s;
    to->low_s = from->low_s * factor;
    to->high_s = from->high_s * factor;
    to->upper_s = from->upper_s * factor;
    to->basis = from->basis;
    to->fits = from->fits;
    to->memory_bytes = from->memory_bytes;
}

/* 0 where there is no limit. */
static double exceeds(const struct dlt_estimate *estimate, double limit_s, struct odds *odds)
{
    if (!isfinite(limit_s))
        return 0;
    if (limit_s <= 0 || odds->limit_s != limit_s)
        *odds = (struct odds){limit_s, dlt_estimate_exceeds(estimate, limit_s)};
    return odds->p;
}

void dlt_forecast(struct dlt_forecast *forecast, const struct dlt_forecast_place *place,
                  struct dlt_candidate *candidate, struct dlt_forecast_text *text)
{
    const struct dlt_question question = question_of(forecast, place, &candidate->placement);
    const double factor = correction_of(forecast, candidate->partition);
    const char *path = profile_of(forecast, place);
    struct answer *answer = NULL;

    candidate->device = text->device;
    if (*path)
        answer = find_answer(forecast, open_profile(forecast, path), &question, candidate->gpu);
    if (!answer) {
        dlt_text_copy(text->device, sizeof text->device, question.device ? question.device : "");
        candidate->why = *path ? "out of memory"
                               : "dltime.conf names no profile for it; `dltime train` makes one";
        return;
    }
    dlt_text_copy(text->device, sizeof text->device, answer->device);
    candidate->device_memory_bytes = answer->candidate.device_memory_bytes;
    if (!answer->estimate) {
        text->why = strdup(answer->why);
        candidate->why = text->why ? text->why : "out of memory";
        return;
    }
    candidate->why = NULL;
    copy_estimate(candidate, &answer->candidate, factor);
    candidate->p_over_time =
        exceeds(answer->estimate, forecast->time_s / factor, &answer->over_time);
    candidate->p_over_max =
        exceeds(answer->estimate, candidate->max_time_s / factor, &answer->over_max);
}

void dlt_forecast_more_devices(struct dlt_forecast *forecast,
                               const struct dlt_forecast_place *place, double most,
                               struct dlt_candidate *candidate)
{
    const char *path = profile_of(forecast, place);
    struct dlt_placement more = candidate->placement;
    const double factor = correction_of(forecast, candidate->partition);
    const int least = more.devices, doublings = 6;

    if (!candidate->gpu || place->shape.gpus == 0 || !*path)
        return;
    most = fmin(most, candidate->max_time_s);
    for (int i = 0; i < doublings && more.devices <= INT_MAX / 2; i++) {
        const struct answer *answer;
        struct dlt_question question;
        int nodes;

        more.devices *= 2;
        nodes = (more.devices + place->shape.gpus - 1) / place->shape.gpus;
        more.nodes = nodes > more.nodes ? nodes : more.nodes;
        if (place->shape.nodes > 0 && more.nodes > place->shape.nodes)
            return;
        question = question_of(forecast, place, &more);
        answer = find_answer(forecast, open_profile(forecast, path), &question, true);
        if (answer && answer->estimate && more.devices > least &&
            dlt_limit(forecast->config, answer->candidate.upper_s * factor) <= most) {
            candidate->more_devices = more.devices;
            candidate->more_job_s = answer->candidate.job_s * factor;
            return;
        }
    }
}

void dlt_forecast_smaller_batch(struct dlt_forecast *forecast,
                                const struct dlt_forecast_place *place,
                                struct dlt_candidate *candidate)
{
    const char *path = profile_of(forecast, place);
    const struct dlt_question question = question_of(forecast, place, &candidate->placement);
    const struct opened *opened = *path ? open_profile(forecast, path) : NULL;
    const struct dlt_training asked = forecast->model->training;
    const struct answer *answer =
        opened ? find_answer(forecast, opened, &question, candidate->gpu) : NULL;
    struct dlt_training *training = &forecast->model->training;
    enum dlt_fits fits = DLT_FITS_NO;

    if (!answer || !answer->estimate)
        return;
    training->batch = answer->estimate->batch;
    training->global_batch = 0;
    training->accumulate = asked.accumulate > 0 ? asked.accumulate : 1;
    while (training->batch > 1 && fits == DLT_FITS_NO) {
        struct dlt_estimate *estimate;
        struct dlt_error error;

        training->batch /= 2;
        training->accumulate *= 2;
        if (predict(forecast, opened, &question, &estimate, &error))
            break;
        fits = dlt_estimate_fits(estimate);
        dlt_estimate_destroy(estimate);
    }
    if (fits == DLT_FITS_YES || fits == DLT_FITS_TIGHT) {
        candidate->fitting_batch = training->batch;
        candidate->fitting_accumulate = training->accumulate;
    }
    *training = asked;
}
