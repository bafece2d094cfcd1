/*
 * command.h - the subcommands of dlbench: one row of the table in main.c each.
 *
 * Exit status: 0 done, 1 failed, 2 wrong usage. Results go to stdout, everything else to stderr.
 */
#ifndef DLBENCH_COMMAND_H
#define DLBENCH_COMMAND_H

#include "command/command.h"

enum { BENCH_DONE = COMMAND_DONE, BENCH_EXIT_FAILED = COMMAND_FAILED, BENCH_USAGE = COMMAND_USAGE };

/* Each gets its own name as argv[0]. */
int dlbench_run(int argc, char **argv);
int dlbench_network(int argc, char **argv);
int dlbench_io(int argc, char **argv);
int dlbench_info(int argc, char **argv);
int dlbench_verify(int argc, char **argv);

/* What dltime's commands say when something is wrong, dlbench's say as well. */
#define bench_fail  command_fail
#define bench_usage command_usage

/* An option's whole number; false after a message. */
static inline bool bench_option_count(const char *command, const char *option, const char *text,
                                      int64_t least, int64_t most, int64_t *value)
{
    return command_whole(command, option, text, least, most, value) == COMMAND_DONE;
}

#endif
