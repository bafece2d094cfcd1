/* SPDX-License-Identifier: Apache-2.0 */
/* Files of measurements as they are found: compressed, cut, damaged, large, or of something else.
 */
#include <glob.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/file.h"
#include "base/paths.h"
#include "measure_rows.h"

static void write_gzip(const char *text, const char *mode)
{
    gzFile file = gzopen(path, mode);

    assert_non_null(file);
    assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(file), Z_OK);
}

static void reading_goes_on_behind_a_wrong_row(void **state)
{
    struct dlt_measure_reader *reader = open_rows(DENSE(1) "oops\n" DENSE(3));
    struct dlt_measurement m;
    struct dlt_error error;

    (void)state;
    assert_int_equal(dlt_measure_next(reader, &m, NULL, &error), 1);
    assert_int_equal(dlt_measure_next(reader, &m, NULL, &error), -1);
    assert_non_null(strstr(error.text, ": line 3: "));
    assert_int_equal(dlt_measure_next(reader, &m, NULL, &error), 1);
    assert_int_equal(m.record.u.matmul.m, 3);
    assert_int_equal(dlt_measure_next(reader, &m, NULL, &error), 0);
    assert_false(dlt_measure_cut(reader));
    dlt_measure_close(reader);
}

static void a_half_written_last_line_is_left_out_and_the_rest_used(void **state)
{
    static const char half[] = "{\"op\":\"dense\",\"pass\":\"forward\",\"ba";
    struct dlt_measure_reader *reader;
    struct dlt_measurement m;
    char rows[1024];

    (void)state;
    snprintf(rows, sizeof rows, "%s%s", DENSE(1) DENSE(2), half);
    reader = open_rows(rows);
    assert_int_equal(dlt_measure_next(reader, &m, NULL, NULL), 1);
    assert_false(dlt_measure_cut(reader));
    assert_int_equal(dlt_measure_next(reader, &m, NULL, NULL), 1);
    assert_int_equal(dlt_measure_next(reader, &m, NULL, NULL), 0);
    assert_true(dlt_measure_cut(reader));
    assert_int_equal(dlt_measure_next(reader, &m, NULL, NULL), 0);
    /* Where a writer may go on. */
    assert_int_equal(dlt_measure_whole(reader), strlen(header) + strlen(rows) - strlen(half));
    dlt_measure_close(reader);
}

static void a_last_line_that_lacks_only_its_newline_is_used(void **state)
{
    char rows[] = DENSE(4);
    struct dlt_measurement m;

    (void)state;
    rows[strlen(rows) - 1] = '\0';
    m = read_row(rows);
    assert_int_equal(m.record.u.matmul.m, 4);
}

static size_t count_rows(const char *file, bool *cut)
{
    struct dlt_measure_reader *reader;
    struct dlt_measurement m;
    struct dlt_run run;
    struct dlt_error error;
    size_t rows = 0;
    int got;

    if (dlt_measure_open(file, &reader, &error))
        fail_msg("%s", error.text);
    while ((got = dlt_measure_next(reader, &m, &run, &error)) > 0)
        rows++;
    if (got < 0)
        fail_msg("%s", error.text);
    *cut = dlt_measure_cut(reader);
    assert_int_equal(dlt_measure_unknown(reader), 0);
    dlt_measure_close(reader);
    return rows;
}

/* Rows that differ, so that they do not compress to nothing. */
static char *many_rows(size_t count)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    assert_non_null(stream);
    fputs(header, stream);
    srand(7);
    for (size_t i = 0; i < count; i++)
        fprintf(stream,
                "{\"op\":\"dense\",\"pass\":\"forward\",\"batch\":%d,\"in_features\":%d,"
                "\"out_features\":%d,\"median_ms\":0.%d}\n",
                rand() % 1000 + 1, rand() % 1000 + 1, rand() % 1000 + 1, rand() % 1000000 + 1);
    fclose(stream);
    return text;
}

static void gzip_is_recognised_by_content_and_may_have_members(void **state)
{
    char *text = many_rows(5000);
    bool cut;

    (void)state;
    write_gzip(text, "w");
    assert_int_equal(count_rows(path, &cut), 5000);
    assert_false(cut);
    write_gzip(DENSE(1), "a"); /* a second member behind the first, as a writer that resumed */
    assert_int_equal(count_rows(path, &cut), 5001);
    free(text);
}

