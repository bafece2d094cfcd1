/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes, parameters, work and what backward keeps. */
#include "base/file.h"
#include "graph/op.h"
#include "graph/training.h"
#include "spec.h"

static struct dlt_graph *shipped(const char *name, int64_t batch)
{
    struct dlt_error error;
    struct dlt_model *model = NULL;
    struct dlt_graph *graph = NULL;

    if (dlt_model_load(name, NULL, &model, &error) || dlt_model_graph(model, batch, &graph, &error))
        fail_msg("%s", error.text);
    dlt_model_destroy(model);
    return graph;
}

/* PyTorch 1.13 with torchvision 0.14: sum of p.numel(); multiply-accumulates of Conv2d and Linear
 * seen by forward hooks on one image; buffers without num_batches_tracked; and the bytes of all
 * storages that autograd saves for two images, less parameters and buffers
 * (torch.autograd.graph.saved_tensors_hooks). LeNet-5 by hand: 5x5x1x6+6 + 5x5x6x16+16 +
 * 400x120+120 + 120x84+84 + 84x10+10 parameters; 28x28x150 + 10x10x2400 + 48000 + 10080 + 840 MACs.
 */
static const struct {
    const char *name;
    double parameters, macs, buffers, saved_bytes;
} networks[] = {
    {"lenet5", 61706, 416520, 0, NAN},
    {"alexnet", 61100840, 714188480, 0, 7482368},
    {"vgg16", 138357544, 15470264320, 0, 146710528},
    {"resnet18", 11689512, 1814073344, 9600, 44398080},
    {"resnet50", 25557032, 4089184256, 53120, 172031488},
    {"mobilenet_v2", 3504872, 300774272, 34112, 157057280},
};
enum { NETWORKS = sizeof networks / sizeof *networks };

static void parameters_and_macs_of_shipped_networks_are_those_of_pytorch(void **state)
{
    (void)state;
    for (size_t i = 0; i < NETWORKS; i++) {
        struct dlt_graph *graph = shipped(networks[i].name, 1);
        struct dlt_graph_counts counts;

        dlt_graph_count(graph, true, &counts);
        assert_near(counts.total.parameters, networks[i].parameters, 0);
        assert_near(counts.trainable, networks[i].parameters, 0);
        assert_near(counts.total.macs, networks[i].macs, 0);
        assert_near(counts.total.buffers, networks[i].buffers, 0);
        dlt_graph_destroy(graph);
    }
}

static void activations_kept_for_backward_are_those_of_pytorch_within_two_percent(void **state)
{
    (void)state;
    for (size_t i = 1; i < NETWORKS; i++) {
        struct dlt_graph *graph = shipped(networks[i].name, 2);
        struct dlt_graph_counts counts;

        dlt_graph_count(graph, true, &counts);
        assert_near(4 * counts.total.saved / networks[i].saved_bytes, 1, 0.02);
        dlt_graph_destroy(graph);
    }
}

static void work_grows_with_the_batch_and_parameters_do_not(void **state)
{
    struct dlt_graph *one = shipped("resnet18", 1), *many = shipped("resnet18", 7);
    struct dlt_graph_counts a, b;

    (void)state;
    dlt_graph_count(one, true, &a);
    dlt_graph_count(many, true, &b);
    assert_near(b.total.macs, 7 * a.total.macs, 0);
    assert_near(b.total.saved, 7 * a.total.saved, 0);
    assert_near(b.total.parameters, a.total.parameters, 0);
    dlt_graph_destroy(one);
    dlt_graph_destroy(many);
}

