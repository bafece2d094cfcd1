/* jobspec.h - a submission's options as a job request. */
#ifndef DLT_SLURM_JOBSPEC_H
#define DLT_SLURM_JOBSPEC_H

#include "../advise/request.h"

/* Fills *request from the program's options. False where Slurm itself finds them unfit: it will
 * refuse the submission and say why. */
bool jobspec_read(void *opt, struct dlt_request *request);

#endif
