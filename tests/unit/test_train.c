/* SPDX-License-Identifier: Apache-2.0 */
#include "learned.h"

static double relative_error(const struct dlt_profile *profile, size_t entry,
                             struct dlt_record record, double truth, struct dlt_price *price)
{
    (void)profile;
    dlt_profile_price(profile, entry, &record, price);
    return fabs(price->seconds / truth - 1);
}

/* Mean relative error over freshly drawn records, and the share within the central 90 %. */
static double mean_error(const struct dlt_profile *profile,
                         struct dlt_record (*drawn)(struct dlt_random *), enum dlt_pass pass,
                         double (*time)(const struct dlt_record *), double *coverage)
{
    enum { RECORDS = 300 };
    struct dlt_random random;
    double sum = 0, inside = 0;

    dlt_random_seed(&random, 77, 3);
    for (int i = 0; i < RECORDS; i++) {
        struct dlt_record record = drawn(&random);
        struct dlt_price price;
        double truth;

        record.pass = pass;
        truth = time ? time(&record) : paper_time(&record);
        sum += relative_error(profile, 0, record, truth, &price) / RECORDS;
        inside += (fabs(log(price.seconds / truth)) <= 1.645 * price.sigma) / (double)RECORDS;
    }
    if (coverage)
        *coverage = inside;
    return sum;
}

static struct dlt_profile *from_rows(size_t count, double noise, enum dlt_method method)
{
    struct dlt_corpus corpus = {0};
    struct dlt_profile *profile;
    struct dlt_random random;

    dlt_random_seed(&random, 21, 0);
    add_group(&corpus, "Tesla V100-SXM2-16GB", 0);
    add_rows(&corpus, &random, count, draw_dense, DLT_FORWARD, 0, noise, NULL);
    profile = learned(&corpus, method);
    dlt_corpus_clear(&corpus);
    return profile;
}

/* From one row to a few hundred: the more rows the better, and never wild. */
static void few_rows_give_sane_answers_that_improve_with_more(void **state)
{
    static const struct {
        size_t rows;
        double error;
    } expected[] = {{1, 4}, {4, 1.5}, {12, 0.3}, {40, 0.1}, {150, 0.05}, {400, 0.04}};

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct dlt_profile *profile = from_rows(expected[i].rows, 0.03, DLT_METHOD_AUTO);
        double error = mean_error(profile, draw_dense, DLT_FORWARD, NULL, NULL);

        print_message("%zu rows: %.3f\n", expected[i].rows, error);
        assert_true(error < expected[i].error);
        dlt_profile_destroy(profile);
    }
}

static void the_interval_holds_what_it_promises(void **state)
{
    struct dlt_profile *profile = from_rows(400, 0.05, DLT_METHOD_AUTO);
    struct dlt_corpus corpus = {0};
    struct dlt_random random;
    struct dlt_price price;
    double inside = 0;

    (void)state;
    dlt_random_seed(&random, 22, 1);
    add_group(&corpus, "Tesla V100-SXM2-16GB", 0);
    add_rows(&corpus, &random, 500, draw_dense, DLT_FORWARD, 0, 0.05, NULL);
    for (size_t r = 0; r < corpus.row_count; r++) {
        dlt_profile_price(profile, 0, &corpus.row[r].record, &price);
        inside += fabs(log(price.seconds / corpus.row[r].seconds)) <= 1.645 * price.sigma;
    }
    print_message("inside: %.3f\n", inside / 500);
    assert_true(inside / 500 > 0.85 && inside / 500 < 0.96);
    dlt_corpus_clear(&corpus);
    dlt_profile_destroy(profile);
}

/* A kernel that is 40 % slower behind 2048 outputs: what trees are for. */
static double stepped_time(const struct dlt_record *record)
{
    return paper_time(record) * (record->u.matmul.n > 2048 ? 1.4 : 1);
}

