/*
 * corpus.h - measurements and runs of several files in memory, in the order of the files.
 */
#ifndef DLT_LEARN_CORPUS_H
#define DLT_LEARN_CORPUS_H

#include "measure/measurements.h"

/* A device with its software, timing convention and thread count: what becomes an entry. */
struct dlt_group {
    struct dlt_device device;
    struct dlt_software software;
    int threads;
    size_t rows;
};

struct dlt_row {
    struct dlt_record record;
    double seconds; /* median; of a disturbed row the least, which a burst of other work spares */
    uint32_t group;
    bool disturbed;
};

struct dlt_corpus_run {
    struct dlt_run run;
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
    struct dlt_group *group;
    struct dlt_row *row;
    struct dlt_corpus_run *run;
    struct dlt_source *source;
    size_t group_count, row_count, run_count, source_count;
    size_t row_room, run_room; /* allocated */
};

/* Reads a file into the corpus (zero-initialised at first). Rows of unknown operators are passed
 * over and counted. On failure the corpus keeps what it had; destroy it. */
int dlt_corpus_add(struct dlt_corpus *corpus, const char *path, struct dlt_error *error);
/* Keeps one of the rows that agree in group, record and time: of those that stand in two files one
 * could be learned and the other held out, which makes the held-out error too small. dropped: how
 * many went. Returns 0, or -1 out of memory. */
int dlt_corpus_unique(struct dlt_corpus *corpus, size_t *dropped);
void dlt_corpus_clear(struct dlt_corpus *corpus);

#endif
