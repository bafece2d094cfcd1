/*
 * bound.h - times that no device can reach, by its peak rates: slips of a unit, a clock that was
 * set.
 */
#ifndef DLT_LEARN_BOUND_H
#define DLT_LEARN_BOUND_H

#include "device/device.h"
#include "lower/lower.h"

/* What bounds the times of one device. */
struct dlt_bound {
    const struct dlt_device *own, *listed; /* as it says itself, and as the catalogue has it */
};

/* threads: of a CPU, which no catalogue knows. The device has to outlive the bound. */
struct dlt_bound dlt_bound_of(const struct dlt_device *device, int threads);

/*
 * Seconds that a record takes at the very least: a tenth of its products at the device's peak, and
 * of its bytes at a GPU's memory bandwidth; 0 where neither is known. Of what the device and the
 * catalogue say, what allows more.
 *
 * Products are counted as the fastest algorithms need them, a convolution's one for each output and
 * pair of channels whatever its kernel: for m outputs of a kernel of r Winograd (1980) needs
 * m + r - 1, and Fourier transforms hardly more. Direct sums would be 6.5 times a V100's peak
 * (Justus et al. 2018, line 38452 of its convolutions). float32 may have run in TF32. What a half
 * type or TF32 gains counts only where the device's features tell it. The tenth is for clocks above
 * the data sheet's and for caches: an A100's second level gives 4.6 times what its memory does
 * (5120 bytes a clock; NVIDIA 2020).
 */
double dlt_bound_seconds(const struct dlt_bound *bound, const struct dlt_record *record);

/* The same of a network's products: forward, and for a training those of the gradients. */
double dlt_bound_step_seconds(const struct dlt_bound *bound, const struct dlt_plan *plan,
                              bool training);

#endif
