/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler.h"
#include "test.h"

static const struct bench_sampler_options usual = {
    .seed = 1, .threads = 2, .most_macs = 3e8, .most_bytes = 32 << 20};

static struct bench_sampler *make(const struct bench_sampler_options *options)
{
    struct bench_sampler *sampler;

    assert_int_equal(bench_sampler_create(options, &sampler, NULL), 0);
    return sampler;
}

static void a_sample_follows_from_seed_and_index_alone(void **state)
{
    struct bench_sampler_options other_seed = usual;
    struct bench_sampler *one = make(&usual), *two = make(&usual), *three;
    struct bench_sample a, b;
    int different = 0;

    (void)state;
    other_seed.seed = 2;
    three = make(&other_seed);
    /* Backwards in one of them: what was drawn before must not matter. */
    for (uint64_t i = 300; i-- > 0;) {
        bench_sampler_at(two, 7, &a);
        bench_sampler_at(one, i, &a);
        bench_sampler_at(two, i, &b);
        assert_true(dlt_record_equal(&a.record, &b.record));
        assert_int_equal(a.pass_count, b.pass_count);
        bench_sampler_at(three, i, &b);
        different += !dlt_record_equal(&a.record, &b.record);
    }
    assert_true(different > 290);
    bench_sampler_destroy(one);
    bench_sampler_destroy(two);
    bench_sampler_destroy(three);
}

static void every_beginning_holds_all_operators_in_their_shares(void **state)
{
    struct bench_sampler *sampler = make(&usual);
    struct bench_sample sample;
    int convolutions = 0, dense = 0, others[64] = {0};

    (void)state;
    for (uint64_t i = 0; i < 5 * 92; i++) {
        bench_sampler_at(sampler, i, &sample);
        for (size_t op = 0; op < bench_sampler_op_count(); op++)
            others[op] += strcmp(bench_sampler_op(op), sample.record.kind->name) == 0;
        convolutions += strcmp(sample.record.kind->name, "conv2d") == 0;
        dense += strcmp(sample.record.kind->name, "dense") == 0;
        /* Weights 20 and 8 of 92: after each whole cycle the shares are exact. */
        if ((i + 1) % 92 == 0) {
            assert_int_equal(convolutions, 20 * (int)(i + 1) / 92);
            assert_int_equal(dense, 8 * (int)(i + 1) / 92);
        }
    }
    for (size_t op = 0; op < bench_sampler_op_count(); op++)
        assert_true(others[op] >= 5);
    bench_sampler_destroy(sampler);
}

static void half_of_the_samples_stand_around_layers_of_networks(void **state)
{
    struct bench_sampler *sampler = make(&usual);
    struct bench_sample sample;
    int from_network = 0, convolutions = 0;

    (void)state;
    assert_true(bench_sampler_networks(sampler) >= 7);
    for (uint64_t i = 0; i < 45 * 92; i++) {
        bench_sampler_at(sampler, i, &sample);
        if (strcmp(sample.record.kind->name, "conv2d") == 0) {
            convolutions++;
            from_network += sample.from_network;
        }
    }
    assert_int_equal(convolutions, 900);
    assert_in_range(from_network, 440, 450);
    bench_sampler_destroy(sampler);
}

static void one_sample_in_eight_is_warm(void **state)
{
    struct bench_sampler *sampler = make(&usual);
    struct bench_sample sample;
    int warm = 0;

    (void)state;
    for (uint64_t i = 0; i < 92 * 160; i++) {
        bench_sampler_at(sampler, i, &sample);
        warm += sample.record.cache == DLT_CACHE_WARM;
    }
    assert_in_range(warm, 92 * 160 / 8 - 10, 92 * 160 / 8 + 10);
    bench_sampler_destroy(sampler);
}

static void samples_are_valid_and_stay_within_the_limits(void **state)
{
    struct bench_sampler *sampler = make(&usual);
    struct bench_sample sample;
    struct dlt_error error;
    double largest = 0;

    (void)state;
    for (uint64_t i = 0; i < 5000; i++) {
        struct dlt_work work;

        bench_sampler_at(sampler, i, &sample);
        assert_int_equal(dlt_record_check(&sample.record, &error), 0);
        dlt_record_work(&sample.record, &work);
        assert_true(4 * (work.input + work.output + work.weights) <= 32 << 20);
        /* The limit doubles every 256 samples, three times. */
        assert_true(work.macs <= 3e8 * (i < 256 ? 1 : i < 512 ? 2 : i < 768 ? 4 : 8));
        largest = work.macs > largest ? work.macs : largest;
        assert_int_equal(sample.record.threads, 2);
    }
    assert_true(largest > 1.2e9);
    bench_sampler_destroy(sampler);
}

