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
    /* Where nobody says what: as --interconnect and dltime.conf(5) promise. */
    assert_near(
        dlt_run_all_reduce(1e9, 0, 4, 2, &nvlink, 0),
        dlt_run_all_reduce(1e9, 0, 4, 2, &nvlink, dlt_interconnect_find("100gbe")->bandwidth),
        1e-12);
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
/* Of a smaller batch at the end of an epoch. */
static const struct dlt_step_times last_times = {
    .forward_s = 0.006, .micro_s = 0.02, .update_s = 0.002};

static void fill(struct dlt_estimate *e, double backward_s, double gradient_bytes)
{
    const struct dlt_run_parts parts = {.whole = step_times,
                                        .last = last_times,
                                        .validate_last_s = 0.004,
                                        .backward_s = backward_s,
                                        .gradient_bytes = gradient_bytes,
                                        .parameter_bytes = gradient_bytes,
                                        .parameters = 25e6};

    dlt_run_fill(e, &parts);
}

/* f_E = e^0.1 x 8^0.05 = 1.2263 beside no share of a ring: a step of 32 ms takes 7.24 ms more. */
static void a_learned_scaling_takes_the_place_of_the_ring(void **state)
{
    struct dlt_scaling scaling = {.exponent = {0.1, 0, 0.05, 0}};
    struct dlt_estimate e = small_job();

    (void)state;
    e.devices = 8;
    e.scaling = &scaling;
    fill(&e, 0.02, 1e9);
    assert_near(e.step_s, 0.032 * 1.1051709 * 1.1095695, 1e-8);
    e.devices = 1;
    fill(&e, 0.02, 1e9);
    assert_near(e.step_s, 0.032, 1e-12);
}

/* Terms that apply, added up by the test itself. */
static double all_terms(const struct dlt_estimate *e)
{
    double sum = 0;

    for (int i = 0; i < DLT_TERMS; i++)
        sum += isnan(e->terms[i]) ? 0 : e->terms[i];
    return sum;
}

static void a_job_is_its_epochs_the_last_step_of_each_smaller_and_the_setup(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    /* 1000 = 15 x 64 + 40: 15 steps of 30 + 2 ms and one of 20 + 2, three times, + 5 s. */
    fill(&e, 0.02, 0);
    assert_near(e.steps_per_epoch, 16, 0);
    assert_int_equal(dlt_run_last_batch(&e), 40);
    assert_near(e.step_s, 0.032, 1e-12);
    assert_near(e.epoch_s, 15 * 0.032 + 0.022, 1e-12);
    assert_near(e.job_s, 3 * (15 * 0.032 + 0.022) + 5, 1e-12);
    assert_near(e.terms[DLT_TERM_COMPUTE], 3 * 15 * 0.03, 1e-12);
    assert_near(e.terms[DLT_TERM_LAST_BATCH], 3 * 0.02, 1e-12);
    assert_near(e.terms[DLT_TERM_UPDATE], 3 * 16 * 0.002, 1e-12);
    assert_true(isnan(e.terms[DLT_TERM_COMMUNICATE]) && isnan(e.terms[DLT_TERM_LOAD]) &&
                isnan(e.terms[DLT_TERM_VALIDATE]));
}

static void drop_last_drops_the_partial_batch_and_start_epoch_the_epochs_done(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.training.drop_last = true;
    e.training.start_epoch = 2;
    fill(&e, 0.02, 0);
    assert_near(e.steps_per_epoch, 15, 0);
    assert_near(e.job_s, 15 * 0.032 + 5, 1e-12);
}

static void a_slow_loader_sets_the_pace(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.training.loader_samples_per_s = 640; /* a batch of 64 takes 100 ms */
    fill(&e, 0.02, 0);
    assert_near(e.step_s, 0.1, 1e-12);
    /* 15 steps wait 68 ms; the last one's 40 samples take 62.5 ms, its work 22. */
    assert_near(e.terms[DLT_TERM_LOAD], 3 * (15 * 0.068 + 0.0405), 1e-9);
    assert_near(e.job_s, all_terms(&e), 1e-12);
}

static void steps_stand_in_for_samples_and_epochs(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.training.samples = 0;
    e.training.epochs = 0;
    e.training.steps = 100;
    fill(&e, 0.02, 0);
    assert_near(e.job_s, 3.2 + 5, 1e-12);
    assert_true(isnan(e.epoch_s));
}

