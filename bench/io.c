/* SPDX-License-Identifier: Apache-2.0 */
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <linux/magic.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/text.h"
#include "runner.h"
#include "timer.h"

/* Direct reads start and end at multiples of this; a chunk is the most that one read asks for. */
enum { ALIGN = 4096, CHUNK = 4 << 20, TIMES = 8192 };

/* The most bytes of all files, so that no sum of offsets is too large: sparse files of 8 EiB can be
 * had on any machine. */
static const int64_t most_found = (int64_t)1 << 61;

const char *const bench_io_bypass_names[] = {"direct", "dropped", "cached"};

void bench_io_clear(struct bench_io_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->path[i]);
    free(files->path);
    free(files->size);
    memset(files, 0, sizeof *files);
}

static int add_file(struct bench_io_files *files, const char *path, int64_t size)
{
    size_t room = files->room;

    if (dlt_grow(&files->path, sizeof *files->path, files->count, 1, &room) ||
        dlt_grow(&files->size, sizeof *files->size, files->count, 1, &files->room))
        return -1;
    files->path[files->count] = strdup(path);
    if (!files->path[files->count])
        return -1;
    files->size[files->count++] = size;
    files->bytes += size;
    return 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

int bench_io_find(const char *path, struct bench_io_files *files, struct dlt_error *error)
{
    char *roots[] = {(char *)path, NULL};
    struct stat status;
    FTSENT *entry;
    int failed = 0;
    FTS *tree;

    memset(files, 0, sizeof *files);
    if (stat(path, &status))
        return dlt_fail(error, "%s: %s", path, strerror(errno));
    files->folder = S_ISDIR(status.st_mode);
    if (!files->folder && !S_ISREG(status.st_mode))
        return dlt_fail(error, "%s is neither a folder nor a regular file", path);
    tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, by_name);
    if (!tree)
        return dlt_fail(error, "%s: %s", path, strerror(errno));
    while (!failed && files->count < BENCH_IO_FILES && (entry = fts_read(tree)) != NULL) {
        bool link = entry->fts_info == FTS_SL;

        if ((entry->fts_info == FTS_F || link) && stat(entry->fts_path, &status) == 0 &&
            S_ISREG(status.st_mode) && status.st_size > 0 &&
            status.st_size <= most_found - files->bytes && access(entry->fts_path, R_OK) == 0)
            failed = add_file(files, entry->fts_path, status.st_size);
    }
    fts_close(tree);
    if (failed) {
        bench_io_clear(files);
        return dlt_fail_memory(error);
    }
    return files->count > 0 ? 0
                            : dlt_fail(error, "%s: there is no file with something to read", path);
}

/* What all workers share. */
struct reading {
    const struct bench_io_files *files;
    const struct bench_io_plan *plan;
    int64_t *first;        /* sample number of each file's first sample, and their number */
    int64_t samples, step; /* step: how far apart samples lie that follow each other */
    double end_s;
    _Atomic int64_t next, bytes, done;
    _Atomic size_t errors;
    _Atomic int bypass; /* the worst that happened */
    _Atomic int error;  /* errno of the last that failed */
};

struct worker {
    struct reading *reading;
    pthread_t thread;
    char *buffer;
    size_t open_file; /* whose descriptor is fd */
    int fd;
    bool direct, stopped; /* stopped: in the middle of a sample */
    float times[TIMES];
    size_t timed; /* samples; the array holds the last of them */
};

static void note_bypass(struct reading *r, enum bench_io_bypass bypass)
{
    int seen = atomic_load(&r->bypass);

    while ((int)bypass > seen && !atomic_compare_exchange_weak(&r->bypass, &seen, (int)bypass))
        ;
}

/* Whether pages of the file are in memory although they were dropped. Unknown counts as yes. */
static bool still_cached(int fd, int64_t offset, int64_t length)
{
    int64_t page = sysconf(_SC_PAGESIZE), start = offset / page * page;
    size_t size = (size_t)(length < page ? page : length < 64 * page ? length : 64 * page);
    unsigned char resident[128];
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, start);
    bool cached = true;

    if (map == MAP_FAILED)
        return true;
    if (mincore(map, size, resident) == 0)
        cached = (resident[0] & 1) != 0;
    munmap(map, size);
    return cached;
}

