/* SPDX-License-Identifier: Apache-2.0 */
/* What is set, suggested and said, for each combination that matters; which partition is named or
 * chosen is in test_advise_partition.c. */
#include "policy.h"

static void sets_the_upper_quantile_of_the_default_partition(void **state)
{
    struct cluster *cluster = *state;

    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_SET);
    assert_near(cluster->decision.limit_s, 37 * hour, 0);
    assert_int_equal(cluster->decision.slowest, V100);
    assert_true(says(cluster, "time limit set to 1-13:00:00 (v100)"));
    assert_false(warns(cluster));
}

static void rounds_up_to_the_grain(void **state)
{
    struct cluster *cluster = *state;

    want_partitions(cluster, "a100");
    decide(cluster);
    /* 16:00:01 in grains of ten minutes is 16:10:00. */
    assert_near(cluster->decision.limit_s, 16 * hour + 600, 0);
    assert_true(says(cluster, "16:10:00"));
    assert_int_equal(cluster->decision.better, DLT_NOWHERE);
}

static void rounding_stops_at_the_partitions_maximum(void **state)
{
    struct cluster *cluster = *state;

    cluster->config.grain_s = day;
    cluster->candidate[V100].max_time_s = 40 * hour;
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_SET);
    assert_near(cluster->decision.limit_s, 40 * hour, 0);
    assert_false(warns(cluster));
}

static void takes_the_slowest_of_several_partitions(void **state)
{
    struct cluster *cluster = *state;

    want_partitions(cluster, "a100,p100");
    decide(cluster);
    assert_int_equal(cluster->decision.slowest, P100);
    assert_near(cluster->decision.limit_s, 70 * hour, 0);
    assert_true(cluster->candidate[A100].landing);
    assert_false(cluster->candidate[V100].landing);
}

static void default_candidates_stand_in_for_a_missing_p(void **state)
{
    struct cluster *cluster = *state;

    strcpy(cluster->config.default_candidates, "a100,p100");
    decide(cluster);
    assert_int_equal(cluster->decision.slowest, P100);
}

static void sets_nothing_if_one_landing_partition_is_unknown(void **state)
{
    struct cluster *cluster = *state;

    want_partitions(cluster, "v100,p100");
    cluster->candidate[P100].why = "profile p100.dlp: No such file";
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_LEAVE);
    assert_true(warns(cluster));
    assert_true(says(cluster, "no estimate for p100"));
    assert_true(says(cluster, "No such file"));
}

static void never_changes_the_users_time_but_warns_with_the_probability(void **state)
{
    struct cluster *cluster = *state;

    cluster->request.time_s = 30 * hour;
    cluster->candidate[V100].p_over_time = 0.83;
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_LEAVE);
    assert_true(warns(cluster));
    assert_true(says(cluster, "--time=1-06:00:00 is probably too short"));
    assert_true(says(cluster, "83 %"));
    assert_true(says(cluster, "--time=1-13:00:00 would do"));
}

static void a_users_time_that_suffices_is_no_warning(void **state)
{
    struct cluster *cluster = *state;

    cluster->request.time_s = 5 * day;
    cluster->candidate[V100].p_over_time = 1e-6;
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_LEAVE);
    assert_false(warns(cluster));
    assert_true(says(cluster, "--time=5-00:00:00 is left as it is; 1-13:00:00 would do"));
}

static void an_unlimited_time_is_left(void **state)
{
    struct cluster *cluster = *state;

    cluster->request.time_s = INFINITY;
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_LEAVE);
    assert_false(warns(cluster));
}

static void weak_evidence_only_suggests_and_stays_above_the_default_time(void **state)
{
    struct cluster *cluster = *state;

    cluster->candidate[V100].basis = DLT_BASIS_GENERAL;
    cluster->candidate[V100].default_time_s = 2 * day;
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_SUGGEST);
    assert_near(cluster->decision.limit_s, 2 * day, 0);
    assert_true(says(cluster, "\"general\""));
}

static void the_weakest_basis_of_the_landing_partitions_counts(void **state)
{
    struct cluster *cluster = *state;

    want_partitions(cluster, "a100,p100");
    cluster->candidate[A100].basis = DLT_BASIS_COST_MODEL;
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_SUGGEST);
    assert_true(says(cluster, "cost model"));
}

