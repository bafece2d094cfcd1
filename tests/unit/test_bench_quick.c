/* SPDX-License-Identifier: Apache-2.0 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "quick.h"
#include "quick_networks.h"
#include "test.h"

static const struct bench_quick_options usual = {
    .peak = 1e11, .most_macs = 2e9, .most_bytes = 256 << 20, .threads = 2};

static struct bench_quick *from_text(const char *text, struct dlt_error *error)
{
    char path[] = "/tmp/dltime-quick-XXXXXX";
    struct bench_quick_options options = usual;
    struct bench_quick *quick = NULL;
    int fd = mkstemp(path);

    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    options.path = path;
    if (bench_quick_create(&options, &quick, error))
        quick = NULL;
    unlink(path);
    return quick;
}

static void the_shipped_list_fits_the_device_and_covers_what_networks_need(void **state)
{
    static const char *const needed[] = {"conv2d",     "dense",           "bmm",
                                         "batch_norm", "elementwise",     "softmax",
                                         "layer_norm", "optimizer_update"};
    bool seen[sizeof needed / sizeof *needed] = {false};
    struct bench_quick *quick;
    struct dlt_work work;
    double repeat_s;

    (void)state;
    assert_int_equal(bench_quick_create(&usual, &quick, NULL), 0);
    assert_true(bench_quick_count(quick) > 20);
    for (size_t i = 0; i < bench_quick_count(quick); i++) {
        const struct bench_sample *sample = bench_quick_at(quick, i, &repeat_s);

        assert_int_equal(dlt_record_check(&sample->record, NULL), 0);
        assert_int_equal(sample->record.threads, 2);
        assert_true(sample->pass_count >= 1 && sample->pass_count <= BENCH_SAMPLE_PASSES);
        dlt_record_work(&sample->record, &work);
        assert_true(work.macs <= usual.most_macs);
        /* Both gradients of a product of two tensors are one pass. */
        if (strcmp(sample->record.kind->name, "bmm") == 0)
            for (int p = 0; p < sample->pass_count; p++)
                assert_true(sample->pass[p] == DLT_FORWARD || sample->pass[p] == DLT_BACKWARD);
        for (size_t n = 0; n < sizeof needed / sizeof *needed; n++)
            seen[n] = seen[n] || strcmp(sample->record.kind->name, needed[n]) == 0;
    }
    for (size_t n = 0; n < sizeof needed / sizeof *needed; n++)
        assert_true(seen[n]);
    bench_quick_destroy(quick);
}

static void the_first_is_a_product_of_twenty_milliseconds_at_the_peak(void **state)
{
    struct bench_quick *quick;
    double repeat_s;
    const struct bench_sample *sample;

    (void)state;
    assert_int_equal(bench_quick_create(&usual, &quick, NULL), 0);
    sample = bench_quick_at(quick, 0, &repeat_s);
    /* 20 ms x 1e11 FLOP/s = 2e9 FLOP = 2 x 1000^3; the next multiple of 64 is 1024. */
    assert_string_equal(sample->record.kind->name, "dense");
    assert_int_equal(sample->record.u.matmul.m, 1024);
    assert_int_equal(sample->record.u.matmul.k, 1024);
    /* Five repeats of a second: sustained, not a burst. */
    assert_near(repeat_s, 1, 1e-12);
    bench_quick_destroy(quick);
}

static void rows_that_differ_in_the_pass_alone_are_one_sample(void **state)
{
    static const char text[] =
        "{\"format\":\"dltime-measurements\",\"version\":1}\n"
        "{\"op\":\"dense\",\"pass\":\"forward\",\"dtype\":\"float32\",\"math\":\"ieee\",\"batch\":"
        "8,"
        "\"in_features\":16,\"out_features\":32,\"bias\":true}\n"
        "{\"op\":\"dense\",\"pass\":\"backward_weight\",\"dtype\":\"float32\",\"math\":\"ieee\","
        "\"batch\":8,\"in_features\":16,\"out_features\":32,\"bias\":true}\n"
        "{\"op\":\"dense\",\"pass\":\"forward\",\"dtype\":\"float32\",\"math\":\"ieee\",\"batch\":"
        "4,"
        "\"in_features\":16,\"out_features\":32,\"bias\":true}\n";
    struct bench_quick *quick = from_text(text, NULL);
    size_t fixed;
    double repeat_s;

    (void)state;
    assert_non_null(quick);
    for (fixed = 0; fixed < bench_quick_count(quick); fixed++) {
        bench_quick_at(quick, fixed, &repeat_s);
        if (repeat_s == 0)
            break;
    }
    assert_int_equal(bench_quick_count(quick) - fixed, 2);
    assert_int_equal(bench_quick_at(quick, fixed, &repeat_s)->pass_count, 2);
    assert_int_equal(bench_quick_at(quick, fixed, &repeat_s)->pass[1], DLT_BACKWARD_WEIGHT);
    assert_int_equal(bench_quick_at(quick, fixed + 1, &repeat_s)->record.u.matmul.m, 4);
    bench_quick_destroy(quick);
}

