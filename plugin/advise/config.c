/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <math.h>
#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/paths.h"
#include "base/text.h"
#include "predict/interconnect.h"
#include "setting.h"
#include "words.h"

enum { CONFIG_BYTES_MAX = 8 << 20, ENTRIES_MAX = 1 << 14, GPUS_MAX = 1 << 10, COUNT_MAX = 1 << 24 };

const char *const dlt_time_mode_names[DLT_TIME_MODES] = {DLT_TIME_WORDS};
const char *const dlt_partition_mode_names[DLT_PARTITION_MODES] = {DLT_PARTITION_WORDS};
const char *const dlt_objective_names[DLT_OBJECTIVES] = {DLT_OBJECTIVE_WORDS};

/* What is being read: for messages and relative paths. */
struct source {
    const char *path;
    uid_t slurm_uid;
    struct dlt_config *config;
    struct dlt_error *error;
};

/* One setting's place: "file: line 12: partitions[3].max_wall: ..." */
static int refuse(const struct source *source, const config_setting_t *setting, const char *mend)
{
    const config_setting_t *parent = config_setting_parent(setting);
    const char *name = config_setting_name(setting);
    char place[32] = "";

    if (parent && !config_setting_is_root(parent))
        snprintf(place, sizeof place, "partitions[%d].", config_setting_index(parent));
    return dlt_fail(source->error, "%s: line %u: %s%s: %s", source->path,
                    config_setting_source_line(setting), place, name ? name : "entry", mend);
}

static int read_probability(const struct source *source, const config_setting_t *setting, void *to)
{
    double value;

    if (!dlt_setting_number(setting, &value) || !(value > 0 && value < 1))
        return refuse(source, setting, "has to be a number between 0 and 1, such as 0.99");
    *(double *)to = value;
    return 0;
}

static int read_gib(const struct source *source, const config_setting_t *setting, void *to)
{
    double value;

    if (!dlt_setting_number(setting, &value) || !(value > 0 && value < 1e6))
        return refuse(source, setting, "has to be a number of GiB above 0, such as 32");
    *(double *)to = value * 1024 * 1024 * 1024;
    return 0;
}

static int read_count(const struct source *source, const config_setting_t *setting, void *to)
{
    double value;

    if (!dlt_setting_number(setting, &value) || value != floor(value) ||
        !(value >= 0 && value <= COUNT_MAX))
        return refuse(source, setting, "has to be a whole number, 0 or more");
    *(int *)to = (int)value;
    return 0;
}

static int read_gpus(const struct source *source, const config_setting_t *setting, void *to)
{
    if (read_count(source, setting, to))
        return -1;
    return *(int *)to > GPUS_MAX ? refuse(source, setting, "is more than a node can have") : 0;
}

/* A duration as Slurm writes it, or with a unit; a bare number is seconds. */
static int read_duration(const struct source *source, const config_setting_t *setting, void *to)
{
    const char *text = config_setting_get_string(setting);
    double value;

    if (text ? !dlt_text_to_duration(text, 1, &value) : !dlt_setting_number(setting, &value))
        value = -1;
    if (!(value > 0 && value < 1e9))
        return refuse(source, setting,
                      "has to be a time above 0, such as \"10m\", \"1-12:00:00\" or 90 (seconds)");
    *(double *)to = value;
    return 0;
}

/* A duration that may be nothing. */
static int read_age(const struct source *source, const config_setting_t *setting, void *to)
{
    double value;

    if (dlt_setting_number(setting, &value) && value == 0) {
        *(double *)to = 0;
        return 0;
    }
    if (dlt_setting_number(setting, &value) && value < 0)
        return refuse(source, setting,
                      "has to be a time, such as 60 (seconds), or 0 for asking each time");
    return read_duration(source, setting, to);
}

static int read_price(const struct source *source, const config_setting_t *setting, void *to)
{
    double value;

    if (!dlt_setting_number(setting, &value) || !(value > 0 && value < 1e9))
        return refuse(source, setting, "has to be a number above 0, such as 2.5");
    *(double *)to = value;
    return 0;
}

static int read_flag(const struct source *source, const config_setting_t *setting, void *to)
{
    if (config_setting_type(setting) != CONFIG_TYPE_BOOL)
        return refuse(source, setting, "has to be true or false");
    *(bool *)to = config_setting_get_bool(setting);
    return 0;
}

