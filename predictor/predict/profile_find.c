/* SPDX-License-Identifier: Apache-2.0 */
/* Which entry of a profile answers for a device. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "device/catalogue.h"
#include "predict/profile.h"
#include "predict/profile_format.h"

/* How well an entry answers for a thread count: the nearest count first, then the most sections. */
static double entry_rank(const struct dlt_file_entry *entry, int threads)
{
    double apart = 0;

    if (threads > 0 && entry->threads > 0)
        apart = fabs(log((double)entry->threads / threads));
    return entry->section_count / 1e4 - apart;
}

static int no_such_device(const struct dlt_profile *p, const char *device, struct dlt_error *error)
{
    char list[512] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < p->header->entry_count && used < sizeof list; i++) {
        const char *name = p->entry[i].device.name;

        if (!p->entry[i].general && (i == 0 || strcmp(name, p->entry[i - 1].device.name) != 0))
            used +=
                (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", name);
    }
    if (!device)
        return dlt_fail(error, "%s: holds several devices; name one of: %s", p->path, list);
    return dlt_fail(error, "%s: has no device \"%s\"; it has: %s", p->path, device, list);
}

enum dlt_answers dlt_profile_answers(const struct dlt_profile *profile, size_t entry,
                                     const char *device)
{
    const struct dlt_file_entry *e = &profile->entry[entry];

    if (e->general)
        return DLT_ANSWERS_GENERAL;
    if (strcmp(e->device.name, device) == 0)
        return DLT_ANSWERS_NAMED;
    return dlt_device_matches(e->device.name, device) ? DLT_ANSWERS_MEANT : DLT_ANSWERS_NOT;
}

static bool is_of_framework(const struct dlt_file_entry *entry, enum dlt_framework framework)
{
    const char *name = dlt_framework_names[framework];

    return strncmp(entry->software.framework, name, strlen(name)) == 0;
}

bool dlt_profile_is_of(const struct dlt_profile *profile, size_t entry,
                       enum dlt_framework framework)
{
    bool named = false;

    for (int f = 0; f < DLT_FRAMEWORK_NONE; f++)
        named = named || is_of_framework(&profile->entry[entry], (enum dlt_framework)f);
    return !named || is_of_framework(&profile->entry[entry], framework);
}

/* The best entry among those that measured the device; DLT_FRAMEWORK_NONE: of any software. */
static const struct dlt_file_entry *best_entry(const struct dlt_profile *p, const char *device,
                                               int threads, enum dlt_framework framework)
{
    const struct dlt_file_entry *best = NULL;
    double best_rank = 0;

    for (uint32_t i = 0; i < p->header->entry_count; i++) {
        const struct dlt_file_entry *e = &p->entry[i];
        double rank = entry_rank(e, threads) + (is_of_framework(e, framework) ? 100 : 0) +
                      (e->adapted ? 1000 : 0);

        if (e->general || (device && dlt_profile_answers(p, i, device) < DLT_ANSWERS_MEANT))
            continue;
        if (!best || rank > best_rank) {
            best = e;
            best_rank = rank;
        }
    }
    return best;
}

/* Whether the profile is of one device alone, or adapted to one. */
static bool is_of_one_device(const struct dlt_profile *p)
{
    if (p->entry[0].adapted)
        return true;
    for (uint32_t i = 1; i < p->header->entry_count; i++)
        if (strcmp(p->entry[i].device.name, p->entry[0].device.name) != 0)
            return false;
    return !p->entry[0].general;
}

int dlt_profile_find(const struct dlt_profile *p, const char *device, int threads, size_t *entry,
                     struct dlt_error *error)
{
    struct dlt_target target = {0};

    if (dlt_profile_target(p, device, threads, DLT_FRAMEWORK_NONE, &target, error))
        return -1;
    *entry = target.entry;
    return 0;
}

static const struct dlt_file_entry *general_entry(const struct dlt_profile *p,
                                                  enum dlt_framework framework)
{
    const struct dlt_file_entry *best = NULL;

    for (uint32_t i = 0; i < p->header->entry_count; i++)
        if (p->entry[i].general && (!best || (is_of_framework(&p->entry[i], framework) &&
                                              !is_of_framework(best, framework))))
            best = &p->entry[i];
    return best;
}

int dlt_profile_target(const struct dlt_profile *p, const char *device, int threads,
                       enum dlt_framework framework, struct dlt_target *target,
                       struct dlt_error *error)
{
    const struct dlt_file_entry *entry, *general;
    const struct dlt_device *known;

    if (!device && !is_of_one_device(p))
        return no_such_device(p, NULL, error);
    entry = best_entry(p, device, threads, framework);
    known = device ? dlt_catalogue_find(device) : NULL;
    if (!entry && known) /* an alias that only the catalogue has */
        entry = best_entry(p, known->name, threads, framework);
    general = known ? general_entry(p, framework) : NULL;
    if (general && (!entry || (!dlt_profile_is_of(p, (size_t)(entry - p->entry), framework) &&
                               dlt_profile_is_of(p, (size_t)(general - p->entry), framework))))
        entry = general;
    target->device = entry == general ? known : &entry->device;
    target->memo = NULL;
    if (!entry)
        return no_such_device(p, device, error);
    target->entry = (size_t)(entry - p->entry);
    return 0;
}
