/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that exporters write as many nodes, and the nodes that onnxruntime's optimiser makes of
 * layers: each becomes the layer that PyTorch has, with its parameters. */
#include "graph/graph.h"
#include "graph/op.h"
#include "onnx_write.h"
#include "spec.h"

static void scalar(struct onnx_bytes *g, const char *name, float value)
{
    struct onnx_bytes tensor = {0};

    onnx_int(&tensor, 2, 1);
    onnx_text(&tensor, 8, name);
    onnx_data(&tensor, 9, &value, sizeof value);
    onnx_put(g, 5, &tensor);
}

static bool reads(const char *nodes, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = nodes; (at = strstr(at, name)); at += length)
        if (at > nodes && at[-1] == ' ' && at[length] == ' ')
            return true;
    return false;
}

/* What nodes may read: x and y of batch x 8 x 16, ids of batch x 8, numbers, weights. An
 * initializer that none reads would be told of. */
static void inputs(struct onnx_bytes *g, const char *nodes)
{
    static const struct {
        const char *name;
        float value;
    } number[] = {{"zero", 0}, {"one", 1}, {"two", 2}, {"six", 6}};
    static const struct {
        const char *name;
        int64_t dim[3];
    } weight[] = {
        {"w", {16}},    {"b", {16}},          {"matrix", {16, 48}}, {"turned", {48, 16}},
        {"bias", {48}}, {"column", {8, 1}},   {"shift", {8, 1}},    {"ones", {4}},
        {"zeros", {4}}, {"words", {100, 16}}, {"places", {32, 16}}, {"segments", {2, 16}},
    };

    onnx_input(g, "x", 1, -1, 8, 16);
    onnx_input(g, "y", 1, -1, 8, 16);
    onnx_input(g, "ids", 7, -1, 8);
    onnx_ints(g, "groups", 0, 4, -1);
    onnx_ints(g, "last", -1);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (reads(nodes, number[i].name))
            scalar(g, number[i].name, number[i].value);
    for (size_t i = 0; i < sizeof weight / sizeof *weight; i++)
        if (reads(nodes, weight[i].name))
            onnx_weight(g, weight[i].name, weight[i].dim);
}

/* Nodes as lines "OP INPUTS > OUTPUT ATTRIBUTES"; OP begins with "ms:" in onnxruntime's domain. */
static void nodes(struct onnx_bytes *g, const char *text)
{
    char line[256], op[64], attributes[96], *arrow, *in;
    struct onnx_bytes node;
    size_t length;

    for (; *text; text += length + (text[length] == '\n')) {
        char out[32];
        int used = 0;

        length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        arrow = strchr(line, '>');
        assert_non_null(arrow);
        *arrow = '\0';
        *attributes = '\0';
        assert_int_equal(sscanf(line, "%63s %n", op, &used), 1);
        in = line + used;
        assert_true(sscanf(arrow + 1, "%31s %95[^\n]", out, attributes) >= 1);
        node = onnx_node_bytes(strncmp(op, "ms:", 3) == 0 ? op + 3 : op, in, out, attributes);
        if (strncmp(op, "ms:", 3) == 0)
            onnx_text(&node, 7, "com.microsoft");
        onnx_put(g, 1, &node);
    }
}

/* The graph's operators as words. */
static const char *operators(const struct dlt_graph *graph)
{
    static char text[256];
    size_t used = 0;

    *text = '\0';
    for (size_t i = 0; i < graph->node_count && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "",
                                 graph->node[i].op->name);
    return text;
}

struct written {
    const char *nodes, *operators;
    double parameters;
    int64_t width; /* of the output, batch x 8 x width; 0: batch x 8 */
};

static void becomes(const struct written *w)
{
    struct onnx_bytes g = {0};
    struct dlt_graph_counts counts;
    struct dlt_graph *graph;
    const struct dlt_tensor *out;

    inputs(&g, w->nodes);
    nodes(&g, w->nodes);
    onnx_output(&g, "out");
    graph = onnx_build(&g, "", 2);
    if (strcmp(operators(graph), w->operators) != 0)
        fail_msg("%s\nbecame %s", w->nodes, operators(graph));
    dlt_graph_count(graph, true, &counts);
    assert_near(counts.total.parameters, w->parameters, 0);
    out = &graph->tensor[graph->node[graph->node_count - 1].output];
    assert_int_equal(out->dim[0], 2);
    assert_int_equal(out->dim[1], 8);
    assert_int_equal(out->rank, w->width ? 3 : 2);
    assert_true(w->width == 0 || out->dim[2] == w->width);
    dlt_graph_destroy(graph);
}

