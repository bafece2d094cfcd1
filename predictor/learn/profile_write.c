/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/profile_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "predict/checksum.h"

/* Appends a copy of one element. */
static int append(void **array, size_t *count, size_t element, const void *value)
{
    void *larger = reallocarray(*array, *count + 1, element);

    if (!larger)
        return -1;
    *array = larger;
    memcpy((char *)larger + *count * element, value, element);
    ++*count;
    return 0;
}

int dlt_profile_writer_entry(struct dlt_profile_writer *w, const struct dlt_file_entry *entry)
{
    return append((void **)&w->entry, &w->entry_count, sizeof *entry, entry);
}

int dlt_profile_writer_section(struct dlt_profile_writer *w, const struct dlt_file_section *index,
                               unsigned char *bytes)
{
    struct dlt_written_section section = {.index = *index, .bytes = bytes};

    if (append((void **)&w->section, &w->section_count, sizeof section, &section)) {
        free(bytes);
        return -1;
    }
    return 0;
}

int dlt_profile_writer_source(struct dlt_profile_writer *w, const struct dlt_file_source *source)
{
    return append((void **)&w->source, &w->source_count, sizeof *source, source);
}

int dlt_profile_writer_step(struct dlt_profile_writer *w, size_t entry,
                            enum dlt_framework framework,
                            const struct dlt_step_parameters *parameters)
{
    struct dlt_file_step step = {
        .entry = (uint32_t)entry, .framework = (uint32_t)framework, .parameters = *parameters};

    for (size_t i = 0; i < w->step_count; i++) {
        if (w->step[i].entry == step.entry && w->step[i].framework == step.framework) {
            w->step[i] = step;
            return 0;
        }
    }
    return append((void **)&w->step, &w->step_count, sizeof step, &step);
}

/* Sections of one entry under its new number. */
static int copy_sections(struct dlt_profile_writer *w, const struct dlt_profile *profile,
                         uint32_t entry, uint32_t number)
{
    for (uint32_t i = 0; i < profile->header->section_count; i++) {
        struct dlt_file_section index = profile->section[i];
        const unsigned char *from = index.entry == entry ? dlt_profile_bytes(profile, i) : NULL;
        unsigned char *bytes;

        if (!from)
            continue;
        bytes = malloc(index.size + 1);
        if (!bytes)
            return -1;
        memcpy(bytes, from, index.size);
        index.entry = number;
        if (dlt_profile_writer_section(w, &index, bytes))
            return -1;
    }
    return 0;
}

int dlt_profile_writer_copy(struct dlt_profile_writer *w, const struct dlt_profile *profile,
                            bool (*kept)(const struct dlt_file_entry *entry), uint32_t *moved)
{
    const struct dlt_file_header *h = profile->header;

    for (uint32_t e = 0; e < h->entry_count; e++) {
        size_t number = w->entry_count;

        if (moved)
            moved[e] = (uint32_t)number;
        if (kept && !kept(&profile->entry[e]))
            continue;
        if (dlt_profile_writer_entry(w, &profile->entry[e]) ||
            copy_sections(w, profile, e, (uint32_t)number))
            return -1;
        for (uint32_t s = 0; s < h->step_count; s++)
            if (profile->step[s].entry == e &&
                dlt_profile_writer_step(w, number, (enum dlt_framework)profile->step[s].framework,
                                        &profile->step[s].parameters))
                return -1;
    }
    for (uint32_t s = 0; s < h->source_count; s++)
        if (dlt_profile_writer_source(w, &profile->source[s]))
            return -1;
    return 0;
}

static int64_t date(void)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    int64_t seconds;

    return epoch && dlt_text_to_int64(epoch, &seconds) ? seconds : (int64_t)time(NULL);
}

/* Sections of one entry side by side, otherwise in the order they came. */
static void group_sections(struct dlt_profile_writer *w)
{
    for (size_t i = 1; i < w->section_count; i++) {
        struct dlt_written_section moving = w->section[i];
        size_t at = i;

        for (; at > 0 && w->section[at - 1].index.entry > moving.index.entry; at--)
            w->section[at] = w->section[at - 1];
        w->section[at] = moving;
    }
    for (size_t e = 0; e < w->entry_count; e++) {
        w->entry[e].first_section = w->entry[e].section_count = 0;
        for (size_t i = w->section_count; i-- > 0;) {
            if (w->section[i].index.entry != e)
                continue;
            w->entry[e].first_section = (uint32_t)i;
            w->entry[e].section_count++;
        }
    }
}

