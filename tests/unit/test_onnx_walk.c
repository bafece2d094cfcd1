/* SPDX-License-Identifier: Apache-2.0 */
/* What is computed while an ONNX graph is read: shapes, conditions, loops and functions. */
#include "onnx_write.h"
#include "spec.h"

/* x.view(x.size(0), -1) as torch.onnx writes it, for a batch that the file leaves open. */
static void a_shape_that_is_computed_is_folded(void **state)
{
    struct onnx_bytes g = {0};
    struct dlt_graph *graph = NULL;

    (void)state;
    onnx_input(&g, "x", 1, -1, 3, 4, 4);
    onnx_ints(&g, "zero", 0);
    onnx_ints(&g, "rest", -1);
    onnx_weights(&g, "w", 10, 48);
    onnx_node(&g, "Shape", "x", "shape", "");
    onnx_node(&g, "Gather", "shape zero", "n", "axis=0");
    onnx_node(&g, "Concat", "n rest", "to", "axis=0");
    onnx_node(&g, "Reshape", "x to", "flat", "");
    onnx_node(&g, "Gemm", "flat w", "y", "transB=1");
    graph = onnx_build(&g, "", 7);
    assert_int_equal(graph->node_count, 2);
    assert_shape(spec_output(graph, "flat"), 7, 48);
    assert_shape(spec_output(graph, "y"), 7, 10);
    assert_near(spec_parameters(graph), 480, 0);
    dlt_graph_destroy(graph);
}

/* Heads of attention, exported with a batch of one: 1 x 6 x 8 becomes 6 x 1 x 8 and 6 x 2 x 4. */
static void a_shape_written_for_one_sample_grows_with_the_batch(void **state)
{
    struct onnx_bytes g = {0};
    struct dlt_graph *graph = NULL;

    (void)state;
    onnx_input(&g, "x", 1, 1, 6, 8);
    onnx_ints(&g, "heads", 6, 2, 4);
    onnx_ints(&g, "rows", 6, 8);
    onnx_ints(&g, "back", 6, 1, 8);
    onnx_node(&g, "Transpose", "x", "t", "perm=1,0,2");
    onnx_node(&g, "Reshape", "t heads", "h", "");
    onnx_node(&g, "Reshape", "h back", "b", "");
    onnx_node(&g, "Reshape", "b rows", "r", "");
    onnx_node(&g, "Reshape", "r back", "y", "");
    graph = onnx_build(&g, "", 3);
    assert_shape(spec_output(graph, "h"), 6, 6, 4);
    assert_shape(spec_output(graph, "b"), 6, 3, 8);
    assert_shape(spec_output(graph, "r"), 18, 8);
    assert_shape(spec_output(graph, "y"), 6, 3, 8);
    dlt_graph_destroy(graph);
}

/* x[:, 3:5] = 0 as torch.onnx writes it: zeros of the shape of a tensor, in one written out. */
static void constants_of_a_tensors_shape_grow_with_it(void **state)
{
    struct onnx_bytes g = {0};
    struct dlt_graph *graph = NULL;

    (void)state;
    onnx_input(&g, "x", 1, 1, 2, 4);
    onnx_ints(&g, "zero", 0);
    onnx_ints(&g, "to", 1, 8);
    onnx_node(&g, "Shape", "x", "shape", "");
    onnx_node(&g, "Expand", "zero shape", "zeros", "");
    onnx_node(&g, "Reshape", "zeros to", "flat", "");
    onnx_node(&g, "Cast", "flat", "reals", "to=1");
    onnx_node(&g, "Reshape", "x to", "rows", "");
    onnx_ints(&g, "none", 1, 0);
    onnx_node(&g, "ConstantOfShape", "none", "empty", "");
    onnx_node(&g, "Concat", "rows empty reals", "y", "axis=1");
    graph = onnx_build(&g, "", 5);
    assert_shape(&graph->tensor[graph->output[0]], 5, 16);
    dlt_graph_destroy(graph);
}

/* torch.ones(n, n).view(1, 1, n, n) and torch.arange(n).view(1, -1) for n positions, of one sample,
 * where there are as many samples as positions. */
