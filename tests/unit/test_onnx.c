/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX graphs, written by hand: what becomes of nodes and their sizes. */
#include "onnx_write.h"
#include "spec.h"

/* conv 3 -> 4, 3 x 3, bias; 4 (3 9) + 4 = 112 parameters; 4 x 8 x 8 x 27 MACs each sample. */
static void a_convolution_has_the_sizes_of_its_weight(void **state)
{
    struct onnx_bytes g = {0};
    struct dlt_graph_counts counts;
    struct dlt_graph *graph = NULL;

    (void)state;
    onnx_input(&g, "x", 1, 1, 3, 16, 16);
    onnx_weights(&g, "w", 4, 3, 3, 3);
    onnx_weights(&g, "b", 4);
    onnx_node(&g, "Conv", "x w b", "y", "strides=2,2 pads=1,1,1,1 kernel_shape=3,3");
    onnx_output(&g, "y");
    graph = onnx_build(&g, "", 5);
    assert_string_equal(spec_op(graph, "y"), "conv2d");
    assert_shape(spec_output(graph, "y"), 5, 4, 8, 8);
    dlt_graph_count(graph, true, &counts);
    assert_near(counts.total.parameters, 112, 0);
    assert_near(counts.total.macs, 5 * 4 * 8 * 8 * 27, 0);
    dlt_graph_destroy(graph);
}

/* auto_pad SAME_UPPER of TensorFlow: out = ceil(15 / 2) = 8. */
static void auto_pad_keeps_the_ceiling_of_the_size(void **state)
{
    struct onnx_bytes g = {0}, node = {0}, attribute = {0};
    struct dlt_graph *graph = NULL;

    (void)state;
    onnx_input(&g, "x", 1, 1, 3, 15, 15);
    onnx_weights(&g, "w", 4, 3, 3, 3);
    node = onnx_node_bytes("Conv", "x w", "y", "strides=2,2");
    onnx_text(&attribute, 1, "auto_pad");
    onnx_text(&attribute, 4, "SAME_UPPER");
    onnx_put(&node, 5, &attribute);
    onnx_put(&g, 1, &node);
    graph = onnx_build(&g, "", 1);
    assert_shape(spec_output(graph, "y"), 1, 4, 8, 8);
    dlt_graph_destroy(graph);
}

/* One matrix for two layers, seen through a Transpose: its elements count once. */
static void a_parameter_that_two_layers_use_counts_once(void **state)
{
    struct onnx_bytes g = {0};
    struct dlt_graph *graph = NULL;

    (void)state;
    onnx_input(&g, "ids", 7, -1, -2);
    onnx_weights(&g, "table", 100, 16);
    onnx_node(&g, "Gather", "table ids", "x", "");
    onnx_node(&g, "Transpose", "table", "turned", "perm=1,0");
    onnx_node(&g, "MatMul", "x turned", "y", "");
    graph = onnx_build(&g, ",seq=9", 2);
    assert_shape(spec_output(graph, "y"), 2, 9, 100);
    assert_near(spec_parameters(graph), 1600, 0);
    assert_int_equal(graph->note_count, 0);
    dlt_graph_destroy(graph);
}

static void scalar(struct onnx_bytes *g, const char *name)
{
    struct onnx_bytes tensor = {0};
    float one = 1;

    onnx_int(&tensor, 2, 1);
    onnx_text(&tensor, 8, name);
    onnx_data(&tensor, 9, &one, sizeof one);
    onnx_put(g, 5, &tensor);
}

