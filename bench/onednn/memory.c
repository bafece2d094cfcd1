/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/known.h"
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

static void destroy_buffer(void *object)
{
    struct bench_buffer *buffer = object;

    for (int i = 0; buffer->memory && i < buffer->copies; i++)
        if (buffer->memory[i])
            dnnl_memory_destroy(buffer->memory[i]);
    free(buffer->memory);
    free(buffer->data);
    free(buffer);
}

/* A buffer whose memory objects know no address yet. */
static int make_buffer(struct bench_context *context, bench_md md, int copies,
                       struct bench_buffer **buffer, struct dlt_error *error)
{
    struct bench_buffer *made = calloc(1, sizeof *made);
    int status = BENCH_OK;

    if (made)
        made->memory = calloc((size_t)copies, sizeof *made->memory);
    if (!made || !made->memory) {
        free(made);
        dlt_fail_memory(error);
        return BENCH_NO_MEMORY;
    }
    made->context = context;
    made->root = made;
    made->md = md;
    made->copies = copies;
    made->size = bench_md_size(md);
    made->extent = bench_extent_of(made, bench_arena_round(made->size));
    if (bench_own(&context->owned, made, destroy_buffer, error))
        return BENCH_NO_MEMORY;
    if (!md)
        return dlt_fail(error, "oneDNN cannot describe an array of this shape");
    for (int i = 0; i < copies && status == BENCH_OK; i++)
        status =
            bench_check(dnnl_memory_create(&made->memory[i], md, context->engine, DNNL_MEMORY_NONE),
                        "memory object", error);
    *buffer = made;
    return status;
}

int bench_buffer_bind(struct bench_buffer *buffer, struct dlt_error *error)
{
    int status = BENCH_OK;

    for (int i = 0; i < buffer->copies && status == BENCH_OK; i++)
        status = bench_check(
            dnnl_memory_set_data_handle(buffer->memory[i], bench_buffer_data(buffer, i)),
            "memory object", error);
    return status;
}

int bench_buffer_place(struct bench_buffer *buffer, struct dlt_error *error)
{
    struct bench_buffer *root = buffer->root;

    if (root->data)
        return BENCH_OK;
    root->extent.apart = true;
    root->data = DLT_KEPT(calloc((size_t)root->copies, sizeof *root->data));
    if (!root->data) {
        dlt_fail_memory(error);
        return BENCH_NO_MEMORY;
    }
    for (int i = 0; i < root->copies; i++) {
        root->data[i] = bench_arena_take(&root->context->arena, root->size ? root->size : 4);
        if (!root->data[i]) {
            dlt_fail(error, "its tensors do not fit into %zu MiB", root->context->arena.size >> 20);
            return BENCH_NO_MEMORY;
        }
    }
    return bench_buffer_bind(buffer, error);
}

int bench_buffer_create(struct bench_context *context, bench_md md, int copies,
                        struct bench_buffer **buffer, struct dlt_error *error)
{
    int status = make_buffer(context, md, copies, buffer, error);

    if (status == BENCH_OK && context->plan.open)
        return bench_plan_add(&context->plan, &(*buffer)->extent, error);
    return status ? status : bench_buffer_place(*buffer, error);
}

int bench_buffer_alias(struct bench_context *context, struct bench_buffer *buffer, bench_md md,
                       size_t offset, struct bench_buffer **alias, struct dlt_error *error)
{
    struct bench_buffer *made;
    int status = make_buffer(context, md, buffer->copies, &made, error);

    if (status)
        return status;
    made->root = buffer->root;
    made->offset = buffer->offset + offset;
    made->extent.apart = true;
    *alias = made;
    if (context->plan.open)
        status = bench_plan_add(&context->plan, &made->extent, error);
    if (status == BENCH_OK && made->root->data)
        status = bench_buffer_bind(made, error);
    return status;
}

void *bench_buffer_data(const struct bench_buffer *buffer, int copy)
{
    return buffer->root->data[copy % buffer->copies] + buffer->offset;
}

size_t bench_buffer_floats(const struct bench_buffer *buffer)
{
    return bench_md_size(buffer->md) / sizeof(float);
}

void bench_buffer_spread(struct bench_buffer *buffer)
{
    for (int i = 1; i < buffer->copies; i++)
        memcpy(bench_buffer_data(buffer, i), bench_buffer_data(buffer, 0),
               bench_md_size(buffer->md));
}

