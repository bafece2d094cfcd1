/*
 * fuzz_graph.h - what holds for every model that loads: a graph, counts and a plan at every batch,
 * and a time where the batch is said.
 */
#ifndef DLT_TESTS_FUZZ_GRAPH_H
#define DLT_TESTS_FUZZ_GRAPH_H

#include <math.h>

#include "graph/model.h"
#include "lower/lower.h"
#include "predict/profile.h"

#include "fuzz.h"

/* Whatever can be counted has a time on a card whose profile is shipped, or a sentence. */
static inline void fuzz_check_time(const struct dlt_model *model)
{
    static struct dlt_profile *profile;
    struct dlt_error error;

    /* Fuzzers run in the sources' folder. */
    if (!profile)
        must(dlt_profile_load("etc/profiles/tesla-v100-pcie-32gb.pytorch.dlp", &profile, &error) ==
             0);
    for (int forward_only = 0; forward_only < 2; forward_only++) {
        struct dlt_question question = {.forward_only = forward_only};
        struct dlt_estimate *estimate;

        if (dlt_predict(model, profile, &question, &estimate, &error)) {
            fuzz_check_error(&error);
            must(!estimate);
        } else {
            must(dlt_estimate_step_s(estimate) > 0);
            must(dlt_estimate_step_quantile(estimate, 0.99) >= dlt_estimate_step_s(estimate));
            must(isfinite(dlt_estimate_step_quantile(estimate, 0.99)));
            must(!(dlt_estimate_job_s(estimate) < 0));
        }
        dlt_estimate_destroy(estimate);
    }
}

static inline void fuzz_check_graph(const struct dlt_model *model, int64_t batch)
{
    struct dlt_graph *graph = NULL;
    struct dlt_plan *plan = NULL;
    struct dlt_graph_counts counts;
    struct dlt_error error;

    if (dlt_model_graph(model, batch, &graph, &error)) {
        fuzz_check_error(&error);
        return;
    }
    dlt_graph_count(graph, true, &counts);
    must(isfinite(counts.total.parameters) && counts.total.parameters >= 0);
    must(isfinite(counts.total.macs) && counts.total.macs >= 0);
    must(counts.trainable <= counts.total.parameters);
    for (int training = 0; training < 2; training++) {
        struct dlt_memory memory;

        if (dlt_lower(graph, &model->training, training, 1, &plan, &error)) {
            fuzz_check_error(&error);
        } else {
            dlt_plan_memory(graph, &model->training, training, 1, 0, &memory);
            must(memory.total >= 0);
            dlt_plan_destroy(plan);
        }
    }
    dlt_graph_destroy(graph);
}

/* Loads a file of this name with these bytes; keys: ",seq=16". */
static inline void fuzz_model(const char *name, const char *keys, const uint8_t *data, size_t size)
{
    struct dlt_model *model = NULL;
    struct dlt_error error;
    char spec[256];

    snprintf(spec, sizeof spec, "%s%s", fuzz_file(name, data, size), keys);
    if (dlt_model_load(spec, "/nonexistent", &model, &error)) {
        fuzz_check_error(&error);
        must(!model);
        return;
    }
    must(dlt_model_name(model));
    fuzz_check_graph(model, 1);
    fuzz_check_graph(model, 37);
    fuzz_check_graph(model, INT64_MAX);
    if (size % 8 == 0) /* it takes ten times as long as the rest */
        fuzz_check_time(model);
    dlt_model_destroy(model);
}

#endif
