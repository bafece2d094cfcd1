/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/features.h"

#include <string.h>

#include "test.h"

/* batch 2, 3 x 8 x 8 in, 4 kernels of 3 x 3, padding 1: out 4 x 8 x 8. Input 2 3 64 = 384 elements,
 * output 2 4 64 = 512, weights 4 3 9 = 108; as a product M = 2 64 = 128, N = 4, K = 27;
 * 128 4 27 = 13,824 MACs. */
static struct dlt_record small_convolution(void)
{
    struct dlt_record record = dlt_record_make(dlt_record_kind_find("conv2d"));
    struct dlt_spatial *s = &record.u.spatial;

    s->batch = 2;
    s->in_channels = 3;
    s->out_channels = 4;
    for (int d = 0; d < 2; d++) {
        s->in_size[d] = 8;
        s->kernel[d] = 3;
        s->padding[d][0] = s->padding[d][1] = 1;
    }
    return record;
}

static double column(const struct dlt_record *record, const char *name)
{
    struct dlt_numbers columns;

    dlt_columns(record, &columns);
    return dlt_numbers_find(&columns, name);
}

static void a_convolutions_columns_are_what_a_hand_counts(void **state)
{
    struct dlt_record record = small_convolution();

    (void)state;
    assert_near(column(&record, "1"), 1, 0);
    assert_near(column(&record, "I"), 384, 0);
    assert_near(column(&record, "O"), 512, 0);
    assert_near(column(&record, "W"), 108, 0);
    assert_near(column(&record, "macs"), 13824, 0);
    assert_near(column(&record, "macs k=3,s=1"), 13824, 0);
    assert_near(column(&record, "macs k=1"), 0, 0);
    assert_near(column(&record, "MK"), 128 * 27, 0);
    assert_near(column(&record, "bias O"), 0, 0);
    assert_near(column(&record, "update input"), 0, 0);
}

/* Winograd's 4 x 4 tiles: 2 images of 2 x 2 tiles of 36 points, 8 36 12 = 3,456 MACs where the sum
 * has 13,824, a quarter: 3,456 / (1 + 1/16). A transform of 16 x 16 has 16 9 points, 4 real
 * products each: 4 2 144 12 = 13,824, as many as the sum: half of that. On an image of 2 x 2 under
 * a kernel of 2 x 2 the sum has 2 4 12 = 96 MACs, one in tiles of 32 x 32 has 4 2 544 12 = 52,224,
 * 544 times as many. */
static void transforms_count_where_they_pay(void **state)
{
    struct dlt_record record = small_convolution();
    struct dlt_spatial *s = &record.u.spatial;

    (void)state;
    assert_near(column(&record, "winograd paying macs"), 3456 / 1.0625, 1e-9);
    assert_near(column(&record, "fft paying macs"), 6912, 1e-9);
    for (int d = 0; d < 2; d++) {
        s->in_size[d] = s->kernel[d] = 2;
        s->padding[d][0] = s->padding[d][1] = 0;
    }
    assert_near(column(&record, "fft tiled paying macs"), 52224.0 / (1 + 544.0 * 544), 1e-9);
}

/* A section of before the last columns keeps its place; one that lacks others is another. */
static void columns_that_come_later_leave_signatures_as_they_were(void **state)
{
    const struct dlt_record_kind *kind = dlt_record_kind_find("conv2d");
    struct dlt_record record = small_convolution();
    struct dlt_numbers columns;

    (void)state;
    dlt_columns(&record, &columns);
    assert_int_equal(dlt_feature_signature(kind, columns.count, SIZE_MAX),
                     dlt_feature_signature(kind, SIZE_MAX, SIZE_MAX));
    assert_int_not_equal(dlt_feature_signature(kind, columns.count - 1, SIZE_MAX),
                         dlt_feature_signature(kind, SIZE_MAX, SIZE_MAX));
    assert_false(dlt_column_is_retired(columns.name[columns.count - 1]));
}

