/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

void dlt_json_number(struct json_object *object, const char *key, double value)
{
    char digits[32];

    if (isfinite(value))
        json_object_object_add(
            object, key, json_object_new_double_s(value, dlt_text_from_double(digits, value, 9)));
    else
        json_object_object_add(object, key, NULL);
}

void dlt_json_count(struct json_object *object, const char *key, double count)
{
    bool holds = fabs(count) < 9223372036854775808.0; /* false for NaN */

    json_object_object_add(object, key, holds ? json_object_new_int64((int64_t)count) : NULL);
}

void dlt_json_text(struct json_object *object, const char *key, const char *text)
{
    json_object_object_add(object, key, text ? json_object_new_string(text) : NULL);
}

enum {
    PRINT_FLAGS = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE
};

void dlt_json_print(FILE *stream, struct json_object *object)
{
    fprintf(stream, "%s\n", json_object_to_json_string_ext(object, PRINT_FLAGS));
}

void dlt_json_print_inside(FILE *stream, struct json_object *value, int depth)
{
    /* Newlines of texts are escaped, so each that is there begins a line. */
    for (const char *line = json_object_to_json_string_ext(value, PRINT_FLAGS);;) {
        size_t length = strcspn(line, "\n");

        fwrite(line, 1, length, stream);
        line += length;
        if (*line++ == '\0')
            return;
        fprintf(stream, "\n%*s", 2 * depth, "");
    }
}

int dlt_json_read(const char *path, size_t limit, struct json_object **root,
                  struct dlt_error *error)
{
    enum { DEPTH = 16 };
    struct json_tokener *tokener;
    enum json_tokener_error wrong;
    char *data;
    size_t size, mark;

    *root = NULL;
    if (dlt_file_read(path, limit < INT_MAX ? limit : INT_MAX - 1, &data, &size, error))
        return -1;
    tokener = json_tokener_new_ex(DEPTH);
    if (!tokener) {
        free(data);
        return dlt_fail_memory(error);
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    /* With its final NUL, so that a number at the very end is whole. */
    mark = dlt_text_mark(data, size);
    *root = json_tokener_parse_ex(tokener, data + mark, (int)(size - mark) + 1);
    wrong = json_tokener_get_error(tokener);
    json_tokener_free(tokener);
    free(data);
    if (wrong == json_tokener_success && *root)
        return 0;
    json_object_put(*root);
    *root = NULL;
    return dlt_fail(error, "%s: is not JSON: %s", path,
                    wrong == json_tokener_success ? "null" : json_tokener_error_desc(wrong));
}

static struct json_object *get(struct json_object *object, const char *name, enum json_type type)
{
    struct json_object *member = NULL;

    if (json_object_is_type(object, json_type_object))
        json_object_object_get_ex(object, name, &member);
    return json_object_is_type(member, type) ? member : NULL;
}

const char *dlt_json_get_text(struct json_object *object, const char *name)
{
    struct json_object *member = get(object, name, json_type_string);

    return member ? json_object_get_string(member) : "";
}

struct json_object *dlt_json_get_array(struct json_object *object, const char *name)
{
    return get(object, name, json_type_array);
}

bool dlt_json_get_number(struct json_object *object, const char *name, double least, double most,
                         double *value)
{
    struct json_object *member = get(object, name, json_type_double);

    if (!member)
        member = get(object, name, json_type_int);
    if (!member)
        return false;
    *value = json_object_get_double(member);
    return *value >= least && *value <= most;
}
