/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a number, a duration, a name; any number printed and read again. */
#include <math.h>

#include "base/text.h"

#include "dltime.h"
#include "fuzz.h"

static const char *const names[] = {"kernel_size", "stride", "padding",
                                    "dilation",    "groups", "bias"};

static void check_double(const char *text)
{
    double value, again;
    char buffer[32];

    if (!dlt_text_to_double(text, &value))
        return;
    must(isfinite(value));
    must(dlt_text_to_double(dlt_text_from_double(buffer, value, 17), &again) && again == value);
    dlt_text_from_bytes(buffer, value);
    must(strlen(buffer) < sizeof buffer);
    dlt_text_from_count(buffer, value);
    must(strlen(buffer) < sizeof buffer);
    dlt_text_from_seconds(buffer, value);
    must(strlen(buffer) < sizeof buffer);
    dlt_text_from_duration(buffer, value);
    must(strlen(buffer) < sizeof buffer);
}

/* What is printed as Slurm's form reads as the same number of whole seconds. */
static void check_duration(const char *text)
{
    double seconds, again;
    char buffer[32];

    if (!dlt_text_to_duration(text, 60, &seconds))
        return;
    must(seconds >= 0 && isfinite(seconds));
    dlt_text_from_duration(buffer, seconds);
    if (strcmp(buffer, "-") != 0 && seconds < 1e9 * 86400)
        must(dlt_text_to_duration(buffer, 60, &again) && again >= seconds - 1e-6 &&
             again < seconds + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    const char *nearest;
    int64_t whole;
    char cut[8];

    must(text);
    check_double(text);
    check_duration(text);
    dlt_text_to_int64(text, &whole);
    nearest = dlt_text_nearest(text, names, sizeof names / sizeof *names);
    must(!nearest || strchr("ksptdgb", *nearest));
    must(dlt_text_copy(cut, sizeof cut, text) == (strlen(text) < sizeof cut));
    must(memchr(cut, 0, sizeof cut));
    dlt_text_printable(text);
    for (const char *p = text; *p; p++)
        must((unsigned char)*p >= 0x20 && *p != 0x7f);
    free(text);
    return 0;
}
