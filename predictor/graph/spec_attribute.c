/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/spec_json.h"

int dlt_spec_size(struct dlt_spec_path *path, json_object *value, int64_t seq, int64_t least,
                  int64_t most, int64_t *size, struct dlt_error *error)
{
    char shown[DLT_SPEC_SHOWN];

    if (json_object_is_type(value, json_type_string) &&
        strcmp(json_object_get_string(value), "seq") == 0) {
        if (seq <= 0)
            return dlt_spec_fail(path, error,
                                 "\"seq\" has no value; give one as seq=N or in \"training\"");
        *size = seq;
    } else if (json_object_is_type(value, json_type_int)) {
        *size = json_object_get_int64(value);
    } else {
        return dlt_spec_fail(path, error, "expected a whole number, not %s",
                             dlt_spec_shown(value, shown));
    }
    if (*size < least || *size > most)
        return dlt_spec_fail(path, error, "%lld is outside %lld to %lld", (long long)*size,
                             (long long)least, (long long)most);
    return 0;
}

/* numbers[0..count-1] from a list of exactly count, or from one number for all. */
static int read_list(struct dlt_spec_path *path, const struct dlt_attribute *a, json_object *value,
                     int64_t seq, size_t count, size_t step, int64_t *numbers,
                     struct dlt_error *error)
{
    bool list = json_object_is_type(value, json_type_array);

    if (list && json_object_array_length(value) != count)
        return dlt_spec_fail(path, error, "expected a number or a list of %zu, not a list of %zu",
                             count, json_object_array_length(value));
    for (size_t i = 0; i < count; i++) {
        json_object *element = list ? json_object_array_get_idx(value, i) : value;
        size_t before = list ? dlt_spec_enter(path, "[%zu]", i) : path->length;

        if (dlt_spec_size(path, element, seq, a->least, a->most, &numbers[i * step], error))
            return -1;
        dlt_spec_back(path, before);
    }
    return 0;
}

static int read_padding(struct dlt_spec_path *path, const struct dlt_op *op,
                        const struct dlt_attribute *a, json_object *value, int64_t seq,
                        int64_t *numbers, struct dlt_error *error)
{
    size_t dims = (size_t)op->dims;
    bool list = json_object_is_type(value, json_type_array);
    const char *word =
        json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";

    if (strcmp(word, "same") == 0 || strcmp(word, "valid") == 0) {
        for (size_t i = 0; i < 2 * dims; i++)
            numbers[i] = *word == 's' ? DLT_PADDING_SAME : 0;
        return 0;
    }
    if (*word && strcmp(word, "seq") != 0)
        return dlt_spec_fail(
            path, error, "expected a number, a list, \"same\" or \"valid\", not \"%.40s\"", word);
    if (list && json_object_array_length(value) == dims &&
        json_object_is_type(json_object_array_get_idx(value, 0), json_type_array)) {
        for (size_t d = 0; d < dims; d++) {
            size_t before = dlt_spec_enter(path, "[%zu]", d);

            if (read_list(path, a, json_object_array_get_idx(value, d), seq, 2, 1, numbers + 2 * d,
                          error))
                return -1;
            dlt_spec_back(path, before);
        }
        return 0;
    }
    if (read_list(path, a, value, seq, dims, 2, numbers, error))
        return -1;
    for (size_t d = 0; d < dims; d++)
        numbers[2 * d + 1] = numbers[2 * d];
    return 0;
}

static int read_sizes(struct dlt_spec_path *path, const struct dlt_attribute *a, json_object *value,
                      int64_t seq, int64_t *numbers, struct dlt_error *error)
{
    size_t count;

    if (!json_object_is_type(value, json_type_array)) {
        numbers[0] = 0;
        return dlt_spec_size(path, value, seq, a->least, a->most, &numbers[1], error);
    }
    count = json_object_array_length(value);
    if (count < 1 || count > DLT_SIZES)
        return dlt_spec_fail(path, error, "expected a number or a list of 1 to %d, not of %zu",
                             DLT_SIZES, count);
    numbers[0] = (int64_t)count;
    return read_list(path, a, value, seq, count, 1, numbers + 1, error);
}

static int read_name(struct dlt_spec_path *path, const struct dlt_attribute *a, json_object *value,
                     int64_t *index, struct dlt_error *error)
{
    char shown[DLT_SPEC_SHOWN];
    char all[256] = "";
    size_t used = 0;

    for (size_t i = 0; a->names[i]; i++) {
        if (json_object_is_type(value, json_type_string) &&
            strcmp(json_object_get_string(value), a->names[i]) == 0) {
            *index = (int64_t)i;
            return 0;
        }
        used +=
            (size_t)snprintf(all + used, sizeof all - used, "%s\"%s\"", i ? ", " : "", a->names[i]);
    }
    return dlt_spec_fail(path, error, "expected one of %s, not %s", all,
                         dlt_spec_shown(value, shown));
}

int dlt_spec_attribute(struct dlt_spec_path *path, const struct dlt_op *op,
                       const struct dlt_attribute *a, json_object *value, int64_t seq,
                       int64_t numbers[DLT_ATTRIBUTES], struct dlt_error *error)
{
    int64_t *slot = numbers + a->slot;
    char shown[DLT_SPEC_SHOWN];

    switch (a->type) {
    case DLT_ATTRIBUTE_INT:
        return dlt_spec_size(path, value, seq, a->least, a->most, slot, error);
    case DLT_ATTRIBUTE_BOOL:
        if (!json_object_is_type(value, json_type_boolean))
            return dlt_spec_fail(path, error, "expected true or false, not %s",
                                 dlt_spec_shown(value, shown));
        *slot = json_object_get_boolean(value);
        return 0;
    case DLT_ATTRIBUTE_REAL:
        if ((!json_object_is_type(value, json_type_double) &&
             !json_object_is_type(value, json_type_int)) ||
            !isfinite(json_object_get_double(value)))
            return dlt_spec_fail(path, error, "expected a number, not %s",
                                 dlt_spec_shown(value, shown));
        *slot = json_object_get_double(value) != 0;
        return 0;
    case DLT_ATTRIBUTE_LIST:
        return read_list(path, a, value, seq, (size_t)op->dims, 1, slot, error);
    case DLT_ATTRIBUTE_PADDING:
        return read_padding(path, op, a, value, seq, slot, error);
    case DLT_ATTRIBUTE_SIZES:
        return read_sizes(path, a, value, seq, slot, error);
    case DLT_ATTRIBUTE_NAME:
        return read_name(path, a, value, slot, error);
    }
    return -1;
}