static uint64_t padded(uint64_t size)
{
    return (size + 7) / 8 * 8;
}

static void lay_out(struct dlt_profile_writer *w, struct dlt_file_header *h)
{
    memcpy(h->magic, DLT_PROFILE_MAGIC, sizeof h->magic);
    h->version = DLT_PROFILE_VERSION;
    h->header_size = sizeof *h;
    h->entry_count = (uint32_t)w->entry_count;
    h->section_count = (uint32_t)w->section_count;
    h->step_count = (uint32_t)w->step_count;
    h->source_count = (uint32_t)w->source_count;
    h->entry_size = sizeof *w->entry;
    h->section_size = sizeof(struct dlt_file_section);
    h->step_size = sizeof *w->step;
    h->source_size = sizeof *w->source;
    h->entry_offset = padded(sizeof *h);
    h->section_offset = padded(h->entry_offset + w->entry_count * sizeof *w->entry);
    h->step_offset = padded(h->section_offset + w->section_count * sizeof(struct dlt_file_section));
    h->source_offset = padded(h->step_offset + w->step_count * sizeof *w->step);
    h->model_size = sizeof(struct dlt_file_model);
    h->feature_set = DLT_FEATURE_SET;
    h->directory_size = padded(h->source_offset + w->source_count * sizeof *w->source);
    h->created = date();
    snprintf(h->producer, sizeof h->producer, "dltime %s", DLT_VERSION);
    h->file_size = h->directory_size;
    for (size_t i = 0; i < w->section_count; i++) {
        struct dlt_file_section *s = &w->section[i].index;

        s->offset = h->file_size;
        s->checksum = dlt_checksum(w->section[i].bytes, s->size, i);
        h->file_size += padded(s->size);
    }
}

static void copy_table(unsigned char *at, const void *table, size_t count, size_t element)
{
    if (count)
        memcpy(at, table, count * element);
}

int dlt_profile_writer_bytes(struct dlt_profile_writer *w, void **bytes, size_t *size,
                             struct dlt_error *error)
{
    struct dlt_file_header header;
    unsigned char *data;
    uint64_t sum;

    if (w->entry_count == 0)
        return dlt_fail(error, "there is nothing to write into a profile: no device was measured");
    memset(&header, 0, sizeof header);
    group_sections(w);
    lay_out(w, &header);
    data = calloc(1, header.file_size);
    if (!data)
        return dlt_fail_memory(error);
    copy_table(data + header.entry_offset, w->entry, w->entry_count, sizeof *w->entry);
    for (size_t i = 0; i < w->section_count; i++) {
        const struct dlt_file_section *s = &w->section[i].index;

        memcpy(data + header.section_offset + i * sizeof *s, s, sizeof *s);
        memcpy(data + s->offset, w->section[i].bytes, s->size);
    }
    copy_table(data + header.step_offset, w->step, w->step_count, sizeof *w->step);
    copy_table(data + header.source_offset, w->source, w->source_count, sizeof *w->source);
    sum = dlt_checksum(&header, sizeof header, 0);
    header.directory_checksum =
        dlt_checksum(data + sizeof header, header.directory_size - sizeof header, sum);
    memcpy(data, &header, sizeof header);
    *bytes = data;
    *size = header.file_size;
    return 0;
}

int dlt_profile_writer_save(struct dlt_profile_writer *w, const char *path, struct dlt_error *error)
{
    struct dlt_file_writer file;
    void *bytes;
    size_t size;

    if (dlt_profile_writer_bytes(w, &bytes, &size, error))
        return -1;
    if (dlt_file_create(&file, path, error)) {
        free(bytes);
        return -1;
    }
    fwrite(bytes, 1, size, file.stream);
    free(bytes);
    return dlt_file_commit(&file, error);
}

void dlt_profile_writer_clear(struct dlt_profile_writer *w)
{
    for (size_t i = 0; i < w->section_count; i++)
        free(w->section[i].bytes);
    free(w->entry);
    free(w->section);
    free(w->step);
    free(w->source);
    *w = (struct dlt_profile_writer){0};
}
