/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* The first line of a file below root, without its newline. */
static bool read_line(char *line, size_t size, const char *root, const char *path)
{
    char whole[PATH_MAX];
    FILE *file;
    bool got;

    if (snprintf(whole, sizeof whole, "%s%s", root, path) >= (int)sizeof whole)
        return false;
    file = fopen(whole, "re");
    if (!file)
        return false;
    got = fgets(line, (int)size, file) != NULL;
    fclose(file);
    if (got)
        line[strcspn(line, "\n")] = '\0';
    return got;
}

/* A file that holds one whole number, perhaps with a unit behind it (K, M). -1: there is none. */
static double read_number(const char *root, const char *path)
{
    char line[64], *end;
    double number;

    if (!read_line(line, sizeof line, root, path))
        return -1;
    number = (double)strtoll(line, &end, 10);
    if (end == line)
        return -1;
    return *end == 'K' ? number * 1024 : *end == 'M' ? number * 1024 * 1024 : number;
}

/* Whether a CPU is the first of the list ("3,7", "0-1") that a topology file shows: so each group
 * is counted once. */
static bool leads(const char *root, long cpu, const char *file)
{
    char path[256];

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/%s", cpu, file);
    return read_number(root, path) == (double)cpu;
}

static bool is_cpu_entry(const char *name, long *cpu)
{
    char *end;

    if (strncmp(name, "cpu", 3) != 0 || name[3] < '0' || name[3] > '9')
        return false;
    *cpu = strtol(name + 3, &end, 10);
    return *end == '\0';
}

/* Level of the CPU's cache number `index`; 0: there is none, or it holds instructions alone. */
static double cache_level(const char *root, long cpu, int index)
{
    char path[128], type[32];
    double level;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/cache/index%d/level", cpu, index);
    level = read_number(root, path);
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/cache/index%d/type", cpu, index);
    if (level <= 0 || !read_line(type, sizeof type, root, path) || strcmp(type, "Instruction") == 0)
        return 0;
    return level;
}

/* Adds the CPU's last-level cache where the CPU leads those that share it. */
static void add_cache(const char *root, long cpu, struct dlt_device *device)
{
    char path[128];
    double last = 0, size;
    int at = 0;

    for (int index = 0; index < 8; index++) {
        double level = cache_level(root, cpu, index);

        if (level > last) {
            last = level;
            at = index;
        }
    }
    snprintf(path, sizeof path, "cache/index%d/shared_cpu_list", at);
    if (last == 0 || !leads(root, cpu, path))
        return;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/cache/index%d/size", cpu, at);
    size = read_number(root, path);
    if (size > 0)
        device->l2_bytes += size;
}

/* Sockets, cores and caches, from each CPU's topology. Offline CPUs have none. */
static void read_topology(const char *root, struct dlt_device *device)
{
    char folder[PATH_MAX];
    struct dirent *entry;
    long cpu;
    DIR *cpus;

    if (snprintf(folder, sizeof folder, "%s/sys/devices/system/cpu", root) >= (int)sizeof folder)
        return;
    cpus = opendir(folder);
    if (!cpus)
        return;
    while ((entry = readdir(cpus)) != NULL) {
        if (!is_cpu_entry(entry->d_name, &cpu))
            continue;
        device->sockets += leads(root, cpu, "topology/core_siblings_list");
        device->cores += leads(root, cpu, "topology/thread_siblings_list");
        add_cache(root, cpu, device);
    }
    closedir(cpus);
}

/* Whether `word` is among the words of a line. */
static bool has_word(const char *line, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = line; (at = strstr(at, word)) != NULL; at += length)
        if ((at == line || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* From the narrowest on; the last one that the CPU has is its ISA. */
static void read_isa(const char *flags, struct dlt_device *device)
{
    static const struct {
        const char *flag, *isa;
    } isas[] = {
        {"sse2", "sse2"},
        {"avx", "avx"},
        {"avx2", "avx2"},
        {"avx512f", "avx512"},
        {"avx512_bf16", "avx512_bf16"},
        {"avx512_fp16", "avx512_fp16"},
        {"amx_bf16", "amx"},
        {"asimd", "neon"},
        {"sve", "sve"},
    };

    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++)
        if (has_word(flags, isas[i].flag))
            dlt_text_copy(device->isa, sizeof device->isa, isas[i].isa);
}

/* Arm's cores have no name in /proc/cpuinfo, only the maker's and the part's number. */
static void name_arm(const char *implementer, const char *part, struct dlt_device *device)
{
    static const struct {
        const char *implementer, *part, *name;
    } parts[] = {
        {"0x41", "0xd0c", "ARM Neoverse-N1"}, {"0x41", "0xd40", "ARM Neoverse-V1"},
        {"0x41", "0xd49", "ARM Neoverse-N2"}, {"0x41", "0xd4f", "ARM Neoverse-V2"},
        {"0x46", "0x001", "Fujitsu A64FX"},   {"0x43", "0x0af", "Cavium ThunderX2"},
    };

    dlt_text_copy(device->vendor, sizeof device->vendor, "arm");
    snprintf(device->name, sizeof device->name, "ARM %.20s %.20s", implementer, part);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i].implementer, implementer) == 0 && strcmp(parts[i].part, part) == 0)
            dlt_text_copy(device->name, sizeof device->name, parts[i].name);
}

