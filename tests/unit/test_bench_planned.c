/* SPDX-License-Identifier: Apache-2.0 */

/* Networks with and without a plan of their memory, on the backends that are built beside this
 * program: oneDNN, and the CUDA backend with a device on the host. */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "network_build.h"
#include "plan.h"
#include "test.h"

enum { STEPS = 3, PLACES = 2 };

/* Each has what a plan can get wrong: two readers of a tensor (their gradients add up), relu in
 * place, views, padding that is not the same on both sides, concatenation, shared weights. */
static const char *const small[] = {
    "{\"name\": \"residual\", \"input\": [4, 9, 9], \"layers\": ["
    "{\"op\": \"conv2d\", \"name\": \"a\", \"out_channels\": 8, \"kernel_size\": 3, \"padding\": "
    "1},"
    "{\"op\": \"batch_norm\"}, {\"op\": \"relu\", \"name\": \"x\"},"
    "{\"op\": \"conv2d\", \"name\": \"b\", \"out_channels\": 8, \"kernel_size\": 3, \"padding\": "
    "1},"
    "{\"op\": \"relu\", \"name\": \"y\"},"
    "{\"op\": \"conv2d\", \"name\": \"c\", \"out_channels\": 8, \"kernel_size\": 1, \"inputs\": "
    "[\"x\"]},"
    "{\"op\": \"add\", \"inputs\": [\"y\", \"c\"]}, {\"op\": \"relu\", \"name\": \"z\"},"
    "{\"op\": \"add\", \"inputs\": [\"z\", \"x\"]}, {\"op\": \"dropout\"},"
    "{\"op\": \"adaptive_avg_pool2d\", \"output_size\": 1}, {\"op\": \"flatten\"},"
    "{\"op\": \"dense\", \"out_features\": 10}]}",
    "{\"name\": \"unet\", \"input\": [3, 16, 16], \"layers\": ["
    "{\"op\": \"conv2d\", \"name\": \"a\", \"out_channels\": 8, \"kernel_size\": 3, \"padding\": "
    "1},"
    "{\"op\": \"relu\", \"name\": \"one\"}, {\"op\": \"max_pool2d\", \"kernel_size\": 2},"
    "{\"op\": \"conv2d\", \"out_channels\": 16, \"kernel_size\": 3, \"padding\": 1},"
    "{\"op\": \"relu\", \"name\": \"two\"}, {\"op\": \"max_pool2d\", \"kernel_size\": 2},"
    "{\"op\": \"conv2d\", \"out_channels\": 16, \"kernel_size\": 3, \"padding\": 1},"
    "{\"op\": \"conv_transpose2d\", \"out_channels\": 16, \"kernel_size\": 2, \"stride\": 2},"
    "{\"op\": \"concat\", \"dim\": 1, \"inputs\": [\"@\", \"two\"]},"
    "{\"op\": \"conv2d\", \"out_channels\": 8, \"kernel_size\": 3, \"padding\": 1},"
    "{\"op\": \"upsample\", \"scale_factor\": 2},"
    "{\"op\": \"concat\", \"dim\": 1, \"inputs\": [\"@\", \"one\"]},"
    "{\"op\": \"conv2d\", \"out_channels\": 5, \"kernel_size\": 1},"
    "{\"op\": \"permute\", \"dims\": [0, 2, 3, 1]}]}",
    "{\"name\": \"encoder\", \"inputs\": {\"ids\": {\"shape\": [6], \"dtype\": \"int64\"}},"
    "\"layers\": ["
    "{\"op\": \"embedding\", \"name\": \"table\", \"num_embeddings\": 50, \"embedding_dim\": 16,"
    "\"inputs\": [\"ids\"]},"
    "{\"op\": \"layer_norm\", \"name\": \"x\"},"
    "{\"op\": \"multi_head_attention\", \"embed_dim\": 16, \"num_heads\": 2, \"batch_first\": "
    "true},"
    "{\"op\": \"add\", \"inputs\": [\"@\", \"x\"]}, {\"op\": \"layer_norm\", \"name\": \"y\"},"
    "{\"op\": \"dense\", \"out_features\": 32}, {\"op\": \"gelu\"},"
    "{\"op\": \"dense\", \"out_features\": 16},"
    "{\"op\": \"add\", \"inputs\": [\"@\", \"y\"]},"
    "{\"op\": \"slice\", \"dim\": 1, \"start\": 1, \"end\": 6},"
    "{\"op\": \"dense\", \"out_features\": 50, \"bias\": false, \"weights\": \"table\"}]}"};
