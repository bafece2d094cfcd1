/* SPDX-License-Identifier: Apache-2.0 */
/* The child with a deadline, and the memory between submissions. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../plugin/advise/cache.h"
#include "../../plugin/advise/child.h"
#include "test.h"

static int answer(FILE *stream, void *context)
{
    fprintf(stream, "%s", (const char *)context);
    fprintf(stderr, "this must not be seen\n");
    return 0;
}

/* What `dltime advise` does: the answer is another program's standard output. */
static int run_program(FILE *stream, void *context)
{
    (void)context;
    dup2(fileno(stream), STDOUT_FILENO);
    execl("/bin/echo", "echo", "partition", (char *)NULL);
    return -1;
}

static int fail_with_a_reason(FILE *stream, void *context)
{
    (void)context;
    fputs("controller is away", stream);
    return -1;
}

static int wait_for_ever(void)
{
    while (pause() < 0)
        ;
    return 0;
}

static int hang(FILE *stream, void *context)
{
    (void)stream;
    (void)context;
    return wait_for_ever();
}

static int close_and_hang(FILE *stream, void *context)
{
    (void)context;
    fclose(stream);
    return wait_for_ever();
}

static int flood(FILE *stream, void *context)
{
    (void)context;
    while (!ferror(stream))
        fputs("0123456789abcdef", stream);
    return 0;
}

