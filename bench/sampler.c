/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "random.h"
#include "sampler_draw.h"
#include "sampler_networks.h"

enum { MOST_TURNS = 128, ATTEMPTS = 64 };

#define TWO_PASSES {DLT_FORWARD, DLT_BACKWARD_DATA}, 2
#define WHOLE      {DLT_FORWARD, DLT_BACKWARD}, 2
#define WEIGHTED   {DLT_FORWARD, DLT_BACKWARD_DATA, DLT_BACKWARD_WEIGHT}, 3

/* One operator: its share of the samples, its passes, and its log-uniform draw. Those that few
 * networks have get half a share. */
static const struct row {
    const char *kind;
    int weight;
    enum dlt_pass pass[BENCH_SAMPLE_PASSES];
    int pass_count;
    void (*draw)(struct dlt_record *record, uint64_t *random);
} rows[] = {
    {"conv2d", 20, WEIGHTED, bench_draw_convolution},
    {"dense", 8, WEIGHTED, bench_draw_dense},
    {"batch_norm", 6, WHOLE, bench_draw_batch_norm},
    {"elementwise", 10, TWO_PASSES, bench_draw_elementwise},
    {"max_pool2d", 4, TWO_PASSES, bench_draw_pool},
    {"avg_pool2d", 2, TWO_PASSES, bench_draw_pool},
    {"optimizer_update", 4, {DLT_UPDATE}, 1, bench_draw_update},
    {"softmax", 2, TWO_PASSES, bench_draw_rows},
    {"layer_norm", 2, WHOLE, bench_draw_rows},
    {"bmm", 2, WHOLE, bench_draw_bmm},
    {"conv_transpose2d", 2, WEIGHTED, bench_draw_transposed},
    {"group_norm", 2, WHOLE, bench_draw_group_norm},
    {"rms_norm", 2, WHOLE, bench_draw_rows},
    {"embedding", 2, WHOLE, bench_draw_embedding},
    {"scaled_dot_product_attention", 2, WHOLE, bench_draw_attention},
    {"lstm", 2, WHOLE, bench_draw_recurrent},
    {"gru", 2, WHOLE, bench_draw_recurrent},
    {"rnn", 2, WHOLE, bench_draw_recurrent},
    {"reduction", 2, TWO_PASSES, bench_draw_rows},
    {"cross_entropy", 2, TWO_PASSES, bench_draw_rows},
    {"upsample", 2, TWO_PASSES, bench_draw_upsample},
    {"conv1d", 2, WEIGHTED, bench_draw_convolution},
    {"conv3d", 2, WEIGHTED, bench_draw_convolution},
    {"conv_transpose1d", 1, WEIGHTED, bench_draw_transposed},
    {"conv_transpose3d", 1, WEIGHTED, bench_draw_transposed},
    {"max_pool1d", 1, TWO_PASSES, bench_draw_pool},
    {"max_pool3d", 1, TWO_PASSES, bench_draw_pool},
    {"avg_pool1d", 1, TWO_PASSES, bench_draw_pool},
    {"avg_pool3d", 1, TWO_PASSES, bench_draw_pool},
};
enum { ROWS = sizeof rows / sizeof *rows };

struct bench_sampler {
    struct bench_sampler_options options;
    struct bench_networks *networks;
    int turn[MOST_TURNS]; /* rows, in the order in which they take turns */
    int nth[MOST_TURNS];  /* how many turns of the same row come before it */
    int turns;
    int weight[ROWS]; /* 0: not asked for */
};

size_t bench_sampler_op_count(void)
{
    return ROWS;
}

const char *bench_sampler_op(size_t index)
{
    return rows[index].kind;
}

/* Each turn goes to the row that is furthest behind its share. */
static void order_turns(struct bench_sampler *sampler)
{
    int total = 0, credit[ROWS] = {0}, taken[ROWS] = {0};

    for (int i = 0; i < ROWS; i++)
        total += sampler->weight[i];
    for (sampler->turns = 0; sampler->turns < total; sampler->turns++) {
        int best = 0;

        for (int i = 0; i < ROWS; i++) {
            credit[i] += sampler->weight[i];
            if (sampler->weight[i] > 0 && (sampler->weight[best] == 0 || credit[i] > credit[best]))
                best = i;
        }
        credit[best] -= total;
        sampler->turn[sampler->turns] = best;
        sampler->nth[sampler->turns] = taken[best]++;
    }
}

static int choose_row(struct bench_sampler *sampler, const char *name, size_t length,
                      struct dlt_error *error)
{
    const char *names[ROWS];
    const char *nearest;
    char shown[64];

    for (int i = 0; i < ROWS; i++) {
        names[i] = rows[i].kind;
        if (strlen(rows[i].kind) == length && strncmp(rows[i].kind, name, length) == 0) {
            sampler->weight[i] = rows[i].weight;
            return 0;
        }
    }
    snprintf(shown, sizeof shown, "%.*s", (int)(length < 63 ? length : 63), name);
    nearest = dlt_text_nearest(shown, names, ROWS);
    if (nearest)
        return dlt_fail(error, "unknown operator \"%s\"; did you mean %s?", shown, nearest);
    return dlt_fail(error, "unknown operator \"%s\"; known: conv2d, dense, ... (dlbench(1))",
                    shown);
}

