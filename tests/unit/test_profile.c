/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "learned.h"
#include "predict/checksum.h"

/* XXH64 with seed 0 of nothing, of "abc", and of 39 bytes, as xxhsum prints them. */
static void checksums_are_those_of_xxh64(void **state)
{
    (void)state;
    assert_true(dlt_checksum("", 0, 0) == 0xef46db3751d8e999);
    assert_true(dlt_checksum("abc", 3, 0) == 0x44bc2cf5ad770999);
    assert_true(dlt_checksum("Nobody inspects the spammish repetition", 39, 0) ==
                0xfbcea83c8a378bf1);
}

static struct dlt_corpus small_corpus(void)
{
    struct dlt_corpus corpus = {0};
    struct dlt_random random;

    dlt_random_seed(&random, 11, 0);
    add_group(&corpus, "Tesla V100-SXM2-16GB", 0);
    add_rows(&corpus, &random, 60, draw_dense, DLT_FORWARD, 0, 0.02, NULL);
    add_rows(&corpus, &random, 40, draw_softmax, DLT_FORWARD, 0, 0.02, NULL);
    add_group(&corpus, "NVIDIA A100-PCIE-40GB", 0);
    add_rows(&corpus, &random, 60, draw_dense, DLT_FORWARD, 0, 0.02, NULL);
    return corpus;
}

/* The one file that every test here writes; removed at the end also where a test failed. */
static char folder[] = "/tmp/dltime-test-profile-XXXXXX";
static char path[sizeof folder + 16];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/paper.dlp", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void write_bytes(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Loads bytes as a file and uses every section; -1 and the sentence where anything is refused. */
static int use(const void *bytes, size_t size, struct dlt_error *error)
{
    struct dlt_profile *profile = NULL;
    int result;

    write_bytes(bytes, size);
    result = dlt_profile_load(path, &profile, error);

    for (size_t e = 0; result == 0 && e < dlt_profile_entry_count(profile); e++) {
        struct dlt_random random;
        struct dlt_price price;

        dlt_random_seed(&random, 1, 1);
        for (int i = 0; i < 3; i++) {
            struct dlt_record dense = draw_dense(&random), softmax = draw_softmax(&random);

            dlt_profile_price(profile, e, &dense, &price);
            assert_true(isnan(price.seconds) || (price.seconds > 0 && price.seconds < 1e12));
            dlt_profile_price(profile, e, &softmax, &price);
            assert_true(isnan(price.seconds) || (price.seconds > 0 && price.seconds < 1e12));
        }
    }
    if (result == 0)
        result = dlt_profile_check(profile, error);
    dlt_profile_destroy(profile);
    return result;
}

