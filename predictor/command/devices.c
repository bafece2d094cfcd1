/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "command/command.h"
#include "command/devices.h"
#include "device/catalogue.h"
#include "device/devices.h"
#include "measure/members.h"
#include "predict/profile_format.h"
#include "predict/shipped.h"

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

/* Which installed profile measured which device. */
struct measured {
    char device[96], profile[128];
};
struct measured_list {
    struct measured *item;
    size_t count;
};

/* Of one profile's entries; a general one only repeats what others measured. */
static void take_profile(void *context, const struct dlt_profile *profile)
{
    struct measured_list *list = context;
    size_t entries = dlt_profile_entry_count(profile);

    for (size_t i = 0; i < entries; i++)
        if (profile->entry[i].general)
            return;
    for (size_t i = 0; i < entries; i++) {
        struct measured *larger = reallocarray(list->item, list->count + 1, sizeof *list->item);

        if (!larger)
            return;
        list->item = larger;
        larger += list->count++;
        dlt_text_copy(larger->device, sizeof larger->device, dlt_profile_device(profile, i)->name);
        dlt_shipped_name(profile, larger->profile, sizeof larger->profile);
    }
}

static void print_heading(void)
{
    printf("%-50s %-14s %4s %5s %5s %5s %6s %6s %6s %6s %6s  %s\n", "DEVICE", "ARCHITECTURE", "SMs",
           "MHz", "GiB", "GB/s", "L2 MiB", "FP32", "TF32", "FP16", "BF16", "PROFILES");
}

static void print_device(const struct dlt_device *d, const struct measured_list *list)
{
    static const double mega = 1e6, giga = 1e9, tera = 1e12, mib = 1048576, gib = 1073741824;
    char text[10][32], architecture[64];

    snprintf(architecture, sizeof architecture, "%s %s", d->architecture,
             version(text[9], d->compute_capability));
    printf("%-50s %-14s %4s %5s %5s %5s %6s %6s %6s %6s %6s", d->name, architecture,
           number(text[0], d->sms, 1), number(text[1], d->clock_hz, mega),
           number(text[2], dlt_device_usable(d), gib), number(text[3], d->memory_bandwidth, giga),
           number(text[4], d->l2_bytes, mib), number(text[5], d->peak_fp32, tera),
           number(text[6], d->peak_tf32, tera), number(text[7], d->peak_fp16, tera),
           number(text[8], d->peak_bf16, tera));
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->item[i].device, d->name) == 0)
            printf("  %s", list->item[i].profile);
    putchar('\n');
}

struct json_object *devices_json(const struct dlt_device *device)
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

static struct json_object *profiles_json(const struct dlt_device *device,
                                         const struct measured_list *list)
{
    struct json_object *profiles = json_object_new_array();

    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->item[i].device, device->name) == 0)
            json_object_array_add(profiles, json_object_new_string(list->item[i].profile));
    return profiles;
}

static void add_entry(struct json_object *array, const struct dlt_catalogue_entry *entry,
                      const struct measured_list *list)
{
    struct json_object *object = devices_json(&entry->device);
    struct json_object *aliases = json_object_new_array();

    for (size_t i = 0; i < DLT_ALIASES && entry->alias[i][0]; i++)
        json_object_array_add(aliases, json_object_new_string(entry->alias[i]));
    json_object_object_add(object, "aliases", aliases);
    json_object_object_add(object, "profiles", profiles_json(&entry->device, list));
    json_object_array_add(array, object);
}

static void print_catalogue(const struct measured_list *list)
{
    const struct dlt_catalogue_entry *entry;

    print_heading();
    for (size_t i = 0; (entry = dlt_catalogue_at(i)) != NULL; i++)
        print_device(&entry->device, list);
    puts(
        "\nGiB: what programs can allocate. FP32 to BF16: dense TFLOP/s of the data sheet. "
        "PROFILES: "
        "installed\nones that measured the device; the others are predicted from the general one.");
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
static int print_names(const struct options *o, const struct measured_list *list)
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
        print_device(device, list);
        for (size_t k = 0; (entry = dlt_catalogue_at(k)) != NULL; k++)
            if (&entry->device != device && dlt_device_matches(entry->device.name, o->names[i]))
                printf("  \"%s\" could also be  %s\n", o->names[i], entry->device.name);
    }
    return COMMAND_DONE;
}

static int catalogue_json(const struct options *o, const struct measured_list *list)
{
    struct json_object *object = json_object_new_object();
    struct json_object *array = json_object_new_array();
    const struct dlt_catalogue_entry *entry;
    int status = COMMAND_DONE;

    json_object_object_add(object, "devices", array);
    for (size_t i = 0; (entry = dlt_catalogue_at(i)) != NULL; i++)
        if (o->name_count == 0)
            add_entry(array, entry, list);
    for (size_t i = 0; i < o->name_count && status == COMMAND_DONE; i++) {
        const struct dlt_device *device = dlt_catalogue_find(o->names[i]);

        if (device)
            json_object_array_add(array, devices_json(device));
        else
            status = no_device(o->names[i]);
    }
    if (status == COMMAND_DONE)
        dlt_json_print(stdout, object);
    json_object_put(object);
    return status;
}

static int show_catalogue(const struct options *o)
{
    struct measured_list list = {0};
    struct dlt_error error;
    int status = COMMAND_DONE;

    if (dlt_devices_load_installed(&error) || dlt_shipped_each(take_profile, &list, &error))
        status = command_fail("devices", &error);
    else if (o->json)
        status = catalogue_json(o, &list);
    else if (o->name_count > 0)
        status = print_names(o, &list);
    else
        print_catalogue(&list);
    free(list.item);
    return status;
}

enum { PROFILE = 256, JSON, HELP };

static const struct option long_options[] = {
    {"profile", required_argument, NULL, PROFILE},
    {"json", no_argument, NULL, JSON},
    {"help", no_argument, NULL, HELP},
    {0},
};

static int take_option(int option, char *value, void *context)
{
    struct options *o = context;

    if (option == PROFILE)
        o->profile = value;
    else
        o->json = true;
    return COMMAND_DONE;
}

int command_devices(int argc, char **argv)
{
    struct options o = {0};
    int status = command_options("devices", help, long_options, argc, argv, take_option, &o);

    if (status >= 0)
        return status;
    o.names = argv + optind;
    o.name_count = (size_t)(argc - optind);
    if (o.profile && o.name_count > 0)
        return command_usage("devices", "give names or --profile, not both");
    return o.profile ? devices_show_profile(o.profile, o.json) : show_catalogue(&o);
}
