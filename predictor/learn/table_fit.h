/* table_fit.h - the regression beside a table of convolutions, and how far it is to be trusted. */
#ifndef DLT_LEARN_TABLE_FIT_H
#define DLT_LEARN_TABLE_FIT_H

#include "learn/table_build.h"

/* A training step of a network that was timed. */
struct dlt_table_case {
    const struct dlt_plan *plan;
    double step_s, forward_s, backward_s; /* the last two: 0 where they were not told */
    int network;                          /* from 0 up */
    size_t tag;                           /* the caller's */
};

/*
 * Fits draft->head's factors, terms, cost model and lengths, and its spreads and errors from
 * networks left out in turn (at least two); head.sigma_sum is the caller's. Returns -1 out of
 * memory.
 */
int dlt_table_learn(struct dlt_table_draft *draft, const struct dlt_table_case *cases, size_t count,
                    int networks, bool host_computes);

#endif