static const char *const keys[] = {"batch=2,optimizer=adam", "batch=1,optimizer=momentum",
                                   "batch=3,optimizer=adagrad"};

static char folder[PATH_MAX - 64];
static struct dlbench_backend backend[PLACES]; /* copies; without a name: not built */
static const char *const files[PLACES] = {"backend_onednn.so", "-host/backend_cuda13.so"};

static int load(void **state)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    (void)state;
    if (length < 0)
        return -1;
    path[length] = '\0';
    snprintf(folder, sizeof folder, "%s", dirname(dirname(path)));
    for (int i = 0; i < PLACES; i++) {
        const struct dlbench_backend *found = NULL;
        void *object;

        snprintf(path, sizeof path, "%s%s%s", folder, i == 0 ? "/" : "", files[i]);
        object = access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (object)
            found = dlsym(object, "dlbench_backend");
        else
            print_message("not built, and so not tested: %s\n", path);
        if (found)
            backend[i] = *found;
    }
    return 0;
}

/* One thread: sums in one order. */
static struct bench_session open_session(const struct dlbench_backend *with, double memory_bytes)
{
    static const int cpus[1] = {0};
    struct bench_session session = {.backend = with, .memory_bytes = memory_bytes, .threads = 1};
    const struct bench_options options = {
        .cpus = cpus, .threads = 1, .memory_bytes = memory_bytes, .touch = false, .seed = 1};
    struct dlt_error error;

    if (with->open(&options, &session.context, &error))
        fail_msg("%s", error.text);
    return session;
}

static struct dlt_model *load_model(const char *spec, const char *text)
{
    static char name[] = "/tmp/dltime-planned-XXXXXX.json";
    char whole[128], copy[sizeof name];
    struct dlt_model *model = NULL;
    struct dlt_error error;
    int status;

    if (!text) {
        status = dlt_model_load(spec, NULL, &model, &error);
    } else {
        int file;

        memcpy(copy, name, sizeof copy);
        file = mkstemps(copy, 5);
        assert_true(file >= 0);
        assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
        close(file);
        snprintf(whole, sizeof whole, "%s,%s", copy, spec);
        status = dlt_model_load(whole, NULL, &model, &error);
        unlink(copy);
    }
    if (status)
        fail_msg("%s", error.text);
    return model;
}

/* What training leaves: each step's loss, and the sums of all weights' squares. */
struct result {
    double loss[STEPS], squares, memory, least;
};

static double squares_of(struct bench_network *n)
{
    double sum = 0;

    for (size_t i = 0; i < n->stage_count; i++) {
        const struct bench_stage *stage = &n->stage[i];
        static double values[4096];
        struct dlt_error error;

        /* Of the sizes that these networks have: the ones that are read have that many elements. */
        for (size_t count = 1; stage->weight_gradient && count <= 4096; count++) {
            if (n->backend->read(stage->layer, BENCH_WEIGHT, 0, values, count, &error))
                continue;
            for (size_t k = 0; k < count; k++)
                sum += values[k] * values[k] * (double)(1 + (k + i) % 7);
            break;
        }
    }
    return sum;
}

static struct result train(const struct dlbench_backend *with, struct dlt_model *model)
{
    struct bench_session session = open_session(with, 256 << 20);
    struct bench_step_times times;
    struct bench_network *n = NULL;
    struct dlt_error error;
    struct result result;