static int crash(FILE *stream, void *context)
{
    (void)stream;
    (void)context;
    abort();
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void assert_no_children(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void the_answer_of_a_child_arrives_whole(void **state)
{
    struct dlt_error error;
    char *data;
    size_t size;

    (void)state;
    assert_int_equal(
        dlt_child_collect(answer, "partition\n", "nobody", 5, 100, &data, &size, &error), 0);
    assert_string_equal(data, "partition\n");
    assert_int_equal(size, 10);
    free(data);
    assert_no_children();
}

static void streams_that_the_caller_closed_are_no_hindrance(void **state)
{
    int kept[] = {dup(STDIN_FILENO), dup(STDOUT_FILENO)};
    struct dlt_error error;
    char *data = NULL;
    int result;
    size_t size;

    (void)state;
    fflush(stdout);
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    result = dlt_child_collect(run_program, NULL, "nobody", 5, 100, &data, &size, &error);
    dup2(kept[0], STDIN_FILENO);
    dup2(kept[1], STDOUT_FILENO);
    close(kept[0]);
    close(kept[1]);
    assert_int_equal(result, 0);
    assert_string_equal(data, "partition\n");
    free(data);
}

static void a_failure_gives_the_childs_reason(void **state)
{
    struct dlt_error error;
    char *data;
    size_t size;

    (void)state;
    assert_int_equal(
        dlt_child_collect(fail_with_a_reason, NULL, "Slurm", 5, 100, &data, &size, &error), -1);
    assert_string_equal(error.text, "Slurm: controller is away");
    assert_int_equal(dlt_child_collect(crash, NULL, "Slurm", 5, 100, &data, &size, &error), -1);
    assert_no_children();
}

static void a_child_that_hangs_costs_the_deadline_and_no_more(void **state)
{
    dlt_child_work *const works[] = {hang, close_and_hang};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct dlt_error error;
        double start = now_s(), took;
        char *data;
        size_t size;

        assert_int_equal(dlt_child_collect(works[i], NULL, "Slurm", 0.2, 100, &data, &size, &error),
                         -1);
        took = now_s() - start;
        assert_true(took >= 0.19);
        /* Generous: the machine may be busy. */
        assert_true(took < 2);
        assert_no_children();
    }
}

static void a_caller_that_ignores_its_children_gets_the_answer(void **state)
{
    struct dlt_error error;
    char *data;
    size_t size;

    (void)state;
    signal(SIGCHLD, SIG_IGN);
    assert_int_equal(
        dlt_child_collect(answer, "partition\n", "nobody", 5, 100, &data, &size, &error), 0);
    assert_string_equal(data, "partition\n");
    free(data);
    assert_int_equal(dlt_child_collect(hang, NULL, "Slurm", 0.2, 100, &data, &size, &error), -1);
    signal(SIGCHLD, SIG_DFL);
}

static const struct timespec moment = {1, 0};

/* vfork's parent sleeps in the kernel, deaf to signals, until its child has ended: nothing else
 * that a test can do is as deaf, which is what vfork is warned of. */
static int sleep_in_the_kernel(FILE *stream, void *context)
{
    (void)stream;
    (void)context;
    if (vfork() == 0) {           /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
        nanosleep(&moment, NULL); /* NOLINT(clang-analyzer-unix.Vfork) */
        _exit(0);
    }
    return 0;
}

static void a_child_that_cannot_be_killed_costs_the_deadline_all_the_same(void **state)
{
    struct dlt_error error;
    double start = now_s(), took;
    char *data;
    size_t size;

    (void)state;
    assert_int_equal(
        dlt_child_collect(sleep_in_the_kernel, NULL, "Slurm", 0.2, 100, &data, &size, &error), -1);
    took = now_s() - start;
    assert_true(took < 0.9);
    assert_non_null(strstr(error.text, "did not answer within 0.2 s"));
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

static void a_full_disk_leaves_the_cache_empty_and_the_process_alive(void **state)
{
    char folder[] = "/tmp/test_advise_cache.XXXXXX", command[128];
    struct rlimit before, none;
    char *data;
    size_t size;

    (void)state;
    assert_non_null(mkdtemp(folder));
    setenv("XDG_RUNTIME_DIR", folder, 1);
    /* No byte can be written, and a signal says so. */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    dlt_cache_write("cluster a", "text", 4);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(dlt_cache_read("cluster a", 60, 100, &data, &size));
    snprintf(command, sizeof command, "rmdir %s/dltime %s", folder, folder);
    assert_int_equal(system(command), 0);
}

static void a_child_that_never_ends_talking_is_stopped(void **state)
{
    struct dlt_error error;
    char *data;
    size_t size;

    (void)state;
    assert_int_equal(dlt_child_collect(flood, NULL, "Slurm", 5, 1 << 20, &data, &size, &error), -1);
    assert_no_children();
}

static void the_cache_keeps_an_answer_for_as_long_as_is_said(void **state)
{
    char folder[] = "/tmp/test_advise_cache.XXXXXX", command[64];
    char *data;
    size_t size;

    (void)state;
    assert_non_null(mkdtemp(folder));
    setenv("XDG_RUNTIME_DIR", folder, 1);
    assert_false(dlt_cache_read("cluster a", 60, 100, &data, &size));
    dlt_cache_write("cluster a", "text", 4);
    assert_true(dlt_cache_read("cluster a", 60, 100, &data, &size));
    assert_string_equal(data, "text");
    free(data);
    assert_false(dlt_cache_read("cluster b", 60, 100, &data, &size));
    /* No cache at all: not even what was written a moment ago. */
    assert_false(dlt_cache_read("cluster a", 0, 100, &data, &size));
    /* Larger than is allowed. */
    assert_false(dlt_cache_read("cluster a", 60, 3, &data, &size));
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void a_cache_that_others_can_reach_is_not_used(void **state)
{
    char folder[] = "/tmp/test_advise_cache.XXXXXX", inner[64], command[64];
    char *data;
    size_t size;

    (void)state;
    assert_non_null(mkdtemp(folder));
    setenv("XDG_RUNTIME_DIR", folder, 1);
    dlt_cache_write("cluster a", "text", 4);
    snprintf(inner, sizeof inner, "%s/dltime", folder);
    chmod(inner, 0755);
    assert_false(dlt_cache_read("cluster a", 60, 100, &data, &size));
    chmod(inner, 0700);
    assert_true(dlt_cache_read("cluster a", 60, 100, &data, &size));
    free(data);
    if (geteuid() == 0) {
        assert_int_equal(chown(inner, 4242, 4242), 0);
        assert_false(dlt_cache_read("cluster a", 60, 100, &data, &size));
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    /* A folder that cannot be made is no failure. */
    dlt_cache_write("cluster a", "text", 4);
    assert_false(dlt_cache_read("cluster a", 60, 100, &data, &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_of_a_child_arrives_whole),
        cmocka_unit_test(streams_that_the_caller_closed_are_no_hindrance),
        cmocka_unit_test(a_failure_gives_the_childs_reason),
        cmocka_unit_test(a_child_that_hangs_costs_the_deadline_and_no_more),
        cmocka_unit_test(a_caller_that_ignores_its_children_gets_the_answer),
        cmocka_unit_test(a_child_that_cannot_be_killed_costs_the_deadline_all_the_same),
        cmocka_unit_test(a_full_disk_leaves_the_cache_empty_and_the_process_alive),
        cmocka_unit_test(a_child_that_never_ends_talking_is_stopped),
        cmocka_unit_test(the_cache_keeps_an_answer_for_as_long_as_is_said),
        cmocka_unit_test(a_cache_that_others_can_reach_is_not_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
