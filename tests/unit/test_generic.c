/* SPDX-License-Identifier: Apache-2.0 */
/* Differential evolution and the generic model of distributed training. */
#include "learn/evolve.h"
#include "learn/generic.h"
#include "learn/random.h"
#include "test.h"

/* Rosenbrock's valley, (1 - x)^2 + 100 (y - x^2)^2, is least, 0, at (1, 1). */
static double rosenbrock(void *context, const double *x)
{
    double valley = x[1] - x[0] * x[0];

    (void)context;
    return (1 - x[0]) * (1 - x[0]) + 100 * valley * valley;
}

static void evolution_finds_the_bottom_of_a_bent_valley(void **state)
{
    const double low[] = {-5, -5}, high[] = {5, 5};
    struct dlt_evolve_settings settings = {
        .dimensions = 2, .low = low, .high = high, .generations = 1000, .seed = 1};
    double best[2], again[2];

    (void)state;
    assert_near(dlt_evolve(&settings, rosenbrock, NULL, best), 0, 1e-9);
    assert_near(best[0], 1, 1e-4);
    assert_near(best[1], 1, 1e-4);
    dlt_evolve(&settings, rosenbrock, NULL, again);
    assert_memory_equal(best, again, sizeof best);
}

static void evolution_stays_within_its_bounds(void **state)
{
    const double low[] = {2, -1}, high[] = {3, 0.5};
    struct dlt_evolve_settings settings = {.dimensions = 2, .low = low, .high = high, .seed = 7};
    double best[2];

    (void)state;
    dlt_evolve(&settings, rosenbrock, NULL, best);
    /* Between x = 2 and 3 and below y = 0.5 the least is at the corner (2, 0.5). */
    assert_near(best[0], 2, 1e-6);
    assert_near(best[1], 0.5, 1e-6);
}

/* (x - 0.7)^2, and no value below 0.5. */
static double beyond_a_wall(void *context, const double *x)
{
    (void)context;
    return x[0] < 0.5 ? INFINITY : (x[0] - 0.7) * (x[0] - 0.7);
}

static void evolution_goes_on_where_some_points_have_no_cost(void **state)
{
    const double low = 0, high = 1;
    struct dlt_evolve_settings settings = {.dimensions = 1, .low = &low, .high = &high, .seed = 1};
    double best;

    (void)state;
    assert_near(dlt_evolve(&settings, beyond_a_wall, NULL, &best), 0, 1e-9);
    assert_near(best, 0.7, 1e-4);
}

enum { ROWS = 60 };

struct table {
    double intrinsic[ROWS][2], extrinsic[ROWS][2], seconds[ROWS];
};

/* t = (0.004 batch^0.9 + 2e-9 parameters) devices^0.12 nodes^0.2 + 0.01. */
static double truth(const double *i, const double *e)
{
    return (0.004 * pow(i[0], 0.9) + 2e-9 * i[1]) * pow(e[0], 0.12) * pow(e[1], 0.2) + 0.01;
}

static void fill(struct table *t, double noise)
{
    struct dlt_random random;

    dlt_random_seed(&random, 3, 0);
    for (int r = 0; r < ROWS; r++) {
        t->intrinsic[r][0] = exp2((double)dlt_random_below(&random, 9));
        t->intrinsic[r][1] = 1e6 * exp2(8 * dlt_random_uniform(&random));
        t->extrinsic[r][0] = exp2((double)(r % 5));
        t->extrinsic[r][1] = r % 5 > 3 ? 2 : 1;
        t->seconds[r] =
            truth(t->intrinsic[r], t->extrinsic[r]) * exp(noise * dlt_random_normal(&random));
    }
}

/* What a fitted model says. */
static double said(const struct dlt_generic *model, const double *intrinsic,
                   const double *extrinsic)
{
    double time = 0, factor = 1;

    for (size_t i = 0; i < model->intrinsics; i++)
        time += model->a[i] * pow(intrinsic[i], model->p[i]);
    for (size_t j = 0; j < model->extrinsics; j++)
        factor *= pow(extrinsic[j], model->q[j]);
    return time * factor + model->constant;
}

static struct dlt_generic_data data_of(const struct table *t)
{
    return (struct dlt_generic_data){.rows = ROWS,
                                     .intrinsics = 2,
                                     .extrinsics = 2,
                                     .intrinsic = t->intrinsic[0],
                                     .extrinsic = t->extrinsic[0],
                                     .seconds = t->seconds};
}

static void without_noise_predictions_return_what_made_the_data(void **state)
{
    struct dlt_generic_settings settings = {.seed = 1, .threads = 1};
    const double unseen[][4] = {
        {48, 5e7, 8, 1}, {3, 2e6, 1, 1}, {200, 2e8, 16, 2}, {96, 1e7, 32, 4}};
    struct dlt_generic_data data;
    struct dlt_generic model;
    struct dlt_error error;
    struct table t;

    (void)state;
    fill(&t, 0);
    data = data_of(&t);
    assert_int_equal(dlt_generic_fit(&data, &settings, &model, NULL, NULL, &error), 0);
    for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++) {
        double seconds = said(&model, unseen[i], unseen[i] + 2);

        assert_near(seconds / truth(unseen[i], unseen[i] + 2), 1, 0.02);
    }
}

