/*
 * number.h - element types of the kernels: float32, float16 and bfloat16 in memory, float32 in
 * registers. For the device's compiler, and for a C++ compiler on the host, which tests the
 * kernels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DLBENCH_CUDA_NUMBER_H
#define DLBENCH_CUDA_NUMBER_H

#ifndef __CUDA_ARCH__
#include "half.h"
#endif

struct half_t {
    unsigned short bits;
};
struct bfloat_t {
    unsigned short bits;
};

__device__ inline float to_float(float x)
{
    return x;
}

__device__ inline float to_float(half_t x)
{
#ifdef __CUDA_ARCH__
    float f;

    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x.bits));
    return f;
#else
    return bench_half_value(x.bits);
#endif
}

__device__ inline float to_float(bfloat_t x)
{
    return __int_as_float((int)((unsigned)x.bits << 16));
}

__device__ inline void from_float(float f, float *x)
{
    *x = f;
}

__device__ inline void from_float(float f, half_t *x)
{
#ifdef __CUDA_ARCH__
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x->bits) : "f"(f));
#else
    x->bits = bench_half_bits(f);
#endif
}

/* To the nearest, ties to even; a NaN stays one. */
__device__ inline void from_float(float f, bfloat_t *x)
{
    unsigned bits = (unsigned)__float_as_int(f);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        x->bits = 0x7fff;
    else
        x->bits = (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/* As many elements as are moved by one instruction of 16 bytes. */
template <typename T> struct alignas(16) pack {
    enum { SIZE = 16 / sizeof(T) };
    T x[SIZE];
};

#endif
