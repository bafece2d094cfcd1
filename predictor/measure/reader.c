/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "measure/measurements.h"
#include "measure/parse.h"

enum { LINE_LIMIT = 1 << 20, CHUNK = 1 << 16, DEPTH = 32, FORMAT_VERSION = 1 };

struct dlt_measure_reader {
    char *path;
    gzFile stream;
    struct dlt_measure_header header;
    struct json_tokener *tokener;
    struct json_object *object; /* of the line last parsed */
    char *buffer;               /* holds [start, end), and room for a NUL behind it */
    size_t start, end, room;
    size_t line; /* number of the line last taken, from 1 */
    size_t unknown;
    int64_t whole;
    bool ended, cut;
};

/* Makes room behind `end` for one more chunk: moves what is left to the front, then grows. */
static int make_room(struct dlt_measure_reader *r, struct dlt_error *error)
{
    if (r->start > 0) {
        memmove(r->buffer, r->buffer + r->start, r->end - r->start);
        r->end -= r->start;
        r->start = 0;
    }
    if (r->room - r->end < CHUNK) {
        size_t room = r->room ? r->room * 2 : 4 * CHUNK;
        char *larger = realloc(r->buffer, room + 1);

        if (!larger)
            return dlt_fail_memory(error);
        r->buffer = larger;
        r->room = room;
    }
    return 0;
}

/* What zlib says, without the name that it has of the file: "<fd:3>: ". */
static const char *reason_of(const char *text)
{
    const char *named = strstr(text, ">: ");

    return named ? named + 3 : *text ? text : "unknown error";
}

static int fill(struct dlt_measure_reader *r, struct dlt_error *error)
{
    int got, code;
    const char *text;

    if (make_room(r, error))
        return -1;
    got = gzread(r->stream, r->buffer + r->end, CHUNK);
    if (got > 0) {
        r->end += (size_t)got;
        return 0;
    }
    r->ended = true;
    text = gzerror(r->stream, &code);
    if (code == Z_BUF_ERROR) /* a gzip file that stops in the middle: a killed job's */
        r->cut = true;
    else if (code == Z_ERRNO)
        return dlt_fail(error, "cannot be read: %s", strerror(errno));
    else if (got < 0 || code != Z_OK)
        return dlt_fail(error,
                        "the compressed data behind this line is damaged (%s); "
                        "copy the file again",
                        reason_of(text));
    return 0;
}

/* Takes the next line, without its newline and NUL-terminated, into *line. *whole: it had a
 * newline. Returns 1, 0 at the end, -1. */
static int take_line(struct dlt_measure_reader *r, char **line, size_t *length, bool *whole,
                     struct dlt_error *error)
{
    size_t seen = 0; /* bytes of the line that hold no newline */

    for (;;) {
        char *from = r->buffer + r->start;
        size_t held = r->end - r->start;
        char *newline = held > seen ? memchr(from + seen, '\n', held - seen) : NULL;

        if (newline || (r->ended && held > 0)) {
            *whole = newline != NULL;
            *line = from;
            *length = newline ? (size_t)(newline - from) : held;
            from[*length] = '\0';
            r->start += *length + *whole;
            r->line++;
            if (*length > LINE_LIMIT)
                break;
            return 1;
        }
        if (r->ended)
            return 0;
        seen = held;
        if (seen > LINE_LIMIT) {
            r->ended = true; /* what follows would be read as lines that it is not */
            r->start = r->end;
            r->line++;
            break;
        }
        if (fill(r, error)) {
            r->line++;
            return -1;
        }
    }
    return dlt_fail(error, "the line is longer than 1 MiB; is this a measurements file?");
}

/* Whether a line is a JSON object, which is then r->object. */
static bool parse_line(struct dlt_measure_reader *r, const char *line, size_t length)
{
    json_object_put(r->object);
    json_tokener_reset(r->tokener);
    r->object = json_tokener_parse_ex(r->tokener, line, (int)length);
    return json_object_is_type(r->object, json_type_object) &&
           json_tokener_get_parse_end(r->tokener) == length;
}

