/*
 * json.h - results as JSON: null for what is not known, numbers independent of the locale.
 */
#ifndef DLT_BASE_JSON_H
#define DLT_BASE_JSON_H

#include <json-c/json.h>
#include <stdio.h>

/* Adds a number with up to nine significant digits, or null where it is not finite. */
void dlt_json_number(struct json_object *object, const char *key, double value);

/* Adds a text, or null for NULL. */
void dlt_json_text(struct json_object *object, const char *key, const char *text);

/* Prints an object and a newline. Does not release it. */
void dlt_json_print(FILE *stream, struct json_object *object);

#endif
