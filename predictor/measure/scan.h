/*
 * scan.h - walk over one line of JSON without building a tree.
 *
 * A measurements file has half a million lines of twenty members each, of which the reader wants
 * most as plain numbers: it looks at the text in place. Works on bytes; the locale plays no part.
 */
#ifndef DLT_MEASURE_SCAN_H
#define DLT_MEASURE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dlt_token_type {
    DLT_TOKEN_NULL,
    DLT_TOKEN_FALSE,
    DLT_TOKEN_TRUE,
    DLT_TOKEN_NUMBER,
    DLT_TOKEN_STRING,
    DLT_TOKEN_ARRAY,
    DLT_TOKEN_OBJECT
};

/* A value as it stands in the text: strings without their quotes, arrays and objects with their
 * brackets. Points into the scanned text. */
struct dlt_token {
    enum dlt_token_type type;
    const char *begin;
    size_t length;
};

struct dlt_member_token {
    struct dlt_token key, value;
};

/*
 * Reads one value at *cursor and moves past it and the white space behind it. The text has to be
 * NUL-terminated; nesting deeper than 32 is refused. False where the text is not JSON.
 */
bool dlt_scan_value(const char **cursor, struct dlt_token *token);

/*
 * Members of an object and elements of an array, one a call. Start with *cursor = NULL. Returns
 * false at the end. The token has to come from dlt_scan_value, which has checked all of it.
 */
bool dlt_scan_member(const struct dlt_token *object, const char **cursor,
                     struct dlt_member_token *member);
bool dlt_scan_element(const struct dlt_token *array, const char **cursor,
                      struct dlt_token *element);

/* Whether a string token has just this text (escapes in it do not match). */
bool dlt_token_is(const struct dlt_token *token, const char *text);

/* Decodes a string into to, always terminated; bytes that are not UTF-8 and control characters
 * become '?'. Returns false if it was cut (at a character's edge) to fit. */
bool dlt_token_text(const struct dlt_token *token, char *to, size_t size);

/* A number that is finite; an integer also in the forms 32.0 and 3.2e1. */
bool dlt_token_double(const struct dlt_token *token, double *value);
bool dlt_token_int64(const struct dlt_token *token, int64_t *value);

#endif
