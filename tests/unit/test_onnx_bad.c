/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are no ONNX, damaged, or made to do harm: one sentence each, soon and in little
 * memory. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "graph/graph.h"
#include "graph/model.h"
#include "onnx_write.h"

static void check_sentence(void)
{
    assert_true(*onnx_error);
    assert_null(strchr(onnx_error, '\n'));
}

static void refused(struct onnx_bytes *bytes, const char *expected)
{
    struct dlt_model *model;

    assert_int_equal(onnx_load(bytes, "", &model), -1);
    assert_null(model);
    check_sentence();
    if (expected && !strstr(onnx_error, expected))
        fail_msg("\"%s\" has no \"%s\"", onnx_error, expected);
}

static void refused_graph(struct onnx_bytes *graph, const char *expected)
{
    struct onnx_bytes bytes = onnx_model(graph, 13);

    refused(&bytes, expected);
}

static struct onnx_bytes small_graph(void)
{
    struct onnx_bytes g = {0};

    onnx_input(&g, "x", 1, -1, 3, 16, 16);
    onnx_weights(&g, "w", 4, 3, 3, 3);
    onnx_ints(&g, "to", 0, -1);
    onnx_node(&g, "Conv", "x w", "c", "pads=1,1,1,1");
    onnx_node(&g, "Relu", "c", "r", "");
    onnx_node(&g, "Reshape", "r to", "y", "");
    onnx_output(&g, "y");
    return g;
}

static void a_file_cut_short_anywhere_is_refused_or_whole(void **state)
{
    struct onnx_bytes g = small_graph(), whole = onnx_model(&g, 13);

    (void)state;
    for (size_t size = 0; size < whole.size; size++) {
        struct onnx_bytes part = {0};
        struct dlt_model *model;

        onnx_raw(&part, whole.data, size);
        if (onnx_load(&part, "", &model))
            check_sentence();
        /* The opset comes last: without it the network is still all there. */
        else
            assert_true(size + 4 >= whole.size);
        dlt_model_destroy(model);
    }
    free(whole.data);
}

static void any_flipped_bit_is_refused_or_another_network(void **state)
{
    struct onnx_bytes g = small_graph(), whole = onnx_model(&g, 13);

    (void)state;
    for (size_t bit = 0; bit < 8 * whole.size; bit++) {
        struct onnx_bytes part = {0};
        struct dlt_model *model;

        onnx_raw(&part, whole.data, whole.size);
        part.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        if (onnx_load(&part, "", &model))
            check_sentence();
        dlt_model_destroy(model);
    }
    free(whole.data);
}

static void cycles_and_values_from_nowhere_are_named(void **state)
{
    struct onnx_bytes g = {0};

    (void)state;
    onnx_input(&g, "x", 1, 1, 3);
    onnx_node(&g, "Add", "x b", "a", "");
    onnx_node(&g, "Relu", "a", "b", "");
    refused_graph(&g, "node \"a\" (Add): reads \"b\", which only a later node makes: the graph is "
                      "cyclic or not in order");
    onnx_input(&g, "x", 1, 1, 3);
    onnx_node(&g, "Relu", "nowhere", "a", "");
    refused_graph(&g, "node \"a\" (Relu): reads \"nowhere\", which nothing makes");
    onnx_input(&g, "x", 1, 1, 3);
    onnx_node(&g, "Relu", "x", "a", "");
    onnx_output(&g, "b");
    refused_graph(&g, "output \"b\": nothing makes it");
}

static void names_that_stand_twice_are_refused(void **state)
{
    struct onnx_bytes g = {0};

    (void)state;
    onnx_input(&g, "x", 1, 1, 3);
    onnx_node(&g, "Relu", "x", "a", "");
    onnx_node(&g, "Relu", "x", "a", "");
    refused_graph(&g, "node \"a\" (Relu): makes \"a\", which is there already");
    onnx_input(&g, "x", 1, 1, 3);
    onnx_weights(&g, "w", 3);
    onnx_weights(&g, "w", 3);
    onnx_node(&g, "Add", "x w", "a", "");
    refused_graph(&g, "initializer \"w\" is there twice");
}

