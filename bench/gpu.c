/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu.h"

#include <dlfcn.h>
#include <stddef.h>

#include "base/error.h"

/* Of the driver's API (cuda.h), which is stable: status codes, attributes, a device as a number. */
enum { CUDA_SUCCESS = 0, CUDA_ERROR_NO_DEVICE = 100, MAJOR = 75, MINOR = 76 };

struct driver {
    void *object;
    int (*init)(unsigned flags);
    int (*version)(int *version);
    int (*count)(int *count);
    int (*get)(int *device, int ordinal);
    int (*attribute)(int *value, int attribute, int device);
};

static int open_driver(struct driver *driver, struct dlt_error *error)
{
    const struct {
        const char *name;
        void **place;
    } functions[] = {
        {"cuInit", (void **)&driver->init},
        {"cuDriverGetVersion", (void **)&driver->version},
        {"cuDeviceGetCount", (void **)&driver->count},
        {"cuDeviceGet", (void **)&driver->get},
        {"cuDeviceGetAttribute", (void **)&driver->attribute},
    };

    driver->object = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver->object)
        return dlt_fail(error, "no NVIDIA driver on this machine (libcuda.so.1)");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        *functions[i].place = dlsym(driver->object, functions[i].name);
        if (!*functions[i].place)
            return dlt_fail(error, "the NVIDIA driver's libcuda.so.1 has no %s", functions[i].name);
    }
    return 0;
}

static int ask_driver(const struct driver *driver, int device, struct bench_gpu *gpu,
                      struct dlt_error *error)
{
    int handle = 0, major = 0, minor = 0, status = driver->init(0);

    if (status == CUDA_ERROR_NO_DEVICE)
        return dlt_fail(error, "the NVIDIA driver finds no GPU that this process may use");
    if (status != CUDA_SUCCESS)
        return dlt_fail(error, "the NVIDIA driver cannot be used: CUDA error %d", status);
    if (driver->version(&gpu->driver) != CUDA_SUCCESS ||
        driver->count(&gpu->devices) != CUDA_SUCCESS)
        return dlt_fail(error, "the NVIDIA driver does not answer");
    if (device >= gpu->devices)
        return dlt_fail(error, "there is no GPU %d; there %s %d", device,
                        gpu->devices == 1 ? "is" : "are", gpu->devices);
    if (driver->get(&handle, device) != CUDA_SUCCESS ||
        driver->attribute(&major, MAJOR, handle) != CUDA_SUCCESS ||
        driver->attribute(&minor, MINOR, handle) != CUDA_SUCCESS)
        return dlt_fail(error, "the NVIDIA driver does not answer about GPU %d", device);
    gpu->capability = 10 * major + minor;
    return 0;
}

int bench_gpu_probe(int device, struct bench_gpu *gpu, struct dlt_error *error)
{
    struct driver driver = {.object = NULL};
    int status;

    *gpu = (struct bench_gpu){.driver = 0};
    status = open_driver(&driver, error);
    if (status == 0)
        status = ask_driver(&driver, device, gpu, error);
    /* It stays open: a driver that has been started cannot be unloaded. */
    return status;
}

/* The newest first. */
static const struct build {
    const char *name;
    int driver, capability; /* at least */
} builds[] = {{"cuda13", 13000, 75}, {"cuda12", 12000, 60}};
enum { BUILDS = sizeof builds / sizeof *builds };

const char *bench_gpu_backend(const struct bench_gpu *gpu, bool has12, bool has13,
                              struct dlt_error *error)
{
    const bool installed[BUILDS] = {has13, has12};
    const struct build *wanted = NULL;

    if (gpu->capability < builds[BUILDS - 1].capability) {
        dlt_fail(error, "compute capability %d.%d is not served: 6.0 (Pascal) and later are",
                 gpu->capability / 10, gpu->capability % 10);
        return NULL;
    }
    for (int i = 0; i < BUILDS; i++) {
        if (gpu->capability < builds[i].capability || gpu->driver < builds[i].driver)
            continue;
        if (installed[i])
            return builds[i].name;
        wanted = wanted ? wanted : &builds[i];
    }
    if (wanted)
        dlt_fail(error,
                 "this GPU (compute capability %d.%d, driver for CUDA %d.%d) needs "
                 "backend_%s.so, which is not installed",
                 gpu->capability / 10, gpu->capability % 10, gpu->driver / 1000,
                 gpu->driver % 1000 / 10, wanted->name);
    else
        dlt_fail(error, "the NVIDIA driver serves CUDA %d.%d; 12.0 or later is needed",
                 gpu->driver / 1000, gpu->driver % 1000 / 10);
    return NULL;
}
