/*
 * half.h - IEEE binary16 and bfloat16 on the host, by their bits, as not every compiler has types
 * for them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DLBENCH_CUDA_HALF_H
#define DLBENCH_CUDA_HALF_H

#include <string.h>

static inline float bench_float_of(unsigned bits)
{
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline unsigned bench_bits_of(float f)
{
    unsigned bits;

    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float bench_half_value(unsigned short half)
{
    unsigned sign = (unsigned)(half & 0x8000u) << 16, exponent = (half >> 10) & 31u;
    unsigned mantissa = half & 0x3ffu;

    if (exponent == 0) /* zero and subnormals: so many 2^-24 */
        return bench_float_of(sign | bench_bits_of((float)mantissa * (1.0f / 16777216.0f)));
    if (exponent == 31)
        return bench_float_of(sign | 0x7f800000u | mantissa << 13);
    return bench_float_of(sign | (exponent + 112u) << 23 | mantissa << 13);
}

/* To the nearest, ties to even. */
static inline unsigned short bench_half_bits(float f)
{
    unsigned bits = bench_bits_of(f), sign = (bits >> 16) & 0x8000u;
    float magnitude = bench_float_of(bits & 0x7fffffffu);
    unsigned m = bits & 0x7fffffffu;

    if (m > 0x7f800000u)
        return (unsigned short)(sign | 0x7e00u);
    if (magnitude >= 65520.0f)
        return (unsigned short)(sign | 0x7c00u);
    if (magnitude < 6.103515625e-05f) /* the sum rounds to a multiple of 2^-24 */
        return (unsigned short)(sign | (bench_bits_of(magnitude + 0.5f) - bench_bits_of(0.5f)));
    return (unsigned short)(sign | ((m - (112u << 23) + 0xfffu + ((m >> 13) & 1u)) >> 13));
}

static inline float bench_bfloat_value(unsigned short bfloat)
{
    return bench_float_of((unsigned)bfloat << 16);
}

#endif
