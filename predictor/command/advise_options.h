/*
 * advise_options.h - sbatch's options, as far as they matter for advice.
 */
#ifndef DLT_COMMAND_ADVISE_OPTIONS_H
#define DLT_COMMAND_ADVISE_OPTIONS_H

#include "../../plugin/advise/policy.h"

struct advise_options {
    struct dlt_request request;
    int dl_time, dl_partition; /* -1: not given */
};

/* Parses argv[1..] up to the script's name. Returns COMMAND_DONE, or COMMAND_USAGE after saying
 * which value is no good. Options that do not matter are passed over; unknown ones are named.
 * command: whose messages they are; NULL: nothing is said. */
int advise_options_parse(const char *command, int argc, char **argv,
                         struct advise_options *options);

#endif
