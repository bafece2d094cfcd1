/*
 * summary.h - what a run measured, by operator and pass.
 */
#ifndef DLBENCH_SUMMARY_H
#define DLBENCH_SUMMARY_H

#include <json-c/json.h>
#include <stdio.h>

#include "output.h"

/*
 * One line an operator and pass: samples, fastest, median and slowest time, the median spread
 * (std / median), and the best rates with their share of the device's peak and bandwidth. Bytes are
 * set beside the memory's bandwidth only where one iteration moves more than twice what the caches
 * hold; an operator without such a row says "cache" instead of a share.
 */
void bench_summary_print(FILE *stream, const struct bench_output *output,
                         const struct dlt_device *device, int threads);

/* The same as members of an object: `operators`, a list, `measurements`, `disturbed`. Rates that
 * are not known are null, and the share of what ran in the cache. */
void bench_summary_json(struct json_object *object, const struct bench_output *output,
                        const struct dlt_device *device, int threads);

#endif
