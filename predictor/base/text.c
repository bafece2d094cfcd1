/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the character at p if it is UTF-8 (RFC 3629) and no control character; else 0. */
static size_t character_length(const unsigned char *p)
{
    size_t length = *p < 0x80   ? 1
                    : *p < 0xc2 ? 0
                    : *p < 0xe0 ? 2
                    : *p < 0xf0 ? 3
                    : *p < 0xf5 ? 4
                                : 0;

    if (length == 1 && (*p < 0x20 || *p == 0x7f))
        return 0;
    for (size_t i = 1; i < length; i++)
        if (p[i] >> 6 != 2)
            return 0;
    if ((*p == 0xc2 && p[1] < 0xa0) ||  /* C1 controls */
        (*p == 0xe0 && p[1] < 0xa0) ||  /* overlong */
        (*p == 0xed && p[1] >= 0xa0) || /* surrogates */
        (*p == 0xf0 && p[1] < 0x90) ||  /* overlong */
        (*p == 0xf4 && p[1] >= 0x90))   /* beyond U+10FFFF */
        return 0;
    return length;
}

void dlt_text_printable(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p;) {
        size_t length = character_length(p);

        if (length == 0)
            *p = '?';
        p += length ? length : 1;
    }
}

bool dlt_text_copy(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);
    bool fits = length < size;

    if (!fits) {
        length = size - 1;
        while (length > 0 && ((unsigned char)from[length] >> 6) == 2)
            length--;
    }
    memcpy(to, from, length);
    to[length] = '\0';
    return fits;
}

size_t dlt_text_mark(const char *text, size_t size)
{
    return size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

bool dlt_text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

char dlt_text_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool dlt_text_is_alnum(char c)
{
    char lower = dlt_text_lower(c);

    return dlt_text_is_digit(c) || (lower >= 'a' && lower <= 'z');
}

bool dlt_text_same(const char *a, const char *b)
{
    while (*a && dlt_text_lower(*a) == dlt_text_lower(*b)) {
        a++;
        b++;
    }
    return dlt_text_lower(*a) == dlt_text_lower(*b);
}

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

bool dlt_text_to_double(const char *text, double *value)
{
    char *end;
    double number;

    pthread_once(&c_locale_once, make_c_locale);
    /* strtod would take spaces, hexadecimal digits and words as well. */
    if (*text == '\0' || text[strspn(text, "+-.0123456789eE")] || c_locale == (locale_t)0)
        return false;
    number = strtod_l(text, &end, c_locale);
    if (*end || !isfinite(number))
        return false;
    *value = number;
    return true;
}

bool dlt_text_to_int64(const char *text, int64_t *value)
{
    char *end;
    long long number;

    if (*text == '\0' || text[strspn(text, "+-0123456789")])
        return false;
    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno || *end)
        return false;
    *value = number;
    return true;
}

void dlt_text_format(char *to, size_t size, const char *format, va_list args)
{
    locale_t before;

    pthread_once(&c_locale_once, make_c_locale);
    before = uselocale(c_locale);
    vsnprintf(to, size, format, args);
    uselocale(before);
}

static __attribute__((format(printf, 3, 4))) void print(char *to, size_t size, const char *format,
                                                        ...)
{
    va_list args;

    va_start(args, format);
    dlt_text_format(to, size, format, args);
    va_end(args);
}

char *dlt_text_from_double(char buffer[32], double value, int digits)
{
    if (isfinite(value))
        print(buffer, 32, "%.*g", digits, value);
    else
        memcpy(buffer, "null", 5);
    return buffer;
}

enum { NEAREST_LENGTH = 64 };

static bool alike(char a, char b)
{
    return dlt_text_lower(a) == dlt_text_lower(b);
}

/* Levenshtein distance with neighbours swapped counted as one (Damerau's restricted form), capitals
 * or not. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t rows[3][NEAREST_LENGTH + 1];
    size_t *before = rows[0], *above = rows[1], *here = rows[2];

    for (size_t j = 0; j <= nb; j++)
        above[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *spare = before;

        here[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = above[j - 1] + !alike(a[i - 1], b[j - 1]);

            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (here[j - 1] + 1 < best)
                best = here[j - 1] + 1;
            if (i > 1 && j > 1 && alike(a[i - 1], b[j - 2]) && alike(a[i - 2], b[j - 1]) &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            here[j] = best;
        }
        before = above;
        above = here;
        here = spare;
    }
    return above[nb];
}

const char *dlt_text_nearest(const char *text, const char *const *names, size_t count)
{
    size_t length = strlen(text);
    const char *nearest = NULL;
    size_t least = 0;

    if (length == 0 || length > NEAREST_LENGTH)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(names[i]);
        size_t longer = other > length ? other : length;
        size_t edits;

        if (other > NEAREST_LENGTH)
            continue;
        /* A name cut short or drawn out ("kernel" for "kernel_size") is near as well, even with a
         * slip in it ("kernal"). */
        edits = distance(text, length, names[i], other);
        if (length >= 3 && other > length) {
            size_t slips = distance(text, length, names[i], length);

            if (slips * 4 <= length && slips + 1 < edits)
                edits = slips + 1;
        } else if (length > other && other >= 3 && strncmp(text, names[i], other) == 0) {
            edits = 1;
        }
        if (edits * 3 <= longer &&
            (!nearest || edits < least || (edits == least && other < strlen(nearest)))) {
            nearest = names[i];
            least = edits;
        }
    }
    return nearest;
}

