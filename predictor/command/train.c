/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/text.h"
#include "command/command.h"
#include "device/devices.h"
#include "learn/each.h"
#include "learn/general.h"
#include "learn/runs.h"
#include "learn/starts.h"
#include "learn/tables.h"
#include "learn/train.h"
#include "learn/train_parts.h"
#include "predict/table.h"

static const char help[] =
    "Usage: dltime train FILE... --output PROFILE [OPTION]...\n"
    "A profile from measurements (dltime-measurements(5)): operators, and runs of networks.\n\n"
    "Files of several devices make a general profile, which also answers for devices that nobody\n"
    "measured.\n\n"
    "  --output PROFILE   where to write it\n"
    "  --base PROFILE     adapt this profile of other devices to the files' device, of which a "
    "few\n"
    "                     rows are enough (`dlbench run --quick`); with files of runs alone, only\n"
    "                     learn again how its operators add up to steps\n"
    "                     none: begin from nothing; else convolutions' networks begin from those\n"
    "                     that the installed profile `general` keeps of other devices\n"
    "  --method METHOD    auto (default): what suits the rows; mlp: neural networks;\n"
    "                     linear: linear regression on FLOPs and sizes, to compare with;\n"
    "                     cost: the cost model alone; conv-table: as auto, and CNNs' steps by a\n"
    "                     table of their convolutions, whatever validates better\n"
    "  --each FOLDER      also save each device and software as a profile of its own there\n"
    "  --seed N           of everything random (default 1); the same seed and files give the same\n"
    "                     bytes where SOURCE_DATE_EPOCH is set\n"
    "  --threads N        default: the CPUs that may be used; results do not depend on it\n\n"
    "  dltime train a100.jsonl --output a100.dlp\n"
    "  dltime train v100.jsonl p100.jsonl t4.jsonl --output general.dlp\n"
    "  dltime train --base general.dlp a100-quick.jsonl --output a100.dlp\n";

static const char *const method_names[DLT_METHODS] = {"auto", "mlp", "linear", "cost"};

struct options {
    const char *output, *base, *each;
    struct dlt_train_settings settings;
    bool table;        /* --method conv-table */
    bool from_nothing; /* --base none */
    char **file;
    int file_count;
};

static int take_method(const char *text, enum dlt_method *method, bool *table)
{
    if (strcmp(text, "conv-table") == 0) {
        *table = true;
        *method = DLT_METHOD_AUTO;
        return COMMAND_DONE;
    }
    *table = false;
    for (int m = 0; m < DLT_METHODS; m++) {
        if (strcmp(text, method_names[m]) == 0) {
            *method = (enum dlt_method)m;
            return COMMAND_DONE;
        }
    }
    return command_usage("train", "--method is auto, mlp, linear, cost or conv-table, not \"%s\"",
                         text);
}

enum { OUTPUT = 256, BASE, EACH, METHOD, SEED, THREADS, HELP };

static const struct option long_options[] = {
    {"output", required_argument, NULL, OUTPUT}, {"method", required_argument, NULL, METHOD},
    {"base", required_argument, NULL, BASE},     {"each", required_argument, NULL, EACH},
    {"seed", required_argument, NULL, SEED},     {"threads", required_argument, NULL, THREADS},
    {"help", no_argument, NULL, HELP},           {0},
};

static int take_option(int option, char *value, void *context)
{
    struct options *o = context;
    int64_t number = 0;
    int status = COMMAND_DONE;

    switch (option) {
    case OUTPUT:
        o->output = value;
        return COMMAND_DONE;
    case BASE:
        o->from_nothing = strcmp(value, "none") == 0;
        o->base = o->from_nothing ? NULL : value;
        return COMMAND_DONE;
    case EACH:
        o->each = value;
        return COMMAND_DONE;
    case METHOD:
        return take_method(value, &o->settings.method, &o->table);
    case SEED:
        status = command_whole("train", "seed", value, 0, INT64_MAX, &number);
        o->settings.seed = (uint64_t)number;
        return status;
    case THREADS:
        status = command_whole("train", "threads", value, 1, 64, &number);
        o->settings.threads = (int)number;
        return status;
    }
    return status;
}

