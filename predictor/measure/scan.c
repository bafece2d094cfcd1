/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/scan.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

enum { SCAN_DEPTH = 32, NUMBER_LENGTH = 400 };

static const char *skip_space(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')
        at++;
    return at;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Each of these returns the end of what it read at `at`, or NULL where that is not JSON. */

static const char *scan_string(const char *at)
{
    for (at++; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at != '\\')
            continue;
        at++;
        if (*at == 'u') {
            for (int i = 0; i < 4; i++)
                if (hex_value(*++at) < 0)
                    return NULL;
        } else if (*at == '\0' || !strchr("\"\\/bfnrt", *at)) {
            return NULL;
        }
    }
    return at + 1;
}

static const char *scan_digits(const char *at)
{
    if (!is_digit(*at))
        return NULL;
    while (is_digit(*at))
        at++;
    return at;
}

static const char *scan_number(const char *at)
{
    if (*at == '-')
        at++;
    at = *at == '0' ? at + 1 : scan_digits(at);
    if (at && *at == '.')
        at = scan_digits(at + 1);
    if (at && (*at == 'e' || *at == 'E')) {
        at++;
        if (*at == '+' || *at == '-')
            at++;
        at = scan_digits(at);
    }
    return at;
}

static const char *scan_word(const char *at, const char *word)
{
    size_t length = strlen(word);

    return strncmp(at, word, length) == 0 ? at + length : NULL;
}

static const char *scan_any(const char *at, struct dlt_token *token, int depth);

static const char *scan_array(const char *at, int depth)
{
    struct dlt_token ignored;

    at = skip_space(at + 1);
    if (*at == ']')
        return at + 1;
    for (;;) {
        at = scan_any(at, &ignored, depth + 1);
        if (!at)
            return NULL;
        at = skip_space(at);
        if (*at == ']')
            return at + 1;
        if (*at != ',')
            return NULL;
        at = skip_space(at + 1);
    }
}

/* One "key": value at `at`. */
static const char *scan_pair(const char *at, struct dlt_member_token *member, int depth)
{
    const char *end;

    if (*at != '"')
        return NULL;
    end = scan_string(at);
    if (!end)
        return NULL;
    member->key = (struct dlt_token){DLT_TOKEN_STRING, at + 1, (size_t)(end - at) - 2};
    at = skip_space(end);
    if (*at != ':')
        return NULL;
    return scan_any(skip_space(at + 1), &member->value, depth + 1);
}

static const char *scan_object(const char *at, int depth)
{
    struct dlt_member_token ignored;

    at = skip_space(at + 1);
    if (*at == '}')
        return at + 1;
    for (;;) {
        at = scan_pair(at, &ignored, depth);
        if (!at)
            return NULL;
        at = skip_space(at);
        if (*at == '}')
            return at + 1;
        if (*at != ',')
            return NULL;
        at = skip_space(at + 1);
    }
}

static const char *scan_any(const char *at, struct dlt_token *token, int depth)
{
    const char *end = NULL;
    size_t quotes = 0;

    if (depth > SCAN_DEPTH)
        return NULL;
    switch (*at) {
    case '"':
        token->type = DLT_TOKEN_STRING;
        end = scan_string(at);
        quotes = 1;
        break;
    case '{':
        token->type = DLT_TOKEN_OBJECT;
        end = scan_object(at, depth);
        break;
    case '[':
        token->type = DLT_TOKEN_ARRAY;
        end = scan_array(at, depth);
        break;
    case 't':
        token->type = DLT_TOKEN_TRUE;
        end = scan_word(at, "true");
        break;
    case 'f':
        token->type = DLT_TOKEN_FALSE;
        end = scan_word(at, "false");
        break;
    case 'n':
        token->type = DLT_TOKEN_NULL;
        end = scan_word(at, "null");
        break;
    default:
        token->type = DLT_TOKEN_NUMBER;
        end = scan_number(at);
    }
    if (end) {
        token->begin = at + quotes;
        token->length = (size_t)(end - at) - 2 * quotes;
    }
    return end;
}

bool dlt_scan_value(const char **cursor, struct dlt_token *token)
{
    const char *end = scan_any(skip_space(*cursor), token, 0);

    if (!end)
        return false;
    *cursor = skip_space(end);
    return true;
}

/* Where the next member or element starts; NULL at the closing bracket. */
static const char *next_start(const struct dlt_token *whole, const char *cursor)
{
    const char *at = skip_space(cursor ? cursor : whole->begin + 1);

    if (*at == ',')
        at = skip_space(at + 1);
    return at == whole->begin + whole->length - 1 ? NULL : at;
}

bool dlt_scan_member(const struct dlt_token *object, const char **cursor,
                     struct dlt_member_token *member)
{
    const char *at = next_start(object, *cursor);

