/* measure_rows.h - files of a few measurements behind one header, and what reading them gives. */
#ifndef DLT_TESTS_UNIT_MEASURE_ROWS_H
#define DLT_TESTS_UNIT_MEASURE_ROWS_H

#include "measure/measurements.h"
#include "measure_files.h"

static const char header[] =
    "{\"format\":\"dltime-measurements\",\"version\":1,\"device\":{\"name\":\"Tesla K40\","
    "\"vendor\":\"nvidia\",\"compute_capability\":\"3.5\",\"sms\":15,\"clock_mhz\":875,"
    "\"memory_gib\":12},\"software\":{\"framework\":\"tensorflow 1.x\","
    "\"timing\":\"host_synchronous\"},\"source\":\"a test\"}\n";
#define DENSE(batch)                                                                               \
    "{\"op\":\"dense\",\"pass\":\"forward\",\"batch\":" #batch                                     \
    ",\"in_features\":7,\"out_features\":9,\"median_ms\":0.5}\n"

/* Opens the file with this text behind the header. */
static inline struct dlt_measure_reader *open_rows(const char *rows)
{
    struct dlt_measure_reader *reader;
    struct dlt_error error;
    size_t size = strlen(header) + strlen(rows);
    char *text = malloc(size + 1);

    assert_non_null(text);
    snprintf(text, size + 1, "%s%s", header, rows);
    write_bytes(text, size);
    free(text);
    if (dlt_measure_open(path, &reader, &error))
        fail_msg("%s", error.text);
    return reader;
}

/* The only row of a file. */
static inline struct dlt_measurement read_row(const char *row)
{
    struct dlt_measure_reader *reader = open_rows(row);
    struct dlt_measurement m;
    struct dlt_error error = {""};

    if (dlt_measure_next(reader, &m, NULL, &error) != 1)
        fail_msg("%s: %s", row, error.text);
    assert_int_equal(dlt_measure_next(reader, &m, NULL, &error), 0);
    dlt_measure_close(reader);
    return m;
}

static inline void expect_row_error(const char *row, const char *part)
{
    struct dlt_measure_reader *reader = open_rows(row);
    struct dlt_measurement m;
    struct dlt_error error = {""};

    assert_int_equal(dlt_measure_next(reader, &m, NULL, &error), -1);
    if (!strstr(error.text, part) || !strstr(error.text, ": line 2: ") ||
        strncmp(error.text, path, strlen(path)) != 0)
        fail_msg("\"%s\" lacks file, line or \"%s\"", error.text, part);
    dlt_measure_close(reader);
}

static inline void expect_open_error(const char *text, const char *part)
{
    struct dlt_measure_reader *reader;
    struct dlt_error error = {""};

    write_bytes(text, strlen(text));
    assert_int_equal(dlt_measure_open(path, &reader, &error), -1);
    assert_null(reader);
    if (!strstr(error.text, part) || strncmp(error.text, path, strlen(path)) != 0)
        fail_msg("\"%s\" lacks the file or \"%s\"", error.text, part);
}

#endif