static void show_progress(void *context, const struct dlt_train_progress *p)
{
    (void)context;
    fprintf(stderr, "\r\033[Ktraining %zu of %zu: %s on %s, %zu rows", p->done + 1, p->count,
            p->kind, p->device, p->rows);
    fflush(stderr);
}

/* What was read, where something was passed over. */
static void warn(const struct dlt_source *s)
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

/* Of what there were more rows than are learned from. */
static void warn_sampled(const struct dlt_corpus *corpus)
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

/* Operators that were measured, and that the profile does not hold all the same. */
static void warn_left_out(const struct dlt_corpus *corpus, const struct dlt_profile_writer *w)
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
        fprintf(
            stderr,
            "%zu runs were not used: several devices, no time, or a device, or on a CPU a number "
            "of threads, without measurements\n",
            report->skipped);
    if (report->unread)
        fprintf(stderr, "%zu runs were not used: %s\n", report->unread, report->example.text);
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

/* Training takes minutes: what cannot be written is better known before. */
static int check_output(const struct options *o)
{
    struct dlt_file_writer file;
    struct dlt_error error;
    char each[PATH_MAX];

    for (int i = 0; i < o->file_count; i++)
        if (command_same_file(o->output, o->file[i]))
            return command_usage("train", "--output %s would replace the measurements in %s",
                                 o->output, o->file[i]);
    if (dlt_file_create(&file, o->output, &error))
        return command_fail("train", &error);
    dlt_file_abandon(&file);
    if (!o->each)
        return COMMAND_DONE;
    if (snprintf(each, sizeof each, "%s/each.dlp", o->each) >= (int)sizeof each)
        return command_usage("train", "--each: the name of the folder is too long");
    if (dlt_file_create(&file, each, &error))
        return command_fail("train", &error);
    dlt_file_abandon(&file);
    return COMMAND_DONE;
}

/* Rows that are there twice would be learned and held out at once: the error said would be too
 * small. The last source is compared with those before it. */
static int check_twice(const struct dlt_corpus *corpus)
{
    const struct dlt_source *last = &corpus->source[corpus->source_count - 1];

    for (const struct dlt_source *s = corpus->source; s < last; s++)
        if (s->size == last->size && s->digest == last->digest)
            return command_usage("train", "%s and %s are the same measurements; name one of them",
                                 s->path, last->path);
    return COMMAND_DONE;
}

static const char general[] = "general.dlp";

/* What networks began from, among the sources. */
static int put_start(const struct dlt_profile *profile, struct dlt_profile_writer *writer)
{
    struct dlt_file_source source;

    memset(&source, 0, sizeof source);
    dlt_text_copy(source.path, sizeof source.path, general);
    dlt_text_copy(source.text, sizeof source.text,
                  "where networks begin: it knows other devices' convolutions");
    source.size = profile->header->file_size;
    source.digest = profile->header->directory_checksum; /* which covers its sections' */
    return dlt_profile_writer_source(writer, &source);
}

/* The installed general profile, where networks may begin from what it keeps; NULL where they begin
 * from nothing. */
static struct dlt_profile *load_starts(const struct options *o, const struct dlt_corpus *corpus)
{
    struct dlt_profile *profile = NULL;
    struct dlt_error error = {0};
    char below[64], path[PATH_MAX];
    bool serves = false;

    snprintf(below, sizeof below, "profiles/%s", general);
    if (o->from_nothing || !dlt_method_learns(o->settings.method) || !dlt_starts_wanted(corpus) ||
        !dlt_path(DLT_FOLDER_DATA, below, path, sizeof path) || access(path, F_OK))
        return NULL;
    if (dlt_profile_load(path, &profile, &error) == 0) {
        serves = dlt_starts_serve(profile, corpus);
        serves = dlt_profile_check(profile, &error) == 0 && serves;
    }
    if (error.text[0])
        fprintf(stderr, "dltime train: %s; networks of convolutions begin from nothing\n",
                error.text);
    if (serves)
        return profile;
    dlt_profile_destroy(profile);
    return NULL;
}

