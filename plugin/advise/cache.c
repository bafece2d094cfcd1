/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/partial.h"

/* Opens the folder, after making it where `make`; -1 where there is none to be trusted. */
static int open_folder(bool make)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char path[PATH_MAX];
    struct stat status;
    int fd, length;

    if (runtime && runtime[0] == '/')
        length = snprintf(path, sizeof path, "%s/dltime", runtime);
    else
        length = snprintf(path, sizeof path, "/tmp/dltime-%u", (unsigned)geteuid());
    if (length < 0 || (size_t)length >= sizeof path)
        return -1;
    if (make && mkdir(path, 0700) && errno != EEXIST)
        return -1;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &status) || status.st_uid != geteuid() || (status.st_mode & 077))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* FNV-1a, 64 bits: a name without slashes for any key. */
static void name_of(const char *key, char name[32])
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * UINT64_C(0x100000001b3);
    snprintf(name, 32, "snapshot-%016" PRIx64, hash);
}

static bool fresh(const struct stat *status, double age_s)
{
    double age = difftime(time(NULL), status->st_mtime);

    /* A file server may be a little ahead of this clock. At 0 nothing is fresh, not even what was
     * written within this second. */
    return age_s > 0 && age >= -2 && age <= age_s;
}

bool dlt_cache_read(const char *key, double age_s, size_t limit, char **data, size_t *size)
{
    int folder = open_folder(false);
    char name[32];
    struct stat status;
    bool found = false;
    int fd;

    if (folder < 0)
        return false;
    name_of(key, name);
    fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    close(folder);
    if (fd < 0)
        return false;
    *data = NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        !(status.st_mode & 022) && status.st_size > 0 && (size_t)status.st_size <= limit &&
        fresh(&status, age_s))
        *data = malloc((size_t)status.st_size + 1);
    if (*data) {
        *size = (size_t)status.st_size;
        found = read(fd, *data, *size) == (ssize_t)*size;
        (*data)[*size] = '\0';
        if (!found)
            free(*data);
    }
    close(fd);
    return found;
}

/* A process that may not write files so large is told by a signal, and would end. */
static bool write_all(int fd, const char *data, size_t size)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;
    bool written;

    if (sigaction(SIGXFSZ, &ignore, &before))
        return false;
    written = write(fd, data, size) == (ssize_t)size;
    sigaction(SIGXFSZ, &before, NULL);
    return written;
}

/* Not synchronised to disk: what a crash loses is asked for again. */
void dlt_cache_write(const char *key, const char *data, size_t size)
{
    int folder = open_folder(true), fd;
    char name[32], *partial;

    if (folder < 0)
        return;
    name_of(key, name);
    fd = dlt_partial_create(folder, name, 0600, &partial);
    if (fd >= 0) {
        if (!write_all(fd, data, size) || renameat(folder, partial, folder, name))
            unlinkat(folder, partial, 0);
        free(partial);
        close(fd);
    }
    close(folder);
}
