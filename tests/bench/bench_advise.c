/* SPDX-License-Identifier: Apache-2.0 */
/* The advice on one submission: configuration, prediction, decision and table. Usage: bench_advise
 * FOLDER [PARTITIONS KINDS]; FOLDER is where dltime.conf is written; with numbers once, for
 * counting instructions from outside. Each kind of node has another device of the installed
 * profiles. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../plugin/advise/advise.h"
#include "bench.h"
#include "device/catalogue.h"
#include "device/devices.h"

enum { REPEATS = 20 };

static const char spec[] = "resnet50,batch=32,epochs=90";

static void fail(const char *sentence)
{
    fprintf(stderr, "bench_advise: %s\n", sentence);
    exit(2);
}

/* The kind's device. Devices that are no profile's own come from the general one. */
static void write_kind(FILE *file, int partition, int kind)
{
    static const struct {
        const char *device, *profile;
    } measured[] = {
        {"NVIDIA A100-PCIE-40GB", "nvidia-a100-pcie-40gb.pytorch"},
        {"Tesla V100-PCIE-32GB", "tesla-v100-pcie-32gb.pytorch"},
        {"Tesla T4", "tesla-t4.pytorch"},
        {"Tesla P100-PCIE-16GB", "tesla-p100-pcie-16gb.pytorch"},
        {"Tesla P4", "tesla-p4.pytorch"},
        {"Tesla V100-SXM2-16GB", "tesla-v100-sxm2-16gb.tensorflow"},
    };
    const int all = sizeof measured / sizeof *measured;

    fprintf(file, "  { name = \"p%d\"; gpus_per_node = 4; cores_per_node = 64; nodes = 8; ",
            partition);
    if (kind < all)
        fprintf(file, "device = \"%s\"; profile = \"%s\"; },\n", measured[kind].device,
                measured[kind].profile);
    else
        fprintf(file, "device = \"%s\"; profile = \"general\"; },\n",
                dlt_catalogue_at((size_t)(kind - all))->device.name);
}

/* A partition of one kind has a kind of its own. */
static void write_config(const char *path, int partitions, int kinds)
{
    FILE *file = fopen(path, "w");

    if (!file)
        fail("cannot write the configuration");
    fputs("partitions = (\n", file);
    for (int i = 0; i < partitions; i++)
        for (int j = 0; j < kinds; j++)
            write_kind(file, i, kinds == 1 ? i % 6 : j);
    /* The last entry is followed by no comma. */
    fseek(file, -2, SEEK_CUR);
    fputs("\n);\n", file);
    if (fclose(file))
        fail("cannot write the configuration");
}

static struct dlt_snapshot *make_snapshot(int partitions)
{
    struct dlt_snapshot *snapshot = dlt_snapshot_create();

    if (!snapshot)
        fail("out of memory");
    for (int i = 0; i < partitions; i++) {
        struct dlt_partition *partition = dlt_snapshot_add(snapshot);

        if (!partition)
            fail("out of memory");
        snprintf(partition->name, sizeof partition->name, "p%d", i);
        partition->up = true;
        partition->is_default = i == 0;
        partition->max_time_s = 7 * 86400;
    }
    return snapshot;
}

static void advise(const char *conf, const struct dlt_snapshot *snapshot, FILE *stream)
{
    struct dlt_config config;
    struct dlt_request request;
    struct dlt_advice_question question = {
        .config = &config, .snapshot = snapshot, .request = &request, .spec = spec};
    struct dlt_advice *advice = NULL;
    struct dlt_error error;

    dlt_request_init(&request);
    request.per_node.count = 1;
    if (dlt_config_load(conf, geteuid(), &config, &error) || dlt_advise(&question, &advice, &error))
        fail(error.text);
    if (!advice->headline[0])
        fail("no estimate");
    dlt_advice_print(stream, advice, false);
    dlt_advice_destroy(advice);
    dlt_config_clear(&config);
}

/* Seconds of one advice in a process of its own, as a submission makes it. */
static double once(const char *conf, const struct dlt_snapshot *snapshot)
{
    double *seconds =
        mmap(NULL, sizeof *seconds, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double taken;
    int status;
    pid_t child;

    if (seconds == MAP_FAILED)
        fail("out of memory");
    fflush(stdout);
    child = fork();
    if (child == 0) {
        FILE *stream = fopen("/dev/null", "w");
        double begin = bench_busy();

        if (!stream)
            fail("cannot write to /dev/null");
        advise(conf, snapshot, stream);
        *seconds = bench_busy() - begin;
        fclose(stream);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        fail("the advice failed");
    taken = *seconds;
    munmap(seconds, sizeof *seconds);
    return taken;
}

static void figure(const char *conf, int partitions, int kinds, double limit_ms)
{
    struct dlt_snapshot *snapshot = make_snapshot(partitions);
    double least = INFINITY;
    char what[64];

    write_config(conf, partitions, kinds);
    for (int i = 0; i < REPEATS; i++)
        least = fmin(least, once(conf, snapshot));
    snprintf(what, sizeof what, "advice on %d x %d kinds of nodes", partitions, kinds);
    bench_line(what, 1e3 * least, "ms", limit_ms);
    dlt_snapshot_destroy(snapshot);
}

int main(int argc, char **argv)
{
    struct dlt_error error;
    char conf[PATH_MAX];

    if (argc != 2 && argc != 4)
        fail("usage: bench_advise FOLDER [PARTITIONS KINDS]");
    if (snprintf(conf, sizeof conf, "%s/dltime.conf", argv[1]) >= (int)sizeof conf)
        fail("the path is too long");
    if (dlt_devices_load_installed(&error))
        fail(error.text);
    if (argc == 4) {
        struct dlt_snapshot *snapshot = make_snapshot(atoi(argv[2]));

        write_config(conf, atoi(argv[2]), atoi(argv[3]));
        advise(conf, snapshot, stdout);
        dlt_snapshot_destroy(snapshot);
        return 0;
    }
    figure(conf, 12, 1, 15);
    figure(conf, 200, 50, 50);
    return bench_status();
}
