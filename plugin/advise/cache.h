/*
 * cache.h - one user's own short memory between submissions.
 *
 * Files in $XDG_RUNTIME_DIR/dltime or, where that is not set, /tmp/dltime-UID. The folder must be
 * the user's own and closed to everybody else, and so must be what is read from it; otherwise the
 * cache is empty and stays so. Nothing here fails a caller.
 */
#ifndef DLT_ADVISE_CACHE_H
#define DLT_ADVISE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* What was kept under key (any text) at most age_s ago (0: never): malloc'ed, NUL-terminated; else
 * false. */
bool dlt_cache_read(const char *key, double age_s, size_t limit, char **data, size_t *size);

/* Keeps data under key, or does not. */
void dlt_cache_write(const char *key, const char *data, size_t size);

#endif
