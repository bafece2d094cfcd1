/*
 * spatial.h - pools, upsampling and embeddings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DLBENCH_CUDA_KERNELS_SPATIAL_H
#define DLBENCH_CUDA_KERNELS_SPATIAL_H

#include "common.h"

/* ---- pools ---- */

/* Splits a place into image, channel and the place in the plane. */
__device__ inline void split_place(const bench_pool_arguments &p, long long i, int plane,
                                   long long *image, int *channel, int *place)
{
    if (p.last) {
        *channel = (int)(i % p.channels);
        *place = (int)(i / p.channels % plane);
    } else {
        *place = (int)(i % plane);
        *channel = (int)(i / plane % p.channels);
    }
    *image = i / plane / p.channels;
}

__device__ inline long long join_place(const bench_pool_arguments &p, long long image, int channel,
                                       int plane, int place)
{
    if (p.last)
        return (image * plane + place) * p.channels + channel;
    return (image * p.channels + channel) * plane + place;
}

__device__ inline int plane_size(const int *size)
{
    return size[0] * size[1] * size[2];
}

template <typename T> __device__ void pool(const bench_pool_arguments &p)
{
    const T *in = (const T *)p.in;
    T *out = (T *)p.out;
    int ins = plane_size(p.in_size), outs = plane_size(p.out_size), window = plane_size(p.kernel);
    long long count = p.images * p.channels * outs;

    for (long long i = first_place(); i < count; i += places()) {
        long long image;
        int channel, place, from[3], best = -1;
        float sum = 0, largest = 0;

        split_place(p, i, outs, &image, &channel, &place);
        from[2] = place % p.out_size[2] * p.stride[2] - p.padding[2];
        from[1] = place / p.out_size[2] % p.out_size[1] * p.stride[1] - p.padding[1];
        from[0] = place / p.out_size[2] / p.out_size[1] * p.stride[0] - p.padding[0];
        for (int a = 0; a < p.kernel[0]; a++) {
            for (int b = 0; b < p.kernel[1]; b++) {
                for (int c = 0; c < p.kernel[2]; c++) {
                    int x = from[0] + a * p.dilation[0], y = from[1] + b * p.dilation[1];
                    int z = from[2] + c * p.dilation[2], under;
                    float value;

                    if (x < 0 || x >= p.in_size[0] || y < 0 || y >= p.in_size[1] || z < 0 ||
                        z >= p.in_size[2])
                        continue;
                    under = (x * p.in_size[1] + y) * p.in_size[2] + z;
                    value = to_float(in[join_place(p, image, channel, ins, under)]);
                    sum += value;
                    if (best < 0 || value > largest) {
                        best = under;
                        largest = value;
                    }
                }
            }
        }
        if (!p.average)
            p.index[i] = best;
        from_float(p.average ? sum / (float)window : largest, &out[i]);
    }
}

/* The windows that cover a place, in one dimension: first, past the last; -1 in *step never. */
__device__ inline void windows_over(const bench_pool_arguments &p, int d, int x, int *from, int *to)
{
    int reach = (p.kernel[d] - 1) * p.dilation[d], shifted = x + p.padding[d];

    *from = shifted <= reach ? 0 : (shifted - reach + p.stride[d] - 1) / p.stride[d];
    *to = shifted / p.stride[d] + 1;
    *to = *to < p.out_size[d] ? *to : p.out_size[d];
}

__device__ inline bool meets(const bench_pool_arguments &p, int d, int x, int window)
{
    return (x + p.padding[d] - window * p.stride[d]) % p.dilation[d] == 0;
}

