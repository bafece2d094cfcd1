/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/text.h"

static const char first_line[] = "dltime-snapshot\t2";

struct dlt_snapshot *dlt_snapshot_create(void)
{
    return calloc(1, sizeof(struct dlt_snapshot));
}

void dlt_snapshot_destroy(struct dlt_snapshot *snapshot)
{
    if (!snapshot)
        return;
    free(snapshot->partitions);
    free(snapshot);
}

struct dlt_partition *dlt_snapshot_add(struct dlt_snapshot *snapshot)
{
    size_t count = snapshot->partition_count;
    struct dlt_partition *partition;

    if (count >= DLT_PARTITIONS_MAX)
        return NULL;
    if (dlt_grow(&snapshot->partitions, sizeof *partition, count, 1, &snapshot->room))
        return NULL;
    partition = &snapshot->partitions[snapshot->partition_count++];
    *partition =
        (struct dlt_partition){.listed = true, .default_time_s = NAN, .max_time_s = INFINITY};
    return partition;
}

void dlt_partition_count_in(struct dlt_partition *partition, const struct dlt_shape *shape,
                            int nodes)
{
    struct dlt_shape *mine;

    for (size_t i = 0; i < partition->shape_count; i++) {
        mine = &partition->shapes[i];
        if (mine->cpus == shape->cpus && mine->gpus == shape->gpus &&
            mine->memory_bytes == shape->memory_bytes && strcmp(mine->gpu, shape->gpu) == 0) {
            mine->nodes += nodes;
            return;
        }
    }
    if (partition->shape_count == DLT_SHAPES)
        return;
    mine = &partition->shapes[partition->shape_count++];
    *mine = *shape;
    mine->nodes = nodes;
}

void dlt_list_set(struct dlt_list *list, const char *names, bool denies)
{
    list->names[0] = '\0';
    if (!names || strcmp(names, "ALL") == 0 ||
        dlt_text_copy(list->names, sizeof list->names, names))
        return;
    if (denies) {
        memcpy(list->names, "*", 2);
    } else {
        char *comma = strrchr(list->names, ',');

        /* Nobody has such a name: the list stays one that allows not everybody. */
        if (comma)
            *comma = '\0';
        else
            memcpy(list->names, ",", 2);
    }
}

enum { LISTS = 4, LINE_SIZE = 1024 + LISTS * DLT_LIST_SIZE };

static const size_t list_offsets[LISTS] = {
    offsetof(struct dlt_partition, allow_accounts), offsetof(struct dlt_partition, deny_accounts),
    offsetof(struct dlt_partition, allow_qos), offsetof(struct dlt_partition, deny_qos)};

static struct dlt_list *list_of(const struct dlt_partition *partition, size_t index)
{
    return (struct dlt_list *)((char *)partition + list_offsets[index]);
}

/* Whole seconds, "-" for what is not a finite number: the format has no decimal point. */
static void write_seconds(FILE *stream, double seconds)
{
    if (isfinite(seconds))
        fprintf(stream, "\t%.0f", seconds);
    else
        fputs("\t-", stream);
}

static void write_text(FILE *stream, const char *text)
{
    char shown[DLT_LIST_SIZE];

    dlt_text_copy(shown, sizeof shown, text);
    dlt_text_printable(shown);
    fprintf(stream, "\t%s", shown);
}

int dlt_snapshot_write(FILE *stream, const struct dlt_snapshot *snapshot)
{
    fprintf(stream, "%s\ncluster", first_line);
    write_text(stream, snapshot->cluster);
    write_text(stream, snapshot->slurm);
    fprintf(stream, "\t%" PRId64 "\t%" PRId64 "\t%d\t%d\n", snapshot->taken, snapshot->slurm_uid,
            snapshot->limits_enforced, snapshot->nodes_private);
    for (size_t i = 0; i < snapshot->partition_count; i++) {
        const struct dlt_partition *partition = &snapshot->partitions[i];

        fputs("partition", stream);
        write_text(stream, partition->name);
        fprintf(stream, "\t%d\t%d\t%d\t%d\t%d\t%d", partition->up, partition->is_default,
                partition->exclusive, partition->listed, partition->nodes, partition->max_nodes);
        write_seconds(stream, partition->default_time_s);
        write_seconds(stream, partition->max_time_s);
        for (size_t j = 0; j < LISTS; j++)
            write_text(stream, list_of(partition, j)->names);
        fputc('\n', stream);
        for (size_t j = 0; j < partition->shape_count; j++) {
            const struct dlt_shape *shape = &partition->shapes[j];

            fprintf(stream, "shape\t%d\t%d\t%d", shape->nodes, shape->cpus, shape->gpus);
            write_seconds(stream, shape->memory_bytes);
            write_text(stream, shape->gpu);
            fputc('\n', stream);
        }
    }
    fputs("end\n", stream);
    return fflush(stream) || ferror(stream) ? -1 : 0;
}

enum { FIELDS_MAX = 10 + LISTS };

/* Cuts a line at its tabs, in place. Returns the number of fields, or 0 for too many. */
static size_t cut_fields(char *line, char *fields[FIELDS_MAX])
{
    size_t count = 0;

    for (char *rest = line; rest;) {
        if (count == FIELDS_MAX)
            return 0;
        fields[count++] = strsep(&rest, "\t");
    }
    return count;
}

