/* Slurm 20.11: the last without slurm_opt_create_job_desc; spank functions return int or an
 * enumeration. */
#define RELEASE_PARTITION_FLAGS uint16_t
#define RELEASE_LIST            void *
#define RELEASE_WILL_RUN                                                                           \
    uint32_t job_id;                                                                               \
    char *job_submit_user_msg, *node_list, *part_name;                                             \
    RELEASE_LIST preemptee_job_id;                                                                 \
    uint32_t proc_cnt;
#include "../../declarations.h"
