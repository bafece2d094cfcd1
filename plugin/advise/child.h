/*
 * child.h - let a child process produce text, and wait no longer than so long for it.
 *
 * For work that may hang: Slurm's client calls repeat for ten seconds and more when the controller
 * does not answer. The child's own output goes nowhere, it cannot outlive the caller, and it is
 * killed at the deadline.
 */
#ifndef DLT_ADVISE_CHILD_H
#define DLT_ADVISE_CHILD_H

#include <stdio.h>

#include "dltime.h"

/* Runs in the child; writes to stream. 0 for success; otherwise what it wrote is one sentence that
 * says why. Must not return to the caller's business: the child leaves by _exit afterwards. */
typedef int dlt_child_work(FILE *stream, void *context);

/*
 * Forks, runs work, collects at most limit bytes. *data is malloc'ed and NUL-terminated. Fails
 * where the child failed, produced more, or took longer than deadline_s; `what` begins the sentence
 * ("Slurm's controller"). Returns at most a twentieth of a second after the deadline, even where
 * the child cannot be killed.
 */
int dlt_child_collect(dlt_child_work *work, void *context, const char *what, double deadline_s,
                      size_t limit, char **data, size_t *size, struct dlt_error *error);

/* The clock of deadlines, in seconds. */
double dlt_child_now_s(void);

#endif
