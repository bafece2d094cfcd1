/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "measure/measurements.h"
#include "measure/members.h"

enum { DIGITS = 6 };

static void write_text(FILE *stream, const char *text)
{
    putc('"', stream);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\')
            fprintf(stream, "\\%c", *p);
        else if (*p < 0x20)
            fprintf(stream, "\\u%04x", *p);
        else
            putc(*p, stream);
    }
    putc('"', stream);
}

/* `"name":`, with a comma before it unless it is the first. */
static void write_key(FILE *stream, const char *name, bool *first)
{
    fprintf(stream, "%s\"%s\":", *first ? "" : ",", name);
    *first = false;
}

static void write_real(FILE *stream, double value)
{
    char buffer[32];

    fputs(dlt_text_from_double(buffer, value, DIGITS), stream);
}

static void write_shape(FILE *stream, const int64_t *size, size_t count)
{
    for (size_t i = 0; i < count && size[i]; i++)
        fprintf(stream, "%c%" PRId64, i ? ',' : '[', size[i]);
    putc(']', stream);
}

static unsigned name_index(const void *field)
{
    unsigned index;

    memcpy(&index, field, sizeof index);
    return index;
}

/* Zero, empty, false or the first of its names: what an absent member reads as. */
static bool is_default(const struct dlt_member *m, const void *field)
{
    switch (m->type) {
    case DLT_MEMBER_TEXT:
        return *(const char *)field == '\0';
    case DLT_MEMBER_REAL:
    case DLT_MEMBER_VERSION:
        return !(*(const double *)field > 0) && !(*(const double *)field < 0);
    case DLT_MEMBER_INT:
        return *(const int *)field == 0;
    case DLT_MEMBER_INT64:
    case DLT_MEMBER_SHAPE:
        return *(const int64_t *)field == 0;
    case DLT_MEMBER_BOOL:
        return !*(const bool *)field;
    case DLT_MEMBER_NAME:
        return name_index(field) == 0;
    }
    return true;
}

static void write_member(FILE *stream, const struct dlt_member *m, const void *field)
{
    char buffer[32];

    switch (m->type) {
    case DLT_MEMBER_TEXT:
        write_text(stream, field);
        break;
    case DLT_MEMBER_REAL:
        write_real(stream, *(const double *)field / m->scale);
        break;
    case DLT_MEMBER_VERSION:
        dlt_text_from_double(buffer, *(const double *)field, DIGITS);
        fprintf(stream, "\"%s%s\"", buffer, buffer[strspn(buffer, "0123456789")] ? "" : ".0");
        break;
    case DLT_MEMBER_INT:
        fprintf(stream, "%d", *(const int *)field);
        break;
    case DLT_MEMBER_INT64:
        fprintf(stream, "%" PRId64, *(const int64_t *)field);
        break;
    case DLT_MEMBER_SHAPE:
        write_shape(stream, field, m->size);
        break;
    case DLT_MEMBER_BOOL:
        fputs(*(const bool *)field ? "true" : "false", stream);
        break;
    case DLT_MEMBER_NAME:
        write_text(stream, m->names[name_index(field)]);
        break;
    }
}

static void write_members(FILE *stream, const struct dlt_member *table, const void *base,
                          bool *first)
{
    const struct dlt_member *before = NULL;

    for (const struct dlt_member *m = table; m->name; before = m++) {
        const void *field = (const char *)base + m->offset;
        bool alias = before && before->offset == m->offset;

        if (alias || (is_default(m, field) && !m->required && !m->always))
            continue;
        write_key(stream, m->name, first);
        write_member(stream, m, field);
    }
}

/* [p, ...] where both sides are equal, else [[before, after], ...]. */
static void write_padding(FILE *stream, const int64_t *pad, int dims)
{
    bool even = true;

    for (int d = 0; d < dims; d++)
        even = even && pad[2 * d] == pad[2 * d + 1];
    putc('[', stream);
    for (int d = 0; d < dims; d++) {
        if (d)
            putc(',', stream);
        if (even)
            fprintf(stream, "%" PRId64, pad[2 * d]);
        else
            fprintf(stream, "[%" PRId64 ",%" PRId64 "]", pad[2 * d], pad[2 * d + 1]);
    }
    putc(']', stream);
}

static void write_field(FILE *stream, const struct dlt_field *field, const int64_t *value, int dims)
{
    switch (field->type) {
    case DLT_FIELD_INT:
        fprintf(stream, "%" PRId64, *value);
        break;
    case DLT_FIELD_BOOL:
        fputs(*value ? "true" : "false", stream);
        break;
    case DLT_FIELD_LIST:
        write_shape(stream, value, (size_t)dims);
        break;
    case DLT_FIELD_PADDING:
        write_padding(stream, value, dims);
        break;
    case DLT_FIELD_NAME:
        write_text(stream, field->names[*value]);
        break;
    }
}

int dlt_measure_write_header(FILE *stream, const struct dlt_measure_header *header)
{
    const struct dlt_device *device = &header->device;
    bool first = true;

    fprintf(stream, "{\"format\":\"%s\",\"version\":1",
            header->runs ? "dltime-runs" : "dltime-measurements");
    if (device->name[0]) {
        fputs(",\"device\":{", stream);
        write_members(stream, dlt_device_members, device, &first);
        if (device->cores > 0) { /* a CPU, which has a model */
            write_key(stream, "model", &first);
            write_text(stream, device->name);
        }
        putc('}', stream);
    }
    first = true;
    fputs(",\"software\":{", stream);
    write_members(stream, dlt_software_members, &header->software, &first);
    putc('}', stream);
    if (header->table)
        fputs(",\"table\":true", stream);
    if (header->source[0]) {
        fputs(",\"source\":", stream);
        write_text(stream, header->source);
    }
    fputs("}\n", stream);
    return ferror(stream) ? -1 : 0;
}

int dlt_measure_write(FILE *stream, const struct dlt_measurement *measurement)
{
    struct dlt_record record = measurement->record;
    bool first = true;

    putc('{', stream);
    write_key(stream, "op", &first);
    write_text(stream, record.kind->name);
    for (const struct dlt_field *field = record.kind->fields; field->name; field++) {
        write_key(stream, field->name, &first);
        write_field(stream, field, dlt_record_field(&record, field), record.kind->dims);
    }
    write_members(stream, dlt_row_members, measurement, &first);
    fputs("}\n", stream);
    return ferror(stream) ? -1 : 0;
}

int dlt_measure_write_run(FILE *stream, const struct dlt_run *run)
{
    bool first = true;

    putc('{', stream);
    write_members(stream, dlt_run_members, run, &first);
    fputs("}\n", stream);
    return ferror(stream) ? -1 : 0;
}
