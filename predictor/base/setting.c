/* SPDX-License-Identifier: Apache-2.0 */
#include "base/setting.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

static bool has_at_include(const char *text)
{
    for (const char *at = strstr(text, "@include"); at; at = strstr(at + 1, "@include")) {
        const char *before = at;

        while (before > text && (before[-1] == ' ' || before[-1] == '\t'))
            before--;
        if (before == text || before[-1] == '\n' || before[-1] == '\r')
            return true;
    }
    return false;
}

int dlt_setting_parse(config_t *parsed, const char *path, const char *text, size_t size,
                      struct dlt_error *error)
{
    config_init(parsed);
    if (strlen(text) != size)
        return dlt_fail(error, "%s: is not a text file", path);
    text += dlt_text_mark(text, size);
    if (has_at_include(text))
        return dlt_fail(
            error, "%s: @include is not supported; write include = \"FILE\"; in dltime.conf", path);
    if (!config_read_string(parsed, text))
        return dlt_fail(error, "%s: line %d: %s", path, config_error_line(parsed),
                        config_error_text(parsed));
    return 0;
}

bool dlt_setting_number(const config_setting_t *setting, double *value)
{
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_INT:
        *value = config_setting_get_int(setting);
        return true;
    case CONFIG_TYPE_INT64:
        *value = (double)config_setting_get_int64(setting);
        return true;
    case CONFIG_TYPE_FLOAT:
        *value = config_setting_get_float(setting);
        return true;
    default:
        return false;
    }
}

int dlt_setting_text(const config_setting_t *setting, char *to, size_t size,
                     struct dlt_error *error)
{
    const char *text = config_setting_get_string(setting);

    if (!text || !*text)
        return dlt_fail(error, "has to be a text in quotes");
    if (!dlt_text_copy(to, size, text))
        return dlt_fail(error, "is too long; %zu bytes are the most", size - 1);
    dlt_text_printable(to);
    return 0;
}
