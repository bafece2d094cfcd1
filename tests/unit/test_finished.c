/* SPDX-License-Identifier: Apache-2.0 */
/* Tags of jobs, what accounting says of them, and the corrections that they give. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "learn/accounting.h"
#include "learn/finished.h"
#include "learn/random.h"
#include "predict/tag.h"
#include "test.h"

static const uint64_t network = 0x0123456789abcdef;

static void a_tag_comes_back_from_any_comment(void **state)
{
    struct dlt_tag tag = {network, 48712.25}, back;
    char text[DLT_TAG_SIZE], comment[200];

    (void)state;
    dlt_tag_format(&tag, text);
    assert_int_equal(strlen(text), 7 + 27);
    snprintf(comment, sizeof comment, "grant 7; %s", text);
    assert_true(dlt_tag_find(comment, &back));
    assert_int_equal(back.network, network);
    assert_near(back.job_s, 48712.25, 0);
}

static void a_tag_that_was_altered_is_none(void **state)
{
    struct dlt_tag tag = {network, 48712.25}, back;
    char text[DLT_TAG_SIZE];

    (void)state;
    for (size_t i = 7; i < 34; i++) {
        dlt_tag_format(&tag, text);
        text[i] = text[i] == 'A' ? 'B' : 'A';
        assert_false(dlt_tag_find(text, &back));
        text[i] = '\0';
        assert_false(dlt_tag_find(text, &back));
    }
    assert_false(dlt_tag_find("", &back));
}

static uint64_t fingerprint(const char *spec)
{
    struct dlt_model *model;
    struct dlt_error error;
    uint64_t id;

    if (dlt_model_load(spec, NULL, &model, &error))
        fail_msg("%s", error.text);
    assert_int_equal(dlt_tag_network(model, &id, &error), 0);
    dlt_model_destroy(model);
    return id;
}

static void a_fingerprint_is_of_the_network_and_how_it_is_trained(void **state)
{
    (void)state;
    assert_int_equal(fingerprint("resnet18,batch=8"), fingerprint("resnet18,batch=64,epochs=3"));
    assert_int_not_equal(fingerprint("resnet18"), fingerprint("resnet34"));
    assert_int_not_equal(fingerprint("resnet18"), fingerprint("resnet18,precision=amp-float16"));
    assert_int_not_equal(fingerprint("resnet18"), fingerprint("resnet18,framework=jax"));
}

/* Text fields hold whatever their submitter wrote: here a newline and what looks like a job of
 * somebody else. */
static void a_job_cannot_speak_for_another(void **state)
{
    char text[] = "7<x>mallory<x>v100<x>COMPLETED<x>60<x>2026-11-29T10:00:00<x>a\n8|bob|v100<x>"
                  "sbatch --wrap=a\n9\n"
                  "10<x>alice<x>a100<x>TIMEOUT<x>3600<x>1764400000<x>note<x>sbatch t.sh\n";
    struct dlt_account *jobs;
    struct dlt_error error;
    size_t count;

    (void)state;
    assert_int_equal(dlt_account_parse(text, "<x>", false, &jobs, &count, &error), 0);
    assert_int_equal(count, 2);
    assert_string_equal(jobs[0].field[DLT_ACCOUNT_COMMENT], "a\n8|bob|v100");
    assert_string_equal(jobs[0].field[DLT_ACCOUNT_SUBMIT], "sbatch --wrap=a\n9");
    assert_string_equal(jobs[1].field[DLT_ACCOUNT_ID], "10");
    assert_string_equal(jobs[1].field[DLT_ACCOUNT_USER], "alice");
    assert_string_equal(jobs[1].field[DLT_ACCOUNT_SUBMIT], "sbatch t.sh");
    free(jobs);
}

