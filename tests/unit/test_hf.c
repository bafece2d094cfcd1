/* SPDX-License-Identifier: Apache-2.0 */
/* Hugging Face configurations: the parameters that transformers' classes have. */
#include "graph/graph.h"
#include "spec.h"

#define HEAD(type, class) "{\"model_type\": \"" type "\", \"architectures\": [\"" class "\"]}"
#define ROBERTA(class)                                                                             \
    "{\"model_type\": \"roberta\", \"max_position_embeddings\": 514, \"type_vocab_size\": 1,"      \
    " \"architectures\": [\"Roberta" class "\"]}"

/* Published counts: the models' cards, or sum(p.numel()) of transformers' class on that
 * configuration. */
static const struct {
    const char *config;
    double parameters;
} published[] = {
    /* bert-base-uncased without and with its masked-language head */
    {"{\"model_type\": \"bert\", \"architectures\": [\"BertModel\"]}", 109482240},
    {"{\"model_type\": \"bert\", \"architectures\": [\"BertForMaskedLM\"]}", 109514298},
    {"{\"model_type\": \"gpt2\", \"architectures\": [\"GPT2LMHeadModel\"]}", 124439808},
    {"{\"model_type\": \"gpt2\", \"n_embd\": 1600, \"n_layer\": 48, \"n_head\": 25}", 1557611200},
    /* opt-1.3b, opt-350m */
    {"{\"model_type\": \"opt\", \"hidden_size\": 2048, \"ffn_dim\": 8192, \"num_hidden_layers\": "
     "24,"
     " \"num_attention_heads\": 32}",
     1315758080},
    {"{\"model_type\": \"opt\", \"hidden_size\": 1024, \"ffn_dim\": 4096, \"num_hidden_layers\": "
     "24,"
     " \"num_attention_heads\": 16, \"word_embed_proj_dim\": 512, \"do_layer_norm_before\": false}",
     331196416},
    /* llama-7b, mistral-7b, qwen2-0.5b, gemma-2b */
    {"{\"model_type\": \"llama\"}", 6738415616},
    {"{\"model_type\": \"mistral\"}", 7241732096},
    {"{\"model_type\": \"qwen2\", \"hidden_size\": 896, \"intermediate_size\": 4864,"
     " \"num_hidden_layers\": 24, \"num_attention_heads\": 14, \"num_key_value_heads\": 2,"
     " \"tie_word_embeddings\": true}",
     494032768},
    {"{\"model_type\": \"gemma\", \"hidden_size\": 2048, \"intermediate_size\": 16384,"
     " \"num_hidden_layers\": 18, \"num_attention_heads\": 8, \"num_key_value_heads\": 1}",
     2506172416},
    /* t5-base, vit-base-patch16-224 */
    {"{\"model_type\": \"t5\", \"d_model\": 768, \"d_ff\": 3072, \"num_layers\": 12,"
     " \"num_heads\": 12}",
     222903552},
    {"{\"model_type\": \"vit\", \"num_labels\": 1000}", 86567656},
    /* roberta-base, xlm-roberta-base, distilbert-base-uncased */
    {ROBERTA("Model"), 124645632},
    {ROBERTA("ForMaskedLM"), 124697433},
    {ROBERTA("ForSequenceClassification"), 124647170},
    {"{\"model_type\": \"xlm-roberta\", \"vocab_size\": 250002, \"type_vocab_size\": 1,"
     " \"max_position_embeddings\": 514}",
     278043648},
    {"{\"model_type\": \"distilbert\", \"architectures\": [\"DistilBertModel\"]}", 66362880},
    {"{\"model_type\": \"distilbert\", \"architectures\": [\"DistilBertForMaskedLM\"]}", 66985530},
    /* Llama-3-8B, Mistral-Nemo, Mixtral-8x7B, Qwen3-0.6B, Qwen3-30B-A3B */
    {"{\"model_type\": \"llama\", \"intermediate_size\": 14336, \"num_key_value_heads\": 8,"
     " \"vocab_size\": 128256, \"rope_scaling\": {\"factor\": 8.0, \"rope_type\": \"llama3\"}}",
     8030261248},
    {"{\"model_type\": \"mistral\", \"hidden_size\": 5120, \"num_hidden_layers\": 40,"
     " \"head_dim\": 128, \"vocab_size\": 131072, \"sliding_window\": null}",
     12247782400},
    {"{\"model_type\": \"mixtral\"}", 46702792704},
    {"{\"model_type\": \"qwen3\", \"hidden_size\": 1024, \"intermediate_size\": 3072,"
     " \"num_hidden_layers\": 28, \"num_attention_heads\": 16, \"num_key_value_heads\": 8,"
     " \"tie_word_embeddings\": true}",
     596049920},
    {"{\"model_type\": \"qwen3_moe\", \"num_hidden_layers\": 48, \"head_dim\": 128,"
     " \"intermediate_size\": 6144, \"moe_intermediate_size\": 768, \"mlp_only_layers\": []}",
     30532122624},
    /* gemma-2-2b, gemma-3-1b, phi-2, Phi-3-mini, starcoder2-3b, pythia-160m */
    {"{\"model_type\": \"gemma2\"}", 2614341888},
    {"{\"model_type\": \"gemma3_text\", \"hidden_size\": 1152, \"intermediate_size\": 6912,"
     " \"num_attention_heads\": 4, \"num_key_value_heads\": 1, \"vocab_size\": 262144}",
     999885952},
    {"{\"model_type\": \"phi\", \"hidden_size\": 2560, \"intermediate_size\": 10240,"
     " \"num_hidden_layers\": 32}",
     2779683840},
    {"{\"model_type\": \"phi3\"}", 3821079552},
    {"{\"model_type\": \"starcoder2\"}", 3030371328},
    {"{\"model_type\": \"gpt_neox\", \"hidden_size\": 768, \"intermediate_size\": 3072,"
     " \"num_hidden_layers\": 12, \"num_attention_heads\": 12, \"vocab_size\": 50304}",
     162322944},
    /* Other heads: LlamaModel has 6607343616, BertModel 109482240, GPT2Model 124439808; and the
     * encoder of t5-base. */
    {HEAD("llama", "LlamaModel"), 6607343616},
    {HEAD("llama", "LlamaForSequenceClassification"), 6607343616 + 2 * 4096},
    {HEAD("llama", "LlamaForTokenClassification"), 6607343616 + 2 * 4096 + 2},
    {HEAD("gpt2", "GPT2ForSequenceClassification"), 124439808 + 2 * 768},
    {HEAD("bert", "BertLMHeadModel"), 109514298},
    {HEAD("bert", "BertForMultipleChoice"), 109482240 + 769},
    {HEAD("bert", "BertForNextSentencePrediction"), 109482240 + 2 * 769},
    {"{\"model_type\": \"t5\", \"d_model\": 768, \"d_ff\": 3072, \"num_layers\": 12,"
     " \"num_heads\": 12, \"architectures\": [\"T5EncoderModel\"]}",
     109628544},
};

