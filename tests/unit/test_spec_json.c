/* SPDX-License-Identifier: Apache-2.0 */
/* What the JSON spec means, and what it says where it is wrong. */
#include <sys/stat.h>

#include "graph/builder.h"
#include "spec.h"

#define NET(layers)   "{\"input\": [1, 28, 28], \"layers\": [" layers "]}"
#define DENSE(layers) "{\"input\": [4], \"layers\": [" layers "]}"
#define TRAINING(keys)                                                                             \
    "{\"input\": [4], \"layers\": [{\"op\": \"relu\"}], \"training\": {" keys "}}"

struct wrong {
    const char *text, *sentence;
};

static void check_wrong(const struct wrong *wrong, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct dlt_model *model;

        if (spec_load(wrong[i].text, strlen(wrong[i].text), "", &model) == 0)
            fail_msg("was taken: %s", wrong[i].text);
        assert_null(model);
        assert_string_equal(spec_error, wrong[i].sentence);
    }
}

static void errors_in_layers_name_their_place_and_the_nearest_known_name(void **state)
{
    static const struct wrong wrong[] = {
        {NET("{\"op\": \"relu\"}, {\"op\": \"conv2d\", \"out_channels\": 6, \"kernal\": 5}"),
         "layers[1].kernal: unknown attribute of conv2d; did you mean \"kernel_size\"?"},
        {NET("{\"op\": \"conv2d\", \"out_channels\": 6, \"kernel\": 5}"),
         "layers[0].kernel: unknown attribute of conv2d; did you mean \"kernel_size\"?"},
        {NET("{\"op\": \"conv22d\", \"out_channels\": 6, \"kernel_size\": 5}"),
         "layers[0].op: unknown operator \"conv22d\"; did you mean \"conv2d\"?"},
        {NET("{\"op\": \"Linear\", \"out_features\": 6}"),
         "layers[0].op: unknown operator \"Linear\"; did you mean \"dense\"?"},
        {NET("{\"op\": \"frobnicate\"}"),
         "layers[0].op: unknown operator \"frobnicate\"; dltime-model(5) lists them"},
        {NET("{\"op\": \"conv2d\", \"kernel_size\": 5}"),
         "layers[0]: conv2d needs \"out_channels\""},
        {NET("{\"kernel_size\": 5}"),
         "layers[0]: a layer needs \"op\", a block \"layers\"; this has neither"},
        {NET("{\"op\": \"conv2d\", \"out_channels\": \"six\", \"kernel_size\": 5}"),
         "layers[0].out_channels: expected a whole number, not \"six\""},
        {NET("{\"op\": \"conv2d\", \"out_channels\": 0, \"kernel_size\": 5}"),
         "layers[0].out_channels: 0 is outside 1 to 2147483647"},
        {NET("{\"op\": \"conv2d\", \"out_channels\": 6, \"kernel_size\": [5, 5, 5]}"),
         "layers[0].kernel_size: expected a number or a list of 2, not a list of 3"},
        {NET("{\"op\": \"conv2d\", \"out_channels\": 6, \"kernel_size\": [5, 2.5]}"),
         "layers[0].kernel_size[1]: expected a whole number, not 2.5"},
        {NET("{\"op\": \"conv2d\", \"out_channels\": 6, \"kernel_size\": 5, \"padding\": "
             "\"full\"}"),
         "layers[0].padding: expected a number, a list, \"same\" or \"valid\", not \"full\""},
        {NET("{\"op\": \"conv2d\", \"out_channels\": 6, \"kernel_size\": 5, \"bias\": 1}"),
         "layers[0].bias: expected true or false, not 1"},
        {NET("{\"op\": \"conv2d\", \"name\": \"c1\", \"out_channels\": 6, \"kernel_size\": 29}"),
         "layers[0] (conv2d c1): kernel 29 does not fit into an input of 28 padded by 0"},
        {NET("{\"op\": \"conv2d\", \"out_channels\": 6, \"kernel_size\": 1, \"groups\": 4}"),
         "layers[0] (conv2d): groups 4 has to divide the 1 channels in and the 6 out"},
        {NET("{\"op\": \"conv2d\", \"in_channels\": 3, \"out_channels\": 6, \"kernel_size\": 1}"),
         "layers[0] (conv2d): in_channels is 3, but its input has 1 channels"},
        {DENSE("{\"repeat\": 2, \"name\": \"b\", \"layers\": [{\"op\": \"max_pool2d\", "
               "\"kernel_size\": 2}]}"),
         "layers[0].layers[0] (max_pool2d b[0].max_pool2d_0): its input is [1, 4]; it takes batch "
         "x "
         "channels x 2 spatial dimensions"},
        {DENSE("{\"op\": \"dense\", \"out_features\": 3}, {\"op\": \"add\", \"inputs\": [\"@\", "
               "\"@input\"]}"),
         "layers[1] (add): shapes [1, 3] and [1, 4] do not go together"},
        {DENSE("{\"op\": \"add\"}"), "layers[0] (add): inputs: add takes 2 to 1024 inputs, not 1"},
        {DENSE("{\"repeats\": 2, \"layers\": [{\"op\": \"relu\"}]}"),
         "layers[0].repeats: unknown key of a block; did you mean \"repeat\"?"},
        {DENSE("{\"op\": \"relu\", \"trainable\": \"no\"}"),
         "layers[0].trainable: expected true or false, not \"no\""},
        {DENSE("{\"op\": \"softmax\", \"dim\": 2}"),
         "layers[0] (softmax): dim: dimension 2 is outside -2 to 1"},
        {DENSE("{\"op\": \"dropout\", \"p\": 1e999}"), "layers[0].p: expected a number, not 1e999"},
        {DENSE("null"), "layers[0]: expected a layer, not null"},
        {DENSE(""), "layers: expected a list of layers, at least one"},
    };

    (void)state;
    check_wrong(wrong, sizeof wrong / sizeof *wrong);
}