static void without_epochs_there_is_no_job_time(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.training.epochs = 0;
    fill(&e, 0.02, 0);
    assert_true(isnan(e.job_s));
    assert_near(e.epoch_s, 0.502, 1e-12);
}

static void accumulation_repeats_the_pass_but_not_the_update(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.training.accumulate = 4;
    fill(&e, 0.02, 0);
    assert_near(e.step_s, 4 * 0.03 + 0.002, 1e-12);
    assert_near(e.steps_per_epoch, 4, 0); /* ceil(1000 / 256) */
    /* Of an epoch's 16 batches 4 begin a step, 11 are added to one, and so is the smaller last. */
    assert_near(e.terms[DLT_TERM_COMPUTE], 3 * 4 * 0.03, 1e-12);
    assert_near(e.terms[DLT_TERM_ACCUMULATE], 3 * 11 * 0.03, 1e-12);
    assert_near(e.terms[DLT_TERM_LAST_BATCH], 3 * 0.02, 1e-12);
    assert_near(e.terms[DLT_TERM_UPDATE], 3 * 4 * 0.002, 1e-12);
    assert_near(e.job_s, all_terms(&e), 1e-12);
    /* 15 whole batches: three steps of 5, and the smaller one is a step by itself. */
    e.training.accumulate = 5;
    fill(&e, 0.02, 0);
    assert_near(e.terms[DLT_TERM_COMPUTE], 3 * 3 * 0.03, 1e-12);
    assert_near(e.terms[DLT_TERM_ACCUMULATE], 3 * 12 * 0.03, 1e-12);
    /* Without the smaller one the batches that fill no step are still run: 15 = 2 x 7 + 1. */
    e.training.accumulate = 7;
    e.training.drop_last = true;
    fill(&e, 0.02, 0);
    assert_near(e.steps_per_epoch, 3, 0);
    assert_near(e.job_s, 3 * (15 * 0.03 + 3 * 0.002) + 5, 1e-12);
    /* Of steps that are counted each has all its batches. */
    e.training = (struct dlt_training){.steps = 10, .accumulate = 4, .setup_s = 5};
    fill(&e, 0.02, 0);
    assert_near(e.job_s, 10 * 0.122 + 5, 1e-12);
}

/* One all-reduce for a step of four batches, beside the last one's backward pass: 15 ms and 6 hops
 * of 10 us, less 0.8 x 5 ms. */
static void accumulated_gradients_are_reduced_once(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.devices = 4;
    e.device.interconnect_bandwidth = 100e9;
    e.training.accumulate = 4;
    fill(&e, 0.005, 1e9);
    assert_near(e.step_s, 4 * 0.03 + 0.002 + 0.01106, 1e-12);
    assert_near(e.steps_per_epoch, 1, 0); /* 250 samples of a device: 3 x 64 + 58 */
    assert_near(e.terms[DLT_TERM_COMMUNICATE], 3 * 0.01106, 1e-12);
    assert_near(e.terms[DLT_TERM_LAST_BATCH], 3 * 0.02, 1e-12);
    assert_near(e.job_s, all_terms(&e), 1e-12);
}

/* 500 samples: 7 x 64 + 52, forward alone. Of 5 epochs every second one leaves a checkpoint: of
 * momentum, 25 M parameters and as many states of 4 bytes, 200 MB. */
static void validation_and_checkpoints_follow_epochs(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.training.epochs = 5;
    e.training.validation_samples = 500;
    e.training.checkpoint_every = 2;
    e.training.optimizer = DLT_MOMENTUM;
    fill(&e, 0.02, 0);
    assert_near(e.terms[DLT_TERM_VALIDATE], 5 * (7 * 0.01 + 0.004), 1e-12);
    assert_near(e.epoch_s, 15 * 0.032 + 0.022 + 0.074, 1e-12);
    assert_near(e.terms[DLT_TERM_CHECKPOINT], 2 * 0.4, 1e-12); /* 0.5 GB/s */
    assert_near(e.job_s, all_terms(&e), 1e-12);
    e.checkpoint_bandwidth = 100e6; /* the site's */
    fill(&e, 0.02, 0);
    assert_near(e.terms[DLT_TERM_CHECKPOINT], 2 * 2.0, 1e-12);
    e.training.checkpoint_bandwidth = 1e9; /* the training's own */
    e.training.checkpoint_bytes = 4e9;
    fill(&e, 0.02, 0);
    assert_near(e.terms[DLT_TERM_CHECKPOINT], 2 * 4.0, 1e-12);
    /* A loader of 3200 samples/s takes 20 ms for 64 and 16.25 for 52. */
    e.training.loader_samples_per_s = 3200;
    fill(&e, 0.02, 0);
    assert_near(e.terms[DLT_TERM_VALIDATE], 5 * (7 * 0.02 + 0.01625), 1e-12);
}

