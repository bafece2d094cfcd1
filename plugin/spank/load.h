/* load.h - find advise.so and open it. */
#ifndef DLT_SPANK_LOAD_H
#define DLT_SPANK_LOAD_H

#include <stddef.h>

#include "advise_call.h"

/*
 * Opens advise.so once: `path` if plugstack's advise= gave one, else the one beside this object (a
 * build tree), else the installed one. It is mapped only if nobody but root, the caller and the
 * owner of this object may have written it or replaced it. NULL with a sentence in message.
 */
dlt_advise_function *load_advise(const char *path, char *message, size_t size);

#endif
