/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The kernels of bench/cuda/kernels.cu on the host: compiled as they are, each thread of a block a
 * fiber, so that barriers and shuffles mean what they mean on the device.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "half.h"

struct three {
    unsigned x, y, z;
};
static three threadIdx, blockIdx, blockDim, gridDim;

#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(most)

enum { MOST_THREADS = 256, STACK = 64 * 1024 };

static ucontext_t scheduler, fiber[MOST_THREADS];
static char *stacks;
static bool finished[MOST_THREADS];
static float exchange[MOST_THREADS];

static void __syncthreads()
{
    unsigned self = threadIdx.x;

    swapcontext(&fiber[self], &scheduler);
    threadIdx.x = self;
}

static float __shfl_xor_sync(unsigned, float value, int lane)
{
    float other;

    exchange[threadIdx.x] = value;
    __syncthreads();
    other = exchange[threadIdx.x ^ (unsigned)lane];
    __syncthreads();
    return other;
}

static float __int_as_float(int bits)
{
    return bench_float_of((unsigned)bits);
}

static int __float_as_int(float f)
{
    return (int)bench_bits_of(f);
}

static float rsqrtf(float x)
{
    return 1.0f / sqrtf(x);
}

static void atomicAdd(float *sum, float value)
{
    *sum += value;
}

#include "kernels.cu"

/* Any kernel's arguments: structs of more than 16 bytes are passed in memory, whatever their size.
 */
struct arguments {
    char bytes[512];
};
static void (*running)(arguments);
static const arguments *given;

static void run_thread()
{
    unsigned self = threadIdx.x;

    running(*given);
    finished[self] = true;
    threadIdx.x = self;
    setcontext(&scheduler);
}

static void run_block()
{
    bool waiting = true;

    for (unsigned i = 0; i < blockDim.x; i++) {
        getcontext(&fiber[i]);
        fiber[i].uc_stack.ss_sp = stacks + (size_t)i * STACK;
        fiber[i].uc_stack.ss_size = STACK;
        fiber[i].uc_link = &scheduler;
        makecontext(&fiber[i], run_thread, 0);
        finished[i] = false;
    }
    while (waiting) {
        waiting = false;
        for (unsigned i = 0; i < blockDim.x; i++) {
            if (finished[i])
                continue;
            threadIdx.x = i;
            swapcontext(&scheduler, &fiber[i]);
            waiting = waiting || !finished[i];
        }
    }
}

extern "C" void host_launch(void *kernel, const unsigned grid[3], unsigned block,
                            const void *argument)
{
    if (!stacks)
        stacks = (char *)malloc((size_t)MOST_THREADS * STACK);
    running = (void (*)(arguments))kernel;
    given = (const arguments *)argument;
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block, 1, 1};
    for (blockIdx.z = 0; blockIdx.z < grid[2]; blockIdx.z++)
        for (blockIdx.y = 0; blockIdx.y < grid[1]; blockIdx.y++)
            for (blockIdx.x = 0; blockIdx.x < grid[0]; blockIdx.x++)
                run_block();
}
