/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <string.h>

#include "base/text.h"

#ifdef __clang_analyzer__
#undef dlt_fail
#undef dlt_fail_in
#undef dlt_fail_memory
#endif

int dlt_fail(struct dlt_error *error, const char *format, ...)
{
    if (error) {
        va_list args;

        va_start(args, format);
        dlt_text_format(error->text, sizeof error->text, format, args);
        va_end(args);
        dlt_text_printable(error->text);
    }
    return -1;
}

int dlt_fail_in(struct dlt_error *error, const char *format, ...)
{
    if (error) {
        char before[sizeof error->text];
        char after[sizeof error->text];
        size_t used;
        va_list args;

        memcpy(after, error->text, sizeof after);
        va_start(args, format);
        dlt_text_format(before, sizeof before, format, args);
        va_end(args);
        dlt_text_printable(before);
        used = strlen(before);
        memcpy(error->text, before, used + 1);
        dlt_text_copy(error->text + used, sizeof error->text - used, after);
    }
    return -1;
}

int dlt_fail_memory(struct dlt_error *error)
{
    return dlt_fail(error, "out of memory");
}
