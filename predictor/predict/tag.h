/*
 * tag.h - what a submission leaves in its job's comment, so that the finished job can be compared
 * with what was predicted: the network's fingerprint and the predicted time, nothing that a person
 * could read a secret from.
 */
#ifndef DLT_PREDICT_TAG_H
#define DLT_PREDICT_TAG_H

#include "graph/model.h"

enum { DLT_TAG_SIZE = 40 };

struct dlt_tag {
    uint64_t network;
    double job_s; /* predicted median, before corrections */
};

/*
 * A fingerprint of what is trained and how: operators with their sizes, framework, precision; not
 * its name, its batch or how long. Two files of one network have one fingerprint.
 */
int dlt_tag_network(const struct dlt_model *model, uint64_t *network, struct dlt_error *error);

/* "dltime:" and 27 letters, digits, '-' and '_'. */
void dlt_tag_format(const struct dlt_tag *tag, char text[DLT_TAG_SIZE]);

/* Finds a tag anywhere in a comment. False where there is none or it is damaged. */
bool dlt_tag_find(const char *comment, struct dlt_tag *tag);

#endif
