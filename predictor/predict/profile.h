/*
 * profile.h - the profile file, and the price of one unit.
 *
 * A profile holds entries: one for each (device, software, timing convention, threads). An entry
 * has sections, one for each (operator, passes, dtype, math), and step parameters for each
 * framework.
 */
#ifndef DLT_PREDICT_PROFILE_H
#define DLT_PREDICT_PROFILE_H

#include "device/device.h"
#include "graph/model.h"

size_t dlt_profile_entry_count(const struct dlt_profile *profile);
const struct dlt_device *dlt_profile_device(const struct dlt_profile *profile, size_t entry);
const struct dlt_software *dlt_profile_software(const struct dlt_profile *profile, size_t entry);
int dlt_profile_threads(const struct dlt_profile *profile, size_t entry);
const char *dlt_profile_path(const struct dlt_profile *profile);

/* The entry for a device name and thread count (0: any). NULL name: the only device. Where several
 * entries match, the one that fits best: same threads, then most sections. The error lists what the
 * profile has. */
int dlt_profile_find(const struct dlt_profile *profile, const char *device, int threads,
                     size_t *entry, struct dlt_error *error);

/* What answers for a device: an entry, and the hardware that it is asked about. */
struct dlt_target {
    size_t entry;
    const struct dlt_device
        *device;           /* the entry's own, or the catalogue's; lives as long as both */
    struct dlt_memo *memo; /* memo.h: what was priced already; NULL: nothing is kept */
};

/*
 * The target for a device name: the entry that measured it under the framework, else the general
 * entry of that framework with the hardware features that the catalogue (device/catalogue.h, to be
 * filled by the program) has of the name, else an entry that measured it under another framework,
 * else any general one. Where there is none, the error lists what the profile has.
 */
int dlt_profile_target(const struct dlt_profile *profile, const char *device, int threads,
                       enum dlt_framework framework, struct dlt_target *target,
                       struct dlt_error *error);

/* How an entry answers for a device: measured on one of that very name, on one that the name may
 * mean (a GRES type), by hardware features alone (a general entry), not at all. */
enum dlt_answers { DLT_ANSWERS_NOT, DLT_ANSWERS_GENERAL, DLT_ANSWERS_MEANT, DLT_ANSWERS_NAMED };
enum dlt_answers dlt_profile_answers(const struct dlt_profile *profile, size_t entry,
                                     const char *device);

/* Whether an entry's software is of a framework. Software that names none (a benchmark of the bare
 * libraries) is of each. */
bool dlt_profile_is_of(const struct dlt_profile *profile, size_t entry,
                       enum dlt_framework framework);

struct dlt_price {
    double seconds; /* median */
    double sigma;   /* standard deviation of the log of the time, this operator's own error */
    enum dlt_basis basis;
    double extrapolated; /* 0 inside the training rows ... 1 far outside them */
    double clock_s;      /* of the seconds, what a clock around a whole call of the framework adds;
                          * inside a network nobody pays it, but the host's dispatch instead */
};

/* How far the sum of two is extrapolated: the mean by seconds, of which there have to be some. */
double dlt_price_extrapolated(const struct dlt_price *a, const struct dlt_price *b);

/* Prices a record in its own pass on an entry's device. Always answers where hardware features are
 * known (basis cost model at the worst); seconds is NaN where nothing is. */
void dlt_profile_price(const struct dlt_profile *profile, size_t entry,
                       const struct dlt_record *record, struct dlt_price *price);

/* The same on another device than the entry's: what a general entry makes of hardware features. */
void dlt_profile_price_on(const struct dlt_profile *profile, size_t entry,
                          const struct dlt_device *device, const struct dlt_record *record,
                          struct dlt_price *price);

/* The same on a target, with its memo. */
void dlt_target_price(const struct dlt_profile *profile, const struct dlt_target *target,
                      const struct dlt_record *record, struct dlt_price *price);

/*
 * Whether a section that was used so far turned out to be altered: its checksum is verified when it
 * is first used, and such a section gives no price. Returns -1 with a sentence. Call it after
 * pricing; a network must not be priced by a damaged profile in silence. One for which there was no
 * memory is told the same way, once, and is read again when it is next used.
 */
int dlt_profile_check(const struct dlt_profile *profile, struct dlt_error *error);

/* Step-level parameters of an entry for one framework; see step.h for the formula. */
struct dlt_step_parameters {
    double device_factor;   /* time of all units on the device / sum of their prices */
    double backward_factor; /* the same of the backward pass, on top of device_factor */
    double constant_s;      /* host time of each step beside its kernels; see dlt_step_constant */
    double dispatch_s;      /* host time per kernel */
    double corner;          /* how sharply the larger of device and host rules */
    double allocate_s;    /* per byte kept for backward, where every step allocates its memory anew
                           * (an allocator whose cache was emptied); no training does */
    double bias_sigma;    /* log: device and software, shared by all networks */
    double network_sigma; /* log: this network against the mean */
    double run_sigma;     /* log: run against run of the same network */
    double devices;       /* devices that these rest on */
    double networks;      /* networks that these rest on; 0: defaults */
    double runs;
};
/* Never fails: where no runs were seen, wide defaults (networks = 0). */
void dlt_profile_step(const struct dlt_profile *profile, size_t entry, enum dlt_framework framework,
                      struct dlt_step_parameters *parameters);

#endif
