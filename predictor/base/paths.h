/*
 * paths.h - where dltime's own files lie: beside the source when run from the build tree, else
 * where `make install` put them.
 */
#ifndef DLT_BASE_PATHS_H
#define DLT_BASE_PATHS_H

#include <stddef.h>

enum dlt_folder {
    DLT_FOLDER_DATA,    /* models/, profiles/ */
    DLT_FOLDER_LIB,     /* advise.so, backend_*.so */
    DLT_FOLDER_LIBEXEC, /* dltime-snapshot */
    DLT_FOLDER_CONF     /* dltime.conf */
};

/* The folder's path with `/below` appended (below may be NULL), in buffer. Returns buffer, or NULL
 * where it does not fit. Thread-safe. */
char *dlt_path(enum dlt_folder folder, const char *below, char *buffer, size_t size);

#endif
