/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include "base/file.h"
#include "base/paths.h"
#include "measure/members.h"
#include "measure_rows.h"

static void a_header_gives_device_and_software_in_si_units(void **state)
{
    struct dlt_measure_reader *reader = open_rows("");
    const struct dlt_measure_header *h = dlt_measure_header(reader);

    (void)state;
    assert_false(h->runs);
    assert_string_equal(h->device.name, "Tesla K40");
    assert_near(h->device.compute_capability, 3.5, 1e-12);
    assert_near(h->device.clock_hz, 875e6, 1);
    assert_near(h->device.memory_bytes, 12.0 * 1024 * 1024 * 1024, 1);
    assert_near(h->device.l2_bytes, 0, 0);
    assert_string_equal(h->device.architecture, "");
    assert_int_equal(h->software.timing, DLT_HOST_SYNCHRONOUS);
    assert_string_equal(h->source, "a test");
    dlt_measure_close(reader);
}

static void a_cpu_header_has_a_model_and_its_rows_have_threads(void **state)
{
    static const char text[] =
        "{\"format\":\"dltime-measurements\",\"version\":1,\"device\":{\"model\":\"AMD EPYC 7763\","
        "\"isa\":\"avx2\",\"sockets\":2,\"cores\":128,\"clock_mhz\":2450,"
        "\"memory_bandwidth_gbs\":204.8}}\n"
        "{\"op\":\"softmax\",\"pass\":\"backward\",\"rows\":4,\"columns\":8,\"threads\":16,"
        "\"cache\":\"cold\",\"median_ms\":1}\n";
    struct dlt_measure_reader *reader;
    struct dlt_measurement m;

    (void)state;
    write_bytes(text, strlen(text));
    assert_int_equal(dlt_measure_open(path, &reader, NULL), 0);
    assert_string_equal(dlt_measure_header(reader)->device.name, "AMD EPYC 7763");
    assert_string_equal(dlt_measure_header(reader)->device.isa, "avx2");
    assert_near(dlt_measure_header(reader)->device.sockets, 2, 0);
    assert_near(dlt_measure_header(reader)->device.cores, 128, 0);
    assert_near(dlt_measure_header(reader)->device.memory_bandwidth, 204.8e9, 1);
    assert_int_equal(dlt_measure_next(reader, &m, NULL, NULL), 1);
    assert_int_equal(m.record.threads, 16);
    assert_int_equal(m.record.cache, DLT_CACHE_COLD);
    dlt_measure_close(reader);
}

static void a_convolution_row_is_read_height_before_width(void **state)
{
    struct dlt_measurement m = read_row(
        "{\"op\":\"conv2d\",\"pass\":\"step\",\"dtype\":\"float16\",\"math\":\"ieee\",\"batch\":9,"
        "\"in_channels\":6,\"in_size\":[71,35],\"out_channels\":8,\"kernel\":[4,3],"
        "\"stride\":[2,1],\"padding\":[[1,2],[0,3]],\"groups\":2,\"bias\":true,"
        "\"activation\":\"relu\",\"optimizer\":\"rmsprop\",\"median_ms\":3.42892,"
        "\"min_ms\":3.30632,\"max_ms\":3.75588,\"std_ms\":0.152124,\"repeats\":5,"
        "\"temperature_c\":-4.5,\"disturbed\":true}\n");
    const struct dlt_spatial *s = &m.record.u.spatial;

    (void)state;
    assert_string_equal(m.record.kind->name, "conv2d");
    assert_int_equal(m.record.pass, DLT_STEP);
    assert_int_equal(m.record.dtype, DLT_FLOAT16);
    assert_int_equal(m.record.activation, DLT_RELU);
    assert_int_equal(m.record.optimizer, DLT_RMSPROP);
    assert_int_equal(s->in_size[0], 71);
    assert_int_equal(s->in_size[1], 35);
    assert_int_equal(s->kernel[0], 4);
    assert_int_equal(s->kernel[1], 3);
    assert_int_equal(s->stride[0], 2);
    assert_int_equal(s->dilation[1], 1);
    assert_int_equal(s->padding[0][0], 1);
    assert_int_equal(s->padding[0][1], 2);
    assert_int_equal(s->padding[1][1], 3);
    assert_int_equal(s->groups, 2);
    assert_int_equal(s->bias, 1);
    assert_near(m.median_s, 3.42892e-3, 1e-15);
    assert_near(m.min_s, 3.30632e-3, 1e-15);
    assert_near(m.max_s, 3.75588e-3, 1e-15);
    assert_near(m.std_s, 0.152124e-3, 1e-15);
    assert_int_equal(m.repeats, 5);
    assert_near(m.temperature_c, -4.5, 0);
    assert_true(m.disturbed);
}

