/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/grow.h"

struct bench_output {
    char *path;
    int fd;
    bool made, used; /* made: there was no such file before; used: it has a row */
    struct dlt_measurement *row;
    size_t count, room;
    uint32_t *slot; /* hash table of row index + 1; 0: empty */
    size_t slots;   /* power of two */
};

static struct dlt_record key_of(const struct dlt_record *record)
{
    struct dlt_record key = *record;

    key.cache = DLT_CACHE_UNKNOWN;
    return key;
}

/* The slot of an equal record, or the empty one where it belongs. */
static uint32_t *find_slot(const struct bench_output *output, const struct dlt_record *record)
{
    struct dlt_record key = key_of(record);
    size_t at = (size_t)dlt_record_hash(&key) & (output->slots - 1);

    while (output->slot[at]) {
        struct dlt_record other = key_of(&output->row[output->slot[at] - 1].record);

        if (dlt_record_equal(&key, &other))
            break;
        at = (at + 1) & (output->slots - 1);
    }
    return &output->slot[at];
}

static int grow(struct bench_output *output, struct dlt_error *error)
{
    if (dlt_grow(&output->row, sizeof *output->row, output->count, 1, &output->room))
        return dlt_fail_memory(error);
    free(output->slot);
    output->slots = 2 * output->room;
    output->slot = calloc(output->slots, sizeof *output->slot);
    if (!output->slot)
        return dlt_fail_memory(error);
    for (size_t i = 0; i < output->count; i++)
        *find_slot(output, &output->row[i].record) = (uint32_t)(i + 1);
    return 0;
}

static int keep(struct bench_output *output, const struct dlt_measurement *measurement,
                struct dlt_error *error)
{
    if (output->count == output->room && grow(output, error))
        return -1;
    output->row[output->count++] = *measurement;
    *find_slot(output, &measurement->record) = (uint32_t)output->count;
    return 0;
}

size_t bench_output_count(const struct bench_output *output)
{
    return output->count;
}

const struct dlt_measurement *bench_output_at(const struct bench_output *output, size_t index)
{
    return &output->row[index];
}

bool bench_output_has(const struct bench_output *output, const struct dlt_record *record)
{
    return output->count > 0 && *find_slot(output, record) != 0;
}

/* A line is written at once, and to the end of the file whatever else happened to it. Of one that
 * does not fit on the disk nothing stays. */
static int write_line(struct bench_output *output, const char *line, size_t size,
                      struct dlt_error *error)
{
    off_t before = lseek(output->fd, 0, SEEK_END);
    size_t used = 0;
    int saved;

    while (used < size) {
        ssize_t written = write(output->fd, line + used, size - used);

        if (written >= 0)
            used += (size_t)written;
        else if (errno != EINTR)
            break;
    }
    if (used == size)
        return 0;
    saved = errno;
    return dlt_fail(error, "%s: cannot be written: %s%s", output->path, strerror(saved),
                    used > 0 && ftruncate(output->fd, before) ? "; its last line is cut short"
                                                              : "");
}

/* Prints one line with print(stream, what) and writes it. */
static int add_line(struct bench_output *output, int (*print)(FILE *stream, const void *what),
                    const void *what, struct dlt_error *error)
{
    char *line = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&line, &size);
    int status;

    if (!stream)
        return dlt_fail_memory(error);
    status = print(stream, what);
    if (fclose(stream) || status) {
        free(line);
        return dlt_fail_memory(error);
    }
    status = write_line(output, line, size, error);
    free(line);
    return status;
}

static int add_row(struct bench_output *output, int (*print)(FILE *stream, const void *what),
                   const void *row, struct dlt_error *error)
{
    int status = add_line(output, print, row, error);

    output->used = output->used || status == 0;
    return status;
}

static int print_header(FILE *stream, const void *what)
{
    return dlt_measure_write_header(stream, what);
}

static int print_measurement(FILE *stream, const void *what)
{
    return dlt_measure_write(stream, what);
}

static int print_run(FILE *stream, const void *what)
{
    return dlt_measure_write_run(stream, what);
}

int bench_output_add(struct bench_output *output, const struct dlt_measurement *measurement,
                     struct dlt_error *error)
{
    if (add_row(output, print_measurement, measurement, error))
        return -1;
    return keep(output, measurement, error);
}

int bench_output_add_run(struct bench_output *output, const struct dlt_run *run,
                         struct dlt_error *error)
{
    return add_row(output, print_run, run, error);
}

