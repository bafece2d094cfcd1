/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler_networks.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "lower/lower.h"
#include "random.h"
#include "sampler_draw.h"

struct network {
    struct dlt_record *record; /* of one sample; the update is the last */
    size_t count;
    double weight; /* chance of being drawn */
};

struct bench_networks {
    struct network *network;
    size_t count, room;
};

/* Networks differ 40,000-fold in work. This power makes the smallest five times as frequent as the
 * largest: small ones are what a short benchmark can measure at batch sizes that people use. */
static const double favour_small = -0.15;

static int take_plan(struct bench_networks *networks, const struct dlt_plan *plan)
{
    struct network *network;
    double macs = 1;

    if (dlt_grow(&networks->network, sizeof *networks->network, networks->count, 1,
                 &networks->room))
        return -1;
    network = &networks->network[networks->count];
    *network = (struct network){0};
    network->record = calloc(plan->unit_count + 1, sizeof *network->record);
    if (!network->record)
        return -1;
    networks->count++;
    for (size_t i = 0; i < plan->unit_count; i++) {
        struct dlt_work work;

        if (!plan->unit[i].record.kind || plan->unit[i].record.activation != DLT_FUNCTION_NONE)
            continue;
        dlt_record_work(&plan->unit[i].record, &work);
        macs += work.macs;
        network->record[network->count++] = plan->unit[i].record;
    }
    if (plan->update.kind)
        network->record[network->count++] = plan->update;
    network->weight = pow(macs, favour_small);
    return 0;
}

static int add_network(struct bench_networks *networks, const char *folder, const char *name,
                       int threads)
{
    struct dlt_training settings;
    struct dlt_model *model = NULL;
    struct dlt_graph *graph = NULL;
    struct dlt_plan *plan = NULL;
    int status = 0;

    if (dlt_model_load(name, folder, &model, NULL))
        return 0;
    settings = model->training;
    settings.framework = DLT_FRAMEWORK_NONE;
    settings.precision = DLT_PRECISION_FLOAT32;
    if (dlt_model_graph(model, 1, &graph, NULL) == 0 &&
        dlt_lower(graph, &settings, true, threads, &plan, NULL) == 0)
        status = take_plan(networks, plan);
    dlt_plan_destroy(plan);
    dlt_graph_destroy(graph);
    dlt_model_destroy(model);
    return status;
}

static int is_model(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot && strcmp(dot, ".json") == 0;
}

int bench_networks_load(const char *folder, int threads, struct bench_networks **networks,
                        struct dlt_error *error)
{
    const char *where = folder ? folder : dlt_models_folder();
    struct bench_networks *made = calloc(1, sizeof *made);
    struct dirent **entry = NULL;
    int count = made ? scandir(where, &entry, is_model, alphasort) : 0;
    int status = made ? 0 : -1;

    for (int i = 0; i < count; i++) {
        /* By name, without the suffix, as a user names a shipped network. */
        entry[i]->d_name[strlen(entry[i]->d_name) - strlen(".json")] = '\0';
        if (status == 0)
            status = add_network(made, folder, entry[i]->d_name, threads);
        free(entry[i]);
    }
    free(entry);
    if (status) {
        bench_networks_destroy(made);
        return dlt_fail_memory(error);
    }
    *networks = made;
    return 0;
}

void bench_networks_destroy(struct bench_networks *networks)
{
    if (!networks)
        return;
    for (size_t i = 0; i < networks->count; i++)
        free(networks->network[i].record);
    free(networks->network);
    free(networks);
}

size_t bench_networks_count(const struct bench_networks *networks)
{
    return networks->count;
}

static size_t count_kind(const struct network *network, const struct dlt_record_kind *kind)
{
    size_t count = 0;

    for (size_t i = 0; i < network->count; i++)
        count += network->record[i].kind == kind;
    return count;
}

static const struct dlt_record *draw_layer(const struct bench_networks *networks,
                                           const struct dlt_record_kind *kind, uint64_t *random)
{
    const struct network *chosen = NULL;
    double total = 0, at;
    int64_t left;

    for (size_t i = 0; i < networks->count; i++)
        total += count_kind(&networks->network[i], kind) ? networks->network[i].weight : 0;
    at = total * bench_random_unit(random);
    for (size_t i = 0; i < networks->count && at >= 0; i++) {
        if (count_kind(&networks->network[i], kind) == 0)
            continue;
        chosen = &networks->network[i];
        at -= chosen->weight;
    }
    if (!chosen)
        return NULL;
    left = bench_random_below(random, (int64_t)count_kind(chosen, kind));
    for (size_t i = 0; i < chosen->count; i++)
        if (chosen->record[i].kind == kind && left-- == 0)
            return &chosen->record[i];
    return NULL;
}

/* value x 2^u, u uniform in [from, to]; large values stay multiples of 8. */
static int64_t scaled(int64_t value, double from, double to, uint64_t *random)
{
    double wanted = (double)value * exp2(from + (to - from) * bench_random_unit(random));
    int64_t result = wanted < 1 ? 1 : (int64_t)(wanted + 0.5);

    return result >= 16 ? (result + 4) / 8 * 8 : result;
}

