/*
 * predict.h - how `dltime predict` shows an estimate.
 */
#ifndef DLT_COMMAND_PREDICT_H
#define DLT_COMMAND_PREDICT_H

#include "predict/estimate.h"

struct predict_view {
    double quantile; /* also asked for; 0: not */
    bool ops, json;
};

/* Prints one estimate to stdout. profile: the file's name, for the record. */
void predict_print(const struct dlt_estimate *estimate, const char *profile,
                   const struct predict_view *view);

/* A table over batch sizes: time per sample, and the largest batch that fits. */
struct predict_batches;
struct predict_batches *predict_batches_create(bool json);
void predict_batches_add(struct predict_batches *table, const struct dlt_estimate *estimate);
void predict_batches_print(struct predict_batches *table);
void predict_batches_destroy(struct predict_batches *table);

#endif