/* Files that are memory: reading them past the page cache means nothing. */
static bool lies_in_memory(int fd)
{
    struct statfs system;

    return fstatfs(fd, &system) == 0 &&
           (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

static bool open_file(struct worker *w, size_t file)
{
    const char *path = w->reading->files->path[file];

    if (w->fd >= 0 && w->open_file == file)
        return true;
    if (w->fd >= 0)
        close(w->fd);
    w->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_DIRECT);
    w->direct = w->fd >= 0;
    if (w->fd < 0)
        w->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    w->open_file = file;
    if (w->fd < 0)
        return false;
    if (lies_in_memory(w->fd))
        note_bypass(w->reading, BENCH_IO_CACHED);
    return true;
}

/* Drops what the page cache holds of the part that is read next. */
static void drop(struct worker *w, int64_t offset, int64_t length)
{
    posix_fadvise(w->fd, offset, length, POSIX_FADV_DONTNEED);
    if (w->reading->plan->random)
        posix_fadvise(w->fd, 0, 0, POSIX_FADV_RANDOM);
    note_bypass(w->reading,
                still_cached(w->fd, offset, length) ? BENCH_IO_CACHED : BENCH_IO_DROPPED);
}

/* A sample that was begun is read to its end for as long again as there was time: a file that is
 * one sample may be larger than what can be read in a day. */
static bool has_to_stop(const struct reading *r)
{
    return bench_signals_seen() || bench_now() > r->end_s + r->plan->most_s;
}

/* Reads a part of a file; returns bytes of it, or -1. A file system may take O_DIRECT when it opens
 * and refuse it when it reads: then the file is opened again without. */
static int64_t read_part(struct worker *w, size_t file, int64_t offset, int64_t length)
{
    int64_t from = offset / ALIGN * ALIGN, to = (offset + length + ALIGN - 1) / ALIGN * ALIGN;
    int64_t at = from;

    if (!w->direct)
        drop(w, from, to - from);
    while (at < to) {
        size_t wanted = (size_t)(to - at < CHUNK ? to - at : CHUNK);
        ssize_t got = pread(w->fd, w->buffer, wanted, at);

        if (got < 0 && errno == EINVAL && w->direct) {
            w->direct = false;
            close(w->fd);
            w->fd = open(w->reading->files->path[file], O_RDONLY | O_CLOEXEC | O_NOCTTY);
            if (w->fd < 0)
                return -1;
            drop(w, from, to - from);
            continue;
        }
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        at += got;
        if (got < (ssize_t)wanted)
            break; /* the file's end, which is in the middle of a block */
        w->stopped = at < to && has_to_stop(w->reading);
        if (w->stopped)
            break;
    }
    return at < offset + length ? at - offset : length;
}

/* The file that a sample is in: the last whose first sample is not behind it. */
static size_t file_of(const struct reading *r, int64_t sample)
{
    size_t low = 0, high = r->files->count;

    while (high - low > 1) {
        size_t middle = (low + high) / 2;

        if (r->first[middle] <= sample)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void read_sample(struct worker *w, int64_t sample)
{
    struct reading *r = w->reading;
    size_t file = file_of(r, sample);
    int64_t size = r->plan->sample_bytes > 0 ? r->plan->sample_bytes : r->files->size[file];
    int64_t offset = (sample - r->first[file]) * size, left = r->files->size[file] - offset, got;
    double start_s = bench_now();

    got = open_file(w, file) ? read_part(w, file, offset, left < size ? left : size) : -1;
    /* A loader opens each file that is a sample. */
    if (r->plan->sample_bytes == 0 && w->fd >= 0) {
        close(w->fd);
        w->fd = -1;
    }
    if (got < 0) {
        atomic_fetch_add(&r->errors, 1);
        atomic_store(&r->error, errno);
        return;
    }
    if (w->stopped)
        return;
    w->times[w->timed++ % TIMES] = (float)(bench_now() - start_s);
    atomic_fetch_add(&r->bytes, got);
    atomic_fetch_add(&r->done, 1);
}

static void *work(void *argument)
{
    struct worker *w = argument;
    struct reading *r = w->reading;

    while (!bench_signals_seen() && bench_now() < r->end_s &&
           atomic_load(&r->bytes) < r->plan->most_bytes) {
        int64_t index = atomic_fetch_add(&r->next, 1);

        if (index >= r->samples)
            break;
        /* step has no factor in common with the number of samples: each is visited once. */
        read_sample(w, r->plan->random ? (int64_t)((__int128)index * r->step % r->samples) : index);
    }
    if (w->fd >= 0)
        close(w->fd);
    return NULL;
}

static int64_t common_factor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Numbers the samples, and finds a step through all of them that is far from regular. */
static int number_samples(struct reading *r)
{
    const double golden = 0.6180339887;

    r->first = calloc(r->files->count + 1, sizeof *r->first);
    if (!r->first)
        return -1;
    for (size_t i = 0; i < r->files->count; i++) {
        int64_t size = r->plan->sample_bytes;

        r->first[i] = r->samples;
        /* The rest at a file's end is no sample, unless it is all that there is. */
        r->samples += size > 0 && r->files->size[i] > size ? r->files->size[i] / size : 1;
    }
    r->step = (int64_t)(golden * (double)r->samples) + (int64_t)(r->plan->seed % 97) + 1;
    while (common_factor(r->step, r->samples) != 1)
        r->step++;
    return 0;
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static void sum_up(const struct reading *r, const struct worker *worker, double seconds,
                   struct bench_io_result *result)
{
    size_t count = 0;
    float *times = calloc((size_t)r->plan->workers * TIMES, sizeof *times);

    for (int i = 0; times && i < r->plan->workers; i++) {
        size_t kept = worker[i].timed < TIMES ? worker[i].timed : TIMES;

        memcpy(times + count, worker[i].times, kept * sizeof *times);
        count += kept;
    }
    *result = (struct bench_io_result){.seconds = seconds,
                                       .bytes = (double)atomic_load(&r->bytes),
                                       .samples = (double)atomic_load(&r->done),
                                       .median_s = NAN,
                                       .slowest_s = NAN,
                                       .bypass = (enum bench_io_bypass)atomic_load(&r->bypass),
                                       .errors = atomic_load(&r->errors),
                                       .whole = atomic_load(&r->next) >= r->samples};
    if (count > 0) {
        qsort(times, count, sizeof *times, ascending);
        result->median_s = (double)times[count / 2];
        result->slowest_s = (double)times[count - 1 - count / 100];
    }
    free(times);
}

int bench_io_read(const struct bench_io_files *files, const struct bench_io_plan *plan,
                  struct bench_io_result *result, struct dlt_error *error)
{
    struct reading r = {.files = files, .plan = plan};
    struct worker *worker = calloc((size_t)plan->workers, sizeof *worker);
    int started = 0, status = worker ? number_samples(&r) : -1;
    double start_s, seconds;
    char text[32];

    for (int i = 0; i < plan->workers && status == 0; i++) {
        worker[i].reading = &r;
        worker[i].fd = -1;
        worker[i].buffer = aligned_alloc(ALIGN, CHUNK);
        status = worker[i].buffer ? 0 : -1;
    }
    start_s = bench_now();
    r.end_s = start_s + plan->most_s;
    while (status == 0 && started < plan->workers)
        if (pthread_create(&worker[started].thread, NULL, work, &worker[started]) == 0)
            started++;
        else
            status = -1;
    for (int i = 0; i < started; i++)
        pthread_join(worker[i].thread, NULL);
    seconds = bench_now() - start_s;
    if (status == 0)
        sum_up(&r, worker, seconds, result);
    for (int i = 0; worker && i < plan->workers; i++)
        free(worker[i].buffer);
    free(worker);
    free(r.first);
    if (status)
        return dlt_fail(error, "%d workers cannot be started: out of memory or of threads",
                        plan->workers);
    if (result->samples == 0 && result->errors > 0)
        return dlt_fail(error, "%s: %s", files->path[0], strerror(atomic_load(&r.error)));
    if (result->samples == 0 && !bench_signals_seen())
        return dlt_fail(error,
                        "no sample was read to its end within %s; give a smaller --sample-size, or "
                        "a longer --time-budget",
                        dlt_text_from_seconds(text, seconds));
    return 0;
}
