/* SPDX-License-Identifier: Apache-2.0 */
#include "command/advise_options.h"

#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "command/command.h"
#include "graph/record.h"

static bool take_count(const char *text, int *value)
{
    int64_t number;

    if (!dlt_text_to_int64(text, &number) || number < 1 || number > 1 << 24)
        return false;
    *value = (int)number;
    return true;
}

static bool take_nodes(const char *text, struct advise_options *options)
{
    return dlt_request_nodes(text, &options->request);
}

static bool take_time(const char *text, struct advise_options *options)
{
    double *time_s = &options->request.time_s;

    if (dlt_text_same(text, "UNLIMITED") || dlt_text_same(text, "INFINITE") ||
        strcmp(text, "-1") == 0) {
        *time_s = INFINITY;
        return true;
    }
    if (!dlt_text_to_duration(text, 60, time_s))
        return false;
    if (*time_s == 0)
        *time_s = INFINITY;
    return true;
}

static bool take_partition(const char *text, struct advise_options *options)
{
    return dlt_text_copy(options->request.partitions, sizeof options->request.partitions, text);
}

static bool take_tasks(const char *text, struct advise_options *options)
{
    return take_count(text, &options->request.tasks);
}

static bool take_tasks_per_node(const char *text, struct advise_options *options)
{
    return take_count(text, &options->request.tasks_per_node);
}

static bool take_cpus_per_task(const char *text, struct advise_options *options)
{
    return take_count(text, &options->request.cpus_per_task);
}

static bool take_sockets(const char *text, struct advise_options *options)
{
    return take_count(text, &options->request.sockets_per_node);
}

static bool take_gres(const char *text, struct advise_options *options)
{
    return dlt_request_gpus(text, false, &options->request.per_node);
}

static bool take_gpus(const char *text, struct advise_options *options)
{
    return dlt_request_gpus(text, true, &options->request.per_job);
}

static bool take_gpus_per_node(const char *text, struct advise_options *options)
{
    return dlt_request_gpus(text, true, &options->request.per_node);
}

static bool take_gpus_per_task(const char *text, struct advise_options *options)
{
    return dlt_request_gpus(text, true, &options->request.per_task);
}

static bool take_gpus_per_socket(const char *text, struct advise_options *options)
{
    return dlt_request_gpus(text, true, &options->request.per_socket);
}

static bool take_exclusive(const char *text, struct advise_options *options)
{
    options->request.exclusive = !text;
    return true;
}

static bool take_dl_time(const char *text, struct advise_options *options)
{
    options->dl_time = dlt_name_index(dlt_time_mode_names, DLT_TIME_MODES, text);
    return options->dl_time >= 0;
}

static bool take_dl_partition(const char *text, struct advise_options *options)
{
    options->dl_partition = dlt_name_index(dlt_partition_mode_names, DLT_PARTITION_MODES, text);
    return options->dl_partition >= 0;
}

static bool take_account(const char *text, struct advise_options *options)
{
    dlt_text_copy(options->request.account, sizeof options->request.account, text);
    return true;
}

static bool take_qos(const char *text, struct advise_options *options)
{
    dlt_text_copy(options->request.qos, sizeof options->request.qos, text);
    return true;
}

static bool take_features(const char *text, struct advise_options *options)
{
    dlt_text_copy(options->request.features, sizeof options->request.features, text);
    return true;
}

enum { LIMIT = offsetof(struct dlt_request, hands_off) };
enum { PARTITION = offsetof(struct dlt_request, bound) };
enum { ALL = offsetof(struct dlt_request, elsewhere) };

/* said: the option, where beside it is left alone what `alone` tells, as in the plugin. Rows
 * without take are passed over; they are here because their value may follow as a word of its own.
 */
