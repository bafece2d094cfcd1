/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "device/device.h"

void dlt_request_init(struct dlt_request *request)
{
    *request = (struct dlt_request){.time_s = NAN};
}

static bool starts_with(const char **text, const char *prefix)
{
    size_t length = strlen(prefix);

    if (strncmp(*text, prefix, length) != 0)
        return false;
    *text += length;
    return true;
}

/* "v100:4", "v100=4", "4", "v100" or "": type and count. */
static bool take_type_and_count(const char *text, struct dlt_gpu_request *entry)
{
    const char *equals = strrchr(text, '='), *colon = equals ? equals : strrchr(text, ':');
    const char *number = colon ? colon + 1 : text;
    char type[DLT_NAME_SIZE];
    int64_t count = 1;

    entry->type[0] = '\0';
    if (*number >= '0' && *number <= '9' && dlt_text_to_int64(number, &count)) {
        size_t length = colon ? (size_t)(colon - text) : 0;

        if (length >= sizeof type)
            return false;
        memcpy(type, text, length);
        type[length] = '\0';
    } else if (colon || !dlt_text_copy(type, sizeof type, text)) {
        return false;
    }
    if (count < 0 || count > 1 << 20)
        return false;
    dlt_text_copy(entry->type, sizeof entry->type, type);
    entry->count = (int)count;
    return true;
}

bool dlt_request_gpus(const char *text, bool gpus_only, struct dlt_gpu_request *gpus)
{
    *gpus = (struct dlt_gpu_request){0};
    while (*text) {
        char word[2 * DLT_NAME_SIZE];
        size_t length = strcspn(text, ",;");
        const char *rest = word;
        struct dlt_gpu_request entry;
        bool counts;

        if (length >= sizeof word)
            return false;
        memcpy(word, text, length);
        word[length] = '\0';
        word[strcspn(word, "(")] = '\0';
        text += length + (text[length] != '\0');
        if (!starts_with(&rest, "gres:"))
            starts_with(&rest, "gres/");
        if (strcmp(rest, "gpu") == 0) {
            counts = true;
            rest = "";
        } else {
            counts = starts_with(&rest, "gpu:") || starts_with(&rest, "gpu=") || gpus_only;
        }
        if (!counts)
            continue;
        if (!take_type_and_count(rest, &entry))
            return false;
        if (gpus->count == 0)
            memcpy(gpus->type, entry.type, sizeof gpus->type);
        else if (strcmp(gpus->type, entry.type) != 0)
            gpus->type[0] = '\0';
        if (__builtin_add_overflow(gpus->count, entry.count, &gpus->count))
            return false;
    }
    return true;
}

static bool take_nodes(const char *text, int *nodes)
{
    int64_t number;

    if (!dlt_text_to_int64(text, &number) || number < 1 || number > 1 << 24)
        return false;
    *nodes = (int)number;
    return true;
}

bool dlt_request_nodes(const char *text, struct dlt_request *request)
{
    const size_t length = strcspn(text, "-");
    char least[32];

    if (length >= sizeof least)
        return false;
    memcpy(least, text, length);
    least[length] = '\0';
    request->most_nodes = 0;
    return take_nodes(least, &request->nodes) &&
           (!text[length] || take_nodes(text + length + 1, &request->most_nodes));
}

bool dlt_request_wants_gpus(const struct dlt_request *request)
{
    return request->per_job.count || request->per_node.count || request->per_socket.count ||
           request->per_task.count;
}

/* The type that the GPUs must have, or "". */
static const char *gpu_type(const struct dlt_request *request)
{
    const struct dlt_gpu_request *const all[] = {&request->per_job, &request->per_node,
                                                 &request->per_socket, &request->per_task};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]->count && all[i]->type[0])
            return all[i]->type;
    }
    return "";
}

static int at_least_one(int value)
{
    return value > 0 ? value : 1;
}

static int ceil_div(int value, int by)
{
    return (int)(((int64_t)value + by - 1) / by);
}

/* Products of a user's numbers: what does not fit an int is more than any cluster has. */
static int product(int a, int b)
{
    int result;

    return __builtin_mul_overflow(a, b, &result) ? INT_MAX / 2 : result;
}

static int tasks_of(const struct dlt_request *request)
{
    if (request->tasks > 0)
        return request->tasks;
    return product(at_least_one(request->nodes), at_least_one(request->tasks_per_node));
}

static int cpus_of(const struct dlt_request *request)
{
    int cpus = product(tasks_of(request), at_least_one(request->cpus_per_task));

    return request->cpus > cpus ? request->cpus : cpus;
}

/* Whether the user left it to Slurm how many nodes there are, or gave a range of them. */
static bool nodes_may_grow(const struct dlt_request *request)
{
    return request->nodes == 0 || request->most_nodes > request->nodes;
}

/* Nodes that tasks and CPUs need, where the user did not say how many. */
static int nodes_of(const struct dlt_request *request, const struct dlt_shape *shape)
{
    int nodes = at_least_one(request->nodes), needed;

    if (!nodes_may_grow(request))
        return nodes;
    if (request->tasks > 0 && request->tasks_per_node > 0) {
        needed = ceil_div(request->tasks, request->tasks_per_node);
        nodes = needed > nodes ? needed : nodes;
    }
    if (shape->cpus > 0) {
        needed = ceil_div(cpus_of(request), shape->cpus);
        nodes = needed > nodes ? needed : nodes;
    }
    return nodes;
}

