/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "learn/drift.h"
#include "test.h"

enum { ROWS = 1500 };

/* Products of random sizes at 5 TFLOP/s and 400 GB/s behind 50 us, within 3 %; the last call takes
 * drift_s more than the first. sorted: by size, as a benchmark may order them. */
static const struct dlt_row **measure(struct dlt_row *row, double drift_s, bool sorted)
{
    const struct dlt_row **pointer = calloc(ROWS, sizeof *pointer);
    struct dlt_random random;

    assert_non_null(pointer);
    dlt_random_seed(&random, 11, 0);
    for (size_t r = 0; r < ROWS; r++) {
        struct dlt_record record = dlt_record_make(dlt_record_kind_find("dense"));
        double largest = sorted ? 64 + 2 * (double)r : 2048;
        struct dlt_work work;

        record.u.matmul.m = 1 + (int64_t)(largest * dlt_random_uniform(&random));
        record.u.matmul.n = 1 + (int64_t)(largest * dlt_random_uniform(&random));
        record.u.matmul.k = 1 + (int64_t)(largest * dlt_random_uniform(&random));
        dlt_record_work(&record, &work);
        row[r] = (struct dlt_row){.record = record};
        row[r].seconds = (50e-6 + work.flops / 5e12 + work.bytes / 4e11) *
                             exp(0.03 * dlt_random_normal(&random)) +
                         drift_s * (double)r / ROWS;
        pointer[(r * 7) % ROWS] = &row[r]; /* 7 and 1500 have no common divisor */
    }
    return pointer;
}

static double drift_of(double drift_s, bool sorted)
{
    struct dlt_row *row = calloc(ROWS, sizeof *row);
    const struct dlt_device device = {0};
    struct dlt_rows rows = {.count = ROWS, .device = &device};
    double found;

    assert_non_null(row);
    rows.row = measure(row, drift_s, sorted);
    assert_int_equal(dlt_find_drift(&rows, 1, &found), 0);
    free((void *)rows.row);
    free(row);
    return found;
}

static void calls_that_take_longer_and_longer_are_found(void **state)
{
    (void)state;
    assert_near(drift_of(400e-6, false), 400e-6, 20e-6);
    assert_near(drift_of(100e-6, false), 100e-6, 10e-6);
}

static void steady_rows_and_rows_sorted_by_size_have_no_drift(void **state)
{
    (void)state;
    assert_near(drift_of(0, false), 0, 0);
    assert_near(drift_of(0, true), 0, 0);
    assert_near(drift_of(400e-6, true), 0, 0);
}

/* Two calls at the places 1/4 and 3/4 of a drift of 0.8 ms. The first: 1.2 - 0.2 = 1.0 ms at the
 * beginning, 1.8 at the end, sqrt(1.8) between; the second: 3.6 - 0.6 = 3, sqrt(3 x 3.8). */
static void rows_are_answered_between_beginning_and_end(void **state)
{
    struct dlt_row row[] = {{.seconds = 1.2e-3}, {.seconds = 3.6e-3}}, *copy = NULL;
    const struct dlt_row *given[] = {&row[1], &row[0]}, *levelled[2];
    const struct dlt_rows rows = {.row = given, .count = 2};

    (void)state;
    assert_int_equal(dlt_undrift(&rows, 0.8e-3, &copy, levelled), 0);
    assert_near(levelled[0]->seconds, 1.3416408e-3, 1e-9);
    assert_near(levelled[1]->seconds, 3.3763886e-3, 1e-9);
    assert_near(row[0].seconds, 1.2e-3, 0);
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_take_longer_and_longer_are_found),
        cmocka_unit_test(steady_rows_and_rows_sorted_by_size_have_no_drift),
        cmocka_unit_test(rows_are_answered_between_beginning_and_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
