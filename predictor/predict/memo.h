/*
 * memo.h - what was priced already, for a model that is priced for many devices.
 *
 * The backward pass of a unit is derived from prices of others of its passes, and a device that
 * nobody measured from those that each donor has for the record: the same ones for each such
 * device.
 */
#ifndef DLT_PREDICT_MEMO_H
#define DLT_PREDICT_MEMO_H

#include "predict/profile_format.h"

struct dlt_memo;

/* Empty, or NULL out of memory. Not to be shared by threads. */
struct dlt_memo *dlt_memo_create(void);
/* NULL is allowed. */
void dlt_memo_destroy(struct dlt_memo *memo);

/* What a value depends on. device: NULL in what an entry says as a donor, whoever asks. */
struct dlt_memo_key {
    uint64_t profile; /* its serial */
    const struct dlt_device *device;
    uint64_t entry;
    struct dlt_record record;
    uint64_t hash; /* of the rest */
};

struct dlt_memo_value {
    struct dlt_price price;
    double part[DLT_RESOURCES]; /* a donor's: seconds of each resource in its cost model */
};

/* Keeps nothing any more. NULL is allowed. */
void dlt_memo_forget(struct dlt_memo *memo);

/* Fills *key. */
void dlt_memo_key(struct dlt_memo_key *key, const struct dlt_profile *profile,
                  const struct dlt_file_entry *entry, const struct dlt_device *device,
                  const struct dlt_record *record);

/* The value, valid until the next one is kept, or NULL. memo may be NULL: it knows nothing. */
const struct dlt_memo_value *dlt_memo_find(const struct dlt_memo *memo,
                                           const struct dlt_memo_key *key);

/* Keeps a copy of one that is not there yet; does nothing where memo is NULL, full, or memory is
 * short. */
void dlt_memo_keep(struct dlt_memo *memo, const struct dlt_memo_key *key,
                   const struct dlt_memo_value *value);

#endif