/* `in` is the output's gradient. Each place of the input gathers from the windows over it. */
template <typename T> __device__ void pool_back(const bench_pool_arguments &p)
{
    const T *in = (const T *)p.in;
    T *out = (T *)p.out;
    int ins = plane_size(p.in_size), outs = plane_size(p.out_size), window = plane_size(p.kernel);
    long long count = p.images * p.channels * ins;

    for (long long i = first_place(); i < count; i += places()) {
        long long image;
        int channel, place, from[3], to[3], x[3];
        float sum = 0;

        split_place(p, i, ins, &image, &channel, &place);
        x[2] = place % p.in_size[2];
        x[1] = place / p.in_size[2] % p.in_size[1];
        x[0] = place / p.in_size[2] / p.in_size[1];
        for (int d = 0; d < 3; d++)
            windows_over(p, d, x[d], &from[d], &to[d]);
        for (int a = from[0]; a < to[0]; a++) {
            for (int b = from[1]; b < to[1]; b++) {
                for (int c = from[2]; c < to[2]; c++) {
                    int over = (a * p.out_size[1] + b) * p.out_size[2] + c;
                    long long at = join_place(p, image, channel, outs, over);

                    if (p.average
                            ? meets(p, 0, x[0], a) && meets(p, 1, x[1], b) && meets(p, 2, x[2], c)
                            : p.index[at] == place)
                        sum += to_float(in[at]);
                }
            }
        }
        from_float(p.average ? sum / (float)window : sum, &out[i]);
    }
}

/* ---- upsampling ---- */

/* The two elements that an output place lies between, and the weight of the second. */
__device__ inline void between(const bench_upsample_arguments &p, int d, int place, int *first,
                               int *second, float *weight)
{
    float ratio = (float)p.in_size[d] / (float)p.out_size[d];
    float at = p.linear ? fmaxf(((float)place + 0.5f) * ratio - 0.5f, 0) : (float)place * ratio;

    *first = (int)at < p.in_size[d] - 1 ? (int)at : p.in_size[d] - 1;
    *second = *first < p.in_size[d] - 1 ? *first + 1 : *first;
    *weight = p.linear ? at - (float)*first : 0;
}

struct four {
    long long at[4];
    float weight[4];
};

__device__ inline four neighbours(const bench_upsample_arguments &p, long long i)
{
    int y[2], x[2], row = (int)(i / p.out_size[1] % p.out_size[0]),
                    column = (int)(i % p.out_size[1]);
    long long base = i / p.out_size[1] / p.out_size[0] * p.in_size[0] * p.in_size[1];
    float down, right;
    four n;

    between(p, 0, row, &y[0], &y[1], &down);
    between(p, 1, column, &x[0], &x[1], &right);
    for (int k = 0; k < 4; k++) {
        n.at[k] = base + (long long)y[k / 2] * p.in_size[1] + x[k % 2];
        n.weight[k] = (k / 2 ? down : 1 - down) * (k % 2 ? right : 1 - right);
    }
    return n;
}

template <typename T> __device__ void upsample(const bench_upsample_arguments &p)
{
    const T *in = (const T *)p.in;
    T *out = (T *)p.out;

    for (long long i = first_place(); i < p.planes * p.out_size[0] * p.out_size[1]; i += places()) {
        four n = neighbours(p, i);
        float sum = 0;

        for (int k = 0; k < (p.linear ? 4 : 1); k++)
            sum += n.weight[k] * to_float(in[n.at[k]]);
        from_float(sum, &out[i]);
    }
}

template <typename T> __device__ void upsample_back(const bench_upsample_arguments &p)
{
    const T *in = (const T *)p.in;
    float *out = (float *)p.out;

    for (long long i = first_place(); i < p.planes * p.out_size[0] * p.out_size[1]; i += places()) {
        four n = neighbours(p, i);

        for (int k = 0; k < (p.linear ? 4 : 1); k++)
            atomicAdd(&out[n.at[k]], n.weight[k] * to_float(in[i]));
    }
}

/* ---- embedding ---- */

template <typename T> __device__ void embedding(const bench_embedding_arguments &p)
{
    const T *table = (const T *)p.in;
    T *out = (T *)p.out;

    for (long long i = first_place(); i < p.rows * p.width; i += places())
        out[i] = table[(long long)p.index[i / p.width] * p.width + i % p.width];
}

template <typename T> __device__ void embedding_back(const bench_embedding_arguments &p)
{
    const T *gradient = (const T *)p.in;
    float *table = (float *)p.out;

    for (long long i = first_place(); i < p.rows * p.width; i += places())
        atomicAdd(&table[(long long)p.index[i / p.width] * p.width + i % p.width],
                  to_float(gradient[i]));
}

#endif