static void ranges_of_resampled_rows_hold_the_true_exponents(void **state)
{
    struct dlt_generic_settings settings = {.seed = 1, .threads = 2, .resamples = 40};
    struct dlt_generic_data data;
    struct dlt_generic model, low, high;
    struct dlt_error error;
    struct table t;

    (void)state;
    fill(&t, 0.03);
    data = data_of(&t);
    assert_int_equal(dlt_generic_fit(&data, &settings, &model, &low, &high, &error), 0);
    assert_near(model.error, 0.03 * 0.8, 0.01); /* mean of |normal| is 0.8 sigma */
    assert_true(low.q[0] < 0.12 && 0.12 < high.q[0]);
    assert_true(low.q[0] > 0.08 && high.q[0] < 0.16);
    assert_true(low.p[0] < 0.9 && 0.9 < high.p[0]);
}

/* On one device every extrinsic factor is 1. */
static void on_one_device_a_known_time_stays_what_it_is(void **state)
{
    const double one_device[] = {0.2, 0.2, 0.4}, devices[] = {1, 4, 8},
                 seconds[] = {.2, .3, .73485};
    struct dlt_generic_data data = {.rows = 3,
                                    .intrinsics = 1,
                                    .extrinsics = 1,
                                    .intrinsic = one_device,
                                    .extrinsic = devices,
                                    .seconds = seconds};
    struct dlt_generic_settings settings = {.time_known = true, .seed = 1, .threads = 1};
    struct dlt_generic model;
    struct dlt_error error;
    double alone = 1, time = 0.7;

    (void)state;
    assert_int_equal(dlt_generic_fit(&data, &settings, &model, NULL, NULL, &error), 0);
    assert_near(said(&model, &time, &alone), 0.7, 1e-12);
    /* 4^q = 1.5 where q = 0.29248, and 8^0.29248 = 1.8371 of 0.4 s is 0.73485 s. */
    assert_near(model.q[0], 0.29248, 1e-4);
}

static void a_strong_penalty_leaves_no_effect_of_devices(void **state)
{
    struct dlt_generic_settings settings = {
        .time_known = false, .penalty = DLT_PENALTY_L1, .weight = 100, .seed = 1, .threads = 1};
    struct dlt_generic_data data;
    struct dlt_generic model;
    struct dlt_error error;
    struct table t;

    (void)state;
    fill(&t, 0);
    data = data_of(&t);
    assert_int_equal(dlt_generic_fit(&data, &settings, &model, NULL, NULL, &error), 0);
    assert_near(model.q[0], 0, 1e-3);
    assert_near(model.p[0], 1, 1e-3);
}

static void what_cannot_be_fitted_is_refused(void **state)
{
    struct dlt_generic_settings settings = {.seed = 1, .threads = 1};
    struct dlt_generic_data data;
    struct dlt_generic model;
    struct dlt_error error;
    struct table t;

    (void)state;
    fill(&t, 0);
    data = data_of(&t);
    data.rows = 4;
    assert_int_equal(dlt_generic_fit(&data, &settings, &model, NULL, NULL, &error), -1);
    assert_string_equal(error.text, "4 rows are too few for 7 constants");
    data.rows = ROWS;
    t.extrinsic[5][1] = 0;
    assert_int_equal(dlt_generic_fit(&data, &settings, &model, NULL, NULL, &error), -1);
    assert_string_equal(error.text, "a factor or the time of a run is not above 0");
}

/* Without a penalty any exponent of 1 would do. */
static void a_factor_that_is_one_everywhere_has_no_exponent(void **state)
{
    struct dlt_generic_settings settings = {.penalty = DLT_PENALTY_L1, .weight = 0, .seed = 3};
    struct dlt_generic model;
    struct dlt_generic_data data;
    struct dlt_error error;
    struct table t;

    (void)state;
    fill(&t, 0);
    for (int r = 0; r < ROWS; r++) {
        t.extrinsic[r][1] = 1;
        t.seconds[r] = truth(t.intrinsic[r], t.extrinsic[r]);
    }
    data = data_of(&t);
    assert_int_equal(dlt_generic_fit(&data, &settings, &model, NULL, NULL, &error), 0);
    assert_near(model.q[1], 0, 0);
    assert_near(model.q[0], 0.12, 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evolution_finds_the_bottom_of_a_bent_valley),
        cmocka_unit_test(evolution_stays_within_its_bounds),
        cmocka_unit_test(evolution_goes_on_where_some_points_have_no_cost),
        cmocka_unit_test(without_noise_predictions_return_what_made_the_data),
        cmocka_unit_test(ranges_of_resampled_rows_hold_the_true_exponents),
        cmocka_unit_test(on_one_device_a_known_time_stays_what_it_is),
        cmocka_unit_test(a_strong_penalty_leaves_no_effect_of_devices),
        cmocka_unit_test(what_cannot_be_fitted_is_refused),
        cmocka_unit_test(a_factor_that_is_one_everywhere_has_no_exponent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
