/* SPDX-License-Identifier: Apache-2.0 */

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "pin.h"
#include "progress.h"
#include "test.h"
#include "timer.h"

static void statistics_of_five_repeats_are_those_of_the_textbook(void **state)
{
    const double seconds[] = {5, 1, 4, 2, 3};
    struct bench_times times;

    (void)state;
    bench_times_of(seconds, 5, &times);
    assert_near(times.median_s, 3, 0);
    assert_near(times.min_s, 1, 0);
    assert_near(times.max_s, 5, 0);
    /* Sum of squares 10, over 4. */
    assert_near(times.std_s, sqrt(2.5), 1e-15);
    assert_near(times.middle_s, 2, 0);
    assert_int_equal(times.repeats, 5);
}

static void the_median_of_an_even_number_is_between_the_middle_two(void **state)
{
    const double seconds[] = {8, 2, 4, 6};
    struct bench_times times;

    (void)state;
    bench_times_of(seconds, 4, &times);
    assert_near(times.median_s, 5, 0);
    bench_times_of(seconds, 1, &times);
    assert_near(times.median_s, 8, 0);
    assert_near(times.std_s, 0, 0);
}

static void iterations_fill_a_repeat(void **state)
{
    (void)state;
    assert_int_equal(bench_timer_iterations(1e-6, 3e-3), 3000);
    assert_int_equal(bench_timer_iterations(2e-3, 3e-3), 2);
    assert_int_equal(bench_timer_iterations(1, 3e-3), 1);
    assert_int_equal(bench_timer_iterations(0, 3e-3), 100000000);
}

/* A backend with a clock of its own: each iteration takes what `cost` says for its turn. */
struct bench_context {
    double now, mark[BENCH_MARKS];
};
struct bench_layer {
    struct bench_context *context;
    double (*cost)(int64_t iteration);
    int64_t done;
};

static int fake_run(struct bench_layer *layer, enum dlt_pass pass, int64_t iterations,
                    struct dlt_error *error)
{
    (void)pass;
    (void)error;
    for (int64_t i = 0; i < iterations; i++)
        layer->context->now += layer->cost(layer->done++);
    return 0;
}

static int fake_mark(struct bench_context *context, int mark, struct dlt_error *error)
{
    (void)error;
    context->mark[mark] = context->now;
    return 0;
}

static int fake_between(struct bench_context *context, int from, int to, double *seconds,
                        struct dlt_error *error)
{
    (void)error;
    *seconds = context->mark[to] - context->mark[from];
    return 0;
}

static const struct dlbench_backend fake = {
    .run = fake_run, .mark = fake_mark, .between = fake_between};

static int measure(double (*cost)(int64_t iteration), struct bench_times *times, int64_t *done)
{
    struct bench_context context = {0};
    struct bench_layer layer = {&context, cost, 0};
    int status = bench_timer_measure(&fake, &context, &layer, DLT_FORWARD, &bench_timer_defaults,
                                     times, NULL);

    *done = layer.done;
    return status;
}

static double slow_at_first(int64_t iteration)
{
    return 1e-4 * (1 + 40 * exp2(-(double)iteration / 2));
}

static void the_warm_up_is_not_measured(void **state)
{
    struct bench_times times;
    int64_t done;

    (void)state;
    assert_int_equal(measure(slow_at_first, &times, &done), 0);
    /* The first ten iterations alone would raise the mean of a repeat five-fold. */
    assert_near(times.median_s, 1e-4, 1e-6);
    assert_near(times.max_s, 1e-4, 5e-6);
    assert_int_equal(times.repeats, BENCH_REPEATS);
    assert_in_range(times.iterations, 25, 30); /* 3 ms a repeat */
    assert_false(times.disturbed);
    assert_true(done > BENCH_REPEATS * times.iterations);
}

static double half_a_second(int64_t iteration)
{
    (void)iteration;
    return 0.5;
}

static void what_takes_too_long_is_run_twice(void **state)
{
    struct bench_times times;
    int64_t done;

    (void)state;
    assert_int_equal(measure(half_a_second, &times, &done), 1);
    assert_int_equal(done, 2);
    assert_near(times.median_s, 0.5, 1e-12);
}

static double compiled_first(int64_t iteration)
{
    return iteration == 0 ? 2 : 1e-4;
}

static void what_its_first_run_compiles_for_long_is_measured(void **state)
{
    struct bench_times times;
    int64_t done;

    (void)state;
    assert_int_equal(measure(compiled_first, &times, &done), 0);
    assert_near(times.median_s, 1e-4, 1e-12);
    assert_near(times.max_s, 1e-4, 1e-12);
}

/* Every second millisecond costs threefold, for ever. */
static double restless(int64_t iteration)
{
    return iteration % 2 ? 3e-2 : 1e-2;
}

