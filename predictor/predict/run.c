/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/run.h"

#include <math.h>

#include "predict/scaling.h"

const char *const dlt_term_names[DLT_TERMS] = {
    [DLT_TERM_COMPUTE] = "compute",       [DLT_TERM_ACCUMULATE] = "accumulate",
    [DLT_TERM_LAST_BATCH] = "last_batch", [DLT_TERM_RECOMPUTE] = "recompute",
    [DLT_TERM_UPDATE] = "update",         [DLT_TERM_COMMUNICATE] = "communicate",
    [DLT_TERM_SHARD] = "shard",           [DLT_TERM_LOAD] = "load",
    [DLT_TERM_VALIDATE] = "validate",     [DLT_TERM_CHECKPOINT] = "checkpoint",
    [DLT_TERM_SETUP] = "setup",
};

/* Seconds before the first step (imports, device context) where `setup` does not say. */
static double default_setup(enum dlt_framework framework)
{
    /* Imports from a shared file system, creation of the device context, first autotuning. Wide
     * figures on purpose; `setup=` and corrections from finished jobs replace them. */
    static const double seconds[DLT_FRAMEWORKS] = {
        [DLT_PYTORCH] = 20, [DLT_TENSORFLOW] = 30, [DLT_JAX] = 45, [DLT_FRAMEWORK_NONE] = 1};

    return seconds[framework];
}

/* Seconds of one checkpoint. */
static double checkpoint_seconds(const struct dlt_estimate *e, double parameters)
{
    const struct dlt_training *t = &e->training;
    double bytes = t->checkpoint_bytes;
    double bandwidth = t->checkpoint_bandwidth;

    if (!(bytes > 0))
        bytes = 4 * parameters * (1 + dlt_optimizer_states(t->optimizer));
    if (!(bandwidth > 0))
        bandwidth = e->checkpoint_bandwidth;
    if (!(bandwidth > 0))
        bandwidth = DLT_CHECKPOINT_BANDWIDTH;
    return bytes / bandwidth;
}

/* How a pass over some samples is cut into batches of one device. */
struct batches {
    double count; /* all */
    double whole; /* of them, of full size */
    int64_t last; /* samples of the one that is smaller; 0: there is none */
};

static struct batches cut(const struct dlt_estimate *e, int64_t samples, bool drop_last)
{
    int64_t share = (samples + (drop_last ? 0 : e->devices - 1)) / e->devices;
    int64_t whole = share / e->batch, rest = drop_last ? 0 : share % e->batch;

    return (struct batches){(double)(whole + (rest > 0)), (double)whole, rest};
}

static struct batches epoch_batches(const struct dlt_estimate *e)
{
    struct batches b = cut(e, e->training.samples, e->training.drop_last);

    if (b.count < 1)
        b.count = b.whole = 1;
    return b;
}

int64_t dlt_run_last_batch(const struct dlt_estimate *e)
{
    return e->training.samples > 0 ? epoch_batches(e).last : 0;
}

int64_t dlt_run_last_validation(const struct dlt_estimate *e)
{
    return cut(e, e->training.validation_samples, false).last;
}

double dlt_run_batches(const struct dlt_estimate *e)
{
    return e->training.samples > 0 ? epoch_batches(e).count : NAN;
}

/* What adds up to a whole step. */
struct step {
    double batches; /* of one device: accumulate */
    double compute_s, recompute_s, update_s, reduce_s, shard_s;
    double busy_s; /* all of these */
    double load_s; /* what the loader takes longer */
};

/* What a loader that delivers so many samples a second takes longer than the work on them. */
static double loading(const struct dlt_estimate *e, double samples_of_a_device, double busy_s)
{
    double rate = e->training.loader_samples_per_s;

    return rate > 0 ? fmax(samples_of_a_device * e->devices / rate - busy_s, 0) : 0;
}

/* Seconds that several devices add to a step that takes one of them step->busy_s. */
static void communicate(const struct dlt_estimate *e, const struct dlt_run_parts *p,
                        struct step *step)
{
    const struct dlt_ring ring = {e->devices, e->nodes, &e->device, e->node_bandwidth};
    const struct dlt_exchange exchange = {e->training.sharding, p->gradient_bytes,
                                          p->parameter_bytes,   step->batches,
                                          p->whole.forward_s,   p->backward_s};
    double ring_s = dlt_run_all_reduce(p->gradient_bytes, p->backward_s, e->devices, e->nodes,
                                       &e->device, e->node_bandwidth);
    const struct dlt_scaling_case where = {.network = e->model,
                                           .devices = e->devices,
                                           .nodes = e->nodes,
                                           .half = dlt_lower_is_half(e->training.precision),
                                           .ring = 1 + ring_s / step->busy_s};

