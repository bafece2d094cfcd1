/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The driver's management library: clocks, temperature, power, what throttles the device and who
 * else uses it. It comes with the driver and is opened at run time; its functions and numbers are
 * those of NVML's API reference.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

typedef void *nvml_device;
enum {
    NVML_SUCCESS = 0,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_TEMPERATURE_GPU = 0,
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEMORY = 2
};

/* nvmlClocksThrottleReasons*: what slows a device besides idling and its own power limit. */
static const struct {
    unsigned long long bit;
    const char *name;
    bool disturbs;
} reasons[] = {
    {0x1, "idle", false},
    {0x2, "application clocks", false},
    {0x4, "power cap", false},
    {0x8, "hardware slowdown", true},
    {0x10, "sync boost", true},
    {0x20, "thermal (driver)", true},
    {0x40, "thermal (hardware)", true},
    {0x80, "power brake", true},
    {0x100, "display clocks", false},
};
enum { REASONS = sizeof reasons / sizeof *reasons };

struct bench_nvml {
    void *object;
    nvml_device device;
    int (*shutdown)(void);
    int (*driver)(char *, unsigned);
    int (*clock)(nvml_device, int, unsigned *);
    int (*most_clock)(nvml_device, int, unsigned *);
    int (*temperature)(nvml_device, int, unsigned *);
    int (*power)(nvml_device, unsigned *);
    int (*throttle)(nvml_device, unsigned long long *);
    int (*ecc)(nvml_device, unsigned *, unsigned *);
    int (*mig)(nvml_device, unsigned *, unsigned *);
    int (*processes)(nvml_device, unsigned *, void *);
    int (*mps_processes)(nvml_device, unsigned *, void *);
};

/* Functions that a driver lacks stay NULL. */
static void find_functions(struct bench_nvml *nvml)
{
    const struct {
        const char *name;
        void **place;
    } functions[] = {
        {"nvmlShutdown", (void **)&nvml->shutdown},
        {"nvmlSystemGetDriverVersion", (void **)&nvml->driver},
        {"nvmlDeviceGetClockInfo", (void **)&nvml->clock},
        {"nvmlDeviceGetMaxClockInfo", (void **)&nvml->most_clock},
        {"nvmlDeviceGetTemperature", (void **)&nvml->temperature},
        {"nvmlDeviceGetPowerUsage", (void **)&nvml->power},
        {"nvmlDeviceGetCurrentClocksThrottleReasons", (void **)&nvml->throttle},
        {"nvmlDeviceGetEccMode", (void **)&nvml->ecc},
        {"nvmlDeviceGetMigMode", (void **)&nvml->mig},
        {"nvmlDeviceGetComputeRunningProcesses_v3", (void **)&nvml->processes},
        {"nvmlDeviceGetMPSComputeRunningProcesses_v3", (void **)&nvml->mps_processes},
    };

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        *functions[i].place = dlsym(nvml->object, functions[i].name);
}

struct bench_nvml *bench_nvml_open(const char *bus_id)
{
    struct bench_nvml *nvml = calloc(1, sizeof *nvml);
    int (*init)(void);
    int (*by_bus)(const char *, nvml_device *);

    if (!nvml)
        return NULL;
    nvml->object = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->object) {
        free(nvml);
        return NULL;
    }
    *(void **)&init = dlsym(nvml->object, "nvmlInit_v2");
    *(void **)&by_bus = dlsym(nvml->object, "nvmlDeviceGetHandleByPciBusId_v2");
    if (!init || !by_bus || init() != NVML_SUCCESS) {
        dlclose(nvml->object);
        free(nvml);
        return NULL;
    }
    find_functions(nvml);
    if (by_bus(bus_id, &nvml->device) != NVML_SUCCESS) {
        bench_nvml_close(nvml);
        return NULL;
    }
    return nvml;
}

void bench_nvml_close(struct bench_nvml *nvml)
{
    if (!nvml)
        return;
    if (nvml->shutdown)
        nvml->shutdown();
    dlclose(nvml->object);
    free(nvml);
}

/* Asked for none, the library says how many there are. -1: unknown. */
static int count_processes(int (*ask)(nvml_device, unsigned *, void *), nvml_device device)
{
    unsigned count = 0;
    int status = ask ? ask(device, &count, NULL) : -1;

    return status == NVML_SUCCESS || status == NVML_INSUFFICIENT_SIZE ? (int)count : -1;
}

static unsigned long long throttled_by(const struct bench_nvml *nvml)
{
    unsigned long long bits = 0;

    if (!nvml->throttle || nvml->throttle(nvml->device, &bits) != NVML_SUCCESS)
        return 0;
    return bits;
}

