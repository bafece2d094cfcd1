/*
 * rows.h - norms, softmax and the loss: a block of threads for each row.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DLBENCH_CUDA_KERNELS_ROWS_H
#define DLBENCH_CUDA_KERNELS_ROWS_H

#include "common.h"

/* ---- norms ---- */

__device__ inline int parameter_of(const bench_norm_arguments &p, long long row, int i)
{
    if (p.plane == 1)
        return i;
    return (int)(row % p.groups) * (p.columns / p.plane) + i / p.plane;
}

/* Sums are taken of differences to the row's first element, so that one reading is enough. */
template <typename T> __device__ void norm(const bench_norm_arguments &p)
{
    for (long long row = blockIdx.x; row < p.rows; row += gridDim.x) {
        const T *x = (const T *)p.in + row * p.columns;
        T *y = (T *)p.out + row * p.columns;
        float origin = p.shift ? to_float(x[0]) : 0, sum = 0, squares = 0, mean, inverse;

        for (int i = threadIdx.x; i < p.columns; i += blockDim.x) {
            float d = to_float(x[i]) - origin;

            sum += d;
            squares += d * d;
        }
        block_sums(&sum, &squares);
        sum = p.shift ? sum / p.columns : 0;
        mean = origin + sum;
        inverse = rsqrtf(fmaxf(squares / p.columns - sum * sum, 0) + p.epsilon);
        if (threadIdx.x == 0) {
            p.mean[row] = mean;
            p.inverse[row] = inverse;
        }
        for (int i = threadIdx.x; i < p.columns; i += blockDim.x) {
            int j = parameter_of(p, row, i);

            from_float((to_float(x[i]) - mean) * inverse * p.scale[j] + (p.shift ? p.shift[j] : 0),
                       &y[i]);
        }
    }
}

/* dx = (g s - mean(g s) - xhat mean(g s xhat)) / deviation; without a mean the middle goes. */
template <typename T> __device__ void norm_back(const bench_norm_arguments &p)
{
    for (long long row = blockIdx.x; row < p.rows; row += gridDim.x) {
        const T *x = (const T *)p.in + row * p.columns;
        const T *g = (const T *)p.gradient + row * p.columns;
        T *y = (T *)p.out + row * p.columns;
        float mean = p.mean[row], inverse = p.inverse[row], sum = 0, along = 0;

        for (int i = threadIdx.x; i < p.columns; i += blockDim.x) {
            float gs = to_float(g[i]) * p.scale[parameter_of(p, row, i)];

            sum += gs;
            along += gs * (to_float(x[i]) - mean) * inverse;
        }
        block_sums(&sum, &along);
        sum = p.shift ? sum / p.columns : 0;
        along /= p.columns;
        for (int i = threadIdx.x; i < p.columns; i += blockDim.x) {
            float gs = to_float(g[i]) * p.scale[parameter_of(p, row, i)];
            float xhat = (to_float(x[i]) - mean) * inverse;

            from_float(inverse * (gs - sum - xhat * along), &y[i]);
        }
    }
}

/* Gradients of scale and shift of layer_norm: a thread for a column, lines of 32; grid: groups of
 * 32 columns, splits of the rows. */
template <typename T> __device__ void norm_columns(const bench_norm_arguments &p)
{
    __shared__ float lines[2][BENCH_BLOCK / WARP][WARP];
    const T *x = (const T *)p.in, *g = (const T *)p.gradient;
    int lane = threadIdx.x % WARP, line = threadIdx.x / WARP, split = blockIdx.y;
    int c = blockIdx.x * WARP + lane;
    long long from = p.rows * split / p.splits, to = p.rows * (split + 1) / p.splits;
    float scale = 0, shift = 0;

    for (long long row = from + line; row < to && c < p.columns; row += BENCH_BLOCK / WARP) {
        float gradient = to_float(g[row * p.columns + c]);

        scale += gradient * (to_float(x[row * p.columns + c]) - p.mean[row]) * p.inverse[row];
        shift += gradient;
    }
    lines[0][line][lane] = scale;
    lines[1][line][lane] = shift;
    __syncthreads();
    if (line > 0 || c >= p.columns)
        return;
    for (int i = 1; i < BENCH_BLOCK / WARP; i++) {
        scale += lines[0][i][lane];
        shift += lines[1][i][lane];
    }
    p.partial[(2LL * split) * p.columns + c] = scale;
    p.partial[(2LL * split + 1) * p.columns + c] = shift;
}

