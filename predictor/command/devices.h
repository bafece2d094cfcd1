/*
 * devices.h - the two lists of `dltime devices`: the catalogue (devices.c), and what a profile
 * holds (devices_profile.c).
 */
#ifndef DLT_COMMAND_DEVICES_H
#define DLT_COMMAND_DEVICES_H

#include <json-c/json.h>

#include "device/device.h"

/* Every feature under its key in a measurements header; null: not known. */
struct json_object *devices_json(const struct dlt_device *device);

/* Devices, operators and their errors on rows held out. Returns the command's status. */
int devices_show_profile(const char *name, bool json);

#endif
