/* SPDX-License-Identifier: Apache-2.0 */

#include "predict/interconnect.h"
#include "predict/run.h"
#include "predict/scaling.h"
#include "predict/student.h"
#include "test.h"

/* Any table of Student's t, for instance Abramowitz and Stegun 26.10. */
static void student_quantiles_equal_the_printed_tables(void **state)
{
    (void)state;
    assert_near(dlt_student_quantile(0.95, 1), 6.313752, 1e-5);
    assert_near(dlt_student_quantile(0.975, 4), 2.776445, 1e-5);
    assert_near(dlt_student_quantile(0.99, 10), 2.763769, 1e-5);
    assert_near(dlt_student_quantile(0.995, 30), 2.749996, 1e-5);
    assert_near(dlt_student_quantile(0.025, 4), -2.776445, 1e-5);
}

static void student_cdf_inverts_the_quantile(void **state)
{
    (void)state;
    assert_near(dlt_student_cdf(0, 3), 0.5, 1e-12);
    for (double p = 0.01; p < 1; p += 0.07)
        assert_near(dlt_student_cdf(dlt_student_quantile(p, 5.5), 5.5), p, 1e-9);
}

static const struct dlt_step_sum conv_net = {.forward_s = 0.010,
                                             .backward_s = 0.020,
                                             .update_s = 0.001,
                                             .forward_kernels = 100,
                                             .backward_kernels = 200,
                                             .update_kernels = 10};

static void a_gpu_hides_the_hosts_dispatch_behind_its_work(void **state)
{
    struct dlt_step_parameters quick_host = {
        .device_factor = 1, .backward_factor = 1, .corner = 4, .dispatch_s = 10e-6};
    struct dlt_step_times times;

    (void)state;
    /* 30 ms of work against 3 ms of dispatch: (30^4 + 3^4)^(1/4) = 30.00075. */
    dlt_step_times(&conv_net, &quick_host, &times);
    assert_near(times.micro_s, 0.03000075, 1e-8);
}

static void a_slow_host_rules_small_steps(void **state)
{
    struct dlt_step_parameters slow_host = {
        .device_factor = 1, .backward_factor = 1, .corner = 4, .dispatch_s = 1e-3};
    struct dlt_step_times times;

    (void)state;
    /* 300 kernels at 1 ms against 30 ms of work. */
    dlt_step_times(&conv_net, &slow_host, &times);
    assert_near(times.micro_s, 0.3000075, 1e-7);
}

/* 10 ms of forward and 20 ms of backward work whose factor is 1.5, plus the host's own 30 ms:
 * sqrt(40^2 + 30^2) = 50. */
static void a_constant_of_the_host_hides_behind_the_device_as_its_kernels_do(void **state)
{
    struct dlt_step_parameters host = {
        .device_factor = 1, .backward_factor = 1.5, .corner = 2, .constant_s = 0.030};
    struct dlt_step_times times;

    (void)state;
    dlt_step_times(&conv_net, &host, &times);
    assert_near(times.micro_s, 0.050, 1e-9);
    /* Each pass alone has half of the constant: sqrt(10^2 + 15^2), sqrt(30^2 + 15^2). */
    assert_near(times.forward_s, 0.0180278, 1e-7);
    assert_near(times.backward_s, 0.0335410, 1e-7);
    assert_near(times.micro_s + times.update_s, hypot(0.041, 0.030), 1e-9);
}

static void on_a_cpu_dispatch_and_work_add(void **state)
{
    struct dlt_step_parameters host = {
        .device_factor = 1, .backward_factor = 1, .corner = 4, .dispatch_s = 10e-6};
    struct dlt_step_sum sum = conv_net;
    struct dlt_step_times times;

    (void)state;
    sum.host_computes = true;
    dlt_step_times(&sum, &host, &times);
    assert_near(times.micro_s, 0.033, 1e-9);
}

