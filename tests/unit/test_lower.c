/* SPDX-License-Identifier: Apache-2.0 */
/* Priced units: what is fused, in which type it runs, which gradients are needed. */
#include "lower/lower.h"
#include "spec.h"

static const char small[] =
    "{\"input\": [3, 8, 8], \"layers\": ["
    "{\"op\": \"conv2d\", \"name\": \"first\", \"out_channels\": 8, \"kernel_size\": 3, "
    "\"padding\": 1},"
    "{\"op\": \"batch_norm\", \"name\": \"norm\"},"
    "{\"op\": \"relu\", \"name\": \"act\"},"
    "{\"op\": \"conv2d\", \"name\": \"second\", \"out_channels\": 8, \"kernel_size\": 3, "
    "\"padding\": 1},"
    "{\"op\": \"relu\", \"name\": \"act2\"},"
    "{\"op\": \"add\", \"name\": \"sum\", \"inputs\": [\"@\", \"act\"]},"
    "{\"op\": \"gelu\", \"name\": \"act3\"},"
    "{\"op\": \"dropout\", \"name\": \"drop\"},"
    "{\"op\": \"flatten\", \"name\": \"flat\"},"
    "{\"op\": \"dense\", \"name\": \"head\", \"out_features\": 10},"
    "{\"op\": \"softmax\", \"name\": \"soft\"}]}";

/* A graph, lowered. */
struct lowered {
    struct dlt_model *model;
    struct dlt_graph *graph;
    struct dlt_plan *plan;
};

static struct lowered lower_text(const char *text, const char *keys, bool training)
{
    struct lowered l;
    struct dlt_error error;

    if (spec_load(text, strlen(text), keys, &l.model))
        fail_msg("%s", spec_error);
    if (dlt_model_graph(l.model, 4, &l.graph, &error) ||
        dlt_lower(l.graph, &l.model->training, training, 0, &l.plan, &error))
        fail_msg("%s", error.text);
    return l;
}

static void release(struct lowered *l)
{
    dlt_plan_destroy(l->plan);
    dlt_graph_destroy(l->graph);
    dlt_model_destroy(l->model);
}

/* The unit that covers a node; NULL: none does. */
static const struct dlt_unit *find_unit(const struct lowered *l, const char *name)
{
    int node = (int)spec_node(l->graph, name);

    for (size_t i = 0; i < l->plan->unit_count; i++)
        for (int k = 0; k < l->plan->unit[i].cover_count; k++)
            if (l->plan->unit[i].covers[k] == node)
                return &l->plan->unit[i];
    return NULL;
}

static void eager_pytorch_runs_one_unit_a_node_and_views_are_free(void **state)
{
    struct lowered l = lower_text(small, "", true);

    (void)state;
    assert_int_equal(l.plan->unit_count, 10); /* 11 nodes without flatten */
    assert_null(find_unit(&l, "flat"));
    for (size_t i = 0; i < l.plan->unit_count; i++) {
        assert_int_equal(l.plan->unit[i].cover_count, 1);
        assert_int_equal(l.plan->unit[i].covers[0], l.plan->unit[i].node);
        assert_int_equal(l.plan->unit[i].record.pass, DLT_FORWARD);
        assert_int_equal(l.plan->unit[i].record.activation, DLT_FUNCTION_NONE);
    }
    release(&l);
}

static void inference_has_neither_dropout_nor_gradients_nor_an_update(void **state)
{
    struct lowered l = lower_text(small, "", false);

    (void)state;
    assert_int_equal(l.plan->unit_count, 9);
    assert_null(find_unit(&l, "drop"));
    assert_int_equal(find_unit(&l, "norm")->record.u.spatial.training, 0);
    for (size_t i = 0; i < l.plan->unit_count; i++) {
        assert_false(l.plan->unit[i].data_gradient || l.plan->unit[i].weight_gradient);
        assert_near(l.plan->unit[i].backward_kernels, 0, 0);
    }
    assert_null(l.plan->update.kind);
    release(&l);
}

