/* SPDX-License-Identifier: Apache-2.0 */
#include "runner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "timer.h"

/* Samples that are tried for a first measurement when the time was over before there was one. */
enum { LATE_SAMPLES = 16 };

static bool stops(const struct bench_runner *runner)
{
    bool enough = bench_output_count(runner->output) > 0 || runner->late >= LATE_SAMPLES;

    return bench_signals_seen() || runner->lost || (enough && bench_now() >= runner->deadline_s);
}

/* MHz of the CPU now; the device's where the system does not say. */
static double clock_now(const struct bench_runner *runner)
{
    char path[96];
    double khz = 0;
    FILE *file;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq",
             runner->session->cpus.cpu[0]);
    file = fopen(path, "re");
    if (file) {
        if (fscanf(file, "%lf", &khz) != 1)
            khz = 0;
        fclose(file);
    }
    return khz > 0 ? 1e3 * khz : runner->clock_hz;
}

static void read_circumstances(const struct bench_runner *runner, struct bench_circumstances *now)
{
    const struct dlbench_backend *backend = runner->session->backend;

    *now = (struct bench_circumstances){.clock_hz = 0};
    if (backend->circumstances)
        backend->circumstances(runner->session->context, now);
    else
        now->clock_hz = clock_now(runner);
}

/* Times a pass; once more where the device was slowed or shared meanwhile, as the timer does where
 * the times differ. Returns what bench_timer_measure does. */
static int time_pass(struct bench_runner *runner, struct bench_layer *layer, enum dlt_pass pass,
                     const struct bench_timer_settings *settings, struct bench_times *times,
                     struct bench_circumstances *now, struct dlt_error *error)
{
    int status = 0;

    for (int i = 0; i < 2 && status == 0; i++) {
        status = bench_timer_measure(runner->session->backend, runner->session->context, layer,
                                     pass, settings, times, error);
        read_circumstances(runner, now);
        if (!now->disturbed)
            break;
    }
    if (status == 0)
        times->disturbed = times->disturbed || now->disturbed;
    return status;
}

/* What the device and its libraries did for a row. */
static void add_circumstances(const struct bench_runner *runner, const struct bench_layer *layer,
                              const struct bench_circumstances *now, struct dlt_measurement *row)
{
    struct bench_choice choice = {.workspace_bytes = 0};

    if (runner->session->backend->choice)
        runner->session->backend->choice(layer, row->record.pass, &choice);
    row->clock_hz = now->clock_hz;
    row->temperature_c = now->temperature_c;
    row->power_w = now->power_w;
    dlt_text_copy(row->algorithm, sizeof row->algorithm, choice.algorithm);
    row->workspace_bytes = choice.workspace_bytes;
    row->workspace_cap_bytes = choice.workspace_cap_bytes;
}

static void note_failure(struct bench_runner *runner, const struct dlt_error *error)
{
    runner->failed++;
    runner->lost = !bench_session_answers(runner->session);
    dlt_text_copy(runner->failure, sizeof runner->failure, error->text);
}

static void note_status(struct bench_runner *runner, int status, const struct dlt_error *error)
{
    if (status == BENCH_NO_MEMORY)
        runner->no_memory++;
    else if (status == BENCH_UNSUPPORTED)
        runner->unsupported++;
    else
        note_failure(runner, error);
}

static bool is_measured(const struct bench_runner *runner, const struct bench_sample *sample)
{
    struct dlt_record record = sample->record;

    for (int i = 0; i < sample->pass_count; i++) {
        record.pass = sample->pass[i];
        if (!bench_output_has(runner->output, &record))
            return false;
    }
    return true;
}

/* Times one pass and writes its row. Returns 0, 1 where an iteration takes too long, -1 where the
 * row cannot be written. */
static int measure_pass(struct bench_runner *runner, struct bench_layer *layer,
                        const struct dlt_record *record,
                        const struct bench_timer_settings *settings, struct dlt_error *error)
{
    struct dlt_measurement row = {.record = *record};
    struct bench_circumstances now;
    struct bench_times times;
    int status = time_pass(runner, layer, record->pass, settings, &times, &now, error);

    if (status < 0) {
        note_failure(runner, error);
        return 0;
    }
    if (status > 0) {
        runner->slow++;
        return 1;
    }
    row.median_s = times.median_s;
    row.min_s = times.min_s;
    row.max_s = times.max_s;
    row.std_s = times.std_s;
    row.repeats = times.repeats;
    row.disturbed = times.disturbed;
    add_circumstances(runner, layer, &now, &row);
    return bench_output_add(runner->output, &row, error);
}

/* Makes the sample's layer, ready for its passes. 0, or an enum bench_status. */
static int make_layer(const struct bench_session *session, const struct bench_sample *sample,
                      struct bench_layer **layer, struct dlt_error *error)
{
    const struct bench_layer_options options = {.copies =
                                                    sample->record.cache == DLT_CACHE_WARM ? 1 : 0};
    struct dlt_record record = sample->record;
    int status;

    record.pass = sample->pass[0];
    status = session->backend->layer_create(session->context, &record, &options, NULL, 0, layer,
                                            NULL, error);
    if (status == BENCH_OK && sample->pass_count > 1)
        status = session->backend->layer_train(*layer, true, true, NULL, error);
    return status;
}

