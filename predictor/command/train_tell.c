/* SPDX-License-Identifier: Apache-2.0 */
/* What a training tells beside its profile, on stderr. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "command/train.h"
#include "learn/model_build.h"
#include "predict/table.h"

void train_show_progress(void *context, const struct dlt_train_progress *p)
{
    (void)context;
    fprintf(stderr, "\r\033[Ktraining %zu of %zu: %s on %s, %zu rows", p->done + 1, p->count,
            p->kind, p->device, p->rows);
    fflush(stderr);
}

void train_tell_source(const struct dlt_source *s)
{
    if (s->cut)
        fprintf(stderr, "dltime train: %s: the last line is cut short and was skipped\n", s->path);
    if (s->unknown)
        fprintf(stderr, "dltime train: %s: %zu row%s of operators unknown to this version\n",
                s->path, s->unknown, s->unknown == 1 ? "" : "s");
    if (s->disturbed)
        fprintf(stderr,
                "dltime train: %s: %zu of %zu rows were disturbed by other work; they count "
                "only where calm ones are few\n",
                s->path, s->disturbed, s->rows);
}

void train_tell_sampled(const struct dlt_corpus *corpus)
{
    for (size_t s = 0; s < corpus->section_count; s++) {
        const struct dlt_corpus_section *section = &corpus->section[s];

        if (section->read > DLT_SECTION_ROWS)
            fprintf(stderr,
                    "dltime train: %s on %s, %s %s: %d of %zu rows, drawn at random, are used\n",
                    section->kind->name, corpus->group[section->group].device.name,
                    dlt_dtype_names[section->dtype], dlt_math_names[section->math],
                    DLT_SECTION_ROWS, section->read);
    }
}

static bool has_section(const struct dlt_profile_writer *w, const struct dlt_corpus_section *of)
{
    for (size_t i = 0; i < w->section_count; i++) {
        const struct dlt_file_section *s = &w->section[i].index;

        if (s->entry == of->group && strcmp(s->kind, of->kind->name) == 0 &&
            s->dtype == (uint32_t)of->dtype && s->math == (uint32_t)of->math)
            return true;
    }
    return false;
}

void train_tell_left_out(const struct dlt_corpus *corpus, const struct dlt_profile_writer *w)
{
    for (size_t i = 0; i < corpus->section_count; i++) {
        const struct dlt_corpus_section *s = &corpus->section[i];

        if (!has_section(w, s))
            fprintf(stderr,
                    "dltime train: %s on %s, %s %s: nothing is learned from %zu row%s; the cost "
                    "model answers for it\n",
                    s->kind->name, corpus->group[s->group].device.name, dlt_dtype_names[s->dtype],
                    dlt_math_names[s->math], s->read, s->read == 1 ? "" : "s");
    }
}

/* What follows from rows that are missed so far. learns: by a method that follows measurements;
 * others may miss sound ones. */
static const char *consequence(const struct dlt_file_entry *entry, bool learns)
{
    if (entry->general)
        return "little is known of devices that were not measured; look whether each file is of "
               "the device that it names, in one unit";
    return learns
               ? "they count as no evidence; look whether all are of one device, in one unit and "
                 "timed with nothing beside them"
               : "it counts as no more than a cost model; --method auto learns more";
}

/* What rows kept out of learning contradict: the basis says no more than that there is little. */
static void tell_absurd(const struct dlt_profile_writer *w, bool learns)
{
    for (size_t i = 0; i < w->section_count; i++) {
        const struct dlt_file_section *s = &w->section[i].index;
        const struct dlt_file_entry *entry = &w->entry[s->entry];
        const struct dlt_accuracy accuracy = {
            .count = s->held_out, .mape = s->mape, .median_ape = s->median_ape};

        if (!dlt_table_is(s->kind) && dlt_accuracy_is_absurd(&accuracy))
            fprintf(stderr,
                    "dltime train: %s on %s, %s %s: rows kept out are missed by %.0f %% on "
                    "average, half of them by %.0f %% and more, so that %s\n",
                    s->kind, entry->device.name, dlt_dtype_names[s->dtype], dlt_math_names[s->math],
                    100 * s->mape, 100 * s->median_ape, consequence(entry, learns));
    }
}

static void print_summary(const struct dlt_profile_writer *w)
{
    fprintf(stderr, "%-32s %-16s %7s %9s %8s  %s\n", "DEVICE", "OPERATOR", "ROWS", "HELD OUT",
            "MAPE", "RESTS ON");
    for (size_t i = 0; i < w->section_count; i++) {
        const struct dlt_file_section *s = &w->section[i].index;
        char mape[32] = "-";

        /* Tables have lines of their own; starts answer nothing. */
        if (dlt_table_is(s->kind) || dlt_section_is_start(s))
            continue;
        if (s->held_out)
            snprintf(mape, sizeof mape, "%.1f %%", 100 * s->mape);
        fprintf(stderr, "%-32s %-16s %7u %9llu %8s  %s\n", w->entry[s->entry].device.name, s->kind,
                s->rows, (unsigned long long)s->held_out, mape,
                dlt_basis_name((enum dlt_basis)s->basis));
    }
}

