/* SPDX-License-Identifier: Apache-2.0 */
#include "learned.h"
#include "predict/estimate.h"
#include "predict/prepare.h"
#include "spec.h"

static struct dlt_model *model_of(const char *spec)
{
    struct dlt_model *model = NULL;
    struct dlt_error error;

    if (dlt_model_load(spec, NULL, &model, &error))
        fail_msg("%s", error.text);
    return model;
}

/* Two cards of which a handful of fully connected layers was measured. */
static struct dlt_profile *two_devices(struct dlt_corpus *corpus)
{
    struct dlt_random random;

    dlt_random_seed(&random, 5, 0);
    add_group(corpus, "Tesla V100-SXM2-16GB", 0);
    add_rows(corpus, &random, 40, draw_dense, DLT_FORWARD, 0, 0.02, NULL);
    add_group(corpus, "NVIDIA A100-PCIE-40GB", 0);
    add_rows(corpus, &random, 40, draw_dense, DLT_FORWARD, 0, 0.02, NULL);
    return learned(corpus, DLT_METHOD_COST);
}

static void a_batch_is_lowered_once_for_all_devices(void **state)
{
    struct dlt_model *model = model_of("lenet5,batch=8");
    struct dlt_lowered *first, *again, *other;
    struct dlt_prepared *prepared;
    struct dlt_error error;

    (void)state;
    assert_int_equal(dlt_prepare(model, &prepared, &error), 0);
    assert_int_equal(dlt_prepared_lower(prepared, 8, true, 0, &first, &error), 0);
    assert_int_equal(dlt_prepared_lower(prepared, 8, true, 0, &again, &error), 0);
    assert_int_equal(dlt_prepared_lower(prepared, 8, false, 0, &other, &error), 0);
    assert_ptr_equal(first, again);
    assert_ptr_not_equal(first, other);
    dlt_lowered_release(first);
    dlt_lowered_release(again);
    dlt_prepared_destroy(prepared);
    /* What is still held outlives it. */
    assert_int_equal(other->graph->batch, 8);
    dlt_lowered_release(other);
    dlt_model_destroy(model);
}

static void a_prepared_answer_is_that_of_a_single_call(void **state)
{
    struct dlt_corpus corpus = {0};
    struct dlt_profile *profile = two_devices(&corpus);
    struct dlt_model *model = model_of("lenet5,batch=8,epochs=2,samples=60000");
    static const char *const names[] = {"v100", "a100"};
    struct dlt_prepared *prepared;
    struct dlt_error error;

    (void)state;
    assert_int_equal(dlt_prepare(model, &prepared, &error), 0);
    for (int i = 0; i < 2; i++) {
        const struct dlt_question question = {.device = names[i]};
        struct dlt_estimate *one, *many;

        assert_int_equal(dlt_predict(model, profile, &question, &one, &error), 0);
        assert_int_equal(dlt_predict_prepared(prepared, profile, &question, &many, &error), 0);
        assert_near(dlt_estimate_job_s(many), dlt_estimate_job_s(one), 0);
        assert_near(dlt_estimate_memory_bytes(many), dlt_estimate_memory_bytes(one), 0);
        dlt_estimate_destroy(one);
        dlt_estimate_destroy(many);
    }
    dlt_prepared_destroy(prepared);
    dlt_model_destroy(model);
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

/*
 * One dense layer of 20000 x 20000 in float32 over B rows: 1.6 GB of weights; its backward holds
 * the input and the gradient of the output, 80,000 B bytes each, and 1.6 GB of the weights'
 * gradient. Of 16 GB nine tenths are safe: 3.2e9 + 160000 B = 14.4e9 at B = 70000. Up to 1.02 of
 * them it is close: 16.32e9 at B = 82000. A card of unknown memory has no verdict.
 */
static void memory_has_a_verdict(void **state)
{
    static const char text[] = "{\"input\": [20000], \"layers\": [{\"op\": \"dense\", "
                               "\"out_features\": 20000, \"bias\": false}], "
                               "\"training\": {\"framework\": \"none\"}}";
    static const struct {
        const char *name;
        double memory;
    } card[] = {{"Paper 16", 16e9}, {"Paper 40", 40e9}, {"Paper of unknown size", 0}};
    static const struct {
        int card;
        int64_t batch;
        enum dlt_fits fits;
    } expected[] = {{0, 1, DLT_FITS_YES},       {0, 69999, DLT_FITS_YES},
                    {0, 70001, DLT_FITS_TIGHT}, {0, 81999, DLT_FITS_TIGHT},
                    {0, 82001, DLT_FITS_NO},    {0, 200000, DLT_FITS_NO},
                    {1, 200000, DLT_FITS_YES},  {2, 1, DLT_FITS_UNKNOWN}};
    struct dlt_corpus corpus = {0};
    struct dlt_random random;
    struct dlt_profile *profile;

    (void)state;
    dlt_random_seed(&random, 5, 0);
    for (size_t i = 0; i < sizeof card / sizeof *card; i++) {
        add_group(&corpus, card[i].name, 0);
        corpus.group[i].device.memory_bytes = card[i].memory;
        add_rows(&corpus, &random, 40, draw_dense, DLT_FORWARD, 0, 0.02, NULL);
    }
    profile = learned(&corpus, DLT_METHOD_COST);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct dlt_question question = {.device = card[expected[i].card].name};
        struct dlt_estimate *estimate = NULL;
        struct dlt_model *model;
        struct dlt_error error = {.text = ""};
        char keys[32];

        snprintf(keys, sizeof keys, ",batch=%lld", (long long)expected[i].batch);
        if (spec_load(text, strlen(text), keys, &model) ||
            dlt_predict(model, profile, &question, &estimate, &error))
            fail_msg("%s %s", spec_error, error.text);
        assert_near(dlt_estimate_memory_bytes(estimate),
                    3.2e9 + 160000.0 * (double)expected[i].batch, 1);
        assert_int_equal(dlt_estimate_fits(estimate), expected[i].fits);
        dlt_estimate_destroy(estimate);
        dlt_model_destroy(model);
    }
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_is_lowered_once_for_all_devices),
        cmocka_unit_test(a_prepared_answer_is_that_of_a_single_call),
        cmocka_unit_test(memory_has_a_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
