/*
 * common.h - what the kernels share: places of threads, random numbers, sums over a block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DLBENCH_CUDA_KERNELS_COMMON_H
#define DLBENCH_CUDA_KERNELS_COMMON_H

#include "../arguments.h"
#include "../number.h"

#define WARP 32

__device__ inline long long first_place()
{
    return (long long)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ inline long long places()
{
    return (long long)gridDim.x * blockDim.x;
}

/* A good hash of 32 bits (Wellons' lowbias32). */
__device__ inline unsigned hash(unsigned x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

__device__ inline unsigned random_at(long long place, unsigned seed)
{
    return hash((unsigned)place * 0x9e3779b1u ^ (unsigned)(place >> 32) ^ hash(seed));
}

/* In [0, 1). */
__device__ inline float unit_at(long long place, unsigned seed)
{
    return (float)(random_at(place, seed) >> 8) * (1.0f / 16777216.0f);
}

/* The sums of a and b over the block, in every thread. */
__device__ inline void block_sums(float *a, float *b)
{
    __shared__ float parts[2][WARP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;

    for (int step = WARP / 2; step > 0; step /= 2) {
        *a += __shfl_xor_sync(0xffffffffu, *a, step);
        *b += __shfl_xor_sync(0xffffffffu, *b, step);
    }
    __syncthreads();
    if (lane == 0) {
        parts[0][warp] = *a;
        parts[1][warp] = *b;
    }
    __syncthreads();
    *a = *b = 0;
    for (int i = 0; i < warps; i++) {
        *a += parts[0][i];
        *b += parts[1][i];
    }
}

__device__ inline float block_sum(float a)
{
    float none = 0;

    block_sums(&a, &none);
    return a;
}

__device__ inline float block_max(float a)
{
    __shared__ float parts[WARP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;

    for (int step = WARP / 2; step > 0; step /= 2)
        a = fmaxf(a, __shfl_xor_sync(0xffffffffu, a, step));
    __syncthreads();
    if (lane == 0)
        parts[warp] = a;
    __syncthreads();
    a = parts[0];
    for (int i = 1; i < warps; i++)
        a = fmaxf(a, parts[i]);
    return a;
}

#endif