static void a_gzip_file_that_is_cut_gives_what_is_there(void **state)
{
    char *text = many_rows(5000);
    struct stat status;
    size_t before = 5000;
    bool cut;

    (void)state;
    write_gzip(text, "w");
    assert_int_equal(stat(path, &status), 0);
    for (off_t size = status.st_size - 1; size > 2000; size = size * 2 / 3) {
        size_t rows;

        assert_int_equal(truncate(path, size), 0);
        rows = count_rows(path, &cut);
        assert_true(cut);
        assert_true(rows <= before && (size < status.st_size / 2 || rows > 2000));
        before = rows;
    }
    free(text);
}

static void a_damaged_gzip_file_is_an_error(void **state)
{
    char *text = many_rows(5000);
    struct dlt_measure_reader *reader;
    struct dlt_measurement m;
    struct dlt_error error = {""};
    struct stat status;
    FILE *file;
    int got;

    (void)state;
    write_gzip(text, "w");
    free(text);
    assert_int_equal(stat(path, &status), 0);
    file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, -6, SEEK_END); /* in the checksum: every row is sound */
    fputc('#', file);
    fclose(file);
    assert_int_equal(dlt_measure_open(path, &reader, &error), 0);
    while ((got = dlt_measure_next(reader, &m, NULL, &error)) > 0)
        ;
    assert_int_equal(got, -1);
    assert_non_null(strstr(error.text, "damaged"));
    dlt_measure_close(reader);
}

/* As editors on Windows save: U+FEFF in UTF-8 before the text, carriage returns before newlines. */
static void a_byte_order_mark_and_carriage_returns_do_no_harm(void **state)
{
    static const char text[] =
        "\xef\xbb\xbf{\"format\":\"dltime-measurements\",\"version\":1,\"device\":{\"name\":\"x\"}}"
        "\r\n"
        "{\"op\":\"dense\",\"pass\":\"forward\",\"batch\":1,\"in_features\":7,\"out_features\":9,"
        "\"median_ms\":0.5}\r\n";
    bool cut;

    (void)state;
    write_bytes(text, sizeof text - 1);
    assert_int_equal(count_rows(path, &cut), 1);
    assert_false(cut);
}

/* What `cat a.jsonl b.jsonl` makes: the rows behind it may be of another device. */
static void a_second_header_is_no_row(void **state)
{
    (void)state;
    expect_row_error(header, "is a second header; of several files give each by itself");
}

static void a_gzip_file_that_ends_before_its_header_is_not_called_empty(void **state)
{
    struct dlt_measure_reader *reader;
    struct dlt_error error;

    (void)state;
    write_gzip(header, "w");
    assert_int_equal(truncate(path, 30), 0);
    assert_int_equal(dlt_measure_open(path, &reader, &error), -1);
    assert_non_null(strstr(error.text, "its compressed data ends before the header does"));
}

static void what_is_no_measurements_file_is_refused_with_the_mend(void **state)
{
    struct dlt_measure_reader *reader;
    struct dlt_error error;
    char fifo[PATH_MAX];

    (void)state;
    expect_open_error("", "is empty");
    expect_open_error("{\"format\":\"dltime-trace\",\"version\":1}\n", "this is a trace");
    expect_open_error("{\"format\":\"dltime-measurements\",\"version\":2,\"device\":{}}\n",
                      "install a newer dltime");
    expect_open_error("{\"format\":\"dltime-measurement\",\"version\":1}\n", "is neither");
    expect_open_error("{\"op\":\"dense\"}\n", "format: is missing");
    expect_open_error("op,median\n", "is no JSON object");
    expect_open_error("{\"format\":\"dltime-measurements\",\"version\":1,\"device\":{}}\n",
                      "device.name: is missing");
    expect_open_error(
        "{\"format\":\"dltime-measurements\",\"version\":1,\"device\":{\"name\":\"x\","
        "\"sms\":\"many\"}}\n",
        "device.sms: has to be a number");
    expect_open_error(
        "{\"format\":\"dltime-measurements\",\"version\":1,\"device\":{\"name\":\"x\"},"
        "\"software\":{\"timing\":\"event_single\"}}\n",
        "did you mean \"events_single\"?");
    assert_int_equal(dlt_measure_open(folder, &reader, &error), -1);
    assert_non_null(strstr(error.text, "is a directory"));
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(dlt_measure_open(fifo, &reader, &error), -1); /* and does not wait for it */
    assert_int_equal(dlt_measure_open("/nonexistent/file", &reader, &error), -1);
    assert_non_null(strstr(error.text, "/nonexistent/file: No such file"));
}

