/*
 * starts.h - the installed profile that a training begins from where nobody says another.
 */
#ifndef DLT_COMMAND_STARTS_H
#define DLT_COMMAND_STARTS_H

#include "learn/starts.h"

/* Its file among the installed profiles, of which it is the one that knows all devices. */
#define COMMAND_GENERAL "general.dlp"

/*
 * That profile, where networks of the corpus may begin from what it keeps of other devices; NULL
 * where they begin from nothing. One that is damaged is told on stderr in the command's name, and
 * no reason to fail. The caller destroys it.
 */
struct dlt_profile *command_starts_load(const char *command, const struct dlt_corpus *corpus);

#endif
