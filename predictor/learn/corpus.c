/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/corpus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/known.h"
#include "predict/checksum.h"

static bool same_software(const struct dlt_software *a, const struct dlt_software *b)
{
    return strcmp(a->framework, b->framework) == 0 && strcmp(a->backend, b->backend) == 0 &&
           strcmp(a->cuda, b->cuda) == 0 && a->timing == b->timing;
}

/* The group's number, made where there is none yet; (size_t)-1 out of memory. */
static size_t find_group(struct dlt_corpus *c, const struct dlt_measure_header *header, int threads)
{
    struct dlt_group *larger;

    for (size_t i = c->group_count; i-- > 0;)
        if (c->group[i].threads == threads &&
            strcmp(c->group[i].device.name, header->device.name) == 0 &&
            same_software(&c->group[i].software, &header->software))
            return i;
    larger = reallocarray(c->group, c->group_count + 1, sizeof *c->group);
    if (!larger)
        return (size_t)-1;
    c->group = larger;
    c->group[c->group_count] = (struct dlt_group){
        .device = header->device, .software = header->software, .threads = threads};
    return c->group_count++;
}

/* The section's number, made where there is none yet; (size_t)-1 out of memory. */
static size_t find_section(struct dlt_corpus *c, uint32_t group, const struct dlt_record *record)
{
    struct dlt_corpus_section *larger;

    for (size_t i = 0; i < c->section_count; i++) {
        size_t at = (c->current + i) % c->section_count; /* rows of one lie together mostly */
        const struct dlt_corpus_section *s = &c->section[at];

        if (s->group == group && s->kind == record->kind && s->dtype == record->dtype &&
            s->math == record->math)
            return at;
    }
    larger = reallocarray(c->section, c->section_count + 1, sizeof *c->section);
    if (!larger)
        return (size_t)-1;
    c->section = larger;
    c->section[c->section_count] = (struct dlt_corpus_section){
        .group = group, .kind = record->kind, .dtype = record->dtype, .math = record->math};
    dlt_random_seed(&c->section[c->section_count].random, c->seed, c->section_count);
    return c->section_count++;
}

static bool is_of(const struct dlt_corpus_section *s, const struct dlt_row *row)
{
    return s->group == row->group && s->kind == row->record.kind && s->dtype == row->record.dtype &&
           s->math == row->record.math;
}

/* Where a section's rows are, all of its places taken. */
static int index_rows(const struct dlt_corpus *c, struct dlt_corpus_section *s, size_t most)
{
    size_t count = 0;

    s->row = DLT_KEPT(calloc(most, sizeof *s->row));
    for (size_t r = 0; s->row && r < c->row_count && count < most; r++)
        if (is_of(s, &c->row[r]))
            s->row[count++] = (uint32_t)r;
    return s->row ? 0 : -1;
}

/* The row that the next one of a section becomes: a new one, or another that gives way; NULL: it is
 * not kept. Returns -1 out of memory. */
static int make_room(struct dlt_corpus *c, struct dlt_corpus_section *s, struct dlt_row **row)
{
    size_t most = c->most_rows ? c->most_rows : DLT_SECTION_ROWS;
    size_t place = dlt_random_place(&s->random, s->read, most);

    *row = NULL;
    if (s->read++ >= most) {
        if (!s->row && index_rows(c, s, most))
            return -1;
        if (place < most)
            *row = &c->row[s->row[place]];
        return 0;
    }
    if (dlt_grow(&c->row, sizeof *c->row, c->row_count, 1, &c->row_room))
        return -1;
    *row = &c->row[c->row_count++];
    return 0;
}

static int add_row(struct dlt_corpus *c, const struct dlt_measurement *m,
                   const struct dlt_measure_header *header, uint32_t line)
{
    size_t group = find_group(c, header, m->record.threads), section;
    struct dlt_row *row;

    if (group == (size_t)-1)
        return -1;
    section = find_section(c, (uint32_t)group, &m->record);
    if (section == (size_t)-1 || make_room(c, &c->section[section], &row))
        return -1;
    c->current = section;
    c->group[group].rows++;
    if (row)
        *row = (struct dlt_row){.record = m->record,
                                .seconds = m->disturbed && m->min_s > 0 ? m->min_s : m->median_s,
                                .group = (uint32_t)group,
                                .disturbed = m->disturbed,
                                .place = c->placed++,
                                .source = (uint32_t)(c->source_count - 1),
                                .line = line};
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct dlt_row *x = a, *y = b;

    return (x->place > y->place) - (x->place < y->place);
}