/* nn.LayerNorm and nn.GELU as torch.onnx writes them before opset 17: 9 and 5 nodes. */
static void layers_exported_as_many_nodes_become_one(void **state)
{
    struct onnx_bytes g = {0};
    struct dlt_graph *graph = NULL;

    (void)state;
    onnx_input(&g, "x", 1, -1, 5, 16);
    onnx_weights(&g, "w", 16);
    onnx_weights(&g, "b", 16);
    scalar(&g, "c");
    onnx_node(&g, "ReduceMean", "x", "mean", "axes=-1,");
    onnx_node(&g, "Sub", "x mean", "d", "");
    onnx_node(&g, "Pow", "d c", "square", "");
    onnx_node(&g, "ReduceMean", "square", "var", "axes=-1,");
    onnx_node(&g, "Add", "var c", "eps", "");
    onnx_node(&g, "Sqrt", "eps", "root", "");
    onnx_node(&g, "Div", "d root", "n", "");
    onnx_node(&g, "Mul", "n w", "scaled", "");
    onnx_node(&g, "Add", "scaled b", "norm", "");
    onnx_node(&g, "Div", "norm c", "e", "");
    onnx_node(&g, "Erf", "e", "erf", "");
    onnx_node(&g, "Add", "erf c", "plus", "");
    onnx_node(&g, "Mul", "norm plus", "m", "");
    onnx_node(&g, "Mul", "m c", "gelu", "");
    graph = onnx_build(&g, "", 2);
    assert_int_equal(graph->node_count, 2);
    assert_string_equal(spec_op(graph, "norm"), "layer_norm");
    assert_string_equal(spec_op(graph, "gelu"), "gelu");
    assert_near(spec_parameters(graph), 32, 0);
    dlt_graph_destroy(graph);
}

/* The same with somebody reading the variance: then it is no layer_norm. */
static void a_value_that_others_read_is_not_taken_into_a_layer(void **state)
{
    struct onnx_bytes g = {0};
    struct dlt_graph *graph = NULL;

    (void)state;
    onnx_input(&g, "x", 1, -1, 16);
    onnx_node(&g, "Sigmoid", "x", "s", "");
    onnx_node(&g, "Mul", "x s", "y", "");
    onnx_node(&g, "Add", "s y", "z", "");
    graph = onnx_build(&g, "", 2);
    assert_int_equal(graph->node_count, 3);
    assert_string_equal(spec_op(graph, "s"), "sigmoid");
    dlt_graph_destroy(graph);

    onnx_input(&g, "x", 1, -1, 16);
    onnx_node(&g, "Sigmoid", "x", "s", "");
    onnx_node(&g, "Mul", "x s", "y", "");
    graph = onnx_build(&g, "", 2);
    assert_int_equal(graph->node_count, 1);
    assert_string_equal(spec_op(graph, "y"), "silu");
    dlt_graph_destroy(graph);
}

/* nn.LSTM(8, 16): 4 16 (8 + 16) + 2 4 16 parameters. */
static void an_lstm_has_the_parameters_of_torch(void **state)
{
    struct onnx_bytes g = {0};
    struct dlt_graph *graph = NULL;

    (void)state;
    onnx_input(&g, "x", 1, 7, -1, 8);
    onnx_weights(&g, "w", 1, 64, 8);
    onnx_weights(&g, "r", 1, 64, 16);
    onnx_weights(&g, "b", 1, 128);
    onnx_node(&g, "LSTM", "x w r b", "y h", "hidden_size=16");
    graph = onnx_build(&g, "", 3);
    assert_near(spec_parameters(graph), 4 * 16 * (8 + 16) + 2 * 4 * 16, 0);
    assert_shape(&graph->tensor[graph->output[graph->output_count - 1]], 7, 1, 3, 16);
    dlt_graph_destroy(graph);
}

/* com.microsoft: 16 x 48 product, attention of 4 heads, skip + layer_norm with its bias. */
static void onnxruntimes_fusions_are_known(void **state)
{
    struct onnx_bytes g = {0}, node;
    struct dlt_graph *graph = NULL;

    (void)state;
    onnx_input(&g, "x", 1, -1, -2, 16);
    onnx_weights(&g, "w", 16, 48);
    onnx_weights(&g, "b", 48);
    onnx_weights(&g, "gamma", 16);
    onnx_weights(&g, "beta", 16);
    node = onnx_node_bytes("Attention", "x w b", "a", "num_heads=4");
    onnx_text(&node, 7, "com.microsoft");
    onnx_put(&g, 1, &node);
    node = onnx_node_bytes("SkipLayerNormalization", "a x gamma beta", "y", "");
    onnx_text(&node, 7, "com.microsoft");
    onnx_put(&g, 1, &node);
    graph = onnx_build(&g, ",seq=10", 2);
    assert_near(spec_parameters(graph), 16 * 48 + 48 + 32, 0);
    assert_int_equal(graph->note_count, 0);
    assert_shape(&graph->tensor[graph->output[0]], 2, 10, 16);
    dlt_graph_destroy(graph);
}

