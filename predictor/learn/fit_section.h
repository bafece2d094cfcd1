/* fit_section.h - one section, from its rows to its bytes. */
#ifndef DLT_LEARN_FIT_SECTION_H
#define DLT_LEARN_FIT_SECTION_H

#include "learn/model_build.h"
#include "learn/train.h"

struct dlt_fit_settings {
    enum dlt_method method;
    uint64_t seed, stream;
    int threads;
    const struct dlt_start *start; /* what convolutions' networks may begin from, of many rows */
    size_t starts;
};

/* rows: at least one. bytes: malloc'ed. Returns -1 out of memory. */
int dlt_fit_section(const struct dlt_rows *rows, const struct dlt_fit_settings *settings,
                    unsigned char **bytes, size_t *size, struct dlt_accuracy *accuracy);

#endif
