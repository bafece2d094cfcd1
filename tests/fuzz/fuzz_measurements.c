/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a measurement or run file; what was read and written again reads the same. */
#include <math.h>

#include "measure/measurements.h"

#include "fuzz.h"

static char *write_out(const struct dlt_measure_header *header,
                       const struct dlt_measurement *measurement, const struct dlt_run *run,
                       size_t *size)
{
    char *text = NULL;
    FILE *stream = open_memstream(&text, size);

    must(stream && dlt_measure_write_header(stream, header) == 0);
    must((header->runs ? dlt_measure_write_run(stream, run)
                       : dlt_measure_write(stream, measurement)) == 0);
    must(fclose(stream) == 0);
    return text;
}

/* The first writing rounds to six digits; from then on nothing changes. */
static void check_row(const struct dlt_measure_header *header,
                      const struct dlt_measurement *measurement, const struct dlt_run *run)
{
    struct dlt_measure_reader *reader;
    struct dlt_measurement again;
    struct dlt_run run_again;
    struct dlt_error error;
    size_t size = 0, size_again = 0;
    char *text = write_out(header, measurement, run, &size), *text_again;

    must(dlt_measure_open(fuzz_file("again.jsonl", (uint8_t *)text, size), &reader, &error) == 0);
    must(dlt_measure_next(reader, &again, &run_again, &error) == 1);
    if (header->runs)
        must(strcmp(run_again.model, run->model) == 0);
    else
        must(dlt_record_equal(&again.record, &measurement->record));
    text_again = write_out(dlt_measure_header(reader), &again, &run_again, &size_again);
    if (size != size_again || memcmp(text, text_again, size) != 0)
        fprintf(stderr, "%s%s", text, text_again);
    must(size == size_again && memcmp(text, text_again, size) == 0);
    dlt_measure_close(reader);
    free(text_again);
    free(text);
}

/* What training takes from a run. */
static void check_run(const struct dlt_run *run)
{
    double seconds = dlt_run_seconds(run);
    char spec[1024];

    must(isnan(seconds) || seconds > 0);
    must(dlt_run_framework(run) < DLT_FRAMEWORKS);
    if (dlt_run_spec(run, spec, sizeof spec))
        must(strlen(spec) > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { ROWS = 64, ERRORS = 64, CHECKED = 2 };
    struct dlt_measure_reader *reader;
    struct dlt_measurement measurement;
    struct dlt_run run;
    struct dlt_error error;
    int rows = 0, errors = 0, status;

    if (dlt_measure_open(fuzz_file("again.jsonl", data, size), &reader, &error)) {
        fuzz_check_error(&error);
        return 0;
    }
    while ((status = dlt_measure_next(reader, &measurement, &run, &error)) != 0) {
        if (status < 0) {
            fuzz_check_error(&error);
            if (++errors == ERRORS)
                break;
            continue;
        }
        must(dlt_measure_header(reader)->runs || measurement.median_s > 0);
        if (dlt_measure_header(reader)->runs)
            check_run(&run);
        if (++rows == ROWS)
            break;
        if (rows <= CHECKED)
            check_row(dlt_measure_header(reader), &measurement, &run);
    }
    must(dlt_measure_whole(reader) >= 0);
    dlt_measure_close(reader);
    return 0;
}
