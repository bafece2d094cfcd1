/* SPDX-License-Identifier: Apache-2.0 */
#include "command/judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/model.h"
#include "predict/estimate.h"
#include "predict/student.h"

static const double central90 = 1.6448536;
/* Degrees of freedom from which Student's t is as good as normal. */
static const double many = 1e6;

/* How well an entry stands for a file's device, software and threads; < 0: not at all. Timing
 * conventions are never mixed; a general entry is the last resort. */
static int likeness(const struct dlt_profile *profile, const struct dlt_measure_header *header,
                    size_t entry, int threads)
{
    const struct dlt_software *mine = dlt_profile_software(profile, entry);
    const struct dlt_software *theirs = &header->software;
    enum dlt_answers answers = dlt_profile_answers(profile, entry, header->device.name);

    if (mine->timing != theirs->timing || answers == DLT_ANSWERS_NOT ||
        (answers == DLT_ANSWERS_GENERAL &&
         (dlt_profile_threads(profile, entry) > 0) != (threads > 0)))
        return -1;
    return 8 * (int)answers + 4 * (dlt_profile_threads(profile, entry) == threads) +
           2 * (strcmp(mine->framework, theirs->framework) == 0) +
           (strcmp(mine->backend, theirs->backend) == 0);
}

static bool find_entry(const struct dlt_profile *profile, const struct dlt_measure_header *header,
                       int threads, size_t *entry)
{
    int best = -1;

    for (size_t i = 0; i < dlt_profile_entry_count(profile); i++) {
        int like = likeness(profile, header, i, threads);

        if (like > best) {
            best = like;
            *entry = i;
        }
    }
    return best >= 0;
}

/* A general entry answers for the hardware that the file's header describes. */
static const struct dlt_device *hardware(const struct dlt_profile *profile,
                                         const struct dlt_measure_header *header, size_t entry)
{
    enum dlt_answers answers = dlt_profile_answers(profile, entry, header->device.name);

    return answers == DLT_ANSWERS_GENERAL ? &header->device : dlt_profile_device(profile, entry);
}

/* The probability that a prediction gave to less than `ratio` times its median. */
static double rank_of(double ratio, double sigma, double freedom)
{
    return sigma > 0 ? dlt_student_cdf(log(ratio) / sigma, freedom) : ratio > 1;
}

int judge_operator(const struct judge *judge, const struct dlt_measure_header *header,
                   const struct dlt_record *record, double seen)
{
    struct dlt_price price = {.seconds = NAN};
    struct score_point point = {.seen = seen};
    struct score_key key = {0};
    double spread;
    size_t entry;

    dlt_text_copy(key.device, sizeof key.device, header->device.name);
    dlt_text_copy(key.op, sizeof key.op, record->kind->name);
    dlt_text_copy(key.pass, sizeof key.pass, dlt_pass_names[record->pass]);
    dlt_text_copy(key.dtype, sizeof key.dtype, dlt_dtype_names[record->dtype]);
    if (find_entry(judge->profile, header, record->threads, &entry))
        dlt_profile_price_on(judge->profile, entry, hardware(judge->profile, header, entry), record,
                             &price);
    key.basis = price.basis;
    if (!isfinite(price.seconds) || !(seen > 0))
        return scores_skip(judge->scores, &key);
    spread = exp(central90 * price.sigma);
    point.predicted = price.seconds;
    point.low = price.seconds / spread;
    point.high = price.seconds * spread;
    point.rank = rank_of(seen / price.seconds, price.sigma, many);
    return scores_add(judge->scores, &key, &point);
}

/* One time of a run beside the estimate's; low and high are as far off as the step's. */
static int add_time(struct judge *judge, const struct score_key *key, const struct dlt_estimate *e,
                    double seen, double predicted)
{
    const struct score_point point = {
        .seen = seen,
        .predicted = predicted,
        .low = predicted * dlt_estimate_step_quantile(e, 0.05) / e->step_s,
        .high = predicted * dlt_estimate_step_quantile(e, 0.95) / e->step_s,
        .rank = rank_of(seen / predicted, e->step_sigma, e->degrees_of_freedom),
    };

    return scores_add(judge->scores, key, &point);
}

