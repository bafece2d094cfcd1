/* SPDX-License-Identifier: Apache-2.0 */
/* Devices on paper whose libraries change their algorithm at the same sizes: what networks of some
 * of them know is where those of another begin. */
#include "learned.h"

#include "learn/mlp.h"
#include "learn/starts.h"
#include "learn/train_parts.h"

enum { ROWS = 1500 };

static double speed = 1;

/* By twice as much as 1.65 and as little as 0.6 of the work, in waves over the channels that no
 * column of a cost model has. */
static double wavy_time(const struct dlt_record *record)
{
    const struct dlt_spatial *s = &record->u.spatial;
    double in = log((double)s->in_channels), out = log((double)s->out_channels);

    return paper_time(record) * exp(0.5 * sin(2.5 * in) * cos(2 * out)) / speed;
}

static void add_convolutions(struct dlt_corpus *corpus, const char *name, double times_speed,
                             size_t rows)
{
    struct dlt_random random;

    speed = times_speed;
    dlt_random_seed(&random, 51, corpus->group_count + 7 * rows);
    add_group(corpus, name, 0);
    add_rows(corpus, &random, rows, draw_convolution, DLT_FORWARD, 0, 0.02, wavy_time);
    for (size_t r = 0; r < corpus->row_count; r++)
        corpus->row[r].place = r;
}

static struct dlt_profile *taught(const struct dlt_corpus *corpus, const struct dlt_profile *starts)
{
    const struct dlt_train_settings settings = {.seed = 1, .threads = 2, .starts = starts};

    return trained(corpus, &settings);
}

/* Of the first entry, for convolutions that nobody measured. */
static double error_of(const struct dlt_profile *profile, double times_speed)
{
    enum { RECORDS = 300 };
    struct dlt_random random;
    double sum = 0;

    speed = times_speed;
    dlt_random_seed(&random, 52, 0);
    for (int i = 0; i < RECORDS; i++) {
        struct dlt_record record = draw_convolution(&random);
        struct dlt_price price;

        dlt_profile_price(profile, 0, &record, &price);
        sum += fabs(price.seconds / wavy_time(&record) - 1) / RECORDS;
    }
    return sum;
}

static size_t starts_of(const struct dlt_profile *profile, const char *name, size_t *rows)
{
    size_t count = 0;

    for (uint32_t i = 0; i < profile->header->section_count; i++) {
        const struct dlt_file_section *s = &profile->section[i];

        if (!dlt_section_is_start(s) || strcmp(profile->entry[s->entry].device.name, name) != 0)
            continue;
        assert_string_equal(s->kind, "start conv2d");
        *rows = s->rows;
        count++;
    }
    return count;
}

/* How many of a profile's starts the convolutions of a corpus of one device may begin from. */
static size_t begins_from(const struct dlt_corpus *corpus, const struct dlt_profile *profile)
{
    const struct dlt_train_settings settings = {.seed = 1, .threads = 1, .starts = profile};
    const struct dlt_row **row = dlt_sorted_rows(corpus);
    struct dlt_part part = {.row = row, .read = corpus->row_count, .used = corpus->row_count};
    struct dlt_starts starts = {0};
    size_t count;

    assert_non_null(row);
    assert_int_equal(dlt_starts_find(&starts, corpus, &part, 1, 0, &settings), 0);
    count = starts.count;
    dlt_starts_clear(&starts);
    free(row);
    return count;
}

/* Whether a corpus from whose files `rows` convolutions were read asks for a start, and the profile
 * has it. */
static bool is_served(const struct dlt_corpus *corpus, size_t rows,
                      const struct dlt_profile *profile)
{
    const struct dlt_record *record = &corpus->row[0].record;
    struct dlt_corpus_section section = {
        .kind = record->kind, .dtype = record->dtype, .math = record->math, .read = rows};
    struct dlt_corpus read = *corpus;

    read.section = &section;
    read.section_count = 1;
    return dlt_starts_wanted(&read) && dlt_starts_serve(profile, &read);
}

static void networks_begin_where_those_of_other_devices_ended(void **state)
{
    struct dlt_corpus others = {0}, own = {0}, again = {0};
    struct dlt_profile *general, *alone, *begun;
    size_t rows = 0;

    (void)state;
    add_convolutions(&others, "Paper A", 1, ROWS);
    add_convolutions(&others, "Paper B", 2, ROWS + 100);
    add_convolutions(&others, "Paper C", 0.7, ROWS + 200);
    general = taught(&others, NULL);
    /* One for each device, learned from the rows of the two others. */
    assert_int_equal(starts_of(general, "Paper A", &rows), 1);
    assert_int_equal(rows, 2 * ROWS + 300);
    assert_int_equal(starts_of(general, "Paper C", &rows), 1);
    assert_int_equal(rows, 2 * ROWS + 100);

    /* Too few rows for networks from nothing: a Gaussian process learns them. */
    add_convolutions(&own, "Paper D", 1.4, 400);
    alone = taught(&own, NULL);
    begun = taught(&own, general);
    assert_true(error_of(begun, 1.4) < 0.6 * error_of(alone, 1.4));
    assert_int_equal(starts_of(begun, "Paper D", &rows), 0);

    /* What Paper A's own rows had no part in is one of the three, learned from B and C. */
    add_convolutions(&again, "Paper A", 1, ROWS);
    assert_int_equal(begins_from(&own, general), 3);
    assert_int_equal(begins_from(&again, general), 1);
    assert_int_equal(begins_from(&again, begun), 0);
    assert_true(is_served(&own, ROWS, general));
    assert_false(is_served(&own, DLT_LEAST_BEGUN - 1, general));
    assert_false(is_served(&own, ROWS, begun));
    assert_false(is_served(&others, ROWS, general)); /* they teach each other */
    dlt_profile_destroy(general);
    dlt_profile_destroy(alone);
    dlt_profile_destroy(begun);
    dlt_corpus_clear(&others);
    dlt_corpus_clear(&own);
    dlt_corpus_clear(&again);
}

