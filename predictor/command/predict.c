/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "command/command.h"
#include "command/predict.h"
#include "graph/model.h"

static const char help[] =
    "Usage: dltime predict SPEC[,key=value]... --profile FILE|NAME [OPTION]...\n"
    "How long a training takes on a device.\n\n"
    "  --profile FILE|NAME   what was learned; a NAME is a shipped or installed profile\n"
    "  --device NAME         device of the profile; not needed where it has one\n"
    "  --devices N           devices in all (default 1)\n"
    "  --nodes N             nodes that they are on (default 1)\n"
    "  --cpus N              CPUs of the job, for a CPU profile\n"
    "  --pass forward|step   inference or training (default step)\n"
    "  --quantile Q          also the time that is not exceeded with probability Q\n"
    "  --ops                 time of each unit\n"
    "  --json                one object, contract in dltime(1)\n\n"
    "batch=8:512 in the SPEC prints time per sample over batches and the largest that fits.\n"
    "  dltime predict resnet50,batch=64,epochs=90,samples=1281167 --profile site.dlp\n";

struct options {
    const char *spec;
    const char *profile;
    struct dlt_question question;
    struct predict_view view;
};

static int take_count(const char *option, const char *text, int limit, int *count)
{
    int64_t value = 0;
    int status = command_whole("predict", option, text, 1, limit, &value);

    *count = (int)value;
    return status;
}

enum { PROFILE = 256, DEVICE, DEVICES, NODES, CPUS, PASS, QUANTILE, OPS, JSON, HELP };

static const struct option long_options[] = {
    {"profile", required_argument, NULL, PROFILE},
    {"device", required_argument, NULL, DEVICE},
    {"devices", required_argument, NULL, DEVICES},
    {"nodes", required_argument, NULL, NODES},
    {"cpus", required_argument, NULL, CPUS},
    {"pass", required_argument, NULL, PASS},
    {"quantile", required_argument, NULL, QUANTILE},
    {"ops", no_argument, NULL, OPS},
    {"json", no_argument, NULL, JSON},
    {"help", no_argument, NULL, HELP},
    {0},
};

static int take_option(int option, const char *value, struct options *o)
{
    switch (option) {
    case PROFILE:
        o->profile = value;
        return COMMAND_DONE;
    case DEVICE:
        o->question.device = value;
        return COMMAND_DONE;
    case DEVICES:
        return take_count("devices", value, 1000000, &o->question.devices);
    case NODES:
        return take_count("nodes", value, 1000000, &o->question.nodes);
    case CPUS:
        return take_count("cpus", value, 100000, &o->question.cpus);
    case PASS:
        o->question.forward_only = strcmp(value, "forward") == 0;
        if (!o->question.forward_only && strcmp(value, "step") != 0)
            return command_usage("predict", "--pass is forward or step, not \"%s\"", value);
        return COMMAND_DONE;
    case QUANTILE:
        if (!dlt_text_to_double(value, &o->view.quantile) || o->view.quantile <= 0 ||
            o->view.quantile >= 1)
            return command_usage("predict", "--quantile lies between 0 and 1, not \"%s\"", value);
        return COMMAND_DONE;
    case OPS:
        o->view.ops = true;
        return COMMAND_DONE;
    case JSON:
        o->view.json = true;
        return COMMAND_DONE;
    }
    return COMMAND_DONE;
}

/* The estimate of one SPEC, which the caller destroys. */
static int answer(const struct options *o, const char *spec, const struct dlt_profile *profile,
                  struct dlt_estimate **estimate, struct dlt_error *error)
{
    struct dlt_model *model = NULL;
    int result = dlt_model_load(spec, NULL, &model, error);

    if (result == 0)
        result = dlt_predict(model, profile, &o->question, estimate, error);
    dlt_model_destroy(model);
    return result;
}

/* Finds ",batch=LOW:HIGH" in a SPEC. Returns whether it is there; then before and after are the
 * text around it. */
static bool batch_range(const char *spec, int64_t *low, int64_t *high, size_t *before,
                        const char **after)
{
    static const char key[] = ",batch=";
    const char *start = strstr(spec, key);
    char text[64];
    char *colon;
    size_t length;

    if (!start)
        return false;
    *before = (size_t)(start - spec);
    start += sizeof key - 1;
    length = strcspn(start, ",");
    *after = start + length;
    if (length >= sizeof text)
        return false;
    memcpy(text, start, length);
    text[length] = '\0';
    colon = strchr(text, ':');
    if (!colon)
        return false;
    *colon = '\0';
    return dlt_text_to_int64(text, low) && dlt_text_to_int64(colon + 1, high) && *low >= 1 &&
           *high >= *low;
}

/* Batches from low to high by doubling; high itself closes the table. */
static int answer_range(const struct options *o, const struct dlt_profile *profile, int64_t low,
                        int64_t high, size_t before, const char *after)
{
    struct predict_batches *table = predict_batches_create(o->view.json);
    struct dlt_error error;
    int result = table ? 0 : dlt_fail_memory(&error);

    for (int64_t batch = low; result == 0;) {
        struct dlt_estimate *estimate = NULL;
        char *spec = NULL;

        if (asprintf(&spec, "%.*s,batch=%lld%s", (int)before, o->spec, (long long)batch, after) < 0)
            result = dlt_fail_memory(&error);
        else
            result = answer(o, spec, profile, &estimate, &error);
        free(spec);
        if (result == 0)
            predict_batches_add(table, estimate);
        dlt_estimate_destroy(estimate);
        if (batch == high)
            break;
        batch = batch > high / 2 ? high : batch * 2;
    }
    if (result == 0)
        predict_batches_print(table);
    predict_batches_destroy(table);
    return result ? command_fail("predict", &error) : COMMAND_DONE;
}

static int run(const struct options *o)
{
    struct dlt_profile *profile = NULL;
    struct dlt_estimate *estimate = NULL;
    struct dlt_error error;
    char path[PATH_MAX];
    const char *file = command_profile_path(o->profile, path, sizeof path);
    const char *after;
    int64_t low, high;
    size_t before;
    int status;

    if (dlt_profile_load(file, &profile, &error))
        return command_fail("predict", &error);
    if (batch_range(o->spec, &low, &high, &before, &after)) {
        status = answer_range(o, profile, low, high, before, after);
    } else if (answer(o, o->spec, profile, &estimate, &error)) {
        status = command_fail("predict", &error);
    } else {
        predict_print(estimate, file, &o->view);
        status = COMMAND_DONE;
    }
    dlt_estimate_destroy(estimate);
    dlt_profile_destroy(profile);
    return status;
}

int command_predict(int argc, char **argv)
{
    struct options o = {0};
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        int status;

        if (option == HELP) {
            fputs(help, stdout);
            return COMMAND_DONE;
        }
        if (option == '?')
            return command_unknown("predict", argv);
        status = take_option(option, optarg, &o);
        if (status != COMMAND_DONE)
            return status;
    }
    if (optind + 1 != argc)
        return command_usage("predict", optind == argc ? "which SPEC?" : "one SPEC at a time");
    if (!o.profile)
        return command_usage("predict", "which profile? Give --profile FILE");
    o.spec = argv[optind];
    return run(&o);
}
