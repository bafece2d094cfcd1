/* SPDX-License-Identifier: Apache-2.0 */
/* More measurements than are learned from: a fair sample of each operator, in bounded memory. */
#include "device/catalogue.h"
#include "learn/corpus.h"
#include "measure_files.h"

enum { MOST = 100, ROWS = 4000 };

static const char header[] =
    "{\"format\":\"dltime-measurements\",\"version\":1,\"device\":{\"name\":\"Tesla K40\"}}\n";

/* Two operators in turn; the number of the row is its batch, and its time in ms. */
static void write_rows(int rows)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(header, file);
    for (int i = 1; i <= rows; i++)
        fprintf(file,
                i % 2 ? "{\"op\":\"dense\",\"pass\":\"forward\",\"batch\":%d,\"in_features\":7,"
                        "\"out_features\":9,\"median_ms\":%d}\n"
                      : "{\"op\":\"softmax\",\"pass\":\"forward\",\"rows\":%d,\"columns\":9,"
                        "\"median_ms\":%d}\n",
                i, i);
    assert_int_equal(fclose(file), 0);
}

static struct dlt_corpus read_rows(uint64_t seed)
{
    struct dlt_corpus corpus = {.seed = seed, .most_rows = MOST};
    struct dlt_error error;

    assert_int_equal(dlt_corpus_add(&corpus, path, &error), 0);
    return corpus;
}

static int number_of(const struct dlt_row *row)
{
    return (int)lround(1e3 * row->seconds);
}

static void of_many_rows_a_bounded_number_is_kept_and_all_are_counted(void **state)
{
    struct dlt_corpus corpus;
    size_t dense = 0;

    (void)state;
    write_rows(ROWS);
    corpus = read_rows(1);
    for (size_t r = 0; r < corpus.row_count; r++)
        dense += number_of(&corpus.row[r]) % 2 != 0;
    assert_int_equal(corpus.row_count, 2 * MOST);
    assert_int_equal(dense, MOST);
    assert_true(corpus.row_room <= 256); /* two sections: never more than were kept, doubled */
    assert_int_equal(corpus.source[0].rows, ROWS);
    assert_int_equal(corpus.group[0].rows, ROWS);
    assert_int_equal(corpus.section_count, 2);
    assert_int_equal(corpus.section[1].read, ROWS / 2);
    dlt_corpus_clear(&corpus);
}

static void up_to_the_bound_every_row_is_kept_in_the_order_of_the_file(void **state)
{
    struct dlt_corpus corpus;

    (void)state;
    write_rows(2 * MOST);
    corpus = read_rows(1);
    assert_int_equal(corpus.row_count, 2 * MOST);
    for (size_t r = 0; r < corpus.row_count; r++)
        assert_int_equal(number_of(&corpus.row[r]), r + 1);
    dlt_corpus_clear(&corpus);
}

static void a_sample_keeps_the_order_and_repeats_itself_for_a_seed(void **state)
{
    struct dlt_corpus once, again, other;
    bool differs = false;

    (void)state;
    write_rows(ROWS);
    once = read_rows(1);
    again = read_rows(1);
    other = read_rows(2);
    for (size_t r = 0; r < once.row_count; r++) {
        assert_true(r == 0 || number_of(&once.row[r]) > number_of(&once.row[r - 1]));
        assert_int_equal(number_of(&once.row[r]), number_of(&again.row[r]));
        differs |= number_of(&once.row[r]) != number_of(&other.row[r]);
    }
    assert_true(differs);
    dlt_corpus_clear(&once);
    dlt_corpus_clear(&again);
    dlt_corpus_clear(&other);
}

/* Of 200 samples the first, middle and last tenth of the rows have a tenth each: 200 x 200 rows in
 * tenths of 4,000 +- 60. */
static void every_row_is_as_likely_to_be_kept(void **state)
{
    int tenth[10] = {0};

    (void)state;
    write_rows(ROWS / 4);
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct dlt_corpus corpus = read_rows(seed);

        for (size_t r = 0; r < corpus.row_count; r++)
            tenth[(number_of(&corpus.row[r]) - 1) * 10 / (ROWS / 4)]++;
        dlt_corpus_clear(&corpus);
    }
    for (int i = 0; i < 10; i++)
        assert_true(abs(tenth[i] - 4000) < 240);
}

