/* SPDX-License-Identifier: Apache-2.0 */
/* Every family of operators: shapes, parameters, work and what is kept, by hand. PyTorch's answers
 * to the same questions are compared by tests/accuracy/torch-shapes. */
#include "graph/op.h"
#include "lower/lower.h"
#include "spec.h"

/* One layer behind a dense layer that makes its input trainable, or, where the input holds
 * integers, behind nothing. Counts are those of a batch of 2; NAN: not compared. */
struct expected {
    const char *input; /* of one sample */
    const char *layer;
    int rank;
    int64_t dim[6];
    double parameters, macs, saved_bytes, forward_bytes;
};

static void check_layer(const struct expected *e)
{
    struct dlt_node_counts counts;
    struct dlt_graph *graph;
    char text[1024];
    size_t node;

    snprintf(
        text, sizeof text,
        "{\"inputs\": {\"x\": %s}, \"layers\": [{\"op\": \"prelu\", \"inputs\": [\"x\"]}, %s]}",
        e->input, e->layer);
    graph = spec_graph(text, 2);
    node = graph->node_count - 1;
    dlt_node_count(graph, node, true, &counts);
    if (graph->tensor[graph->node[node].output].rank != e->rank)
        fail_msg("%s: rank %d", e->layer, graph->tensor[graph->node[node].output].rank);
    for (int d = 0; d < e->rank; d++)
        if (graph->tensor[graph->node[node].output].dim[d] != e->dim[d])
            fail_msg("%s: dimension %d is %lld", e->layer, d,
                     (long long)graph->tensor[graph->node[node].output].dim[d]);
    if (!isnan(e->parameters))
        assert_near(counts.parameters, e->parameters, 0);
    if (!isnan(e->macs))
        assert_near(counts.macs, e->macs, 0);
    if (!isnan(e->saved_bytes))
        assert_near(4 * counts.saved, e->saved_bytes, 0);
    if (!isnan(e->forward_bytes))
        assert_near(counts.forward_bytes, e->forward_bytes, 0);
    dlt_graph_destroy(graph);
}

#define CHECK(table)                                                                               \
    for (size_t i = 0; i < sizeof(table) / sizeof *(table); i++)                                   \
    check_layer(&(table)[i])

/* Saved: prelu keeps the network's input, and these layers the output of prelu. */
static void convolutions_in_one_and_three_dimensions(void **state)
{
    static const struct expected table[] = {
        /* (20 + 2 - 2 (3 - 1) - 1) / 1 + 1 = 18; 6 x 4 / 2 x 3 + 6; 2 x 18 x 6 x 2 x 3 */
        {"[4, 20]",
         "{\"op\": \"conv1d\", \"out_channels\": 6, \"kernel_size\": 3, \"padding\": 1, "
         "\"dilation\": 2, \"groups\": 2}",
         3,
         {2, 6, 18},
         42,
         1296,
         4 * 2 * 4 * 20,
         4 * (160 + 216 + 42)},
        /* 5 x 6 x 7 by 3: 3 x 4 x 5 at stride 1, 2 x 2 x 3 at 2; 8 x 3 x 27 + 8 */
        {"[3, 5, 6, 7]",
         "{\"op\": \"conv3d\", \"out_channels\": 8, \"kernel_size\": 3, \"stride\": 2}",
         5,
         {2, 8, 2, 2, 3},
         656,
         2.0 * 8 * 12 * 81,
         4 * 2 * 3 * 210,
         NAN},
    };

    (void)state;
    CHECK(table);
}

/* out = (in - 1) s - 2 p + d (k - 1) + output_padding + 1 (torch.nn.ConvTranspose2d). Each input
 * element meets out / groups x k x k weights. */
static void transposed_convolutions(void **state)
{
    static const struct expected table[] = {
        {"[8, 5, 6]",
         "{\"op\": \"conv_transpose2d\", \"out_channels\": 4, \"kernel_size\": 3, \"stride\": 2, "
         "\"padding\": 1, \"output_padding\": 1, \"groups\": 2}",
         4,
         {2, 4, 10, 12},
         8 * 2 * 9 + 4,
         2.0 * 8 * 30 * 2 * 9,
         4 * 2 * 8 * 30,
         4 * (480 + 960 + 148)},
        {"[3, 7]",
         "{\"op\": \"conv_transpose1d\", \"out_channels\": 5, \"kernel_size\": 4, \"stride\": 3, "
         "\"dilation\": 2, \"bias\": false}",
         3,
         {2, 5, 25},
         60,
         2.0 * 3 * 7 * 20,
         NAN,
         NAN},
        {"[2, 2, 2, 2]",
         "{\"op\": \"conv_transpose3d\", \"out_channels\": 1, \"kernel_size\": 2, \"stride\": 2}",
         5,
         {2, 1, 4, 4, 4},
         17,
         2.0 * 16 * 8,
         NAN,
         NAN},
    };

    (void)state;
    CHECK(table);
}

