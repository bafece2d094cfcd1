/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "command/command.h"
#include "command/judge.h"
#include "command/report.h"
#include "device/devices.h"

static const char help[] =
    "Usage: dltime report --profile PROFILE FILE... --output DIR [OPTION]...\n"
    "One HTML page, DIR/index.html, on how far to trust a profile: what it predicts beside what\n"
    "files of measurements or runs tell, which should not be those that it learned from.\n\n"
    "  --profile PROFILE   a file, or the name of a shipped or installed profile\n"
    "  --output DIR        where to write it; made where it is not there\n"
    "  --curve FILE        also a learning curve: train on growing parts of these measurements "
    "and\n"
    "                      score the rest, for about a minute and a half at most\n"
    "  --conf FILE         also what each partition of this dltime.conf would rest on\n"
    "  --history FOLDER    also the corrections that `dltime learn` wrote there\n\n"
    "The page needs no network and no scripts. Its plots are drawn by gnuplot.\n\n"
    "  dltime report --profile a100.dlp held-out.jsonl runs.jsonl --output report\n";

struct options {
    const char *profile, *output, *curve, *conf, *history;
    char **file;
    int file_count;
};

/* The date of reproducible builds, or now. */
static time_t date_of_report(void)
{
    const char *text = getenv("SOURCE_DATE_EPOCH");
    int64_t seconds;

    return text && dlt_text_to_int64(text, &seconds) ? (time_t)seconds : time(NULL);
}

static int load_history(struct report *report, struct dlt_error *error)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/site.json", report->history_folder) >= (int)sizeof path)
        return dlt_fail(error, "%s: the path is too long", report->history_folder);
    return dlt_history_load(path, &report->history, error);
}

static int gather(const struct options *o, struct report *report, struct judge *judge,
                  struct dlt_error *error)
{
    judge->profile = report->profile;
    judge->scores = scores_create();
    if (!judge->scores)
        return dlt_fail_memory(error);
    report->scores = judge->scores;
    if (judge_files(judge, o->file, o->file_count, error))
        return -1;
    if (scores_groups(judge->scores) == 0)
        return dlt_fail(error, "%s: holds no rows to score", o->file[0]);
    if (report->history_folder && load_history(report, error))
        return -1;
    if (report->conf && report_partitions_make(report, error))
        return -1;
    return o->curve ? report_curve_make(o->curve, &report->curve, error) : 0;
}

/* *made: the folder was not there. */
static int make_folder(const char *path, bool *made, struct dlt_error *error)
{
    struct stat status;

    *made = mkdir(path, 0777) == 0;
    if (*made || (errno == EEXIST && stat(path, &status) == 0 && S_ISDIR(status.st_mode)))
        return 0;
    return dlt_fail(error, "%s: cannot be made: %s", path,
                    strerror(errno == EEXIST ? ENOTDIR : errno));
}

/* The page, whole or not at all. */
static int write_page(const struct report *report, const char *folder, struct dlt_error *error)
{
    struct dlt_file_writer file;
    char path[PATH_MAX];
    bool made;
    int result;

    if (snprintf(path, sizeof path, "%s/index.html", folder) >= (int)sizeof path)
        return dlt_fail(error, "%s: the path is too long", folder);
    if (make_folder(folder, &made, error))
        return -1;
    result = dlt_file_create(&file, path, error);
    if (result == 0 && report_write(report, file.stream, error)) {
        dlt_file_abandon(&file);
        result = -1;
    } else if (result == 0) {
        result = dlt_file_commit(&file, error);
    }
    if (result && made)
        rmdir(folder);
    return result;
}

static int run(const struct options *o)
{
    char buffer[PATH_MAX];
    struct dlt_profile *profile = NULL;
    struct judge judge = {.command = "report"};
    struct report report = {
        .profile_path = command_profile_path(o->profile, buffer, sizeof buffer),
        .file = o->file,
        .file_count = o->file_count,
        .conf = o->conf,
        .history_folder = o->history,
        .now = date_of_report(),
    };
    struct dlt_error error;
    int result = plots_available(&error);

    if (result == 0)
        result = dlt_devices_load_installed(&error);
    if (result == 0)
        result = command_profile_load(o->profile, &profile, &error);
    report.profile = profile;
    if (result == 0)
        result = gather(o, &report, &judge, &error);
    if (result == 0)
        result = write_page(&report, o->output, &error);
    free(report.curve.point);
    free(report.partition);
    dlt_history_destroy(report.history);
    scores_destroy(judge.scores);
    dlt_profile_destroy(profile);
    return result ? command_fail("report", &error) : COMMAND_DONE;
}

enum { PROFILE = 256, OUTPUT, CURVE, CONF, HISTORY, HELP };

static const struct option long_options[] = {
    {"profile", required_argument, NULL, PROFILE},
    {"output", required_argument, NULL, OUTPUT},
    {"curve", required_argument, NULL, CURVE},
    {"conf", required_argument, NULL, CONF},
    {"history", required_argument, NULL, HISTORY},
    {"help", no_argument, NULL, HELP},
    {0},
};

static int take_option(int option, char *value, void *context)
{
    struct options *o = context;
    const char **const place[] = {&o->profile, &o->output, &o->curve, &o->conf, &o->history};

    *place[option - PROFILE] = value;
    return COMMAND_DONE;
}

int command_report(int argc, char **argv)
{
    struct options o = {0};
    int status = command_options("report", help, long_options, argc, argv, take_option, &o);

    if (status >= 0)
        return status;
    o.file = argv + optind;
    o.file_count = argc - optind;
    if (!o.profile)
        return command_usage("report", "say which profile: --profile FILE or NAME");
    if (o.file_count == 0)
        return command_usage("report", "name at least one file of measurements or runs");
    if (!o.output)
        return command_usage("report", "say where to write the page: --output DIR");
    return run(&o);
}
