/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as devices.conf, and as a device's name: refused with a sentence, or sane features. */
#include <math.h>

#include "device/catalogue.h"
#include "device/devices.h"
#include "graph/record.h"

#include "fuzz.h"

/* The catalogue keeps what it is given, also what was replaced: a fuzzer would fill the memory, and
 * looking through all of it takes long. */
enum { LOADED = 200000, SEARCHED = 64 };

static void check_name(const uint8_t *data, size_t size)
{
    char *name = strndup((const char *)data, size);

    must(name);
    must(!dlt_device_matches(name, ""));
    must(!dlt_device_matches("NVIDIA A100 80GB PCIe", "1g.10gb"));
    /* The relation is symmetric but for names that say nothing. */
    must(dlt_device_matches("NVIDIA H100 80GB HBM3", name) ==
         dlt_device_matches(name, "NVIDIA H100 80GB HBM3"));
    if (dlt_catalogue_count() < SEARCHED)
        dlt_catalogue_find(name);
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int loaded;
    struct dlt_error error;
    const struct dlt_catalogue_entry *entry;
    size_t before = dlt_catalogue_count();

    check_name(data, size);
    if (loaded > LOADED)
        return -1;
    if (dlt_devices_load(fuzz_file("devices.conf", data, size), &error))
        fuzz_check_error(&error);
    else
        loaded++;
    for (size_t i = before; (entry = dlt_catalogue_at(i)) != NULL; i++) {
        const struct dlt_device *device = &entry->device;
        double peak = dlt_device_peak(device, DLT_FLOAT16, DLT_IEEE, 1);

        must(device->name[0] && memchr(device->name, 0, sizeof device->name));
        must(isnan(peak) || peak > 0);
        must(dlt_device_usable(device) >= 0 && isfinite(device->sms));
    }
    return 0;
}
