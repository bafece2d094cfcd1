/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "onednn.h"

uint64_t bench_random(struct bench_context *context)
{
    uint64_t z = context->random += 0x9e3779b97f4a7c15ULL; /* splitmix64 */

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

int bench_check(dnnl_status_t status, const char *what, struct dlt_error *error)
{
    if (status == dnnl_success)
        return BENCH_OK;
    if (status == dnnl_out_of_memory) {
        dlt_fail(error, "oneDNN: %s: out of memory", what);
        return BENCH_NO_MEMORY;
    }
    if (status == dnnl_unimplemented) {
        dlt_fail(error, "oneDNN has no implementation of this %s", what);
        return BENCH_UNSUPPORTED;
    }
    dlt_fail(error, "oneDNN: %s: status %d", what, (int)status);
    return BENCH_FAILED;
}

/* A shape that a primitive refuses yields an empty descriptor, which the primitive then reports. */
static dnnl_memory_desc_t with_strides(int rank, const int64_t *dim, const dnnl_dims_t strides)
{
    dnnl_memory_desc_t md;

    if (dnnl_memory_desc_init_by_strides(&md, rank, dim, dnnl_f32, strides) != dnnl_success)
        memset(&md, 0, sizeof md);
    return md;
}

dnnl_memory_desc_t bench_md_plain(int rank, const int64_t *dim)
{
    dnnl_dims_t strides = {0};

    for (int d = rank - 1; d >= 0; d--)
        strides[d] = d == rank - 1 ? 1 : strides[d + 1] * dim[d + 1];
    return with_strides(rank, dim, strides);
}

dnnl_memory_desc_t bench_md_last(int rank, const int64_t *dim)
{
    dnnl_dims_t strides = {0};

    strides[1] = 1;
    for (int d = rank - 1; d >= 2; d--)
        strides[d] = d == rank - 1 ? dim[1] : strides[d + 1] * dim[d + 1];
    strides[0] = rank > 2 ? strides[2] * dim[2] : dim[1];
    return with_strides(rank, dim, strides);
}

dnnl_memory_desc_t bench_md_any(int rank, const int64_t *dim)
{
    dnnl_memory_desc_t md;

    if (dnnl_memory_desc_init_by_tag(&md, rank, dim, dnnl_f32, dnnl_format_tag_any) != dnnl_success)
        memset(&md, 0, sizeof md);
    return md;
}

bool bench_fills_blocks(int64_t channels)
{
    /* Instruction sets are numbered so that a larger one has the bits of the smaller. */
    bool wide =
        (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;

    return channels % (wide ? 16 : 8) == 0;
}

static void destroy_buffer(void *object)
{
    struct bench_buffer *buffer = object;

    for (int i = 0; i < buffer->copies; i++)
        if (buffer->memory[i])
            dnnl_memory_destroy(buffer->memory[i]);
    free(buffer->memory);
    free(buffer);
}

int bench_buffer_create(struct bench_context *context, const dnnl_memory_desc_t *md, int copies,
                        struct bench_buffer **buffer, struct dlt_error *error)
{
    size_t size = dnnl_memory_desc_get_size(md);
    struct bench_buffer *made = calloc(1, sizeof *made);

    if (made)
        made->memory = calloc((size_t)copies, sizeof *made->memory);
    if (!made || !made->memory) {
        free(made);
        dlt_fail_memory(error);
        return BENCH_NO_MEMORY;
    }
    made->md = *md;
    made->copies = copies;
    if (bench_own(context, made, destroy_buffer, error))
        return BENCH_FAILED;
    for (int i = 0; i < copies; i++) {
        void *data = bench_arena_take(&context->arena, size ? size : 4);
        int status;

        if (!data) {
            dlt_fail(error, "its tensors do not fit into %zu MiB", context->arena.size >> 20);
            return BENCH_NO_MEMORY;
        }
        status = bench_check(dnnl_memory_create(&made->memory[i], md, context->engine, data),
                             "memory object", error);
        if (status)
            return status;
    }
    *buffer = made;
    return BENCH_OK;
}

void *bench_buffer_data(const struct bench_buffer *buffer, int copy)
{
    void *data = NULL;

    dnnl_memory_get_data_handle(buffer->memory[copy % buffer->copies], &data);
    return data;
}

int bench_buffer_alias(struct bench_context *context, const struct bench_buffer *buffer,
                       const dnnl_memory_desc_t *md, struct bench_buffer **alias,
                       struct dlt_error *error)
{
    struct bench_buffer *made = calloc(1, sizeof *made);
    int status = BENCH_OK;

    if (made)
        made->memory = calloc((size_t)buffer->copies, sizeof *made->memory);
    if (!made || !made->memory) {
        free(made);
        dlt_fail_memory(error);
        return BENCH_NO_MEMORY;
    }
    made->md = *md;
    made->copies = buffer->copies;
    if (bench_own(context, made, destroy_buffer, error))
        return BENCH_FAILED;
    for (int i = 0; i < made->copies && status == BENCH_OK; i++)
        status = bench_check(
            dnnl_memory_create(&made->memory[i], md, context->engine, bench_buffer_data(buffer, i)),
            "memory object", error);
    *alias = made;
    return status;
}

size_t bench_buffer_floats(const struct bench_buffer *buffer)
{
    return dnnl_memory_desc_get_size(&buffer->md) / sizeof(float);
}

void bench_buffer_spread(struct bench_buffer *buffer)
{
    size_t size = dnnl_memory_desc_get_size(&buffer->md);

    for (int i = 1; i < buffer->copies; i++)
        memcpy(bench_buffer_data(buffer, i), bench_buffer_data(buffer, 0), size);
}

/* Reorders one copy of `from` into `to`, now. */
static int reorder_now(struct bench_context *context, dnnl_memory_t from, dnnl_memory_t to,
                       const dnnl_memory_desc_t *from_md, const dnnl_memory_desc_t *to_md,
                       struct dlt_error *error)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_t primitive = NULL;
    dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    int status = bench_pd_reorder(context, from_md, to_md, false, &pd, error);

    if (status == BENCH_OK)
        status = bench_check(dnnl_primitive_create(&primitive, pd), "reorder", error);
    if (status == BENCH_OK)
        status = bench_check(dnnl_primitive_execute(primitive, context->stream, 2, args), "reorder",
                             error);
    if (status == BENCH_OK)
        status = bench_check(dnnl_stream_wait(context->stream), "reorder", error);
    if (primitive)
        dnnl_primitive_destroy(primitive);
    if (pd)
        dnnl_primitive_desc_destroy(pd);
    return status;
}

static void fill(struct bench_context *context, float *data, size_t count, float center,
                 float spread)
{
    size_t from = bench_random(context) % BENCH_NOISE;

    for (size_t done = 0, part; done < count; done += part, from = 0) {
        part = count - done < BENCH_NOISE - from ? count - done : BENCH_NOISE - from;
        for (size_t i = 0; i < part; i++)
            data[done + i] = center + spread * context->noise[from + i];
    }
}

static bool is_padded(const dnnl_memory_desc_t *md)
{
    for (int d = 0; d < md->ndims; d++)
        if (md->padded_dims[d] != md->dims[d])
            return true;
    return false;
}

/* oneDNN clears what pads a layout to whole blocks when it reorders into it. */
static int fill_padded(struct bench_context *context, struct bench_buffer *buffer, float center,
                       float spread, struct dlt_error *error)
{
    dnnl_memory_desc_t plain = bench_md_plain(buffer->md.ndims, buffer->md.dims);
    size_t size = dnnl_memory_desc_get_size(&plain);
    dnnl_memory_t memory = NULL;
    float *data = malloc(size ? size : 1);
    int status;

    if (!data) {
        dlt_fail_memory(error);
        return BENCH_NO_MEMORY;
    }
    fill(context, data, size / sizeof *data, center, spread);
    status = bench_check(dnnl_memory_create(&memory, &plain, context->engine, data),
                         "memory object", error);
    if (status == BENCH_OK)
        status = reorder_now(context, memory, buffer->memory[0], &plain, &buffer->md, error);
    if (memory)
        dnnl_memory_destroy(memory);
    free(data);
    return status;
}

int bench_buffer_fill(struct bench_context *context, struct bench_buffer *buffer, float center,
                      float spread, struct dlt_error *error)
{
    int status = BENCH_OK;

    if (is_padded(&buffer->md))
        status = fill_padded(context, buffer, center, spread, error);
    else
        fill(context, bench_buffer_data(buffer, 0), bench_buffer_floats(buffer), center, spread);
    if (status == BENCH_OK)
        bench_buffer_spread(buffer);
    return status;
}

int bench_buffer_read(struct bench_context *context, struct bench_buffer *buffer, double *values,
                      size_t count, struct dlt_error *error)
{
    dnnl_memory_desc_t plain = bench_md_plain(buffer->md.ndims, buffer->md.dims);
    float *data = calloc(count ? count : 1, sizeof *data);
    dnnl_memory_t memory = NULL;
    int status = BENCH_FAILED;

    if (!data)
        return dlt_fail_memory(error);
    if (dnnl_memory_desc_get_size(&plain) != count * sizeof *data)
        dlt_fail(error, "the array has %zu values, not %zu",
                 dnnl_memory_desc_get_size(&plain) / sizeof *data, count);
    else
        status = bench_check(dnnl_memory_create(&memory, &plain, context->engine, data),
                             "memory object", error);
    if (status == BENCH_OK)
        status = reorder_now(context, buffer->memory[0], memory, &buffer->md, &plain, error);
    for (size_t i = 0; status == BENCH_OK && i < count; i++)
        values[i] = (double)data[i];
    if (memory)
        dnnl_memory_destroy(memory);
    free(data);
    return status;
}

int bench_convert_now(struct bench_context *context, struct bench_buffer *from,
                      struct bench_buffer *to, struct dlt_error *error)
{
    int status = reorder_now(context, from->memory[0], to->memory[0], &from->md, &to->md, error);

    if (status == BENCH_OK)
        bench_buffer_spread(to);
    return status;
}

int bench_tensor_make(struct bench_context *context, const struct bench_shape *shape,
                      const dnnl_memory_desc_t *md, int copies, struct bench_tensor **tensor,
                      struct dlt_error *error)
{
    struct bench_tensor *made = bench_own_zeroed(context, 1, sizeof *made, error);

    if (!made)
        return BENCH_NO_MEMORY;
    made->context = context;
    made->shape = *shape;
    *tensor = made;
    return bench_buffer_create(context, md, copies, &made->value, error);
}

int bench_tensor_create(struct bench_context *context, const struct bench_shape *shape,
                        struct bench_tensor **tensor, struct dlt_error *error)
{
    dnnl_memory_desc_t md = bench_md_plain(shape->rank, shape->dim);
    int status = bench_tensor_make(context, shape, &md, 1, tensor, error);

    return status ? status : bench_buffer_fill(context, (*tensor)->value, 0, 1, error);
}
