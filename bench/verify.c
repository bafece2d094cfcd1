/* SPDX-License-Identifier: Apache-2.0 */
#include "verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "reference.h"
#include "shapes.h"

enum { ARRAYS = 2 * BENCH_OPERANDS + 4 * BENCH_WEIGHTS + 16 };

/* One array: where it stands in struct bench_arrays, and what the pass does with it. */
struct array {
    enum bench_role role;
    int index;
    bool read, written;
    double *expected, *found;
    size_t count;
};

struct comparison {
    struct array array[ARRAYS];
    int count;
    struct bench_arrays arrays;
};

static double **place(struct bench_arrays *a, enum bench_role role, int index)
{
    switch (role) {
    case BENCH_INPUT:
        return &a->input[index];
    case BENCH_INPUT_GRADIENT:
        return &a->input_gradient[index];
    case BENCH_WEIGHT:
        return &a->weight[index];
    case BENCH_BIAS:
        return &a->bias[index];
    case BENCH_OUTPUT:
        return &a->output;
    case BENCH_MASK:
        return &a->mask;
    case BENCH_STATE:
        return &a->state[index];
    case BENCH_WEIGHT_GRADIENT:
        return &a->weight_gradient[index];
    case BENCH_BIAS_GRADIENT:
        return &a->bias_gradient[index];
    default:
        return &a->output_gradient;
    }
}

/* What each pass reads and writes; gradients by which of them it makes. */
static void usage(const struct dlt_record *record, enum bench_role role, bool *read, bool *written)
{
    enum dlt_pass pass = record->pass;
    bool backward =
        pass == DLT_BACKWARD_DATA || pass == DLT_BACKWARD_WEIGHT || pass == DLT_BACKWARD;
    bool update = pass == DLT_UPDATE;

    *read = *written = false;
    switch (role) {
    case BENCH_INPUT:
    case BENCH_BIAS:
    case BENCH_MASK:
        *read = !update;
        break;
    case BENCH_WEIGHT:
        *read = true;
        *written = update;
        break;
    case BENCH_OUTPUT:
        *written = pass == DLT_FORWARD;
        break;
    case BENCH_STATE:
        *read = *written = update;
        break;
    case BENCH_INPUT_GRADIENT:
        *written = backward && pass != DLT_BACKWARD_WEIGHT;
        break;
    case BENCH_WEIGHT_GRADIENT:
        *read = update;
        *written = backward && pass != DLT_BACKWARD_DATA;
        break;
    case BENCH_BIAS_GRADIENT:
        *written = backward && pass != DLT_BACKWARD_DATA;
        break;
    default:
        *read = backward;
    }
}

static void free_comparison(struct comparison *c)
{
    for (int i = 0; i < c->count; i++) {
        free(c->array[i].expected);
        free(c->array[i].found);
    }
    free(c);
}

static int add_array(struct comparison *c, const struct dlt_record *record, enum bench_role role,
                     int index, struct dlt_error *error)
{
    struct array *array = &c->array[c->count];
    struct bench_shape shape;
    bool read, written;

    usage(record, role, &read, &written);
    /* The output is where differences of forward passes are computed. */
    if ((!read && !written && role != BENCH_OUTPUT) ||
        !bench_role_shape(record, role, index, &shape))
        return 0;
    *array = (struct array){role, index, read, written, NULL, NULL, bench_shape_count(&shape)};
    array->expected = calloc(array->count, sizeof *array->expected);
    array->found = calloc(array->count, sizeof *array->found);
    c->count++;
    if (!array->expected || !array->found)
        return dlt_fail_memory(error);
    *place(&c->arrays, role, index) = array->expected;
    return 0;
}

