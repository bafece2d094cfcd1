/* SPDX-License-Identifier: Apache-2.0 */
/* Reading ONNX: ResNet-50 without weights, and a file of which 50 MB are weights. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/graph.h"
#include "graph/model.h"

#include "bench.h"

enum { LAYERS = 128, WIDTH = 320, RUNS = 9 };

static void varint(FILE *out, unsigned long value)
{
    for (; value > 0x7f; value >>= 7)
        fputc((int)(value & 0x7f) | 0x80, out);
    fputc((int)value, out);
}

static void number(FILE *out, unsigned field, unsigned long value)
{
    varint(out, field << 3);
    varint(out, value);
}

static void bytes(FILE *out, unsigned field, const void *data, size_t size)
{
    varint(out, field << 3 | 2);
    varint(out, size);
    fwrite(data, 1, size, out);
}

/* What `write` puts into a message, as a field of another. */
static void message(FILE *out, unsigned field, void (*write)(FILE *, int), int layer)
{
    char *data = NULL;
    size_t size = 0;
    FILE *inner = open_memstream(&data, &size);

    if (!inner)
        return;
    write(inner, layer);
    fclose(inner);
    bytes(out, field, data, size);
    free(data);
}

static void name(FILE *out, unsigned field, const char *what, int layer)
{
    char text[32];

    snprintf(text, sizeof text, "%s%d", what, layer);
    bytes(out, field, text, strlen(text));
}

static void weight(FILE *out, int layer)
{
    static float data[WIDTH * WIDTH];

    number(out, 1, WIDTH);
    number(out, 1, WIDTH);
    number(out, 2, 1);
    name(out, 8, "w", layer);
    bytes(out, 9, data, sizeof data);
}

static void node(FILE *out, int layer)
{
    name(out, 1, "x", layer);
    name(out, 1, "w", layer);
    name(out, 2, "x", layer + 1);
    bytes(out, 4, "MatMul", 6);
}

static void input(FILE *out, int layer)
{
    static const char type[] = "\x0a\x0d\x08\x01\x12\x09\x0a\x02\x08\x01\x0a\x03\x08\xc0\x02";

    name(out, 1, "x", layer);
    bytes(out, 2, type, sizeof type - 1);
}

static void graph(FILE *out, int layers)
{
    message(out, 11, input, 0);
    for (int i = 0; i < layers; i++) {
        message(out, 5, weight, i);
        message(out, 1, node, i);
    }
}

static bool write_large(const char *path)
{
    FILE *out = fopen(path, "wb");

    if (!out)
        return false;
    number(out, 1, 8);
    message(out, 7, graph, LAYERS);
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
