/* SPDX-License-Identifier: Apache-2.0 */
#include "dltime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "device/devices.h"
#include "predict/history.h"
#include "predict/run.h"
#include "predict/scaling.h"
#include "predict/spread.h"
#include "predict/student.h"
#include "predict/table.h"
#include "predict/tag.h"

const char *dlt_basis_name(enum dlt_basis basis)
{
    static const char *const names[] = {"none", "cost model", "general", "adapted", "measured"};

    return names[basis];
}

const char *dlt_fits_name(enum dlt_fits fits)
{
    static const char *const names[] = {"unknown", "yes", "tight", "no"};

    return names[fits];
}

/* Within a tenth of the memory's end, allocators' fragmentation decides. */
static enum dlt_fits judge_memory(double needed, double available)
{
    if (!(needed > 0) || !(available > 0))
        return DLT_FITS_UNKNOWN;
    if (needed <= 0.9 * available)
        return DLT_FITS_YES;
    return needed <= 1.02 * available ? DLT_FITS_TIGHT : DLT_FITS_NO;
}

static int choose_devices(struct dlt_estimate *e, const struct dlt_question *question,
                          struct dlt_error *error)
{
    e->devices = question->devices > 0 ? question->devices : 1;
    e->nodes = question->nodes > 0 ? question->nodes : 1;
    if (e->nodes > e->devices)
        return dlt_fail(error,
                        "%s: %d nodes need at least as many devices, not %d; devices are counted "
                        "in all",
                        e->model, e->nodes, e->devices);
    if (e->training.devices > 0 && e->training.devices < e->devices)
        e->devices = (int)e->training.devices;
    /* Of those the training uses, each may be on a node of its own. */
    if (e->nodes > e->devices)
        e->nodes = e->devices;
    return 0;
}

static int choose_batch(struct dlt_estimate *e, struct dlt_error *error)
{
    e->batch = dlt_training_batch(&e->training, e->devices);
    if (e->batch < 1)
        return dlt_fail(error, "%s: no batch size; add batch=N (of one device) or global_batch=N",
                        e->model);
    if (e->training.samples == 0 &&
        (e->training.validation_samples > 0 || e->training.checkpoint_every > 0))
        return dlt_fail(error,
                        "%s: validation_samples and checkpoint_every count in epochs; add "
                        "samples=N, the size of the training set",
                        e->model);
    if (e->training.drop_last && e->training.samples > 0 && e->training.steps == 0 &&
        (double)e->training.samples < (double)e->batch * e->devices)
        return dlt_fail(error,
                        "%s: drop_last leaves no step: %lld samples are less than one batch of "
                        "%lld",
                        e->model, (long long)e->training.samples, (long long)e->batch * e->devices);
    if (e->training.epochs > 0 && (double)e->training.start_epoch >= e->training.epochs)
        return dlt_fail(error, "%s: start_epoch=%lld leaves nothing of %g epochs", e->model,
                        (long long)e->training.start_epoch, e->training.epochs);
    return 0;
}

/* Measured, but under another framework: its kernels are often the same, its host and its fusions
 * are not. How much is a guess: more than networks differ under one framework. */
static void doubt_software(struct dlt_estimate *e)
{
    const double sigma_software = 0.25;

    e->step_sigma = hypot(e->step_sigma, sigma_software);
    e->job_sigma = hypot(e->job_sigma, sigma_software);
    if (e->basis > DLT_BASIS_GENERAL)
        e->basis = DLT_BASIS_GENERAL;
}

/* Units as they run inside a step, so that they add up to its device time. */
static void scale_units(struct dlt_estimate *e, const struct dlt_step_parameters *p)
{
    for (size_t i = 0; i <= e->plan->unit_count; i++) {
        e->unit[i].forward_s *= p->device_factor;
        e->unit[i].backward_s *= p->device_factor * p->backward_factor;
        e->unit[i].update_s *= p->device_factor;
    }
}

/* What finished jobs of the network on the partition say, applied to every time. */
static int correct(struct dlt_estimate *e, const struct dlt_model *model,
                   const struct dlt_question *question, struct dlt_error *error)
{
    double *const times[] = {&e->step_s,    &e->epoch_s,    &e->job_s,
                             &e->forward_s, &e->backward_s, &e->allocate_s};
    const struct dlt_correction *found = NULL;
    uint64_t network;

    e->correction = 1;
    if (!question->history || !question->partition || e->forward_only)
        return 0;
    if (dlt_tag_network(model, &network, error))
        return -1;
    found = dlt_history_find(question->history, network, question->partition);
    if (!found)
        return 0;
    e->correction = found->factor;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        *times[i] *= found->factor;
    for (size_t i = 0; i < DLT_TERMS; i++)
        e->terms[i] *= found->factor;
    for (size_t i = 0; i <= e->plan->unit_count; i++) {
        e->unit[i].forward_s *= found->factor;
        e->unit[i].backward_s *= found->factor;
        e->unit[i].update_s *= found->factor;
    }
    return 0;
}

/* Each device updates its own part of states that are spread. */
static double update_share(const struct dlt_estimate *e)
{
    return e->training.sharding == DLT_DDP ? 1 : 1.0 / e->devices;
}

