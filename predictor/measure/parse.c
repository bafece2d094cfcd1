/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/parse.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* Far beyond any time, size or rate, and far from where doubles overflow when they are multiplied.
 */
static const double largest = 1e30;

struct json_object *dlt_member_find(struct json_object *object, const char *name)
{
    struct json_object *value;

    return json_object_object_get_ex(object, name, &value) ? value : NULL;
}

bool dlt_value_is(struct json_object *value, const char *text)
{
    size_t length = strlen(text);

    return json_object_is_type(value, json_type_string) &&
           (size_t)json_object_get_string_len(value) == length &&
           memcmp(json_object_get_string(value), text, length) == 0;
}

bool dlt_value_text(struct json_object *value, char *to, size_t size)
{
    bool fits = dlt_text_copy(to, size, json_object_get_string(value));

    dlt_text_printable(to);
    return fits;
}

/* json-c reads a whole number beyond 64 bits as the nearest that it can hold: that is none. */
static bool take_real(struct json_object *value, double *real)
{
    bool whole = json_object_is_type(value, json_type_int);

    if (!whole && !json_object_is_type(value, json_type_double))
        return false;
    *real = json_object_get_double(value);
    return isfinite(*real) && !(whole && (*real >= (double)UINT64_MAX || *real <= INT64_MIN));
}

bool dlt_value_int64(struct json_object *value, int64_t *number)
{
    double real;

    if (!take_real(value, &real) || real != floor(real) || fabs(real) > 9007199254740992.0)
        return false;
    *number = (int64_t)real;
    return true;
}

/* Larger than any count that a reader takes; it has then refused the number for that. */
static bool is_huge(struct json_object *value)
{
    bool number =
        json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double);

    return number && json_object_get_double(value) > INT32_MAX;
}

/* A value as its file has it, but for spaces; a string without its quotes. */
static const char *shown(struct json_object *value)
{
    return json_object_is_type(value, json_type_string)
               ? json_object_get_string(value)
               : json_object_to_json_string_ext(value, JSON_C_TO_STRING_NOSLASHESCAPE);
}

/* "NAME: has to be WHAT", with the text that stands there instead. */
static int fail_value(const char *name, const char *what, struct json_object *value,
                      struct dlt_error *error)
{
    const char *quote = json_object_is_type(value, json_type_string) ? "\"" : "";

    return dlt_fail(error, "%s: has to be %s, not %s%.40s%s%s", name, what, quote, shown(value),
                    quote, is_huge(value) ? ", which is too large" : "");
}

/* "NAME: "text" is not known; did you mean "nearest"?" or the list of names. */
static int fail_name(const char *name, const char *text, const char *const *names, size_t count,
                     struct dlt_error *error)
{
    const char *nearest = dlt_text_nearest(text, names, count);
    char all[256] = "";

    if (nearest)
        return dlt_fail(error, "%s: \"%s\" is not known; did you mean \"%s\"?", name, text,
                        nearest);
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(all);

        dlt_text_copy(all + used, sizeof all - used, i ? ", " : "");
        used = strlen(all);
        dlt_text_copy(all + used, sizeof all - used, names[i]);
    }
    return dlt_fail(error, "%s: \"%s\" is not known; it is one of %s", name, text, all);
}

/* Index of a string in a table of names. */
static enum dlt_parsed parse_name(const char *name, struct json_object *value,
                                  const char *const *names, size_t count, bool lenient,
                                  unsigned *index, struct dlt_error *error)
{
    char text[48];

    if (!json_object_is_type(value, json_type_string))
        return (enum dlt_parsed)fail_value(name, "a string", value, error);
    for (size_t i = 0; i < count; i++) {
        if (dlt_value_is(value, names[i])) {
            *index = (unsigned)i;
            return DLT_PARSED;
        }
    }
    dlt_value_text(value, text, sizeof text);
    fail_name(name, text, names, count, error);
    return lenient ? DLT_PARSED_UNKNOWN : DLT_PARSED_WRONG;
}

static int parse_real(const struct dlt_member *m, struct json_object *value, double *real,
                      struct dlt_error *error)
{
    if (!take_real(value, real) || (*real < 0 && !m->signed_) || fabs(*real) > largest)
        return fail_value(m->name, m->signed_ ? "a number" : "a number of at least 0", value,
                          error);
    *real = fabs(*real) < 1 / largest ? 0 : *real * m->scale;
    return 0;
}

/* "7.0", or the same as a number. */
static int parse_version(const struct dlt_member *m, struct json_object *value, double *real,
                         struct dlt_error *error)
{
    char text[32];

    if (take_real(value, real) && *real >= 0 && *real < largest)
        return 0;
    if (json_object_is_type(value, json_type_string) && dlt_value_text(value, text, sizeof text) &&
        dlt_text_to_double(text, real) && *real >= 0 && *real < largest)
        return 0;
    return fail_value(m->name, "a version like \"7.0\"", value, error);
}

static int parse_shape(const struct dlt_member *m, struct json_object *value, int64_t *shape,
                       struct dlt_error *error)
{
    size_t count;

