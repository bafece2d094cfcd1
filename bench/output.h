/*
 * output.h - the file that a benchmark writes: every row is one write of one whole line, so that a
 * kill at any moment leaves a usable file.
 */
#ifndef DLBENCH_OUTPUT_H
#define DLBENCH_OUTPUT_H

#include "measure/measurements.h"

struct bench_output;

enum bench_output_mode {
    BENCH_OUTPUT_NEW,    /* an existing file that is not empty is refused */
    BENCH_OUTPUT_RESUME, /* its rows are kept; a line cut short is removed; it may be missing */
};

/*
 * Opens the file and writes the header if it has none. The file has to be of the same kind, device
 * and software; *header is replaced by the file's own, so that what follows from the device (which
 * configurations are drawn) stays the same. Another process that writes the same file is an error.
 */
int bench_output_open(const char *path, enum bench_output_mode mode,
                      struct dlt_measure_header *header, struct bench_output **output,
                      struct dlt_error *error);
/* A file that was made by opening it and got no row is removed. */
void bench_output_close(struct bench_output *output);

/* Rows of measurements, those that were there and those added since. */
size_t bench_output_count(const struct bench_output *output);
const struct dlt_measurement *bench_output_at(const struct bench_output *output, size_t index);
/* Whether the record was measured already; cold and warm are the same here, as which of them a
 * configuration can be is found out by running it. */
bool bench_output_has(const struct bench_output *output, const struct dlt_record *record);

int bench_output_add(struct bench_output *output, const struct dlt_measurement *measurement,
                     struct dlt_error *error);
int bench_output_add_run(struct bench_output *output, const struct dlt_run *run,
                         struct dlt_error *error);

#endif
