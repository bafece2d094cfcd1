/*
 * reference_spatial.h - convolutions and pools of the reference, in one to three dimensions.
 */
#ifndef DLBENCH_REFERENCE_SPATIAL_H
#define DLBENCH_REFERENCE_SPATIAL_H

#include "reference.h"

void bench_reference_convolution(const struct dlt_record *record, struct bench_arrays *arrays);
/* Means count the padding, as torch.nn.AvgPool2d does by default. */
void bench_reference_pool(const struct dlt_record *record, struct bench_arrays *arrays);

#endif
