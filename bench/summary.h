/*
 * summary.h - what a run measured, by operator and pass.
 */
#ifndef DLBENCH_SUMMARY_H
#define DLBENCH_SUMMARY_H

#include <stdio.h>

#include "output.h"

/* One line an operator and pass: samples, fastest, median and slowest time, the median spread
 * (std / median), and the best rates with their share of the device's peak and bandwidth. */
void bench_summary_print(FILE *stream, const struct bench_output *output,
                         const struct dlt_device *device, int threads);

#endif
