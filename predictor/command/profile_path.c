/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/paths.h"
#include "command/command.h"

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
