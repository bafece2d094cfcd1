/*
 * kernels.cu - the operators that no library has, as a framework would run them.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every kernel has C linkage, takes one struct of arguments.h, and exists for each element type:
 * NAME_f32, NAME_f16, NAME_b16. Elementwise ones move 16 bytes an instruction and walk their arrays
 * with any grid. Sums run over blocks of any multiple of 32 threads, BENCH_BLOCK at most.
 */
#include "arguments.h"
#include "functions.h"
#include "number.h"

#define TYPES(X) X(float, f32) X(half_t, f16) X(bfloat_t, b16)
#define WARP     32

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
        long long place = i % p.dim[d];

        *at_a += place * p.stride_a[d];
        *at_b += place * p.stride_b[d];
        i /= p.dim[d];
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
        long long place = i % p.dim[d];

        if (p.table[d]) {
            if (p.table[d][place] < 0)
                return -1;
            at += p.table[d][place];
        } else {
            at += place * p.stride[d];
        }
        i /= p.dim[d];
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

#pragma unroll 1
    for (int d = rank - 1; d >= 0; d--) {
        at += i % dim[d] * stride[d];
        i /= dim[d];
    }
    return at;
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
    int y[2], x[2], row = (int)(i / p.out_size[1] % p.out_size[0]), column = (int)(i % p.out_size[1]);
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

    for (long long i = first_place(); i < p.planes * p.out_size[0] * p.out_size[1];
         i += places()) {
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

    for (long long i = first_place(); i < p.planes * p.out_size[0] * p.out_size[1];
         i += places()) {
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

/* ---- the kernels by name ---- */

#define KERNEL(family, arguments, type, suffix)                                                    \
    extern "C" __global__ void __launch_bounds__(BENCH_BLOCK)                                      \
        family##_##suffix(bench_##arguments##_arguments p)                                         \
    {                                                                                              \
        family<type>(p);                                                                           \
    }
#define FUNCTION_KERNEL(family, arguments, function, type, suffix)                                 \
    extern "C" __global__ void __launch_bounds__(BENCH_BLOCK)                                      \
        family##_##function##_##suffix(bench_##arguments##_arguments p)                            \
    {                                                                                              \
        family<type, function_##function>(p);                                                      \
    }

#define UNARY_KERNELS(type, suffix, function)                                                      \
    FUNCTION_KERNEL(unary, unary, function, type, suffix)                                          \
    FUNCTION_KERNEL(unary_back, unary, function, type, suffix)
#define BINARY_KERNELS(type, suffix, function)                                                     \
    FUNCTION_KERNEL(binary, binary, function, type, suffix)                                        \
    FUNCTION_KERNEL(binary_back, binary, function, type, suffix)

#define UNARY_F32(function)  UNARY_KERNELS(float, f32, function)
#define UNARY_F16(function)  UNARY_KERNELS(half_t, f16, function)
#define UNARY_B16(function)  UNARY_KERNELS(bfloat_t, b16, function)
#define BINARY_F32(function) BINARY_KERNELS(float, f32, function)
#define BINARY_F16(function) BINARY_KERNELS(half_t, f16, function)
#define BINARY_B16(function) BINARY_KERNELS(bfloat_t, b16, function)

#define PLAIN_KERNELS(type, suffix)                                                                \
    KERNEL(fill, fill, type, suffix)                                                               \
    KERNEL(broadcast, broadcast, type, suffix)                                                     \
    KERNEL(broadcast_back, broadcast, type, suffix)                                                \
    KERNEL(dropout, dropout, type, suffix)                                                         \
    KERNEL(dropout_back, dropout, type, suffix)                                                    \
    KERNEL(accumulate, pair, type, suffix)                                                         \
    KERNEL(widen, pair, type, suffix)                                                              \
    KERNEL(narrow, pair, type, suffix)                                                             \
    KERNEL(permute, permute, type, suffix)                                                         \
    KERNEL(block, block, type, suffix)                                                             \
    KERNEL(map, map, type, suffix)                                                                 \
    KERNEL(map_back, map, type, suffix)                                                            \
    KERNEL(map_sum, map, type, suffix)                                                             \
    KERNEL(reduce, reduce, type, suffix)                                                           \
    KERNEL(reduce_few, reduce, type, suffix)                                                       \
    KERNEL(reduce_back, reduce, type, suffix)                                                      \
    KERNEL(channel_add, channel, type, suffix)                                                     \
    KERNEL(channel_sum, channel, type, suffix)                                                     \
    KERNEL(column_sum, channel, type, suffix)                                                      \
    KERNEL(combine, combine, type, suffix)                                                         \
    KERNEL(norm, norm, type, suffix)                                                               \
    KERNEL(norm_back, norm, type, suffix)                                                          \
    KERNEL(norm_columns, norm, type, suffix)                                                       \
    KERNEL(norm_channels, norm, type, suffix)                                                      \
    KERNEL(softmax, softmax, type, suffix)                                                         \
    KERNEL(softmax_back, softmax, type, suffix)                                                    \
    KERNEL(loss, loss, type, suffix)                                                               \
    KERNEL(pool, pool, type, suffix)                                                               \
    KERNEL(pool_back, pool, type, suffix)                                                          \
    KERNEL(upsample, upsample, type, suffix)                                                       \
    KERNEL(upsample_back, upsample, type, suffix)                                                  \
    KERNEL(embedding, embedding, type, suffix)                                                     \
    KERNEL(embedding_back, embedding, type, suffix)                                                \
    KERNEL(update_any, update, type, suffix)                                                       \
    KERNEL(lamb_norms, update, type, suffix)                                                       \
    KERNEL(lamb_step, update, type, suffix)

TYPES(PLAIN_KERNELS)
BENCH_UNARY(UNARY_F32)
BENCH_UNARY(UNARY_F16)
BENCH_UNARY(UNARY_B16)
BENCH_BINARY(BINARY_F32)
BENCH_BINARY(BINARY_F16)
BENCH_BINARY(BINARY_B16)
