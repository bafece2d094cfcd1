/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of eighteen measurements, asked about what is nothing like them. */
#include "learned.h"

enum { FEW = 18 };

static struct dlt_record product(int64_t m, int64_t k, int64_t n)
{
    struct dlt_record record = dlt_record_make(dlt_record_kind_find("dense"));

    record.u.matmul.m = m;
    record.u.matmul.k = k;
    record.u.matmul.n = n;
    return record;
}

/* Products of 7 to 110 ms: none shows what a launch takes. */
static struct dlt_record draw_long(struct dlt_random *random)
{
    return product(draw(random, 1024, 4096), draw(random, 4096, 8192), draw(random, 4096, 8192));
}

/* Products of less than a microsecond and a launch of eight: none shows what arithmetic takes. */
static struct dlt_record draw_short(struct dlt_random *random)
{
    return product(draw(random, 1, 8), draw(random, 32, 128), draw(random, 32, 128));
}

static struct dlt_price price_by(struct dlt_record (*drawn)(struct dlt_random *),
                                 const struct dlt_record *record)
{
    struct dlt_corpus corpus = {0};
    struct dlt_profile *profile;
    struct dlt_random random;
    struct dlt_price price;

    dlt_random_seed(&random, 51, 0);
    add_group(&corpus, "Tesla V100-PCIE-32GB", 0);
    add_rows(&corpus, &random, FEW, drawn, DLT_FORWARD, 0, 0.03, NULL);
    profile = learned(&corpus, DLT_METHOD_AUTO);
    dlt_corpus_clear(&corpus);
    dlt_profile_price(profile, 0, record, &price);
    dlt_profile_destroy(profile);
    return price;
}

/* 64 x 256 x 64 is 2.1 MFLOP and 0.15 MB: 0.25 us at the data sheet's 600 GB/s, 0.42 on paper, and
 * 8.4 with its launch. No launch between events that somebody published takes longer than 0.21 ms
 * (Lee et al. 2025, five GPUs), and a kernel that does so little is over within 4 us: what a
 * network pays. Where the shortest row's time was taken for a launch it was priced at 6.6 ms. */
static void long_rows_say_little_of_launches(void **state)
{
    struct dlt_record record = product(64, 256, 64);
    struct dlt_price price = price_by(draw_long, &record);

    (void)state;
    assert_in_range(1e9 * price.seconds, 250, 210000);
    assert_in_range(1e9 * (price.seconds - price.clock_s), 0, 4000);
    assert_int_equal(price.basis, DLT_BASIS_COST_MODEL);
    assert_true(price.extrapolated > 0.9 && price.sigma > 0.6);
}

/* 2048 x 4096 x 4096 is 68.7 GFLOP: 13.7 ms at 5 TFLOP/s. Rates of the short rows, a hundredth of
 * that, made it 1.9 s. */
static void short_rows_say_little_of_arithmetic(void **state)
{
    struct dlt_record record = product(2048, 4096, 4096);
    struct dlt_price price = price_by(draw_short, &record);

    (void)state;
    assert_in_range(1e6 * price.seconds, 13700 / 3, 13700 * 3);
    assert_int_equal(price.basis, DLT_BASIS_COST_MODEL);
    assert_true(price.extrapolated > 0.9 && price.sigma > 0.6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_rows_say_little_of_launches),
        cmocka_unit_test(short_rows_say_little_of_arithmetic),
    };

    return cmocka_run_group_tests_name("thin profiles", tests, NULL, NULL);
}
