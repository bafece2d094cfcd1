/* SPDX-License-Identifier: Apache-2.0 */
/* One profile and one model in many threads, and on both sides of a fork. `make threads` runs this
 * under the thread sanitizer. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/paths.h"
#include "dltime.h"
#include "test.h"

enum { THREADS = 8, DEVICES = 3, NUMBERS = 4 };

static const char *const devices[DEVICES] = {"a100", "v100", "t4"};

struct shared {
    struct dlt_model *model;
    struct dlt_profile *profile;
};

struct answers {
    double number[DEVICES][NUMBERS];
};

static void open_shared(struct shared *shared)
{
    char path[4096];
    struct dlt_error error;

    assert_non_null(dlt_path(DLT_FOLDER_DATA, "profiles/general.dlp", path, sizeof path));
    if (dlt_profile_load(path, &shared->profile, &error) ||
        dlt_model_load("resnet18,batch=32,epochs=90,samples=1281167", NULL, &shared->model, &error))
        fail_msg("%s", error.text);
}

static void close_shared(struct shared *shared)
{
    dlt_model_destroy(shared->model);
    dlt_profile_destroy(shared->profile);
}

/* Returns -1 where a prediction fails. Asserts nothing: cmocka's jumps end no thread. */
static int predict(const struct shared *shared, struct answers *answers)
{
    struct dlt_error error;

    memset(answers, 0, sizeof *answers);
    for (int i = 0; i < DEVICES; i++) {
        struct dlt_question question = {.device = devices[i], .devices = 1 + i};
        struct dlt_estimate *estimate;

        if (dlt_predict(shared->model, shared->profile, &question, &estimate, &error))
            return -1;
        answers->number[i][0] = dlt_estimate_step_s(estimate);
        answers->number[i][1] = dlt_estimate_job_s(estimate);
        answers->number[i][2] = dlt_estimate_job_quantile(estimate, 0.99);
        answers->number[i][3] = dlt_estimate_memory_bytes(estimate);
        dlt_estimate_destroy(estimate);
    }
    return 0;
}

static bool same(const struct answers *a, const struct answers *b)
{
    for (int i = 0; i < DEVICES; i++)
        for (int k = 0; k < NUMBERS; k++)
            if (a->number[i][k] != b->number[i][k])
                return false;
    return true;
}

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    const struct shared *shared;
    struct answers answers;
    int number, failed;
};

/* Predicts, and makes a mistake of its own: each thread has its own sentence. */
static void *work(void *context)
{
    struct worker *worker = context;
    struct dlt_model *none = NULL;
    struct dlt_error error;
    char name[32];

    snprintf(name, sizeof name, "nothing%d", worker->number);
    pthread_barrier_wait(worker->start);
    worker->failed = predict(worker->shared, &worker->answers) ||
                     dlt_model_load(name, NULL, &none, &error) != -1 ||
                     strncmp(error.text, name, strlen(name)) != 0;
    return NULL;
}

static void threads_that_share_a_profile_and_a_model_get_the_answers_of_one(void **state)
{
    struct worker worker[THREADS];
    struct shared shared, alone;
    struct answers expected;
    pthread_barrier_t start;

    (void)state;
    open_shared(&alone);
    assert_int_equal(predict(&alone, &expected), 0);
    close_shared(&alone);
    assert_true(expected.number[0][0] > 0 && expected.number[0][1] > expected.number[0][0]);

    /* Opened anew: the threads are the first to read its sections. */
    open_shared(&shared);
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        worker[i] = (struct worker){.start = &start, .shared = &shared, .number = i};
        assert_int_equal(pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(worker[i].thread, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(worker[i].failed, 0);
        assert_true(same(&worker[i].answers, &expected));
    }
    pthread_barrier_destroy(&start);
    close_shared(&shared);
}

/* The child has only read some of the sections when it is born, and shares the file's descriptor.
 */
static void a_child_and_its_parent_both_go_on_with_an_open_profile(void **state)
{
    struct answers expected, answers;
    struct shared shared, alone;
    int status;
    pid_t child;

    (void)state;
    open_shared(&alone);
    assert_int_equal(predict(&alone, &expected), 0);
    close_shared(&alone);

    open_shared(&shared);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int failed = predict(&shared, &answers) || !same(&answers, &expected);

        close_shared(&shared);
        _exit(failed);
    }
    assert_int_equal(predict(&shared, &answers), 0);
    assert_true(same(&answers, &expected));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    /* What the child closed is open here. */
    assert_int_equal(predict(&shared, &answers), 0);
    assert_true(same(&answers, &expected));
    close_shared(&shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_share_a_profile_and_a_model_get_the_answers_of_one),
        cmocka_unit_test(a_child_and_its_parent_both_go_on_with_an_open_profile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
