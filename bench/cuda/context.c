/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

#ifndef BENCH_CUDA_NAME
#define BENCH_CUDA_NAME "cuda"
#endif

static int device_count(void)
{
    int count = 0;

    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return count;
}

static double device_memory(int device)
{
    size_t available = 0, total = 0;

    if (cudaSetDevice(device) != cudaSuccess || cudaMemGetInfo(&available, &total) != cudaSuccess)
        return 0;
    return (double)available;
}

static double attribute(int device, enum cudaDeviceAttr what)
{
    int value = 0;

    if (cudaDeviceGetAttribute(&value, what, device) != cudaSuccess)
        return 0;
    return value;
}

/* Compute capability: name and float32 lanes of a multiprocessor (CUDA C++ Programming Guide,
 * "Compute Capabilities"). The last row that is not above the device's counts. */
static const struct {
    int capability;
    const char *name;
    int lanes;
} architectures[] = {
    {50, "maxwell", 128}, {60, "pascal", 64},      {61, "pascal", 128}, {70, "volta", 64},
    {75, "turing", 64},   {80, "ampere", 64},      {86, "ampere", 128}, {89, "ada", 128},
    {90, "hopper", 128},  {100, "blackwell", 128},
};

static int fill_description(struct bench_context *context, struct dlt_error *error)
{
    struct dlt_device *d = &context->description;
    struct cudaDeviceProp properties;
    int device = context->device;
    int status =
        bench_cuda(cudaGetDeviceProperties(&properties, device), "the device's properties", error);

    if (status)
        return status;
    context->processors = properties.multiProcessorCount;
    context->capability = 10 * properties.major + properties.minor;
    context->cache_bytes = attribute(device, cudaDevAttrL2CacheSize);
    snprintf(d->name, sizeof d->name, "%.*s", (int)sizeof d->name - 1, properties.name);
    snprintf(d->vendor, sizeof d->vendor, "nvidia");
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
        if (architectures[i].capability > context->capability)
            break;
        snprintf(d->architecture, sizeof d->architecture, "%s", architectures[i].name);
        d->cores_per_sm = architectures[i].lanes;
    }
    d->compute_capability = 0.1 * context->capability;
    d->sms = context->processors;
    d->clock_hz = 1e3 * attribute(device, cudaDevAttrClockRate);
    d->memory_bytes = (double)properties.totalGlobalMem;
    d->usable_bytes = device_memory(device);
    d->l2_bytes = context->cache_bytes;
    /* Two transfers a clock on a bus of so many bits; a MIG slice reports its share of the bus. */
    d->memory_bandwidth = 2e3 * attribute(device, cudaDevAttrMemoryClockRate) *
                          attribute(device, cudaDevAttrGlobalMemoryBusWidth) / 8;
    return BENCH_OK;
}

static void close_context(struct bench_context *context)
{
    if (!context)
        return;
    if (context->stream)
        bench_release(context);
    bench_kernels_close(context);
    if (context->blas)
        (void)cublasLtDestroy(context->blas);
    if (context->cudnn)
        (void)cudnnDestroy(context->cudnn);
    for (int i = 0; i < BENCH_MARKS; i++)
        if (context->mark[i])
            (void)cudaEventDestroy(context->mark[i]);
    (void)cudaFree(context->workspace);
    (void)cudaFree(context->arena.base);
    if (context->stream)
        (void)cudaStreamDestroy(context->stream);
    bench_nvml_close(context->nvml);
    bench_own_clear(&context->owned);
    free(context);
}

static int open_libraries(struct bench_context *context, struct dlt_error *error)
{
    int status = bench_cuda(cudaStreamCreateWithFlags(&context->stream, cudaStreamNonBlocking),
                            "a stream", error);

    for (int i = 0; i < BENCH_MARKS && status == BENCH_OK; i++)
        status = bench_cuda(cudaEventCreate(&context->mark[i]), "an event", error);
    if (status == BENCH_OK)
        status = bench_cudnn(cudnnCreate(&context->cudnn), "opening the device", error);
    if (status == BENCH_OK)
        status = bench_cudnn(cudnnSetStream(context->cudnn, context->stream), "its stream", error);
    if (status == BENCH_OK)
        status = bench_cublas(cublasLtCreate(&context->blas), "opening the device", error);
    return status ? status : bench_kernels_open(context, error);
}

static int open_arena(struct bench_context *context, double wanted, struct dlt_error *error)
{
    double available = device_memory(context->device);
    const double reserve = 256 << 20; /* for the libraries' code and their own memory */
    double size = fmin(wanted, available - reserve);
    int status;

    if (size < 1 << 20)
        size = fmin(wanted, 0.5 * available);
    context->arena.size = (size_t)size;
    status = bench_cuda(cudaMalloc((void **)&context->arena.base, context->arena.size),
                        "memory for tensors", error);
    if (status)
        context->arena.base = NULL;
    return status;
}

static int open_device(struct bench_context *context, const struct bench_options *options,
                       struct dlt_error *error)
{
    char bus_id[32];
    int status = bench_cuda(cudaSetDevice(context->device), "choosing the device", error);

