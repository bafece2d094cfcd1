/*
 * spatial.h - what pools and norms share.
 */
#ifndef DLBENCH_ONEDNN_SPATIAL_H
#define DLBENCH_ONEDNN_SPATIAL_H

#include "onednn.h"

/* The layout of the input: that of a convolution's output where the layer is by itself, else the
 * one that comes. */
int bench_spatial_layout(struct bench_layer *layer, bench_md *md, struct dlt_error *error);

/* Scale around one, shift around zero (rms_norm has none), and, where statistics are kept, buffers
 * for them: mean and variance of that shape. */
int bench_norm_arrays(struct bench_layer *layer, bool shift, int statistics_rank,
                      const int64_t *statistics_dim, struct dlt_error *error);

#endif
