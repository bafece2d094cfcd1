/*
 * reference_spatial.h - convolutions and pools of the reference, in one to three dimensions.
 */
#ifndef DLBENCH_REFERENCE_SPATIAL_H
#define DLBENCH_REFERENCE_SPATIAL_H

#include "reference.h"

void bench_reference_convolution(const struct dlt_record *record, struct bench_arrays *arrays);
/* Means count the padding, as torch.nn.AvgPool2d does by default. */
void bench_reference_pool(const struct dlt_record *record, struct bench_arrays *arrays);

/* Forward alone. */
void bench_reference_transposed(const struct dlt_record *record, struct bench_arrays *arrays);
void bench_reference_group_norm(const struct dlt_record *record, struct bench_arrays *arrays);
/* Nearest and linear, half-pixel centres (torch's align_corners=False). */
void bench_reference_upsample(const struct dlt_record *record, struct bench_arrays *arrays);

#endif
