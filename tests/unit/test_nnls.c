/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/nnls.h"
#include "test.h"

/* A = [1 0; 0 1; 1 1], b = (1, 2, 3): A'A = [2 1; 1 2], A'b = (4, 5). The plain solution is (1, 2),
 * both positive, and it fits exactly. */
static void an_unconstrained_minimum_that_is_positive_stays(void **state)
{
    const double gram[] = {2, 1, 1, 2}, right[] = {4, 5};
    double x[2];

    (void)state;
    assert_int_equal(dlt_nnls(gram, right, 2, x), 0);
    assert_near(x[0], 1, 1e-12);
    assert_near(x[1], 2, 1e-12);
}

/* A = [1 1; 1 2; 1 3], b = (3, 2, 1): the line 4 - t fits exactly with slope -1. With a slope >= 0
 * the best is the mean: (2, 0). A'A = [3 6; 6 14], A'b = (6, 10). */
static void a_slope_that_would_be_negative_becomes_zero(void **state)
{
    const double gram[] = {3, 6, 6, 14}, right[] = {6, 10};
    double x[2];

    (void)state;
    assert_int_equal(dlt_nnls(gram, right, 2, x), 0);
    assert_near(x[0], 2, 1e-12);
    assert_near(x[1], 0, 0);
}

/* Columns a, a and b with a = (1, 0), b = (0, 1), target (3, 4): either a may carry the 3, or both
 * share it. */
static void equal_columns_do_not_break_it(void **state)
{
    const double gram[] = {1, 1, 0, 1, 1, 0, 0, 0, 1}, right[] = {3, 3, 4};
    double x[3];

    (void)state;
    assert_int_equal(dlt_nnls(gram, right, 3, x), 0);
    assert_near(x[0] + x[1], 3, 1e-9);
    assert_near(x[2], 4, 1e-12);
    assert_true(x[0] >= 0 && x[1] >= 0);
}

static void a_column_of_zeros_gets_nothing(void **state)
{
    const double gram[] = {0, 0, 0, 4}, right[] = {0, 8};
    double x[2];

    (void)state;
    assert_int_equal(dlt_nnls(gram, right, 2, x), 0);
    assert_near(x[0], 0, 0);
    assert_near(x[1], 2, 1e-12);
}

/* The conditions of a minimum: the error does not change with a positive coefficient, and no
 * coefficient at zero would lower it by growing. */
static void the_conditions_of_kuhn_and_tucker_hold_on_many_columns(void **state)
{
    enum { ROWS = 40, COLUMNS = 12 };
    double a[ROWS][COLUMNS], b[ROWS], gram[COLUMNS * COLUMNS] = {0}, right[COLUMNS] = {0};
    double x[COLUMNS];

    (void)state;
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COLUMNS; c++)
            a[r][c] = fmod((r + 1) * 37.0 + (c + 3) * (r + 2) * 11.0, 19.0) / 19;
        b[r] = 2 * a[r][1] + 0.5 * a[r][7] - 1.5 * a[r][4] + 0.1 * (r % 3);
    }
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < COLUMNS; i++) {
            right[i] += a[r][i] * b[r];
            for (int j = 0; j < COLUMNS; j++)
                gram[i * COLUMNS + j] += a[r][i] * a[r][j];
        }
    assert_int_equal(dlt_nnls(gram, right, COLUMNS, x), 0);
    for (int i = 0; i < COLUMNS; i++) {
        double slope = right[i];

        for (int j = 0; j < COLUMNS; j++)
            slope -= gram[i * COLUMNS + j] * x[j];
        assert_true(x[i] >= 0);
        if (x[i] > 0)
            assert_near(slope, 0, 1e-8);
        else
            assert_true(slope <= 1e-8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unconstrained_minimum_that_is_positive_stays),
        cmocka_unit_test(a_slope_that_would_be_negative_becomes_zero),
        cmocka_unit_test(equal_columns_do_not_break_it),
        cmocka_unit_test(a_column_of_zeros_gets_nothing),
        cmocka_unit_test(the_conditions_of_kuhn_and_tucker_hold_on_many_columns),
    };

    return cmocka_run_group_tests_name("nnls", tests, NULL, NULL);
}
