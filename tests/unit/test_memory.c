/* SPDX-License-Identifier: Apache-2.0 */
/* A prediction, an advice and a training whose n-th allocation fails, for each n until none does:
 * it ends with a sentence or with the right answer, and gives everything back. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <json-c/json.h>
#include <libconfig.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../plugin/advise/advise.h"
#include "base/paths.h"
#include "learn/train.h"
#include "test.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_ALLOCATOR 0
#endif
#endif
#ifndef OWN_ALLOCATOR
#define OWN_ALLOCATOR 1
#endif

static long countdown; /* the allocation that fails; 0: none */
static long held;      /* blocks that were not given back */
static FILE *sink;     /* where a table is printed to */

#if OWN_ALLOCATOR

/* glibc's own, below the names that this program takes over for itself and its libraries. */
extern void *__libc_malloc(size_t);          /* NOLINT(bugprone-*,cert-*) */
extern void *__libc_calloc(size_t, size_t);  /* NOLINT(bugprone-*,cert-*) */
extern void *__libc_realloc(void *, size_t); /* NOLINT(bugprone-*,cert-*) */
extern void __libc_free(void *);             /* NOLINT(bugprone-*,cert-*) */

static bool refused(void)
{
    if (countdown == 0 || --countdown > 0)
        return false;
    errno = ENOMEM;
    return true;
}

static void *counted(void *block)
{
    held += block != NULL;
    return block;
}

void *malloc(size_t size)
{
    return refused() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return refused() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size)
{
    if (refused())
        return NULL;
    return block ? __libc_realloc(block, size) : counted(__libc_malloc(size));
}

/* What is used after this is no longer what it was. */
void free(void *block)
{
    int saved = errno;

    if (block) {
        memset(block, 0xdd, malloc_usable_size(block));
        held--;
        __libc_free(block);
    }
    errno = saved;
}

/* json-c's parser (0.16) and libconfig (1.5) crash by themselves where memory is short: their
 * allocations are granted. */
int config_read_string(config_t *config, const char *text)
{
    int (*parse)(config_t *, const char *);
    long saved = countdown;
    int result;

    countdown = 0;
    *(void **)&parse = dlsym(RTLD_NEXT, "config_read_string");
    result = parse(config, text);
    countdown = saved;
    return result;
}

void config_init(config_t *config)
{
    void (*init)(config_t *);
    long saved = countdown;

    countdown = 0;
    *(void **)&init = dlsym(RTLD_NEXT, "config_init");
    init(config);
    countdown = saved;
}

struct json_object *json_tokener_parse_ex(struct json_tokener *tokener, const char *text, int size)
{
    struct json_object *(*parse)(struct json_tokener *, const char *, int);
    long saved = countdown;
    struct json_object *object;

    countdown = 0;
    *(void **)&parse = dlsym(RTLD_NEXT, "json_tokener_parse_ex");
    object = parse(tokener, text, size);
    countdown = saved;
    return object;
}

#endif

static int open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* Returns -1 with a sentence, or 0 with a number that tells one answer from another. */
typedef int attempt(const void *what, double *answer, struct dlt_error *error);

/* Returns how many allocations the attempt makes. */
static long fail_each(attempt *try, const void *what)
{
    struct dlt_error error;
    double expected = 0, answer;
    long before, n = 0;
    int files, result;

    /* What is made once in a process is made now. */
    if (try(what, &expected, &error))
        fail_msg("%s", error.text);
    files = open_files();
    do {
        memset(&error, 0, sizeof error);
        answer = 0;
        before = held;
        countdown = ++n;
        result = try(what, &answer, &error);
        if (result == 0 ? answer != expected
                        : !memchr(error.text, 0, sizeof error.text) || !*error.text) {
            countdown = 0;
            fail_msg("allocation %ld: returned %d, %g instead of %g: %s", n, result, answer,
                     expected, error.text);
        }
        if (held != before) {
            countdown = 0;
            fail_msg("allocation %ld: %ld blocks were lost: %s", n, held - before, error.text);
        }
    } while (countdown == 0);
    countdown = 0;
    assert_int_equal(open_files(), files);
    return n - 1;
}

static const char *profile_path(void)
{
    static char path[4096];

    assert_non_null(dlt_path(DLT_FOLDER_DATA, "profiles/tesla-t4.pytorch.dlp", path, sizeof path));
    return path;
}

static int predict(const void *what, double *answer, struct dlt_error *error)
{
    const struct dlt_question question = {.device = "t4", .devices = 2};
    struct dlt_model *model = NULL;
    struct dlt_profile *profile = NULL;
    struct dlt_estimate *estimate = NULL;
    int result = dlt_model_load(what, NULL, &model, error) ||
                         dlt_profile_load(profile_path(), &profile, error) ||
                         dlt_predict(model, profile, &question, &estimate, error)
                     ? -1
                     : 0;

    if (result == 0)
        *answer = dlt_estimate_job_quantile(estimate, 0.9);
    dlt_estimate_destroy(estimate);
    dlt_profile_destroy(profile);
    dlt_model_destroy(model);
    return result;
}

