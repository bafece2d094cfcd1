/* SPDX-License-Identifier: Apache-2.0 */
/* Which partition is named as the better one, and which --dl-partition=auto chooses. */
#include "policy.h"

static void names_the_better_partition_with_the_difference(void **state)
{
    struct cluster *cluster = *state;

    decide(cluster);
    assert_int_equal(cluster->decision.better, A100);
    assert_true(says(cluster, "on a100 it would run 18 h 0 min less: -p a100"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(names_the_better_partition_with_the_difference),
        CASE(a_partition_without_room_is_not_recommended),
        CASE(a_small_difference_is_not_worth_a_word),
        CASE(auto_chooses_the_shortest_run_if_no_partition_is_given),
        CASE(cost_takes_the_cheapest_run),
        CASE(finish_takes_start_and_run_together),
        CASE(the_shortlist_has_three_of_the_shortest_runs),
        CASE(a_partition_of_mixed_nodes_counts_by_its_slowest_kind),
        CASE(nobody_is_sent_where_he_may_not_go),
        CASE(a_job_that_goes_elsewhere_is_only_warned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
