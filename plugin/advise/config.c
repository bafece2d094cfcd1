/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/known.h"
#include "base/paths.h"
#include "base/setting.h"
#include "base/text.h"
#include "config_kinds.h"
#include "config_value.h"

enum { CONFIG_BYTES_MAX = 8 << 20, ENTRIES_MAX = 1 << 14 };

struct setting_row {
    const char *name;
    dlt_config_take *read;
    size_t offset;
};

#define ROW(name, read, type, member)                                                              \
    {                                                                                              \
        name, read, offsetof(type, member)                                                         \
    }

static const struct setting_row partition_rows[] = {
    ROW("name", dlt_config_take_name, struct dlt_site_partition, name),
    ROW("device", dlt_config_take_device, struct dlt_site_partition, device),
    ROW("profile", dlt_config_take_profile, struct dlt_site_partition, profile),
    ROW("gpus_per_node", dlt_config_take_gpus, struct dlt_site_partition, shape.gpus),
    ROW("gpu_type", dlt_config_take_name, struct dlt_site_partition, shape.gpu),
    ROW("cores_per_node", dlt_config_take_count, struct dlt_site_partition, shape.cpus),
    ROW("nodes", dlt_config_take_count, struct dlt_site_partition, shape.nodes),
    ROW("memory_gib", dlt_config_take_gib, struct dlt_site_partition, memory_bytes),
    ROW("max_wall", dlt_config_take_duration, struct dlt_site_partition, max_wall_s),
    ROW("features", dlt_config_take_features, struct dlt_site_partition, features),
    ROW("price", dlt_config_take_price, struct dlt_site_partition, price),
    ROW("interconnect", dlt_config_take_interconnect, struct dlt_site_partition, node_bandwidth),
};

/* `include` and `partitions` are handled apart: name without reader. */
static const struct setting_row main_rows[] = {
    ROW("confidence", dlt_config_take_probability, struct dlt_config, confidence),
    ROW("set_requires", dlt_config_take_basis, struct dlt_config, set_requires),
    ROW("grain", dlt_config_take_duration, struct dlt_config, grain_s),
    ROW("min_limit", dlt_config_take_duration, struct dlt_config, min_limit_s),
    ROW("max_limit", dlt_config_take_duration, struct dlt_config, max_limit_s),
    ROW("warn_above", dlt_config_take_probability, struct dlt_config, warn_above),
    ROW("better_by", dlt_config_take_probability, struct dlt_config, better_by),
    ROW("dl_time", dlt_config_take_time_mode, struct dlt_config, dl_time),
    ROW("dl_partition", dlt_config_take_partition_mode, struct dlt_config, dl_partition),
    ROW("objective", dlt_config_take_objective, struct dlt_config, objective),
    ROW("ask_start", dlt_config_take_flag, struct dlt_config, ask_start),
    ROW("default_candidates", dlt_config_take_list, struct dlt_config, default_candidates),
    ROW("checkpoint_mb_per_s", dlt_config_take_mb, struct dlt_config, checkpoint_bandwidth),
    ROW("profile", dlt_config_take_profile, struct dlt_config, profile),
    ROW("scaling", dlt_config_take_path, struct dlt_config, scaling),
    ROW("history", dlt_config_take_path, struct dlt_config, history),
    ROW("tag", dlt_config_take_flag, struct dlt_config, tag),
    ROW("deadline", dlt_config_take_duration, struct dlt_config, deadline_s),
    ROW("snapshot_age", dlt_config_take_age, struct dlt_config, snapshot_age_s),
    {"include", NULL, 0},
    {"partitions", NULL, 0},
};
enum {
    MAIN_ROWS = sizeof main_rows / sizeof *main_rows,
    PARTITION_ROWS = sizeof partition_rows / sizeof *partition_rows
};

/* Reads the settings of a group into object by the rows of a table. */
static int read_group(const struct dlt_config_source *source, const config_setting_t *group,
                      const struct setting_row *rows, size_t count, void *object)
{
    for (int i = 0; i < config_setting_length(group); i++) {
        const config_setting_t *setting = config_setting_get_elem(group, (unsigned)i);
        const char *name = config_setting_name(setting);
        const char *names[MAIN_ROWS];
        size_t row = 0;

        for (; row < count && strcmp(rows[row].name, name) != 0; row++)
            names[row] = rows[row].name;
        if (row == count) {
            const char *nearest = dlt_text_nearest(name, names, count);
            char mend[96];

            snprintf(mend, sizeof mend, "unknown setting%s%s%s", nearest ? "; did you mean " : "",
                     nearest ? nearest : "", nearest ? "?" : "");
            return dlt_config_refuse(source, setting, mend);
        }
        if (rows[row].read && rows[row].read(source, setting, (char *)object + rows[row].offset))
            return -1;
    }
    return 0;
}

