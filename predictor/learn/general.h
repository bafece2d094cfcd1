/*
 * general.h - what a profile of several devices says of others: the transfer sections of
 * predict/transfer.h, learned by leaving one device out at a time.
 */
#ifndef DLT_LEARN_GENERAL_H
#define DLT_LEARN_GENERAL_H

#include "learn/model_build.h"
#include "learn/train.h"
#include "predict/transfer.h"

/*
 * For each timing convention with entries of at least two devices, measured in the corpus, adds a
 * general entry and a transfer section for each operator, dtype and math that two devices measured.
 * The writer has all measured sections already, its entries numbered as the corpus's groups.
 */
int dlt_learn_general(const struct dlt_corpus *corpus, const struct dlt_train_settings *settings,
                      struct dlt_profile_writer *writer, struct dlt_error *error);

/*
 * Adapts a profile to the corpus's devices: the base's entries, sections, step parameters and
 * sources follow those of the corpus, whose entries have a transfer section for each operator that
 * the base knows under their timing convention, corrected by what they measured of it. Operators
 * that the base lacks, or of which there are rows in plenty, are learned as dlt_train does.
 * Fails out of memory, or where the base's sections are damaged.
 */
int dlt_adapt(const struct dlt_profile *base, const struct dlt_corpus *corpus,
              const struct dlt_train_settings *settings, struct dlt_profile_writer *writer,
              struct dlt_error *error);

/* A row as its donors see it. */
struct dlt_transfer_row {
    const struct dlt_row *row;
    struct dlt_donation donation[DLT_DONORS];
    struct dlt_donated all;
    size_t count; /* of donations; 0: nobody knows */
    bool further; /* donors that answered too are left out */
};

/* The parts that both share. Returns whether some donor knows the row's operator. */
bool dlt_transfer_see(const struct dlt_transfer *transfer, const struct dlt_row *row,
                      struct dlt_transfer_row *seen);
/* What a correction that did not see the row makes of it, for dlt_calibrate. */
void dlt_transfer_hold_out(const struct dlt_build *build, const struct dlt_transfer_row *row,
                           double correction, struct dlt_held_out *held_out);

/* Adds the build as a section for the record's kind, dtype and math. Returns -1 out of memory. */
int dlt_put_transfer(struct dlt_profile_writer *writer, struct dlt_build *build, uint32_t entry,
                     const struct dlt_record *record, enum dlt_basis basis, size_t rows,
                     const struct dlt_accuracy *accuracy);

/* What the writer has so far, to price with; the caller destroys it. */
int dlt_writer_profile(struct dlt_profile_writer *writer, struct dlt_profile **profile,
                       struct dlt_error *error);

/*
 * The constant, the donors' shares and the rows' weights from a device's few rows (at least one): a
 * Gaussian process on ln time. held_out: room for count; filled with leave-one-out answers. The
 * build has mix, reach and the spread's scales.
 */
int dlt_fit_transfer(struct dlt_build *build, const struct dlt_transfer_row *row, size_t count,
                     struct dlt_held_out *held_out);

#endif
