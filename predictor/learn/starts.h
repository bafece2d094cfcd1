/*
 * starts.h - which networks of other devices the networks of each section of a training begin from,
 * and those that a profile of several devices keeps for later trainings. See start.h.
 */
#ifndef DLT_LEARN_STARTS_H
#define DLT_LEARN_STARTS_H

#include "learn/start.h"
#include "learn/train.h"

/* A section to learn: its rows are those of one operator, dtype and math on one device. */
struct dlt_part {
    const struct dlt_row **row;
    size_t read, used; /* rows of it; those that teach come first */
    struct dlt_rates rates;
    double drift_s; /* of what others may begin from; dlt_starts_look */
};

/* Zero-initialise. */
struct dlt_starts {
    struct dlt_start *start;
    size_t count;
    size_t pooled; /* rows that it was learned from here; 0: taken from a profile, or none */
};

/* Looks at each part that may teach others for a benchmark that slowed down (learn/drift.h), which
 * a row's place in its file would tell and not the row. Returns -1 out of memory. */
int dlt_starts_look(const struct dlt_corpus *corpus, struct dlt_part *part, size_t parts,
                    const struct dlt_train_settings *settings);

/*
 * What part[which] may begin from; replaces what was found for an earlier part. Where two other
 * devices or more of the corpus have rows of its operator in plenty, without drift, what they teach
 * together; else the starts that settings->starts keeps for the device, or, where it does not know
 * the device, all of them. Only under the same timing convention. None for what learns without.
 * Returns 0, or -1 out of memory.
 */
int dlt_starts_find(struct dlt_starts *starts, const struct dlt_corpus *corpus,
                    const struct dlt_part *part, size_t parts, size_t which,
                    const struct dlt_train_settings *settings);
void dlt_starts_clear(struct dlt_starts *starts);

/* Keeps what was learned from the others for the device of a record's entry, unless it is there
 * already under the same timing convention. Returns -1 out of memory. */
int dlt_starts_keep(const struct dlt_starts *starts, const struct dlt_record *record,
                    uint32_t entry, struct dlt_profile_writer *writer);
/* Leaves them out again. */
void dlt_starts_drop(struct dlt_profile_writer *writer);

/* Whether networks of the corpus would begin from a profile's: not those of a corpus of more than
 * two devices, which teach each other. */
bool dlt_starts_wanted(const struct dlt_corpus *corpus);
/* Whether the profile keeps any for one of them. Damaged ones are left out: dlt_profile_check says
 * so. */
bool dlt_starts_serve(const struct dlt_profile *profile, const struct dlt_corpus *corpus);

#endif
