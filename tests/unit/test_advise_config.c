/* SPDX-License-Identifier: Apache-2.0 */
/* dltime.conf: what it means, how it fails, and whom it is believed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../plugin/advise/config.h"
#include "test.h"

static char folder[] = "/tmp/test_advise_config.XXXXXX";
static char main_path[128], site_path[128];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(main_path, sizeof main_path, "%s/dltime.conf", folder);
    snprintf(site_path, sizeof site_path, "%s/site.conf", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(main_path);
    unlink(site_path);
    return rmdir(folder);
}

static void write_file(const char *path, const char *text)
{
    FILE *stream = fopen(path, "w");

    assert_non_null(stream);
    fputs(text, stream);
    assert_int_equal(fclose(stream), 0);
    chmod(path, 0644);
}

static int load(const char *text, struct dlt_config *config, struct dlt_error *error)
{
    write_file(main_path, text);
    return dlt_config_load(main_path, DLT_NOBODY, config, error);
}

static void an_empty_file_has_the_documented_defaults(void **state)
{
    struct dlt_config config;
    struct dlt_error error;

    (void)state;
    assert_int_equal(load("# nothing\n", &config, &error), 0);
    assert_near(config.confidence, 0.99, 0);
    assert_int_equal(config.set_requires, DLT_BASIS_ADAPTED);
    assert_near(config.grain_s, 60, 0);
    assert_true(isinf(config.max_limit_s));
    assert_near(config.deadline_s, 1, 0);
    assert_int_equal(config.dl_time, DLT_TIME_SET);
    assert_int_equal(config.dl_partition, DLT_PARTITION_SUGGEST);
    assert_int_equal(config.partition_count, 0);
    dlt_config_clear(&config);
}

static void every_setting_is_read(void **state)
{
    struct dlt_config config;
    struct dlt_error error;
    char expected[256];

    (void)state;
    assert_int_equal(load("confidence = 0.95; set_requires = \"cost model\"; grain = \"10m\";\n"
                          "min_limit = 300; max_limit = \"2-00:00:00\"; warn_above = 0.25;\n"
                          "better_by = 0.2; dl_time = \"suggest\"; dl_partition = \"off\";\n"
                          "default_candidates = \"v100,a100\"; deadline = 0.5;\n"
                          "snapshot_age = 0; profile = \"site.dlp\"; checkpoint_mb_per_s = 250;\n"
                          "partitions = ( { name = \"v100\"; device = \"Tesla V100\";\n"
                          "  profile = \"/p/v100.dlp\"; gpus_per_node = 4; gpu_type = \"v100\";\n"
                          "  cores_per_node = 40; nodes = 2; memory_gib = 32;\n"
                          "  max_wall = \"1-00:00:00\"; }, { name = \"cpu\"; } );\n",
                          &config, &error),
                     0);
    assert_near(config.confidence, 0.95, 0);
    assert_int_equal(config.set_requires, DLT_BASIS_COST_MODEL);
    assert_near(config.grain_s, 600, 0);
    assert_near(config.min_limit_s, 300, 0);
    assert_near(config.max_limit_s, 172800, 0);
    assert_near(config.deadline_s, 0.5, 0);
    assert_near(config.snapshot_age_s, 0, 0);
    assert_near(config.checkpoint_bandwidth, 250e6, 0);
    assert_int_equal(config.dl_time, DLT_TIME_SUGGEST);
    assert_int_equal(config.dl_partition, DLT_PARTITION_OFF);
    assert_string_equal(config.default_candidates, "v100,a100");
    snprintf(expected, sizeof expected, "%s/site.dlp", folder);
    assert_string_equal(config.profile, expected);
    assert_int_equal(config.partition_count, 2);
    assert_string_equal(config.partitions[0].profile, "/p/v100.dlp");
    assert_int_equal(config.partitions[0].shape.gpus, 4);
    assert_string_equal(config.partitions[0].shape.gpu, "v100");
    assert_near(config.partitions[0].memory_bytes, 32.0 * (1 << 30), 0);
    assert_near(config.partitions[0].max_wall_s, 86400, 0);
    assert_true(isnan(config.partitions[1].max_wall_s));
    dlt_config_clear(&config);
}

/* As an editor on Windows saves it. */
static void a_byte_order_mark_and_carriage_returns_do_no_harm(void **state)
{
    struct dlt_config config;
    struct dlt_error error;

    (void)state;
    assert_int_equal(load("\xef\xbb\xbf"
                          "confidence = 0.9;\r\ngrain = \"10m\";\r\n",
                          &config, &error),
                     0);
    assert_near(config.confidence, 0.9, 1e-12);
    assert_near(config.grain_s, 600, 0);
    dlt_config_clear(&config);
}