/* Room for so many partitions in place of those that there are. */
static int make_partitions(const struct dlt_config_source *source, size_t count)
{
    struct dlt_config *config = source->config;

    free(config->partitions);
    config->partition_count = 0;
    config->partitions = DLT_KEPT(calloc(count + 1, sizeof *config->partitions));
    return config->partitions ? 0 : dlt_fail_memory(source->error);
}

static int read_partition(const struct dlt_config_source *source, const config_setting_t *group,
                          struct dlt_site_partition *partition)
{
    partition->max_wall_s = partition->price = NAN;
    partition->profile = partition->features = "";
    return read_group(source, group, partition_rows, PARTITION_ROWS, partition);
}

static int read_partitions(const struct dlt_config_source *source, const config_setting_t *list)
{
    struct dlt_config *config = source->config;
    int count;

    if (!config_setting_is_list(list))
        return dlt_config_refuse(source, list, "has to be a list: ( { name = \"...\"; }, ... )");
    count = config_setting_length(list);
    if (count > ENTRIES_MAX)
        return dlt_config_refuse(source, list, "has too many entries");
    if (make_partitions(source, (size_t)count))
        return -1;
    for (int i = 0; i < count; i++) {
        const config_setting_t *entry = config_setting_get_elem(list, (unsigned)i);
        struct dlt_site_partition *partition = &config->partitions[config->partition_count];

        if (!config_setting_is_group(entry))
            return dlt_fail(source->error,
                            "%s: line %u: partitions[%d]: has to be a group: { ... }", source->path,
                            config_setting_source_line(entry), i);
        if (read_partition(source, entry, partition))
            return -1;
        if (!partition->name[0])
            return dlt_fail(source->error, "%s: line %u: partitions[%d]: has no name", source->path,
                            config_setting_source_line(entry), i);
        config->partition_count++;
    }
    return 0;
}

static int read_file(const struct dlt_config_source *source, bool included);

static int read_include(const struct dlt_config_source *source, const config_setting_t *setting)
{
    char text[PATH_MAX] = "", path[PATH_MAX];
    struct dlt_config_source inner = *source;

    if (dlt_config_take_text(source, setting, text, sizeof text) ||
        dlt_config_path_beside(source, setting, text, path))
        return -1;
    inner.path = path;
    return read_file(&inner, true);
}

/* The included file first, so that the including one's settings win. */
static int read_settings(const struct dlt_config_source *source, const config_t *parsed,
                         bool included)
{
    const config_setting_t *root = config_root_setting(parsed);
    const config_setting_t *include = config_setting_get_member(root, "include");
    const config_setting_t *partitions = config_setting_get_member(root, "partitions");

    if (include && included)
        return dlt_config_refuse(source, include, "an included file cannot include another");
    if (include && read_include(source, include))
        return -1;
    if (read_group(source, root, main_rows, MAIN_ROWS, source->config))
        return -1;
    return partitions ? read_partitions(source, partitions) : 0;
}

static int read_text(const struct dlt_config_source *source, const char *text, size_t size,
                     bool included)
{
    config_t parsed;
    int result = -1;

    if (dlt_setting_parse(&parsed, source->path, text, size, source->error) == 0)
        result = read_settings(source, &parsed, included);
    config_destroy(&parsed);
    return result;
}

/* The first entry of a kind, without its name. */
static int read_kind(const struct dlt_config_source *source, const struct dlt_entry_text *entry,
                     struct dlt_site_partition *partition)
{
    char *text = strndup(entry->rest, entry->rest_size);
    config_t parsed;
    int result = -1;

    if (!text)
        return dlt_fail_memory(source->error);
    if (dlt_setting_parse(&parsed, source->path, text, entry->rest_size, source->error) == 0)
        result = read_partition(source, config_root_setting(&parsed), partition);
    config_destroy(&parsed);
    free(text);
    return result == 0 && !partition->name[0] ? 0 : -1; /* two names */
}

