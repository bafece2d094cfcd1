/*
 * setting.h - what dltime.conf and devices.conf have in common: libconfig's text and its values.
 */
#ifndef DLT_BASE_SETTING_H
#define DLT_BASE_SETTING_H

#include <libconfig.h>
#include <stdbool.h>

#include "dltime.h"

/*
 * Parses size bytes of text, NUL-terminated; path is for messages. *parsed is initialised and the
 * caller's to destroy, also where this fails. @include is refused, since libconfig would follow it
 * to files that nobody checked.
 */
int dlt_setting_parse(config_t *parsed, const char *path, const char *text, size_t size,
                      struct dlt_error *error);

/* A whole number or one with a decimal point. */
bool dlt_setting_number(const config_setting_t *setting, double *value);

/* A text in quotes, not empty, made printable. */
int dlt_setting_text(const config_setting_t *setting, char *to, size_t size,
                     struct dlt_error *error);

#endif
