/* SPDX-License-Identifier: Apache-2.0 */
#include "base/paths.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const installed[] = {
    [DLT_FOLDER_DATA] = DLT_DATADIR,
    [DLT_FOLDER_LIB] = DLT_LIBDIR,
    [DLT_FOLDER_LIBEXEC] = DLT_LIBEXECDIR,
    [DLT_FOLDER_CONF] = DLT_SYSCONFDIR,
};

static char build_folder[PATH_MAX]; /* "" when installed */
static char source_etc[PATH_MAX];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A build tree is a folder whose parent has predictor/dltime.h. The object that holds this function
 * tells where it is: the program itself, or a shared object in the same folder. Plugins
 * may come from anywhere, so only this object's own path is looked at, never the environment. */
static void find_build_tree(void)
{
    char self[PATH_MAX];
    char probe[PATH_MAX + 32];
    Dl_info info;
    char *slash;

    if (dladdr((void *)find_build_tree, &info) == 0 || !info.dli_fname ||
        !strstr(info.dli_fname, ".so") || !realpath(info.dli_fname, self)) {
        ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

        if (length <= 0)
            return;
        self[length] = '\0';
    }
    slash = strrchr(self, '/');
    if (!slash)
        return;
    *slash = '\0';
    /* Test programs lie one folder deeper. */
    if (strlen(self) > 6 && strcmp(self + strlen(self) - 6, "/tests") == 0)
        self[strlen(self) - 6] = '\0';
    slash = strrchr(self, '/');
    if (!slash)
        return;
    snprintf(probe, sizeof probe, "%.*s/predictor/dltime.h", (int)(slash - self), self);
    if (access(probe, R_OK) != 0)
        return;
    snprintf(source_etc, sizeof source_etc, "%.*s/etc", (int)(slash - self), self);
    memcpy(build_folder, self, strlen(self) + 1);
}

char *dlt_path(enum dlt_folder folder, const char *below, char *buffer, size_t size)
{
    const char *base = installed[folder];
    int length;

    pthread_once(&once, find_build_tree);
    if (build_folder[0])
        base = folder == DLT_FOLDER_DATA || folder == DLT_FOLDER_CONF ? source_etc : build_folder;
    length = snprintf(buffer, size, "%s%s%s", base, below ? "/" : "", below ? below : "");
    return length < 0 || (size_t)length >= size ? NULL : buffer;
}
