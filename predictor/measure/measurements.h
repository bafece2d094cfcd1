/*
 * measurements.h - measurement and run files (dltime-measurements(5)): JSON Lines, plain or gzip.
 */
#ifndef DLT_MEASURE_MEASUREMENTS_H
#define DLT_MEASURE_MEASUREMENTS_H

#include <stdio.h>

#include "device/device.h"
#include "graph/record.h"
#include "graph/training.h"

struct dlt_measurement {
    struct dlt_record record;
    double median_s, min_s, max_s, std_s; /* 0: not given (median always is) */
    int repeats;
    bool disturbed;
    /* Circumstances, where the row tells them; 0 or "" where not. */
    char algorithm[32];
    double workspace_bytes, workspace_cap_bytes; /* taken, and what it might have been */
    double clock_hz, temperature_c, power_w;
};

/* Whole-network runs. Text fields are bounded; "" or 0 where the row does not say. Where neither
 * `device` nor `card` stands in the row, device is the header's. */
struct dlt_run {
    char model[256]; /* SPEC or name */
    char device[96];
    char configuration[96]; /* the machine, in its owner's words */
    char variant[24];       /* of the software: "fused", ... */
    char suspect[96];       /* why the row's source distrusts it; "": it does not */
    char precision[24], optimizer[24], framework[48], layout[8];
    enum dlt_pass pass;
    int devices, nodes, threads;
    int64_t batch, sequence; /* batch: of one device */
    int64_t input[4];        /* shape of one sample, ended by 0 */
    double forward_s, backward_s, step_s, std_s, elapsed_s;
    double throughput; /* unit/s */
    char unit[24];
    double memory_bytes;
};

/* The framework that a run's text begins with ("PyTorch 2.1.0"), or DLT_FRAMEWORK_NONE. */
enum dlt_framework dlt_run_framework(const struct dlt_run *run);

/* Seconds of the forward pass or the step that a run tells: timed, or from a throughput in units of
 * samples, or of tokens where the sequence is known. NaN where neither is told. */
double dlt_run_seconds(const struct dlt_run *run);

/* A run's network with what the row says about its training, as a SPEC:
 * "resnet50,framework=...,batch=...". False where it does not fit. */
bool dlt_run_spec(const struct dlt_run *run, char *spec, size_t size);

/* Header of either kind of file. */
struct dlt_measure_header {
    bool runs;  /* "dltime-runs" */
    bool table; /* configurations of networks, to be looked up rather than learned from */
    struct dlt_device device;
    struct dlt_software software;
    char source[256];
};

struct dlt_measure_reader;

/* Opens a file (gzip is recognised by its content) and reads its header. path is kept for messages.
 */
int dlt_measure_open(const char *path, struct dlt_measure_reader **reader, struct dlt_error *error);
const struct dlt_measure_header *dlt_measure_header(const struct dlt_measure_reader *reader);

/*
 * Reads the next row into *measurement or, in a runs file, *run. Returns 1 for a row, 0 at the end,
 * -1 on a malformed row (the sentence names file, line and field; the row after it can be read
 * next). A last line without newline that
 * does not parse is the trace of a killed job: the reader returns 0 and dlt_measure_cut says true.
 * Rows whose `op`, elementwise `function` or `activation` this version does not know are counted in
 * dlt_measure_unknown and passed over.
 */
int dlt_measure_next(struct dlt_measure_reader *reader, struct dlt_measurement *measurement,
                     struct dlt_run *run, struct dlt_error *error);
/* A number of the row last read by its member's name, for columns that struct dlt_run has no field
 * for; NaN where the row has no such number. */
double dlt_measure_number(const struct dlt_measure_reader *reader, const char *name);
/* The number of the line last read, from 1. */
size_t dlt_measure_line(const struct dlt_measure_reader *reader);
bool dlt_measure_cut(const struct dlt_measure_reader *reader);
/* Bytes (uncompressed) up to and with the newline of the last whole line read: where a plain file
 * that was cut can be cut off cleanly and continued. */
int64_t dlt_measure_whole(const struct dlt_measure_reader *reader);
size_t dlt_measure_unknown(const struct dlt_measure_reader *reader);
void dlt_measure_close(struct dlt_measure_reader *reader);

/* Write one line, newline included, to a stream, independently of the locale. 0, or -1 with errno.
 */
int dlt_measure_write_header(FILE *stream, const struct dlt_measure_header *header);
int dlt_measure_write(FILE *stream, const struct dlt_measurement *measurement);
int dlt_measure_write_run(FILE *stream, const struct dlt_run *run);

#endif