static int check_format(struct dlt_measure_reader *r, struct dlt_error *error)
{
    struct json_object *format = dlt_member_find(r->object, "format");
    struct json_object *version = dlt_member_find(r->object, "version");
    int64_t number;

    if (!json_object_is_type(format, json_type_string))
        return dlt_fail(error, "format: is missing; the first line of a measurements file is its "
                               "header, {\"format\":\"dltime-measurements\",...}");
    if (dlt_value_is(format, "dltime-trace"))
        return dlt_fail(error, "format: this is a trace (\"dltime-trace\"): times of operators "
                               "inside one step, which are not measurements; give a "
                               "\"dltime-measurements\" or \"dltime-runs\" file");
    r->header.runs = dlt_value_is(format, "dltime-runs");
    if (!r->header.runs && !dlt_value_is(format, "dltime-measurements"))
        return dlt_fail(error, "format: is neither \"dltime-measurements\" nor \"dltime-runs\"");
    if (!version || !dlt_value_int64(version, &number) || number < 1)
        return dlt_fail(error, "version: is missing or no whole number; this dltime reads %d",
                        FORMAT_VERSION);
    if (number > FORMAT_VERSION)
        return dlt_fail(error,
                        "version: is %lld, and this dltime reads up to %d; install a newer "
                        "dltime",
                        (long long)number, FORMAT_VERSION);
    return 0;
}

/* The object of that name inside the header, by its table. */
static int parse_part(struct json_object *header, const char *name, const struct dlt_member *table,
                      void *base, struct dlt_error *error)
{
    struct json_object *part = dlt_member_find(header, name);

    if (!part)
        return 0;
    if (!json_object_is_type(part, json_type_object))
        return dlt_fail(error, "%s: has to be an object", name);
    if (dlt_parse_members(part, table, base, error) == DLT_PARSED_WRONG)
        return dlt_fail_in(error, "%s.", name);
    return 0;
}

static int read_header(struct dlt_measure_reader *r, struct dlt_error *error)
{
    struct dlt_measure_header *h = &r->header;
    struct json_object *source, *table;
    char *line;
    size_t length, mark;
    bool whole;
    int got = take_line(r, &line, &length, &whole, error);

    if (got == 0 && r->cut)
        return dlt_fail(error, "its compressed data ends before the header does; copy it again");
    if (got == 0)
        return dlt_fail(error, "is empty; the first line has to be its header");
    mark = got > 0 ? dlt_text_mark(line, length) : 0;
    if (got > 0 && !parse_line(r, line + mark, length - mark))
        return dlt_fail(error, "line 1: is no JSON object; the first line of a measurements file "
                               "is its header");
    if (got < 0 || check_format(r, error) ||
        parse_part(r->object, "device", dlt_device_members, &h->device, error) ||
        parse_part(r->object, "software", dlt_software_members, &h->software, error))
        return dlt_fail_in(error, "line 1: ");
    if (!h->runs && !h->device.name[0])
        return dlt_fail(error, "line 1: device.name: is missing; measurements belong to a device");
    table = dlt_member_find(r->object, "table");
    if (table && !json_object_is_type(table, json_type_boolean))
        return dlt_fail(error, "line 1: table: has to be true or false");
    h->table = !h->runs && json_object_get_boolean(table);
    source = dlt_member_find(r->object, "source");
    if (json_object_is_type(source, json_type_string))
        dlt_value_text(source, h->source, sizeof h->source);
    r->whole = (int64_t)length + whole;
    return 0;
}

static int open_stream(struct dlt_measure_reader *r, struct dlt_error *error)
{
    int64_t size;
    int fd = dlt_file_open(r->path, &size, error);

    if (fd < 0)
        return -1;
    r->stream = gzdopen(fd, "rb");
    if (!r->stream)
        close(fd);
    return r->stream && gzbuffer(r->stream, CHUNK) == 0 ? 0 : dlt_fail_memory(error);
}

