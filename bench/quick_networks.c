/* SPDX-License-Identifier: Apache-2.0 */
#include "quick_networks.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "measure/measurements.h"
#include "quick.h"
#include "runner.h"

bool bench_quick_networks_path(const char *output, char *path, size_t size)
{
    static const char suffix[] = ".jsonl";
    size_t length = strlen(output);

    if (length > strlen(suffix) && strcmp(output + length - strlen(suffix), suffix) == 0)
        length -= strlen(suffix);
    return snprintf(path, size, "%.*s.runs%s", (int)length, output, suffix) < (int)size;
}

/* Whether the file has a run of the SPEC's network. */
static bool has_run(const char *path, const char *spec)
{
    struct dlt_measure_reader *reader;
    struct dlt_measurement measurement;
    struct dlt_run run;
    bool found = false;

    if (access(path, F_OK) != 0 || dlt_measure_open(path, &reader, NULL))
        return false;
    while (!found && dlt_measure_next(reader, &measurement, &run, NULL) > 0)
        found = dlt_measure_header(reader)->runs && strlen(run.model) == strcspn(spec, ",") &&
                strncmp(run.model, spec, strlen(run.model)) == 0;
    dlt_measure_close(reader);
    return found;
}

/* Waits for the child, and returns its status as waitpid() does; a signal that asked this process
 * to end asks the child, too. Looked for again and again: one that comes right before a wait would
 * not end it. */
static int wait_for(pid_t child)
{
    const struct timespec moment = {0, 20000000};
    bool told = false;
    int status = 0;
    pid_t waited;

    while ((waited = waitpid(child, &status, WNOHANG)) == 0 || (waited < 0 && errno == EINTR)) {
        if (bench_signals_seen() && !told)
            told = kill(child, SIGTERM) == 0;
        nanosleep(&moment, NULL);
    }
    return status;
}

/* What the child's end means. Why it did not run its network it has said itself; one that was
 * killed has said nothing, and may be run again. */
static int judge(const char *spec, int status, struct dlt_error *error)
{
    if (bench_signals_seen() || status == 0)
        return 0;
    if (WIFSIGNALED(status))
        return dlt_fail(error,
                        "%s: dlbench network was ended by a signal: %s; --resume tries again", spec,
                        strsignal(WTERMSIG(status)));
    fprintf(stderr, "dlbench run: %s is left out\n", spec);
    return 0;
}

static int train(const struct bench_quick_networks *networks, const char *spec, const char *path,
                 struct dlt_error *error)
{
    char program[PATH_MAX], device[16], threads[16];
    char *argv[16] = {
        program,    "network",    (char *)spec, "--backend", (char *)networks->backend,
        "--output", (char *)path, "--device",   device};
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    int count = 9, failure;
    pid_t child;

    if (length <= 0)
        return dlt_fail(error, "/proc/self/exe: %s", strerror(errno));
    program[length] = '\0';
    snprintf(device, sizeof device, "%d", networks->device);
    snprintf(threads, sizeof threads, "%d", networks->threads);
    if (networks->threads > 0) {
        argv[count++] = "--threads";
        argv[count++] = threads;
    }
    if (networks->quiet)
        argv[count++] = "--quiet";
    bench_unpin(networks->cpus); /* a child inherits what this thread is bound to */
    failure = posix_spawn(&child, program, NULL, NULL, argv, environ);
    if (failure)
        return dlt_fail(error, "%s: %s", program, strerror(failure));
    return judge(spec, wait_for(child), error);
}

int bench_quick_networks_run(const struct bench_quick_networks *networks, struct dlt_error *error)
{
    char path[PATH_MAX];

    if (!bench_quick_networks_path(networks->output, path, sizeof path))
        return dlt_fail(error, "%.64s...: the path is too long", networks->output);
    for (int i = 0; i < BENCH_QUICK_NETWORKS && !bench_signals_seen(); i++) {
        const char *spec = bench_quick_network(networks->peak, i);

        if (!has_run(path, spec) && train(networks, spec, path, error))
            return -1;
    }
    return 0;
}
