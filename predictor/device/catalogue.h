/*
 * catalogue.h - hardware features of devices that nobody has measured yet.
 *
 * The catalogue is the process's: dlt_predict fills it from the installed devices.conf
 * (dlt_devices_load_installed) before it first looks for a device. Entries stay where they are
 * until the process ends, so pointers to them may be kept. All functions may be called from several
 * threads.
 */
#ifndef DLT_DEVICE_CATALOGUE_H
#define DLT_DEVICE_CATALOGUE_H

#include "device/device.h"

enum { DLT_ALIASES = 8 };

struct dlt_catalogue_entry {
    struct dlt_device device;
    char alias[DLT_ALIASES][48]; /* other names; "" behind the last */
};

/* Copies an entry. One of the same device name takes the other's place, an equal one changes
 * nothing. Fails without a name, or where the catalogue holds 4096 of them. */
int dlt_catalogue_add(const struct dlt_catalogue_entry *entry, struct dlt_error *error);

size_t dlt_catalogue_count(void);
/* By the order in which names were first added; NULL past the end. */
const struct dlt_catalogue_entry *dlt_catalogue_at(size_t index);

/*
 * The device that a name means: one of just that name or alias (letter case and separators
 * apart), else the first
 * that dlt_device_matches. devices.conf lists the slowest and smallest of a family first, so that
 * a bare "a100" promises no more than every A100 keeps. NULL if there is none.
 */
const struct dlt_device *dlt_catalogue_find(const char *name);

#endif