static int read_kinds(const struct dlt_config_source *source, const struct dlt_entry_texts *texts)
{
    struct dlt_config *config = source->config;

    if (texts->count > ENTRIES_MAX || make_partitions(source, texts->count))
        return -1;
    for (size_t i = 0; i < texts->count; i++) {
        const struct dlt_entry_text *entry = &texts->entry[i];
        struct dlt_site_partition *partition = &config->partitions[i];

        if (entry->name_size == 0 || entry->name_size >= sizeof partition->name)
            return -1;
        if (entry->like < i)
            *partition = config->partitions[entry->like];
        else if (read_kind(source, entry, partition))
            return -1;
        memcpy(partition->name, entry->name, entry->name_size);
        partition->name[entry->name_size] = '\0';
        dlt_text_printable(partition->name);
    }
    config->partition_count = texts->count;
    return 0;
}

/* By kinds of partitions where that succeeds; if not, all of it as it stands, for what is wrong and
 * in which line. */
static int read_file(const struct dlt_config_source *source, bool included)
{
    struct dlt_entry_texts texts = {0};
    char *text = NULL;
    size_t size;
    int result = -1;

    if (dlt_trust_read(source->path, source->slurm_uid, CONFIG_BYTES_MAX, &text, &size,
                       source->error))
        return -1;
    if (strlen(text) == size && dlt_entry_texts_find(text, &texts) &&
        read_text(source, texts.around, strlen(texts.around), included) == 0)
        result = read_kinds(source, &texts);
    if (result)
        result = read_text(source, text, size, included);
    dlt_entry_texts_clear(&texts);
    free(text);
    return result;
}

void dlt_config_init(struct dlt_config *config)
{
    *config = (struct dlt_config){
        .confidence = 0.99,
        .set_requires = DLT_BASIS_ADAPTED,
        .grain_s = 60,
        .min_limit_s = 60,
        .max_limit_s = INFINITY,
        .warn_above = 0.5,
        .better_by = 0.1,
        .deadline_s = 1,
        .snapshot_age_s = 60,
        .profile = "",
        .scaling = "",
        .history = "",
    };
}

void dlt_config_clear(struct dlt_config *config)
{
    free(config->partitions);
    config->partitions = NULL;
    config->partition_count = 0;
    dlt_config_forget_paths(config);
    config->profile = config->scaling = config->history = "";
}

int dlt_config_objective(const struct dlt_config *config, enum dlt_partition_mode mode)
{
    static const int objectives[DLT_PARTITION_MODES] = {
        [DLT_PARTITION_SUGGEST] = -1,
        [DLT_PARTITION_AUTO] = -1,
        [DLT_PARTITION_OFF] = -1,
        [DLT_PARTITION_AUTO_RUN] = DLT_OBJECTIVE_RUN,
        [DLT_PARTITION_AUTO_COST] = DLT_OBJECTIVE_COST,
        [DLT_PARTITION_AUTO_FINISH] = DLT_OBJECTIVE_FINISH,
    };

    return mode == DLT_PARTITION_AUTO ? (int)config->objective : objectives[mode];
}

/* Settings that are right one by one and leave no limit that could be set. */
static int check_limits(const struct dlt_config_source *source)
{
    const struct dlt_config *config = source->config;
    char least[32], most[32];

    if (config->min_limit_s <= config->max_limit_s)
        return 0;
    return dlt_fail(source->error,
                    "%s: max_limit is %s, less than min_limit, which is %s: raise it", source->path,
                    dlt_text_from_duration(most, config->max_limit_s),
                    dlt_text_from_duration(least, config->min_limit_s));
}

int dlt_config_load(const char *path, uid_t slurm_uid, struct dlt_config *config,
                    struct dlt_error *error)
{
    struct dlt_config_source source = {path, slurm_uid, config, error};
    char installed[PATH_MAX];

    dlt_config_init(config);
    if (!path)
        source.path = path = dlt_path(DLT_FOLDER_CONF, "dltime.conf", installed, sizeof installed);
    if (!path)
        return dlt_fail(error, "the path of the installed dltime.conf is too long");
    if (!dlt_text_copy(config->path, sizeof config->path, path))
        return dlt_fail(error, "%.64s...: the path is too long", path);
    if (read_file(&source, false) == 0 && check_limits(&source) == 0)
        return 0;
    dlt_config_clear(config);
    dlt_config_init(config);
    return -1;
}
