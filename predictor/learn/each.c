/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/each.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* Small letters and digits, everything else as single dashes. */
static void slug(char *to, size_t size, const char *from)
{
    size_t used = 0;

    for (; *from && used + 1 < size; from++) {
        if (dlt_text_is_alnum(*from))
            to[used++] = dlt_text_lower(*from);
        else if (used > 0 && to[used - 1] != '-')
            to[used++] = '-';
    }
    while (used > 0 && to[used - 1] == '-')
        used--;
    to[used] = '\0';
}

/* number: which of several groups that differ in what the name leaves out, from 1 on. */
static int name_of(const struct dlt_group *group, const char *folder, int number,
                   char path[PATH_MAX])
{
    char device[128], framework[48], threads[32] = "", which[16] = "";
    int length;

    slug(device, sizeof device, group->device.name);
    slug(framework, sizeof framework, group->software.framework);
    framework[strcspn(framework, "-")] = '\0';
    if (group->threads > 0)
        snprintf(threads, sizeof threads, "x%d", group->threads);
    if (number > 1)
        snprintf(which, sizeof which, "-%d", number);
    length = snprintf(path, PATH_MAX, "%s/%s%s%s%s%s.dlp", folder, device, *framework ? "." : "",
                      framework, threads, which);
    return length < PATH_MAX ? 0 : -1;
}

/* A file for each group: releases of one framework are told apart by a number. */
static int path_of(const struct dlt_corpus *corpus, size_t group, const char *folder,
                   char path[PATH_MAX])
{
    char other[PATH_MAX];
    int number = 1;

    if (name_of(&corpus->group[group], folder, 1, path))
        return -1;
    for (size_t g = 0; g < group; g++)
        if (name_of(&corpus->group[g], folder, 1, other) == 0 && strcmp(other, path) == 0)
            number++;
    return name_of(&corpus->group[group], folder, number, path);
}

/* Whether a file of measurements, or one of its runs, is of the group. */
static bool tells_of(const struct dlt_corpus *corpus, size_t source, const struct dlt_group *group)
{
    const struct dlt_measure_header *h = &corpus->source[source].header;

    if (!h->runs)
        return strcmp(h->device.name, group->device.name) == 0 &&
               memcmp(&h->software, &group->software, sizeof h->software) == 0;
    for (size_t r = 0; r < corpus->run_count; r++) {
        const struct dlt_corpus_run *run = &corpus->run[r];
        const char *framework = dlt_framework_names[dlt_run_framework(&run->run)];

        if (run->source == source && strcmp(run->run.device, group->device.name) == 0 &&
            strncmp(group->software.framework, framework, strlen(framework)) == 0)
            return true;
    }
    return false;
}

static int copy_sections(const struct dlt_profile_writer *from, uint32_t entry,
                         struct dlt_profile_writer *to)
{
    for (size_t i = 0; i < from->section_count; i++) {
        struct dlt_file_section index = from->section[i].index;
        unsigned char *bytes;

        if (index.entry != entry || dlt_section_is_start(&index))
            continue;
        bytes = malloc(index.size + 1);
        if (!bytes)
            return -1;
        memcpy(bytes, from->section[i].bytes, index.size);
        index.entry = 0;
        if (dlt_profile_writer_section(to, &index, bytes))
            return -1;
    }
    return 0;
}

static int copy_entry(const struct dlt_profile_writer *from, const struct dlt_corpus *corpus,
                      uint32_t entry, struct dlt_profile_writer *to)
{
    if (dlt_profile_writer_entry(to, &from->entry[entry]) || copy_sections(from, entry, to))
        return -1;
    for (size_t i = 0; i < from->step_count; i++)
        if (from->step[i].entry == entry &&
            dlt_profile_writer_step(to, 0, (enum dlt_framework)from->step[i].framework,
                                    &from->step[i].parameters))
            return -1;
    for (size_t i = 0; i < from->source_count && i < corpus->source_count; i++)
        if (tells_of(corpus, i, &corpus->group[entry]) &&
            dlt_profile_writer_source(to, &from->source[i]))
            return -1;
    return 0;
}

int dlt_save_each(const struct dlt_profile_writer *writer, const struct dlt_corpus *corpus,
                  const char *folder, struct dlt_error *error)
{
    int result = 0;

    for (size_t g = 0; g < corpus->group_count && result == 0; g++) {
        struct dlt_profile_writer one = {0};
        char path[PATH_MAX];

        if (path_of(corpus, g, folder, path))
            result = dlt_fail(error, "%s: the name of the folder is too long", folder);
        else if (copy_entry(writer, corpus, (uint32_t)g, &one))
            result = dlt_fail_memory(error);
        else
            result = dlt_profile_writer_save(&one, path, error);
        dlt_profile_writer_clear(&one);
    }
    return result;
}
