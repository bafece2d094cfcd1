/*
 * choose.h - which of several configurations is worth measuring next, going by a profile.
 *
 * A first pass of measurements makes a profile (dltime train). Where that profile is unsure of a
 * time that weighs much, a measurement teaches most. dlbench links what reads and uses a profile,
 * which is libc and libm; what learns one it does not: between passes `dltime train` runs.
 */
#ifndef DLBENCH_CHOOSE_H
#define DLBENCH_CHOOSE_H

#include "device/device.h"
#include "sampler.h"

struct bench_chooser;

/* Loads a profile and finds the device's entry in it; the sentence names what it has. */
int bench_chooser_create(const char *profile, const struct dlt_device *device, int threads,
                         struct bench_chooser **chooser, struct dlt_error *error);
void bench_chooser_destroy(struct bench_chooser *chooser);

/* Tells of a configuration that is measured since the profile was made, or is about to be. */
int bench_chooser_add(struct bench_chooser *chooser, const struct dlt_record *record,
                      struct dlt_error *error);

/*
 * What measuring a record in its own pass is worth, relative to others of its kind:
 * the spread (of the logarithm) of the profile's estimate times a power of the time itself, less
 * the nearer the record lies to one that was added. Not negative.
 */
double bench_chooser_worth(const struct bench_chooser *chooser, const struct dlt_record *record);

/* The same for all passes of a sample. */
double bench_chooser_sample_worth(const struct bench_chooser *chooser,
                                  const struct bench_sample *sample);

#endif