void bench_nvml_read(struct bench_nvml *nvml, struct bench_circumstances *now)
{
    unsigned value;
    unsigned long long bits;

    if (!nvml)
        return;
    if (nvml->clock && nvml->clock(nvml->device, NVML_CLOCK_SM, &value) == NVML_SUCCESS)
        now->clock_hz = 1e6 * value;
    if (nvml->temperature &&
        nvml->temperature(nvml->device, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
        now->temperature_c = value;
    if (nvml->power && nvml->power(nvml->device, &value) == NVML_SUCCESS)
        now->power_w = 1e-3 * value;
    bits = throttled_by(nvml);
    for (int i = 0; i < REASONS; i++)
        if (reasons[i].disturbs && (bits & reasons[i].bit))
            now->disturbed = true;
    if (count_processes(nvml->processes, nvml->device) > 1)
        now->disturbed = true;
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size,
                                                         const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;

    if (used > 0 && used + 2 < size) {
        memcpy(text + used, ", ", 3);
        used += 2;
    }
    va_start(arguments, format);
    (void)vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

void bench_nvml_state(struct bench_nvml *nvml, char *text, size_t size)
{
    unsigned now, pending;
    unsigned long long bits;
    int processes, clients;
    char driver[80]; /* NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE */

    if (!nvml)
        return;
    if (nvml->driver && nvml->driver(driver, sizeof driver) == NVML_SUCCESS)
        append(text, size, "driver %s", driver);
    if (nvml->ecc && nvml->ecc(nvml->device, &now, &pending) == NVML_SUCCESS)
        append(text, size, "ECC %s", now ? "on" : "off");
    if (nvml->mig && nvml->mig(nvml->device, &now, &pending) == NVML_SUCCESS)
        append(text, size, "MIG %s", now ? "on" : "off");
    clients = count_processes(nvml->mps_processes, nvml->device);
    if (clients > 0)
        append(text, size, "%d MPS client%s", clients, clients == 1 ? "" : "s");
    processes = count_processes(nvml->processes, nvml->device);
    if (processes >= 0)
        append(text, size, "%d process%s", processes, processes == 1 ? "" : "es");
    bits = throttled_by(nvml);
    for (int i = 0; i < REASONS; i++)
        if (reasons[i].disturbs && (bits & reasons[i].bit))
            append(text, size, "clocks held by %s", reasons[i].name);
}

static void print_clocks(const struct bench_nvml *nvml, FILE *stream)
{
    static const struct {
        int clock;
        const char *name;
    } clocks[] = {{NVML_CLOCK_SM, "SM clock"}, {NVML_CLOCK_MEMORY, "memory clock"}};

    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        unsigned now, most;

        if (nvml->clock && nvml->most_clock &&
            nvml->clock(nvml->device, clocks[i].clock, &now) == NVML_SUCCESS &&
            nvml->most_clock(nvml->device, clocks[i].clock, &most) == NVML_SUCCESS)
            fprintf(stream, "    %-20s %u of %u MHz\n", clocks[i].name, now, most);
    }
}

void bench_nvml_print(struct bench_nvml *nvml, FILE *stream)
{
    unsigned now, pending, value;
    unsigned long long bits;
    int count;

    if (!nvml) {
        fprintf(stream, "    state                unknown: libnvidia-ml.so.1 cannot be used\n");
        return;
    }
    print_clocks(nvml, stream);
    if (nvml->temperature &&
        nvml->temperature(nvml->device, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
        fprintf(stream, "    temperature          %u C\n", value);
    if (nvml->power && nvml->power(nvml->device, &value) == NVML_SUCCESS)
        fprintf(stream, "    power                %.0f W\n", 1e-3 * value);
    bits = throttled_by(nvml);
    for (int i = 0; i < REASONS; i++)
        if (bits & reasons[i].bit)
            fprintf(stream, "    clocks held by       %s\n", reasons[i].name);
    if (nvml->ecc && nvml->ecc(nvml->device, &now, &pending) == NVML_SUCCESS)
        fprintf(stream, "    ECC                  %s\n", now ? "on" : "off");
    if (nvml->mig && nvml->mig(nvml->device, &now, &pending) == NVML_SUCCESS)
        fprintf(stream, "    MIG                  %s\n", now ? "on" : "off");
    count = count_processes(nvml->mps_processes, nvml->device);
    if (count >= 0)
        fprintf(stream, "    MPS clients          %d\n", count);
    count = count_processes(nvml->processes, nvml->device);
    if (count >= 0)
        fprintf(stream, "    processes on it      %d\n", count);
}