    if (!json_object_is_type(value, json_type_array))
        return fail_value(m->name, "a list of sizes", value, error);
    count = json_object_array_length(value);
    for (size_t i = 0; i < count; i++)
        if (count > m->size || !dlt_value_int64(json_object_array_get_idx(value, i), &shape[i]) ||
            shape[i] < 1)
            return fail_value(m->name, "a list of at most four sizes, each at least 1", value,
                              error);
    return 0;
}

static int parse_text(const struct dlt_member *m, struct json_object *value, char *text,
                      struct dlt_error *error)
{
    if (!json_object_is_type(value, json_type_string))
        return fail_value(m->name, "a string", value, error);
    if (!dlt_value_text(value, text, m->size) && m->whole)
        return dlt_fail(error, "%s: is longer than %zu bytes, which is the most that is read",
                        m->name, m->size - 1);
    return 0;
}

static int parse_int(const struct dlt_member *m, struct json_object *value, int64_t most,
                     int64_t *number, struct dlt_error *error)
{
    if (!dlt_value_int64(value, number) || *number < 0 || *number > most)
        return fail_value(m->name, "a whole number of at least 0", value, error);
    return 0;
}

static enum dlt_parsed parse_member(const struct dlt_member *m, struct json_object *value,
                                    void *field, struct dlt_error *error)
{
    enum dlt_parsed parsed = DLT_PARSED;
    int64_t number = 0;
    unsigned index = 0;

    switch (m->type) {
    case DLT_MEMBER_TEXT:
        return (enum dlt_parsed)parse_text(m, value, field, error);
    case DLT_MEMBER_REAL:
        return (enum dlt_parsed)parse_real(m, value, field, error);
    case DLT_MEMBER_VERSION:
        return (enum dlt_parsed)parse_version(m, value, field, error);
    case DLT_MEMBER_SHAPE:
        return (enum dlt_parsed)parse_shape(m, value, field, error);
    case DLT_MEMBER_INT64:
        return (enum dlt_parsed)parse_int(m, value, INT64_MAX, field, error);
    case DLT_MEMBER_INT:
        parsed = (enum dlt_parsed)parse_int(m, value, INT_MAX, &number, error);
        if (parsed == DLT_PARSED)
            *(int *)field = (int)number;
        return parsed;
    case DLT_MEMBER_NAME:
        parsed = parse_name(m->name, value, m->names, m->size, m->lenient, &index, error);
        if (parsed == DLT_PARSED)
            memcpy(field, &index, sizeof index);
        return parsed;
    case DLT_MEMBER_BOOL:
        if (!json_object_is_type(value, json_type_boolean))
            return (enum dlt_parsed)fail_value(m->name, "true or false", value, error);
        *(bool *)field = json_object_get_boolean(value);
        return DLT_PARSED;
    }
    return DLT_PARSED;
}

enum dlt_parsed dlt_parse_members(struct json_object *object, const struct dlt_member *table,
                                  void *base, struct dlt_error *error)
{
    const struct dlt_member *set = NULL; /* the last member that was there */
    enum dlt_parsed result = DLT_PARSED;

    for (const struct dlt_member *m = table; m->name; m++) {
        struct json_object *value = dlt_member_find(object, m->name);
        enum dlt_parsed parsed;

        if (!value && m->required)
            return (enum dlt_parsed)dlt_fail(error, "%s: is missing; it has to be in every row",
                                             m->name);
        if (!value || (set && set->offset == m->offset))
            continue;
        parsed = parse_member(m, value, (char *)base + m->offset, error);
        if (parsed == DLT_PARSED_WRONG)
            return parsed;
        if (parsed == DLT_PARSED_UNKNOWN)
            result = parsed;
        set = m;
    }
    return result;
}

/* One size of a list or of a padding: in [least, 2^31 - 1], as record.h has it. */
static bool take_size(struct json_object *value, int64_t least, int64_t *size)
{
    return dlt_value_int64(value, size) && *size >= least && *size <= INT32_MAX;
}

static bool is_list_of(struct json_object *value, int count)
{
    return json_object_is_type(value, json_type_array) &&
           json_object_array_length(value) == (size_t)count;
}

static bool take_list(struct json_object *value, int dims, int64_t *size)
{
    bool list = is_list_of(value, dims), good = true;

    for (int d = 0; d < dims && good; d++)
        good = take_size(list ? json_object_array_get_idx(value, (size_t)d) : value, 1, &size[d]);
    return good;
}

static int parse_list(const struct dlt_field *field, struct json_object *value, int dims,
                      int64_t *size, struct dlt_error *error)
{
    if (take_list(value, dims, size))
        return 0;
    return dlt_fail(error, "%s: has to be a size or a list of %d, each at least 1, not %.40s",
                    field->name, dims, shown(value));
}

/* Before and after of one dimension: one number for both, or a pair. */
static bool take_pair(struct json_object *value, int64_t pad[2])
{
    bool pair = is_list_of(value, 2);

    return take_size(pair ? json_object_array_get_idx(value, 0) : value, 0, &pad[0]) &&
           take_size(pair ? json_object_array_get_idx(value, 1) : value, 0, &pad[1]);
}