/* A second file goes on with the sample of the first. */
static void two_files_are_sampled_as_one(void **state)
{
    struct dlt_corpus corpus;
    struct dlt_error error;
    size_t second = 0;

    (void)state;
    write_rows(ROWS);
    corpus = read_rows(1);
    assert_int_equal(dlt_corpus_add(&corpus, path, &error), 0);
    assert_int_equal(corpus.row_count, 2 * MOST);
    assert_int_equal(corpus.group[0].rows, 2 * ROWS);
    for (size_t r = 1; r < corpus.row_count; r++) {
        assert_true(corpus.row[r].place > corpus.row[r - 1].place);
        second += number_of(&corpus.row[r]) < number_of(&corpus.row[r - 1]) || second;
    }
    assert_in_range(second, 60, 140);
    dlt_corpus_clear(&corpus);
}

/* A file of fully connected layers of one size: batch, time in ms, and whether other work ran. */
static struct dlt_corpus read_layers(const char *const *rows, size_t count)
{
    FILE *file = fopen(path, "w");
    struct dlt_corpus corpus = {.seed = 1};
    struct dlt_error error;

    assert_non_null(file);
    fputs(header, file);
    for (size_t i = 0; i < count; i++)
        fprintf(file,
                "{\"op\":\"dense\",\"pass\":\"forward\",\"in_features\":64,"
                "\"out_features\":64,%s}\n",
                rows[i]);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(dlt_corpus_add(&corpus, path, &error), 0);
    return corpus;
}

/* Batch 8 thrice calmly, of which one is a copy, and once disturbed: the median of 3 and 5 ms.
 * Batch 9 was disturbed both times: of 4 and 6. */
static void a_configuration_counts_once_with_the_median_of_its_times(void **state)
{
    static const char *const rows[] = {
        "\"batch\":8,\"median_ms\":5",
        "\"batch\":9,\"median_ms\":4,\"disturbed\":true",
        "\"batch\":8,\"median_ms\":3",
        "\"batch\":8,\"median_ms\":3",
        "\"batch\":8,\"median_ms\":70,\"disturbed\":true",
        "\"batch\":9,\"median_ms\":6,\"disturbed\":true",
    };
    struct dlt_corpus corpus = read_layers(rows, sizeof rows / sizeof *rows);
    struct dlt_repeats repeats;

    (void)state;
    assert_int_equal(dlt_corpus_unique(&corpus, &repeats), 0);
    assert_int_equal(corpus.row_count, 2);
    assert_near(corpus.row[0].seconds, 4e-3, 1e-12);
    assert_false(corpus.row[0].disturbed);
    assert_near(corpus.row[1].seconds, 5e-3, 1e-12);
    assert_true(corpus.row[1].disturbed);
    assert_int_equal(repeats.same, 1);
    assert_int_equal(repeats.again, 3);
    assert_int_equal(corpus.section[0].read, 2);
    assert_int_equal(corpus.group[0].rows, 2);
    dlt_corpus_clear(&corpus);
}

static const char signs[] = {[DLT_STRAY_LONG] = '+',
                             [DLT_STRAY_SHORT] = '-',
                             [DLT_STRAY_IMPOSSIBLE] = '!',
                             [DLT_STRAY_COMPANY] = '?'};

static void note_stray(void *context, const struct dlt_row *row, enum dlt_stray why)
{
    char **told = context, *before = *told;

    assert_true(asprintf(told, "%s%u%c", before ? before : "", row->line, signs[why]) > 0);
    free(before);
}

/* Drops them; expected: lines and why, NULL for none. */
static void assert_strays(struct dlt_corpus *corpus, const char *expected)
{
    char *told = NULL;

    assert_int_equal(dlt_corpus_drop_strays(corpus, note_stray, &told), 0);
    if (expected)
        assert_string_equal(told, expected);
    else
        assert_null(told);
    free(told);
}

/* Batches 1 to 6 take 1 to 6 ms. Batch 7 takes a day, batch 8 a nanosecond: lines 8 and 9. Batch
 * 100 has 100 times the work of batch 1 and 17 times that of batch 6: 900 ms are 9 times what the
 * slowest allows, and may be the algorithm. */
