/* SPDX-License-Identifier: Apache-2.0 */
#include "config_value.h"

#include <math.h>
#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/known.h"
#include "base/paths.h"
#include "base/setting.h"
#include "base/text.h"
#include "predict/interconnect.h"
#include "words.h"

enum { GPUS_MAX = 1 << 10, COUNT_MAX = 1 << 24 };

const char *const dlt_time_mode_names[DLT_TIME_MODES] = {DLT_TIME_WORDS};
const char *const dlt_partition_mode_names[DLT_PARTITION_MODES] = {DLT_PARTITION_WORDS};
const char *const dlt_objective_names[DLT_OBJECTIVES] = {DLT_OBJECTIVE_WORDS};

/* One setting's place: "file: line 12: partitions[3].max_wall: ..." */
int dlt_config_refuse(const struct dlt_config_source *source, const config_setting_t *setting,
                      const char *mend)
{
    const config_setting_t *parent = config_setting_parent(setting);
    const char *name = config_setting_name(setting);
    char place[32] = "";

    if (parent && !config_setting_is_root(parent))
        snprintf(place, sizeof place, "partitions[%d].", config_setting_index(parent));
    return dlt_fail(source->error, "%s: line %u: %s%s: %s", source->path,
                    config_setting_source_line(setting), place, name ? name : "entry", mend);
}

int dlt_config_take_probability(const struct dlt_config_source *source,
                                const config_setting_t *setting, void *to)
{
    double value;

    if (!dlt_setting_number(setting, &value) || !(value > 0 && value < 1))
        return dlt_config_refuse(source, setting,
                                 "has to be a number between 0 and 1, such as 0.99");
    *(double *)to = value;
    return 0;
}

int dlt_config_take_gib(const struct dlt_config_source *source, const config_setting_t *setting,
                        void *to)
{
    double value;

    if (!dlt_setting_number(setting, &value) || !(value > 0 && value < 1e6))
        return dlt_config_refuse(source, setting, "has to be a number of GiB above 0, such as 32");
    *(double *)to = value * 1024 * 1024 * 1024;
    return 0;
}

int dlt_config_take_mb(const struct dlt_config_source *source, const config_setting_t *setting,
                       void *to)
{
    double value;

    if (!dlt_setting_number(setting, &value) || !(value >= 1e-3 && value <= 1e9))
        return dlt_config_refuse(source, setting,
                                 "has to be a number of MB a second above 0, such as 500");
    *(double *)to = value * 1e6;
    return 0;
}

int dlt_config_take_count(const struct dlt_config_source *source, const config_setting_t *setting,
                          void *to)
{
    double value;

    if (!dlt_setting_number(setting, &value) || value != floor(value) ||
        !(value >= 0 && value <= COUNT_MAX))
        return dlt_config_refuse(source, setting, "has to be a whole number, 0 or more");
    *(int *)to = (int)value;
    return 0;
}

int dlt_config_take_gpus(const struct dlt_config_source *source, const config_setting_t *setting,
                         void *to)
{
    if (dlt_config_take_count(source, setting, to))
        return -1;
    return *(int *)to > GPUS_MAX
               ? dlt_config_refuse(source, setting, "is more than a node can have")
               : 0;
}

/* A duration as Slurm writes it, or with a unit; a bare number is seconds. */
int dlt_config_take_duration(const struct dlt_config_source *source,
                             const config_setting_t *setting, void *to)
{
    const char *text = config_setting_get_string(setting);
    double value;

    if (text ? !dlt_text_to_duration(text, 1, &value) : !dlt_setting_number(setting, &value))
        value = -1;
    if (!(value > 0 && value < 1e9))
        return dlt_config_refuse(
            source, setting,
            "has to be a time above 0, such as \"10m\", \"1-12:00:00\" or 90 (seconds)");
    *(double *)to = value;
    return 0;
}

/* A duration that may be nothing. */
int dlt_config_take_age(const struct dlt_config_source *source, const config_setting_t *setting,
                        void *to)
{
    double value;

    if (dlt_setting_number(setting, &value) && value == 0) {
        *(double *)to = 0;
        return 0;
    }
    if (dlt_setting_number(setting, &value) && value < 0)
        return dlt_config_refuse(
            source, setting, "has to be a time, such as 60 (seconds), or 0 for asking each time");
    return dlt_config_take_duration(source, setting, to);
}

int dlt_config_take_price(const struct dlt_config_source *source, const config_setting_t *setting,
                          void *to)
{
    double value;

    if (!dlt_setting_number(setting, &value) || !(value > 0 && value < 1e9))
        return dlt_config_refuse(source, setting, "has to be a number above 0, such as 2.5");
    *(double *)to = value;
    return 0;
}

int dlt_config_take_flag(const struct dlt_config_source *source, const config_setting_t *setting,
                         void *to)
{
    if (config_setting_type(setting) != CONFIG_TYPE_BOOL)
        return dlt_config_refuse(source, setting, "has to be true or false");
    *(bool *)to = config_setting_get_bool(setting);
    return 0;
}

static int read_word(const struct dlt_config_source *source, const config_setting_t *setting,
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
    return dlt_config_refuse(source, setting, mend);
}

int dlt_config_take_basis(const struct dlt_config_source *source, const config_setting_t *setting,
                          void *to)
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

int dlt_config_take_time_mode(const struct dlt_config_source *source,
                              const config_setting_t *setting, void *to)
{
    int index;

    if (read_word(source, setting, dlt_time_mode_names, DLT_TIME_MODES, &index))
        return -1;
    *(enum dlt_time_mode *)to = (enum dlt_time_mode)index;
    return 0;
}