/* A node that reads x and the vectors a, b, c, d. Sizes end with 0; `in` was exported with a batch
 * of one and is run with two. */
struct layer_case {
    const char *op, *inputs, *attributes;
    int64_t in[5];
    struct {
        size_t count;
        int64_t value[8];
    } vector[4];
    int64_t out[6];
    const char *wrong; /* instead of out */
};

static int load_case(const struct layer_case *c, struct dlt_graph **graph)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    struct onnx_bytes g = {0}, bytes;
    struct dlt_model *model;
    struct dlt_error error;
    int status;

    onnx_value(&g, 11, "x", 1, c->in);
    for (size_t v = 0; v < 4; v++)
        if (c->vector[v].count > 0)
            onnx_vector(&g, names[v], c->vector[v].count, c->vector[v].value);
    onnx_node(&g, c->op, c->inputs, "y", c->attributes);
    onnx_node(&g, "Relu", "y", "z", "");
    onnx_output(&g, "z");
    bytes = onnx_model(&g, 13);
    if (onnx_load(&bytes, "", &model))
        return -1;
    status = dlt_model_graph(model, 2, graph, &error);
    snprintf(onnx_error, sizeof onnx_error, "%s", error.text);
    dlt_model_destroy(model);
    return status;
}

/* Shapes as the standard's descriptions of these operators give them. */
static void what_only_moves_and_copies_has_the_shape_of_the_standard(void **state)
{
    static const struct layer_case cases[] = {
        {"Concat", "x x", "axis=1", {1, 3, 4, 4}, {{0}}, {2, 6, 4, 4}, NULL},
        {"Concat", "x x", "axis=-1", {1, 3, 4, 4}, {{0}}, {2, 3, 4, 8}, NULL},
        {"Concat", "x a", "axis=1", {1, 3, 4}, {{2, {1, 2}}}, {0}, "tensors of 3 and of 1"},
        {"Concat", "x x", "axis=4", {1, 3, 4, 4}, {{0}}, {0}, "axis"},
        {"Pad", "x a", "", {1, 3, 4, 5}, {{8, {0, 0, 1, 2, 0, 0, 1, 2}}}, {2, 3, 6, 9}, NULL},
        {"Pad", "x a - d", "", {1, 3, 4, 5}, {{2, {1, 3}}, {0}, {0}, {1, {3}}}, {2, 3, 4, 9}, NULL},
        {"Pad", "x a", "", {1, 3, 4, 5}, {{2, {1, 1}}}, {0}, "2 paddings for 4 dimensions"},
        {"Pad", "x a", "", {1, 4}, {{4, {0, 1LL << 40, 0, 0}}}, {0}, "a padding of"},
        {"Tile", "x a", "", {1, 3, 4}, {{3, {1, 2, 3}}}, {2, 6, 12}, NULL},
        {"Tile", "x a", "", {1, 3, 4}, {{2, {1, 2}}}, {0}, "2 repeats for 3 dimensions"},
        {"Tile", "x a", "", {1, 3, 4}, {{3, {1, 0, 3}}}, {0}, "0 repeats"},
        {"Resize", "x - - a", "", {1, 3, 4, 4}, {{4, {1, 3, 8, 16}}}, {2, 3, 8, 16}, NULL},
        {"Resize", "x - - a", "", {1, 6}, {{2, {1, 12}}}, {2, 12}, NULL},
        {"DepthToSpace", "x", "blocksize=2", {1, 8, 4, 5}, {{0}}, {2, 2, 8, 10}, NULL},
        {"SpaceToDepth", "x", "blocksize=2", {1, 3, 4, 6}, {{0}}, {2, 12, 2, 3}, NULL},
        {"SpaceToDepth", "x", "blocksize=3", {1, 3, 4, 6}, {{0}}, {0}, "do not divide"},
        {"DepthToSpace", "x", "blocksize=2", {1, 8, 4}, {{0}}, {0}, "3 dimensions in blocks of 2"},
        {"Slice", "x a b c", "", {1, 3, 8}, {{1, {1}}, {1, {7}}, {1, {2}}}, {2, 3, 6}, NULL},
        {"Slice",
         "x a b c d",
         "",
         {1, 3, 8},
         {{1, {-1}}, {1, {-100}}, {1, {2}}, {1, {-3}}},
         {2, 3, 3},
         NULL},
        {"Split", "x a", "axis=1", {1, 3, 8}, {{1, {3}}}, {2, 3, 8}, NULL},
        {"Split", "x a", "axis=1", {1, 3, 8}, {{1, {4}}}, {0}, "do not add up to 3"},
        {"Split", "x a", "axis=1", {1, 3, 8}, {{2, {1, 2}}}, {0}, "2 sizes for 1 outputs"},
        {"Gather", "x a", "axis=1", {1, 5, 8}, {{3, {0, 4, 2}}}, {2, 3, 8}, NULL},
        {"Flatten", "x", "axis=2", {1, 3, 4, 5}, {{0}}, {6, 20}, NULL},
        {"Unsqueeze", "x a", "", {1, 3, 8}, {{2, {1, -1}}}, {2, 1, 3, 8, 1}, NULL},
        {"Squeeze", "x a", "", {1, 1, 8}, {{1, {1}}}, {2, 8}, NULL},
        {"Squeeze", "x a", "", {1, 3, 8}, {{1, {1}}}, {2, 3, 8}, NULL}, /* torch.squeeze */
        {"Expand", "x a", "", {1, 3, 1}, {{3, {1, 1, 7}}}, {2, 3, 7}, NULL},
        {"Transpose", "x", "", {1, 3, 8}, {{0}}, {8, 3, 2}, NULL},
        {"Transpose", "x", "perm=0,2,1", {1, 3, 8}, {{0}}, {2, 8, 3}, NULL},
        {"Reshape", "x a", "", {1, 6, 8}, {{3, {0, -1, 4}}}, {2, 12, 4}, NULL},
        {"Reshape", "x a", "", {1, 6, 8}, {{2, {-1, -1}}}, {0}, "two sizes of its shape are -1"},
        {"Reshape", "x a", "", {1, 6, 8}, {{2, {1, 47}}}, {0}, "do not make a shape of"},
        {"GatherElements", "x a", "axis=0", {1}, {{3, {0, 0, 0}}}, {3}, NULL},
        {"GatherND", "x a", "", {1, 3, 4}, {{1, {0}}}, {3, 4}, NULL},
        {"GatherND", "x a", "", {1, 3, 4}, {{3, {0, 0, 0}}}, {0}, NULL},
        {"ScatterND", "x a x", "", {1, 3}, {{1, {0}}}, {2, 3}, NULL},
        {"TopK", "x a", "axis=1", {1, 10, 4}, {{1, {5}}}, {2, 5, 4}, NULL},
        {"TopK", "x", "k=3", {1, 10}, {{0}}, {2, 3}, NULL}, /* before opset 10 */
        {"GridSample", "x x", "", {1, 3, 5, 6}, {{0}}, {2, 3, 3, 5}, NULL},
        {"Resize", "x - - a", "axes=2,", {1, 3, 4, 4}, {{1, {9}}}, {2, 3, 9, 4}, NULL},
        {"Resize", "x - - a", "axes=2,7", {1, 3, 4, 4}, {{2, {9, 9}}}, {0}, "axis"},
        {"DequantizeLinear", "x a", "", {1, 3, 4}, {{1, {1}}}, {2, 3, 4}, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct layer_case *c = &cases[i];
        struct dlt_graph *graph = NULL;
        int status = load_case(c, &graph);

        if (c->wrong) {
            if (status == 0 || !strstr(onnx_error, c->wrong))
                fail_msg("%s %s: \"%s\", not \"%s\"", c->op, c->attributes,
                         status ? onnx_error : "", c->wrong);
        } else {
            const struct dlt_tensor *t;

            if (status)
                fail_msg("%s %s: %s", c->op, c->attributes, onnx_error);
            t = &graph->tensor[graph->output[0]];
            for (int d = 0; d <= t->rank; d++)
                if (c->out[d] != (d < t->rank ? t->dim[d] : 0))
                    fail_msg("%s %s: size %d", c->op, c->attributes, d);
        }
        dlt_graph_destroy(graph);
    }
}

/* A node with an attribute that is text. */
static void node_with_text(struct onnx_bytes *g, struct onnx_bytes node, const char *name,
                           const char *text)
{
    struct onnx_bytes attribute = {0};

    onnx_text(&attribute, 1, name);
    onnx_text(&attribute, 4, text);
    onnx_put(&node, 5, &attribute);
    onnx_put(g, 1, &node);
}

/* W of 8 x 4 x 3 x 3. (11 - 1) 2 + 3 = 23; told 20 or 25 it is that, and by SAME 11 x 2. */
static void a_transposed_convolution_is_as_large_as_it_is_told(void **state)
{
    static const struct {
        const char *attributes, *same;
        int64_t side;
    } cases[] = {{"strides=2,2", "NOTSET", 23},
                 {"strides=2,2 output_shape=20,20", "NOTSET", 20},
                 {"strides=2,2 output_shape=1,4,24,24", "NOTSET", 24},
                 {"strides=2,2", "SAME_UPPER", 22}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct onnx_bytes g = {0};
        struct dlt_graph *graph;

        onnx_input(&g, "x", 1, 1, 8, 11, 11);
        onnx_weights(&g, "w", 8, 4, 3, 3);
        node_with_text(&g, onnx_node_bytes("ConvTranspose", "x w", "y", cases[i].attributes),
                       "auto_pad", cases[i].same);
        graph = onnx_build(&g, "", 2);
        assert_shape(spec_output(graph, "y"), 2, 4, cases[i].side, cases[i].side);
        dlt_graph_destroy(graph);
    }
}

/* torch.nn.Upsample(scale_factor=0.7) of 10 x 10, as torch.onnx writes it: 7 x 7, though the
 * nearest float is below 0.7. */
static void a_scale_is_multiplied_in_single_precision(void **state)
{
    static const float scales[] = {1, 1, 0.7F, 1.3F};
    struct onnx_bytes g = {0}, tensor = {0};
    struct dlt_graph *graph;

    (void)state;
    onnx_input(&g, "x", 1, 1, 3, 10, 10);
    onnx_int(&tensor, 1, 4);
    onnx_int(&tensor, 2, 1);
    onnx_text(&tensor, 8, "scales");
    onnx_data(&tensor, 9, scales, sizeof scales);
    onnx_put(&g, 5, &tensor);
    onnx_node(&g, "Resize", "x - scales", "y", "");
    graph = onnx_build(&g, "", 2);
    assert_shape(spec_output(graph, "y"), 2, 3, 7, 13);
    dlt_graph_destroy(graph);
}

/* An int8 weight of 8 x 3 x 3 x 3 behind DequantizeLinear: 216 parameters, 64 x 216 MACs. */
static void a_quantized_weight_is_a_weight(void **state)
{
    struct onnx_bytes g = {0}, tensor = {0};
    struct dlt_graph_counts counts;
    struct dlt_graph *graph;

    (void)state;
    onnx_input(&g, "x", 1, 1, 3, 10, 10);
    for (int d = 0; d < 4; d++)
        onnx_int(&tensor, 1, d ? 3 : 8);
    onnx_int(&tensor, 2, 3);
    onnx_text(&tensor, 8, "q");
    onnx_put(&g, 5, &tensor);
    onnx_ints(&g, "scale", 1);
    onnx_node(&g, "DequantizeLinear", "q scale", "w", "");
    onnx_node(&g, "QuantizeLinear", "x scale", "xq", "");
    onnx_node(&g, "DequantizeLinear", "xq scale", "xd", "");
    onnx_node(&g, "Conv", "xd w", "y", "");
    graph = onnx_build(&g, "", 2);
    assert_shape(spec_output(graph, "y"), 2, 8, 8, 8);
    dlt_graph_count(graph, true, &counts);
    assert_near(counts.total.parameters, 216, 0);
    assert_near(counts.total.macs, 2 * 64 * 216, 0);
    assert_int_equal(graph->note_count, 0);
    dlt_graph_destroy(graph);
}

/* torch.zeros_like(x).scatter(1, at, y): the zeros were written for one sample. one_hot(at, 9) puts
 * 9 behind the index's sizes, or in front of them. nonzero() finds 2 numbers for each of 5 x 7 at
 * the most, and of 3 classes and 40 boxes 9 are kept each. */
static void indices_make_sizes(void **state)
{
    struct onnx_bytes g = {0};
    struct dlt_graph *graph;

    (void)state;
    onnx_input(&g, "at", 7, 1, 7);
    onnx_weights(&g, "zeros", 1, 10);
    onnx_ints(&g, "depth", 9);
    onnx_ints(&g, "values", 0, 1);
    onnx_node(&g, "Cast", "at", "y", "to=1");
    onnx_node(&g, "ScatterElements", "zeros at y", "s", "axis=1");
    onnx_node(&g, "Relu", "s", "scattered", "");
    onnx_node(&g, "OneHot", "at depth values", "h", "");
    onnx_node(&g, "Cast", "h", "behind", "to=1");
    onnx_node(&g, "OneHot", "at depth values", "f", "axis=0");
    onnx_node(&g, "Cast", "f", "front", "to=1");
    onnx_node(&g, "NonZero", "at", "n", "");
    onnx_node(&g, "Cast", "n", "places", "to=1");
    onnx_input(&g, "scores", 1, 1, 3, 40);
    onnx_node(&g, "NonMaxSuppression", "scores scores depth", "b", "");
    onnx_node(&g, "Cast", "b", "boxes", "to=1");
    graph = onnx_build(&g, "", 5);
    assert_shape(spec_output(graph, "places"), 2, 35);
    assert_shape(spec_output(graph, "boxes"), 5 * 3 * 9, 3);
    assert_shape(spec_output(graph, "scattered"), 5, 10);
    assert_shape(spec_output(graph, "behind"), 5, 7, 9);
    assert_shape(spec_output(graph, "front"), 9, 5, 7);
    dlt_graph_destroy(graph);
}

/* MaxPool's second output goes into MaxUnpool; a third one nobody knows. */
static void further_outputs_are_there_or_named(void **state)
{
    struct onnx_bytes g = {0}, bytes;
    struct dlt_graph *graph = NULL;
    struct dlt_model *model;

    (void)state;
    onnx_input(&g, "x", 1, 1, 3, 10, 10);
    onnx_node(&g, "MaxPool", "x", "y at", "kernel_shape=2,2 strides=2,2");
    onnx_node(&g, "MaxUnpool", "y at", "z", "kernel_shape=2,2");
    graph = onnx_build(&g, "", 2);
    assert_string_equal(spec_op(graph, "z"), "unknown");
    dlt_graph_destroy(graph);
    onnx_input(&g, "x", 1, 1, 8);
    onnx_node(&g, "Softmax", "x", "y more", "");
    onnx_node(&g, "Relu", "more", "z", "");
    bytes = onnx_model(&g, 13);
    assert_int_equal(onnx_load(&bytes, "", &model), -1);
    assert_non_null(strstr(onnx_error,
                           "node \"z\" (Relu): reads \"more\", an output of the Softmax "
                           "before it that is not understood"));
    onnx_input(&g, "x", 1, 1, 8);
    onnx_node(&g, "SequenceConstruct", "x x", "s", "");
    onnx_node(&g, "Transpose", "s", "z", "perm=0,2,1");
    bytes = onnx_model(&g, 13);
    assert_int_equal(onnx_load(&bytes, "", &model), -1);
    assert_non_null(strstr(onnx_error,
                           "node \"z\" (Transpose): perm has 3 numbers for 2 dimensions; "
                           "before it 1 operator is not known, whose shape is a guess "
                           "(SequenceConstruct)"));
    /* TopK's is the standard's. */
    onnx_input(&g, "x", 1, 1, 8);
    onnx_node(&g, "TopK", "x", "values", "k=3");
    onnx_node(&g, "Transpose", "values", "z", "perm=0,2,1");
    bytes = onnx_model(&g, 13);
    assert_int_equal(onnx_load(&bytes, "", &model), -1);
    assert_non_null(strstr(onnx_error, "perm has 3 numbers for 2 dimensions"));
    assert_null(strstr(onnx_error, "guess"));
}

static void what_is_not_known_is_estimated_and_said(void **state)
{
    struct onnx_bytes g = {0};
    struct dlt_graph_counts counts;
    struct dlt_graph *graph = NULL;

    (void)state;
    onnx_input(&g, "x", 1, -1, 8);
    onnx_node(&g, "Relu", "x", "r", "");
    onnx_node(&g, "Frobnicate", "r", "f", "");
    onnx_node(&g, "Relu", "f", "y", "");
    onnx_node(&g, "Relu", "r", "z", "");
    graph = onnx_build(&g, "", 4);
    assert_string_equal(spec_op(graph, "f"), "unknown");
    assert_shape(spec_output(graph, "f"), 4, 8);
    assert_int_equal(graph->note_count, 1);
    assert_string_equal(graph->note[0],
                        "1 operator is not known (Frobnicate): estimated from the bytes that they "
                        "read and write; 50 % of the network's operators depend on them");
    dlt_graph_count(graph, false, &counts);
    /* Four operators, each reads and writes 4 x 8 floats. */
    assert_near(counts.total.forward_bytes, 4 * 2 * 4 * 8 * 4, 0);
    dlt_graph_destroy(graph);
    /* The file says 7, and of another not all. */
    onnx_input(&g, "x", 1, -1, 5, 8);
    onnx_node(&g, "Frobnicate", "x", "f", "");
    onnx_value(&g, 13, "f", 1, (const int64_t[]){-1, 7, 8, 0});
    onnx_node(&g, "Frobnicate", "f", "h", "");
    onnx_value(&g, 13, "h", 1, (const int64_t[]){-1, -3, 9, 0});
    graph = onnx_build(&g, "", 4);
    assert_shape(spec_output(graph, "f"), 4, 7, 8);
    assert_shape(spec_output(graph, "h"), 4, 7, 8);
    dlt_graph_destroy(graph);
}

/* ONNX by its content, under any name; JSON as well. */
static void a_file_of_another_name_is_told_by_its_first_bytes(void **state)
{
    char path[] = "/tmp/dltime-model-XXXXXX";
    struct onnx_bytes g = {0}, bytes;
    struct dlt_model *model;
    struct dlt_error error;
    int fd = mkstemp(path);

    (void)state;
    onnx_input(&g, "x", 1, -1, 8);
    onnx_node(&g, "Relu", "x", "r", "");
    bytes = onnx_model(&g, 13);
    assert_int_equal(write(fd, bytes.data, bytes.size), (ssize_t)bytes.size);
    close(fd);
    free(bytes.data);
    if (dlt_model_load(path, NULL, &model, &error))
        fail_msg("%s", error.text);
    dlt_model_destroy(model);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolution_has_the_sizes_of_its_weight),
        cmocka_unit_test(auto_pad_keeps_the_ceiling_of_the_size),
        cmocka_unit_test(a_parameter_that_two_layers_use_counts_once),
        cmocka_unit_test(layers_exported_as_many_nodes_become_one),
        cmocka_unit_test(a_value_that_others_read_is_not_taken_into_a_layer),
        cmocka_unit_test(an_lstm_has_the_parameters_of_torch),
        cmocka_unit_test(onnxruntimes_fusions_are_known),
        cmocka_unit_test(what_only_moves_and_copies_has_the_shape_of_the_standard),
        cmocka_unit_test(a_transposed_convolution_is_as_large_as_it_is_told),
        cmocka_unit_test(a_scale_is_multiplied_in_single_precision),
        cmocka_unit_test(a_quantized_weight_is_a_weight),
        cmocka_unit_test(indices_make_sizes),
        cmocka_unit_test(further_outputs_are_there_or_named),
        cmocka_unit_test(what_is_not_known_is_estimated_and_said),
        cmocka_unit_test(a_file_of_another_name_is_told_by_its_first_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
