/* SPDX-License-Identifier: Apache-2.0 */
#include "config_kinds.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "predict/checksum.h"

/* Spaces and comments. */
static const char *skip(const char *at)
{
    for (;;) {
        at += strspn(at, " \t\r\n\f");
        if (*at == '#' || (at[0] == '/' && at[1] == '/')) {
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");

            if (!end)
                return at + strlen(at);
            at = end + 2;
        } else {
            return at;
        }
    }
}

/* Behind the string that begins at a quote; NULL: one that is not plain, or has no end. */
static const char *skip_string(const char *at)
{
    const char *end = at + 1 + strcspn(at + 1, "\"\\\n");

    return *end == '"' ? end + 1 : NULL;
}

static bool in_name(char c)
{
    return dlt_text_is_alnum(c) || c == '_' || c == '-' || c == '*';
}

/* Behind `NAME =`, where the value begins; NULL: that is not what stands there. */
static const char *skip_setting(const char *at, const char *name)
{
    size_t length = strlen(name);

    if (strncmp(at, name, length) != 0 || in_name(at[length]))
        return NULL;
    at = skip(at + length);
    return *at == '=' || *at == ':' ? skip(at + 1) : NULL;
}

/* The parenthesis that opens the list; NULL: there is none. */
static const char *find_list(const char *at)
{
    int depth = 0;

    for (at = skip(at); at && *at; at = at ? skip(at) : NULL) {
        const char *value = depth == 0 ? skip_setting(at, "partitions") : NULL;

        if (value)
            return *value == '(' ? value : NULL;
        if (*at == '"') {
            at = skip_string(at);
        } else if (in_name(*at)) {
            while (in_name(*at))
                at++;
        } else {
            depth +=
                (*at == '{' || *at == '(' || *at == '[') - (*at == '}' || *at == ')' || *at == ']');
            at++;
        }
    }
    return NULL;
}

/* Behind the brace that closes a group without another inside. */
static const char *skip_group(const char *at)
{
    for (at = skip(at); at && *at != '}'; at = at ? skip(at) : NULL) {
        if (*at == '"')
            at = skip_string(at);
        else if (!*at || strchr("{([)]", *at))
            return NULL;
        else
            at += strcspn(at, "\"{([)]} \t\r\n\f#/") + (*at == '/');
    }
    return at ? at + 1 : NULL;
}

/* Takes an entry and returns what is behind it; NULL: it is written in another way. */
static const char *take_entry(const char *at, struct dlt_entry_text *entry)
{
    const char *end;

    if (*at != '{')
        return NULL;
    at = skip_setting(skip(at + 1), "name");
    end = at && *at == '"' ? skip_string(at) : NULL;
    if (!end)
        return NULL;
    entry->name = at + 1;
    entry->name_size = (size_t)(end - at) - 2;
    at = skip(end);
    if (*at != ';' && *at != ',')
        return NULL;
    entry->rest = at + 1;
    at = skip_group(at + 1);
    if (at)
        entry->rest_size = (size_t)(at - entry->rest) - 1;
    return at;
}

/* Says of each entry which one before it has the same rest. */
static bool compare(struct dlt_entry_texts *found)
{
    size_t slots = 2, *slot;

    while (slots < 2 * found->count)
        slots *= 2;
    slot = calloc(slots, sizeof *slot); /* number of an entry + 1 */
    for (size_t i = 0; slot && i < found->count; i++) {
        struct dlt_entry_text *e = &found->entry[i];
        size_t at = dlt_checksum(e->rest, e->rest_size, 0) & (slots - 1);

        while (slot[at] && (found->entry[slot[at] - 1].rest_size != e->rest_size ||
                            memcmp(found->entry[slot[at] - 1].rest, e->rest, e->rest_size) != 0))
            at = (at + 1) & (slots - 1);
        if (!slot[at])
            slot[at] = i + 1;
        e->like = slot[at] - 1;
    }
    free(slot);
    return slot != NULL;
}

/* The text around the list, of which `open` and `close` are the parentheses. */
static bool keep_around(const char *text, const char *open, const char *close,
                        struct dlt_entry_texts *found)
{
    size_t before = (size_t)(open - text) + 1, after = strlen(close) + 1;

    found->around = malloc(before + after);
    if (!found->around)
        return false;
    memcpy(found->around, text, before);
    memcpy(found->around + before, close, after);
    return true;
}

bool dlt_entry_texts_find(const char *text, struct dlt_entry_texts *found)
{
    const char *open = find_list(text), *at = open ? skip(open + 1) : NULL;
    size_t room = 0;

    *found = (struct dlt_entry_texts){0};
    while (at && *at == '{') {
        struct dlt_entry_text entry = {0};

        at = take_entry(at, &entry);
        if (!at || dlt_grow(&found->entry, sizeof *found->entry, found->count, 1, &room))
            return false;
        found->entry[found->count++] = entry;
        at = skip(at);
        if (*at == ',') {
            at = skip(at + 1);
            if (*at != '{')
                return false;
        } else if (*at != ')') {
            return false;
        }
    }
    return at && found->count > 0 && *at == ')' && keep_around(text, open, at, found) &&
           compare(found);
}

void dlt_entry_texts_clear(struct dlt_entry_texts *found)
{
    free(found->entry);
    free(found->around);
    *found = (struct dlt_entry_texts){0};
}
