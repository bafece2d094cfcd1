/* train_parts.h - the parts of dlt_train, for those that put a profile together in other ways. */
#ifndef DLT_LEARN_TRAIN_PARTS_H
#define DLT_LEARN_TRAIN_PARTS_H

#include "learn/train.h"

/* An entry for each group, with the rates that it reached. Return -1 out of memory. */
int dlt_train_entries(const struct dlt_corpus *corpus, struct dlt_profile_writer *writer);
int dlt_train_sources(const struct dlt_corpus *corpus, struct dlt_profile_writer *writer);

/* Rows of one group and section. */
typedef bool dlt_rows_wanted(void *context, const struct dlt_row *const *row, size_t count);

/* Learns sections for the rows that are wanted (NULL: all). settings->threads is that of
 * dlt_blas_start. Returns -1 out of memory. */
int dlt_train_sections(const struct dlt_corpus *corpus, const struct dlt_train_settings *settings,
                       dlt_rows_wanted *wanted, void *context, struct dlt_profile_writer *writer);

/* The number of rows of one section from `from` on in an array that dlt_sorted_rows made. */
size_t dlt_rows_alike(const struct dlt_row *const *row, size_t from, size_t count);
/* The corpus's rows with those of a section side by side, in the order of the files; malloc'ed. */
const struct dlt_row **dlt_sorted_rows(const struct dlt_corpus *corpus);

#endif
