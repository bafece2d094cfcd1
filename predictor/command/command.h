/*
 * command.h - the subcommands of dltime: one file each, one row of the table in main.c each.
 *
 * Exit status: 0 done, 1 failed, 2 wrong usage. Results go to stdout, everything else to stderr.
 */
#ifndef DLT_COMMAND_COMMAND_H
#define DLT_COMMAND_COMMAND_H

#include "dltime.h"

enum { COMMAND_DONE = 0, COMMAND_FAILED = 1, COMMAND_USAGE = 2 };

/* Each gets its own name as argv[0]. */
int command_advise(int argc, char **argv);
int command_check(int argc, char **argv);
int command_devices(int argc, char **argv);
int command_evaluate(int argc, char **argv);
int command_learn(int argc, char **argv);
int command_models(int argc, char **argv);
int command_predict(int argc, char **argv);
int command_report(int argc, char **argv);
int command_scaling(int argc, char **argv);
int command_train(int argc, char **argv);

/* Prints "PROGRAM COMMAND: sentence" to stderr, PROGRAM as it was called. Always COMMAND_FAILED. */
int command_fail(const char *command, const struct dlt_error *error);

/* Prints "PROGRAM COMMAND: sentence" and a hint at --help to stderr; returns COMMAND_USAGE. */
__attribute__((format(printf, 2, 3))) int command_usage(const char *command, const char *format,
                                                        ...);

struct option; /* of getopt.h */

/* The option that getopt_long has just refused, with the nearest of those that there are; returns
 * COMMAND_USAGE. */
int command_unknown(const char *command, const struct option *options, char *const *argv);

/* Takes one option and its value (NULL: it has none). Returns 0 or less to go on, else the exit
 * status after saying what is wrong. */
typedef int command_take(int option, char *value, void *context);

/*
 * Reads all options, which are long ones, and answers --help. Operands are argv[optind] and on.
 * Returns -1 to go on, or an exit status.
 */
int command_options(const char *command, const char *help, const struct option *options, int argc,
                    char **argv, command_take *take, void *context);

/* An option's whole number in [least, most]. COMMAND_DONE, or COMMAND_USAGE after saying so. */
int command_whole(const char *command, const char *option, const char *text, int64_t least,
                  int64_t most, int64_t *value);

/* A profile by path, or by name among the installed ones. Returns name or buffer. */
const char *command_profile_path(const char *name, char *buffer, size_t size);
/* Loads that; of a name that no installed profile has the sentence lists those that there are. */
int command_profile_load(const char *name, struct dlt_profile **profile, struct dlt_error *error);

/* To be called first: standard streams that are closed become ones that cannot be read or written,
 * so that no file that is opened later takes their place, and the messages that go there. */
void command_hold_streams(void);

/* Flushes stdout and reports a failed write (a full disk, a closed pipe). Returns status, or
 * COMMAND_FAILED. */
int command_finish(const char *command, int status);

/* Whether two names lead to one file, such as an input that an output would replace. */
bool command_same_file(const char *a, const char *b);

#endif