/* As often as the data say; a million times; without a body. */
static void loops_that_cannot_be_walked_are_named(void **state)
{
    static const struct {
        const char *inputs, *expected;
        int64_t trips;
    } table[] = {{"count go x", "how often its body runs depends on the data", 1},
                 {"trips go x", "its body runs more than 10000 times", 1000000},
                 {"trips go x", "has no body", 3}};

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct onnx_bytes g = {0}, body = {0}, attribute = {0}, node;

        node = onnx_node_bytes("Loop", table[i].inputs, "y", "");
        onnx_text(&attribute, 1, i < 2 ? "body" : "other");
        onnx_text(&body, 2, "body");
        onnx_put(&attribute, 6, &body);
        onnx_put(&node, 5, &attribute);
        onnx_input(&g, "x", 1, -1, 3);
        onnx_input(&g, "count", 7, 1);
        onnx_ints(&g, "trips", table[i].trips);
        onnx_ints(&g, "go", 1);
        onnx_put(&g, 1, &node);
        onnx_output(&g, "y");
        refused_graph(&g, table[i].expected);
    }
}

static void sizes_out_of_range_are_refused(void **state)
{
    struct onnx_bytes g = {0}, tensor = {0};

    (void)state;
    onnx_input(&g, "x", 1, 1, INT64_C(3000000000));
    onnx_node(&g, "Relu", "x", "a", "");
    refused_graph(&g, "input \"x\": a size of 3000000000");
    onnx_int(&tensor, 1, -4);
    onnx_int(&tensor, 2, 1);
    onnx_put(&g, 5, &tensor);
    refused_graph(&g, "a dimension of -4");
    onnx_weights(&g, "w", 2147483647, 2147483647, 2147483647);
    refused_graph(&g, "w: more than 2^53 elements");
    onnx_weights(&g, "w", 1, 1, 1, 1, 1, 1, 1, 1, 1);
    refused_graph(&g, "w: 9 dimensions; 8 is the most");
    onnx_input(&g, "x", 1, 1, 3, 8, 8);
    onnx_weights(&g, "w", 4, 3, 3, 3);
    onnx_node(&g, "Conv", "x w", "a", "strides=0,1");
    refused_graph(&g, "node \"a\" (Conv): strides: a size of 0");
    onnx_input(&g, "x", 1, 1, 5, 8, 8);
    onnx_weights(&g, "w", 4, 3, 3, 3);
    onnx_node(&g, "Conv", "x w", "a", "");
    refused_graph(&g, "its weight is for 3 channels, its input has 5");
}

static void data_that_do_not_fit_their_shape_are_refused(void **state)
{
    struct onnx_bytes g = {0}, tensor = {0};

    (void)state;
    onnx_int(&tensor, 1, 4);
    onnx_int(&tensor, 2, 1);
    onnx_text(&tensor, 8, "w");
    onnx_data(&tensor, 9, "12345678", 8);
    onnx_put(&g, 5, &tensor);
    refused_graph(&g, "w: 8 bytes of data where its shape needs 16");
}

static void names_that_are_not_utf8_are_refused(void **state)
{
    static const char *const bad[] = {"\xff", "a\xc3", "\xc0\x80", "\xed\xa0\x80",
                                      "\xf5\x80\x80\x80"};
    struct onnx_bytes g = {0};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        onnx_input(&g, "x", 1, 1, 3);
        onnx_node(&g, "Relu", "x", bad[i], "");
        refused_graph(&g, "a name that is not UTF-8 text");
    }
    onnx_input(&g, "x", 1, 1, 3);
    onnx_node(&g, "Relu", "x", "Schicht_\xc3\xa4\xe5\xb1\x82", "");
    onnx_output(&g, "Schicht_\xc3\xa4\xe5\xb1\x82");
    dlt_graph_destroy(onnx_build(&g, "", 1));
}

