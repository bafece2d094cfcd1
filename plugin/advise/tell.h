/*
 * tell.h - write to the user's terminal in a process that is somebody else's. Only the C library,
 * because spank_dltime.so does it too.
 */
#ifndef DLT_ADVISE_TELL_H
#define DLT_ADVISE_TELL_H

/* Writes text to standard error, in one piece where the system allows, so that lines of submissions
 * that share a terminal do not mix. A reader that went away, or a file that may not grow, ends
 * nothing. */
void dlt_tell(const char *text);

/* dlt_tell of "dltime: warning: SENTENCE". */
void dlt_tell_warning(const char *sentence);

#endif