static void an_unsteady_machine_is_measured_again_and_marked(void **state)
{
    struct bench_times times;
    int64_t done;

    (void)state;
    assert_int_equal(measure(restless, &times, &done), 0);
    assert_true(times.disturbed);
    assert_int_equal(times.iterations, 1);
    assert_true(done >= 2 * BENCH_REPEATS);
}

static double one_hiccup(int64_t iteration)
{
    return iteration == 3 ? 5e-2 : 1e-2;
}

static void one_hiccup_does_not_mark_a_measurement(void **state)
{
    struct bench_times times;
    int64_t done;

    (void)state;
    assert_int_equal(measure(one_hiccup, &times, &done), 0);
    assert_false(times.disturbed);
    assert_near(times.median_s, 1e-2, 1e-12);
}

static void slurms_cpus_per_task_is_a_positive_number(void **state)
{
    (void)state;
    assert_int_equal(bench_cpus_parse("4"), 4);
    assert_int_equal(bench_cpus_parse(NULL), 0);
    assert_int_equal(bench_cpus_parse(""), 0);
    assert_int_equal(bench_cpus_parse("0"), 0);
    assert_int_equal(bench_cpus_parse("-2"), 0);
    assert_int_equal(bench_cpus_parse("2x"), 0);
    assert_int_equal(bench_cpus_parse("99999999999"), 0);
}

static void the_first_of_a_sysfs_list_is_found(void **state)
{
    (void)state;
    assert_int_equal(bench_cpus_first("3,67\n"), 3);
    assert_int_equal(bench_cpus_first("12-13\n"), 12);
    assert_int_equal(bench_cpus_first("0"), 0);
    assert_int_equal(bench_cpus_first("\n"), -1);
    assert_int_equal(bench_cpus_first("99999999999999"), -1);
}

static void threads_are_limited_by_affinity_and_slurm(void **state)
{
    static struct bench_cpus cpus;
    struct dlt_error error;
    cpu_set_t set;
    int usable;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    usable = CPU_COUNT(&set);
    unsetenv("SLURM_CPUS_PER_TASK");
    assert_int_equal(bench_cpus_find(0, &cpus, &error), 0);
    assert_int_equal(cpus.count, usable);
    for (int i = 0; i < cpus.count; i++)
        assert_true(CPU_ISSET((size_t)cpus.cpu[i], &set));
    setenv("SLURM_CPUS_PER_TASK", "1", 1);
    assert_int_equal(bench_cpus_find(0, &cpus, &error), 0);
    assert_int_equal(cpus.count, 1);
    assert_int_equal(bench_cpus_find(2, &cpus, &error), -1);
    unsetenv("SLURM_CPUS_PER_TASK");
    assert_int_equal(bench_cpus_find(usable + 1, &cpus, &error), -1);
    assert_non_null(strstr(error.text, "CPUs only"));
}

static void the_time_left_is_that_of_what_ends_first(void **state)
{
    double left;

    (void)state;
    /* A quarter of a minute gone. */
    assert_near(bench_progress_share(15, 60, 0, 0, &left), 0.25, 1e-12);
    assert_near(left, 45, 1e-12);
    /* Half of 100 things done in 15 s: 15 s more, before the minute ends. */
    assert_near(bench_progress_share(15, 60, 50, 100, &left), 0.5, 1e-12);
    assert_near(left, 15, 1e-12);
    assert_near(bench_progress_share(15, 0, 0, 100, &left), 0, 0);
    assert_true(isnan(left));
    assert_near(bench_progress_share(15, INFINITY, 0, 100, &left), 0, 0);
    assert_true(isnan(left));
    assert_near(bench_progress_share(70, 60, 0, 0, &left), 1, 0);
    assert_near(left, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_of_five_repeats_are_those_of_the_textbook),
        cmocka_unit_test(the_median_of_an_even_number_is_between_the_middle_two),
        cmocka_unit_test(iterations_fill_a_repeat),
        cmocka_unit_test(the_warm_up_is_not_measured),
        cmocka_unit_test(what_takes_too_long_is_run_twice),
        cmocka_unit_test(what_its_first_run_compiles_for_long_is_measured),
        cmocka_unit_test(an_unsteady_machine_is_measured_again_and_marked),
        cmocka_unit_test(one_hiccup_does_not_mark_a_measurement),
        cmocka_unit_test(slurms_cpus_per_task_is_a_positive_number),
        cmocka_unit_test(the_first_of_a_sysfs_list_is_found),
        cmocka_unit_test(threads_are_limited_by_affinity_and_slurm),
        cmocka_unit_test(the_time_left_is_that_of_what_ends_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
