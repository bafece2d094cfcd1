/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/text.h"
#include "base/version.h"
#include "command.h"
#include "load.h"

static const struct option long_options[] = {
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char help[] =
    "Usage: dlbench info [--json]\n"
    "The devices that can be measured here, one row each, then what is known about the CPU, the\n"
    "CPUs that this process may use, and each backend that is installed.\n";

enum { DEVICES = 64, BACKENDS = 16 };

/* What is here, gathered before anything is printed. */
struct found {
    struct {
        const struct dlbench_backend *backend; /* NULL: it cannot be loaded */
        char name[64];
        char failure[256]; /* why; "" */
        int devices;
    } backend[BACKENDS];
    int backends;
    struct {
        int backend, index;
        struct dlt_device device;
        struct dlt_software software;
        char failure[256];
        char *details; /* lines of the backend's own; malloc'ed */
    } device[DEVICES];
    int devices;
    struct bench_cpus cpus;
    struct dlt_device cpu;
    double load; /* tasks that ran or waited, mean of the last minute */
};

/* "0-3,8" of the CPUs in use, in ascending order. */
static void list_cpus(FILE *stream, const struct bench_cpus *cpus)
{
    static bool used[BENCH_CPUS];
    bool first = true;

    memset(used, 0, sizeof used);
    for (int i = 0; i < cpus->count; i++)
        used[cpus->cpu[i]] = true;
    for (int from = 0; from < BENCH_CPUS; from++) {
        int to = from;

        if (!used[from])
            continue;
        while (to + 1 < BENCH_CPUS && used[to + 1])
            to++;
        fprintf(stream, to > from ? "%s%d-%d" : "%s%d", first ? "" : ",", from, to);
        first = false;
        from = to;
    }
}

static void open_device(struct found *found, int backend, int index)
{
    const struct dlbench_backend *b = found->backend[backend].backend;
    const struct bench_options options = {.device = index,
                                          .cpus = found->cpus.cpu,
                                          .threads = found->cpus.count,
                                          .memory_bytes = 1 << 20};
    struct bench_context *context;
    struct dlt_error error;
    size_t size;
    FILE *stream;

    found->device[found->devices].backend = backend;
    found->device[found->devices].index = index;
    if (b->open(&options, &context, &error)) {
        dlt_text_copy(found->device[found->devices].failure,
                      sizeof found->device[found->devices].failure, error.text);
    } else {
        b->describe(context, &found->device[found->devices].device,
                    &found->device[found->devices].software);
        stream = open_memstream(&found->device[found->devices].details, &size);
        if (stream) {
            b->print_info(context, stream);
            fclose(stream);
        }
        b->close(context);
    }
    found->devices++;
}

static void load_backend(struct found *found, const char *name)
{
    int at = found->backends++;
    const char *build;
    struct dlt_error error;

    dlt_text_copy(found->backend[at].name, sizeof found->backend[at].name, name);
    if (bench_backend_resolve(name, 0, &build, &error) ||
        bench_backend_load(build, &found->backend[at].backend, &error)) {
        dlt_text_copy(found->backend[at].failure, sizeof found->backend[at].failure, error.text);
        found->backend[at].backend = NULL;
        return;
    }
    found->backend[at].devices = found->backend[at].backend->device_count();
    for (int i = 0; i < found->backend[at].devices && found->devices < DEVICES; i++)
        open_device(found, at, i);
}

static int look(struct found *found, struct dlt_error *error)
{
    char names[256], *name, *rest = names;

    if (bench_cpus_find(0, &found->cpus, error))
        return -1;
    dlt_device_this_cpu(&found->cpu);
    if (getloadavg(&found->load, 1) != 1)
        found->load = NAN;
    bench_backend_list(names, sizeof names);
    while ((name = strsep(&rest, ", ")) != NULL && found->backends < BACKENDS)
        if (name[0] && strcmp(name, "none") != 0)
            load_backend(found, name);
    return 0;
}

static double peak_of(const struct found *found, const struct dlt_device *device)
{
    return dlt_device_peak(device, DLT_FLOAT32, DLT_IEEE,
                           device->cores > 0 ? found->cpus.count : 0);
}

static void rule(void)
{
    puts("+-------------+------------------------------+----------+----------+------------+--------"
         "--"
         "-+");
}

/* Devices as rows, and below those that cannot be opened, why. */
static void print_devices(const struct found *found)
{
    char memory[32], clock[32], peak[32], bandwidth[32];

    rule();
    printf("| %-11s | %-28s | %-8s | %-8s | %-10s | %-9s |\n", "BACKEND DEV", "NAME", "MEMORY",
           "CLOCK", "PEAK fp32", "BANDWIDTH");
    rule();
    for (int i = 0; i < found->devices; i++) {
        const struct dlt_device *d = &found->device[i].device;
        double flops = peak_of(found, d);

        if (found->device[i].failure[0]) {
            printf("| %-7.7s %3d | %-77.77s |\n", found->backend[found->device[i].backend].name,
                   found->device[i].index, found->device[i].failure);
            continue;
        }
        snprintf(clock, sizeof clock, "%.0f MHz", d->clock_hz / 1e6);
        snprintf(peak, sizeof peak, flops < 1e12 ? "%.0f GFLOPS" : "%.1f TFLOPS",
                 flops < 1e12 ? flops / 1e9 : flops / 1e12);
        snprintf(bandwidth, sizeof bandwidth, "%.0f GB/s", d->memory_bandwidth / 1e9);
        printf("| %-7.7s %3d | %-28.28s | %8s | %8.8s | %10.10s | %9.9s |\n",
               found->backend[found->device[i].backend].name, found->device[i].index, d->name,
               dlt_text_from_bytes(memory, d->memory_bytes), d->clock_hz > 0 ? clock : "-",
               isfinite(flops) ? peak : "-", d->memory_bandwidth > 0 ? bandwidth : "-");
    }
    if (found->devices == 0)
        printf("| %-89s |\n", "no device: see the backends below");
    rule();
}

static void print_cpu(const struct found *found)
{
    const struct dlt_device *cpu = &found->cpu;
    char text[32];

    printf("\nCPU\n  name                   %s\n", cpu->name);
    printf("  sockets, cores         %.0f, %.0f\n", cpu->sockets, cpu->cores);
    printf("  instruction set        %s\n", cpu->isa[0] ? cpu->isa : "unknown");
    printf("  last-level cache       %s\n", dlt_text_from_bytes(text, cpu->l2_bytes));
    printf("  memory                 %s,", dlt_text_from_bytes(text, cpu->memory_bytes));
    printf(" %s free for this process\n", dlt_text_from_bytes(text, bench_memory_free()));
    printf("  usable CPUs            %d (", found->cpus.count);
    list_cpus(stdout, &found->cpus);
    printf(")\n");
    if (isfinite(found->load))
        printf("  other work             %.1f tasks%s\n", found->load,
               found->load > 0.5 ? ": measurements will be disturbed" : "");
}

static void print_backends(const struct found *found)
{
    for (int b = 0; b < found->backends; b++) {
        printf("\nBackend %s\n", found->backend[b].name);
        if (found->backend[b].failure[0])
            printf("  %s\n", found->backend[b].failure);
        else if (found->backend[b].devices == 0)
            printf("  no device, or no driver\n");
        for (int i = 0; i < found->devices; i++) {
            if (found->device[i].backend != b || found->device[i].failure[0])
                continue;
            printf("  device %d               %s\n", found->device[i].index,
                   found->device[i].device.name);
            printf("    version              %s\n", found->device[i].software.backend);
            fputs(found->device[i].details ? found->device[i].details : "", stdout);
        }
    }
    if (found->backends == 0)
        printf("\nNo backend is installed\n");
}

static void print_screen(const struct found *found)
{
    time_t now = time(NULL);
    struct tm local;
    char date[64] = "";

    if (localtime_r(&now, &local))
        strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &local);
    printf("%s   dlbench %s (%s)\n", date, DLT_VERSION, dlt_version_commit());
    print_devices(found);
    print_cpu(found);
    print_backends(found);
}

