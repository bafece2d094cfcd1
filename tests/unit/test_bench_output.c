/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "measure_files.h"
#include "output.h"

static struct dlt_measure_header header_of(const char *device)
{
    struct dlt_measure_header header = {.software = {.timing = DLT_HOST_SYNCHRONOUS}};

    snprintf(header.device.name, sizeof header.device.name, "%s", device);
    snprintf(header.software.backend, sizeof header.software.backend, "onednn 2.6.3");
    return header;
}

static struct dlt_measurement row(int64_t n)
{
    struct dlt_measurement m = {.median_s = 1e-3, .repeats = 5};

    m.record = dlt_record_make(dlt_record_kind_find("dense"));
    m.record.u.matmul.m = m.record.u.matmul.k = 8;
    m.record.u.matmul.n = n;
    m.record.threads = 2;
    m.record.cache = DLT_CACHE_COLD;
    return m;
}

static struct bench_output *start(enum bench_output_mode mode)
{
    struct dlt_measure_header header = header_of("cpu");
    struct bench_output *output;
    struct dlt_error error;

    if (bench_output_open(path, mode, &header, &output, &error))
        fail_msg("%s", error.text);
    return output;
}

static void write_rows(int64_t count)
{
    struct bench_output *output;

    unlink(path);
    output = start(BENCH_OUTPUT_NEW);
    for (int64_t n = 1; n <= count; n++) {
        struct dlt_measurement m = row(n);

        assert_int_equal(bench_output_add(output, &m, NULL), 0);
    }
    bench_output_close(output);
}

static void resuming_knows_what_was_measured(void **state)
{
    struct dlt_measurement measured = row(1500), missing = row(1501), warm = row(7);
    struct bench_output *output;

    (void)state;
    write_rows(1500);
    output = start(BENCH_OUTPUT_RESUME);
    assert_int_equal(bench_output_count(output), 1500);
    assert_true(bench_output_has(output, &measured.record));
    assert_false(bench_output_has(output, &missing.record));
    /* Cold or warm is found out by running. */
    warm.record.cache = DLT_CACHE_WARM;
    assert_true(bench_output_has(output, &warm.record));
    warm.record.pass = DLT_BACKWARD_DATA;
    assert_false(bench_output_has(output, &warm.record));
    bench_output_close(output);
}

static void a_line_cut_short_is_removed_and_the_rest_continued(void **state)
{
    struct dlt_measure_reader *reader;
    struct dlt_measurement m = row(10);
    struct bench_output *output;
    struct dlt_error error;
    int rows = 0;

    (void)state;
    write_rows(3);
    m = row(99);
    {
        FILE *file = fopen(path, "a");

        assert_non_null(file);
        fputs("{\"op\":\"dense\",\"pass\":\"forw", file);
        fclose(file);
    }
    output = start(BENCH_OUTPUT_RESUME);
    assert_int_equal(bench_output_count(output), 3);
    assert_int_equal(bench_output_add(output, &m, NULL), 0);
    bench_output_close(output);
    assert_int_equal(dlt_measure_open(path, &reader, &error), 0);
    while (dlt_measure_next(reader, &m, NULL, &error) == 1)
        rows++;
    assert_int_equal(rows, 4);
    assert_false(dlt_measure_cut(reader));
    assert_int_equal(m.record.u.matmul.n, 99);
    dlt_measure_close(reader);
}

static void a_job_killed_before_its_header_starts_anew(void **state)
{
    struct bench_output *output;

    (void)state;
    write_bytes("{\"format\":\"dlt", 14);
    output = start(BENCH_OUTPUT_RESUME);
    assert_int_equal(bench_output_count(output), 0);
    bench_output_close(output);
    output = start(BENCH_OUTPUT_RESUME);
    bench_output_close(output);
}

static void a_file_that_is_no_start_of_a_header_is_kept(void **state)
{
    struct dlt_measure_header header = header_of("cpu");
    struct bench_output *output;
    struct dlt_error error;
    struct stat status;

    (void)state;
    write_bytes("{\"name\": \"mlp\"}", 15);
    assert_int_equal(bench_output_open(path, BENCH_OUTPUT_RESUME, &header, &output, &error), -1);
    assert_non_null(strstr(error.text, "holds no measurements"));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 15);
}

static void a_finished_file_is_not_overwritten(void **state)
{
    struct dlt_measure_header header = header_of("cpu");
    struct bench_output *output;
    struct dlt_error error;

    (void)state;
    write_rows(1);
    assert_int_equal(bench_output_open(path, BENCH_OUTPUT_NEW, &header, &output, &error), -1);
    assert_non_null(strstr(error.text, "exists; --resume continues it"));
}