static const struct row {
    const char *name;
    char letter;
    int has_arg;
    bool (*take)(const char *text, struct advise_options *options);
    const char *said;
    size_t alone;
} rows[] = {
    {"partition", 'p', required_argument, take_partition, NULL, 0},
    {"time", 't', required_argument, take_time, NULL, 0},
    {"nodes", 'N', required_argument, take_nodes, NULL, 0},
    {"ntasks", 'n', required_argument, take_tasks, NULL, 0},
    {"ntasks-per-node", 0, required_argument, take_tasks_per_node, NULL, 0},
    {"cpus-per-task", 'c', required_argument, take_cpus_per_task, NULL, 0},
    {"sockets-per-node", 0, required_argument, take_sockets, NULL, 0},
    {"gres", 0, required_argument, take_gres, NULL, 0},
    {"gpus", 'G', required_argument, take_gpus, NULL, 0},
    {"gpus-per-node", 0, required_argument, take_gpus_per_node, NULL, 0},
    {"gpus-per-task", 0, required_argument, take_gpus_per_task, NULL, 0},
    {"gpus-per-socket", 0, required_argument, take_gpus_per_socket, NULL, 0},
    {"exclusive", 0, optional_argument, take_exclusive, NULL, 0},
    {"dl-time", 0, required_argument, take_dl_time, NULL, 0},
    {"dl-partition", 0, required_argument, take_dl_partition, NULL, 0},
    {"deadline", 0, required_argument, NULL, "--deadline", LIMIT},
    {"time-min", 0, required_argument, NULL, "--time-min", LIMIT},
    {"reservation", 0, required_argument, NULL, "--reservation", LIMIT},
    {"clusters", 'M', required_argument, NULL, "--clusters", ALL},
    {"account", 'A', required_argument, take_account, NULL, 0},
    {"array", 'a', required_argument, NULL, NULL, 0},
    {"begin", 'b', required_argument, NULL, NULL, 0},
    {"chdir", 'D', required_argument, NULL, NULL, 0},
    {"comment", 0, required_argument, NULL, NULL, 0},
    {"constraint", 'C', required_argument, take_features, NULL, 0},
    {"cpus-per-gpu", 0, required_argument, NULL, NULL, 0},
    {"dependency", 'd', required_argument, NULL, NULL, 0},
    {"dl-model", 0, required_argument, NULL, NULL, 0},
    {"error", 'e', required_argument, NULL, NULL, 0},
    {"exclude", 'x', required_argument, NULL, NULL, 0},
    {"export", 0, required_argument, NULL, NULL, 0},
    {"input", 'i', required_argument, NULL, NULL, 0},
    {"job-name", 'J', required_argument, NULL, NULL, 0},
    {"licenses", 'L', required_argument, NULL, NULL, 0},
    {"mail-type", 0, required_argument, NULL, NULL, 0},
    {"mail-user", 0, required_argument, NULL, NULL, 0},
    {"mem", 0, required_argument, NULL, NULL, 0},
    {"mem-per-cpu", 0, required_argument, NULL, NULL, 0},
    {"mem-per-gpu", 0, required_argument, NULL, NULL, 0},
    {"nodefile", 'F', required_argument, NULL, "--nodefile", PARTITION},
    {"nodelist", 'w', required_argument, NULL, "--nodelist", PARTITION},
    {"output", 'o', required_argument, NULL, NULL, 0},
    {"qos", 'q', required_argument, take_qos, NULL, 0},
    {"signal", 0, required_argument, NULL, NULL, 0},
    {"tmp", 0, required_argument, NULL, NULL, 0},
    {"wrap", 0, required_argument, NULL, NULL, 0},
};
enum { ROWS = sizeof rows / sizeof *rows, FIRST_VALUE = 256 };

static void build_options(struct option *long_options, char *letters)
{
    /* '+': the script's name ends the options. ':': missing values are reported as such. */
    *letters++ = '+';
    *letters++ = ':';
    for (int i = 0; i < ROWS; i++) {
        long_options[i] = (struct option){rows[i].name, rows[i].has_arg, NULL, FIRST_VALUE + i};
        if (rows[i].letter) {
            *letters++ = rows[i].letter;
            *letters++ = ':';
        }
    }
    long_options[ROWS] = (struct option){0};
    *letters = '\0';
}

static const struct row *row_of(int option)
{
    if (option >= FIRST_VALUE)
        return &rows[option - FIRST_VALUE];
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].letter == option)
            return &rows[i];
    }
    return NULL;
}

/* value NULL: there is none. */
static int refuse(const char *command, const char *option, const char *value)
{
    if (!command)
        return COMMAND_USAGE;
    if (!value)
        return command_usage(command, "%s needs a value", option);
    return command_usage(command, "--%s: \"%s\" is not a value that sbatch takes", option, value);
}

static void leave_alone(struct dlt_request *request, const struct row *row)
{
    const char **said = (const char **)((char *)request + row->alone);

    if (!*said)
        *said = row->said;
}

int advise_options_parse(const char *command, int argc, char **argv, struct advise_options *options)
{
    struct option long_options[ROWS + 1];
    char letters[2 * ROWS + 3];
    int option;

    *options = (struct advise_options){.dl_time = -1, .dl_partition = -1};
    dlt_request_init(&options->request);
    build_options(long_options, letters);
    optind = 0; /* glibc: a new vector */
    opterr = 0;
    while (argc > 0 && (option = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
        const struct row *row;

        if (option == ':')
            return refuse(command, argv[optind - 1], NULL);
        row = option == '?' ? NULL : row_of(option);
        if (!row) {
            char shown[64];

            dlt_text_copy(shown, sizeof shown, argv[optind - 1]);
            dlt_text_printable(shown);
            if (command)
                fprintf(stderr, "dltime %s: %s is passed over\n", command, shown);
            continue;
        }
        if (row->take && !row->take(optarg, options))
            return refuse(command, row->name, optarg);
        if (row->said)
            leave_alone(&options->request, row);
    }
    return COMMAND_DONE;
}
