/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faults.c - a disk that misbehaves, preloaded into a program: FAULTS is a list, with commas, of
 *
 *     eintr        every other call that writes, synchronises or locks is interrupted
 *     eintr-read   every other read is
 *     short        reads and writes do half of what they are asked for
 *     full=BYTES   then the disk is full: a write does what fits, the next fails
 *     kill=N       the Nth call that changes a file or a folder is the last: SIGKILL precedes it
 *     count        says at the end how many such calls there were
 *
 * Of regular files only; what glibc's stdio calls inside itself is not seen.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static long kill_at, room = -1, changes;
static int interrupted, interrupted_reads, halved, counted, turn;

/* The value of a fault, 1 where it has none, -1 where it is not asked for. */
static long fault(const char *name)
{
    const char *at = getenv("FAULTS");
    size_t length = strlen(name);

    for (; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, name, length) == 0 && strchr("=,", at[length]))
            return at[length] == '=' ? strtol(at + length + 1, NULL, 10) : 1;
    return -1;
}

__attribute__((constructor)) static void begin(void)
{
    kill_at = fault("kill");
    room = fault("full");
    interrupted = fault("eintr") > 0;
    interrupted_reads = fault("eintr-read") > 0;
    halved = fault("short") > 0;
    counted = fault("count") > 0;
}

__attribute__((destructor)) static void end(void)
{
    if (counted)
        fprintf(stderr, "changes: %ld\n", changes);
}

static int is_file(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

static void change(void)
{
    if (++changes == kill_at)
        raise(SIGKILL);
}

static int interrupt(int whether)
{
    if (!whether || ++turn % 2 == 0)
        return 0;
    errno = EINTR;
    return 1;
}

/* A function of the next library that has this name. */
#define NEXT(type, name)                                                                           \
    static type next;                                                                              \
    if (!next)                                                                                     \
    *(void **)&next = dlsym(RTLD_NEXT, name)

typedef ssize_t write_function(int, const void *, size_t);
typedef ssize_t read_function(int, void *, size_t);
typedef int fd_function(int);
typedef int lock_function(int, int);
typedef int rename_function(const char *, const char *);
typedef int renameat_function(int, const char *, int, const char *);
typedef int unlink_function(const char *);
typedef int unlinkat_function(int, const char *, int);
typedef int openat_function(int, const char *, int, ...);

ssize_t write(int fd, const void *data, size_t size)
{
    NEXT(write_function *, "write");
    if (!is_file(fd))
        return next(fd, data, size);
    if (interrupt(interrupted))
        return -1;
    if (halved && size > 1)
        size /= 2;
    if (room == 0) {
        errno = ENOSPC;
        return -1;
    }
    if (room > 0 && size > (size_t)room)
        size = (size_t)room;
    if (room > 0)
        room -= (long)size;
    change();
    return next(fd, data, size);
}

ssize_t read(int fd, void *data, size_t size)
{
    NEXT(read_function *, "read");
    if (!is_file(fd))
        return next(fd, data, size);
    if (interrupt(interrupted_reads))
        return -1;
    return next(fd, data, halved && size > 1 ? size / 2 : size);
}

int fsync(int fd)
{
    NEXT(fd_function *, "fsync");
    if (interrupt(interrupted))
        return -1;
    change();
    return next(fd);
}

int flock(int fd, int how)
{
    NEXT(lock_function *, "flock");
    return interrupt(interrupted && !(how & LOCK_NB)) ? -1 : next(fd, how);
}

int rename(const char *from, const char *to)
{
    NEXT(rename_function *, "rename");
    change();
    return next(from, to);
}

int renameat(int folder, const char *from, int other, const char *to)
{
    NEXT(renameat_function *, "renameat");
    change();
    return next(folder, from, other, to);
}

int unlink(const char *name)
{
    NEXT(unlink_function *, "unlink");
    change();
    return next(name);
}

int unlinkat(int folder, const char *name, int flags)
{
    NEXT(unlinkat_function *, "unlinkat");
    change();
    return next(folder, name, flags);
}

/* Killed after it, so that the file is there and empty. */
int openat(int folder, const char *name, int flags, ...)
{
    mode_t mode = 0;
    int fd;

    NEXT(openat_function *, "openat");
    if (flags & O_CREAT) {
        va_list list;

        va_start(list, flags);
        mode = va_arg(list, mode_t);
        va_end(list);
    }
    fd = next(folder, name, flags, mode);
    if (fd >= 0 && (flags & O_CREAT))
        change();
    return fd;
}
