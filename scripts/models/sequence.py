# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks and recommendation."""

from models.spec import block, conv, dense, layer, write


def lstm(hidden, layers=None, both=None, name=None, inputs=None):
    return layer(
        "lstm",
        name,
        inputs,
        hidden_size=hidden,
        num_layers=layers,
        batch_first=True,
        bidirectional=both,
    )


def lstm_lm(width, vocabulary):
    """Embedding, two layers, decoder."""
    return [
        layer("embedding", num_embeddings=vocabulary, embedding_dim=width),
        layer("dropout"),
        lstm(width, 2),
        layer("dropout"),
        dense(vocabulary),
    ]


def gnmt(width=1024, vocabulary=32320):
    made = [
        layer("embedding", "words", "ids", num_embeddings=vocabulary, embedding_dim=width),
        layer("dropout"),
        lstm(width, both=True),
        layer("dropout"),
        lstm(width, name="second"),
    ]
    before = "second"
    for i in (3, 4):
        made += [layer("dropout"), lstm(width)]
        made.append(layer("add", "encoder%d" % i, inputs=["@", before]))
        before = "encoder%d" % i
    made += [
        layer(
            "embedding",
            "target_words",
            "target_ids",
            num_embeddings=vocabulary,
            embedding_dim=width,
            weights="words",
        ),
        layer("dropout"),
        lstm(width, name="query_rnn"),
        dense(width, False, name="query"),
        dense(width, False, name="key", inputs="encoder4"),
        layer("unsqueeze", "queries", inputs="query", dim=2),
        layer("unsqueeze", "keys", inputs="key", dim=1),
        layer("add", "sums", inputs=["queries", "keys"]),
        layer("parameter", "bias", shape=[width]),
        layer("add", inputs=["sums", "bias"]),
        layer("tanh"),
        dense(1, False),
        layer("squeeze", dim=-1),
        layer("softmax"),
        layer("matmul", "context", inputs=["@", "encoder4"]),
        layer("concat", "attended", inputs=["query_rnn", "context"], dim=-1),
    ]
    before = "attended"
    for i in (2, 3, 4):
        if i > 2:
            made.append(layer("concat", inputs=["decoder%d" % (i - 1), "context"], dim=-1))
        made += [layer("dropout"), lstm(width, name="rnn%d" % i)]
        if i > 2:
            made.append(layer("add", "decoder%d" % i, inputs=["@", before]))
        else:
            made.append(layer("identity", "decoder2"))
        before = "decoder%d" % i
    return made + [dense(vocabulary)]


def ncf(users, items, factors, widths):
    """Neural matrix factorisation: products of one pair of tables, layers over another."""
    half = widths[0] // 2
    made = [
        layer("embedding", "mf_user", "user", num_embeddings=users, embedding_dim=factors),
        layer("embedding", "mf_item", "item", num_embeddings=items, embedding_dim=factors),
        layer("mul", "factors", inputs=["mf_user", "mf_item"]),
        layer("embedding", "mlp_user", "user", num_embeddings=users, embedding_dim=half),
        layer("embedding", "mlp_item", "item", num_embeddings=items, embedding_dim=half),
        layer("concat", inputs=["mlp_user", "mlp_item"], dim=-1),
    ]
    for width in widths[1:]:
        made += [dense(width), layer("relu"), layer("dropout", p=0.5)]
    return made + [layer("concat", inputs=["factors", "@"], dim=-1), dense(1)]


def tacotron2(frames=800, symbols=148):
    """Teacher-forced: the decoder's cells run over the whole target as one recurrent layer each."""

    def convolved(out, act):
        made = [conv(out, 5, padding=2, bias=True, op="conv1d"), layer("batch_norm")]
        return made + [layer(act)] * bool(act) + [layer("dropout", p=0.5)]

    made = [
        layer("embedding", None, "text", num_embeddings=symbols, embedding_dim=512),
        layer("transpose", dim0=1, dim1=2),
        block(convolved(512, "relu"), "convolution", 3),
        layer("transpose", dim0=1, dim1=2),
        lstm(256, both=True, name="memory"),
        dense(256, False, inputs="mel"),
        layer("relu"),
        layer("dropout", p=0.5),
        dense(256, False),
        layer("relu"),
        layer("dropout", "prenet", p=0.5),
        layer("slice", "first", inputs="memory", dim=1, end=1),
        layer("expand", "context_before", inputs="first", shape=[-1, frames, -1]),
        layer("concat", inputs=["prenet", "context_before"], dim=-1),
        lstm(1024, name="attention_rnn"),
        layer("dropout", "attended", p=0.1),
        dense(128, False, name="query"),
        dense(128, False, name="keys", inputs="memory"),
        layer("transpose", "turned", inputs="keys", dim0=1, dim1=2),
        layer("matmul", "energies", inputs=["query", "turned"]),
        layer("unsqueeze", dim=2),
        layer("expand", shape=[-1, -1, 2, -1]),
        layer("reshape", shape=[-1, 2, "seq"]),
        conv(32, 31, padding=15, op="conv1d"),
        layer("transpose", dim0=1, dim1=2),
        dense(128, False),
        layer("tanh"),
        dense(1, False),
        layer("reshape", shape=[-1, frames, "seq"]),
        layer("softmax"),
        layer("matmul", "context", inputs=["@", "memory"]),
        layer("concat", inputs=["attended", "context"], dim=-1),
        lstm(1024, name="decoder_rnn"),
        layer("dropout", p=0.1),
        layer("concat", "decoded", inputs=["@", "context"], dim=-1),
        dense(1, name="gate"),
        dense(80, name="linear", inputs="decoded"),
        layer("transpose", "spectrum", dim0=1, dim1=2),
        block(convolved(512, "tanh"), "postnet", 4),
        block(convolved(80, None), "postnet_last"),
    ]
    return made + [layer("add", inputs=["@", "spectrum"])]


def write_all(folder):
    words = {"ids": {"shape": ["seq"], "dtype": "int64"}}
    note = "Zaremba et al. 2014 (arXiv 1409.2329), the medium size, for the Penn Treebank"
    training = {"seq": 35, "batch": 20, "optimizer": "sgd"}
    write(folder, "lstm_lm", note, words, lstm_lm(650, 10000), training)
    note = "Wu et al. 2016 (arXiv 1609.08144), 4 layers each way, the sizes of NVIDIA's examples"
    training = {"seq": 50, "batch": 128, "optimizer": "adam"}
    shapes = dict(words, target_ids={"shape": ["seq"], "dtype": "int64"})
    write(folder, "gnmt", note, shapes, gnmt(), training)
    note = "He et al. 2017 (arXiv 1708.05031) for MovieLens 20M, the sizes of NVIDIA's examples"
    training = {"batch": 65536, "optimizer": "adam"}
    pairs = {name: {"shape": [], "dtype": "int64"} for name in ("user", "item")}
    write(folder, "ncf", note, pairs, ncf(138493, 26744, 64, (256, 256, 128, 64)), training)
    note = "Shen et al. 2017 (arXiv 1712.05884), the sizes of NVIDIA's examples; 800 frames"
    training = {"seq": 160, "batch": 32, "optimizer": "adam"}
    shapes = {"text": {"shape": ["seq"], "dtype": "int64"}, "mel": [800, 80]}
    write(folder, "tacotron2", note, shapes, tacotron2(), training)