static void the_first_layer_has_no_data_gradient(void **state)
{
    struct lowered l = lower_text(small, "", true);
    const struct dlt_unit *first = find_unit(&l, "first"), *norm = find_unit(&l, "norm");

    (void)state;
    assert_false(first->data_gradient);
    assert_true(first->weight_gradient);
    assert_true(norm->data_gradient && norm->weight_gradient);
    assert_true(find_unit(&l, "act")->data_gradient);
    assert_false(find_unit(&l, "act")->weight_gradient);
    release(&l);
}

/* A frozen trunk before a new head: the trunk runs forward alone. */
static void a_frozen_trunk_has_no_gradients(void **state)
{
    static const char text[] =
        "{\"input\": [16], \"layers\": [{\"trainable\": false, \"name\": \"trunk\", \"layers\": ["
        "{\"op\": \"dense\", \"name\": \"a\", \"out_features\": 32}, {\"op\": \"relu\", \"name\": "
        "\"r\"}, {\"op\": \"dense\", \"name\": \"b\", \"out_features\": 32}]},"
        "{\"op\": \"dense\", \"name\": \"tuned\", \"out_features\": 8},"
        "{\"op\": \"dense\", \"name\": \"frozen\", \"out_features\": 8, \"trainable\": false},"
        "{\"op\": \"dense\", \"name\": \"head\", \"out_features\": 2}]}";
    struct lowered l = lower_text(text, "", true);
    static const struct {
        const char *name;
        bool data, weight;
    } expected[] = {
        {"trunk.a", false, false}, {"trunk.r", false, false}, {"trunk.b", false, false},
        {"tuned", false, true},    {"frozen", true, false},   {"head", true, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct dlt_unit *unit = find_unit(&l, expected[i].name);

        assert_int_equal(unit->data_gradient, expected[i].data);
        assert_int_equal(unit->weight_gradient, expected[i].weight);
    }
    /* 32 x 8 + 8 and 8 x 2 + 2 are updated and all-reduced. */
    assert_int_equal(l.plan->update.u.update.elements, 264 + 18);
    assert_int_equal(l.plan->update.u.update.tensors, 4);
    assert_near(l.plan->gradient_bytes, 4 * 282, 0);
    release(&l);
}

static void integer_inputs_carry_no_gradient(void **state)
{
    static const char text[] =
        "{\"inputs\": {\"ids\": {\"shape\": [8], \"dtype\": \"int64\"}, \"x\": [8]}, \"layers\": "
        "[{\"op\": \"dense\", \"name\": \"d\", \"out_features\": 8, \"inputs\": [\"x\"]}, {\"op\": "
        "\"concat\", \"inputs\": [\"ids\", \"ids\"]}]}";
    struct lowered l = lower_text(text, "", true);

    (void)state;
    assert_false(find_unit(&l, "concat_1")->data_gradient);
    release(&l);
}

/* y = a b: dL/da = dL/dy b', dL/db = a' dL/dy, where either side was computed by layers. */
static void a_product_of_two_tensors_has_a_gradient_for_each(void **state)
{
    struct lowered l =
        lower_text("{\"input\": [8, 16], \"layers\": ["
                   "{\"op\": \"dense\", \"name\": \"q\", \"out_features\": 16},"
                   "{\"op\": \"transpose\", \"name\": \"turned\", \"dim0\": 1, \"dim1\": 2, "
                   "\"inputs\": [\"@input\"]},"
                   "{\"op\": \"matmul\", \"name\": \"one\", \"inputs\": [\"q\", \"turned\"]},"
                   "{\"op\": \"matmul\", \"name\": \"both\", \"inputs\": [\"one\", \"q\"]}]}",
                   "", true);

    (void)state;
    assert_true(find_unit(&l, "one")->data_gradient);
    assert_false(find_unit(&l, "one")->both_gradients);
    assert_true(find_unit(&l, "both")->both_gradients);
    assert_near(find_unit(&l, "both")->backward_kernels, 2 * find_unit(&l, "one")->backward_kernels,
                1e-9);
    release(&l);
}

static void dropout_of_nothing_runs_nothing(void **state)
{
    struct lowered l = lower_text("{\"input\": [8], \"layers\": ["
                                  "{\"op\": \"dense\", \"out_features\": 8},"
                                  "{\"op\": \"dropout\", \"name\": \"none\", \"p\": 0},"
                                  "{\"op\": \"dropout\", \"name\": \"some\", \"p\": 0.1}]}",
                                  "", true);

    (void)state;
    assert_null(find_unit(&l, "none"));
    assert_non_null(find_unit(&l, "some"));
    release(&l);
}

static void tensorflow_fuses_an_activation_into_its_product(void **state)
{
    struct lowered l = lower_text(small, ",framework=tensorflow", true);
    const struct dlt_unit *second = find_unit(&l, "second");

    (void)state;
    assert_int_equal(l.plan->unit_count, 9);
    assert_ptr_equal(find_unit(&l, "act2"), second);
    assert_int_equal(second->cover_count, 2);
    assert_int_equal(second->record.activation, DLT_RELU);
    assert_string_equal(second->name, "second");
    /* What batch_norm stands before stays apart in training. */
    assert_int_equal(find_unit(&l, "first")->cover_count, 1);
    release(&l);

    l = lower_text(small, ",framework=tensorflow", false);
    assert_ptr_equal(find_unit(&l, "norm"), find_unit(&l, "first"));
    assert_ptr_equal(find_unit(&l, "norm")->record.kind, dlt_record_kind_find("conv2d"));
    /* Two layers read what `act` gives, but only it reads the norm's output. */
    assert_ptr_equal(find_unit(&l, "act"), find_unit(&l, "first"));
    assert_int_equal(find_unit(&l, "first")->cover_count, 3);
    release(&l);
}

static void compiled_code_fuses_chains_of_elementwise_operators(void **state)
{
    static const char *const keys[] = {",compile=true", ",framework=jax"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct lowered l = lower_text(small, keys[i], true);
        const struct dlt_unit *chain = find_unit(&l, "act2");

        /* relu, add, gelu, dropout: reads the convolution's output and `act`. */
        assert_int_equal(chain->cover_count, 4);
        assert_ptr_equal(find_unit(&l, "drop"), chain);
        assert_int_equal(chain->record.u.rowwise.operands, 2);
        assert_string_equal(chain->record.kind->name, "elementwise");
        /* Two layers read `act`: it ends its unit. */
        assert_int_equal(find_unit(&l, "act")->cover_count, 1);
        assert_int_equal(l.plan->unit_count, 7);
        release(&l);
    }
}

static void benchmarks_of_plain_primitives_fuse_nothing(void **state)
{
    struct lowered l = lower_text(small, ",framework=none", true);

    (void)state;
    assert_int_equal(l.plan->unit_count, 10);
    assert_int_equal(l.plan->update.u.update.implementation, DLT_FOR_LOOP);
    release(&l);
}

static void amp_runs_products_in_half_and_softmax_in_float32(void **state)
{
    static const char text[] =
        "{\"input\": [8, 16], \"layers\": [{\"op\": \"dense\", \"name\": \"d\", "
        "\"out_features\": 16}, {\"op\": \"gelu\", \"name\": \"g\"}, {\"op\": \"layer_norm\", "
        "\"name\": \"n\"}, {\"op\": \"relu\", \"name\": \"r\"}, {\"op\": \"softmax\", \"name\": "
        "\"s\"}]}";
    struct lowered l = lower_text(text, ",precision=amp-float16", true);

    (void)state;
    assert_int_equal(find_unit(&l, "d")->record.dtype, DLT_FLOAT16);
    assert_int_equal(find_unit(&l, "g")->record.dtype, DLT_FLOAT16);
    assert_int_equal(find_unit(&l, "n")->record.dtype, DLT_FLOAT32);
    assert_int_equal(find_unit(&l, "r")->record.dtype, DLT_FLOAT32);
    assert_int_equal(find_unit(&l, "s")->record.dtype, DLT_FLOAT32);
    assert_int_equal(l.plan->update.dtype, DLT_FLOAT32);
    assert_near(l.plan->gradient_bytes, 4 * (16 * 16 + 16 + 32), 0);
    /* Casts: the 4 x 8 x 16 inputs of d and of n, d's 256 weights. Then the loss scale is undone.
     */
    assert_string_equal(l.plan->unit[0].name, "casts");
    assert_int_equal(l.plan->unit[0].node, -1);
    assert_int_equal(l.plan->unit[0].record.u.rowwise.columns, 512 + 512 + 256);
    assert_string_equal(l.plan->unit[l.plan->unit_count - 1].name, "unscale");
    release(&l);

    l = lower_text(text, ",precision=bfloat16", true);
    for (size_t i = 0; i < l.plan->unit_count; i++)
        assert_int_equal(l.plan->unit[i].record.dtype, DLT_BFLOAT16);
    assert_near(l.plan->gradient_bytes, 2 * (16 * 16 + 16 + 32), 0);
    release(&l);
}

static void tf32_changes_the_arithmetic_of_products_alone(void **state)
{
    struct lowered l = lower_text(small, ",precision=tf32", true);

    (void)state;
    for (size_t i = 0; i < l.plan->unit_count; i++)
        assert_int_equal(l.plan->unit[i].record.dtype, DLT_FLOAT32);
    assert_int_equal(find_unit(&l, "first")->record.math, DLT_TF32);
    assert_int_equal(find_unit(&l, "head")->record.math, DLT_TF32);
    assert_int_equal(find_unit(&l, "norm")->record.math, DLT_IEEE);
    release(&l);
}

static void units_of_the_same_work_are_recognised(void **state)
{
    static const char text[] =
        "{\"input\": [16], \"layers\": ["
        "{\"op\": \"dense\", \"name\": \"a\", \"out_features\": 16}, {\"op\": \"dense\", \"name\": "
        "\"b\", \"out_features\": 16}, {\"op\": \"dense\", \"name\": \"c\", \"out_features\": 16}, "
        "{\"op\": \"dense\", \"name\": \"d\", \"out_features\": 8}]}";
    struct lowered l = lower_text(text, "", true);

    (void)state;
    assert_int_equal(l.plan->unit[0].same_as, -1);
    assert_int_equal(l.plan->unit[1].same_as, -1); /* has a data gradient, the first has none */
    assert_int_equal(l.plan->unit[2].same_as, 1);
    assert_int_equal(l.plan->unit[3].same_as, -1);
    release(&l);
}

/* PyTorch: SGD's for-loop launches a kernel for each tensor, momentum three; foreach three for 48
 * tensors together; fused one. On a CPU torch.optim takes foreach for no default of its own
 * (torch/optim/optimizer.py, _default_to_fused_or_foreach: all parameters on a GPU). */
static void the_update_launches_what_its_implementation_does(void **state)
{
    static const struct {
        const char *keys;
        int threads;
        double kernels;
    } expected[] = {
        {",optimizer=sgd,implementation=for_loop", 0, 161},
        {",optimizer=momentum,implementation=for_loop", 0, 3 * 161},
        {",optimizer=momentum", 0, 3 * 4},
        {",optimizer=momentum", 1, 3 * 161},
        {",optimizer=adamw,implementation=fused", 0, 4},
        {",optimizer=adamw,implementation=fused", 2, 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char spec[128];
        struct dlt_error error;
        struct lowered l;

        snprintf(spec, sizeof spec, "resnet50%s", expected[i].keys);
        if (dlt_model_load(spec, NULL, &l.model, &error) ||
            dlt_model_graph(l.model, 1, &l.graph, &error) ||
            dlt_lower(l.graph, &l.model->training, true, expected[i].threads, &l.plan, &error))
            fail_msg("%s", error.text);
        assert_int_equal(l.plan->update.u.update.tensors, 161);
        assert_int_equal(l.plan->update.u.update.elements, 25557032);
        assert_int_equal(l.plan->update.pass, DLT_UPDATE);
        assert_near(l.plan->update_kernels, expected[i].kernels, 0);
        release(&l);
    }
}

/* A transformer's embedding, attention and head. */
static const char tokens[] =
    "{\"inputs\": {\"ids\": {\"shape\": [6], \"dtype\": \"int64\"}, \"keep\": {\"shape\": [6, 8], "
    "\"dtype\": \"bool\"}}, \"layers\": ["
    "{\"op\": \"embedding\", \"name\": \"words\", \"num_embeddings\": 50, \"embedding_dim\": 8, "
    "\"inputs\": [\"ids\"]},"
    "{\"op\": \"parameter\", \"name\": \"places\", \"shape\": [6, 8]},"
    "{\"op\": \"add\", \"name\": \"sum\", \"inputs\": [\"words\", \"places\"]},"
    "{\"op\": \"multi_head_attention\", \"name\": \"a\", \"embed_dim\": 8, \"num_heads\": 2, "
    "\"batch_first\": true, \"need_weights\": false},"
    "{\"op\": \"where\", \"name\": \"masked\", \"inputs\": [\"keep\", \"@\", \"@\"]},"
    "{\"op\": \"exp\", \"name\": \"exp\"},"
    "{\"op\": \"lstm\", \"name\": \"lstm\", \"hidden_size\": 4, \"batch_first\": true},"
    "{\"op\": \"mean\", \"name\": \"mean\", \"dim\": 1},"
    "{\"op\": \"cross_entropy\", \"name\": \"loss\"}]}";

/* PyTorch's autocast reference: products, attention and cuDNN's recurrent layers run in half; exp
 * and losses in float32; an embedding gives what its float32 table holds; a boolean decides
 * nothing. */
static void amp_runs_the_other_operators_as_autocast_does(void **state)
{
    static const struct {
        const char *name;
        enum dlt_dtype dtype;
    } expected[] = {
        {"words", DLT_FLOAT32},       {"sum", DLT_FLOAT32},     {"a.attention", DLT_BFLOAT16},
        {"a.out_proj", DLT_BFLOAT16}, {"masked", DLT_BFLOAT16}, {"exp", DLT_FLOAT32},
        {"lstm", DLT_BFLOAT16},       {"mean", DLT_BFLOAT16},   {"loss", DLT_FLOAT32}};
    struct lowered l = lower_text(tokens, ",precision=amp-bfloat16", true);

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(find_unit(&l, expected[i].name)->record.dtype, expected[i].dtype);
    assert_null(find_unit(&l, "places"));
    assert_int_equal(find_unit(&l, "a.attention")->record.u.attention.heads, 2);
    release(&l);
}

/* A table's gradient is set to zero and then added to; nothing goes back to the token ids. */
static void tables_have_weight_gradients_alone(void **state)
{
    struct lowered l = lower_text(tokens, "", true);
    const struct dlt_unit *words = find_unit(&l, "words");

    (void)state;
    assert_false(words->data_gradient);
    assert_true(words->weight_gradient);
    assert_near(words->backward_kernels, 2, 0);
    assert_true(find_unit(&l, "sum")->data_gradient);
    /* 50 x 8 + 6 x 8 + (8 x 24 + 24 + 8 x 8 + 8) + 4 x 4 x (8 + 4) + 2 x 16 */
    assert_int_equal(l.plan->update.u.update.elements, 400 + 48 + 288 + 224);
    assert_int_equal(l.plan->update.u.update.tensors, 1 + 1 + 4 + 4);
    release(&l);
}

static struct dlt_memory memory_of(const char *keys, int devices)
{
    char spec[256];
    struct dlt_error error;
    struct dlt_model *model = NULL;
    struct dlt_graph *graph = NULL;
    struct dlt_memory memory;

    snprintf(spec, sizeof spec, "resnet50%s", keys);
    if (dlt_model_load(spec, NULL, &model, &error) || dlt_model_graph(model, 32, &graph, &error))
        fail_msg("%s", error.text);
    dlt_plan_memory(graph, &model->training, true, devices, 0, &memory);
    dlt_graph_destroy(graph);
    dlt_model_destroy(model);
    return memory;
}

static void memory_follows_precision_optimizer_and_sharding(void **state)
{
    const double weights = 4.0 * 25557032, buffers = 4.0 * 53120;
    struct dlt_memory sgd = memory_of(",optimizer=sgd", 1);
    struct dlt_memory adam = memory_of(",optimizer=adam", 1);
    struct dlt_memory half = memory_of(",precision=amp-float16", 1);
    struct dlt_memory zero1 = memory_of(",optimizer=adam,sharding=zero1", 8);
    struct dlt_memory zero2 = memory_of(",optimizer=adam,sharding=zero2", 8);
    struct dlt_memory fsdp = memory_of(",optimizer=adam,sharding=fsdp", 8);
    struct dlt_memory zero3 = memory_of(",optimizer=adam,sharding=zero3", 8);
    struct dlt_memory momentum = memory_of(",optimizer=momentum", 1);
    struct dlt_memory amp_adam = memory_of(",optimizer=adam,precision=amp-float16", 1);
    struct dlt_memory pure = memory_of(",optimizer=adam,precision=bfloat16", 1);
    struct dlt_memory recompute = memory_of(",recompute=true", 1);

    (void)state;
    assert_near(sgd.parameters, weights + buffers, 0);
    assert_near(sgd.gradients, weights, 0);
    assert_near(sgd.optimizer, 0, 0);
    assert_near(adam.optimizer, 2 * weights, 0);
    assert_near(zero1.optimizer, 2 * weights / 8, 0);
    assert_near(zero1.gradients, weights, 0);
    assert_near(zero2.gradients, weights / 8, 0);
    /* Adam in float32: 4 bytes of the weight, 4 of its gradient, 8 of state a parameter. */
    assert_near(adam.parameters - buffers + adam.gradients + adam.optimizer, 16.0 * 25557032, 0);
    /* zero3 shards all three; momentum keeps one array, sgd none. */
    assert_near(zero3.optimizer, 2 * weights / 8, 0);
    assert_near(zero3.gradients, weights / 8, 0);
    assert_near(momentum.optimizer, weights, 0);
    assert_near(zero3.parameters, fsdp.parameters, 0);
    assert_true(zero3.parameters >= weights / 8);
    /* amp: float32 weights and state, and half copies of what it casts; batch_norm's stay. */
    assert_near(amp_adam.optimizer, 2 * weights, 0);
    assert_true(amp_adam.parameters > 1.49 * weights && amp_adam.parameters < 1.51 * weights);
    assert_near(pure.parameters + pure.gradients + pure.optimizer, 8.0 * 25557032 + buffers / 2,
                0.01 * weights);
    assert_true(fsdp.parameters < weights / 4);
    assert_true(half.activations < 0.55 * sgd.activations);
    assert_true(recompute.activations < 0.5 * sgd.activations);
    /* At least what autograd keeps of 32 images (172,031,488 bytes for two, see test_graph). */
    assert_true(sgd.activations > 0.98 * 16 * 172031488.0);
    /* Gradients come while activations go. */
    assert_true(sgd.total < sgd.parameters + sgd.gradients + sgd.optimizer + sgd.activations +
                                sgd.workspace + sgd.context);
    assert_true(sgd.total > sgd.parameters + sgd.optimizer + sgd.activations + sgd.context);
}

/* Words of 1000 x 64, read and written: under autocast torch keeps a half copy of the matrix for
 * the product (torch.autograd.graph.saved_tensors_hooks shows it), tied or not. */
static void amp_copies_tied_words(void **state)
{
    static const char text[] =
        "{\"inputs\": {\"ids\": {\"shape\": [8], \"dtype\": \"int64\"}}, \"layers\": ["
        "{\"op\": \"embedding\", \"name\": \"words\", \"num_embeddings\": 1000, "
        "\"embedding_dim\": 64}, {\"op\": \"dense\", \"out_features\": 1000, \"bias\": false, "
        "\"weights\": \"words\"}, {\"op\": \"dense\", \"name\": \"d\", \"out_features\": 10}, "
        "{\"op\": \"dense\", \"out_features\": 1000}, {\"op\": \"dense\", \"out_features\": 10, "
        "\"weights\": \"d\"}], \"training\": {\"precision\": \"amp-bfloat16\"}}";
    /* d: 1000 x 10 + 10, used twice; between them 10 x 1000 + 1000 */
    const double words = 64000, others = 10010 + 11000;
    struct dlt_model *model;
    struct dlt_graph *graph = NULL;
    struct dlt_memory memory;
    struct dlt_error error;

    (void)state;
    if (spec_load(text, strlen(text), "", &model) || dlt_model_graph(model, 2, &graph, &error))
        fail_msg("%s", spec_error);
    dlt_plan_memory(graph, &model->training, true, 1, 0, &memory);
    assert_near(memory.parameters, 6 * (words + others), 0);
    dlt_graph_destroy(graph);
    dlt_model_destroy(model);
}

/*
 * Three dense layers of 1000 x 1000 without bias over 250 rows of float32: 4 MB of weights and 1 MB
 * of activations each. Kept: the input and two outputs, since a dense layer keeps its input: 3 MB.
 * Backward of the third layer holds those, the gradients of its output and input (2 MB) and of its
 * weights (4): 9 MB; of the second, two activations (2), two gradients (2) and two weights' (8):
 * 12; of the first, the input (1), the gradient of its output alone (1) and three weights'
 * (12): 14. With gradients of earlier batches it is the third layer that counts: 3 + 2 + 12 = 17.
 * Adam's lists of intermediate results: 2 x 12 = 24. The forward pass alone: input and output of
 * the last layers, and the network's input: 3.
 */
static void memory_is_the_peak_over_the_step(void **state)
{
    static const char text[] = "{\"input\": [1000], \"layers\": [{\"repeat\": 3, \"layers\": ["
                               "{\"op\": \"dense\", \"out_features\": 1000, \"bias\": false}]}], "
                               "\"training\": {\"framework\": \"none\"}}";
    static const struct {
        const char *keys;
        bool training;
        int threads;
        double total; /* besides 12 MB of weights */
    } expected[] = {{"", true, 0, 14e6},
                    {",accumulate=2", true, 0, 17e6},
                    {",optimizer=adam,implementation=fused", true, 0, 24e6 + 14e6},
                    {",optimizer=adam,framework=pytorch", true, 0, 24e6 + 24e6 + 600 * 1048576.0},
                    {",framework=pytorch", true, 2, 14e6 + 230 * 1048576.0},
                    {"", false, 0, 3e6}};

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct dlt_model *model;
        struct dlt_graph *graph = NULL;
        struct dlt_memory memory;
        struct dlt_error error;

        if (spec_load(text, strlen(text), expected[i].keys, &model) ||
            dlt_model_graph(model, 250, &graph, &error))
            fail_msg("%s", spec_error);
        dlt_plan_memory(graph, &model->training, expected[i].training, 1, expected[i].threads,
                        &memory);
        assert_near(memory.total, 12e6 + expected[i].total, 1);
        dlt_graph_destroy(graph);
        dlt_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eager_pytorch_runs_one_unit_a_node_and_views_are_free),
        cmocka_unit_test(inference_has_neither_dropout_nor_gradients_nor_an_update),
        cmocka_unit_test(the_first_layer_has_no_data_gradient),
        cmocka_unit_test(a_frozen_trunk_has_no_gradients),
        cmocka_unit_test(integer_inputs_carry_no_gradient),
        cmocka_unit_test(a_product_of_two_tensors_has_a_gradient_for_each),
        cmocka_unit_test(dropout_of_nothing_runs_nothing),
        cmocka_unit_test(tensorflow_fuses_an_activation_into_its_product),
        cmocka_unit_test(compiled_code_fuses_chains_of_elementwise_operators),
        cmocka_unit_test(benchmarks_of_plain_primitives_fuse_nothing),
        cmocka_unit_test(amp_runs_products_in_half_and_softmax_in_float32),
        cmocka_unit_test(amp_runs_the_other_operators_as_autocast_does),
        cmocka_unit_test(tables_have_weight_gradients_alone),
        cmocka_unit_test(tf32_changes_the_arithmetic_of_products_alone),
        cmocka_unit_test(units_of_the_same_work_are_recognised),
        cmocka_unit_test(the_update_launches_what_its_implementation_does),
        cmocka_unit_test(memory_follows_precision_optimizer_and_sharding),
        cmocka_unit_test(amp_copies_tied_words),
        cmocka_unit_test(memory_is_the_peak_over_the_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
