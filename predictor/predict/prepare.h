/*
 * prepare.h - a model lowered once and priced many times.
 *
 * Reading a network, building its graph and lowering it depend on the batch of one device, the
 * pass and the number of CPU threads, not on who answers: a table over partitions, devices and
 * profiles pays for that once.
 *
 *     dlt_prepare(model, &prepared, error);
 *     for each partition:
 *         dlt_predict_prepared(prepared, profile, &question, &estimate, error);
 *     dlt_prepared_destroy(prepared);
 */
#ifndef DLT_PREDICT_PREPARE_H
#define DLT_PREDICT_PREPARE_H

#include "lower/lower.h"
#include "predict/memo.h"

/* One lowering. Estimates share it with the prepared model; the last of them frees it. */
struct dlt_lowered {
    int references;
    int64_t batch;
    bool training;
    int threads;
    struct dlt_graph *graph;
    struct dlt_plan *plan;
    struct dlt_graph_counts counts;
    double memory_devices; /* what memory was computed for; 0: not yet */
    struct dlt_memory memory;
};

struct dlt_prepared;

/* The model stays the caller's and has to outlive the result. One for each thread, and so are the
 * estimates made from it: that costs two small allocations, and a lowering at the first question of
 * each. Returns -1 out of memory. */
int dlt_prepare(const struct dlt_model *model, struct dlt_prepared **prepared,
                struct dlt_error *error);
/* NULL is allowed. Estimates made from it stay valid. */
void dlt_prepared_destroy(struct dlt_prepared *prepared);

/* dlt_predict, with what earlier calls have lowered already. */
int dlt_predict_prepared(struct dlt_prepared *prepared, const struct dlt_profile *profile,
                         const struct dlt_question *question, struct dlt_estimate **estimate,
                         struct dlt_error *error);

/* The model of a prepared one. */
const struct dlt_model *dlt_prepared_model(const struct dlt_prepared *prepared);

/* What its predictions have priced already. */
struct dlt_memo *dlt_prepared_memo(const struct dlt_prepared *prepared);

/* The lowering for a batch, pass and thread count, made where there is none yet; one more reference
 * for the caller, who gives it back with dlt_lowered_release (NULL is allowed). */
int dlt_prepared_lower(struct dlt_prepared *prepared, int64_t batch, bool training, int threads,
                       struct dlt_lowered **lowered, struct dlt_error *error);
void dlt_lowered_release(struct dlt_lowered *lowered);

/* Bytes on one of so many devices. */
const struct dlt_memory *dlt_lowered_memory(struct dlt_lowered *lowered,
                                            const struct dlt_training *training, int devices);

#endif
