/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/accounting.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/text.h"

const char dlt_account_format[] = "JobIDRaw,User,Partition,State,ElapsedRaw,End,Comment,SubmitLine";

static const char *const names[DLT_ACCOUNT_FIELDS] = {
    "JobIDRaw", "User", "Partition", "State", "ElapsedRaw", "End", "Comment", "SubmitLine"};

struct list {
    struct dlt_account *job;
    size_t count, room;
};

static struct dlt_account *grow(struct list *list)
{
    if (dlt_grow(&list->job, sizeof *list->job, list->count, 1, &list->room))
        return NULL;
    for (size_t f = 0; f < DLT_ACCOUNT_FIELDS; f++)
        list->job[list->count].field[f] = "";
    return &list->job[list->count];
}

/* Up to the next delimiter, which becomes the field's end; NULL where there is none any more. */
static char *cut(char *from, const char *delimiter)
{
    char *at = strstr(from, delimiter);

    if (!at)
        return NULL;
    *at = '\0';
    return at + strlen(delimiter);
}

/* Whole records whose last field may hold newlines: the next record's first field is what stands
 * behind the last newline before the next delimiter. */
static int parse_records(char *text, const char *delimiter, struct list *list)
{
    while (*text) {
        struct dlt_account *job = grow(list);
        char *next, *newline;

        if (!job)
            return -1;
        for (size_t f = 0; f + 1 < DLT_ACCOUNT_FIELDS; f++) {
            job->field[f] = text;
            text = cut(text, delimiter);
            if (!text)
                return 0; /* half a record: sacct was ended */
        }
        job->field[DLT_ACCOUNT_FIELDS - 1] = text;
        list->count++;
        next = strstr(text, delimiter);
        if (!next) {
            size_t length = strlen(text);

            if (length > 0 && text[length - 1] == '\n')
                text[length - 1] = '\0';
            return 0;
        }
        newline = memrchr(text, '\n', (size_t)(next - text));
        if (!newline)
            return 0;
        *newline = '\0';
        text = newline + 1;
    }
    return 0;
}

static size_t field_named(const char *name)
{
    size_t f = 0;

    while (f < DLT_ACCOUNT_FIELDS && !dlt_text_same(names[f], name))
        f++;
    return f;
}

/* The next line of a file, which may have been to Windows; NULL at its end. */
static char *take_line(char **text)
{
    char *line = strsep(text, "\n");
    size_t length = line ? strlen(line) : 0;

    if (length > 0 && line[length - 1] == '\r')
        line[length - 1] = '\0';
    return line;
}

static int parse_lines(char *text, const char *delimiter, struct list *list,
                       struct dlt_error *error)
{
    enum { COLUMNS = 256 };
    size_t column[COLUMNS], columns = 0;
    char *line = take_line(&text);
    unsigned known = 0;

    while (line && columns < COLUMNS) {
        char *next = cut(line, delimiter);

        column[columns] = field_named(line);
        if (column[columns] < DLT_ACCOUNT_FIELDS)
            known |= 1U << column[columns];
        columns++;
        line = next;
    }
    for (size_t f = 0; f < DLT_ACCOUNT_COMMENT; f++)
        if (!(known & 1U << f))
            return dlt_fail(error,
                            "line 1: has no column %s; save what `sacct --allocations "
                            "--parsable2 --format=%s` prints",
                            names[f], dlt_account_format);
    while ((line = take_line(&text))) {
        struct dlt_account *job = *line ? grow(list) : NULL;
        size_t c = 0;

        if (!*line)
            continue;
        if (!job)
            return dlt_fail_memory(error);
        for (; c < columns && line; c++) {
            /* The last column takes the rest: a command line may hold delimiters. */
            char *next = c + 1 < columns ? cut(line, delimiter) : NULL;

            if (column[c] < DLT_ACCOUNT_FIELDS)
                job->field[column[c]] = line;
            line = next;
        }
        list->count += c == columns;
    }
    return 0;
}

int dlt_account_parse(char *text, const char *delimiter, bool header, struct dlt_account **jobs,
                      size_t *count, struct dlt_error *error)
{
    struct list list = {0};
    int result;

    if (header)
        result = parse_lines(text + dlt_text_mark(text, strlen(text)), delimiter, &list, error);
    else
        result = parse_records(text, delimiter, &list) ? dlt_fail_memory(error) : 0;
    if (result) {
        free(list.job);
        list = (struct list){0};
    }
    *jobs = list.job;
    *count = list.count;
    return result;
}

double dlt_account_end(const char *text)
{
    struct tm when = {.tm_isdst = -1};
    int64_t seconds;
    char rest;

    if (dlt_text_to_int64(text, &seconds))
        return seconds > 0 ? (double)seconds : NAN;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%c", &when.tm_year, &when.tm_mon, &when.tm_mday,
               &when.tm_hour, &when.tm_min, &when.tm_sec, &rest) != 6)
        return NAN;
    when.tm_year -= 1900;
    when.tm_mon -= 1;
    return (double)mktime(&when);
}
