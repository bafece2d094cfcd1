/* SPDX-License-Identifier: Apache-2.0 */
/* What a profile holds for each of its devices. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "command/command.h"
#include "command/devices.h"
#include "predict/profile_format.h"

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

/* Whether a section is one of an entry's that answer. */
static bool is_shown(const struct dlt_file_section *s, size_t entry)
{
    return s->entry == entry && !dlt_section_is_start(s);
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
            if (is_shown(&profile->section[k], i))
                print_section(&profile->section[k]);
        for (unsigned f = 0; f < DLT_FRAMEWORKS; f++) {
            dlt_profile_step(profile, i, (enum dlt_framework)f, &step);
            if (step.networks > 0)
                printf("  whole steps under %s: %.0f network%s, %.0f run%s\n",
                       dlt_framework_names[f], step.networks, step.networks > 1 ? "s" : "",
                       step.runs, step.runs > 1 ? "s" : "");
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
        struct json_object *entry = devices_json(dlt_profile_device(profile, i));
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
            if (is_shown(&profile->section[k], i))
                json_object_array_add(ops, section_json(&profile->section[k]));
        json_object_array_add(devices, entry);
    }
    dlt_json_print(stdout, object);
    json_object_put(object);
}

int devices_show_profile(const char *name, bool json)
{
    struct dlt_profile *profile;
    struct dlt_error error;

    if (command_profile_load(name, &profile, &error))
        return command_fail("devices", &error);
    if (json)
        profile_json(profile);
    else
        print_profile(profile);
    dlt_profile_destroy(profile);
    return COMMAND_DONE;
}
