/*
 * json.h - results as JSON: null for what is not known, numbers independent of the locale.
 */
#ifndef DLT_BASE_JSON_H
#define DLT_BASE_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

#include "dltime.h"

/* Adds a number with up to nine significant digits, or null where it is not finite. */
void dlt_json_number(struct json_object *object, const char *key, double value);

/* Adds a whole number with all its digits, or null where it is none that 64 bits hold. */
void dlt_json_count(struct json_object *object, const char *key, double count);

/* Adds a text, or null for NULL. */
void dlt_json_text(struct json_object *object, const char *key, const char *text);

/* Reads a small file of ours, at most `limit` bytes, into *root, the caller's to put. Anything but
 * one JSON value is refused. */
int dlt_json_read(const char *path, size_t limit, struct json_object **root,
                  struct dlt_error *error);

/* Members of an object that was read; object may be of any type. A text that is not there is "", an
 * array NULL; a number has to lie within [least, most]. */
const char *dlt_json_get_text(struct json_object *object, const char *name);
struct json_object *dlt_json_get_array(struct json_object *object, const char *name);
bool dlt_json_get_number(struct json_object *object, const char *name, double least, double most,
                         double *value);

/* Prints an object and a newline. Does not release it. */
void dlt_json_print(FILE *stream, struct json_object *object);

/* Prints a value as dlt_json_print would where it stands `depth` levels deep, for an object too
 * large to be built whole: the first line is not indented, and no newline ends the last. */
void dlt_json_print_inside(FILE *stream, struct json_object *value, int depth);

#endif
