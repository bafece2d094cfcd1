/* SPDX-License-Identifier: Apache-2.0 */
/* The distributed model: pairs of runs, its fit, its file. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "learn/scaling_runs.h"
#include "predict/scaling.h"
#include "test.h"

static char folder[] = "/tmp/dltime-test-scaling-XXXXXX";
static char path[64];

/* Step times on n devices: `slow` of two networks takes 1.2 n^0.1 times its time on one, `fast`
 * n^0.1 times. Three families of devices. */
static void write_runs(const char *extra)
{
    static const char *const devices[] = {"Tesla V100-SXM2-16GB", "NVIDIA A100-SXM4-40GB",
                                          "Tesla T4"};
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fprintf(file, "{\"format\":\"dltime-runs\",\"version\":1}\n");
    for (int d = 0; d < 3; d++) {
        for (int network = 0; network < 2; network++) {
            for (int n = 1; n <= 8; n *= 2) {
                double one = 10.0 * (d + 1), factor = n > 1 ? pow(n, 0.1) : 1;

                if (network == 1 && n > 1)
                    factor *= 1.2;
                fprintf(file,
                        "{\"model\":\"%s\",\"device\":\"%s\",\"devices\":%d,\"nodes\":1,"
                        "\"batch\":32,\"precision\":\"float32\",\"pass\":\"step\","
                        "\"framework\":\"pytorch\",\"step_ms\":%.9g}\n",
                        network ? "slow" : "fast", devices[d], n, one * factor);
            }
        }
    }
    fputs(extra, file);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/runs.jsonl", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

/* The pairs of a file of those runs; returns how many. */
static size_t read_pairs(const char *extra, struct dlt_scaling_table *table,
                         struct dlt_scaling_run **run)
{
    struct dlt_error error;
    size_t count;

    write_runs(extra);
    assert_int_equal(dlt_scaling_read(table, path, NULL, 0, &error), 0);
    assert_int_equal(dlt_scaling_pairs(table, run, &count, &error), 0);
    return count;
}

static void runs_on_several_devices_find_their_like_on_one(void **state)
{
    struct dlt_scaling_table table = {0};
    struct dlt_scaling_run *run;
    size_t count;

    (void)state;
    /* Alone in its precision; suspect; of no time. */
    count = read_pairs("{\"model\":\"slow\",\"device\":\"Tesla T4\",\"devices\":2,\"batch\":32,"
                       "\"precision\":\"amp-float16\",\"step_ms\":5}\n"
                       "{\"model\":\"slow\",\"device\":\"Tesla T4\",\"devices\":2,\"batch\":32,"
                       "\"step_ms\":5,\"suspect\":\"odd\"}\n"
                       "{\"model\":\"slow\",\"device\":\"Tesla T4\",\"devices\":2,\"batch\":32}\n",
                       &table, &run);
    assert_int_equal(table.count, 25);
    assert_int_equal(table.suspect, 1);
    assert_int_equal(table.timeless, 1);
    assert_int_equal(count, 18);
    assert_int_equal(run[0].where.devices, 2);
    assert_near(run[0].one_s, 0.010, 1e-9);
    assert_near(run[0].seconds, 0.010 * 1.0717735, 1e-8); /* 2^0.1 */
    assert_string_equal(run[3].where.network, "slow");
    assert_int_equal(run[17].family, 2);
    free(run);
    dlt_scaling_table_clear(&table);
}

/* A day on two devices, of what takes 10 ms on one, in line 26 behind the header and 24 runs. */
static void a_pair_that_no_link_explains_is_told_by_its_lines(void **state)
{
    static const char day[] =
        "{\"model\":\"slow\",\"device\":\"Tesla T4\",\"devices\":2,\"batch\":32,"
        "\"precision\":\"float32\",\"pass\":\"step\","
        "\"framework\":\"pytorch\",\"step_ms\":86400000}\n";
    struct dlt_scaling_table table = {0};
    struct dlt_scaling_run *run;

    (void)state;
    assert_int_equal(read_pairs(day, &table, &run), 18);
    assert_int_equal(table.absurd, 1);
    assert_string_equal(table.several.path, path);
    assert_int_equal(table.several.line, 26);
    assert_in_range(table.one.line, 2, 25);
    free(run);
    dlt_scaling_table_clear(&table);
}

static void a_fit_gives_back_what_made_the_runs(void **state)
{
    struct dlt_generic_settings settings = {
        .seed = 1, .threads = 2, .weight = 1e-4, .penalty = DLT_PENALTY_L1};
    struct dlt_scaling_case c = {.network = "slow", .devices = 8, .nodes = 1, .ring = 1};
    struct dlt_scaling_table table = {0};
    struct dlt_scaling_scores scores;
    struct dlt_scaling *scaling, *loaded;
    struct dlt_scaling_run *run;
    struct dlt_error error;
    size_t count;
    char file[80];

    (void)state;
    count = read_pairs("", &table, &run);
    assert_int_equal(dlt_scaling_fit(run, count, &settings, &scaling, &scores, &error), 0);
    /* 8^0.1 = 1.2311; devices left out follow the same law, so the model foresees them. */
    assert_near(dlt_scaling_slowdown(scaling, &c) / (1.2 * 1.2311), 1, 0.02);
    c.network = "fast";
    assert_near(dlt_scaling_slowdown(scaling, &c) / 1.2311, 1, 0.02);
    assert_true(scores.chosen < 0.02);
    assert_true(scores.chosen < scores.generic);
    c.devices = 1;
    assert_near(dlt_scaling_slowdown(scaling, &c), 1, 0);

    snprintf(file, sizeof file, "%s/x.scaling", folder);
    assert_int_equal(dlt_scaling_save(scaling, "runs.jsonl", file, &error), 0);
    assert_int_equal(dlt_scaling_load(file, &loaded, &error), 0);
    c.devices = 4;
    assert_near(dlt_scaling_slowdown(loaded, &c), dlt_scaling_slowdown(scaling, &c), 1e-6);
    assert_int_equal(loaded->network_count, 2);
    assert_near(loaded->cases, 18, 0);
    unlink(file);
    dlt_scaling_destroy(loaded);
    dlt_scaling_destroy(scaling);
    free(run);
    dlt_scaling_table_clear(&table);
}

static void expect_refusal(const char *text, const char *sentence)
{
    struct dlt_scaling *scaling;
    struct dlt_error error;
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(dlt_scaling_load(path, &scaling, &error), -1);
    assert_null(scaling);
    if (!strstr(error.text, sentence))
        fail_msg("%s", error.text);
}

static void files_that_are_no_scaling_are_refused(void **state)
{
    (void)state;
    expect_refusal("", "is not JSON");
    expect_refusal("{", "is not JSON");
    expect_refusal("{} x", "is not JSON");
    expect_refusal("[]", "is no scaling file");
    expect_refusal("{\"format\":\"dltime-scaling\",\"version\":99}", "another version");
    expect_refusal("{\"format\":\"dltime-scaling\",\"version\":1,\"ring_share\":2,\"sigma\":0.1,"
                   "\"cases\":3}",
                   "ring_share");
    expect_refusal("{\"format\":\"dltime-scaling\",\"version\":1,\"ring_share\":0,\"sigma\":0.1,"
                   "\"cases\":3,\"factors\":[{\"name\":\"parallel\",\"exponent\":\"big\"}]}",
                   "\"parallel\" with its exponent");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_on_several_devices_find_their_like_on_one),
        cmocka_unit_test(a_pair_that_no_link_explains_is_told_by_its_lines),
        cmocka_unit_test(a_fit_gives_back_what_made_the_runs),
        cmocka_unit_test(files_that_are_no_scaling_are_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