    if (bench_network_create(&session, model, model->training.batch, &n, &error))
        fail_msg("%s: %s", with->name, error.text);
    if (with->plan)
        assert_true(bench_plan_holds(with->plan(session.context)));
    /* Large steps, so that a wrong gradient shows in all that follows. */
    for (int i = 0; i < STEPS; i++) {
        if (bench_network_step(n, &times, &error))
            fail_msg("%s: %s", with->name, error.text);
        result.loss[i] = bench_network_loss(n);
    }
    result.squares = squares_of(n);
    result.memory = bench_network_memory(n);
    result.least = bench_network_least_memory(n);
    bench_network_destroy(n);
    with->close(session.context);
    return result;
}

static void a_network_trains_to_the_same_bits_with_and_without_a_plan(void **state)
{
    (void)state;
    for (int i = 0; i < PLACES; i++) {
        struct dlbench_backend plain = backend[i];

        plain.plan = NULL;
        for (size_t m = 0; backend[i].name && m < sizeof small / sizeof *small; m++) {
            struct dlt_model *model = load_model(keys[m], small[m]);
            struct result planned = train(&backend[i], model), whole = train(&plain, model);

            for (int s = 0; s < STEPS; s++)
                assert_near(planned.loss[s], whole.loss[s], 0);
            assert_true(planned.loss[0] > 0 && planned.squares > 0);
            assert_near(planned.squares, whole.squares, 0);
            assert_true(planned.memory < whole.memory);
            assert_true(planned.memory >= planned.least);
            dlt_model_destroy(model);
        }
    }
}

/* As built for a step: no two arrays that are alive together overlap, and what they take is within
 * a tenth of the least. The device on the host has 1 GiB. */
static void shipped_networks_plans_hold(void **state)
{
    static const struct {
        const char *spec;
        int places;
    } cases[] = {{"resnet18,batch=2", PLACES},
                 {"googlenet,batch=1", PLACES},
                 {"unet,batch=1", 1},
                 {"bert_base,batch=1,seq=16,optimizer=sgd", 1}};

    (void)state;
    for (size_t m = 0; m < sizeof cases / sizeof *cases; m++) {
        struct dlt_model *model = load_model(cases[m].spec, NULL);

        for (int i = 0; i < cases[m].places; i++) {
            struct bench_session session;
            struct bench_network *n = NULL;
            struct dlt_error error;

            if (!backend[i].name)
                continue;
            session = open_session(&backend[i], 4e9);
            if (bench_network_create(&session, model, model->training.batch, &n, &error))
                fail_msg("%s: %s: %s", backend[i].name, cases[m].spec, error.text);
            assert_true(backend[i].plan(session.context)->count > 100);
            assert_true(bench_plan_holds(backend[i].plan(session.context)));
            assert_true(bench_network_memory(n) < 1.1 * bench_network_least_memory(n));
            bench_network_destroy(n);
            backend[i].close(session.context);
        }
        dlt_model_destroy(model);
    }
}

/* And the context serves the next network. */
static void a_step_that_does_not_fit_is_skipped(void **state)
{
    (void)state;
    for (int i = 0; i < PLACES; i++) {
        struct bench_session session;
        struct dlt_model *large, *fits;
        struct bench_network *n = NULL;
        struct dlt_error error;

        if (!backend[i].name)
            continue;
        large = load_model("batch=600", small[0]);
        fits = load_model(keys[0], small[0]);
        session = open_session(&backend[i], 8 << 20);
        assert_int_equal(bench_network_create(&session, large, large->training.batch, &n, &error),
                         BENCH_NO_MEMORY);
        assert_non_null(strstr(error.text, "MiB"));
        assert_int_equal(bench_network_create(&session, fits, fits->training.batch, &n, &error), 0);
        bench_network_destroy(n);
        backend[i].close(session.context);
        dlt_model_destroy(large);
        dlt_model_destroy(fits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_trains_to_the_same_bits_with_and_without_a_plan),
        cmocka_unit_test(shipped_networks_plans_hold),
        cmocka_unit_test(a_step_that_does_not_fit_is_skipped),
    };

    return cmocka_run_group_tests(tests, load, NULL);
}
