/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/paths.h"
#include "base/text.h"
#include "gpu.h"

enum { BACKENDS = 16, NAME = 64 };

static const char prefix[] = "backend_";
static const char suffix[] = ".so";

/* The names of backend_NAME.so in the library folder; returns how many. */
static int find_backends(char names[BACKENDS][NAME])
{
    char path[PATH_MAX];
    struct dirent *entry;
    int count = 0;
    DIR *folder = dlt_path(DLT_FOLDER_LIB, NULL, path, sizeof path) ? opendir(path) : (DIR *)NULL;

    if (!folder)
        return 0;
    while (count < BACKENDS && (entry = readdir(folder)) != NULL) {
        size_t length = strlen(entry->d_name);

        if (length <= strlen(prefix) + strlen(suffix) || length >= NAME ||
            strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
            strcmp(entry->d_name + length - strlen(suffix), suffix) != 0)
            continue;
        memcpy(names[count], entry->d_name + strlen(prefix), length + 1 - strlen(prefix));
        names[count][length - strlen(prefix) - strlen(suffix)] = '\0';
        count++;
    }
    closedir(folder);
    return count;
}

/* The builds of the CUDA backend go by one name: which of them serves follows from the device. */
static bool is_cuda(const char *name)
{
    return strcmp(name, "cuda12") == 0 || strcmp(name, "cuda13") == 0;
}

static bool has_backend(const char *name)
{
    char names[BACKENDS][NAME];
    int count = find_backends(names);

    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

void bench_backend_list(char *buffer, size_t size)
{
    char names[BACKENDS][NAME];
    int count = find_backends(names);
    size_t used = 0;
    bool cuda = false;

    snprintf(buffer, size, "none");
    for (int i = 0; i < count && used < size; i++) {
        if (is_cuda(names[i]) && cuda)
            continue;
        cuda = cuda || is_cuda(names[i]);
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", used > 0 ? ", " : "",
                                 is_cuda(names[i]) ? "cuda" : names[i]);
    }
}

int bench_backend_resolve(const char *name, int device, const char **resolved,
                          struct dlt_error *error)
{
    bool has12 = has_backend("cuda12"), has13 = has_backend("cuda13");
    struct bench_gpu gpu;

    *resolved = name;
    if (strcmp(name, "cuda") != 0 || (!has12 && !has13))
        return 0;
    if (bench_gpu_probe(device, &gpu, error))
        return dlt_fail_in(error, "backend cuda: ");
    *resolved = bench_gpu_backend(&gpu, has12, has13, error);
    return *resolved ? 0 : dlt_fail_in(error, "backend cuda: ");
}

static int unknown_backend(const char *name, struct dlt_error *error)
{
    char names[BACKENDS][NAME];
    const char *known[BACKENDS];
    int count = find_backends(names);
    const char *nearest;
    char list[256];

    for (int i = 0; i < count; i++)
        known[i] = names[i];
    nearest = dlt_text_nearest(name, known, (size_t)count);
    bench_backend_list(list, sizeof list);
    if (nearest)
        return dlt_fail(error, "no backend \"%s\"; did you mean %s?", name, nearest);
    return dlt_fail(error, "no backend \"%s\"; installed: %s", name, list);
}

int bench_backend_load(const char *name, const struct dlbench_backend **backend,
                       struct dlt_error *error)
{
    char file[NAME + 16], path[PATH_MAX];
    void *object;

    if (!has_backend(name))
        return unknown_backend(name, error);
    snprintf(file, sizeof file, "%s%s%s", prefix, name, suffix);
    if (!dlt_path(DLT_FOLDER_LIB, file, path, sizeof path))
        return dlt_fail(error, "%s: the path is too long", file);
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        return dlt_fail(error, "backend %s cannot be loaded: %s", name, dlerror());
    *backend = dlsym(object, "dlbench_backend");
    if (!*backend)
        return dlt_fail(error, "%s is no backend of dlbench", path);
    if ((*backend)->version != DLBENCH_BACKEND_VERSION ||
        (*backend)->record != sizeof(struct dlt_record))
        return dlt_fail(error, "%s was built for another dlbench", path);
    return 0;
}