#define EACH(cases)                                                                                \
    for (size_t i = 0; i < sizeof(cases) / sizeof *(cases); i++)                                   \
    becomes(&(cases)[i])

/* By the erf: x (1 + erf(x / sqrt(2))) / 2, where the half comes first, or is a product. By the
 * tanh, as GPT-2 has it: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2. */
static void a_gelu_in_the_ways_that_it_is_written(void **state)
{
    static const struct written cases[] = {
        {"Mul x two > half\nDiv x two > e\nErf e > erf\nAdd erf one > plus\nMul half plus > out",
         "gelu", 0, 16},
        {"Mul x two > e\nErf e > erf\nAdd one erf > plus\nMul x plus > m\nMul m two > out", "gelu",
         0, 16},
        {"Pow x six > cube\nMul cube two > t\nAdd x t > s\nMul s two > e\nTanh e > tanh\n"
         "Add tanh one > plus\nMul x two > half\nMul half plus > out",
         "gelu", 0, 16},
        {"Mul x x > square\nMul x square > cube\nMul two cube > t\nAdd t x > s\nMul two s > e\n"
         "Tanh e > tanh\nAdd one tanh > plus\nMul x plus > m\nMul m two > out",
         "gelu", 0, 16},
        /* Without the half it is something else. */
        {"Div x two > e\nErf e > erf\nAdd erf one > plus\nMul x plus > out", "scale erf scale mul",
         0, 16},
        {"Tanh x > tanh\nAdd tanh one > plus\nMul x plus > out", "tanh scale mul", 0, 16},
    };

    (void)state;
    EACH(cases);
}

static void gates_of_an_input_by_its_own_function(void **state)
{
    static const struct written cases[] = {
        {"Softplus x > p\nTanh p > t\nMul x t > out", "mish", 0, 16},
        {"HardSigmoid x > h\nMul x h > out", "hardswish", 0, 16},
        {"Sigmoid x > s\nMul s x > out", "silu", 0, 16},
        {"Sigmoid x > s\nMul s y > out", "sigmoid mul", 0, 16},
        {"Exp x > e\nReduceSum e last > s\nDiv e s > out", "softmax", 0, 16},
        {"Exp x > e\nReduceSum e last > s\nDiv y s > out", "exp sum div", 0, 16},
    };

    (void)state;
    EACH(cases);
}

/* LLaMA's and T5's norm: x / sqrt(mean(x^2) + eps), then the scale; casts stand between where the
 * network is of half precision. */
static void an_rms_norm_in_the_ways_that_it_is_written(void **state)
{
    static const struct written cases[] = {
        {"Pow x two > q\nReduceMean q > m axes=-1,\nAdd m one > e\nSqrt e > r\nDiv x r > n\n"
         "Mul n w > out",
         "rms_norm", 16, 16},
        {"Pow x two > q\nReduceMean q > m axes=-1,\nAdd one m > e\nSqrt e > r\nReciprocal r > i\n"
         "Mul x i > n\nMul w n > out",
         "rms_norm", 16, 16},
        {"Cast x > f to=1\nMul f f > q\nReduceMean q > m axes=-1,\nAdd m one > e\nSqrt e > r\n"
         "Div one r > i\nMul f i > n\nCast n > h to=10\nMul h w > out",
         "rms_norm", 16, 16},
        {"Pow x two > q\nReduceMean q > m axes=-1,\nAdd m one > e\nSqrt e > r\nDiv x r > out",
         "rms_norm", 0, 16},
        /* Of another's square. */
        {"Pow y two > q\nReduceMean q > m axes=-1,\nAdd m one > e\nSqrt e > r\nDiv x r > out",
         "pow mean scale sqrt div", 0, 16},
    };

    (void)state;
    EACH(cases);
}