static void rows_that_no_other_allows_are_dropped_by_line(void **state)
{
    static const char *const rows[] = {
        "\"batch\":1,\"median_ms\":1",        "\"batch\":2,\"median_ms\":2",
        "\"batch\":3,\"median_ms\":3",        "\"batch\":4,\"median_ms\":4",
        "\"batch\":5,\"median_ms\":5",        "\"batch\":6,\"median_ms\":6",
        "\"batch\":7,\"median_ms\":86400000", "\"batch\":8,\"median_ms\":0.000001",
        "\"batch\":100,\"median_ms\":900",    "\"batch\":9,\"median_ms\":9",
        "\"batch\":10,\"median_ms\":10",      "\"batch\":11,\"median_ms\":11",
        "\"batch\":12,\"median_ms\":12",      "\"batch\":13,\"median_ms\":13",
        "\"batch\":14,\"median_ms\":14",      "\"batch\":15,\"median_ms\":15",
        "\"batch\":16,\"median_ms\":16",      "\"batch\":17,\"median_ms\":17",
        "\"batch\":18,\"median_ms\":18",      "\"batch\":19,\"median_ms\":19",
        "\"batch\":20,\"median_ms\":20",
    };
    struct dlt_corpus corpus = read_layers(rows, sizeof rows / sizeof *rows);

    (void)state;
    assert_strays(&corpus, "8+9-");
    assert_int_equal(corpus.row_count, 19);
    assert_near(corpus.row[6].seconds, 0.9, 1e-12);
    dlt_corpus_clear(&corpus);
}

static void note_stray_run(void *context, const struct dlt_corpus_run *run, enum dlt_stray why)
{
    char **told = context;

    assert_null(*told);
    assert_true(asprintf(told, "%u%c", run->line, signs[why]) > 0);
}

/* A step of a network takes 10 ms at batch 1, 20 at 2 and 80 at 8, and not a day at 4. Of another
 * network, or in another precision, a day says nothing of it. */
static void a_run_that_its_other_batches_do_not_allow_is_dropped_by_line(void **state)
{
    static const char *const runs[] = {
        "\"model\":\"lenet5\",\"batch\":1,\"step_ms\":10",
        "\"model\":\"lenet5\",\"batch\":2,\"step_ms\":20",
        "\"model\":\"lenet5\",\"batch\":4,\"step_ms\":86400000",
        "\"model\":\"lenet5\",\"batch\":8,\"step_ms\":80",
        "\"model\":\"lenet5\",\"batch\":8,\"step_ms\":86400000,\"precision\":\"float16\"",
        "\"model\":\"gpt2\",\"batch\":8,\"step_ms\":86400000"};
    FILE *file = fopen(path, "w");
    struct dlt_corpus corpus = {.seed = 1};
    struct dlt_error error;
    char *told = NULL;

    (void)state;
    assert_non_null(file);
    fputs("{\"format\":\"dltime-runs\",\"version\":1}\n", file);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        fprintf(file, "{\"device\":\"Tesla K40\",\"pass\":\"step\",%s}\n", runs[i]);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(dlt_corpus_add(&corpus, path, &error), 0);
    assert_int_equal(dlt_corpus_drop_stray_runs(&corpus, note_stray_run, &told), 0);
    assert_non_null(told);
    assert_string_equal(told, "4+");
    assert_int_equal(corpus.run_count, 5);
    free(told);
    dlt_corpus_clear(&corpus);
}

/* Of four rows two may be wrong as well as two right. */
static void too_few_rows_do_not_outvote_one(void **state)
{
    static const char *const rows[] = {"\"batch\":1,\"median_ms\":1", "\"batch\":2,\"median_ms\":2",
                                       "\"batch\":3,\"median_ms\":3",
                                       "\"batch\":4,\"median_ms\":86400000"};
    struct dlt_corpus corpus = read_layers(rows, sizeof rows / sizeof *rows);

    (void)state;
    assert_strays(&corpus, NULL);
    assert_int_equal(corpus.row_count, 4);
    dlt_corpus_clear(&corpus);
}

/* A table of layers of one size on one device, each of which takes as long; added to the corpus. */
static void add_table(struct dlt_corpus *corpus, const char *device, int rows, double ms)
{
    FILE *file = fopen(path, "w");
    struct dlt_error error;

    assert_non_null(file);
    fprintf(file,
            "{\"format\":\"dltime-measurements\",\"version\":1,\"table\":true,"
            "\"device\":{\"name\":\"%s\"}}\n",
            device);
    for (int i = 1; i <= rows; i++)
        fprintf(file,
                "{\"op\":\"dense\",\"pass\":\"forward\",\"in_features\":64,"
                "\"out_features\":64,\"batch\":%d,\"median_ms\":%g}\n",
                i, ms);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(dlt_corpus_add(corpus, path, &error), 0);
}

