/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a model specification: what loads has a graph, counts and a plan at every batch. */
#include <math.h>

#include "graph/model.h"
#include "lower/lower.h"

#include "fuzz.h"

static void check_graph(const struct dlt_model *model, int64_t batch)
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dlt_model *model = NULL;
    struct dlt_error error;

    if (dlt_model_load(fuzz_file("model.json", data, size), "/nonexistent", &model, &error)) {
        fuzz_check_error(&error);
        must(!model);
        return 0;
    }
    must(dlt_model_name(model));
    check_graph(model, 1);
    check_graph(model, 37);
    check_graph(model, INT64_MAX);
    dlt_model_destroy(model);
    return 0;
}