static void a_list_of_operators_limits_the_draw(void **state)
{
    struct bench_sampler_options options = usual;
    struct bench_sampler *sampler;
    struct bench_sample sample;
    int dense = 0;

    (void)state;
    options.ops = "softmax,dense";
    sampler = make(&options);
    for (uint64_t i = 0; i < 100; i++) {
        bench_sampler_at(sampler, i, &sample);
        dense += strcmp(sample.record.kind->name, "dense") == 0;
        assert_true(strcmp(sample.record.kind->name, "dense") == 0 ||
                    strcmp(sample.record.kind->name, "softmax") == 0);
    }
    assert_int_equal(dense, 80);
    bench_sampler_destroy(sampler);
}

static void an_unknown_operator_gets_the_nearest_name(void **state)
{
    struct dlt_error error;

    (void)state;
    assert_int_equal(bench_sampler_check_ops("dense,conv3", &error), -1);
    assert_string_equal(error.text, "unknown operator \"conv3\"; did you mean conv3d?");
    assert_int_equal(bench_sampler_check_ops("", &error), -1);
    assert_int_equal(bench_sampler_check_ops("dense,", &error), -1);
    assert_int_equal(bench_sampler_check_ops(NULL, &error), 0);
}

static void without_networks_all_samples_are_log_uniform(void **state)
{
    char empty[] = "/tmp/dltime-networks-XXXXXX";
    struct bench_sampler_options options = usual;
    struct bench_sampler *sampler;
    struct bench_sample sample;

    (void)state;
    assert_non_null(mkdtemp(empty));
    options.models = empty;
    sampler = make(&options);
    assert_int_equal(bench_sampler_networks(sampler), 0);
    for (uint64_t i = 0; i < 100; i++) {
        bench_sampler_at(sampler, i, &sample);
        assert_false(sample.from_network);
    }
    bench_sampler_destroy(sampler);
    assert_int_equal(rmdir(empty), 0);
}

/* A GPU's samples: each type has its share, and 16-bit images come in both layouts. */
static void types_and_layouts_are_drawn_where_asked_for(void **state)
{
    struct bench_sampler_options options = {
        .seed = 1, .ops = "conv2d,softmax", .most_macs = 1e9, .most_bytes = 1e8};
    int seen[DLT_DTYPES][DLT_MATHS][DLT_LAYOUTS] = {{{0}}}, rows_in_tf32 = 0;
    struct bench_sampler *sampler;
    struct bench_sample sample;
    struct dlt_error error;

    (void)state;
    for (int types = 0; types < 2; types++) {
        options.types = types == 1;
        assert_int_equal(bench_sampler_create(&options, &sampler, &error), 0);
        for (uint64_t i = 0; i < 400; i++) {
            bench_sampler_at(sampler, i, &sample);
            if (types == 0) {
                assert_int_equal(sample.record.dtype, DLT_FLOAT32);
                assert_int_equal(sample.record.math, DLT_IEEE);
                continue;
            }
            seen[sample.record.dtype][sample.record.math][sample.record.layout]++;
            rows_in_tf32 += sample.record.kind->dims == 0 && sample.record.math == DLT_TF32;
        }
        bench_sampler_destroy(sampler);
    }
    assert_true(seen[DLT_FLOAT32][DLT_IEEE][DLT_NCHW] >= 90);
    assert_true(seen[DLT_FLOAT32][DLT_TF32][DLT_NCHW] >= 60);
    for (int dtype = DLT_FLOAT16; dtype <= DLT_BFLOAT16; dtype++) {
        assert_true(seen[dtype][DLT_IEEE][DLT_NCHW] >= 40);
        assert_true(seen[dtype][DLT_IEEE][DLT_NHWC] >= 30);
    }
    assert_int_equal(rows_in_tf32, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_and_layouts_are_drawn_where_asked_for),
        cmocka_unit_test(a_sample_follows_from_seed_and_index_alone),
        cmocka_unit_test(every_beginning_holds_all_operators_in_their_shares),
        cmocka_unit_test(half_of_the_samples_stand_around_layers_of_networks),
        cmocka_unit_test(one_sample_in_eight_is_warm),
        cmocka_unit_test(samples_are_valid_and_stay_within_the_limits),
        cmocka_unit_test(a_list_of_operators_limits_the_draw),
        cmocka_unit_test(an_unknown_operator_gets_the_nearest_name),
        cmocka_unit_test(without_networks_all_samples_are_log_uniform),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