/* 2.5 epochs of 16 steps: two of them end with a smaller one. Two such trainings. */
static void a_part_of_an_epoch_has_nothing_of_its_end(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.training.epochs = 2.5;
    e.training.runs = 2;
    fill(&e, 0.02, 0);
    assert_near(e.terms[DLT_TERM_COMPUTE], 2 * 38 * 0.03, 1e-12);
    assert_near(e.terms[DLT_TERM_LAST_BATCH], 2 * 2 * 0.02, 1e-12);
    assert_near(e.terms[DLT_TERM_SETUP], 5, 0);
    assert_near(e.job_s, all_terms(&e), 1e-12);
}

/* Four micro-steps of 30 ms, and the forward pass of each once more. */
/* Batches of an epoch, 15 whole ones and a smaller, that all go into one step, which is never
 * whole: 2.5 epochs wait for the samples of 2.5 epochs and not for those of half of 1000 batches.
 */
static void a_part_of_an_epoch_that_fills_no_step_loads_no_more_than_it_has(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.training.accumulate = 1000;
    e.training.loader_samples_per_s = 1;
    e.training.epochs = 2.5;
    fill(&e, 0.02, 0);
    assert_near(e.terms[DLT_TERM_LOAD], 2.5 * (1000 - 15 * 0.03 - 0.02 - 0.002), 1e-9);
    assert_near(e.job_s, all_terms(&e), 1e-12);
}

/* No term is less than nothing where the end of an epoch is as good as reached. */
static void an_epoch_that_is_whole_but_for_rounding_is_whole(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.training.samples = 50; /* one smaller batch */
    e.training.epochs = 1 - 1e-10;
    fill(&e, 0.02, 0);
    assert_near(e.terms[DLT_TERM_COMPUTE], 0, 0);
    assert_near(e.terms[DLT_TERM_LAST_BATCH], 0.02, 1e-12);
    assert_near(e.job_s, 0.022 + 5, 1e-12);
}

/* 16 batches of which 9 are a step: an epoch is one of 9 and one of 7, and 3 steps are 16 + 9. */
static void counted_steps_that_end_within_an_epoch_have_all_their_batches(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.training.accumulate = 9;
    e.training.steps = 3;
    fill(&e, 0.02, 0);
    assert_near(e.steps_per_epoch, 2, 0);
    assert_near(e.job_s, (15 + 9) * 0.03 + 0.02 + 3 * 0.002 + 5, 1e-12);
    assert_near(e.job_s, all_terms(&e), 1e-12);
}

static void recompute_runs_each_forward_pass_again(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.training.accumulate = 4;
    e.training.recompute = true;
    fill(&e, 0.02, 0);
    assert_near(e.step_s, 4 * 0.03 + 4 * 0.01 + 0.002, 1e-12);
    /* 3 epochs of 15 batches, and one of 6 ms */
    assert_near(e.terms[DLT_TERM_RECOMPUTE], 3 * (15 * 0.01 + 0.006), 1e-12);
    assert_near(e.job_s, all_terms(&e), 1e-12);
    /* Inference keeps nothing that could be computed anew. */
    e.forward_only = true;
    fill(&e, NAN, 0);
    assert_near(e.step_s, 0.04, 1e-12);
    assert_true(isnan(e.terms[DLT_TERM_RECOMPUTE]));
}

/* ZeRO's section 7: what is spread moves as much as an all-reduce, until parameters are. A phase of
 * 1 GB over 100 GB/s between four: 3/4 x 10 ms, and 3 hops of 10 us: 7.53 ms. */
