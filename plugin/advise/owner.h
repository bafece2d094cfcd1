/*
 * owner.h - who may have written a file. Only the C library, because spank_dltime.so asks it too.
 */
#ifndef DLT_ADVISE_OWNER_H
#define DLT_ADVISE_OWNER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Whether the file and each folder on the way to it belong to root, the caller or `also`, and
 * nobody else may write to them; a folder with the sticky bit, like /tmp, may be open to all. real:
 * the path without symbolic links, which is what was checked: open that one, since a link on the
 * way to it may be anybody's. False with one sentence, what is wrong and the mend, in message.
 */
bool dlt_owner_check(const char *path, uid_t also, char real[PATH_MAX], char *message, size_t size);

#endif