/* One unsigned whole number at *text; moves past it. */
static bool take_number(const char **text, double *value)
{
    char *end;
    unsigned long number;

    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    number = strtoul(*text, &end, 10);
    if (errno || number > 1000000000UL)
        return false;
    *value = (double)number;
    *text = end;
    return true;
}

bool dlt_text_to_duration(const char *text, double bare_unit, double *seconds)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    double part[3] = {0, 0, 0};
    double days = 0;
    size_t parts = 0;
    size_t length = strlen(text);
    bool dashed = strchr(text, '-') != NULL;

    if (length > 1 && length < 32) {
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            char number[32];
            double count;

            if (text[length - 1] != units[i].unit)
                continue;
            memcpy(number, text, length - 1);
            number[length - 1] = '\0';
            if (!dlt_text_to_double(number, &count) || count < 0)
                return false;
            *seconds = count * units[i].seconds;
            return true;
        }
    }
    if (dashed && (!take_number(&text, &days) || *text++ != '-'))
        return false;
    do {
        if (parts == 3 || !take_number(&text, &part[parts++]))
            return false;
    } while (*text == ':' && text++);
    if (*text)
        return false;
    if (dashed)
        *seconds = days * 86400 + part[0] * 3600 + part[1] * 60 + part[2];
    else if (parts == 3)
        *seconds = part[0] * 3600 + part[1] * 60 + part[2];
    else if (parts == 2)
        *seconds = part[0] * 60 + part[1];
    else
        *seconds = part[0] * bare_unit;
    return true;
}

char *dlt_text_from_duration(char buffer[32], double seconds)
{
    double whole = ceil(seconds - 1e-9);
    long long total;

    if (!(whole >= 0 && whole < 1e12)) {
        memcpy(buffer, "-", 2);
        return buffer;
    }
    total = (long long)whole;
    if (total >= 86400)
        snprintf(buffer, 32, "%lld-%02lld:%02lld:%02lld", total / 86400, total / 3600 % 24,
                 total / 60 % 60, total % 60);
    else
        snprintf(buffer, 32, "%02lld:%02lld:%02lld", total / 3600, total / 60 % 60, total % 60);
    return buffer;
}

/* value with three significant digits and no exponent, then the unit. */
static char *scaled(char buffer[32], double value, const char *unit)
{
    char number[32];

    dlt_text_from_double(number, value, value >= 100 ? (int)ceil(log10(value + 1)) : 3);
    snprintf(buffer, 32, "%.20s%s%.8s", number, *unit ? " " : "", unit);
    return buffer;
}

char *dlt_text_from_bytes(char buffer[32], double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t i = 0;

    if (!isfinite(bytes)) {
        memcpy(buffer, "-", 2);
        return buffer;
    }
    for (; i < 4 && bytes >= 1024; i++)
        bytes /= 1024;
    return scaled(buffer, bytes, units[i]);
}

char *dlt_text_from_count(char buffer[32], double count)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P"};
    size_t i = 0;

    if (!isfinite(count)) {
        memcpy(buffer, "-", 2);
        return buffer;
    }
    for (; i < 5 && count >= 1000; i++)
        count /= 1000;
    return scaled(buffer, count, units[i]);
}

char *dlt_text_from_seconds(char buffer[32], double seconds)
{
    if (!isfinite(seconds)) {
        memcpy(buffer, "-", 2);
        return buffer;
    }
    if (seconds > 0 && seconds < 1e-7)
        return scaled(buffer, seconds * 1e9, "ns");
    if (seconds < 1e-3)
        return scaled(buffer, seconds * 1e6, "us");
    if (seconds < 1)
        return scaled(buffer, seconds * 1e3, "ms");
    return scaled(buffer, seconds, "s");
}
