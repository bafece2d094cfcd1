/*
 * history.h - corrections from finished jobs, as `dltime learn` writes them: by how much jobs of a
 * network on a partition took longer than was predicted.
 */
#ifndef DLT_PREDICT_HISTORY_H
#define DLT_PREDICT_HISTORY_H

#include <sys/types.h>

#include "dltime.h"

struct dlt_correction {
    uint64_t network; /* its fingerprint (tag.h); 0: any network */
    char partition[64];
    double factor;      /* of the job's time, DLT_FACTOR_LEAST to DLT_FACTOR_MOST */
    double jobs, users; /* that it rests on */
};

/* What no history may go beyond: a prediction that is further off than this has another cause. */
#define DLT_FACTOR_LEAST 0.2
#define DLT_FACTOR_MOST  5.0

struct dlt_history {
    size_t count, room;
    struct dlt_correction *correction;
};

/* Appends a copy. Returns 0 or -1 out of memory. */
int dlt_history_add(struct dlt_history *history, const struct dlt_correction *correction);

/*
 * The correction for a network on a partition: that of the network, else of any network there.
 * NULL: none. history may be NULL.
 */
const struct dlt_correction *dlt_history_find(const struct dlt_history *history, uint64_t network,
                                              const char *partition);

/* Who a file belongs to and who may read it. */
struct dlt_history_owner {
    bool given; /* false: whoever writes it */
    uid_t user;
    gid_t group;
    mode_t mode;
};

/* Writes a file of corrections (JSON), which dlt_history_load reads. It has its owner and its
 * permissions before it has its name. */
int dlt_history_save(const struct dlt_history *history, const char *path,
                     const struct dlt_history_owner *owner, struct dlt_error *error);

#endif