/* Max pools keep input and an index of eight bytes an output; average pools the input. */
static void pools(void **state)
{
    static const struct expected table[] = {
        {"[3, 7]",
         "{\"op\": \"max_pool1d\", \"kernel_size\": 2, \"ceil_mode\": true}",
         3,
         {2, 3, 4},
         0,
         0,
         4 * 42 + 8 * 24,
         4 * (42 + 24)},
        {"[1, 4, 4, 5]",
         "{\"op\": \"avg_pool3d\", \"kernel_size\": 2}",
         5,
         {2, 1, 2, 2, 2},
         0,
         0,
         4 * 160,
         4 * (160 + 16)},
        {"[2, 9, 6]",
         "{\"op\": \"adaptive_max_pool2d\", \"output_size\": [3, 2]}",
         4,
         {2, 2, 3, 2},
         0,
         0,
         4 * 216 + 8 * 24,
         NAN},
        {"[2, 9]",
         "{\"op\": \"adaptive_avg_pool1d\", \"output_size\": 3}",
         3,
         {2, 2, 3},
         0,
         0,
         4 * 36,
         NAN},
    };

    (void)state;
    CHECK(table);
}

static void norms(void **state)
{
    static const struct expected table[] = {
        {"[6, 5, 5]",
         "{\"op\": \"group_norm\", \"num_groups\": 3}",
         4,
         {2, 6, 5, 5},
         12,
         0,
         /* the input, mean and deviation of 2 x 3 groups */
         4 * (300 + 12),
         4 * 900},
        {"[6, 5, 5]", "{\"op\": \"instance_norm\"}", 4, {2, 6, 5, 5}, 0, 0, 4 * 300, NAN},
        /* torch.nn.RMSNorm: the input, the reciprocal root of 10 rows, the normalised rows. */
        {"[5, 8]", "{\"op\": \"rms_norm\"}", 3, {2, 5, 8}, 8, 0, 4 * (80 + 10 + 80), 4 * 160},
        {"[5, 8]", "{\"op\": \"log_softmax\"}", 3, {2, 5, 8}, 0, 0, 4 * 80, 4 * 160},
    };

    (void)state;
    CHECK(table);
}

/* torch.nn.LSTM: 4 H (in + out) weights and 8 H biases a layer and direction, H x proj more with a
 * projection; gru 3, rnn 1. Of the second layer the input is both directions of the first. */
static void recurrent_layers(void **state)
{
    static const struct expected table[] = {
        {"[7, 10]",
         "{\"op\": \"lstm\", \"hidden_size\": 6, \"num_layers\": 2, \"bidirectional\": true, "
         "\"batch_first\": true}",
         3,
         {2, 7, 12},
         2 * (24 * 16 + 48) + 2 * (24 * 18 + 48),
         14.0 * 2 * (24 * 16 + 24 * 18),
         /* For each of 14 steps: two layers and directions of gates, c, tanh c and h; the input
          * twice and the first layer's output. PyTorch: 2802 elements, initial states included. */
         4.0 * 14 * (4 * 7 * 6 + 2 * 10 + 12),
         NAN},
        {"[7, 10]",
         "{\"op\": \"lstm\", \"hidden_size\": 6, \"proj_size\": 4, \"batch_first\": true}",
         3,
         {2, 7, 4},
         24 * 14 + 48 + 24,
         14.0 * (24 * 14 + 24),
         /* PyTorch: 786 elements. */
         4.0 * 14 * (7 * 6 + 4 + 10),
         NAN},
        /* Of each of 14 steps 7 x 6 and the input. PyTorch: 730 elements. */
        {"[7, 10]",
         "{\"op\": \"gru\", \"hidden_size\": 6, \"bias\": false, \"batch_first\": true}",
         3,
         {2, 7, 6},
         18 * 16,
         14.0 * 18 * 16,
         4 * 14 * (42 + 10),
         NAN},
        /* Without batch_first the 2 samples are the length: 2 steps of a batch of 7. */
        {"[7, 10]",
         "{\"op\": \"rnn\", \"hidden_size\": 6}",
         3,
         {2, 7, 6},
         6 * 16 + 12,
         14.0 * 96,
         NAN,
         NAN},
    };

    (void)state;
    CHECK(table);
}

