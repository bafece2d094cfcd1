/*
 * start.h - what networks begin from instead of random numbers: networks that learned the same
 * operator on other devices. Libraries change their algorithms at much the same sizes everywhere,
 * so what the ratio to a device's cost model looks like is mostly known before its first row.
 */
#ifndef DLT_LEARN_START_H
#define DLT_LEARN_START_H

#include "learn/model_build.h"
#include "predict/profile_format.h"

/* Fewer rows are learned by a Gaussian process also where networks could begin from others. */
enum { DLT_LEAST_BEGUN = 300 };

/* Networks of one shape, and how they take their inputs and give their target. */
struct dlt_start {
    struct dlt_network network;
    size_t members;
    uint16_t input[DLT_FEATURES_MAX]; /* network.width[0]: positions among the features */
    float mean[DLT_FEATURES_MAX], scale[DLT_FEATURES_MAX];
    double target_mean, target_scale;
    float *parameter[DLT_MEMBERS]; /* malloc'ed */
};

/*
 * Learns a start from the rows of several devices together, as if from one whose cost model is
 * each row's own; which device a row is of is told meanwhile and forgotten afterwards.
 * Returns 0, or -1 out of memory.
 */
int dlt_start_pool(struct dlt_start *start, const struct dlt_rows *device, size_t devices,
                   uint64_t seed, int threads);

/* The networks of a section, as floats again. Returns 0; 1 where it has none of this shape, has
 * trees beside them, or numbers that are none; -1 out of memory. */
int dlt_start_of_section(struct dlt_start *start, const struct dlt_section *section);
/* The bytes of such a section, malloc'ed. Returns -1 out of memory. */
int dlt_start_bytes(const struct dlt_start *start, const struct dlt_record_kind *kind,
                    unsigned char **bytes, size_t *size);
void dlt_start_clear(struct dlt_start *start);

/* The start whose networks say most of rows, which the build has the cost model of; NULL where
 * there are none. Returns 0, or -1 out of memory. */
int dlt_start_choose(const struct dlt_start *start, size_t count, const struct dlt_build *build,
                     const struct dlt_rows *rows, const struct dlt_start **chosen);

/* The build takes inputs and target as the start does. */
void dlt_start_begin(const struct dlt_start *start, struct dlt_build *build);

#endif