static int read_word(const struct source *source, const config_setting_t *setting,
                     const char *const *words, size_t count, int *to)
{
    const char *text = config_setting_get_string(setting);
    char mend[160] = "has to be one of";

    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(mend);

        if (text && strcmp(text, words[i]) == 0) {
            *to = (int)i;
            return 0;
        }
        snprintf(mend + used, sizeof mend - used, "%s \"%s\"", i ? "," : "", words[i]);
    }
    return refuse(source, setting, mend);
}

static int read_basis(const struct source *source, const config_setting_t *setting, void *to)
{
    const char *words[DLT_BASIS_MEASURED];
    int index;

    for (int i = 0; i < DLT_BASIS_MEASURED; i++)
        words[i] = dlt_basis_name((enum dlt_basis)(i + 1));
    if (read_word(source, setting, words, DLT_BASIS_MEASURED, &index))
        return -1;
    *(enum dlt_basis *)to = (enum dlt_basis)(index + 1);
    return 0;
}

static int read_time_mode(const struct source *source, const config_setting_t *setting, void *to)
{
    int index;

    if (read_word(source, setting, dlt_time_mode_names, DLT_TIME_MODES, &index))
        return -1;
    *(enum dlt_time_mode *)to = (enum dlt_time_mode)index;
    return 0;
}

static int read_partition_mode(const struct source *source, const config_setting_t *setting,
                               void *to)
{
    int index;

    if (read_word(source, setting, dlt_partition_mode_names, DLT_PARTITION_MODES, &index))
        return -1;
    *(enum dlt_partition_mode *)to = (enum dlt_partition_mode)index;
    return 0;
}

static int read_objective(const struct source *source, const config_setting_t *setting, void *to)
{
    int index;

    if (read_word(source, setting, dlt_objective_names, DLT_OBJECTIVES, &index))
        return -1;
    *(enum dlt_objective *)to = (enum dlt_objective)index;
    return 0;
}

static int read_text(const struct source *source, const config_setting_t *setting, char *to,
                     size_t size)
{
    struct dlt_error error;

    return dlt_setting_text(setting, to, size, &error) ? refuse(source, setting, error.text) : 0;
}

static int read_name(const struct source *source, const config_setting_t *setting, void *to)
{
    return read_text(source, setting, to, DLT_NAME_SIZE);
}

static int read_device(const struct source *source, const config_setting_t *setting, void *to)
{
    return read_text(source, setting, to, sizeof((struct dlt_site_partition *)0)->device);
}

static int read_features(const struct source *source, const config_setting_t *setting, void *to)
{
    return read_text(source, setting, to, DLT_LIST_SIZE);
}

static int read_list(const struct source *source, const config_setting_t *setting, void *to)
{
    return read_text(source, setting, to, sizeof((struct dlt_config *)0)->default_candidates);
}

/* text relative to the folder of the file that says it. */
static int path_beside(const struct source *source, const config_setting_t *setting,
                       const char *text, char *to)
{
    const char *slash = strrchr(source->path, '/');
    int folder = slash && *text != '/' ? (int)(slash + 1 - source->path) : 0;
    int length = snprintf(to, PATH_MAX, "%.*s%s", folder, source->path, text);

    return length < 0 || length >= PATH_MAX ? refuse(source, setting, "is too long") : 0;
}

/* Many partitions name one profile. A name means one path in one file. */
struct named_path {
    const char *file; /* that says it: one of two, so that pointers tell them apart */
    char *path;
    char name[];
};

static int compare_paths(const void *a, const void *b)
{
    const struct named_path *left = a, *right = b;

    if (left->file != right->file)
        return left->file < right->file ? -1 : 1;
    return strcmp(left->name, right->name);
}

static struct named_path *make_path(const struct source *source, const char *name, const char *path)
{
    size_t size = strlen(name) + 1;
    struct named_path *made = malloc(sizeof *made + size);

    if (made) {
        memcpy(made->name, name, size);
        made->file = source->path;
        made->path = strdup(path);
    }
    return made;
}

static void free_path(void *named)
{
    free(((struct named_path *)named)->path);
    free(named);
}