static int check_header(const char *path, const struct dlt_measure_header *found,
                        const struct dlt_measure_header *wanted, struct dlt_error *error)
{
    if (found->runs != wanted->runs)
        return dlt_fail(error, "%s holds %s, not %s; choose another --output", path,
                        found->runs ? "runs" : "measurements",
                        wanted->runs ? "runs" : "measurements");
    if (strcmp(found->device.name, wanted->device.name) != 0)
        return dlt_fail(error, "%s was measured on %s, and this is %s; choose another --output",
                        path, found->device.name, wanted->device.name);
    if (strcmp(found->software.backend, wanted->software.backend) != 0 ||
        found->software.timing != wanted->software.timing)
        return dlt_fail(error,
                        "%s was measured with %s (%s), and this is %s (%s); choose another "
                        "--output",
                        path, found->software.backend, dlt_timing_names[found->software.timing],
                        wanted->software.backend, dlt_timing_names[wanted->software.timing]);
    return 0;
}

/* Reads what is there. *whole: bytes up to the end of the last whole line. */
static int read_rows(struct bench_output *output, struct dlt_measure_header *header, int64_t *whole,
                     struct dlt_error *error)
{
    struct dlt_measure_reader *reader;
    struct dlt_measurement measurement;
    struct dlt_run run;
    int status;

    if (dlt_measure_open(output->path, &reader, error))
        return -1;
    status = check_header(output->path, dlt_measure_header(reader), header, error);
    if (status == 0)
        *header = *dlt_measure_header(reader);
    while (status == 0) {
        int row = dlt_measure_next(reader, &measurement, &run, error);

        if (row <= 0) {
            status = row;
            break;
        }
        if (!header->runs)
            status = keep(output, &measurement, error);
    }
    *whole = dlt_measure_whole(reader);
    dlt_measure_close(reader);
    return status;
}

/* Whether the file starts with a whole line; a job killed at once may have left less. */
static bool has_line(int fd)
{
    char block[4096];
    ssize_t size;
    off_t at = 0;

    while ((size = pread(fd, block, sizeof block, at)) > 0) {
        if (memchr(block, '\n', (size_t)size))
            return true;
        at += size;
    }
    return false;
}

/* Whether what is there could be the start of a header: anything else is somebody's, not ours. */
static bool starts_header(int fd)
{
    static const char start[] = "{\"format\":\"dltime-";
    char found[sizeof start - 1];
    ssize_t size = pread(fd, found, sizeof found, 0);

    return size >= 0 && memcmp(found, start, (size_t)size) == 0;
}

static bool is_gzip(int fd)
{
    unsigned char magic[2];

    return pread(fd, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
}

static int prepare(struct bench_output *output, enum bench_output_mode mode,
                   struct dlt_measure_header *header, struct dlt_error *error)
{
    struct stat status;
    int64_t whole = 0;

    if (fstat(output->fd, &status) || !S_ISREG(status.st_mode))
        return dlt_fail(error, "%s is no regular file", output->path);
    if (flock(output->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return dlt_fail(error, "%s is being written by another dlbench", output->path);
    if (mode == BENCH_OUTPUT_NEW && status.st_size > 0)
        return dlt_fail(error, "%s exists; --resume continues it", output->path);
    if (is_gzip(output->fd))
        return dlt_fail(error, "%s is compressed and cannot be continued; gunzip it first",
                        output->path);
    if (!has_line(output->fd) && !starts_header(output->fd))
        return dlt_fail(error, "%s holds no measurements; choose another --output", output->path);
    if (has_line(output->fd) && read_rows(output, header, &whole, error))
        return -1;
    if (ftruncate(output->fd, whole))
        return dlt_fail(error, "%s: %s", output->path, strerror(errno));
    return whole > 0 ? 0 : add_line(output, print_header, header, error);
}

int bench_output_open(const char *path, enum bench_output_mode mode,
                      struct dlt_measure_header *header, struct bench_output **output,
                      struct dlt_error *error)
{
    const int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
    struct bench_output *made = calloc(1, sizeof *made);

    if (!made)
        return dlt_fail_memory(error);
    made->fd = -1;
    made->path = strdup(path);
    if (!made->path || grow(made, error)) {
        bench_output_close(made);
        return dlt_fail_memory(error);
    }
    made->fd = open(path, flags | O_EXCL, 0666);
    made->made = made->fd >= 0;
    if (made->fd < 0 && errno == EEXIST)
        made->fd = open(path, flags, 0666);
    if (made->fd < 0) {
        dlt_fail(error, "%s: %s", path, strerror(errno));
        bench_output_close(made);
        return -1;
    }
    if (prepare(made, mode, header, error)) {
        bench_output_close(made);
        return -1;
    }
    *output = made;
    return 0;
}

void bench_output_close(struct bench_output *output)
{
    if (!output)
        return;
    /* A header alone would be in the way of the next try. */
    if (output->made && !output->used)
        unlink(output->path);
    if (output->fd >= 0)
        close(output->fd);
    free(output->path);
    free(output->row);
    free(output->slot);
    free(output);
}