static int list_arrays(struct comparison *c, const struct dlt_record *record,
                       struct dlt_error *error)
{
    for (int role = 0; role < BENCH_ROLES; role++) {
        int indices = 1;

        if (role == BENCH_INPUT || role == BENCH_INPUT_GRADIENT)
            indices = bench_operands(record);
        if (role == BENCH_STATE)
            indices = 2;
        if (record->pass != DLT_UPDATE &&
            (role == BENCH_WEIGHT || role == BENCH_BIAS || role == BENCH_WEIGHT_GRADIENT ||
             role == BENCH_BIAS_GRADIENT))
            indices = BENCH_WEIGHTS;
        for (int index = 0; index < indices; index++)
            if (add_array(c, record, (enum bench_role)role, index, error))
                return -1;
    }
    return 0;
}

/* Reads the arrays into expected (before: those that the pass reads) or found (after). */
static int read_arrays(struct comparison *c, const struct dlbench_backend *backend,
                       struct bench_layer *layer, bool before, struct dlt_error *error)
{
    for (int i = 0; i < c->count; i++) {
        struct array *array = &c->array[i];

        if (before ? !array->read : !array->written)
            continue;
        if (backend->read(layer, array->role, array->index, before ? array->expected : array->found,
                          array->count, error))
            return -1;
    }
    return 0;
}

static double largest_error(const struct comparison *c)
{
    double worst = 0;

    for (int i = 0; i < c->count; i++) {
        const struct array *array = &c->array[i];
        double scale = 0, error = 0;

        if (!array->written)
            continue;
        for (size_t j = 0; j < array->count; j++) {
            double difference = fabs(array->expected[j] - array->found[j]);

            scale = fmax(scale, fabs(array->expected[j]));
            error = difference <= error ? error : difference; /* NaN becomes the error */
        }
        error = error > 0 ? error / fmax(scale, 1e-30) : error;
        worst = error <= worst ? worst : error;
    }
    return worst;
}

static int compare(struct comparison *c, const struct dlbench_backend *backend,
                   struct bench_context *context, const struct dlt_record *record,
                   struct bench_choice *choice, struct dlt_error *error)
{
    const struct bench_layer_options options = {.copies = 1};
    bool update = record->pass == DLT_UPDATE;
    bool dropout =
        strcmp(record->kind->name, "elementwise") == 0 && record->u.rowwise.function == DLT_DROPOUT;
    struct bench_layer *layer;
    int status = backend->layer_create(context, record, &options, NULL, 0, &layer, NULL, error);

    if (status)
        return status;
    if (!update) {
        status = backend->layer_train(layer, true, true, NULL, error);
        if (status)
            return status;
    }
    if (read_arrays(c, backend, layer, true, error) ||
        backend->run(layer, record->pass, 1, error) ||
        (dropout && record->pass == DLT_FORWARD && read_arrays(c, backend, layer, true, error)) ||
        read_arrays(c, backend, layer, false, error))
        return BENCH_FAILED;
    if (backend->choice)
        backend->choice(layer, record->pass, choice);
    if (bench_reference(record, 1e-3, &c->arrays))
        return BENCH_OK;
    dlt_fail(error, "the reference does not know %s", record->kind->name);
    return BENCH_UNSUPPORTED;
}

int bench_verify(const struct dlbench_backend *backend, struct bench_context *context,
                 const struct dlt_record *record, double *relative_error,
                 struct bench_choice *choice, struct dlt_error *error)
{
    struct comparison *c = calloc(1, sizeof *c);
    int status;

    *choice = (struct bench_choice){.workspace_bytes = 0};
    if (!c)
        return dlt_fail_memory(error);
    status = list_arrays(c, record, error);
    if (status == BENCH_OK)
        status = compare(c, backend, context, record, choice, error);
    if (status == BENCH_OK)
        *relative_error = largest_error(c);
    free_comparison(c);
    backend->reset(context);
    return status;
}

double bench_verify_tolerance(const struct dlt_record *record)
{
    static const double rounding[DLT_DTYPES] = {
        [DLT_FLOAT32] = 1e-5, [DLT_FLOAT16] = 5e-3, [DLT_BFLOAT16] = 3e-2};

    return record->math == DLT_TF32 ? 5e-3 : rounding[record->dtype];
}