static void products_of_two_tensors_keep_what_the_other_ones_gradient_needs(void **state)
{
    struct dlt_graph *g =
        spec_graph("{\"inputs\": {\"a\": [4, 5, 6], \"b\": [4, 6, 3]}, \"layers\": ["
                   "{\"op\": \"prelu\", \"name\": \"p\", \"inputs\": [\"a\"]},"
                   "{\"op\": \"matmul\", \"name\": \"m\", \"inputs\": [\"p\", \"b\"]},"
                   "{\"op\": \"mul\", \"name\": \"one\", \"inputs\": [\"p\", \"a\"]},"
                   "{\"op\": \"div\", \"name\": \"two\", \"inputs\": [\"a\", \"one\"]}]}",
                   2);
    struct dlt_node_counts counts;

    (void)state;
    assert_shape(spec_output(g, "m"), 2, 4, 5, 3);
    dlt_node_count(g, spec_node(g, "m"), true, &counts);
    assert_near(counts.macs, 8.0 * 5 * 6 * 3, 0);
    assert_near(counts.forward_bytes, 4 * 8.0 * (30 + 18 + 15), 0);
    /* b alone: it has no gradient that would need p. */
    assert_near(4 * counts.saved, 4 * 8 * 18, 0);
    /* a is the network's input and kept by prelu already. */
    dlt_node_count(g, spec_node(g, "one"), true, &counts);
    assert_near(counts.saved, 0, 0);
    dlt_node_count(g, spec_node(g, "two"), true, &counts);
    assert_near(4 * counts.saved, 4 * 8 * 30, 0);
    dlt_graph_destroy(g);
}

/* 2 heads of 4 over 5 places: 4 x 8 x 8 + 4 x 8 parameters (torch.nn.MultiheadAttention(8, 2)); 4
 * projections of 10 rows, and twice 2 x 2 x 5 x 5 x 4 for the products. */
static void multi_head_attention_is_its_parts(void **state)
{
    static const char *const forms[] = {"", ", \"need_weights\": false",
                                        ", \"batch_first\": false"};

    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct dlt_graph_counts counts;
        struct dlt_graph *g;
        char text[512];

        snprintf(text, sizeof text,
                 "{\"input\": [5, 8], \"layers\": [{\"op\": \"multi_head_attention\", \"name\": "
                 "\"a\", \"embed_dim\": 8, \"num_heads\": 2%s%s}, {\"op\": "
                 "\"multi_head_attention\", \"name\": \"b\", \"embed_dim\": 8, \"num_heads\": 2, "
                 "\"weights\": \"a\"%s%s}]}",
                 i < 2 ? ", \"batch_first\": true" : "", forms[i],
                 i < 2 ? ", \"batch_first\": true" : "", forms[i]);
        g = spec_graph(text, 2);
        assert_shape(spec_output(g, "a.out_proj"), 2, 5, 8);
        dlt_graph_count(g, true, &counts);
        assert_near(counts.total.parameters, 288, 0);
        assert_near(counts.total.tensors, 4, 0);
        if (i < 2)
            assert_near(counts.total.macs, 2 * (10.0 * 4 * 64 + 2 * 400), 0);
        dlt_graph_destroy(g);
    }
}

/* 3 experts of 8 x 16 + 16 + 16 x 8 + 8 and a router of 8 x 3; two experts for each of 10 rows: 20
 * rows, of which each expert takes a third, 7 and the last one 6. */