static void suggest_and_off_set_nothing(void **state)
{
    struct cluster *cluster = *state;

    cluster->modes.time = DLT_TIME_SUGGEST;
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_SUGGEST);
    assert_true(says(cluster, "--time=1-13:00:00 would do"));
    cluster->modes.time = DLT_TIME_OFF;
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_LEAVE);
    assert_true(says(cluster, "on a100 it would run"));
    cluster->modes.partition = DLT_PARTITION_OFF;
    decide(cluster);
    assert_int_equal(cluster->decision.line_count, 0);
}

static void a_limit_over_the_maximum_is_capped_while_the_job_probably_fits(void **state)
{
    struct cluster *cluster = *state;

    cluster->candidate[V100].max_time_s = 34 * hour;
    cluster->candidate[V100].p_over_max = 0.12;
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_SET);
    assert_near(cluster->decision.limit_s, 34 * hour, 0);
    assert_true(warns(cluster));
    assert_true(says(cluster, "12 %"));
}

static void a_job_over_the_maximum_is_left_alone_with_the_mend(void **state)
{
    struct cluster *cluster = *state;

    cluster->candidate[V100].max_time_s = day;
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_LEAVE);
    assert_true(warns(cluster));
    assert_true(says(cluster, "the longest that v100 allows is 1-00:00:00"));
    assert_true(says(cluster, "checkpoints"));
    assert_true(says(cluster, "-p a100"));
}

static void the_smallest_maximum_of_several_partitions_holds(void **state)
{
    struct cluster *cluster = *state;

    want_partitions(cluster, "a100,v100");
    cluster->candidate[A100].max_time_s = day;
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_LEAVE);
    assert_true(says(cluster, "the longest that a100 allows"));
}

static void an_unknown_account_limit_only_suggests(void **state)
{
    struct cluster *cluster = *state;

    cluster->candidate[V100].limit_unknown = true;
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_SUGGEST);
    /* Below what a job without --time gets anyway nothing can be passed. */
    cluster->candidate[V100].default_time_s = 3 * day;
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_SET);
}

static void options_that_fix_the_time_otherwise_are_respected(void **state)
{
    struct cluster *cluster = *state;

    cluster->request.hands_off = "--deadline";
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_SUGGEST);
    assert_true(warns(cluster));
    assert_true(says(cluster, "because --deadline is given"));
}

static void memory_warns_and_never_refuses(void **state)
{
    struct cluster *cluster = *state;

    cluster->candidate[V100].fits = DLT_FITS_NO;
    cluster->candidate[V100].device_memory_bytes = 16e9;
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_SET);
    assert_true(warns(cluster));
    assert_true(says(cluster, "smaller batch"));
}

static void the_mends_have_figures(void **state)
{
    struct cluster *cluster = *state;

    cluster->candidate[V100].max_time_s = day;
    decide(cluster);
    assert_int_equal(cluster->decision.too_long, V100);
    /* 32 hours in pieces of 24. */
    assert_true(says(cluster, "requeue (2 runs), or take more GPUs"));
    cluster->candidate[V100].more_devices = 4;
    cluster->candidate[V100].more_job_s = 17 * hour;
    decide(cluster);
    assert_true(says(cluster, "or take 4 GPUs (about 17:00:00)"));

    cluster->candidate[V100].max_time_s = 7 * day;
    cluster->candidate[V100].fits = DLT_FITS_NO;
    decide(cluster);
    assert_int_equal(cluster->decision.too_large, V100);
    assert_true(says(cluster, "take a smaller batch with accumulate="));
    assert_true(says(cluster, "devices of a100 have"));
    cluster->candidate[V100].fitting_batch = 64;
    cluster->candidate[V100].fitting_accumulate = 4;
    decide(cluster);
    assert_true(says(cluster, "batch=64,accumulate=4 fits"));
}

