/*
 * parse.h - members of one JSON object into the structs of measurements.h.
 */
#ifndef DLT_MEASURE_PARSE_H
#define DLT_MEASURE_PARSE_H

#include "measure/measurements.h"
#include "measure/members.h"
#include "measure/scan.h"

/* The members of one object, listed once so that each field is found without reading the text
 * again. Zero-initialise; free(member) at the end. */
struct dlt_member_list {
    struct dlt_member_token *member;
    size_t count, room;
};

enum dlt_parsed { DLT_PARSED_WRONG = -1, DLT_PARSED = 0, DLT_PARSED_UNKNOWN = 1 };

/* Lists an object token's members in place of those before. -1: out of memory. */
int dlt_member_list_fill(struct dlt_member_list *list, const struct dlt_token *object,
                         struct dlt_error *error);

/* The value of that name, the last one where it stands twice; NULL where it is absent or null. */
const struct dlt_token *dlt_member_find(const struct dlt_member_list *list, const char *name);

/*
 * Sets the fields of the struct at `base` that a table describes; absent ones keep their value.
 * WRONG: the sentence starts with the member's name. UNKNOWN: a lenient name is not known.
 */
enum dlt_parsed dlt_parse_members(const struct dlt_member_list *list,
                                  const struct dlt_member *table, void *base,
                                  struct dlt_error *error);

/* A whole measurement row. UNKNOWN: its operator, function or activation is not known. */
enum dlt_parsed dlt_parse_measurement(const struct dlt_member_list *list,
                                      struct dlt_measurement *measurement, struct dlt_error *error);

#endif
