/* Slurm 26.05: as 25.11. */
#define RELEASE_PARTITION_FLAGS uint32_t
#define RELEASE_LIST            struct list *
#define RELEASE_WILL_RUN                                                                           \
    char *cluster_name, *job_submit_user_msg, *node_list, *part_name;                              \
    RELEASE_LIST preemptee_job_id;                                                                 \
    uint32_t proc_cnt;                                                                             \
    struct {                                                                                       \
        uint32_t job_id, step_id;                                                                  \
    } step_id;
#include "../../declarations.h"
