/*
 * elementwise.h - making values, functions of one and two operands, dropout, conversions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DLBENCH_CUDA_KERNELS_ELEMENTWISE_H
#define DLBENCH_CUDA_KERNELS_ELEMENTWISE_H

#include "../functions.h"
#include "common.h"

/* ---- making values ---- */

template <typename T> __device__ void fill(const bench_fill_arguments &p)
{
    T *out = (T *)p.out;

    for (long long i = first_place(); i < p.count; i += places())
        from_float(p.center + p.spread * (2.0f * unit_at(i, p.seed) - 1.0f), &out[i]);
}

extern "C" __global__ void labels(bench_labels_arguments p)
{
    for (long long i = first_place(); i < p.count; i += places())
        p.out[i] = (int)(random_at(i, p.seed) % (unsigned)p.classes);
}

/* ---- elementwise ---- */

template <typename T, typename F> __device__ void unary(const bench_unary_arguments &p)
{
    const T *in = (const T *)p.in;
    T *out = (T *)p.out;
    long long packs = p.count / pack<T>::SIZE;

    for (long long i = first_place(); i < packs; i += places()) {
        pack<T> x = ((const pack<T> *)in)[i], y;

        for (int j = 0; j < pack<T>::SIZE; j++)
            from_float(F::value(to_float(x.x[j])), &y.x[j]);
        ((pack<T> *)out)[i] = y;
    }
    for (long long i = packs * pack<T>::SIZE + first_place(); i < p.count; i += places())
        from_float(F::value(to_float(in[i])), &out[i]);
}

template <typename T, typename F> __device__ void unary_back(const bench_unary_arguments &p)
{
    const T *in = (const T *)p.in, *gradient = (const T *)p.gradient;
    T *out = (T *)p.out;
    long long packs = p.count / pack<T>::SIZE;

    for (long long i = first_place(); i < packs; i += places()) {
        pack<T> x = ((const pack<T> *)in)[i], g = ((const pack<T> *)gradient)[i], y;

        for (int j = 0; j < pack<T>::SIZE; j++)
            from_float(to_float(g.x[j]) * F::slope(to_float(x.x[j])), &y.x[j]);
        ((pack<T> *)out)[i] = y;
    }
    for (long long i = packs * pack<T>::SIZE + first_place(); i < p.count; i += places())
        from_float(to_float(gradient[i]) * F::slope(to_float(in[i])), &out[i]);
}

template <typename T, typename F> __device__ void binary(const bench_binary_arguments &p)
{
    const T *a = (const T *)p.a, *b = (const T *)p.b;
    T *out = (T *)p.out;
    long long packs = p.count / pack<T>::SIZE;

    for (long long i = first_place(); i < packs; i += places()) {
        pack<T> x = ((const pack<T> *)a)[i], y = ((const pack<T> *)b)[i], z;

        for (int j = 0; j < pack<T>::SIZE; j++)
            from_float(F::value(to_float(x.x[j]), to_float(y.x[j])), &z.x[j]);
        ((pack<T> *)out)[i] = z;
    }
    for (long long i = packs * pack<T>::SIZE + first_place(); i < p.count; i += places())
        from_float(F::value(to_float(a[i]), to_float(b[i])), &out[i]);
}

template <typename T, typename F> __device__ void binary_back(const bench_binary_arguments &p)
{
    const T *a = (const T *)p.a, *b = (const T *)p.b, *gradient = (const T *)p.gradient;
    T *to_a = (T *)p.to_a, *to_b = (T *)p.to_b;

    for (long long i = first_place(); i < p.count; i += places()) {
        float x = to_float(a[i]), y = to_float(b[i]), g = to_float(gradient[i]);

        from_float(g * F::left(x, y), &to_a[i]);
        from_float(g * F::right(x, y), &to_b[i]);
    }
}

/* Where an element of the output is found in both operands. */
__device__ inline void operands_at(const bench_broadcast_arguments &p, long long i, long long *at_a,
                                   long long *at_b)
{
    *at_a = *at_b = 0;
#pragma unroll 1
    for (int d = p.rank - 1; d >= 0; d--) {
        long long place = d > 0 ? i % p.dim[d] : i;

        *at_a += place * p.stride_a[d];
        *at_b += place * p.stride_b[d];
        i = d > 0 ? i / p.dim[d] : 0;
    }
}