/* Networks begin from what the installed general profile keeps of other devices, where it does. */
static int learn_alone(const struct options *o, const struct dlt_corpus *corpus,
                       struct dlt_profile_writer *writer, struct dlt_error *error)
{
    struct dlt_train_settings settings = o->settings;
    struct dlt_profile *profile = load_starts(o, corpus);
    int result;

    settings.starts = profile;
    if (profile)
        fprintf(stderr,
                "dltime train: networks of convolutions begin from those that %s keeps of "
                "other devices (--base none: from nothing)\n",
                dlt_profile_path(profile));
    result = dlt_train(corpus, &settings, writer, error);
    if (result == 0 && profile && put_start(profile, writer))
        result = dlt_fail_memory(error);
    dlt_profile_destroy(profile);
    return result;
}

/* From the files alone, or from a profile of other devices and the files; files of runs alone
 * leave the base's operators as they are. */
static int learn(const struct options *o, const struct dlt_corpus *corpus,
                 struct dlt_profile_writer *writer, struct dlt_error *error)
{
    struct dlt_profile *base = NULL;
    int result;

    if (!o->base)
        return learn_alone(o, corpus, writer, error);
    if (corpus->row_count + corpus->run_count + corpus->looked_up_count == 0)
        return dlt_fail(error, "the files hold nothing that a profile could be adapted to; measure "
                               "something with `dlbench run --quick`");
    if (command_profile_load(o->base, &base, error))
        return -1;
    if (corpus->row_count > 0)
        result = dlt_adapt(base, corpus, &o->settings, writer, error);
    else if (dlt_profile_writer_copy(writer, base, NULL, NULL))
        result = dlt_fail_memory(error);
    else
        result = dlt_profile_check(base, error);
    if (result == 0 && corpus->row_count == 0 && dlt_train_sources(corpus, writer))
        result = dlt_fail_memory(error);
    dlt_profile_destroy(base);
    return result;
}

enum { STRAYS_NAMED = 5 };

struct strays {
    const struct dlt_corpus *corpus;
    size_t count;
};

/* others: what it is judged by, where that is not the device. */
static void name_line(struct strays *strays, size_t source, uint32_t line, const char *what,
                      enum dlt_stray why, const char *device, const char *others)
{
    static const char *const words[] = {[DLT_STRAY_LONG] = "more than 30 times what",
                                        [DLT_STRAY_SHORT] = "less than a thirtieth of what",
                                        [DLT_STRAY_IMPOSSIBLE] = "less than a tenth of what"};
    char peak[128];

    if (strays->count++ >= STRAYS_NAMED)
        return;
    if (why == DLT_STRAY_IMPOSSIBLE) {
        snprintf(peak, sizeof peak, "a %s takes at its peak rates", device);
        dlt_text_printable(peak);
        others = peak;
    }
    fprintf(stderr, "dltime train: %s: line %u: %s is %s %s; it was not used: mend or remove it\n",
            strays->corpus->source[source].path, line, what, words[why], others);
}

static void name_stray(void *context, const struct dlt_row *row, enum dlt_stray why)
{
    const struct strays *strays = context;
    char what[96];

    snprintf(what, sizeof what, "a %s of %g ms", row->record.kind->name, 1e3 * row->seconds);
    name_line(context, row->source, row->line, what, why,
              strays->corpus->source[row->source].header.device.name,
              "nine tenths of the others allow for its size");
}

static void name_stray_run(void *context, const struct dlt_corpus_run *run, enum dlt_stray why)
{
    char what[300];

    snprintf(what, sizeof what, "%g ms of %s", 1e3 * dlt_run_seconds(&run->run), run->run.model);
    dlt_text_printable(what);
    name_line(context, run->source, run->line, what, why, run->run.device,
              "its other batches allow");
}