static int price_whole(struct dlt_estimate *e, const struct dlt_profile *profile,
                       const struct dlt_target *target, struct dlt_step_sum *sum,
                       struct dlt_error *error)
{
    if (dlt_step_price(profile, target, e->plan, e->forward_only, e->unit, sum, error))
        return -1;
    sum->update_s *= update_share(e);
    e->unit[e->plan->unit_count].update_s *= update_share(e);
    return 0;
}

/* A part of a batch takes its part of the device's time; launches stay as many. */
static struct dlt_step_sum part_of(const struct dlt_step_sum *sum, double part)
{
    struct dlt_step_sum smaller = *sum;

    smaller.forward_s *= part;
    smaller.backward_s *= part;
    smaller.kept_bytes *= part;
    return smaller;
}

/* The last batch of an epoch: lowered and priced at its size where an epoch has so few batches that
 * it counts, else in proportion. */
static int price_last(struct dlt_estimate *e, struct dlt_prepared *prepared,
                      const struct dlt_profile *profile, const struct dlt_target *target,
                      const struct dlt_step_sum *whole, struct dlt_step_sum *last,
                      struct dlt_error *error)
{
    const double many = 100;
    int64_t batch = dlt_run_last_batch(e);
    struct dlt_lowered *lowered;
    int result;

    *last = part_of(whole, (double)batch / (double)e->batch);
    if (batch == 0 || dlt_run_batches(e) > many)
        return 0;
    if (dlt_prepared_lower(prepared, batch, !e->forward_only,
                           dlt_profile_threads(profile, target->entry), &lowered, error))
        return -1;
    result = dlt_step_price(profile, target, lowered->plan, e->forward_only, NULL, last, error);
    last->update_s *= update_share(e);
    dlt_lowered_release(lowered);
    return result;
}

static void fill_run(struct dlt_estimate *e, const struct dlt_step_sum *sum,
                     const struct dlt_step_sum *last, const struct dlt_step_parameters *parameters)
{
    const struct dlt_graph_counts *counts = &e->lowered->counts;
    double frozen = counts->trainable > 0 ? counts->total.parameters / counts->trainable : 1;
    struct dlt_run_parts parts = {.backward_s = parameters->device_factor *
                                                parameters->backward_factor * sum->backward_s,
                                  .gradient_bytes = e->plan->gradient_bytes,
                                  .parameter_bytes = frozen * e->plan->gradient_bytes,
                                  .parameters = counts->total.parameters};
    struct dlt_step_sum validation =
        part_of(sum, (double)dlt_run_last_validation(e) / (double)e->batch);
    struct dlt_step_times times;

    dlt_step_times(sum, parameters, &parts.whole);
    dlt_step_times(last, parameters, &parts.last);
    dlt_step_times(&validation, parameters, &times);
    parts.validate_last_s = times.forward_s;
    e->allocate_s = parts.whole.allocate_s;
    e->forward_s = parts.whole.forward_s;
    e->backward_s = e->forward_only ? NAN : parts.whole.backward_s;
    e->parameters = counts->total.parameters;
    dlt_run_fill(e, &parts);
}

/* A CNN's training by a table of convolutions, where there is a better one; its last batches then
 * take the same part of it that they take of the sum of operators. */
static void use_table(struct dlt_estimate *e, const struct dlt_profile *profile,
                      const struct dlt_target *target, struct dlt_step_sum *sum,
                      struct dlt_step_sum *last, struct dlt_step_parameters *parameters)
{
    struct dlt_step_sum by_operators = *sum;

    if (e->forward_only ||
        !dlt_table_apply(profile, target, &e->training, e->plan, e->unit, sum, parameters))
        return;
    e->by_table = true;
    sum->update_s *= update_share(e);
    e->unit[e->plan->unit_count].update_s *= update_share(e);
    last->forward_s *= sum->forward_s / by_operators.forward_s;
    last->backward_s *= sum->backward_s / fmax(by_operators.backward_s, 1e-12);
    last->update_s = sum->update_s;
}

static int price(struct dlt_estimate *e, struct dlt_prepared *prepared,
                 const struct dlt_profile *profile, const struct dlt_target *target,
                 const struct dlt_question *question, struct dlt_error *error)
{
    struct dlt_step_parameters parameters;
    struct dlt_step_sum sum, last;

    e->unit = calloc(e->plan->unit_count + 1, sizeof *e->unit);
    if (!e->unit)
        return dlt_fail_memory(error);
    /* A section that turns out damaged gives no price: that it is damaged is the reason to tell. */
    if (price_whole(e, profile, target, &sum, error) ||
        price_last(e, prepared, profile, target, &sum, &last, error)) {
        dlt_profile_check(profile, error);
        return -1;
    }
    dlt_profile_step(profile, target->entry, e->training.framework, &parameters);
    use_table(e, profile, target, &sum, &last, &parameters);
    if (dlt_profile_check(profile, error))
        return -1;
    e->memory = *dlt_lowered_memory(e->lowered, &e->training, e->devices);
    sum.kept_bytes = e->forward_only ? 0 : e->memory.activations;
    scale_units(e, &parameters);
    fill_run(e, &sum, &last, &parameters);
    dlt_spread_fill(e, &sum, &parameters);
    e->basis = sum.basis;
    e->extrapolated = sum.extrapolated;
    if (!dlt_profile_is_of(profile, target->entry, e->training.framework))
        doubt_software(e);
    e->fits =
        judge_memory(e->memory.total, question->memory_bytes > 0 ? question->memory_bytes
                                                                 : dlt_device_usable(&e->device));
    return 0;
}

