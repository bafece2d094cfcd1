/*
 * request.h - what a job asks for, in dltime's own terms, and what that comes to in a partition.
 */
#ifndef DLT_ADVISE_REQUEST_H
#define DLT_ADVISE_REQUEST_H

#include "snapshot.h"

struct dlt_gpu_request {
    int count;                /* 0: not asked for */
    char type[DLT_NAME_SIZE]; /* "": any */
};

/* 0, "" or NaN: not said. */
struct dlt_request {
    char partitions[1024]; /* as -p has them, with commas */
    double time_s;         /* --time; INFINITY: unlimited */
    int nodes, tasks, tasks_per_node, cpus_per_task;
    int most_nodes; /* of -N 2-4, of which `nodes` has the least; 0 or that: so many and no more */
    int cpus;       /* of the job at least */
    int sockets_per_node;
    bool exclusive;
    struct dlt_gpu_request per_job, per_node, per_socket, per_task;
    char account[DLT_NAME_SIZE], qos[DLT_NAME_SIZE];
    char features[DLT_LIST_SIZE]; /* --constraint as it was given */
    /* Options, as literals; NULL: not given. Beside hands_off ("--deadline") a time limit is not
     * touched, beside bound ("--nodelist") no partition; elsewhere ("--clusters") says that the job
     * goes to where this cluster's partitions say nothing. */
    const char *hands_off, *bound, *elsewhere;
};

/* A request that says nothing. */
void dlt_request_init(struct dlt_request *request);

/*
 * Reads the GPUs out of one of Slurm's TRES texts or GRES options: "gres:gpu:v100:4",
 * "gpu:2,gpu:a100:1", "gpu:v100:2(S:0-1)", "v100:2", "4", "gpu". Other resources in the list are
 * passed over. gpus_only: the option names GPUs alone (--gpus), so that "v100:2" needs no "gpu:".
 * Several entries add up; the type is kept if they agree. Returns false if a count is no number.
 */
bool dlt_request_gpus(const char *text, bool gpus_only, struct dlt_gpu_request *gpus);

/*
 * Reads what -N says, "2" or "2-4", into nodes and most_nodes. False where it is neither; what
 * could be read of it is taken all the same.
 */
bool dlt_request_nodes(const char *text, struct dlt_request *request);

/* Whether any GPU is asked for. */
bool dlt_request_wants_gpus(const struct dlt_request *request);

/* What a request comes to on nodes of one shape. */
struct dlt_placement {
    int devices; /* in all: GPUs, or nodes where CPUs compute */
    int nodes;
    int cpus; /* of each node; 0: unknown */
};

/* False where the request cannot run on nodes of that shape: too few GPUs, another type, too few
 * nodes. What is not known of the shape does not stand against it. */
bool dlt_request_place(const struct dlt_request *request, const struct dlt_shape *shape,
                       struct dlt_placement *placement);

/* Whether the job's user may use a partition, as far as --account and --qos tell. */
enum dlt_access { DLT_ACCESS_OPEN, DLT_ACCESS_UNSURE, DLT_ACCESS_CLOSED };
enum dlt_access dlt_request_access(const struct dlt_request *request,
                                   const struct dlt_partition *partition);

/*
 * Whether --constraint lets the job onto nodes of these features (with commas; "": not known).
 * UNSURE where they are not known or the constraint is more than features joined by & or commas.
 */
enum dlt_access dlt_request_features(const struct dlt_request *request, const char *features);

/* Whether name is in a list with commas. */
bool dlt_list_has(const char *list, const char *name);

#endif
