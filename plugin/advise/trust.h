/*
 * trust.h - read files that steer other people's jobs only where no stranger can have written them.
 */
#ifndef DLT_ADVISE_TRUST_H
#define DLT_ADVISE_TRUST_H

#include <stddef.h>
#include <sys/types.h>

#include "dltime.h"

/* Who may own such a file beside root and the caller: SlurmUser, or DLT_NOBODY. */
#define DLT_NOBODY ((uid_t)-1)

/*
 * Checks that the file and each folder on the way to it (symbolic links resolved) belong to root,
 * the caller or slurm_uid and that nobody else may write to them; a folder with the sticky bit,
 * like /tmp, may be open to all. The error names what is wrong and the mend.
 */
int dlt_trust_path(const char *path, uid_t slurm_uid, struct dlt_error *error);

/* dlt_trust_path, then dlt_file_read: at most limit bytes, malloc'ed, NUL-terminated. */
int dlt_trust_read(const char *path, uid_t slurm_uid, size_t limit, char **data, size_t *size,
                   struct dlt_error *error);

#endif
