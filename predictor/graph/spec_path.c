/* SPDX-License-Identifier: Apache-2.0 */
/* Places in a JSON document, and sentences that name them. */
#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "graph/spec_json.h"

#ifdef __clang_analyzer__
#undef dlt_spec_fail
#endif

size_t dlt_spec_enter(struct dlt_spec_path *path, const char *format, ...)
{
    size_t before = path->length;
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(path->text + before, sizeof path->text - before, format, args);
    va_end(args);
    if (length > 0)
        path->length += (size_t)length;
    if (path->length >= sizeof path->text)
        path->length = sizeof path->text - 1;
    return before;
}

void dlt_spec_back(struct dlt_spec_path *path, size_t length)
{
    path->length = length;
    path->text[length] = '\0';
}

int dlt_spec_fail(const struct dlt_spec_path *path, struct dlt_error *error, const char *format,
                  ...)
{
    char text[sizeof error->text];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return dlt_fail(error, "%s%s%s", path->text, path->length ? ": " : "", text);
}

const char *dlt_spec_shown(json_object *value, char buffer[DLT_SPEC_SHOWN])
{
    const char *written;
    char number[32];

    switch (json_object_get_type(value)) {
    case json_type_array:
        return "a list";
    case json_type_object:
        return "an object";
    case json_type_string:
        snprintf(buffer, DLT_SPEC_SHOWN, "\"%.40s\"", json_object_get_string(value));
        return buffer;
    case json_type_null:
        return "null";
    case json_type_boolean:
        return json_object_get_boolean(value) ? "true" : "false";
    /* A number's text would be kept in the document, which threads may share. */
    case json_type_int:
        snprintf(buffer, DLT_SPEC_SHOWN, "%lld", (long long)json_object_get_int64(value));
        return buffer;
    default:
        written = json_object_get_userdata(value); /* as the document has it */
        if (!written)
            written = dlt_text_from_double(number, json_object_get_double(value), 15);
        dlt_text_copy(buffer, DLT_SPEC_SHOWN, written);
        return buffer;
    }
}
