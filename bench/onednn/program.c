/* SPDX-License-Identifier: Apache-2.0 */
#include "onednn.h"

static void destroy_primitive(void *object)
{
    dnnl_primitive_destroy(object);
}

static struct bench_step *next_step(struct bench_layer *layer, enum dlt_pass pass,
                                    struct dlt_error *error)
{
    struct bench_program *program = &layer->program[pass];

    if (program->count == BENCH_STEPS) {
        dlt_fail(error, "%s: a pass of more than %d steps", layer->record.kind->name, BENCH_STEPS);
        return NULL;
    }
    return &program->step[program->count];
}

int bench_add(struct bench_layer *layer, enum dlt_pass pass, dnnl_primitive_desc_t pd,
              const struct bench_argument *arguments, struct dlt_error *error)
{
    struct bench_step *step = next_step(layer, pass, error);
    dnnl_primitive_t primitive = NULL;
    dnnl_exec_arg_t *args;
    int count = 0;
    int status = step ? bench_check(dnnl_primitive_create(&primitive, pd), "primitive", error)
                      : BENCH_FAILED;

    if (status)
        return status;
    if (bench_own(layer->context, primitive, destroy_primitive, error))
        return BENCH_NO_MEMORY;
    while (arguments[count].index)
        count++;
    args = bench_own_zeroed(layer->context, (size_t)count * (size_t)layer->copies, sizeof *args,
                            error);
    if (!args)
        return BENCH_NO_MEMORY;
    for (int copy = 0; copy < layer->copies; copy++) {
        for (int i = 0; i < count; i++) {
            struct bench_buffer *buffer = arguments[i].buffer;

            args[copy * count + i] =
                (dnnl_exec_arg_t){arguments[i].index, buffer->memory[copy % buffer->copies]};
        }
    }
    *step = (struct bench_step){primitive, count, args, NULL};
    layer->program[pass].count++;
    return BENCH_OK;
}

int bench_add_call(struct bench_layer *layer, enum dlt_pass pass,
                   void (*call)(struct bench_layer *layer, int copy), struct dlt_error *error)
{
    struct bench_step *step = next_step(layer, pass, error);

    if (!step)
        return BENCH_FAILED;
    *step = (struct bench_step){.call = call};
    layer->program[pass].count++;
    return BENCH_OK;
}

int bench_add_copy(struct bench_layer *layer, enum dlt_pass pass, struct bench_buffer *from,
                   struct bench_buffer *to, bool accumulate, struct dlt_error *error)
{
    struct bench_argument arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {0, NULL}};
    dnnl_primitive_desc_t pd;
    int status = bench_pd_reorder(layer->context, &from->md, &to->md, accumulate, &pd, error);

    if (status)
        return status;
    status = bench_add(layer, pass, pd, arguments, error);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

int bench_convert(struct bench_layer *layer, enum dlt_pass pass, const dnnl_memory_desc_t *md,
                  struct bench_buffer **buffer, struct dlt_error *error)
{
    struct bench_buffer *from = *buffer;
    int status;

    if (dnnl_memory_desc_equal(&from->md, md))
        return BENCH_OK;
    status = bench_buffer_create(layer->context, md, from->copies, buffer, error);
    if (status)
        return status;
    if (layer->standalone)
        return bench_convert_now(layer->context, from, *buffer, error);
    return bench_add_copy(layer, pass, from, *buffer, false, error);
}

int bench_collect(struct bench_layer *layer, const dnnl_memory_desc_t *md,
                  const dnnl_memory_desc_t *home, struct bench_buffer **gradient,
                  struct bench_buffer **target, bool *accumulate, struct dlt_error *error)
{
    int status;

    *accumulate = *gradient != NULL;
    if (!*gradient) {
        status = bench_buffer_create(layer->context, layer->standalone ? md : home, layer->copies,
                                     gradient, error);
        if (status)
            return status;
    }
    *target = *gradient;
    if (!*accumulate && dnnl_memory_desc_equal(&(*gradient)->md, md))
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
            step->call(layer, copy);
            continue;
        }
        status = dnnl_primitive_execute(step->primitive, layer->context->stream, step->count,
                                        step->args + copy * step->count);
        if (status != dnnl_success)
            return bench_check(status, layer->record.kind->name, error);
    }
    return BENCH_OK;
}

int bench_layer_run(struct bench_layer *layer, enum dlt_pass pass, int64_t iterations,
                    struct dlt_error *error)
{
    static const enum dlt_pass backward[] = {DLT_BACKWARD_DATA, DLT_BACKWARD_WEIGHT, DLT_BACKWARD};
    bool all = pass == DLT_BACKWARD;
    struct bench_program *program = &layer->program[pass];

    for (int64_t i = 0; i < iterations; i++) {
        int copy = program->next;

        program->next = (copy + 1) % layer->copies;
        for (size_t p = 0; p < (all ? sizeof backward / sizeof *backward : 1); p++)
            if (bench_execute(layer, all ? backward[p] : pass, copy, error))
                return -1;
    }
    return bench_check(dnnl_stream_wait(layer->context->stream), "wait", error) ? -1 : 0;
}
