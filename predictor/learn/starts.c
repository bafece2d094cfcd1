/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/starts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/drift.h"

enum { LEAST_POOLED = 1500, LEAST_DEVICES = 2 };

void dlt_starts_clear(struct dlt_starts *starts)
{
    for (size_t i = 0; i < starts->count; i++)
        dlt_start_clear(&starts->start[i]);
    free(starts->start);
    *starts = (struct dlt_starts){0};
}

static const struct dlt_group *group_of(const struct dlt_corpus *corpus,
                                        const struct dlt_part *part)
{
    return &corpus->group[part->row[0]->group];
}

static bool same_convention(const struct dlt_software *a, int a_threads,
                            const struct dlt_software *b, int b_threads)
{
    return a->timing == b->timing && (a_threads > 0) == (b_threads > 0);
}

/* Whether a part measured the operator of another on another device. */
static bool is_other(const struct dlt_corpus *corpus, const struct dlt_part *a,
                     const struct dlt_part *b)
{
    const struct dlt_group *x = group_of(corpus, a), *y = group_of(corpus, b);
    const struct dlt_record *r = &a->row[0]->record, *s = &b->row[0]->record;

    return r->kind == s->kind && r->dtype == s->dtype && r->math == s->math &&
           same_convention(&x->software, x->threads, &y->software, y->threads) &&
           strcmp(x->device.name, y->device.name) != 0;
}

static struct dlt_rows rows_of(const struct dlt_corpus *corpus, const struct dlt_part *part)
{
    return (struct dlt_rows){.row = part->row,
                             .count = part->used,
                             .device = &group_of(corpus, part)->device,
                             .rates = part->rates};
}

static bool may_begin(const struct dlt_part *part, const struct dlt_train_settings *settings)
{
    return dlt_method_learns(settings->method) && dlt_is_convolution(part->row[0]->record.kind) &&
           part->used >= DLT_LEAST_BEGUN;
}

/* Whether some part could begin from this one. */
static bool may_teach(const struct dlt_corpus *corpus, const struct dlt_part *part, size_t parts,
                      size_t which, const struct dlt_train_settings *settings)
{
    for (size_t p = 0; p < parts && part[which].used >= LEAST_POOLED; p++)
        if (may_begin(&part[p], settings) && is_other(corpus, &part[p], &part[which]))
            return true;
    return false;
}

int dlt_starts_look(const struct dlt_corpus *corpus, struct dlt_part *part, size_t parts,
                    const struct dlt_train_settings *settings)
{
    for (size_t p = 0; p < parts; p++) {
        struct dlt_rows rows = rows_of(corpus, &part[p]);

        if (may_teach(corpus, part, parts, p, settings) &&
            dlt_find_drift(&rows, settings->seed, &part[p].drift_s))
            return -1;
    }
    return 0;
}

/* The other devices' rows; returns how many parts, 0 where devices are too few. */
static size_t gather(const struct dlt_corpus *corpus, const struct dlt_part *part, size_t parts,
                     size_t which, struct dlt_rows *rows)
{
    size_t count = 0, devices = 0;

    for (size_t p = 0; p < parts && count < DLT_DONORS; p++) {
        if (part[p].used < LEAST_POOLED || part[p].drift_s > 0 ||
            !is_other(corpus, &part[p], &part[which]))
            continue;
        rows[count] = rows_of(corpus, &part[p]);
        devices +=
            count == 0 || strcmp(rows[count].device->name, rows[count - 1].device->name) != 0;
        count++;
    }
    return devices >= LEAST_DEVICES ? count : 0;
}

static bool is_kept_for(const struct dlt_file_section *s, const struct dlt_record *record)
{
    return dlt_section_is_start(s) && s->dtype == (uint32_t)record->dtype &&
           s->math == (uint32_t)record->math &&
           strcmp(s->kind + sizeof DLT_START_PREFIX - 1, record->kind->name) == 0;
}

/* known: only those of the device itself, which had no part in them. */
static bool serves(const struct dlt_profile *profile, uint32_t section,
                   const struct dlt_record *record, const struct dlt_group *group, bool known)
{
    const struct dlt_file_section *s = &profile->section[section];
    const struct dlt_file_entry *entry = &profile->entry[s->entry];

    return is_kept_for(s, record) &&
           same_convention(&entry->software, entry->threads, &group->software, group->threads) &&
           (!known || strcmp(entry->device.name, group->device.name) == 0);
}

static int take(struct dlt_starts *starts, const struct dlt_profile *from,
                const struct dlt_record *record, const struct dlt_group *group, bool known)
{
    for (uint32_t i = 0; i < from->header->section_count && starts->count < DLT_DONORS; i++) {
        struct dlt_section section;
        int found;

        if (!serves(from, i, record, group, known) || !dlt_profile_section(from, i, &section))
            continue;
        found = dlt_start_of_section(&starts->start[starts->count], &section);
        if (found < 0)
            return -1;
        starts->count += found == 0;
    }
    return 0;
}