/* Each call on Paper C takes longer than the one before, which says nothing of convolutions: A and
 * B teach D without it. Of D's few rows nobody learns, so that nobody asks for their drift. */
static void a_benchmark_that_slowed_down_teaches_no_other_device(void **state)
{
    const struct dlt_train_settings settings = {.seed = 1, .threads = 2};
    struct dlt_part part[4] = {{.used = ROWS}, {.used = ROWS}, {.used = ROWS}, {.used = 400}};
    struct dlt_corpus corpus = {0};
    struct dlt_starts starts = {0};
    const struct dlt_row **row;

    (void)state;
    add_convolutions(&corpus, "Paper A", 1, ROWS);
    add_convolutions(&corpus, "Paper B", 2, ROWS);
    add_convolutions(&corpus, "Paper C", 0.7, ROWS);
    for (int r = 0; r < ROWS; r++)
        corpus.row[2 * ROWS + r].seconds += 1e-3 * r / ROWS;
    add_convolutions(&corpus, "Paper D", 1.4, 400);
    row = dlt_sorted_rows(&corpus);
    assert_non_null(row);
    for (size_t p = 0; p < 4; p++) {
        part[p].row = row + p * ROWS;
        part[p].read = part[p].used;
    }
    assert_int_equal(dlt_starts_look(&corpus, part, 4, &settings), 0);
    assert_true(part[0].drift_s == 0 && part[1].drift_s == 0 && part[3].drift_s == 0);
    assert_near(part[2].drift_s, 1e-3, 0.2e-3);
    assert_int_equal(dlt_starts_find(&starts, &corpus, part, 4, 3, &settings), 0);
    assert_int_equal(starts.pooled, 2 * ROWS);
    /* B alone is too little for A. */
    assert_int_equal(dlt_starts_find(&starts, &corpus, part, 4, 0, &settings), 0);
    assert_int_equal(starts.pooled, 0);
    dlt_starts_clear(&starts);
    free(row);
    dlt_corpus_clear(&corpus);
}

/* Fewer rows, or those of one other device, say too little. */
static void few_rows_give_no_start(void **state)
{
    struct dlt_corpus corpus = {0};
    struct dlt_profile *profile;
    size_t rows;

    (void)state;
    add_convolutions(&corpus, "Paper A", 1, 400);
    add_convolutions(&corpus, "Paper B", 2, 400);
    add_convolutions(&corpus, "Paper C", 0.7, 400);
    profile = taught(&corpus, NULL);
    assert_int_equal(starts_of(profile, "Paper A", &rows), 0);
    dlt_profile_destroy(profile);
    dlt_corpus_clear(&corpus);
}

/* Half a step of an output's largest weight / 127 at the most. */
static void rounded_parameters_come_back(void **state)
{
    const struct dlt_network n = {.layers = 2, .width = {3, 5, 1}};
    float parameter[3 * 5 + 5 + 5 + 1], back[sizeof parameter / sizeof *parameter];
    float scale[2 * (5 + 1)];
    int8_t weight[3 * 5 + 5];
    struct dlt_random random;

    (void)state;
    dlt_random_seed(&random, 53, 0);
    for (size_t i = 0; i < sizeof parameter / sizeof *parameter; i++)
        parameter[i] = (float)dlt_random_normal(&random);
    dlt_network_round(&n, parameter, weight, scale);
    dlt_network_restore(&n, weight, scale, back);
    for (int i = 0; i < 3 * 5; i++)
        assert_near(back[i], parameter[i], 0.51 * (double)scale[i % 5]);
    for (int i = 3 * 5; i < 3 * 5 + 5; i++)
        assert_true(back[i] == parameter[i]);
    for (int i = 0; i < 5; i++)
        assert_near(back[20 + i], parameter[20 + i], 0.51 * (double)scale[10]);
    assert_true(back[25] == parameter[25]);
}

/* Where rows weigh nothing there is no gradient: decay alone moves parameters, to where they began
 * instead of to zero, so they stay. */
static void decay_goes_towards_the_beginning(void **state)
{
    const struct dlt_network n = {.layers = 2, .width = {2, 4, 1}};
    struct dlt_mlp_settings settings = {
        .epochs = 20, .batch = 8, .rate = 0.1, .decay = 0.5, .beta = 0.1, .begun = true};
    float x[2 * 16] = {0}, y[16] = {0}, weight[16] = {0};
    float parameter[2 * 4 + 4 + 4 + 1];

    (void)state;
    for (size_t i = 0; i < sizeof parameter / sizeof *parameter; i++)
        parameter[i] = 1;
    assert_int_equal(dlt_mlp_train(&n, x, y, weight, 16, &settings, parameter), 0);
    for (size_t i = 0; i < sizeof parameter / sizeof *parameter; i++)
        assert_near(parameter[i], 1, 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_begin_where_those_of_other_devices_ended),
        cmocka_unit_test(a_benchmark_that_slowed_down_teaches_no_other_device),
        cmocka_unit_test(few_rows_give_no_start),
        cmocka_unit_test(rounded_parameters_come_back),
        cmocka_unit_test(decay_goes_towards_the_beginning),
    };

    return cmocka_run_group_tests_name("start", tests, NULL, NULL);
}
