/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/paths.h"
#include "base/text.h"
#include "command/command.h"
#include "predict/shipped.h"

const char *command_profile_path(const char *name, char *buffer, size_t size)
{
    char below[NAME_MAX + 16];
    size_t length = strlen(name);

    if (!*name || strchr(name, '/') || (length > 4 && strcmp(name + length - 4, ".dlp") == 0) ||
        access(name, R_OK) == 0 || length > NAME_MAX)
        return name;
    snprintf(below, sizeof below, "profiles/%s.dlp", name);
    return dlt_path(DLT_FOLDER_DATA, below, buffer, size) ? buffer : name;
}

enum { PROFILES = 64 };

struct names {
    char text[PROFILES][64];
    const char *name[PROFILES];
    size_t count;
};

static void take_name(void *context, const struct dlt_profile *profile)
{
    struct names *names = context;

    if (names->count == PROFILES)
        return;
    names->name[names->count] = names->text[names->count];
    dlt_shipped_name(profile, names->text[names->count], sizeof names->text[0]);
    names->count++;
}

static int fail_unknown(const char *name, struct dlt_error *error)
{
    struct names names = {.count = 0};
    char list[500] = "";
    const char *nearest;
    size_t used = 0;

    if (dlt_shipped_each(take_name, &names, error))
        return -1;
    nearest = dlt_text_nearest(name, names.name, names.count);
    if (nearest)
        return dlt_fail(error, "no profile is called \"%.80s\"; did you mean \"%s\"?", name,
                        nearest);
    for (size_t i = 0; i < names.count; i++) {
        bool fits = used + strlen(names.name[i]) + 8 < sizeof list;

        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 fits ? names.name[i] : "...");
        if (!fits)
            break;
    }
    return dlt_fail(error, "no profile is called \"%.80s\"; %s%s; a file's name ends in .dlp", name,
                    names.count ? "there are " : "none is installed", list);
}

int command_profile_load(const char *name, struct dlt_profile **profile, struct dlt_error *error)
{
    char buffer[PATH_MAX];
    const char *path = command_profile_path(name, buffer, sizeof buffer);

    if (path == buffer && access(path, F_OK))
        return fail_unknown(name, error);
    return dlt_profile_load(path, profile, error);
}
