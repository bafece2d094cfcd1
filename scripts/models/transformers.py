# SPDX-License-Identifier: Apache-2.0
"""BERT, GPT, OPT, T5, Switch and Transformer-XL, kernel by kernel as Hugging Face's eager code runs
them (Transformer-XL: NVIDIA's)."""


from models.spec import block, dense, layer, write


def heads(name, count, size, inputs=None):
    """N x L x (count size) to N x count x L x size."""
    return [
        layer("reshape", inputs=inputs, shape=[0, 0, count, size]),
        layer("permute", name, dims=[0, 2, 1, 3]),
    ]


def context(count, size, scores):
    """Query, key and value as heads to N x L x width; scores: what happens to the products."""
    made = [
        layer("transpose", "keys", inputs="key", dim0=-2, dim1=-1),
        layer("matmul", "scores", inputs=["query", "keys"]),
    ]
    return made + scores + [
        layer("softmax"),
        layer("dropout"),
        layer("matmul", inputs=["@", "value"]),
        layer("permute", dims=[0, 2, 1, 3]),
        layer("contiguous"),
        layer("reshape", shape=[0, 0, count * size]),
    ]


def projections(count, size, source, memory=None, bias=True):
    made = []
    for name in ("query", "key", "value"):
        own = source if name == "query" else memory or source
        made.append(dense(count * size, bias, inputs=own))
        made += heads(name, count, size)
    return made