/* Adam walks over 7 parameter-sized arrays; Justus' steps train the input as well. */
static void updates_of_input_and_weights_stand_apart(void **state)
{
    struct dlt_record record = small_convolution();
    struct dlt_numbers columns;
    double input = 0, weights = 0;

    (void)state;
    record.pass = DLT_STEP;
    record.optimizer = DLT_ADAM;
    dlt_columns(&record, &columns);
    for (size_t i = 0; i < columns.count; i++) {
        if (dlt_column_is_of_one(columns.name[i]))
            continue;
        if (dlt_column_is_input_update(columns.name[i]))
            input += columns.value[i];
        else if (dlt_column_is_update(columns.name[i]))
            weights += columns.value[i];
    }
    assert_near(input, 7 * 384, 0);
    assert_near(weights, 7 * 108, 0);
}

static double feature(const struct dlt_record *record, const char *name)
{
    static const struct dlt_device device = {
        .sms = 10, .peak_fp32 = 1e12, .memory_bandwidth = 1e11, .l2_bytes = 1e6};
    struct dlt_numbers features;

    dlt_features(record, &device, 1e-3, &features);
    return dlt_numbers_find(&features, name);
}

static void a_convolutions_features_are_what_a_hand_counts(void **state)
{
    struct dlt_record record = small_convolution();

    (void)state;
    assert_near(feature(&record, "forward"), 1, 0);
    assert_near(feature(&record, "step"), 0, 0);
    assert_near(feature(&record, "ln cost"), log(1e-3), 1e-12);
    assert_near(feature(&record, "ln macs"), log(13824), 1e-12);
    /* 2 FLOPs a MAC at 1e12 FLOP/s; 4 bytes of 384 + 512 + 108 elements at 1e11 bytes/s. */
    assert_near(feature(&record, "ln compute"), log(2 * 13824 / 1e12), 1e-12);
    assert_near(feature(&record, "ln memory"), log(4 * 1004 / 1e11), 1e-12);
    assert_near(feature(&record, "q co"), log(16.0 / 4), 1e-12);
    assert_near(feature(&record, "q M 64"), 0, 0);
    assert_near(feature(&record, "q K 8"), log(32.0 / 27), 1e-12);
    assert_near(feature(&record, "q o 4"), 0, 0);
    assert_near(feature(&record, "k=3,s=1"), 1, 0);
    /* A transform of the padded image needs max(10, 8 + 2) = 10 points: 16. */
    assert_near(feature(&record, "ln n"), log(16), 1e-12);
    /* One tile of 32 x 32: 2 1024 3 4 complex products. */
    assert_near(feature(&record, "tiled macs"), log(24577) - log(13824), 1e-12);
}

/* 40 x 100 by 100 x 70: padded to 128 rows of tiles 64 wide there are 2 tiles for 10 SMs. */
static void a_products_features_are_what_a_hand_counts(void **state)
{
    struct dlt_record record = dlt_record_make(dlt_record_kind_find("dense"));

    (void)state;
    record.u.matmul.m = 40;
    record.u.matmul.k = 100;
    record.u.matmul.n = 70;
    assert_near(feature(&record, "ln waves"), log(0.2), 1e-12);
    assert_near(feature(&record, "q waves"), log(10 / 2.0), 1e-12);
    assert_near(feature(&record, "q n"), log(72.0 / 70), 1e-12);
    assert_near(feature(&record, "ln macs"), log(280000), 1e-12);
    /* 2 x 3 tiles of 32 x 32, but the device computes 10 at once. */
    assert_near(feature(&record, "q rounds of tiles"), log(10 * 32 * 32 / (40.0 * 70)), 1e-12);
    assert_near(feature(&record, "q m in tile"), 40 / 64.0, 1e-12);
    assert_near(feature(&record, "q n in tile"), 6 / 64.0, 1e-12);
}

