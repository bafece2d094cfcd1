/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/partial.h"

static int read_all(int fd, const char *path, size_t limit, char **data, size_t *size,
                    struct dlt_error *error)
{
    size_t room = 16384, used = 0;
    char *bytes = malloc(room + 1);

    if (!bytes)
        return dlt_fail_memory(error);
    for (;;) {
        ssize_t got = read(fd, bytes + used, room - used);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            free(bytes);
            return dlt_fail(error, "%s: %s", path, strerror(errno));
        }
        if (got == 0)
            break;
        used += (size_t)got;
        if (used > limit) {
            free(bytes);
            return dlt_fail(error, "%s: larger than %zu MiB, which is the most that is read", path,
                            limit >> 20);
        }
        if (used == room) {
            char *larger = realloc(bytes, room * 2 + 1);

            if (!larger) {
                free(bytes);
                return dlt_fail_memory(error);
            }
            bytes = larger;
            room *= 2;
        }
    }
    bytes[used] = '\0';
    *data = bytes;
    *size = used;
    return 0;
}

int dlt_file_open(const char *path, int64_t *size, struct dlt_error *error)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return dlt_fail(error, "%s: %s", path, strerror(errno));
    if (fstat(fd, &status))
        dlt_fail(error, "%s: %s", path, strerror(errno));
    else if (S_ISDIR(status.st_mode))
        dlt_fail(error, "%s: is a directory; name a file", path);
    else if (!S_ISREG(status.st_mode))
        dlt_fail(error, "%s: is not a regular file", path);
    else {
        *size = (int64_t)status.st_size;
        return fd;
    }
    close(fd);
    return -1;
}

int dlt_file_read(const char *path, size_t limit, char **data, size_t *size,
                  struct dlt_error *error)
{
    int64_t length;
    int fd = dlt_file_open(path, &length, error);
    int result;

    if (fd < 0)
        return -1;
    result = read_all(fd, path, limit, data, size, error);
    close(fd);
    return result;
}

/* Whether a file may be renamed over path: over /dev/null, root could. */
static int check_replaceable(const char *path, struct dlt_error *error)
{
    struct stat status;

    if (lstat(path, &status) || S_ISREG(status.st_mode))
        return 0;
    if (S_ISLNK(status.st_mode))
        return dlt_fail(error, "%s: is a symbolic link; name the file that it leads to", path);
    if (S_ISDIR(status.st_mode))
        return dlt_fail(error, "%s: is a directory; name a file", path);
    return dlt_fail(error, "%s: is not a regular file", path);
}

/* The name goes before the descriptor, and with it the lock that guards the name. */
void dlt_file_abandon(struct dlt_file_writer *writer)
{
    if (writer->partial)
        unlink(writer->partial);
    if (writer->stream)
        fclose(writer->stream);
    if (writer->path && writer->fd >= 0)
        close(writer->fd);
    free(writer->path);
    free(writer->partial);
    *writer = (struct dlt_file_writer){0};
}

/* What stdio leaves to its callers: it gives up where a signal cuts a write short. */
static ssize_t write_whole(void *context, const char *data, size_t size)
{
    struct dlt_file_writer *writer = context;
    size_t used = 0;

    while (used < size) {
        ssize_t written = write(writer->fd, data + used, size - used);

        if (written >= 0) {
            used += (size_t)written;
        } else if (errno != EINTR) {
            writer->failure = errno;
            return 0;
        }
    }
    return (ssize_t)size;
}

int dlt_file_create(struct dlt_file_writer *writer, const char *path, struct dlt_error *error)
{
    *writer = (struct dlt_file_writer){.fd = -1};
    if (!*path)
        return dlt_fail(error, "the file that is to be written has no name");
    if (check_replaceable(path, error))
        return -1;
    writer->path = strdup(path);
    if (!writer->path)
        return dlt_fail_memory(error);
    writer->fd = dlt_partial_create(AT_FDCWD, path, 0666, &writer->partial);
    if (writer->fd >= 0)
        writer->stream = fopencookie(writer, "w", (cookie_io_functions_t){.write = write_whole});
    if (writer->stream)
        return 0;
    if (errno == EBUSY)
        dlt_fail(error,
                 "%s: sixteen others are writing it at this moment; wait until they have ended, or "
                 "remove the files beside it whose names end in .dltime- and figures",
                 path);
    else
        dlt_fail(error, "%s: cannot be written: %s", path, strerror(errno));
    dlt_file_abandon(writer);
    return -1;
}

/* Makes the rename itself last through a power failure. Best effort: some file systems refuse. */
static void sync_folder(const char *path)
{
    char *folder = strdup(path);
    char *slash;
    int fd;

    if (!folder)
        return;
    slash = strrchr(folder, '/');
    if (slash == folder)
        slash[1] = '\0';
    else if (slash)
        *slash = '\0';
    fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

/* errno, or 0 where everything is on the disk. */
static int finish(struct dlt_file_writer *writer)
{
    int failed = fflush(writer->stream) || ferror(writer->stream);
    int synced;

    if (writer->failure)
        return writer->failure;
    if (failed)
        return EIO;
    do
        synced = fsync(writer->fd);
    while (synced && errno == EINTR);
    return synced ? errno : 0;
}

int dlt_file_commit(struct dlt_file_writer *writer, struct dlt_error *error)
{
    int failure = finish(writer);

    if (!failure && rename(writer->partial, writer->path))
        failure = errno;
    if (failure) {
        dlt_fail(error, "%s: cannot be written: %s", writer->path, strerror(failure));
        dlt_file_abandon(writer);
        return -1;
    }
    sync_folder(writer->path);
    free(writer->partial);
    writer->partial = NULL;
    dlt_file_abandon(writer);
    return 0;
}