static int fill(struct dlt_estimate *e, struct dlt_prepared *prepared,
                const struct dlt_profile *profile, const struct dlt_question *question,
                struct dlt_error *error)
{
    const struct dlt_model *model = dlt_prepared_model(prepared);
    struct dlt_target target;

    e->training = model->training;
    e->forward_only = question->forward_only;
    e->model = strdup(model->name);
    if (!e->model)
        return dlt_fail_memory(error);
    if (dlt_profile_target(profile, question->device, question->cpus, e->training.framework,
                           &target, error) ||
        choose_devices(e, question, error) || choose_batch(e, error) ||
        dlt_prepared_lower(prepared, e->batch, !e->forward_only,
                           dlt_profile_threads(profile, target.entry), &e->lowered, error))
        return -1;
    target.memo = dlt_prepared_memo(prepared);
    e->graph = e->lowered->graph;
    e->plan = e->lowered->plan;
    e->scaling = question->scaling;
    e->node_bandwidth = question->node_bandwidth;
    e->checkpoint_bandwidth = question->checkpoint_bandwidth;
    e->device = *target.device;
    e->software = *dlt_profile_software(profile, target.entry);
    if (price(e, prepared, profile, &target, question, error)) {
        /* What was priced without a section that memory was short for is not to be found again. */
        dlt_memo_forget(target.memo);
        return -1;
    }
    if (correct(e, model, question, error))
        return -1;
    e->scaling = NULL;
    return 0;
}

void dlt_estimate_destroy(struct dlt_estimate *estimate)
{
    if (!estimate)
        return;
    dlt_lowered_release(estimate->lowered);
    free(estimate->unit);
    free(estimate->model);
    free(estimate);
}

int dlt_predict_prepared(struct dlt_prepared *prepared, const struct dlt_profile *profile,
                         const struct dlt_question *question, struct dlt_estimate **estimate,
                         struct dlt_error *error)
{
    struct dlt_estimate *e = calloc(1, sizeof *e);

    *estimate = NULL;
    if (!e)
        return dlt_fail_memory(error);
    if (fill(e, prepared, profile, question, error)) {
        dlt_estimate_destroy(e);
        return -1;
    }
    *estimate = e;
    return 0;
}

int dlt_predict(const struct dlt_model *model, const struct dlt_profile *profile,
                const struct dlt_question *question, struct dlt_estimate **estimate,
                struct dlt_error *error)
{
    struct dlt_prepared *prepared;
    int result;

    *estimate = NULL;
    if ((question->device && dlt_devices_load_installed(error)) ||
        dlt_prepare(model, &prepared, error))
        return -1;
    result = dlt_predict_prepared(prepared, profile, question, estimate, error);
    dlt_prepared_destroy(prepared);
    return result;
}

double dlt_estimate_step_s(const struct dlt_estimate *estimate)
{
    return estimate->step_s;
}

double dlt_estimate_epoch_s(const struct dlt_estimate *estimate)
{
    return estimate->epoch_s;
}

double dlt_estimate_job_s(const struct dlt_estimate *estimate)
{
    return estimate->job_s;
}

/* Log time = log median + sigma x t. */
static double quantile_of(double median, double sigma, double freedom, double quantile)
{
    if (!(quantile > 0 && quantile < 1))
        return NAN;
    return median * exp(sigma * dlt_student_quantile(quantile, freedom));
}

double dlt_estimate_step_quantile(const struct dlt_estimate *e, double quantile)
{
    return quantile_of(e->step_s, e->step_sigma, e->degrees_of_freedom, quantile);
}

double dlt_estimate_job_quantile(const struct dlt_estimate *e, double quantile)
{
    return quantile_of(e->job_s, e->job_sigma, e->degrees_of_freedom, quantile);
}

double dlt_estimate_exceeds(const struct dlt_estimate *e, double seconds)
{
    if (isnan(e->job_s))
        return NAN;
    if (seconds <= 0 || e->job_sigma <= 0)
        return seconds < e->job_s;
    return 1 - dlt_student_cdf(log(seconds / e->job_s) / e->job_sigma, e->degrees_of_freedom);
}

double dlt_estimate_memory_bytes(const struct dlt_estimate *estimate)
{
    return estimate->memory.total > 0 ? estimate->memory.total : NAN;
}

enum dlt_fits dlt_estimate_fits(const struct dlt_estimate *estimate)
{
    return estimate->fits;
}

enum dlt_basis dlt_estimate_basis(const struct dlt_estimate *estimate)
{
    return estimate->basis;
}

const char *dlt_estimate_device(const struct dlt_estimate *estimate)
{
    return estimate->device.name;
}
