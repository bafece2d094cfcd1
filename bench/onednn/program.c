/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "onednn.h"

static void destroy_primitive(void *object)
{
    dnnl_primitive_destroy(object);
}

static struct bench_step *next_step(struct bench_layer *layer, enum dlt_pass pass,
                                    struct dlt_error *error)
{
    struct bench_program *program = &layer->program[pass];

    if (program->count == program->room) {
        int room = program->room ? 2 * program->room : 4;
        struct bench_step *grown =
            bench_own_zeroed(&layer->context->owned, (size_t)room, sizeof *grown, error);

        if (!grown)
            return NULL;
        if (program->count > 0)
            memcpy(grown, program->step, (size_t)program->count * sizeof *grown);
        program->step = grown;
        program->room = room;
    }
    return &program->step[program->count];
}

/* The primitive's scratchpad, alive while it runs. */
static int make_scratchpad(struct bench_layer *layer, enum dlt_pass pass, dnnl_primitive_desc_t pd,
                           struct bench_argument *argument, struct dlt_error *error)
{
    bench_md md = bench_query(layer->context, pd, dnnl_query_scratchpad_md);
    int status;

    if (!md || bench_md_size(md) == 0)
        return BENCH_OK;
    argument->index = DNNL_ARG_SCRATCHPAD;
    status = bench_buffer_create(layer->context, md, 1, &argument->buffer, error);
    if (status == BENCH_OK)
        bench_use(layer, pass, argument->buffer);
    return status;
}

int bench_add(struct bench_layer *layer, enum dlt_pass pass, dnnl_primitive_desc_t pd,
              const struct bench_argument *arguments, struct dlt_error *error)
{
    struct bench_step *step = next_step(layer, pass, error);
    struct bench_argument all[BENCH_ARGUMENTS] = {{0, NULL}};
    dnnl_primitive_t primitive = NULL;
    dnnl_exec_arg_t *args;
    int count = 0, status;

    if (!step)
        return BENCH_NO_MEMORY;
    status = bench_check(dnnl_primitive_create(&primitive, pd), "primitive", error);
    if (status)
        return status;
    if (bench_own(&layer->context->owned, primitive, destroy_primitive, error))
        return BENCH_NO_MEMORY;
    for (; arguments[count].index; count++) {
        all[count] = arguments[count];
        bench_use(layer, pass, all[count].buffer);
    }
    status = make_scratchpad(layer, pass, pd, &all[count], error);
    if (status)
        return status;
    count += all[count].index != 0;
    args = bench_own_zeroed(&layer->context->owned, (size_t)count * (size_t)layer->copies,
                            sizeof *args, error);
    if (!args)
        return BENCH_NO_MEMORY;
    for (int copy = 0; copy < layer->copies; copy++) {
        for (int i = 0; i < count; i++) {
            struct bench_buffer *buffer = all[i].buffer;

            args[copy * count + i] =
                (dnnl_exec_arg_t){all[i].index, buffer->memory[copy % buffer->copies]};
        }
    }
    *step = (struct bench_step){.primitive = primitive, .count = count, .args = args};
    layer->program[pass].count++;
    return BENCH_OK;
}

int bench_add_loop(struct bench_layer *layer, enum dlt_pass pass,
                   void (*call)(struct bench_layer *layer, void *data, int copy), void *data,
                   struct bench_buffer *const *buffers, struct dlt_error *error)
{
    struct bench_step *step = next_step(layer, pass, error);

    if (!step)
        return BENCH_NO_MEMORY;
    for (; *buffers; buffers++)
        bench_use(layer, pass, *buffers);
    *step = (struct bench_step){.call = call, .data = data};
    layer->program[pass].count++;
    return BENCH_OK;
}

int bench_add_copy(struct bench_layer *layer, enum dlt_pass pass, struct bench_buffer *from,
                   struct bench_buffer *to, bool accumulate, struct dlt_error *error)
{
    struct bench_argument arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {0, NULL}};
    dnnl_primitive_desc_t pd;
    int status = bench_pd_reorder(layer->context, from->md, to->md, accumulate, &pd, error);

    if (status)
        return status;
    status = bench_add(layer, pass, pd, arguments, error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

static void set_to_zero(void *data, size_t from, size_t to)
{
    memset((char *)data + from, 0, to - from);
}

static void zero(struct bench_layer *layer, void *data, int copy)
{
    struct bench_buffer *buffer = data;

    bench_parallel(layer->context->threads, bench_md_size(buffer->md), 65536, set_to_zero,
                   bench_buffer_data(buffer, copy));
}

int bench_add_zero(struct bench_layer *layer, enum dlt_pass pass, struct bench_buffer *buffer,
                   struct dlt_error *error)
{
    return bench_add_loop(layer, pass, zero, buffer, (struct bench_buffer *const[]){buffer, NULL},
                          error);
}

int bench_convert(struct bench_layer *layer, enum dlt_pass pass, bench_md md,
                  struct bench_buffer **buffer, struct dlt_error *error)
{
    struct bench_buffer *from = *buffer;
    int status;

    if (bench_md_equal(from->md, md))
        return BENCH_OK;
    status = bench_buffer_create(layer->context, md, from->copies, buffer, error);
    if (status)
        return status;
    if (layer->standalone)
        return bench_convert_now(layer->context, from, *buffer, error);
    return bench_add_copy(layer, pass, from, *buffer, false, error);
}

int bench_collect(struct bench_layer *layer, bench_md md, bench_md home,
                  struct bench_buffer **gradient, struct bench_buffer **target, bool *accumulate,
                  struct dlt_error *error)
{
    int status;

    *accumulate = *gradient != NULL;
    if (!*gradient) {
        if (layer->standalone)
            home = md;
        else if (!bench_md_dense(home))
            home = bench_md_flat(layer->context, home);
        status = bench_buffer_create(layer->context, home, layer->copies, gradient, error);
        if (status)
            return status;
    }
    *target = *gradient;
    if (!*accumulate && bench_md_equal((*gradient)->md, md))
        return BENCH_OK;
    return bench_buffer_create(layer->context, md, layer->copies, target, error);
}

int bench_deliver(struct bench_layer *layer, enum dlt_pass pass, struct bench_buffer *gradient,
                  struct bench_buffer *target, bool accumulate, struct dlt_error *error)
{
    if (gradient == target)
        return BENCH_OK;
    return bench_add_copy(layer, pass, target, gradient, accumulate, error);
}

int bench_execute(struct bench_layer *layer, enum dlt_pass pass, int copy, struct dlt_error *error)
{
    const struct bench_program *program = &layer->program[pass];

    for (int i = 0; i < program->count; i++) {
        const struct bench_step *step = &program->step[i];
        dnnl_status_t status;

        if (step->call) {
            step->call(layer, step->data, copy);
            continue;
        }
        status = dnnl_primitive_execute(step->primitive, layer->context->stream, step->count,
                                        step->args + copy * step->count);
        if (status != dnnl_success)
            return bench_check(status, layer->name, error);
    }
    return BENCH_OK;
}

int bench_layer_run(struct bench_layer *layer, enum dlt_pass pass, int64_t iterations,
                    struct dlt_error *error)
{
    int status = bench_repeat(layer, pass, iterations, layer->copies, &layer->program[pass].next,
                              bench_execute, error);

    if (status)
        return status;
    return bench_check(dnnl_stream_wait(layer->context->stream), "wait", error) ? -1 : 0;
}