/* A size, or a list of a size or pair for each dimension. */
static bool take_padding(struct json_object *value, int dims, int64_t (*pad)[2])
{
    bool list = is_list_of(value, dims),
         good = list || !json_object_is_type(value, json_type_array);

    for (int d = 0; d < dims && good; d++)
        good = take_pair(list ? json_object_array_get_idx(value, (size_t)d) : value, pad[d]);
    return good;
}

static int parse_padding(const struct dlt_field *field, struct json_object *value,
                         struct dlt_record *record, struct dlt_error *error)
{
    struct dlt_spatial *s = &record->u.spatial;
    int dims = record->kind->dims;

    if (dlt_value_is(value, "valid"))
        return 0;
    if (dlt_value_is(value, "same")) {
        dlt_spatial_pad_same(s, dims);
        return 0;
    }
    if (take_padding(value, dims, s->padding))
        return 0;
    return dlt_fail(error,
                    "%s: has to be \"valid\", \"same\", a size, or a list of %d sizes or [before, "
                    "after] pairs, not %.40s",
                    field->name, dims, shown(value));
}

static enum dlt_parsed parse_field(const struct dlt_field *field, struct json_object *value,
                                   struct dlt_record *record, struct dlt_error *error)
{
    int64_t *number = dlt_record_field(record, field);
    enum dlt_parsed parsed;
    unsigned index = 0;

    switch (field->type) {
    case DLT_FIELD_INT:
        if (!dlt_value_int64(value, number) || *number < 1)
            return (enum dlt_parsed)fail_value(field->name, "a whole number of at least 1", value,
                                               error);
        return DLT_PARSED;
    case DLT_FIELD_BOOL:
        if (!json_object_is_type(value, json_type_boolean))
            return (enum dlt_parsed)fail_value(field->name, "true or false", value, error);
        *number = json_object_get_boolean(value);
        return DLT_PARSED;
    case DLT_FIELD_LIST:
        return (enum dlt_parsed)parse_list(field, value, record->kind->dims, number, error);
    case DLT_FIELD_PADDING:
        return (enum dlt_parsed)parse_padding(field, value, record, error);
    case DLT_FIELD_NAME:
        parsed =
            parse_name(field->name, value, field->names, field->name_count, true, &index, error);
        *number = index;
        return parsed;
    }
    return DLT_PARSED;
}

/* The fields of the record's kind. "same" needs the sizes, so padding comes last. */
static enum dlt_parsed parse_record(struct json_object *object, struct dlt_record *record,
                                    struct dlt_error *error)
{
    for (int last = 0; last < 2; last++) {
        for (const struct dlt_field *field = record->kind->fields; field->name; field++) {
            struct json_object *value;
            enum dlt_parsed parsed;

            if ((field->type == DLT_FIELD_PADDING) != last)
                continue;
            value = dlt_member_find(object, field->name);
            if (!value && field->required)
                return (enum dlt_parsed)dlt_fail(error, "%s: is missing; %s needs it", field->name,
                                                 record->kind->name);
            if (!value)
                continue;
            parsed = parse_field(field, value, record, error);
            if (parsed != DLT_PARSED)
                return parsed;
        }
    }
    return (enum dlt_parsed)dlt_record_check(record, error);
}

static const struct dlt_record_kind *find_kind(struct json_object *op)
{
    for (size_t i = 0; i < dlt_record_kind_count(); i++) {
        const struct dlt_record_kind *kind = dlt_record_kind_at(i);

        if (dlt_value_is(op, kind->name))
            return kind;
    }
    return NULL;
}

/* No operator takes less or more: one such time would outweigh all others. */
static bool is_possible_time(double seconds)
{
    const double shortest_s = 1e-9, longest_s = 86400;

    return seconds >= shortest_s && seconds <= longest_s;
}

enum dlt_parsed dlt_parse_measurement(struct json_object *object,
                                      struct dlt_measurement *measurement, struct dlt_error *error)
{
    struct json_object *op = dlt_member_find(object, "op");
    const struct dlt_record_kind *kind;
    enum dlt_parsed parsed;

    if (!op)
        return (enum dlt_parsed)dlt_fail(error, "op: is missing; it has to be in every row");
    if (!json_object_is_type(op, json_type_string))
        return (enum dlt_parsed)fail_value("op", "a string", op, error);
    kind = find_kind(op);
    if (!kind)
        return DLT_PARSED_UNKNOWN;
    memset(measurement, 0, sizeof *measurement);
    measurement->record = dlt_record_make(kind);
    parsed = parse_record(object, &measurement->record, error);
    if (parsed == DLT_PARSED)
        parsed = dlt_parse_members(object, dlt_row_members, measurement, error);
    if (parsed == DLT_PARSED && !is_possible_time(measurement->median_s))
        return (enum dlt_parsed)dlt_fail(
            error, "median_ms: has to be from 0.000001 (a nanosecond) to 86400000 (a day)");
    return parsed;
}
