/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "command/command.h"
#include "command/starts.h"
#include "command/train.h"
#include "device/devices.h"
#include "learn/each.h"
#include "learn/general.h"
#include "learn/runs.h"
#include "learn/tables.h"
#include "learn/train.h"
#include "learn/train_parts.h"

static const char help[] =
    "Usage: dltime train FILE... --output PROFILE [OPTION]...\n"
    "A profile from measurements (dltime-measurements(5)): operators, and runs of\n"
    "networks. Files of several devices make a general profile, which also answers\n"
    "for devices that nobody measured.\n"
    "\n"
    "  --output PROFILE   where to write it\n"
    "  --base PROFILE     adapt this profile of other devices to the files' device,\n"
    "                     of which a few rows suffice (`dlbench run --quick`); with\n"
    "                     files of runs alone, only learn again how its operators add\n"
    "                     up to steps. none: begin from nothing; else convolutions'\n"
    "                     networks begin from those of the installed `general`\n"
    "  --method METHOD    auto (default): what suits the rows; mlp: neural networks;\n"
    "                     linear: linear regression, to compare with; cost: the cost\n"
    "                     model alone; conv-table: as auto, and CNNs' steps by a\n"
    "                     table of their convolutions, whatever validates better\n"
    "  --each FOLDER      also save each device and software as a profile there\n"
    "  --seed N           of everything random (default 1): the same seed and files\n"
    "                     give the same bytes where SOURCE_DATE_EPOCH is set\n"
    "  --threads N        default: the CPUs that may be used; they change no result\n"
    "\n"
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

/* What networks began from, among the sources. */
static int put_start(const struct dlt_profile *profile, struct dlt_profile_writer *writer)
{
    struct dlt_file_source source;

    memset(&source, 0, sizeof source);
    dlt_text_copy(source.path, sizeof source.path, COMMAND_GENERAL);
    dlt_text_copy(source.text, sizeof source.text,
                  "where networks begin: it knows other devices' convolutions");
    source.size = profile->header->file_size;
    source.digest = profile->header->directory_checksum; /* which covers its sections' */
    return dlt_profile_writer_source(writer, &source);
}

/* Networks begin from what the installed general profile keeps of other devices, where it does. */
static int learn_alone(const struct options *o, const struct dlt_corpus *corpus,
                       struct dlt_profile_writer *writer, struct dlt_error *error)
{
    struct dlt_train_settings settings = o->settings;
    struct dlt_profile *profile = NULL;
    int result;

    if (!o->from_nothing && dlt_method_learns(settings.method))
        profile = command_starts_load("train", corpus);
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

/* What is no evidence of its own: repeats, such as a plain and a compressed copy, and strays. */
static int drop_rows(struct dlt_corpus *corpus, struct dlt_error *error)
{
    struct train_strays strays = {.corpus = corpus};
    struct dlt_repeats repeats;

    if (dlt_corpus_unique(corpus, &repeats) ||
        dlt_corpus_drop_strays(corpus, train_name_stray, &strays) ||
        dlt_corpus_drop_stray_runs(corpus, train_name_stray_run, &strays))
        return dlt_fail_memory(error);
    train_count_strays(&strays);
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
    struct train_strays strays = {.corpus = corpus};

    if (dlt_learn_runs(corpus, writer, train_name_stray_run, &strays, report, error))
        return -1;
    train_count_strays(&strays);
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
        o->settings.progress = train_show_progress;
    for (int i = 0; i < o->file_count && status == COMMAND_DONE; i++) {
        if (dlt_corpus_add(&corpus, o->file[i], &error))
            status = command_fail("train", &error);
        else
            status = check_twice(&corpus);
        if (status == COMMAND_DONE)
            train_tell_source(&corpus.source[corpus.source_count - 1]);
    }
    train_tell_sampled(&corpus);
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
            train_tell_left_out(&corpus, &writer);
        train_tell_profile(&writer, o->settings.method, &report);
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
