/*
 * partial.h - a file's name until it is whole, which outlives no killed writer for long.
 */
#ifndef DLT_BASE_PARTIAL_H
#define DLT_BASE_PARTIAL_H

#include <sys/types.h>

/*
 * Creates a file beside path, relative to the folder's descriptor (AT_FDCWD: the working folder),
 * to be renamed to it: ".NAME.dltime-HOST-N", HOST eight hexadecimal digits that stand for the
 * host's name, N from 0 to 15; of a NAME that is too long for that its first part. Its writer holds
 * a lock on it, which the kernel drops when the writer dies: those of this host without a living
 * writer are removed first. Other hosts' locks need not be seen from here: their files, and all
 * where the file system has no locks, are removed when nobody has written to them for a day.
 *
 * Returns its descriptor, to be closed when the file has been renamed or removed and not before;
 * *partial: its name, malloc'ed. -1 with errno; EBUSY where sixteen write the same file.
 */
int dlt_partial_create(int folder, const char *path, mode_t mode, char **partial);

#endif
