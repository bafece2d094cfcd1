/*
 * drift.h - a benchmark that slows down while it runs: every call takes a little longer than the
 * one before, by a time that does not depend on the work (NeuSight's convolutions: 0.1 ms for the
 * smallest at a file's beginning, 0.8 ms at its end on a P100).
 */
#ifndef DLT_LEARN_DRIFT_H
#define DLT_LEARN_DRIFT_H

#include "learn/model_build.h"

/*
 * Seconds that a call takes more at the last row of the files than at the first; 0 where there is
 * no such growth, or where rows are sorted by size so that it cannot be told from theirs. Returns
 * -1 out of memory.
 */
int dlt_find_drift(const struct dlt_rows *rows, uint64_t seed, double *drift_s);

/*
 * Copies of the rows in their order in the files, as a call at no known place would be answered: of
 * all constants the one with the least mean absolute percentage error, if places are uniform, is
 * the geometric mean of the time at the beginning and at the end. copy: rows->count rows,
 * malloc'ed; row: pointers to them, rows->count, the caller's. Returns -1 out of memory.
 */
int dlt_undrift(const struct dlt_rows *rows, double drift_s, struct dlt_row **copy,
                const struct dlt_row **row);

#endif
