/*
 * text.h - small text helpers, all independent of the locale.
 */
#ifndef DLT_BASE_TEXT_H
#define DLT_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Replaces, in place, control characters (C0, DEL, C1) and bytes that are not UTF-8 by '?': what is
 * left moves no cursor and changes no colour. */
void dlt_text_printable(char *text);

/* Copies with truncation, at a character's edge; always terminates. size > 0. Returns true if all
 * of it fitted. */
bool dlt_text_copy(char *to, size_t size, const char *from);

/* The length of the byte order mark that some editors put before UTF-8: 3, or 0 without one. */
size_t dlt_text_mark(const char *text, size_t size);

/* Of ASCII, whatever the locale: in a Turkish one the C library's are others. */
bool dlt_text_is_digit(char c);
bool dlt_text_is_alnum(char c);
char dlt_text_lower(char c);
/* Equal but for the case of ASCII letters. */
bool dlt_text_same(const char *a, const char *b);

/* The whole of text as a decimal number, decimal point '.', finite. Returns false if it is not one,
 * and leaves value as it is. */
bool dlt_text_to_double(const char *text, double *value);
bool dlt_text_to_int64(const char *text, int64_t *value);

/* Prints value with up to `digits` significant digits, decimal point '.', into buffer (at least 32
 * bytes), and returns buffer. Not finite: "null". */
char *dlt_text_from_double(char buffer[32], double value, int digits);

/* vsnprintf as in the C locale: with decimal points. */
__attribute__((format(printf, 3, 0))) void dlt_text_format(char *to, size_t size,
                                                           const char *format, va_list args);

/*
 * The name out of names (count of them) nearest to text by edit distance, or NULL if none is near
 * enough to be worth suggesting (distance at most a third of the longer one's length). A name that
 * text is the beginning of, give or take a slip, counts as near.
 */
const char *dlt_text_nearest(const char *text, const char *const *names, size_t count);

/*
 * Durations. Parses "90" (minutes, as Slurm does), "90s", "15m", "2h", "1d", "MM:SS", "HH:MM:SS",
 * "D-HH", "D-HH:MM", "D-HH:MM:SS" to seconds.
 * bare_unit: what a number without a unit is multiplied by (1 = seconds, 60 = Slurm's minutes).
 * Returns false for what is no duration, and leaves seconds as they are.
 */
bool dlt_text_to_duration(const char *text, double bare_unit, double *seconds);

/* Prints seconds as "[D-]HH:MM:SS" (Slurm's form), rounded up to whole seconds; NaN: "-". */
char *dlt_text_from_duration(char buffer[32], double seconds);

/* Prints bytes as "31 GiB", "1.4 GiB", "820 MiB"; NaN: "-". */
char *dlt_text_from_bytes(char buffer[32], double bytes);

/* Prints a count as "25.6 M", "61.7 k", "138". */
char *dlt_text_from_count(char buffer[32], double count);

/* Prints seconds as "18.5 ns", "12.3 us", "4.56 ms", "1.23 s"; NaN: "-". */
char *dlt_text_from_seconds(char buffer[32], double seconds);

#endif