/* out = floor((in + 2 p - d (k - 1) - 1) / s) + 1, torch.nn.Conv2d. */
static void convolutions_have_the_shapes_of_torch(void **state)
{
    struct dlt_graph *g = spec_graph(
        "{\"input\": [4, 17, 20], \"layers\": ["
        "{\"op\": \"conv2d\", \"name\": \"plain\", \"out_channels\": 6, \"kernel_size\": 3},"
        "{\"op\": \"conv2d\", \"name\": \"strided\", \"out_channels\": 6, \"kernel_size\": 3, "
        "\"stride\": [2, 3], \"padding\": [1, 0], \"inputs\": [\"@input\"]},"
        "{\"op\": \"conv2d\", \"name\": \"dilated\", \"out_channels\": 8, \"kernel_size\": [3, 5], "
        "\"dilation\": 2, \"groups\": 2, \"bias\": false, \"inputs\": [\"@input\"]},"
        "{\"op\": \"conv2d\", \"name\": \"same\", \"out_channels\": 6, \"kernel_size\": 4, "
        "\"padding\": \"same\", \"inputs\": [\"@input\"]},"
        "{\"op\": \"conv2d\", \"name\": \"sided\", \"out_channels\": 6, \"kernel_size\": 3, "
        "\"padding\": [[0, 1], [2, 0]], \"inputs\": [\"@input\"]},"
        "{\"op\": \"conv2d\", \"name\": \"valid\", \"out_channels\": 6, \"kernel_size\": [17, 1], "
        "\"padding\": \"valid\", \"inputs\": [\"@input\"]}]}",
        2);
    struct dlt_node_counts counts;

    (void)state;
    assert_shape(spec_output(g, "plain"), 2, 6, 15, 18);
    assert_shape(spec_output(g, "strided"), 2, 6, 9, 6);
    assert_shape(spec_output(g, "dilated"), 2, 8, 13, 12);
    assert_shape(spec_output(g, "same"), 2, 6, 17, 20);
    assert_shape(spec_output(g, "sided"), 2, 6, 16, 20);
    assert_shape(spec_output(g, "valid"), 2, 6, 1, 20);
    /* 8 x (4 / 2) x 3 x 5 weights; each of 2 x 8 x 13 x 12 outputs takes 2 x 15 products. */
    dlt_node_count(g, spec_node(g, "dilated"), true, &counts);
    assert_near(counts.parameters, 240, 0);
    assert_near(counts.tensors, 1, 0);
    assert_near(counts.macs, 2.0 * 8 * 13 * 12 * 30, 0);
    /* 6 x 4 x 3 x 3 + 6 */
    dlt_node_count(g, spec_node(g, "plain"), true, &counts);
    assert_near(counts.parameters, 222, 0);
    assert_near(counts.tensors, 2, 0);
    /* The input has no gradient: backward is the weight's alone, the same three operands. */
    assert_near(counts.forward_bytes, 4 * (2.0 * 4 * 17 * 20 + 2.0 * 6 * 15 * 18 + 222), 0);
    assert_near(counts.backward_bytes, counts.forward_bytes, 0);
    dlt_graph_destroy(g);
}

/* torch.nn.MaxPool2d(3, 2) on 6: 2; with ceil_mode 3; AvgPool2d(2, padding=1, ceil_mode=True) on 5
 * gives 3: a fourth window would start in the padding behind. */
static void pools_have_the_shapes_of_torch(void **state)
{
    struct dlt_graph *g = spec_graph(
        "{\"input\": [3, 6, 5], \"layers\": ["
        "{\"op\": \"max_pool2d\", \"name\": \"floor\", \"kernel_size\": 3, \"stride\": 2},"
        "{\"op\": \"max_pool2d\", \"name\": \"ceil\", \"kernel_size\": 3, \"stride\": 2, "
        "\"ceil_mode\": true, \"inputs\": [\"@input\"]},"
        "{\"op\": \"avg_pool2d\", \"name\": \"edge\", \"kernel_size\": 2, \"padding\": 1, "
        "\"ceil_mode\": true, \"inputs\": [\"@input\"]},"
        "{\"op\": \"avg_pool2d\", \"name\": \"default\", \"kernel_size\": 2, "
        "\"inputs\": [\"@input\"]},"
        "{\"op\": \"adaptive_avg_pool2d\", \"name\": \"adaptive\", \"output_size\": [2, 1], "
        "\"inputs\": [\"@input\"]},"
        "{\"op\": \"adaptive_avg_pool2d\", \"name\": \"larger\", \"output_size\": 7, "
        "\"inputs\": [\"@input\"]}]}",
        1);

    (void)state;
    assert_shape(spec_output(g, "floor"), 1, 3, 2, 2);
    assert_shape(spec_output(g, "ceil"), 1, 3, 3, 2);
    assert_shape(spec_output(g, "edge"), 1, 3, 4, 3);
    assert_shape(spec_output(g, "default"), 1, 3, 3, 2);
    assert_shape(spec_output(g, "adaptive"), 1, 3, 2, 1);
    assert_shape(spec_output(g, "larger"), 1, 3, 7, 7);
    dlt_graph_destroy(g);
}

