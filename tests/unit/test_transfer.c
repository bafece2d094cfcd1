/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that exist on paper only, whose times follow their data sheets: what a profile of some of
 * them says of another. */
#include "learned.h"

#include "learn/general.h"
#include "learn/train_parts.h"
#include "predict/transfer.h"

/* A device of `speed` times the paper device's arithmetic and `width` times its bandwidth, on which
 * everything takes `slower` times as long. */
static double speed = 1, width = 1, slower = 1;
static double wide = 1; /* the same for layers of 512 outputs and more */

static double sheet_time(const struct dlt_record *record)
{
    struct dlt_work work;

    dlt_record_work(record, &work);
    return slower * (record->u.matmul.n >= 512 ? wide : 1) *
           (PAPER_LAUNCH + work.flops / (PAPER_FLOPS * speed) + work.bytes / (PAPER_BYTES * width));
}

static void add_device(struct dlt_corpus *corpus, const char *name, double times_speed,
                       double times_width, size_t rows)
{
    struct dlt_random random;
    struct dlt_device *device;

    speed = times_speed;
    width = times_width;
    dlt_random_seed(&random, 31, corpus->group_count);
    add_group(corpus, name, 0);
    device = &corpus->group[corpus->group_count - 1].device;
    device->sms *= speed;
    device->peak_fp32 *= speed;
    device->memory_bandwidth *= width;
    add_rows(corpus, &random, rows, draw_dense, DLT_FORWARD, 0, 0.02, sheet_time);
}

static struct dlt_corpus three_devices(size_t rows)
{
    struct dlt_corpus corpus = {0};

    add_device(&corpus, "Paper A", 1, 1, rows);
    add_device(&corpus, "Paper B", 2, 2.5, rows);
    add_device(&corpus, "Paper C", 0.6, 0.5, rows);
    return corpus;
}

static size_t general_entry(const struct dlt_profile *profile)
{
    for (size_t e = 0; e < dlt_profile_entry_count(profile); e++)
        if (profile->entry[e].general)
            return e;
    fail_msg("no general entry");
    return 0;
}

/* Mean relative error for rows of the device described last, and the share inside 90 %. */
static double error_on(const struct dlt_profile *profile, size_t entry,
                       const struct dlt_device *device, enum dlt_basis basis, double *inside)
{
    enum { RECORDS = 200 };
    struct dlt_random random;
    double sum = 0;

    *inside = 0;
    dlt_random_seed(&random, 32, 5);
    for (int i = 0; i < RECORDS; i++) {
        struct dlt_record record = draw_dense(&random);
        double truth = sheet_time(&record);
        struct dlt_price price;

        dlt_profile_price_on(profile, entry, device, &record, &price);
        assert_int_equal(price.basis, basis);
        sum += fabs(price.seconds / truth - 1) / RECORDS;
        *inside += (fabs(log(price.seconds / truth)) <= 1.645 * price.sigma) / (double)RECORDS;
    }
    return sum;
}

