/*
 * gpu.h - which NVIDIA GPUs are here, and which build of the CUDA backend serves one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DLBENCH_GPU_H
#define DLBENCH_GPU_H

#include <stdbool.h>

#include "dltime.h"

/* What the driver says about a device. */
struct bench_gpu {
    int driver;     /* CUDA version that the driver serves: 13000 is 13.0 */
    int devices;    /* how many there are */
    int capability; /* of the one asked for: 75 is compute capability 7.5 */
};

/*
 * Asks the driver (libcuda.so.1, opened at run time) about a device. Fails with one sentence where
 * there is no driver, no GPU, or no such device.
 */
int bench_gpu_probe(int device, struct bench_gpu *gpu, struct dlt_error *error);

/*
 * The backend for a device: "cuda13" from compute capability 7.5 and a driver for CUDA 13 on,
 * "cuda12" from 6.0 and a driver for CUDA 12 on, the newer one where both serve. has12, has13:
 * which builds are installed. NULL, with what is missing, where none serves.
 */
const char *bench_gpu_backend(const struct bench_gpu *gpu, bool has12, bool has13,
                              struct dlt_error *error);

#endif