static void dense_and_layer_norm_work_on_the_last_dimension_of_any_rank(void **state)
{
    struct dlt_graph *g =
        spec_graph("{\"input\": [5, 7, 12], \"layers\": ["
                   "{\"op\": \"dense\", \"name\": \"d\", \"out_features\": 10},"
                   "{\"op\": \"layer_norm\", \"name\": \"one\", \"normalized_shape\": 10},"
                   "{\"op\": \"layer_norm\", \"name\": \"two\", \"normalized_shape\": [7, 10]},"
                   "{\"op\": \"softmax\", \"name\": \"s\", \"dim\": 1}]}",
                   3);
    struct dlt_node_counts counts;
    struct dlt_op_result result;

    (void)state;
    assert_shape(spec_output(g, "d"), 3, 5, 7, 10);
    dlt_node_count(g, spec_node(g, "d"), true, &counts);
    assert_near(counts.parameters, 130, 0);
    assert_near(counts.macs, 3.0 * 5 * 7 * 12 * 10, 0);
    dlt_node_infer(g, spec_node(g, "d"), true, &result);
    assert_int_equal(result.record.u.matmul.m, 105); /* 3 x 5 x 7 rows */
    dlt_node_infer(g, spec_node(g, "one"), true, &result);
    assert_int_equal(result.record.u.rowwise.rows, 105);
    assert_int_equal(result.record.u.rowwise.columns, 10);
    dlt_node_infer(g, spec_node(g, "two"), true, &result);
    assert_near(result.parameters, 140, 0);
    assert_int_equal(result.record.u.rowwise.rows, 15);
    dlt_node_infer(g, spec_node(g, "s"), true, &result);
    assert_int_equal(result.record.u.rowwise.columns, 5);
    assert_int_equal(result.record.u.rowwise.rows, 3 * 7 * 10);
    dlt_graph_destroy(g);
}

static void shapes_broadcast_join_and_split(void **state)
{
    struct dlt_graph *g = spec_graph(
        "{\"inputs\": {\"x\": [8, 6, 6], \"scale\": [8, 1, 1], \"row\": [6]}, \"layers\": ["
        "{\"op\": \"mul\", \"name\": \"scaled\", \"inputs\": [\"x\", \"scale\"]},"
        "{\"op\": \"concat\", \"name\": \"joined\", \"inputs\": [\"x\", \"scaled\", \"x\"]},"
        "{\"op\": \"concat\", \"name\": \"wide\", \"dim\": -1, \"inputs\": [\"x\", \"x\"]},"
        "{\"op\": \"split\", \"name\": \"half\", \"sections\": 2, \"inputs\": [\"x\"]},"
        "{\"op\": \"split\", \"name\": \"parts\", \"sections\": [1, 2, 5], \"inputs\": [\"x\"]},"
        "{\"op\": \"mul\", \"name\": \"gate\", \"inputs\": [\"half:0\", \"half:1\"]},"
        "{\"op\": \"sub\", \"name\": \"less\", \"inputs\": [\"parts:2\", \"parts:0\"]},"
        "{\"op\": \"flatten\", \"name\": \"all\", \"inputs\": [\"gate\"]},"
        "{\"op\": \"flatten\", \"name\": \"some\", \"start_dim\": 0, \"end_dim\": 1, "
        "\"inputs\": [\"gate\"]}]}",
        2);

    (void)state;
    assert_shape(spec_output(g, "scaled"), 2, 8, 6, 6);
    assert_shape(spec_output(g, "joined"), 2, 24, 6, 6);
    assert_shape(spec_output(g, "wide"), 2, 8, 6, 12);
    assert_shape(spec_output(g, "gate"), 2, 4, 6, 6);
    assert_shape(spec_output(g, "less"), 2, 5, 6, 6);
    assert_shape(spec_output(g, "all"), 2, 144);
    assert_shape(spec_output(g, "some"), 8, 6, 6);
    dlt_graph_destroy(g);
}

