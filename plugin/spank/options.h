/* options.h - the options that users see, as one table, and what they were given. */
#ifndef DLT_SPANK_OPTIONS_H
#define DLT_SPANK_OPTIONS_H

#include <slurm/spank.h>
#include <stdbool.h>

enum option { OPTION_MODEL, OPTION_TIME, OPTION_PARTITION, OPTIONS };

/* What was given so far for this job; NULL: not given. Owned by options.c. */
const char *option_value(enum option option);

/* Forgets all values: the next component of a heterogeneous job has its own. */
void options_forget(void);

/*
 * Registers the options. check: whether values are looked at, which is so where a job is being
 * submitted; in slurmstepd the options are known and nothing else.
 */
void options_register(spank_t spank, bool check);

/* Takes values inherited from an outer job out of the environment: they were meant for that one. */
void options_scrub_environment(void);

/* Takes the values out of what the job's prolog and its own submissions would see. */
void options_scrub_job_control(spank_t spank);

#endif
