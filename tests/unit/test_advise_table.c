/* SPDX-License-Identifier: Apache-2.0 */
/* The table that users see, character by character. */
#include <stdlib.h>
#include <string.h>

#include "../../plugin/advise/table.h"
#include "test.h"

static const double gib = 1024.0 * 1024 * 1024;

static double at(int days, int hours, int minutes, int seconds)
{
    return ((days * 24.0 + hours) * 60 + minutes) * 60 + seconds;
}

/* The example of the project's design. */
static void fill(struct dlt_candidate candidate[3])
{
    candidate[0] = (struct dlt_candidate){
        .partition = "v100",
        .device = "Tesla V100-PCIE-32GB",
        .gpu = true,
        .up = true,
        .is_default = true,
        .default_time_s = NAN,
        .max_time_s = INFINITY,
        .epoch_s = at(0, 0, 21, 40),
        .job_s = at(1, 8, 31, 0),
        .low_s = at(1, 6, 40, 0),
        .high_s = at(1, 11, 20, 0),
        .upper_s = at(1, 12, 51, 0),
        .basis = DLT_BASIS_ADAPTED,
        .fits = DLT_FITS_TIGHT,
        .memory_bytes = 31 * gib,
        .device_memory_bytes = 32 * gib,
    };
    candidate[1] = candidate[0];
    candidate[1].partition = "p100";
    candidate[1].device = "Tesla P100-PCIE-16GB";
    candidate[1].is_default = false;
    candidate[1].fits = DLT_FITS_NO;
    candidate[1].device_memory_bytes = 16 * gib;
    candidate[2] = candidate[0];
    candidate[2].partition = "a100";
    candidate[2].device = "NVIDIA A100-PCIE-40GB";
    candidate[2].is_default = false;
    candidate[2].epoch_s = at(0, 0, 9, 12);
    candidate[2].job_s = at(0, 13, 52, 0);
    candidate[2].low_s = at(0, 13, 5, 0);
    candidate[2].high_s = at(0, 15, 1, 0);
    candidate[2].upper_s = at(0, 16, 2, 0);
    candidate[2].basis = DLT_BASIS_MEASURED;
    candidate[2].fits = DLT_FITS_YES;
    candidate[2].device_memory_bytes = 40 * gib;
}

static char *print(const char *headline, struct dlt_candidate *candidates, size_t count,
                   const struct dlt_config *config, const struct dlt_decision *decision)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    assert_non_null(stream);
    dlt_table_print(stream, headline, candidates, count, config, decision);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void the_table_of_the_design_is_printed_as_it_stands_there(void **state)
{
    static const char expected[] =
        "dltime: resnet50: 25.6 M parameters; 90 epochs of 2503 steps; 256 per GPU, 512 in all; "
        "float32\n"
        "  PARTITION  GPU                EPOCH   RUN TIME   90 % RANGE              LIMIT      "
        "MEMORY        RESTS ON\n"
        "  a100       A100 PCIe 40GB      9:12   13:52:00   13:05 - 15:01           16:10:00   "
        "31/40 GiB     measured\n"
        "* v100       V100 PCIe 32GB     21:40   1-08:31    1-06:40 - 1-11:20       1-13:00    "
        "31/32 tight   adapted\n"
        "  p100       P100 PCIe 16GB         -          -   -                       -          "
        "31/16 no      -\n"
        "dltime: time limit set to 1-13:00:00 (v100); on a100 it would run 18 h 39 min less: -p "
        "a100\n";
    struct dlt_candidate candidate[3];
    struct dlt_config config;
    struct dlt_request request;
    struct dlt_modes modes = {DLT_TIME_SET, DLT_PARTITION_SUGGEST, false};
    struct dlt_decision decision;
    char *text;

    (void)state;
    fill(candidate);
    dlt_config_init(&config);
    config.grain_s = 600;
    dlt_request_init(&request);
    dlt_decide(&config, &request, &modes, candidate, 3, &decision);
    text = print("resnet50: 25.6 M parameters; 90 epochs of 2503 steps; 256 per GPU, 512 in all; "
                 "float32",
                 candidate, 3, &config, &decision);
    assert_string_equal(text, expected);
    free(text);
}