/* A section of before the tiles' features keeps its place; one that lacks others is another. */
static void features_that_come_later_leave_signatures_as_they_were(void **state)
{
    const struct dlt_record_kind *kind = dlt_record_kind_find("dense");
    static const struct dlt_device device;
    struct dlt_record record = dlt_record_make(kind);
    struct dlt_numbers features;
    size_t first = 0;

    (void)state;
    dlt_features(&record, &device, 1, &features);
    while (strcmp(features.name[first], "q rounds of tiles") != 0)
        first++;
    assert_int_equal(first, features.count - 12);
    /* What sections of dense have in profiles from before these features. */
    assert_int_equal(dlt_feature_signature(kind, SIZE_MAX, first), 0x6a51e19f);
    assert_int_equal(dlt_feature_signature(kind, SIZE_MAX, features.count),
                     dlt_feature_signature(kind, SIZE_MAX, SIZE_MAX));
    assert_int_not_equal(dlt_feature_signature(kind, SIZE_MAX, first - 1),
                         dlt_feature_signature(kind, SIZE_MAX, first));
    assert_int_not_equal(dlt_feature_signature(kind, SIZE_MAX, first),
                         dlt_feature_signature(kind, SIZE_MAX, SIZE_MAX));
}

/* 639 channels fill no whole block of 4, 8 or 16; 640 fill all: 8 and 16 as well as 4. */
static void channels_that_fill_blocks_are_told_from_those_that_do_not(void **state)
{
    static const struct dlt_device device = {.peak_fp32 = 1e12, .memory_bandwidth = 1e11};
    struct dlt_record record = dlt_record_make(dlt_record_kind_find("batch_norm"));
    struct dlt_numbers whole, part;
    int told = 0;

    (void)state;
    record.u.spatial.batch = 4;
    record.u.spatial.in_size[0] = record.u.spatial.in_size[1] = 8;
    record.u.spatial.in_channels = 640;
    dlt_features(&record, &device, 1e-3, &whole);
    record.u.spatial.in_channels = 639;
    dlt_features(&record, &device, 1e-3, &part);
    for (size_t i = 0; i < whole.count; i++)
        told += whole.value[i] == 1 && part.value[i] == 0;
    assert_int_equal(told, 3);
}

static void every_kind_has_room_for_its_numbers(void **state)
{
    static const struct dlt_device device;

    (void)state;
    for (size_t i = 0; i < dlt_record_kind_count(); i++) {
        struct dlt_record record = dlt_record_make(dlt_record_kind_at(i));
        struct dlt_numbers numbers;

        dlt_columns(&record, &numbers);
        assert_true(numbers.count > 0 && numbers.count <= DLT_COLUMNS_MAX);
        dlt_features(&record, &device, 1, &numbers);
        assert_true(numbers.count > 0 && numbers.count < DLT_FEATURES_MAX);
        for (size_t n = 0; n < numbers.count; n++)
            assert_true(isfinite(numbers.value[n]));
        dlt_coordinates(&record, &numbers);
        assert_true(numbers.count > 0 && numbers.count <= DLT_COORDINATES_MAX);
    }
}

static void kinds_have_signatures_of_their_own(void **state)
{
    (void)state;
    assert_int_equal(dlt_feature_signature(dlt_record_kind_find("dense"), SIZE_MAX, SIZE_MAX),
                     dlt_feature_signature(dlt_record_kind_find("dense"), SIZE_MAX, SIZE_MAX));
    assert_int_not_equal(dlt_feature_signature(dlt_record_kind_find("dense"), SIZE_MAX, SIZE_MAX),
                         dlt_feature_signature(dlt_record_kind_find("conv2d"), SIZE_MAX, SIZE_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolutions_columns_are_what_a_hand_counts),
        cmocka_unit_test(transforms_count_where_they_pay),
        cmocka_unit_test(columns_that_come_later_leave_signatures_as_they_were),
        cmocka_unit_test(updates_of_input_and_weights_stand_apart),
        cmocka_unit_test(a_convolutions_features_are_what_a_hand_counts),
        cmocka_unit_test(a_products_features_are_what_a_hand_counts),
        cmocka_unit_test(features_that_come_later_leave_signatures_as_they_were),
        cmocka_unit_test(channels_that_fill_blocks_are_told_from_those_that_do_not),
        cmocka_unit_test(every_kind_has_room_for_its_numbers),
        cmocka_unit_test(kinds_have_signatures_of_their_own),
    };

    return cmocka_run_group_tests_name("features", tests, NULL, NULL);
}
