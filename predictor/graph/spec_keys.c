/* SPDX-License-Identifier: Apache-2.0 */
/* What is looked at in the JSON text itself: how much it holds, keys that stand twice. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/spec_json.h"

struct key {
    const char *text; /* without its quotes */
    size_t length;
    size_t object; /* number of the object that it stands in */
    size_t line;
};

static int compare(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    int order;

    if (x->object != y->object)
        return x->object < y->object ? -1 : 1;
    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    order = memcmp(x->text, y->text, x->length);
    return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

/* Collects the keys of a text that is known to parse: a string followed by a colon. key: NULL, or
 * room for as many as the call with NULL counted. */
static size_t collect(const char *data, size_t size, struct key *key)
{
    size_t object[DLT_SPEC_DEPTH + 1] = {0};
    size_t depth = 0, objects = 0, count = 0, line = 1;
    const char *end = data + size, *string = data;
    size_t length = 0;

    for (const char *p = data; p < end; p++) {
        if (*p == '\n') {
            line++;
        } else if (*p == '{' || *p == '[') {
            if (depth < DLT_SPEC_DEPTH)
                object[++depth] = ++objects;
        } else if (*p == '}' || *p == ']') {
            if (depth > 0)
                depth--;
        } else if (*p == '"') {
            for (string = ++p; p < end && *p != '"'; p++)
                p += *p == '\\';
            length = (size_t)(p - string);
        } else if (*p == ':') {
            if (key)
                key[count] = (struct key){string, length, object[depth], line};
            count++;
        }
    }
    return count;
}

int dlt_spec_check_keys(const char *data, size_t size, size_t members, struct dlt_error *error)
{
    size_t count = collect(data, size, NULL);
    struct key *key;

    if (count == members || count == 0)
        return 0;
    key = malloc(count * sizeof *key);
    if (!key)
        return dlt_fail_memory(error);
    collect(data, size, key);
    qsort(key, count, sizeof *key, compare);
    for (size_t i = 1; i < count; i++) {
        if (key[i].object != key[i - 1].object || key[i].length != key[i - 1].length ||
            memcmp(key[i].text, key[i - 1].text, key[i].length) != 0)
            continue;
        dlt_fail(error, "line %zu: the key \"%.*s\" stands twice in one object", key[i].line,
                 key[i].length < 80 ? (int)key[i].length : 80, key[i].text);
        free(key);
        return -1;
    }
    free(key);
    return dlt_fail(error, "a key stands twice in one object");
}

int dlt_spec_check_amount(const char *data, size_t size, struct dlt_error *error)
{
    size_t values = 0;
    bool inside = false;

    for (size_t i = 0; i < size; i++) {
        if (inside && data[i] == '\\')
            i++;
        else if (data[i] == '"')
            inside = !inside;
        else if (!inside)
            values += data[i] == ',' || data[i] == '[' || data[i] == '{';
    }
    if (values > DLT_SPEC_VALUES)
        return dlt_fail(error, "holds more than %d values, which is the most that is read",
                        DLT_SPEC_VALUES);
    return 0;
}