/* nn.LayerNorm with the difference made once or twice, and without scale and shift. */
static void a_layer_norm_in_the_ways_that_it_is_written(void **state)
{
    static const struct written cases[] = {
        {"ReduceMean x > m axes=-1,\nSub x m > d\nMul d d > q\nReduceMean q > v axes=-1,\n"
         "Add v one > e\nSqrt e > r\nDiv d r > n\nMul n w > s\nAdd s b > out",
         "layer_norm", 32, 16},
        {"ReduceMean x > m axes=-1,\nSub x m > d\nSub x m > again\nPow again two > q\n"
         "ReduceMean q > v axes=-1,\nAdd v one > e\nSqrt e > r\nDiv d r > n\nMul n w > s\n"
         "Add b s > out",
         "layer_norm", 32, 16},
        {"ReduceMean x > m axes=-1,\nSub x m > d\nPow d two > q\nReduceMean q > v axes=-1,\n"
         "Add v one > e\nSqrt e > r\nDiv d r > out",
         "layer_norm", 0, 16},
        {"LayerNormalization x w b > out", "layer_norm", 32, 16},
        {"RMSNormalization x w > out", "rms_norm", 16, 16},
        {"ms:SimplifiedLayerNormalization x w > out", "rms_norm", 16, 16},
        {"ms:SkipSimplifiedLayerNormalization x y w b > out", "parameter add rms_norm", 32, 16},
        {"ms:SkipLayerNormalization x y w b > out", "add layer_norm", 32, 16},
    };

    (void)state;
    EACH(cases);
}

/* nn.GroupNorm(4, 8): torch.onnx writes an InstanceNormalization of four channels between two
 * Reshapes, and scale and shift of the eight channels behind it. */
static void a_group_norm_between_two_reshapes(void **state)
{
    static const struct written cases[] = {
        {"Shape x > shape\nReshape x groups > g\nInstanceNormalization g ones zeros > i\n"
         "Reshape i shape > back\nMul back column > s\nAdd s shift > out",
         "group_norm", 16, 16},
        {"Shape x > shape\nReshape x groups > g\nInstanceNormalization g ones zeros > i\n"
         "Reshape i shape > out",
         "group_norm", 0, 16},
        {"GroupNormalization x column shift > out num_groups=4", "group_norm", 16, 16},
    };

    (void)state;
    EACH(cases);
}

/* 16 x 48 weights and 48 biases: 816. */
static void products_with_weights_are_dense_layers(void **state)
{
    static const struct written cases[] = {
        {"MatMul x matrix > p\nAdd p bias > out", "dense", 816, 48},
        {"MatMul x matrix > p\nAdd bias p > out", "dense", 816, 48},
        {"Transpose turned > t perm=1,0\nMatMul x t > p\nAdd p bias > out", "dense", 816, 48},
        {"MatMul x matrix > out", "dense", 768, 48},
        {"ms:FusedMatMul x turned > out transB=1", "dense", 768, 48},
        {"ms:FusedMatMul x y > p transB=1\nMatMul p y > out", "permute matmul matmul", 0, 16},
        {"MatMul x w > out", "parameter reshape matmul reshape", 16, 0},
    };

    (void)state;
    EACH(cases);
}

/* Words, places and segments of 16: 100 + 32 + 2 rows, and a norm. One product of 16 x 48 for
 * queries, keys and values has 816 parameters. */
static void attention_and_embeddings_of_onnxruntime(void **state)
{
    static const struct written cases[] = {
        {"ms:EmbedLayerNormalization ids ids words places segments w b > out",
         "embedding embedding embedding add layer_norm", 134 * 16 + 32, 16},
        {"ms:EmbedLayerNormalization ids - words places - w b > out",
         "embedding embedding add layer_norm", 132 * 16 + 32, 16},
        {"ms:Attention x matrix bias > out num_heads=4 unidirectional=1",
         "dense slice slice slice reshape permute reshape permute reshape permute "
         "scaled_dot_product_attention permute reshape",
         816, 16},
        {"ms:MultiHeadAttention x y y > out num_heads=4",
         "reshape permute reshape permute reshape permute scaled_dot_product_attention permute "
         "reshape",
         0, 16},
        /* Opset 23; heads that are apart stay so: 8 of 16 x 1. */
        {"Unsqueeze x last > h\nAttention h h h > a\nSqueeze a last > out",
         "reshape scaled_dot_product_attention reshape", 0, 16},
        {"Attention x y y > out q_num_heads=4 kv_num_heads=4 is_causal=1",
         "reshape permute reshape permute reshape permute scaled_dot_product_attention permute "
         "reshape",
         0, 16},
        {"RotaryEmbedding x > out", "scale", 0, 16},
        {"ms:RotaryEmbedding x ids w b > out", "scale", 0, 16},
        {"ms:BiasGelu x w > out", "parameter add gelu", 16, 16},
        {"ms:FastGelu x > out", "gelu", 0, 16},
        {"ms:QuickGelu x > out", "silu", 0, 16},
    };

    (void)state;
    EACH(cases);
}