static void parameters_are_those_that_were_published(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        struct dlt_graph_counts counts;
        struct dlt_graph *graph;
        struct dlt_model *model;
        struct dlt_error error;

        if (spec_load(published[i].config, strlen(published[i].config), ",seq=8", &model))
            fail_msg("%s", spec_error);
        if (dlt_model_graph(model, 2, &graph, &error))
            fail_msg("%s", error.text);
        dlt_graph_count(graph, true, &counts);
        if (counts.total.parameters != published[i].parameters)
            fail_msg("%s: %.0f parameters, not %.0f", published[i].config, counts.total.parameters,
                     published[i].parameters);
        dlt_graph_destroy(graph);
        dlt_model_destroy(model);
    }
}

/* All 12 layers of gpt2 for a batch of 2 and 1024 positions: per sample and layer
 * 1024 x 768 x (3 + 1 + 4 + 4) x 768 in products and 2 x 1024 x 1024 x 768 in attention, and the
 * output's 1024 x 768 x 50257. */
static void multiply_accumulates_are_those_of_the_formula(void **state)
{
    static const char config[] = "{\"model_type\": \"gpt2\"}";
    struct dlt_graph *graph = spec_graph(config, 2);
    struct dlt_graph_counts counts;

    (void)state;
    dlt_graph_count(graph, true, &counts);
    assert_near(counts.total.macs / 2,
                12.0 * (1024.0 * 768 * 12 * 768 + 2.0 * 1024 * 1024 * 768) + 1024.0 * 768 * 50257,
                0);
    dlt_graph_destroy(graph);
}

/* transformers takes null for None, not for its class's default: Gemma2ForCausalLM without
 * final_logit_softcapping ends with the product to words, and MistralConfig without
 * num_key_value_heads has as many as heads: 2 x 3072 x 4096 more weights in each of 32 layers than
 * with 8 (7241732096 are published). */
