/*
 * train.h - from measurements in memory to the sections of a profile.
 *
 *     dlt_corpus_add for each file; dlt_train; step parameters (dlt_profile_writer_step, for which
 *     dlt_profile_writer_bytes and dlt_profile_from_memory give a profile to price networks with);
 *     dlt_profile_writer_save.
 *
 * Entry number e of the writer is group number e of the corpus.
 */
#ifndef DLT_LEARN_TRAIN_H
#define DLT_LEARN_TRAIN_H

#include "learn/corpus.h"
#include "learn/profile_write.h"

enum dlt_method {
    DLT_METHOD_AUTO,   /* what suits the number of rows */
    DLT_METHOD_MLP,    /* networks, also where rows are few */
    DLT_METHOD_LINEAR, /* linear regression on FLOPs and sizes: what papers compare with */
    DLT_METHOD_COST,   /* the cost model without a learned ratio */
    DLT_METHODS
};

/* Whether a method learns what the cost model misses. */
static inline bool dlt_method_learns(enum dlt_method method)
{
    return method == DLT_METHOD_AUTO || method == DLT_METHOD_MLP;
}

/* Where a training is: section `done` of `count` is being learned. */
struct dlt_train_progress {
    size_t done, count;
    const char *device, *kind;
    size_t rows;
};

struct dlt_train_settings {
    enum dlt_method method;
    uint64_t seed;
    int threads; /* results do not depend on them; 0: the CPUs that the process may use */
    const struct dlt_profile *starts; /* what networks may begin from (starts.h); or NULL */
    void (*progress)(void *context, const struct dlt_train_progress *progress); /* or NULL */
    void *context;
};

/*
 * Learns a section for each operator, dtype and math of each group that has at least four rows of
 * it, and puts entries, sections and sources into the writer (zero-initialised). Deterministic for
 * a seed. BLAS is set to one thread.
 */
int dlt_train(const struct dlt_corpus *corpus, const struct dlt_train_settings *settings,
              struct dlt_profile_writer *writer, struct dlt_error *error);

#endif
