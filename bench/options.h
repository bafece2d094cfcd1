/*
 * options.h - options that the commands which open a backend have in common.
 */
#ifndef DLBENCH_OPTIONS_H
#define DLBENCH_OPTIONS_H

#include <getopt.h>

#include "load.h"

struct bench_options_common {
    struct bench_session_options session; /* its seed too */
    const char *output;
    bool quiet, json;
};

enum {
    BENCH_OPTION_BACKEND = 512,
    BENCH_OPTION_DEVICE,
    BENCH_OPTION_THREADS,
    BENCH_OPTION_SEED,
    BENCH_OPTION_MEMORY,
    BENCH_OPTION_OUTPUT,
    BENCH_OPTION_JSON,
    BENCH_OPTION_QUIET
};

/* Rows of a command's own table of long options. */
/* clang-format off */
#define BENCH_OPTIONS_COMMON                                                                       \
    {"backend", required_argument, NULL, BENCH_OPTION_BACKEND},                                    \
    {"device", required_argument, NULL, BENCH_OPTION_DEVICE},                                      \
    {"threads", required_argument, NULL, BENCH_OPTION_THREADS},                                    \
    {"seed", required_argument, NULL, BENCH_OPTION_SEED},                                          \
    {"memory", required_argument, NULL, BENCH_OPTION_MEMORY},                                      \
    {"output", required_argument, NULL, BENCH_OPTION_OUTPUT},                                      \
    {"json", no_argument, NULL, BENCH_OPTION_JSON},                                                \
    {"quiet", no_argument, NULL, BENCH_OPTION_QUIET}
/* clang-format on */

/* Reads one of them, with getopt's optarg. Returns -1 to go on, BENCH_USAGE after a message, or 1
 * above BENCH_USAGE where the option is none of them. */
enum { BENCH_OPTION_OTHER = 3 };
int bench_options_read(const char *command, int option, struct bench_options_common *common);

/* -1, or BENCH_USAGE where the backend or the output is missing. */
int bench_options_check(const char *command, const struct bench_options_common *common);

#endif