/* Rows that took others' places go to where they stand in the file. */
static void put_in_order(struct dlt_corpus *c)
{
    if (c->placed > c->row_count)
        qsort(c->row, c->row_count, sizeof *c->row, by_place);
    for (size_t s = 0; s < c->section_count; s++) {
        free(c->section[s].row);
        c->section[s].row = NULL;
    }
}

static uint32_t line_number(const struct dlt_measure_reader *reader)
{
    size_t line = dlt_measure_line(reader);

    return line < UINT32_MAX ? (uint32_t)line : UINT32_MAX;
}

static int add_run(struct dlt_corpus *c, const struct dlt_run *run, uint32_t line)
{
    if (dlt_grow(&c->run, sizeof *c->run, c->run_count, 1, &c->run_room))
        return -1;
    c->run[c->run_count++] =
        (struct dlt_corpus_run){.run = *run, .source = c->source_count - 1, .line = line};
    return 0;
}

static int add_looked_up(struct dlt_corpus *c, const struct dlt_measurement *m, uint32_t line)
{
    if (dlt_grow(&c->looked_up, sizeof *c->looked_up, c->looked_up_count, 1, &c->looked_up_room))
        return -1;
    c->looked_up[c->looked_up_count++] =
        (struct dlt_looked_up){.record = m->record,
                               .seconds = m->disturbed && m->min_s > 0 ? m->min_s : m->median_s,
                               .source = c->source_count - 1,
                               .line = line};
    return 0;
}

static int read_rows(struct dlt_corpus *c, struct dlt_measure_reader *reader,
                     struct dlt_source *source, struct dlt_error *error)
{
    struct dlt_measurement measurement;
    struct dlt_run run;
    int got;

    while ((got = dlt_measure_next(reader, &measurement, &run, error)) > 0) {
        bool failed = false;

        if (source->header.runs) {
            source->runs++;
            failed = add_run(c, &run, line_number(reader)) != 0;
        } else if (measurement.median_s > 0) {
            source->rows++;
            source->disturbed += measurement.disturbed;
            failed = source->header.table
                         ? add_looked_up(c, &measurement, line_number(reader)) != 0
                         : add_row(c, &measurement, &source->header, line_number(reader)) != 0;
        }
        if (failed)
            return dlt_fail_memory(error);
    }
    put_in_order(c);
    source->unknown = dlt_measure_unknown(reader);
    source->cut = dlt_measure_cut(reader);
    return got;
}

int dlt_file_digest(const char *path, uint64_t *size, uint64_t *digest, struct dlt_error *error)
{
    char block[65536];
    size_t got;
    int failed, saved;
    FILE *file = fopen(path, "rbe");

    *size = *digest = 0;
    if (!file)
        return dlt_fail(error, "%s: %s", path, strerror(errno));
    while ((got = fread(block, 1, sizeof block, file)) > 0) {
        *digest = dlt_checksum(block, got, *digest);
        *size += got;
    }
    failed = ferror(file);
    saved = errno;
    fclose(file);
    return failed ? dlt_fail(error, "%s: %s", path, strerror(saved)) : 0;
}

int dlt_corpus_add(struct dlt_corpus *c, const char *path, struct dlt_error *error)
{
    struct dlt_measure_reader *reader = NULL;
    struct dlt_source *source, *larger;
    int result = -1;

    larger = reallocarray(c->source, c->source_count + 1, sizeof *c->source);
    if (!larger)
        return dlt_fail_memory(error);
    c->source = larger;
    if (dlt_measure_open(path, &reader, error))
        return -1;
    source = &c->source[c->source_count++];
    *source =
        (struct dlt_source){.header = *dlt_measure_header(reader), .path = DLT_KEPT(strdup(path))};
    if (!source->path)
        dlt_fail_memory(error);
    else
        result = read_rows(c, reader, source, error) ||
                         dlt_file_digest(path, &source->size, &source->digest, error)
                     ? -1
                     : 0;
    dlt_measure_close(reader);
    return result;
}

void dlt_corpus_drop(struct dlt_corpus *c, const bool *gone)
{
    size_t kept = 0;

    for (size_t r = 0; r < c->row_count; r++) {
        if (!gone[r]) {
            c->row[kept++] = c->row[r];
            continue;
        }
        c->group[c->row[r].group].rows--;
        for (size_t s = 0; s < c->section_count; s++)
            c->section[s].read -= is_of(&c->section[s], &c->row[r]);
    }
    c->row_count = kept;
}

void dlt_corpus_clear(struct dlt_corpus *c)
{
    for (size_t i = 0; i < c->source_count; i++)
        free(c->source[i].path);
    for (size_t s = 0; s < c->section_count; s++)
        free(c->section[s].row);
    free(c->section);
    free(c->group);
    free(c->row);
    free(c->run);
    free(c->looked_up);
    free(c->source);
    *c = (struct dlt_corpus){0};
}
