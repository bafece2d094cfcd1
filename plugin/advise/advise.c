/* SPDX-License-Identifier: Apache-2.0 */
#include "advise.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "forecast.h"
#include "table.h"
#include "words.h"

/* While advice is being made. */
struct work {
    const struct dlt_advice_question *question;
    struct dlt_advice *advice;
    struct dlt_model *loaded; /* NULL: the question had one */
    struct dlt_forecast *forecast;
    struct dlt_forecast_place *place;        /* of each candidate */
    const struct dlt_site_partition **sites; /* the configuration's, by name */
};

static void forget(struct work *work)
{
    dlt_forecast_destroy(work->forecast);
    dlt_model_destroy(work->loaded);
    free(work->place);
    free(work->sites);
}

static int by_name(const void *a, const void *b)
{
    const struct dlt_site_partition *const *left = a, *const *right = b;
    int order = strcmp((*left)->name, (*right)->name);

    return order ? order : *left < *right ? -1 : *left > *right;
}

/* The first of a partition's entries in work->sites; the others follow it. */
static size_t first_site(const struct work *work, const char *name)
{
    size_t low = 0, high = work->question->config->partition_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(work->sites[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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

static enum dlt_access access_of(const struct dlt_request *request,
                                 const struct dlt_partition *partition, const char *features)
{
    enum dlt_access access = dlt_request_access(request, partition);

    return access == DLT_ACCESS_CLOSED || dlt_request_features(request, features) == DLT_ACCESS_OPEN
               ? access
               : DLT_ACCESS_CLOSED;
}

/* Whether nodes of a kind could run the job or a part of it, and what all of it comes to on them
 * alone, which may be more of them than there are. */
static bool takes_part(const struct dlt_request *asked, const struct dlt_forecast_place *kind,
                       struct dlt_placement *placement)
{
    struct dlt_request request = *asked;
    struct dlt_shape shape = kind->shape;

    shape.nodes = 0;
    if (request.most_nodes > request.nodes)
        request.most_nodes = INT_MAX;
    return dlt_request_features(&request, kind->site ? kind->site->features : "") !=
               DLT_ACCESS_CLOSED &&
           dlt_request_place(&request, &shape, placement);
}

static void add_candidate(struct work *work, const struct dlt_partition *partition,
                          const struct dlt_forecast_place *kind, const struct dlt_request *request)
{
    struct dlt_advice *advice = work->advice;
    const struct dlt_site_partition *site = kind->site;
    const struct dlt_shape *shape = &kind->shape;
    const char *features = site ? site->features : "";
    bool named = dlt_list_has(request->partitions, partition->name);
    struct dlt_placement placement;
    size_t index = advice->count;

    if ((!partition->up || !partition->listed) && !named && !partition->is_default)
        return;
    if (shape->gpus > 0 && !dlt_request_wants_gpus(request) && !named && !partition->is_default)
        return;
    if (!takes_part(request, kind, &placement))
        return;
    advice->candidates[advice->count++] = (struct dlt_candidate){
        .partition = partition->name,
        .device = advice->text[index].device,
        .gpu = shape->gpus > 0,
        .up = partition->up,
        .is_default = partition->is_default,
        .default_time_s = partition->default_time_s,
        .max_time_s = longest(work->question->config, partition, site),
        /* A QOS of the user's choice may allow less than what everybody has. */
        .limit_unknown = work->question->snapshot->limits_enforced &&
                         !(site && isfinite(site->max_wall_s) && !request->qos[0]),
        .access = access_of(request, partition, features),
        .price = site ? site->price : NAN,
        .start_s = NAN,
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
    work->place[index] = *kind;
    if (shape->gpus > 0 && !dlt_request_wants_gpus(request)) {
        advice->candidates[index].why = "the job asks for no GPU; add --gres=gpu:1";
    } else {
        dlt_forecast(work->forecast, &work->place[index], &advice->candidates[index],
                     &advice->text[index]);
    }
}

/* A partition that nobody describes is worth a row only where the job may land. */
static void add_undescribed(struct work *work, const struct dlt_partition *partition)
{
    struct dlt_advice *advice = work->advice;
    const char *list = work->question->request->partitions;
    size_t index = advice->count;

    if (!(*list ? dlt_list_has(list, partition->name) : partition->is_default))
        return;
    advice->candidates[advice->count++] = (struct dlt_candidate){
        .partition = partition->name,
        .device = advice->text[index].device,
        .gpu = dlt_request_wants_gpus(work->question->request),
        .up = partition->up,
        .is_default = partition->is_default,
        .why = "dltime.conf does not describe it",
    };
}

/* A partition's kinds of nodes: its entries in the configuration, the first of which is at `first`,
 * or what its nodes were found to be where it has none there. False behind the last. */
static bool kind_of(const struct work *work, const struct dlt_partition *partition, size_t first,
                    size_t index, struct dlt_forecast_place *kind)
{
    const size_t count = work->question->config->partition_count;
    const struct dlt_site_partition *site;

    if (first == count || strcmp(work->sites[first]->name, partition->name) != 0) {
        if (index >= partition->shape_count)
            return false;
        *kind = (struct dlt_forecast_place){NULL, partition->shapes[index]};
        return true;
    }
    if (index >= count - first || strcmp(work->sites[first + index]->name, partition->name) != 0)
        return false;
    site = work->sites[first + index];
    *kind = (struct dlt_forecast_place){site, site->shape};
    return true;
}

/* The smaller of two numbers of nodes of which 0 is unknown. */
static int fewer(int a, int b)
{
    return a > 0 && (b == 0 || a < b) ? a : b;
}

/* Whether the nodes that could run a part of the job are enough for all of it. *nodes: how many
 * there are, of the partition where a kind does not say how many it has; 0: unknown. */
static bool has_room(const struct work *work, const struct dlt_partition *partition, size_t first,
                     const struct dlt_request *request, int *nodes)
{
    struct dlt_forecast_place kind;
    int least = 0, most = request->most_nodes;
    bool counted = true;

    *nodes = 0;
    for (size_t i = 0; kind_of(work, partition, first, i, &kind); i++) {
        struct dlt_placement placement;

        if (!takes_part(request, &kind, &placement))
            continue;
        least = fewer(least, placement.nodes);
        counted = counted && kind.shape.nodes > 0;
        if (__builtin_add_overflow(*nodes, kind.shape.nodes, nodes))
            *nodes = INT_MAX;
    }
    *nodes = fewer(counted ? *nodes : partition->nodes, partition->max_nodes);
    most = fewer(most, *nodes);
    return least > 0 && (most == 0 || least <= most);
}

static void add_partition(struct work *work, const struct dlt_partition *partition)
{
    const size_t first = first_site(work, partition->name);
    struct dlt_request request = *work->question->request;
    struct dlt_forecast_place kind;
    size_t kinds = 0;
    bool room;
    int nodes;

    request.exclusive = request.exclusive || partition->exclusive;
    room = has_room(work, partition, first, &request, &nodes);
    for (; kind_of(work, partition, first, kinds, &kind); kinds++) {
        kind.shape.nodes = nodes;
        if (room)
            add_candidate(work, partition, &kind, &request);
    }
    if (kinds == 0)
        add_undescribed(work, partition);
}

/* For each entry of the configuration and each kind of node: one that was left out might be the
 * slowest that the job can land on. */
static int make_room(struct work *work, struct dlt_error *error)
{
    const struct dlt_advice_question *question = work->question;
    const size_t sites = question->config->partition_count;
    struct dlt_advice *advice = work->advice;
    size_t most = sites + 1;

    for (size_t i = 0; i < question->snapshot->partition_count; i++)
        most += question->snapshot->partitions[i].shape_count + 1;
    advice->candidates = calloc(most, sizeof *advice->candidates);
    advice->text = calloc(most, sizeof *advice->text);
    work->place = calloc(most, sizeof *work->place);
    work->sites = calloc(sites + 1, sizeof(struct dlt_site_partition *));
    if (!advice->candidates || !advice->text || !work->place || !work->sites)
        return dlt_fail_memory(error);
    for (size_t i = 0; i < sites; i++)
        work->sites[i] = &question->config->partitions[i];
    qsort(work->sites, sites, sizeof *work->sites, by_name);
    return 0;
}

static int get_ready(struct work *work, struct dlt_error *error)
{
    const struct dlt_advice_question *question = work->question;
    struct dlt_model *model = question->model;

    if (make_room(work, error))
        return -1;
    if (!model) {
        if (dlt_model_load(question->spec, NULL, &work->loaded, error))
            return -1;
        model = work->loaded;
    }
    return dlt_forecast_create(question->config, (uid_t)question->snapshot->slurm_uid,
                               question->request->time_s, model, &work->forecast, error);
}

/* When the job would start, for the few partitions with the shortest runs. */
static void ask_starts(const struct work *work)
{
    const struct dlt_advice_question *question = work->question;
    struct dlt_advice *advice = work->advice;
    struct dlt_start starts[DLT_SHORTLIST];
    size_t index[DLT_SHORTLIST], count;

    if (dlt_config_objective(question->config, question->modes.partition) != DLT_OBJECTIVE_FINISH ||
        !question->config->ask_start || !question->ask_start || question->request->partitions[0] ||
        question->request->hands_off)
        return;
    count = dlt_shortlist(question->config, question->request, advice->candidates, advice->count,
                          index);
    for (size_t i = 0; i < count; i++) {
        const struct dlt_candidate *candidate = &advice->candidates[index[i]];

        starts[i] = (struct dlt_start){.partition = candidate->partition,
                                       .limit_s = dlt_limit(question->config, candidate->upper_s),
                                       .start_s = NAN};
    }
    question->ask_start(question->ask_context, starts, count);
    for (size_t i = 0; i < advice->count; i++)
        for (size_t j = 0; j < count; j++)
            if (strcmp(advice->candidates[i].partition, starts[j].partition) == 0)
                advice->candidates[i].start_s = starts[j].start_s;
}

/* Figures for the mends that a decision wants to name. */
static void find_mends(const struct work *work)
{
    const struct dlt_decision *decision = &work->advice->decision;
    struct dlt_candidate *candidates = work->advice->candidates;
    double given = work->question->request->time_s;

    if (decision->too_long >= 0)
        dlt_forecast_more_devices(work->forecast, &work->place[decision->too_long],
                                  isfinite(given) ? given : INFINITY,
                                  &candidates[decision->too_long]);
    if (decision->too_large >= 0)
        dlt_forecast_smaller_batch(work->forecast, &work->place[decision->too_large],
                                   &candidates[decision->too_large]);
}

/* Whether nothing that -p names is a partition; a sentence then says which there are. */
static bool names_none(const struct work *work, char *why, size_t size)
{
    const struct dlt_snapshot *snapshot = work->question->snapshot;
    const char *asked = work->question->request->partitions;
    const size_t room = size - sizeof ", and 18446744073709551615 more";
    const char *before = "; there are ";
    size_t used, left = 0;

    if (!*asked || work->question->request->elsewhere || snapshot->partition_count == 0)
        return false;
    used = (size_t)snprintf(why, size, "there is no partition %.200s", asked);
    for (size_t i = 0; i < snapshot->partition_count; i++) {
        const struct dlt_partition *partition = &snapshot->partitions[i];

        if (dlt_list_has(asked, partition->name))
            return false;
        if (partition->listed && left == 0 &&
            used + strlen(before) + strlen(partition->name) < room) {
            used += (size_t)snprintf(why + used, size - used, "%s%s", before, partition->name);
            before = ", ";
        } else {
            left += partition->listed;
        }
    }
    if (left > 0)
        snprintf(why + used, size - used, ", and %zu more", left);
    return true;
}

static void decide(const struct work *work)
{
    const struct dlt_advice_question *question = work->question;
    struct dlt_advice *advice = work->advice;
    char none[DLT_LINE_SIZE];

    if (names_none(work, none, sizeof none)) {
        dlt_decide_nothing(&advice->decision, none);
        return;
    }
    dlt_decide(question->config, question->request, &question->modes, advice->candidates,
               advice->count, &advice->decision);
}

/* What the finished job will be compared with: the estimate of where it is slowest. */
static void make_tag(const struct work *work)
{
    struct dlt_advice *advice = work->advice;
    int slowest = advice->decision.slowest;
    struct dlt_error ignored;
    struct dlt_tag tag;

    if (!work->question->config->tag || slowest < 0 || advice->candidates[slowest].why ||
        !(advice->candidates[slowest].predicted_s > 0) ||
        dlt_tag_network(work->question->model ? work->question->model : work->loaded, &tag.network,
                        &ignored))
        return;
    tag.job_s = advice->candidates[slowest].predicted_s;
    dlt_tag_format(&tag, advice->tag);
}

int dlt_advise(const struct dlt_advice_question *question, struct dlt_advice **advice,
               struct dlt_error *error)
{
    struct dlt_advice *made = calloc(1, sizeof *made);
    struct work work = {.question = question, .advice = made};

    if (!made)
        return dlt_fail_memory(error);
    made->config = question->config;
    if (get_ready(&work, error)) {
        forget(&work);
        dlt_advice_destroy(made);
        return -1;
    }
    for (size_t i = 0; i < question->snapshot->partition_count && !question->request->elsewhere;
         i++)
        add_partition(&work, &question->snapshot->partitions[i]);
    ask_starts(&work);
    decide(&work);
    if (made->decision.too_long >= 0 || made->decision.too_large >= 0) {
        find_mends(&work);
        decide(&work);
    }
    dlt_text_copy(made->headline, sizeof made->headline, dlt_forecast_headline(work.forecast));
    dlt_text_copy(made->notice, sizeof made->notice, dlt_forecast_notice(work.forecast));
    make_tag(&work);
    forget(&work);
    *advice = made;
    return 0;
}

void dlt_advice_destroy(struct dlt_advice *advice)
{
    if (!advice)
        return;
    for (size_t i = 0; i < advice->count; i++)
        free(advice->text[i].why);
    free(advice->candidates);
    free(advice->text);
    free(advice);
}

/* Adds a partition that the snapshot lacks. */
static int assume(struct dlt_snapshot *snapshot, const char *name, struct dlt_error *error)
{
    struct dlt_partition *partition;

    /* A partition's entries mostly follow one another. */
    for (size_t j = snapshot->partition_count; j > 0; j--)
        if (strcmp(snapshot->partitions[j - 1].name, name) == 0)
            return 0;
    partition = dlt_snapshot_add(snapshot);
    if (!partition)
        return dlt_fail(error, "dltime.conf has too many partitions");
    dlt_text_copy(partition->name, sizeof partition->name, name);
    partition->up = true;
    return 0;
}

int dlt_advice_assume(const struct dlt_config *config, const struct dlt_request *request,
                      struct dlt_snapshot **snapshot, struct dlt_error *error)
{
    const char *named = request ? request->partitions : "";
    struct dlt_snapshot *made = dlt_snapshot_create();
    int failed = 0;

    if (!made)
        return dlt_fail_memory(error);
    made->limits_enforced = true;
    for (size_t i = 0; i < config->partition_count && !failed; i++)
        failed = assume(made, config->partitions[i].name, error);
    while (*named && !failed) {
        size_t length = strcspn(named, ",");
        char name[DLT_NAME_SIZE];

        if (length > 0 && length < sizeof name) {
            memcpy(name, named, length);
            name[length] = '\0';
            failed = assume(made, name, error);
        }
        named += length + (named[length] == ',');
    }
    if (failed) {
        dlt_snapshot_destroy(made);
        return -1;
    }
    *snapshot = made;
    return 0;
}

int dlt_advice_assume_private(const struct dlt_config *config, const struct dlt_request *request,
                              int64_t slurm_uid, struct dlt_snapshot **snapshot,
                              struct dlt_error *error)
{
    if (config->partition_count == 0)
        return dlt_fail(error, "Slurm keeps its partitions to itself (PrivateData), and "
                               "dltime.conf describes none");
    if (dlt_advice_assume(config, request, snapshot, error))
        return -1;
    (*snapshot)->slurm_uid = slurm_uid;
    return 0;
}

void dlt_advice_print(FILE *stream, const struct dlt_advice *advice, bool quiet)
{
    struct dlt_decision warnings = {0};

    if (advice->notice[0])
        fprintf(stream, "dltime: %s\n", advice->notice);
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
