/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The driver's management library for the device on the host: libnvidia-ml.so.1 beside its driver.
 * $HOST_NVML_THROTTLE: the reasons for which the clocks are held; $HOST_NVML_PROCESSES: how many.
 */
#include <stdio.h>
#include <stdlib.h>

typedef void *nvml_device;
enum { SUCCESS = 0, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7 };

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *version, unsigned size);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvml_device *device);
int nvmlDeviceGetClockInfo(nvml_device device, int clock, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo(nvml_device device, int clock, unsigned *mhz);
int nvmlDeviceGetTemperature(nvml_device device, int sensor, unsigned *celsius);
int nvmlDeviceGetPowerUsage(nvml_device device, unsigned *milliwatts);
int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device, unsigned long long *bits);
int nvmlDeviceGetEccMode(nvml_device device, unsigned *now, unsigned *pending);
int nvmlDeviceGetMigMode(nvml_device device, unsigned *now, unsigned *pending);
int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device device, unsigned *count, void *list);

static unsigned long from_environment(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);

    return text ? strtoul(text, NULL, 0) : otherwise;
}

int nvmlInit_v2(void)
{
    return SUCCESS;
}

int nvmlShutdown(void)
{
    return SUCCESS;
}

int nvmlSystemGetDriverVersion(char *version, unsigned size)
{
    return snprintf(version, size, "580.95.05") < (int)size ? SUCCESS : INSUFFICIENT_SIZE;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvml_device *device)
{
    *device = (void *)bus;
    return SUCCESS;
}

int nvmlDeviceGetClockInfo(nvml_device device, int clock, unsigned *mhz)
{
    (void)device;
    *mhz = clock == 1 ? 1234 : 2619;
    return SUCCESS;
}

int nvmlDeviceGetMaxClockInfo(nvml_device device, int clock, unsigned *mhz)
{
    (void)device;
    *mhz = clock == 1 ? 1980 : 2619;
    return SUCCESS;
}

int nvmlDeviceGetTemperature(nvml_device device, int sensor, unsigned *celsius)
{
    (void)device, (void)sensor;
    *celsius = 61;
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(nvml_device device, unsigned *milliwatts)
{
    (void)device;
    *milliwatts = 345600;
    return SUCCESS;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device, unsigned long long *bits)
{
    (void)device;
    *bits = from_environment("HOST_NVML_THROTTLE", 0);
    return SUCCESS;
}

int nvmlDeviceGetEccMode(nvml_device device, unsigned *now, unsigned *pending)
{
    (void)device;
    *now = *pending = 1;
    return SUCCESS;
}

int nvmlDeviceGetMigMode(nvml_device device, unsigned *now, unsigned *pending)
{
    (void)device, (void)now, (void)pending;
    return NOT_SUPPORTED;
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device device, unsigned *count, void *list)
{
    (void)device, (void)list;
    *count = (unsigned)from_environment("HOST_NVML_PROCESSES", 1);
    return *count > 0 ? INSUFFICIENT_SIZE : SUCCESS;
}
