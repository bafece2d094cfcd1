/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A device on the host for tests of the CUDA backend: here the runtime's calls, in host_blas.c and
 * host_dnn.c the calls of cublasLt and cuDNN that compute, in plain loops over what the libraries'
 * own descriptors say. Everything else (descriptors, attributes, sizes) is the libraries' own.
 * Comes before them in the link.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void host_launch(void *kernel, const unsigned grid[3], unsigned block, const void *argument);

/* $HOST_LAUNCHES: kernels that are run before one breaks the process's context, for good. */
static bool is_lost(int launched)
{
    static long launches;
    const char *most = getenv("HOST_LAUNCHES");

    launches += launched;
    return most && launches > strtol(most, NULL, 10);
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error" : "an error";
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    *available = *total = (size_t)1 << 30;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    (void)device;
    switch (attribute) {
    case cudaDevAttrL2CacheSize:
        *value = 1 << 16;
        return cudaSuccess;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
        *value = 1000000;
        return cudaSuccess;
    case cudaDevAttrGlobalMemoryBusWidth:
        *value = 64;
        return cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    (void)device;
    memset(properties, 0, sizeof *properties);
    snprintf(properties->name, sizeof properties->name, "host");
    properties->major = 9;
    properties->multiProcessorCount = 4;
    properties->totalGlobalMem = (size_t)1 << 30;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int size, int device)
{
    snprintf(id, (size_t)size, "%d", device);
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    *stream = malloc(1);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    return is_lost(0) ? cudaErrorIllegalAddress : cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    double *made = calloc(1, sizeof *made);

    *event = (void *)made;
    return made ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    struct timespec now;

    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *(double *)event = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    (void)event;
    return is_lost(0) ? cudaErrorIllegalAddress : cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    *milliseconds = (float)(1e3 * (*(double *)to - *(double *)from));
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t size)
{
    *memory = aligned_alloc(256, (size + 255) / 256 * 256);
    if (!*memory)
        return cudaErrorMemoryAllocation;
    memset(*memory, 0xff, size); /* not a number, so that what is read before it is written shows */
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
    (void)kind;
    memcpy(to, from, size);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)stream;
    return cudaMemcpy(to, from, size, kind);
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t size, cudaStream_t stream)
{
    (void)stream;
    memset(memory, value, size);
    return cudaSuccess;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                enum cudaJitOption *jit_options, void **jit_values,
                                unsigned jit_count, enum cudaLibraryOption *options, void **values,
                                unsigned count)
{
    static const unsigned char elf[] = {0x7f, 'E', 'L', 'F'};
    Dl_info info;

    (void)jit_options, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
    if (memcmp(code, elf, sizeof elf) != 0 || !dladdr((void *)host_launch, &info))
        return cudaErrorInvalidKernelImage;
    *library = dlopen(info.dli_fname, RTLD_NOW);
    return *library ? cudaSuccess : cudaErrorInvalidKernelImage;
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    return dlclose(library) == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
    *kernel = dlsym(library, name);
    return *kernel ? cudaSuccess : cudaErrorSymbolNotFound;
}

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                             size_t shared, cudaStream_t stream)
{
    const unsigned size[3] = {grid.x, grid.y, grid.z};

    (void)shared, (void)stream;
    if (grid.x < 1 || grid.y < 1 || grid.z < 1 || grid.y > 65535 || grid.z > 65535 || block.x < 1 ||
        block.x > 256)
        return cudaErrorInvalidConfiguration;
    if (is_lost(1))
        return cudaErrorIllegalAddress;
    host_launch((void *)kernel, size, block.x, arguments[0]);
    return cudaSuccess;
}
