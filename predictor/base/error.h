/* error.h - fill a struct dlt_error. */
#ifndef DLT_BASE_ERROR_H
#define DLT_BASE_ERROR_H

#include <stdarg.h>

#include "dltime.h"

/* Formats the sentence into *error (NULL is allowed). Control characters that came in with user
 * data are replaced by '?'. Always returns -1, so that callers write `return dlt_fail(...)`. */
__attribute__((format(printf, 2, 3))) int dlt_fail(struct dlt_error *error, const char *format,
                                                   ...);

/* Puts text before the sentence that is already in *error ("file.json: " ...). Returns -1. */
__attribute__((format(printf, 2, 3))) int dlt_fail_in(struct dlt_error *error, const char *format,
                                                      ...);

/* Out of memory; returns -1. */
int dlt_fail_memory(struct dlt_error *error);

#ifdef __clang_analyzer__
/* The analyser looks at one file at a time and would follow paths on which these return 0. */
static inline int dlt_failed(int status)
{
    (void)status;
    return -1;
}
#define dlt_fail(...)          dlt_failed((dlt_fail)(__VA_ARGS__))
#define dlt_fail_in(...)       dlt_failed((dlt_fail_in)(__VA_ARGS__))
#define dlt_fail_memory(error) dlt_failed((dlt_fail_memory)(error))
#endif

#endif
