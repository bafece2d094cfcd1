/*
 * runs.h - step parameters of a profile from the whole-network runs of a corpus.
 */
#ifndef DLT_LEARN_RUNS_H
#define DLT_LEARN_RUNS_H

#include "learn/corpus.h"
#include "learn/profile_write.h"

struct dlt_runs_report {
    size_t used;
    size_t skipped;           /* several devices, suspect, no time, or a device without an entry */
    size_t unread;            /* networks that could not be loaded or priced */
    struct dlt_error example; /* why, for the first of those */
};

/*
 * Drops the runs that are faster than their device can be (learn/bound.h), telling found of each.
 * Prices each other run's network with the sections that the writer holds and fits the step
 * parameters of every (entry, framework) that has runs. A run belongs to the entry of the same
 * device and threads, and to a general entry where its device's hardware is known, from its entry
 * or from the catalogue; what the writer knows of a general entry from more networks stays. Passes
 * that are timed apart (a training without optimizer, forward_ms and backward_ms) are cases of
 * their own. Returns 0, or -1: out of memory, or runs that no profile can hold what they teach of.
 */
int dlt_learn_runs(struct dlt_corpus *corpus, struct dlt_profile_writer *writer,
                   dlt_stray_run_found *found, void *context, struct dlt_runs_report *report,
                   struct dlt_error *error);

#endif
