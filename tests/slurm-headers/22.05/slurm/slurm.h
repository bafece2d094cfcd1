/* Slurm 22.05: lists are of a type of their own; spank functions return spank_err_t. */
#define RELEASE_PARTITION_FLAGS uint16_t
#define RELEASE_LIST            struct xlist *
#define RELEASE_WILL_RUN                                                                           \
    uint32_t job_id;                                                                               \
    char *job_submit_user_msg, *node_list, *part_name;                                             \
    RELEASE_LIST preemptee_job_id;                                                                 \
    uint32_t proc_cnt;
#include "../../declarations.h"
