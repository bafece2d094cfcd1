/* SPDX-License-Identifier: Apache-2.0 */
#include "device/devices.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/setting.h"
#include "base/text.h"
#include "device/catalogue.h"
#include "measure/members.h"

enum { DEVICES_BYTES_MAX = 1 << 20, KEYS = 40 };

static int read_number(const config_setting_t *setting, double scale, double *to,
                       struct dlt_error *error)
{
    double value;

    if (!dlt_setting_number(setting, &value) || !(value >= 0 && value < 1e12))
        return dlt_fail(error, "has to be a number, 0 or more");
    *to = value * scale;
    return 0;
}

/* "8.0", or the same as a number. */
static int read_version(const config_setting_t *setting, double *to, struct dlt_error *error)
{
    const char *text = config_setting_get_string(setting);

    if (!text)
        return read_number(setting, 1, to, error);
    if (!dlt_text_to_double(text, to) || *to < 0)
        return dlt_fail(error, "has to be a version, such as \"8.0\"");
    return 0;
}

static int read_aliases(const config_setting_t *setting, struct dlt_catalogue_entry *entry,
                        struct dlt_error *error)
{
    if (!config_setting_is_aggregate(setting) || config_setting_is_group(setting) ||
        config_setting_length(setting) > DLT_ALIASES)
        return dlt_fail(error, "has to be a list of at most %d names, such as [\"gfx90a\"]",
                        DLT_ALIASES);
    for (int i = 0; i < config_setting_length(setting); i++)
        if (dlt_setting_text(config_setting_get_elem(setting, (unsigned)i), entry->alias[i],
                             sizeof entry->alias[i], error))
            return -1;
    return 0;
}

/* The keys are a measurements header's, by the same table. */
static int read_key(const config_setting_t *setting, struct dlt_catalogue_entry *entry,
                    struct dlt_error *error)
{
    const char *name = config_setting_name(setting);
    const char *names[KEYS] = {"aliases"}, *nearest;
    size_t count = 1;

    if (strcmp(name, "aliases") == 0)
        return read_aliases(setting, entry, error);
    for (const struct dlt_member *m = dlt_device_members; m->name && count < KEYS; m++) {
        void *field = (char *)&entry->device + m->offset;

        names[count++] = m->name;
        if (strcmp(m->name, name) != 0)
            continue;
        if (m->type == DLT_MEMBER_TEXT)
            return dlt_setting_text(setting, field, m->size, error);
        if (m->type == DLT_MEMBER_VERSION)
            return read_version(setting, field, error);
        return read_number(setting, m->scale, field, error);
    }
    nearest = dlt_text_nearest(name, names, count);
    return nearest ? dlt_fail(error, "is not known; did you mean \"%s\"?", nearest)
                   : dlt_fail(error, "is not known; see dltime-measurements(5) for the keys");
}

static int read_device(const config_setting_t *group, const char *path, struct dlt_error *error)
{
    struct dlt_catalogue_entry entry = {0};

    if (!config_setting_is_group(group))
        return dlt_fail(error, "%s: line %u: a device has to be { name = \"...\"; ... }", path,
                        config_setting_source_line(group));
    for (int i = 0; i < config_setting_length(group); i++) {
        const config_setting_t *setting = config_setting_get_elem(group, (unsigned)i);

        if (read_key(setting, &entry, error))
            return dlt_fail_in(error, "%s: line %u: %s: ", path,
                               config_setting_source_line(setting), config_setting_name(setting));
    }
    if (dlt_catalogue_add(&entry, error))
        return dlt_fail_in(error, "%s: line %u: ", path, config_setting_source_line(group));
    return 0;
}

static int read_devices(const config_t *parsed, const char *path, struct dlt_error *error)
{
    const config_setting_t *list = config_lookup(parsed, "devices");

    if (!list || !config_setting_is_list(list))
        return dlt_fail(error, "%s: devices: is missing or no list; write devices = ( { ... } );",
                        path);
    for (int i = 0; i < config_setting_length(list); i++)
        if (read_device(config_setting_get_elem(list, (unsigned)i), path, error))
            return -1;
    return 0;
}

int dlt_devices_load(const char *path, struct dlt_error *error)
{
    config_t parsed;
    char *text = NULL;
    size_t size;
    int result = -1;

    if (dlt_file_read(path, DEVICES_BYTES_MAX, &text, &size, error))
        return -1;
    if (dlt_setting_parse(&parsed, path, text, size, error) == 0)
        result = read_devices(&parsed, path, error);
    config_destroy(&parsed);
    free(text);
    return result;
}

static int load_installed(struct dlt_error *error)
{
    static const enum dlt_folder folders[] = {DLT_FOLDER_DATA, DLT_FOLDER_CONF};
    char path[PATH_MAX], before[PATH_MAX] = "";

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (!dlt_path(folders[i], "devices.conf", path, sizeof path) || access(path, F_OK) != 0 ||
            strcmp(path, before) == 0)
            continue;
        if (dlt_devices_load(path, error))
            return -1;
        memcpy(before, path, sizeof before);
    }
    return 0;
}

int dlt_devices_load_installed(struct dlt_error *error)
{
    static _Atomic bool loaded;

    /* Two threads may both load it: the catalogue takes what it has already as nothing new. */
    if (loaded)
        return 0;
    if (load_installed(error))
        return -1;
    loaded = true;
    return 0;
}
