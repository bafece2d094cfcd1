/* SPDX-License-Identifier: Apache-2.0 */

/* Optimizers: arrays in chunks, one block of threads for each. All arithmetic in one launch, for
 * each array (in networks) or for as many as torch's multi_tensor_apply takes (fused); or a launch
 * for each operation, of as many arrays (foreach) or of each (for loop). */
#include <math.h>
#include <string.h>

#include "../shapes.h"
#include "foreach.h"

/* What one launch of multi_tensor_apply takes of lists of three (ATen/native/cuda/
 * MultiTensorApply.cuh); its chunks are as long as ours. */
enum { MOST_ARRAYS = 48, MOST_CHUNKS = 320 };

/* How arrays are gone through. */
struct manner {
    bool many;    /* arrays in one launch */
    bool stepped; /* one operation in a launch */
};

/* Chunks of arrays that one launch updates, all of one type; lamb needs two kernels. */
struct part {
    enum bench_type type;
    int first_chunk, chunks, arrays;
    struct bench_launch *launch[2];
};

struct update {
    struct bench_layer *layer;
    struct bench_parameter *const *parameter; /* what it updates */
    size_t count;
    const struct bench_buffer *arrays, *chunks, *norms; /* tables on the device */
    struct bench_update_array *table;                   /* the arrays' on the host */
    bool written;                                       /* the arrays' is on the device */
    struct bench_buffer *between[2];                    /* of all arrays, between operations */
    struct part *part;
    int parts;
    bool stepped;
    int64_t steps;
};

/* The table of arrays, which differs between copies; once they all have their memory. */
static int write_arrays(struct update *u, struct dlt_error *error)
{
    struct bench_context *context = u->layer->context;
    int status = BENCH_OK;

    for (int copy = 0; copy < u->layer->copies && status == BENCH_OK; copy++) {
        struct bench_update_array *table = u->table;
        size_t start = 0;

        for (size_t i = 0; i < u->count; i++) {
            const struct bench_parameter *p = u->parameter[i];

            table[i].weight = bench_buffer_data(p->value, copy);
            table[i].gradient = bench_buffer_data(p->gradient, copy);
            table[i].first = p->state[0] ? bench_buffer_data(p->state[0], copy) : NULL;
            table[i].second = p->state[1] ? bench_buffer_data(p->state[1], copy) : NULL;
            table[i].sum =
                u->between[0] ? (float *)bench_buffer_data(u->between[0], copy) + start : NULL;
            table[i].factor =
                u->between[1] ? (float *)bench_buffer_data(u->between[1], copy) + start : NULL;
            start += p->value->count;
            table[i].count = (long long)p->value->count;
        }
        status =
            bench_cuda(cudaMemcpyAsync(bench_buffer_data(u->arrays, copy), table, u->arrays->count,
                                       cudaMemcpyHostToDevice, context->stream),
                       "a table", error);
        if (status == BENCH_OK)
            status = bench_cuda(cudaStreamSynchronize(context->stream), "a table", error);
    }
    u->written = status == BENCH_OK;
    return status;
}

static bool is_lamb(const struct update *u)
{
    return u->layer->training.optimizer == DLT_LAMB;
}

/* Each operation over all arrays before the next one. */
static int run_steps(struct bench_context *context, struct update *u, int copy,
                     struct dlt_error *error)
{
    struct bench_foreach_arguments step[BENCH_FOREACH_STEPS];
    int status = BENCH_OK;
    int count = bench_foreach_list(&u->layer->training, 1 - pow(0.9, (double)u->steps),
                                   1 - pow(0.999, (double)u->steps), step);

    for (int s = 0; s < count; s++) {
        for (int i = 0; i < u->parts && status == BENCH_OK; i++) {
            struct bench_foreach_arguments *arguments =
                bench_launch_arguments(u->part[i].launch[0]);

            arguments->function = step[s].function;
            arguments->y = step[s].y;
            arguments->x = step[s].x;
            arguments->z = step[s].z;
            arguments->scale = step[s].scale;
            status = bench_launch_run(context, u->part[i].launch[0], copy, error);
        }
    }
    return status;
}

static int run_update(struct bench_context *context, const void *what, int copy,
                      struct dlt_error *error)
{
    struct update *u = (struct update *)what;
    int status = u->written ? BENCH_OK : write_arrays(u, error);

    if (status)
        return status;
    u->steps++;
    if (u->stepped)
        return run_steps(context, u, copy, error);
    if (is_lamb(u))
        status = bench_cuda(cudaMemsetAsync(bench_buffer_data(u->norms, copy), 0,
                                            u->norms->count * sizeof(float), context->stream),
                            "clearing norms", error);
    for (int kernel = 0; kernel < (is_lamb(u) ? 2 : 1); kernel++) {
        for (int i = 0; i < u->parts && status == BENCH_OK; i++) {
            struct bench_update_arguments *update =
                bench_launch_arguments(u->part[i].launch[kernel]);

            update->correct1 = (float)(1 - pow(0.9, (double)u->steps));
            update->correct2 = (float)(1 - pow(0.999, (double)u->steps));
            status = bench_launch_run(context, u->part[i].launch[kernel], copy, error);
        }
    }
    return status;
}

