/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <unistd.h>

#include "choose.h"
#include "learned.h"

static char path[] = "/tmp/dltime-choose-XXXXXX";

/* A profile of softmax on the paper device, of rows up to 65536 x 2048. */
static int make_profile(void **state)
{
    struct dlt_corpus corpus = {0};
    struct dlt_random random;
    size_t size;
    void *bytes;
    int fd = mkstemp(path);

    (void)state;
    dlt_random_seed(&random, 5, 1);
    add_group(&corpus, "Paper GPU", 0);
    add_rows(&corpus, &random, 60, draw_softmax, DLT_FORWARD, DLT_OPTIMIZER_NONE, 0.02, NULL);
    bytes = learned_bytes(&corpus, DLT_METHOD_COST, 1, 1, &size);
    assert_true(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
    free(bytes);
    dlt_corpus_clear(&corpus);
    return 0;
}

static int remove_profile(void **state)
{
    (void)state;
    return unlink(path);
}

static struct bench_chooser *chooser_of(const char *name)
{
    struct bench_chooser *chooser;
    struct dlt_device device = paper_device(name);
    struct dlt_error error;

    if (bench_chooser_create(path, &device, 0, &chooser, &error))
        return NULL;
    return chooser;
}

static struct dlt_record softmax(int64_t rows, int64_t columns)
{
    struct dlt_record record = dlt_record_make(dlt_record_kind_find("softmax"));

    record.u.rowwise.rows = rows;
    record.u.rowwise.columns = columns;
    return record;
}

static void what_was_measured_is_worth_nothing_and_its_neighbours_little(void **state)
{
    struct bench_chooser *chooser = chooser_of("Paper GPU");
    struct dlt_record here = softmax(4096, 256), near = softmax(4300, 256), far = softmax(64, 64);
    double here_before, near_before, far_before;

    (void)state;
    assert_non_null(chooser);
    here_before = bench_chooser_worth(chooser, &here);
    near_before = bench_chooser_worth(chooser, &near);
    far_before = bench_chooser_worth(chooser, &far);
    assert_true(here_before > 0 && near_before > 0 && far_before > 0);
    assert_int_equal(bench_chooser_add(chooser, &here, NULL), 0);
    assert_near(bench_chooser_worth(chooser, &here), 0, 1e-12);
    assert_true(bench_chooser_worth(chooser, &near) < 0.1 * near_before);
    assert_true(bench_chooser_worth(chooser, &far) > 0.9 * far_before);
    bench_chooser_destroy(chooser);
}

static void a_long_time_is_worth_more_than_a_short_one_as_well_known(void **state)
{
    struct bench_chooser *chooser = chooser_of("Paper GPU");
    struct dlt_record small = softmax(64, 64), large = softmax(60000, 2000);

    (void)state;
    assert_non_null(chooser);
    assert_true(bench_chooser_worth(chooser, &large) > bench_chooser_worth(chooser, &small));
    bench_chooser_destroy(chooser);
}

static void a_sample_is_worth_all_of_its_passes(void **state)
{
    struct bench_chooser *chooser = chooser_of("Paper GPU");
    struct bench_sample sample = {
        .record = softmax(1000, 1000), .pass = {DLT_FORWARD, DLT_BACKWARD_DATA}, .pass_count = 1};
    double one;

    (void)state;
    assert_non_null(chooser);
    one = bench_chooser_sample_worth(chooser, &sample);
    assert_near(one, bench_chooser_worth(chooser, &sample.record), 1e-9 * one);
    sample.pass_count = 2;
    assert_true(bench_chooser_sample_worth(chooser, &sample) > one);
    bench_chooser_destroy(chooser);
}

static void a_profile_of_no_file_is_refused(void **state)
{
    struct bench_chooser *chooser;
    struct dlt_device device = paper_device("Paper GPU");
    struct dlt_error error;

    (void)state;
    assert_int_equal(bench_chooser_create("/nonexistent.dlp", &device, 0, &chooser, &error), -1);
    assert_non_null(strstr(error.text, "/nonexistent.dlp"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_measured_is_worth_nothing_and_its_neighbours_little),
        cmocka_unit_test(a_long_time_is_worth_more_than_a_short_one_as_well_known),
        cmocka_unit_test(a_sample_is_worth_all_of_its_passes),
        cmocka_unit_test(a_profile_of_no_file_is_refused),
    };

    return cmocka_run_group_tests(tests, make_profile, remove_profile);
}
