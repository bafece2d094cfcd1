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
    size_t read;
    struct dlt_random random;
    uint32_t *row; /* where those kept are; NULL before there are more than that */
};

struct dlt_row {
    struct dlt_record record;
    double seconds; /* median; of a disturbed row the least, which a burst of other work spares */
    uint32_t group;
    bool disturbed;
    uint64_t place; /* in the files */
};

struct dlt_corpus_run {
    struct dlt_run run;
    size_t source; /* the file it came from */
};

/* A row of a table: a file whose rows are looked up rather than learned from. */
struct dlt_looked_up {
    struct dlt_record record;
    double seconds;
    size_t source; /* the file it came from */
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

/* Reads a file into the corpus (zero-initialised at first but for seed and most_rows). Rows of
 * unknown operators are passed over and counted. The rows kept of a section with more than
 * most_rows are as likely each; below, nothing is random. Memory is bounded by them, runs apart. On
 * failure the corpus keeps what it had; destroy it. */
int dlt_corpus_add(struct dlt_corpus *corpus, const char *path, struct dlt_error *error);
/* Keeps one of the rows that agree in group, record and time: of those that stand in two files one
 * could be learned and the other held out, which makes the held-out error too small. dropped: how
 * many went. Returns 0, or -1 out of memory. */
int dlt_corpus_unique(struct dlt_corpus *corpus, size_t *dropped);
void dlt_corpus_clear(struct dlt_corpus *corpus);

#endif
