/* spec.h - a model from JSON text, by way of a file as users have it. */
#ifndef DLT_TESTS_UNIT_SPEC_H
#define DLT_TESTS_UNIT_SPEC_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/graph.h"
#include "graph/model.h"
#include "graph/op.h"
#include "test.h"

/* Writes text to a fresh file, loads it with keys (",batch=8" or "") behind its name, and removes
 * it. The error's text without the file's name is kept in spec_error. */
static char spec_error[sizeof(struct dlt_error)];

static inline int spec_load(const char *text, size_t size, const char *keys,
                            struct dlt_model **model)
{
    char path[] = "/tmp/dltime-spec-XXXXXX.json";
    char spec[256];
    struct dlt_error error = {.text = ""};
    int fd = mkstemps(path, 5);
    int status;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, size), (ssize_t)size);
    close(fd);
    snprintf(spec, sizeof spec, "%s%s", path, keys);
    status = dlt_model_load(spec, NULL, model, &error);
    unlink(path);
    strcpy(spec_error, error.text);
    if (status && strncmp(error.text, path, strlen(path)) == 0)
        strcpy(spec_error, error.text + strlen(path) + 2);
    return status;
}

/* The graph of a spec that has to be right. */
static inline struct dlt_graph *spec_graph(const char *text, int64_t batch)
{
    struct dlt_model *model;
    struct dlt_graph *graph = NULL;
    struct dlt_error error;

    if (spec_load(text, strlen(text), "", &model))
        fail_msg("%s", spec_error);
    if (dlt_model_graph(model, batch, &graph, &error))
        fail_msg("%s", error.text);
    dlt_model_destroy(model);
    return graph;
}

static inline size_t spec_node(const struct dlt_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->node_count; i++)
        if (strcmp(graph->node[i].name, name) == 0)
            return i;
    fail_msg("no node %s", name);
    return 0;
}

/* The operator of a node. */
static inline const char *spec_op(const struct dlt_graph *graph, const char *name)
{
    return graph->node[spec_node(graph, name)].op->name;
}

/* Parameters of the whole network, each once. */
static inline double spec_parameters(const struct dlt_graph *graph)
{
    struct dlt_graph_counts counts;

    dlt_graph_count(graph, true, &counts);
    return counts.total.parameters;
}

/* The first output of a node. */
static inline const struct dlt_tensor *spec_output(const struct dlt_graph *graph, const char *name)
{
    return &graph->tensor[graph->node[spec_node(graph, name)].output];
}

static inline void check_shape(const struct dlt_tensor *tensor, int rank, const int64_t *dim,
                               const char *file, int line)
{
    bool same = tensor->rank == rank;

    for (int d = 0; same && d < rank; d++)
        same = tensor->dim[d] == dim[d];
    if (same)
        return;
    for (int d = 0; d < tensor->rank; d++)
        print_error("%s%lld", d ? " x " : "shape is ", (long long)tensor->dim[d]);
    print_error("\n");
    _fail(file, line);
}
#define assert_shape(tensor, ...)                                                                  \
    check_shape((tensor), sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                      \
                (int64_t[]){__VA_ARGS__}, __FILE__, __LINE__)

#endif