static void a_configuration_too_large_for_the_device_is_made_smaller(void **state)
{
    /* 4096 x 1024 x 1024 = 4.3e9 multiply-accumulates; 2e9 are allowed: a quarter of the rows. */
    static const char text[] =
        "{\"op\":\"dense\",\"pass\":\"forward\",\"dtype\":\"float32\",\"math\":\"ieee\","
        "\"batch\":4096,\"in_features\":1024,\"out_features\":1024,\"bias\":true}\n";
    struct bench_quick *quick = from_text(text, NULL);
    double repeat_s;

    (void)state;
    assert_non_null(quick);
    assert_int_equal(
        bench_quick_at(quick, bench_quick_count(quick) - 1, &repeat_s)->record.u.matmul.m, 1024);
    bench_quick_destroy(quick);
}

static void a_wrong_line_is_named(void **state)
{
    struct dlt_error error;

    (void)state;
    assert_null(from_text("{}\nnonsense\n", &error));
    assert_non_null(strstr(error.text, "line 2: is no JSON object"));
    assert_null(from_text("{\"op\":\"dense\"}\n", &error));
    assert_non_null(strstr(error.text, "line 1: "));
    assert_non_null(strstr(error.text, "is missing"));
}

static void runs_lie_beside_the_measurements(void **state)
{
    char path[64];

    (void)state;
    assert_true(bench_quick_networks_path("a/cpu.jsonl", path, sizeof path));
    assert_string_equal(path, "a/cpu.runs.jsonl");
    assert_true(bench_quick_networks_path("rows", path, sizeof path));
    assert_string_equal(path, "rows.runs.jsonl");
    assert_false(bench_quick_networks_path("rows", path, 8));
}

/* A quick run starts its own program for each network: here that is this one, which ends as the
 * backend's name says. */
static int as_child(const char *backend)
{
    if (strcmp(backend, "killed") == 0)
        raise(SIGKILL);
    return strcmp(backend, "refuses") == 0;
}

static void a_network_that_is_refused_is_left_out_and_one_that_is_killed_is_not(void **state)
{
    struct bench_quick_networks networks = {
        .peak = 1e11, .output = "/nonexistent/rows.jsonl", .quiet = true};
    static struct bench_cpus cpus;
    struct dlt_error error;

    (void)state;
    assert_int_equal(bench_cpus_find(0, &cpus, &error), 0);
    networks.cpus = &cpus;
    networks.backend = "runs";
    assert_int_equal(bench_quick_networks_run(&networks, &error), 0);
    networks.backend = "refuses";
    assert_int_equal(bench_quick_networks_run(&networks, &error), 0);
    networks.backend = "killed";
    assert_int_equal(bench_quick_networks_run(&networks, &error), -1);
    assert_non_null(strstr(error.text, "dlbench network was ended by a signal: Killed"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shipped_list_fits_the_device_and_covers_what_networks_need),
        cmocka_unit_test(the_first_is_a_product_of_twenty_milliseconds_at_the_peak),
        cmocka_unit_test(rows_that_differ_in_the_pass_alone_are_one_sample),
        cmocka_unit_test(a_configuration_too_large_for_the_device_is_made_smaller),
        cmocka_unit_test(a_wrong_line_is_named),
        cmocka_unit_test(runs_lie_beside_the_measurements),
        cmocka_unit_test(a_network_that_is_refused_is_left_out_and_one_that_is_killed_is_not),
    };

    /* network SPEC --backend NAME ... */
    if (argc > 4 && strcmp(argv[1], "network") == 0)
        return as_child(argv[4]);

    return cmocka_run_group_tests(tests, NULL, NULL);
}