static void without_any_estimate_only_sentences_are_printed(void **state)
{
    struct dlt_candidate candidate[3];
    struct dlt_config config;
    struct dlt_decision decision = {.line_count = 1,
                                    .line = {{true, "no estimate for v100: gone"}}};
    char *text;

    (void)state;
    fill(candidate);
    for (int i = 0; i < 3; i++)
        candidate[i].why = "gone";
    dlt_config_init(&config);
    text = print("", candidate, 3, &config, &decision);
    assert_string_equal(text, "dltime: warning: no estimate for v100: gone\n");
    free(text);
}

static void of_more_rows_than_are_shown_those_where_the_job_may_land_are_kept(void **state)
{
    enum { MANY = 100, SHOWN = 64 };
    struct dlt_candidate three[3], *many = calloc(MANY, sizeof *many);
    struct dlt_decision decision = {0};
    struct dlt_config config;
    size_t lines = 0;
    char *text;

    (void)state;
    assert_non_null(many);
    fill(three);
    dlt_config_init(&config);
    for (int i = 0; i < MANY; i++) {
        many[i] = three[2];
        many[i].job_s = 3600 + i;
    }
    many[MANY - 1].partition = "slowest";
    many[MANY - 1].landing = true;
    text = print("h", many, MANY, &config, &decision);
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 2 + SHOWN + 1); /* headline and heads; what is left out */
    assert_non_null(strstr(text, "\n* slowest "));
    assert_non_null(strstr(text, "\n  and 36 more\n"));
    free(text);
    free(many);
}

static void times_take_the_form_that_fits_their_length(void **state)
{
    const struct {
        double seconds;
        const char *text;
    } cases[] = {
        {12.3, "12.3 s"}, {552, "9:12"},   {49920, "13:52:00"}, {at(1, 8, 31, 0), "1-08:31"},
        {NAN, "-"},       {INFINITY, "-"}, {59.6, "1:00"},      {3599.6, "1:00:00"},
    };
    char buffer[32];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(dlt_table_time(buffer, cases[i].seconds), cases[i].text);
    assert_string_equal(dlt_table_range_time(buffer, at(0, 13, 5, 0), true), "13:05");
    assert_string_equal(dlt_table_range_time(buffer, at(0, 0, 55, 0), true), "0:55");
    assert_string_equal(dlt_table_range_time(buffer, at(0, 0, 55, 10), false), "0:55:10");
    /* Not to be taken for 31 hours, as 13:05 above is 13. */
    assert_string_equal(dlt_table_range_time(buffer, at(0, 0, 31, 7), false), "0:31:07");
    assert_string_equal(dlt_table_range_time(buffer, at(0, 1, 2, 3), false), "1:02:03");
    assert_string_equal(dlt_table_range_time(buffer, 20.9, false), "20.9 s");
}

static void device_names_are_cut_to_what_tells_them_apart(void **state)
{
    static const struct {
        const char *device, *label;
    } cases[] = {
        {"Tesla V100-SXM2-16GB", "V100 SXM2 16GB"},
        {"NVIDIA A100-PCIE-40GB", "A100 PCIe 40GB"},
        {"NVIDIA GeForce GTX 1080 Ti", "GTX 1080 Ti"},
        {"Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz", "Xeon Gold 6130 @ 2.10GHz"},
        {"", ""},
        {"bad\033[31mname", "bad?[31mname"},
    };
    char label[48];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dlt_device_label(label, sizeof label, cases[i].device);
        assert_string_equal(label, cases[i].label);
    }
    dlt_device_label(label, 5, "Tesla V100-SXM2-16GB");
    assert_string_equal(label, "V100");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_the_design_is_printed_as_it_stands_there),
        cmocka_unit_test(without_any_estimate_only_sentences_are_printed),
        cmocka_unit_test(of_more_rows_than_are_shown_those_where_the_job_may_land_are_kept),
        cmocka_unit_test(times_take_the_form_that_fits_their_length),
        cmocka_unit_test(device_names_are_cut_to_what_tells_them_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