static void shared_weights_count_once_at_their_owner(void **state)
{
    struct dlt_graph *g =
        spec_graph("{\"input\": [16], \"layers\": ["
                   "{\"op\": \"dense\", \"name\": \"a\", \"out_features\": 16},"
                   "{\"op\": \"relu\"},"
                   "{\"op\": \"dense\", \"out_features\": 16, \"weights\": \"a\"},"
                   "{\"op\": \"dense\", \"out_features\": 4}]}",
                   1);
    struct dlt_graph_counts counts;

    (void)state;
    dlt_graph_count(g, true, &counts);
    assert_near(counts.total.parameters, 16 * 16 + 16 + 16 * 4 + 4, 0);
    assert_near(counts.total.tensors, 4, 0);
    assert_near(counts.total.macs, 16 * 16 + 16 * 16 + 16 * 4, 0);
    dlt_graph_destroy(g);
}

/* Only the last layer learns: nothing before it has a gradient, and only its own input is kept. */
static void nothing_below_the_lowest_trainable_layer_is_kept(void **state)
{
    struct dlt_graph *g =
        spec_graph("{\"input\": [8], \"layers\": ["
                   "{\"trainable\": false, \"layers\": ["
                   "  {\"op\": \"dense\", \"out_features\": 32}, {\"op\": \"relu\"},"
                   "  {\"op\": \"dense\", \"out_features\": 32}]},"
                   "{\"op\": \"relu\", \"name\": \"last\"},"
                   "{\"op\": \"dense\", \"name\": \"head\", \"out_features\": 2}]}",
                   10);
    struct dlt_graph_counts counts;

    (void)state;
    dlt_graph_count(g, true, &counts);
    assert_near(counts.trainable, 66, 0);
    assert_near(counts.total.saved, 10 * 32, 0);
    assert_false(g->node[spec_node(g, "last")].data_gradient);
    assert_false(g->node[spec_node(g, "head")].data_gradient);
    assert_true(g->node[spec_node(g, "head")].weight_gradient);
    dlt_graph_destroy(g);
}

/* Behind a sum with a parameter, for which nothing is kept: what torch.autograd's
 * saved_tensors_hooks see of x and y (4 x 6 x 10 floats: 960 bytes) and of an index
 * (4 x 3 integers: 96; 4 x 6 x 10: 1920). tests/accuracy/torch-operators asks for the others. */
