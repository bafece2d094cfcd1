/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../plugin/advise/devices.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "command/command.h"
#include "device/catalogue.h"
#include "measure/members.h"
#include "predict/profile_format.h"

static const char help[] =
    "Usage: dltime devices [OPTION]... [NAME]...\n"
    "Devices whose hardware features are known, or what a profile holds for each device.\n\n"
    "  NAME                  a driver's name, a GRES type or an alias: what does it stand for?\n"
    "  --profile FILE|NAME   list this profile's devices and operators\n"
    "  --json                one object, every feature\n\n"
    "  dltime devices a100 nvidia_h100_80gb_hbm3\n"
    "  dltime devices --profile site.dlp\n";

struct options {
    const char *profile;
    bool json;
    char **names;
    size_t name_count;
};

/* value / scale with three digits or whole, or "-" where it is not known. */
static const char *number(char buffer[32], double value, double scale)
{
    double scaled = value / scale;

    if (!(value > 0))
        return memcpy(buffer, "-", 2);
    return dlt_text_from_double(buffer, scaled < 100 ? scaled : round(scaled),
                                scaled < 100 ? 3 : 9);
}

/* "7.0"; "" where it is not known. */
static const char *version(char buffer[32], double value)
{
    if (!(value > 0))
        return "";
    dlt_text_from_double(buffer, value, 4);
    if (!strchr(buffer, '.'))
        memcpy(buffer + strlen(buffer), ".0", 3);
    return buffer;
}

static void print_heading(void)
{
    printf("%-50s %-14s %4s %5s %5s %5s %6s %6s %6s %6s %6s\n", "DEVICE", "ARCHITECTURE", "SMs",
           "MHz", "GiB", "GB/s", "L2 MiB", "FP32", "TF32", "FP16", "BF16");
}

static void print_device(const struct dlt_device *d)
{
    static const double mega = 1e6, giga = 1e9, tera = 1e12, mib = 1048576, gib = 1073741824;
    char text[10][32], architecture[64];

    snprintf(architecture, sizeof architecture, "%s %s", d->architecture,
             version(text[9], d->compute_capability));
    printf("%-50s %-14s %4s %5s %5s %5s %6s %6s %6s %6s %6s\n", d->name, architecture,
           number(text[0], d->sms, 1), number(text[1], d->clock_hz, mega),
           number(text[2], dlt_device_usable(d), gib), number(text[3], d->memory_bandwidth, giga),
           number(text[4], d->l2_bytes, mib), number(text[5], d->peak_fp32, tera),
           number(text[6], d->peak_tf32, tera), number(text[7], d->peak_fp16, tera),
           number(text[8], d->peak_bf16, tera));
}

/* Every feature under its key in a measurements header; null: not known. */
static struct json_object *device_json(const struct dlt_device *device)
{
    struct json_object *object = json_object_new_object();
    size_t before = SIZE_MAX;
    char buffer[32];

    for (const struct dlt_member *m = dlt_device_members; m->name; before = m++->offset) {
        const void *field = (const char *)device + m->offset;

        if (m->offset == before)
            continue; /* an alias of the key before it */
        if (m->type == DLT_MEMBER_TEXT) {
            dlt_json_text(object, m->name, *(const char *)field ? field : NULL);
        } else if (m->type == DLT_MEMBER_VERSION) {
            const char *text = version(buffer, *(const double *)field);

            dlt_json_text(object, m->name, *text ? text : NULL);
        } else {
            double value = *(const double *)field;

            dlt_json_number(object, m->name, value > 0 ? value / m->scale : NAN);
        }
    }
    return object;
}

static void add_entry(struct json_object *array, const struct dlt_catalogue_entry *entry)
{
    struct json_object *object = device_json(&entry->device);
    struct json_object *aliases = json_object_new_array();

    for (size_t i = 0; i < DLT_ALIASES && entry->alias[i][0]; i++)
        json_object_array_add(aliases, json_object_new_string(entry->alias[i]));
    json_object_object_add(object, "aliases", aliases);
    json_object_array_add(array, object);
}

static void print_catalogue(void)
{
    const struct dlt_catalogue_entry *entry;

    print_heading();
    for (size_t i = 0; (entry = dlt_catalogue_at(i)) != NULL; i++)
        print_device(&entry->device);
    puts("\nGiB: what programs can allocate. FP32 to BF16: dense TFLOP/s of the data sheet.");
}

static int no_device(const char *name)
{
    struct dlt_error error;

    dlt_fail(&error,
             "no device goes by \"%s\"; `dltime devices` lists all, and a site adds its "
             "own in devices.conf",
             name);
    return command_fail("devices", &error);
}

