/*
 * io.h - read samples from storage as a data loader does, past the page cache.
 */
#ifndef DLBENCH_IO_H
#define DLBENCH_IO_H

#include "dltime.h"

enum { BENCH_IO_WORKERS = 256, BENCH_IO_FILES = 1 << 20 };

/* How reads got past the page cache, from best to worst. */
enum bench_io_bypass {
    BENCH_IO_DIRECT,  /* O_DIRECT: nothing is cached */
    BENCH_IO_DROPPED, /* pages were dropped before they were read (posix_fadvise) */
    BENCH_IO_CACHED,  /* the page cache could not be avoided: rates may be the memory's */
};
extern const char *const bench_io_bypass_names[]; /* "direct", "dropped", "cached" */

/* Where samples lie: one file, or the files below a folder. */
struct bench_io_files {
    char **path;
    int64_t *size;
    size_t count, room;
    int64_t bytes; /* of all */
    bool folder;
};

/* Lists regular files that can be read and are not empty, at most BENCH_IO_FILES of them; symbolic
 * links to files count, those to folders are not followed. Fails where there is none. */
int bench_io_find(const char *path, struct bench_io_files *files, struct dlt_error *error);
void bench_io_clear(struct bench_io_files *files);

struct bench_io_plan {
    int workers;
    bool random;          /* else in order, each worker its own part */
    int64_t sample_bytes; /* 0: a file of a folder is a sample */
    int64_t most_bytes;   /* ends after it ... */
    double most_s;        /* ... or after this time */
    uint64_t seed;
};

struct bench_io_result {
    double seconds, bytes, samples;
    double median_s, slowest_s; /* of single samples; slowest: one in a hundred takes longer */
    enum bench_io_bypass bypass;
    size_t errors; /* samples that could not be read */
    bool whole;    /* everything there was to read was read once: small sets end early */
};

/* Reads with so many threads. A signal (bench_signals_seen) ends it early. Fails where nothing can
 * be read at all. */
int bench_io_read(const struct bench_io_files *files, const struct bench_io_plan *plan,
                  struct bench_io_result *result, struct dlt_error *error);

#endif
