/*
 * quick.h - the few configurations that tell most about a device.
 */
#ifndef DLBENCH_QUICK_H
#define DLBENCH_QUICK_H

#include "graph/record.h"

/*
 * Configuration `index`: large matrix products that last about product_s each at the peak rate
 * (what the device sustains), a copy that outgrows the caches, and operators of one element (what a
 * launch costs). Returns false after the last.
 */
bool bench_quick_at(size_t index, double peak_flops, int threads, struct dlt_record *record);

#endif