static void a_device_that_nobody_measured_follows_its_data_sheet(void **state)
{
    struct dlt_corpus corpus = three_devices(300);
    struct dlt_profile *profile = learned(&corpus, DLT_METHOD_AUTO);
    struct dlt_device device = paper_device("Paper D");
    double error, inside;

    (void)state;
    speed = 1.4;
    width = 1.5;
    device.sms *= speed;
    device.peak_fp32 *= speed;
    device.memory_bandwidth *= width;
    error = error_on(profile, general_entry(profile), &device, DLT_BASIS_GENERAL, &inside);
    print_message("error %.3f, inside %.3f\n", error, inside);
    assert_true(error < 0.08);
    assert_true(inside >= 0.85);
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

/* Mean spread of what the profile says of a device of that generation. */
static double spread_on(const struct dlt_profile *profile, double generation)
{
    enum { RECORDS = 100 };
    struct dlt_device device = paper_device("Paper G");
    struct dlt_random random;
    double sum = 0;

    device.compute_capability = generation;
    dlt_random_seed(&random, 32, 6);
    for (int i = 0; i < RECORDS; i++) {
        struct dlt_record record = draw_dense(&random);
        struct dlt_price price;

        dlt_profile_price_on(profile, general_entry(profile), &device, &record, &price);
        sum += price.sigma / RECORDS;
    }
    return sum;
}

/* Each generation is a fifth faster than data sheets say, so two pairs of sisters tell that one
 * whose nearest is two generations back may be off by 36 %, and one that has a sister is not. */
static void ranges_widen_with_the_generations_between_devices(void **state)
{
    static const double generation[] = {3.5, 3.6, 5.2, 5.3};
    static const char *const name[] = {"Paper A", "Paper B", "Paper C", "Paper D"};
    struct dlt_corpus corpus = {0};
    struct dlt_profile *profile;
    double near, far;

    (void)state;
    for (int d = 0; d < 4; d++) {
        slower = pow(1.2, 3.5 - generation[d]);
        add_device(&corpus, name[d], 1, 1, 200);
        corpus.group[d].device.compute_capability = generation[d];
    }
    slower = 1;
    profile = learned(&corpus, DLT_METHOD_AUTO);
    near = spread_on(profile, 5.2);
    far = spread_on(profile, 7.2);
    print_message("spread %.3f beside a sister, %.3f two generations on\n", near, far);
    assert_true(far > 1.5 * near);
    assert_true(1.645 * far > log(1.2 * 1.2)); /* what it would be off by */
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

/* Error on a device before and after `rows` of its rows, and the share inside 90 % then. */
struct adapting {
    double far, near, inside;
};

static struct adapting adapt_to(size_t rows, double all_slower, double wide_slower)
{
    struct dlt_corpus corpus = three_devices(300), few = {0};
    struct dlt_profile *base = learned(&corpus, DLT_METHOD_AUTO), *adapted = NULL;
    const struct dlt_train_settings settings = {.seed = 1, .threads = 1};
    struct dlt_profile_writer writer = {0};
    struct dlt_error error;
    struct adapting a;
    size_t entry = 99;

    slower = all_slower;
    wide = wide_slower;
    add_device(&few, "Paper D", 1.4, 1.5, rows);
    a.far = error_on(base, general_entry(base), &few.group[0].device, DLT_BASIS_GENERAL, &a.inside);
    assert_int_equal(dlt_adapt(base, &few, &settings, &writer, &error), 0);
    assert_int_equal(dlt_writer_profile(&writer, &adapted, &error), 0);
    assert_int_equal(dlt_profile_find(adapted, NULL, 0, &entry, &error), 0);
    assert_string_equal(dlt_profile_device(adapted, entry)->name, "Paper D");
    a.near =
        error_on(adapted, entry, dlt_profile_device(adapted, entry), DLT_BASIS_ADAPTED, &a.inside);
    print_message("error %.3f before, %.3f after, inside %.3f\n", a.far, a.near, a.inside);
    slower = wide = 1;
    dlt_profile_writer_clear(&writer);
    dlt_profile_destroy(adapted);
    dlt_profile_destroy(base);
    dlt_corpus_clear(&few);
    dlt_corpus_clear(&corpus);
    return a;
}

/* Half as fast as its data sheet says: no hardware figure tells, twelve measurements do. */
static void a_few_measurements_find_what_no_data_sheet_says(void **state)
{
    struct adapting a = adapt_to(12, 2, 1);

    (void)state;
    assert_true(a.far > 0.4);
    assert_true(a.near < 0.06);
    assert_true(a.inside >= 0.85);
}

/* A third slower for wide layers alone, which no factor for all mends: at best it misses both kinds
 * by a seventh. */
static void a_few_measurements_tell_of_rows_like_them(void **state)
{
    struct adapting a = adapt_to(80, 1, 4.0 / 3);

    (void)state;
    assert_true(a.near < 0.07);
    assert_true(a.inside >= 0.85);
}

/* Five rows are "adapted" evidence (train.c), but the device's own: they answer themselves, and a
 * profile of them is a base like any other. */
static void a_device_of_a_handful_of_rows_answers_itself_and_gives_to_others(void **state)
{
    const struct dlt_train_settings settings = {.seed = 1, .threads = 1};
    struct dlt_corpus corpus = {0}, other = {0};
    struct dlt_profile_writer writer = {0};
    struct dlt_profile *profile, *adapted = NULL;
    struct dlt_price price;
    struct dlt_error error;
    size_t entry = 99;

    (void)state;
    add_device(&corpus, "Paper A", 1, 1, 5);
    profile = learned(&corpus, DLT_METHOD_AUTO);
    assert_int_equal(dlt_profile_find(profile, NULL, 0, &entry, &error), 0);
    dlt_profile_price(profile, entry, &corpus.row[0].record, &price);
    assert_int_equal(price.basis, DLT_BASIS_ADAPTED);
    assert_near(price.seconds / corpus.row[0].seconds, 1, 0.2);
    for (size_t rows = 1; rows < 3; rows++) {
        add_device(&other, "Paper D", 1.4, 1.5, rows);
        assert_int_equal(dlt_adapt(profile, &other, &settings, &writer, &error), 0);
        assert_int_equal(dlt_writer_profile(&writer, &adapted, &error), 0);
        assert_int_equal(dlt_profile_find(adapted, NULL, 0, &entry, &error), 0);
        dlt_profile_price(adapted, entry, &other.row[0].record, &price);
        assert_int_equal(price.basis, DLT_BASIS_ADAPTED);
        dlt_profile_writer_clear(&writer);
        dlt_profile_destroy(adapted);
        dlt_corpus_clear(&other);
    }
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

/* The sheet's time times e^-3 to e^3, without an order. */
static double scattered_time(const struct dlt_record *record)
{
    static unsigned row;

    return sheet_time(record) * exp(0.15 * ((row++ * 7919) % 41 - 20.0));
}

static void a_device_whose_rows_contradict_one_another_gives_to_none(void **state)
{
    struct dlt_corpus corpus = three_devices(40);
    struct dlt_random random;
    struct dlt_profile *profile;
    struct dlt_donation donation[DLT_DONORS];
    struct dlt_record record;
    struct dlt_device asked;
    struct dlt_transfer transfer;

    (void)state;
    dlt_random_seed(&random, 8, 1);
    add_group(&corpus, "Paper D", 0);
    add_rows(&corpus, &random, 40, draw_dense, DLT_FORWARD, 0, 0.02, scattered_time);
    profile = learned(&corpus, DLT_METHOD_COST);
    record = draw_dense(&random);
    asked = corpus.group[0].device;
    transfer = (struct dlt_transfer){.profile = profile,
                                     .device = &asked,
                                     .timing = corpus.group[0].software.timing,
                                     .mix = DLT_TRANSFER_MIX,
                                     .reach = DLT_TRANSFER_REACH};
    assert_int_equal(profile->section[profile->entry[3].first_section].basis, DLT_BASIS_COST_MODEL);
    assert_int_equal(dlt_donations(&transfer, &record, donation), 3);
    for (size_t d = 0; d < 3; d++)
        assert_int_equal(donation[d].entry, d);
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

static void count_section(void *context, const struct dlt_train_progress *progress)
{
    (void)progress;
    ++*(int *)context;
}

/* Softmax, which the base lacks, would be learned from its forty rows. */
static void an_altered_base_is_told_before_anything_is_learned(void **state)
{
    int learned_sections = 0;
    const struct dlt_train_settings settings = {
        .seed = 1, .threads = 1, .progress = count_section, .context = &learned_sections};
    struct dlt_corpus corpus = {0}, other = {0};
    struct dlt_profile_writer writer = {0};
    struct dlt_profile *base = NULL;
    struct dlt_random random;
    struct dlt_error error;
    unsigned char *bytes;
    size_t size;

    (void)state;
    dlt_random_seed(&random, 7, 1);
    add_device(&corpus, "Paper A", 1, 1, 40);
    bytes = learned_bytes(&corpus, DLT_METHOD_AUTO, 1, 1, &size);
    bytes[size - 9] ^= 1; /* in the last section */
    assert_int_equal(dlt_profile_from_memory(bytes, size, "base.dlp", &base, &error), 0);
    add_group(&other, "Paper D", 0);
    add_rows(&other, &random, 40, draw_softmax, DLT_FORWARD, 0, 0.02, NULL);
    assert_int_equal(dlt_adapt(base, &other, &settings, &writer, &error), -1);
    assert_non_null(strstr(error.text, "base.dlp: the section of dense was altered"));
    assert_int_equal(learned_sections, 0);
    dlt_profile_writer_clear(&writer);
    dlt_profile_destroy(base);
    dlt_corpus_clear(&other);
    dlt_corpus_clear(&corpus);
}

static void timing_conventions_have_general_entries_of_their_own(void **state)
{
    struct dlt_corpus corpus = three_devices(40);
    struct dlt_profile *profile;
    struct dlt_transfer transfer;
    struct dlt_donation donation[DLT_DONORS];
    struct dlt_random random;
    struct dlt_record record;

    (void)state;
    corpus.group[2].software.timing = DLT_HOST_SYNCHRONOUS;
    profile = learned(&corpus, DLT_METHOD_AUTO);
    dlt_random_seed(&random, 1, 1);
    record = draw_dense(&random);
    transfer = (struct dlt_transfer){.profile = profile,
                                     .device = &corpus.group[2].device,
                                     .timing = DLT_EVENTS_SINGLE,
                                     .mix = DLT_TRANSFER_MIX,
                                     .reach = DLT_TRANSFER_REACH};
    assert_int_equal(dlt_donations(&transfer, &record, donation), 2);
    assert_near(donation[0].weight + donation[1].weight, 1, 1e-12);
    transfer.except = "Paper A";
    assert_int_equal(dlt_donations(&transfer, &record, donation), 1);
    assert_string_equal(dlt_profile_device(profile, donation[0].entry)->name, "Paper B");
    assert_int_equal(dlt_profile_entry_count(profile), 4); /* one device alone is no convention */
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

/* Entries and sections of the corpus's devices, and nothing general. */
static struct dlt_profile *of_devices_alone(const struct dlt_corpus *corpus)
{
    const struct dlt_train_settings settings = {.method = DLT_METHOD_COST, .seed = 1, .threads = 1};
    struct dlt_profile_writer writer = {0};
    struct dlt_profile *profile = NULL;
    struct dlt_error error;

    assert_int_equal(dlt_train_entries(corpus, &writer), 0);
    assert_int_equal(dlt_train_sections(corpus, &settings, NULL, NULL, &writer), 0);
    assert_int_equal(dlt_writer_profile(&writer, &profile, &error), 0);
    dlt_profile_writer_clear(&writer);
    return profile;
}

/* Three more devices than may answer: those of the last generation come last, and answer. */
static void of_more_devices_than_may_answer_the_nearest_do(void **state)
{
    enum { NEAR = 4, ALL = DLT_DONORS + 3 };
    struct dlt_donation donation[DLT_DONORS];
    struct dlt_corpus corpus = {0};
    struct dlt_transfer transfer;
    struct dlt_profile *profile;
    struct dlt_record record;
    struct dlt_random random;
    struct dlt_device device = paper_device("Paper N");
    size_t near = 0;

    (void)state;
    for (int i = 0; i < ALL; i++) {
        char name[32];

        snprintf(name, sizeof name, "Paper %d", i);
        add_device(&corpus, name, 1, 1, 4);
        corpus.group[i].device.compute_capability = i < ALL - NEAR ? 3 + 0.01 * i : 7;
    }
    profile = of_devices_alone(&corpus);
    dlt_random_seed(&random, 1, 1);
    record = draw_dense(&random);
    transfer = (struct dlt_transfer){.profile = profile,
                                     .device = &device,
                                     .timing = DLT_EVENTS_SINGLE,
                                     .mix = DLT_TRANSFER_MIX,
                                     .reach = DLT_TRANSFER_REACH};
    assert_int_equal(dlt_donations(&transfer, &record, donation), DLT_DONORS);
    for (int d = 0; d < DLT_DONORS; d++) {
        near += donation[d].apart < 1;
        assert_true(donation[d].entry >= 3); /* 0 to 2 are farthest off */
    }
    assert_int_equal(near, NEAR);
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

/* ln of the constant of the general spread, of two devices under two releases each, in that order
 * of files. */
static double general_spread(const int order[4])
{
    struct dlt_corpus corpus = {0};
    struct dlt_section section = {0};
    struct dlt_profile *profile;
    const struct dlt_file_entry *entry;
    double spread;

    for (int i = 0; i < 4; i++) {
        struct dlt_random random;

        add_group(&corpus, order[i] / 2 ? "Paper B" : "Paper A", 0);
        corpus.group[i].software.framework[6] = order[i] % 2 ? '2' : '1';
        speed = order[i] / 2 ? 2 : 1;
        corpus.group[i].device.peak_fp32 *= speed;
        dlt_random_seed(&random, 5, (uint64_t)order[i]);
        add_rows(&corpus, &random, 4, draw_dense, DLT_FORWARD, 0, 0.3, sheet_time);
    }
    profile = learned(&corpus, DLT_METHOD_LINEAR);
    entry = &profile->entry[general_entry(profile)];
    assert_int_equal(entry->section_count, 1);
    assert_true(dlt_profile_section(profile, entry->first_section, &section));
    spread = section.model.sigma[0];
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
    return spread;
}

/* How wide a range has to be for the few devices that there are is no matter of the files' order.
 */
static void releases_of_a_device_make_no_more_devices(void **state)
{
    const int together[] = {0, 1, 2, 3}, mixed[] = {0, 2, 1, 3};

    (void)state;
    assert_near(general_spread(mixed), general_spread(together), 1e-6);
}

/* Compute capability 3.5 against 3.7 is nearer than Kepler against Volta; makers are far apart. */
static void architectures_are_apart_by_generation_and_maker(void **state)
{
    struct dlt_device k40 = paper_device("Tesla K40"), k80 = k40, v100 = k40, other = k40;

    (void)state;
    k40.compute_capability = 3.5;
    k80.compute_capability = 3.7;
    strcpy(other.vendor, "amd");
    assert_near(dlt_device_apart(&k40, &k80), 0.2, 1e-9);
    assert_near(dlt_device_apart(&k40, &v100), 3.5, 1e-9);
    assert_near(dlt_device_apart(&v100, &other), 3, 1e-9);
}

/* NVIDIA's board specification: 745 MHz unless application clocks are set; 128 of 192 cores. */
static void a_k40_reaches_what_its_default_clock_gives(void **state)
{
    struct dlt_device k40 = paper_device("Tesla K40");

    (void)state;
    k40.sms = 15;
    k40.cores_per_sm = 192;
    k40.clock_hz = 875e6;
    k40.peak_fp32 = 5.04e12;
    assert_near(dlt_device_reach(&k40, DLT_FLOAT32, DLT_IEEE, 0), 15 * 128 * 2 * 745e6, 1e6);
}

/* Donors are asked once for all devices that nobody measured, and say to each what they would say
 * to it alone. */
static void what_was_priced_for_one_device_changes_nothing_for_another(void **state)
{
    struct dlt_corpus corpus = three_devices(60);
    struct dlt_profile *profile = learned(&corpus, DLT_METHOD_AUTO);
    struct dlt_device devices[] = {paper_device("Paper D"), paper_device("Paper E")};
    struct dlt_memo *memo = dlt_memo_create();
    struct dlt_random random;

    (void)state;
    devices[1].memory_bandwidth *= 3;
    devices[1].compute_capability += 1;
    dlt_random_seed(&random, 3, 3);
    for (int i = 0; i < 40; i++) {
        struct dlt_record record = draw_dense(&random);

        for (int d = 0; d < 4; d++) {
            const struct dlt_target target = {general_entry(profile), &devices[d % 2], memo};
            struct dlt_price alone, shared;

            record.pass = i % 2 ? DLT_FORWARD : DLT_BACKWARD;
            dlt_profile_price_on(profile, target.entry, target.device, &record, &alone);
            dlt_target_price(profile, &target, &record, &shared);
            assert_near(shared.seconds, alone.seconds, 0);
            assert_near(shared.sigma, alone.sigma, 0);
            assert_int_equal(shared.basis, alone.basis);
        }
    }
    dlt_memo_destroy(memo);
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_that_nobody_measured_follows_its_data_sheet),
        cmocka_unit_test(ranges_widen_with_the_generations_between_devices),
        cmocka_unit_test(a_few_measurements_find_what_no_data_sheet_says),
        cmocka_unit_test(a_few_measurements_tell_of_rows_like_them),
        cmocka_unit_test(a_device_of_a_handful_of_rows_answers_itself_and_gives_to_others),
        cmocka_unit_test(a_device_whose_rows_contradict_one_another_gives_to_none),
        cmocka_unit_test(an_altered_base_is_told_before_anything_is_learned),
        cmocka_unit_test(timing_conventions_have_general_entries_of_their_own),
        cmocka_unit_test(of_more_devices_than_may_answer_the_nearest_do),
        cmocka_unit_test(releases_of_a_device_make_no_more_devices),
        cmocka_unit_test(architectures_are_apart_by_generation_and_maker),
        cmocka_unit_test(a_k40_reaches_what_its_default_clock_gives),
        cmocka_unit_test(what_was_priced_for_one_device_changes_nothing_for_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
