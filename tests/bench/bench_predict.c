/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a profile and predicting networks with it. Usage: bench_predict PROFILE [DEVICE [SPEC]];
 * with a SPEC once, for counting instructions from outside. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "device/devices.h"
#include "predict/prepare.h"
#include "predict/profile_format.h"

enum { REPEATS = 50 };

static void fail(const char *sentence)
{
    fprintf(stderr, "bench_predict: %s\n", sentence);
    exit(2);
}

static const char *device; /* asked for; NULL: the profile's only one */

/* One prediction. opened: a profile that is open already, or NULL. */
static void predict(const char *path, struct dlt_prepared *prepared, struct dlt_profile *opened)
{
    const struct dlt_question question = {.device = device, .devices = 1, .nodes = 1};
    struct dlt_profile *profile = opened;
    struct dlt_estimate *estimate = NULL;
    struct dlt_error error;

    if (!profile && dlt_profile_load(path, &profile, &error))
        fail(error.text);
    if (dlt_predict_prepared(prepared, profile, &question, &estimate, &error))
        fail(error.text);
    if (!(dlt_estimate_step_s(estimate) > 0))
        fail("no step time");
    dlt_estimate_destroy(estimate);
    if (!opened)
        dlt_profile_destroy(profile);
}

/* anew: graph and lowering are part of each; else of none. */
static double least_time(const char *path, const struct dlt_model *model,
                         struct dlt_profile *opened, bool anew)
{
    struct dlt_prepared *prepared = NULL;
    struct dlt_error error;
    double least = INFINITY;

    for (int i = 0; i < REPEATS; i++) {
        double begin = bench_now();

        if ((!prepared || anew) && dlt_prepare(model, &prepared, &error))
            fail(error.text);
        predict(path, prepared, opened);
        least = fmin(least, bench_now() - begin);
        if (anew)
            dlt_prepared_destroy(prepared);
    }
    if (!anew)
        dlt_prepared_destroy(prepared);
    return least;
}

static double open_time(const char *path)
{
    double least = INFINITY;

    for (int i = 0; i < REPEATS; i++) {
        struct dlt_profile *profile;
        struct dlt_error error;
        double begin = bench_now();

        if (dlt_profile_load(path, &profile, &error))
            fail(error.text);
        dlt_profile_destroy(profile);
        least = fmin(least, bench_now() - begin);
    }
    return least;
}

static struct dlt_model *load(const char *spec)
{
    struct dlt_model *model = NULL;
    struct dlt_error error;

    if (dlt_model_load(spec, NULL, &model, &error))
        fail(error.text);
    return model;
}

static void once(const char *path, const char *spec)
{
    struct dlt_model *model = load(spec);
    struct dlt_prepared *prepared;
    struct dlt_error error;

    if (dlt_prepare(model, &prepared, &error))
        fail(error.text);
    predict(path, prepared, NULL);
    dlt_prepared_destroy(prepared);
    dlt_model_destroy(model);
}

/* A network after the profile has been opened: what the design promises, and its parts. */
static void network(const char *path, const char *name, const char *spec, double limit_ms)
{
    struct dlt_model *model = load(spec);
    struct dlt_profile *profile = NULL;
    struct dlt_error error;
    char what[64];

    if (dlt_profile_load(path, &profile, &error))
        fail(error.text);
    snprintf(what, sizeof what, "%s: graph, lower and price", name);
    bench_line(what, 1e3 * least_time(path, model, profile, true), "ms", limit_ms);
    snprintf(what, sizeof what, "%s: price again", name);
    bench_line(what, 1e3 * least_time(path, model, profile, false), "ms", NAN);
    snprintf(what, sizeof what, "%s: read of the profile", name);
    bench_line(what, (double)dlt_profile_touched(profile) / 1024, "KiB", NAN);
    dlt_profile_destroy(profile);
    dlt_model_destroy(model);
}

int main(int argc, char **argv)
{
    struct dlt_error error;

    if (argc < 2)
        fail("which profile?");
    device = argc > 2 && *argv[2] ? argv[2] : NULL;
    if (device && dlt_devices_load_installed(&error))
        fail(error.text);
    if (argc > 3) {
        once(argv[1], argv[3]);
        return 0;
    }
    bench_line("open a profile", 1e3 * open_time(argv[1]), "ms", 0.3);
    /* A device that others answer for has no promise. */
    network(argv[1], "ResNet-50", "resnet50,batch=64", device ? NAN : 1);
    network(argv[1], "GPT-3 XL", "gpt3_xl,batch=1", device ? NAN : 5);
    return bench_status();
}
