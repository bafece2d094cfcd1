/*
 * places.h - elements in other places, and sums over dimensions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DLBENCH_CUDA_KERNELS_PLACES_H
#define DLBENCH_CUDA_KERNELS_PLACES_H

#include "common.h"

/* ---- elements in other places ---- */

/* Blocks of 32 x 8 threads, each a tile of 32 x 32; grid: columns, rows, images. */
template <typename T> __device__ void permute(const bench_permute_arguments &p)
{
    __shared__ T tile[WARP][WARP + 1];
    const T *in = (const T *)p.in;
    T *out = (T *)p.out;
    int lane = threadIdx.x % WARP, line = threadIdx.x / WARP;
    int column = blockIdx.x * WARP, row = blockIdx.y * WARP;

    for (long long image = blockIdx.z; image < p.images; image += gridDim.z) {
        long long base = image * p.rows * p.columns;

        __syncthreads();
        for (int i = line; i < WARP; i += BENCH_BLOCK / WARP)
            if (row + i < p.rows && column + lane < p.columns)
                tile[i][lane] = in[base + (long long)(row + i) * p.columns + column + lane];
        __syncthreads();
        for (int i = line; i < WARP; i += BENCH_BLOCK / WARP)
            if (column + i < p.columns && row + lane < p.rows)
                out[base + (long long)(column + i) * p.rows + row + lane] = tile[lane][i];
    }
}

template <typename T> __device__ void block(const bench_block_arguments &p)
{
    const T *in = (const T *)p.in;
    T *out = (T *)p.out;

    for (long long i = first_place(); i < p.rows * p.columns; i += places()) {
        long long row = i / p.columns, column = i % p.columns;

        out[row * p.out_pitch + column] = in[row * p.in_pitch + column];
    }
}

/* -1: nowhere. */
__device__ inline long long mapped_at(const bench_map_arguments &p, long long i)
{
    long long at = p.start;

#pragma unroll 1
    for (int d = p.rank - 1; d >= 0; d--) {
        long long place = d > 0 ? i % p.dim[d] : i;

        if (p.table[d]) {
            if (p.table[d][place] < 0)
                return -1;
            at += p.table[d][place];
        } else {
            at += place * p.stride[d];
        }
        i = d > 0 ? i / p.dim[d] : 0;
    }
    return at;
}

template <typename T> __device__ void map(const bench_map_arguments &p)
{
    const T *in = (const T *)p.in;
    T *out = (T *)p.out;

    for (long long i = first_place(); i < p.count; i += places()) {
        long long at = mapped_at(p, i);

        from_float(at < 0 ? 0.0f : to_float(in[at]), &out[i]);
    }
}

/* Where no element is read twice. */
template <typename T> __device__ void map_back(const bench_map_arguments &p)
{
    const T *in = (const T *)p.in;
    T *out = (T *)p.out;

    for (long long i = first_place(); i < p.count; i += places()) {
        long long at = mapped_at(p, i);

        if (at >= 0)
            out[at] = in[i];
    }
}

/* Where elements may be read several times: their gradients add up in float32. */
template <typename T> __device__ void map_sum(const bench_map_arguments &p)
{
    const T *in = (const T *)p.in;
    float *out = (float *)p.out;

    for (long long i = first_place(); i < p.count; i += places()) {
        long long at = mapped_at(p, i);

        if (at >= 0)
            atomicAdd(&out[at], to_float(in[i]));
    }
}

/* ---- sums ---- */

__device__ inline long long strided(const long long *dim, const long long *stride, int rank,
                                    long long i)
{
    long long at = 0;

    /* The outermost is what is left: a line is walked without divisions. */
#pragma unroll 1
    for (int d = rank - 1; d > 0; d--) {
        at += i % dim[d] * stride[d];
        i /= dim[d];
    }
    return rank > 0 ? at + i * stride[0] : at;
}

