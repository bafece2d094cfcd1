/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/median.h"
#include "base/text.h"
#include "learn/blas.h"
#include "learn/fit_section.h"
#include "learn/general.h"
#include "learn/starts.h"
#include "learn/train_parts.h"

/* Fewer rows teach less than the rates that the device reached on everything else. */
enum { LEAST_SECTION = 4 };

/* Sections are told apart by these; rows of one lie side by side once sorted. */
static int compare_keys(const struct dlt_row *a, const struct dlt_row *b)
{
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->record.kind != b->record.kind)
        return a->record.kind < b->record.kind ? -1 : 1;
    if (a->record.dtype != b->record.dtype)
        return a->record.dtype < b->record.dtype ? -1 : 1;
    return (a->record.math > b->record.math) - (a->record.math < b->record.math);
}

/* Rows of one key keep the order of the files. */
static int compare_rows(const void *a, const void *b)
{
    const struct dlt_row *x = *(const struct dlt_row *const *)a;
    const struct dlt_row *y = *(const struct dlt_row *const *)b;
    int keys = compare_keys(x, y);

    return keys ? keys : (x > y) - (x < y);
}

/* The value that 2 % of the count values exceed; 0 where they are too few to hold one that kept the
 * device busy. Sorts. */
static double nearly_largest(double *value, size_t count)
{
    const size_t least = 8;

    dlt_sort_values(value, count);
    return count < least ? 0 : value[(count - 1) - (count - 1) / 50];
}

/*
 * The longest that a launch takes, with a clock around it: where the shortest row takes longer,
 * none was short enough to show what a launch is. Six GPUs under TensorFlow's session show up to
 * 0.33 ms (Justus et al. 2018), five under PyTorch's events up to 0.09 ms for products and 0.21 ms
 * for convolutions (Lee et al. 2025), one core of a CPU 9 us (an LSTM with oneDNN).
 */
static double longest_launch(const struct dlt_file_entry *entry)
{
    if (entry->threads > 0)
        return 100e-6;
    return entry->software.timing == DLT_HOST_SYNCHRONOUS ? 1e-3 : 250e-6;
}

/* Rates that the device reached, for operators that nobody measured on it: arithmetic from
 * products, bandwidth from what is bound by memory, or from everything where no data sheet knows.
 */
static int measure_rates(const struct dlt_corpus *corpus, uint32_t group,
                         struct dlt_file_entry *entry)
{
    const double least_of_peak = 0.1; /* a K40's convolutions reach 0.23 of it */
    size_t room = corpus->row_count + 1, products = 0, others = 0;
    double *flops = malloc(room * sizeof *flops), *bytes = malloc(room * sizeof *bytes);

    for (size_t r = 0; flops && bytes && r < corpus->row_count; r++) {
        const struct dlt_row *row = &corpus->row[r];
        struct dlt_work work;

        if (row->group != group || row->record.cache == DLT_CACHE_WARM)
            continue;
        dlt_record_work(&row->record, &work);
        if (work.macs > 0 && row->record.dtype == DLT_FLOAT32 && row->record.math == DLT_IEEE)
            flops[products++] = work.flops / row->seconds;
        if (!(work.macs > 0) || !(entry->device.memory_bandwidth > 0))
            bytes[others++] = work.bytes / row->seconds;
        if (entry->floor_s == 0 || row->seconds < entry->floor_s)
            entry->floor_s = row->seconds;
    }
    if (flops && bytes) {
        entry->flops_s = nearly_largest(flops, products);
        entry->bytes_s = nearly_largest(bytes, others);
        entry->floor_s = fmin(entry->floor_s, longest_launch(entry));
        /* Rows that are all short kept no device busy. */
        if (entry->flops_s <
            least_of_peak * dlt_device_peak(&entry->device, DLT_FLOAT32, DLT_IEEE, entry->threads))
            entry->flops_s = 0;
    }
    free(flops);
    free(bytes);
    return flops && bytes ? 0 : -1;
}

int dlt_train_entries(const struct dlt_corpus *corpus, struct dlt_profile_writer *writer)
{
    for (uint32_t g = 0; g < corpus->group_count; g++) {
        struct dlt_file_entry entry;

        memset(&entry, 0, sizeof entry);
        entry.device = corpus->group[g].device;
        entry.software = corpus->group[g].software;
        entry.threads = corpus->group[g].threads;
        entry.rows = corpus->group[g].rows;
        if (measure_rates(corpus, g, &entry) || dlt_profile_writer_entry(writer, &entry))
            return -1;
    }
    return 0;
}

