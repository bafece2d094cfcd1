/*
 * declarations.h - what the plugin uses of Slurm's public headers, for the releases beside this
 * file. Each defines before it includes this:
 *
 *   RELEASE_PARTITION_FLAGS   type of partition_info_t.flags
 *   RELEASE_LIST              type of a list
 *   RELEASE_WILL_RUN          members of will_run_response_msg_t before start_time
 */
#ifndef TEST_SLURM_DECLARATIONS_H
#define TEST_SLURM_DECLARATIONS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <slurm/slurm_version.h>

#define NO_VAL16                0xfffe
#define NO_VAL                  0xfffffffeU
#define SHOW_ALL                1
#define PARTITION_UP            3
#define PART_FLAG_DEFAULT       1
#define PART_FLAG_NO_ROOT       4
#define PART_FLAG_ROOT_ONLY     8
#define PART_FLAG_REQ_RESV      16
#define PRIVATE_DATA_NODES      2
#define PRIVATE_DATA_PARTITIONS 4

typedef struct {
    char *account, *features, *partition, *qos;
    char *tres_per_job, *tres_per_node, *tres_per_socket, *tres_per_task;
    uint32_t time_limit, min_nodes, max_nodes, num_tasks, min_cpus, user_id, group_id;
    uint16_t ntasks_per_node, cpus_per_task, sockets_per_node, shared;
} job_desc_msg_t;

typedef struct {
    char *name, *allow_accounts, *deny_accounts, *allow_qos, *deny_qos, *allow_alloc_nodes;
    uint16_t state_up, max_share;
    RELEASE_PARTITION_FLAGS flags;
    uint32_t total_nodes, max_nodes, default_time, max_time;
    int32_t *node_inx;
} partition_info_t;

typedef struct {
    uint32_t record_count;
    partition_info_t *partition_array;
} partition_info_msg_t;

typedef struct {
    char *name, *gres;
    uint16_t cpus;
    uint64_t real_memory;
} node_info_t;

typedef struct {
    uint32_t record_count;
    node_info_t *node_array;
} node_info_msg_t;

typedef struct {
    RELEASE_WILL_RUN
    time_t start_time;
} will_run_response_msg_t;

typedef struct {
    char *cluster_name, **control_machine;
    uint32_t control_cnt, slurmctld_port, slurm_user_id;
    uint16_t accounting_storage_enforce, private_data;
} slurm_conf_t;

extern void slurm_init(const char *conf);
extern long slurm_api_version(void);
extern char *slurm_strerror(int error);
extern struct hostlist *slurm_hostlist_create(const char *hosts);
extern int slurm_hostlist_find(struct hostlist *list, const char *host);
extern void slurm_hostlist_destroy(struct hostlist *list);
extern int slurm_load_partitions(time_t since, partition_info_msg_t **partitions, uint16_t flags);
extern void slurm_free_partition_info_msg(partition_info_msg_t *partitions);
extern int slurm_load_node(time_t since, node_info_msg_t **nodes, uint16_t flags);
extern void slurm_free_node_info_msg(node_info_msg_t *nodes);
extern int slurm_job_will_run2(job_desc_msg_t *job, will_run_response_msg_t **answer);

#endif
