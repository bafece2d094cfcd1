/*
 * json.h - results as JSON: null for what is not known, numbers independent of the locale.
 */
#ifndef DLT_BASE_JSON_H
#define DLT_BASE_JSON_H

#include <json-c/json.h>
#include <stdio.h>

/* Adds a number with up to nine significant digits, or null where it is not finite. */
void dlt_json_number(struct json_object *object, const char *key, double value);

/* Adds a whole number with all its digits, or null where it is none that 64 bits hold. */
void dlt_json_count(struct json_object *object, const char *key, double count);

/* Adds a text, or null for NULL. */
void dlt_json_text(struct json_object *object, const char *key, const char *text);

/* Prints an object and a newline. Does not release it. */
void dlt_json_print(FILE *stream, struct json_object *object);

#endif
