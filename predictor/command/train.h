/*
 * train.h - what `dltime train` tells beside the profile that it writes; all of it on stderr.
 */
#ifndef DLT_COMMAND_TRAIN_H
#define DLT_COMMAND_TRAIN_H

#include "learn/runs.h"
#include "learn/train.h"

/* One line of a terminal, written over and over. context: any. */
void train_show_progress(void *context, const struct dlt_train_progress *progress);

/* What of a file was passed over. */
void train_tell_source(const struct dlt_source *source);
/* Of what there were more rows than are learned from. */
void train_tell_sampled(const struct dlt_corpus *corpus);

/* Rows and runs that were left out, each by file and line up to a few; zero-initialise but for the
 * corpus, and count the others at the end. */
struct train_strays {
    const struct dlt_corpus *corpus;
    size_t count;
};

void train_name_stray(void *strays, const struct dlt_row *row, enum dlt_stray why);
void train_name_stray_run(void *strays, const struct dlt_corpus_run *run, enum dlt_stray why);
void train_count_strays(const struct train_strays *strays);

/* Operators that were measured, and that the profile does not hold all the same. */
void train_tell_left_out(const struct dlt_corpus *corpus, const struct dlt_profile_writer *writer);
/* The profile's sections with their errors by the method, steps and tables. */
void train_tell_profile(const struct dlt_profile_writer *writer, enum dlt_method method,
                        const struct dlt_runs_report *report);

#endif