#define CONV(fields)                                                                               \
    "{\"op\":\"conv2d\",\"pass\":\"forward\",\"batch\":1,\"in_channels\":1,\"out_channels\":1,"    \
    "\"median_ms\":1," fields "}\n"

static void one_number_stands_for_every_dimension(void **state)
{
    struct dlt_measurement m =
        read_row(CONV("\"in_size\":32,\"kernel\":5,\"stride\":2,\"padding\":2,\"dilation\":3"));

    (void)state;
    for (int d = 0; d < 2; d++) {
        assert_int_equal(m.record.u.spatial.in_size[d], 32);
        assert_int_equal(m.record.u.spatial.kernel[d], 5);
        assert_int_equal(m.record.u.spatial.stride[d], 2);
        assert_int_equal(m.record.u.spatial.dilation[d], 3);
        assert_int_equal(m.record.u.spatial.padding[d][0], 2);
        assert_int_equal(m.record.u.spatial.padding[d][1], 2);
    }
}

/* TensorFlow's rule: out = ceil(in / stride); of an odd sum the larger half comes after. 224 with
 * kernel 7, stride 2: out 112, sum 111 * 2 + 7 - 224 = 5. It stands before the sizes here. */
static void same_padding_is_tensorflows_wherever_it_stands_in_the_row(void **state)
{
    struct dlt_measurement m = read_row(
        CONV("\"padding\":\"same\",\"in_size\":[224,5],\"kernel\":[7,2],\"stride\":[2,1]"));

    (void)state;
    assert_int_equal(m.record.u.spatial.padding[0][0], 2);
    assert_int_equal(m.record.u.spatial.padding[0][1], 3);
    assert_int_equal(m.record.u.spatial.padding[1][0], 0);
    assert_int_equal(m.record.u.spatial.padding[1][1], 1);
    assert_int_equal(dlt_spatial_out(&m.record.u.spatial, 0), 112);
    assert_int_equal(dlt_spatial_out(&m.record.u.spatial, 1), 5);
}

