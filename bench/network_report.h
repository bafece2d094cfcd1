/*
 * network_report.h - what a network's step was made of, for people and for programs.
 */
#ifndef DLBENCH_NETWORK_REPORT_H
#define DLBENCH_NETWORK_REPORT_H

#include <stdio.h>

#include "measure/measurements.h"
#include "network.h"

/* A table by kind of operator, the slowest first. */
void bench_network_print_ops(FILE *stream, const struct bench_network *network);

/* One object on one line: the run, its fastest step of least_s, its loss and its memory; with ops,
 * each node's times. */
int bench_network_print_json(FILE *stream, const struct bench_network *network,
                             const struct dlt_run *run, size_t steps, double least_s, bool ops,
                             struct dlt_error *error);

#endif