/* The same of group_norm: a block for a channel's share of the images; grid: channels, splits. */
template <typename T> __device__ void norm_channels(const bench_norm_arguments &p)
{
    const T *x = (const T *)p.in, *g = (const T *)p.gradient;
    int each = p.columns / p.plane, channels = each * p.groups; /* channels of one group, of all */
    int c = blockIdx.x, split = blockIdx.y;
    long long images = p.rows / p.groups;
    long long from = images * split / p.splits, to = images * (split + 1) / p.splits;
    float scale = 0, shift = 0;

    for (long long i = threadIdx.x; i < (to - from) * p.plane; i += blockDim.x) {
        long long image = from + i / p.plane, row = image * p.groups + c / each;
        long long at = (image * channels + c) * p.plane + i % p.plane;
        float gradient = to_float(g[at]);

        scale += gradient * (to_float(x[at]) - p.mean[row]) * p.inverse[row];
        shift += gradient;
    }
    block_sums(&scale, &shift);
    if (threadIdx.x == 0) {
        p.partial[(2LL * split) * channels + c] = scale;
        p.partial[(2LL * split + 1) * channels + c] = shift;
    }
}

/* ---- softmax and loss ---- */

template <typename T> __device__ void softmax(const bench_softmax_arguments &p)
{
    for (long long row = blockIdx.x; row < p.rows; row += gridDim.x) {
        const T *x = (const T *)p.in + row * p.columns;
        T *y = (T *)p.out + row * p.columns;
        int seen = p.period > 0 ? (int)(row % p.period) + 1 : p.columns;
        float largest, sum = 0;

        seen = seen < p.columns ? seen : p.columns;
        largest = to_float(x[0]);
        for (int i = threadIdx.x; i < seen; i += blockDim.x)
            largest = fmaxf(largest, to_float(x[i]));
        largest = block_max(largest);
        for (int i = threadIdx.x; i < seen; i += blockDim.x)
            sum += expf(to_float(x[i]) - largest);
        sum = block_sum(sum);
        for (int i = threadIdx.x; i < p.columns; i += blockDim.x)
            from_float(i < seen ? expf(to_float(x[i]) - largest) / sum : 0.0f, &y[i]);
    }
}

/* dx = y (g - sum g y); `in` is y. */
template <typename T> __device__ void softmax_back(const bench_softmax_arguments &p)
{
    for (long long row = blockIdx.x; row < p.rows; row += gridDim.x) {
        const T *y = (const T *)p.in + row * p.columns;
        const T *g = (const T *)p.gradient + row * p.columns;
        T *out = (T *)p.out + row * p.columns;
        float sum = 0;

        for (int i = threadIdx.x; i < p.columns; i += blockDim.x)
            sum += to_float(y[i]) * to_float(g[i]);
        sum = block_sum(sum);
        for (int i = threadIdx.x; i < p.columns; i += blockDim.x)
            from_float(to_float(y[i]) * (to_float(g[i]) - sum), &out[i]);
    }
}

template <typename T> __device__ void loss(const bench_loss_arguments &p)
{
    for (long long row = blockIdx.x; row < p.rows; row += gridDim.x) {
        const T *z = (const T *)p.scores + row * p.columns;
        T *g = (T *)p.gradient + row * p.columns;
        float largest = to_float(z[0]), sum = 0;
        int label = p.label[row];

        for (int i = threadIdx.x; i < p.columns; i += blockDim.x)
            largest = fmaxf(largest, to_float(z[i]));
        largest = block_max(largest);
        for (int i = threadIdx.x; i < p.columns; i += blockDim.x)
            sum += expf(to_float(z[i]) - largest);
        sum = block_sum(sum);
        for (int i = threadIdx.x; i < p.columns; i += blockDim.x)
            from_float((expf(to_float(z[i]) - largest) / sum - (i == label ? 1.0f : 0.0f)) /
                           (float)p.rows,
                       &g[i]);
        if (threadIdx.x == 0)
            p.loss[row] = logf(sum) + largest - to_float(z[label]);
    }
}

#endif