static void print_steps(const struct dlt_profile_writer *w, const struct dlt_runs_report *report)
{
    char dispatch[32];

    for (size_t i = 0; i < w->step_count; i++) {
        const struct dlt_step_parameters *p = &w->step[i].parameters;

        fprintf(stderr,
                "%s, framework %s: %.0f run%s of %.0f network%s; steps are %.2f x their operators, "
                "dispatch %s a kernel, networks differ by %.0f %%\n",
                w->entry[w->step[i].entry].device.name, dlt_framework_names[w->step[i].framework],
                p->runs, p->runs > 1 ? "s" : "", p->networks, p->networks > 1 ? "s" : "",
                p->device_factor, dlt_text_from_seconds(dispatch, p->dispatch_s),
                100 * p->network_sigma);
    }
    if (report->skipped)
        fprintf(stderr,
                "runs that were not used: %zu; several devices, no time, or a device, or on a CPU "
                "a number of threads, without measurements\n",
                report->skipped);
    if (report->unread)
        fprintf(stderr, "runs that were not used: %zu; %s\n", report->unread, report->example.text);
}

/* Which of the two ways to a CNN's step validated better, and by how much. */
static void print_tables(const struct dlt_profile_writer *w)
{
    for (size_t i = 0; i < w->section_count; i++) {
        const struct dlt_file_section *s = &w->section[i].index;
        const struct dlt_file_table *t = (const void *)w->section[i].bytes;
        bool used;

        if (!dlt_table_is(s->kind))
            continue;
        used = t->forced || t->sigma < t->sigma_sum;
        fprintf(stderr,
                "%s, %s: %u shapes, steps of %.0f networks left out %.1f %% off (%.1f %% without "
                "their own convolutions); spread %.0f %%, the sum of operators %.0f %%: %s\n",
                w->entry[s->entry].device.name, s->kind, t->shapes, t->networks, 100 * t->mape,
                100 * t->mape_near, 100 * t->sigma, 100 * t->sigma_sum,
                !used       ? "the sum of operators is used"
                : t->forced ? "the table is used, as asked for"
                            : "the table is used");
    }
}

void train_tell_profile(const struct dlt_profile_writer *writer, enum dlt_method method,
                        const struct dlt_runs_report *report)
{
    tell_absurd(writer, dlt_method_learns(method));
    print_summary(writer);
    print_steps(writer, report);
    print_tables(writer);
}

enum { STRAYS_NAMED = 5 };

/* others: what it is judged by, where that is not the device. */
static void name_line(struct train_strays *strays, size_t source, uint32_t line, const char *what,
                      enum dlt_stray why, const char *device, const char *others)
{
    static const char *const words[] = {[DLT_STRAY_LONG] = "more than 30 times what",
                                        [DLT_STRAY_SHORT] = "less than a thirtieth of what",
                                        [DLT_STRAY_IMPOSSIBLE] = "less than a tenth of what",
                                        [DLT_STRAY_COMPANY] = "among rows of which most"};
    char peak[128];

    if (strays->count++ >= STRAYS_NAMED)
        return;
    if (why == DLT_STRAY_IMPOSSIBLE || why == DLT_STRAY_COMPANY) {
        snprintf(peak, sizeof peak, "%s at the peak rates of %s",
                 why == DLT_STRAY_COMPANY ? "take less than a tenth of what they do" : "it takes",
                 device);
        dlt_text_printable(peak);
        others = peak;
    }
    fprintf(stderr, "dltime train: %s: line %u: %s is %s %s; it was not used: mend or remove it\n",
            strays->corpus->source[source].path, line, what, words[why], others);
}

void train_name_stray(void *context, const struct dlt_row *row, enum dlt_stray why)
{
    const struct train_strays *strays = context;
    char what[96];

    snprintf(what, sizeof what, "a %s of %g ms", row->record.kind->name, 1e3 * row->seconds);
    name_line(context, row->source, row->line, what, why,
              strays->corpus->source[row->source].header.device.name,
              "nine tenths of the others allow for its size");
}

void train_name_stray_run(void *context, const struct dlt_corpus_run *run, enum dlt_stray why)
{
    char what[300];

    snprintf(what, sizeof what, "%g ms of %s", 1e3 * dlt_run_seconds(&run->run), run->run.model);
    dlt_text_printable(what);
    name_line(context, run->source, run->line, what, why, run->run.device,
              "its other batches allow");
}

void train_count_strays(const struct train_strays *strays)
{
    if (strays->count > STRAYS_NAMED)
        fprintf(stderr, "dltime train: not used for the same reason: %zu more\n",
                strays->count - STRAYS_NAMED);
}