/* Reorders one copy of `from` into `to`, now. */
static int reorder_now(struct bench_context *context, dnnl_memory_t from, dnnl_memory_t to,
                       bench_md from_md, bench_md to_md, struct dlt_error *error)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_t primitive = NULL;
    dnnl_memory_t scratch = NULL;
    dnnl_exec_arg_t args[3] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    int status = bench_pd_reorder(context, from_md, to_md, false, &pd, error);

    if (status == BENCH_OK)
        status = bench_check(dnnl_primitive_create(&primitive, pd), "reorder", error);
    if (status == BENCH_OK)
        status = bench_check(dnnl_memory_create(&scratch,
                                                bench_query(context, pd, dnnl_query_scratchpad_md),
                                                context->engine, DNNL_MEMORY_ALLOCATE),
                             "reorder", error);
    args[2] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, scratch};
    if (status == BENCH_OK)
        status = bench_check(dnnl_primitive_execute(primitive, context->stream, 3, args), "reorder",
                             error);
    if (status == BENCH_OK)
        status = bench_check(dnnl_stream_wait(context->stream), "reorder", error);
    if (primitive)
        dnnl_primitive_destroy(primitive);
    if (pd)
        dnnl_primitive_desc_destroy(pd);
    if (scratch)
        dnnl_memory_destroy(scratch);
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

/* oneDNN clears what pads a layout to whole blocks when it reorders into it. */
static int fill_through_plain(struct bench_context *context, struct bench_buffer *buffer,
                              float center, float spread, struct dlt_error *error)
{
    bench_md plain =
        bench_md_plain(context, dnnl_f32, bench_md_rank(buffer->md), bench_md_dims(buffer->md));
    size_t size = bench_md_size(plain);
    dnnl_memory_t memory = NULL;
    float *data = malloc(size ? size : 1);
    int status;

    if (!data) {
        dlt_fail_memory(error);
        return BENCH_NO_MEMORY;
    }
    fill(context, data, size / sizeof *data, center, spread);
    status = bench_check(dnnl_memory_create(&memory, plain, context->engine, data), "memory object",
                         error);
    if (status == BENCH_OK)
        status = reorder_now(context, memory, buffer->memory[0], plain, buffer->md, error);
    if (memory)
        dnnl_memory_destroy(memory);
    free(data);
    return status;
}

int bench_buffer_fill(struct bench_context *context, struct bench_buffer *buffer, float center,
                      float spread, struct dlt_error *error)
{
    int status = bench_buffer_place(buffer, error);

    if (status)
        return status;
    if (bench_md_padded(buffer->md) || bench_md_type(buffer->md) != dnnl_f32)
        status = fill_through_plain(context, buffer, center, spread, error);
    else
        fill(context, bench_buffer_data(buffer, 0), bench_buffer_floats(buffer), center, spread);
    if (status == BENCH_OK)
        bench_buffer_spread(buffer);
    return status;
}

int bench_buffer_read(struct bench_context *context, struct bench_buffer *buffer, double *values,
                      size_t count, struct dlt_error *error)
{
    bench_md plain =
        bench_md_plain(context, dnnl_f32, bench_md_rank(buffer->md), bench_md_dims(buffer->md));
    float *data = calloc(count ? count : 1, sizeof *data);
    dnnl_memory_t memory = NULL;
    int status = BENCH_FAILED;

    if (!data)
        return dlt_fail_memory(error);
    if (bench_md_size(plain) != count * sizeof *data)
        dlt_fail(error, "the array has %zu values, not %zu", bench_md_size(plain) / sizeof *data,
                 count);
    else
        status = bench_check(dnnl_memory_create(&memory, plain, context->engine, data),
                             "memory object", error);
    if (status == BENCH_OK)
        status = reorder_now(context, buffer->memory[0], memory, buffer->md, plain, error);
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
    int status = reorder_now(context, from->memory[0], to->memory[0], from->md, to->md, error);

    if (status == BENCH_OK)
        bench_buffer_spread(to);
    return status;
}

int bench_tensor_make(struct bench_context *context, const struct bench_shape *shape, bench_md md,
                      int copies, struct bench_tensor **tensor, struct dlt_error *error)
{
    struct bench_tensor *made = bench_own_zeroed(&context->owned, 1, sizeof *made, error);

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
    bench_md md = bench_md_plain(context, dnnl_f32, shape->rank, shape->dim);
    int status = bench_tensor_make(context, shape, md, 1, tensor, error);

    return status ? status : bench_buffer_fill(context, (*tensor)->value, 0, 1, error);
}