static void what_is_kept_is_what_autograd_keeps(void **state)
{
    static const struct {
        const char *layer;
        double bytes;
    } expected[] = {
        {"\"op\": \"softsign\", \"inputs\": [\"x\"]", 960 + 960},             /* x and 1 + |x| */
        {"\"op\": \"softshrink\", \"inputs\": [\"x\"], \"lambd\": 0.3", 960}, /* x */
        {"\"op\": \"tanhshrink\", \"inputs\": [\"x\"]", 960},                 /* tanh(x) */
        {"\"op\": \"l1_loss\", \"inputs\": [\"x\", \"y\"]", 960},             /* x - y */
        {"\"op\": \"mse_loss\", \"inputs\": [\"x\", \"y\"]", 960 + 960},      /* x and y */
        {"\"op\": \"pow\", \"inputs\": [\"x\"]", 960},                        /* x */
        {"\"op\": \"pow\", \"inputs\": [\"x\", \"y\"]", 3 * 960},             /* x, y and x^y */
        {"\"op\": \"gather\", \"dim\": 1, \"inputs\": [\"x\", \"i\"]", 960 + 1920},
        {"\"op\": \"index_select\", \"dim\": 1, \"inputs\": [\"x\", \"j\"]", 96},
    };

    (void)state;
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
        struct dlt_graph_counts counts;
        struct dlt_graph *g;
        char text[1024];

        snprintf(text, sizeof text,
                 "{\"inputs\": {\"a\": [6, 10], \"b\": [6, 10], "
                 "\"i\": {\"shape\": [6, 10], \"dtype\": \"int64\"}, "
                 "\"j\": {\"shape\": [3], \"dtype\": \"int64\"}}, \"layers\": ["
                 "{\"op\": \"parameter\", \"name\": \"w\", \"shape\": [1, 6, 10]},"
                 "{\"op\": \"add\", \"name\": \"x\", \"inputs\": [\"a\", \"w\"]},"
                 "{\"op\": \"add\", \"name\": \"y\", \"inputs\": [\"b\", \"w\"]}, {%s}]}",
                 expected[k].layer);
        g = spec_graph(text, 4);
        dlt_graph_count(g, true, &counts);
        if (4 * counts.total.saved != expected[k].bytes)
            fail_msg("%s: %.0f bytes", expected[k].layer, 4 * counts.total.saved);
        dlt_graph_destroy(g);
    }
}

static void every_operator_has_a_whole_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < dlt_op_count(); i++) {
        const struct dlt_op *op = dlt_op_at(i);

        assert_ptr_equal(dlt_op_find(op->name), op);
        assert_true((op->infer != NULL) != (op->expand != NULL));
        assert_true(op->most_inputs >= op->least_inputs);
        if (op->kind)
            assert_non_null(dlt_record_kind_find(op->kind));
        for (const struct dlt_attribute *a = op->attribute; a->name; a++)
            assert_true(a->slot + dlt_attribute_width(op, a) <= DLT_ATTRIBUTES);
    }
}

/* dltime-model(5) lies beside etc/ in the source tree. */
static void the_manual_names_every_operator_attribute_and_training_key(void **state)
{
    char path[4096], *text = NULL;
    struct dlt_error error;
    size_t size;

    (void)state;
    snprintf(path, sizeof path, "%s/../../man/dltime-model.5", dlt_models_folder());
    if (dlt_file_read(path, 1 << 20, &text, &size, &error))
        fail_msg("%s", error.text);
    for (size_t i = 0; i < dlt_op_count(); i++) {
        const struct dlt_op *op = dlt_op_at(i);

        assert_non_null(strstr(text, op->name));
        for (const struct dlt_attribute *a = op->attribute; a->name; a++)
            if (!strstr(text, a->name))
                fail_msg("%s of %s is missing", a->name, op->name);
    }
    for (size_t i = 0; i < dlt_training_key_count(); i++) {
        char item[80];

        snprintf(item, sizeof item, ".It Cm %s\n", dlt_training_key_name(i));
        if (!strstr(text, item))
            fail_msg("%s is missing", dlt_training_key_name(i));
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_and_macs_of_shipped_networks_are_those_of_pytorch),
        cmocka_unit_test(activations_kept_for_backward_are_those_of_pytorch_within_two_percent),
        cmocka_unit_test(work_grows_with_the_batch_and_parameters_do_not),
        cmocka_unit_test(convolutions_have_the_shapes_of_torch),
        cmocka_unit_test(pools_have_the_shapes_of_torch),
        cmocka_unit_test(dense_and_layer_norm_work_on_the_last_dimension_of_any_rank),
        cmocka_unit_test(shapes_broadcast_join_and_split),
        cmocka_unit_test(shared_weights_count_once_at_their_owner),
        cmocka_unit_test(nothing_below_the_lowest_trainable_layer_is_kept),
        cmocka_unit_test(what_is_kept_is_what_autograd_keeps),
        cmocka_unit_test(every_operator_has_a_whole_row),
        cmocka_unit_test(the_manual_names_every_operator_attribute_and_training_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
