/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of 100,000 nodes, as JSON and as ONNX: time, how it grows, and memory. Usage:
 * bench_graph [json|onnx NODES] (the latter once, for profiling from outside). */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "graph/graph.h"
#include "graph/model.h"
#include "lower/lower.h"
#include "onnx_file.h"

enum { NODES = 100000, WIDTH = 64 };

/* Blocks of a layer, an activation and dropout. */
static void json_layers(FILE *out, int nodes)
{
    fprintf(out, "{\"input\": [%d], \"layers\": [\n", WIDTH);
    for (int i = 0; i < nodes / 3; i++)
        fprintf(out,
                "%s{\"op\": \"dense\", \"out_features\": %d},\n{\"op\": \"relu\"},\n"
                "{\"op\": \"dropout\"}",
                i ? ",\n" : "", WIDTH);
    fputs("]}\n", out);
}

static void weight(FILE *out, int block)
{
    onnx_number(out, 1, WIDTH);
    onnx_number(out, 1, WIDTH);
    onnx_number(out, 2, 1);
    onnx_name(out, 8, "w", block);
}

static void product(FILE *out, int block)
{
    onnx_name(out, 1, "x", block);
    onnx_name(out, 1, "w", block);
    onnx_name(out, 2, "y", block);
    onnx_bytes(out, 4, "MatMul", 6);
}

static void activation(FILE *out, int block)
{
    onnx_name(out, 1, "y", block);
    onnx_name(out, 2, "z", block);
    onnx_bytes(out, 4, "Relu", 4);
}

static void sum(FILE *out, int block)
{
    onnx_name(out, 1, "x", block);
    onnx_name(out, 1, "z", block);
    onnx_name(out, 2, "x", block + 1);
    onnx_bytes(out, 4, "Add", 3);
}

/* float32 x0[batch, WIDTH] */
static void input(FILE *out, int block)
{
    static const char type[] = "\x0a\x11\x08\x01\x12\x0d\x0a\x07\x12\x05"
                               "batch\x0a\x02\x08\x40";

    onnx_name(out, 1, "x", block);
    onnx_bytes(out, 2, type, sizeof type - 1);
}

/* Blocks of a product, an activation and a residual sum. */
static void onnx_graph(FILE *out, int nodes)
{
    onnx_message(out, 11, input, 0);
    for (int i = 0; i < nodes / 3; i++) {
        onnx_message(out, 5, weight, i);
        onnx_message(out, 1, product, i);
        onnx_message(out, 1, activation, i);
        onnx_message(out, 1, sum, i);
    }
}

static void onnx_model(FILE *out, int nodes)
{
    onnx_number(out, 1, 8);
    onnx_message(out, 7, onnx_graph, nodes);
}

static const struct kind {
    const char *name;
    void (*write)(FILE *, int);
} kinds[] = {{"json", json_layers}, {"onnx", onnx_model}};

/* Loads, builds, counts and lowers it. */
static void work(const char *path)
{
    struct dlt_graph_counts counts;
    struct dlt_model *model;
    struct dlt_graph *graph;
    struct dlt_plan *plan;
    struct dlt_error error;

    if (dlt_model_load(path, NULL, &model, &error) || dlt_model_graph(model, 8, &graph, &error) ||
        dlt_lower(graph, &model->training, true, 0, &plan, &error)) {
        fprintf(stderr, "bench_graph: %s\n", error.text);
        _exit(1);
    }
    dlt_graph_count(graph, true, &counts);
    dlt_plan_destroy(plan);
    dlt_graph_destroy(graph);
    dlt_model_destroy(model);
}

struct cost {
    double seconds, bytes;
};

/* In a process of its own, whose memory is nobody else's. */
static struct cost cost_of(const char *path)
{
    struct cost *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct cost cost;
    int status = 1;
    pid_t child;

    if (shared == MAP_FAILED)
        exit(2);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        double begin = bench_busy(), before = bench_peak_memory();

        work(path);
        *shared = (struct cost){bench_busy() - begin, bench_peak_memory() - before};
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        exit(1);
    cost = *shared;
    munmap(shared, sizeof *shared);
    return cost;
}

static struct cost least_cost(const struct kind *kind, int nodes)
{
    enum { RUNS = 3 };
    char path[64];
    struct cost least = {INFINITY, INFINITY};
    FILE *out;
    int fd;

    snprintf(path, sizeof path, "/tmp/dltime-bench-XXXXXX.%s", kind->name);
    fd = mkstemps(path, 5);
    out = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!out)
        exit(2);
    kind->write(out, nodes);
    if (fclose(out))
        exit(2);
    for (int i = 0; i < RUNS; i++) {
        struct cost cost = cost_of(path);

        least.seconds = fmin(least.seconds, cost.seconds);
        least.bytes = fmin(least.bytes, cost.bytes);
    }
    unlink(path);
    return least;
}

static void figure(const struct kind *kind, double limit_s)
{
    struct cost cost = least_cost(kind, NODES), half = least_cost(kind, NODES / 2);
    char what[96];

    snprintf(what, sizeof what, "%s of %d nodes: load, build, lower", kind->name, NODES);
    bench_line(what, cost.seconds, "s", limit_s);
    snprintf(what, sizeof what, "%s: times half of it", kind->name);
    bench_line(what, cost.seconds / half.seconds, "", 3);
    snprintf(what, sizeof what, "%s: memory of a node", kind->name);
    bench_line(what, cost.bytes / NODES, "bytes", 2500);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (argc == 3 && strcmp(argv[1], kinds[i].name) == 0) {
            kinds[i].write(stdout, atoi(argv[2]));
            return 0;
        }
        if (argc == 1)
            figure(&kinds[i], 1);
    }
    return bench_status();
}