def bert(width, depth, count, with_heads=True, vocabulary=30522):
    """BertForPreTraining: encoder, pooler, and both heads, the decoder's weight shared; or BertModel,
    which has no heads."""
    scores = [layer("scale", "scaled"), layer("scale", "masked")]
    unit = projections(count, width // count, "@input") + context(count, width // count, scores)
    unit += [
        dense(width),
        layer("dropout"),
        layer("add", inputs=["@", "@input"]),
        layer("layer_norm", "attended"),
        dense(4 * width),
        layer("gelu"),
        dense(width),
        layer("dropout"),
        layer("add", inputs=["@", "attended"]),
        layer("layer_norm"),
    ]
    model = [
        layer("embedding", "words", "ids", num_embeddings=vocabulary, embedding_dim=width),
        layer("embedding", "types", "token_types", num_embeddings=2, embedding_dim=width),
        layer("add", "typed", inputs=["words", "types"]),
        layer("arange", "index", end="seq"),
        layer("embedding", "positions", num_embeddings=512, embedding_dim=width),
        layer("add", inputs=["typed", "positions"]),
        layer("layer_norm"),
        layer("dropout"),
        block(unit, "encoder", depth),
        layer("slice", dim=1, end=1),
        layer("squeeze", dim=1),
        dense(width, name="pooler"),
        layer("tanh"),
    ]
    if not with_heads:
        return model
    return model + [
        dense(2, name="seq_relationship"),
        dense(width, name="transform", inputs="encoder"),
        layer("gelu"),
        layer("layer_norm"),
        dense(vocabulary, name="decoder", weights="words"),
    ]


def gelu_new(entry):
    """0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), one kernel an operation."""
    return [
        layer("scale", "half", inputs=entry),
        layer("pow", inputs=[entry], exponent=3),
        layer("scale"),
        layer("add", inputs=[entry, "@"]),
        layer("scale"),
        layer("tanh"),
        layer("scale"),
        layer("mul", inputs=["half", "@"]),
    ]


def gpt(width, depth, count, positions, vocabulary=50257):
    """GPT2LMHeadModel; the causal mask is applied by where."""
    size = width // count
    unit = [
        layer("layer_norm"),
        dense(3 * width, name="c_attn"),
        layer("split", "qkv", sections=3, dim=-1),
    ]
    for i, name in enumerate(("query", "key", "value")):
        unit += heads(name, count, size, "qkv:%d" % i)
    unit += context(count, size, [layer("scale", "scaled"), layer("scale", "masked")])
    unit += [
        dense(width),
        layer("dropout"),
        layer("add", "attended", inputs=["@", "@input"]),
        layer("layer_norm"),
        dense(4 * width, name="c_fc"),
    ]
    unit += gelu_new("c_fc") + [
        dense(width),
        layer("dropout"),
        layer("add", inputs=["@", "attended"]),
    ]
    return [
        layer("embedding", "words", "ids", num_embeddings=vocabulary, embedding_dim=width),
        layer("arange", "index", end="seq"),
        layer("embedding", "positions", num_embeddings=positions, embedding_dim=width),
        layer("add", inputs=["words", "positions"]),
        layer("dropout"),
        block(unit, "block", depth),
        layer("layer_norm"),
        dense(vocabulary, False, name="lm_head", weights="words"),
    ]


def opt(width, depth, count, vocabulary=50272):
    """OPTForCausalLM: batch and heads are merged before the products; no dropout inside."""
    size = width // count
    unit = [layer("layer_norm", "normed"), dense(width, inputs="normed"), layer("scale")]
    unit += heads("query", count, size)
    unit += [dense(width, inputs="normed")] + heads("key", count, size)
    unit += [dense(width, inputs="normed")] + heads("value", count, size)
    scores = [layer("scale", "masked"), layer("scale", "clamped")]
    attention = [each for each in context(count, size, scores) if each["op"] != "dropout"]
    unit += attention + [
        dense(width),
        layer("dropout"),
        layer("add", "attended", inputs=["@", "@input"]),
        layer("layer_norm"),
        dense(4 * width),
        layer("relu"),
        dense(width),
        layer("dropout"),
        layer("add", inputs=["@", "attended"]),
    ]
    return [
        layer("embedding", "words", "ids", num_embeddings=vocabulary, embedding_dim=width),
        layer("arange", "index", end="seq"),
        layer("embedding", "positions", num_embeddings=2050, embedding_dim=width),
        layer("add", inputs=["words", "positions"]),
        block(unit, "layer", depth),
        layer("layer_norm"),
        dense(vocabulary, False, name="lm_head", weights="words"),
    ]


def relative_bias(name, count):
    """T5's bias of the scores by distance: one table for all layers of a stack."""
    return [
        layer("parameter", name + "_table", shape=[32, count]),
        layer("arange", name + "_index", end="seq"),
        layer("reshape", inputs=name + "_index", shape=[-1, 1]),
        layer("expand", name + "_pairs", shape=["seq", "seq"]),
        layer("index_select", inputs=[name + "_table", name + "_pairs"], dim=0),
        layer("permute", dims=[2, 0, 1]),
        layer("unsqueeze", name, dim=0),
    ]


def t5_attention(count, size, width, source, residual, bias, memory=None, name=None):
    made = [layer("rms_norm", "normed_" + name, source)]
    inner = projections(count, size, "@input", memory, False)
    scores = [layer("add", inputs=["scores", bias])] if bias else [layer("scale", "masked")]
    inner += context(count, size, scores) + [dense(width, False)]
    made.append(block(inner, name, inputs="normed_" + name))
    return made + [layer("dropout"), layer("add", name + "_out", inputs=["@", residual])]


def t5_stack(name, depth, width, inner, count, size, memory, sparse, experts):
    """sparse: every how many layers the feed-forward part is a mixture of experts; 0: never."""
    blocks = []
    for i in range(depth):
        made = t5_attention(count, size, width, "@input", "@input", name + "_bias", name="self")
        last = "self_out"
        if memory:
            made += t5_attention(count, size, width, last, last, None, memory, "cross")
            last = "cross_out"
        made.append(layer("rms_norm", inputs=last))
        if sparse and i % sparse == sparse - 1:
            made.append(
                layer(
                    "mixture_of_experts",
                    "experts",
                    num_experts=experts,
                    hidden_features=inner,
                    bias=False,
                )
            )
        else:
            made += [dense(inner, False), layer("relu"), layer("dropout"), dense(width, False)]
        made += [layer("dropout"), layer("add", inputs=["@", last])]
        blocks.append(made)
    return blocks


def repeated(name, blocks):
    """Equal neighbours once; where two kinds alternate, the pair is repeated."""
    if all(each == blocks[0] for each in blocks):
        return [block(blocks[0], name, len(blocks))]
    pair = [block(blocks[0], "dense"), block(blocks[1], "sparse")]
    return [block(pair, name, len(blocks) // 2)]


def t5(width, depth, inner, count, size, sparse=0, experts=0, vocabulary=32128):
    made = [
        layer("embedding", "shared", "ids", num_embeddings=vocabulary, embedding_dim=width),
        layer("dropout", "embedded"),
    ]
    made += relative_bias("encoder_bias", count)
    stack = t5_stack("encoder", depth, width, inner, count, size, None, sparse, experts)
    made += [layer("identity", inputs="embedded")] + repeated("encoder", stack)
    made += [layer("rms_norm"), layer("dropout", "memory")]
    made += [
        layer(
            "embedding",
            "decoder_words",
            "decoder_ids",
            num_embeddings=vocabulary,
            embedding_dim=width,
            weights="shared",
        ),
        layer("dropout", "decoder_embedded"),
    ]
    made += relative_bias("decoder_bias", count)
    stack = t5_stack("decoder", depth, width, inner, count, size, "memory", sparse, experts)
    made += [layer("identity", inputs="decoder_embedded")] + repeated("decoder", stack)
    made += [layer("rms_norm"), layer("dropout"), layer("scale")]
    return made + [dense(vocabulary, False, name="lm_head", weights="shared")]


def tail(name, count, size, width):
    """A cluster of rare words: its tokens' projection and its part of the softmax."""
    made = []
    if size != width:
        made.append(dense(size, False, weights=name + "_up"))
    return made + [dense(count, weights=name), layer("log_softmax")]


def transformer_xl(width, depth, count, inner, target, memory, clusters):
    """Relative attention over the segment and a memory as long as it. clusters: how many words and
    how wide their vectors, the frequent ones first, as adaptive softmax cuts the vocabulary; about
    one token in twelve needs each of the others."""
    size = width // count
    words = []
    for i, (many, narrow) in enumerate(clusters):
        name = "words%d" % i
        words.append(layer("embedding", name, "ids", num_embeddings=many, embedding_dim=narrow))
        if narrow != width:
            words.append(dense(width, False, name=name + "_up"))
    parts = [each["name"] for each in words if each.get("embedding_dim", width) == width]
    unit = [
        layer("concat", "all", inputs=["segment_memory", "@input"]),
        dense(3 * width, False),
        layer("split", "qkv", sections=3, dim=-1),
        layer("slice", "query_rows", inputs="qkv:0", dim=1, start=memory),
    ]
    unit += heads("query", count, size, "query_rows")
    unit += heads("key", count, size, "qkv:1") + heads("value", count, size, "qkv:2")
    unit += [
        dense(width, False, inputs="distances", name="r_net"),
        layer("reshape", shape=[0, 0, count, size]),
        layer("permute", "distance_heads", dims=[0, 2, 3, 1]),
        layer("add", "content", inputs=["query", "r_w_bias"]),
        layer("transpose", "keys", inputs="key", dim0=-2, dim1=-1),
        layer("matmul", "by_content", inputs=["content", "keys"]),
        layer("add", "place", inputs=["query", "r_r_bias"]),
        layer("matmul", inputs=["place", "distance_heads"]),
        layer("contiguous", "shifted"),
        layer("add", inputs=["by_content", "shifted"]),
        layer("scale"),
        layer("scale", "masked"),
        layer("softmax"),
        layer("dropout"),
        layer("matmul", inputs=["@", "value"]),
        layer("permute", dims=[0, 2, 1, 3]),
        layer("contiguous"),
        layer("reshape", shape=[0, 0, width]),
        dense(width, False),
        layer("dropout"),
        layer("add", inputs=["@", "@input"]),
        layer("layer_norm", "attended"),
        dense(inner),
        layer("relu"),
        layer("dropout"),
        dense(width),
        layer("dropout"),
        layer("add", inputs=["@", "attended"]),
        layer("layer_norm"),
    ]
    made = words + [
        layer("add", inputs=parts),
        layer("dropout", "words"),
        layer("detach", "segment_memory", inputs="memory"),
        layer("slice", "distances", inputs="places", dim=0, end=1),
        layer("parameter", "r_w_bias", shape=[count, 1, size]),
        layer("parameter", "r_r_bias", shape=[count, 1, size]),
        layer("identity", inputs="words"),
        block(unit, "layer", depth),
        layer("dropout", "hidden"),
        dense(clusters[0][0], name="head", weights="words0"),
        layer("log_softmax"),
    ]
    for i, (many, narrow) in enumerate(clusters[1:], 1):
        made.append(layer("slice", inputs="hidden", dim=1, end=max(1, target // 12)))
        made += tail("words%d" % i, many, narrow, width)
    return made


def ids(*names):
    return {name: {"shape": ["seq"], "dtype": "int64"} for name in names}


def write_gpt(folder):
    note = "Radford et al. 2019, as in Hugging Face's GPT2LMHeadModel"
    for name, width, depth, count in (
        ("gpt2", 768, 12, 12),
        ("gpt2_medium", 1024, 24, 16),
        ("gpt2_large", 1280, 36, 20),
        ("gpt2_xl", 1600, 48, 25),
    ):
        training = {"seq": 1024, "batch": 8, "optimizer": "adamw"}
        write(folder, name, note, ids("ids"), gpt(width, depth, count, 1024), training)
    training = {"seq": 2048, "batch": 4, "optimizer": "adam"}
    note = "Brown et al. 2020 (arXiv 2005.14165), 1.3 B: 24 layers of width 2048, here 16 heads of 128"
    write(folder, "gpt3_xl", note, ids("ids"), gpt(2048, 24, 16, 2048), training)
    note = "GPT-3 XL as NeuSight (Lee et al. 2025) ran it: 24 layers of width 3072, 24 heads of 128"
    write(folder, "gpt3_xl_neusight", note, ids("ids"), gpt(3072, 24, 24, 2048), training)
    note = "Brown et al. 2020 (arXiv 2005.14165), 2.7 B: 32 layers of width 2560, 32 heads of 80"
    write(folder, "gpt3_2.7b", note, ids("ids"), gpt(2560, 32, 32, 2048), training)
    note = "Zhang et al. 2022 (arXiv 2205.01068), as in Hugging Face's OPTForCausalLM"
    write(folder, "opt_1.3b", note, ids("ids"), opt(2048, 24, 32), training)


def write_all(folder):
    note = "Devlin et al. 2018 (arXiv 1810.04805), as in Hugging Face's BertForPreTraining"
    training = {"seq": 512, "batch": 16, "optimizer": "adamw"}
    made = bert(768, 12, 12)
    write(folder, "bert_base", note, ids("ids", "token_types"), made, training)
    made = bert(1024, 24, 16)
    write(folder, "bert_large", note, ids("ids", "token_types"), made, training)
    note = "Devlin et al. 2018 (arXiv 1810.04805), as in Hugging Face's BertModel: no language head"
    made = bert(1024, 24, 16, False)
    write(folder, "bert_large_encoder", note, ids("ids", "token_types"), made, training)
    write_gpt(folder)
    words = ids("ids", "decoder_ids")
    note = "Raffel et al. 2019 (arXiv 1910.10683), as in Hugging Face's T5ForConditionalGeneration"
    training = {"seq": 512, "batch": 8, "optimizer": "adamw"}
    write(folder, "t5_base", note, words, t5(768, 12, 3072, 12, 64), training)
    note = "Fedus et al. 2021 (arXiv 2101.03961), 8 experts in every second layer"
    write(folder, "switch_base", note, words, t5(768, 12, 3072, 12, 64, 2, 8), training)
    note = "Fedus et al. 2021 (arXiv 2101.03961), XL with 4 experts in every layer: 5.3 B"
    training = {"seq": 512, "batch": 1, "optimizer": "adamw"}
    write(folder, "switch_xl_4", note, words, t5(2048, 24, 5120, 32, 64, 1, 4), training)
    note = "Dai et al. 2019 (arXiv 1901.02860), as in NVIDIA's examples"
    frequent, rest = 19997 + 3, (20000, 160000, 67738)
    narrow = [(many, 1024 // 4**i) for i, many in enumerate((frequent,) + rest)]
    for name, width, depth, count, inner, length, clusters in (
        ("base", 512, 16, 8, 2048, 192, [(frequent, 512), (sum(rest), 512)]),
        ("large", 1024, 18, 16, 4096, 384, narrow),
    ):
        shapes = {
            "ids": {"shape": [length], "dtype": "int64"},
            "memory": [length, width],
            "places": [2 * length, width],
        }
        made = transformer_xl(width, depth, count, inner, length, length, clusters)
        training = {"batch": 16, "optimizer": "lamb"}
        write(folder, "transformer_xl_" + name, note, shapes, made, training)
