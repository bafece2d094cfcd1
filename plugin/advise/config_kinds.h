/*
 * config_kinds.h - the list of partitions of a large dltime.conf, found without parsing it: most of
 * its entries differ in nothing but the name, and one of each kind is enough to parse.
 */
#ifndef DLT_ADVISE_CONFIG_KINDS_H
#define DLT_ADVISE_CONFIG_KINDS_H

#include <stdbool.h>
#include <stddef.h>

/* { name = "NAME"; REST }, pointing into the text. */
struct dlt_entry_text {
    const char *name, *rest;
    size_t name_size, rest_size;
    size_t like; /* the first entry with the same rest, which may be itself */
};

struct dlt_entry_texts {
    struct dlt_entry_text *entry;
    size_t count;
    char *around; /* the text with an empty list in its place; malloc'ed */
};

/*
 * Finds the entries of `partitions = ( ... );` in NUL-terminated text. False where there is none,
 * an entry is written in another way than above (only libconfig knows then what it means, or how it
 * is wrong), or out of memory. The caller clears it either way.
 */
bool dlt_entry_texts_find(const char *text, struct dlt_entry_texts *found);
void dlt_entry_texts_clear(struct dlt_entry_texts *found);

#endif
