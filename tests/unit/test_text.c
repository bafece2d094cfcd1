/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/text.h"
#include "test.h"

static void durations_are_read_as_slurm_and_people_write_them(void **state)
{
    static const struct {
        const char *text;
        double seconds;
    } good[] = {
        {"90", 5400},           {"90s", 90},      {"1.5h", 5400},
        {"15m", 900},           {"2d", 172800},   {"10:30", 630},
        {"1:00:00", 3600},      {"1-12", 129600}, {"1-12:30", 131400},
        {"2-00:00:01", 172801},
    };
    static const char *const bad[] = {
        "", "-", "1-", ":", "1:", "1:2:3:4", "1h2", "x", "-5", "-5s", "99999999999999999999", "1 "};
    double seconds;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(dlt_text_to_duration(good[i].text, 60, &seconds));
        assert_near(seconds, good[i].seconds, 1e-9);
    }
    seconds = 5;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(dlt_text_to_duration(bad[i], 60, &seconds));
        assert_near(seconds, 5, 0);
    }
}

static void durations_are_printed_as_slurm_prints_them_rounded_up(void **state)
{
    char buffer[32];

    (void)state;
    assert_string_equal(dlt_text_from_duration(buffer, 0), "00:00:00");
    assert_string_equal(dlt_text_from_duration(buffer, 59.2), "00:01:00");
    assert_string_equal(dlt_text_from_duration(buffer, 49952), "13:52:32");
    assert_string_equal(dlt_text_from_duration(buffer, 133200), "1-13:00:00");
    assert_string_equal(dlt_text_from_duration(buffer, NAN), "-");
}

static void what_a_terminal_would_act_on_and_what_is_not_utf8_is_replaced(void **state)
{
    static const struct {
        const char *text, *printable;
    } cases[] = {
        {"\033[31mred\n\177", "?[31mred??"},
        {"na\303\257ve \342\202\254 \360\237\230\200",
         "na\303\257ve \342\202\254 \360\237\230\200"},
        {"\302\233m", "??m"},         /* U+009B, which some terminals take for ESC [ */
        {"\2333m", "?3m"},            /* the same as a byte of its own */
        {"\300\200", "??"},           /* NUL, overlong */
        {"\355\240\200", "???"},      /* a surrogate */
        {"\364\220\200\200", "????"}, /* beyond U+10FFFF */
        {"cut \342\202", "cut ??"},
    };
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(dlt_text_copy(text, sizeof text, cases[i].text));
        dlt_text_printable(text);
        assert_string_equal(text, cases[i].printable);
    }
    assert_false(dlt_text_copy(text, 4, "ab\342\202\254"));
    assert_string_equal(text, "ab");
}

static void numbers_are_decimal_and_nothing_else(void **state)
{
    static const char *const bad[] = {"",    " 1",  "1 ", "\t1", "0x10",
                                      "inf", "nan", "1e", "1,5", "1e999"};
    double real = 5;
    int64_t whole;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(dlt_text_to_double(bad[i], &real));
        assert_near(real, 5, 0);
        assert_false(dlt_text_to_int64(bad[i], &whole));
    }
    assert_true(dlt_text_to_double("-2.5e-1", &real));
    assert_near(real, -0.25, 0);
    assert_true(dlt_text_to_int64("-9223372036854775808", &whole));
    assert_false(dlt_text_to_int64("9223372036854775808", &whole));
}

static void counts_and_sizes_have_three_digits_and_a_unit(void **state)
{
    char buffer[32];

    (void)state;
    assert_string_equal(dlt_text_from_count(buffer, 25557032), "25.6 M");
    assert_string_equal(dlt_text_from_count(buffer, 138), "138");
    assert_string_equal(dlt_text_from_count(buffer, 61706), "61.7 k");
    assert_string_equal(dlt_text_from_bytes(buffer, 31.0 * (1 << 30)), "31 GiB");
    assert_string_equal(dlt_text_from_bytes(buffer, 820.0 * (1 << 20)), "820 MiB");
    assert_string_equal(dlt_text_from_seconds(buffer, 18.5e-9), "18.5 ns");
    assert_string_equal(dlt_text_from_seconds(buffer, 12.3e-6), "12.3 us");
}

