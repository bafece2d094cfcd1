/* SPDX-License-Identifier: Apache-2.0 */
#include "trust.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

static int check_one(const char *path, uid_t slurm_uid, struct dlt_error *error)
{
    struct stat status;
    bool shared_folder;

    if (lstat(path, &status))
        return dlt_fail(error, "%s: %s", path, strerror(errno));
    if (status.st_uid != 0 && status.st_uid != geteuid() && status.st_uid != slurm_uid)
        return dlt_fail(error, "%s: belongs to user %u; it must be root's, SlurmUser's or your own",
                        path, (unsigned)status.st_uid);
    shared_folder = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX);
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) && !shared_folder)
        return dlt_fail(error, "%s: others may write to it; chmod go-w %s", path, path);
    return 0;
}

int dlt_trust_path(const char *path, uid_t slurm_uid, struct dlt_error *error)
{
    char real[PATH_MAX];

    if (!realpath(path, real))
        return dlt_fail(error, "%s: %s", path, strerror(errno));
    for (char *slash = strchr(real + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        int failed;

        *slash = '\0';
        failed = check_one(real, slurm_uid, error);
        *slash = '/';
        if (failed)
            return -1;
    }
    return check_one("/", slurm_uid, error) || check_one(real, slurm_uid, error) ? -1 : 0;
}

int dlt_trust_read(const char *path, uid_t slurm_uid, size_t limit, char **data, size_t *size,
                   struct dlt_error *error)
{
    return dlt_trust_path(path, slurm_uid, error) || dlt_file_read(path, limit, data, size, error)
               ? -1
               : 0;
}
