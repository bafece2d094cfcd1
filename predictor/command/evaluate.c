/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/json.h"
#include "command/command.h"
#include "command/judge.h"
#include "device/devices.h"
#include "learn/corpus.h"
#include "predict/profile_format.h"

static const char help[] =
    "Usage: dltime evaluate --profile PROFILE FILE... [--json]\n"
    "A profile's error on measurements or runs, which should not be those that it learned from.\n\n"
    "  --profile PROFILE   a file, or the name of a shipped or installed profile\n"
    "  --json              one object, contract in dltime(1)\n";

struct options {
    const char *profile;
    bool json;
};

static bool has_source(const struct dlt_profile *profile, uint64_t size, const uint64_t *digest)
{
    const struct dlt_file_source *source = profile->source;

    for (uint32_t s = 0; s < profile->header->source_count; s++)
        if (source[s].size == size && (!digest || source[s].digest == *digest))
            return true;
    return false;
}

/* Says which of the files the profile learned from: an error on those is none on unseen rows. Only
 * what is as large as one of those is read again. */
static int tell_learned(const struct dlt_profile *profile, char **file, int count,
                        struct dlt_error *error)
{
    for (int i = 0; i < count; i++) {
        uint64_t size, digest;
        struct stat status;

        if (stat(file[i], &status))
            return dlt_fail(error, "%s: %s", file[i], strerror(errno));
        if (!has_source(profile, (uint64_t)status.st_size, NULL))
            continue;
        if (dlt_file_digest(file[i], &size, &digest, error))
            return -1;
        if (has_source(profile, size, &digest))
            fprintf(stderr,
                    "dltime evaluate: %s is a file that %s was learned from; of rows that it has "
                    "not seen this says nothing\n",
                    file[i], dlt_profile_path(profile));
    }
    return 0;
}

static int evaluate(const struct options *o, char **file, int count)
{
    struct dlt_profile *profile = NULL;
    struct judge judge = {.command = "evaluate"};
    struct dlt_error error;
    int result = dlt_devices_load_installed(&error)
                     ? -1
                     : command_profile_load(o->profile, &profile, &error);

    judge.profile = profile;
    if (result == 0 && !(judge.scores = scores_create()))
        result = dlt_fail_memory(&error);
    if (result == 0)
        result =
            judge_files(&judge, file, count, &error) || tell_learned(profile, file, count, &error)
                ? -1
                : 0;
    if (result == 0 && o->json) {
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

enum { PROFILE = 256, JSON, HELP };

static const struct option long_options[] = {{"profile", required_argument, NULL, PROFILE},
                                             {"json", no_argument, NULL, JSON},
                                             {"help", no_argument, NULL, HELP},
                                             {0}};

static int take_option(int option, char *value, void *context)
{
    struct options *o = context;

    if (option == PROFILE)
        o->profile = value;
    else
        o->json = true;
    return COMMAND_DONE;
}

int command_evaluate(int argc, char **argv)
{
    struct options o = {0};
    int status = command_options("evaluate", help, long_options, argc, argv, take_option, &o);

    if (status >= 0)
        return status;
    if (!o.profile)
        return command_usage("evaluate", "say which profile: --profile FILE or NAME");
    if (optind == argc)
        return command_usage("evaluate", "name at least one file of measurements or runs");
    return evaluate(&o, argv + optind, argc - optind);
}