static int make_launches(struct update *u, struct part *part, struct dlt_error *error)
{
    struct bench_context *context = u->layer->context;
    struct bench_update_arguments update = {.optimizer = (int)u->layer->training.optimizer,
                                            .rate = (float)u->layer->training.learning_rate};
    struct bench_foreach_arguments step = {.scale = 1};
    struct bench_buffer *chunks;
    size_t offset = (size_t)part->first_chunk * sizeof(struct bench_update_chunk);
    int status = bench_buffer_alias(context, u->chunks, &u->chunks->shape, offset, &chunks, error);

    if (status)
        return status;
    if (u->stepped)
        return bench_launch_make(
            context,
            &(struct bench_call){.kernel = "foreach_step",
                                 .type = part->type,
                                 .grid = {(unsigned)part->chunks},
                                 BENCH_ARGUMENTS(step),
                                 .pointer = {BENCH_POINTER(step, array, u->arrays),
                                             BENCH_POINTER(step, chunk, chunks)}},
            &part->launch[0], error);
    for (int kernel = 0; kernel < (is_lamb(u) ? 2 : 1) && status == BENCH_OK; kernel++) {
        const char *const names[2] = {is_lamb(u) ? "lamb_norms" : "update_any", "lamb_step"};

        status = bench_launch_make(
            context,
            &(struct bench_call){.kernel = names[kernel],
                                 .type = part->type,
                                 .grid = {(unsigned)part->chunks},
                                 BENCH_ARGUMENTS(update),
                                 .pointer = {BENCH_POINTER(update, array, u->arrays),
                                             BENCH_POINTER(update, chunk, chunks),
                                             BENCH_POINTER(update, norms, u->norms)}},
            &part->launch[kernel], error);
    }
    return status;
}

static int64_t chunks_of(const struct bench_parameter *parameter)
{
    return ((int64_t)parameter->value->count + BENCH_CHUNK - 1) / BENCH_CHUNK;
}

/* The table stays where it is, as it is written once. */
static int make_arrays(struct update *u, struct dlt_error *error)
{
    struct bench_context *context = u->layer->context;
    const struct bench_shape shape = {1, {(int64_t)(u->count * sizeof *u->table)}};
    struct bench_buffer *arrays;
    int status;

    u->table = bench_own_zeroed(&context->owned, u->count, sizeof *u->table, error);
    if (!u->table)
        return BENCH_NO_MEMORY;
    status =
        bench_buffer_create(context, BENCH_U8, false, &shape, u->layer->copies, &arrays, error);
    if (status)
        return status;
    u->arrays = arrays;
    return bench_buffer_place(arrays, error);
}

static void use_arrays(const struct update *u)
{
    for (size_t i = 0; i < u->count; i++) {
        const struct bench_parameter *p = u->parameter[i];

        bench_use(u->layer, DLT_UPDATE, p->value);
        bench_use(u->layer, DLT_UPDATE, p->gradient);
        bench_use(u->layer, DLT_UPDATE, p->state[0]);
        bench_use(u->layer, DLT_UPDATE, p->state[1]);
    }
}

/* What operations leave for the next ones: allocated anew for each by torch, which reuses it. */
static int make_between(struct bench_layer *layer, struct update *u,
                        struct bench_parameter *const *parameter, size_t count,
                        struct dlt_error *error)
{
    int64_t elements = 0;
    int status = BENCH_OK;

    for (size_t i = 0; i < count; i++)
        elements += (int64_t)parameter[i]->value->count;
    for (int i = 0; i < bench_foreach_extra(layer->training.optimizer) && status == BENCH_OK; i++)
        status = bench_scratch(layer, BENCH_F32, elements, &u->between[i], error);
    return status;
}

/* Whether an array of so many chunks still goes into the part. */
static bool has_room(const struct part *part, enum bench_type type, int64_t chunks)
{
    return part->type == type && part->arrays < MOST_ARRAYS &&
           (part->chunks == 0 || part->chunks + chunks <= MOST_CHUNKS);
}

/* The table of chunks, and which of them each part has. */
static int make_chunks(struct bench_layer *layer, struct update *u,
                       struct bench_parameter *const *parameter, size_t count, bool many,
                       struct dlt_error *error)
{
    struct bench_context *context = layer->context;
    struct bench_update_chunk *table;
    struct bench_buffer *chunks;
    struct bench_shape shape = {1, {0}};
    int64_t total = 0;
    int done = 0, status;

    for (size_t i = 0; i < count; i++)
        total += chunks_of(parameter[i]);
    if (total > INT32_MAX)
        return dlt_fail(error, "%s: too many elements", layer->name);
    table = bench_own_zeroed(&context->owned, (size_t)total, sizeof *table, error);
    u->part = bench_own_zeroed(&context->owned, count, sizeof *u->part, error);
    if (!table || !u->part)
        return BENCH_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        enum bench_type type = parameter[i]->value->type;
        struct part *part;

