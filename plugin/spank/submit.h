/* submit.h - the two contexts in which a job is submitted: srun, and sbatch or salloc. */
#ifndef DLT_SPANK_SUBMIT_H
#define DLT_SPANK_SUBMIT_H

#include <slurm/spank.h>
#include <stdbool.h>

/* slurm_spank_init: options, and the environment of an outer job forgotten. argv: plugstack's. */
void submit_init(spank_t spank, int argc, char **argv, bool allocator);

/* 0, or -1 after saying what is wrong with a SPEC that the user gave. */
int submit_check_model(const char *spec);

/* slurm_spank_init_post_opt: advice, if a model was given. Never fails a submission. */
void submit_advise(spank_t spank);

void submit_exit(void);

#endif