/* A block for each output. */
template <typename T> __device__ void reduce(const bench_reduce_arguments &p)
{
    const T *in = (const T *)p.in;
    T *out = (T *)p.out;

    for (long long o = blockIdx.x; o < p.outputs; o += gridDim.x) {
        long long base = strided(p.outer, p.outer_stride, p.outer_rank, o);
        float sum = 0;

        for (long long i = threadIdx.x; i < p.reduced; i += blockDim.x)
            sum += to_float(in[base + strided(p.inner, p.inner_stride, p.inner_rank, i)]);
        sum = block_sum(sum);
        if (threadIdx.x == 0)
            from_float(p.factor * sum, &out[o]);
    }
}

/* A thread for each output, where few elements belong to one. */
template <typename T> __device__ void reduce_few(const bench_reduce_arguments &p)
{
    const T *in = (const T *)p.in;
    T *out = (T *)p.out;

    for (long long o = first_place(); o < p.outputs; o += places()) {
        long long base = strided(p.outer, p.outer_stride, p.outer_rank, o);
        float sum = 0;

        for (long long i = 0; i < p.reduced; i++)
            sum += to_float(in[base + strided(p.inner, p.inner_stride, p.inner_rank, i)]);
        from_float(p.factor * sum, &out[o]);
    }
}

/* The gradient of a sum: `in` has the outputs, `out` the elements. */
template <typename T> __device__ void reduce_back(const bench_reduce_arguments &p)
{
    const T *in = (const T *)p.in;
    T *out = (T *)p.out;

    for (long long i = first_place(); i < p.outputs * p.reduced; i += places()) {
        long long o = i / p.reduced;
        long long at = strided(p.outer, p.outer_stride, p.outer_rank, o) +
                       strided(p.inner, p.inner_stride, p.inner_rank, i % p.reduced);

        from_float(p.factor * to_float(in[o]), &out[at]);
    }
}

template <typename T> __device__ void channel_add(const bench_channel_arguments &p)
{
    const T *bias = (const T *)p.in;
    T *out = (T *)p.out;
    long long count = p.images * p.channels * p.plane;

    for (long long i = first_place(); i < count; i += places()) {
        int c = (int)(i / p.plane % p.channels);

        from_float(to_float(out[i]) + to_float(bias[c]), &out[i]);
    }
}

/* A block for a channel's share of the images; grid: channels, splits. */
template <typename T> __device__ void channel_sum(const bench_channel_arguments &p)
{
    const T *in = (const T *)p.in;
    float *partial = (float *)p.out;
    int c = blockIdx.x, split = blockIdx.y;
    long long from = p.images * split / p.splits, to = p.images * (split + 1) / p.splits;
    float sum = 0;

    for (long long i = threadIdx.x; i < (to - from) * p.plane; i += blockDim.x) {
        long long image = from + i / p.plane;

        sum += to_float(in[(image * p.channels + c) * p.plane + i % p.plane]);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        partial[(long long)split * p.channels + c] = sum;
}

/* The same where channels are next to each other: a thread for a channel, lines of 32; grid: groups
 * of 32 channels, splits. */
template <typename T> __device__ void column_sum(const bench_channel_arguments &p)
{
    __shared__ float lines[BENCH_BLOCK / WARP][WARP];
    const T *in = (const T *)p.in;
    float *partial = (float *)p.out;
    int lane = threadIdx.x % WARP, line = threadIdx.x / WARP, split = blockIdx.y;
    int c = blockIdx.x * WARP + lane;
    long long from = p.images * split / p.splits, to = p.images * (split + 1) / p.splits;
    float sum = 0;

    for (long long row = from + line; row < to && c < p.channels; row += BENCH_BLOCK / WARP)
        sum += to_float(in[row * p.channels + c]);
    lines[line][lane] = sum;
    __syncthreads();
    if (line > 0 || c >= p.channels)
        return;
    for (int i = 1; i < BENCH_BLOCK / WARP; i++)
        sum += lines[i][lane];
    partial[(long long)split * p.channels + c] = sum;
}

template <typename T> __device__ void combine(const bench_combine_arguments &p)
{
    T *out = (T *)p.out;

    for (long long i = first_place(); i < p.count; i += places()) {
        float sum = 0;

        for (int split = 0; split < p.splits; split++)
            sum += p.partial[split * p.pitch + i];
        from_float(sum, &out[i]);
    }
}

#endif
