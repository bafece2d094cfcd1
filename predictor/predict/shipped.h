/*
 * shipped.h - the profiles that dltime ships or a site installs, by the device they answer for.
 *
 * They lie in profiles/ below the data folder. Where nobody names a profile, the one that answers
 * best for a device is taken: one that measured the device under the asked framework; one that is
 * general, of that framework, with the hardware features of the catalogue; one that measured the
 * device under another framework; any general one. Of equals, the newest.
 */
#ifndef DLT_PREDICT_SHIPPED_H
#define DLT_PREDICT_SHIPPED_H

#include "predict/profile.h"

/*
 * Opens that profile; the caller destroys it. device: a driver's name, GRES type or alias; the
 * catalogue (device/catalogue.h) has to be filled before. Fails where there is none, or where
 * nothing answers for the device; a profile that cannot be read is passed over.
 */
int dlt_shipped_load(const char *device, enum dlt_framework framework, struct dlt_profile **profile,
                     struct dlt_error *error);

/* Calls `take` for each profile that can be opened, by the order of their names; it may keep
 * nothing. Returns -1 out of memory. */
int dlt_shipped_each(void (*take)(void *context, const struct dlt_profile *profile), void *context,
                     struct dlt_error *error);

/* "v100" for .../profiles/v100.dlp: what --profile NAME takes. */
void dlt_shipped_name(const struct dlt_profile *profile, char *name, size_t size);

#endif