static bool knows(const struct dlt_profile *profile, const struct dlt_device *device)
{
    for (uint32_t e = 0; e < profile->header->entry_count; e++)
        if (strcmp(profile->entry[e].device.name, device->name) == 0)
            return true;
    return false;
}

int dlt_starts_find(struct dlt_starts *starts, const struct dlt_corpus *corpus,
                    const struct dlt_part *part, size_t parts, size_t which,
                    const struct dlt_train_settings *settings)
{
    const struct dlt_record *record = &part[which].row[0]->record;
    const struct dlt_group *group = group_of(corpus, &part[which]);
    struct dlt_rows rows[DLT_DONORS];
    size_t count;

    dlt_starts_clear(starts);
    if (!may_begin(&part[which], settings))
        return 0;
    starts->start = calloc(DLT_DONORS, sizeof *starts->start);
    if (!starts->start)
        return -1;
    count = gather(corpus, part, parts, which, rows);
    if (count == 0)
        return settings->starts ? take(starts, settings->starts, record, group,
                                       knows(settings->starts, &group->device))
                                : 0;
    if (dlt_start_pool(starts->start, rows, count, settings->seed, settings->threads))
        return -1;
    starts->count = 1;
    for (size_t i = 0; i < count; i++)
        starts->pooled += rows[i].count;
    return 0;
}

/* Whether entries are of one device, timed in one way. */
static bool alike(const struct dlt_file_entry *a, const struct dlt_file_entry *b)
{
    return strcmp(a->device.name, b->device.name) == 0 &&
           same_convention(&a->software, a->threads, &b->software, b->threads);
}

int dlt_starts_keep(const struct dlt_starts *starts, const struct dlt_record *record,
                    uint32_t entry, struct dlt_profile_writer *writer)
{
    struct dlt_file_section index;
    unsigned char *bytes;
    size_t size;

    if (starts->pooled == 0)
        return 0;
    for (size_t i = 0; i < writer->section_count; i++)
        if (is_kept_for(&writer->section[i].index, record) &&
            alike(&writer->entry[writer->section[i].index.entry], &writer->entry[entry]))
            return 0;
    if (dlt_start_bytes(starts->start, record->kind, &bytes, &size))
        return -1;
    memset(&index, 0, sizeof index);
    snprintf(index.kind, sizeof index.kind, DLT_START_PREFIX "%s", record->kind->name);
    index.entry = entry;
    index.dtype = (uint32_t)record->dtype;
    index.math = (uint32_t)record->math;
    index.basis = DLT_BASIS_GENERAL;
    index.rows = (uint32_t)starts->pooled;
    index.size = size;
    return dlt_profile_writer_section(writer, &index, bytes);
}

void dlt_starts_drop(struct dlt_profile_writer *writer)
{
    size_t kept = 0;

    for (size_t i = 0; i < writer->section_count; i++) {
        if (dlt_section_is_start(&writer->section[i].index))
            free(writer->section[i].bytes);
        else
            writer->section[kept++] = writer->section[i];
    }
    writer->section_count = kept;
}

static size_t count_devices(const struct dlt_corpus *corpus)
{
    size_t count = 0;

    for (size_t g = 0; g < corpus->group_count; g++) {
        size_t same = 0;

        while (strcmp(corpus->group[same].device.name, corpus->group[g].device.name) != 0)
            same++;
        count += same == g;
    }
    return count;
}

static bool is_wanted(const struct dlt_corpus_section *of)
{
    return dlt_is_convolution(of->kind) && of->read >= DLT_LEAST_BEGUN;
}

bool dlt_starts_wanted(const struct dlt_corpus *corpus)
{
    bool wanted = false;

    for (size_t i = 0; i < corpus->section_count; i++)
        wanted |= is_wanted(&corpus->section[i]);
    return wanted && count_devices(corpus) <= LEAST_DEVICES;
}

bool dlt_starts_serve(const struct dlt_profile *profile, const struct dlt_corpus *corpus)
{
    bool serve = false;

    for (size_t i = 0; i < corpus->section_count; i++) {
        const struct dlt_corpus_section *of = &corpus->section[i];
        const struct dlt_group *group = &corpus->group[of->group];
        struct dlt_record record = dlt_record_make(of->kind);
        bool known = knows(profile, &group->device);
        struct dlt_section section;

        record.dtype = of->dtype;
        record.math = of->math;
        for (uint32_t k = 0; is_wanted(of) && k < profile->header->section_count; k++)
            serve |= serves(profile, k, &record, group, known) &&
                     dlt_profile_section(profile, k, &section);
    }
    return serve;
}