static void a_mask_as_long_as_the_batch_is_large_stays_one(void **state)
{
    struct onnx_bytes g = {0};
    struct dlt_graph *graph = NULL;

    (void)state;
    onnx_input(&g, "x", 1, 1, 5, 5);
    onnx_ints(&g, "zero", 0);
    onnx_ints(&g, "one", 1);
    onnx_ints(&g, "length", 1);
    onnx_ints(&g, "square", 1, 1, 5, 5);
    onnx_ints(&g, "flat", 1, -1);
    onnx_weight(&g, "table", (const int64_t[3]){64, 5});
    onnx_node(&g, "Shape", "x", "shape", "");
    onnx_node(&g, "Gather", "shape length", "n", "");
    onnx_node(&g, "Concat", "n n", "sides", "axis=0");
    onnx_node(&g, "ConstantOfShape", "sides", "ones", "");
    onnx_node(&g, "Reshape", "ones square", "mask", "");
    onnx_node(&g, "Reshape", "x square", "scores", "");
    onnx_node(&g, "Add", "scores mask", "masked", "");
    onnx_node(&g, "Squeeze", "n", "count", "");
    onnx_node(&g, "Range", "zero count one", "places", "");
    onnx_node(&g, "Reshape", "places flat", "ids", "");
    onnx_node(&g, "Gather", "table ids", "positions", "");
    onnx_node(&g, "Add", "masked positions", "y", "");
    graph = onnx_build(&g, "", 5);
    assert_shape(&graph->tensor[graph->output[0]], 5, 1, 5, 5);
    dlt_graph_destroy(graph);
}

static void symbolic_sizes_are_bound_by_batch_and_seq(void **state)
{
    struct onnx_bytes g = {0}, bytes;
    struct dlt_model *model;
    struct dlt_graph *graph = NULL;

    (void)state;
    onnx_input(&g, "ids", 7, -1, -2);
    onnx_weights(&g, "table", 100, 16);
    onnx_node(&g, "Gather", "table ids", "y", "");
    graph = onnx_build(&g, ",seq=9", 4);
    assert_string_equal(spec_op(graph, "y"), "embedding");
    assert_shape(spec_output(graph, "y"), 4, 9, 16);
    assert_near(spec_parameters(graph), 1600, 0);
    dlt_graph_destroy(graph);

    onnx_input(&g, "ids", 7, -1, -2);
    onnx_node(&g, "Identity", "ids", "y", "");
    bytes = onnx_model(&g, 13);
    assert_int_equal(onnx_load(&bytes, "", &model), -1);
    assert_string_equal(onnx_error, "input \"ids\": dimension 1 is symbolic (\"seq\"); say what it "
                                    "is with seq=N");
}

/* The vectors a, b, c through one node, to be the sizes of a Tile: what the node makes of them can
 * be seen in a shape. reals: 0, or the type that they are cast to before. */
struct fold_case {
    const char *op, *inputs, *attributes;
    struct {
        size_t count;
        int64_t value[4];
    } vector[3];
    size_t count;
    int64_t made[4];
};

static void check_folded(const struct fold_case *c, bool reals)
{
    static const char *const names[2][3] = {{"a", "b", "c"}, {"whole_a", "whole_b", "whole_c"}};
    const int64_t one[DLT_RANK + 1] = {1, 1, 1, 1};
    int64_t input[DLT_RANK + 1] = {0};
    struct onnx_bytes g = {0};
    struct dlt_graph *graph;
    const struct dlt_tensor *t;

    memcpy(input, one, c->count * sizeof *one);
    onnx_value(&g, 11, "x", 1, input);
    onnx_ints(&g, "one", 1);
    for (size_t v = 0; v < 3; v++) {
        if (c->vector[v].count == 0)
            continue;
        onnx_vector(&g, names[reals][v], c->vector[v].count, c->vector[v].value);
        if (reals)
            onnx_node(&g, "Cast", names[1][v], names[0][v], "to=1");
    }
    onnx_node(&g, c->op, c->inputs, "made", c->attributes);
    /* Sizes are at least 1: every one is one more than what was made. */
    onnx_node(&g, "Cast", "made", "whole", "to=7");
    onnx_node(&g, "Add", "whole one", "sizes", "");
    onnx_node(&g, "Tile", "x sizes", "y", "");
    onnx_node(&g, "Relu", "y", "z", "");
    onnx_output(&g, "z");
    graph = onnx_build(&g, "", 2);
    t = &graph->tensor[graph->output[0]];
    assert_int_equal(t->rank, c->count);
    for (size_t d = 0; d < c->count; d++)
        if (t->dim[d] != (c->made[d] + 1) * (d == 0 ? 2 : 1))
            fail_msg("%s of %s: size %zu is %lld", c->op, reals ? "reals" : "integers", d,
                     (long long)t->dim[d]);
    dlt_graph_destroy(graph);
}

