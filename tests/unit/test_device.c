/* SPDX-License-Identifier: Apache-2.0 */
#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/paths.h"
#include "device/catalogue.h"
#include "device/cpu.h"
#include "device/devices.h"
#include "graph/record.h"
#include "measure/measurements.h"
#include "measure_files.h"

static const double giga = 1e9, tera = 1e12, gib = 1073741824.0;

static void spellings_of_one_card_match(void **state)
{
    static const char *const pairs[][2] = {
        {"Tesla V100-SXM2-16GB", "v100"},
        {"Tesla V100-SXM2-16GB", "tesla_v100-sxm2-16gb"}, /* as NVML autodetection spells it */
        {"Tesla V100-SXM2-16GB", "V100 16GB"},
        {"Tesla V100-SXM2-16GB", "v100-sxm"},
        {"Tesla V100-PCIE-32GB", "v100_32g"},
        {"NVIDIA A100 80GB PCIe", "nvidia_a100_80gb_pcie"},
        {"NVIDIA A100-PCIE-40GB", "A100 40GB PCIe"},
        {"NVIDIA A100-PCIE-40GB", "a100"},
        {"NVIDIA A100-SXM4-80GB", "a100"},
        {"NVIDIA A100-SXM4-80GB", "A100 80GB SXM4"},
        {"GeForce GTX 1080 Ti", "gtx1080ti"},
        {"GeForce GTX 1080 Ti", "gtx_1080_ti"},
        {"GeForce GTX 1080 Ti", "1080ti"},
        {"GeForce GTX 1080 Ti", "NVIDIA GeForce GTX 1080 Ti"},
        {"NVIDIA GeForce RTX 3090", "rtx3090"},
        {"NVIDIA RTX A6000", "a6000"},
        {"NVIDIA RTX A6000", "RTX A6000"},
        {"Quadro RTX 8000", "quadro_rtx_8000"},
        {"Quadro RTX 8000", "rtx8000"},
        {"NVIDIA RTX 6000 Ada Generation", "rtx_6000_ada"},
        {"NVIDIA H100 80GB HBM3", "h100"},
        {"NVIDIA H100 80GB HBM3", "h100-sxm5"},
        {"NVIDIA H100 80GB HBM3", "nvidia_h100_80gb_hbm3"},
        {"Tesla P100-PCIE-16GB", "p100"},
        {"Tesla T4", "t4"},
        {"AMD Instinct MI210", "mi210"},
        {"AMD EPYC 7763 64-Core Processor", "AMD EPYC 7763"},
        {"Intel(R) Xeon(R) Platinum 8280 CPU @ 2.70GHz", "xeon_platinum_8280"},
        {"NVIDIA A100 80GB PCIe MIG 1g.10gb", "1g.10gb"},
        {"NVIDIA A100 80GB PCIe MIG 1g.10gb", "a100_1g.10gb"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (!dlt_device_matches(pairs[i][0], pairs[i][1]))
            fail_msg("%s should match %s", pairs[i][1], pairs[i][0]);
}

static void names_of_other_cards_do_not_match(void **state)
{
    static const char *const pairs[][2] = {
        {"Tesla V100S-PCIE-32GB", "v100"},
        {"Tesla V100-PCIE-32GB", "v100s"},
        {"Tesla V100-PCIE-32GB", "v100-16gb"},
        {"Tesla V100-PCIE-32GB", "v100-sxm2"},
        {"NVIDIA A100-PCIE-40GB", "nvidia_a100_80gb_pcie"},
        {"NVIDIA A100 80GB PCIe", "1g.10gb"}, /* a slice is not the card */
        {"NVIDIA A100 80GB PCIe MIG 1g.10gb", "a100"},
        {"NVIDIA A100 80GB PCIe MIG 1g.10gb", "2g.10gb"},
        {"NVIDIA A100 80GB PCIe MIG 1g.10gb", "1g.5gb"},
        {"NVIDIA A10", "a100"},
        {"NVIDIA A100-PCIE-40GB", "a10"},
        {"NVIDIA L40S", "l40"},
        {"Tesla P40", "p4"},
        {"Tesla K40", "k4"},
        {"GeForce GTX 1080", "gtx1080ti"},
        {"GeForce GTX 1080 Ti", "gtx1080"},
        {"NVIDIA RTX A6000", "rtx6000"},
        {"NVIDIA RTX 6000 Ada Generation", "rtx6000"},
        {"Quadro RTX 6000", "a6000"},
        {"NVIDIA H100 NVL", "h100_80gb_hbm3"},
        {"AMD Instinct MI250X", "mi250"},
        {"Tesla T4", ""},
        {"Tesla T4", "gpu"},
        {"Tesla T4", "tesla"},
        {"Tesla T4", "---"},
        {"", ""},
        {"", "v100"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (dlt_device_matches(pairs[i][0], pairs[i][1]))
            fail_msg("%s should not match %s", pairs[i][1], pairs[i][0]);
}

/* Data sheets: A100 19.5 TFLOP/s float32, 156 tf32, 312 float16 and bfloat16. */
static void peaks_are_the_data_sheets_where_it_gives_them(void **state)
{
    struct dlt_device a100 = {.architecture = "ampere",
                              .compute_capability = 8.0,
                              .peak_fp32 = 19.5e12,
                              .peak_tf32 = 156e12,
                              .peak_fp16 = 312e12,
                              .peak_bf16 = 312e12};

    (void)state;
    assert_near(dlt_device_peak(&a100, DLT_FLOAT32, DLT_IEEE, 0), 19.5 * tera, 1);
    assert_near(dlt_device_peak(&a100, DLT_FLOAT32, DLT_TF32, 0), 156 * tera, 1);
    assert_near(dlt_device_peak(&a100, DLT_FLOAT16, DLT_IEEE, 0), 312 * tera, 1);
    assert_near(dlt_device_peak(&a100, DLT_BFLOAT16, DLT_IEEE, 0), 312 * tera, 1);
}

/* A measurements header gives no tensor-core rates: V100 80 SMs x 64 cores x 2 x 1.53 GHz = 15.67
 * TFLOP/s and eight times that (data sheet: 15.7 and 125); K40 15 x 192 x 2 x 0.875 = 5.04. */
static void peaks_follow_from_the_architecture_where_it_does_not(void **state)
{
    struct dlt_device v100 = {.architecture = "volta",
                              .compute_capability = 7.0,
                              .sms = 80,
                              .cores_per_sm = 64,
                              .clock_hz = 1.53e9};
    struct dlt_device k40 = {.architecture = "kepler",
                             .compute_capability = 3.5,
                             .sms = 15,
                             .cores_per_sm = 192,
                             .clock_hz = 0.875e9};
    struct dlt_device a40 = {
        .architecture = "ampere", .compute_capability = 8.6, .peak_fp32 = 37.4e12};
    struct dlt_device unknown = {.name = "x"};

    (void)state;
    assert_near(dlt_device_peak(&v100, DLT_FLOAT32, DLT_IEEE, 0), 15.6672 * tera, giga);
    assert_near(dlt_device_peak(&v100, DLT_FLOAT32, DLT_TF32, 0), 15.6672 * tera, giga);
    assert_near(dlt_device_peak(&v100, DLT_FLOAT16, DLT_IEEE, 0), 125 * tera, 0.5 * tera);
    assert_near(dlt_device_peak(&k40, DLT_FLOAT32, DLT_IEEE, 0), 5.04 * tera, giga);
    assert_near(dlt_device_peak(&k40, DLT_FLOAT16, DLT_IEEE, 0), 5.04 * tera, giga);
    /* 8.6 has half of 8.0's tensor rate for each of twice the cores: 149.7 on the data sheet. */
    assert_near(dlt_device_peak(&a40, DLT_FLOAT16, DLT_IEEE, 0), 149.6 * tera, 0.2 * tera);
    assert_true(isnan(dlt_device_peak(&unknown, DLT_FLOAT32, DLT_IEEE, 0)));
}

/* Two 512-bit FMA units: 2 x 16 lanes x 2 = 64 FLOP a cycle and core. */
static void a_cpus_peak_grows_with_its_threads_up_to_its_cores(void **state)
{
    struct dlt_device cpu = {.isa = "avx512", .cores = 8, .clock_hz = 2e9};

    (void)state;
    assert_near(dlt_device_peak(&cpu, DLT_FLOAT32, DLT_IEEE, 1), 128 * giga, 1);
    assert_near(dlt_device_peak(&cpu, DLT_FLOAT32, DLT_IEEE, 8), 1024 * giga, 1);
    assert_near(dlt_device_peak(&cpu, DLT_FLOAT32, DLT_IEEE, 16), 1024 * giga, 1);
    assert_near(dlt_device_peak(&cpu, DLT_FLOAT32, DLT_IEEE, 0), 1024 * giga, 1);
    strcpy(cpu.isa, "avx512_core_bf16");
    assert_near(dlt_device_peak(&cpu, DLT_FLOAT32, DLT_IEEE, 1), 128 * giga, 1);
    strcpy(cpu.isa, "m68k");
    assert_true(isnan(dlt_device_peak(&cpu, DLT_FLOAT32, DLT_IEEE, 1)));
}

static void put(const char *file, const char *text)
{
    char command[2 * PATH_MAX + 64];
    FILE *stream;

    snprintf(path, sizeof path, "%s/%s", folder, file);
    snprintf(command, sizeof command, "mkdir -p \"$(dirname %s)\"", path);
    assert_int_equal(system(command), 0);
    stream = fopen(path, "w");
    assert_non_null(stream);
    fputs(text, stream);
    assert_int_equal(fclose(stream), 0);
}

/* CPU `cpu` of a machine: which CPUs share its package, core and last cache. */
static void put_cpu(const char *machine, int cpu, const char *package, const char *core,
                    const char *cache)
{
    static const char *const levels[][3] = {
        {"1", "Data", "48K"}, {"1", "Instruction", "32K"}, {"2", "Unified", "2048K"}};
    char base[128], file[256];

    snprintf(base, sizeof base, "%s/sys/devices/system/cpu/cpu%d", machine, cpu);
    snprintf(file, sizeof file, "%s/topology/core_siblings_list", base);
    put(file, package);
    snprintf(file, sizeof file, "%s/topology/thread_siblings_list", base);
    put(file, core);
    for (int i = 0; i < 4; i++) {
        snprintf(file, sizeof file, "%s/cache/index%d/level", base, i);
        put(file, i < 3 ? levels[i][0] : "3");
        snprintf(file, sizeof file, "%s/cache/index%d/type", base, i);
        put(file, i < 3 ? levels[i][1] : "Unified");
        snprintf(file, sizeof file, "%s/cache/index%d/size", base, i);
        put(file, i < 3 ? levels[i][2] : "32768K");
        snprintf(file, sizeof file, "%s/cache/index%d/shared_cpu_list", base, i);
        put(file, i < 3 ? core : cache);
    }
}

static void read_machine(const char *machine, struct dlt_device *device)
{
    char root[PATH_MAX];

    snprintf(root, sizeof root, "%s/%s", folder, machine);
    dlt_device_read_cpu(root, device);
}

/* Two sockets of two cores of two threads: CPUs 0-3 are first threads, 4-7 their siblings. */
static void sockets_cores_and_caches_are_counted_once_under_hyperthreading(void **state)
{
    struct dlt_device d;

    (void)state;
    put("xeon/proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: GenuineIntel\n"
        "model name\t: Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz\ncpu MHz\t\t: 1000.000\n"
        "flags\t\t: fpu sse2 avx avx2 avx512f avx512dq fma\n\nprocessor\t: 1\ncpu MHz\t\t: "
        "999.1\n");
    put("xeon/proc/meminfo", "MemTotal:       196608 kB\nMemFree: 1 kB\n");
    put("xeon/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3700000\n");
    put("xeon/sys/devices/system/cpu/cpufreq/boost", "1\n");
    for (int cpu = 0; cpu < 8; cpu++) {
        char core[16];

        snprintf(core, sizeof core, "%d,%d", cpu % 4, cpu % 4 + 4);
        put_cpu("xeon", cpu, cpu % 4 < 2 ? "0-1,4-5" : "2-3,6-7", core,
                cpu % 4 < 2 ? "0-1,4-5" : "2-3,6-7");
    }
    read_machine("xeon", &d);
    assert_string_equal(d.name, "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz");
    assert_string_equal(d.vendor, "intel");
    assert_string_equal(d.isa, "avx512");
    assert_near(d.sockets, 2, 0);
    assert_near(d.cores, 4, 0);
    assert_near(d.clock_hz, 3.7e9, 1);
    assert_near(d.l2_bytes, 2 * 32768.0 * 1024, 0);
    assert_near(d.memory_bytes, 196608.0 * 1024, 0);
}

static void an_arm_server_is_named_by_its_part_number(void **state)
{
    struct dlt_device d;

    (void)state;
    put("arm/proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 50.00\n"
                            "Features\t: fp asimd evtstrm aes crc32 sve\n"
                            "CPU implementer\t: 0x41\nCPU part\t: 0xd40\n");
    put_cpu("arm", 0, "0-1", "0", "0-1");
    put_cpu("arm", 1, "0-1", "1", "0-1");
    read_machine("arm", &d);
    assert_string_equal(d.name, "ARM Neoverse-V1");
    assert_string_equal(d.isa, "sve");
    assert_near(d.cores, 2, 0);
    assert_near(d.sockets, 1, 0);
}

static void where_nothing_can_be_read_nothing_is_claimed(void **state)
{
    struct dlt_device d;

    (void)state;
    read_machine("empty", &d);
    assert_string_equal(d.name, "CPU");
    assert_near(d.cores, 0, 0);
    assert_near(d.clock_hz, 0, 0);
    put("odd/proc/cpuinfo", "model name\t: Some CPU @ 2.70GHz\n");
    read_machine("odd", &d);
    assert_near(d.clock_hz, 2.7e9, 1);
}

static void this_machine_has_cores_and_memory(void **state)
{
    struct dlt_device d;

    (void)state;
    dlt_device_this_cpu(&d);
    assert_true(d.name[0]);
    assert_true(d.cores >= 1 && d.sockets >= 1 && d.sockets <= d.cores);
    assert_true(d.cores <= (double)sysconf(_SC_NPROCESSORS_CONF));
    assert_true(d.memory_bytes > 1e8);
}

static const struct dlt_device *find(const char *name)
{
    const struct dlt_device *device = dlt_catalogue_find(name);

    if (!device)
        fail_msg("the catalogue lacks %s", name);
    return device;
}

static int load_catalogue(void **state)
{
    char file[PATH_MAX];
    struct dlt_error error;

    (void)state;
    if (dlt_devices_load(dlt_path(DLT_FOLDER_CONF, "devices.conf", file, sizeof file), &error)) {
        print_error("%s\n", error.text);
        return -1;
    }
    return 0;
}

static void the_catalogue_has_each_device_but_once(void **state)
{
    (void)state;
    assert_true(dlt_catalogue_count() >= 45);
    for (size_t i = 0; i < dlt_catalogue_count(); i++) {
        const struct dlt_device *d = &dlt_catalogue_at(i)->device;

        assert_ptr_equal(dlt_catalogue_find(d->name), d);
        for (size_t k = 0; k < DLT_ALIASES && dlt_catalogue_at(i)->alias[k][0]; k++)
            assert_ptr_equal(dlt_catalogue_find(dlt_catalogue_at(i)->alias[k]), d);
    }
    assert_null(dlt_catalogue_at(dlt_catalogue_count()));
    assert_null(dlt_catalogue_find("vax-11/780"));
}

/* A slip of a digit shows where data sheets hang together: the float32 rate is SMs x cores x 2 x
 * clock but for cards that NVIDIA rates at another clock than boost, and for matrix cores. */
static void the_catalogues_figures_hang_together(void **state)
{
    (void)state;
    for (size_t i = 0; i < dlt_catalogue_count(); i++) {
        const struct dlt_device *d = &dlt_catalogue_at(i)->device;
        double lanes = d->sms * d->cores_per_sm * 2 * d->clock_hz;

        if (d->memory_bytes < 4 * gib || d->memory_bandwidth < 150 * giga || !d->architecture[0])
            fail_msg("%s lacks memory or architecture", d->name);
        if (d->usable_bytes > 0 &&
            (d->usable_bytes > d->memory_bytes || d->usable_bytes < 0.89 * d->memory_bytes))
            fail_msg("%s: usable memory", d->name);
        if (lanes > 0 && (d->peak_fp32 < 0.94 * lanes || d->peak_fp32 > 1.04 * lanes) &&
            strcmp(d->vendor, "amd") != 0)
            fail_msg("%s: %.5g FLOP/s, by its clock %.5g", d->name, d->peak_fp32, lanes);
        if (d->peak_fp16 > 0 && (d->peak_fp16 < d->peak_fp32 || d->peak_fp16 < d->peak_tf32))
            fail_msg("%s: slower in float16", d->name);
        if (d->memory_bandwidth > 0 && d->peak_fp32 / d->memory_bandwidth > 140)
            fail_msg("%s: bandwidth", d->name);
    }
}

static void a_bare_family_name_is_the_slowest_and_smallest_of_the_family(void **state)
{
    (void)state;
    assert_string_equal(find("a100")->name, "NVIDIA A100-PCIE-40GB");
    assert_string_equal(find("v100")->name, "Tesla V100-PCIE-16GB");
    assert_string_equal(find("h100")->name, "NVIDIA H100 PCIe");
    assert_string_equal(find("nvidia_h100_80gb_hbm3")->name, "NVIDIA H100 80GB HBM3");
    assert_string_equal(find("v100s")->name, "Tesla V100S-PCIE-32GB");
    assert_string_equal(find("gfx90a")->name, "AMD Instinct MI210");
    assert_string_equal(find("tesla k40m")->name, "Tesla K40");
    for (size_t i = 0; i < dlt_catalogue_count(); i++) {
        static const char *const families[] = {"a100", "v100", "h100", "p100", "m40"};
        const struct dlt_device *d = &dlt_catalogue_at(i)->device;

        for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
            const struct dlt_device *least = find(families[f]);

            if (dlt_device_matches(d->name, families[f])) {
                assert_true(least->memory_bytes <= d->memory_bytes);
                assert_true(least->memory_bandwidth <= d->memory_bandwidth);
            }
        }
    }
}

/* Features in which a header and the catalogue's entry of that name differ. */
static void compare(const struct dlt_device *header)
{
    const struct dlt_device *d = find(header->name);

    assert_string_equal(d->name, header->name);
    assert_string_equal(d->architecture, header->architecture);
    assert_string_equal(d->interconnect, header->interconnect);
    assert_near(d->compute_capability, header->compute_capability, 1e-9);
    assert_near(d->sms, header->sms, 0);
    assert_near(d->cores_per_sm, header->cores_per_sm, 0);
    assert_near(d->clock_hz, header->clock_hz, 1);
    assert_near(d->memory_bytes, header->memory_bytes, 1);
    assert_near(d->memory_bandwidth, header->memory_bandwidth, 1);
    assert_near(d->l2_bytes, header->l2_bytes, 1);
    assert_near(d->peak_fp32, header->peak_fp32, 1);
    assert_near(d->interconnect_bandwidth, header->interconnect_bandwidth, 1);
}

static void devices_of_the_public_measurements_have_their_headers_features(void **state)
{
    const char *data = getenv("DLTIME_DATA") ? getenv("DLTIME_DATA") : "../shared/data";
    char pattern[PATH_MAX];
    glob_t found;

    (void)state;
    snprintf(pattern, sizeof pattern, "%s/{justus2018,neusight2025/ops}/*.gz", data);
    if (glob(pattern, GLOB_BRACE, NULL, &found) != 0) {
        print_message("SKIPPED: no measurements under %s; set DLTIME_DATA\n", data);
        skip();
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct dlt_measure_reader *reader;

        assert_int_equal(dlt_measure_open(found.gl_pathv[i], &reader, NULL), 0);
        compare(&dlt_measure_header(reader)->device);
        dlt_measure_close(reader);
    }
    globfree(&found);
}

static void expect_refusal(const char *text, const char *part)
{
    struct dlt_error error = {""};

    put("devices.conf", text);
    assert_int_equal(dlt_devices_load(path, &error), -1);
    if (!strstr(error.text, part) || strncmp(error.text, path, strlen(path)) != 0)
        fail_msg("\"%s\" lacks the file or \"%s\"", error.text, part);
}

static void mistakes_in_a_devices_file_are_told_by_line_and_key(void **state)
{
    (void)state;
    expect_refusal("devices = (\n{ name = \"x\";\n sm = 3; } );",
                   "line 3: sm: is not known; did you "
                   "mean \"sms\"?");
    expect_refusal("devices = ( { sms = 3; } );", "line 1: name: is missing");
    expect_refusal("devices = ( { name = \"x\"; sms = \"3\"; } );", "sms: has to be a number");
    expect_refusal("devices = ( { name = \"x\"; sms = -3; } );", "sms: has to be a number");
    expect_refusal("devices = ( { name = 3; } );", "name: has to be a text");
    expect_refusal("devices = ( 3 );", "a device has to be");
    expect_refusal("@include \"/etc/passwd\"\n", "@include is not supported");
    expect_refusal("device = ();", "devices: is missing");
    expect_refusal("devices = ( {", "line 1: syntax error");
    expect_refusal("devices = ( { name = \"x\"; aliases = \"y\"; } );",
                   "aliases: has to be a list");
}

static void a_site_may_put_its_own_figures_over_the_shipped_ones(void **state)
{
    size_t before = dlt_catalogue_count();
    struct dlt_error error;

    (void)state;
    put("devices.conf", "devices = ( { name = \"Tesla T4\"; architecture = \"turing\"; sms = 40;\n"
                        "compute_capability = 7.5; memory_gib = 16L; clock_mhz = 585.5; },\n"
                        "{ name = \"Our FPGA\"; aliases = (\"board\"); } );");
    assert_int_equal(dlt_devices_load(path, &error), 0);
    assert_int_equal(dlt_catalogue_count(), before + 1);
    assert_near(find("t4")->clock_hz, 585.5e6, 1);
    assert_near(find("t4")->compute_capability, 7.5, 1e-12);
    assert_near(find("t4")->memory_bytes, 16 * gib, 1);
    assert_string_equal(find("BOARD")->name, "Our FPGA");
}

static int set_up(void **state)
{
    return make_folder(state) || load_catalogue(state);
}

static void *look_up_until(void *stop)
{
    while (!atomic_load((atomic_bool *)stop))
        dlt_catalogue_find("no such device");
    return NULL;
}

/* A scheduler of many threads forks while one of them is in the catalogue. */
static void a_child_forked_meanwhile_can_look_devices_up(void **state)
{
    atomic_bool stop = false;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, look_up_until, &stop), 0);
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        int status;

        assert_true(child >= 0);
        if (child == 0) {
            alarm(20); /* instead of waiting for a thread that it does not have */
            _exit(dlt_catalogue_find("no such device") != NULL);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(spellings_of_one_card_match),
        cmocka_unit_test(names_of_other_cards_do_not_match),
        cmocka_unit_test(peaks_are_the_data_sheets_where_it_gives_them),
        cmocka_unit_test(peaks_follow_from_the_architecture_where_it_does_not),
        cmocka_unit_test(a_cpus_peak_grows_with_its_threads_up_to_its_cores),
        cmocka_unit_test(sockets_cores_and_caches_are_counted_once_under_hyperthreading),
        cmocka_unit_test(an_arm_server_is_named_by_its_part_number),
        cmocka_unit_test(where_nothing_can_be_read_nothing_is_claimed),
        cmocka_unit_test(this_machine_has_cores_and_memory),
        cmocka_unit_test(the_catalogue_has_each_device_but_once),
        cmocka_unit_test(the_catalogues_figures_hang_together),
        cmocka_unit_test(a_bare_family_name_is_the_slowest_and_smallest_of_the_family),
        cmocka_unit_test(devices_of_the_public_measurements_have_their_headers_features),
        cmocka_unit_test(mistakes_in_a_devices_file_are_told_by_line_and_key),
        cmocka_unit_test(a_child_forked_meanwhile_can_look_devices_up),
        cmocka_unit_test(a_site_may_put_its_own_figures_over_the_shipped_ones),
    };

    return cmocka_run_group_tests(tests, set_up, remove_folder);
}
