/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "command/command.h"
#include "command/predict.h"
#include "device/devices.h"
#include "graph/model.h"
#include "predict/interconnect.h"
#include "predict/shipped.h"

static const char help[] =
    "Usage: dltime predict SPEC[,key=value]... --device NAME [OPTION]...\n"
    "       dltime predict SPEC[,key=value]... --profile FILE|NAME [OPTION]...\n"
    "How long a training takes on a device.\n"
    "\n"
    "  --device NAME         a driver's name, a GRES type or an alias (`dltime\n"
    "                        devices`); not needed where the profile has one device\n"
    "  --profile FILE|NAME   what was learned; a NAME is an installed one (default:\n"
    "                        of those the one that answers best for the device)\n"
    "  --devices N           devices in all (default 1)\n"
    "  --nodes N             nodes that they are on (default 1)\n"
    "  --cpus N              CPUs of the job, for a CPU profile\n"
    "  --interconnect NAME   between nodes: 10gbe to 400gbe (100gbe), edr, hdr, ndr\n"
    "  --scaling FILE        what several devices make of a step (`dltime scaling`)\n"
    "  --history FILE        corrections from finished jobs, with --partition\n"
    "  --partition NAME      whose corrections (`dltime learn`)\n"
    "  --pass forward|step   inference or training (default step)\n"
    "  --quantile Q          also the time not exceeded with probability Q\n"
    "  --ops                 time of each unit\n"
    "  --json                one object, contract in dltime(1)\n"
    "\n"
    "batch=8:512 in the SPEC prints time per sample over batches and what still fits.\n"
    "  dltime predict resnet50,batch=64,epochs=9,samples=1281167 --device h100\n";

