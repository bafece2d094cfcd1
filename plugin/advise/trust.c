/* SPDX-License-Identifier: Apache-2.0 */
#include "trust.h"

#include "base/error.h"
#include "base/file.h"
#include "owner.h"

int dlt_trust_path(const char *path, uid_t slurm_uid, char real[PATH_MAX], struct dlt_error *error)
{
    char message[sizeof error->text];

    if (dlt_owner_check(path, slurm_uid, real, message, sizeof message))
        return 0;
    return dlt_fail(error, "%s", message);
}

int dlt_trust_read(const char *path, uid_t slurm_uid, size_t limit, char **data, size_t *size,
                   struct dlt_error *error)
{
    char real[PATH_MAX];

    return dlt_trust_path(path, slurm_uid, real, error) ||
                   dlt_file_read(real, limit, data, size, error)
               ? -1
               : 0;
}