/* Nodes that as many GPUs for the job, and as many for each node, come to. */
static int nodes_of_gpus(const struct dlt_request *request, int least)
{
    int all = request->per_job.count, each = request->per_node.count;
    int nodes = at_least_one(least), needed;

    if (!all && request->tasks > 0)
        all = product(request->per_task.count, request->tasks);
    if (!each)
        each = product(request->per_socket.count, at_least_one(request->sockets_per_node));
    needed = each > 0 && nodes_may_grow(request) ? ceil_div(all, each) : 0;
    return needed > nodes ? needed : nodes;
}

static bool place_gpus(const struct dlt_request *request, const struct dlt_shape *shape,
                       struct dlt_placement *placement)
{
    const char *type = gpu_type(request);
    int needed;

    if (shape->gpus == 0)
        return false;
    if (*type && shape->gpu[0] && strcmp(type, shape->gpu) != 0 &&
        !dlt_device_matches(shape->gpu, type))
        return false;
    placement->nodes = nodes_of_gpus(request, placement->nodes);
    if (request->per_job.count)
        placement->devices = request->per_job.count;
    else if (request->per_node.count)
        placement->devices = product(request->per_node.count, placement->nodes);
    else if (request->per_task.count)
        placement->devices = product(request->per_task.count, tasks_of(request));
    else
        placement->devices =
            product(request->per_socket.count,
                    product(at_least_one(request->sockets_per_node), placement->nodes));
    /* GPUs that are counted for the whole job spread over as many nodes as it takes. */
    needed = ceil_div(placement->devices, shape->gpus);
    if (nodes_may_grow(request) && (request->per_job.count || request->per_task.count) &&
        needed > placement->nodes)
        placement->nodes = needed;
    return ceil_div(placement->devices, placement->nodes) <= shape->gpus;
}

bool dlt_request_place(const struct dlt_request *request, const struct dlt_shape *shape,
                       struct dlt_placement *placement)
{
    *placement = (struct dlt_placement){.nodes = nodes_of(request, shape)};
    placement->devices = placement->nodes;
    if (dlt_request_wants_gpus(request) && !place_gpus(request, shape, placement))
        return false;
    placement->cpus = request->exclusive && shape->cpus
                          ? shape->cpus
                          : ceil_div(cpus_of(request), placement->nodes);
    return (shape->nodes == 0 || placement->nodes <= shape->nodes) &&
           (request->most_nodes == 0 || placement->nodes <= request->most_nodes) &&
           (shape->cpus == 0 || placement->cpus <= shape->cpus);
}

/* Whether name is in a list with commas. */
static bool list_has(const char *list, const char *name,
                     int (*compare)(const char *, const char *, size_t))
{
    size_t length = strlen(name);

    while (*list) {
        size_t word = strcspn(list, ",");

        if (word == length && compare(list, name, length) == 0)
            return true;
        list += word + (list[word] == ',');
    }
    return false;
}

/* Of ASCII letters, whatever the locale. */
static int compare_without_case(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (dlt_text_lower(a[i]) != dlt_text_lower(b[i]))
            return 1;
    return 0;
}

/* Accounts and QOS are the same to Slurm in capitals and small letters. */
static bool names(const struct dlt_list *list, const char *name)
{
    return *name && list_has(list->names, name, compare_without_case);
}

/* Of two lists and a name that is not known where it is "". */
static enum dlt_access access_by(const char *name, const struct dlt_list *allow,
                                 const struct dlt_list *deny)
{
    if (allow->names[0])
        return names(allow, name) ? DLT_ACCESS_OPEN : DLT_ACCESS_CLOSED;
    if (!deny->names[0])
        return DLT_ACCESS_OPEN;
    if (strcmp(deny->names, "*") == 0 || names(deny, name))
        return DLT_ACCESS_CLOSED;
    return *name ? DLT_ACCESS_OPEN : DLT_ACCESS_UNSURE;
}

enum dlt_access dlt_request_access(const struct dlt_request *request,
                                   const struct dlt_partition *partition)
{
    enum dlt_access account =
        access_by(request->account, &partition->allow_accounts, &partition->deny_accounts);
    enum dlt_access qos = access_by(request->qos, &partition->allow_qos, &partition->deny_qos);

    if (!partition->listed)
        return DLT_ACCESS_CLOSED;
    return account > qos ? account : qos;
}

enum dlt_access dlt_request_features(const struct dlt_request *request, const char *features)
{
    const char *rest = request->features;

    if (!*rest)
        return DLT_ACCESS_OPEN;
    if (!*features || strpbrk(rest, "|[]()*!"))
        return DLT_ACCESS_UNSURE;
    while (*rest) {
        size_t length = strcspn(rest, "&,");
        char name[DLT_LIST_SIZE];

        memcpy(name, rest, length);
        name[length] = '\0';
        if (!dlt_list_has(features, name))
            return DLT_ACCESS_CLOSED;
        rest += length + (rest[length] != '\0');
    }
    return DLT_ACCESS_OPEN;
}

bool dlt_list_has(const char *list, const char *name)
{
    return list_has(list, name, strncmp);
}