static void errors_in_references_name_the_nearest_layer(void **state)
{
    static const struct wrong wrong[] = {
        {DENSE("{\"op\": \"relu\", \"name\": \"first\"}, {\"op\": \"relu\", \"inputs\": "
               "[\"frist\"]}"),
         "layers[1].inputs[0]: no layer \"frist\" before this one; did you mean \"first\"?"},
        {DENSE("{\"op\": \"relu\", \"inputs\": [\"later\"]}, {\"op\": \"relu\", \"name\": "
               "\"later\"}"),
         "layers[0].inputs[0]: no layer \"later\" before this one"},
        {DENSE("{\"op\": \"relu\", \"name\": \"a\"}, {\"op\": \"tanh\", \"name\": \"a\"}"),
         "layers[1]: the name \"a\" is taken already"},
        {DENSE("{\"op\": \"split\", \"name\": \"s\", \"sections\": 2}, {\"op\": \"mul\", "
               "\"inputs\": [\"s:0\", \"s:2\"]}"),
         "layers[1].inputs[1]: \"s\" has no output 2"},
        {DENSE("{\"name\": \"b\", \"layers\": [{\"op\": \"relu\", \"inputs\": [\"b\"]}]}"),
         "layers[0].layers[0].inputs[0]: \"b\" is the block that this layer lies in"},
        {DENSE("{\"name\": \"b\", \"layers\": [{\"op\": \"relu\", \"name\": \"in\"}]}, {\"op\": "
               "\"relu\", \"inputs\": [\"in\"]}"),
         "layers[1].inputs[0]: no layer \"in\" before this one"},
        {DENSE("{\"op\": \"dense\", \"name\": \"d\", \"out_features\": 4}, {\"op\": \"dense\", "
               "\"out_features\": 5, \"weights\": \"d\"}"),
         "layers[1] (dense): weights: d has 20 parameters, and this layer needs 25"},
        {DENSE("{\"op\": \"relu\", \"name\": \"a:1\"}"),
         "layers[0].name: a name has 1 to 128 bytes, none of them a space, a colon, a bracket or "
         "a control character, and does not start with @"},
        {"{\"inputs\": {\"a\": [4], \"b\": [4]}, \"layers\": [{\"op\": \"relu\"}]}",
         "layers[0]: \"@\" is ambiguous: the network has several inputs; name one"},
        {"{\"inputs\": {\"ids\": {\"shape\": [4], \"dtype\": \"int64\"}}, \"layers\": [{\"op\": "
         "\"relu\"}]}",
         "layers[0] (relu): inputs: relu does not take integers"},
    };

    (void)state;
    check_wrong(wrong, sizeof wrong / sizeof *wrong);
}