    step->reduce_s = ring_s;
    step->shard_s = dlt_exchange_sharding(&ring, &exchange);
    if (e->devices < 2 || !e->scaling || !(step->busy_s > 0))
        return;
    /* The runs that it was learned from reduce gradients alone. */
    step->reduce_s = fmax(dlt_scaling_slowdown(e->scaling, &where) - 1, 0) * step->busy_s;
    step->shard_s = dlt_exchange_more(&exchange) * step->reduce_s;
}

static struct step whole_step(const struct dlt_estimate *e, const struct dlt_run_parts *p)
{
    const struct dlt_training *t = &e->training;
    struct step s = {.batches = t->accumulate > 0 ? (double)t->accumulate : 1};

    s.compute_s = s.batches * (e->forward_only ? p->whole.forward_s : p->whole.micro_s);
    if (!e->forward_only) {
        /* All but the borders of the segments is run forward a second time (Chen et al. 2016, arXiv
         * 1604.06174). */
        s.recompute_s = t->recompute ? s.batches * p->whole.forward_s : 0;
        s.update_s = p->whole.update_s;
    }
    s.busy_s = s.compute_s + s.recompute_s + s.update_s;
    if (!e->forward_only)
        communicate(e, p, &s);
    s.busy_s += s.reduce_s + s.shard_s;
    s.load_s = loading(e, s.batches * (double)e->batch, s.busy_s);
    return s;
}

/* How often things happen in a job, or in an epoch. */
struct counts {
    double steps;
    double batches;     /* of full size */
    double last;        /* smaller ones at the end of an epoch */
    double alone;       /* of those, ones that are a step by themselves */
    double short_steps; /* at the end of an epoch, of fewer or smaller batches */
    double validations, checkpoints, setups;
};

/* Of epochs, by which a number is a whole one all the same. */
static const double rounding = 1e-9;

static double settle(double epochs)
{
    double whole = round(epochs);

    return whole >= 1 && fabs(epochs - whole) <= rounding ? whole : epochs;
}

/* epochs: whole ones, and a part of one that has none of what comes at its end; where steps are
 * counted, it is whole steps. */
static struct counts counts_of(const struct dlt_estimate *e, const struct step *step, double epochs,
                               double steps)
{
    struct counts n = {.steps = steps, .batches = steps * step->batches};
    double ended = floor(epochs + rounding);
    struct batches b;

    if (e->training.samples == 0)
        return n;
    b = epoch_batches(e);
    n.last = b.last ? ended : 0;
    if (e->training.steps > 0 && b.count >= step->batches)
        n.batches = b.count * ended - n.last + (steps - e->steps_per_epoch * ended) * step->batches;
    else
        n.batches = b.count * epochs - n.last;
    if (b.last && fmod(b.whole, step->batches) == 0)
        n.alone = ended;
    if (b.last || fmod(b.count, step->batches) != 0)
        n.short_steps = ended;
    n.validations = epochs;
    if (e->training.checkpoint_every > 0)
        n.checkpoints = floor(epochs / e->training.checkpoint_every + rounding);
    return n;
}

/* Of a step at the end of an epoch: what the loader takes longer. */
static double last_loading(const struct dlt_estimate *e, const struct dlt_run_parts *p,
                           const struct step *step)
{
    struct batches b = epoch_batches(e);
    double whole = fmod(b.whole, step->batches), samples = whole * (double)e->batch;
    double forwards = whole * p->whole.forward_s, computes = whole * p->whole.micro_s;

    if (b.last) {
        samples += (double)b.last;
        forwards += p->last.forward_s;
        computes += p->last.micro_s;
    }
    if (e->forward_only)
        return loading(e, samples, forwards);
    return loading(e, samples,
                   computes + (e->training.recompute ? forwards : 0) + step->update_s +
                       step->reduce_s + step->shard_s);
}

