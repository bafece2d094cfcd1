/* SPDX-License-Identifier: Apache-2.0 */
/* What is set, suggested and said, for each combination that matters. */
#include <string.h>

#include "../../plugin/advise/policy.h"
#include "test.h"

static const double hour = 3600, day = 86400;

/* Three partitions as in the design: v100 is Slurm's default. */
struct cluster {
    struct dlt_config config;
    struct dlt_request request;
    struct dlt_modes modes;
    struct dlt_candidate candidate[3];
    struct dlt_decision decision;
};

enum { A100, V100, P100 };

static struct dlt_candidate partition(const char *name, double job_s, double upper_s)
{
    return (struct dlt_candidate){
        .partition = name,
        .device = name,
        .gpu = true,
        .up = true,
        .default_time_s = NAN,
        .max_time_s = 7 * day,
        .placement = {.devices = 2, .nodes = 1},
        .step_s = job_s / 1000,
        .epoch_s = job_s / 90,
        .job_s = job_s,
        .low_s = 0.9 * job_s,
        .high_s = 1.1 * job_s,
        .upper_s = upper_s,
        .basis = DLT_BASIS_MEASURED,
        .fits = DLT_FITS_YES,
        .memory_bytes = 31e9,
        .device_memory_bytes = 40e9,
    };
}

static int set_up(void **state)
{
    static struct cluster cluster;

    dlt_config_init(&cluster.config);
    cluster.config.grain_s = 600;
    dlt_request_init(&cluster.request);
    cluster.modes = (struct dlt_modes){DLT_TIME_SET, DLT_PARTITION_SUGGEST, false};
    cluster.candidate[A100] = partition("a100", 14 * hour, 16 * hour + 1);
    cluster.candidate[V100] = partition("v100", 32 * hour, 37 * hour);
    cluster.candidate[P100] = partition("p100", 60 * hour, 70 * hour);
    cluster.candidate[V100].is_default = true;
    *state = &cluster;
    return 0;
}

static void decide(struct cluster *cluster)
{
    dlt_decide(&cluster->config, &cluster->request, &cluster->modes, cluster->candidate, 3,
               &cluster->decision);
}

static void want_partitions(struct cluster *cluster, const char *list)
{
    strcpy(cluster->request.partitions, list);
}

/* Whether a sentence has the text in it. */
static bool says(const struct cluster *cluster, const char *text)
{
    for (size_t i = 0; i < cluster->decision.line_count; i++) {
        if (strstr(cluster->decision.line[i].text, text))
            return true;
    }
    return false;
}

static bool warns(const struct cluster *cluster)
{
    for (size_t i = 0; i < cluster->decision.line_count; i++) {
        if (cluster->decision.line[i].warning)
            return true;
    }
    return false;
}

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