static void what_is_wrong_is_named_with_line_and_mend(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"confidence = 2.0;", "line 1: confidence: has to be a number between 0 and 1"},
        {"\nconfidense = 0.9;", "line 2: confidense: unknown setting; did you mean confidence?"},
        {"set_requires = \"good\";", "has to be one of \"cost model\""},
        {"grain = \"soon\";", "has to be a time above 0"},
        {"checkpoint_mb_per_s = 0;", "has to be a number of MB a second above 0"},
        {"grain = -5;", "has to be a time above 0"},
        {"dl_time = 3;", "has to be one of \"set\", \"suggest\", \"off\""},
        {"partitions = 3;", "partitions: has to be a list"},
        {"partitions = ( 3 );", "partitions[0]: has to be a group"},
        {"partitions = ( { device = \"x\"; } );", "partitions[0]: has no name"},
        {"partitions = ( { name = \"x\"; gpus = 4; } );", "partitions[0].gpus: unknown setting"},
        {"partitions = ( { name = \"x\"; nodes = 1.5; } );", "has to be a whole number"},
        {"partitions = ( { name = \"x\"; gpus_per_node = -1; } );", "has to be a whole number"},
        {"profile = \"\";", "has to be a text in quotes"},
        {"confidence = ;", "line 1: syntax error"},
        {"@include \"other.conf\"\n", "@include is not supported"},
        {"include = \"absent.conf\";", "absent.conf: No such file"},
        {"max_limit = 13;", "max_limit is 00:00:13, less than min_limit, which is 00:01:00"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dlt_config config;
        struct dlt_error error;

        assert_int_equal(load(cases[i].text, &config, &error), -1);
        if (!strstr(error.text, cases[i].says))
            fail_msg("\"%s\" does not say \"%s\"", error.text, cases[i].says);
        /* Nothing of a broken file is left. */
        assert_near(config.confidence, 0.99, 0);
        assert_int_equal(config.partition_count, 0);
        dlt_config_clear(&config);
    }
}

static void the_including_file_wins_over_the_included_one(void **state)
{
    struct dlt_config config;
    struct dlt_error error;

    (void)state;
    write_file(site_path, "confidence = 0.9; grain = 300;\n"
                          "partitions = ( { name = \"v100\"; } );\n");
    assert_int_equal(load("confidence = 0.95; include = \"site.conf\";", &config, &error), 0);
    assert_near(config.confidence, 0.95, 0);
    assert_near(config.grain_s, 300, 0);
    assert_int_equal(config.partition_count, 1);
    dlt_config_clear(&config);

    write_file(site_path, "include = \"site.conf\";\n");
    assert_int_equal(load("include = \"site.conf\";", &config, &error), -1);
    assert_non_null(strstr(error.text, "cannot include another"));
}

static void a_file_that_others_may_write_is_not_believed(void **state)
{
    struct dlt_config config;
    struct dlt_error error;

    (void)state;
    write_file(main_path, "confidence = 0.95;");
    chmod(main_path, 0664);
    assert_int_equal(dlt_config_load(main_path, DLT_NOBODY, &config, &error), -1);
    assert_non_null(strstr(error.text, "others may write to it; chmod go-w"));
    chmod(main_path, 0644);
    chmod(folder, 0777);
    assert_int_equal(dlt_config_load(main_path, DLT_NOBODY, &config, &error), -1);
    chmod(folder, 0700);
    assert_int_equal(dlt_config_load(main_path, DLT_NOBODY, &config, &error), 0);
    dlt_config_clear(&config);
}