/* RFC 8259, section 8.1: a parser may ignore it. */
static void a_byte_order_mark_is_passed_over(void **state)
{
    static const char text[] =
        "\xef\xbb\xbf{\"input\": [3], \"layers\": [{\"op\": \"dense\", \"out_features\": 2}]}\r\n";
    struct dlt_graph *graph = spec_graph(text, 1);

    (void)state;
    assert_string_equal(graph->node[graph->node_count - 1].op->name, "dense");
    dlt_graph_destroy(graph);
}

static void errors_in_the_text_name_their_line(void **state)
{
    static const struct wrong wrong[] = {
        {"", "is empty"},
        {" \n\t", "is empty"},
        {"[1]", "a model is a JSON object: {\"input\": [...], \"layers\": [...]}"},
        {"{\"input\": [4],\n\n \"layers\": [{\"op\": \"relu\",}]}",
         "line 3: not JSON: unexpected character"},
        {"{\"input\": [4],\n \"layers\": [{\"op\": \"re",
         "line 2: the file ends in the middle of a value"},
        {DENSE("{\"op\": \"relu\"}") "\nx", "line 2: not JSON: unexpected character"},
        {"{\"name\": \"\xff\xfe\"}", "line 1: not JSON: invalid utf-8 string"},
        {"{\"input\": [4],\n \"layers\": [{\"op\": \"dense\",\n \"out_features\": 1, "
         "\"out_features\": 2}]}",
         "line 3: the key \"out_features\" stands twice in one object"},
        {"{\"input\": [4], \"layer\": []}", "layer: unknown key; did you mean \"layers\"?"},
        {"{\"input\": [4]}", "layers: missing"},
        {"{\"layers\": [{\"op\": \"relu\"}]}", "give either \"input\" or \"inputs\""},
        {"{\"input\": [0], \"layers\": [{\"op\": \"relu\"}]}",
         "input[0]: 0 is outside 1 to 2147483647"},
        {"{\"input\": [\"seq\"], \"layers\": [{\"op\": \"relu\"}]}",
         "input[0]: \"seq\" has no value; give one as seq=N or in \"training\""},
    };
    static const char zero[] = "{\"name\": \"\0\"}";
    struct dlt_model *model;

    (void)state;
    check_wrong(wrong, sizeof wrong / sizeof *wrong);
    assert_int_equal(spec_load(zero, sizeof zero - 1, "", &model), -1);
    assert_string_equal(spec_error, "line 1: holds a zero byte; a model is JSON text");
}