    if (at)
        *cursor = at = scan_pair(at, member, 0);
    return at != NULL;
}

bool dlt_scan_element(const struct dlt_token *array, const char **cursor, struct dlt_token *element)
{
    const char *at = next_start(array, *cursor);

    if (at)
        *cursor = at = scan_any(at, element, 0);
    return at != NULL;
}

bool dlt_token_is(const struct dlt_token *token, const char *text)
{
    return strncmp(token->begin, text, token->length) == 0 && text[token->length] == '\0';
}

/* Code point of the four hexadecimal digits at `at`. */
static unsigned hex_four(const char *at)
{
    unsigned value = 0;

    for (int i = 0; i < 4; i++)
        value = value * 16 + (unsigned)hex_value(at[i]);
    return value;
}

/* Writes a code point as UTF-8; returns its length. Surrogates and controls become '?'. */
static size_t put_code_point(unsigned code, char *to)
{
    if (code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0xd800 && code < 0xe000))
        code = '?';
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* One character of UTF-8 out of at most `left` bytes: its code point and, in *used, its length.
 * Bytes that are no UTF-8 are read one by one as '?'. */
static unsigned take_utf8(const unsigned char *at, size_t left, size_t *used)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = *at < 0x80       ? 1
                    : *at >> 5 == 6  ? 2
                    : *at >> 4 == 14 ? 3
                    : *at >> 3 == 30 ? 4
                                     : 0;
    unsigned code = *at;

    *used = 1;
    if (length == 1)
        return code;
    if (length == 0 || length > left)
        return '?';
    code &= 0x7fu >> length;
    for (size_t i = 1; i < length; i++) {
        if (at[i] >> 6 != 2)
            return '?';
        code = code << 6 | (at[i] & 0x3f);
    }
    if (code < least[length] || code > 0x10ffff)
        return '?';
    *used = length;
    return code;
}

/* The character that the escape at `at` (behind the backslash) stands for. */
static unsigned take_escape(const char *at, size_t left, size_t *used)
{
    unsigned code, low;

    *used = 1;
    if (*at == '"' || *at == '\\' || *at == '/')
        return (unsigned char)*at;
    if (*at != 'u')
        return ' '; /* \n, \t and the like: a name stays on one line */
    *used = 5;
    code = hex_four(at + 1);
    if (code >> 10 == 0xd800 >> 10 && left >= 11 && at[5] == '\\' && at[6] == 'u') {
        low = hex_four(at + 7);
        if (low >> 10 == 0xdc00 >> 10) {
            *used = 11;
            return 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
        }
    }
    return code;
}

bool dlt_token_text(const struct dlt_token *token, char *to, size_t size)
{
    const char *at = token->begin;
    const char *end = at + token->length;
    size_t filled = 0;

    while (at < end) {
        size_t used, length;
        unsigned code;
        char bytes[4];

        if (*at == '\\') {
            code = take_escape(at + 1, (size_t)(end - at) - 1, &used);
            used++;
        } else {
            code = take_utf8((const unsigned char *)at, (size_t)(end - at), &used);
        }
        length = put_code_point(code, bytes);
        if (filled + length >= size)
            break;
        memcpy(to + filled, bytes, length);
        filled += length;
        at += used;
    }
    to[filled] = '\0';
    return at == end;
}

/*
 * Digits and an exponent of ten that are both exact in a double give the nearest double with one
 * multiplication or division (Clinger 1990). False where the number is longer than that.
 */
static bool short_double(const char *at, const char *end, double *value)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    bool negative = *at == '-';
    uint64_t digits = 0;
    int count = 0, scale = 0;
    double whole;

    at += negative;
    for (; at < end && is_digit(*at); at++, count++)
        digits = digits * 10 + (uint64_t)(*at - '0');
    if (at < end && *at == '.') {
        for (at++; at < end && is_digit(*at); at++, count++, scale++)
            digits = digits * 10 + (uint64_t)(*at - '0');
    }
    if (at != end || count > 18 || digits > (1ULL << 53) || scale > 22)
        return false;
    whole = (double)digits / tens[scale];
    *value = negative ? -whole : whole;
    return true;
}

bool dlt_token_double(const struct dlt_token *token, double *value)
{
    char number[NUMBER_LENGTH];

    if (token->type != DLT_TOKEN_NUMBER)
        return false;
    if (token->length <= 20 && short_double(token->begin, token->begin + token->length, value))
        return true;
    if (token->length >= sizeof number)
        return false;
    memcpy(number, token->begin, token->length);
    number[token->length] = '\0';
    return dlt_text_to_double(number, value);
}

bool dlt_token_int64(const struct dlt_token *token, int64_t *value)
{
    double number;

    if (!dlt_token_double(token, &number) || number != floor(number) ||
        fabs(number) > 9007199254740992.0)
        return false;
    *value = (int64_t)number;
    return true;
}
