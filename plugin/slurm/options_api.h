/*
 * options_api.h - Slurm's functions on a submission's options.
 *
 * sbatch, salloc and srun export them to plugins; no installed header declares them. Their
 * signatures are the same from 19.05 on. slurm_opt_create_job_desc, from 21.08 on, is asked for by
 * name: a reference to it would keep advise.so from being loaded in an older one. `opt` is the
 * program's own and opaque here: its layout changes with every release.
 */
#ifndef DLT_SLURM_OPTIONS_API_H
#define DLT_SLURM_OPTIONS_API_H

#include <slurm/slurm.h>
#include <stdbool.h>

/* The site's configuration as the program read it. */
extern slurm_conf_t slurm_conf;

extern char *slurm_option_get(void *opt, const char *name); /* to be freed by slurm_xfree */
extern bool slurm_option_reset(void *opt, const char *name);
extern void slurm_xfree(void **text);
extern bool slurm_option_isset(void *opt, const char *name);
extern int slurm_option_set(void *opt, const char *name, const char *value, bool early);

/* slurm_opt_create_job_desc(opt, true), or NULL where the release has none (before 21.08). *unfit:
 * Slurm itself found the options unfit, will refuse the submission and say why. */
job_desc_msg_t *options_job_desc(void *opt, bool *unfit);

#endif