static void experts_share_the_rows(void **state)
{
    struct dlt_graph *g =
        spec_graph("{\"input\": [5, 8], \"layers\": [{\"op\": \"mixture_of_experts\", \"name\": "
                   "\"m\", \"num_experts\": 3, \"top_k\": 2, \"hidden_features\": 16}]}",
                   2);
    struct dlt_graph_counts counts;

    (void)state;
    assert_shape(spec_output(g, "m.output"), 2, 5, 8);
    assert_shape(spec_output(g, "m.expert[0].wi"), 7, 16);
    assert_shape(spec_output(g, "m.expert[2].wi"), 6, 16);
    dlt_graph_count(g, true, &counts);
    assert_near(counts.total.parameters, 24 + 3 * (128 + 16 + 128 + 8), 0);
    assert_near(counts.total.macs, 10.0 * 24 + 20.0 * 256, 0);
    dlt_graph_destroy(g);
    /* Gated without biases, as transformers' MixtralSparseMoeBlock: three products of 8 x 16. */
    g = spec_graph("{\"input\": [5, 8], \"layers\": [{\"op\": \"mixture_of_experts\", \"name\": "
                   "\"m\", \"num_experts\": 3, \"top_k\": 2, \"hidden_features\": 16, \"gated\": "
                   "true, \"bias\": false, \"activation\": \"silu\"}]}",
                   2);
    assert_shape(spec_output(g, "m.output"), 2, 5, 8);
    dlt_graph_count(g, true, &counts);
    assert_near(counts.total.parameters, 24 + 3 * 3 * 128, 0);
    assert_near(counts.total.macs, 10.0 * 24 + 20.0 * 384, 0);
    dlt_graph_destroy(g);
}

static void embeddings_keep_their_indices(void **state)
{
    struct dlt_graph *g =
        spec_graph("{\"inputs\": {\"ids\": {\"shape\": [6], \"dtype\": \"int64\"}}, \"layers\": ["
                   "{\"op\": \"embedding\", \"name\": \"e\", \"num_embeddings\": 100, "
                   "\"embedding_dim\": 8},"
                   "{\"op\": \"dense\", \"out_features\": 100, \"bias\": false, \"weights\": "
                   "\"e\"}, {\"op\": \"cross_entropy\", \"name\": \"loss\", \"inputs\": [\"@\", "
                   "\"ids\"]}]}",
                   2);
    struct dlt_node_counts counts;
    struct dlt_graph_counts all;

    (void)state;
    assert_shape(spec_output(g, "e"), 2, 6, 8);
    dlt_node_count(g, spec_node(g, "e"), true, &counts);
    assert_near(counts.parameters, 800, 0);
    assert_near(4 * counts.saved, 8 * 12, 0);
    assert_near(counts.forward_bytes, 4 * 2 * 96, 0);
    assert_near(counts.backward_bytes, 4 * (800 + 3 * 96), 0);
    dlt_graph_count(g, true, &all);
    assert_near(all.total.parameters, 800, 0);
    assert_int_equal(spec_output(g, "loss")->rank, 0);
    dlt_graph_destroy(g);
}

static void views_and_copies_have_the_shapes_of_torch(void **state)
{
    static const struct expected table[] = {
        {"[6, 8]", "{\"op\": \"reshape\", \"shape\": [0, -1, 4]}", 3, {2, 12, 4}, 0, 0, 0, 0},
        {"[6, 8]", "{\"op\": \"transpose\", \"dim0\": 1, \"dim1\": -1}", 3, {2, 8, 6}, 0, 0, 0, 0},
        {"[6, 8, 3]",
         "{\"op\": \"permute\", \"dims\": [3, 0, -2, 1]}",
         4,
         {3, 2, 8, 6},
         0,
         0,
         0,
         0},
        {"[1, 8]", "{\"op\": \"squeeze\", \"dim\": 1}", 2, {2, 8}, 0, 0, 0, 0},
        {"[8]", "{\"op\": \"unsqueeze\", \"dim\": -1}", 3, {2, 8, 1}, 0, 0, 0, 0},
        {"[9]",
         "{\"op\": \"slice\", \"dim\": 1, \"start\": -7, \"end\": -1, \"step\": 4}",
         2,
         {2, 2},
         0,
         0,
         0,
         0},
        {"[1, 8]", "{\"op\": \"expand\", \"shape\": [3, -1, 5, 8]}", 4, {3, 2, 5, 8}, 0, 0, 0, 0},
        {"[6, 8]",
         "{\"op\": \"pad\", \"padding\": [1, 2, 0, -3]}",
         3,
         {2, 3, 11},
         0,
         0,
         0,
         4 * 2 * 66},
        {"[8, 3, 5]",
         "{\"op\": \"pixel_shuffle\", \"upscale_factor\": 2}",
         4,
         {2, 2, 6, 10},
         0,
         0,
         0,
         4 * 2 * 240},
        {"[2, 6, 10]",
         "{\"op\": \"pixel_unshuffle\", \"downscale_factor\": 2}",
         4,
         {2, 8, 3, 5},
         0,
         0,
         0,
         4 * 2 * 240},
        {"[2, 3, 4]",
         "{\"op\": \"upsample\", \"scale_factor\": 2}",
         4,
         {2, 2, 6, 8},
         0,
         0,
         0,
         4 * (48 + 192)},
        {"[2, 3, 4]",
         "{\"op\": \"upsample\", \"size\": [5, 2], \"mode\": \"bilinear\"}",
         4,
         {2, 2, 5, 2},
         0,
         0,
         0,
         4 * (48 + 40)},
        {"[3, 4]",
         "{\"op\": \"mean\", \"dim\": -1, \"keepdim\": true}",
         3,
         {2, 3, 1},
         0,
         0,
         0,
         4 * (24 + 6)},
        {"[3, 4]", "{\"op\": \"sum\"}", 0, {0}, 0, 0, 0, 4 * 25},
        {"[3, 4]", "{\"op\": \"max\", \"dim\": [1, 2]}", 1, {2}, 0, 0, 8 * 2, 4 * 26},
    };

    (void)state;
    CHECK(table);
}