static const char *find_path(const struct source *source, const char *name)
{
    struct named_path *key = make_path(source, name, "");
    struct named_path *const *found =
        key ? tfind(key, &source->config->paths, compare_paths) : NULL;
    const char *path = found ? (*found)->path : NULL;

    if (key)
        free_path(key);
    return path;
}

/* NULL out of memory. */
static const char *keep_path(const struct source *source, const char *name, const char *path)
{
    struct named_path *made = make_path(source, name, path);

    if (made && made->path && tsearch(made, &source->config->paths, compare_paths))
        return made->path;
    if (made)
        free_path(made);
    return NULL;
}

static int read_profile(const struct source *source, const config_setting_t *setting, void *to)
{
    char text[PATH_MAX] = "", path[PATH_MAX], below[PATH_MAX], installed[PATH_MAX];
    const char **profile = to;

    if (read_text(source, setting, text, sizeof text))
        return -1;
    *profile = find_path(source, text);
    if (*profile)
        return 0;
    if (path_beside(source, setting, text, path))
        return -1;
    if (!strchr(text, '/') && access(path, F_OK) != 0 &&
        snprintf(below, sizeof below, "profiles/%s%s", text, strstr(text, ".dlp") ? "" : ".dlp") <
            (int)sizeof below &&
        dlt_path(DLT_FOLDER_DATA, below, installed, sizeof installed) &&
        access(installed, F_OK) == 0)
        memcpy(path, installed, strlen(installed) + 1);
    *profile = keep_path(source, text, path);
    return *profile ? 0 : dlt_fail_memory(source->error);
}

static int read_path(const struct source *source, const config_setting_t *setting, void *to)
{
    char text[PATH_MAX] = "", path[PATH_MAX];
    const char **kept = to;

    if (read_text(source, setting, text, sizeof text) || path_beside(source, setting, text, path))
        return -1;
    /* Apart from profiles of the same name. */
    *kept = find_path(source, path);
    if (!*kept)
        *kept = keep_path(source, path, path);
    return *kept ? 0 : dlt_fail_memory(source->error);
}

static int read_interconnect(const struct source *source, const config_setting_t *setting, void *to)
{
    const char *text = config_setting_get_string(setting);
    const struct dlt_interconnect *found = text ? dlt_interconnect_find(text) : NULL;

    if (!found)
        return refuse(source, setting,
                      "has to be one of 10gbe to 400gbe, edr, hdr, hdr100, ndr, "
                      "ndr200");
    *(double *)to = found->bandwidth;
    return 0;
}

struct setting_row {
    const char *name;
    int (*read)(const struct source *source, const config_setting_t *setting, void *to);
    size_t offset;
};

#define ROW(name, read, type, member)                                                              \
    {                                                                                              \
        name, read, offsetof(type, member)                                                         \
    }

static const struct setting_row partition_rows[] = {
    ROW("name", read_name, struct dlt_site_partition, name),
    ROW("device", read_device, struct dlt_site_partition, device),
    ROW("profile", read_profile, struct dlt_site_partition, profile),
    ROW("gpus_per_node", read_gpus, struct dlt_site_partition, shape.gpus),
    ROW("gpu_type", read_name, struct dlt_site_partition, shape.gpu),
    ROW("cores_per_node", read_count, struct dlt_site_partition, shape.cpus),
    ROW("nodes", read_count, struct dlt_site_partition, shape.nodes),
    ROW("memory_gib", read_gib, struct dlt_site_partition, memory_bytes),
    ROW("max_wall", read_duration, struct dlt_site_partition, max_wall_s),
    ROW("features", read_features, struct dlt_site_partition, features),
    ROW("price", read_price, struct dlt_site_partition, price),
    ROW("interconnect", read_interconnect, struct dlt_site_partition, node_bandwidth),
};