/* torch.onnx writes nn.ReLU6 as a Clip from 0 to 6; a Dropout of nothing, as at inference, is none.
 */
static void functions_by_their_numbers(void **state)
{
    static const struct written cases[] = {
        {"Clip x zero six > out", "relu6", 0, 16},
        {"Clip x one six > out", "clamp", 0, 16},
        {"Dropout x zero > out", "identity", 0, 16},
        {"Dropout x > out", "dropout", 0, 16},
        {"Div x two > out", "scale", 0, 16},
        {"Div two x > out", "reciprocal", 0, 16},
        {"Pow x two > out", "pow", 0, 16},
        {"Sum x > d\nRelu d > out", "relu", 0, 16},
        {"Max x y > out", "maximum", 0, 16},
        {"LogSoftmax x > out axis=2", "log_softmax", 0, 16},
        {"ReduceMax x > out axes=2, keepdims=0", "max", 0, 0},
        {"ArgMax x > out axis=2 keepdims=0", "argmax", 0, 0},
        {"ReduceMean x > m noop_with_empty_axes=1\nRelu m > out", "relu", 0, 16},
    };

    (void)state;
    EACH(cases);
}

/* Nodes that cannot be are a sentence with the node in it. */
static void what_does_not_fit_is_told(void **state)
{
    static const struct {
        const char *nodes, *sentence;
    } cases[] = {
        {"ms:Attention x y > out num_heads=4", "its weight is no matrix of parameters"},
        {"ms:Attention x matrix bias > out num_heads=5", "5 heads do not divide its input"},
        {"ms:Attention x matrix bias > out num_heads=4 qkv_hidden_sizes=16,16,64",
         "qkv_hidden_sizes do not fit its weight"},
        {"ms:EmbedLayerNormalization ids ids x places segments w b > out",
         "its tables are no matrices of parameters"},
        {"ms:FusedMatMul x matrix > out transB=1", "its weight has 768 elements"},
        {"ms:SkipLayerNormalization x - w b > out", "needs an input and what skips"},
        {"GroupNormalization x column shift > out num_groups=0", "0 groups"},
        {"LayerNormalization x w b > out axis=3", "axis"},
        {"MatMul x > out", "needs two factors"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct onnx_bytes g = {0}, bytes;
        struct dlt_model *model = NULL;
        struct dlt_graph *graph = NULL;
        struct dlt_error error = {.text = ""};

        inputs(&g, cases[i].nodes);
        nodes(&g, cases[i].nodes);
        onnx_output(&g, "out");
        bytes = onnx_model(&g, 13);
        if (onnx_load(&bytes, "", &model) == 0 && dlt_model_graph(model, 2, &graph, &error) == 0)
            fail_msg("taken: %s", cases[i].nodes);
        if (!strstr(model ? error.text : onnx_error, cases[i].sentence))
            fail_msg("%s: %s", cases[i].nodes, model ? error.text : onnx_error);
        dlt_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gelu_in_the_ways_that_it_is_written),
        cmocka_unit_test(gates_of_an_input_by_its_own_function),
        cmocka_unit_test(an_rms_norm_in_the_ways_that_it_is_written),
        cmocka_unit_test(a_layer_norm_in_the_ways_that_it_is_written),
        cmocka_unit_test(a_group_norm_between_two_reshapes),
        cmocka_unit_test(products_with_weights_are_dense_layers),
        cmocka_unit_test(attention_and_embeddings_of_onnxruntime),
        cmocka_unit_test(functions_by_their_numbers),
        cmocka_unit_test(what_does_not_fit_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
