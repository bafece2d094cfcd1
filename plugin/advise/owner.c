/* SPDX-License-Identifier: Apache-2.0 */
#include "owner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool check_one(const char *path, uid_t also, char *message, size_t size)
{
    struct stat status;
    bool shared_folder;

    if (lstat(path, &status)) {
        snprintf(message, size, "%s: %s", path, strerror(errno));
        return false;
    }
    if (status.st_uid != 0 && status.st_uid != geteuid() && status.st_uid != also) {
        snprintf(message, size,
                 "%s: belongs to user %u; it must be root's, SlurmUser's or your own", path,
                 (unsigned)status.st_uid);
        return false;
    }
    shared_folder = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX);
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) && !shared_folder) {
        snprintf(message, size, "%s: others may write to it; chmod go-w %s", path, path);
        return false;
    }
    return true;
}

bool dlt_owner_check(const char *path, uid_t also, char real[PATH_MAX], char *message, size_t size)
{
    if (!realpath(path, real)) {
        snprintf(message, size, "%s: %s", path, strerror(errno));
        return false;
    }
    for (char *slash = strchr(real + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        bool good;

        *slash = '\0';
        good = check_one(real, also, message, size);
        *slash = '/';
        if (!good)
            return false;
    }
    return check_one("/", also, message, size) && check_one(real, also, message, size);
}