static void skip_under_sanitizers(void)
{
    if (!OWN_ALLOCATOR)
        skip();
}

static void a_model_in_json(void **state)
{
    (void)state;
    skip_under_sanitizers();
    assert_true(fail_each(predict, "lenet5,batch=32,steps=100") > 100);
}

static void a_model_in_onnx(void **state)
{
    char path[4096], spec[4200];

    (void)state;
    skip_under_sanitizers();
    assert_non_null(
        dlt_path(DLT_FOLDER_DATA, "../tests/fuzz/seeds/onnx/gpt2-like-14.onnx", path, sizeof path));
    snprintf(spec, sizeof spec, "%s,batch=4,steps=100", path);
    assert_true(fail_each(predict, spec) > 100);
}

static void a_configuration_of_hugging_face(void **state)
{
    char path[] = "/tmp/dltime-memory-XXXXXX.json", spec[64];
    int fd;

    (void)state;
    skip_under_sanitizers();
    fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    assert_true(dprintf(fd, "{\"model_type\": \"gpt2\", \"n_embd\": 64, \"n_layer\": 2,"
                            " \"n_head\": 4, \"n_positions\": 128, \"vocab_size\": 100}") > 0);
    close(fd);
    snprintf(spec, sizeof spec, "%s,batch=4,steps=100", path);
    assert_true(fail_each(predict, spec) > 100);
    unlink(path);
}

/* A portal's way: the profile stays open, and is asked again after a failure. */
static int predict_twice(const void *what, double *answer, struct dlt_error *error)
{
    const struct dlt_question question = {.device = "t4", .devices = 2};
    long saved = countdown;
    struct dlt_model *model = NULL;
    struct dlt_profile *profile = NULL;
    struct dlt_estimate *estimate = NULL;
    int result;

    countdown = 0;
    if (dlt_model_load(what, NULL, &model, error) ||
        dlt_profile_load(profile_path(), &profile, error))
        fail_msg("%s", error->text);
    countdown = saved;
    result = dlt_predict(model, profile, &question, &estimate, error);
    if (result) {
        if (!strstr(error->text, "memory"))
            fail_msg("%s", error->text);
        saved = countdown;
        countdown = 0;
        if (dlt_predict(model, profile, &question, &estimate, error))
            fail_msg("%s", error->text);
        countdown = saved;
    }
    *answer = dlt_estimate_job_quantile(estimate, 0.9);
    dlt_estimate_destroy(estimate);
    dlt_profile_destroy(profile);
    dlt_model_destroy(model);
    return 0;
}

static void a_profile_that_is_asked_again_after_a_failure(void **state)
{
    (void)state;
    skip_under_sanitizers();
    assert_true(fail_each(predict_twice, "lenet5,batch=32,steps=100") > 10);
}

static int load_learned(const void *what, double *answer, struct dlt_error *error)
{
    char path[2][4096];
    struct dlt_scaling *scaling = NULL;
    struct dlt_history *history = NULL;
    int result;

    (void)what;
    dlt_path(DLT_FOLDER_DATA, "../tests/fuzz/seeds/learned/scaling.json", path[0], sizeof path[0]);
    dlt_path(DLT_FOLDER_DATA, "../tests/fuzz/seeds/learned/history.json", path[1], sizeof path[1]);
    result =
        dlt_scaling_load(path[0], &scaling, error) || dlt_history_load(path[1], &history, error)
            ? -1
            : 0;
    *answer = result == 0;
    dlt_scaling_destroy(scaling);
    dlt_history_destroy(history);
    return result;
}

static void what_was_learned_from_runs_and_jobs(void **state)
{
    (void)state;
    skip_under_sanitizers();
    assert_true(fail_each(load_learned, NULL) > 4);
}

static struct dlt_snapshot *two_partitions(void)
{
    struct dlt_snapshot *snapshot = dlt_snapshot_create();

    for (int i = 0; snapshot && i < 2; i++) {
        struct dlt_partition *partition = dlt_snapshot_add(snapshot);

        if (!partition) {
            dlt_snapshot_destroy(snapshot);
            return NULL;
        }
        snprintf(partition->name, sizeof partition->name, "p%d", i);
        partition->up = true;
        partition->max_time_s = 86400;
    }
    return snapshot;
}

/* From configuration and cluster to the printed table. A partition without an estimate for want of
 * memory says so where its times would stand. */
