/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a profile and predicting ResNet-50 with it. Usage: bench_predict PROFILE [once] */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "dltime.h"

enum { REPEATS = 50 };

static void fail(const char *sentence)
{
    fprintf(stderr, "bench_predict: %s\n", sentence);
    exit(2);
}

/* KiB of the mapped profile that this process has touched, read-around of the kernel included. */
static double mapped_kib(const char *path)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char *line = NULL;
    size_t room = 0;
    double kib = NAN;
    int inside = 0;

    if (!maps)
        return NAN;
    while (getline(&line, &room, maps) > 0) {
        const char *slash = strchr(line, '/');

        if (strstr(line, "Rss:") == line && inside)
            kib = (isnan(kib) ? 0 : kib) + strtod(line + 4, NULL);
        else if (line[0] >= '0' && line[0] <= 'f' && strchr(line, '-') && line[0] != 'R')
            inside =
                slash && strstr(slash, path + (strrchr(path, '/') ? strrchr(path, '/') - path : 0));
    }
    free(line);
    fclose(maps);
    return kib;
}

/* One prediction; with_profile: a profile that is open already, or NULL. */
static void predict(const char *path, const struct dlt_model *model, struct dlt_profile *opened)
{
    const struct dlt_question question = {.devices = 1, .nodes = 1};
    struct dlt_profile *profile = opened;
    struct dlt_estimate *estimate = NULL;
    struct dlt_error error;

    if (!profile && dlt_profile_load(path, &profile, &error))
        fail(error.text);
    if (dlt_predict(model, profile, &question, &estimate, &error))
        fail(error.text);
    if (!(dlt_estimate_step_s(estimate) > 0))
        fail("no step time");
    dlt_estimate_destroy(estimate);
    if (!opened)
        dlt_profile_destroy(profile);
}

static double least_time(const char *path, const struct dlt_model *model,
                         struct dlt_profile *opened)
{
    double least = INFINITY;

    for (int i = 0; i < REPEATS; i++) {
        double begin = bench_now();

        predict(path, model, opened);
        least = fmin(least, bench_now() - begin);
    }
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

int main(int argc, char **argv)
{
    struct dlt_model *model = NULL;
    struct dlt_profile *profile = NULL;
    struct dlt_error error;

    if (argc < 2)
        fail("which profile?");
    if (dlt_model_load("resnet50,batch=64", NULL, &model, &error))
        fail(error.text);
    if (argc > 2) { /* once, for counting instructions from outside */
        predict(argv[1], model, NULL);
        dlt_model_destroy(model);
        return 0;
    }
    if (dlt_profile_load(argv[1], &profile, &error))
        fail(error.text);
    predict(argv[1], model, profile);
    bench_line("of the profile touched for ResNet-50", mapped_kib(argv[1]), "KiB", 256);
    bench_line("open a profile", 1e3 * open_time(argv[1]), "ms", 1);
    bench_line("graph, lower and price ResNet-50 with it",
               1e3 * least_time(argv[1], model, profile), "ms", NAN);
    bench_line("both", 1e3 * least_time(argv[1], model, NULL), "ms", NAN);
    dlt_profile_destroy(profile);
    dlt_model_destroy(model);
    return bench_status();
}
