/*
 * snapshot.h - what a cluster looks like to one user at one moment: partitions, limits, devices.
 *
 * Flat and serialisable, without a type of Slurm's: it is filled by plugin/slurm (in a child
 * process, or in dltime-snapshot), travels as text, is cached, and is all that the policy knows.
 */
#ifndef DLT_ADVISE_SNAPSHOT_H
#define DLT_ADVISE_SNAPSHOT_H

#include <stdio.h>

#include "dltime.h"

enum { DLT_NAME_SIZE = 64, DLT_LIST_SIZE = 256, DLT_SHAPES = 64, DLT_PARTITIONS_MAX = 4096 };
enum { DLT_SNAPSHOT_BYTES_MAX = 8 << 20 };

/* Who may use a partition, or may not: names with commas. "": nothing is said. */
struct dlt_list {
    char names[DLT_LIST_SIZE];
};

/* A kind of node in a partition. 0 or "": unknown, except gpus, where 0 means none. */
struct dlt_shape {
    int nodes;
    int cpus; /* of one node */
    int gpus; /* of one node */
    double memory_bytes;
    char gpu[DLT_NAME_SIZE]; /* GRES type: "v100"; "" for untyped GPUs */
};

struct dlt_partition {
    char name[DLT_NAME_SIZE];
    bool up; /* takes jobs and runs them */
    bool is_default;
    bool exclusive; /* jobs have whole nodes, whatever they ask for */
    /* Slurm shows it to this user, and would take a job from this host: it is neither hidden, nor
     * another group's, root's or reservations' alone, nor closed by AllocNodes. */
    bool listed;
    int nodes;
    int max_nodes;         /* of one job; 0: no limit */
    double default_time_s; /* NaN: none, a job without --time gets the longest there is */
    double max_time_s;     /* INFINITY: no limit */
    struct dlt_list allow_accounts, deny_accounts, allow_qos, deny_qos;
    size_t shape_count; /* 0: nodes were not loaded */
    struct dlt_shape shapes[DLT_SHAPES];
};

struct dlt_snapshot {
    char cluster[DLT_NAME_SIZE];
    char slurm[32];    /* release of the client that filled it: "22.05.8" */
    int64_t taken;     /* seconds since 1970 */
    int64_t slurm_uid; /* who owns the site's configuration beside root */
    bool
        limits_enforced; /* associations and QOS may limit a job's time; by how much is not known */
    bool nodes_private;  /* PrivateData=nodes: do not ask */
    size_t partition_count, room;
    struct dlt_partition *partitions;
};

/* An empty snapshot, or NULL when memory is short. */
struct dlt_snapshot *dlt_snapshot_create(void);
void dlt_snapshot_destroy(struct dlt_snapshot *snapshot);

/* Appends an empty partition, owned by the snapshot and valid until the next one is added.
 * NULL: memory is short or there are DLT_PARTITIONS_MAX. */
struct dlt_partition *dlt_snapshot_add(struct dlt_snapshot *snapshot);

/* Counts `nodes` nodes like `shape` in: to an equal shape where there is one. Kinds beyond
 * DLT_SHAPES are dropped. */
void dlt_partition_count_in(struct dlt_partition *partition, const struct dlt_shape *shape,
                            int nodes);

/* Names as Slurm has them into a list: NULL and "ALL" are "". Names that do not fit whole are left
 * out, which of an allowing list only keeps dltime from naming the partition; a denying one that is
 * too long becomes "*", everybody. */
void dlt_list_set(struct dlt_list *list, const char *names, bool denies);

/* Writes it as text, one record a line, tabs between fields, "end" last. 0, or -1 with errno. */
int dlt_snapshot_write(FILE *stream, const struct dlt_snapshot *snapshot);

/*
 * Reads what dlt_snapshot_write wrote. Bounded: anything longer, larger, cut short or out of order
 * is refused with the line's number. The caller destroys *snapshot.
 */
int dlt_snapshot_parse(const char *data, size_t size, struct dlt_snapshot **snapshot,
                       struct dlt_error *error);

#endif