static void names_the_better_partition_with_the_difference(void **state)
{
    struct cluster *cluster = *state;

    decide(cluster);
    assert_int_equal(cluster->decision.better, A100);
    assert_true(says(cluster, "on a100 it would run 18 h 0 min less: -p a100"));
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

static void a_partition_without_room_is_not_recommended(void **state)
{
    struct cluster *cluster = *state;

    cluster->candidate[A100].fits = DLT_FITS_NO;
    decide(cluster);
    assert_int_equal(cluster->decision.better, DLT_NOWHERE);
    cluster->candidate[A100].fits = DLT_FITS_TIGHT;
    decide(cluster);
    assert_int_equal(cluster->decision.better, A100);
    cluster->candidate[A100].up = false;
    decide(cluster);
    assert_int_equal(cluster->decision.better, DLT_NOWHERE);
}

static void a_small_difference_is_not_worth_a_word(void **state)
{
    struct cluster *cluster = *state;

    cluster->candidate[A100].job_s = 30 * hour; /* 6 % less; better_by is 10 % */
    decide(cluster);
    assert_int_equal(cluster->decision.better, DLT_NOWHERE);
}

static void auto_chooses_the_shortest_run_if_no_partition_is_given(void **state)
{
    struct cluster *cluster = *state;

    cluster->modes.partition = DLT_PARTITION_AUTO;
    decide(cluster);
    assert_int_equal(cluster->decision.chosen, A100);
    assert_true(cluster->candidate[A100].landing);
    assert_false(cluster->candidate[V100].landing);
    assert_near(cluster->decision.limit_s, 16 * hour + 600, 0);
    assert_true(says(cluster, "partition set to a100"));

    want_partitions(cluster, "p100");
    decide(cluster);
    assert_int_equal(cluster->decision.chosen, DLT_NOWHERE);
    assert_near(cluster->decision.limit_s, 70 * hour, 0);
}

/* Prices so that the slowest is the cheapest: 14 h, 32 h, 60 h on two devices. */
static void cost_takes_the_cheapest_run(void **state)
{
    struct cluster *cluster = *state;

    cluster->modes.partition = DLT_PARTITION_AUTO_COST;
    cluster->candidate[A100].price = 10;
    cluster->candidate[V100].price = 2;
    cluster->candidate[P100].price = 1;
    decide(cluster);
    assert_int_equal(cluster->decision.chosen, P100);
    assert_true(says(cluster, "partition set to p100: the cheapest run, 120"));
    assert_near(cluster->decision.limit_s, 70 * hour, 0);
    /* Without a price it cannot be the cheapest. */
    cluster->candidate[P100].price = NAN;
    decide(cluster);
    assert_int_equal(cluster->decision.chosen, V100);
    /* The site's objective stands in where the user names none. */
    cluster->modes.partition = DLT_PARTITION_AUTO;
    cluster->config.objective = DLT_OBJECTIVE_COST;
    decide(cluster);
    assert_int_equal(cluster->decision.chosen, V100);
}

static void finish_takes_start_and_run_together(void **state)
{
    struct cluster *cluster = *state;

    cluster->modes.partition = DLT_PARTITION_AUTO_FINISH;
    cluster->candidate[A100].start_s = 20 * hour;
    cluster->candidate[V100].start_s = 1 * hour;
    cluster->candidate[P100].start_s = 0;
    decide(cluster);
    assert_int_equal(cluster->decision.chosen, DLT_NOWHERE);
    assert_true(warns(cluster));
    cluster->config.ask_start = true;
    decide(cluster);
    assert_int_equal(cluster->decision.chosen, V100);
    assert_true(says(cluster, "in about 1 d 9 h"));
    /* Nobody answered in time. */
    for (int i = 0; i < 3; i++)
        cluster->candidate[i].start_s = NAN;
    decide(cluster);
    assert_int_equal(cluster->decision.chosen, DLT_NOWHERE);
    assert_true(warns(cluster));
}

static void the_shortlist_has_three_of_the_shortest_runs(void **state)
{
    struct cluster *cluster = *state;
    struct dlt_candidate many[5];
    size_t index[DLT_SHORTLIST];

    for (int i = 0; i < 3; i++)
        many[i] = cluster->candidate[i];
    many[3] = partition("h100", 5 * hour, 6 * hour);
    many[4] = partition("k80", 100 * hour, 120 * hour);
    assert_int_equal(dlt_shortlist(&cluster->config, &cluster->request, many, 5, index), 3);
    assert_int_equal(index[0], 3);
    assert_int_equal(index[1], A100);
    assert_int_equal(index[2], V100);
    many[3].up = false;
    many[A100].access = DLT_ACCESS_UNSURE;
    assert_int_equal(dlt_shortlist(&cluster->config, &cluster->request, many, 5, index), 3);
    assert_int_equal(index[0], V100);
    assert_int_equal(dlt_shortlist(&cluster->config, &cluster->request, many, 0, index), 0);
}

static void a_partition_of_mixed_nodes_counts_by_its_slowest_kind(void **state)
{
    struct cluster *cluster = *state;

    /* One partition, a100 and p100 side by side. */
    cluster->candidate[A100] = partition("mixed", 14 * hour, 16 * hour);
    cluster->candidate[V100] = partition("mixed", 60 * hour, 70 * hour);
    cluster->candidate[P100] = partition("v100", 32 * hour, 37 * hour);
    cluster->candidate[P100].is_default = true;
    decide(cluster);
    assert_int_equal(cluster->decision.better, DLT_NOWHERE);
    cluster->modes.partition = DLT_PARTITION_AUTO;
    decide(cluster);
    assert_int_equal(cluster->decision.chosen, P100);
    cluster->candidate[V100].job_s = 20 * hour;
    decide(cluster);
    assert_int_equal(cluster->decision.chosen, V100);
}

/* What keeps another partition from being named and from being chosen. */
static void nobody_is_sent_where_he_may_not_go(void **state)
{
    static const struct {
        enum dlt_access access;
        const char *bound;
        bool named, chosen;
    } cases[] = {
        {DLT_ACCESS_OPEN, NULL, true, true},
        {DLT_ACCESS_UNSURE, NULL, true, false},
        {DLT_ACCESS_CLOSED, NULL, false, false},
        {DLT_ACCESS_OPEN, "--nodelist", false, false},
    };
    struct cluster *cluster = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cluster->candidate[A100].access = cases[i].access;
        cluster->request.bound = cases[i].bound;
        cluster->modes.partition = DLT_PARTITION_SUGGEST;
        decide(cluster);
        assert_int_equal(cluster->decision.better, cases[i].named ? A100 : DLT_NOWHERE);
        assert_int_equal(cluster->decision.action, DLT_SET);
        cluster->modes.partition = DLT_PARTITION_AUTO;
        decide(cluster);
        assert_int_equal(cluster->decision.chosen == A100, cases[i].chosen);
    }
}

static void a_job_that_goes_elsewhere_is_only_warned(void **state)
{
    struct cluster *cluster = *state;

    cluster->request.elsewhere = "--clusters";
    decide(cluster);
    assert_int_equal(cluster->decision.action, DLT_LEAVE);
    assert_int_equal(cluster->decision.line_count, 1);
    assert_true(says(cluster, "nothing is set, because --clusters is given"));
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

#define CASE(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(sets_the_upper_quantile_of_the_default_partition),
        CASE(names_the_better_partition_with_the_difference),
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
        CASE(a_partition_without_room_is_not_recommended),
        CASE(a_small_difference_is_not_worth_a_word),
        CASE(auto_chooses_the_shortest_run_if_no_partition_is_given),
        CASE(cost_takes_the_cheapest_run),
        CASE(finish_takes_start_and_run_together),
        CASE(the_shortlist_has_three_of_the_shortest_runs),
        CASE(a_partition_of_mixed_nodes_counts_by_its_slowest_kind),
        CASE(nobody_is_sent_where_he_may_not_go),
        CASE(a_job_that_goes_elsewhere_is_only_warned),
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
