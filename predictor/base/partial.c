/* SPDX-License-Identifier: Apache-2.0 */
#include "base/partial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WRITERS = 16, STALE_S = 86400 };

/* NULL with errno. */
static char *name_beside(const char *path, int number)
{
    const char *slash = strrchr(path, '/');
    int before = slash ? (int)(slash + 1 - path) : 0;
    char *name;

    return asprintf(&name, "%.*s.%s.dltime-%d", before, path, path + before, number) < 0 ? NULL
                                                                                         : name;
}

static int lock(int fd, int how)
{
    int status;

    do
        status = flock(fd, how);
    while (status && errno == EINTR);
    return status;
}

/* Whether the name still is the open file's: it may have been removed, and given to another, before
 * the lock was there. With the lock only its owner changes that. */
static bool is_named(int fd, int folder, const char *name)
{
    struct stat file, named;

    return fstat(fd, &file) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           file.st_dev == named.st_dev && file.st_ino == named.st_ino;
}

static bool is_abandoned(int fd)
{
    struct stat status;

    if (fstat(fd, &status) || !S_ISREG(status.st_mode))
        return false;
    if (lock(fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    return errno != EWOULDBLOCK && difftime(time(NULL), status.st_mtime) > STALE_S;
}

static void remove_abandoned(int folder, const char *name)
{
    int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0)
        return;
    if (is_abandoned(fd) && is_named(fd, folder, name))
        unlinkat(folder, name, 0);
    close(fd);
}

/* -1 with errno: EEXIST where the name is another's. A lock on it so soon is that of one who is
 * about to remove it, or a stranger's, who would be waited for. */
static int create(int folder, const char *name, mode_t mode)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

    if (fd < 0)
        return -1;
    if ((lock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && is_named(fd, folder, name))
        return fd;
    close(fd);
    errno = EEXIST;
    return -1;
}

/* Goes through all names, also behind the one that is taken, so that nothing stays behind. */
int dlt_partial_create(int folder, const char *path, mode_t mode, char **partial)
{
    int fd = -1, failure = EEXIST;

    for (int i = 0; i < WRITERS && (fd >= 0 || failure == EEXIST); i++) {
        char *name = name_beside(path, i);

        if (!name) {
            failure = errno;
            continue;
        }
        remove_abandoned(folder, name);
        if (fd >= 0 || (fd = create(folder, name, mode)) < 0) {
            if (fd < 0)
                failure = errno;
            free(name);
        } else {
            *partial = name;
        }
    }
    errno = failure == EEXIST ? EBUSY : failure;
    return fd;
}