int dlt_train_sources(const struct dlt_corpus *corpus, struct dlt_profile_writer *writer)
{
    for (size_t i = 0; i < corpus->source_count; i++) {
        const struct dlt_source *s = &corpus->source[i];
        struct dlt_file_source source;

        memset(&source, 0, sizeof source);
        dlt_text_copy(source.path, sizeof source.path, s->path);
        dlt_text_copy(source.text, sizeof source.text, s->header.source);
        source.size = s->size;
        source.digest = s->digest;
        source.rows = s->rows + s->runs;
        if (dlt_profile_writer_source(writer, &source))
            return -1;
    }
    return 0;
}

/* Calm rows first; returns how many rows to use: all where calm ones are few. Keeps the order. */
static size_t choose_rows(const struct dlt_row **row, size_t count)
{
    const size_t enough = 12;
    size_t calm = 0, used = 0;

    for (size_t r = 0; r < count; r++)
        calm += !row[r]->disturbed;
    if (calm < enough || 2 * calm < count)
        return count;
    for (size_t r = 0; r < count; r++)
        if (!row[r]->disturbed)
            row[used++] = row[r];
    return calm;
}

/* What was measured of the device, else its data sheet with what is usually reached of it. */
static struct dlt_rates rates_of(const struct dlt_file_entry *entry)
{
    const double of_peak = 0.5, of_bandwidth = 0.75;
    double peak = dlt_device_peak(&entry->device, DLT_FLOAT32, DLT_IEEE, entry->threads);
    struct dlt_rates rates = {.flops_s = entry->flops_s,
                              .bytes_s = entry->bytes_s,
                              .floor_s = entry->floor_s,
                              .launch_s = longest_launch(entry)};

    if (!(rates.flops_s > 0) && peak > 0)
        rates.flops_s = of_peak * peak;
    if (!(rates.bytes_s > 0))
        rates.bytes_s = of_bandwidth * entry->device.memory_bandwidth;
    return rates;
}

/* A handful of rows, or rows that a model which did not see them misses by half, are measurements
 * but no evidence: they only bent what the device's rates say. */
static enum dlt_basis basis_of(size_t count, const struct dlt_accuracy *accuracy)
{
    const size_t least_rows = 12;
    const double most_error = 0.5;

    if (dlt_accuracy_is_absurd(accuracy))
        return DLT_BASIS_COST_MODEL;
    if (count < least_rows || (accuracy->count > 0 && !(accuracy->median_ape <= most_error)))
        return DLT_BASIS_ADAPTED;
    return DLT_BASIS_MEASURED;
}

static int add_section(const struct dlt_part *part, const struct dlt_starts *starts,
                       const struct dlt_corpus *corpus, const struct dlt_train_settings *settings,
                       struct dlt_profile_writer *writer)
{
    const struct dlt_row **row = part->row;
    const struct dlt_record *first = &row[0]->record;
    size_t count = part->used;
    struct dlt_rows rows = {.row = row,
                            .count = count,
                            .device = &corpus->group[row[0]->group].device,
                            .rates = part->rates};
    struct dlt_fit_settings fit = {.method = settings->method,
                                   .seed = settings->seed,
                                   .stream = writer->section_count + 1,
                                   .threads = settings->threads,
                                   .start = starts->start,
                                   .starts = starts->count};
    struct dlt_file_section index;
    struct dlt_accuracy accuracy;
    unsigned char *bytes;
    size_t size;

    memset(&index, 0, sizeof index);
    if (dlt_fit_section(&rows, &fit, &bytes, &size, &accuracy))
        return -1;
    dlt_text_copy(index.kind, sizeof index.kind, first->kind->name);
    index.entry = row[0]->group;
    for (size_t r = 0; r < count; r++)
        index.passes |= 1U << row[r]->record.pass;
    index.dtype = (uint32_t)first->dtype;
    index.math = (uint32_t)first->math;
    index.basis = basis_of(count, &accuracy);
    index.rows = (uint32_t)count;
    index.size = size;
    index.held_out = accuracy.count;
    index.rmse_s = accuracy.rmse_s;
    index.mape = accuracy.mape;
    index.median_ape = accuracy.median_ape;
    index.coverage90 = accuracy.coverage90;
    index.mean_width = accuracy.mean_width;
    return dlt_profile_writer_section(writer, &index, bytes);
}

size_t dlt_rows_alike(const struct dlt_row *const *row, size_t from, size_t count)
{
    size_t to = from + 1;

    while (to < count && compare_keys(row[from], row[to]) == 0)
        to++;
    return to - from;
}

const struct dlt_row **dlt_sorted_rows(const struct dlt_corpus *corpus)
{
    const struct dlt_row **row = calloc(corpus->row_count + 1, sizeof *row);

    for (size_t r = 0; row && r < corpus->row_count; r++)
        row[r] = &corpus->row[r];
    if (row)
        qsort(row, corpus->row_count, sizeof *row, compare_rows);
    return row;
}