static void the_nearest_name_is_offered_only_when_it_is_near(void **state)
{
    static const char *const names[] = {"kernel_size", "stride", "padding", "dilation", "groups"};
    static const char *const networks[] = {"bert_large_encoder", "bert_base"};
    static const char *const optimizers[] = {"adam", "adamw"};

    (void)state;
    assert_string_equal(dlt_text_nearest("strid", names, 5), "stride");
    assert_string_equal(dlt_text_nearest("kernal_size", names, 5), "kernel_size");
    assert_string_equal(dlt_text_nearest("kernel", names, 5), "kernel_size");
    assert_string_equal(dlt_text_nearest("pading", names, 5), "padding");
    assert_string_equal(dlt_text_nearest("STRIDE", names, 5), "stride");
    /* Of several that begin so the shortest; what differs in a capital alone before a part of it.
     */
    assert_string_equal(dlt_text_nearest("bert", networks, 2), "bert_base");
    assert_string_equal(dlt_text_nearest("adamW", optimizers, 2), "adamw");
    assert_null(dlt_text_nearest("colour", names, 5));
    assert_null(dlt_text_nearest("", names, 5));
}

static void numbers_need_a_point_and_nothing_behind(void **state)
{
    double value;
    int64_t whole;

    (void)state;
    assert_true(dlt_text_to_double("0.125", &value) && value == 0.125);
    assert_false(dlt_text_to_double("0,125", &value));
    assert_false(dlt_text_to_double("1e999", &value));
    assert_false(dlt_text_to_double("nan", &value));
    assert_true(dlt_text_to_int64("-42", &whole) && whole == -42);
    assert_false(dlt_text_to_int64("9223372036854775808", &whole));
}

static void control_characters_of_a_users_text_do_not_reach_the_terminal(void **state)
{
    struct dlt_error error;

    (void)state;
    assert_int_equal(dlt_fail(&error, "%s: no such file", "\033[31mred\n\xc2\x9b"), -1);
    assert_string_equal(error.text, "?[31mred???: no such file");
    dlt_fail_in(&error, "%s: ", "spec.json");
    assert_string_equal(error.text, "spec.json: ?[31mred???: no such file");
}

/* Of two bytes each: an odd one is left over at the end, where half of a character would stand. */
static void a_sentence_that_is_too_long_ends_with_a_whole_character(void **state)
{
    struct dlt_error error;
    char text[sizeof error.text];

    (void)state;
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa9", 3);
    dlt_fail(&error, "%s", text);
    dlt_fail_in(&error, "ab: ");
    assert_int_equal(strlen(error.text), sizeof error.text - 2);
    assert_string_equal(error.text + sizeof error.text - 4, "\xc3\xa9");
}

