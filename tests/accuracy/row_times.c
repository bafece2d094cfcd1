/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each row of a measurements file beside what a profile says of it, for choices between devices.
 *
 *     row_times PROFILE FILE      tab-separated: configuration, seconds seen, seconds predicted
 *
 * Rows of one configuration have the same first field on every device.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/measurements.h"
#include "predict/features.h"
#include "predict/price.h"
#include "predict/profile.h"

/* The entry of the file's device and timing, else a general one; -1: none. */
static int entry_for(const struct dlt_profile *profile, const struct dlt_measure_header *header)
{
    int best = -1, best_answers = DLT_ANSWERS_NOT;

    for (size_t i = 0; i < dlt_profile_entry_count(profile); i++) {
        int answers = (int)dlt_profile_answers(profile, i, header->device.name);

        if (answers > best_answers &&
            dlt_profile_software(profile, i)->timing == header->software.timing) {
            best = (int)i;
            best_answers = answers;
        }
    }
    return best;
}

static void print_row(const struct dlt_record *record, double seen, double predicted)
{
    struct dlt_numbers c;

    dlt_coordinates(record, &c);
    printf("%s", record->kind->name);
    for (size_t i = 0; i < c.count; i++)
        printf(" %.9g", c.value[i]);
    printf("\t%.9g\t%.9g\n", seen, predicted);
}

int main(int argc, char **argv)
{
    const struct dlt_measure_header *header;
    struct dlt_measure_reader *reader = NULL;
    struct dlt_profile *profile = NULL;
    struct dlt_measurement m;
    struct dlt_error error;
    struct dlt_run run;
    int got, entry;

    if (argc != 3) {
        fprintf(stderr, "Usage: row_times PROFILE FILE\n");
        return 2;
    }
    if (dlt_profile_load(argv[1], &profile, &error) || dlt_measure_open(argv[2], &reader, &error)) {
        fprintf(stderr, "row_times: %s\n", error.text);
        dlt_profile_destroy(profile);
        return 1;
    }
    header = dlt_measure_header(reader);
    entry = entry_for(profile, header);
    while ((got = dlt_measure_next(reader, &m, &run, &error)) > 0 && entry >= 0) {
        size_t at = (size_t)entry;
        bool general = dlt_profile_answers(profile, at, header->device.name) == DLT_ANSWERS_GENERAL;
        struct dlt_price price;

        dlt_profile_price_on(profile, at,
                             general ? &header->device : dlt_profile_device(profile, at), &m.record,
                             &price);
        if (isfinite(price.seconds) && m.median_s > 0)
            print_row(&m.record, m.median_s, price.seconds);
    }
    if (got < 0 || entry < 0)
        fprintf(stderr, "row_times: %s\n", entry < 0 ? "no entry for the device" : error.text);
    dlt_measure_close(reader);
    dlt_profile_destroy(profile);
    return got < 0 || entry < 0;
}