/* What each name stands for, with the others of the catalogue that it could mean. */
static int print_names(const struct options *o)
{
    bool headed = false;

    for (size_t i = 0; i < o->name_count; i++) {
        const struct dlt_device *device = dlt_catalogue_find(o->names[i]);
        const struct dlt_catalogue_entry *entry;

        if (!device)
            return no_device(o->names[i]);
        if (!headed)
            print_heading();
        headed = true;
        print_device(device);
        for (size_t k = 0; (entry = dlt_catalogue_at(k)) != NULL; k++)
            if (&entry->device != device && dlt_device_matches(entry->device.name, o->names[i]))
                printf("  \"%s\" could also be  %s\n", o->names[i], entry->device.name);
    }
    return COMMAND_DONE;
}

static int catalogue_json(const struct options *o)
{
    struct json_object *object = json_object_new_object();
    struct json_object *array = json_object_new_array();
    const struct dlt_catalogue_entry *entry;
    int status = COMMAND_DONE;

    json_object_object_add(object, "devices", array);
    for (size_t i = 0; (entry = dlt_catalogue_at(i)) != NULL; i++)
        if (o->name_count == 0)
            add_entry(array, entry);
    for (size_t i = 0; i < o->name_count && status == COMMAND_DONE; i++) {
        const struct dlt_device *device = dlt_catalogue_find(o->names[i]);

        if (device)
            json_object_array_add(array, device_json(device));
        else
            status = no_device(o->names[i]);
    }
    if (status == COMMAND_DONE)
        dlt_json_print(stdout, object);
    json_object_put(object);
    return status;
}

/* "forward, step" from a section's bits. */
static const char *passes(char *buffer, size_t size, uint32_t bits)
{
    *buffer = '\0';
    for (unsigned pass = 0; pass < DLT_PASSES; pass++) {
        size_t used = strlen(buffer);

        if (bits >> pass & 1)
            snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", dlt_pass_names[pass]);
    }
    return buffer;
}

static const char *percent(char buffer[32], double fraction)
{
    char digits[32];

    if (!isfinite(fraction))
        return memcpy(buffer, "-", 2);
    snprintf(buffer, 32, "%.20s %%", dlt_text_from_double(digits, 100 * fraction, 3));
    return buffer;
}

/* Names out of a file that may be newer: never past the table. */
static const char *name_at(const char *const *names, uint32_t count, uint32_t index)
{
    return index < count ? names[index] : "?";
}

static void print_section(const struct dlt_file_section *s)
{
    char pass[128], mape[32], median[32], coverage[32], type[48];

    snprintf(type, sizeof type, "%s %s", name_at(dlt_dtype_names, DLT_DTYPES, s->dtype),
             name_at(dlt_math_names, DLT_MATHS, s->math));
    printf("  %-16.32s %-34s %-14s %-10s %8u %8s %8s %8s\n", s->kind,
           passes(pass, sizeof pass, s->passes), type, dlt_basis_name((enum dlt_basis)s->basis),
           s->rows, percent(mape, s->held_out ? s->mape : NAN),
           percent(median, s->held_out ? s->median_ape : NAN),
           percent(coverage, s->held_out ? s->coverage90 : NAN));
}

/* Device, software and convention in one line. */
static void print_entry_heading(const struct dlt_profile *profile, size_t entry)
{
    const struct dlt_file_entry *e = &profile->entry[entry];
    const struct dlt_software *software = dlt_profile_software(profile, entry);

    printf("%s%s%s%s%s, timed %s", dlt_profile_device(profile, entry)->name,
           software->framework[0] ? ", " : "", software->framework,
           software->backend[0] ? ", " : "", software->backend,
           name_at(dlt_timing_names, DLT_TIMINGS, software->timing));
    if (e->threads > 0)
        printf(", %d thread%s", e->threads, e->threads == 1 ? "" : "s");
    if (e->general)
        printf(", general: for devices that were not measured");
    printf("; %llu measurements\n", (unsigned long long)e->rows);
}

static void print_profile(const struct dlt_profile *profile)
{
    struct dlt_step_parameters step;

    for (size_t i = 0; i < dlt_profile_entry_count(profile); i++) {
        if (i)
            printf("\n");
        print_entry_heading(profile, i);
        printf("  %-16s %-34s %-14s %-10s %8s %8s %8s %8s\n", "OPERATOR", "PASSES", "TYPE",
               "RESTS ON", "ROWS", "MAPE", "MEDIAN", "IN 90 %");
        for (uint32_t k = 0; k < profile->header->section_count; k++)
            if (profile->section[k].entry == i)
                print_section(&profile->section[k]);
        for (unsigned f = 0; f < DLT_FRAMEWORKS; f++) {
            dlt_profile_step(profile, i, (enum dlt_framework)f, &step);
            if (step.networks > 0)
                printf("  whole steps under %s: %.0f networks, %.0f runs\n", dlt_framework_names[f],
                       step.networks, step.runs);
        }
    }
}

