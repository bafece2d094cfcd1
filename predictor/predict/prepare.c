/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/prepare.h"

#include <stdlib.h>

#include "base/error.h"

/* A submission asks for a few batches (global_batch over partitions of different size, the last
 * ones of their epochs), and for GPUs and CPUs; what is past that is lowered anew. */
enum { KEPT = 16 };

struct dlt_prepared {
    const struct dlt_model *model;
    struct dlt_memo *memo;
    struct dlt_lowered *kept[KEPT];
    size_t count;
};

int dlt_prepare(const struct dlt_model *model, struct dlt_prepared **prepared,
                struct dlt_error *error)
{
    *prepared = calloc(1, sizeof **prepared);
    if (!*prepared)
        return dlt_fail_memory(error);
    (*prepared)->model = model;
    (*prepared)->memo = dlt_memo_create();
    if ((*prepared)->memo)
        return 0;
    free(*prepared);
    *prepared = NULL;
    return dlt_fail_memory(error);
}

void dlt_lowered_release(struct dlt_lowered *lowered)
{
    if (!lowered || --lowered->references > 0)
        return;
    dlt_plan_destroy(lowered->plan);
    dlt_graph_destroy(lowered->graph);
    free(lowered);
}

void dlt_prepared_destroy(struct dlt_prepared *prepared)
{
    if (!prepared)
        return;
    for (size_t i = 0; i < prepared->count; i++)
        dlt_lowered_release(prepared->kept[i]);
    dlt_memo_destroy(prepared->memo);
    free(prepared);
}

const struct dlt_model *dlt_prepared_model(const struct dlt_prepared *prepared)
{
    return prepared->model;
}

struct dlt_memo *dlt_prepared_memo(const struct dlt_prepared *prepared)
{
    return prepared->memo;
}

static int lower(const struct dlt_model *model, struct dlt_lowered *l, struct dlt_error *error)
{
    if (dlt_model_graph(model, l->batch, &l->graph, error) ||
        dlt_lower(l->graph, &model->training, l->training, l->threads, &l->plan, error))
        return -1;
    dlt_graph_count(l->graph, l->training, &l->counts);
    return 0;
}

int dlt_prepared_lower(struct dlt_prepared *prepared, int64_t batch, bool training, int threads,
                       struct dlt_lowered **lowered, struct dlt_error *error)
{
    struct dlt_lowered *made;

    for (size_t i = 0; i < prepared->count; i++) {
        struct dlt_lowered *l = prepared->kept[i];

        if (l->batch == batch && l->training == training && l->threads == threads) {
            l->references++;
            *lowered = l;
            return 0;
        }
    }
    made = calloc(1, sizeof *made);
    if (!made)
        return dlt_fail_memory(error);
    *made = (struct dlt_lowered){
        .references = 1, .batch = batch, .training = training, .threads = threads};
    if (lower(prepared->model, made, error)) {
        dlt_lowered_release(made);
        return -1;
    }
    if (prepared->count < KEPT) {
        prepared->kept[prepared->count++] = made;
        made->references++;
    }
    *lowered = made;
    return 0;
}

const struct dlt_memory *dlt_lowered_memory(struct dlt_lowered *lowered,
                                            const struct dlt_training *training, int devices)
{
    if (lowered->memory_devices != devices) {
        dlt_plan_memory(lowered->graph, training, lowered->training, devices, lowered->threads,
                        &lowered->memory);
        lowered->memory_devices = devices;
    }
    return &lowered->memory;
}
