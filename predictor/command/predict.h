/*
 * predict.h - how `dltime predict` shows an estimate.
 */
#ifndef DLT_COMMAND_PREDICT_H
#define DLT_COMMAND_PREDICT_H

#include "predict/estimate.h"

struct predict_view {
    const char *device; /* as it was asked for; NULL: it was not */
    double quantile;    /* also asked for; 0: not */
    bool untold_layout; /* nhwc is asked for, of which nothing is known */
    bool ops, json;
};

/* Says in a line, where a name means several devices of the catalogue, which of them was taken.
 * label: what the line begins with. */
void predict_print_device(const char *label, const char *asked, const char *taken);

/* Prints one estimate to stdout. profile: the file's name, for the record. */
void predict_print(const struct dlt_estimate *estimate, const char *profile,
                   const struct predict_view *view);

/* batch=LOW:HIGH in a SPEC; high 0: there is none. */
struct predict_range {
    int64_t low, high;
};
/* The SPEC with LOW alone where it has a range; malloc'ed. NULL with a sentence where the range is
 * none, or out of memory. */
char *predict_range_take(const char *spec, struct predict_range *range, struct dlt_error *error);

/* Prints time per sample over batches from low to high by doubling, and the largest of all between
 * them that fits the device's memory. Sets the model's batch. */
int predict_batches(struct dlt_model *model, const struct dlt_profile *profile,
                    const struct dlt_question *question, const struct predict_range *range,
                    bool json, struct dlt_error *error);

#endif
