/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/median.h"
#include "base/text.h"
#include "base/version.h"
#include "command.h"
#include "network.h"
#include "network_report.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "runner.h"
#include "timer.h"

enum { OPTION_OPS = 256, OPTION_STEPS, OPTION_EPOCHS, WARM_UP = 3, PROFILED_STEPS = 3 };

static const struct option long_options[] = {
    BENCH_OPTIONS_COMMON,
    {"ops", no_argument, NULL, OPTION_OPS},
    {"steps", required_argument, NULL, OPTION_STEPS},
    {"epochs", required_argument, NULL, OPTION_EPOCHS},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char help[] =
    "Usage: dlbench network SPEC[,key=value]... --backend NAME --output FILE [OPTION]...\n"
    "Trains networks on random data, whole steps (forward, loss, backward, update), and adds a "
    "row\n"
    "for each to a runs file (dltime-measurements(5)).\n"
    "\n"
    "SPEC is a model file or the name of a shipped one, with keys of dltime-model(5): batch=64.\n"
    "With epochs and samples, or steps, all steps of that training are run; without, some after a\n"
    "warm-up.\n"
    "\n"
    "  --backend NAME   onednn, ... (dlbench info lists them)\n"
    "  --output FILE    a row is added; the file is made if it is missing\n"
    "  --ops            time by operator as well, from three steps more\n"
    "  --json           an object for each network instead of the table\n"
    "  --steps N        run N steps instead\n"
    "  --epochs E       run E epochs instead\n"
    "  --seed N         other weights and data (default 1)\n"
    "  --device N       device of the backend (default 0)\n"
    "  --threads N      CPU threads (default: the CPUs that this process may use)\n"
    "  --memory MIB     memory for tensors (default: 85 % of what is free)\n"
    "  --quiet          no progress and no table\n";

/* Without a number of steps: at least so many of them and so long, but not longer than the last. */
static const double least_steps = 20, least_s = 2, most_s = 60;

struct request {
    struct bench_options_common common;
    int64_t steps; /* 0: as the SPEC says */
    double epochs; /* 0: as the SPEC says */
    bool ops;      /* time by operator */
};

static int read_option(int option, char *value, void *context)
{
    struct request *request = context;
    int status = bench_options_read("network", option, &request->common);

    if (status != BENCH_OPTION_OTHER)
        return status;
    switch (option) {
    case OPTION_OPS:
        request->ops = true;
        return -1;
    case OPTION_STEPS:
        return bench_option_count("network", "steps", value, 1, 1000000000, &request->steps)
                   ? -1
                   : BENCH_USAGE;
    case OPTION_EPOCHS:
        if (!dlt_text_to_double(value, &request->epochs) || !(request->epochs > 0))
            return bench_usage("network", "--epochs \"%s\": a number above 0 is wanted", value);
        return -1;
    }
    return -1;
}

static int read_options(struct request *request, int argc, char **argv)
{
    int status = command_options("network", help, long_options, argc, argv, read_option, request);

    if (status >= 0)
        return status;
    if (optind == argc)
        return bench_usage("network", "a SPEC is missing: a model file or a shipped name");
    return bench_options_check("network", &request->common);
}

/* Steps of the training that the SPEC and the options describe; 0: they do not say. */
static int count_steps(const struct request *request, const struct dlt_training *training,
                       int64_t batch, int64_t *steps, struct dlt_error *error)
{
    double epochs =
        request->epochs > 0 ? request->epochs : training->epochs - (double)training->start_epoch;
    double batches;

    *steps = request->steps > 0 ? request->steps : 0;
    if (*steps == 0 && request->epochs == 0)
        *steps = training->steps;
    if (*steps > 0 || !(epochs > 0))
        return 0;
    if (training->samples < 1)
        return dlt_fail(error, "an epoch has to have samples: add samples=N to the SPEC");
    batches = (double)training->samples / (double)batch;
    batches = training->drop_last ? floor(batches) : ceil(batches);
    *steps = (int64_t)ceil(epochs * batches);
    return *steps > 0 ? 0 : dlt_fail(error, "the training has no step");
}

/* Times of steps, growing. */
struct history {
    double *forward, *backward, *step;
    size_t count, room;
};

static int remember(struct history *history, const struct bench_step_times *times,
                    struct dlt_error *error)
{
    double **const array[] = {&history->forward, &history->backward, &history->step};
    size_t room = history->room;

    for (int i = 0; i < 3; i++) {
        room = history->room;
        if (dlt_grow(array[i], sizeof **array[i], history->count, 1, &room))
            return dlt_fail_memory(error);
    }
    history->room = room;
    history->forward[history->count] = times->forward_s;
    history->backward[history->count] = times->backward_s;
    history->step[history->count] = times->forward_s + times->backward_s + times->update_s;
    history->count++;
    return 0;
}

static double deviation(const double *value, size_t count)
{
    double mean = 0, squares = 0;

    for (size_t i = 0; i < count; i++)
        mean += value[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (value[i] - mean) * (value[i] - mean);
    return count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}

static bool enough(const struct history *history, int64_t steps, double start_s)
{
    double spent = bench_now() - start_s;

    if (steps > 0)
        return history->count >= (size_t)steps;
    return ((double)history->count >= least_steps && spent >= least_s) ||
           (spent >= most_s && history->count >= 3);
}

/* Runs the steps. Returns 0, 1 after a signal, -1. */
static int train(struct bench_network *network, const char *spec, int64_t steps,
                 struct bench_progress *progress, struct history *history, struct dlt_error *error)
{
    struct bench_step_times times;
    char what[128];
    double start_s;

    /* A training of so many steps is measured whole, from its first step. */
    for (int i = 0; i < WARM_UP && steps == 0; i++)
        if (bench_network_step(network, &times, error))
            return -1;
    start_s = bench_now();
    while (!enough(history, steps, start_s)) {
        if (bench_signals_seen())
            return 1;
        if (bench_network_step(network, &times, error) || remember(history, &times, error))
            return -1;
        snprintf(what, sizeof what, "%.80s, loss %.3f", spec, bench_network_loss(network));
        bench_progress_show(progress, (double)history->count, history->count, "steps", what);
    }
    return 0;
}

static void print_row(const char *name, const struct dlt_run *run, const struct history *history,
                      double loss)
{
    char forward[32], backward[32], step[32], memory[32];

    printf("  %-16.40s %5lld %6zu %8s %8s %8s %4.0f %% %9.1f %8s %6.2f %7.1f s\n", name,
           (long long)run->batch, history->count, dlt_text_from_seconds(forward, run->forward_s),
           dlt_text_from_seconds(backward, run->backward_s),
           dlt_text_from_seconds(step, run->step_s), 100 * run->std_s / run->step_s,
           run->throughput, dlt_text_from_bytes(memory, run->memory_bytes), loss, run->elapsed_s);
    fflush(stdout);
}

static void fill_run(const struct bench_session *session, const struct dlt_model *model,
                     const char *spec, int64_t batch, struct history *history, struct dlt_run *run)
{
    memset(run, 0, sizeof *run);
    /* The file or name alone: its settings have fields of their own in the row. */
    snprintf(run->model, sizeof run->model, "%.*s", (int)strcspn(spec, ","), spec);
    dlt_text_copy(run->device, sizeof run->device, session->device.name);
    dlt_text_copy(run->precision, sizeof run->precision,
                  dlt_precision_names[model->training.precision]);
    dlt_text_copy(run->optimizer, sizeof run->optimizer,
                  dlt_optimizer_names[model->training.optimizer]);
    dlt_text_copy(run->framework, sizeof run->framework, "none");
    dlt_text_copy(run->layout, sizeof run->layout, dlt_layout_names[model->training.layout]);
    dlt_text_copy(run->unit, sizeof run->unit, "samples/s");
    run->pass = DLT_STEP;
    run->devices = run->nodes = 1;
    run->threads = session->threads;
    run->batch = batch;
    run->sequence = model->training.seq;
    run->std_s = deviation(history->step, history->count);
    run->forward_s = dlt_median(history->forward, history->count);
    run->backward_s = dlt_median(history->backward, history->count);
    run->step_s = dlt_median(history->step, history->count);
    run->throughput = (double)batch / run->step_s;
}

/* A SPEC as it was read. */
struct job {
    const char *spec;
    struct dlt_model *model;
    int64_t batch, steps; /* steps 0: as many as a measurement needs */
};

static int read_job(const struct request *request, const char *spec, struct job *job,
                    struct dlt_error *error)
{
    *job = (struct job){.spec = spec};
    if (dlt_model_load(spec, NULL, &job->model, error))
        return -1;
    job->batch = dlt_training_batch(&job->model->training, 1);
    if (job->batch < 1)
        return dlt_fail(error, "%s: a batch has to be said: %s,batch=64", spec, spec);
    if (count_steps(request, &job->model->training, job->batch, &job->steps, error))
        return dlt_fail_in(error, "%s: ", spec);
    return 0;
}

/* Builds, trains, writes the row. start_s: when the job began. */
static int run_job(const struct request *request, struct bench_session *session,
                   struct bench_output *output, const struct job *job, double start_s,
                   struct dlt_error *error)
{
    struct bench_network *network = NULL;
    struct history history = {0};
    struct bench_progress progress;
    struct dlt_run run;
    int status = 0;

    if (bench_network_create(session, job->model, job->batch, &network, error))
        return dlt_fail_in(error, "%s: ", job->spec);
    bench_progress_start(&progress, "network", bench_now(), 0, (double)job->steps,
                         request->common.quiet);
    status = train(network, job->spec, job->steps, &progress, &history, error);
    bench_progress_end(&progress);
    if (status == 0) {
        fill_run(session, job->model, job->spec, job->batch, &history, &run);
        run.memory_bytes = bench_network_memory(network);
        run.elapsed_s = bench_now() - start_s;
        status = bench_output_add_run(output, &run, error);
        for (int i = 0; i < PROFILED_STEPS && request->ops && status == 0; i++)
            status = bench_network_profile(network, error);
        if (status == 0 && request->common.json)
            status = bench_network_print_json(stdout, network, &run, history.count, history.step[0],
                                              request->ops, error);
        else if (status == 0 && !request->common.quiet)
            print_row(dlt_model_name(job->model), &run, &history, bench_network_loss(network));
        if (status == 0 && request->ops && !request->common.json)
            bench_network_print_ops(stdout, network);
    }
    bench_network_destroy(network);
    free(history.forward);
    free(history.backward);
    free(history.step);
    return status;
}

/* The rows go to the end of a file of the same device and software. */
static int open_output(const struct request *request, const struct bench_session *session,
                       struct bench_output **output, struct dlt_error *error)
{
    struct dlt_measure_header header = {
        .runs = true, .device = session->device, .software = session->software};

    snprintf(header.source, sizeof header.source, "dlbench %s (%s)", DLT_VERSION,
             dlt_version_commit());
    return bench_output_open(request->common.output, BENCH_OUTPUT_RESUME, &header, output, error);
}

/* Opens the device and the file, and runs the jobs. Returns 0, 1 after a signal, -1. */
static int run_jobs(const struct request *request, const struct job *jobs, int count,
                    double start_s, struct dlt_error *error)
{
    struct bench_session session;
    struct bench_output *output = NULL;
    int status = bench_session_open(&request->common.session, &session, error);

    if (status == 0)
        status = open_output(request, &session, &output, error);
    if (status == 0 && !request->common.quiet && !request->common.json) {
        char threads[32];

        printf("# dlbench %s, %s on %s%s\n", DLT_VERSION, session.software.backend,
               session.device.name, bench_threads_text(session.threads, threads));
        printf("# %-16s %5s %6s %8s %8s %8s %6s %9s %8s %6s %9s\n", "NETWORK", "BATCH", "STEPS",
               "FORWARD", "BACKWARD", "STEP", "SPREAD", "SAMPLES/S", "MEMORY", "LOSS", "ELAPSED");
    }
    /* The first one's time includes opening the device, as a job of its own would. */
    for (int i = 0; i < count && status == 0; i++) {
        status = run_job(request, &session, output, &jobs[i], start_s, error);
        start_s = bench_now();
    }
    bench_output_close(output);
    bench_session_close(&session);
    return status;
}

int dlbench_network(int argc, char **argv)
{
    struct request request = {.common = {.session = {.seed = 1, .touch = true}}};
    double start_s = bench_now();
    struct dlt_error error;
    struct job *jobs;
    int count = 0, status = read_options(&request, argc, argv);

    if (status >= 0)
        return status;
    /* One network at a time has it. */
    request.common.session.host_memory_bytes = 0.85 * bench_memory_free();
    bench_signals_catch();
    jobs = calloc((size_t)argc, sizeof *jobs);
    status = jobs ? 0 : dlt_fail_memory(&error);
    /* All are read before the first is run: a slip in the last should not cost an hour. */
    for (int i = optind; i < argc && status == 0; i++)
        status = read_job(&request, argv[i], &jobs[count++], &error);
    if (status == 0)
        status = run_jobs(&request, jobs, count, start_s, &error);
    for (int i = 0; i < count; i++)
        dlt_model_destroy(jobs[i].model);
    free(jobs);
    if (status < 0)
        return bench_fail("network", &error);
    if (status > 0)
        fprintf(stderr, "dlbench network: interrupted\n");
    return status > 0 ? BENCH_EXIT_FAILED : BENCH_DONE;
}