/* The first number in a file; NaN-free: 0 where there is none. */
static double number_in(const char *path, const char *key)
{
    char line[256];
    double value = 0;
    FILE *file = fopen(path, "re");

    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) == 0) {
            value = (double)strtoull(line + strlen(key), NULL, 10);
            break;
        }
    }
    if (file)
        fclose(file);
    return value;
}

/* Slurm confines a job's memory with a cgroup; the process's own is the one at the end of its path.
 */
static double cgroup_free(void)
{
    char line[PATH_MAX], path[2 * PATH_MAX];
    FILE *file = fopen("/proc/self/cgroup", "re");
    double least = 0;

    while (file && fgets(line, sizeof line, file)) {
        double limit, used;

        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::", 3) != 0)
            continue;
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", line + 3);
        limit = number_in(path, "");
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.current", line + 3);
        used = number_in(path, "");
        if (limit > used)
            least = limit - used;
    }
    if (file)
        fclose(file);
    return least;
}

/* Of what a limit on the process leaves; used: what counts there, in /proc/self/status. */
static double limit_free(unsigned resource, const char *used)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return INFINITY;
    return fmax(0, (double)limit.rlim_cur - 1024 * number_in("/proc/self/status", used));
}

double bench_memory_free(void)
{
    double machine = 1024 * number_in("/proc/meminfo", "MemAvailable:");
    double cgroup = cgroup_free();

    double limits = fmin(limit_free(RLIMIT_AS, "VmSize:"), limit_free(RLIMIT_DATA, "VmData:"));

    return fmin(limits, cgroup > 0 && cgroup < machine ? cgroup : machine);
}

static double default_memory(const struct dlbench_backend *backend,
                             const struct bench_session_options *options)
{
    if (backend->device_memory)
        return 0.8 * backend->device_memory(options->device);
    return options->host_memory_bytes > 0 ? options->host_memory_bytes : 0.5 * bench_memory_free();
}

int bench_session_open(const struct bench_session_options *options, struct bench_session *session,
                       struct dlt_error *error)
{
    struct bench_options open = {.device = options->device,
                                 .memory_bytes = options->memory_bytes,
                                 .find = options->find,
                                 .touch = options->touch,
                                 .seed = options->seed};
    const char *name;

    memset(session, 0, sizeof *session);
    if (bench_backend_resolve(options->backend, options->device, &name, error))
        return -1;
    if (bench_cpus_find(options->threads, &session->cpus, error))
        return -1;
    bench_pin(session->cpus.cpu[0]);
    if (bench_backend_load(name, &session->backend, error))
        return -1;
    open.cpus = session->cpus.cpu;
    open.threads = session->cpus.count;
    if (session->backend->device_count() <= options->device)
        return dlt_fail(error, "%s: there is no device %d; it has %d", options->backend,
                        options->device, session->backend->device_count());
    session->threads = session->backend->device_memory ? 0 : session->cpus.count;
    if (!(open.memory_bytes > 0))
        open.memory_bytes = default_memory(session->backend, options);
    session->memory_bytes = open.memory_bytes;
    if (session->backend->open(&open, &session->context, error))
        return -1;
    session->backend->describe(session->context, &session->device, &session->software);
    return 0;
}

bool bench_session_answers(const struct bench_session *session)
{
    const struct dlbench_backend *backend = session->backend;
    const struct bench_shape one = {1, {1}};
    struct bench_tensor *tensor;
    double seconds;

    return backend->tensor_create(session->context, &one, &tensor, NULL) != BENCH_FAILED &&
           backend->mark(session->context, 0, NULL) == 0 &&
           backend->between(session->context, 0, 0, &seconds, NULL) == 0;
}

void bench_session_close(struct bench_session *session)
{
    if (session->context)
        session->backend->close(session->context);
    memset(session, 0, sizeof *session);
}

const char *bench_threads_text(int threads, char buffer[32])
{
    buffer[0] = '\0';
    if (threads > 0)
        snprintf(buffer, 32, ", %d thread%s", threads, threads == 1 ? "" : "s");
    return buffer;
}
