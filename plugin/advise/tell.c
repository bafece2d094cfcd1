/* SPDX-License-Identifier: Apache-2.0 */
#include "tell.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void dlt_tell(const char *text)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    size_t left = strlen(text);
    struct sigaction before;

    if (sigaction(SIGPIPE, &ignore, &before))
        return;
    while (left > 0) {
        ssize_t written = write(STDERR_FILENO, text, left);

        if (written < 0 && errno != EINTR)
            break;
        text += written > 0 ? written : 0;
        left -= written > 0 ? (size_t)written : 0;
    }
    sigaction(SIGPIPE, &before, NULL);
}

void dlt_tell_warning(const char *sentence)
{
    char line[1024];

    snprintf(line, sizeof line, "dltime: warning: %.990s\n", sentence);
    dlt_tell(line);
}
