/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

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

static void forget(struct dlt_file_writer *writer)
{
    free(writer->path);
    free(writer->partial);
    *writer = (struct dlt_file_writer){0};
}

/* Opens a new file, named writer->partial with its XXXXXX replaced, with the mode that the caller's
 * umask gives: mkstemp's is 0600, and to ask for the umask is to change it for every thread. */
static int open_partial(struct dlt_file_writer *writer)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    char *name = writer->partial + strlen(writer->partial) - 6;

    for (int try = 0; try < 100; try++) {
        unsigned char bytes[6];
        int fd;

        if (getentropy(bytes, sizeof bytes))
            return -1;
        for (size_t i = 0; i < sizeof bytes; i++)
            name[i] = letters[bytes[i] % (sizeof letters - 1)];
        fd = open(writer->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
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

int dlt_file_create(struct dlt_file_writer *writer, const char *path, struct dlt_error *error)
{
    int fd;

    if (check_replaceable(path, error))
        return -1;
    *writer = (struct dlt_file_writer){.path = strdup(path)};
    if (!writer->path || asprintf(&writer->partial, "%s.XXXXXX", path) < 0) {
        writer->partial = NULL;
        forget(writer);
        return dlt_fail_memory(error);
    }
    fd = open_partial(writer);
    if (fd >= 0)
        writer->stream = fdopen(fd, "w");
    if (!writer->stream) {
        dlt_fail(error, "%s: cannot be written: %s", path, strerror(errno));
        if (fd >= 0) {
            close(fd);
            unlink(writer->partial);
        }
        forget(writer);
        return -1;
    }
    return 0;
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

int dlt_file_commit(struct dlt_file_writer *writer, struct dlt_error *error)
{
    int failed = fflush(writer->stream) || ferror(writer->stream) || fsync(fileno(writer->stream));
    int saved = errno;

    if (fclose(writer->stream) && !failed) {
        failed = 1;
        saved = errno;
    }
    writer->stream = NULL;
    if (!failed && rename(writer->partial, writer->path)) {
        failed = 1;
        saved = errno;
    }
    if (failed) {
        dlt_fail(error, "%s: cannot be written: %s", writer->path, strerror(saved));
        unlink(writer->partial);
        forget(writer);
        return -1;
    }
    sync_folder(writer->path);
    forget(writer);
    return 0;
}

void dlt_file_abandon(struct dlt_file_writer *writer)
{
    if (writer->stream)
        fclose(writer->stream);
    if (writer->partial)
        unlink(writer->partial);
    forget(writer);
}
