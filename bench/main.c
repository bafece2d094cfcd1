/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/version.h"
#include "command.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"run", dlbench_run, "time operators and write a measurements file"},
    {"network", dlbench_network, "run whole training steps and write a runs file"},
    {"verify", dlbench_verify, "compare a backend's results with a double-precision reference"},
    {"io", dlbench_io, "what storage feeds a data loader"},
    {"info", dlbench_info, "what is here: devices, CPUs, backends"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *stream)
{
    fputs("Usage: dlbench COMMAND [OPTION]...\n"
          "Measures what deep-learning operators and networks cost on this machine.\n\n",
          stream);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(stream, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n`dlbench COMMAND --help` explains one; dlbench(1) explains all.\n", stream);
}

int main(int argc, char **argv)
{
    const char *names[COMMANDS];
    const char *nearest;
    char shown[64];

    command_hold_streams();
    /* A file that may not grow so large is an error to report, as a full disk is. */
    signal(SIGXFSZ, SIG_IGN);
    if (argc < 2) {
        print_help(stderr);
        return BENCH_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return command_finish(argv[1], BENCH_DONE);
    }
    if (strcmp(argv[1], "--version") == 0) {
        dlt_version_print("dlbench");
        return command_finish(argv[1], BENCH_DONE);
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
        fprintf(stderr, "dlbench: no command \"%s\"; did you mean %s?\n", shown, nearest);
    else
        fprintf(stderr, "dlbench: no command \"%s\"; see dlbench --help\n", shown);
    return BENCH_USAGE;
}