static void a_saved_table_is_read_by_its_header(void **state)
{
    char text[] = "User|JobIDRaw|State|ElapsedRaw|End|Partition|Account|SubmitLine\n"
                  "bob|12|COMPLETED|90|2026-11-29T10:00:00|v100|lab|sbatch --wrap a|b\n"
                  "\ncut|13\n";
    char bad[] = "User|State\nbob|COMPLETED\n";
    char windows[] = "JobIDRaw|User|Partition|State|ElapsedRaw|End\r\n"
                     "12|bob|v100|COMPLETED|90|2026-11-29T10:00:00\r\n\r\n";
    struct dlt_account *jobs;
    struct dlt_error error;
    size_t count;

    (void)state;
    assert_int_equal(dlt_account_parse(text, "|", true, &jobs, &count, &error), 0);
    assert_int_equal(count, 1);
    assert_string_equal(jobs[0].field[DLT_ACCOUNT_PARTITION], "v100");
    assert_string_equal(jobs[0].field[DLT_ACCOUNT_SUBMIT], "sbatch --wrap a|b");
    assert_string_equal(jobs[0].field[DLT_ACCOUNT_COMMENT], "");
    free(jobs);
    assert_int_equal(dlt_account_parse(windows, "|", true, &jobs, &count, &error), 0);
    assert_int_equal(count, 1);
    assert_string_equal(jobs[0].field[DLT_ACCOUNT_END], "2026-11-29T10:00:00");
    free(jobs);
    assert_int_equal(dlt_account_parse(bad, "|", true, &jobs, &count, &error), -1);
    assert_non_null(strstr(error.text, "has no column JobIDRaw"));
}

static void ends_are_times(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    assert_near(dlt_account_end("2026-11-29T10:00:00"), 1795946400, 0); /* date -d ... +%s */
    assert_near(dlt_account_end("1795946400"), 1795946400, 0);
    assert_true(isnan(dlt_account_end("Unknown")));
    assert_true(isnan(dlt_account_end("")));
}

static void add(struct dlt_finished *f, const char *user, double ratio, enum dlt_finish finish)
{
    struct dlt_finished_job job = {.network = network,
                                   .partition = "v100",
                                   .predicted_s = 1000,
                                   .elapsed_s = 1000 * ratio,
                                   .finish = finish};

    snprintf(job.user, sizeof job.user, "%s", user);
    assert_int_equal(dlt_finished_add(f, &job), 0);
}

static const struct dlt_finished_settings defaults;

static double own_factor(struct dlt_finished *f, const char *user)
{
    struct dlt_history own = {0};
    struct dlt_error error;
    const struct dlt_correction *found;
    double factor;

    assert_int_equal(dlt_finished_user(f, user, NULL, &defaults, &own, &error), 0);
    found = dlt_history_find(&own, network, "v100");
    factor = found ? found->factor : 1;
    free(own.correction);
    return factor;
}

static double site_factor(struct dlt_finished *f)
{
    struct dlt_history site = {0};
    struct dlt_error error;
    const struct dlt_correction *found;
    double factor;

    assert_int_equal(dlt_finished_site(f, &defaults, &site, &error), 0);
    found = dlt_history_find(&site, network, "v100");
    factor = found ? found->factor : 1;
    free(site.correction);
    return factor;
}

static void no_history_changes_nothing(void **state)
{
    struct dlt_finished f = {0};

    (void)state;
    assert_near(site_factor(&f), 1, 0);
    assert_near(own_factor(&f, "bob"), 1, 0);
    assert_null(dlt_history_find(NULL, network, "v100"));
}

/* Jobs of one user take 1.5 times the prediction, give or take 10 %; after five of them what is
 * left of the bias is below 10 %, on average over 200 such users. */
static void a_bias_is_gone_after_five_jobs(void **state)
{
    struct dlt_random random;
    double left = 0, worst = 0;

    (void)state;
    dlt_random_seed(&random, 5, 0);
    for (int trial = 0; trial < 200; trial++) {
        struct dlt_finished f = {0};
        double miss;

        for (int i = 0; i < 5; i++)
            add(&f, "bob", 1.5 * exp(0.1 * dlt_random_normal(&random)), DLT_COMPLETED);
        miss = fabs(log(1.5 / own_factor(&f, "bob")));
        left += miss / 200;
        worst = fmax(worst, miss);
        dlt_finished_clear(&f);
    }
    assert_true(left < 0.1);
    assert_true(worst < 0.3);
}

/* Each of 4000 users is asked for among 40 000 jobs, in any order with the site: sorting for each
 * would compare some 10^10 jobs, which takes minutes. */
