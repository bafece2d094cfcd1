/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "base/version.h"
#include "command.h"
#include "options.h"
#include "quick_networks.h"
#include "runner.h"
#include "summary.h"
#include "timer.h"

enum { OPTION_OPS = 256, OPTION_RESUME, OPTION_FIND, OPTION_QUICK, OPTION_PROFILE };

static const struct option long_options[] = {
    BENCH_OPTIONS_COMMON,
    {"ops", required_argument, NULL, OPTION_OPS},
    {"samples", required_argument, NULL, 'n'},
    {"time-budget", required_argument, NULL, 't'},
    {"resume", no_argument, NULL, OPTION_RESUME},
    {"quick", no_argument, NULL, OPTION_QUICK},
    {"find", no_argument, NULL, OPTION_FIND},
    {"profile", required_argument, NULL, OPTION_PROFILE},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char help[] =
    "Usage: dlbench run --backend NAME --output FILE [OPTION]...\n"
    "Times operators in all passes and writes a measurements file (dltime-measurements(5)).\n"
    "\n"
    "  --backend NAME        onednn, ... (dlbench info lists them)\n"
    "  --output FILE         written line by line; usable after a kill at any moment\n"
    "  --resume              continue FILE with the samples that are missing\n"
    "  --samples N           configurations to measure (default 2000, or as many as the budget\n"
    "                        allows)\n"
    "  --time-budget TIME    stop after it: 90 (seconds), 15m, 2h, 1:30:00\n"
    "  --quick               one minute: sustained rates, launch cost, the most telling\n"
    "                        configurations, samples, and two networks into FILE's .runs.jsonl\n"
    "  --profile PROFILE     measure where this profile of an earlier pass is least sure\n"
    "  --ops LIST            operators, as conv2d,dense (default: all)\n"
    "  --seed N              another choice of configurations (default 1)\n"
    "  --device N            device of the backend (default 0)\n"
    "  --find                cuda: convolutions' algorithms by measuring, not by heuristics\n"
    "  --threads N           CPU threads (default: the CPUs that this process may use)\n"
    "  --memory MIB          memory for tensors (default: 512, or 8 caches if that is more)\n"
    "  --json                one object instead of the table\n"
    "  --quiet               no progress and no table\n";

struct request {
    struct bench_options_common common;
    struct bench_sampler_options sampler;
    const char *profile;
    double budget_s; /* 0: none */
    int64_t samples; /* 0: not said */
    bool resume, quick;
};

static int read_option(int option, char *value, void *context)
{
    struct request *request = context;
    int status = bench_options_read("run", option, &request->common);

    if (status != BENCH_OPTION_OTHER)
        return status;
    switch (option) {
    case 'n':
        return command_whole("run", "samples", value, 1, 100000000, &request->samples) ? BENCH_USAGE
                                                                                       : -1;
    case 't':
        if (!dlt_text_to_duration(value, 1, &request->budget_s) || !(request->budget_s > 0))
            return bench_usage(
                "run", "--time-budget \"%s\": a duration is wanted, as 90s, 15m or 1:30:00", value);
        return -1;
    case OPTION_OPS:
        request->sampler.ops = value;
        return -1;
    case OPTION_FIND:
        request->common.session.find = true;
        return -1;
    case OPTION_RESUME:
        request->resume = true;
        return -1;
    case OPTION_QUICK:
        request->quick = true;
        return -1;
    case OPTION_PROFILE:
        request->profile = value;
        return -1;
    }
    return -1;
}

static int read_options(struct request *request, int argc, char **argv)
{
    int status = command_options("run", help, long_options, argc, argv, read_option, request);

    if (status >= 0)
        return status;
    if (optind < argc)
        return bench_usage("run", "\"%s\" is not an option", argv[optind]);
    if (request->quick && request->budget_s == 0)
        request->budget_s = 60;
    request->sampler.seed = request->common.session.seed;
    return bench_options_check("run", &request->common);
}

/* Half a gigabyte, or enough to rotate buffers past large caches; never over half of what is free.
 */
static double default_memory(void)
{
    const double usual = 512 << 20;
    struct dlt_device device;

    dlt_device_this_cpu(&device);
    return fmin(fmax(usual, 8 * device.l2_bytes), 0.5 * bench_memory_free());
}

/* What one iteration may cost, from the file's header, so that a resumed run draws the same list:
 * at first about 10 ms of arithmetic at a third of the peak rate. */
static void set_limits(struct request *request, const struct dlt_measure_header *header)
{
    double peak = dlt_device_peak(&header->device, DLT_FLOAT32, DLT_IEEE, request->sampler.threads);

    if (!isfinite(peak))
        peak = 3e10 * (request->sampler.threads > 0 ? request->sampler.threads : 100);
    request->sampler.most_macs = 10e-3 / 3 * peak / 2;
    request->sampler.most_bytes = 32 << 20;
    /* A GPU's layers are as large as its bandwidth. */
    if (request->sampler.threads == 0)
        request->sampler.most_bytes = fmax(32 << 20, 1e-3 * header->device.memory_bandwidth);
}

static void describe(const struct bench_session *session, struct dlt_measure_header *header)
{
    char state[160] = "";

    memset(header, 0, sizeof *header);
    header->device = session->device;
    header->software = session->software;
    if (session->backend->state)
        session->backend->state(session->context, state, sizeof state);
    snprintf(header->source, sizeof header->source, "dlbench %s (%s)%s%s", DLT_VERSION,
             dlt_version_commit(), *state ? "; " : "", state);
}

static void print_table(const struct request *request, const struct bench_runner *runner,
                        const struct dlt_measure_header *header, double elapsed_s)
{
    char threads[32];

    printf("# dlbench %s, %s on %s%s, seed %llu\n", DLT_VERSION, header->software.backend,
           header->device.name, bench_threads_text(request->sampler.threads, threads),
           (unsigned long long)request->sampler.seed);
    bench_summary_print(stdout, runner->output, &header->device, request->sampler.threads);
    printf("# %llu samples in %.0f s; skipped: %zu for memory, %zu for time, %zu without an "
           "implementation; %zu failed\n",
           (unsigned long long)runner->done, elapsed_s, runner->no_memory, runner->slow,
           runner->unsupported, runner->failed);
}

static void print_json(const struct request *request, const struct bench_runner *runner,
                       const struct dlt_measure_header *header, double elapsed_s)
{
    struct json_object *object = json_object_new_object(), *skipped = json_object_new_object();

    dlt_json_text(object, "output", request->common.output);
    dlt_json_text(object, "device", header->device.name);
    dlt_json_text(object, "backend", header->software.backend);
    dlt_json_count(object, "threads", request->sampler.threads);
    dlt_json_count(object, "seed", (double)request->sampler.seed);
    dlt_json_count(object, "samples", (double)runner->done);
    dlt_json_number(object, "elapsed_s", elapsed_s);
    json_object_object_add(object, "interrupted", json_object_new_boolean(bench_signals_seen()));
    dlt_json_count(skipped, "memory", (double)runner->no_memory);
    dlt_json_count(skipped, "time", (double)runner->slow);
    dlt_json_count(skipped, "unsupported", (double)runner->unsupported);
    dlt_json_count(skipped, "failed", (double)runner->failed);
    json_object_object_add(object, "skipped", skipped);
    bench_summary_json(object, runner->output, &header->device, request->sampler.threads);
    dlt_json_print(stdout, object);
    json_object_put(object);
}

static void report(const struct request *request, const struct bench_runner *runner,
                   const struct dlt_measure_header *header, double elapsed_s)
{
    if (request->common.json)
        print_json(request, runner, header, elapsed_s);
    else if (!request->common.quiet)
        print_table(request, runner, header, elapsed_s);
    fflush(stdout); /* before the networks' own table */
    if (runner->failed)
        fprintf(stderr, "dlbench run: %zu measurements failed; the last: %s\n", runner->failed,
                runner->failure);
}

/* What is measured, and how long. */
static int prepare(struct request *request, struct bench_runner *runner, double start_s,
                   const struct dlt_measure_header *header, struct bench_quick **quick,
                   struct dlt_error *error)
{
    /* Of a quick run's time: configurations that tell most, and where operators end. */
    const double telling = 0.7, operators = 0.85;

    request->sampler.threads = runner->session->threads;
    request->sampler.types = runner->session->threads == 0;
    set_limits(request, header);
    if (bench_sampler_create(&request->sampler, &runner->sampler, error))
        return -1;
    if (request->quick) {
        const struct bench_quick_options options = {
            .peak =
                dlt_device_peak(&header->device, DLT_FLOAT32, DLT_IEEE, request->sampler.threads),
            .most_macs = 8 * request->sampler.most_macs,
            .most_bytes = runner->session->memory_bytes / 2,
            .threads = request->sampler.threads};

        if (bench_quick_create(&options, quick, error))
            return -1;
        runner->quick = *quick;
        runner->quick_s = telling * request->budget_s;
    }
    if (request->profile && bench_chooser_create(request->profile, &header->device,
                                                 request->sampler.threads, &runner->chooser, error))
        return -1;
    runner->clock_hz = header->device.clock_hz;
    runner->samples = request->samples > 0    ? (uint64_t)request->samples
                      : request->budget_s > 0 ? UINT64_MAX
                                              : 2000;
    runner->deadline_s = request->budget_s > 0
                             ? start_s + (request->quick ? operators : 1) * request->budget_s
                             : INFINITY;
    return 0;
}

static int measure(struct request *request, struct bench_runner *runner, double start_s,
                   struct dlt_error *error)
{
    struct bench_quick *quick = NULL;
    struct dlt_measure_header header;
    struct bench_progress progress;
    char threads[32];
    int status;

    describe(runner->session, &header);
    if (header.device.memory_bandwidth == 0)
        header.device.memory_bandwidth =
            bench_runner_bandwidth(runner->session, runner->session->memory_bytes);
    if (bench_output_open(request->common.output,
                          request->resume ? BENCH_OUTPUT_RESUME : BENCH_OUTPUT_NEW, &header,
                          &runner->output, error))
        return -1;
    status = prepare(request, runner, start_s, &header, &quick, error);
    if (status == 0) {
        if (!request->common.quiet)
            fprintf(stderr, "dlbench run: %s on %s%s; writing %s\n", header.software.backend,
                    header.device.name, bench_threads_text(request->sampler.threads, threads),
                    request->common.output);
        bench_progress_start(&progress, "run", start_s, runner->deadline_s - start_s,
                             runner->samples < UINT64_MAX ? (double)runner->samples : 0,
                             request->common.quiet);
        runner->progress = &progress; /* cppcheck-suppress autoVariables ; the run ends here */
        status = bench_runner_run(runner, error);
        bench_progress_end(&progress);
    }
    if (status == 0)
        report(request, runner, &header, bench_now() - start_s);
    bench_quick_destroy(quick);
    if (status == 0 && bench_output_count(runner->output) == 0)
        return bench_signals_seen()
                   ? dlt_fail(error, "interrupted before the first measurement")
                   : dlt_fail(error,
                              "nothing was measured: of %llu samples %zu were skipped for memory, "
                              "%zu for time, %zu without an implementation, and %zu failed",
                              (unsigned long long)runner->done, runner->no_memory, runner->slow,
                              runner->unsupported, runner->failed);
    if (status == 0 && runner->lost)
        return dlt_fail(error, "ended, as the device no longer answers this process; --resume with "
                               "another --seed goes on");
    return status;
}

/* The networks of a quick run, by `dlbench network`: a process of its own has all the memory. */
static int train_networks(const struct request *request, double peak, const struct bench_cpus *cpus,
                          struct dlt_error *error)
{
    const struct bench_quick_networks networks = {.backend = request->common.session.backend,
                                                  .device = request->common.session.device,
                                                  .threads = request->common.session.threads,
                                                  .cpus = cpus,
                                                  .peak = peak,
                                                  .output = request->common.output,
                                                  .quiet = request->common.quiet ||
                                                           request->common.json};

    return bench_quick_networks_run(&networks, error);
}

int dlbench_run(int argc, char **argv)
{
    struct request request = {.common = {.session = {.seed = 1}}};
    double start_s = bench_now(), peak = NAN;
    static struct bench_cpus cpus;
    struct bench_session session;
    struct bench_runner runner = {.session = &session};
    struct dlt_error error;
    int status = read_options(&request, argc, argv);

    if (status >= 0)
        return status;
    /* A wrong list of operators is found before a device is opened. */
    if (bench_sampler_check_ops(request.sampler.ops, &error))
        return bench_usage("run", "--ops: %s", error.text);
    bench_signals_catch();
    request.common.session.touch = true;
    request.common.session.host_memory_bytes = default_memory();
    status = bench_session_open(&request.common.session, &session, &error);
    if (status == 0) {
        peak = dlt_device_peak(&session.device, DLT_FLOAT32, DLT_IEEE, session.threads);
        cpus = session.cpus;
        status = measure(&request, &runner, start_s, &error);
    }
    bench_output_close(runner.output);
    bench_sampler_destroy(runner.sampler);
    bench_chooser_destroy(runner.chooser);
    bench_session_close(&session);
    if (status == 0 && request.quick && !bench_signals_seen())
        status = train_networks(&request, peak, &cpus, &error);
    if (status)
        return bench_fail("run", &error);
    if (!bench_signals_seen())
        return BENCH_DONE;
    fprintf(stderr, "dlbench run: interrupted; --resume continues %s\n", request.common.output);
    return BENCH_EXIT_FAILED;
}
