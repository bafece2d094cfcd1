/* SPDX-License-Identifier: Apache-2.0 */
/* More predictions of a group than are kept. */
#include "test.h"

#include "../../predictor/command/score.h"

enum { MORE = SCORE_POINTS + 1000 };

/* Times of 1, 2, ... seconds, each told 10 % too long. */
static struct scores *make_scores(void)
{
    const struct score_key key = {.op = "dense", .pass = "forward", .dtype = "float32"};
    struct scores *scores = scores_create();

    assert_non_null(scores);
    for (int i = 1; i <= MORE; i++) {
        const struct score_point point = {
            .seen = i, .predicted = 1.1 * i, .low = 0.9 * i, .high = 1.3 * i};

        assert_int_equal(scores_add(scores, &key, &point), 0);
    }
    return scores;
}

static void of_a_large_group_a_bounded_sample_is_kept_and_all_are_counted(void **state)
{
    struct scores *scores = make_scores();
    const struct score_group *group = scores_group(scores, 0);
    size_t later = 0;

    (void)state;
    assert_int_equal(scores_groups(scores), 1);
    assert_int_equal(group->count, SCORE_POINTS);
    assert_true(group->room >= group->count);
    assert_near(group->sums.count, MORE, 0);
    for (size_t i = 0; i < group->count; i++)
        later += group->point[i].seen > SCORE_POINTS;
    /* 1000 of 66536 came later; of 65536 places they have 985, give or take 4. */
    assert_near((double)later, 985, 25);
    scores_destroy(scores);
}

static void summaries_are_of_all_and_medians_of_the_sample(void **state)
{
    struct scores *scores = make_scores();
    struct score_summary s = score_of_group(scores_group(scores, 0)), total;
    size_t count, skipped;

    (void)state;
    assert_near(s.mape, 0.1, 1e-9);
    assert_near(s.median_ape, 0.1, 1e-9);
    assert_near(s.coverage, 1, 1e-9);
    assert_near(s.mae, 0.1 * (MORE + 1) / 2, 1e-6); /* a tenth of the mean of 1 .. MORE */
    total = scores_total(scores, SCORES_OPERATORS, &count, &skipped);
    assert_int_equal(count, MORE);
    assert_int_equal(skipped, 0);
    assert_near(total.mae, s.mae, 1e-9);
    assert_near(total.median_ape, 0.1, 1e-9);
    scores_destroy(scores);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_large_group_a_bounded_sample_is_kept_and_all_are_counted),
        cmocka_unit_test(summaries_are_of_all_and_medians_of_the_sample)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