static void what_was_written_is_read_back(void **state)
{
    struct dlt_corpus corpus = small_corpus();
    const struct dlt_train_settings settings = {.seed = 1, .threads = 1};
    const struct dlt_step_parameters known = {
        .device_factor = 1.1, .backward_factor = 1, .corner = 4, .dispatch_s = 7e-6};
    struct dlt_step_parameters found;
    struct dlt_profile_writer writer = {0};
    struct dlt_profile *profile;
    struct dlt_error error;
    size_t entry = 9;

    (void)state;
    assert_int_equal(dlt_train(&corpus, &settings, &writer, &error), 0);
    assert_int_equal(dlt_profile_writer_step(&writer, 1, DLT_PYTORCH, &known), 0);
    assert_int_equal(dlt_profile_writer_save(&writer, path, &error), 0);
    dlt_profile_writer_clear(&writer);
    assert_int_equal(dlt_profile_load(path, &profile, &error), 0);
    assert_string_equal(dlt_profile_path(profile), path);
    assert_int_equal(dlt_profile_entry_count(profile), 3); /* two devices, and the general one */
    assert_string_equal(dlt_profile_device(profile, 1)->name, "NVIDIA A100-PCIE-40GB");
    assert_int_equal(dlt_profile_software(profile, 0)->timing, DLT_EVENTS_SINGLE);
    assert_int_equal(dlt_profile_find(profile, "a100", 0, &entry, &error), 0);
    assert_int_equal(entry, 1);
    dlt_profile_step(profile, 1, DLT_PYTORCH, &found);
    assert_near(found.device_factor, 1.1, 0);
    dlt_profile_step(profile, 0, DLT_PYTORCH, &found);
    assert_near(found.networks, 0, 0);
    assert_near(found.device_factor, 1, 0);
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

static void a_device_is_asked_for_by_name_or_is_the_only_one(void **state)
{
    struct dlt_corpus corpus = small_corpus();
    struct dlt_profile *profile = learned(&corpus, DLT_METHOD_COST);
    struct dlt_error error;
    size_t entry;

    (void)state;
    assert_int_equal(dlt_profile_find(profile, NULL, 0, &entry, &error), -1);
    assert_string_equal(error.text, "paper.dlp: holds several devices; name one of: Tesla "
                                    "V100-SXM2-16GB, NVIDIA A100-PCIE-40GB");
    assert_int_equal(dlt_profile_find(profile, "h100", 0, &entry, &error), -1);
    assert_string_equal(
        error.text,
        "paper.dlp: has no device \"h100\"; it has: Tesla V100-SXM2-16GB, NVIDIA A100-PCIE-40GB");
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

static void a_cpu_is_found_by_its_nearest_thread_count(void **state)
{
    struct dlt_corpus corpus = {0};
    struct dlt_profile *profile;
    struct dlt_random random;
    struct dlt_error error;
    size_t entry = 9;

    (void)state;
    dlt_random_seed(&random, 1, 0);
    for (int threads = 1; threads <= 8; threads *= 2) {
        add_group(&corpus, "Paper CPU", threads);
        add_rows(&corpus, &random, 12, draw_dense, DLT_FORWARD, 0, 0, NULL);
    }
    profile = learned(&corpus, DLT_METHOD_COST);
    assert_int_equal(dlt_profile_find(profile, NULL, 2, &entry, &error), 0);
    assert_int_equal(dlt_profile_threads(profile, entry), 2);
    assert_int_equal(dlt_profile_find(profile, "Paper CPU", 64, &entry, &error), 0);
    assert_int_equal(dlt_profile_threads(profile, entry), 8);
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

static void a_file_cut_anywhere_is_refused(void **state)
{
    struct dlt_corpus corpus = small_corpus();
    struct dlt_error error;
    size_t size;
    unsigned char *bytes = learned_bytes(&corpus, DLT_METHOD_AUTO, 1, 1, &size);

    (void)state;
    assert_int_equal(use(bytes, size, &error), 0);
    for (size_t cut = 0; cut < size; cut += cut < 2048 ? 61 : 1999) {
        assert_int_equal(use(bytes, cut, &error), -1);
        assert_non_null(strstr(error.text, cut < 16 ? "is not a profile" : "is cut short"));
    }
    free(bytes);
    dlt_corpus_clear(&corpus);
}

static void a_flipped_bit_anywhere_is_noticed(void **state)
{
    struct dlt_corpus corpus = small_corpus();
    struct dlt_error error;
    size_t size;
    unsigned char *bytes = learned_bytes(&corpus, DLT_METHOD_AUTO, 1, 1, &size);

    (void)state;
    for (size_t at = 0; at < size; at += at < 2048 ? 7 : 397) {
        bytes[at] ^= 0x10;
        assert_int_equal(use(bytes, size, &error), -1);
        bytes[at] ^= 0x10;
    }
    bytes[size - 8] ^= 1;
    assert_int_equal(use(bytes, size, &error), -1);
    assert_non_null(strstr(error.text, "was altered (its checksum is wrong); copy the profile"));
    free(bytes);
    dlt_corpus_clear(&corpus);
}

/* Somebody copies another file over it while it is open. */
static void a_file_cut_while_in_use_is_an_error_and_no_signal(void **state)
{
    struct dlt_corpus corpus = small_corpus();
    struct dlt_profile *writing = learned(&corpus, DLT_METHOD_COST), *profile;
    struct dlt_record dense;
    struct dlt_random random;
    struct dlt_price price;
    struct dlt_error error;

    (void)state;
    dlt_random_seed(&random, 1, 1);
    dense = draw_dense(&random);
    write_bytes(writing->data, writing->size);
    assert_int_equal(dlt_profile_load(path, &profile, &error), 0);
    assert_true(dlt_profile_touched(profile) < writing->size);
    assert_int_equal(truncate(path, 100), 0);
    dlt_profile_price(profile, 0, &dense, &price);
    assert_int_equal(dlt_profile_check(profile, &error), -1);
    assert_non_null(strstr(error.text, "was altered"));
    dlt_profile_destroy(profile);
    dlt_profile_destroy(writing);
    dlt_corpus_clear(&corpus);
}

/* The same version number, but sections of another layout: no damage, another dltime. */
static void a_changed_layout_is_called_another_version(void **state)
{
    struct dlt_corpus corpus = small_corpus();
    struct dlt_profile *profile = learned(&corpus, DLT_METHOD_COST);
    unsigned char *bytes = malloc(profile->size);
    struct dlt_file_header header;
    struct dlt_error error;

    (void)state;
    memcpy(bytes, profile->data, profile->size);
    memcpy(&header, bytes, sizeof header);
    header.model_size += 8;
    memcpy(bytes, &header, sizeof header);
    assert_int_equal(use(bytes, profile->size, &error), -1);
    assert_non_null(strstr(error.text, "written by another dltime"));
    free(bytes);
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

static void a_newer_format_is_named(void **state)
{
    struct dlt_corpus corpus = small_corpus();
    struct dlt_error error;
    size_t size;
    unsigned char *bytes = learned_bytes(&corpus, DLT_METHOD_COST, 1, 1, &size);
    struct dlt_file_header header;

    (void)state;
    memcpy(&header, bytes, sizeof header);
    header.version = DLT_PROFILE_VERSION + 1;
    memcpy(bytes, &header, sizeof header);
    assert_int_equal(use(bytes, size, &error), -1);
    assert_non_null(strstr(error.text, "written by a newer dltime (profile format 4, this one "
                                       "reads up to 3); upgrade dltime"));
    assert_int_equal(use("{\"format\":\"dltime-measurements\"}\n", 33, &error), -1);
    assert_non_null(strstr(error.text, "is not a profile of dltime"));
    free(bytes);
    dlt_corpus_clear(&corpus);
}

/* Makes checksums right over changed contents; sections lie where the whole file has them. */
static void forge_checksums(const unsigned char *whole, unsigned char *forged, size_t size)
{
    struct dlt_file_header header;
    struct dlt_file_section *section;

    memcpy(&header, whole, sizeof header);
    section = (void *)(forged + header.section_offset);
    for (uint32_t i = 0; i < header.section_count; i++)
        if (section[i].offset <= size && section[i].size <= size - section[i].offset)
            section[i].checksum = dlt_checksum(forged + section[i].offset, section[i].size, i);
    memcpy(&header, forged, sizeof header);
    header.directory_checksum = 0;
    header.directory_checksum = dlt_checksum(&header, sizeof header, 0);
    if (header.directory_size >= sizeof header && header.directory_size <= size)
        header.directory_checksum =
            dlt_checksum(forged + sizeof header, header.directory_size - sizeof header,
                         header.directory_checksum);
    memcpy(forged, &header, sizeof header);
}

/* Logarithms of ratios that leave nothing of a time, or make it endless; and a spread. */
static void forge_models(const unsigned char *whole, unsigned char *forged, size_t size,
                         double ratio, double sigma)
{
    struct dlt_file_header header;

    memcpy(forged, whole, size);
    memcpy(&header, whole, sizeof header);
    for (uint32_t i = 0; i < header.section_count; i++) {
        struct dlt_file_section section;
        struct dlt_file_model model;

        memcpy(&section, whole + header.section_offset + i * sizeof section, sizeof section);
        memcpy(&model, whole + section.offset, sizeof model);
        model.ratio_low = model.ratio_high = ratio;
        model.floor_s = 0;
        model.sigma_high = sigma;
        memcpy(forged + section.offset, &model, sizeof model);
    }
    forge_checksums(whole, forged, size);
}

/* Right checksums over wrong contents: whatever comes out, nothing outside the file is read (the
 * sanitizers would tell), no walk is endless and no time is nothing or for ever. */
static void forged_contents_do_no_harm(void **state)
{
    struct dlt_corpus corpus = small_corpus();
    struct dlt_random random;
    struct dlt_file_header header;
    struct dlt_error error;
    size_t size;
    unsigned char *bytes = learned_bytes(&corpus, DLT_METHOD_AUTO, 1, 1, &size);
    unsigned char *forged = malloc(size);

    (void)state;
    assert_non_null(forged);
    dlt_random_seed(&random, 9, 0);
    for (int round = 0; round < 300; round++) {
        memcpy(forged, bytes, size);
        for (int change = 0; change < 3; change++) {
            size_t within = dlt_random_below(&random, 2) ? size : 4096;

            forged[dlt_random_below(&random, within)] = (unsigned char)dlt_random_next(&random);
        }
        forge_checksums(bytes, forged, size);
        use(forged, size, &error);
    }
    forge_models(bytes, forged, size, -1e6, 1);
    assert_int_equal(use(forged, size, &error), 0);
    forge_models(bytes, forged, size, 700, 1);
    assert_int_equal(use(forged, size, &error), 0);
    /* A 90 % range from nothing to a number of 200 digits is no answer. */
    forge_models(bytes, forged, size, 0, 1e200);
    assert_int_equal(use(forged, size, &error), -1);
    memcpy(forged, bytes, size);
    memcpy(&header, bytes, sizeof header);
    forged[header.entry_offset + offsetof(struct dlt_file_entry, device.name)] = '\0';
    forge_checksums(bytes, forged, size);
    assert_int_equal(use(forged, size, &error), -1);
    assert_non_null(strstr(error.text, "one of its devices is not sound"));
    free(forged);
    free(bytes);
    dlt_corpus_clear(&corpus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_are_those_of_xxh64),
        cmocka_unit_test(what_was_written_is_read_back),
        cmocka_unit_test(a_device_is_asked_for_by_name_or_is_the_only_one),
        cmocka_unit_test(a_cpu_is_found_by_its_nearest_thread_count),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(a_flipped_bit_anywhere_is_noticed),
        cmocka_unit_test(a_file_cut_while_in_use_is_an_error_and_no_signal),
        cmocka_unit_test(a_changed_layout_is_called_another_version),
        cmocka_unit_test(a_newer_format_is_named),
        cmocka_unit_test(forged_contents_do_no_harm),
    };

    return cmocka_run_group_tests_name("profile", tests, make_folder, remove_folder);
}
