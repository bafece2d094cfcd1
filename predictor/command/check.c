/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/check.h"
#include "command/command.h"
#include "graph/op.h"

static const char help[] =
    "Usage: dltime check SPEC[,key=value]... [OPTION]...\n"
    "A network layer by layer: shapes, parameters, multiply-accumulates, training memory,\n"
    "and what looks wrong with it.\n\n"
    "  --batch N   shapes and memory for N samples on a device (default: the model's, else 1)\n"
    "  --json      one object: name, parameters, trainable, macs, flops, memory, layers, problems\n"
    "  --help      this text\n\n"
    "SPEC is a file (net.json, net.onnx, a Hugging Face config.json) or a shipped model\n"
    "(resnet50; see dltime models). Parameters and MACs do not depend on the batch: MACs and\n"
    "FLOPs are those of one sample, forward.\n\n"
    "  dltime check resnet50,batch=256,optimizer=adam,precision=amp-float16\n";

struct options {
    const char *spec;
    int64_t batch;
    bool json;
};

enum { BATCH = 256, JSON, HELP };

static const struct option long_options[] = {
    {"batch", required_argument, NULL, BATCH},
    {"json", no_argument, NULL, JSON},
    {"help", no_argument, NULL, HELP},
    {0},
};

static __attribute__((format(printf, 2, 3))) void add_problem(struct check_report *r,
                                                              const char *format, ...)
{
    char *text;
    va_list args;
    int length;

    if (r->problems == CHECK_PROBLEMS)
        return;
    va_start(args, format);
    length = vasprintf(&text, format, args);
    va_end(args);
    if (length >= 0)
        r->problem[r->problems++] = text;
}

/* Learned positions: a table that is shorter than the sequence. An index of another length stands
 * for one that repeats, such as that of relative positions. */
static void find_position_problems(struct check_report *r, const struct dlt_node *n,
                                   const struct dlt_tensor *in)
{
    const struct dlt_embedding_attributes *table = (const void *)n->attribute;
    const struct dlt_node *maker = in->node < 0 ? NULL : &r->graph->node[in->node];
    const struct dlt_arange_attributes *count = maker ? (const void *)maker->attribute : NULL;

    if (!maker || strcmp(n->op->name, "embedding") != 0 || strcmp(maker->op->name, "arange") != 0)
        return;
    if (count->end == r->graph->seq && count->end > table->num_embeddings)
        add_problem(r, "%s: %lld positions, and a table of %lld: PyTorch fails", n->name,
                    (long long)count->end, (long long)table->num_embeddings);
}

/* What is allowed, and yet probably not what was meant by a layer that reads `in`. */
static void find_input_problems(struct check_report *r, const struct dlt_node *n,
                                const struct dlt_tensor *in)
{
    int64_t batch = r->graph->batch;

    if (strcmp(n->op->name, "adaptive_avg_pool2d") == 0) {
        const struct dlt_adaptive_pool_attributes *a = (const void *)n->attribute;

        if (in->dim[2] % a->output_size[0] || in->dim[3] % a->output_size[1])
            add_problem(r,
                        "%s: its output size does not divide its input; its windows are taken "
                        "as regular",
                        n->name);
    }
    if (n->op->class == DLT_OP_BATCH_NORM && batch == 1 &&
        dlt_tensor_elements(in) == (double)in->dim[0] * (double)in->dim[1])
        add_problem(r, "%s: one value per channel at batch 1; PyTorch refuses to train that",
                    n->name);
    if (n->op->class == DLT_OP_RECURRENT) {
        const struct dlt_recurrent_attributes *a = (const void *)n->attribute;

        if (!a->batch_first && in->dim[0] == batch && in->dim[1] != batch)
            add_problem(r, "%s: batch_first is false, so the batch is read as the length", n->name);
    }
}

static void find_node_problems(struct check_report *r, size_t node)
{
    const struct dlt_graph *g = r->graph;
    const struct dlt_node *n = &g->node[node];

    if (n->input_count > 0) {
        find_input_problems(r, n, &g->tensor[n->input[0]]);
        find_position_problems(r, n, &g->tensor[n->input[0]]);
    }
    for (size_t k = 0; k < n->output_count && node + 1 < g->node_count; k++)
        if (g->tensor[n->output + (int)k].consumers == 0 &&
            (k == 0 || n->op->class != DLT_OP_RECURRENT))
            add_problem(r, "%s: output %zu is used by no other layer", n->name, k);
}

static void find_problems(struct check_report *r)
{
    for (size_t i = 0; i < r->graph->note_count; i++)
        add_problem(r, "%s", r->graph->note[i]);
    for (size_t i = 0; i < r->graph->input_count; i++)
        if (r->graph->tensor[r->graph->input[i]].consumers == 0)
            add_problem(r, "input %zu of the network is not used", i);
    for (size_t i = 0; i < r->graph->node_count; i++)
        find_node_problems(r, i);
    if (r->counts.trainable == 0)
        add_problem(r, "nothing is trainable");
}

static int check(const struct options *o, struct dlt_error *error)
{
    struct dlt_model *model = NULL;
    struct dlt_graph *graph = NULL;
    struct check_report report = {0};
    int64_t batch;

    if (dlt_model_load(o->spec, NULL, &model, error))
        return -1;
    batch = o->batch ? o->batch : dlt_training_batch(&model->training, 1);
    if (dlt_model_graph(model, batch ? batch : 1, &graph, error)) {
        dlt_model_destroy(model);
        return -1;
    }
    report.model = model;
    report.graph = graph;
    dlt_graph_count(graph, true, &report.counts);
    dlt_plan_memory(graph, &model->training, true, 1, 0, &report.memory);
    find_problems(&report);
    if (o->json)
        check_print_json(&report);
    else
        check_print_table(&report);
    for (size_t i = 0; i < report.problems; i++)
        free(report.problem[i]);
    dlt_graph_destroy(graph);
    dlt_model_destroy(model);
    return 0;
}

static int take_option(int option, char *value, void *context)
{
    struct options *o = context;

    if (option == BATCH)
        return command_whole("check", "batch", value, 1, INT32_MAX, &o->batch);
    o->json = true;
    return COMMAND_DONE;
}

int command_check(int argc, char **argv)
{
    struct options o = {0};
    struct dlt_error error;
    int status = command_options("check", help, long_options, argc, argv, take_option, &o);

    if (status >= 0)
        return status;
    if (optind + 1 != argc)
        return command_usage("check", optind == argc ? "which model?" : "one model at a time");
    o.spec = argv[optind];
    if (check(&o, &error))
        return command_fail("check", &error);
    return COMMAND_DONE;
}