static void deep_nesting_is_refused(void **state)
{
    struct onnx_bytes inner = {0}, g = {0};

    (void)state;
    for (int depth = 0; depth < 1000; depth++) {
        struct onnx_bytes attribute = {0}, node = {0};

        onnx_text(&attribute, 1, "body");
        onnx_put(&attribute, 6, &inner);
        onnx_put(&node, 5, &attribute);
        onnx_put(&inner, 1, &node);
    }
    onnx_raw(&g, inner.data, inner.size);
    free(inner.data);
    refused_graph(&g, "graphs nested more than 16 deep");
}

static void functions_that_call_themselves_are_refused(void **state)
{
    struct onnx_bytes g = {0}, model, function = {0}, node;

    (void)state;
    onnx_text(&function, 1, "Again");
    onnx_text(&function, 10, "own");
    onnx_text(&function, 4, "in");
    onnx_text(&function, 5, "out");
    node = onnx_node_bytes("Again", "in", "out", "");
    onnx_text(&node, 7, "own");
    onnx_put(&function, 7, &node);
    onnx_input(&g, "x", 1, 1, 3);
    node = onnx_node_bytes("Again", "x", "y", "");
    onnx_text(&node, 7, "own");
    onnx_put(&g, 1, &node);
    model = onnx_model(&g, 13);
    onnx_put(&model, 25, &function);
    refused(&model, "functions call one another more than 32 deep");
}

static void a_million_nodes_are_refused_soon(void **state)
{
    struct onnx_bytes node = onnx_node_bytes("Relu", "x", "", ""), g = {0}, one = {0};
    clock_t begin = clock();

    (void)state;
    onnx_put(&one, 1, &node);
    g.data = malloc(one.size * 1000000 + 1);
    assert_non_null(g.data);
    for (size_t i = 0; i < 1000000; i++, g.size += one.size)
        memcpy(g.data + g.size, one.data, one.size);
    free(one.data);
    refused_graph(&g, "the file has more than 250000 nodes");
    assert_true(clock() - begin < 5 * CLOCKS_PER_SEC);
}

/* A chain that doubles a constant each time: the elements would not fit into any memory. */
static void constants_that_explode_are_refused_or_not_kept(void **state)
{
    struct onnx_bytes g = {0};
    char from[16] = "to", to[16];

    (void)state;
    onnx_input(&g, "x", 1, 1, 3);
    onnx_ints(&g, "to", 1, 2, 3, 4);
    for (int i = 0; i < 80; i++) {
        char inputs[40];

        snprintf(to, sizeof to, "d%d", i);
        snprintf(inputs, sizeof inputs, "%s %s", from, from);
        onnx_node(&g, "Concat", inputs, to, "axis=0");
        snprintf(from, sizeof from, "%s", to);
    }
    refused_graph(&g, "node \"d28\" (Concat): a size of ");
}

static void folders_pipes_and_unreadable_files_are_named(void **state)
{
    struct dlt_model *model;
    struct dlt_error error;

    (void)state;
    mkdir("/tmp/dltime-folder.onnx", 0700);
    assert_int_equal(dlt_model_load("/tmp/dltime-folder.onnx", NULL, &model, &error), -1);
    assert_string_equal(error.text, "/tmp/dltime-folder.onnx: is a directory; name a file");
    rmdir("/tmp/dltime-folder.onnx");
    unlink("/tmp/dltime-pipe.onnx");
    assert_int_equal(mkfifo("/tmp/dltime-pipe.onnx", 0600), 0);
    assert_int_equal(dlt_model_load("/tmp/dltime-pipe.onnx", NULL, &model, &error), -1);
    assert_string_equal(error.text, "/tmp/dltime-pipe.onnx: is not a regular file");
    unlink("/tmp/dltime-pipe.onnx");
    assert_int_equal(dlt_model_load("/tmp/not-there.onnx", NULL, &model, &error), -1);
    assert_string_equal(error.text, "/tmp/not-there.onnx: No such file or directory");
}

