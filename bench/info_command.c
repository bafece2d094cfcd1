/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "command.h"
#include "load.h"

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char help[] =
    "Usage: dlbench info\n"
    "Prints the CPU, the CPUs that this process may use, memory and caches,\n"
    "and the devices of every backend that is installed.\n";

/* "0-3,8" of the CPUs in use, in ascending order. */
static void print_cpus(const struct bench_cpus *cpus)
{
    static bool used[BENCH_CPUS];
    bool first = true;

    for (int i = 0; i < cpus->count; i++)
        used[cpus->cpu[i]] = true;
    for (int from = 0; from < BENCH_CPUS; from++) {
        int to = from;

        if (!used[from])
            continue;
        while (to + 1 < BENCH_CPUS && used[to + 1])
            to++;
        printf(to > from ? "%s%d-%d" : "%s%d", first ? "" : ",", from, to);
        first = false;
        from = to;
    }
}

static void print_cpu(const struct bench_cpus *cpus)
{
    struct dlt_device cpu;
    char text[32];
    double peak;

    dlt_device_this_cpu(&cpu);
    peak = dlt_device_peak(&cpu, DLT_FLOAT32, DLT_IEEE, cpus->count);
    printf("CPU\n  name                   %s\n", cpu.name);
    printf("  sockets, cores         %.0f, %.0f\n", cpu.sockets, cpu.cores);
    printf("  instruction set        %s\n", cpu.isa[0] ? cpu.isa : "unknown");
    printf("  clock                  %.0f MHz\n", cpu.clock_hz / 1e6);
    printf("  last-level cache       %s\n", dlt_text_from_bytes(text, cpu.l2_bytes));
    printf("  memory                 %s,", dlt_text_from_bytes(text, cpu.memory_bytes));
    printf(" %s free for this process\n", dlt_text_from_bytes(text, bench_memory_free()));
    printf("  usable CPUs            %d (", cpus->count);
    print_cpus(cpus);
    printf(")\n");
    if (isfinite(peak))
        printf("  peak on these          %.0f GFLOP/s float32\n", peak / 1e9);
}

static void print_device(const struct dlbench_backend *backend, int index,
                         const struct bench_cpus *cpus)
{
    const struct bench_options options = {
        .device = index, .cpus = cpus->cpu, .threads = cpus->count, .memory_bytes = 1 << 20};
    struct bench_context *context;
    struct dlt_device device;
    struct dlt_software software;
    struct dlt_error error;

    if (backend->open(&options, &context, &error)) {
        printf("  device %d               %s\n", index, error.text);
        return;
    }
    backend->describe(context, &device, &software);
    printf("  device %d               %s\n", index, device.name);
    printf("    version              %s\n", software.backend);
    backend->print_info(context, stdout);
    backend->close(context);
}

int dlbench_info(int argc, char **argv)
{
    static struct bench_cpus cpus;
    struct dlt_error error;
    char names[256], *name, *rest = names;
    int option;

    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option != 'h')
            return BENCH_USAGE;
        fputs(help, stdout);
        return BENCH_DONE;
    }
    if (optind < argc)
        return bench_usage("info", "\"%s\" is not an option", argv[optind]);
    if (bench_cpus_find(0, &cpus, &error))
        return bench_fail("info", &error);
    printf("dlbench %s (%s)\n\n", DLT_VERSION, DLT_COMMIT);
    print_cpu(&cpus);
    bench_backend_list(names, sizeof names);
    while ((name = strsep(&rest, ", ")) != NULL) {
        const struct dlbench_backend *backend;

        if (!name[0])
            continue;
        if (strcmp(name, "none") == 0) {
            printf("\nNo backend is installed\n");
            continue;
        }
        printf("\nBackend %s\n", name);
        if (bench_backend_load(name, &backend, &error)) {
            printf("  %s\n", error.text);
            continue;
        }
        for (int i = 0; i < backend->device_count(); i++)
            print_device(backend, i, &cpus);
    }
    return BENCH_DONE;
}