/* The whole of a run and, of a training whose passes were timed apart, these. A run is scored as it
 * was measured: with what allocating memory anew cost in such runs. */
static int add_estimate(struct judge *judge, const struct score_key *key, const struct dlt_run *run,
                        const struct dlt_estimate *e)
{
    struct score_key part = *key;
    int result =
        add_time(judge, key, e, dlt_run_seconds(run), dlt_estimate_step_s(e) + e->allocate_s);

    if (result || run->pass == DLT_FORWARD || !(run->forward_s > 0) || !(run->backward_s > 0))
        return result;
    part.part = true;
    dlt_text_copy(part.pass, sizeof part.pass, "step's forward");
    result = add_time(judge, &part, e, run->forward_s, e->forward_s + e->allocate_s);
    dlt_text_copy(part.pass, sizeof part.pass, "step's backward");
    return result ? result : add_time(judge, &part, e, run->backward_s, e->backward_s);
}

static int judge_run(struct judge *judge, const struct dlt_run *run)
{
    struct score_key key = {.network = true};
    struct dlt_question question = {.device = run->device[0] ? run->device : NULL,
                                    .devices = run->devices,
                                    .nodes = run->nodes,
                                    .cpus = run->threads,
                                    .forward_only = run->pass == DLT_FORWARD};
    struct dlt_model *model = NULL;
    struct dlt_estimate *estimate = NULL;
    double seen = dlt_run_seconds(run);
    struct dlt_error why;
    char spec[512];
    int result;

    dlt_text_copy(key.device, sizeof key.device, run->device);
    dlt_text_copy(key.op, sizeof key.op, run->model);
    dlt_text_copy(key.pass, sizeof key.pass, dlt_pass_names[run->pass]);
    dlt_text_copy(key.dtype, sizeof key.dtype, run->precision);
    if (run->suspect[0] || !isfinite(seen) || !dlt_run_spec(run, spec, sizeof spec)) {
        result = scores_skip(judge->scores, &key);
    } else if (dlt_model_load(spec, NULL, &model, &why) ||
               dlt_predict(model, judge->profile, &question, &estimate, &why)) {
        if (judge->unread++ == 0)
            judge->example = why;
        result = scores_skip(judge->scores, &key);
    } else {
        key.basis = dlt_estimate_basis(estimate);
        key.table = estimate->by_table;
        result = add_estimate(judge, &key, run, estimate);
    }
    dlt_estimate_destroy(estimate);
    dlt_model_destroy(model);
    return result;
}

static int judge_file(struct judge *judge, const char *path, struct dlt_error *error)
{
    const struct dlt_measure_header *header;
    struct dlt_measure_reader *reader;
    struct dlt_measurement measurement;
    struct dlt_run run;
    int got;

    if (dlt_measure_open(path, &reader, error))
        return -1;
    header = dlt_measure_header(reader);
    while ((got = dlt_measure_next(reader, &measurement, &run, error)) > 0) {
        if (header->runs
                ? judge_run(judge, &run)
                : judge_operator(judge, header, &measurement.record, measurement.median_s)) {
            got = dlt_fail_memory(error);
            break;
        }
    }
    if (dlt_measure_cut(reader))
        fprintf(stderr, "dltime %s: %s: the last line is cut short and was skipped\n",
                judge->command, path);
    if (dlt_measure_unknown(reader))
        fprintf(stderr, "dltime %s: %s: %zu row%s of operators unknown to this version\n",
                judge->command, path, dlt_measure_unknown(reader),
                dlt_measure_unknown(reader) == 1 ? "" : "s");
    dlt_measure_close(reader);
    return got;
}

int judge_files(struct judge *judge, char **file, int count, struct dlt_error *error)
{
    for (int i = 0; i < count; i++)
        if (judge_file(judge, file[i], error))
            return -1;
    if (dlt_profile_check(judge->profile, error))
        return -1;
    if (judge->unread)
        fprintf(stderr, "dltime %s: %zu runs were skipped: %s\n", judge->command, judge->unread,
                judge->example.text);
    return 0;
}
