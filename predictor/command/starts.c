/* SPDX-License-Identifier: Apache-2.0 */
#include "command/starts.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/paths.h"

struct dlt_profile *command_starts_load(const char *command, const struct dlt_corpus *corpus)
{
    struct dlt_profile *profile = NULL;
    struct dlt_error error = {0};
    char path[PATH_MAX];
    bool serves = false;

    if (!dlt_starts_wanted(corpus) ||
        !dlt_path(DLT_FOLDER_DATA, "profiles/" COMMAND_GENERAL, path, sizeof path) ||
        access(path, F_OK))
        return NULL;
    if (dlt_profile_load(path, &profile, &error) == 0) {
        serves = dlt_starts_serve(profile, corpus);
        serves = dlt_profile_check(profile, &error) == 0 && serves;
    }
    if (error.text[0])
        fprintf(stderr, "dltime %s: %s; networks of convolutions begin from nothing\n", command,
                error.text);
    if (serves)
        return profile;
    dlt_profile_destroy(profile);
    return NULL;
}