static int advise(const void *conf, double *answer, struct dlt_error *error)
{
    struct dlt_snapshot *snapshot = two_partitions();
    struct dlt_config config;
    struct dlt_request request;
    struct dlt_advice_question question = {.config = &config,
                                           .snapshot = snapshot,
                                           .request = &request,
                                           .spec = "lenet5,batch=32,steps=1000000"};
    struct dlt_advice *advice = NULL;
    int result;

    if (!snapshot) {
        snprintf(error->text, sizeof error->text, "no snapshot");
        return -1;
    }
    dlt_request_init(&request);
    request.per_node.count = 1;
    result =
        dlt_config_load(conf, geteuid(), &config, error) || dlt_advise(&question, &advice, error)
            ? -1
            : 0;
    for (size_t i = 0; result == 0 && i < advice->count; i++) {
        *answer += advice->candidates[i].job_s;
        if (advice->candidates[i].why) {
            snprintf(error->text, sizeof error->text, "%s", advice->candidates[i].why);
            result = -1;
        }
    }
    if (advice)
        dlt_advice_print(sink, advice, false);
    dlt_advice_destroy(advice);
    dlt_config_clear(&config);
    dlt_snapshot_destroy(snapshot);
    return result;
}

static void an_advice_over_two_partitions(void **state)
{
    char folder[] = "/tmp/dltime-memory-XXXXXX", path[64];
    FILE *file;

    (void)state;
    skip_under_sanitizers();
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/dltime.conf", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("partitions = (\n"
          "  { name = \"p0\"; device = \"Tesla T4\"; gpus_per_node = 1;\n"
          "    profile = \"tesla-t4.pytorch\"; },\n"
          "  { name = \"p1\"; device = \"NVIDIA H100 PCIe\"; gpus_per_node = 1;\n"
          "    profile = \"general\"; });\n",
          file);
    assert_int_equal(fclose(file), 0);
    sink = fopen("/dev/null", "w");
    assert_non_null(sink);
    setvbuf(sink, NULL, _IONBF, 0);
    assert_true(fail_each(advise, path) > 100);
    fclose(sink);
    unlink(path);
    rmdir(folder);
}

/* Three operators, of which one has too few rows for a section. */
static const char *measured_rows(void)
{
    static char text[8192];
    int used = snprintf(text, sizeof text,
                        "{\"format\":\"dltime-measurements\",\"version\":1,\"device\":{\"name\":"
                        "\"Tesla K40\"},\"software\":{\"timing\":\"events_batched\"}}\n");

    for (int i = 1; i <= 24; i++) {
        static const char *const operators[] = {
            "\"dense\",\"batch\":%d,\"in_features\":64,\"out_features\":64",
            "\"softmax\",\"rows\":%d,\"columns\":1000"};
        char operator[96];

        snprintf(operator, sizeof operator, operators[i % 2], 64 * i);
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "{\"op\":%s,\"pass\":\"forward\",\"median_ms\":%g}\n", operator,
                         0.01 + 0.001 * i);
    }
    return text;
}

static int train(const void *path, double *answer, struct dlt_error *error)
{
    const struct dlt_train_settings settings = {.seed = 1, .threads = 1};
    struct dlt_corpus corpus = {.seed = 1, .most_rows = 10};
    struct dlt_profile_writer writer = {0};
    void *bytes = NULL;
    struct dlt_repeats repeats;
    size_t size = 0;
    int result = dlt_corpus_add(&corpus, path, error);

    if (result == 0 && dlt_corpus_unique(&corpus, &repeats)) {
        snprintf(error->text, sizeof error->text, "no memory to compare rows");
        result = -1;
    }
    if (result == 0)
        result = dlt_train(&corpus, &settings, &writer, error) ||
                         dlt_profile_writer_bytes(&writer, &bytes, &size, error)
                     ? -1
                     : 0;
    for (size_t i = 0; i < size; i++)
        *answer += (double)(i % 97 * ((unsigned char *)bytes)[i]);
    free(bytes);
    dlt_profile_writer_clear(&writer);
    dlt_corpus_clear(&corpus);
    return result;
}

static void a_training_on_a_sample_of_few_rows(void **state)
{
    char path[] = "/tmp/dltime-memory-XXXXXX.jsonl";
    int fd;

    (void)state;
    skip_under_sanitizers();
    setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
    fd = mkstemps(path, 6);
    assert_true(fd >= 0);
    assert_int_equal(dprintf(fd, "%s", measured_rows()), strlen(measured_rows()));
    close(fd);
    assert_true(fail_each(train, path) > 100);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_in_json),
        cmocka_unit_test(a_model_in_onnx),
        cmocka_unit_test(a_configuration_of_hugging_face),
        cmocka_unit_test(a_profile_that_is_asked_again_after_a_failure),
        cmocka_unit_test(what_was_learned_from_runs_and_jobs),
        cmocka_unit_test(an_advice_over_two_partitions),
        cmocka_unit_test(a_training_on_a_sample_of_few_rows),
    };

    /* glibc's newlocale, which json-c calls, never gives its copy of it back. */
    unsetenv("LOCPATH");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