static void a_file_is_whole_or_not_there(void **state)
{
    char folder[] = "/tmp/dltime-test-XXXXXX";
    char path[64];
    struct dlt_file_writer writer;
    struct dlt_error error;
    struct stat status;
    mode_t before = umask(027);
    char *data;
    size_t size;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    assert_int_equal(dlt_file_create(&writer, path, &error), 0);
    fputs("one", writer.stream);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(dlt_file_commit(&writer, &error), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    umask(before);
    assert_int_equal(dlt_file_create(&writer, path, &error), 0);
    fputs("two", writer.stream);
    dlt_file_abandon(&writer);
    assert_int_equal(dlt_file_read(path, 100, &data, &size, &error), 0);
    assert_string_equal(data, "one");
    free(data);
    assert_int_equal(dlt_file_read(path, 2, &data, &size, &error), -1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(dlt_file_read(path, 100, &data, &size, &error), -1);
    assert_int_equal(dlt_file_create(&writer, path, &error), -1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(dlt_file_create(&writer, path, &error), -1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(dlt_file_create(&writer, folder, &error), -1);
    assert_int_equal(dlt_file_read(folder, 100, &data, &size, &error), -1);
    /* Nothing is left behind: the folder can be removed. */
    assert_int_equal(rmdir(folder), 0);
}

static int entries_of(const char *folder)
{
    DIR *open = opendir(folder);
    int count = -2; /* "." and ".." */

    assert_non_null(open);
    while (readdir(open))
        count++;
    closedir(open);
    return count;
}

/* Whoever writes the same file next removes what a killed writer left, and only that. */
static void what_a_killed_writer_left_is_removed_and_a_living_ones_is_kept(void **state)
{
    char folder[] = "/tmp/dltime-test-XXXXXX", path[64], *data;
    struct dlt_file_writer first, second;
    struct dlt_error error;
    size_t size;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();

        if (child == 0) {
            dlt_file_create(&first, path, &error);
            dlt_file_create(&second, path, &error);
            raise(SIGKILL);
        }
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_int_equal(entries_of(folder), 2);
    }
    assert_int_equal(dlt_file_create(&first, path, &error), 0);
    assert_int_equal(entries_of(folder), 1);
    assert_int_equal(dlt_file_create(&second, path, &error), 0);
    assert_int_equal(entries_of(folder), 2);
    fputs("one", first.stream);
    fputs("two", second.stream);
    assert_int_equal(dlt_file_commit(&second, &error), 0);
    assert_int_equal(dlt_file_commit(&first, &error), 0);
    assert_int_equal(entries_of(folder), 1);
    assert_int_equal(dlt_file_read(path, 100, &data, &size, &error), 0);
    assert_string_equal(data, "one");
    free(data);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* Where locks are each host's own, another host's living writer looks like a killed one. */
static void another_hosts_file_is_kept_for_a_day(void **state)
{
    static const char *const left[] = {".file.dltime-0-0", ".file.dltime-0-77", ".file.dltime-3"};
    char folder[] = "/tmp/dltime-test-XXXXXX", path[64];
    struct dlt_file_writer writer;
    struct dlt_error error;

    (void)state;
    assert_non_null(mkdtemp(folder));
    for (int hours = 23; hours <= 25; hours += 2) {
        const struct timespec then = {.tv_sec = time(NULL) - hours * 3600};

        for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
            int fd;

            snprintf(path, sizeof path, "%s/%s", folder, left[i]);
            fd = open(path, O_CREAT | O_WRONLY, 0600);
            assert_int_equal(futimens(fd, (const struct timespec[]){then, then}), 0);
            assert_int_equal(close(fd), 0);
        }
        snprintf(path, sizeof path, "%s/file", folder);
        assert_int_equal(dlt_file_create(&writer, path, &error), 0);
        assert_int_equal(entries_of(folder), hours < 24 ? 4 : 1);
        dlt_file_abandon(&writer);
    }
    assert_int_equal(rmdir(folder), 0);
}

static bool stranger_comes;
static int stranger = -1;

/* In the place of libc's: a stranger has locked the file first, as all who may read it can. */
int flock(int fd, int how)
{
    char path[32];

    if (stranger_comes) {
        stranger_comes = false;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        stranger = open(path, O_RDONLY);
        assert_return_code(syscall(SYS_flock, stranger, LOCK_EX | LOCK_NB), errno);
    }
    return (int)syscall(SYS_flock, fd, how);
}

static void a_strangers_lock_is_not_waited_for(void **state)
{
    char folder[] = "/tmp/dltime-test-XXXXXX", path[64];
    struct dlt_file_writer writer;
    struct dlt_error error;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    stranger_comes = true;
    alarm(10);
    assert_int_equal(dlt_file_create(&writer, path, &error), 0);
    alarm(0);
    assert_int_equal(entries_of(folder), 2); /* the stranger's, and the next name */
    assert_int_equal(close(stranger), 0);
    dlt_file_abandon(&writer);
    assert_int_equal(dlt_file_create(&writer, path, &error), 0);
    assert_int_equal(entries_of(folder), 1);
    dlt_file_abandon(&writer);
    assert_int_equal(rmdir(folder), 0);
}

/* A create that fails leaves nothing to abandon. */
static void what_is_no_file_is_not_replaced(void **state)
{
    char folder[] = "/tmp/dltime-test-XXXXXX";
    struct dlt_file_writer writer;
    struct dlt_error error;

    (void)state;
    assert_non_null(mkdtemp(folder));
    memset(&writer, 0xff, sizeof writer);
    assert_int_equal(dlt_file_create(&writer, folder, &error), -1);
    assert_non_null(strstr(error.text, "is a directory"));
    dlt_file_abandon(&writer);
    assert_int_equal(rmdir(folder), 0);
}

static void an_array_grows_as_it_is_filled(void **state)
{
    struct {
        short *item;
        size_t count, room;
    } list = {0};
    size_t room = 16;
    void *none = NULL;

    (void)state;
    for (short i = 0; i < 1000; i++) {
        assert_int_equal(dlt_grow(&list.item, sizeof *list.item, list.count, 1, &list.room), 0);
        list.item[list.count++] = i;
    }
    for (short i = 0; i < 1000; i++)
        assert_int_equal(list.item[i], i);
    assert_int_equal(list.room, 1024);
    assert_int_equal(dlt_grow(&list.item, sizeof *list.item, list.count, 5000, &list.room), 0);
    assert_int_equal(list.room, 8192);
    free(list.item);
    /* More than there are addresses: nothing changes. */
    assert_int_equal(dlt_grow(&none, 8, SIZE_MAX - 3, 4, &room), -1);
    assert_int_equal(dlt_grow(&none, 8, SIZE_MAX / 2, 8, &room), -1);
    assert_int_equal(dlt_grow(&none, 1024, SIZE_MAX / 8, 1, &room), -1);
    assert_null(none);
    assert_int_equal(room, 16);
}

/* The temporary name of a file with as long a name as there is would be longer. */
static void a_name_as_long_as_there_are_is_written_as_any_other(void **state)
{
    char folder[] = "/tmp/dltime-test-XXXXXX", path[32 + NAME_MAX];
    struct dlt_file_writer first, second;
    struct dlt_error error;
    size_t used;

    (void)state;
    assert_non_null(mkdtemp(folder));
    used = (size_t)snprintf(path, sizeof path, "%s/", folder);
    /* Characters of two bytes: what is left of the name has to end between two of them. */
    for (size_t i = 0; i < NAME_MAX / 2; i++)
        used += (size_t)snprintf(path + used, sizeof path - used, "\xc3\xa9");
    snprintf(path + used, sizeof path - used, "x");
    assert_int_equal(dlt_file_create(&first, path, &error), 0);
    assert_int_equal(dlt_file_create(&second, path, &error), 0);
    assert_int_equal(entries_of(folder), 2);
    assert_null(strstr(first.partial, "\xc3.dltime-"));
    assert_int_equal(dlt_file_commit(&second, &error), 0);
    dlt_file_abandon(&first);
    assert_int_equal(entries_of(folder), 1);
    assert_int_equal(unlink(path), 0);
    snprintf(path + used, sizeof path - used, "xx");
    assert_int_equal(dlt_file_create(&first, path, &error), -1);
    assert_non_null(strstr(error.text, "File name too long"));
    assert_int_equal(rmdir(folder), 0);
}

static void the_seventeenth_writer_of_a_file_is_told_what_to_do(void **state)
{
    char folder[] = "/tmp/dltime-test-XXXXXX", path[64];
    struct dlt_file_writer writer[17];
    struct dlt_error error;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    for (int i = 0; i < 16; i++)
        assert_int_equal(dlt_file_create(&writer[i], path, &error), 0);
    assert_int_equal(dlt_file_create(&writer[16], path, &error), -1);
    assert_non_null(strstr(error.text, "file: sixteen others are writing it"));
    for (int i = 0; i < 16; i++)
        dlt_file_abandon(&writer[i]);
    assert_int_equal(dlt_file_create(&writer[16], "", &error), -1);
    assert_non_null(strstr(error.text, "has no name"));
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_grows_as_it_is_filled),
        cmocka_unit_test(durations_are_read_as_slurm_and_people_write_them),
        cmocka_unit_test(durations_are_printed_as_slurm_prints_them_rounded_up),
        cmocka_unit_test(counts_and_sizes_have_three_digits_and_a_unit),
        cmocka_unit_test(what_a_terminal_would_act_on_and_what_is_not_utf8_is_replaced),
        cmocka_unit_test(numbers_are_decimal_and_nothing_else),
        cmocka_unit_test(the_nearest_name_is_offered_only_when_it_is_near),
        cmocka_unit_test(numbers_need_a_point_and_nothing_behind),
        cmocka_unit_test(control_characters_of_a_users_text_do_not_reach_the_terminal),
        cmocka_unit_test(a_sentence_that_is_too_long_ends_with_a_whole_character),
        cmocka_unit_test(a_file_is_whole_or_not_there),
        cmocka_unit_test(what_a_killed_writer_left_is_removed_and_a_living_ones_is_kept),
        cmocka_unit_test(another_hosts_file_is_kept_for_a_day),
        cmocka_unit_test(a_strangers_lock_is_not_waited_for),
        cmocka_unit_test(what_is_no_file_is_not_replaced),
        cmocka_unit_test(a_name_as_long_as_there_are_is_written_as_any_other),
        cmocka_unit_test(the_seventeenth_writer_of_a_file_is_told_what_to_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
