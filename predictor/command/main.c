/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/paths.h"
#include "base/text.h"
#include "base/version.h"
#include "command/command.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"predict", command_predict, "how long a training takes on a device"},
    {"advise", command_advise, "what each partition of the running cluster would give"},
    {"check", command_check, "a network layer by layer"},
    {"train", command_train, "a profile from measurements"},
    {"evaluate", command_evaluate, "a profile's error on measurements"},
    {"report", command_report, "how far to trust a profile, as an HTML page"},
    {"learn", command_learn, "corrections from finished jobs"},
    {"scaling", command_scaling, "what several devices make of a step, from runs"},
    {"devices", command_devices, "devices that profiles know"},
    {"models", command_models, "networks that are shipped"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *stream)
{
    fputs("Usage: dltime COMMAND [OPTION]...\n"
          "Predicts how long a deep-learning job will run before it runs.\n\n",
          stream);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(stream, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n`dltime COMMAND --help` explains one; dltime(1) explains all.\n", stream);
}

/* dltime itself is of no release of Slurm's; its helper, built with the plugin, is. */
static void print_slurm_release(void)
{
    char path[PATH_MAX], version[] = "--version", *words[] = {path, version, NULL};
    pid_t child;

    if (!dlt_path(DLT_FOLDER_LIBEXEC, "dltime-snapshot", path, sizeof path) ||
        access(path, X_OK) != 0)
        return;
    fflush(stdout);
    if (posix_spawn(&child, path, NULL, NULL, words, environ) == 0)
        waitpid(child, NULL, 0);
}

static int run(int argc, char **argv)
{
    const char *names[COMMANDS];
    const char *nearest;
    char shown[64];

    if (argc < 2) {
        print_help(stderr);
        return COMMAND_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return command_finish("help", COMMAND_DONE);
    }
    if (strcmp(argv[1], "--version") == 0) {
        dlt_version_print("dltime");
        print_slurm_release();
        return command_finish("--version", COMMAND_DONE);
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        names[i] = commands[i].name;
        if (strcmp(argv[1], commands[i].name) == 0)
            return command_finish(argv[1], commands[i].run(argc - 1, argv + 1));
    }
    dlt_text_copy(shown, sizeof shown, argv[1]);
    dlt_text_printable(shown);
    nearest = dlt_text_nearest(argv[1], names, COMMANDS);
    if (nearest)
        fprintf(stderr, "dltime: no command \"%s\"; did you mean %s?\n", shown, nearest);
    else
        fprintf(stderr, "dltime: no command \"%s\"; see dltime --help\n", shown);
    return COMMAND_USAGE;
}

static bool is_limited(unsigned resource)
{
    struct rlimit limit;

    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* Where the address space or data are limited, threads that OpenBLAS made when it was loaded may
 * still try to map their buffers, and exit would wait for them. */
static bool may_wait_for_ever(void)
{
    return is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA);
}

int main(int argc, char **argv)
{
    int status;

    command_hold_streams();
    /* A file that may not grow so large is an error to report, as a full disk is. */
    signal(SIGXFSZ, SIG_IGN);
    status = run(argc, argv);
    if (may_wait_for_ever()) {
        fflush(NULL);
        _exit(status);
    }
    return status;
}