static void a_row_that_is_wrong_is_told_by_file_line_and_field(void **state)
{
    (void)state;
    expect_row_error("{\"op\":\"dense\",\"pass\":\"forward\",\"batch\":1,\"out_features\":9,"
                     "\"median_ms\":1}\n",
                     "in_features: is missing; dense needs it");
    expect_row_error("{\"op\":\"dense\",\"pass\":\"forward\",\"batch\":0,\"in_features\":1,"
                     "\"out_features\":9,\"median_ms\":1}\n",
                     "batch: has to be a whole number of at least 1, not 0");
    expect_row_error("{\"op\":\"dense\",\"pass\":\"forwards\",\"batch\":1,\"in_features\":1,"
                     "\"out_features\":9,\"median_ms\":1}\n",
                     "pass: \"forwards\" is not known; did you mean \"forward\"?");
    expect_row_error("{\"op\":\"dense\",\"batch\":1,\"in_features\":1,\"out_features\":9,"
                     "\"median_ms\":1}\n",
                     "pass: is missing");
    expect_row_error("{\"op\":\"softmax\",\"pass\":\"forward\",\"rows\":1,\"columns\":1}\n",
                     "median_ms: is missing");
    expect_row_error("{\"op\":\"softmax\",\"pass\":\"forward\",\"rows\":1,\"columns\":1,"
                     "\"median_ms\":0}\n",
                     "median_ms: has to be from 0.000001 (a nanosecond) to 86400000 (a day)");
    expect_row_error("{\"op\":\"softmax\",\"pass\":\"forward\",\"rows\":1,\"columns\":1,"
                     "\"median_ms\":1e12}\n",
                     "median_ms: has to be from");
    expect_row_error("{\"op\":\"softmax\",\"pass\":\"forward\",\"rows\":1,\"columns\":1,"
                     "\"median_ms\":-1}\n",
                     "median_ms: has to be a number of at least 0, not -1");
    expect_row_error("{\"op\":\"softmax\",\"pass\":\"forward\",\"rows\":1,\"columns\":1,"
                     "\"median_ms\":1e300}\n",
                     "median_ms: has to be a number of at least 0, not 1e300, which is too large");
    expect_row_error("{\"op\":\"softmax\",\"pass\":\"forward\",\"rows\":1,\"columns\":1,"
                     "\"median_ms\":\"1\"}\n",
                     "median_ms: has to be a number of at least 0, not \"1\"");
    expect_row_error("{\"op\":\"softmax\",\"pass\":\"forward\",\"rows\":9223372036854775807,"
                     "\"columns\":1,\"median_ms\":1}\n",
                     "rows: has to be a whole number of at least 1, not 9223372036854775807, which "
                     "is too large");
    expect_row_error(CONV("\"in_size\":[3,3,3],\"kernel\":1"),
                     "in_size: has to be a size or a list");
    expect_row_error(CONV("\"in_size\":3,\"kernel\":5"), "kernel 5 does not fit into 3");
    expect_row_error(CONV("\"in_size\":3,\"kernel\":1,\"padding\":\"full\""), "padding: has to be");
    expect_row_error(CONV("\"in_size\":3,\"kernel\":1,\"stride\":0"), "stride: has to be");
    expect_row_error("not json\n", "is no JSON object");
    expect_row_error("[1]\n", "is no JSON object");
    expect_row_error("{\"pass\":\"forward\"}\n", "op: is missing");
    expect_row_error("{\"op\":\"dense\",\"pass\":\"forward\",\"batch\":9007199254740992,"
                     "\"in_features\":9007199254740992,\"out_features\":9,\"median_ms\":1}\n",
                     "2^53");
}

static void only_json_is_taken_for_json(void **state)
{
    static const char *const bad[] = {
        "01",          "+1",      "1e",         "tru",          "\"",          "\"\\x\"",
        "\"\\u12g4\"", "[1,]",    "[1 2]",      "{\"a\"}",      "{a:1}",       "'a'",
        "[1}",         "1 /* */", "{\"a\":1,}", "1}, {\"b\":1", "1} {\"b\":1", "\xef\xbb\xbf"};
    char row[128], deep[101] = "";

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(row, sizeof row, "{\"x\":%s}\n", bad[i]);
        expect_row_error(row, "is no JSON object");
    }
    memset(deep, '[', 50);
    memset(deep + 50, ']', 50);
    snprintf(row, sizeof row, "{\"x\":%s}\n", deep);
    expect_row_error(row, "is no JSON object");
}

static void numbers_are_the_nearest_doubles_and_finite(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++) {
        char row[256], number[80];

        snprintf(number, sizeof number, "%lld.%0*llde%d",
                 (long long)random_below(i % 2 ? 1000 : 1LL << 50), i % 14 + 1,
                 (long long)random_below(1000) + 1, (int)random_below(20) - 10);
        snprintf(row, sizeof row,
                 "{\"op\":\"softmax\",\"pass\":\"forward\",\"rows\":3.2e1,\"columns\":32.0,"
                 "\"median_ms\":1,\"power_w\":%s}\n",
                 number);
        assert_true(read_row(row).power_w == strtod(number, NULL));
    }
    expect_row_error("{\"op\":\"softmax\",\"pass\":\"forward\",\"rows\":1,\"columns\":1,"
                     "\"median_ms\":1e400}\n",
                     "median_ms: has to be a number");
    expect_row_error("{\"op\":\"softmax\",\"pass\":\"forward\",\"rows\":1,\"columns\":1,"
                     "\"median_ms\":NaN}\n",
                     "median_ms: has to be a number");
}