/* "2.70GHz" at the end of a model's name, where the kernel does not tell the clock. */
static double clock_in_name(const char *name)
{
    const char *at = strrchr(name, '@');
    char number[16];
    double ghz;
    size_t length;

    if (!at)
        return 0;
    at += 1 + strspn(at + 1, " ");
    length = strspn(at, "0123456789.");
    if (length == 0 || length >= sizeof number || strncmp(at + length, "GHz", 3) != 0)
        return 0;
    memcpy(number, at, length);
    number[length] = '\0';
    return dlt_text_to_double(number, &ghz) ? ghz * 1e9 : 0;
}

static void take_vendor(const char *value, struct dlt_device *device)
{
    static const char *const vendors[][2] = {
        {"GenuineIntel", "intel"}, {"AuthenticAMD", "amd"}, {"HygonGenuine", "hygon"}};

    for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++)
        if (strcmp(vendors[i][0], value) == 0)
            dlt_text_copy(device->vendor, sizeof device->vendor, vendors[i][1]);
}

/* "key<tab>: value": the value, or NULL where the line has another key. */
static const char *value_of(const char *line, const char *key)
{
    size_t length = strlen(key);

    if (strncmp(line, key, length) != 0 || !strchr(" \t:", line[length]))
        return NULL;
    line = strchr(line, ':');
    return line ? line + 1 + strspn(line + 1, " \t") : NULL;
}

static void read_cpuinfo(const char *root, struct dlt_device *device)
{
    char path[PATH_MAX], implementer[32] = "", part[32] = "";
    char *line = NULL;
    size_t room = 0;
    FILE *file;

    if (snprintf(path, sizeof path, "%s/proc/cpuinfo", root) >= (int)sizeof path)
        return;
    file = fopen(path, "re");
    if (!file)
        return;
    while (getline(&line, &room, file) > 0) {
        const char *value;
        double mhz;

        line[strcspn(line, "\n")] = '\0';
        if (!device->name[0] && (value = value_of(line, "model name")) != NULL) {
            dlt_text_copy(device->name, sizeof device->name, value);
            dlt_text_printable(device->name);
        } else if (!device->vendor[0] && (value = value_of(line, "vendor_id")) != NULL) {
            take_vendor(value, device);
        } else if (!device->isa[0] && ((value = value_of(line, "flags")) != NULL ||
                                       (value = value_of(line, "Features")) != NULL)) {
            read_isa(value, device);
        } else if ((value = value_of(line, "cpu MHz")) != NULL) {
            if (dlt_text_to_double(value, &mhz) && mhz * 1e6 > device->clock_hz)
                device->clock_hz = mhz * 1e6;
        } else if (!implementer[0] && (value = value_of(line, "CPU implementer")) != NULL) {
            dlt_text_copy(implementer, sizeof implementer, value);
        } else if (!part[0] && (value = value_of(line, "CPU part")) != NULL) {
            dlt_text_copy(part, sizeof part, value);
        }
    }
    free(line);
    fclose(file);
    if (!device->name[0] && part[0])
        name_arm(implementer, part, device);
}

static void read_memory(const char *root, struct dlt_device *device)
{
    char line[128];
    const char *value;

    if (read_line(line, sizeof line, root, "/proc/meminfo") &&
        (value = value_of(line, "MemTotal")) != NULL)
        device->memory_bytes = (double)strtoll(value, NULL, 10) * 1024;
}

void dlt_device_read_cpu(const char *root, struct dlt_device *device)
{
    double khz;

    memset(device, 0, sizeof *device);
    read_cpuinfo(root, device);
    khz = read_number(root, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
    if (khz > 0)
        device->clock_hz = khz * 1e3;
    if (device->clock_hz == 0)
        device->clock_hz = clock_in_name(device->name);
    read_topology(root, device);
    read_memory(root, device);
    if (!device->name[0])
        dlt_text_copy(device->name, sizeof device->name, "CPU");
}

void dlt_device_this_cpu(struct dlt_device *device)
{
    dlt_device_read_cpu("", device);
}