static void lines_have_a_limit_of_one_mebibyte(void **state)
{
    enum { LIMIT = 1 << 20 };
    struct dlt_measure_reader *reader;
    struct dlt_measurement m;
    struct dlt_error error;
    char *rows = malloc(LIMIT + 3);

    (void)state;
    assert_non_null(rows);
    for (int excess = 0; excess < 2; excess++) {
        size_t length = LIMIT + (size_t)excess;

        memset(rows, ' ', length);
        memcpy(rows, DENSE(1), strlen(DENSE(1)) - 1);
        memcpy(rows + length, "\n", 2);
        reader = open_rows(rows);
        assert_int_equal(dlt_measure_next(reader, &m, NULL, &error), excess ? -1 : 1);
        dlt_measure_close(reader);
    }
    assert_non_null(strstr(error.text, "line 2: the line is longer than 1 MiB"));
    free(rows);
}

/* Newlines of a file, gzip or not, counted without the reader. */
static size_t count_lines(const char *file)
{
    gzFile stream = gzopen(file, "r");
    static char chunk[1 << 16];
    size_t lines = 0;
    int got;

    assert_non_null(stream);
    while ((got = gzread(stream, chunk, sizeof chunk)) > 0)
        for (int i = 0; i < got; i++)
            lines += chunk[i] == '\n';
    gzclose(stream);
    return lines;
}

static void the_public_measurements_are_read_to_the_last_row(void **state)
{
    static const char *const patterns[] = {"justus2018/*.jsonl*", "lambda/*.jsonl*",
                                           "neusight2025/*.jsonl*", "neusight2025/ops/*.jsonl*"};
    const char *data = getenv("DLTIME_DATA") ? getenv("DLTIME_DATA") : "../shared/data";
    size_t files = 0, rows = 0;

    (void)state;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        char pattern[PATH_MAX];
        glob_t found;
        bool cut;

        snprintf(pattern, sizeof pattern, "%s/%s", data, patterns[i]);
        if (glob(pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t k = 0; k < found.gl_pathc; k++) {
            size_t got = count_rows(found.gl_pathv[k], &cut);

            assert_false(cut);
            assert_int_equal(got, count_lines(found.gl_pathv[k]) - 1);
            rows += got;
            files++;
        }
        globfree(&found);
    }
    if (files == 0) {
        print_message("SKIPPED: no measurements under %s; set DLTIME_DATA\n", data);
        skip();
    }
    print_message("%zu rows of %zu files\n", rows, files);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_goes_on_behind_a_wrong_row),
        cmocka_unit_test(a_half_written_last_line_is_left_out_and_the_rest_used),
        cmocka_unit_test(a_last_line_that_lacks_only_its_newline_is_used),
        cmocka_unit_test(gzip_is_recognised_by_content_and_may_have_members),
        cmocka_unit_test(a_gzip_file_that_is_cut_gives_what_is_there),
        cmocka_unit_test(a_damaged_gzip_file_is_an_error),
        cmocka_unit_test(a_byte_order_mark_and_carriage_returns_do_no_harm),
        cmocka_unit_test(a_second_header_is_no_row),
        cmocka_unit_test(a_gzip_file_that_ends_before_its_header_is_not_called_empty),
        cmocka_unit_test(what_is_no_measurements_file_is_refused_with_the_mend),
        cmocka_unit_test(lines_have_a_limit_of_one_mebibyte),
        cmocka_unit_test(the_public_measurements_are_read_to_the_last_row),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
