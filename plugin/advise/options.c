/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

static void take_count(const char *text, void *to)
{
    int64_t number;

    if (dlt_text_to_int64(text, &number) && number > 0 && number <= INT_MAX)
        *(int *)to = (int)number;
}

static void take_nodes(const char *text, void *to)
{
    dlt_request_nodes(text, to);
}

static void take_time(const char *text, void *to)
{
    double *time_s = to;

    if (dlt_text_same(text, "UNLIMITED") || dlt_text_same(text, "INFINITE") ||
        (dlt_text_to_duration(text, 60, time_s) && *time_s == 0))
        *time_s = INFINITY;
}

static void take_gres(const char *text, void *to)
{
    struct dlt_gpu_request gpus;

    if (dlt_request_gpus(text, false, &gpus) && gpus.count > 0)
        *(struct dlt_gpu_request *)to = gpus;
}

static void take_gpus(const char *text, void *to)
{
    struct dlt_gpu_request gpus;

    if (dlt_request_gpus(text, true, &gpus) && gpus.count > 0)
        *(struct dlt_gpu_request *)to = gpus;
}

static void take_exclusive(const char *text, void *to)
{
    *(bool *)to = strcmp(text, "exclusive") == 0;
}

static void take_partitions(const char *text, void *to)
{
    dlt_text_copy(to, sizeof((struct dlt_request *)0)->partitions, text);
}

static void take_name(const char *text, void *to)
{
    dlt_text_copy(to, DLT_NAME_SIZE, text);
}

static void take_features(const char *text, void *to)
{
    dlt_text_copy(to, DLT_LIST_SIZE, text);
}

static const struct {
    const char *name;
    void (*take)(const char *text, void *to);
    size_t offset;
} rows[] = {
    {"partition", take_partitions, offsetof(struct dlt_request, partitions)},
    {"time", take_time, offsetof(struct dlt_request, time_s)},
    {"nodes", take_nodes, 0}, /* more than one field */
    {"ntasks", take_count, offsetof(struct dlt_request, tasks)},
    {"ntasks-per-node", take_count, offsetof(struct dlt_request, tasks_per_node)},
    {"cpus-per-task", take_count, offsetof(struct dlt_request, cpus_per_task)},
    {"sockets-per-node", take_count, offsetof(struct dlt_request, sockets_per_node)},
    {"exclusive", take_exclusive, offsetof(struct dlt_request, exclusive)},
    {"gres", take_gres, offsetof(struct dlt_request, per_node)},
    {"gpus-per-node", take_gpus, offsetof(struct dlt_request, per_node)},
    {"gpus", take_gpus, offsetof(struct dlt_request, per_job)},
    {"gpus-per-socket", take_gpus, offsetof(struct dlt_request, per_socket)},
    {"gpus-per-task", take_gpus, offsetof(struct dlt_request, per_task)},
    {"account", take_name, offsetof(struct dlt_request, account)},
    {"qos", take_name, offsetof(struct dlt_request, qos)},
    {"constraint", take_features, offsetof(struct dlt_request, features)},
};

void dlt_request_options(struct dlt_request *request, dlt_option_get *get, void *context)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];

        if (get(context, rows[i].name, text, sizeof text))
            rows[i].take(text, (char *)request + rows[i].offset);
    }
}