static double known(double value)
{
    return value > 0 ? value : NAN;
}

static struct json_object *json_device(const struct found *found, int i)
{
    const struct dlt_device *d = &found->device[i].device;
    struct json_object *object = json_object_new_object();

    dlt_json_text(object, "backend", found->backend[found->device[i].backend].name);
    dlt_json_count(object, "device", found->device[i].index);
    if (found->device[i].failure[0]) {
        dlt_json_text(object, "failure", found->device[i].failure);
        return object;
    }
    dlt_json_text(object, "name", d->name);
    dlt_json_text(object, "version", found->device[i].software.backend);
    dlt_json_text(object, "cuda",
                  found->device[i].software.cuda[0] ? found->device[i].software.cuda : NULL);
    dlt_json_number(object, "compute_capability", known(d->compute_capability));
    dlt_json_number(object, "memory_gib", known(d->memory_bytes / 0x1p30));
    dlt_json_number(object, "clock_mhz", known(d->clock_hz / 1e6));
    dlt_json_number(object, "peak_fp32_gflops", peak_of(found, d) / 1e9);
    dlt_json_number(object, "memory_bandwidth_gbs", known(d->memory_bandwidth / 1e9));
    return object;
}

static struct json_object *json_cpu(const struct found *found)
{
    struct json_object *object = json_object_new_object(), *usable = json_object_new_array();