        if (!many || u->parts == 0 ||
            !has_room(&u->part[u->parts - 1], type, chunks_of(parameter[i])))
            u->part[u->parts++] = (struct part){.type = type, .first_chunk = done};
        part = &u->part[u->parts - 1];
        for (int64_t chunk = 0; chunk < chunks_of(parameter[i]); chunk++)
            table[done++] = (struct bench_update_chunk){(int)i, chunk * BENCH_CHUNK};
        part->chunks = done - part->first_chunk;
        part->arrays++;
    }
    shape.dim[0] = total * (int64_t)sizeof *table;
    status = bench_buffer_create(context, BENCH_U8, false, &shape, 1, &chunks, error);
    if (status == BENCH_OK)
        status = bench_buffer_write(context, chunks, table, error);
    u->chunks = chunks;
    return status;
}

static int add_update(struct bench_layer *layer, struct bench_parameter *const *parameter,
                      size_t count, struct manner manner, struct dlt_error *error)
{
    struct update *u = bench_own_zeroed(&layer->context->owned, 1, sizeof *u, error);
    struct bench_buffer *norms = NULL;
    int status;

    if (!u)
        return BENCH_NO_MEMORY;
    u->layer = layer;
    u->parameter = parameter;
    u->count = count;
    u->stepped = manner.stepped;
    status = u->stepped ? make_between(layer, u, parameter, count, error) : BENCH_OK;
    if (status == BENCH_OK)
        status = make_arrays(u, error);
    if (status == BENCH_OK)
        status = make_chunks(layer, u, parameter, count, manner.many, error);
    if (status == BENCH_OK)
        status = bench_scratch(layer, BENCH_F32, 2 * (int64_t)count, &norms, error);
    if (status)
        return status;
    u->norms = norms;
    for (int i = 0; i < u->parts && status == BENCH_OK; i++)
        status = make_launches(u, &u->part[i], error);
    if (status)
        return status;
    use_arrays(u);
    return bench_add(layer, DLT_UPDATE, run_update, u,
                     BENCH_USES(u->arrays, u->chunks, u->norms, u->between[0], u->between[1]),
                     error);
}

static int make_state(struct bench_layer *layer, struct bench_parameter *p, float center,
                      float spread, struct dlt_error *error)
{
    int status = BENCH_OK;

    for (int i = 0; i < dlt_optimizer_states(layer->training.optimizer) && status == BENCH_OK;
         i++) {
        status = bench_buffer_create(layer->context, BENCH_F32, false, &p->value->shape,
                                     p->value->copies, &p->state[i], error);
        if (status == BENCH_OK)
            status = bench_buffer_fill(layer->context, p->state[i], center, spread, error);
    }
    return status;
}

int bench_update_layer(struct bench_layer *layer, struct dlt_error *error)
{
    struct bench_parameter *all[] = {&layer->weight, &layer->bias};
    struct bench_parameter **trained = bench_own_zeroed(
        &layer->context->owned, sizeof all / sizeof *all, sizeof(struct bench_parameter *), error);
    size_t count = 0;

    if (!trained)
        return BENCH_NO_MEMORY;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int status;

        if (!all[i]->gradient)
            continue;
        status = make_state(layer, all[i], 0, 0, error);
        if (status)
            return status;
        trained[count++] = all[i];
    }
    return count > 0 ? add_update(layer, trained, count, (struct manner){false, false}, error)
                     : BENCH_OK;
}

int bench_update_arrays(struct bench_layer *layer, struct dlt_error *error)
{
    const struct dlt_record *record = &layer->record;
    struct bench_parameter **parameter;
    struct bench_shape shape;
    size_t count = 0;

    layer->training =
        (struct bench_training){.optimizer = record->optimizer, .learning_rate = 1e-3};
    while (bench_role_shape(record, BENCH_WEIGHT, (int)count, &shape))
        count++;
    layer->arrays = bench_own_zeroed(&layer->context->owned, count, sizeof *layer->arrays, error);
    parameter =
        bench_own_zeroed(&layer->context->owned, count, sizeof(struct bench_parameter *), error);
    if (!layer->arrays || !parameter)
        return BENCH_NO_MEMORY;
    layer->array_count = count;
    for (size_t i = 0; i < count; i++) {
        struct bench_parameter *p = parameter[i] = &layer->arrays[i];
        int status;

        bench_role_shape(record, BENCH_WEIGHT, (int)i, &shape);
        status = bench_parameter(layer, layer->type, false, &shape, 0, 1, p, error);
        if (status == BENCH_OK)
            status = bench_parameter_gradient(layer, p, error);
        if (status == BENCH_OK)
            status = bench_buffer_fill(layer->context, p->gradient, 0, 1, error);
        /* Sums of squares are not negative. */
        if (status == BENCH_OK)
            status = make_state(layer, p, 0.5f, 0.5f, error);
        if (status)
            return status;
    }
    /* torch has no lamb but fused ones. */
    return add_update(layer, parameter, count,
                      (struct manner){record->u.update.implementation != DLT_FOR_LOOP,
                                      record->u.update.implementation != DLT_FUSED &&
                                          record->optimizer != DLT_LAMB},
                      error);
}