static struct json_object *section_json(const struct dlt_file_section *s)
{
    struct json_object *object = json_object_new_object();
    struct json_object *array = json_object_new_array();
    char kind[sizeof s->kind + 1];

    snprintf(kind, sizeof kind, "%.*s", (int)sizeof s->kind, s->kind);
    dlt_json_text(object, "op", kind);
    for (unsigned pass = 0; pass < DLT_PASSES; pass++)
        if (s->passes >> pass & 1)
            json_object_array_add(array, json_object_new_string(dlt_pass_names[pass]));
    json_object_object_add(object, "passes", array);
    dlt_json_text(object, "dtype", name_at(dlt_dtype_names, DLT_DTYPES, s->dtype));
    dlt_json_text(object, "math", name_at(dlt_math_names, DLT_MATHS, s->math));
    dlt_json_text(object, "basis", dlt_basis_name((enum dlt_basis)s->basis));
    dlt_json_number(object, "rows", s->rows);
    dlt_json_number(object, "held_out", (double)s->held_out);
    dlt_json_number(object, "mape", s->held_out ? s->mape : NAN);
    dlt_json_number(object, "median_ape", s->held_out ? s->median_ape : NAN);
    dlt_json_number(object, "coverage90", s->held_out ? s->coverage90 : NAN);
    return object;
}

static void profile_json(const struct dlt_profile *profile)
{
    struct json_object *object = json_object_new_object();
    struct json_object *devices = json_object_new_array();

    dlt_json_text(object, "profile", dlt_profile_path(profile));
    json_object_object_add(object, "devices", devices);
    for (size_t i = 0; i < dlt_profile_entry_count(profile); i++) {
        const struct dlt_software *software = dlt_profile_software(profile, i);
        struct json_object *entry = device_json(dlt_profile_device(profile, i));
        struct json_object *ops = json_object_new_array();

        dlt_json_text(entry, "framework", software->framework);
        dlt_json_text(entry, "backend", software->backend);
        dlt_json_text(entry, "timing", name_at(dlt_timing_names, DLT_TIMINGS, software->timing));
        dlt_json_number(entry, "threads",
                        profile->entry[i].threads > 0 ? (double)profile->entry[i].threads
                                                      : (double)NAN);
        json_object_object_add(entry, "general",
                               json_object_new_boolean(profile->entry[i].general != 0));
        dlt_json_number(entry, "rows", (double)profile->entry[i].rows);
        json_object_object_add(entry, "ops", ops);
        for (uint32_t k = 0; k < profile->header->section_count; k++)
            if (profile->section[k].entry == i)
                json_object_array_add(ops, section_json(&profile->section[k]));
        json_object_array_add(devices, entry);
    }
    dlt_json_print(stdout, object);
    json_object_put(object);
}

static int show_profile(const struct options *o)
{
    char buffer[PATH_MAX];
    struct dlt_profile *profile;
    struct dlt_error error;

    if (dlt_profile_load(command_profile_path(o->profile, buffer, sizeof buffer), &profile, &error))
        return command_fail("devices", &error);
    if (o->json)
        profile_json(profile);
    else
        print_profile(profile);
    dlt_profile_destroy(profile);
    return COMMAND_DONE;
}

static int show_catalogue(const struct options *o)
{
    struct dlt_error error;

    if (dlt_devices_load_installed(&error))
        return command_fail("devices", &error);
    if (o->json)
        return catalogue_json(o);
    if (o->name_count > 0)
        return print_names(o);
    print_catalogue();
    return COMMAND_DONE;
}

enum { PROFILE = 256, JSON, HELP };

static const struct option long_options[] = {
    {"profile", required_argument, NULL, PROFILE},
    {"json", no_argument, NULL, JSON},
    {"help", no_argument, NULL, HELP},
    {0},
};

int command_devices(int argc, char **argv)
{
    struct options o = {0};
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == HELP) {
            fputs(help, stdout);
            return COMMAND_DONE;
        }
        if (option == PROFILE)
            o.profile = optarg;
        else if (option == JSON)
            o.json = true;
        else
            return command_unknown("devices", argv);
    }
    o.names = argv + optind;
    o.name_count = (size_t)(argc - optind);
    if (o.profile && o.name_count > 0)
        return command_usage("devices", "give names or --profile, not both");
    return o.profile ? show_profile(&o) : show_catalogue(&o);
}