static void null_is_none_and_no_default(void **state)
{
    static const char uncapped[] = "{\"model_type\": \"gemma2\", \"num_hidden_layers\": 1, "
                                   "\"final_logit_softcapping\": null}";
    static const char ungrouped[] = "{\"model_type\": \"mistral\", \"num_key_value_heads\": null}";
    struct dlt_graph *graph = spec_graph(uncapped, 1);
    struct dlt_graph_counts counts;

    (void)state;
    assert_string_equal(graph->node[graph->node_count - 1].op->name, "dense");
    dlt_graph_destroy(graph);
    graph = spec_graph(ungrouped, 1);
    dlt_graph_count(graph, true, &counts);
    assert_near(counts.total.parameters, 7241732096.0 + 32 * 2 * 3072.0 * 4096, 0);
    dlt_graph_destroy(graph);
}

/* Starcoder2DecoderLayer and PhiDecoderLayer drop what attention and perceptron give, and the
 * models their embeddings: starcoder2-3b as published twice in 30 layers and once, phi-2
 * (embd_pdrop 0) twice in 32. */
static void dropout_is_where_the_classes_have_it(void **state)
{
    static const struct {
        const char *config;
        int dropouts;
    } cases[] = {{"{\"model_type\": \"starcoder2\", \"residual_dropout\": 0.1, "
                  "\"embedding_dropout\": 0.1}",
                  61},
                 {"{\"model_type\": \"phi\", \"num_hidden_layers\": 32, \"resid_pdrop\": 0.1, "
                  "\"embd_pdrop\": 0.0}",
                  64},
                 {"{\"model_type\": \"llama\"}", 0}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dlt_graph *graph = spec_graph(cases[i].config, 1);
        int dropouts = 0;

        for (size_t n = 0; n < graph->node_count; n++)
            dropouts += strcmp(graph->node[n].op->name, "dropout") == 0;
        assert_int_equal(dropouts, cases[i].dropouts);
        dlt_graph_destroy(graph);
    }
}

static void refused(const char *config, const char *expected)
{
    struct dlt_model *model;

    assert_int_equal(spec_load(config, strlen(config), "", &model), -1);
    assert_string_equal(spec_error, expected);
}

static void errors_name_the_key(void **state)
{
    (void)state;
    refused(
        "{\"model_type\": \"gemma4\"}",
        "model_type: \"gemma4\" is not known; known are bert, roberta, xlm-roberta, camembert, "
        "distilbert, gpt2, opt, llama, mistral, mixtral, qwen2, qwen3, qwen3_moe, gemma, gemma2, "
        "gemma3_text, phi, phi3, starcoder2, gpt_neox, t5 and vit: export others as ONNX "
        "(dltime-torch-export)");
    refused("{\"model_type\": \"qwen3_moe\", \"mlp_only_layers\": [0]}",
            "mlp_only_layers: dltime has no such layers; export the network as ONNX "
            "(dltime-torch-export)");
    refused("{\"model_type\": \"bert\", \"hidden_size\": -3}",
            "hidden_size: expected a whole number from 1 to 2147483647");
    refused("{\"model_type\": \"bert\", \"hidden_size\": 770}",
            "num_attention_heads: 12 does not divide hidden_size, which is 770");
    refused("{\"model_type\": \"llama\", \"tie_word_embeddings\": 1}",
            "tie_word_embeddings: expected true or false");
    refused("{\"model_type\": \"vit\", \"patch_size\": 512}",
            "patch_size: 512 does not divide image_size, which is 224");
    refused("{\"model_type\": \"gpt2\", \"activation_function\": \"sin\"}",
            "activation function: not known; known are gelu, gelu_new, relu, silu, tanh, mish and "
            "their variants");
}

static void the_name_is_that_of_the_checkpoint(void **state)
{
    static const char named[] = "{\"model_type\": \"vit\", \"_name_or_path\": \"google/vit-base\"}";
    struct dlt_model *model;

    (void)state;
    assert_int_equal(spec_load(named, strlen(named), "", &model), 0);
    assert_string_equal(model->name, "vit-base");
    dlt_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_those_that_were_published),
        cmocka_unit_test(multiply_accumulates_are_those_of_the_formula),
        cmocka_unit_test(null_is_none_and_no_default),
        cmocka_unit_test(dropout_is_where_the_classes_have_it),
        cmocka_unit_test(errors_name_the_key),
        cmocka_unit_test(the_name_is_that_of_the_checkpoint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
