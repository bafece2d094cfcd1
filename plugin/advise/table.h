/*
 * table.h - the table that the user reads, and the sentences below it.
 */
#ifndef DLT_ADVISE_TABLE_H
#define DLT_ADVISE_TABLE_H

#include "policy.h"

/*
 * Prints to stream: the headline ("dltime: resnet50: ..."), one row for each candidate, fastest
 * first and the landing ones starred, then the decision's sentences. Text that came from users or
 * the cluster is printed without control characters. rows: false where there is nothing to compare
 * (no candidate has an estimate): sentences alone.
 */
void dlt_table_print(FILE *stream, const char *headline, const struct dlt_candidate *candidates,
                     size_t count, const struct dlt_config *config,
                     const struct dlt_decision *decision);

/* Times as the table has them. "1.24 s" below a minute, "9:12", "13:52:00", "1-08:31"; NaN "-". */
char *dlt_table_time(char buffer[32], double seconds);
/* The same of a range, in which two numbers are always hours and minutes. hours: without seconds,
 * as a job of an hour and more: "13:05", "0:52", "1-06:40"; else with them: "0:31:07". */
char *dlt_table_range_time(char buffer[32], double seconds, bool hours);

/* A device's name cut down to what tells it apart: "Tesla V100-SXM2-16GB" -> "V100 SXM2 16GB". */
void dlt_device_label(char *to, size_t size, const char *device);

#endif
