/* median.h - the middle of a few numbers. */
#ifndef DLT_BASE_MEDIAN_H
#define DLT_BASE_MEDIAN_H

#include <stddef.h>

/* Sorts from the least up. */
void dlt_sort_values(double *values, size_t count);

/* Sorts, and returns the middle one, or the mean of the middle two; NaN of none. */
double dlt_median(double *values, size_t count);

#endif