/* Six layers of a device a thousand times slower are no strays among sixty of another. */
static void rows_of_tables_are_judged_by_their_own_device(void **state)
{
    struct dlt_corpus corpus = {.seed = 1};

    (void)state;
    add_table(&corpus, "Tesla V100-PCIE-32GB", 60, 0.01);
    add_table(&corpus, "Tesla K40", 6, 10);
    assert_strays(&corpus, NULL);
    assert_int_equal(corpus.looked_up_count, 66);
    dlt_corpus_clear(&corpus);
}

/* A table or rows to learn from, with what a header tells of the device. */
static struct dlt_corpus read_of_device(const char *beside, const char *device,
                                        const char *const *rows, size_t count)
{
    FILE *file = fopen(path, "w");
    struct dlt_corpus corpus = {.seed = 1};
    struct dlt_error error;

    assert_non_null(file);
    fprintf(file, "{\"format\":\"dltime-measurements\",\"version\":1,%s\"device\":{%s}}\n", beside,
            device);
    for (size_t i = 0; i < count; i++)
        fprintf(file, "{\"pass\":\"forward\",%s}\n", rows[i]);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(dlt_corpus_add(&corpus, path, &error), 0);
    return corpus;
}

/* 65536 x 4096 x 4096 is 2.2 TFLOP, 0.44 s at a K40's 5.04 TFLOP/s; 2.7 GB of it or of an addition
 * pass through its memory at 288 GB/s in 9.3 ms. 43 ms are less than a tenth of the one, 0.9 ms of
 * the other, and agree with each other. 11 x 11 convolutions of 256 channels to 256 on 64 images of
 * 74 x 74 are 4.2 TFLOP, 0.83 s, of which Fourier transforms spare all but a 121st. */
static const char *const fast_rows[] = {
    "\"op\":\"dense\",\"batch\":65536,\"in_features\":4096,\"out_features\":4096,\"median_ms\":43",
    "\"op\":\"dense\",\"batch\":65536,\"in_features\":4096,\"out_features\":4095,\"median_ms\":43",
    "\"op\":\"dense\",\"batch\":65536,\"in_features\":4096,\"out_features\":4097,\"median_ms\":45",
    "\"op\":\"elementwise\",\"function\":\"add\",\"operands\":2,\"rows\":65536,\"columns\":3400,"
    "\"median_ms\":0.9",
    "\"op\":\"elementwise\",\"function\":\"add\",\"operands\":2,\"rows\":65536,\"columns\":3400,"
    "\"median_ms\":1",
    "\"op\":\"conv2d\",\"batch\":64,\"in_channels\":256,\"in_size\":[74,74],\"out_channels\":256,"
    "\"kernel\":[11,11],\"stride\":[1,1],\"padding\":\"valid\",\"median_ms\":20"};
enum { FAST_ROWS = sizeof fast_rows / sizeof *fast_rows };

static void rows_beyond_what_their_device_can_are_dropped_though_they_agree(void **state)
{
    struct dlt_corpus corpus = read_of_device(
        "", "\"name\":\"K40\",\"peak_fp32_gflops\":5040,\"memory_bandwidth_gbs\":288", fast_rows,
        FAST_ROWS);

    (void)state;
    assert_strays(&corpus, "2!3!5!");
    assert_int_equal(corpus.row_count, 3);
    assert_int_equal(corpus.group[0].rows, 3);
    dlt_corpus_clear(&corpus);
}

/* Three of five products are impossible, as above: their two small ones are of the same clock. */
static void rows_of_which_most_are_impossible_are_dropped_with_them(void **state)
{
    static const char *const rows[] = {
        "\"op\":\"dense\",\"batch\":1,\"in_features\":64,\"out_features\":64,\"median_ms\":0.01",
        "\"op\":\"dense\",\"batch\":65536,\"in_features\":4096,\"out_features\":4095,"
        "\"median_ms\":43",
        "\"op\":\"dense\",\"batch\":65536,\"in_features\":4096,\"out_features\":4096,"
        "\"median_ms\":43",
        "\"op\":\"dense\",\"batch\":1,\"in_features\":64,\"out_features\":65,\"median_ms\":0.01",
        "\"op\":\"dense\",\"batch\":65536,\"in_features\":4096,\"out_features\":4094,"
        "\"median_ms\":43",
        "\"op\":\"softmax\",\"rows\":64,\"columns\":64,\"median_ms\":0.01"};
    struct dlt_corpus corpus =
        read_of_device("", "\"name\":\"K40\",\"peak_fp32_gflops\":5040", rows, 6);

    (void)state;
    assert_strays(&corpus, "2?3!4!5?6!");
    assert_int_equal(corpus.row_count, 1);
    assert_string_equal(corpus.row[0].record.kind->name, "softmax");
    dlt_corpus_clear(&corpus);
}

