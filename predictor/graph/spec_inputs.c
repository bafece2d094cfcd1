/* SPDX-License-Identifier: Apache-2.0 */
/* "input" and "inputs" of a JSON spec. */
#include <string.h>

#include "base/error.h"
#include "graph/spec_walk.h"

static const char *const dtype_names[] = {"float32", "float16", "bfloat16", "float64",
                                          "int64",   "int32",   "bool"};
static const enum dlt_tensor_type dtype_types[] = {
    DLT_TENSOR_FLOAT, DLT_TENSOR_FLOAT, DLT_TENSOR_FLOAT, DLT_TENSOR_FLOAT,
    DLT_TENSOR_INT64, DLT_TENSOR_INT64, DLT_TENSOR_BOOL};
enum { DTYPES = sizeof dtype_types / sizeof *dtype_types };

/* One input from its shape, a list of sizes without the batch. */
static int add_input(struct dlt_walk *w, const char *name, json_object *shape,
                     enum dlt_tensor_type type)
{
    int64_t dim[DLT_RANK];
    size_t rank;

    if (!json_object_is_type(shape, json_type_array) || json_object_array_length(shape) >= DLT_RANK)
        return dlt_spec_fail(w->path, w->error,
                             "expected a list of at most %d sizes, those of one sample",
                             DLT_RANK - 1);
    rank = json_object_array_length(shape);
    for (size_t i = 0; i < rank; i++) {
        size_t before = dlt_spec_enter(w->path, "[%zu]", i);

        if (dlt_spec_size(w->path, json_object_array_get_idx(shape, i), w->seq, 1, INT32_MAX,
                          &dim[i], w->error))
            return -1;
        dlt_spec_back(w->path, before);
    }
    w->current = dlt_builder_input(w->builder, dim, rank, type, w->error);
    if (w->current < 0)
        return dlt_fail_in(w->error, "%s: ", w->path->text);
    return dlt_walk_register(w, name, w->current, -1);
}

static int add_described_input(struct dlt_walk *w, const char *name, json_object *description)
{
    json_object *shape = NULL;
    int type = 0;
    size_t before;

    if (!json_object_is_type(description, json_type_object))
        return add_input(w, name, description, DLT_TENSOR_FLOAT);
    json_object_object_foreach(description, key, value)
    {
        before = dlt_spec_enter(w->path, ".%.80s", key);
        if (strcmp(key, "shape") == 0) {
            shape = value;
        } else if (strcmp(key, "dtype") == 0) {
            type = json_object_is_type(value, json_type_string)
                       ? dlt_name_index(dtype_names, DTYPES, json_object_get_string(value))
                       : -1;
            if (type < 0)
                return dlt_spec_fail(w->path, w->error,
                                     "expected float32, float16, bfloat16, float64, int64, int32 "
                                     "or bool");
        } else {
            return dlt_spec_fail(w->path, w->error,
                                 "unknown key of an input; it has \"shape\" and \"dtype\"");
        }
        dlt_spec_back(w->path, before);
    }
    if (!shape)
        return dlt_spec_fail(w->path, w->error, "an input needs \"shape\"");
    before = dlt_spec_enter(w->path, ".shape");
    if (add_input(w, name, shape, dtype_types[type]))
        return -1;
    dlt_spec_back(w->path, before);
    return 0;
}

int dlt_walk_add_inputs(struct dlt_walk *w, json_object *root)
{
    json_object *one = NULL, *several = NULL;
    size_t before;

    json_object_object_get_ex(root, "input", &one);
    json_object_object_get_ex(root, "inputs", &several);
    if (!one == !several)
        return dlt_spec_fail(w->path, w->error, "give either \"input\" or \"inputs\"");
    before = dlt_spec_enter(w->path, one ? "input" : "inputs");
    if (one) {
        if (add_described_input(w, "input", one))
            return -1;
    } else if (!json_object_is_type(several, json_type_object) ||
               json_object_object_length(several) == 0) {
        return dlt_spec_fail(w->path, w->error,
                             "expected an object: {\"NAME\": {\"shape\": [...]}, ...}");
    } else {
        json_object_object_foreach(several, name, description)
        {
            size_t inner = dlt_spec_enter(w->path, ".%.80s", name);

            if (add_described_input(w, name, description))
                return -1;
            dlt_spec_back(w->path, inner);
        }
        if (json_object_object_length(several) > 1)
            w->current = -1;
    }
    dlt_spec_back(w->path, before);
    w->block_input = w->current;
    return 0;
}
