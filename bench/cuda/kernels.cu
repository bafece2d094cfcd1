/*
 * kernels.cu - the operators that no library has, as a framework would run them.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every kernel has C linkage, takes one struct of arguments.h, and exists for each element type:
 * NAME_f32, NAME_f16, NAME_b16. Elementwise ones move 16 bytes an instruction and walk their arrays
 * with any grid. Sums run over blocks of any multiple of 32 threads, BENCH_BLOCK at most.
 */
#include "kernels/common.h"
#include "kernels/elementwise.h"
#include "kernels/places.h"
#include "kernels/rows.h"
#include "kernels/spatial.h"
#include "kernels/update.h"

#define TYPES(X) X(float, f32) X(half_t, f16) X(bfloat_t, b16)

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
    KERNEL(foreach_step, foreach, type, suffix)                                                    \
    KERNEL(lamb_norms, update, type, suffix)                                                       \
    KERNEL(lamb_step, update, type, suffix)

TYPES(PLAIN_KERNELS)
BENCH_UNARY(UNARY_F32)
BENCH_UNARY(UNARY_F16)
BENCH_UNARY(UNARY_B16)
BENCH_BINARY(BINARY_F32)
BENCH_BINARY(BINARY_F16)
BENCH_BINARY(BINARY_B16)
