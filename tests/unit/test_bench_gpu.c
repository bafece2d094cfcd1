/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu.h"
#include "test.h"

#include <string.h>

static const char *chosen(int driver, int capability, bool has12, bool has13,
                          struct dlt_error *error)
{
    const struct bench_gpu gpu = {.driver = driver, .devices = 1, .capability = capability};

    return bench_gpu_backend(&gpu, has12, has13, error);
}

/* CUDA 13's release notes: its lowest target is sm_75 (Turing); its driver is 580 and serves 13.0.
 */
static void turing_and_later_get_cuda13_where_the_driver_serves_it(void **state)
{
    struct dlt_error error;

    (void)state;
    assert_string_equal(chosen(13000, 75, true, true, &error), "cuda13");   /* T4 */
    assert_string_equal(chosen(13010, 90, true, true, &error), "cuda13");   /* H100 */
    assert_string_equal(chosen(13000, 120, false, true, &error), "cuda13"); /* RTX 5090 */
}

static void pascal_and_volta_get_cuda12(void **state)
{
    struct dlt_error error;

    (void)state;
    assert_string_equal(chosen(13000, 70, true, true, &error), "cuda12");  /* V100 */
    assert_string_equal(chosen(12020, 60, true, true, &error), "cuda12");  /* P100 */
    assert_string_equal(chosen(12020, 61, true, false, &error), "cuda12"); /* GTX 1080 */
}

static void an_older_driver_gets_cuda12_on_a_newer_gpu(void **state)
{
    struct dlt_error error;

    (void)state;
    assert_string_equal(chosen(12080, 90, true, true, &error), "cuda12");
    /* Both serve, one is here. */
    assert_string_equal(chosen(13000, 80, true, false, &error), "cuda12");
}

static void what_is_missing_is_said(void **state)
{
    struct dlt_error error;

    (void)state;
    assert_null(chosen(13000, 70, false, true, &error));
    assert_non_null(strstr(error.text, "backend_cuda12.so, which is not installed"));
    assert_null(chosen(12080, 90, false, true, &error));
    assert_non_null(strstr(error.text, "driver for CUDA 12.8) needs backend_cuda12.so"));
    assert_null(chosen(13000, 90, false, false, &error));
    assert_non_null(strstr(error.text, "backend_cuda13.so"));
    assert_null(chosen(11080, 80, true, true, &error));
    assert_non_null(strstr(error.text, "serves CUDA 11.8; 12.0 or later is needed"));
    assert_null(chosen(13000, 52, true, true, &error)); /* Maxwell */
    assert_non_null(strstr(error.text, "5.2 is not served"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turing_and_later_get_cuda13_where_the_driver_serves_it),
        cmocka_unit_test(pascal_and_volta_get_cuda12),
        cmocka_unit_test(an_older_driver_gets_cuda12_on_a_newer_gpu),
        cmocka_unit_test(what_is_missing_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
