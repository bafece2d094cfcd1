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
    struct sigaction at_pipe, at_size;

    if (sigaction(SIGPIPE, &ignore, &at_pipe))
        return;
    if (sigaction(SIGXFSZ, &ignore, &at_size)) {
        sigaction(SIGPIPE, &at_pipe, NULL);
        return;
    }
    while (left > 0) {
        ssize_t written = write(STDERR_FILENO, text, left);

        if (written < 0 && errno != EINTR)
            break;
        text += written > 0 ? written : 0;
        left -= written > 0 ? (size_t)written : 0;
    }
    sigaction(SIGXFSZ, &at_size, NULL);
    sigaction(SIGPIPE, &at_pipe, NULL);
}

void dlt_tell_warning(const char *sentence)
{
    char line[1024];

    snprintf(line, sizeof line, "dltime: warning: %.990s\n", sentence);
    dlt_tell(line);
}
