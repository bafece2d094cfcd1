/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"

/* For how long a killed child is waited for. */
static const double killed_s = 0.05;

enum { LATE = -1 };

double dlt_child_now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#ifdef DLT_COVERAGE
void __gcov_dump(void); /* _exit would lose what the child counted */
#else
#define __gcov_dump() ((void)0)
#endif

/* Never returns. The exit status tells a failure apart from text that was cut short. */
static void run_child(int out, pid_t parent, dlt_child_work *work, void *context)
{
    int nowhere = open("/dev/null", O_RDWR);
    /* Above the standard streams, one of which the pipe is where the caller has closed it. */
    FILE *stream = fdopen(fcntl(out, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), "w");
    int failed;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (nowhere < 0 || !stream || getppid() != parent)
        _exit(2);
    close(out);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        dup2(nowhere, fd);
    failed = work(stream, context);
    if (fflush(stream) || ferror(stream))
        failed = 1;
    __gcov_dump();
    _exit(failed ? 1 : 0);
}

/* Reads until the end. 0, or -1 with errno; ETIMEDOUT at the deadline, EFBIG beyond limit. */
static int read_until(int in, double end, size_t limit, char **data, size_t *size)
{
    size_t used = 0, room = 16384;
    char *bytes = malloc(room + 1);
    int saved;

    while (bytes) {
        struct pollfd ready = {.fd = in, .events = POLLIN};
        double left = end - dlt_child_now_s();
        int polled = left > 0 ? poll(&ready, 1, (int)(fmin(left, 3600) * 1000) + 1) : 0;
        ssize_t got;

        if (left <= 0)
            errno = ETIMEDOUT;
        if (left <= 0 || (polled < 0 && errno != EINTR))
            break;
        if (polled <= 0)
            continue;
        got = read(in, bytes + used, room - used);
        if (got < 0 && errno != EINTR)
            break;
        if (got == 0) {
            bytes[used] = '\0';
            *data = bytes;
            *size = used;
            return 0;
        }
        used += got > 0 ? (size_t)got : 0;
        if (used > limit) {
            errno = EFBIG;
            break;
        }
        if (used == room) {
            char *larger = realloc(bytes, 2 * room + 1);

            if (!larger)
                break;
            bytes = larger;
            room *= 2;
        }
    }
    saved = errno;
    free(bytes);
    errno = saved;
    return -1;
}

/* Returns the child's exit status; 0 where somebody else has waited for it already; LATE at `end`.
 */
static int wait_until(pid_t child, double end)
{
    for (;;) {
        const struct timespec moment = {0, 200000};
        int status = 0;
        pid_t waited = waitpid(child, &status, WNOHANG);

        if (waited == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
        if (waited < 0 && errno != EINTR)
            return 0;
        if (dlt_child_now_s() >= end)
            return LATE;
        nanosleep(&moment, NULL);
    }
}

/* One that sits in the kernel, on a file server that is away, does not even die when it is killed:
 * it is left behind rather than waited for. */
static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    wait_until(child, dlt_child_now_s() + killed_s);
}

int dlt_child_collect(dlt_child_work *work, void *context, const char *what, double deadline_s,
                      size_t limit, char **data, size_t *size, struct dlt_error *error)
{
    double end = dlt_child_now_s() + deadline_s;
    pid_t parent = getpid(), child;
    int pipes[2], failed, saved;
    char digits[32];

    if (pipe2(pipes, O_CLOEXEC))
        return dlt_fail(error, "%s: %s", what, strerror(errno));
    child = fork();
    if (child == 0) {
        close(pipes[0]);
        run_child(pipes[1], parent, work, context);
    }
    saved = errno;
    close(pipes[1]);
    if (child < 0) {
        close(pipes[0]);
        return dlt_fail(error, "%s: %s", what, strerror(saved));
    }
    failed = read_until(pipes[0], end, limit, data, size);
    saved = errno;
    close(pipes[0]);
    if (failed) {
        end_child(child);
        if (saved == ETIMEDOUT)
            return dlt_fail(error, "%s did not answer within %s s", what,
                            dlt_text_from_double(digits, deadline_s, 3));
        return dlt_fail(error, "%s: %s", what, strerror(saved));
    }
    /* It has closed its end, so that it is about to leave. */
    failed = wait_until(child, end);
    if (failed == 0)
        return 0;
    if (failed == LATE)
        end_child(child);
    dlt_fail(error, "%s: %.300s", what, **data ? *data : "ended without an answer");
    free(*data);
    return -1;
}
