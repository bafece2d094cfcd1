/*
 * update.h - optimizers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DLBENCH_CUDA_KERNELS_UPDATE_H
#define DLBENCH_CUDA_KERNELS_UPDATE_H

#include "common.h"

/* ---- optimizers, with the defaults of torch.optim ---- */

enum { SGD = 1, MOMENTUM, NESTEROV, ADAM, ADAMW, ADAGRAD, ADADELTA, RMSPROP, LAMB };

/* One element's step, to be taken times the learning rate; moves its state. */
template <int OPTIMIZER>
__device__ inline float step_of(const bench_update_arguments &p, float w, float g, float *a,
                                float *b)
{
    const float momentum = 0.9f, beta1 = 0.9f, beta2 = 0.999f, rho = 0.9f, alpha = 0.99f;
    float step;

    switch (OPTIMIZER) {
    case MOMENTUM:
        return *a = momentum * *a + g;
    case NESTEROV:
        *a = momentum * *a + g;
        return g + momentum * *a;
    case ADAM:
    case ADAMW:
    case LAMB:
        *a = beta1 * *a + (1 - beta1) * g;
        *b = beta2 * *b + (1 - beta2) * g * g;
        step = *a / p.correct1 / (sqrtf(*b / p.correct2) + (OPTIMIZER == LAMB ? 1e-6f : 1e-8f));
        return OPTIMIZER == ADAM ? step : step + 0.01f * w;
    case ADAGRAD:
        *a += g * g;
        return g / (sqrtf(*a) + 1e-10f);
    case ADADELTA:
        *a = rho * *a + (1 - rho) * g * g;
        step = sqrtf(*b + 1e-6f) / sqrtf(*a + 1e-6f) * g;
        *b = rho * *b + (1 - rho) * step * step;
        return step;
    case RMSPROP:
        *a = alpha * *a + (1 - alpha) * g * g;
        return g / (sqrtf(*a) + 1e-8f);
    default:
        return g;
    }
}

/* One block for each chunk. */
template <typename T, int OPTIMIZER> __device__ void update(const bench_update_arguments &p)
{
    const bench_update_chunk chunk = p.chunk[blockIdx.x];
    const bench_update_array array = p.array[chunk.array];
    T *weight = (T *)array.weight;
    const T *gradient = (const T *)array.gradient;
    long long end =
        chunk.start + BENCH_CHUNK < array.count ? chunk.start + BENCH_CHUNK : array.count;
    float unused_a = 0, unused_b = 0;

    for (long long i = chunk.start + threadIdx.x; i < end; i += blockDim.x) {
        float w = to_float(weight[i]);
        float step = step_of<OPTIMIZER>(p, w, to_float(gradient[i]),
                                        array.first ? &array.first[i] : &unused_a,
                                        array.second ? &array.second[i] : &unused_b);

        from_float(w - p.rate * step, &weight[i]);
    }
}

/* lamb's first half: the state moves, and the norms of weights and steps are summed. */
template <typename T> __device__ void lamb_norms(const bench_update_arguments &p)
{
    const bench_update_chunk chunk = p.chunk[blockIdx.x];
    const bench_update_array array = p.array[chunk.array];
    const T *weight = (const T *)array.weight, *gradient = (const T *)array.gradient;
    long long end =
        chunk.start + BENCH_CHUNK < array.count ? chunk.start + BENCH_CHUNK : array.count;
    float weights = 0, steps = 0;

    for (long long i = chunk.start + threadIdx.x; i < end; i += blockDim.x) {
        float w = to_float(weight[i]);
        float step = step_of<LAMB>(p, w, to_float(gradient[i]), &array.first[i], &array.second[i]);

        weights += w * w;
        steps += step * step;
    }
    block_sums(&weights, &steps);
    if (threadIdx.x == 0) {
        atomicAdd(&p.norms[2 * chunk.array], weights);
        atomicAdd(&p.norms[2 * chunk.array + 1], steps);
    }
}