static int choose_rows(struct bench_sampler *sampler, struct dlt_error *error)
{
    const char *at = sampler->options.ops;

    for (int i = 0; i < ROWS && !at; i++)
        sampler->weight[i] = rows[i].weight;
    while (at) {
        size_t length = strcspn(at, ",");

        if (choose_row(sampler, at, length, error))
            return -1;
        at = at[length] ? at + length + 1 : NULL;
    }
    return 0;
}

int bench_sampler_check_ops(const char *ops, struct dlt_error *error)
{
    struct bench_sampler sampler = {.options = {.ops = ops}};

    return choose_rows(&sampler, error);
}

int bench_sampler_create(const struct bench_sampler_options *options,
                         struct bench_sampler **sampler, struct dlt_error *error)
{
    struct bench_sampler *made = calloc(1, sizeof *made);

    if (!made)
        return dlt_fail_memory(error);
    made->options = *options;
    if (choose_rows(made, error) ||
        bench_networks_load(options->models, options->threads, &made->networks, error)) {
        bench_sampler_destroy(made);
        return -1;
    }
    made->options.ops = NULL; /* the caller's text may go away */
    made->options.models = NULL;
    order_turns(made);
    *sampler = made;
    return 0;
}

void bench_sampler_destroy(struct bench_sampler *sampler)
{
    if (sampler)
        bench_networks_destroy(sampler->networks);
    free(sampler);
}

size_t bench_sampler_networks(const struct bench_sampler *sampler)
{
    return bench_networks_count(sampler->networks);
}

static bool fits(const struct bench_sampler *sampler, uint64_t index,
                 const struct dlt_record *record)
{
    double growth = (double)(1 << (index < 768 ? index / 256 : 3));
    struct dlt_work work;

    if (dlt_record_check(record, NULL))
        return false;
    dlt_record_work(record, &work);
    return work.macs <= growth * sampler->options.most_macs &&
           4 * (work.input + work.output + work.weights) <= sampler->options.most_bytes;
}

/* Types take turns by pairs, so that each gets samples of networks and others. tf32 is a matter of
 * matrix products; 16-bit images are stored channels last as often as not. */
static void choose_type(uint64_t before, struct dlt_record *record)
{
    static const struct {
        enum dlt_dtype dtype;
        enum dlt_math math;
    } types[] = {{DLT_FLOAT32, DLT_IEEE},
                 {DLT_FLOAT16, DLT_IEEE},
                 {DLT_FLOAT32, DLT_TF32},
                 {DLT_BFLOAT16, DLT_IEEE}};
    size_t type = before / 2 % (sizeof types / sizeof *types);
    struct dlt_work work;

    if (strcmp(record->kind->name, "optimizer_update") == 0)
        return;
    dlt_record_work(record, &work);
    record->dtype = types[type].dtype;
    record->math = work.macs > 0 ? types[type].math : DLT_IEEE;
    if (record->kind->dims == 2 && record->dtype != DLT_FLOAT32 && before / 8 % 2)
        record->layout = DLT_NHWC;
}

void bench_sampler_at(const struct bench_sampler *sampler, uint64_t index,
                      struct bench_sample *sample)
{
    int turn = (int)(index % (uint64_t)sampler->turns);
    const struct row *row = &rows[sampler->turn[turn]];
    const struct dlt_record_kind *kind = dlt_record_kind_find(row->kind);
    /* How many samples of this operator come before this one. */
    uint64_t before =
        index / (uint64_t)sampler->turns * (uint64_t)sampler->weight[sampler->turn[turn]] +
        (uint64_t)sampler->nth[turn];
    uint64_t random = sampler->options.seed * 0x9e3779b97f4a7c15ULL + index;
    bool found = false;

    (void)bench_random_next(&random);
    memset(sample, 0, sizeof *sample);
    memcpy(sample->pass, row->pass, sizeof row->pass);
    sample->pass_count = row->pass_count;
    for (int attempt = 0; attempt < ATTEMPTS && before % 2 == 0 && !found; attempt++) {
        sample->record = dlt_record_make(kind);
        if (!bench_networks_draw(sampler->networks, kind, &random, &sample->record))
            break;
        bench_draw_settle(&sample->record);
        while (!(found = fits(sampler, index, &sample->record)) &&
               bench_draw_shrink(&sample->record))
            ;
    }
    sample->from_network = found;
    while (!found) {
        sample->record = dlt_record_make(kind);
        row->draw(&sample->record, &random);
        bench_draw_settle(&sample->record);
        while (!(found = fits(sampler, index, &sample->record)) &&
               bench_draw_shrink(&sample->record))
            ;
    }
    sample->record.threads = sampler->options.threads;
    sample->record.pass = row->pass[0];
    if (sampler->options.types)
        choose_type(before, &sample->record);
    /* One in eight, one of the network's and one of the others in each sixteen. */
    sample->record.cache = before % 16 == 4 || before % 16 == 15 ? DLT_CACHE_WARM : DLT_CACHE_COLD;
}

void bench_sampler_candidate(const struct bench_sampler *sampler, uint64_t index, int candidate,
                             struct bench_sample *sample)
{
    /* Far behind what any run reaches, and at the same operator's turn. */
    const uint64_t apart = (uint64_t)1 << 32;

    bench_sampler_at(sampler, index + (uint64_t)sampler->turns * apart * (uint64_t)(candidate + 1),
                     sample);
}