int dlt_measure_open(const char *path, struct dlt_measure_reader **reader, struct dlt_error *error)
{
    struct dlt_measure_reader *r = calloc(1, sizeof *r);

    *reader = NULL;
    if (r) {
        r->path = strdup(path);
        r->tokener = json_tokener_new_ex(DEPTH);
    }
    if (!r || !r->path || !r->tokener) {
        dlt_measure_close(r);
        return dlt_fail_memory(error);
    }
    json_tokener_set_flags(r->tokener, JSON_TOKENER_STRICT);
    if (open_stream(r, error)) {
        dlt_measure_close(r);
        return -1;
    }
    if (make_room(r, error) || read_header(r, error)) {
        dlt_fail_in(error, "%s: ", path);
        dlt_measure_close(r);
        return -1;
    }
    *reader = r;
    return 0;
}

const struct dlt_measure_header *dlt_measure_header(const struct dlt_measure_reader *reader)
{
    return &reader->header;
}

static enum dlt_parsed parse_run(const struct dlt_measure_reader *r, struct dlt_run *run,
                                 struct dlt_error *error)
{
    enum dlt_parsed parsed;

    memset(run, 0, sizeof *run);
    run->devices = run->nodes = 1;
    run->pass = DLT_STEP;
    parsed = dlt_parse_members(r->object, dlt_run_members, run, error);
    if (!run->device[0])
        memcpy(run->device, r->header.device.name, sizeof run->device);
    if (!run->framework[0])
        memcpy(run->framework, r->header.software.framework, sizeof run->framework);
    return parsed;
}

/* Makes something of one line: 1 a row, 0 nothing to hand out, -1 malformed. */
static int read_row(struct dlt_measure_reader *r, const char *line, size_t length, bool whole,
                    struct dlt_measurement *measurement, struct dlt_run *run,
                    struct dlt_error *error)
{
    enum dlt_parsed parsed;
    bool is_object;

    if (length == strspn(line, " \t\r")) {
        r->whole += (int64_t)length + whole;
        return 0;
    }
    is_object = parse_line(r, line, length);
    if (!is_object && !whole) {
        r->cut = true;
        return 0;
    }
    r->whole += (int64_t)length + whole;
    if (!is_object)
        return dlt_fail(error, "is no JSON object; mend or remove the line");
    if (dlt_member_find(r->object, "format"))
        return dlt_fail(error, "is a second header; of several files give each by itself");
    parsed = r->header.runs ? parse_run(r, run, error)
                            : dlt_parse_measurement(r->object, measurement, error);
    if (parsed == DLT_PARSED_UNKNOWN)
        r->unknown++;
    return parsed == DLT_PARSED ? 1 : parsed == DLT_PARSED_UNKNOWN ? 0 : -1;
}

int dlt_measure_next(struct dlt_measure_reader *reader, struct dlt_measurement *measurement,
                     struct dlt_run *run, struct dlt_error *error)
{
    char *line;
    size_t length;
    bool whole;
    int got;

    do {
        got = take_line(reader, &line, &length, &whole, error);
        if (got == 0)
            return 0;
        if (got > 0)
            got = read_row(reader, line, length, whole, measurement, run, error);
    } while (got == 0);
    return got > 0 ? 1 : dlt_fail_in(error, "%s: line %zu: ", reader->path, reader->line);
}

double dlt_measure_number(const struct dlt_measure_reader *reader, const char *name)
{
    struct json_object *value = dlt_member_find(reader->object, name);

    if (!json_object_is_type(value, json_type_double) && !json_object_is_type(value, json_type_int))
        return NAN;
    return json_object_get_double(value);
}

size_t dlt_measure_line(const struct dlt_measure_reader *reader)
{
    return reader->line;
}

bool dlt_measure_cut(const struct dlt_measure_reader *reader)
{
    return reader->cut;
}

int64_t dlt_measure_whole(const struct dlt_measure_reader *reader)
{
    return reader->whole;
}

size_t dlt_measure_unknown(const struct dlt_measure_reader *reader)
{
    return reader->unknown;
}

void dlt_measure_close(struct dlt_measure_reader *reader)
{
    if (!reader)
        return;
    if (reader->stream)
        gzclose_r(reader->stream);
    json_object_put(reader->object);
    if (reader->tokener)
        json_tokener_free(reader->tokener);
    free(reader->buffer);
    free(reader->path);
    free(reader);
}
