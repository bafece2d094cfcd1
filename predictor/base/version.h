/*
 * version.h - what a program was built from and with. Its object is the only one that depends on
 * the commit; dltime and dlbench link it, the library does not.
 */
#ifndef DLT_BASE_VERSION_H
#define DLT_BASE_VERSION_H

/* The commit, of git or of the file .commit of a release; "unknown" where there is neither. */
const char *dlt_version_commit(void);

/* Prints `program`, version and commit, then compiler and libraries, to standard output. */
void dlt_version_print(const char *program);

#endif