static void thousands_of_users_sort_their_jobs_once(void **state)
{
    struct dlt_finished f = {0};
    double site;

    (void)state;
    for (int i = 0; i < 40000; i++) {
        char user[16];

        snprintf(user, sizeof user, "user%d", i % 4000);
        add(&f, user, i % 4000 == 7 ? 3 : 1.5, DLT_COMPLETED);
    }
    site = site_factor(&f);
    for (int u = 0; u < 4000; u++) {
        char user[16];

        snprintf(user, sizeof user, "user%d", u);
        assert_near(own_factor(&f, user), u == 7 ? 2.89 : 1.48, 0.02);
    }
    assert_near(own_factor(&f, "user"), 1, 0);
    assert_near(own_factor(&f, "userx"), 1, 0);
    assert_near(site_factor(&f), site, 0);
    /* One that comes later is seen. */
    add(&f, "userx", 2, DLT_COMPLETED);
    assert_true(own_factor(&f, "userx") > 1.5);
    dlt_finished_clear(&f);
}

static void one_odd_job_moves_little(void **state)
{
    struct dlt_finished f = {0};
    double before;

    (void)state;
    for (int i = 0; i < 6; i++)
        add(&f, "bob", 1.1 + 0.01 * i, DLT_COMPLETED);
    before = own_factor(&f, "bob");
    add(&f, "bob", 20, DLT_COMPLETED);
    assert_near(own_factor(&f, "bob"), before, 0.02);
    dlt_finished_clear(&f);
}

static void a_site_corrects_from_three_users_on(void **state)
{
    struct dlt_finished f = {0};

    (void)state;
    for (int i = 0; i < 10; i++) {
        add(&f, "alice", 1.3, DLT_COMPLETED);
        add(&f, "bob", 1.3, DLT_COMPLETED);
    }
    assert_near(site_factor(&f), 1, 0);
    for (int i = 0; i < 10; i++)
        add(&f, "carol", 1.3, DLT_COMPLETED);
    assert_true(site_factor(&f) > 1.2 && site_factor(&f) < 1.3);
    dlt_finished_clear(&f);
}

/* A thousand forged jobs of one user leave the others' correction within what they saw. */
static void forged_jobs_move_nobody_else(void **state)
{
    static const char *const users[] = {"alice", "bob", "carol", "dave"};
    struct dlt_finished f = {0};
    double before;

    (void)state;
    for (int i = 0; i < 20; i++)
        for (size_t u = 0; u < 4; u++)
            add(&f, users[u], 1.2 + 0.02 * (double)u, DLT_COMPLETED);
    before = site_factor(&f);
    for (int i = 0; i < 1000; i++)
        add(&f, "mallory", 100, DLT_COMPLETED);
    assert_true(site_factor(&f) < 1.26);
    assert_near(site_factor(&f), before, 0.02);
    assert_near(own_factor(&f, "bob"), 1.22, 0.01);
    dlt_finished_clear(&f);
}

/* Three of five jobs were ended by their limits at 1.0; those that were not took 0.9 and 1.4. A
 * median of what was seen would be 1.0; half of all jobs certainly took longer. */
static void jobs_that_their_limit_ended_count_as_longer(void **state)
{
    struct dlt_finished f = {0};

    (void)state;
    add(&f, "bob", 0.9, DLT_COMPLETED);
    add(&f, "bob", 1.0, DLT_TIMED_OUT);
    add(&f, "bob", 1.0, DLT_TIMED_OUT);
    add(&f, "bob", 1.0, DLT_TIMED_OUT);
    add(&f, "bob", 1.4, DLT_COMPLETED);
    assert_near(own_factor(&f, "bob"), exp(log(1.4) * 5 / 5.36), 1e-6);
    dlt_finished_clear(&f);
}

static void older_jobs_are_forgotten(void **state)
{
    struct dlt_finished f = {0};

    (void)state;
    for (int i = 0; i < 8; i++) {
        add(&f, "bob", 2, DLT_COMPLETED);
        f.job[f.count - 1].age_s = 300 * 86400.0; /* ten half-lives: a thousandth */
    }
    for (int i = 0; i < 3; i++)
        add(&f, "bob", 1.1, DLT_COMPLETED);
    assert_near(own_factor(&f, "bob"), 1.09, 0.01);
    dlt_finished_clear(&f);
}

/* Limits at the 99 % quantile of a 10 % spread keep their promise once a bias is corrected: 200
 * networks of different biases, 30 jobs each after the first five. */