static int measure_sample(struct bench_runner *runner, const struct bench_sample *sample,
                          const struct bench_timer_settings *settings, struct dlt_error *error)
{
    const struct bench_session *session = runner->session;
    struct dlt_record record = sample->record;
    struct bench_layer *layer;
    char what[96];
    bool cold;
    int status = make_layer(session, sample, &layer, error);

    if (status != BENCH_OK) {
        note_status(runner, status, error);
        session->backend->reset(session->context);
        return 0;
    }
    (void)session->backend->layer_copies(layer, &cold);
    record.cache = cold ? DLT_CACHE_COLD : DLT_CACHE_WARM;
    for (int i = 0; i < sample->pass_count && status == 0 && !stops(runner); i++) {
        record.pass = sample->pass[i];
        if (bench_output_has(runner->output, &record))
            continue;
        if (!session->backend->supports(session->context, &record)) {
            runner->unsupported++;
            continue;
        }
        snprintf(what, sizeof what, "%s %s", record.kind->name, dlt_pass_names[record.pass]);
        bench_progress_show(runner->progress, (double)runner->done,
                            bench_output_count(runner->output), "measurements", what);
        status = measure_pass(runner, layer, &record, settings, error);
    }
    session->backend->reset(session->context);
    return status < 0 ? -1 : 0;
}

/* A repeat lasts as long as its item says where the whole has a minute, and less where it has less:
 * what the device sustains, not what it does for a moment. */
static int measure_quick(struct bench_runner *runner, struct dlt_error *error)
{
    const double whole_s = 60, most_s = 2;
    double scale = runner->quick_s > 0 ? fmin(runner->quick_s / whole_s, 1) : 1;
    double end_s = runner->quick_s > 0 ? bench_now() + runner->quick_s : INFINITY;

    for (size_t i = 0;
         i < bench_quick_count(runner->quick) && !stops(runner) && bench_now() < end_s; i++) {
        struct bench_timer_settings settings = bench_timer_defaults;
        double repeat_s;
        const struct bench_sample *sample = bench_quick_at(runner->quick, i, &repeat_s);

        settings.repeat_s = fmax(settings.repeat_s, scale * repeat_s);
        settings.limit_s = repeat_s > 0 ? most_s : settings.limit_s;
        if (!is_measured(runner, sample) && measure_sample(runner, sample, &settings, error))
            return -1;
    }
    return 0;
}

/* The sample of that number, or the one of a few of the same operator that teaches most. */
static int draw_sample(struct bench_runner *runner, uint64_t index, struct bench_sample *best,
                       struct dlt_error *error)
{
    enum { CANDIDATES = 64 };
    struct bench_sample sample;
    double worth, most = -1;

    if (!runner->chooser) {
        bench_sampler_at(runner->sampler, index, best);
        return 0;
    }
    for (int i = 0; i < CANDIDATES; i++) {
        bench_sampler_candidate(runner->sampler, index, i, &sample);
        worth =
            is_measured(runner, &sample) ? 0 : bench_chooser_sample_worth(runner->chooser, &sample);
        if (worth > most) {
            most = worth;
            *best = sample;
        }
    }
    return bench_chooser_add(runner->chooser, &best->record, error);
}

int bench_runner_run(struct bench_runner *runner, struct dlt_error *error)
{
    struct bench_sample sample;

    if (runner->quick && measure_quick(runner, error))
        return -1;
    for (size_t i = 0; runner->chooser && i < bench_output_count(runner->output); i++)
        if (bench_chooser_add(runner->chooser, &bench_output_at(runner->output, i)->record, error))
            return -1;
    for (; runner->done < runner->samples && !stops(runner); runner->done++) {
        if (draw_sample(runner, runner->done, &sample, error))
            return -1;
        runner->late += bench_now() >= runner->deadline_s;
        if (!is_measured(runner, &sample) &&
            measure_sample(runner, &sample, &bench_timer_defaults, error))
            return -1;
    }
    return 0;
}

double bench_runner_bandwidth(struct bench_session *session, double memory_bytes)
{
    struct dlt_record record = dlt_record_make(dlt_record_kind_find("elementwise"));
    const struct bench_layer_options options = {.copies = 1};
    struct bench_times times = {.median_s = 0};
    struct bench_layer *layer;
    struct dlt_work work;
    double rate = 0;

    record.u.rowwise.function = DLT_RELU;
    record.u.rowwise.columns = 1024;
    /* Input and output: 8 KiB a row, at most 256 MiB. */
    record.u.rowwise.rows = (int64_t)fmin(32768, 0.75 * memory_bytes / 8192);
    record.threads = session->threads;
    if (record.u.rowwise.rows < 1)
        return 0;
    dlt_record_work(&record, &work);
    if (session->backend->layer_create(session->context, &record, &options, NULL, 0, &layer, NULL,
                                       NULL) == BENCH_OK &&
        bench_timer_measure(session->backend, session->context, layer, DLT_FORWARD,
                            &bench_timer_defaults, &times, NULL) == 0 &&
        times.min_s > 0)
        rate = work.bytes / times.min_s;
    session->backend->reset(session->context);
    return rate;
}
