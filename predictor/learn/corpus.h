/*
 * corpus.h - measurements and runs of several files in memory, in the order of the files. Of an
 * operator, dtype and math of which there are more rows than learning gains from, a fair sample.
 */
#ifndef DLT_LEARN_CORPUS_H
#define DLT_LEARN_CORPUS_H

#include "learn/random.h"
#include "measure/measurements.h"

/* Rows kept of each section, 18 MiB: more than any published file has of one. On Justus et al.'s
 * convolutions on the V100 (train, and evaluate on 8,000 others) 4, 8, 16 and 32 thousand rows gave
 * a MAPE of 5.5, 4.2, 3.5 and 3.1 %. */
enum { DLT_SECTION_ROWS = 65536 };

/* A device with its software, timing convention and thread count: what becomes an entry. */
struct dlt_group {
    struct dlt_device device;
    struct dlt_software software;
    int threads;
    size_t rows; /* read, also where only a sample of them is kept */
};

/* What of a group is learned together, and how many rows of it there were. */
struct dlt_corpus_section {
    uint32_t group;
    const struct dlt_record_kind *kind;
    enum dlt_dtype dtype;
    enum dlt_math math;
    size_t read; /* those dropped apart */
    struct dlt_random random;
    uint32_t *row; /* where those kept are; NULL before there are more than that */
};

struct dlt_row {
    struct dlt_record record;
    double seconds; /* median; of a disturbed row the least, which a burst of other work spares */
    uint32_t group;
    bool disturbed;
    uint64_t place;  /* in the files */
    uint32_t source; /* the file it came from */
    uint32_t line;   /* in that file, from 1 */
};

struct dlt_corpus_run {
    struct dlt_run run;
    size_t source; /* the file it came from */
    uint32_t line; /* in that file, from 1 */
};

/* A row of a table: a file whose rows are looked up rather than learned from. */
struct dlt_looked_up {
    struct dlt_record record;
    double seconds;
    size_t source; /* the file it came from */
    uint32_t line; /* in that file, from 1 */
};

struct dlt_source {
    char *path;
    struct dlt_measure_header header;
    uint64_t size, digest; /* of the file's bytes */
    size_t rows, runs;
    size_t disturbed; /* of the rows: other work ran beside them */
    size_t unknown;   /* rows passed over */
    bool cut;         /* the last line was half written */
};

struct dlt_corpus {
    uint64_t seed;    /* of the samples */
    size_t most_rows; /* kept of each section; 0: DLT_SECTION_ROWS */
    struct dlt_group *group;
    struct dlt_corpus_section *section;
    struct dlt_row *row;
    struct dlt_corpus_run *run;
    struct dlt_looked_up *looked_up;
    struct dlt_source *source;
    size_t looked_up_count, looked_up_room;
    size_t group_count, section_count, row_count, run_count, source_count;
    size_t row_room, run_room; /* allocated */
    size_t current;            /* the section of the row last read */
    uint64_t placed;           /* rows kept so far, also those that gave way */
};

/* What tells a file's bytes from others', as a profile keeps it of its sources. Returns 0 or -1. */
int dlt_file_digest(const char *path, uint64_t *size, uint64_t *digest, struct dlt_error *error);

/* Reads a file into the corpus (zero-initialised at first but for seed and most_rows). Rows of
 * unknown operators are passed over and counted. The rows kept of a section with more than
 * most_rows are as likely each; below, nothing is random. Memory is bounded by them, runs apart. On
 * failure the corpus keeps what it had; destroy it. */
int dlt_corpus_add(struct dlt_corpus *corpus, const char *path, struct dlt_error *error);
/* Rows that measured what another did: in the same time to the last digit (copies, most likely), or
 * in another. */
struct dlt_repeats {
    size_t same, again;
};

/* Keeps one row of each configuration (group and record), with the median of its times, those of
 * calm rows where there are such: a configuration that stands there twice could be learned and held
 * out at once, which makes the held-out error too small, and fifty rows of one are no more than one
 * to learn from. Returns 0, or -1 out of memory. */
int dlt_corpus_unique(struct dlt_corpus *corpus, struct dlt_repeats *repeats);

/* Why a row or a run was dropped. */
enum dlt_stray {
    DLT_STRAY_NONE,
    DLT_STRAY_LONG,       /* it took too long for what the others took */
    DLT_STRAY_SHORT,      /* too little */
    DLT_STRAY_IMPOSSIBLE, /* too little for the device's peak rates: dlt_bound_seconds */
    DLT_STRAY_COMPANY     /* most others of its section are impossible */
};

typedef void dlt_stray_found(void *context, const struct dlt_row *row, enum dlt_stray why);

/* Drops rows that are faster than their device can be (learn/bound.h; the catalogue helps once it
 * is loaded), with all of a section where most are, and those whose time is at least 30 times what
 * nine tenths of the section's others allow for their work, or at most a thirtieth: slips of a
 * unit, a clock that was set. By others sections of fewer than five rows are not judged. Rows of
 * tables are judged alike. Returns 0, or -1 out of memory. */
int dlt_corpus_drop_strays(struct dlt_corpus *corpus, dlt_stray_found *found, void *context);

/* The same of runs against others: other batches of the same network, device, precision and the
 * like, of which there have to be two. dlt_learn_runs finds the impossible ones. */
typedef void dlt_stray_run_found(void *context, const struct dlt_corpus_run *run,
                                 enum dlt_stray why);
int dlt_corpus_drop_stray_runs(struct dlt_corpus *corpus, dlt_stray_run_found *found,
                               void *context);

/* Drops the rows that are marked, by their place in corpus->row, and counts them no longer. */
void dlt_corpus_drop(struct dlt_corpus *corpus, const bool *gone);
void dlt_corpus_clear(struct dlt_corpus *corpus);

#endif