/* Each combination of what is asked, what is given and what the estimate is worth. */
static void the_whole_table(void **state)
{
    enum { NONE, SHORT, LONG, UNLIMITED, GIVEN };
    struct cluster *cluster = *state;
    const double times[GIVEN] = {NAN, 10 * hour, 5 * day, INFINITY};

    for (int mode = 0; mode < DLT_TIME_MODES; mode++)
        for (int given = 0; given < GIVEN; given++)
            for (int basis = DLT_BASIS_COST_MODEL; basis <= DLT_BASIS_MEASURED; basis++)
                for (int unknown = 0; unknown < 2; unknown++)
                    for (int off = 0; off < 2; off++)
                        for (int over = 0; over < 2; over++) {
                            bool settable = mode == DLT_TIME_SET && given == NONE &&
                                            basis >= DLT_BASIS_ADAPTED && !unknown && !off && !over;

                            cluster->modes.time = (enum dlt_time_mode)mode;
                            cluster->request.time_s = times[given];
                            cluster->candidate[V100].basis = (enum dlt_basis)basis;
                            cluster->candidate[V100].limit_unknown = unknown;
                            cluster->candidate[V100].max_time_s = over ? day : 7 * day;
                            cluster->candidate[V100].p_over_time = given == SHORT ? 1 : 0;
                            cluster->request.hands_off = off ? "--deadline" : NULL;
                            decide(cluster);
                            assert_int_equal(cluster->decision.action == DLT_SET, settable);
                            if (mode == DLT_TIME_OFF || given != NONE || over)
                                assert_int_equal(cluster->decision.action, DLT_LEAVE);
                            else if (!settable)
                                assert_int_equal(cluster->decision.action, DLT_SUGGEST);
                            /* Whatever is wrong is said, and only that is a warning. */
                            assert_int_equal(
                                warns(cluster),
                                mode != DLT_TIME_OFF &&
                                    (given == SHORT || (given == NONE && (off || over))));
                            assert_true(cluster->decision.line_count > 0);
                        }
}

static void an_unknown_length_leaves_the_limit_and_says_what_is_missing(void **state)
{
    struct cluster *cluster = *state;

    for (int i = 0; i < 3; i++)
        cluster->candidate[i].job_s = cluster->candidate[i].upper_s = NAN;
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_LEAVE);
    assert_true(says(cluster, "epochs="));
}

static void a_partition_that_cannot_run_the_job_is_said(void **state)
{
    struct cluster *cluster = *state;

    want_partitions(cluster, "fpga");
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_LEAVE);
    assert_true(warns(cluster));
    assert_true(says(cluster, "-p fpga"));
}

static void a_rehearsal_says_what_would_be_done(void **state)
{
    struct cluster *cluster = *state;

    cluster->modes.rehearsal = true;
    decide(cluster);
    assert_true(says(cluster, "time limit would be set to 1-13:00:00"));
}

static void control_characters_in_names_do_not_reach_the_terminal(void **state)
{
    struct cluster *cluster = *state;

    cluster->candidate[V100].partition = "v\033[31m100";
    decide(cluster);
    for (size_t i = 0; i < cluster->decision.line_count; i++)
        assert_null(strchr(cluster->decision.line[i].text, '\033'));
}

static void differences_are_written_in_the_two_units_that_matter(void **state)
{
    char buffer[32];

    (void)state;
    assert_string_equal(dlt_text_difference(buffer, 18 * hour + 39 * 60), "18 h 39 min");
    assert_string_equal(dlt_text_difference(buffer, 2 * day + 3 * hour), "2 d 3 h");
    assert_string_equal(dlt_text_difference(buffer, 40), "40 s");
    assert_string_equal(dlt_text_difference(buffer, 150), "2 min");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(sets_the_upper_quantile_of_the_default_partition),
        CASE(rounds_up_to_the_grain),
        CASE(rounding_stops_at_the_partitions_maximum),
        CASE(takes_the_slowest_of_several_partitions),
        CASE(default_candidates_stand_in_for_a_missing_p),
        CASE(sets_nothing_if_one_landing_partition_is_unknown),
        CASE(never_changes_the_users_time_but_warns_with_the_probability),
        CASE(a_users_time_that_suffices_is_no_warning),
        CASE(an_unlimited_time_is_left),
        CASE(weak_evidence_only_suggests_and_stays_above_the_default_time),
        CASE(the_weakest_basis_of_the_landing_partitions_counts),
        CASE(suggest_and_off_set_nothing),
        CASE(a_limit_over_the_maximum_is_capped_while_the_job_probably_fits),
        CASE(a_job_over_the_maximum_is_left_alone_with_the_mend),
        CASE(the_smallest_maximum_of_several_partitions_holds),
        CASE(an_unknown_account_limit_only_suggests),
        CASE(options_that_fix_the_time_otherwise_are_respected),
        CASE(memory_warns_and_never_refuses),
        CASE(the_mends_have_figures),
        CASE(the_whole_table),
        CASE(an_unknown_length_leaves_the_limit_and_says_what_is_missing),
        CASE(a_partition_that_cannot_run_the_job_is_said),
        CASE(a_rehearsal_says_what_would_be_done),
        CASE(control_characters_in_names_do_not_reach_the_terminal),
        CASE(differences_are_written_in_the_two_units_that_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