    dlt_json_text(object, "name", found->cpu.name);
    dlt_json_text(object, "isa", found->cpu.isa[0] ? found->cpu.isa : NULL);
    dlt_json_count(object, "sockets", found->cpu.sockets);
    dlt_json_count(object, "cores", found->cpu.cores);
    dlt_json_number(object, "clock_mhz", known(found->cpu.clock_hz / 1e6));
    dlt_json_number(object, "l2_mib", known(found->cpu.l2_bytes / 0x1p20));
    dlt_json_number(object, "memory_gib", known(found->cpu.memory_bytes / 0x1p30));
    dlt_json_number(object, "memory_free_gib", bench_memory_free() / 0x1p30);
    dlt_json_number(object, "load", found->load);
    for (int i = 0; i < found->cpus.count; i++)
        json_object_array_add(usable, json_object_new_int(found->cpus.cpu[i]));
    json_object_object_add(object, "usable", usable);
    return object;
}

static void print_json(const struct found *found)
{
    struct json_object *object = json_object_new_object(), *devices = json_object_new_array(),
                       *backends = json_object_new_array();

    for (int i = 0; i < found->devices; i++)
        json_object_array_add(devices, json_device(found, i));
    for (int b = 0; b < found->backends; b++) {
        struct json_object *backend = json_object_new_object();

        dlt_json_text(backend, "name", found->backend[b].name);
        dlt_json_count(backend, "devices", found->backend[b].devices);
        dlt_json_text(backend, "failure",
                      found->backend[b].failure[0] ? found->backend[b].failure : NULL);
        json_object_array_add(backends, backend);
    }
    dlt_json_text(object, "version", DLT_VERSION);
    json_object_object_add(object, "devices", devices);
    json_object_object_add(object, "cpu", json_cpu(found));
    json_object_object_add(object, "backends", backends);
    dlt_json_print(stdout, object);
    json_object_put(object);
}

/* --json is the only one. */
static int take_option(int option, char *value, void *context)
{
    bool *json = context;

    (void)option;
    (void)value;
    *json = true;
    return BENCH_DONE;
}

int dlbench_info(int argc, char **argv)
{
    static struct found found;
    struct dlt_error error;
    bool json = false;
    int status = command_options("info", help, long_options, argc, argv, take_option, &json);

    if (status >= 0)
        return status;
    if (optind < argc)
        return bench_usage("info", "\"%s\" is not an option", argv[optind]);
    if (look(&found, &error))
        return bench_fail("info", &error);
    if (json)
        print_json(&found);
    else
        print_screen(&found);
    for (int i = 0; i < found.devices; i++)
        free(found.device[i].details);
    return BENCH_DONE;
}
