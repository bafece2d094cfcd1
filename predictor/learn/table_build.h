/*
 * table_build.h - a table of convolutions from measured rows, and its learned distance.
 *
 *     dlt_table_rows_add for each row; dlt_table_build; dlt_table_fit; use draft->table
 */
#ifndef DLT_LEARN_TABLE_BUILD_H
#define DLT_LEARN_TABLE_BUILD_H

#include "predict/table.h"

/* One time of one configuration in one pass. */
struct dlt_table_row {
    struct dlt_table_shape shape;
    double batch, log_s;
    enum dlt_pass pass;
};

struct dlt_table_draft {
    struct dlt_table_row *row;
    size_t row_count, row_room;
    struct dlt_file_table head;
    struct dlt_table_shape *shape;
    struct dlt_table_point *point;
    unsigned char *hidden;  /* of each shape; all 0 at first */
    struct dlt_table table; /* over the above */
};

/* Takes a row if it is a plain convolution. Returns -1 out of memory. */
int dlt_table_rows_add(struct dlt_table_draft *draft, const struct dlt_record *record,
                       double seconds);

/* Shapes and points from the rows: of several times of one, the geometric mean. The gradient of
 * the weights where only both together were timed is unknown; both together, where they were timed
 * apart, is their sum. Returns -1 out of memory. */
int dlt_table_build(struct dlt_table_draft *draft);

/* The cost model and the lengths of the distance, from the shapes that are not hidden: the lengths
 * are those with which each shape's time follows best from the others'. Returns -1 out of memory.
 */
int dlt_table_fit(struct dlt_table_draft *draft);

void dlt_table_draft_clear(struct dlt_table_draft *draft);

#endif