template <typename T> __device__ void lamb_step(const bench_update_arguments &p)
{
    const bench_update_chunk chunk = p.chunk[blockIdx.x];
    const bench_update_array array = p.array[chunk.array];
    T *weight = (T *)array.weight;
    long long end =
        chunk.start + BENCH_CHUNK < array.count ? chunk.start + BENCH_CHUNK : array.count;
    float steps = p.norms[2 * chunk.array + 1];
    float trust = steps > 0 ? sqrtf(p.norms[2 * chunk.array] / steps) : 1;

    for (long long i = chunk.start + threadIdx.x; i < end; i += blockDim.x) {
        float w = to_float(weight[i]);
        float step =
            array.first[i] / p.correct1 / (sqrtf(array.second[i] / p.correct2) + 1e-6f) + 0.01f * w;

        from_float(w - p.rate * trust * step, &weight[i]);
    }
}

template <typename T> __device__ void update_any(const bench_update_arguments &p)
{
    switch (p.optimizer) {
    case SGD:
        return update<T, SGD>(p);
    case MOMENTUM:
        return update<T, MOMENTUM>(p);
    case NESTEROV:
        return update<T, NESTEROV>(p);
    case ADAM:
        return update<T, ADAM>(p);
    case ADAMW:
        return update<T, ADAMW>(p);
    case ADAGRAD:
        return update<T, ADAGRAD>(p);
    case ADADELTA:
        return update<T, ADADELTA>(p);
    default:
        return update<T, RMSPROP>(p);
    }
}

/* ---- one arithmetic step over all arrays, as torch's foreach functions take it ---- */

template <typename T>
__device__ inline float foreach_read(const bench_update_array &array, int which, long long i)
{
    switch (which) {
    case BENCH_REGISTER_WEIGHT:
        return to_float(((const T *)array.weight)[i]);
    case BENCH_REGISTER_GRADIENT:
        return to_float(((const T *)array.gradient)[i]);
    case BENCH_REGISTER_FIRST:
        return array.first[i];
    case BENCH_REGISTER_SECOND:
        return array.second[i];
    case BENCH_REGISTER_SUM:
        return array.sum[i];
    case BENCH_REGISTER_FACTOR:
        return array.factor[i];
    default:
        return 0;
    }
}

template <typename T>
__device__ inline void foreach_write(const bench_update_array &array, int which, long long i,
                                     float value)
{
    switch (which) {
    case BENCH_REGISTER_WEIGHT:
        return from_float(value, &((T *)array.weight)[i]);
    case BENCH_REGISTER_FIRST:
        array.first[i] = value;
        return;
    case BENCH_REGISTER_SECOND:
        array.second[i] = value;
        return;
    case BENCH_REGISTER_SUM:
        array.sum[i] = value;
        return;
    default:
        array.factor[i] = value;
    }
}

__device__ inline float foreach_value(int function, float y, float x, float z, float scale)
{
    switch (function) {
    case BENCH_FOREACH_SCALE:
        return scale * x;
    case BENCH_FOREACH_SHIFT:
        return x + scale;
    case BENCH_FOREACH_ROOT:
        return sqrtf(x);
    case BENCH_FOREACH_ADD:
        return x + scale * z;
    case BENCH_FOREACH_LERP:
        return x + scale * (z - x);
    case BENCH_FOREACH_MUL:
        return x * z;
    case BENCH_FOREACH_DIV:
        return x / z;
    case BENCH_FOREACH_SQUARE:
        return y + scale * x * z;
    default:
        return y + scale * x / z;
    }
}

template <typename T> __device__ void foreach_step(const bench_foreach_arguments &p)
{
    const bench_update_chunk chunk = p.chunk[blockIdx.x];
    const bench_update_array array = p.array[chunk.array];
    bool adds = p.function == BENCH_FOREACH_SQUARE || p.function == BENCH_FOREACH_QUOTIENT;
    long long end =
        chunk.start + BENCH_CHUNK < array.count ? chunk.start + BENCH_CHUNK : array.count;

    for (long long i = chunk.start + threadIdx.x; i < end; i += blockDim.x) {
        float x = foreach_read<T>(array, p.x, i), z = foreach_read<T>(array, p.z, i);
        float y = adds ? foreach_read<T>(array, p.y, i) : 0;

        foreach_write<T>(array, p.y, i, foreach_value(p.function, y, x, z, p.scale));
    }
}

#endif