static void errors_in_training_name_the_key(void **state)
{
    static const struct wrong wrong[] = {
        {TRAINING("\"optimiser\": \"adam\""),
         "training.optimiser: unknown training key; did you mean \"optimizer\"?"},
        {TRAINING("\"optimizer\": \"adm\""),
         "training.optimizer: \"adm\" is not known; did you mean \"adam\"?"},
        {TRAINING("\"precision\": \"int8\""),
         "training.precision: \"int8\" is not known; it is one of float32, tf32, float16, "
         "bfloat16, amp-float16, amp-bfloat16"},
        {TRAINING("\"batch\": 0"), "training.batch: 0 is outside 1 to 2147483647"},
        {TRAINING("\"batch\": 2.5"), "training.batch: \"2.5\" is not a whole number"},
        {TRAINING("\"batch\": [4]"), "training.batch: expected a number, a word, true or false"},
        {TRAINING("\"batch\": 4, \"global_batch\": 8"),
         "training.global_batch: give either batch or global_batch, not both"},
        {TRAINING("\"epochs\": NaN"), "training.epochs: \"NaN\" is not a number"},
        {TRAINING("\"setup\": \"soon\""),
         "training.setup: \"soon\" is not a time; write 90, 90s, 15m, 2h or HH:MM:SS"},
        {TRAINING("\"compile\": \"maybe\""),
         "training.compile: \"maybe\" is neither true nor false"},
        {TRAINING("\"tensor_parallel\": 8"),
         "training.tensor_parallel: model parallelism is not supported; dltime predicts "
         "data-parallel training (see \"devices\" and \"sharding\")"},
        {TRAINING("\"pipeline_parallel\": 2"),
         "training.pipeline_parallel: model parallelism is not supported; dltime predicts "
         "data-parallel training (see \"devices\" and \"sharding\")"},
    };

    (void)state;
    check_wrong(wrong, sizeof wrong / sizeof *wrong);
}

static void sizes_products_and_repeats_are_bounded(void **state)
{
    static const struct wrong wrong[] = {
        {"{\"input\": [2147483647, 2147483647], \"layers\": [{\"op\": \"relu\"}]}",
         "input: an input of more than 2^53 elements"},
        {"{\"input\": [99999999999999999999], \"layers\": [{\"op\": \"relu\"}]}",
         "input[0]: 9223372036854775807 is outside 1 to 2147483647"},
        {"{\"input\": [1, 1, 1, 1, 1, 1, 1, 1], \"layers\": [{\"op\": \"relu\"}]}",
         "input: expected a list of at most 7 sizes, those of one sample"},
        {"{\"input\": [2147483647], \"layers\": [{\"op\": \"dense\", \"out_features\": "
         "2147483647}]}",
         "layers[0] (dense): it would have more than 2^53 parameters"},
        {"{\"inputs\": {\"a\": [2147483647, 1], \"b\": [1, 2147483647]}, \"layers\": [{\"op\": "
         "\"add\", \"inputs\": [\"a\", \"b\"]}]}",
         "layers[0] (add): its output would be [1, 2147483647, 2147483647]: more than 2^53 "
         "elements"},
        {DENSE("{\"repeat\": 1000000000, \"layers\": [{\"op\": \"relu\"}]}"),
         "layers[0].repeat: 1000000000 is outside 1 to 200000"},
        {DENSE("{\"repeat\": 500, \"layers\": [{\"repeat\": 500, \"layers\": [{\"op\": "
               "\"relu\"}]}]}"),
         "layers[0].layers[0].layers[0] (relu block_0[400].block_0[0].relu_0): the network has "
         "more than 200000 operators"},
    };
    enum { DEEP = 100000 };
    char *deep = malloc(DEEP + 1);
    struct dlt_model *model;

    (void)state;
    check_wrong(wrong, sizeof wrong / sizeof *wrong);
    memset(deep, '[', DEEP);
    assert_int_equal(spec_load(deep, DEEP, "", &model), -1);
    assert_string_equal(spec_error, "line 1: nested more than 64 deep");
    free(deep);
}

