/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "learned.h"

static struct dlt_price price_of(const struct dlt_profile *profile, struct dlt_record record,
                                 enum dlt_pass pass)
{
    struct dlt_price price;

    record.pass = pass;
    dlt_profile_price(profile, 0, &record, &price);
    return price;
}

static double truth_of(struct dlt_record record, enum dlt_pass pass)
{
    record.pass = pass;
    return paper_time(&record);
}

/* Mean relative error of a pass's price over drawn records against a given truth. */
static double error_of(const struct dlt_profile *profile,
                       struct dlt_record (*drawn)(struct dlt_random *), enum dlt_pass pass,
                       double (*truth)(const struct dlt_record *))
{
    struct dlt_random random;
    double sum = 0;

    dlt_random_seed(&random, 31, 1);
    for (int i = 0; i < 200; i++) {
        struct dlt_record record = drawn(&random);

        sum += fabs(price_of(profile, record, pass).seconds / truth(&record) - 1) / 200;
    }
    return sum;
}

static double backward_truth(const struct dlt_record *record)
{
    return truth_of(*record, DLT_BACKWARD_DATA) + truth_of(*record, DLT_BACKWARD_WEIGHT);
}

static void backward_is_the_sum_of_its_measured_halves(void **state)
{
    struct dlt_corpus corpus = {0};
    struct dlt_profile *profile;
    struct dlt_random random;
    struct dlt_record record;
    struct dlt_price data, weight, both;

    (void)state;
    dlt_random_seed(&random, 32, 0);
    add_group(&corpus, "Tesla V100-SXM2-16GB", 0);
    for (int pass = DLT_FORWARD; pass <= DLT_BACKWARD_WEIGHT; pass++)
        add_rows(&corpus, &random, 80, draw_dense, (enum dlt_pass)pass, 0, 0.02, NULL);
    profile = learned(&corpus, DLT_METHOD_AUTO);
    record = draw_dense(&random);
    data = price_of(profile, record, DLT_BACKWARD_DATA);
    weight = price_of(profile, record, DLT_BACKWARD_WEIGHT);
    both = price_of(profile, record, DLT_BACKWARD);
    assert_near(both.seconds, data.seconds + weight.seconds, 1e-12);
    assert_int_equal(both.basis, DLT_BASIS_MEASURED);
    assert_true(error_of(profile, draw_dense, DLT_BACKWARD, backward_truth) < 0.08);
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

/* As Justus et al. measured: a step of one layer is forward, backward, and the optimizer's walk
 * over the layer's weights and its input: 3 (sgd) or 7 (adam) arrays of 4 bytes an element. */
static double step_of_one_layer(const struct dlt_record *record)
{
    double touches = record->optimizer == DLT_ADAM ? 7 : 3;
    struct dlt_record forward = *record;
    struct dlt_work work;

    forward.pass = DLT_FORWARD;
    forward.optimizer = DLT_OPTIMIZER_NONE;
    dlt_record_work(&forward, &work);
    return paper_time(&forward) + backward_truth(&forward) +
           4 * touches * (work.input + work.weights) / PAPER_BYTES;
}

static struct dlt_profile *from_steps(void)
{
    struct dlt_corpus corpus = {0};
    struct dlt_profile *profile;
    struct dlt_random random;

    dlt_random_seed(&random, 33, 0);
    add_group(&corpus, "Tesla V100-SXM2-16GB", 0);
    add_rows(&corpus, &random, 400, draw_dense, DLT_FORWARD, 0, 0.01, NULL);
    add_rows(&corpus, &random, 200, draw_dense, DLT_STEP, DLT_SGD, 0.01, step_of_one_layer);
    add_rows(&corpus, &random, 200, draw_dense, DLT_STEP, DLT_ADAM, 0.01, step_of_one_layer);
    profile = learned(&corpus, DLT_METHOD_AUTO);
    dlt_corpus_clear(&corpus);
    return profile;
}

static void backward_is_what_a_step_takes_beyond_forward_and_updates(void **state)
{
    struct dlt_profile *profile = from_steps();
    struct dlt_random random;
    struct dlt_record record;
    struct dlt_price both, half;

    (void)state;
    assert_true(error_of(profile, draw_dense, DLT_BACKWARD, backward_truth) < 0.12);
    dlt_random_seed(&random, 34, 0);
    record = draw_dense(&random);
    both = price_of(profile, record, DLT_BACKWARD);
    half = price_of(profile, record, DLT_BACKWARD_WEIGHT);
    assert_near(half.seconds, both.seconds / 2, 1e-12);
    assert_true(half.sigma > both.sigma);
    assert_int_equal(both.basis, DLT_BASIS_MEASURED);
    dlt_profile_destroy(profile);
}

/* A network's optimizer walks over its weights alone: 25.6 million parameters with adam move
 * 7 x 4 x 25.6e6 bytes, 1.79 ms at 4e11 bytes/s. */
static void an_update_of_all_parameters_costs_what_layers_taught(void **state)
{
    struct dlt_profile *profile = from_steps();
    struct dlt_record record = dlt_record_make(dlt_record_kind_find("optimizer_update"));
    struct dlt_price price;

    (void)state;
    record.optimizer = DLT_ADAM;
    record.u.update.elements = 25600000;
    price = price_of(profile, record, DLT_UPDATE);
    assert_near(price.seconds, 7 * 4 * 25.6e6 / PAPER_BYTES, 0.3 * 1.79e-3);
    /* Never measured: as much per byte as one that was. lamb moves 11 arrays. */
    record.optimizer = DLT_LAMB;
    assert_true(price_of(profile, record, DLT_UPDATE).sigma > price.sigma);
    assert_near(price_of(profile, record, DLT_UPDATE).seconds, 11 * 4 * 25.6e6 / PAPER_BYTES,
                0.4 * 2.8e-3);
    dlt_profile_destroy(profile);
}

static struct dlt_profile *from_forward(void)
{
    struct dlt_corpus corpus = {0};
    struct dlt_profile *profile;
    struct dlt_random random;

    dlt_random_seed(&random, 35, 0);
    add_group(&corpus, "Tesla V100-SXM2-16GB", 0);
    add_rows(&corpus, &random, 400, draw_dense, DLT_FORWARD, 0, 0.01, NULL);
    add_rows(&corpus, &random, 200, draw_softmax, DLT_FORWARD, 0, 0.01, NULL);
    profile = learned(&corpus, DLT_METHOD_AUTO);
    dlt_corpus_clear(&corpus);
    return profile;
}

static double softmax_backward(const struct dlt_record *record)
{
    return truth_of(*record, DLT_BACKWARD);
}

static void backward_follows_from_forward_and_physics_and_is_wider(void **state)
{
    struct dlt_profile *profile = from_forward();
    struct dlt_random random;
    struct dlt_record record;

    (void)state;
    dlt_random_seed(&random, 36, 0);
    record = draw_dense(&random);
    record.u.matmul.m = 100;
    assert_true(price_of(profile, record, DLT_BACKWARD).sigma >
                price_of(profile, record, DLT_FORWARD).sigma);
    /* Two products with the same three sizes. */
    assert_true(price_of(profile, record, DLT_BACKWARD).seconds >
                1.4 * price_of(profile, record, DLT_FORWARD).seconds);
    /* 24 bytes an element against 8. */
    assert_true(error_of(profile, draw_softmax, DLT_BACKWARD, softmax_backward) < 0.15);
    dlt_profile_destroy(profile);
}

static void another_precision_is_scaled_as_the_hardware_is(void **state)
{
    struct dlt_profile *profile = from_forward();
    struct dlt_random random;
    struct dlt_record record;
    struct dlt_price single, half;

    (void)state;
    dlt_random_seed(&random, 37, 0);
    record = draw_dense(&random);
    record.u.matmul.m = 128;
    record.u.matmul.k = 4000;
    record.u.matmul.n = 4000;
    single = price_of(profile, record, DLT_FORWARD);
    record.dtype = DLT_FLOAT16;
    half = price_of(profile, record, DLT_FORWARD);
    assert_true(half.seconds < single.seconds && half.seconds > single.seconds / 12);
    assert_true(half.sigma > 0.3);
    assert_int_equal(half.basis, DLT_BASIS_ADAPTED);
    dlt_profile_destroy(profile);
}

/* 64 x 256 x 56 x 56 elements read twice, written once: 0.617 GB at 4e11 bytes/s, 1.5 ms. */
static void an_operator_nobody_measured_costs_what_the_devices_rates_say(void **state)
{
    struct dlt_profile *profile = from_forward();
    struct dlt_record record = dlt_record_make(dlt_record_kind_find("batch_norm"));
    struct dlt_price price;

    (void)state;
    record.u.spatial.batch = 64;
    record.u.spatial.in_channels = 256;
    record.u.spatial.in_size[0] = record.u.spatial.in_size[1] = 56;
    price = price_of(profile, record, DLT_FORWARD);
    assert_near(price.seconds, 1.54e-3, 0.3e-3);
    assert_int_equal(price.basis, DLT_BASIS_COST_MODEL);
    assert_near(price.extrapolated, 1, 0);
    assert_true(price.sigma >= 0.5);
    dlt_profile_destroy(profile);
}

static void *price_many(void *profile)
{
    struct dlt_random random;
    double *sum = calloc(1, sizeof *sum);

    assert_non_null(sum);
    dlt_random_seed(&random, 38, 0);
    for (int i = 0; i < 300; i++)
        *sum += price_of(profile, draw_dense(&random), DLT_FORWARD).seconds;
    return sum;
}

static void threads_may_share_a_profile(void **state)
{
    struct dlt_profile *profile = from_forward();
    pthread_t thread[4];
    double *sum[4];

    (void)state;
    for (int t = 0; t < 4; t++)
        assert_int_equal(pthread_create(&thread[t], NULL, price_many, profile), 0);
    for (int t = 0; t < 4; t++)
        pthread_join(thread[t], (void **)&sum[t]);
    for (int t = 1; t < 4; t++)
        assert_near(*sum[t], *sum[0], 0);
    for (int t = 0; t < 4; t++)
        free(sum[t]);
    dlt_profile_destroy(profile);
}

/* The same sums over the same numbers, laid out as a line instead of an image of width 1. */
static void a_convolution_over_lines_costs_what_one_over_images_of_width_1_does(void **state)
{
    struct dlt_corpus corpus = {0};
    struct dlt_record image = dlt_record_make(dlt_record_kind_find("conv2d"));
    struct dlt_record line = dlt_record_make(dlt_record_kind_find("conv1d"));
    struct dlt_price by_image, by_line;
    struct dlt_profile *profile;
    struct dlt_random random;

    (void)state;
    dlt_random_seed(&random, 37, 0);
    add_group(&corpus, "Tesla V100-SXM2-16GB", 0);
    add_rows(&corpus, &random, 300, draw_convolution, DLT_FORWARD, 0, 0.01, NULL);
    profile = learned(&corpus, DLT_METHOD_COST);
    dlt_corpus_clear(&corpus);
    line.u.spatial.batch = image.u.spatial.batch = 16;
    line.u.spatial.in_channels = image.u.spatial.in_channels = 64;
    line.u.spatial.out_channels = image.u.spatial.out_channels = 128;
    line.u.spatial.in_size[0] = image.u.spatial.in_size[0] = 1000;
    line.u.spatial.kernel[0] = image.u.spatial.kernel[0] = 5;
    image.u.spatial.in_size[1] = image.u.spatial.kernel[1] = 1;
    by_image = price_of(profile, image, DLT_FORWARD);
    by_line = price_of(profile, line, DLT_FORWARD);
    assert_near(by_line.seconds, by_image.seconds, 1e-12);
    assert_int_equal(by_line.basis, DLT_BASIS_COST_MODEL);
    assert_true(by_line.sigma > by_image.sigma);
    dlt_profile_destroy(profile);
}

/* Kernels of 3 x 3 at stride 1, as fast as Winograd's transforms make them: 2.2 times what direct
 * sums could at the device's peak of 1e13 FLOP/s. */
static double winograd_time(const struct dlt_record *record)
{
    struct dlt_work work;

    dlt_record_work(record, &work);
    return PAPER_LAUNCH + fmax(work.flops / 2.2e13, work.bytes / PAPER_BYTES);
}

static struct dlt_record layer_of(int64_t kernel, int64_t stride)
{
    struct dlt_record record = dlt_record_make(dlt_record_kind_find("conv2d"));
    struct dlt_spatial *s = &record.u.spatial;

    s->batch = 32;
    s->in_channels = 128;
    s->out_channels = 128;
    for (int d = 0; d < 2; d++) {
        s->in_size[d] = 28;
        s->kernel[d] = kernel;
        s->stride[d] = stride;
        s->padding[d][0] = s->padding[d][1] = kernel / 2;
    }
    return record;
}

static struct dlt_record draw_layer_of_3(struct dlt_random *random)
{
    struct dlt_record drawn = draw_convolution(random), record = layer_of(3, 1);

    record.u.spatial.batch = drawn.u.spatial.batch;
    record.u.spatial.in_channels = drawn.u.spatial.in_channels;
    record.u.spatial.out_channels = drawn.u.spatial.out_channels;
    for (int d = 0; d < 2; d++)
        record.u.spatial.in_size[d] = drawn.u.spatial.in_size[d];
    return record;
}

static void only_convolutions_that_were_measured_beat_the_peak(void **state)
{
    static const int64_t others[][2] = {{7, 1}, {5, 1}, {3, 2}, {7, 2}, {1, 1}};
    struct dlt_corpus corpus = {0};
    struct dlt_profile *profile;
    struct dlt_random random;
    struct dlt_price price;
    struct dlt_record record = layer_of(3, 1);
    struct dlt_work work;

    (void)state;
    dlt_random_seed(&random, 41, 0);
    add_group(&corpus, "Tesla V100-SXM2-16GB", 0);
    corpus.group[0].device.peak_fp16 = 8e13;
    add_rows(&corpus, &random, 600, draw_layer_of_3, DLT_FORWARD, 0, 0.01, winograd_time);
    profile = learned(&corpus, DLT_METHOD_AUTO);
    dlt_corpus_clear(&corpus);
    price = price_of(profile, record, DLT_FORWARD);
    assert_near(price.seconds, winograd_time(&record), 0.15 * winograd_time(&record));
    assert_int_equal(price.basis, DLT_BASIS_MEASURED);
    /* Matrix units have no transforms: they do not reach their peak, not 2.2 times theirs. */
    record.dtype = DLT_FLOAT16;
    dlt_record_work(&record, &work);
    price = price_of(profile, record, DLT_FORWARD);
    assert_true(price.seconds >= work.flops / 8e13 && price.seconds < winograd_time(&record));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        record = layer_of(others[i][0], others[i][1]);
        dlt_record_work(&record, &work);
        price = price_of(profile, record, DLT_FORWARD);
        assert_true(price.seconds >= 0.999 * work.flops / 1e13);
        assert_int_equal(price.basis, DLT_BASIS_COST_MODEL);
    }
    dlt_profile_destroy(profile);
}

