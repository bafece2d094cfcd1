/*
 * config.h - dltime.conf(5): what a site says about its partitions and how limits are to be set.
 */
#ifndef DLT_ADVISE_CONFIG_H
#define DLT_ADVISE_CONFIG_H

#include <limits.h>

#include "request.h"
#include "trust.h"

enum dlt_time_mode { DLT_TIME_SET, DLT_TIME_SUGGEST, DLT_TIME_OFF, DLT_TIME_MODES };
enum dlt_partition_mode {
    DLT_PARTITION_SUGGEST,
    DLT_PARTITION_AUTO, /* by the site's objective */
    DLT_PARTITION_OFF,
    DLT_PARTITION_AUTO_RUN,
    DLT_PARTITION_AUTO_COST,
    DLT_PARTITION_AUTO_FINISH,
    DLT_PARTITION_MODES
};
/* What --dl-partition=auto makes least: the run, its price, the time until it has ended. */
enum dlt_objective { DLT_OBJECTIVE_RUN, DLT_OBJECTIVE_COST, DLT_OBJECTIVE_FINISH, DLT_OBJECTIVES };
/* As options and dltime.conf spell them. */
extern const char *const dlt_time_mode_names[DLT_TIME_MODES];
extern const char *const dlt_partition_mode_names[DLT_PARTITION_MODES];
extern const char *const dlt_objective_names[DLT_OBJECTIVES];

/* One kind of node in a partition. A partition with several kinds has several entries. */
struct dlt_site_partition {
    char name[DLT_NAME_SIZE];
    char device[96];        /* as the profile knows it; "": by GRES type, or its only device */
    const char *profile;    /* "": the site's */
    const char *features;   /* "": not said */
    struct dlt_shape shape; /* 0: unknown; gpus 0: CPUs compute */
    double price;           /* of one device for an hour, in any unit; NaN: not said */
    double node_bandwidth;  /* bytes/s between nodes; 0: not said */
    double memory_bytes;    /* of one device; 0: unknown */
    double max_wall_s;      /* longest that QOS and associations allow anybody; NaN: not said */
};

struct dlt_config {
    char path[PATH_MAX]; /* "" where there is no file */
    double confidence;   /* quantile of the job's time that the limit covers; default 0.99 */
    enum dlt_basis set_requires; /* default adapted */
    double grain_s;              /* limits are multiples of it; default one minute */
    double min_limit_s;          /* default the grain */
    double max_limit_s;          /* default INFINITY */
    double warn_above; /* probability of overrunning --time from which to warn; default 0.5 */
    double better_by;  /* how much shorter a run must be to be named; default 0.1 */
    enum dlt_time_mode dl_time;
    enum dlt_partition_mode dl_partition;
    char default_candidates[1024]; /* where a job without -p may land; "": Slurm's default */
    enum dlt_objective objective;  /* of --dl-partition=auto; default run */
    bool ask_start; /* the controller may be asked when a job would start; default false */
    double checkpoint_bandwidth; /* bytes/s of checkpoints; 0: not said */
    const char *profile;         /* where a partition names none; "": none */
    const char *scaling;         /* what `dltime scaling` wrote; "": none */
    const char *history;         /* the folder that `dltime learn` writes; "": none */
    bool tag;                    /* leave a tag in the job's comment; default false */
    double deadline_s;           /* for asking the controller; default 1 */
    double snapshot_age_s;       /* for which an answer is reused; default 60 */
    size_t partition_count;
    struct dlt_site_partition *partitions;
    void *paths; /* features, and what the profiles point to */
};

/* The objective of a mode, or -1 where it chooses nothing. */
int dlt_config_objective(const struct dlt_config *config, enum dlt_partition_mode mode);

/* Defaults, without partitions. */
void dlt_config_init(struct dlt_config *config);
void dlt_config_clear(struct dlt_config *config);

/*
 * Reads a configuration (path NULL: the installed one) and the file that it includes, both subject
 * to dlt_trust_path. Relative paths in it are relative to its folder; a profile without a slash may
 * be the name of one that is installed. On failure the sentence has file, line or setting, and
 * mend, and *config is as dlt_config_init leaves it. The caller clears it either way.
 */
int dlt_config_load(const char *path, uid_t slurm_uid, struct dlt_config *config,
                    struct dlt_error *error);

#endif