struct options {
    const char *spec;
    const char *profile, *scaling, *history;
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

enum {
    PROFILE = 256,
    DEVICE,
    DEVICES,
    NODES,
    CPUS,
    INTERCONNECT,
    SCALING,
    HISTORY,
    PARTITION,
    PASS,
    QUANTILE,
    OPS,
    JSON,
    HELP
};

static const struct option long_options[] = {
    {"profile", required_argument, NULL, PROFILE},
    {"device", required_argument, NULL, DEVICE},
    {"devices", required_argument, NULL, DEVICES},
    {"nodes", required_argument, NULL, NODES},
    {"cpus", required_argument, NULL, CPUS},
    {"interconnect", required_argument, NULL, INTERCONNECT},
    {"scaling", required_argument, NULL, SCALING},
    {"history", required_argument, NULL, HISTORY},
    {"partition", required_argument, NULL, PARTITION},
    {"pass", required_argument, NULL, PASS},
    {"quantile", required_argument, NULL, QUANTILE},
    {"ops", no_argument, NULL, OPS},
    {"json", no_argument, NULL, JSON},
    {"help", no_argument, NULL, HELP},
    {0},
};

static int take_interconnect(const char *name, double *bandwidth)
{
    const struct dlt_interconnect *found = dlt_interconnect_find(name);
    const char *nearest = dlt_interconnect_nearest(name);

    if (!found && nearest)
        return command_usage("predict", "--interconnect %s is not known; did you mean %s?", name,
                             nearest);
    if (!found)
        return command_usage("predict", "--interconnect %s is not known; see --help", name);
    *bandwidth = found->bandwidth;
    return COMMAND_DONE;
}

static int take_option(int option, char *value, void *context)
{
    struct options *o = context;

    switch (option) {
    case PROFILE:
        o->profile = value;
        return COMMAND_DONE;
    case DEVICE:
        o->question.device = o->view.device = value;
        return COMMAND_DONE;
    case DEVICES:
        return take_count("devices", value, 1000000, &o->question.devices);
    case NODES:
        return take_count("nodes", value, 1000000, &o->question.nodes);
    case CPUS:
        return take_count("cpus", value, 100000, &o->question.cpus);
    case INTERCONNECT:
        return take_interconnect(value, &o->question.node_bandwidth);
    case SCALING:
        o->scaling = value;
        return COMMAND_DONE;
    case HISTORY:
        o->history = value;
        return COMMAND_DONE;
    case PARTITION:
        o->question.partition = value;
        return COMMAND_DONE;
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

/* The profile that was named, or of the installed ones the best for the device and the model's
 * framework. */
static int open_profile(const struct options *o, const struct dlt_model *model,
                        struct dlt_profile **profile, struct dlt_error *error)
{
    if (dlt_devices_load_installed(error))
        return -1;
    if (!o->profile)
        return dlt_shipped_load(o->question.device, model->training.framework, profile, error);
    return command_profile_load(o->profile, profile, error);
}

/* Whether some unit takes another time in another layout, by rows that were measured in both. */
static bool tells_apart(const struct dlt_estimate *one, const struct dlt_estimate *other)
{
    for (size_t i = 0; i < one->plan->unit_count && i < other->plan->unit_count; i++) {
        const struct dlt_unit_times *a = &one->unit[i], *b = &other->unit[i];
        double apart = fabs((a->forward_s + a->backward_s) / (b->forward_s + b->backward_s) - 1);

        if (apart > 1e-9 && fabs(a->extrapolated - b->extrapolated) < 0.1)
            return true;
    }
    return false;
}

static int check_layout(struct dlt_model *model, const struct dlt_profile *profile,
                        const struct dlt_question *question, const struct dlt_estimate *estimate,
                        struct predict_view *view, struct dlt_error *error)
{
    struct dlt_estimate *other;
    int result;

    if (model->training.layout == DLT_NCHW)
        return 0;
    model->training.layout = DLT_NCHW;
    result = dlt_predict(model, profile, question, &other, error);
    model->training.layout = estimate->training.layout;
    if (result == 0)
        view->untold_layout = !tells_apart(estimate, other);
    dlt_estimate_destroy(other);
    return result;
}

static int answer(const struct options *o, struct dlt_model *model,
                  const struct predict_range *range, struct dlt_error *error)
{
    struct dlt_question question = o->question;
    struct dlt_profile *profile = NULL;
    struct dlt_estimate *estimate = NULL;
    struct dlt_scaling *scaling = NULL;
    struct dlt_history *history = NULL;
    struct predict_view view = o->view;
    int result = open_profile(o, model, &profile, error);

    if (result == 0 && o->scaling)
        result = dlt_scaling_load(o->scaling, &scaling, error);
    if (result == 0 && o->history)
        result = dlt_history_load(o->history, &history, error);
    question.scaling = scaling;
    question.history = history;
    if (result == 0 && range->high > 0) {
        result = predict_batches(model, profile, &question, range, o->view.json, error);
    } else if (result == 0) {
        result = dlt_predict(model, profile, &question, &estimate, error);
        if (result == 0 && !view.json) /* which does not tell it */
            result = check_layout(model, profile, &question, estimate, &view, error);
        if (result == 0)
            predict_print(estimate, dlt_profile_path(profile), &view);
    }
    dlt_estimate_destroy(estimate);
    dlt_scaling_destroy(scaling);
    dlt_history_destroy(history);
    dlt_profile_destroy(profile);
    return result;
}

static int run(const struct options *o)
{
    struct dlt_model *model = NULL;
    struct predict_range range;
    struct dlt_error error;
    char *spec = predict_range_take(o->spec, &range, &error);
    int result;

    if (spec && range.high > 0 && (o->view.ops || o->view.quantile > 0)) {
        free(spec);
        return command_usage("predict", "--ops and --quantile are of one batch, not of a range");
    }
    result = spec ? dlt_model_load(spec, NULL, &model, &error) : -1;
    if (result == 0)
        result = answer(o, model, &range, &error);
    dlt_model_destroy(model);
    free(spec);
    return result ? command_fail("predict", &error) : COMMAND_DONE;
}

int command_predict(int argc, char **argv)
{
    struct options o = {0};
    int status = command_options("predict", help, long_options, argc, argv, take_option, &o);

    if (status >= 0)
        return status;
    if (optind + 1 != argc)
        return command_usage("predict", optind == argc ? "which SPEC?" : "one SPEC at a time");
    if (!o.profile && !o.question.device)
        return command_usage("predict", "which device? Give --device NAME, or --profile FILE");
    if (o.history && !o.question.partition)
        return command_usage("predict", "--history needs --partition NAME");
    o.spec = argv[optind];
    return run(&o);
}