/* Layers of 3 x 3 in one type, at a time of each; the device's matrix units and half precision as
 * its data sheet has them. */
static struct dlt_profile *from_layers(enum dlt_dtype dtype, double peak_fp16, double peak_tf32,
                                       double (*time)(const struct dlt_record *))
{
    struct dlt_corpus corpus = {0};
    struct dlt_profile *profile;
    struct dlt_random random;

    dlt_random_seed(&random, 44, 0);
    add_group(&corpus, "GeForce on paper", 0);
    corpus.group[0].device.peak_fp16 = peak_fp16;
    corpus.group[0].device.peak_tf32 = peak_tf32;
    add_rows(&corpus, &random, 300, draw_layer_of_3, DLT_FORWARD, 0, 0.01, time);
    for (size_t r = 0; r < corpus.row_count; r++)
        corpus.row[r].record.dtype = dtype;
    profile = learned(&corpus, DLT_METHOD_AUTO);
    dlt_corpus_clear(&corpus);
    return profile;
}

/* A GeForce RTX 3090's matrix units do 35.6 TFLOP/s in tf32, its plain ones 35.6 in float32
 * (NVIDIA, GA102 whitepaper, table 9): cuDNN goes on with Winograd's transform, 2.2 times what
 * either could do directly. */
static void a_transform_is_kept_where_matrix_units_are_no_faster(void **state)
{
    struct dlt_profile *profile = from_layers(DLT_FLOAT32, 2e13, 1e13, winograd_time);
    struct dlt_record record = layer_of(3, 1);
    double truth = winograd_time(&record);

    (void)state;
    record.math = DLT_TF32;
    assert_near(price_of(profile, record, DLT_FORWARD).seconds, truth, 0.15 * truth);
    dlt_profile_destroy(profile);
}

