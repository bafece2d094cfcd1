/*
 * resubmit.h - what would be predicted for a job whose command line accounting kept.
 */
#ifndef DLT_COMMAND_RESUBMIT_H
#define DLT_COMMAND_RESUBMIT_H

#include <stdbool.h>

#include "dltime.h"
#include "predict/tag.h"

struct resubmit;

/* conf: dltime.conf; NULL: the installed one; where there is none nothing can be estimated. */
int resubmit_create(const char *conf, struct resubmit **resubmit, struct dlt_error *error);
void resubmit_destroy(struct resubmit *resubmit);

/*
 * Estimates the job of a SubmitLine that has --dl-model, on a partition. Only shipped networks: a
 * file of the submitter's is neither read with this process's rights nor what it was any more.
 * False where that cannot be.
 */
bool resubmit_estimate(struct resubmit *resubmit, const char *line, const char *partition,
                       struct dlt_tag *tag);

#endif