    if (status == BENCH_OK)
        status = fill_description(context, error);
    if (status == BENCH_OK)
        status = bench_cuda(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, context->device),
                            "the device's bus", error);
    if (status)
        return status;
    context->nvml = bench_nvml_open(bus_id);
    status = open_libraries(context, error);
    return status ? status : open_arena(context, options->memory_bytes, error);
}

static int open_context(const struct bench_options *options, struct bench_context **context,
                        struct dlt_error *error)
{
    struct bench_context *made = calloc(1, sizeof *made);

    if (!made)
        return dlt_fail_memory(error);
    made->device = options->device;
    made->find = options->find;
    made->random = (uint32_t)options->seed;
    made->workspace_cap = 1024.0 * 1024 * 1024;
    if (open_device(made, options, error)) {
        close_context(made);
        return -1;
    }
    *context = made;
    return 0;
}

static void describe(struct bench_context *context, struct dlt_device *device,
                     struct dlt_software *software)
{
    size_t version = cudnnGetVersion();
    int runtime = 0;

    *device = context->description;
    memset(software, 0, sizeof *software);
    snprintf(software->framework, sizeof software->framework, "none");
    snprintf(software->backend, sizeof software->backend, "cudnn %zu.%zu.%zu", version / 10000,
             version / 100 % 100, version % 100);
    if (cudaRuntimeGetVersion(&runtime) == cudaSuccess)
        snprintf(software->cuda, sizeof software->cuda, "%d.%d", runtime / 1000,
                 runtime % 1000 / 10);
    software->timing = DLT_EVENTS_BATCHED;
}

static void print_info(struct bench_context *context, FILE *stream)
{
    const struct dlt_device *d = &context->description;
    int driver = 0;

    if (cudaDriverGetVersion(&driver) == cudaSuccess)
        fprintf(stream, "    driver serves        CUDA %d.%d\n", driver / 1000, driver % 1000 / 10);
    fprintf(stream, "    build                %s, cublasLt %zu\n", BENCH_CUDA_NAME,
            cublasLtGetVersion());
    fprintf(stream, "    compute capability   %d.%d (%s)\n", context->capability / 10,
            context->capability % 10, d->architecture);
    fprintf(stream, "    multiprocessors      %.0f at %.0f MHz\n", d->sms, d->clock_hz / 1e6);
    fprintf(stream, "    memory               %.1f GiB, %.1f free, %.0f GB/s\n",
            d->memory_bytes / 1073741824, d->usable_bytes / 1073741824, d->memory_bandwidth / 1e9);
    fprintf(stream, "    L2 cache             %.0f MiB\n", d->l2_bytes / 1048576);
    bench_nvml_print(context->nvml, stream);
}

static int set_mark(struct bench_context *context, int mark, struct dlt_error *error)
{
    return bench_cuda(cudaEventRecord(context->mark[mark], context->stream), "a mark", error) ? -1
                                                                                              : 0;
}

static int between(struct bench_context *context, int from, int to, double *seconds,
                   struct dlt_error *error)
{
    float milliseconds = 0;

    if (bench_cuda(cudaEventSynchronize(context->mark[to]), "the queue", error) ||
        bench_cuda(cudaEventElapsedTime(&milliseconds, context->mark[from], context->mark[to]),
                   "the time between two marks", error))
        return -1;
    *seconds = 1e-3 * (double)milliseconds;
    return 0;
}

static double memory(const struct bench_context *context)
{
    return (double)(context->arena.used + context->workspace_size);
}

static void circumstances(struct bench_context *context, struct bench_circumstances *now)
{
    bench_nvml_read(context->nvml, now);
}

static void state(struct bench_context *context, char *text, size_t size)
{
    snprintf(text, size, "cublasLt %zu", cublasLtGetVersion());
    bench_nvml_state(context->nvml, text, size);
}

extern const struct dlbench_backend dlbench_backend;
const struct dlbench_backend dlbench_backend = {
    .version = DLBENCH_BACKEND_VERSION,
    .record = sizeof(struct dlt_record),
    .name = BENCH_CUDA_NAME,
    .device_count = device_count,
    .open = open_context,
    .close = close_context,
    .describe = describe,
    .print_info = print_info,
    .supports = bench_supports,
    .tensor_create = bench_tensor_create,
    .view_create = bench_view_create,
    .layer_create = bench_layer_create,
    .layer_train = bench_layer_train,
    .loss_create = bench_loss_create,
    .loss_value = bench_loss_value,
    .layer_copies = bench_layer_copies,
    .run = bench_layer_run,
    .read = bench_layer_read,
    .mark = set_mark,
    .between = between,
    .memory = memory,
    .reset = bench_release,
    .device_memory = device_memory,
    .circumstances = circumstances,
    .choice = bench_layer_choice,
    .map_create = bench_map_create,
    .parameter_create = bench_parameter_create,
    .plan = bench_planned,
    .plan_end = bench_planned_end,
    .state = state,
};