static void names_in_a_repeat_are_local_and_reached_from_outside(void **state)
{
    struct dlt_graph *g =
        spec_graph("{\"input\": [8], \"layers\": ["
                   "{\"op\": \"dense\", \"name\": \"stem\", \"out_features\": 8},"
                   "{\"repeat\": 3, \"name\": \"block\", \"layers\": ["
                   "  {\"op\": \"dense\", \"name\": \"c1\", \"out_features\": 8},"
                   "  {\"op\": \"relu\"},"
                   "  {\"op\": \"add\", \"name\": \"sum\", \"inputs\": [\"@\", \"@input\", \"c1\", "
                   "\"stem\"]}]},"
                   "{\"op\": \"mul\", \"name\": \"out\", \"inputs\": [\"block[0].c1\", \"block\", "
                   "\"block[1]\", \"input\"]}]}",
                   1);
    const struct dlt_node *sum = &g->node[spec_node(g, "block[1].sum")];
    const struct dlt_node *out;

    (void)state;
    assert_int_equal(sum->input[0], g->node[spec_node(g, "block[1].relu_1")].output);
    assert_int_equal(sum->input[1], g->node[spec_node(g, "block[0].sum")].output);
    assert_int_equal(sum->input[2], g->node[spec_node(g, "block[1].c1")].output);
    assert_int_equal(sum->input[3], g->node[spec_node(g, "stem")].output);
    out = &g->node[spec_node(g, "out")];
    assert_int_equal(out->input[0], g->node[spec_node(g, "block[0].c1")].output);
    assert_int_equal(out->input[1], g->node[spec_node(g, "block[2].sum")].output);
    assert_int_equal(out->input[2], g->node[spec_node(g, "block[1].sum")].output);
    dlt_graph_destroy(g);
}

static void seq_stands_wherever_a_size_does(void **state)
{
    static const char text[] =
        "{\"input\": [\"seq\", 4], \"layers\": [{\"op\": \"layer_norm\", \"normalized_shape\": "
        "[\"seq\", 4]}, {\"op\": \"dense\", \"name\": \"d\", \"out_features\": \"seq\"}]}";
    struct dlt_model *model;
    struct dlt_graph *graph;

    (void)state;
    assert_int_equal(spec_load(text, strlen(text), ",seq=12,batch=2", &model), 0);
    assert_int_equal(dlt_model_graph(model, 2, &graph, NULL), 0);
    assert_shape(spec_output(graph, "d"), 2, 12, 12);
    assert_int_equal(graph->seq, 12);
    dlt_graph_destroy(graph);
    dlt_model_destroy(model);
}

static void training_keys_are_read_from_the_file_and_replaced_by_the_command_line(void **state)
{
    static const char text[] =
        TRAINING("\"samples\": 60000, \"global_batch\": 256, \"epochs\": 10, \"optimizer\": "
                 "\"adam\", \"implementation\": \"fused\", \"precision\": \"amp-bfloat16\", "
                 "\"checkpoint_gib\": 0.5, \"setup\": \"15m\", \"compile\": true, \"sharding\": "
                 "\"zero2\"");
    struct dlt_model *model;
    const struct dlt_training *t;

    (void)state;
    assert_int_equal(spec_load(text, strlen(text), "", &model), 0);
    t = &model->training;
    assert_int_equal(t->samples, 60000);
    assert_int_equal(dlt_training_batch(t, 3), 86); /* 256 / 3, rounded up */
    assert_int_equal(t->optimizer, DLT_ADAM);
    assert_int_equal(t->implementation, DLT_FUSED);
    assert_int_equal(t->precision, DLT_PRECISION_AMP_BFLOAT16);
    assert_near(t->checkpoint_bytes, 536870912, 0);
    assert_near(t->setup_s, 900, 0);
    assert_true(t->compile);
    assert_int_equal(t->sharding, DLT_ZERO2);
    dlt_model_destroy(model);

    assert_int_equal(spec_load(text, strlen(text), ",batch=64,steps=1e3,setup=90", &model), 0);
    t = &model->training;
    assert_int_equal(t->global_batch, 0);
    assert_int_equal(dlt_training_batch(t, 3), 64);
    assert_int_equal(t->steps, 1000);
    assert_true(!(t->epochs > 0));
    assert_near(t->setup_s, 90, 0); /* a bare number is seconds */
    dlt_model_destroy(model);
}

