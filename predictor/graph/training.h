/*
 * training.h - the keys of `training`, for the loaders.
 */
#ifndef DLT_GRAPH_TRAINING_H
#define DLT_GRAPH_TRAINING_H

#include "graph/model.h"

/* Every key at its default (dltime-model(5)). */
void dlt_training_defaults(struct dlt_training *training);

/* The keys' names, in the manual's order. */
size_t dlt_training_key_count(void);
const char *dlt_training_key_name(size_t index);

/* What a key takes where that is one of a few words, the value-th of them; NULL behind the last,
 * and for numbers and times. */
const char *dlt_training_key_word(size_t index, size_t value);

/* Which keys one source (the file's section, one command line) has set, to refuse a key given twice
 * and two that exclude each other. Zero-initialise. */
struct dlt_training_seen {
    uint64_t keys;
};

/* dlt_training_set, and remembers the key in *seen. */
int dlt_training_apply(struct dlt_training *training, struct dlt_training_seen *seen,
                       const char *key, const char *value, struct dlt_error *error);

#endif