int dlt_config_take_partition_mode(const struct dlt_config_source *source,
                                   const config_setting_t *setting, void *to)
{
    int index;

    if (read_word(source, setting, dlt_partition_mode_names, DLT_PARTITION_MODES, &index))
        return -1;
    *(enum dlt_partition_mode *)to = (enum dlt_partition_mode)index;
    return 0;
}

int dlt_config_take_objective(const struct dlt_config_source *source,
                              const config_setting_t *setting, void *to)
{
    int index;

    if (read_word(source, setting, dlt_objective_names, DLT_OBJECTIVES, &index))
        return -1;
    *(enum dlt_objective *)to = (enum dlt_objective)index;
    return 0;
}

int dlt_config_take_text(const struct dlt_config_source *source, const config_setting_t *setting,
                         char *to, size_t size)
{
    struct dlt_error error;

    return dlt_setting_text(setting, to, size, &error)
               ? dlt_config_refuse(source, setting, error.text)
               : 0;
}

int dlt_config_take_name(const struct dlt_config_source *source, const config_setting_t *setting,
                         void *to)
{
    return dlt_config_take_text(source, setting, to, DLT_NAME_SIZE);
}

int dlt_config_take_device(const struct dlt_config_source *source, const config_setting_t *setting,
                           void *to)
{
    return dlt_config_take_text(source, setting, to,
                                sizeof((struct dlt_site_partition *)0)->device);
}

int dlt_config_take_list(const struct dlt_config_source *source, const config_setting_t *setting,
                         void *to)
{
    return dlt_config_take_text(source, setting, to,
                                sizeof((struct dlt_config *)0)->default_candidates);
}

/* text relative to the folder of the file that says it. */
int dlt_config_path_beside(const struct dlt_config_source *source, const config_setting_t *setting,
                           const char *text, char *to)
{
    const char *slash = strrchr(source->path, '/');
    int folder = slash && *text != '/' ? (int)(slash + 1 - source->path) : 0;
    int length = snprintf(to, PATH_MAX, "%.*s%s", folder, source->path, text);

    return length < 0 || length >= PATH_MAX ? dlt_config_refuse(source, setting, "is too long") : 0;
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

static struct named_path *make_path(const struct dlt_config_source *source, const char *name,
                                    const char *path)
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

static const char *find_path(const struct dlt_config_source *source, const char *name)
{
    union {
        struct named_path path;
        char room[sizeof(struct named_path) + PATH_MAX];
    } key;
    struct named_path *const *found;

    key.path.file = source->path;
    dlt_text_copy(key.room + offsetof(struct named_path, name), PATH_MAX, name);
    found = tfind(&key.path, &source->config->paths, compare_paths);
    return found ? (*found)->path : NULL;
}

/* NULL out of memory. */
static const char *keep_path(const struct dlt_config_source *source, const char *name,
                             const char *path)
{
    struct named_path *made = DLT_KEPT(make_path(source, name, path));

    if (made && made->path && tsearch(made, &source->config->paths, compare_paths))
        return made->path;
    if (made)
        free_path(made);
    return NULL;
}

/* Texts that many partitions share, beside the paths: of a file that there is not. */
int dlt_config_take_features(const struct dlt_config_source *source,
                             const config_setting_t *setting, void *to)
{
    static const char no_file[] = "";
    const struct dlt_config_source texts = {.path = no_file, .config = source->config};
    const char **features = to;
    char text[DLT_LIST_SIZE];

    if (dlt_config_take_text(source, setting, text, sizeof text))
        return -1;
    *features = find_path(&texts, text);
    if (!*features)
        *features = keep_path(&texts, text, text);
    return *features ? 0 : dlt_fail_memory(source->error);
}

int dlt_config_take_profile(const struct dlt_config_source *source, const config_setting_t *setting,
                            void *to)
{
    char text[PATH_MAX], path[PATH_MAX], below[PATH_MAX], installed[PATH_MAX];
    const char **profile = to;

    if (dlt_config_take_text(source, setting, text, sizeof text))
        return -1;
    *profile = find_path(source, text);
    if (*profile)
        return 0;
    if (dlt_config_path_beside(source, setting, text, path))
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

int dlt_config_take_path(const struct dlt_config_source *source, const config_setting_t *setting,
                         void *to)
{
    char text[PATH_MAX] = "", path[PATH_MAX];
    const char **kept = to;

    if (dlt_config_take_text(source, setting, text, sizeof text) ||
        dlt_config_path_beside(source, setting, text, path))
        return -1;
    /* Apart from profiles of the same name. */
    *kept = find_path(source, path);
    if (!*kept)
        *kept = keep_path(source, path, path);
    return *kept ? 0 : dlt_fail_memory(source->error);
}

int dlt_config_take_interconnect(const struct dlt_config_source *source,
                                 const config_setting_t *setting, void *to)
{
    const char *text = config_setting_get_string(setting);
    const struct dlt_interconnect *found = text ? dlt_interconnect_find(text) : NULL;

    if (!found)
        return dlt_config_refuse(source, setting,
                                 "has to be one of 10gbe to 400gbe, edr, hdr, hdr100, ndr, "
                                 "ndr200");
    *(double *)to = found->bandwidth;
    return 0;
}

void dlt_config_forget_paths(struct dlt_config *config)
{
    tdestroy(config->paths, free_path);
    config->paths = NULL;
}
