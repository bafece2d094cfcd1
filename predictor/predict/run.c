/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/run.h"

#include <math.h>

#include "predict/scaling.h"

double dlt_run_all_reduce(double gradient_bytes, double backward_s, int devices, int nodes,
                          const struct dlt_device *device, double node_bandwidth)
{
    /* Share of the backward pass that a bucketed all-reduce runs beside (the last bucket waits for
     * the first layer's gradient), and a ring's latency for one hop. */
    const double overlap = 0.8, hop = 10e-6;
    double bandwidth, seconds;

    if (devices < 2)
        return 0;
    if (nodes > 1)
        bandwidth = node_bandwidth > 0 ? node_bandwidth : 100e9 / 8;
    else
        bandwidth = device->interconnect_bandwidth > 0 ? device->interconnect_bandwidth : 12e9;
    seconds = 2.0 * (devices - 1) / devices * gradient_bytes / bandwidth + 2 * (devices - 1) * hop;
    return fmax(seconds - overlap * backward_s, 0.1 * seconds);
}

double dlt_run_default_setup(enum dlt_framework framework)
{
    /* Imports from a shared file system, creation of the device context, first autotuning. Wide
     * figures on purpose; `setup=` and corrections from finished jobs replace them. */
    static const double seconds[DLT_FRAMEWORKS] = {
        [DLT_PYTORCH] = 20, [DLT_TENSORFLOW] = 30, [DLT_JAX] = 45, [DLT_FRAMEWORK_NONE] = 1};

    return seconds[framework];
}

/* Seconds of one checkpoint: its bytes to a file system that takes 1 GB/s. */
static double checkpoint_seconds(const struct dlt_training *t, double parameters)
{
    double bytes = t->checkpoint_bytes;

    if (!(bytes > 0))
        bytes = 4 * parameters * (1 + dlt_optimizer_states(t->optimizer));
    return bytes / 1e9;
}

/* Bytes that cross the ring, of those of an all-reduce: parameters that are gathered where they are
 * needed, forward and backward, make half as many again; gradients or states that are spread alone
 * cost nothing more (Rajbhandari et al. 2020, arXiv 1910.02054, section 7). */
static double traffic(enum dlt_sharding sharding)
{
    return sharding >= DLT_ZERO3 ? 1.5 : 1;
}

/* Seconds that several devices add to a step of one. */
static double communicate(const struct dlt_estimate *e, double step_s, double backward_s,
                          double gradient_bytes)
{
    double more = traffic(e->training.sharding);
    double ring_s = dlt_run_all_reduce(more * gradient_bytes, backward_s, e->devices, e->nodes,
                                       &e->device, e->node_bandwidth);
    const struct dlt_scaling_case where = {.network = e->model,
                                           .devices = e->devices,
                                           .nodes = e->nodes,
                                           .half = dlt_lower_is_half(e->training.precision),
                                           .ring = 1 + ring_s / step_s};

    if (e->devices < 2 || !e->scaling || !(step_s > 0))
        return ring_s;
    /* The runs that it was learned from reduce gradients alone. */
    return more * fmax(dlt_scaling_slowdown(e->scaling, &where) - 1, 0) * step_s;
}

/* Optimizer steps of one epoch; NaN without samples. */
static double steps_per_epoch(const struct dlt_estimate *e)
{
    const struct dlt_training *t = &e->training;
    double step_samples =
        (double)e->batch * e->devices * (double)(t->accumulate ? t->accumulate : 1);
    double steps = (double)t->samples / step_samples;

    if (t->samples == 0)
        return NAN;
    return t->drop_last ? fmax(floor(steps), 1) : ceil(steps);
}

/* Of one step: what adds up to it. */
struct step_terms {
    double compute_s, recompute_s, update_s, reduce_s, load_s;
};

static void job_terms(struct dlt_estimate *e, const struct step_terms *step, double forward_s,
                      double parameters)
{
    const struct dlt_training *t = &e->training;
    double runs = t->runs > 0 ? (double)t->runs : 1;
    double steps = t->steps > 0 ? (double)t->steps : e->steps_per_epoch * e->epochs;
    double total = runs * steps;

    e->terms = (struct dlt_terms){
        .compute = total * step->compute_s,
        .recompute = t->recompute && !e->forward_only ? total * step->recompute_s : NAN,
        .update = e->forward_only ? NAN : total * step->update_s,
        .communicate = e->devices > 1 ? total * step->reduce_s : NAN,
        .load = t->loader_samples_per_s > 0 ? total * step->load_s : NAN,
        .validate = NAN,
        .checkpoint = NAN,
        .setup = t->setup_s >= 0 ? t->setup_s : dlt_run_default_setup(t->framework),
    };
    if (t->validation_samples > 0)
        e->terms.validate = runs * e->epochs *
                            ceil((double)t->validation_samples / ((double)e->batch * e->devices)) *
                            forward_s;
    if (t->checkpoint_every > 0)
        e->terms.checkpoint =
            runs * floor(e->epochs / t->checkpoint_every) * checkpoint_seconds(t, parameters);
}

/* Adds the terms that apply. */
static double sum_terms(const struct dlt_terms *terms)
{
    const double all[] = {terms->compute, terms->recompute, terms->update,     terms->communicate,
                          terms->load,    terms->validate,  terms->checkpoint, terms->setup};
    double sum = 0;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!isnan(all[i]))
            sum += all[i];
    return sum;
}

void dlt_run_fill(struct dlt_estimate *e, const struct dlt_step_times *times, double backward_s,
                  double gradient_bytes, double parameters)
{
    const struct dlt_training *t = &e->training;
    double micro_steps = t->accumulate > 0 ? (double)t->accumulate : 1;
    double samples = micro_steps * (double)e->batch * e->devices;
    struct step_terms step = {.compute_s = micro_steps * times->forward_s};

    if (!e->forward_only) {
        step.compute_s = micro_steps * times->micro_s;
        /* All but the borders of the segments is run forward a second time (Chen et al. 2016, arXiv
         * 1604.06174). */
        step.recompute_s = t->recompute ? micro_steps * times->forward_s : 0;
        step.update_s = times->update_s;
    }
    e->step_s = step.compute_s + step.recompute_s + step.update_s;
    if (!e->forward_only)
        step.reduce_s = communicate(e, e->step_s, backward_s, gradient_bytes);
    e->step_s += step.reduce_s;
    /* Loading runs beside the step: only what it takes longer shows. */
    if (t->loader_samples_per_s > 0)
        step.load_s = fmax(samples / t->loader_samples_per_s - e->step_s, 0);
    e->step_s += step.load_s;
    e->steps_per_epoch = steps_per_epoch(e);
    e->epochs = t->epochs > 0 ? fmax(t->epochs - (double)t->start_epoch, 0) : NAN;
    if (t->steps > 0)
        e->epochs = (double)t->steps / e->steps_per_epoch;
    job_terms(e, &step, times->forward_s, parameters);
    e->job_s = t->steps > 0 || !isnan(e->steps_per_epoch * e->epochs) ? sum_terms(&e->terms) : NAN;
    e->epoch_s = e->steps_per_epoch * e->step_s;
    if (t->validation_samples > 0 && !isnan(e->epoch_s))
        e->epoch_s += ceil((double)t->validation_samples / ((double)e->batch * e->devices)) *
                      times->forward_s;
}
