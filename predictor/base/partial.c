/* SPDX-License-Identifier: Apache-2.0 */
#include "base/partial.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { WRITERS = 16, STALE_S = 86400 };

/* What stands around NAME in ".NAME.dltime-HOST-N". */
enum { AROUND = sizeof "..dltime-01234567-15" - 1 };

/* Of the host's name (FNV-1a), which would not fit beside every file's. */
static unsigned int host_number(void)
{
    struct utsname host;
    unsigned int hash = 2166136261U;

    if (uname(&host) == 0)
        for (const char *c = host.nodename; *c; c++)
            hash = (hash ^ (unsigned char)*c) * 16777619U;
    return hash;
}

/* Where the last part of a path begins. */
static int before_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (int)(slash + 1 - path) : 0;
}

/* Bytes of the last part of a path that a temporary name has room for: where names of a file's
 * length are the longest, the end of it goes, but no part of a character. */
static int kept_of(const char *path)
{
    const char *name = path + before_name(path);
    size_t length = strlen(name);

    if (length + AROUND > NAME_MAX && length <= NAME_MAX) {
        length = NAME_MAX - AROUND;
        while (length > 0 && ((unsigned char)name[length] >> 6) == 2)
            length--;
    }
    return (int)length;
}

/* NULL with errno. */
static char *name_beside(const char *path, unsigned int host, int number)
{
    int before = before_name(path);
    char *name;

    return asprintf(&name, "%.*s.%.*s.dltime-%08x-%d", before, path, kept_of(path), path + before,
                    host, number) < 0
               ? NULL
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

/* A lock that is free says so of the own host's files alone: some file systems keep the locks of
 * each host to itself. */
static bool is_abandoned(int fd, bool own)
{
    struct stat status;

    if (fstat(fd, &status) || !S_ISREG(status.st_mode))
        return false;
    if (lock(fd, LOCK_EX | LOCK_NB) == 0) {
        if (own)
            return true;
    } else if (errno == EWOULDBLOCK) {
        return false;
    }
    return difftime(time(NULL), status.st_mtime) > STALE_S;
}

static void remove_abandoned(int folder, const char *name, bool own)
{
    int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0)
        return;
    if (is_abandoned(fd, own) && is_named(fd, folder, name))
        unlinkat(folder, name, 0);
    close(fd);
}

/* Those of other hosts. Best effort: the folder may be one that must not be listed. */
static void remove_strangers(int folder, const char *path, unsigned int host)
{
    int before = before_name(path), fd;
    char *above = strndup(path, (size_t)before), *start = NULL, *own = NULL;
    struct dirent *entry;
    DIR *list = NULL;

    if (asprintf(&start, ".%.*s.dltime-", kept_of(path), path + before) < 0)
        start = NULL;
    if (!start || asprintf(&own, "%s%08x-", start, host) < 0)
        own = NULL;
    if (!above || !own)
        goto out;
    fd = openat(folder, before ? above : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    list = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !list)
        close(fd);
    while (list && (entry = readdir(list)))
        if (strncmp(entry->d_name, start, strlen(start)) == 0 &&
            strncmp(entry->d_name, own, strlen(own)) != 0)
            remove_abandoned(fd, entry->d_name, false);
out:
    if (list)
        closedir(list);
    free(above);
    free(start);
    free(own);
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
    const unsigned int host = host_number();
    int fd = -1, failure = EEXIST;

    remove_strangers(folder, path, host);
    for (int i = 0; i < WRITERS && (fd >= 0 || failure == EEXIST); i++) {
        char *name = name_beside(path, host, i);

        if (!name) {
            failure = errno;
            continue;
        }
        remove_abandoned(folder, name, true);
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