static void count_strays(const struct strays *strays)
{
    if (strays->count > STRAYS_NAMED)
        fprintf(stderr, "dltime train: not used for the same reason: %zu more\n",
                strays->count - STRAYS_NAMED);
}

/* What is no evidence of its own: repeats, such as a plain and a compressed copy, and strays. */
static int drop_rows(struct dlt_corpus *corpus, struct dlt_error *error)
{
    struct strays strays = {.corpus = corpus};
    struct dlt_repeats repeats;

    if (dlt_corpus_unique(corpus, &repeats) ||
        dlt_corpus_drop_strays(corpus, name_stray, &strays) ||
        dlt_corpus_drop_stray_runs(corpus, name_stray_run, &strays))
        return dlt_fail_memory(error);
    count_strays(&strays);
    if (repeats.same)
        fprintf(stderr,
                "dltime train: %zu rows repeat the configuration and the time of another and were "
                "not used\n",
                repeats.same);
    if (repeats.again)
        fprintf(stderr,
                "dltime train: rows that measure a configuration again: %zu; each configuration "
                "counts once, with the median of its times\n",
                repeats.again);
    return 0;
}

/* How operators add up to steps, and the tables of convolutions. */
static int learn_networks(const struct options *o, struct dlt_corpus *corpus,
                          struct dlt_profile_writer *writer, struct dlt_runs_report *report,
                          struct dlt_error *error)
{
    struct strays strays = {.corpus = corpus};

    if (dlt_learn_runs(corpus, writer, name_stray_run, &strays, report, error))
        return -1;
    count_strays(&strays);
    return o->table || corpus->looked_up_count > 0
               ? dlt_learn_tables(corpus, o->table, writer, error)
               : 0;
}

static int run(struct options *o)
{
    struct dlt_corpus corpus = {.seed = o->settings.seed};
    struct dlt_profile_writer writer = {0};
    struct dlt_runs_report report;
    struct dlt_error error;
    int status = check_output(o);
    bool terminal = isatty(STDERR_FILENO);

    if (terminal)
        o->settings.progress = show_progress;
    for (int i = 0; i < o->file_count && status == COMMAND_DONE; i++) {
        if (dlt_corpus_add(&corpus, o->file[i], &error))
            status = command_fail("train", &error);
        else
            status = check_twice(&corpus);
        if (status == COMMAND_DONE)
            warn(&corpus.source[corpus.source_count - 1]);
    }
    warn_sampled(&corpus);
    if (status == COMMAND_DONE &&
        (dlt_devices_load_installed(&error) || drop_rows(&corpus, &error) ||
         learn(o, &corpus, &writer, &error)))
        status = command_fail("train", &error);
    if (terminal)
        fputs("\r\033[K", stderr);
    if (status == COMMAND_DONE && learn_networks(o, &corpus, &writer, &report, &error))
        status = command_fail("train", &error);
    if (status == COMMAND_DONE && (dlt_profile_writer_save(&writer, o->output, &error) ||
                                   (o->each && dlt_save_each(&writer, &corpus, o->each, &error))))
        status = command_fail("train", &error);
    if (status == COMMAND_DONE) {
        if (!o->base)
            warn_left_out(&corpus, &writer);
        print_summary(&writer);
        print_steps(&writer, &report);
        print_tables(&writer);
    }
    dlt_profile_writer_clear(&writer);
    dlt_corpus_clear(&corpus);
    return status;
}

int command_train(int argc, char **argv)
{
    struct options options = {.settings = {.seed = 1}};
    int status = command_options("train", help, long_options, argc, argv, take_option, &options);

    if (status >= 0)
        return status;
    options.file = argv + optind;
    options.file_count = argc - optind;
    if (options.file_count == 0)
        return command_usage("train", "name at least one file of measurements");
    if (options.base && options.each)
        return command_usage("train", "--each splits what is learned here; a --base keeps its own");
    if (!options.output)
        return command_usage("train", "say where to write the profile: --output PROFILE");
    return run(&options);
}
