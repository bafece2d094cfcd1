/*
 * transfer.h - a device that nobody measured, or only a little, as others answer for it.
 *
 * The donors are the profile's other entries of the same timing convention. Each prices the record;
 * its price is split by the resource that each column of its cost model goes by, and each part
 * scaled as the two devices' data sheets say: launches not at all, arithmetic by dlt_device_reach,
 * memory by bandwidth^mix x reach^(1 - mix), since much of what a cost model books as memory is
 * cache and on-chip traffic, which goes with the multiprocessors. The logarithms are then averaged
 * with weights that fall with the distance between the architectures.
 *
 * A few measurements of the device add a constant, move the donors' shares, and say what rows like
 * them are missed by:
 * ln time = mean + sum share_d (ln time_d - mean) + constant
 *         + sum weight_r kernel(distance of dlt_transfer_terms to row r's).
 */
#ifndef DLT_PREDICT_TRANSFER_H
#define DLT_PREDICT_TRANSFER_H

#include "predict/memo.h"

/* Where nothing better is known. mix and reach: see above and dlt_device_apart. */
#define DLT_TRANSFER_MIX   0.5
#define DLT_TRANSFER_REACH 0.6

/* Who asks whom: a device, and the entries that may answer for it. */
struct dlt_transfer {
    const struct dlt_profile *profile;
    const struct dlt_device *device;
    const char *except; /* name of a device that must not answer; NULL: none */
    enum dlt_timing timing;
    int threads;
    double mix, reach;
    struct dlt_memo *memo; /* NULL: nothing is kept of what donors say */
};

struct dlt_donation {
    uint32_t entry;
    double weight;     /* all together 1 */
    double apart;      /* its device from the asking one, as dlt_device_apart says */
    double ln_seconds; /* on the asking device */
    double sigma, extrapolated, clock_s;
    enum dlt_basis basis;
    double part[DLT_RESOURCES]; /* shares of the time, on the asking device */
};

/* Several donations as one. spread: standard deviation of their logarithms. */
struct dlt_donated {
    double ln_seconds, sigma, extrapolated, clock_s, apart, spread;
    enum dlt_basis basis;
    double part[DLT_RESOURCES];
};

/* How unlike two devices are: generations apart (compute capability), different makers, and a
 * little for size. */
double dlt_device_apart(const struct dlt_device *a, const struct dlt_device *b);

/* Asks every donor; returns how many answered, at most DLT_DONORS: the nearest where there are
 * more. */
size_t dlt_donations(const struct dlt_transfer *transfer, const struct dlt_record *record,
                     struct dlt_donation donation[DLT_DONORS]);
struct dlt_donated dlt_donated_of(const struct dlt_donation *donation, size_t count);

/* Where a row lies to the kernel: where its time goes, its size, and the record's coordinates as
 * the section standardises them (clipped to 3). The first term is 1. */
void dlt_transfer_terms(const struct dlt_section *section, const struct dlt_donated *donated,
                        const struct dlt_record *record, struct dlt_numbers *terms);

/* What the spread depends on: how far the donors' answers and their devices are apart, and the rest
 * of dlt_section_sigma_terms. */
void dlt_transfer_sigma_terms(const struct dlt_section *section, const struct dlt_donated *donated,
                              const struct dlt_record *record, double terms[DLT_SIGMA_TERMS]);

/* All of it for a section of ratio DLT_RATIO_TRANSFER; NaN seconds where no donor knows. */
void dlt_transfer_price(const struct dlt_profile *profile, const struct dlt_file_entry *entry,
                        const struct dlt_section *section, const struct dlt_device *device,
                        const struct dlt_record *record, struct dlt_memo *memo,
                        struct dlt_price *price);

/* price.c: what an entry's own measurements of the operator, dtype and math say of a record on its
 * own device, in whatever passes they are; NaN where they say nothing. */
void dlt_entry_price(const struct dlt_profile *profile, size_t entry,
                     const struct dlt_record *record, struct dlt_memo *memo,
                     struct dlt_price *price);

#endif