static bool of_several_devices(const struct dlt_corpus *corpus)
{
    for (size_t g = 1; g < corpus->group_count; g++)
        if (strcmp(corpus->group[g].device.name, corpus->group[0].device.name) != 0)
            return true;
    return false;
}

/* Of many rows an even share, so that a dozen files are learned in minutes. Keeps the order. */
static size_t thin_out(const struct dlt_row **row, size_t count)
{
    const size_t most = 20000;

    for (size_t r = 0; r < most && count > most; r++)
        row[r] = row[r * count / most];
    return count < most ? count : most;
}

static bool is_section(const struct dlt_row *const *row, size_t count, dlt_rows_wanted *wanted,
                       void *context)
{
    return count >= LEAST_SECTION && (!wanted || wanted(context, row, count));
}

/* Sections to learn, with the rows that teach each; returns how many. */
static size_t find_parts(const struct dlt_corpus *corpus, dlt_rows_wanted *wanted, void *context,
                         const struct dlt_profile_writer *writer, const struct dlt_row **row,
                         struct dlt_part *part)
{
    bool several = of_several_devices(corpus);
    size_t alike, count = 0;

    for (size_t r = 0; r < corpus->row_count; r += alike) {
        struct dlt_part *p = &part[count];

        alike = dlt_rows_alike(row, r, corpus->row_count);
        if (!is_section(row + r, alike, wanted, context))
            continue;
        *p = (struct dlt_part){
            .row = row + r, .read = alike, .rates = rates_of(&writer->entry[row[r]->group])};
        p->used = choose_rows(p->row, alike);
        p->used = several ? thin_out(p->row, p->used) : p->used;
        count++;
    }
    return count;
}

static int learn_parts(const struct dlt_corpus *corpus, const struct dlt_train_settings *settings,
                       struct dlt_part *part, size_t count, struct dlt_profile_writer *writer)
{
    struct dlt_starts starts = {0};
    int result = dlt_starts_look(corpus, part, count, settings);

    for (size_t p = 0; p < count && result == 0; p++) {
        const struct dlt_row *first = part[p].row[0];
        struct dlt_train_progress progress = {.done = p,
                                              .count = count,
                                              .device = corpus->group[first->group].device.name,
                                              .kind = first->record.kind->name,
                                              .rows = part[p].read};

        if (settings->progress)
            settings->progress(settings->context, &progress);
        if (dlt_starts_find(&starts, corpus, part, count, p, settings) ||
            add_section(&part[p], &starts, corpus, settings, writer) ||
            dlt_starts_keep(&starts, &first->record, first->group, writer))
            result = -1;
    }
    dlt_starts_clear(&starts);
    return result;
}

static int learn_all(const struct dlt_corpus *corpus, const struct dlt_train_settings *settings,
                     dlt_rows_wanted *wanted, void *context, struct dlt_profile_writer *writer,
                     const struct dlt_row **row)
{
    size_t alike, count = 0;
    struct dlt_part *part;
    int result;

    for (size_t r = 0; r < corpus->row_count; r += alike, count++)
        alike = dlt_rows_alike(row, r, corpus->row_count);
    part = calloc(count + 1, sizeof *part);
    if (!part)
        return -1;
    count = find_parts(corpus, wanted, context, writer, row, part);
    result = learn_parts(corpus, settings, part, count, writer);
    free(part);
    return result;
}

int dlt_train_sections(const struct dlt_corpus *corpus, const struct dlt_train_settings *settings,
                       dlt_rows_wanted *wanted, void *context, struct dlt_profile_writer *writer)
{
    const struct dlt_row **row = dlt_sorted_rows(corpus);
    int result = -1;

    if (row)
        result = learn_all(corpus, settings, wanted, context, writer, row);
    free(row);
    return result;
}

int dlt_train(const struct dlt_corpus *corpus, const struct dlt_train_settings *settings,
              struct dlt_profile_writer *writer, struct dlt_error *error)
{
    struct dlt_train_settings s = *settings;

    if (corpus->row_count == 0)
        return dlt_fail(error, "the files hold no measured operator that can be learned from; "
                               "measure some with `dlbench run`");
    if (dlt_blas_start(&s.threads, error))
        return -1;
    if (dlt_train_entries(corpus, writer) || dlt_train_sources(corpus, writer) ||
        dlt_train_sections(corpus, &s, NULL, NULL, writer))
        return dlt_fail_memory(error);
    return dlt_learn_general(corpus, &s, writer, error);
}
