/* onnx_write.h - ONNX files by hand: a small writer of the wire format, for tests. */
#ifndef DLT_TESTS_UNIT_ONNX_WRITE_H
#define DLT_TESTS_UNIT_ONNX_WRITE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/model.h"
#include "test.h"

/* A message that is being written. Zero-initialise; freed when it is put into another. */
struct onnx_bytes {
    unsigned char *data;
    size_t size;
};

static inline void onnx_raw(struct onnx_bytes *b, const void *data, size_t size)
{
    b->data = realloc(b->data, b->size + size + 1);
    assert_non_null(b->data);
    if (size > 0)
        memcpy(b->data + b->size, data, size);
    b->size += size;
}

static inline void onnx_varint(struct onnx_bytes *b, uint64_t value)
{
    unsigned char byte;

    for (; value > 0x7f; value >>= 7) {
        byte = (unsigned char)(value | 0x80);
        onnx_raw(b, &byte, 1);
    }
    byte = (unsigned char)value;
    onnx_raw(b, &byte, 1);
}

static inline void onnx_int(struct onnx_bytes *b, unsigned field, int64_t value)
{
    onnx_varint(b, field << 3);
    onnx_varint(b, (uint64_t)value);
}

static inline void onnx_data(struct onnx_bytes *b, unsigned field, const void *data, size_t size)
{
    onnx_varint(b, field << 3 | 2);
    onnx_varint(b, size);
    onnx_raw(b, data, size);
}

static inline void onnx_text(struct onnx_bytes *b, unsigned field, const char *text)
{
    onnx_data(b, field, text, strlen(text));
}

static inline void onnx_put(struct onnx_bytes *b, unsigned field, struct onnx_bytes *message)
{
    onnx_data(b, field, message->data, message->size);
    free(message->data);
    *message = (struct onnx_bytes){0};
}

/* dims end with 0; a negative one is symbolic: -1 "batch", -2 "seq", -3 without a name. */
static inline void onnx_value(struct onnx_bytes *graph, unsigned field, const char *name, int type,
                              const int64_t *dims)
{
    static const char *const names[] = {"", "batch", "seq", ""};
    struct onnx_bytes shape = {0}, tensor = {0}, kind = {0}, info = {0};

    for (; *dims; dims++) {
        struct onnx_bytes dim = {0};

        if (*dims > 0)
            onnx_int(&dim, 1, *dims);
        else if (*names[-*dims])
            onnx_text(&dim, 2, names[-*dims]);
        onnx_put(&shape, 1, &dim);
    }
    onnx_int(&tensor, 1, type);
    onnx_put(&tensor, 2, &shape);
    onnx_put(&kind, 1, &tensor);
    onnx_text(&info, 1, name);
    onnx_put(&info, 2, &kind);
    onnx_put(graph, field, &info);
}
#define onnx_input(graph, name, type, ...)                                                         \
    onnx_value((graph), 11, (name), (type), (const int64_t[]){__VA_ARGS__, 0})
#define onnx_output(graph, name) onnx_value((graph), 12, (name), 1, (const int64_t[]){0})

/* A tensor without data, which is as good as one with; dims end with 0. */
static inline void onnx_weight(struct onnx_bytes *graph, const char *name, const int64_t *dims)
{
    struct onnx_bytes tensor = {0};

    for (; *dims; dims++)
        onnx_int(&tensor, 1, *dims);
    onnx_int(&tensor, 2, 1);
    onnx_text(&tensor, 8, name);
    onnx_put(graph, 5, &tensor);
}
#define onnx_weights(graph, name, ...)                                                             \
    onnx_weight((graph), (name), (const int64_t[]){__VA_ARGS__, 0})