/* An algorithm's name is read into 32 bytes. */
static void texts_are_decoded_cleaned_and_cut_at_a_characters_edge(void **state)
{
    static const struct {
        const char *json, *text;
    } cases[] = {
        {"a\\\"b\\\\c\\/d", "a\"b\\c/d"},
        {"x\\ny\\u0007", "x?y?"},
        {"\\u00e9", "\303\251"},
        {"\\ud83d\\ude00", "\360\237\230\200"}, /* a surrogate pair is one character */
        {"\303\251", "\303\251"},
        {"\377\301", "??"},
        {"0123456789012345678901234567\303\251\303\251", "0123456789012345678901234567\303\251"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char row[256];

        snprintf(row, sizeof row,
                 "{\"op\":\"softmax\",\"pass\":\"forward\",\"rows\":1,\"columns\":1,"
                 "\"median_ms\":1,\"algorithm\":\"%s\"}\n",
                 cases[i].json);
        assert_string_equal(read_row(row).algorithm, cases[i].text);
    }
}

static void unknown_fields_are_ignored_and_unknown_operators_counted(void **state)
{
    struct dlt_measure_reader *reader = open_rows(
        "{\"op\":\"fft3d\",\"pass\":\"forward\",\"n\":3}\n"
        "\n"
        "{\"mood\":{\"deep\":[1,{\"x\":null}]},\"op\":\"elementwise\",\"function\":\"add\","
        "\"operands\":2,\"rows\":5,\"columns\":6,\"pass\":\"forward\",\"median_ms\":2}\r\n"
        "{\"op\":\"elementwise\",\"function\":\"erfinv\",\"rows\":5,\"columns\":6,"
        "\"pass\":\"forward\",\"median_ms\":2}\n");
    struct dlt_measurement m;
    struct dlt_error error;

    (void)state;
    assert_int_equal(dlt_measure_next(reader, &m, NULL, &error), 1);
    assert_int_equal(m.record.u.rowwise.function, DLT_ADD);
    assert_int_equal(m.record.u.rowwise.operands, 2);
    assert_int_equal(dlt_measure_next(reader, &m, NULL, &error), 0);
    assert_int_equal(dlt_measure_unknown(reader), 2);
    dlt_measure_close(reader);
}

static void a_run_may_name_its_card_and_takes_the_headers_device_else(void **state)
{
    static const char text[] =
        "{\"format\":\"dltime-runs\",\"version\":1,\"device\":{\"name\":\"Tesla T4\"}}\n"
        "{\"model\":\"ssd\",\"card\":\"V100 16GB\",\"batch\":8,\"suspect\":\"slow\"}\n"
        "{\"model\":\"vgg16\",\"input\":[3,224,224],\"step_ms\":65.195}\n"
        "{\"device\":\"x\"}\n";
    struct dlt_measure_reader *reader;
    struct dlt_error error;
    struct dlt_run run;

    (void)state;
    write_bytes(text, strlen(text));
    assert_int_equal(dlt_measure_open(path, &reader, NULL), 0);
    assert_int_equal(dlt_measure_next(reader, NULL, &run, NULL), 1);
    assert_string_equal(run.device, "V100 16GB");
    assert_string_equal(run.suspect, "slow");
    assert_int_equal(run.devices, 1);
    assert_int_equal(run.nodes, 1);
    assert_int_equal(run.pass, DLT_STEP);
    assert_int_equal(dlt_measure_next(reader, NULL, &run, NULL), 1);
    assert_string_equal(run.device, "Tesla T4");
    assert_int_equal(run.input[1], 224);
    assert_int_equal(run.input[3], 0);
    assert_near(run.step_s, 65.195e-3, 1e-12);
    assert_int_equal(dlt_measure_next(reader, NULL, &run, &error), -1);
    assert_non_null(strstr(error.text, "line 4: model: is missing"));
    dlt_measure_close(reader);
}

static void a_run_is_a_spec_with_what_its_row_says(void **state)
{
    struct dlt_run run = {.model = "resnet50",
                          .batch = 64,
                          .sequence = 128,
                          .framework = "PyTorch 2.1.0",
                          .layout = "nhwc",
                          .optimizer = "adam",
                          .precision = "amp-float16"};
    char spec[128];

    (void)state;
    assert_true(dlt_run_spec(&run, spec, sizeof spec));
    assert_string_equal(spec, "resnet50,framework=pytorch,batch=64,optimizer=adam,"
                              "precision=amp-float16,layout=nhwc,seq=128");
    assert_false(dlt_run_spec(&run, spec, 40));
    run = (struct dlt_run){.model = "x", .batch = 1, .framework = "none"};
    assert_true(dlt_run_spec(&run, spec, sizeof spec));
    assert_string_equal(spec, "x,framework=none,batch=1");
}

/* 32 images on each of two devices at 640 images/s are a step of 0.1 s; so are 32 sequences of 128
 * tokens at 81,920 tokens/s. */
static void a_runs_seconds_are_timed_or_follow_from_its_throughput(void **state)
{
    const struct dlt_run step = {.pass = DLT_STEP, .batch = 32, .devices = 2};
    struct dlt_run run = step;

    (void)state;
    assert_true(isnan(dlt_run_seconds(&run)));
    run.throughput = 640;
    strcpy(run.unit, "images/s");
    assert_near(dlt_run_seconds(&run), 0.1, 1e-15);
    strcpy(run.unit, "tokens/s");
    run.throughput = 81920;
    assert_true(isnan(dlt_run_seconds(&run)));
    run.sequence = 128;
    assert_near(dlt_run_seconds(&run), 0.1, 1e-15);
    strcpy(run.unit, "rays/s");
    assert_true(isnan(dlt_run_seconds(&run)));
    run.forward_s = 0.03;
    run.backward_s = 0.06;
    assert_near(dlt_run_seconds(&run), 0.09, 1e-15);
    run.step_s = 0.095; /* which holds the update as well */
    assert_near(dlt_run_seconds(&run), 0.095, 0);
    run.pass = DLT_FORWARD;
    assert_near(dlt_run_seconds(&run), 0.03, 0);
}

static void expect_members(const char *manual, const struct dlt_member *table)
{
    for (; table->name; table++)
        if (!strstr(manual, table->name))
            fail_msg("dltime-measurements(5) lacks %s", table->name);
}

static void the_manual_names_every_operator_field_and_value(void **state)
{
    char file[PATH_MAX], *manual;
    struct dlt_error error;
    size_t size;

    (void)state;
    dlt_path(DLT_FOLDER_CONF, "../man/dltime-measurements.5", file, sizeof file);
    if (dlt_file_read(file, 1 << 20, &manual, &size, &error))
        fail_msg("%s", error.text);
    for (size_t i = 0; i < dlt_record_kind_count(); i++) {
        const struct dlt_record_kind *kind = dlt_record_kind_at(i);

        if (!strstr(manual, kind->name))
            fail_msg("dltime-measurements(5) lacks %s", kind->name);
        for (const struct dlt_field *field = kind->fields; field->name; field++)
            if (!strstr(manual, field->name))
                fail_msg("dltime-measurements(5) lacks %s of %s", field->name, kind->name);
    }
    for (size_t i = 0; i < DLT_FUNCTIONS; i++)
        if (!strstr(manual, dlt_function_names[i]))
            fail_msg("dltime-measurements(5) lacks %s", dlt_function_names[i]);
    for (size_t i = 0; i < DLT_OPTIMIZERS; i++)
        if (!strstr(manual, dlt_optimizer_names[i]))
            fail_msg("dltime-measurements(5) lacks %s", dlt_optimizer_names[i]);
    expect_members(manual, dlt_device_members);
    expect_members(manual, dlt_software_members);
    expect_members(manual, dlt_row_members);
    expect_members(manual, dlt_run_members);
    free(manual);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_gives_device_and_software_in_si_units),
        cmocka_unit_test(a_cpu_header_has_a_model_and_its_rows_have_threads),
        cmocka_unit_test(a_convolution_row_is_read_height_before_width),
        cmocka_unit_test(one_number_stands_for_every_dimension),
        cmocka_unit_test(same_padding_is_tensorflows_wherever_it_stands_in_the_row),
        cmocka_unit_test(a_row_that_is_wrong_is_told_by_file_line_and_field),
        cmocka_unit_test(only_json_is_taken_for_json),
        cmocka_unit_test(numbers_are_the_nearest_doubles_and_finite),
        cmocka_unit_test(texts_are_decoded_cleaned_and_cut_at_a_characters_edge),
        cmocka_unit_test(unknown_fields_are_ignored_and_unknown_operators_counted),
        cmocka_unit_test(a_run_may_name_its_card_and_takes_the_headers_device_else),
        cmocka_unit_test(a_run_is_a_spec_with_what_its_row_says),
        cmocka_unit_test(a_runs_seconds_are_timed_or_follow_from_its_throughput),
        cmocka_unit_test(the_manual_names_every_operator_field_and_value),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