static void defaults_are_those_of_the_manual(void **state)
{
    struct dlt_model *model;
    const struct dlt_training *t;
    const char text[] = DENSE("{\"op\": \"relu\"}");

    (void)state;
    assert_int_equal(spec_load(text, strlen(text), "", &model), 0);
    t = &model->training;
    assert_int_equal(t->optimizer, DLT_SGD);
    assert_int_equal(t->implementation, DLT_FOREACH);
    assert_int_equal(t->precision, DLT_PRECISION_FLOAT32);
    assert_int_equal(t->framework, DLT_PYTORCH);
    assert_int_equal(t->accumulate, 1);
    assert_int_equal(t->runs, 1);
    assert_int_equal(dlt_training_batch(t, 1), 0);
    assert_true(isnan(t->setup_s));
    assert_true(strncmp(dlt_model_name(model), "dltime-spec-", 12) == 0); /* the file's */
    dlt_model_destroy(model);
}

static void a_spec_is_a_file_or_a_shipped_name(void **state)
{
    static const struct {
        const char *spec, *sentence;
    } wrong[] = {
        {"resnt50", "resnt50: no model of that name is shipped; did you mean \"resnet50\"?"},
        {"lenet", "lenet: no model of that name is shipped; did you mean \"lenet5\"?"},
        {"qqq", "qqq: no model of that name is shipped (see dltime models); a file's name contains "
                "a slash or ends in .json or .onnx"},
        {"", "no model is named; write SPEC[,key=value]..."},
        {"lenet5,btach=3", "lenet5: btach: unknown training key; did you mean \"batch\"?"},
        {"lenet5,batch", "lenet5: \"batch\" is not key=value"},
        {"lenet5,batch=1,batch=2", "lenet5: batch: given twice; keep one of them"},
        {"lenet5,batch=4,batch=8:16", "lenet5: batch: given twice; keep one of them"},
        {"lenet5,epochs=4,epochs=nonsense", "lenet5: epochs: given twice; keep one of them"},
        {"./nosuch.json", "./nosuch.json: No such file or directory"},
        {"nosuch.json", "nosuch.json: No such file or directory"},
        {"./net.pt,batch=3", "./net.pt: a network is read from JSON, ONNX or a Hugging Face "
                             "config.json; a Python that has torch writes ONNX: "
                             "dltime-torch-export FILE.py:CALLABLE"},
        {"/tmp", "/tmp: is a directory; name a file"},
        {"/dev/zero", "/dev/zero: is not a regular file"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct dlt_model *model;
        struct dlt_error error;

        assert_int_equal(dlt_model_load(wrong[i].spec, NULL, &model, &error), -1);
        assert_string_equal(error.text, wrong[i].sentence);
    }
}

static void a_fifo_is_refused_at_once(void **state)
{
    char path[] = "/tmp/dltime-fifo-XXXXXX";
    struct dlt_model *model;
    struct dlt_error error;

    (void)state;
    assert_non_null(mkdtemp(path));
    rmdir(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(dlt_model_load(path, NULL, &model, &error), -1);
    unlink(path);
    assert_non_null(strstr(error.text, "is not a regular file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_in_layers_name_their_place_and_the_nearest_known_name),
        cmocka_unit_test(errors_in_references_name_the_nearest_layer),
        cmocka_unit_test(a_byte_order_mark_is_passed_over),
        cmocka_unit_test(errors_in_the_text_name_their_line),
        cmocka_unit_test(errors_in_training_name_the_key),
        cmocka_unit_test(sizes_products_and_repeats_are_bounded),
        cmocka_unit_test(names_in_a_repeat_are_local_and_reached_from_outside),
        cmocka_unit_test(seq_stands_wherever_a_size_does),
        cmocka_unit_test(training_keys_are_read_from_the_file_and_replaced_by_the_command_line),
        cmocka_unit_test(defaults_are_those_of_the_manual),
        cmocka_unit_test(a_spec_is_a_file_or_a_shipped_name),
        cmocka_unit_test(a_fifo_is_refused_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