static void the_promised_rate_of_overruns_is_kept(void **state)
{
    const double spread = 0.1, quantile = 2.326; /* of a normal, 99 % */
    struct dlt_random random;
    int over = 0, jobs = 0;

    (void)state;
    dlt_random_seed(&random, 9, 0);
    for (int n = 0; n < 200; n++) {
        double bias = exp(0.25 * dlt_random_normal(&random));
        struct dlt_finished f = {0};

        for (int i = 0; i < 35; i++) {
            double ratio = bias * exp(spread * dlt_random_normal(&random));

            if (i >= 5) {
                /* The correction's own error from i jobs widens the limit. */
                double sigma = spread * sqrt(1 + 1.57 / i);

                over += ratio > own_factor(&f, "bob") * exp(quantile * 1.15 * sigma);
                jobs++;
            }
            add(&f, "bob", ratio, DLT_COMPLETED);
        }
        dlt_finished_clear(&f);
    }
    assert_true(over < 0.015 * jobs);
}

static void corrections_come_back_from_their_file(void **state)
{
    char path[] = "/tmp/dltime-test-history-XXXXXX";
    struct dlt_correction c = {network, "v100", 1.25, 12, 4}, any = {0, "v100", 1.1, 30, 5};
    const struct dlt_history_owner owner = {.mode = 0600};
    struct dlt_history h = {0}, *back;
    struct dlt_error error;
    struct stat status;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(dlt_history_add(&h, &c), 0);
    assert_int_equal(dlt_history_add(&h, &any), 0);
    assert_int_equal(dlt_history_save(&h, path, &owner, &error), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(dlt_history_load(path, &back, &error), 0);
    assert_near(dlt_history_find(back, network, "v100")->factor, 1.25, 0);
    assert_near(dlt_history_find(back, 77, "v100")->factor, 1.1, 0);
    assert_null(dlt_history_find(back, network, "a100"));
    dlt_history_destroy(back);
    free(h.correction);
    unlink(path);
}

static void a_file_that_holds_no_corrections_says_what_is_wrong(void **state)
{
#define START "{\"format\":\"dltime-history\",\"version\":1"
#define ONE(network, factor)                                                                       \
    START ",\"corrections\":[{\"network\":" network ",\"partition\":\"v100\",\"factor\":" factor   \
          ",\"jobs\":3,\"users\":1}]}"
    static const char *const wrong[][2] = {
        {"[1]", "holds no corrections"},
        {"{\"format\":\"dltime-scaling\",\"version\":1}", "holds no corrections"},
        {"{\"format\":\"dltime-history\",\"version\":99,\"corrections\":[]}", "another version"},
        {START "}", "corrections: is missing"},
        {ONE("\"0123456789abcdef\"", "1e9"), "corrections[0]: network, partition, factor"},
        {ONE("\"0123456789ABCDEF\"", "1"), "corrections[0]: "},
        {ONE("\"0000000000000000\"", "1"), "corrections[0]: "},
        {ONE("7", "1"), "corrections[0]: "},
        {"{", "history"},
    };
    char path[] = "/tmp/dltime-test-history-XXXXXX";
    int fd = mkstemp(path);
    struct dlt_history *history = NULL;
    struct dlt_error error;

    (void)state;
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, wrong[i][0], strlen(wrong[i][0]), 0), strlen(wrong[i][0]));
        assert_int_equal(dlt_history_load(path, &history, &error), -1);
        assert_ptr_equal(strstr(error.text, path), error.text);
        if (!strstr(error.text, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], error.text);
    }
    close(fd);
    unlink(path);
#undef ONE
#undef START
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tag_comes_back_from_any_comment),
        cmocka_unit_test(a_tag_that_was_altered_is_none),
        cmocka_unit_test(a_fingerprint_is_of_the_network_and_how_it_is_trained),
        cmocka_unit_test(a_job_cannot_speak_for_another),
        cmocka_unit_test(a_saved_table_is_read_by_its_header),
        cmocka_unit_test(ends_are_times),
        cmocka_unit_test(no_history_changes_nothing),
        cmocka_unit_test(a_file_that_holds_no_corrections_says_what_is_wrong),
        cmocka_unit_test(a_bias_is_gone_after_five_jobs),
        cmocka_unit_test(thousands_of_users_sort_their_jobs_once),
        cmocka_unit_test(one_odd_job_moves_little),
        cmocka_unit_test(a_site_corrects_from_three_users_on),
        cmocka_unit_test(forged_jobs_move_nobody_else),
        cmocka_unit_test(jobs_that_their_limit_ended_count_as_longer),
        cmocka_unit_test(older_jobs_are_forgotten),
        cmocka_unit_test(the_promised_rate_of_overruns_is_kept),
        cmocka_unit_test(corrections_come_back_from_their_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
