/*
 * spec_json.h - the parts of the JSON loader: text (spec_json.c), layers (spec_layers.c),
 * attributes (spec_attribute.c).
 */
#ifndef DLT_GRAPH_SPEC_JSON_H
#define DLT_GRAPH_SPEC_JSON_H

#include <json-c/json.h>

#include "base/error.h"
#include "graph/builder.h"

enum { DLT_SPEC_DEPTH = 64, DLT_SPEC_VALUES = 2000000, DLT_SPEC_PATH = 1024 };

/* The place in the document, "layers[12].kernel_size". */
struct dlt_spec_path {
    char text[DLT_SPEC_PATH];
    size_t length;
};
/* Appends (cutting what does not fit); returns the length before, for dlt_spec_back. */
__attribute__((format(printf, 2, 3))) size_t dlt_spec_enter(struct dlt_spec_path *path,
                                                            const char *format, ...);
void dlt_spec_back(struct dlt_spec_path *path, size_t length);
/* "PATH: sentence"; returns -1. */
__attribute__((format(printf, 3, 4))) int
dlt_spec_fail(const struct dlt_spec_path *path, struct dlt_error *error, const char *format, ...);

#ifdef __clang_analyzer__
#define dlt_spec_fail(...) dlt_failed((dlt_spec_fail)(__VA_ARGS__)) /* see base/error.h */
#endif

/* A value as a message shows it: a scalar as it is written, else "a list" or "an object". */
enum { DLT_SPEC_SHOWN = 48 };
const char *dlt_spec_shown(json_object *value, char buffer[DLT_SPEC_SHOWN]);

/* A size: a whole number in [least, most], or "seq" where seq > 0. */
int dlt_spec_size(struct dlt_spec_path *path, json_object *value, int64_t seq, int64_t least,
                  int64_t most, int64_t *size, struct dlt_error *error);

/* Sets one attribute of an operator from its JSON value. */
int dlt_spec_attribute(struct dlt_spec_path *path, const struct dlt_op *op,
                       const struct dlt_attribute *attribute, json_object *value, int64_t seq,
                       int64_t numbers[DLT_ATTRIBUTES], struct dlt_error *error);

/* Adds a document's inputs and layers to an empty builder. */
int dlt_spec_layers(json_object *root, int64_t seq, struct dlt_builder *builder,
                    struct dlt_error *error);

/* Fails where a text holds so many values that the parsed document would fill the memory. */
int dlt_spec_check_amount(const char *data, size_t size, struct dlt_error *error);

/* Fails if an object of the text has a key twice, naming key and line: json-c keeps the last one
 * silently. members: how many the parsed document has. */
int dlt_spec_check_keys(const char *data, size_t size, size_t members, struct dlt_error *error);

#endif
