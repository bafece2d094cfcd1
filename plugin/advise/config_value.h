/*
 * config_value.h - the values of dltime.conf's settings: what each may be, and what it becomes.
 */
#ifndef DLT_ADVISE_CONFIG_VALUE_H
#define DLT_ADVISE_CONFIG_VALUE_H

#include <libconfig.h>

#include "config.h"

/* What is being read: for messages and relative paths. */
struct dlt_config_source {
    const char *path;
    uid_t slurm_uid;
    struct dlt_config *config;
    struct dlt_error *error;
};

/* Always -1, with "FILE: line 12: partitions[3].max_wall: MEND". */
int dlt_config_refuse(const struct dlt_config_source *source, const config_setting_t *setting,
                      const char *mend);

/* A text in quotes, printable and not empty. */
int dlt_config_take_text(const struct dlt_config_source *source, const config_setting_t *setting,
                         char *to, size_t size);

/* text, relative to the folder of the file that says it; to has PATH_MAX bytes. */
int dlt_config_path_beside(const struct dlt_config_source *source, const config_setting_t *setting,
                           const char *text, char *to);

/* Frees what dlt_config_take_profile, _path and _features have kept. */
void dlt_config_forget_paths(struct dlt_config *config);

/* Reads a setting into what `to` points to. Returns 0, or -1 with the error filled. */
typedef int dlt_config_take(const struct dlt_config_source *source, const config_setting_t *setting,
                            void *to);

/* To a double: probabilities in (0, 1), bytes, seconds (an age may be 0), prices above 0, bytes/s.
 */
dlt_config_take dlt_config_take_probability;
dlt_config_take dlt_config_take_gib;
dlt_config_take dlt_config_take_mb;
dlt_config_take dlt_config_take_duration;
dlt_config_take dlt_config_take_age;
dlt_config_take dlt_config_take_price;
dlt_config_take dlt_config_take_interconnect;
/* To an int, 0 or more. */
dlt_config_take dlt_config_take_count;
dlt_config_take dlt_config_take_gpus;
/* To a bool, and to enumerations. */
dlt_config_take dlt_config_take_flag;
dlt_config_take dlt_config_take_basis;
dlt_config_take dlt_config_take_time_mode;
dlt_config_take dlt_config_take_partition_mode;
dlt_config_take dlt_config_take_objective;
/* To a char[DLT_NAME_SIZE], and to the members of these names: device,
 * default_candidates. */
dlt_config_take dlt_config_take_name;
dlt_config_take dlt_config_take_device;
dlt_config_take dlt_config_take_features;
dlt_config_take dlt_config_take_list;
/* To a const char * that the configuration keeps: a file, or an installed profile's name; a path.
 */
dlt_config_take dlt_config_take_profile;
dlt_config_take dlt_config_take_path;

#endif
