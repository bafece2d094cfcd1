/*
 * command.h - the subcommands of dlbench: one row of the table in main.c each.
 *
 * Exit status: 0 done, 1 failed, 2 wrong usage. Results go to stdout, everything else to stderr.
 */
#ifndef DLBENCH_COMMAND_H
#define DLBENCH_COMMAND_H

#include "dltime.h"

enum { BENCH_DONE = 0, BENCH_EXIT_FAILED = 1, BENCH_USAGE = 2 };

/* Each gets its own name as argv[0]. */
int dlbench_run(int argc, char **argv);
int dlbench_network(int argc, char **argv);
int dlbench_io(int argc, char **argv);
int dlbench_info(int argc, char **argv);
int dlbench_verify(int argc, char **argv);

/* Prints "dlbench COMMAND: sentence" to stderr; returns BENCH_EXIT_FAILED. */
int bench_fail(const char *command, const struct dlt_error *error);
/* The same with a hint at --help; returns BENCH_USAGE. */
__attribute__((format(printf, 2, 3))) int bench_usage(const char *command, const char *format, ...);

/* Options that several commands have. Each returns false, with a message, on a bad value. */
bool bench_option_count(const char *command, const char *option, const char *text, int64_t least,
                        int64_t most, int64_t *value);

#endif