/* A P100 has no matrix units and does half precision at twice the rate of float32 (21.2 and 10.6
 * TFLOP/s, NVIDIA, P100 whitepaper): by a transform or directly, a layer takes no less than half of
 * its time in float32, and no more than that. */
static void half_precision_without_matrix_units_gains_at_most_a_factor_of_two(void **state)
{
    struct dlt_profile *profile = from_layers(DLT_FLOAT32, 2e13, 0, winograd_time);
    struct dlt_record record = layer_of(3, 1);
    double truth = winograd_time(&record), half;

    (void)state;
    record.dtype = DLT_FLOAT16;
    half = price_of(profile, record, DLT_FORWARD).seconds;
    assert_true(half > 0.85 * truth / 2 && half < 1.15 * truth);
    dlt_profile_destroy(profile);
}

/* Direct sums by matrix units, at 5e13 FLOP/s. */
static double matrix_time(const struct dlt_record *record)
{
    struct dlt_work work;

    dlt_record_work(record, &work);
    return PAPER_LAUNCH + fmax(work.flops / 5e13, work.bytes / PAPER_BYTES);
}

/* Measured in half precision alone, by matrix units of 8e13 FLOP/s: in float32, at 1e13, a layer
 * takes no less than in half precision, and with no transform at half the peak at the most 1.48
 * ms: 32 x 128 x 128 x 28 x 28 x 9 MACs are 7.4 GFLOP. */
