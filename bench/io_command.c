/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "command.h"
#include "io.h"
#include "pin.h"
#include "runner.h"

enum { OPTION_SIZE = 256, OPTION_WORKERS, OPTION_PATTERN, OPTION_TIME, OPTION_BYTES, OPTION_JSON };

static const struct option long_options[] = {
    {"sample-size", required_argument, NULL, OPTION_SIZE},
    {"workers", required_argument, NULL, OPTION_WORKERS},
    {"pattern", required_argument, NULL, OPTION_PATTERN},
    {"time-budget", required_argument, NULL, OPTION_TIME},
    {"bytes", required_argument, NULL, OPTION_BYTES},
    {"seed", required_argument, NULL, 's'},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char help[] =
    "Usage: dlbench io PATH [OPTION]...\n"
    "What storage feeds a data loader: reads a file, or the files below a folder, past the page\n"
    "cache, in order and at random, and prints samples per second.\n"
    "\n"
    "  --sample-size SIZE    bytes of a sample, as 110k, 4M (default: each file of a folder is a\n"
    "                        sample; 128k of one file)\n"
    "  --workers N           readers at a time (default: the CPUs that this process may use)\n"
    "  --pattern PATTERN     sequential, random or both (default)\n"
    "  --time-budget TIME    for each pattern (default 10s)\n"
    "  --bytes SIZE          for each pattern, whichever ends first (default 8G)\n"
    "  --seed N              another random order (default 1)\n"
    "  --json                one object instead of the table\n"
    "\n"
    "The figure of the random pattern is what loader_samples_per_s of a SPEC can be at the most.\n";

enum { SEQUENTIAL = 1, RANDOM = 2, PATTERNS = 2 };
static const char *const pattern_names[PATTERNS] = {"sequential", "random"};

struct request {
    const char *path;
    struct bench_io_plan plan;
    int64_t sample_bytes; /* 0: not said */
    int patterns;
    bool json;
};

/* "110k", "4M", "2GiB": powers of 1024. */
static bool read_size(const char *option, const char *text, int64_t *bytes)
{
    static const char units[] = "kMGT";
    char number[32];
    size_t digits = strspn(text, "0123456789.");
    const char *unit = text + digits;
    double value, scale = 1;

    if (*unit && strchr(units, *unit == 'K' ? 'k' : *unit)) {
        scale = exp2(10.0 * (double)(strchr(units, *unit == 'K' ? 'k' : *unit) - units + 1));
        unit++;
        unit += strncmp(unit, "iB", 2) == 0 ? 2 : *unit == 'B';
    }
    if (digits > 0 && digits < sizeof number && !*unit) {
        memcpy(number, text, digits);
        number[digits] = '\0';
        if (dlt_text_to_double(number, &value) && value * scale >= 1 && value * scale < 0x1p60) {
            *bytes = (int64_t)(value * scale);
            return true;
        }
    }
    bench_usage("io", "--%s \"%s\": a size is wanted, as 110k, 4M or 8G", option, text);
    return false;
}

static int read_pattern(struct request *request, const char *text)
{
    request->patterns = strcmp(text, "sequential") == 0 ? SEQUENTIAL
                        : strcmp(text, "random") == 0   ? RANDOM
                        : strcmp(text, "both") == 0     ? SEQUENTIAL | RANDOM
                                                        : 0;
    return request->patterns ? -1
                             : bench_usage("io",
                                           "--pattern is sequential, random or both, not "
                                           "\"%s\"",
                                           text);
}

static int read_option(int option, char *value, void *context)
{
    struct request *request = context;
    int64_t number = 0;

    switch (option) {
    case OPTION_SIZE:
        return read_size("sample-size", value, &request->sample_bytes) ? -1 : BENCH_USAGE;
    case OPTION_BYTES:
        return read_size("bytes", value, &request->plan.most_bytes) ? -1 : BENCH_USAGE;
    case OPTION_WORKERS:
        if (!bench_option_count("io", "workers", value, 1, BENCH_IO_WORKERS, &number))
            return BENCH_USAGE;
        request->plan.workers = (int)number;
        return -1;
    case OPTION_PATTERN:
        return read_pattern(request, value);
    case OPTION_TIME:
        if (!dlt_text_to_duration(value, 1, &request->plan.most_s) || !(request->plan.most_s > 0))
            return bench_usage("io", "--time-budget \"%s\": a duration is wanted, as 30s", value);
        return -1;
    case 's':
        if (!bench_option_count("io", "seed", value, 0, INT64_MAX, &number))
            return BENCH_USAGE;
        request->plan.seed = (uint64_t)number;
        return -1;
    case OPTION_JSON:
        request->json = true;
        return -1;
    }
    return -1;
}

static int read_options(struct request *request, int argc, char **argv)
{
    int status = command_options("io", help, long_options, argc, argv, read_option, request);

    if (status >= 0)
        return status;
    if (optind + 1 != argc || !argv[optind][0])
        return bench_usage("io", "name one PATH: a file, or a folder with files");
    request->path = argv[optind];
    return -1;
}

static double samples_per_s(const struct bench_io_result *result)
{
    return result->seconds > 0 && result->samples > 0 ? result->samples / result->seconds : NAN;
}

static void print_head(const struct request *request, const struct bench_io_files *files)
{
    char bytes[32];

    printf("# dlbench %s, %s: %zu file%s, %s; %d worker%s\n", DLT_VERSION, request->path,
           files->count, files->count == 1 ? "" : "s",
           dlt_text_from_bytes(bytes, (double)files->bytes), request->plan.workers,
           request->plan.workers == 1 ? "" : "s");
    printf("# %-10s %8s %10s %10s %9s %9s %9s %7s  %s\n", "PATTERN", "SAMPLES", "SAMPLE",
           "SAMPLES/S", "MB/S", "MEDIAN", "99 %", "ERRORS", "CACHE");
    fflush(stdout);
}

static void print_result(const char *pattern, const struct bench_io_result *result)
{
    char sample[32], median[32], slowest[32];

    printf("  %-10s %8.0f %10s %10.1f %9.1f %9s %9s %7zu  %s\n", pattern, result->samples,
           dlt_text_from_bytes(sample, result->bytes / result->samples), samples_per_s(result),
           1e-6 * result->bytes / result->seconds, dlt_text_from_seconds(median, result->median_s),
           dlt_text_from_seconds(slowest, result->slowest_s), result->errors,
           bench_io_bypass_names[result->bypass]);
    fflush(stdout);
}

static struct json_object *json_result(const char *pattern, const struct bench_io_result *result)
{
    struct json_object *object = json_object_new_object();

    dlt_json_text(object, "pattern", pattern);
    dlt_json_count(object, "samples", result->samples);
    dlt_json_number(object, "sample_bytes", result->bytes / result->samples);
    dlt_json_number(object, "seconds", result->seconds);
    dlt_json_number(object, "samples_per_s", samples_per_s(result));
    dlt_json_number(object, "mb_per_s", 1e-6 * result->bytes / result->seconds);
    dlt_json_number(object, "median_ms", 1e3 * result->median_s);
    dlt_json_number(object, "p99_ms", 1e3 * result->slowest_s);
    dlt_json_count(object, "errors", (double)result->errors);
    dlt_json_text(object, "cache", bench_io_bypass_names[result->bypass]);
    json_object_object_add(object, "whole", json_object_new_boolean(result->whole));
    return object;
}

/* What the reader has to know before trusting the figures. */
static void warn(const struct bench_io_files *files, const struct bench_io_result *result)
{
    const double short_s = 1;

    if (result->bypass == BENCH_IO_CACHED)
        fprintf(stderr, "dlbench io: the page cache could not be avoided here: these may be rates "
                        "of memory, not of storage\n");
    if (result->whole && result->seconds < short_s)
        fprintf(stderr,
                "dlbench io: everything was read once in %.2f s: too little for a steady "
                "rate\n",
                result->seconds);
    if (files->count == BENCH_IO_FILES)
        fprintf(stderr, "dlbench io: only the first %d files were used\n", BENCH_IO_FILES);
}

static void print_last(const struct request *request, const struct bench_io_files *files,
                       struct json_object *patterns, double loader)
{
    struct json_object *object;

    if (!request->json) {
        if (isfinite(loader))
            printf("# loader_samples_per_s=%.0f for a loader of %d that shuffles and only reads\n",
                   loader, request->plan.workers);
        json_object_put(patterns);
        return;
    }
    object = json_object_new_object();
    dlt_json_text(object, "path", request->path);
    dlt_json_count(object, "files", (double)files->count);
    dlt_json_count(object, "bytes", (double)files->bytes);
    dlt_json_count(object, "workers", request->plan.workers);
    json_object_object_add(object, "patterns", patterns);
    dlt_json_number(object, "loader_samples_per_s", loader);
    dlt_json_print(stdout, object);
    json_object_put(object);
}

static int measure(struct request *request, const struct bench_io_files *files,
                   struct dlt_error *error)
{
    struct json_object *patterns = json_object_new_array();
    struct bench_io_result result = {0};
    double loader = NAN;
    int status = 0;

    if (!request->json)
        print_head(request, files);
    for (int i = 0; i < PATTERNS && status == 0 && !bench_signals_seen(); i++) {
        if (!(request->patterns & 1 << i))
            continue;
        request->plan.random = i == 1;
        status = bench_io_read(files, &request->plan, &result, error);
        if (status || !(result.samples > 0))
            break;
        json_object_array_add(patterns, json_result(pattern_names[i], &result));
        if (!request->json)
            print_result(pattern_names[i], &result);
        loader = i == 1 || !(request->patterns & RANDOM) ? samples_per_s(&result) : loader;
    }
    if (status) {
        json_object_put(patterns);
        return status;
    }
    if (result.samples > 0) /* interrupted before the first, there is no rate to doubt */
        warn(files, &result);
    print_last(request, files, patterns, loader);
    return 0;
}

int dlbench_io(int argc, char **argv)
{
    const int64_t usual_sample = 128 << 10;
    struct request request = {.plan = {.most_s = 10, .most_bytes = (int64_t)8 << 30, .seed = 1},
                              .patterns = SEQUENTIAL | RANDOM};
    static struct bench_cpus cpus;
    struct bench_io_files files;
    struct dlt_error error;
    int status = read_options(&request, argc, argv);

    if (status >= 0)
        return status;
    if (request.plan.workers == 0) {
        if (bench_cpus_find(0, &cpus, &error))
            return bench_fail("io", &error);
        request.plan.workers = cpus.count < BENCH_IO_WORKERS ? cpus.count : BENCH_IO_WORKERS;
    }
    if (bench_io_find(request.path, &files, &error))
        return bench_fail("io", &error);
    request.plan.sample_bytes =
        request.sample_bytes > 0 || files.folder ? request.sample_bytes : usual_sample;
    bench_signals_catch();
    status = measure(&request, &files, &error);
    bench_io_clear(&files);
    if (status)
        return bench_fail("io", &error);
    if (!bench_signals_seen())
        return BENCH_DONE;
    fprintf(stderr, "dlbench io: interrupted\n");
    return BENCH_EXIT_FAILED;
}
