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

/* Seconds that several devices add to a step of one. */
static double communicate(const struct dlt_estimate *e, double step_s, double backward_s,
                          double gradient_bytes)
{
    double ring_s = dlt_run_all_reduce(gradient_bytes, backward_s, e->devices, e->nodes, &e->device,
                                       e->node_bandwidth);
    const struct dlt_scaling_case where = {.network = e->model,
                                           .devices = e->devices,
                                           .nodes = e->nodes,
                                           .half = dlt_lower_is_half(e->training.precision),
                                           .ring = 1 + ring_s / step_s};

    if (e->devices < 2 || !e->scaling || !(step_s > 0))
        return ring_s;
    return fmax(dlt_scaling_slowdown(e->scaling, &where) - 1, 0) * step_s;
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

static void job_terms(struct dlt_estimate *e, double compute_s, double update_s, double reduce_s,
                      double load_s, double forward_s, double parameters)
{
    const struct dlt_training *t = &e->training;
    double runs = t->runs > 0 ? (double)t->runs : 1;
    double steps = t->steps > 0 ? (double)t->steps : e->steps_per_epoch * e->epochs;
    double total = runs * steps;

    e->terms = (struct dlt_terms){
        .compute = total * compute_s,
        .update = e->forward_only ? NAN : total * update_s,
        .communicate = e->devices > 1 ? total * reduce_s : NAN,
        .load = t->loader_samples_per_s > 0 ? total * load_s : NAN,
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
    const double all[] = {terms->compute,  terms->update,     terms->communicate, terms->load,
                          terms->validate, terms->checkpoint, terms->setup};
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
    double compute = micro_steps * (e->forward_only ? times->forward_s : times->micro_s);
    double update = e->forward_only ? 0 : times->update_s;
    double reduce =
        e->forward_only ? 0 : communicate(e, compute + update, backward_s, gradient_bytes);
    double samples = micro_steps * (double)e->batch * e->devices;
    double load = 0;

    /* Loading runs beside the step: only what it takes longer shows. */
    if (t->loader_samples_per_s > 0)
        load = fmax(samples / t->loader_samples_per_s - (compute + update + reduce), 0);
    e->step_s = compute + update + reduce + load;
    e->steps_per_epoch = steps_per_epoch(e);
    e->epochs = t->epochs > 0 ? fmax(t->epochs - (double)t->start_epoch, 0) : NAN;
    if (t->steps > 0)
        e->epochs = (double)t->steps / e->steps_per_epoch;
    job_terms(e, compute, update, reduce, load, times->forward_s, parameters);
    e->job_s = t->steps > 0 || !isnan(e->steps_per_epoch * e->epochs) ? sum_terms(&e->terms) : NAN;
    e->epoch_s = e->steps_per_epoch * e->step_s;
    if (t->validation_samples > 0 && !isnan(e->epoch_s))
        e->epoch_s += ceil((double)t->validation_samples / ((double)e->batch * e->devices)) *
                      times->forward_s;
}