/* What NumPy makes of the same numbers. */
static void what_becomes_a_shape_is_computed_as_the_standard_says(void **state)
{
    static const struct fold_case both[] = {
        {"Add", "a b", "", {{3, {1, 2, 3}}, {1, {4}}}, 3, {5, 6, 7}},
        {"Sub", "a b", "", {{2, {9, 5}}, {2, {2, 5}}}, 2, {7, 0}},
        {"Mul", "a b", "", {{2, {2, 3}}, {2, {5, 1}}}, 2, {10, 3}},
        {"Div", "a b", "", {{2, {7, 9}}, {1, {2}}}, 2, {3, 4}},
        {"Mod", "a b", "", {{2, {7, 9}}, {2, {4, 3}}}, 2, {3, 0}},
        {"Pow", "a b", "", {{2, {2, 3}}, {2, {5, 0}}}, 2, {32, 1}},
        {"Min", "a b", "", {{2, {2, 8}}, {1, {5}}}, 2, {2, 5}},
        {"Max", "a b", "", {{2, {2, 8}}, {1, {5}}}, 2, {5, 8}},
        {"Equal", "a b", "", {{3, {1, 2, 3}}, {1, {2}}}, 3, {0, 1, 0}},
        {"Less", "a b", "", {{3, {1, 2, 3}}, {1, {2}}}, 3, {1, 0, 0}},
        {"Greater", "a b", "", {{3, {1, 2, 3}}, {1, {2}}}, 3, {0, 0, 1}},
        {"LessOrEqual", "a b", "", {{3, {1, 2, 3}}, {1, {2}}}, 3, {1, 1, 0}},
        {"GreaterOrEqual", "a b", "", {{3, {1, 2, 3}}, {1, {2}}}, 3, {0, 1, 1}},
        {"Neg", "a", "", {{2, {-3, 0}}}, 2, {3, 0}},
        {"Abs", "a", "", {{2, {-3, 4}}}, 2, {3, 4}},
        {"Sign", "a", "", {{2, {7, 0}}}, 2, {1, 0}},
        {"Floor", "a", "", {{2, {3, 4}}}, 2, {3, 4}},
        {"Where", "a b c", "", {{3, {1, 0, 2}}, {3, {5, 6, 7}}, {1, {1}}}, 3, {5, 1, 7}},
        {"Concat", "a b", "axis=0", {{2, {4, 2}}, {1, {3}}}, 3, {4, 2, 3}},
        {"Gather", "a one", "axis=0", {{3, {4, 2, 9}}}, 1, {2}},
        {"Identity", "a", "", {{2, {4, 2}}}, 2, {4, 2}},
        {"ReduceProd", "a", "keepdims=1", {{3, {4, 2, 3}}}, 1, {24}},
        {"ReduceSum", "a", "keepdims=1", {{3, {4, 2, 3}}}, 1, {9}},
        {"ReduceMax", "a", "keepdims=1", {{3, {4, 2, 3}}}, 1, {4}},
        {"ReduceMin", "a", "keepdims=1", {{3, {4, 2, 3}}}, 1, {2}},
    };
    static const struct fold_case whole[] = {
        {"And", "a b", "", {{2, {1, 1}}, {2, {1, 0}}}, 2, {1, 0}},
        {"Or", "a b", "", {{2, {0, 1}}, {2, {0, 1}}}, 2, {0, 1}},
        {"Xor", "a b", "", {{2, {0, 1}}, {2, {1, 1}}}, 2, {1, 0}},
        {"Mod", "a b", "", {{2, {-7, 7}}, {1, {4}}}, 2, {1, 3}}, /* the divisor's sign */
        {"Div", "a b", "", {{1, {5}}, {1, {0}}}, 1, {0}},        /* no number: no trap either */
        {"Range", "a b c", "", {{1, {1}}, {1, {8}}, {1, {3}}}, 3, {1, 4, 7}},
        {"Shape", "x", "", {{0}}, 3, {2, 1, 1}},
        {"Size", "x", "", {{0}}, 1, {2}},
        {"Constant", "", "value_int=5", {{0}}, 1, {5}},
        {"Constant", "", "value_ints=4,2", {{0}}, 2, {4, 2}},
        {"ConstantOfShape", "a", "", {{1, {3}}}, 3, {0, 0, 0}},
        {"Slice", "a b c", "", {{4, {9, 8, 7, 6}}, {1, {1}}, {1, {3}}}, 2, {8, 7}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        check_folded(&both[i], false);
        check_folded(&both[i], true);
    }
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        check_folded(&whole[i], false);
}

static struct onnx_bytes branch(const char *op)
{
    struct onnx_bytes graph = {0};

    onnx_node(&graph, op, "x", "out", "");
    onnx_text(&graph, 2, "branch");
    onnx_output(&graph, "out");
    return graph;
}

/* if x.shape[0] == batch: relu, else sigmoid; and the same with a condition from the data. */
static void a_branch_is_chosen_by_a_constant_condition(void **state)
{
    struct onnx_bytes g = {0};

    (void)state;
    for (int64_t size = 3; size < 5; size++) {
        struct onnx_bytes node, then = {0}, otherwise = {0}, body;
        struct dlt_graph *graph;

        onnx_input(&g, "x", 1, -1, 3);
        onnx_ints(&g, "one", 1);
        onnx_ints(&g, "size", size);
        onnx_node(&g, "Shape", "x", "shape", "");
        onnx_node(&g, "Gather", "shape one", "n", "");
        onnx_node(&g, "Equal", "n size", "same", "");
        node = onnx_node_bytes("If", "same", "y", "");
        onnx_text(&then, 1, "then_branch");
        body = branch("Relu");
        onnx_put(&then, 6, &body);
        onnx_put(&node, 5, &then);
        onnx_text(&otherwise, 1, "else_branch");
        body = branch("Sigmoid");
        onnx_put(&otherwise, 6, &body);
        onnx_put(&node, 5, &otherwise);
        onnx_put(&g, 1, &node);
        onnx_output(&g, "y");
        graph = onnx_build(&g, "", 2);
        assert_int_equal(graph->node_count, 1);
        assert_string_equal(graph->node[0].op->name, size == 3 ? "relu" : "sigmoid");
        dlt_graph_destroy(graph);
    }
}

/* A loop of dense and relu, or a scan over the first dimension of `steps`. */
static struct onnx_bytes loop_node(bool scan)
{
    struct onnx_bytes node =
        onnx_node_bytes(scan ? "Scan" : "Loop", scan ? "begin steps" : "trips go begin", "y all",
                        scan ? "num_scan_inputs=1" : "");
    struct onnx_bytes body = {0}, attribute = {0};

    if (!scan) {
        onnx_input(&body, "i", 7, 0);
        onnx_input(&body, "on", 9, 0);
    }
    onnx_input(&body, "h", 1, 4, 8);
    if (scan)
        onnx_input(&body, "step", 1, 4, 8);
    onnx_node(&body, "MatMul", "h w", "product", "");
    onnx_node(&body, scan ? "Add" : "Relu", scan ? "product step" : "product", "next", "");
    onnx_text(&body, 2, "body");
    if (!scan) {
        onnx_node(&body, "Identity", "on", "still", "");
        onnx_output(&body, "still");
    }
    onnx_output(&body, "next");
    onnx_output(&body, "product");
    onnx_text(&attribute, 1, "body");
    onnx_put(&attribute, 6, &body);
    onnx_put(&node, 5, &attribute);
    return node;
}

/* Three runs of 4 x 8 by 8 x 8 with one weight: its parameters once, its products thrice, and what
 * the runs give beside one another. */
static void loops_run_as_often_as_they_say(void **state)
{
    (void)state;
    for (int scan = 0; scan < 2; scan++) {
        struct onnx_bytes g = {0}, node = loop_node(scan);
        struct dlt_graph_counts counts;
        struct dlt_graph *graph;

        onnx_input(&g, "begin", 1, 4, 8);
        if (scan)
            onnx_input(&g, "steps", 1, 3, 4, 8);
        onnx_weights(&g, "w", 8, 8);
        onnx_ints(&g, "trips", 3);
        onnx_ints(&g, "go", 1);
        onnx_put(&g, 1, &node);
        onnx_output(&g, "y");
        onnx_output(&g, "all");
        graph = onnx_build(&g, "", 4);
        dlt_graph_count(graph, true, &counts);
        assert_near(counts.total.parameters, 64, 0);
        assert_near(counts.total.macs, 3.0 * 4 * 8 * 8, 0);
        assert_shape(&graph->tensor[graph->output[graph->output_count - 1]], 3, 4, 8);
        dlt_graph_destroy(graph);
    }
}

/* A function of the file, called twice: an attribute of the call, names of its own. */
static void functions_are_walked_in_place(void **state)
{
    struct onnx_bytes g = {0}, model, function = {0}, node, call, attribute = {0};
    struct dlt_model *loaded;
    struct dlt_graph *graph = NULL;
    struct dlt_error error;

    (void)state;
    onnx_text(&function, 1, "Softly");
    onnx_text(&function, 4, "in");
    onnx_text(&function, 5, "out");
    onnx_text(&function, 6, "dim");
    node = onnx_node_bytes("Softmax", "in", "inner", "");
    onnx_text(&attribute, 1, "axis");
    onnx_text(&attribute, 21, "dim");
    onnx_put(&node, 5, &attribute);
    onnx_put(&function, 7, &node);
    node = onnx_node_bytes("Relu", "inner", "out", "");
    onnx_put(&function, 7, &node);
    onnx_text(&function, 10, "own");
    onnx_input(&g, "x", 1, -1, 3, 5);
    for (int i = 0; i < 2; i++) {
        call = onnx_node_bytes("Softly", i ? "y" : "x", i ? "z" : "y", i ? "dim=1" : "dim=2");
        onnx_text(&call, 7, "own");
        onnx_put(&g, 1, &call);
    }
    model = onnx_model(&g, 13);
    onnx_put(&model, 25, &function);
    if (onnx_load(&model, "", &loaded) || dlt_model_graph(loaded, 2, &graph, &error)) {
        fail_msg("%s", onnx_error);
        return;
    }
    assert_int_equal(graph->node_count, 4);
    assert_string_equal(graph->node[0].name, "y/inner");
    assert_int_equal(graph->node[0].attribute[0], 2);
    assert_int_equal(graph->node[2].attribute[0], 1);
    dlt_graph_destroy(graph);
    dlt_model_destroy(loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shape_that_is_computed_is_folded),
        cmocka_unit_test(a_shape_written_for_one_sample_grows_with_the_batch),
        cmocka_unit_test(constants_of_a_tensors_shape_grow_with_it),
        cmocka_unit_test(a_mask_as_long_as_the_batch_is_large_stays_one),
        cmocka_unit_test(symbolic_sizes_are_bound_by_batch_and_seq),
        cmocka_unit_test(what_becomes_a_shape_is_computed_as_the_standard_says),
        cmocka_unit_test(a_branch_is_chosen_by_a_constant_condition),
        cmocka_unit_test(loops_run_as_often_as_they_say),
        cmocka_unit_test(functions_are_walked_in_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