static void a_strangers_file_is_not_believed(void **state)
{
    struct dlt_config config;
    struct dlt_error error;

    (void)state;
    if (geteuid() != 0)
        skip();
    write_file(main_path, "confidence = 0.95;");
    assert_int_equal(chown(main_path, 4242, 4242), 0);
    assert_int_equal(dlt_config_load(main_path, DLT_NOBODY, &config, &error), -1);
    assert_non_null(strstr(error.text, "belongs to user 4242"));
    /* Unless the stranger is SlurmUser. */
    assert_int_equal(dlt_config_load(main_path, 4242, &config, &error), 0);
    dlt_config_clear(&config);
}

static void objectives_prices_and_features_are_read(void **state)
{
    struct dlt_config config;
    struct dlt_error error;

    (void)state;
    assert_int_equal(load("objective = \"cost\"; ask_start = true;\n"
                          "partitions = ( { name = \"v100\"; price = 2.5; features = \"a,b\"; },\n"
                          "  { name = \"cpu\"; profile = \"/p/x.dlp\"; },\n"
                          "  { name = \"gpu\"; profile = \"/p/x.dlp\"; } );\n",
                          &config, &error),
                     0);
    assert_int_equal(config.objective, DLT_OBJECTIVE_COST);
    assert_true(config.ask_start);
    assert_near(config.partitions[0].price, 2.5, 0);
    assert_string_equal(config.partitions[0].features, "a,b");
    assert_true(isnan(config.partitions[1].price));
    /* One text for all that name it. */
    assert_ptr_equal(config.partitions[1].profile, config.partitions[2].profile);
    assert_string_equal(config.partitions[1].profile, "/p/x.dlp");
    assert_int_equal(dlt_config_objective(&config, DLT_PARTITION_AUTO), DLT_OBJECTIVE_COST);
    assert_int_equal(dlt_config_objective(&config, DLT_PARTITION_AUTO_RUN), DLT_OBJECTIVE_RUN);
    assert_int_equal(dlt_config_objective(&config, DLT_PARTITION_SUGGEST), -1);
    dlt_config_clear(&config);
}

static void wrong_values_say_what_would_be_right(void **state)
{
    static const char *const cases[][2] = {
        {"snapshot_age = -5;", "has to be a time, such as 60 (seconds), or 0"},
        {"objective = \"luck\";", "has to be one of \"run\", \"cost\", \"finish\""},
        {"ask_start = 1;", "has to be true or false"},
        {"partitions = ( { name = \"a\"; price = -1; } );", "has to be a number above 0"},
    };
    struct dlt_config config;
    struct dlt_error error;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(load(cases[i][0], &config, &error), -1);
        assert_non_null(strstr(error.text, cases[i][1]));
        dlt_config_clear(&config);
    }
}

/* 200 partitions of 50 kinds of nodes. */
static void a_large_site_fits(void **state)
{
    struct dlt_config config;
    struct dlt_error error;
    FILE *stream = fopen(main_path, "w");

    (void)state;
    assert_non_null(stream);
    fputs("partitions = (", stream);
    for (int i = 0; i < 10000; i++)
        fprintf(stream,
                "%s\n{ name = \"p%d\"; device = \"NVIDIA A100-SXM4-80GB\"; profile = "
                "\"k%d.dlp\"; gpus_per_node = 4; }",
                i ? "," : "", i / 50, i % 50);
    fputs(");\n", stream);
    assert_int_equal(fclose(stream), 0);
    chmod(main_path, 0644);
    assert_int_equal(dlt_config_load(main_path, DLT_NOBODY, &config, &error), 0);
    assert_int_equal(config.partition_count, 10000);
    assert_string_equal(config.partitions[9999].name, "p199");
    dlt_config_clear(&config);
}

