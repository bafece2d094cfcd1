/* SPDX-License-Identifier: Apache-2.0 */

/* The kernels of kernels.cu: the image for this device, and how they are launched. */
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

/* Machine code or PTX for a compute capability; the build's table ends with 0. */
struct image {
    long capability, is_ptx;
    const void *code;
    const void *end;
};
extern const struct image bench_kernel_images[];

/* Machine code runs on its own major version from its minor version on; PTX on everything later. */
static const struct image *choose_image(const struct image *images, int capability)
{
    const struct image *best = NULL;

    for (const struct image *i = images; i->capability; i++) {
        bool fits = i->is_ptx
                        ? i->capability <= capability
                        : i->capability / 10 == capability / 10 && i->capability <= capability;

        if (fits && (!best || (best->is_ptx && !i->is_ptx) ||
                     (best->is_ptx == i->is_ptx && i->capability > best->capability)))
            best = i;
    }
    return best;
}

int bench_kernels_open(struct bench_context *context, struct dlt_error *error)
{
    const struct image *image = choose_image(bench_kernel_images, context->capability);

    if (!image)
        return dlt_fail(error, "this build has no kernels for compute capability %d.%d",
                        context->capability / 10, context->capability % 10);
    return bench_cuda(
        cudaLibraryLoadData(&context->kernels, image->code, NULL, NULL, 0, NULL, NULL, 0),
        "loading kernels", error);
}

void bench_kernels_close(struct bench_context *context)
{
    if (context->kernels)
        (void)cudaLibraryUnload(context->kernels);
}

unsigned bench_blocks(const struct bench_context *context, long long count)
{
    /* Each thread takes four elements or so; no more blocks than keep the device busy for long. */
    long long blocks = (count + 4LL * BENCH_BLOCK - 1) / (4LL * BENCH_BLOCK);
    long long most = 64LL * context->processors;

    return (unsigned)(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

unsigned bench_row_block(long long columns)
{
    unsigned block = 32;

    while (block < BENCH_BLOCK && 4LL * block < columns)
        block *= 2;
    return block;
}

unsigned bench_row_blocks(long long rows)
{
    const long long most = 1 << 20;

    return (unsigned)(rows < 1 ? 1 : rows > most ? most : rows);
}

static int find_kernel(struct bench_context *context, const struct bench_call *call,
                       cudaKernel_t *kernel, struct dlt_error *error)
{
    static const char *const suffixes[BENCH_TYPES] = {"_f32", "_f16", "_b16"};
    char name[64];

    if (call->type != BENCH_TYPES && call->type > BENCH_B16)
        return dlt_fail(error, "kernel %s: no such element type", call->kernel);
    snprintf(name, sizeof name, "%s%s", call->kernel,
             call->type == BENCH_TYPES ? "" : suffixes[call->type]);
    return bench_cuda(cudaLibraryGetKernel(kernel, context->kernels, name), name, error);
}

struct bench_launch {
    char name[48];
    cudaKernel_t kernel;
    struct dim3 grid, block;
    struct bench_pointer pointer[BENCH_POINTERS];
    _Alignas(16) char arguments[BENCH_ARGUMENT_BYTES];
};

static int fill_launch(struct bench_context *context, const struct bench_call *call,
                       struct bench_launch *launch, struct dlt_error *error)
{
    memset(launch, 0, sizeof *launch);
    snprintf(launch->name, sizeof launch->name, "%s", call->kernel);
    launch->grid.x = call->grid[0];
    launch->grid.y = call->grid[1] ? call->grid[1] : 1;
    launch->grid.z = call->grid[2] ? call->grid[2] : 1;
    launch->block.x = call->block ? call->block : BENCH_BLOCK;
    launch->block.y = launch->block.z = 1;
    memcpy(launch->pointer, call->pointer, sizeof launch->pointer);
    if (call->size > sizeof launch->arguments)
        return dlt_fail(error, "kernel %s: its arguments are too large", call->kernel);
    memcpy(launch->arguments, call->arguments, call->size);
    return find_kernel(context, call, &launch->kernel, error);
}

int bench_launch_run(struct bench_context *context, const void *what, int copy,
                     struct dlt_error *error)
{
    const struct bench_launch *launch = what;
    _Alignas(16) char arguments[BENCH_ARGUMENT_BYTES];
    void *list[1] = {arguments};

    memcpy(arguments, launch->arguments, sizeof arguments);
    for (int i = 0; i < BENCH_POINTERS && launch->pointer[i].buffer; i++) {
        void *data = bench_buffer_data(launch->pointer[i].buffer, copy);

        memcpy(arguments + launch->pointer[i].offset, &data, sizeof data);
    }
    return bench_cuda(cudaLaunchKernel((const void *)launch->kernel, launch->grid, launch->block,
                                       list, 0, context->stream),
                      launch->name, error);
}

int bench_launch_make(struct bench_context *context, const struct bench_call *call,
                      struct bench_launch **launch, struct dlt_error *error)
{
    *launch = bench_own_zeroed(&context->owned, 1, sizeof **launch, error);
    if (!*launch)
        return BENCH_NO_MEMORY;
    return fill_launch(context, call, *launch, error);
}

void *bench_launch_arguments(struct bench_launch *launch)
{
    return launch->arguments;
}

int bench_call_now(struct bench_context *context, const struct bench_call *call, int copy,
                   struct dlt_error *error)
{
    struct bench_launch launch;
    int status = fill_launch(context, call, &launch, error);

    return status ? status : bench_launch_run(context, &launch, copy, error);
}

int bench_add_call(struct bench_layer *layer, enum dlt_pass pass, const struct bench_call *call,
                   struct dlt_error *error)
{
    const struct bench_buffer *buffer[BENCH_POINTERS] = {NULL};
    struct bench_launch *launch;
    int status = bench_launch_make(layer->context, call, &launch, error);

    for (int i = 0; i < BENCH_POINTERS && call->pointer[i].buffer; i++)
        buffer[i] = call->pointer[i].buffer;
    return status ? status
                  : bench_add(layer, pass, bench_launch_run, launch,
                              (struct bench_uses){BENCH_POINTERS, buffer}, error);
}
