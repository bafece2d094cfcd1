/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>

#include "../../plugin/advise/devices.h"
#include "base/error.h"
#include "base/json.h"
#include "command/command.h"
#include "command/judge.h"

static const char help[] =
    "Usage: dltime evaluate --profile PROFILE FILE... [--json]\n"
    "A profile's error on measurements or runs, which should not be those that it learned from.\n\n"
    "  --profile PROFILE   a file, or the name of a shipped or installed profile\n"
    "  --json              one object, contract in dltime(1)\n";

static int evaluate(const char *name, char **file, int count, bool json)
{
    char buffer[PATH_MAX];
    const char *path = command_profile_path(name, buffer, sizeof buffer);
    struct dlt_profile *profile = NULL;
    struct judge judge = {.command = "evaluate"};
    struct dlt_error error;
    int result = dlt_devices_load_installed(&error) ? -1 : dlt_profile_load(path, &profile, &error);

    judge.profile = profile;
    if (result == 0 && !(judge.scores = scores_create()))
        result = dlt_fail_memory(&error);
    if (result == 0)
        result = judge_files(&judge, file, count, &error);
    if (result == 0 && json) {
        struct json_object *object = scores_json(judge.scores);

        dlt_json_print(stdout, object);
        json_object_put(object);
    } else if (result == 0) {
        scores_print(judge.scores);
    }
    scores_destroy(judge.scores);
    dlt_profile_destroy(profile);
    return result ? command_fail("evaluate", &error) : COMMAND_DONE;
}

int command_evaluate(int argc, char **argv)
{
    enum { PROFILE = 256, JSON, HELP };
    static const struct option options[] = {{"profile", required_argument, NULL, PROFILE},
                                            {"json", no_argument, NULL, JSON},
                                            {"help", no_argument, NULL, HELP},
                                            {0}};
    const char *profile = NULL;
    bool json = false;
    int option;

    optind = 0;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == HELP) {
            fputs(help, stdout);
            return COMMAND_DONE;
        }
        if (option == PROFILE)
            profile = optarg;
        else if (option == JSON)
            json = true;
        else
            return command_unknown("evaluate", argv);
    }
    if (!profile)
        return command_usage("evaluate", "say which profile: --profile FILE or NAME");
    if (optind == argc)
        return command_usage("evaluate", "name at least one file of measurements or runs");
    return evaluate(profile, argv + optind, argc - optind, json);
}