/* A vector of int64 as an initializer. */
static inline void onnx_vector(struct onnx_bytes *graph, const char *name, size_t count,
                               const int64_t *values)
{
    struct onnx_bytes tensor = {0};

    onnx_int(&tensor, 1, (int64_t)count);
    onnx_int(&tensor, 2, 7);
    onnx_text(&tensor, 8, name);
    onnx_data(&tensor, 9, values, count * sizeof *values);
    onnx_put(graph, 5, &tensor);
}
#define onnx_ints(graph, name, ...)                                                                \
    onnx_vector((graph), (name), sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),               \
                (int64_t[]){__VA_ARGS__})

/* A node: names of inputs and outputs separated by spaces ("-" leaves one out), then attributes
 * "name=1" or "name=1,2" (a list ends in a comma: "axes=1,"), separated by spaces. */
static inline struct onnx_bytes onnx_node_bytes(const char *op, const char *inputs,
                                                const char *outputs, const char *attributes)
{
    struct onnx_bytes node = {0};
    char text[512], *rest, *word;

    for (unsigned field = 1; field < 3; field++) {
        snprintf(text, sizeof text, "%s", field == 1 ? inputs : outputs);
        for (word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
            onnx_text(&node, field, strcmp(word, "-") == 0 ? "" : word);
    }
    onnx_text(&node, 3, outputs);
    onnx_text(&node, 4, op);
    snprintf(text, sizeof text, "%s", attributes);
    for (word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        struct onnx_bytes attribute = {0};
        char *value = strchr(word, '='), *end;
        bool list = strchr(word, ',') != NULL;

        *value++ = '\0';
        onnx_text(&attribute, 1, word);
        for (; *value; value = *end ? end + 1 : end)
            onnx_int(&attribute, list ? 8 : 3, strtoll(value, &end, 10));
        onnx_int(&attribute, 20, list ? 7 : 2);
        onnx_put(&node, 5, &attribute);
    }
    return node;
}

static inline void onnx_node(struct onnx_bytes *graph, const char *op, const char *inputs,
                             const char *outputs, const char *attributes)
{
    struct onnx_bytes node = onnx_node_bytes(op, inputs, outputs, attributes);

    onnx_put(graph, 1, &node);
}

/* The file around a graph; the graph is freed. */
static inline struct onnx_bytes onnx_model(struct onnx_bytes *graph, int opset)
{
    struct onnx_bytes model = {0}, set = {0};

    onnx_int(&model, 1, 8);
    onnx_put(&model, 7, graph);
    onnx_int(&set, 2, opset);
    onnx_put(&model, 8, &set);
    return model;
}

/* Loads the bytes as a file; frees them. The error's text without the file's name stays here. */
static char onnx_error[sizeof(struct dlt_error)];

static inline int onnx_load(struct onnx_bytes *bytes, const char *keys, struct dlt_model **model)
{
    char path[] = "/tmp/dltime-model-XXXXXX.onnx";
    char spec[256];
    struct dlt_error error = {.text = ""};
    int fd = mkstemps(path, 5), status;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes->data ? bytes->data : (void *)path, bytes->size),
                     (ssize_t)bytes->size);
    close(fd);
    free(bytes->data);
    *bytes = (struct onnx_bytes){0};
    snprintf(spec, sizeof spec, "%s%s", path, keys);
    status = dlt_model_load(spec, NULL, model, &error);
    unlink(path);
    snprintf(onnx_error, sizeof onnx_error, "%s",
             strncmp(error.text, path, strlen(path)) == 0 ? error.text + strlen(path) + 2
                                                          : error.text);
    return status;
}

/* The graph that has to come of a graph message. */
static inline struct dlt_graph *onnx_build(struct onnx_bytes *graph, const char *keys,
                                           int64_t batch)
{
    struct onnx_bytes bytes = onnx_model(graph, 13);
    struct dlt_graph *built = NULL;
    struct dlt_model *model;
    struct dlt_error error;

    if (onnx_load(&bytes, keys, &model))
        fail_msg("%s", onnx_error);
    if (dlt_model_graph(model, batch, &built, &error))
        fail_msg("%s", error.text);
    dlt_model_destroy(model);
    return built;
}

#endif