static void what_does_not_fit_is_refused_with_a_reason(void **state)
{
    static const struct {
        const char *input, *layer, *sentence;
    } wrong[] = {
        {"[4, 8]",
         "{\"op\": \"conv_transpose1d\", \"out_channels\": 2, \"kernel_size\": 3, "
         "\"output_padding\": 1}",
         "layers[0] (conv_transpose1d): output_padding 1 has to be smaller than stride or "
         "dilation"},
        {"[4, 8]", "{\"op\": \"reshape\", \"shape\": [0, -1, 7]}",
         "layers[0] (reshape): [1, -1, 7] does not have the elements of [1, 4, 8]"},
        {"[4, 8]", "{\"op\": \"permute\", \"dims\": [0, 1, 1]}",
         "layers[0] (permute): dims: dimension 1 stands in it twice"},
        {"[4, 8]", "{\"op\": \"slice\", \"dim\": 1, \"start\": 4}",
         "layers[0] (slice): nothing of the 4 in dimension 1 lies between start and end"},
        {"[4, 8]", "{\"op\": \"group_norm\", \"num_groups\": 3}",
         "layers[0] (group_norm): num_groups 3 does not divide the 4 channels"},
        {"[4, 8]", "{\"op\": \"embedding\", \"num_embeddings\": 3, \"embedding_dim\": 2}",
         "layers[0] (embedding): its input holds no integers; give it \"dtype\": \"int64\""},
        {"[4, 8]", "{\"op\": \"multi_head_attention\", \"embed_dim\": 8, \"num_heads\": 3}",
         "layers[0] (multi_head_attention): num_heads 3 does not divide embed_dim 8"},
        {"[4, 8]", "{\"op\": \"lstm\", \"hidden_size\": 4, \"proj_size\": 4}",
         "layers[0] (lstm): proj_size 4 has to be smaller than hidden_size 4"},
        {"[4, 8]", "{\"op\": \"upsample\"}",
         "layers[0] (upsample): it takes one of size and scale_factor"},
        {"[4, 8]", "{\"op\": \"pad\", \"padding\": [0, -8]}",
         "layers[0] (pad): its output would be [1, 4, 0]; sizes range from 1 to 2147483647"},
        {"[4, 8]", "{\"op\": \"matmul\", \"inputs\": [\"@\", \"@\"]}",
         "layers[0] (matmul): shapes [1, 4, 8] and [1, 4, 8] do not multiply"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct dlt_model *model;
        char text[512], *sentence;

        snprintf(text, sizeof text, "{\"input\": %s, \"layers\": [%s]}", wrong[i].input,
                 wrong[i].layer);
        assert_int_equal(spec_load(text, strlen(text), "", &model), -1);
        sentence = strstr(spec_error, "layers[0]");
        assert_non_null(sentence);
        assert_string_equal(sentence, wrong[i].sentence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_in_one_and_three_dimensions),
        cmocka_unit_test(transposed_convolutions),
        cmocka_unit_test(pools),
        cmocka_unit_test(norms),
        cmocka_unit_test(recurrent_layers),
        cmocka_unit_test(products_of_two_tensors_keep_what_the_other_ones_gradient_needs),
        cmocka_unit_test(multi_head_attention_is_its_parts),
        cmocka_unit_test(experts_share_the_rows),
        cmocka_unit_test(embeddings_keep_their_indices),
        cmocka_unit_test(views_and_copies_have_the_shapes_of_torch),
        cmocka_unit_test(what_does_not_fit_is_refused_with_a_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