__device__ inline float binary_value(int function, float x, float y)
{
    switch (function) {
#define CASE(name)                                                                                 \
    case BENCH_BINARY_##name:                                                                      \
        return function_##name::value(x, y);
        BENCH_BINARY(CASE)
#undef CASE
    }
    return 0;
}

__device__ inline void binary_slopes(int function, float x, float y, float *left, float *right)
{
    switch (function) {
#define CASE(name)                                                                                 \
    case BENCH_BINARY_##name:                                                                      \
        *left = function_##name::left(x, y);                                                       \
        *right = function_##name::right(x, y);                                                     \
        return;
        BENCH_BINARY(CASE)
#undef CASE
    }
}

template <typename T> __device__ void broadcast(const bench_broadcast_arguments &p)
{
    const T *a = (const T *)p.a, *b = (const T *)p.b;
    T *out = (T *)p.out;

    for (long long i = first_place(); i < p.count; i += places()) {
        long long at_a, at_b;

        operands_at(p, i, &at_a, &at_b);
        from_float(binary_value(p.function, to_float(a[at_a]), to_float(b[at_b])), &out[i]);
    }
}

template <typename T> __device__ void broadcast_back(const bench_broadcast_arguments &p)
{
    const T *a = (const T *)p.a, *b = (const T *)p.b, *gradient = (const T *)p.gradient;
    T *to_a = (T *)p.to_a, *to_b = (T *)p.to_b;

    for (long long i = first_place(); i < p.count; i += places()) {
        long long at_a, at_b;
        float left = 0, right = 0, g = to_float(gradient[i]);

        operands_at(p, i, &at_a, &at_b);
        binary_slopes(p.function, to_float(a[at_a]), to_float(b[at_b]), &left, &right);
        if (to_a)
            from_float(g * left, &to_a[i]);
        if (to_b)
            from_float(g * right, &to_b[i]);
    }
}

template <typename T> __device__ void dropout(const bench_dropout_arguments &p)
{
    const T *in = (const T *)p.in;
    T *out = (T *)p.out;

    for (long long i = first_place(); i < p.count; i += places()) {
        unsigned char keep = (unsigned char)(random_at(i, p.seed) >> 31);

        p.mask[i] = keep;
        from_float(2.0f * (float)keep * to_float(in[i]), &out[i]);
    }
}

template <typename T> __device__ void dropout_back(const bench_dropout_arguments &p)
{
    const T *gradient = (const T *)p.in;
    T *out = (T *)p.out;

    for (long long i = first_place(); i < p.count; i += places())
        from_float(2.0f * (float)p.mask[i] * to_float(gradient[i]), &out[i]);
}

template <typename T> __device__ void accumulate(const bench_pair_arguments &p)
{
    const T *in = (const T *)p.in;
    T *out = (T *)p.out;
    long long packs = p.count / pack<T>::SIZE;

    for (long long i = first_place(); i < packs; i += places()) {
        pack<T> x = ((const pack<T> *)in)[i], y = ((const pack<T> *)out)[i];

        for (int j = 0; j < pack<T>::SIZE; j++)
            from_float(to_float(x.x[j]) + to_float(y.x[j]), &y.x[j]);
        ((pack<T> *)out)[i] = y;
    }
    for (long long i = packs * pack<T>::SIZE + first_place(); i < p.count; i += places())
        from_float(to_float(in[i]) + to_float(out[i]), &out[i]);
}

/* To float32, and from it. */
template <typename T> __device__ void widen(const bench_pair_arguments &p)
{
    const T *in = (const T *)p.in;
    float *out = (float *)p.out;

    for (long long i = first_place(); i < p.count; i += places())
        out[i] = to_float(in[i]);
}

template <typename T> __device__ void narrow(const bench_pair_arguments &p)
{
    const float *in = (const float *)p.in;
    T *out = (T *)p.out;

    for (long long i = first_place(); i < p.count; i += places())
        from_float(in[i], &out[i]);
}

#endif