/* `include` and `partitions` are handled apart: name without reader. */
static const struct setting_row main_rows[] = {
    ROW("confidence", read_probability, struct dlt_config, confidence),
    ROW("set_requires", read_basis, struct dlt_config, set_requires),
    ROW("grain", read_duration, struct dlt_config, grain_s),
    ROW("min_limit", read_duration, struct dlt_config, min_limit_s),
    ROW("max_limit", read_duration, struct dlt_config, max_limit_s),
    ROW("warn_above", read_probability, struct dlt_config, warn_above),
    ROW("better_by", read_probability, struct dlt_config, better_by),
    ROW("dl_time", read_time_mode, struct dlt_config, dl_time),
    ROW("dl_partition", read_partition_mode, struct dlt_config, dl_partition),
    ROW("objective", read_objective, struct dlt_config, objective),
    ROW("ask_start", read_flag, struct dlt_config, ask_start),
    ROW("default_candidates", read_list, struct dlt_config, default_candidates),
    ROW("profile", read_profile, struct dlt_config, profile),
    ROW("scaling", read_path, struct dlt_config, scaling),
    ROW("history", read_path, struct dlt_config, history),
    ROW("tag", read_flag, struct dlt_config, tag),
    ROW("deadline", read_duration, struct dlt_config, deadline_s),
    ROW("snapshot_age", read_age, struct dlt_config, snapshot_age_s),
    {"include", NULL, 0},
    {"partitions", NULL, 0},
};
enum {
    MAIN_ROWS = sizeof main_rows / sizeof *main_rows,
    PARTITION_ROWS = sizeof partition_rows / sizeof *partition_rows
};

/* Reads the settings of a group into object by the rows of a table. */
static int read_group(const struct source *source, const config_setting_t *group,
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
            return refuse(source, setting, mend);
        }
        if (rows[row].read && rows[row].read(source, setting, (char *)object + rows[row].offset))
            return -1;
    }
    return 0;
}

static int read_partitions(const struct source *source, const config_setting_t *list)
{
    struct dlt_config *config = source->config;
    int count;

    if (!config_setting_is_list(list))
        return refuse(source, list, "has to be a list: ( { name = \"...\"; }, ... )");
    count = config_setting_length(list);
    if (count > ENTRIES_MAX)
        return refuse(source, list, "has too many entries");
    free(config->partitions);
    config->partition_count = 0;
    config->partitions = calloc((size_t)count + 1, sizeof *config->partitions);
    if (!config->partitions)
        return dlt_fail_memory(source->error);
    for (int i = 0; i < count; i++) {
        const config_setting_t *entry = config_setting_get_elem(list, (unsigned)i);
        struct dlt_site_partition *partition = &config->partitions[config->partition_count];

        if (!config_setting_is_group(entry))
            return dlt_fail(source->error,
                            "%s: line %u: partitions[%d]: has to be a group: { ... }", source->path,
                            config_setting_source_line(entry), i);
        partition->max_wall_s = partition->price = NAN;
        partition->profile = "";
        if (read_group(source, entry, partition_rows, PARTITION_ROWS, partition))
            return -1;
        if (!partition->name[0])
            return dlt_fail(source->error, "%s: line %u: partitions[%d]: has no name", source->path,
                            config_setting_source_line(entry), i);
        config->partition_count++;
    }
    return 0;
}

static int read_file(const struct source *source, bool included);

static int read_include(const struct source *source, const config_setting_t *setting)
{
    char text[PATH_MAX] = "", path[PATH_MAX];
    struct source inner = *source;

    if (read_text(source, setting, text, sizeof text) || path_beside(source, setting, text, path))
        return -1;
    inner.path = path;
    return read_file(&inner, true);
}

/* The included file first, so that the including one's settings win. */
static int read_settings(const struct source *source, const config_t *parsed, bool included)
{
    const config_setting_t *root = config_root_setting(parsed);
    const config_setting_t *include = config_setting_get_member(root, "include");
    const config_setting_t *partitions = config_setting_get_member(root, "partitions");

    if (include && included)
        return refuse(source, include, "an included file cannot include another");
    if (include && read_include(source, include))
        return -1;
    if (read_group(source, root, main_rows, MAIN_ROWS, source->config))
        return -1;
    return partitions ? read_partitions(source, partitions) : 0;
}

static int read_file(const struct source *source, bool included)
{
    char *text = NULL;
    size_t size;
    config_t parsed;
    int result = -1;

    if (dlt_trust_read(source->path, source->slurm_uid, CONFIG_BYTES_MAX, &text, &size,
                       source->error))
        return -1;
    if (dlt_setting_parse(&parsed, source->path, text, size, source->error) == 0)
        result = read_settings(source, &parsed, included);
    config_destroy(&parsed);
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
    tdestroy(config->paths, free_path);
    config->paths = NULL;
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
static int check_limits(const struct source *source)
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
    struct source source = {path, slurm_uid, config, error};
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
