/*
 * alias.h - other names under which people know the networks that are shipped.
 */
#ifndef DLT_GRAPH_ALIAS_H
#define DLT_GRAPH_ALIAS_H

#include <stdbool.h>
#include <stddef.h>

struct dlt_alias {
    const char *name, *model; /* model: a shipped network's */
};

size_t dlt_alias_count(void);
const struct dlt_alias *dlt_alias_at(size_t index);

/* The shipped network of that other name; NULL: none has it. */
const char *dlt_alias_find(const char *name);

/* Equal but for case and for the marks between words: "ResNet-50" is "resnet50". */
bool dlt_alias_same(const char *a, const char *b);

#endif
