/*
 * devices.h - devices.conf: fill the catalogue of devices from it.
 */
#ifndef DLT_DEVICE_DEVICES_H
#define DLT_DEVICE_DEVICES_H

#include "dltime.h"

/*
 * Adds what one file has to the catalogue (device/catalogue.h). Unknown keys are refused with the
 * nearest known one. The sentence has file, line, device and mend; what stood before the bad entry
 * has been added by then.
 */
int dlt_devices_load(const char *path, struct dlt_error *error);

/* The file that is shipped, then the site's beside dltime.conf; either may be missing. Once both
 * were read it does nothing; where that failed it tries again. Several threads may call it. */
int dlt_devices_load_installed(struct dlt_error *error);

#endif
