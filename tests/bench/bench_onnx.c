/* SPDX-License-Identifier: Apache-2.0 */
/* Reading ONNX: ResNet-50 without weights, and a file of which 50 MB are weights. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/graph.h"
#include "graph/model.h"

#include "bench.h"
#include "onnx_file.h"

enum { LAYERS = 128, WIDTH = 320, RUNS = 9 };

static void weight(FILE *out, int layer)
{
    static float data[WIDTH * WIDTH];

    onnx_number(out, 1, WIDTH);
    onnx_number(out, 1, WIDTH);
    onnx_number(out, 2, 1);
    onnx_name(out, 8, "w", layer);
    onnx_bytes(out, 9, data, sizeof data);
}

static void node(FILE *out, int layer)
{
    onnx_name(out, 1, "x", layer);
    onnx_name(out, 1, "w", layer);
    onnx_name(out, 2, "x", layer + 1);
    onnx_bytes(out, 4, "MatMul", 6);
}

static void input(FILE *out, int layer)
{
    static const char type[] = "\x0a\x0d\x08\x01\x12\x09\x0a\x02\x08\x01\x0a\x03\x08\xc0\x02";

    onnx_name(out, 1, "x", layer);
    onnx_bytes(out, 2, type, sizeof type - 1);
}

static void graph(FILE *out, int layers)
{
    onnx_message(out, 11, input, 0);
    for (int i = 0; i < layers; i++) {
        onnx_message(out, 5, weight, i);
        onnx_message(out, 1, node, i);
    }
}

static bool write_large(const char *path)
{
    FILE *out = fopen(path, "wb");

    if (!out)
        return false;
    onnx_number(out, 1, 8);
    onnx_message(out, 7, graph, LAYERS);
    return fclose(out) == 0;
}

/* Seconds to load, build and count; the fastest of a few. */
static double check(const char *path)
{
    double best = INFINITY;

    for (int i = 0; i < RUNS; i++) {
        double begin = bench_now();
        struct dlt_graph_counts counts;
        struct dlt_model *model;
        struct dlt_graph *built;
        struct dlt_error error;

        if (dlt_model_load(path, NULL, &model, &error) ||
            dlt_model_graph(model, 256, &built, &error)) {
            fprintf(stderr, "%s\n", error.text);
            exit(1);
        }
        dlt_graph_count(built, true, &counts);
        dlt_graph_destroy(built);
        dlt_model_destroy(model);
        best = fmin(best, bench_now() - begin);
    }
    return best;
}

int main(int argc, char **argv)
{
    char path[] = "/tmp/dltime-bench-XXXXXX.onnx";
    int fd = mkstemps(path, 5);
    double before;

    if (argc != 2 || fd < 0)
        return 2;
    close(fd);
    bench_line("ResNet-50 from ONNX: load, build, count", 1e3 * check(argv[1]), "ms", 10);
    if (!write_large(path))
        return 1;
    before = bench_peak_memory();
    bench_line("50 MB of ONNX: load, build, count", 1e3 * check(path), "ms", 200);
    bench_line("50 MB of ONNX: more memory than before", (bench_peak_memory() - before) / 1048576,
               "MiB", 50);
    unlink(path);
    return bench_status();
}
