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

#endif
