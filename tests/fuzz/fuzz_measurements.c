/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a measurement or run file; what was read and written again reads the same. */
#include "measure/measurements.h"

#include "fuzz.h"

static void check_row(const struct dlt_measure_header *header,
                      const struct dlt_measurement *measurement, const struct dlt_run *run)
{
    struct dlt_measure_reader *reader;
    struct dlt_measurement again;
    struct dlt_run run_again;
    struct dlt_error error;
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    must(stream && dlt_measure_write_header(stream, header) == 0);
    must((header->runs ? dlt_measure_write_run(stream, run)
                       : dlt_measure_write(stream, measurement)) == 0);
    must(fclose(stream) == 0);
    must(dlt_measure_open(fuzz_file("again.jsonl", (uint8_t *)text, size), &reader, &error) == 0);
    must(dlt_measure_next(reader, &again, &run_again, &error) == 1);
    if (header->runs)
        must(run_again.step_s == run->step_s && !strcmp(run_again.model, run->model));
    else
        must(again.median_s == measurement->median_s);
    dlt_measure_close(reader);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { ROWS = 64, ERRORS = 64 };
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
        if (++rows == ROWS)
            break;
        check_row(dlt_measure_header(reader), &measurement, &run);
    }
    must(dlt_measure_whole(reader) >= 0);
    dlt_measure_close(reader);
    return 0;
}
