/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/shipped.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/paths.h"
#include "base/text.h"
#include "device/catalogue.h"
#include "predict/profile_format.h"

static const char suffix[] = ".dlp";

static int is_profile(const struct dirent *file)
{
    size_t length = strlen(file->d_name);

    return length >= sizeof suffix &&
           strcmp(file->d_name + length + 1 - sizeof suffix, suffix) == 0;
}

int dlt_shipped_each(void (*take)(void *context, const struct dlt_profile *profile), void *context,
                     struct dlt_error *error)
{
    char folder[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
    struct dirent **file = NULL;
    int count;

    if (!dlt_path(DLT_FOLDER_DATA, "profiles", folder, sizeof folder))
        return dlt_fail(error, "the folder of profiles has too long a path");
    count = scandir(folder, &file, is_profile, alphasort);
    for (int i = 0; i < count; i++) {
        struct dlt_profile *profile;

        snprintf(path, sizeof path, "%s/%s", folder, file[i]->d_name);
        if (dlt_profile_load(path, &profile, NULL) == 0) {
            take(context, profile);
            dlt_profile_destroy(profile);
        }
        free(file[i]);
    }
    free(file);
    return 0;
}

void dlt_shipped_name(const struct dlt_profile *profile, char *name, size_t size)
{
    const char *path = dlt_profile_path(profile), *slash = strrchr(path, '/');
    size_t length;

    dlt_text_copy(name, size, slash ? slash + 1 : path);
    length = strlen(name);
    if (length >= sizeof suffix && strcmp(name + length + 1 - sizeof suffix, suffix) == 0)
        name[length + 1 - sizeof suffix] = '\0';
}

struct choice {
    const char *device, *known; /* as asked; as the catalogue calls it, or NULL */
    enum dlt_framework framework;
    int rank;
    int64_t created;
    char path[PATH_MAX];
};

/* How good an entry's answer is; 0: none. Other devices under the same framework tell more than the
 * device itself under another one: of whole trainings, they did (tests/accuracy/steps). */
static int rank_of(const struct choice *c, const struct dlt_profile *profile, size_t entry)
{
    enum dlt_answers answers = dlt_profile_answers(profile, entry, c->device);
    bool same = dlt_profile_is_of(profile, entry, c->framework);

    if (c->known && answers < DLT_ANSWERS_MEANT &&
        dlt_profile_answers(profile, entry, c->known) > answers)
        answers = dlt_profile_answers(profile, entry, c->known);
    if (answers == DLT_ANSWERS_NOT || (answers == DLT_ANSWERS_GENERAL && !c->known))
        return 0;
    if (answers == DLT_ANSWERS_GENERAL)
        return same ? 15 : 5;
    return (same ? 20 : 10) + (answers == DLT_ANSWERS_NAMED);
}

static void weigh(void *context, const struct dlt_profile *profile)
{
    struct choice *c = context;
    bool general = false;
    int best = 0;

    for (size_t e = 0; e < dlt_profile_entry_count(profile); e++) {
        int rank = rank_of(c, profile, e);

        best = rank > best ? rank : best;
        general = general || profile->entry[e].general;
    }
    /* A general profile knows the devices that it learned from as well: it is larger. */
    best = best ? 2 * best + !general : 0;
    if (best < c->rank || best == 0 || (best == c->rank && profile->header->created <= c->created))
        return;
    if (dlt_text_copy(c->path, sizeof c->path, dlt_profile_path(profile))) {
        c->rank = best;
        c->created = profile->header->created;
    }
}

int dlt_shipped_load(const char *device, enum dlt_framework framework, struct dlt_profile **profile,
                     struct dlt_error *error)
{
    const struct dlt_device *known = dlt_catalogue_find(device);
    struct choice choice = {
        .device = device, .known = known ? known->name : NULL, .framework = framework};

    if (dlt_shipped_each(weigh, &choice, error))
        return -1;
    if (choice.rank > 0)
        return dlt_profile_load(choice.path, profile, error);
    if (!known)
        return dlt_fail(error,
                        "no device goes by \"%s\" (`dltime devices` lists all, and a site adds its "
                        "own in devices.conf), and no installed profile measured one",
                        device);
    return dlt_fail(error,
                    "no installed profile answers for %s; make one with `dlbench run` and `dltime "
                    "train`, or name one",
                    known->name);
}