static void float32_is_not_faster_than_what_was_measured_in_half(void **state)
{
    struct dlt_profile *profile = from_layers(DLT_FLOAT16, 8e13, 0, matrix_time);
    struct dlt_record record = layer_of(3, 1);
    double plain;

    (void)state;
    plain = price_of(profile, record, DLT_FORWARD).seconds;
    record.dtype = DLT_FLOAT16;
    assert_true(plain > price_of(profile, record, DLT_FORWARD).seconds);
    assert_true(plain < 1.6e-3);
    dlt_profile_destroy(profile);
}

/* Calls timed one by one between two events: the device waits 30 us for the host, and then moves
 * its bytes. */
static double waiting_time(const struct dlt_record *record)
{
    struct dlt_work work;

    dlt_record_work(record, &work);
    return 30e-6 + work.bytes / PAPER_BYTES;
}

/* Inside a network the host runs ahead, and 4096 x 1024 floats, read and written, take the 84 us of
 * their bytes. Most of the wait is told, and no more than it. Where many calls follow each other
 * none is. */
static void what_the_device_waits_for_between_two_events_is_told(void **state)
{
    static const enum dlt_timing timings[] = {DLT_EVENTS_SINGLE, DLT_EVENTS_BATCHED};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct dlt_corpus corpus = {0};
        struct dlt_random random;
        struct dlt_profile *profile;
        struct dlt_record record;
        struct dlt_price price;

        dlt_random_seed(&random, 43, 0);
        add_group(&corpus, "Tesla V100-PCIE-32GB", 0);
        corpus.group[0].software.timing = timings[i];
        add_rows(&corpus, &random, 200, draw_softmax, DLT_FORWARD, 0, 0, waiting_time);
        profile = learned(&corpus, DLT_METHOD_COST);
        dlt_corpus_clear(&corpus);
        record = draw_softmax(&random);
        record.u.rowwise.rows = 4096;
        record.u.rowwise.columns = 1024;
        price = price_of(profile, record, DLT_FORWARD);
        assert_near(price.seconds, 114e-6, 4e-6);
        if (timings[i] == DLT_EVENTS_SINGLE)
            assert_true(price.clock_s > 15e-6 && price.clock_s <= 30e-6);
        else
            assert_near(price.clock_s, 0, 0);
        dlt_profile_destroy(profile);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backward_is_the_sum_of_its_measured_halves),
        cmocka_unit_test(backward_is_what_a_step_takes_beyond_forward_and_updates),
        cmocka_unit_test(an_update_of_all_parameters_costs_what_layers_taught),
        cmocka_unit_test(backward_follows_from_forward_and_physics_and_is_wider),
        cmocka_unit_test(another_precision_is_scaled_as_the_hardware_is),
        cmocka_unit_test(an_operator_nobody_measured_costs_what_the_devices_rates_say),
        cmocka_unit_test(a_convolution_over_lines_costs_what_one_over_images_of_width_1_does),
        cmocka_unit_test(only_convolutions_that_were_measured_beat_the_peak),
        cmocka_unit_test(a_transform_is_kept_where_matrix_units_are_no_faster),
        cmocka_unit_test(half_precision_without_matrix_units_gains_at_most_a_factor_of_two),
        cmocka_unit_test(float32_is_not_faster_than_what_was_measured_in_half),
        cmocka_unit_test(what_the_device_waits_for_between_two_events_is_told),
        cmocka_unit_test(threads_may_share_a_profile),
    };

    return cmocka_run_group_tests_name("price", tests, NULL, NULL);
}
