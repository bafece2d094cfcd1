/* SPDX-License-Identifier: Apache-2.0 */
#include "fill.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../advise/request.h"
#include "base/error.h"
#include "base/text.h"
#include "options_api.h"

/* AccountingStorageEnforce=limits, as slurm_conf has it. */
enum { ENFORCE_LIMITS = 0x2 };

/* Slurm's "not said" and "no limit" lie above INT_MAX. */
static int count_of(uint32_t value)
{
    return value > INT_MAX ? 0 : (int)value;
}

static void shape_of(const node_info_t *node, struct dlt_shape *shape)
{
    struct dlt_gpu_request gpus = {0};

    *shape = (struct dlt_shape){
        .cpus = node->cpus,
        .memory_bytes = (double)node->real_memory * 1024 * 1024,
    };
    if (node->gres && dlt_request_gpus(node->gres, false, &gpus)) {
        shape->gpus = gpus.count;
        memcpy(shape->gpu, gpus.type, sizeof shape->gpu);
    }
}

/* AllocNodes: hosts from which jobs may be submitted to the partition. The controller goes by the
 * name that the sender's address has, without the domain: this host's, in most places. Elsewhere
 * the partition is not named, which is the safe side. */
static bool takes_from_here(const char *hosts)
{
    char name[256] = "";
    struct hostlist *list;
    bool found;

    if (!hosts || strcmp(hosts, "ALL") == 0 || gethostname(name, sizeof name - 1))
        return true;
    name[strcspn(name, ".")] = '\0';
    /* Some releases have hostlist_t for the structure and others for the pointer. */
    list = slurm_hostlist_create(hosts);
    if (!list)
        return true;
    found = slurm_hostlist_find(list, name) >= 0;
    slurm_hostlist_destroy(list);
    return found;
}

/* Whether the caller's job, submitted here without --reservation, would be refused out of hand. */
static bool is_closed(const partition_info_t *info)
{
    const unsigned closed = geteuid() == 0 ? PART_FLAG_NO_ROOT : PART_FLAG_ROOT_ONLY;

    return (info->flags & (closed | PART_FLAG_REQ_RESV)) ||
           !takes_from_here(info->allow_alloc_nodes);
}

/* node_inx: pairs of first and last index into the node table, ended by -1. */
static void count_nodes(struct dlt_partition *partition, const int32_t *node_inx,
                        const node_info_msg_t *nodes)
{
    for (; node_inx && node_inx[0] >= 0 && node_inx[1] >= node_inx[0]; node_inx += 2) {
        for (int32_t i = node_inx[0]; i <= node_inx[1] && (uint32_t)i < nodes->record_count; i++) {
            struct dlt_shape shape;

            if (!nodes->node_array[i].name)
                continue;
            shape_of(&nodes->node_array[i], &shape);
            dlt_partition_count_in(partition, &shape, 1);
        }
    }
}

static bool is_listed(const partition_info_msg_t *listed, const char *name)
{
    for (uint32_t i = 0; i < listed->record_count; i++) {
        if (listed->partition_array[i].name && strcmp(listed->partition_array[i].name, name) == 0)
            return true;
    }
    return false;
}

static void fill_partition(struct dlt_partition *partition, const partition_info_t *info)
{
    dlt_list_set(&partition->allow_accounts, info->allow_accounts, false);
    dlt_list_set(&partition->deny_accounts, info->deny_accounts, true);
    dlt_list_set(&partition->allow_qos, info->allow_qos, false);
    dlt_list_set(&partition->deny_qos, info->deny_qos, true);
    partition->up = info->state_up == PARTITION_UP;
    partition->is_default = (info->flags & PART_FLAG_DEFAULT) != 0;
    partition->exclusive = info->max_share == 0; /* OverSubscribe=EXCLUSIVE */
    partition->nodes = count_of(info->total_nodes);
    partition->max_nodes = count_of(info->max_nodes);
    if (info->default_time < NO_VAL)
        partition->default_time_s = 60.0 * info->default_time;
    partition->max_time_s = info->max_time < NO_VAL ? 60.0 * info->max_time : INFINITY;
}

static void fill_cluster(struct dlt_snapshot *snapshot)
{
    if (slurm_conf.cluster_name)
        dlt_text_copy(snapshot->cluster, sizeof snapshot->cluster, slurm_conf.cluster_name);
    snprintf(snapshot->slurm, sizeof snapshot->slurm, "%d.%02d.%d",
             SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER), SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER),
             SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER));
    snapshot->taken = time(NULL);
    snapshot->slurm_uid = slurm_conf.slurm_user_id;
    snapshot->limits_enforced = (slurm_conf.accounting_storage_enforce & ENFORCE_LIMITS) != 0;
    snapshot->nodes_private = (slurm_conf.private_data & PRIVATE_DATA_NODES) != 0;
}

bool fill_refused(void)
{
    return (slurm_conf.private_data & PRIVATE_DATA_PARTITIONS) && geteuid() != 0 &&
           geteuid() != (uid_t)slurm_conf.slurm_user_id;
}

int fill_snapshot(bool nodes, struct dlt_snapshot **snapshot, struct dlt_error *error)
{
    struct dlt_snapshot *made = dlt_snapshot_create();
    partition_info_msg_t *partitions = NULL, *listed = NULL;
    node_info_msg_t *loaded = NULL;
    int result = -1;

    if (!made)
        return dlt_fail_memory(error);
    fill_cluster(made);
    if (fill_refused()) {
        *snapshot = made;
        return 0;
    }
    /* All of them, since a job may be sent to a hidden one by name; and those that the user is
     * shown, which say beside the hidden ones also what other groups have to themselves. */
    if (slurm_load_partitions(0, &partitions, SHOW_ALL) || slurm_load_partitions(0, &listed, 0)) {
        dlt_fail(error, "%s", slurm_strerror(errno));
        goto out;
    }
    /* Where only the nodes cannot be had, partitions that dltime.conf describes do without. */
    if (nodes && !made->nodes_private && slurm_load_node(0, &loaded, 0))
        loaded = NULL;
    for (uint32_t i = 0; i < partitions->record_count; i++) {
        const partition_info_t *info = &partitions->partition_array[i];
        struct dlt_partition *partition;

        /* Under a name that was cut nothing could be submitted. */
        if (!info->name || strlen(info->name) >= sizeof partition->name)
            continue;
        partition = dlt_snapshot_add(made);
        if (!partition) {
            dlt_fail(error, "too many partitions, or out of memory");
            goto out;
        }
        dlt_text_copy(partition->name, sizeof partition->name, info->name);
        fill_partition(partition, info);
        partition->listed = is_listed(listed, info->name) && !is_closed(info);
        if (loaded)
            count_nodes(partition, info->node_inx, loaded);
    }
    *snapshot = made;
    made = NULL;
    result = 0;
out:
    if (loaded)
        slurm_free_node_info_msg(loaded);
    if (partitions)
        slurm_free_partition_info_msg(partitions);
    if (listed)
        slurm_free_partition_info_msg(listed);
    dlt_snapshot_destroy(made);
    return result;
}

void fill_key(bool nodes, char *key, size_t size)
{
    const char *host =
        slurm_conf.control_cnt && slurm_conf.control_machine && slurm_conf.control_machine[0]
            ? slurm_conf.control_machine[0]
            : "";

    snprintf(key, size, "%s %s %u %s", slurm_conf.cluster_name ? slurm_conf.cluster_name : "", host,
             (unsigned)slurm_conf.slurmctld_port, nodes ? "nodes" : "partitions");
}
