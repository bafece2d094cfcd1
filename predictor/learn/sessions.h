/*
 * sessions.h - rows measured under different circumstances (another driver, clock or release of the
 * framework) that nobody wrote down, found by the order of the rows.
 */
#ifndef DLT_LEARN_SESSIONS_H
#define DLT_LEARN_SESSIONS_H

#include "learn/corpus.h"

/*
 * Splits rows, in the order in which they stand in the files, where the mean of value changes for
 * good: binary segmentation, at most four sessions, each of at least 5 % of the rows. value: of
 * each row. level: for each row the mean value of its session less that of all rows; all 0 where
 * there is one session, as where files are sorted by size. Returns how many sessions there are, or
 * 0 out of memory.
 */
size_t dlt_find_sessions(const struct dlt_row *const *row, const float *value, size_t count,
                         float *level);

#endif