static void all_reduce_is_free_on_one_device_and_hidden_behind_a_long_backward(void **state)
{
    struct dlt_device nvlink = {.interconnect_bandwidth = 100e9};

    (void)state;
    assert_near(dlt_run_all_reduce(1e9, 0.1, 1, 1, &nvlink, 0), 0, 1e-12);
    /* 2 x 3/4 x 1 GB / 100 GB/s = 15 ms, + 6 hops of 10 us; nothing to hide behind. */
    assert_near(dlt_run_all_reduce(1e9, 0, 4, 1, &nvlink, 0), 0.01506, 1e-9);
    /* Behind 100 ms of backward a tenth of it stays. */
    assert_near(dlt_run_all_reduce(1e9, 0.1, 4, 1, &nvlink, 0), 0.001506, 1e-9);
    /* Between nodes over HDR InfiniBand, four fifths of 25 GB/s: 75 ms and the hops. */
    assert_near(dlt_run_all_reduce(1e9, 0, 4, 2, &nvlink, dlt_interconnect_find("HDR")->bandwidth),
                0.07506, 1e-9);
    assert_null(dlt_interconnect_find("token ring"));
    assert_string_equal(dlt_interconnect_nearest("nvlink9"), "nvlink1");
}

static struct dlt_estimate small_job(void)
{
    struct dlt_estimate e = {.devices = 1, .nodes = 1, .batch = 64};

    e.training = (struct dlt_training){
        .samples = 1000, .epochs = 3, .setup_s = 5, .optimizer = DLT_SGD, .framework = DLT_PYTORCH};
    return e;
}

static const struct dlt_step_times step_times = {
    .forward_s = 0.01, .micro_s = 0.03, .update_s = 0.002};

/* f_E = e^0.1 x 8^0.05 = 1.2263 beside no share of a ring: a step of 32 ms takes 7.24 ms more. */
static void a_learned_scaling_takes_the_place_of_the_ring(void **state)
{
    struct dlt_scaling scaling = {.exponent = {0.1, 0, 0.05, 0}};
    struct dlt_estimate e = small_job();

    (void)state;
    e.devices = 8;
    e.scaling = &scaling;
    dlt_run_fill(&e, &step_times, 0.02, 1e9, 0);
    assert_near(e.step_s, 0.032 * 1.1051709 * 1.1095695, 1e-8);
    e.devices = 1;
    dlt_run_fill(&e, &step_times, 0.02, 1e9, 0);
    assert_near(e.step_s, 0.032, 1e-12);
}

static void a_job_is_its_epochs_of_whole_steps_and_the_setup(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    /* ceil(1000 / 64) = 16 steps of 32 ms, three times, + 5 s. */
    dlt_run_fill(&e, &step_times, 0.02, 0, 0);
    assert_near(e.steps_per_epoch, 16, 0);
    assert_near(e.step_s, 0.032, 1e-12);
    assert_near(e.epoch_s, 0.512, 1e-12);
    assert_near(e.job_s, 6.536, 1e-12);
    assert_true(isnan(e.terms.communicate) && isnan(e.terms.load) && isnan(e.terms.validate));
}

static void drop_last_drops_the_partial_batch_and_start_epoch_the_epochs_done(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.training.drop_last = true;
    e.training.start_epoch = 2;
    dlt_run_fill(&e, &step_times, 0.02, 0, 0);
    assert_near(e.steps_per_epoch, 15, 0);
    assert_near(e.job_s, 15 * 0.032 + 5, 1e-12);
}

static void a_slow_loader_sets_the_pace(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.training.loader_samples_per_s = 640; /* a batch of 64 takes 100 ms */
    dlt_run_fill(&e, &step_times, 0.02, 0, 0);
    assert_near(e.step_s, 0.1, 1e-12);
    assert_near(e.terms.load, 48 * 0.068, 1e-9);
}

static void steps_stand_in_for_samples_and_epochs(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.training.samples = 0;
    e.training.epochs = 0;
    e.training.steps = 100;
    dlt_run_fill(&e, &step_times, 0.02, 0, 0);
    assert_near(e.job_s, 3.2 + 5, 1e-12);
    assert_true(isnan(e.epoch_s));
}

static void without_epochs_there_is_no_job_time(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.training.epochs = 0;
    dlt_run_fill(&e, &step_times, 0.02, 0, 0);
    assert_true(isnan(e.job_s));
    assert_near(e.epoch_s, 0.512, 1e-12);
}

static void accumulation_repeats_the_pass_but_not_the_update(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.training.accumulate = 4;
    dlt_run_fill(&e, &step_times, 0.02, 0, 0);
    assert_near(e.step_s, 4 * 0.03 + 0.002, 1e-12);
    assert_near(e.steps_per_epoch, 4, 0); /* ceil(1000 / 256) */
}

