/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum column { PARTITION, DEVICE, EPOCH, RUN_TIME, RANGE, LIMIT, MEMORY, BASIS, COLUMNS };

/* Names and devices can be long; the table stays within what a terminal shows. */
enum { CELL_SIZE = 72, ROWS_MAX = 64 };

/* least: the width that the column has at least; gap: spaces before it. */
static const struct {
    const char *head;
    int least, gap;
    bool right;
} columns[COLUMNS] = {
    [PARTITION] = {"PARTITION", 9, 2, false}, [DEVICE] = {"DEVICE", 17, 2, false},
    [EPOCH] = {"EPOCH", 5, 2, true},          [RUN_TIME] = {"RUN TIME", 8, 3, false},
    [RANGE] = {"90 % RANGE", 21, 3, false},   [LIMIT] = {"LIMIT", 8, 3, false},
    [MEMORY] = {"MEMORY", 11, 3, false},      [BASIS] = {"RESTS ON", 8, 3, false},
};

typedef char row_cells[COLUMNS][CELL_SIZE];

char *dlt_table_time(char buffer[32], double seconds)
{
    long long whole;

    if (!isfinite(seconds) || seconds < 0 || seconds >= 1e12) {
        memcpy(buffer, "-", 2);
        return buffer;
    }
    if (seconds < 59.5)
        return dlt_text_from_seconds(buffer, seconds);
    whole = llround(seconds);
    if (whole >= 86400)
        snprintf(buffer, 32, "%lld-%02lld:%02lld", whole / 86400, whole / 3600 % 24,
                 whole / 60 % 60);
    else if (whole >= 3600)
        snprintf(buffer, 32, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(buffer, 32, "%lld:%02lld", whole / 60, whole % 60);
    return buffer;
}

char *dlt_table_range_time(char buffer[32], double seconds, bool hours)
{
    long long whole, minutes;

    if (!isfinite(seconds) || seconds < 0 || seconds >= 86400 || (!hours && seconds < 59.5))
        return dlt_table_time(buffer, seconds);
    whole = llround(seconds);
    minutes = llround(seconds / 60);
    if (hours)
        snprintf(buffer, 32, "%lld:%02lld", minutes / 60, minutes % 60);
    else
        snprintf(buffer, 32, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    return buffer;
}

void dlt_device_label(char *to, size_t size, const char *device)
{
    static const char *const noise[] = {"NVIDIA ",  "Tesla ", "GeForce ", "Quadro ", "AMD ",
                                        "Intel(R)", "Intel ", "(R)",      "(TM)",    "(r)",
                                        "(tm)",     "CPU ",   "Processor"};
    size_t used = 0;

    while (*device && used + 1 < size) {
        size_t skip = 0;

        for (size_t i = 0; i < sizeof noise / sizeof *noise && !skip; i++) {
            size_t length = strlen(noise[i]);

            if (strncmp(device, noise[i], length) == 0)
                skip = length;
        }
        if (skip || (*device == ' ' && (used == 0 || to[used - 1] == ' '))) {
            device += skip ? skip : 1;
        } else if (strncmp(device, "PCIE", 4) == 0 && used + 4 < size) {
            memcpy(to + used, "PCIe", 4);
            used += 4;
            device += 4;
        } else {
            to[used++] = (char)(*device == '-' ? ' ' : *device);
            device++;
        }
    }
    while (used > 0 && to[used - 1] == ' ')
        used--;
    to[used] = '\0';
    dlt_text_printable(to);
}

/* "31", or "1.4" below ten. */
static char *gib_text(char buffer[32], double gib)
{
    if (gib < 9.95)
        snprintf(buffer, 32, "%lld.%lld", llround(10 * gib) / 10, llround(10 * gib) % 10);
    else
        snprintf(buffer, 32, "%.0f", fmin(gib, 1e12));
    return buffer;
}

/* "31/40 GiB", "31/32 tight", "31/16 no", "31 GiB", "-". */
static void memory_cell(char *cell, const struct dlt_candidate *candidate)
{
    char needed[32];
    const double gib = 1024.0 * 1024.0 * 1024.0;
    double need = candidate->memory_bytes / gib, have = candidate->device_memory_bytes / gib;
    const char *verdict = candidate->fits == DLT_FITS_TIGHT ? "tight"
                          : candidate->fits == DLT_FITS_NO  ? "no"
                                                            : "GiB";

    if (!isfinite(need))
        memcpy(cell, "-", 2);
    else if (!isfinite(have) || have <= 0)
        snprintf(cell, CELL_SIZE, "%s GiB", gib_text(needed, need));
    else
        snprintf(cell, CELL_SIZE, "%s/%.0f %s", gib_text(needed, need), have, verdict);
}

static void fill_row(row_cells cells, const struct dlt_candidate *candidate,
                     const struct dlt_config *config)
{
    /* What will not fit is not a choice, unless the user made it. */
    bool timed = !candidate->why && (candidate->landing || !dlt_candidate_too_small(candidate));

    for (int i = 0; i < COLUMNS; i++)
        memcpy(cells[i], "-", 2);
    dlt_text_copy(cells[PARTITION], 33, candidate->partition);
    dlt_text_printable(cells[PARTITION]);
    dlt_device_label(cells[DEVICE], 33, candidate->device);
    if (!candidate->why)
        memory_cell(cells[MEMORY], candidate);
    if (!timed)
        return;
    dlt_table_time(cells[EPOCH], candidate->epoch_s);
    dlt_table_time(cells[RUN_TIME], candidate->job_s);
    if (isfinite(candidate->low_s) && isfinite(candidate->high_s)) {
        char low[32], high[32];

        dlt_table_range_time(low, candidate->low_s, candidate->job_s >= 3600);
        dlt_table_range_time(high, candidate->high_s, candidate->job_s >= 3600);
        snprintf(cells[RANGE], CELL_SIZE, "%s - %s", low, high);
    }
    if (isfinite(candidate->upper_s))
        dlt_table_time(cells[LIMIT], dlt_limit(config, candidate->upper_s));
    dlt_text_copy(cells[BASIS], CELL_SIZE, dlt_basis_name(candidate->basis));
}

/* Trailing spaces are dropped: the table is made to be pasted. */
static void print_row(FILE *stream, row_cells cells, const int *widths, bool starred)
{
    char line[COLUMNS * (CELL_SIZE + 4)];
    size_t used = 0;

    for (int i = 0; i < COLUMNS; i++) {
        bool right = columns[i].right || (i == RUN_TIME && strcmp(cells[i], "-") == 0);

        used += (size_t)snprintf(line + used, sizeof line - used, "%*s%*s", columns[i].gap, "",
                                 right ? widths[i] : -widths[i], cells[i]);
    }
    while (used > 0 && line[used - 1] == ' ')
        line[--used] = '\0';
    if (starred)
        line[0] = '*';
    fprintf(stream, "%s\n", line);
}

static double sort_key(const struct dlt_candidate *candidate)
{
    if (candidate->why || (!candidate->landing && dlt_candidate_too_small(candidate)))
        return INFINITY;
    return isfinite(candidate->job_s) ? candidate->job_s : candidate->step_s;
}

/* Fastest first, without an estimate last, else in the order of the candidates. */
static int by_sort_key(const void *a, const void *b)
{
    const struct dlt_candidate *const *left = a, *const *right = b;
    double x = sort_key(*left), y = sort_key(*right);

    if (x < y || x > y)
        return x < y ? -1 : 1;
    return *left < *right ? -1 : 1;
}

/* Puts what is to be shown to the front of `order`: as many rows as there is room for, and of those
 * where the job may land all before any other. */
static size_t choose_rows(const struct dlt_candidate *candidates, size_t count,
                          const struct dlt_candidate **order)
{
    size_t landing = 0, others, rows = 0;

    for (size_t i = 0; i < count; i++) {
        order[i] = &candidates[i];
        landing += candidates[i].landing;
    }
    qsort(order, count, sizeof *order, by_sort_key);
    others = landing < ROWS_MAX ? ROWS_MAX - landing : 0;
    for (size_t i = 0; i < count && rows < ROWS_MAX; i++) {
        if (order[i]->landing || others > 0)
            order[rows++] = order[i];
        others -= !order[i]->landing && others > 0;
    }
    return rows;
}

static const char *device_head(const struct dlt_candidate *candidates, size_t count)
{
    size_t gpus = 0;

    for (size_t i = 0; i < count; i++)
        gpus += candidates[i].gpu;
    return gpus == count ? "GPU" : gpus == 0 ? "CPU" : columns[DEVICE].head;
}

static void print_rows(FILE *stream, const struct dlt_candidate *candidates, size_t count,
                       const struct dlt_config *config)
{
    const struct dlt_candidate **order = calloc(count + 1, sizeof *order);
    row_cells *cells = calloc(ROWS_MAX + 1, sizeof *cells);
    size_t rows = 0;
    int widths[COLUMNS];

    if (!cells || !order)
        goto out;
    rows = choose_rows(candidates, count, order);
    for (int i = 0; i < COLUMNS; i++)
        dlt_text_copy(cells[0][i], CELL_SIZE,
                      i == DEVICE ? device_head(candidates, count) : columns[i].head);
    for (size_t row = 0; row < rows; row++)
        fill_row(cells[row + 1], order[row], config);
    for (int i = 0; i < COLUMNS; i++) {
        widths[i] = columns[i].least;
        for (size_t row = 0; row <= rows; row++) {
            int width = (int)strlen(cells[row][i]);

            if (width > widths[i])
                widths[i] = width;
        }
    }
    print_row(stream, cells[0], widths, false);
    for (size_t row = 0; row < rows; row++)
        print_row(stream, cells[row + 1], widths, order[row]->landing);
    if (rows < count)
        fprintf(stream, "  and %zu more\n", count - rows);
out:
    free(cells);
    free(order);
}

void dlt_table_print(FILE *stream, const char *headline, const struct dlt_candidate *candidates,
                     size_t count, const struct dlt_config *config,
                     const struct dlt_decision *decision)
{
    bool any = false;

    for (size_t i = 0; i < count; i++)
        any = any || !candidates[i].why;
    if (any) {
        fprintf(stream, "dltime: %s\n", headline);
        print_rows(stream, candidates, count, config);
    }
    for (size_t i = 0; i < decision->line_count; i++)
        fprintf(stream, "dltime: %s%s\n", decision->line[i].warning ? "warning: " : "",
                decision->line[i].text);
}
