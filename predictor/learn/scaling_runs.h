/*
 * scaling_runs.h - runs files for the distributed model: runs on several devices beside their likes
 * on one, and any columns of the files as factors.
 */
#ifndef DLT_LEARN_SCALING_RUNS_H
#define DLT_LEARN_SCALING_RUNS_H

#include "learn/scaling.h"
#include "measure/measurements.h"

struct dlt_scaling_place {
    const char *path; /* the caller's, as it was read */
    size_t line;
};

/* Zero-initialise. */
struct dlt_scaling_table {
    struct dlt_run *run;
    struct dlt_scaling_place *place; /* of each run */
    char (*name)[64];                /* of the networks of pairs */
    double *column; /* count x columns: numbers of the rows; NaN where a row has none */
    size_t count, room, columns;
    size_t suspect;  /* rows that their source distrusts, passed over */
    size_t timeless; /* rows without a time, passed over */
    size_t absurd;   /* pairs of which one cannot be right, passed over; the first of them: */
    struct dlt_scaling_place several, one;
};

/* Reads a runs file. name: columns names of numeric members, the same at each call. */
int dlt_scaling_read(struct dlt_scaling_table *table, const char *path, const char *const *name,
                     size_t columns, struct dlt_error *error);
void dlt_scaling_table_clear(struct dlt_scaling_table *table);

/*
 * Runs on several devices of which the same network ran on one such device in the same precision,
 * pass, framework and variant, at the nearest batch, whose time is scaled to the batch. The ring's
 * slowdown comes from the network's gradients, where its SPEC can be read, and the link that
 * the catalogue gives the device. *count may be 0. *run is the caller's to free; names in it belong
 * to the table. A network goes by the name that its SPEC gives, where it can be read.
 * A step on several devices that takes less than a thirtieth of one's time, or more than a thousand
 * times as long, is counted in table->absurd.
 */
int dlt_scaling_pairs(struct dlt_scaling_table *table, struct dlt_scaling_run **run, size_t *count,
                      struct dlt_error *error);

#endif