static void many_rows_find_where_a_kernel_changes(void **state)
{
    struct dlt_corpus corpus = {0};
    struct dlt_profile *profile;
    struct dlt_random random;
    double coverage;

    (void)state;
    dlt_random_seed(&random, 23, 0);
    add_group(&corpus, "Tesla V100-SXM2-16GB", 0);
    add_rows(&corpus, &random, 3000, draw_dense, DLT_FORWARD, 0, 0.02, stepped_time);
    profile = learned(&corpus, DLT_METHOD_AUTO);
    assert_true(mean_error(profile, draw_dense, DLT_FORWARD, stepped_time, &coverage) < 0.03);
    assert_true(coverage > 0.85);
    assert_int_equal(profile->section[0].rows, 3000);
    assert_true(profile->section[0].held_out >= 187 && profile->section[0].mape < 0.04);
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

static struct dlt_record draw_pool(struct dlt_random *random)
{
    struct dlt_record record = dlt_record_make(dlt_record_kind_find("max_pool2d"));
    struct dlt_spatial *s = &record.u.spatial;

    s->batch = draw(random, 1, 64);
    s->in_channels = s->out_channels = draw(random, 8, 512);
    s->in_size[0] = s->in_size[1] = draw(random, 7, 112);
    s->kernel[0] = s->kernel[1] = 2 + (int64_t)dlt_random_below(random, 2);
    s->stride[0] = s->stride[1] = 2;
    return record;
}

static double by_fours(const struct dlt_record *record)
{
    return paper_time(record) * (record->u.spatial.in_channels % 4 ? 1.25 : 1);
}

/* One network answers for the four that taught it: of their bytes, 112 x 112 + 112 x 56 weights
 * each and the first layer's, a third at most. */
static void a_student_loses_little_and_is_small(void **state)
{
    struct dlt_corpus corpus = {0};
    struct dlt_profile *profile;
    struct dlt_random random;

    (void)state;
    dlt_random_seed(&random, 24, 0);
    add_group(&corpus, "Tesla V100-SXM2-16GB", 0);
    add_rows(&corpus, &random, 1500, draw_pool, DLT_FORWARD, 0, 0.02, by_fours);
    profile = learned(&corpus, DLT_METHOD_AUTO);
    assert_true(mean_error(profile, draw_pool, DLT_FORWARD, by_fours, NULL) < 0.03);
    assert_true(profile->section[0].size < 40000);
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

/* An operator with no code of its own, in two passes. */
static void a_kind_without_code_of_its_own_is_learned(void **state)
{
    struct dlt_corpus corpus = {0};
    struct dlt_profile *profile;
    struct dlt_random random;

    (void)state;
    dlt_random_seed(&random, 25, 0);
    add_group(&corpus, "Tesla V100-SXM2-16GB", 0);
    add_rows(&corpus, &random, 40, draw_softmax, DLT_FORWARD, 0, 0.02, NULL);
    add_rows(&corpus, &random, 40, draw_softmax, DLT_BACKWARD, 0, 0.02, NULL);
    profile = learned(&corpus, DLT_METHOD_AUTO);
    assert_int_equal(profile->header->section_count, 1);
    assert_true(mean_error(profile, draw_softmax, DLT_FORWARD, NULL, NULL) < 0.08);
    assert_true(mean_error(profile, draw_softmax, DLT_BACKWARD, NULL, NULL) < 0.08);
    /* An operator whose gradient is one thing: asked for by either name. */
    assert_true(mean_error(profile, draw_softmax, DLT_BACKWARD_DATA, NULL, NULL) < 0.08);
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

static void the_same_seed_gives_the_same_bytes_on_any_number_of_threads(void **state)
{
    struct dlt_corpus corpus = {0};
    struct dlt_random random;
    unsigned char *first, *second, *other;
    size_t size, again, third;

    (void)state;
    dlt_random_seed(&random, 26, 0);
    add_group(&corpus, "Tesla V100-SXM2-16GB", 0);
    add_rows(&corpus, &random, 1600, draw_dense, DLT_FORWARD, 0, 0.02, NULL);
    add_rows(&corpus, &random, 90, draw_convolution, DLT_FORWARD, 0, 0.02, NULL);
    first = learned_bytes(&corpus, DLT_METHOD_AUTO, 5, 1, &size);
    second = learned_bytes(&corpus, DLT_METHOD_AUTO, 5, 3, &again);
    other = learned_bytes(&corpus, DLT_METHOD_AUTO, 6, 3, &third);
    assert_int_equal(size, again);
    assert_memory_equal(first, second, size);
    assert_false(third == size && memcmp(first, other, size) == 0);
    free(first);
    free(second);
    free(other);
    dlt_corpus_clear(&corpus);
}

/* Far outside: the answer leans on the cost model, says so, and is wide. */
static void distance_shows_and_widens(void **state)
{
    struct dlt_profile *profile = from_rows(400, 0.02, DLT_METHOD_AUTO);
    struct dlt_random random;
    struct dlt_record record;
    struct dlt_price inside, outside;

    (void)state;
    dlt_random_seed(&random, 27, 0);
    record = draw_dense(&random);
    record.u.matmul.m = 20;
    record.u.matmul.k = 400;
    record.u.matmul.n = 500;
    dlt_profile_price(profile, 0, &record, &inside);
    record.u.matmul.m = 200000;
    record.u.matmul.n = 30000;
    dlt_profile_price(profile, 0, &record, &outside);
    assert_near(inside.extrapolated, 0, 0.01);
    assert_int_equal(inside.basis, DLT_BASIS_MEASURED);
    assert_near(outside.extrapolated, 1, 0.01);
    assert_int_equal(outside.basis, DLT_BASIS_COST_MODEL);
    assert_true(outside.sigma > 3 * inside.sigma);
    /* 2 200000 400 30000 FLOPs at 5e12: 0.96 s. */
    assert_true(outside.seconds > 0.4 && outside.seconds < 2);
    dlt_profile_destroy(profile);
}

/* Four rows of four passes have no term of work in common: nothing to regress on, and no error. */
static void rows_without_a_common_term_are_learned(void **state)
{
    static const enum dlt_pass passes[] = {DLT_FORWARD, DLT_BACKWARD_DATA, DLT_BACKWARD_WEIGHT,
                                           DLT_UPDATE};

    (void)state;
    for (int method = 0; method < DLT_METHODS; method++) {
        struct dlt_corpus corpus = {0};
        struct dlt_profile *profile;
        struct dlt_random random;
        struct dlt_price price;

        add_group(&corpus, "Tesla V100-SXM2-16GB", 0);
        for (size_t p = 0; p < sizeof passes / sizeof *passes; p++) {
            dlt_random_seed(&random, 3, 1); /* the same layer each time */
            add_rows(&corpus, &random, 1, draw_dense, passes[p],
                     passes[p] == DLT_UPDATE ? DLT_SGD : DLT_OPTIMIZER_NONE, 0, NULL);
        }
        profile = learned(&corpus, (enum dlt_method)method);
        dlt_profile_price(profile, 0, &corpus.row[0].record, &price);
        assert_true(price.seconds > 0 && isfinite(price.seconds));
        dlt_profile_destroy(profile);
        dlt_corpus_clear(&corpus);
    }
}

static void an_empty_corpus_is_refused(void **state)
{
    const struct dlt_train_settings settings = {0};
    struct dlt_profile_writer writer = {0};
    struct dlt_corpus corpus = {0};
    struct dlt_error error;

    (void)state;
    assert_int_equal(dlt_train(&corpus, &settings, &writer, &error), -1);
    assert_non_null(strstr(error.text, "no measured operator"));
    dlt_profile_writer_clear(&writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_rows_give_sane_answers_that_improve_with_more),
        cmocka_unit_test(the_interval_holds_what_it_promises),
        cmocka_unit_test(many_rows_find_where_a_kernel_changes),
        cmocka_unit_test(a_student_loses_little_and_is_small),
        cmocka_unit_test(a_kind_without_code_of_its_own_is_learned),
        cmocka_unit_test(the_same_seed_gives_the_same_bytes_on_any_number_of_threads),
        cmocka_unit_test(distance_shows_and_widens),
        cmocka_unit_test(rows_without_a_common_term_are_learned),
        cmocka_unit_test(an_empty_corpus_is_refused),
    };

    return cmocka_run_group_tests_name("train", tests, NULL, NULL);
}
