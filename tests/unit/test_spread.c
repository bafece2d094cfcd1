/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"
#include "worlds.h"

/* Shares of jobs that took longer than the limit of 99 %, over drawings of a world. */
static double exceeded(const struct world *world, int drawings)
{
    int over = 0;

    for (int d = 0; d < drawings; d++) {
        struct world_result result;

        world_draw(world, 5, (uint64_t)d, 0.99, &result);
        over += result.exceeded;
    }
    return (double)over / (drawings * WORLD_JOBS);
}

/* 400 jobs: 1.5 % are six. tests/accuracy/limits draws thousands. */
static void limits_hold_where_errors_are_as_assumed(void **state)
{
    const struct world world = {
        .networks = 8, .devices = 1, .device = 0.1, .network = 0.09, .run = 0.03, .units = 0.05};

    (void)state;
    assert_true(exceeded(&world, 20) <= 0.015);
}

static void limits_hold_with_three_networks(void **state)
{
    const struct world world = {
        .networks = 3, .devices = 1, .device = 0.1, .network = 0.09, .run = 0.03, .units = 0.05};

    (void)state;
    assert_true(exceeded(&world, 40) <= 0.015);
}

/* Nothing in eight networks tells that others are far off more often than a normal would have them;
 * the promise slips by a percent at the most. */
static void heavy_tails_break_few_limits_more(void **state)
{
    const struct world world = {.networks = 8,
                                .devices = 1,
                                .device = 0.1,
                                .network = 0.09,
                                .run = 0.03,
                                .units = 0.05,
                                .freedom = 3};

    (void)state;
    assert_true(exceeded(&world, 20) <= 0.02);
}

static double limit_of(double networks, double runs)
{
    const struct dlt_step_sum sum = {.sigma = 0.05};
    const struct dlt_step_parameters p = {.bias_sigma = 0.05,
                                          .network_sigma = 0.1,
                                          .run_sigma = 0.03,
                                          .networks = networks,
                                          .devices = 1,
                                          .runs = runs};
    struct dlt_estimate e = {.devices = 1, .nodes = 1, .step_s = 1, .job_s = 1};

    dlt_spread_fill(&e, &sum, &p);
    return dlt_estimate_job_quantile(&e, 0.99);
}

/* Variances 0.0025, 0.01, 0.0009, 0.0025: together 0.0159. Of one network seen three times their
 * degrees of freedom are 4, 4, 6 and 30: 0.0159^2 / (0.0025^2/4 + 0.01^2/4 + 0.0009^2/6 +
 * 0.0025^2/30) = 9.40, whose 99 % point is 2.797; of forty networks 94.1, and 2.367. */
static void few_networks_widen_a_limit_by_degrees_of_freedom(void **state)
{
    (void)state;
    assert_near(log(limit_of(1, 3)) / sqrt(0.0159), 2.797, 0.005);
    assert_near(log(limit_of(40, 120)) / sqrt(0.0159), 2.367, 0.001);
    /* Where none was seen, four: 3.747. */
    assert_near(log(limit_of(0, 0)) / sqrt(0.0159), 3.747, 0.001);
}

/* A set-up of 20 s of 100 is known to a factor of 1.6 or so. */
static void a_setup_widens_a_short_job(void **state)
{
    const struct dlt_step_sum sum = {.sigma = 0};
    const struct dlt_step_parameters p = {.network_sigma = 0.1, .networks = 10, .runs = 10};
    struct dlt_estimate e = {.devices = 1, .nodes = 1, .step_s = 1, .job_s = 100};

    (void)state;
    e.terms[DLT_TERM_SETUP] = 20;
    e.terms[DLT_TERM_CHECKPOINT] = NAN;
    dlt_spread_fill(&e, &sum, &p);
    assert_near(e.step_sigma, 0.1, 1e-12);
    assert_near(e.job_sigma, hypot(0.8 * 0.1, 0.2 * 0.5), 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_hold_where_errors_are_as_assumed),
        cmocka_unit_test(limits_hold_with_three_networks),
        cmocka_unit_test(heavy_tails_break_few_limits_more),
        cmocka_unit_test(few_networks_widen_a_limit_by_degrees_of_freedom),
        cmocka_unit_test(a_setup_widens_a_short_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
