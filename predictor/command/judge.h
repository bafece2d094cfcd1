/*
 * judge.h - walks over files of measurements or runs and puts a profile's prediction beside each:
 * what `dltime evaluate` and `dltime report` share.
 */
#ifndef DLT_COMMAND_JUDGE_H
#define DLT_COMMAND_JUDGE_H

#include "command/score.h"
#include "measure/measurements.h"
#include "predict/profile.h"

/* Zero-initialise, then set the first three. */
struct judge {
    const char *command; /* for warnings on stderr: "evaluate" */
    const struct dlt_profile *profile;
    struct scores *scores;
    size_t unread;            /* runs whose network could not be read or priced */
    struct dlt_error example; /* why the first of them */
};

/*
 * Adds every row of the files to the scores: operators by the entry of the profile that stands best
 * for the file's device, software, timing convention (never mixed) and threads; runs by the whole
 * estimate. Says on stderr what was passed over. Returns 0, or -1 where a file cannot be read or
 * the profile turns out damaged. The catalogue of devices has to be filled before.
 */
int judge_files(struct judge *judge, char **file, int count, struct dlt_error *error);

/* One operator that took `seen` seconds on a header's device. Returns -1 out of memory. */
int judge_operator(const struct judge *judge, const struct dlt_measure_header *header,
                   const struct dlt_record *record, double seen);

#endif