/* One pass over the validation set: forward, or the loader where that is slower. */
static double validation(const struct dlt_estimate *e, const struct dlt_run_parts *p)
{
    struct batches b = cut(e, e->training.validation_samples, false);
    double forward_s = p->whole.forward_s, last_s = b.last ? p->validate_last_s : 0;

    return b.whole * (forward_s + loading(e, (double)e->batch, forward_s)) + last_s +
           loading(e, (double)b.last, last_s);
}

static void fill_terms(const struct dlt_estimate *e, const struct dlt_run_parts *p,
                       const struct step *step, const struct counts *n, double terms[DLT_TERMS])
{
    const struct dlt_training *t = &e->training;
    double firsts = n->steps - n->alone; /* each step has one batch that is not added to another */
    double last_s = e->forward_only ? p->last.forward_s : p->last.micro_s;
    bool trains = !e->forward_only;

    for (int i = 0; i < DLT_TERMS; i++)
        terms[i] = NAN;
    terms[DLT_TERM_COMPUTE] = firsts * step->compute_s / step->batches;
    if (step->batches > 1)
        terms[DLT_TERM_ACCUMULATE] = (n->batches - firsts) * step->compute_s / step->batches;
    if (n->last > 0)
        terms[DLT_TERM_LAST_BATCH] = n->last * last_s;
    if (trains && t->recompute)
        terms[DLT_TERM_RECOMPUTE] = n->batches * p->whole.forward_s + n->last * p->last.forward_s;
    if (trains)
        terms[DLT_TERM_UPDATE] = n->steps * step->update_s;
    if (e->devices > 1)
        terms[DLT_TERM_COMMUNICATE] = n->steps * step->reduce_s;
    if (e->devices > 1 && trains && t->sharding != DLT_DDP)
        terms[DLT_TERM_SHARD] = n->steps * step->shard_s;
    if (t->loader_samples_per_s > 0) {
        bool fills = t->samples == 0 || epoch_batches(e).count >= step->batches;
        double last_load_s = n->short_steps > 0 || !fills ? last_loading(e, p, step) : 0;

        terms[DLT_TERM_LOAD] = (n->steps - n->short_steps) * (fills ? step->load_s : last_load_s) +
                               n->short_steps * last_load_s;
    }
    if (t->validation_samples > 0)
        terms[DLT_TERM_VALIDATE] = n->validations * validation(e, p);
    if (t->checkpoint_every > 0)
        terms[DLT_TERM_CHECKPOINT] = n->checkpoints * checkpoint_seconds(e, p->parameters);
}

/* Adds the terms that apply. */
static double sum_terms(const double terms[DLT_TERMS])
{
    double sum = 0;

    for (int i = 0; i < DLT_TERMS; i++)
        if (!isnan(terms[i]))
            sum += terms[i];
    return sum;
}

static void fill_epoch(struct dlt_estimate *e, const struct dlt_run_parts *p,
                       const struct step *step)
{
    double terms[DLT_TERMS];
    struct counts n = counts_of(e, step, 1, e->steps_per_epoch);

    fill_terms(e, p, step, &n, terms);
    terms[DLT_TERM_CHECKPOINT] = NAN;
    e->epoch_s = isnan(e->steps_per_epoch) ? NAN : sum_terms(terms);
}

void dlt_run_fill(struct dlt_estimate *e, const struct dlt_run_parts *parts)
{
    const struct dlt_training *t = &e->training;
    const struct step step = whole_step(e, parts);
    double runs = t->runs > 0 ? (double)t->runs : 1, steps;
    struct counts n;

    e->step_s = step.busy_s + step.load_s;
    e->steps_per_epoch = ceil(dlt_run_batches(e) / step.batches);
    e->epochs = t->epochs > 0 ? settle(fmax(t->epochs - (double)t->start_epoch, 0)) : NAN;
    if (t->steps > 0)
        e->epochs = (double)t->steps / e->steps_per_epoch;
    steps = t->steps > 0 ? (double)t->steps : e->steps_per_epoch * e->epochs;
    n = counts_of(e, &step, e->epochs, steps);
    fill_terms(e, parts, &step, &n, e->terms);
    for (int i = 0; i < DLT_TERMS; i++)
        e->terms[i] *= runs;
    e->terms[DLT_TERM_SETUP] = t->setup_s >= 0 ? t->setup_s : default_setup(t->framework);
    e->job_s = isnan(steps) ? NAN : sum_terms(e->terms);
    fill_epoch(e, parts, &step);
}
