/* cpu.h - what dlt_device_this_cpu reads, below any root. */
#ifndef DLT_DEVICE_CPU_H
#define DLT_DEVICE_CPU_H

#include "device/device.h"

/* root: "" for this machine; tests give a folder with proc/ and sys/ of another one. */
void dlt_device_read_cpu(const char *root, struct dlt_device *device);

#endif