static void a_file_of_another_device_or_kind_is_refused(void **state)
{
    struct dlt_measure_header header = header_of("another cpu");
    struct bench_output *output;
    struct dlt_error error;

    (void)state;
    write_rows(1);
    assert_int_equal(bench_output_open(path, BENCH_OUTPUT_RESUME, &header, &output, &error), -1);
    assert_non_null(strstr(error.text, "was measured on cpu, and this is another cpu"));
    header = header_of("cpu");
    header.runs = true;
    assert_int_equal(bench_output_open(path, BENCH_OUTPUT_RESUME, &header, &output, &error), -1);
    assert_non_null(strstr(error.text, "holds measurements, not runs"));
    header = header_of("cpu");
    header.software.backend[0] = 'x';
    assert_int_equal(bench_output_open(path, BENCH_OUTPUT_RESUME, &header, &output, &error), -1);
    assert_non_null(strstr(error.text, "was measured with onednn 2.6.3"));
}

static void two_writers_of_one_file_are_told_apart(void **state)
{
    struct dlt_measure_header header = header_of("cpu");
    struct bench_output *first, *second;
    struct dlt_error error;

    (void)state;
    unlink(path);
    first = start(BENCH_OUTPUT_NEW);
    assert_int_equal(bench_output_open(path, BENCH_OUTPUT_RESUME, &header, &second, &error), -1);
    assert_non_null(strstr(error.text, "is being written by another dlbench"));
    bench_output_close(first);
}

static void the_header_that_is_there_rules(void **state)
{
    struct dlt_measure_header header = header_of("cpu");
    struct dlt_measurement m = row(1);
    struct bench_output *output;

    (void)state;
    unlink(path);
    header.device.clock_hz = 2e9;
    assert_int_equal(bench_output_open(path, BENCH_OUTPUT_NEW, &header, &output, NULL), 0);
    assert_int_equal(bench_output_add(output, &m, NULL), 0);
    bench_output_close(output);
    header.device.clock_hz = 3e9;
    assert_int_equal(bench_output_open(path, BENCH_OUTPUT_RESUME, &header, &output, NULL), 0);
    assert_near(header.device.clock_hz, 2e9, 1);
    bench_output_close(output);
}

static void a_header_alone_is_not_left_behind(void **state)
{
    (void)state;
    unlink(path);
    bench_output_close(start(BENCH_OUTPUT_NEW));
    assert_int_equal(access(path, F_OK), -1);
    /* What was there stays. */
    write_rows(1);
    bench_output_close(start(BENCH_OUTPUT_RESUME));
    assert_int_equal(access(path, F_OK), 0);
}

/* A limit on the file's size stands for the disk's: the kernel writes what fits, then fails. */
static void of_a_line_that_does_not_fit_nothing_stays(void **state)
{
    struct dlt_measurement next = row(4);
    struct rlimit before, tight;
    struct bench_output *output;
    struct dlt_error error;
    struct stat whole, after;

    (void)state;
    write_rows(3);
    output = start(BENCH_OUTPUT_RESUME);
    assert_int_equal(stat(path, &whole), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tight = (struct rlimit){(rlim_t)whole.st_size + 20, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    assert_int_equal(bench_output_add(output, &next, &error), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_string_equal(strrchr(error.text, ':'), ": File too large");
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_size, whole.st_size);
    assert_false(bench_output_has(output, &next.record));
    assert_int_equal(bench_output_add(output, &next, &error), 0);
    bench_output_close(output);
    output = start(BENCH_OUTPUT_RESUME);
    assert_int_equal(bench_output_count(output), 4);
    bench_output_close(output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resuming_knows_what_was_measured),
        cmocka_unit_test(a_line_cut_short_is_removed_and_the_rest_continued),
        cmocka_unit_test(a_job_killed_before_its_header_starts_anew),
        cmocka_unit_test(a_file_that_is_no_start_of_a_header_is_kept),
        cmocka_unit_test(a_finished_file_is_not_overwritten),
        cmocka_unit_test(a_file_of_another_device_or_kind_is_refused),
        cmocka_unit_test(two_writers_of_one_file_are_told_apart),
        cmocka_unit_test(the_header_that_is_there_rules),
        cmocka_unit_test(a_header_alone_is_not_left_behind),
        cmocka_unit_test(of_a_line_that_does_not_fit_nothing_stays),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
