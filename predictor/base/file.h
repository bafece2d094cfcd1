/*
 * file.h - read a whole small file; write a file so that it is there whole or not at all.
 */
#ifndef DLT_BASE_FILE_H
#define DLT_BASE_FILE_H

#include <stdio.h>

#include "dltime.h"

/*
 * Reads a regular file of at most `limit` bytes. *data is malloc'ed, NUL-terminated after *size
 * bytes, the caller's to free. Refuses folders, FIFOs and devices without blocking on them.
 */
int dlt_file_read(const char *path, size_t limit, char **data, size_t *size,
                  struct dlt_error *error);

/*
 * Opens a regular file for reading; returns the descriptor, the caller's to close, or -1.
 * *size: its bytes now. Refuses what dlt_file_read refuses.
 */
int dlt_file_open(const char *path, int64_t *size, struct dlt_error *error);

/* A file being written beside its final name (partial.h). Not to be moved while it is open. */
struct dlt_file_writer {
    FILE *stream;  /* write here */
    int fd;        /* what it writes to: for its owner and its permissions */
    int failure;   /* errno of the first write that failed */
    char *path;    /* final name */
    char *partial; /* name until then */
};

/* Opens a temporary file in path's folder; refuses a path that is there and no regular file. On
 * success either commit or abandon must follow. */
int dlt_file_create(struct dlt_file_writer *writer, const char *path, struct dlt_error *error);
/* Flushes, fsyncs, renames over path, fsyncs the folder. On failure the old file stays and the
 * temporary one is gone. */
int dlt_file_commit(struct dlt_file_writer *writer, struct dlt_error *error);
/* Removes the temporary file; does nothing after commit, nor after a create that failed. */
void dlt_file_abandon(struct dlt_file_writer *writer);

#endif
