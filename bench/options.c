/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include "command.h"

/* A whole number; -1, or BENCH_USAGE. */
static int whole(const char *command, const char *option, int64_t least, int64_t most,
                 int64_t *value)
{
    return command_whole(command, option, optarg, least, most, value) == COMMAND_DONE ? -1
                                                                                      : BENCH_USAGE;
}

int bench_options_read(const char *command, int option, struct bench_options_common *common)
{
    int64_t value = 0;
    int status = -1;

    switch (option) {
    case BENCH_OPTION_BACKEND:
        common->session.backend = optarg;
        break;
    case BENCH_OPTION_DEVICE:
        status = whole(command, "device", 0, 1023, &value);
        common->session.device = (int)value;
        break;
    case BENCH_OPTION_THREADS:
        status = whole(command, "threads", 1, BENCH_CPUS, &value);
        common->session.threads = (int)value;
        break;
    case BENCH_OPTION_SEED:
        status = whole(command, "seed", 0, INT64_MAX, &value);
        common->session.seed = (uint64_t)value;
        break;
    case BENCH_OPTION_MEMORY:
        status = whole(command, "memory", 16, 1 << 24, &value);
        common->session.memory_bytes = 1048576.0 * (double)value;
        break;
    case BENCH_OPTION_OUTPUT:
        common->output = optarg;
        break;
    case BENCH_OPTION_JSON:
        common->json = true;
        break;
    case BENCH_OPTION_QUIET:
        common->quiet = true;
        break;
    default:
        return BENCH_OPTION_OTHER;
    }
    return status;
}

int bench_options_check(const char *command, const struct bench_options_common *common)
{
    if (!common->session.backend)
        return bench_usage(command, "--backend is missing");
    if (!common->output)
        return bench_usage(command, "--output is missing");
    return -1;
}
