/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/parse.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* Far beyond any time, size or rate, and far from where doubles overflow when they are multiplied.
 */
static const double largest = 1e30;

int dlt_member_list_fill(struct dlt_member_list *list, const struct dlt_token *object,
                         struct dlt_error *error)
{
    struct dlt_member_token member;
    const char *cursor = NULL;

    list->count = 0;
    while (dlt_scan_member(object, &cursor, &member)) {
        if (list->count == list->room) {
            size_t room = list->room ? list->room * 2 : 64;
            struct dlt_member_token *larger = realloc(list->member, room * sizeof *larger);

            if (!larger)
                return dlt_fail_memory(error);
            list->member = larger;
            list->room = room;
        }
        list->member[list->count++] = member;
    }
    return 0;
}

const struct dlt_token *dlt_member_find(const struct dlt_member_list *list, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = list->count; i-- > 0;) {
        const struct dlt_member_token *member = &list->member[i];

        if (member->key.length == length && memcmp(member->key.begin, name, length) == 0)
            return member->value.type == DLT_TOKEN_NULL ? NULL : &member->value;
    }
    return NULL;
}

/* "NAME: has to be WHAT", with the text that stands there instead. */
static int fail_value(const char *name, const char *what, const struct dlt_token *value,
                      struct dlt_error *error)
{
    return dlt_fail(error, "%s: has to be %s, not %.*s", name, what,
                    value->length > 40 ? 40 : (int)value->length, value->begin);
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

/* Index of a string token in a table of names. */
static enum dlt_parsed parse_name(const char *name, const struct dlt_token *value,
                                  const char *const *names, size_t count, bool lenient,
                                  unsigned *index, struct dlt_error *error)
{
    char text[48];

    if (value->type != DLT_TOKEN_STRING)
        return (enum dlt_parsed)fail_value(name, "a string", value, error);
    for (size_t i = 0; i < count; i++) {
        if (dlt_token_is(value, names[i])) {
            *index = (unsigned)i;
            return DLT_PARSED;
        }
    }
    dlt_token_text(value, text, sizeof text);
    fail_name(name, text, names, count, error);
    return lenient ? DLT_PARSED_UNKNOWN : DLT_PARSED_WRONG;
}

static int parse_real(const struct dlt_member *m, const struct dlt_token *value, double *real,
                      struct dlt_error *error)
{
    if (!dlt_token_double(value, real) || (*real < 0 && !m->signed_) || fabs(*real) > largest)
        return fail_value(m->name, m->signed_ ? "a number" : "a number of at least 0", value,
                          error);
    *real = fabs(*real) < 1 / largest ? 0 : *real * m->scale;
    return 0;
}

/* "7.0", or the same as a number. */
static int parse_version(const struct dlt_member *m, const struct dlt_token *value, double *real,
                         struct dlt_error *error)
{
    char text[32];

    if (dlt_token_double(value, real) && *real >= 0 && *real < largest)
        return 0;
    if (value->type == DLT_TOKEN_STRING && dlt_token_text(value, text, sizeof text) &&
        dlt_text_to_double(text, real) && *real >= 0 && *real < largest)
        return 0;
    return fail_value(m->name, "a version like \"7.0\"", value, error);
}

static int parse_shape(const struct dlt_member *m, const struct dlt_token *value, int64_t *shape,
                       struct dlt_error *error)
{
    struct dlt_token element;
    const char *cursor = NULL;
    size_t count = 0;

    if (value->type != DLT_TOKEN_ARRAY)
        return fail_value(m->name, "a list of sizes", value, error);
    while (dlt_scan_element(value, &cursor, &element)) {
        if (count == m->size || !dlt_token_int64(&element, &shape[count]) || shape[count] < 1)
            return fail_value(m->name, "a list of at most four sizes, each at least 1", value,
                              error);
        count++;
    }
    return 0;
}

static int parse_text(const struct dlt_member *m, const struct dlt_token *value, char *text,
                      struct dlt_error *error)
{
    if (value->type != DLT_TOKEN_STRING)
        return fail_value(m->name, "a string", value, error);
    if (!dlt_token_text(value, text, m->size) && m->whole)
        return dlt_fail(error, "%s: is longer than %zu bytes, which is the most that is read",
                        m->name, m->size - 1);
    return 0;
}

static int parse_int(const struct dlt_member *m, const struct dlt_token *value, int64_t most,
                     int64_t *number, struct dlt_error *error)
{
    if (!dlt_token_int64(value, number) || *number < 0 || *number > most)
        return fail_value(m->name, "a whole number of at least 0", value, error);
    return 0;
}

static enum dlt_parsed parse_member(const struct dlt_member *m, const struct dlt_token *value,
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
        if (value->type != DLT_TOKEN_TRUE && value->type != DLT_TOKEN_FALSE)
            return (enum dlt_parsed)fail_value(m->name, "true or false", value, error);
        *(bool *)field = value->type == DLT_TOKEN_TRUE;
        return DLT_PARSED;
    }
    return DLT_PARSED;
}

enum dlt_parsed dlt_parse_members(const struct dlt_member_list *list,
                                  const struct dlt_member *table, void *base,
                                  struct dlt_error *error)
{
    const struct dlt_member *set = NULL; /* the last member that was there */
    enum dlt_parsed result = DLT_PARSED;