static void sharding_gathers_what_it_has_spread(void **state)
{
    struct dlt_estimate e = small_job();

    (void)state;
    e.devices = 4;
    e.device.interconnect_bandwidth = 100e9;
    e.training.sharding = DLT_DDP;
    fill(&e, 0, 1e9);
    assert_near(e.step_s, 0.032 + 2 * 0.00753, 1e-12);
    assert_true(isnan(e.terms[DLT_TERM_SHARD]));
    e.training.sharding = DLT_ZERO2;
    fill(&e, 0, 1e9);
    assert_near(e.step_s, 0.032 + 2 * 0.00753, 1e-12);
    assert_near(e.terms[DLT_TERM_SHARD], 0, 1e-12);
    /* Beside a backward pass of 5 ms an all-reduce hides 4 ms; new parameters are gathered after
     * the update, so of the scattered gradients' phase alone 3.53 ms show. */
    fill(&e, 0.005, 1e9);
    assert_near(e.step_s, 0.032 + 0.00353 + 0.00753, 1e-12);
    /* 30 ms hide all but a tenth: 0.753 and 7.53 ms, where an all-reduce shows 1.506. */
    fill(&e, 0.03, 1e9);
    assert_near(e.terms[DLT_TERM_COMMUNICATE], 3 * 4 * 0.001506, 1e-12);
    assert_near(e.terms[DLT_TERM_SHARD], 3 * 4 * (0.000753 + 0.00753 - 0.001506), 1e-12);
    assert_near(e.job_s, all_terms(&e), 1e-12);
    /* A third phase, beside 10 ms of forward: a tenth of it shows. */
    e.training.sharding = DLT_FSDP;
    fill(&e, 0, 1e9);
    assert_near(e.step_s, 0.032 + 2 * 0.00753 + 0.000753, 1e-12);
}

/* Parameters are spread again after each batch, and gathered for the next. */
static void accumulation_repeats_what_sharding_gathers(void **state)
{
    struct dlt_scaling scaling = {.exponent = {0.1, 0, 0, 0}};
    struct dlt_estimate e = small_job();

    (void)state;
    e.devices = 4;
    e.device.interconnect_bandwidth = 100e9;
    e.training.accumulate = 3;
    e.training.sharding = DLT_ZERO2;
    fill(&e, 0, 1e9);
    assert_near(e.step_s, 0.092 + 3 * 0.00753 + 0.00753, 1e-12);
    e.training.sharding = DLT_ZERO3;
    fill(&e, 0, 1e9);
    assert_near(e.step_s, 0.092 + 3 * (2 * 0.00753 + 0.000753), 1e-12);
    /* By bytes where runs say what an all-reduce takes: 3 x 3 G of 2 G. */
    e.scaling = &scaling;
    fill(&e, 0, 1e9);
    assert_near(e.step_s, 0.092 * (1 + 4.5 * 0.1051709), 1e-8);
    e.training.accumulate = 1;
    fill(&e, 0, 1e9);
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
        cmocka_unit_test(a_job_is_its_epochs_the_last_step_of_each_smaller_and_the_setup),
        cmocka_unit_test(drop_last_drops_the_partial_batch_and_start_epoch_the_epochs_done),
        cmocka_unit_test(a_slow_loader_sets_the_pace),
        cmocka_unit_test(steps_stand_in_for_samples_and_epochs),
        cmocka_unit_test(without_epochs_there_is_no_job_time),
        cmocka_unit_test(accumulation_repeats_the_pass_but_not_the_update),
        cmocka_unit_test(recompute_runs_each_forward_pass_again),
        cmocka_unit_test(accumulated_gradients_are_reduced_once),
        cmocka_unit_test(validation_and_checkpoints_follow_epochs),
        cmocka_unit_test(a_part_of_an_epoch_has_nothing_of_its_end),
        cmocka_unit_test(a_part_of_an_epoch_that_fills_no_step_loads_no_more_than_it_has),
        cmocka_unit_test(an_epoch_that_is_whole_but_for_rounding_is_whole),
        cmocka_unit_test(counted_steps_that_end_within_an_epoch_have_all_their_batches),
        cmocka_unit_test(sharding_gathers_what_it_has_spread),
        cmocka_unit_test(accumulation_repeats_what_sharding_gathers),
        cmocka_unit_test(quantiles_follow_the_t_distribution_of_the_log),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