/* Four micro-steps of 30 ms, and the forward pass of each once more. */
static void recompute_runs_each_forward_pass_again(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.training.accumulate = 4;
    e.training.recompute = true;
    dlt_run_fill(&e, &step_times, 0.02, 0, 0);
    assert_near(e.step_s, 4 * 0.03 + 4 * 0.01 + 0.002, 1e-12);
    assert_near(e.terms.recompute, 3 * 4 * 0.04, 1e-12); /* 3 epochs of 4 steps */
    assert_near(e.job_s, e.terms.compute + e.terms.recompute + e.terms.update + 5, 1e-12);
    /* Inference keeps nothing that could be computed anew. */
    e.forward_only = true;
    dlt_run_fill(&e, &step_times, NAN, 0, 0);
    assert_near(e.step_s, 0.04, 1e-12);
    assert_true(isnan(e.terms.recompute));
}

/* ZeRO's section 7: spread gradients move as much as an all-reduce, spread parameters half as much
 * again. 2 x 3/4 x 1 GB / 100 GB/s = 15 ms, and 6 hops of 10 us. */
static void sharded_parameters_cross_the_ring_once_more(void **state)
{
    struct dlt_scaling scaling = {.exponent = {0.1, 0, 0, 0}};
    struct dlt_estimate e = small_job();

    (void)state;
    e.devices = 4;
    e.device.interconnect_bandwidth = 100e9;
    e.training.sharding = DLT_ZERO2;
    dlt_run_fill(&e, &step_times, 0, 1e9, 0);
    assert_near(e.step_s, 0.032 + 0.01506, 1e-12);
    e.training.sharding = DLT_FSDP;
    dlt_run_fill(&e, &step_times, 0, 1e9, 0);
    assert_near(e.step_s, 0.032 + 0.02256, 1e-12);
    e.scaling = &scaling;
    dlt_run_fill(&e, &step_times, 0, 1e9, 0);
    assert_near(e.step_s, 0.032 * (1 + 1.5 * 0.1051709), 1e-8);
}

static void quantiles_follow_the_t_distribution_of_the_log(void **state)
{
    struct dlt_estimate e = {
        .job_s = 1000, .step_s = 1, .job_sigma = 0.1, .step_sigma = 0.1, .degrees_of_freedom = 4};

    (void)state;
    assert_near(dlt_estimate_job_quantile(&e, 0.5), 1000, 1e-6);
    /* exp(0.1 x 2.776445) = 1.320017 */
    assert_near(dlt_estimate_job_quantile(&e, 0.975), 1320.017, 0.001);
    assert_near(dlt_estimate_exceeds(&e, 1320.017), 0.025, 1e-5);
    assert_true(isnan(dlt_estimate_job_quantile(&e, 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(student_quantiles_equal_the_printed_tables),
        cmocka_unit_test(student_cdf_inverts_the_quantile),
        cmocka_unit_test(a_gpu_hides_the_hosts_dispatch_behind_its_work),
        cmocka_unit_test(a_slow_host_rules_small_steps),
        cmocka_unit_test(a_constant_of_the_host_hides_behind_the_device_as_its_kernels_do),
        cmocka_unit_test(on_a_cpu_dispatch_and_work_add),
        cmocka_unit_test(a_learned_scaling_takes_the_place_of_the_ring),
        cmocka_unit_test(all_reduce_is_free_on_one_device_and_hidden_behind_a_long_backward),
        cmocka_unit_test(a_job_is_its_epochs_of_whole_steps_and_the_setup),
        cmocka_unit_test(drop_last_drops_the_partial_batch_and_start_epoch_the_epochs_done),
        cmocka_unit_test(a_slow_loader_sets_the_pace),
        cmocka_unit_test(steps_stand_in_for_samples_and_epochs),
        cmocka_unit_test(without_epochs_there_is_no_job_time),
        cmocka_unit_test(accumulation_repeats_the_pass_but_not_the_update),
        cmocka_unit_test(recompute_runs_each_forward_pass_again),
        cmocka_unit_test(sharded_parameters_cross_the_ring_once_more),
        cmocka_unit_test(quantiles_follow_the_t_distribution_of_the_log),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
