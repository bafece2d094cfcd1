/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../advise/owner.h"

/* This object's own folder and owner: whoever could change this object has no need of another. */
static bool find_self(char folder[PATH_MAX], uid_t *own)
{
    struct stat status;
    Dl_info info;
    char *slash;

    if (!dladdr((void *)find_self, &info) || !info.dli_fname || info.dli_fname[0] != '/' ||
        !realpath(info.dli_fname, folder) || stat(folder, &status))
        return false;
    *own = status.st_uid;
    slash = strrchr(folder, '/');
    *slash = '\0';
    return true;
}

static bool choose(const char *given, char path[PATH_MAX], uid_t *own, char *message, size_t size)
{
    char folder[PATH_MAX];
    bool known = find_self(folder, own);

    if (!known)
        *own = 0;
    if (given) {
        if (given[0] != '/' || strlen(given) >= PATH_MAX) {
            snprintf(message, size, "advise= in plugstack.conf is not an absolute path");
            return false;
        }
        memcpy(path, given, strlen(given) + 1);
        return true;
    }
    if (known && snprintf(path, PATH_MAX, "%s/advise.so", folder) < PATH_MAX &&
        access(path, F_OK) == 0)
        return true;
    snprintf(path, PATH_MAX, "%s/advise.so", DLT_LIBDIR);
    return true;
}

dlt_advise_function *load_advise(const char *given, char *message, size_t size)
{
    static void *handle;
    char path[PATH_MAX], real[PATH_MAX];
    dlt_advise_function *function = NULL;
    uid_t own;

    if (!handle) {
        if (!choose(given, path, &own, message, size) ||
            !dlt_owner_check(path, own, real, message, size))
            return NULL;
        handle = dlopen(real, RTLD_NOW | RTLD_LOCAL);
    }
    if (handle)
        *(void **)&function = dlsym(handle, DLT_ADVISE_FUNCTION);
    if (!function) {
        const char *why = dlerror();

        snprintf(message, size, "%s", why ? why : "advise.so cannot be opened");
    }
    return function;
}
