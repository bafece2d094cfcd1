/*
 * trust.h - read files that steer other people's jobs only where no stranger can have written them.
 */
#ifndef DLT_ADVISE_TRUST_H
#define DLT_ADVISE_TRUST_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

#include "dltime.h"

/* Who may own such a file beside root and the caller: SlurmUser, or DLT_NOBODY. */
#define DLT_NOBODY ((uid_t)-1)

/* dlt_owner_check (owner.h) with an error: open `real`, which is what was checked. */
int dlt_trust_path(const char *path, uid_t slurm_uid, char real[PATH_MAX], struct dlt_error *error);

/* dlt_trust_path, then dlt_file_read of what it checked: at most limit bytes, malloc'ed,
 * NUL-terminated. */
int dlt_trust_read(const char *path, uid_t slurm_uid, size_t limit, char **data, size_t *size,
                   struct dlt_error *error);

#endif