static void other_files_are_no_onnx(void **state)
{
    struct onnx_bytes bytes = {0};

    (void)state;
    refused(&bytes, "is empty");
    onnx_raw(&bytes, "{\"layers\": []}", 14);
    refused(&bytes, "not ONNX");
    onnx_raw(&bytes, "\x08\x07", 2);
    refused(&bytes, "holds no graph");
    onnx_raw(&bytes,
             "\x7f"
             "ELF\x02\x01\x01",
             7);
    refused(&bytes, "not ONNX");
}

/* A 2 GB file, most of it one hole of weights, in less than 50 MB and a second. */
static void weights_are_passed_by(void **state)
{
    char path[] = "/tmp/dltime-large-XXXXXX.onnx";
    const int64_t count = 500000000, bytes = 4 * count;
    struct onnx_bytes head = {0}, tail = {0}, graph = {0}, model = {0}, tensor = {0};
    struct rusage before, after;
    struct dlt_model *loaded;
    struct dlt_error error;
    clock_t begin;
    int fd = mkstemps(path, 5);

    (void)state;
    onnx_int(&tensor, 1, count / 1000);
    onnx_int(&tensor, 1, 1000);
    onnx_int(&tensor, 2, 1);
    onnx_text(&tensor, 8, "w");
    onnx_varint(&tensor, 9 << 3 | 2);
    onnx_varint(&tensor, (uint64_t)bytes);
    onnx_input(&tail, "x", 1, -1, count / 1000);
    onnx_node(&tail, "MatMul", "x w", "y", "");
    onnx_varint(&graph, 5 << 3 | 2);
    onnx_varint(&graph, tensor.size + (uint64_t)bytes);
    onnx_int(&model, 1, 8);
    onnx_varint(&model, 7 << 3 | 2);
    onnx_varint(&model, graph.size + tensor.size + (uint64_t)bytes + tail.size);
    onnx_raw(&head, model.data, model.size);
    onnx_raw(&head, graph.data, graph.size);
    onnx_raw(&head, tensor.data, tensor.size);
    assert_int_equal(write(fd, head.data, head.size), (ssize_t)head.size);
    assert_int_equal(pwrite(fd, tail.data, tail.size, (off_t)head.size + bytes),
                     (ssize_t)tail.size);
    close(fd);
    free(head.data);
    free(tail.data);
    free(graph.data);
    free(model.data);
    free(tensor.data);
    getrusage(RUSAGE_SELF, &before);
    begin = clock();
    if (dlt_model_load(path, NULL, &loaded, &error))
        fail_msg("%s", error.text);
    assert_true(clock() - begin < CLOCKS_PER_SEC);
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss - before.ru_maxrss < 50 * 1024);
    dlt_model_destroy(loaded);
    unlink(path);
}

int main(void)
{
    /* The file of 2 GB first: how much memory was used at the most is only known for all so far. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_passed_by),
        cmocka_unit_test(a_file_cut_short_anywhere_is_refused_or_whole),
        cmocka_unit_test(any_flipped_bit_is_refused_or_another_network),
        cmocka_unit_test(cycles_and_values_from_nowhere_are_named),
        cmocka_unit_test(names_that_stand_twice_are_refused),
        cmocka_unit_test(loops_that_cannot_be_walked_are_named),
        cmocka_unit_test(sizes_out_of_range_are_refused),
        cmocka_unit_test(data_that_do_not_fit_their_shape_are_refused),
        cmocka_unit_test(names_that_are_not_utf8_are_refused),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(functions_that_call_themselves_are_refused),
        cmocka_unit_test(a_million_nodes_are_refused_soon),
        cmocka_unit_test(constants_that_explode_are_refused_or_not_kept),
        cmocka_unit_test(folders_pipes_and_unreadable_files_are_named),
        cmocka_unit_test(other_files_are_no_onnx),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