/* Entries that differ in their names alone, which are parsed once, mean what they say, and what is
 * written otherwise among them is no less understood. */
static void entries_of_one_kind_mean_what_each_says(void **state)
{
    static const char *const texts[] = {
        "partitions = ( { name = \"a\"; nodes = 3; }, { name = \"b\"; nodes = 3; } );",
        "partitions = (\n# one\n{ name = \"a\"; nodes = 3; } /* ) */ , { name=\"b\" ,nodes = 3; "
        "});",
        "partitions : ( { nodes = 3; name = \"a\"; }, { name = \"b\"; nodes = 3; } );",
        "partitions = ( { name = \"a\"; nodes = 0x3; },\n  { name = \"\" \"b\"; nodes = 3; } );",
        "dl_time = \"off\"; partitions = ( { name = \"a\"; nodes = 3; # {\n }, "
        "{ name = \"b\"; nodes = 3; # {\n } ); tag = true;",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct dlt_config config;
        struct dlt_error error = {""};

        if (load(texts[i], &config, &error))
            fail_msg("%s: %s", texts[i], error.text);
        assert_int_equal(config.partition_count, 2);
        assert_string_equal(config.partitions[0].name, "a");
        assert_string_equal(config.partitions[1].name, "b");
        assert_int_equal(config.partitions[0].shape.nodes, 3);
        assert_int_equal(config.partitions[1].shape.nodes, 3);
        dlt_config_clear(&config);
    }
}

/* A mistake among many entries of one kind is told as in any other file. */
static void a_mistake_among_entries_of_one_kind_has_its_line(void **state)
{
    static const char *const cases[][2] = {
        {"{ name = \"c\"; nodes = 3; name = \"d\"; }", "line 4: duplicate setting name"},
        {"{ name = \"c\"; nodes = -3; }", "line 4: partitions[2].nodes: has to be"},
        {"{ name = \"\"; nodes = 3; }", "line 4: partitions[2].name: has to be a text"},
        {"{ name = \"c\"; nodes = 3 ", "line 5: syntax error"},
        {"{ name = \"c\"; nodes = 3; )", "line 4: syntax error"},
        {"{ name = \"c\"; nodes = { }; }", "line 4: partitions[2].nodes: has to be"},
        {"{ name = \"c\"; nodes = 3; }, 3", "line 4: partitions[3]: has to be a group"},
        {"{ name = \"c\"; nodes = 3; \"", "line 6: syntax error"},
        {"{ name = \"c\"; nodes = 3; /* ", "line 6: syntax error"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dlt_config config;
        struct dlt_error error = {""};
        char text[512];

        snprintf(text, sizeof text,
                 "partitions = (\n { name = \"a\"; nodes = 3; },\n"
                 " { name = \"b\"; nodes = 3; },\n %s\n);\n",
                 cases[i][0]);
        assert_int_equal(load(text, &config, &error), -1);
        if (!strstr(error.text, cases[i][1]))
            fail_msg("%s: %s", cases[i][0], error.text);
        assert_int_equal(config.partition_count, 0);
        dlt_config_clear(&config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_file_has_the_documented_defaults),
        cmocka_unit_test(every_setting_is_read),
        cmocka_unit_test(a_byte_order_mark_and_carriage_returns_do_no_harm),
        cmocka_unit_test(what_is_wrong_is_named_with_line_and_mend),
        cmocka_unit_test(the_including_file_wins_over_the_included_one),
        cmocka_unit_test(a_file_that_others_may_write_is_not_believed),
        cmocka_unit_test(objectives_prices_and_features_are_read),
        cmocka_unit_test(wrong_values_say_what_would_be_right),
        cmocka_unit_test(a_large_site_fits),
        cmocka_unit_test(entries_of_one_kind_mean_what_each_says),
        cmocka_unit_test(a_mistake_among_entries_of_one_kind_has_its_line),
        cmocka_unit_test(a_strangers_file_is_not_believed),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
