/* jobspec.h - a submission's options as a job request. */
#ifndef DLT_SLURM_JOBSPEC_H
#define DLT_SLURM_JOBSPEC_H

#include "../advise/request.h"

/* Fills *request from the program's options. False where Slurm itself finds them unfit: it will
 * refuse the submission and say why. */
bool jobspec_read(void *opt, struct dlt_request *request);

/*
 * Asks the controller when the job would start in a partition with a time limit, were it submitted
 * now: seconds from now. False where it cannot say. Takes as long as Slurm takes, and locks the
 * controller's tables: call it in a child with a deadline, and seldom.
 */
bool jobspec_start(void *opt, const char *partition, double limit_s, double *start_s);

#endif