    for (const struct dlt_member *m = table; m->name; m++) {
        const struct dlt_token *value = dlt_member_find(list, m->name);
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
static bool take_size(const struct dlt_token *token, int64_t least, int64_t *size)
{
    return dlt_token_int64(token, size) && *size >= least && *size <= INT32_MAX;
}

static int parse_list(const struct dlt_field *field, const struct dlt_token *value, int dims,
                      int64_t *size, struct dlt_error *error)
{
    struct dlt_token element;
    const char *cursor = NULL;
    int count = 0;

    if (value->type == DLT_TOKEN_NUMBER && take_size(value, 1, size)) {
        for (int d = 1; d < dims; d++)
            size[d] = size[0];
        return 0;
    }
    if (value->type == DLT_TOKEN_ARRAY) {
        while (count < dims && dlt_scan_element(value, &cursor, &element) &&
               take_size(&element, 1, &size[count]))
            count++;
        if (count == dims && !dlt_scan_element(value, &cursor, &element))
            return 0;
    }
    return dlt_fail(error, "%s: has to be a size or a list of %d, each at least 1, not %.*s",
                    field->name, dims, value->length > 40 ? 40 : (int)value->length, value->begin);
}

/* Before and after of one dimension: one number for both, or a pair. */
static bool take_padding(const struct dlt_token *token, int64_t pad[2])
{
    struct dlt_token element;
    const char *cursor = NULL;

    if (token->type == DLT_TOKEN_NUMBER) {
        if (!take_size(token, 0, &pad[0]))
            return false;
        pad[1] = pad[0];
        return true;
    }
    return token->type == DLT_TOKEN_ARRAY && dlt_scan_element(token, &cursor, &element) &&
           take_size(&element, 0, &pad[0]) && dlt_scan_element(token, &cursor, &element) &&
           take_size(&element, 0, &pad[1]) && !dlt_scan_element(token, &cursor, &element);
}

static int parse_padding(const struct dlt_field *field, const struct dlt_token *value,
                         struct dlt_record *record, struct dlt_error *error)
{
    struct dlt_spatial *s = &record->u.spatial;
    int dims = record->kind->dims;
    struct dlt_token element;
    const char *cursor = NULL;
    int count = 0;

    if (value->type == DLT_TOKEN_STRING && dlt_token_is(value, "valid"))
        return 0;
    if (value->type == DLT_TOKEN_STRING && dlt_token_is(value, "same")) {
        dlt_spatial_pad_same(s, dims);
        return 0;
    }
    if (value->type == DLT_TOKEN_NUMBER) {
        for (; count < dims && take_padding(value, s->padding[count]); count++)
            ;
        if (count == dims)
            return 0;
    }
    if (value->type == DLT_TOKEN_ARRAY) {
        while (count < dims && dlt_scan_element(value, &cursor, &element) &&
               take_padding(&element, s->padding[count]))
            count++;
        if (count == dims && !dlt_scan_element(value, &cursor, &element))
            return 0;
    }
    return dlt_fail(error,
                    "%s: has to be \"valid\", \"same\", a size, or a list of %d sizes or [before, "
                    "after] pairs, not %.*s",
                    field->name, dims, value->length > 40 ? 40 : (int)value->length, value->begin);
}

static enum dlt_parsed parse_field(const struct dlt_field *field, const struct dlt_token *value,
                                   struct dlt_record *record, struct dlt_error *error)
{
    int64_t *number = dlt_record_field(record, field);
    enum dlt_parsed parsed;
    unsigned index = 0;

    switch (field->type) {
    case DLT_FIELD_INT:
        if (!dlt_token_int64(value, number) || *number < 1)
            return (enum dlt_parsed)fail_value(field->name, "a whole number of at least 1", value,
                                               error);
        return DLT_PARSED;
    case DLT_FIELD_BOOL:
        if (value->type != DLT_TOKEN_TRUE && value->type != DLT_TOKEN_FALSE)
            return (enum dlt_parsed)fail_value(field->name, "true or false", value, error);
        *number = value->type == DLT_TOKEN_TRUE;
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
static enum dlt_parsed parse_record(const struct dlt_member_list *list, struct dlt_record *record,
                                    struct dlt_error *error)
{
    for (int last = 0; last < 2; last++) {
        for (const struct dlt_field *field = record->kind->fields; field->name; field++) {
            const struct dlt_token *value;
            enum dlt_parsed parsed;

            if ((field->type == DLT_FIELD_PADDING) != last)
                continue;
            value = dlt_member_find(list, field->name);
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

static const struct dlt_record_kind *find_kind(const struct dlt_token *op)
{
    for (size_t i = 0; i < dlt_record_kind_count(); i++) {
        const struct dlt_record_kind *kind = dlt_record_kind_at(i);

        if (dlt_token_is(op, kind->name))
            return kind;
    }
    return NULL;
}

enum dlt_parsed dlt_parse_measurement(const struct dlt_member_list *list,
                                      struct dlt_measurement *measurement, struct dlt_error *error)
{
    const struct dlt_token *op = dlt_member_find(list, "op");
    const struct dlt_record_kind *kind;
    enum dlt_parsed parsed;

    if (!op)
        return (enum dlt_parsed)dlt_fail(error, "op: is missing; it has to be in every row");
    if (op->type != DLT_TOKEN_STRING)
        return (enum dlt_parsed)fail_value("op", "a string", op, error);
    kind = find_kind(op);
    if (!kind)
        return DLT_PARSED_UNKNOWN;
    memset(measurement, 0, sizeof *measurement);
    measurement->record = dlt_record_make(kind);
    parsed = parse_record(list, &measurement->record, error);
    if (parsed == DLT_PARSED)
        parsed = dlt_parse_members(list, dlt_row_members, measurement, error);
    if (parsed == DLT_PARSED && !(measurement->median_s > 0))
        return (enum dlt_parsed)dlt_fail(error, "median_ms: has to be more than 0");
    return parsed;
}
