/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../plugin/advise/advise.h"
#include "../../plugin/advise/child.h"
#include "base/error.h"
#include "base/paths.h"
#include "base/text.h"
#include "command/advise_options.h"
#include "command/command.h"

static const char help[] =
    "Usage: dltime advise SPEC[,key=value]... [--conf FILE] [-- SBATCH-OPTION...]\n"
    "What each partition of the running cluster would give a job, without submitting it.\n\n"
    "  --conf FILE   configuration, dltime.conf(5)\n\n"
    "After -- come options as sbatch takes them; what matters: -p -t -N -n -c -G -C -A -q -w -M,\n"
    "--gres, --gpus-per-node, --gpus-per-task, --gpus-per-socket, --ntasks-per-node, --exclusive,\n"
    "--deadline, --time-min, --reservation, --dl-time, --dl-partition. Others are passed over.\n"
    "  dltime advise resnet50,batch=64,epochs=90,samples=1281167 -- -p v100 --gres=gpu:2\n";

/* The controller may be busy; a person waits longer than a submission should. */
static const double helper_deadline_s = 10;

/* Runs in the child and becomes the helper, whose standard output is the stream. */
static int run_helper(FILE *stream, void *context)
{
    char *const *argv = context;

    dup2(fileno(stream), STDOUT_FILENO);
    execv(argv[0], argv);
    fprintf(stream, "%s cannot be run", argv[0]);
    return -1;
}

static int load_snapshot(bool nodes, struct dlt_snapshot **snapshot, struct dlt_error *error)
{
    char path[PATH_MAX], partitions[] = "--partitions";
    char *argv[] = {path, nodes ? NULL : partitions, NULL};
    char *text;
    size_t size;
    int result;

    if (!dlt_path(DLT_FOLDER_LIBEXEC, "dltime-snapshot", path, sizeof path))
        return dlt_fail(error, "the path of dltime-snapshot is too long");
    if (dlt_child_collect(run_helper, argv, "dltime-snapshot", helper_deadline_s,
                          DLT_SNAPSHOT_BYTES_MAX, &text, &size, error))
        return -1;
    result = dlt_snapshot_parse(text, size, snapshot, error);
    free(text);
    return result;
}

/* Nodes are asked for only where the configuration does not describe partitions: that locks the
 * controller's node table. */
static int load_cluster(const char *conf, const struct dlt_request *request,
                        struct dlt_config *config, struct dlt_snapshot **snapshot,
                        struct dlt_error *error)
{
    if (load_snapshot(false, snapshot, error))
        return -1;
    if (dlt_config_load(conf, (uid_t)(*snapshot)->slurm_uid, config, error))
        return -1;
    /* This cluster says nothing of such a job. */
    if (request->elsewhere)
        return 0;
    /* Slurm keeps them to itself. */
    if ((*snapshot)->partition_count == 0) {
        int64_t slurm_uid = (*snapshot)->slurm_uid;

        dlt_snapshot_destroy(*snapshot);
        *snapshot = NULL;
        return dlt_advice_assume_private(config, request, slurm_uid, snapshot, error);
    }
    if (config->partition_count > 0)
        return 0;
    dlt_snapshot_destroy(*snapshot);
    *snapshot = NULL;
    return load_snapshot(true, snapshot, error);
}

static int advise(const char *spec, const char *conf, const struct advise_options *options)
{
    struct dlt_config config;
    struct dlt_snapshot *snapshot = NULL;
    struct dlt_advice *advice = NULL;
    struct dlt_advice_question question = {.config = &config,
                                           .request = &options->request,
                                           .spec = spec,
                                           .modes = {.rehearsal = true}};
    struct dlt_error error;
    int status = COMMAND_FAILED;

    dlt_config_init(&config);
    if (load_cluster(conf, &options->request, &config, &snapshot, &error)) {
        command_fail("advise", &error);
        goto out;
    }
    question.snapshot = snapshot;
    question.modes.time =
        options->dl_time < 0 ? config.dl_time : (enum dlt_time_mode)options->dl_time;
    question.modes.partition = options->dl_partition < 0
                                   ? config.dl_partition
                                   : (enum dlt_partition_mode)options->dl_partition;
    if (dlt_advise(&question, &advice, &error)) {
        command_fail("advise", &error);
        goto out;
    }
    dlt_advice_print(stdout, advice, false);
    status = advice->headline[0] ? COMMAND_DONE : COMMAND_FAILED;
out:
    dlt_advice_destroy(advice);
    dlt_snapshot_destroy(snapshot);
    dlt_config_clear(&config);
    return status;
}

int command_advise(int argc, char **argv)
{
    enum { CONF = 256, HELP };
    static const struct option long_options[] = {
        {"conf", required_argument, NULL, CONF},
        {"help", no_argument, NULL, HELP},
        {0},
    };
    const char *conf = NULL, *spec = NULL;
    struct advise_options options;
    int own = 1, status, option;

    /* getopt would reorder SPEC and what belongs to sbatch: ours end at "--". */
    while (own < argc && strcmp(argv[own], "--") != 0)
        own++;
    while ((option = getopt_long(own, argv, ":", long_options, NULL)) != -1) {
        if (option == HELP) {
            fputs(help, stdout);
            return COMMAND_DONE;
        }
        if (option != CONF)
            return command_unknown("advise", long_options, argv);
        conf = optarg;
    }
    if (optind < own)
        spec = argv[optind++];
    if (!spec || optind != own)
        return command_usage("advise", "takes one SPEC; sbatch's options come after --");
    status = advise_options_parse("advise", own < argc ? argc - own : 0, argv + own, &options);
    return status ? status : advise(spec, conf, &options);
}