static void change_image(struct dlt_record *record, uint64_t *random)
{
    struct dlt_spatial *s = &record->u.spatial;
    double factor = exp2(-2.5 + 3 * bench_random_unit(random));
    bool whole = true;

    /* A mean over the whole image stays one. */
    for (int d = 0; d < record->kind->dims; d++)
        whole = whole && s->kernel[d] == s->in_size[d];
    for (int d = 0; d < record->kind->dims; d++) {
        int64_t size = (int64_t)((double)s->in_size[d] * factor + 0.5);
        int64_t least = s->dilation[d] * (s->kernel[d] - 1) + 1;

        if (whole && s->kernel[d] > 1)
            s->in_size[d] = s->kernel[d] = size < 2 ? 2 : size;
        else
            s->in_size[d] = size < least ? least : size;
    }
}

static void change_channels(struct dlt_record *record, uint64_t *random)
{
    struct dlt_spatial *s = &record->u.spatial;
    bool depthwise = s->groups > 1 && s->groups == s->in_channels;

    /* Three or one are colours, not a width to choose. */
    if (s->in_channels > 3)
        s->in_channels = scaled(s->in_channels, -1, 1, random);
    if (s->out_channels > 0)
        s->out_channels = scaled(s->out_channels, -1, 1, random);
    if (depthwise)
        s->groups = s->out_channels = s->in_channels;
}

/* Columns of another length; an upsampling's images of another size, as many times as wide. */
static void change_columns(struct dlt_record *record, uint64_t *random)
{
    struct dlt_rowwise *r = &record->u.rowwise;
    double ratio = sqrt((double)r->columns / (double)r->operands);
    int64_t side;

    if (strcmp(record->kind->name, "upsample") != 0) {
        r->columns = scaled(r->columns, -3, 0.5, random);
        return;
    }
    side = scaled((int64_t)sqrt((double)r->operands), -1.5, 0.5, random);
    r->operands = side * side;
    side = (int64_t)(ratio * (double)side + 0.5);
    r->columns = side * side;
}

static void change(struct dlt_record *record, uint64_t *random)
{
    bool sizes = bench_random_below(random, 2) == 0, widths = bench_random_below(random, 2) == 0;
    struct dlt_recurrent *r = &record->u.recurrent;

    switch (bench_draw_member(record)) {
    case BENCH_SPATIAL:
        if (sizes)
            change_image(record, random);
        if (widths)
            change_channels(record, random);
        break;
    case BENCH_MATMUL:
    case BENCH_BATCHED:
        if (widths)
            record->u.matmul.k = scaled(record->u.matmul.k, -1, 1, random);
        if (widths)
            record->u.matmul.n = scaled(record->u.matmul.n, -1, 1, random);
        break;
    case BENCH_UPDATE:
        record->u.update.elements = scaled(record->u.update.elements, -2, 1, random);
        break;
    case BENCH_ATTENTION:
        if (sizes)
            record->u.attention.query_length = record->u.attention.key_length =
                scaled(record->u.attention.query_length, -2, 0.5, random);
        break;
    case BENCH_RECURRENT:
        if (sizes)
            r->length = scaled(r->length, -2, 0.5, random);
        if (widths)
            r->hidden_size = r->out_features = scaled(r->hidden_size, -1, 1, random);
        break;
    case BENCH_ROWWISE:
        if (sizes)
            change_columns(record, random);
        if (widths)
            record->u.rowwise.rows = scaled(record->u.rowwise.rows, -1, 1, random);
    }
}

static void set_batch(struct dlt_record *record, int64_t batch)
{
    switch (bench_draw_member(record)) {
    case BENCH_SPATIAL:
        record->u.spatial.batch *= batch;
        break;
    case BENCH_MATMUL:
        record->u.matmul.m *= batch;
        break;
    case BENCH_BATCHED:
        record->u.matmul.batch *= batch;
        break;
    case BENCH_ATTENTION:
        record->u.attention.batch *= batch;
        break;
    case BENCH_RECURRENT:
        record->u.recurrent.batch *= batch;
        break;
    case BENCH_ROWWISE:
        record->u.rowwise.rows *= batch;
        break;
    case BENCH_UPDATE:
        break;
    }
}

bool bench_networks_draw(const struct bench_networks *networks, const struct dlt_record_kind *kind,
                         uint64_t *random, struct dlt_record *record)
{
    static const enum dlt_optimizer optimizers[] = {DLT_SGD, DLT_MOMENTUM, DLT_ADAM, DLT_ADAMW,
                                                    DLT_RMSPROP};
    const struct dlt_record *layer = draw_layer(networks, kind, random);

    if (!layer)
        return false;
    *record = *layer;
    change(record, random);
    set_batch(record, bench_random_log(random, 1, 256));
    if (strcmp(kind->name, "optimizer_update") == 0) {
        record->optimizer = optimizers[bench_random_below(random, 5)];
        record->u.update.implementation =
            bench_random_below(random, 2) ? DLT_FOREACH : DLT_FOR_LOOP;
    }
    return true;
}