static bool take_int(const char *text, int *value)
{
    int64_t number;

    if (!dlt_text_to_int64(text, &number) || number < 0 || number > INT_MAX)
        return false;
    *value = (int)number;
    return true;
}

static bool take_bool(const char *text, bool *value)
{
    int number;

    if (!take_int(text, &number) || number > 1)
        return false;
    *value = number == 1;
    return true;
}

static bool take_quantity(const char *text, double missing, double *value)
{
    int64_t number;

    *value = missing;
    if (strcmp(text, "-") == 0)
        return true;
    if (!dlt_text_to_int64(text, &number) || number < 0)
        return false;
    *value = (double)number;
    return true;
}

static bool take_cluster(struct dlt_snapshot *snapshot, char **field, size_t count)
{
    return count == 7 && dlt_text_copy(snapshot->cluster, sizeof snapshot->cluster, field[1]) &&
           dlt_text_copy(snapshot->slurm, sizeof snapshot->slurm, field[2]) &&
           dlt_text_to_int64(field[3], &snapshot->taken) &&
           dlt_text_to_int64(field[4], &snapshot->slurm_uid) &&
           take_bool(field[5], &snapshot->limits_enforced) &&
           take_bool(field[6], &snapshot->nodes_private);
}

static bool take_partition(struct dlt_snapshot *snapshot, char **field, size_t count)
{
    struct dlt_partition *partition;

    if (count != 10 + LISTS)
        return false;
    partition = dlt_snapshot_add(snapshot);
    for (size_t i = 0; partition && i < LISTS; i++)
        if (!dlt_text_copy(list_of(partition, i)->names, DLT_LIST_SIZE, field[10 + i]))
            return false;
    return partition && *field[1] &&
           dlt_text_copy(partition->name, sizeof partition->name, field[1]) &&
           take_bool(field[2], &partition->up) && take_bool(field[3], &partition->is_default) &&
           take_bool(field[4], &partition->exclusive) && take_bool(field[5], &partition->listed) &&
           take_int(field[6], &partition->nodes) && take_int(field[7], &partition->max_nodes) &&
           take_quantity(field[8], NAN, &partition->default_time_s) &&
           take_quantity(field[9], INFINITY, &partition->max_time_s);
}

static bool take_shape(struct dlt_snapshot *snapshot, char **field, size_t count)
{
    struct dlt_partition *partition;
    struct dlt_shape *shape;

    if (count != 6 || snapshot->partition_count == 0)
        return false;
    partition = &snapshot->partitions[snapshot->partition_count - 1];
    if (partition->shape_count == DLT_SHAPES)
        return false;
    shape = &partition->shapes[partition->shape_count++];
    *shape = (struct dlt_shape){0};
    return take_int(field[1], &shape->nodes) && take_int(field[2], &shape->cpus) &&
           take_int(field[3], &shape->gpus) && take_quantity(field[4], 0, &shape->memory_bytes) &&
           dlt_text_copy(shape->gpu, sizeof shape->gpu, field[5]);
}

static const struct {
    const char *name;
    bool (*take)(struct dlt_snapshot *snapshot, char **field, size_t count);
} records[] = {
    {"cluster", take_cluster},
    {"partition", take_partition},
    {"shape", take_shape},
};

static bool take_line(struct dlt_snapshot *snapshot, char *line)
{
    char *fields[FIELDS_MAX];
    size_t count = cut_fields(line, fields);

    for (size_t i = 0; count && i < sizeof records / sizeof *records; i++) {
        if (strcmp(fields[0], records[i].name) == 0)
            return records[i].take(snapshot, fields, count);
    }
    return false;
}

int dlt_snapshot_parse(const char *data, size_t size, struct dlt_snapshot **snapshot,
                       struct dlt_error *error)
{
    struct dlt_snapshot *made = dlt_snapshot_create();
    bool ended = false;
    size_t number = 0;

    if (!made)
        return dlt_fail_memory(error);
    for (size_t at = 0; at < size && !ended;) {
        char line[LINE_SIZE];
        const char *newline = memchr(data + at, '\n', size - at);
        size_t length = newline ? (size_t)(newline - (data + at)) : size;
        bool good = newline && length < sizeof line && size <= DLT_SNAPSHOT_BYTES_MAX &&
                    !memchr(data + at, '\0', length);

        number++;
        if (good) {
            memcpy(line, data + at, length);
            line[length] = '\0';
            ended = number > 1 && strcmp(line, "end") == 0;
            good = number == 1 ? strcmp(line, first_line) == 0 : ended || take_line(made, line);
        }
        if (!good) {
            dlt_snapshot_destroy(made);
            return dlt_fail(error, "cluster snapshot: line %zu is not what dltime-snapshot writes",
                            number);
        }
        at += length + 1;
    }
    if (!ended) {
        dlt_snapshot_destroy(made);
        return dlt_fail(error, "cluster snapshot: cut short after line %zu", number);
    }
    *snapshot = made;
    return 0;
}
