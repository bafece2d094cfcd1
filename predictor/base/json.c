/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <math.h>

#include "base/text.h"

void dlt_json_number(struct json_object *object, const char *key, double value)
{
    char digits[32];

    if (isfinite(value))
        json_object_object_add(
            object, key, json_object_new_double_s(value, dlt_text_from_double(digits, value, 9)));
    else
        json_object_object_add(object, key, NULL);
}

void dlt_json_count(struct json_object *object, const char *key, double count)
{
    bool holds = fabs(count) < 9223372036854775808.0; /* false for NaN */

    json_object_object_add(object, key, holds ? json_object_new_int64((int64_t)count) : NULL);
}

void dlt_json_text(struct json_object *object, const char *key, const char *text)
{
    json_object_object_add(object, key, text ? json_object_new_string(text) : NULL);
}

void dlt_json_print(FILE *stream, struct json_object *object)
{
    fprintf(stream, "%s\n",
            json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY |
                                                       JSON_C_TO_STRING_SPACED |
                                                       JSON_C_TO_STRING_NOSLASHESCAPE));
}