static void of_a_device_that_nobody_knows_any_time_may_be_true(void **state)
{
    struct dlt_corpus corpus = read_of_device("", "\"name\":\"K40\"", fast_rows, FAST_ROWS);

    (void)state;
    assert_strays(&corpus, NULL);
    dlt_corpus_clear(&corpus);
}

/* Each of what a file and the catalogue say, where only one of them says it. */
static void a_device_is_bound_by_its_file_and_by_the_catalogue_together(void **state)
{
    const struct dlt_catalogue_entry listed = {
        .device = {.name = "Listed", .vendor = "nvidia", .peak_fp32 = 5.04e12}};
    struct dlt_error error;
    struct dlt_corpus corpus;

    (void)state;
    assert_int_equal(dlt_catalogue_add(&listed, &error), 0);
    corpus = read_of_device("", "\"name\":\"Listed\",\"memory_bandwidth_gbs\":288", fast_rows,
                            FAST_ROWS);
    assert_strays(&corpus, "2!3!5!");
    dlt_corpus_clear(&corpus);
}

/* 0.5 ms would be 4.4 PFLOP/s, 73 times the float32 peak, of which an H100's matrix units have 15.
 */
static void of_matrix_units_that_no_feature_tells_any_time_may_be_true(void **state)
{
    static const char *const half[] = {
        "\"op\":\"dense\",\"dtype\":\"float16\",\"batch\":65536,\"in_features\":4096,"
        "\"out_features\":4096,\"median_ms\":0.5"};
    static const struct {
        const char *device, *told;
    } cases[] = {
        {"\"name\":\"Later\",\"peak_fp32_gflops\":60000", NULL},
        {"\"name\":\"Later\",\"architecture\":\"hopper\",\"compute_capability\":\"9.0\","
         "\"peak_fp32_gflops\":20000",
         "2!"},
        {"\"name\":\"Later\",\"peak_fp32_gflops\":20000,\"peak_fp16_gflops\":400000", "2!"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dlt_corpus corpus = read_of_device("", cases[i].device, half, 1);

        assert_strays(&corpus, cases[i].told);
        dlt_corpus_clear(&corpus);
    }
}

static void a_table_has_no_rows_beyond_its_device(void **state)
{
    struct dlt_corpus corpus = read_of_device(
        "\"table\":true,", "\"name\":\"K40\",\"peak_fp32_gflops\":5040", fast_rows, 3);

    (void)state;
    assert_strays(&corpus, "2!3!");
    assert_int_equal(corpus.looked_up_count, 1);
    assert_int_equal(corpus.looked_up[0].line, 4);
    dlt_corpus_clear(&corpus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_many_rows_a_bounded_number_is_kept_and_all_are_counted),
        cmocka_unit_test(up_to_the_bound_every_row_is_kept_in_the_order_of_the_file),
        cmocka_unit_test(a_sample_keeps_the_order_and_repeats_itself_for_a_seed),
        cmocka_unit_test(every_row_is_as_likely_to_be_kept),
        cmocka_unit_test(two_files_are_sampled_as_one),
        cmocka_unit_test(a_configuration_counts_once_with_the_median_of_its_times),
        cmocka_unit_test(rows_that_no_other_allows_are_dropped_by_line),
        cmocka_unit_test(a_run_that_its_other_batches_do_not_allow_is_dropped_by_line),
        cmocka_unit_test(too_few_rows_do_not_outvote_one),
        cmocka_unit_test(rows_of_tables_are_judged_by_their_own_device),
        cmocka_unit_test(rows_beyond_what_their_device_can_are_dropped_though_they_agree),
        cmocka_unit_test(rows_of_which_most_are_impossible_are_dropped_with_them),
        cmocka_unit_test(of_a_device_that_nobody_knows_any_time_may_be_true),
        cmocka_unit_test(a_device_is_bound_by_its_file_and_by_the_catalogue_together),
        cmocka_unit_test(of_matrix_units_that_no_feature_tells_any_time_may_be_true),
        cmocka_unit_test(a_table_has_no_rows_beyond_its_device),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
