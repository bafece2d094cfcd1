/*
 * parse.h - members of one JSON object into the structs of measurements.h.
 */
#ifndef DLT_MEASURE_PARSE_H
#define DLT_MEASURE_PARSE_H

#include <json-c/json.h>

#include "measure/measurements.h"
#include "measure/members.h"

enum dlt_parsed { DLT_PARSED_WRONG = -1, DLT_PARSED = 0, DLT_PARSED_UNKNOWN = 1 };

/* The value of that name, the last one where it stands twice; NULL where it is absent or null.
 * Owned by the object. */
struct json_object *dlt_member_find(struct json_object *object, const char *name);

/* Whether a value is just this text. */
bool dlt_value_is(struct json_object *value, const char *text);

/* Copies a string, made printable and cut at a character's edge. Returns true if all of it fitted.
 */
bool dlt_value_text(struct json_object *value, char *to, size_t size);

/* A whole number of at most 2^53, also in the forms 32.0 and 3.2e1. */
bool dlt_value_int64(struct json_object *value, int64_t *number);

/*
 * Sets the fields of the struct at `base` that a table describes; absent ones keep their value.
 * WRONG: the sentence starts with the member's name. UNKNOWN: a lenient name is not known.
 */
enum dlt_parsed dlt_parse_members(struct json_object *object, const struct dlt_member *table,
                                  void *base, struct dlt_error *error);

/* A whole measurement row. UNKNOWN: its operator, function or activation is not known. */
enum dlt_parsed dlt_parse_measurement(struct json_object *object,
                                      struct dlt_measurement *measurement, struct dlt_error *error);

#endif
