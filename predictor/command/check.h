/*
 * check.h - how `dltime check` shows a network.
 */
#ifndef DLT_COMMAND_CHECK_H
#define DLT_COMMAND_CHECK_H

#include "lower/lower.h"

enum { CHECK_PROBLEMS = 64 };

/* A network and what is to be said about it. */
struct check_report {
    const struct dlt_model *model;
    const struct dlt_graph *graph;
    struct dlt_graph_counts counts; /* of the whole batch */
    struct dlt_memory memory;       /* training on one device */
    char *problem[CHECK_PROBLEMS];  /* one sentence each */
    size_t problems;
};

/* To stdout. Counts of work are those of one sample, forward. */
void check_print_table(const struct check_report *report);
void check_print_json(const struct check_report *report);

#endif
