# SPDX-License-Identifier: Apache-2.0
"""Layers of `dltime check --json`, made of torch.nn: each maker gives a module, or None, and how to
run it, or None where calling it will do."""
import math

import torch
import torch.nn.functional as F
from torch import nn


def sizes(value):
    return tuple(value) if isinstance(value, list) else value


def before(padding):
    return tuple(pair[0] for pair in padding)


def explicit(padding):
    """For torch.nn.functional.pad: last dimension first."""
    return [amount for pair in reversed(padding) for amount in pair]


def is_even(padding):
    return padding == "same" or all(first == last for first, last in padding)


def convolution(layer, shapes):
    a = layer["attributes"]
    dims = len(a["kernel_size"])
    kind = getattr(nn, f"Conv{dims}d")
    padding = a["padding"]
    options = {"stride": tuple(a["stride"]), "dilation": tuple(a["dilation"]),
               "groups": a["groups"], "bias": a["bias"]}
    if padding == "same" and any(s != 1 for s in a["stride"]):
        padding = [same_padding(shapes[0][2 + d], a, d) for d in range(dims)]
    if padding == "same" or is_even(padding):
        options["padding"] = padding if padding == "same" else before(padding)
        return kind(shapes[0][1], a["out_channels"], tuple(a["kernel_size"]), **options), None
    return (kind(shapes[0][1], a["out_channels"], tuple(a["kernel_size"]), **options),
            lambda module, x: module(F.pad(x, explicit(padding))))


def same_padding(size, a, d):
    out = -(-size // a["stride"][d])
    total = max((out - 1) * a["stride"][d] + (a["kernel_size"][d] - 1) * a["dilation"][d] + 1
                - size, 0)
    return [total // 2, total - total // 2]


def transposed(layer, shapes):
    a = layer["attributes"]
    kind = getattr(nn, f"ConvTranspose{len(a['kernel_size'])}d")
    return kind(shapes[0][1], a["out_channels"], tuple(a["kernel_size"]),
                stride=tuple(a["stride"]), padding=before(a["padding"]),
                output_padding=tuple(a["output_padding"]), groups=a["groups"], bias=a["bias"],
                dilation=tuple(a["dilation"])), None


def pool(layer, shapes):
    a = layer["attributes"]
    dims = len(a["kernel_size"])
    largest = layer["op"].startswith("max")
    stride = a["kernel_size"] if None in a["stride"] else a["stride"]
    options = {"stride": tuple(stride), "ceil_mode": a["ceil_mode"]}
    if largest:
        options["dilation"] = tuple(a["dilation"])
    padding = a["padding"]
    function = getattr(F, f"{'max' if largest else 'avg'}_pool{dims}d")
    if is_even(padding):
        options["padding"] = before(padding)
        return None, lambda _, x: function(x, tuple(a["kernel_size"]), **options)
    fill = -math.inf if largest else 0
    return None, lambda _, x: function(F.pad(x, explicit(padding), value=fill),
                                       tuple(a["kernel_size"]), **options)


def adaptive(layer, shapes):
    function = getattr(F, layer["op"])
    return None, lambda _, x: function(x, tuple(layer["outputs"][0][2:]))


def dense(layer, shapes):
    a = layer["attributes"]
    return nn.Linear(shapes[0][-1], a["out_features"], bias=a["bias"]), None


def batch_norm(layer, shapes):
    a = layer["attributes"]
    dims = min(max(len(shapes[0]) - 2, 1), 3)
    kind = getattr(nn, f"{'Instance' if layer['op'] == 'instance_norm' else 'Batch'}Norm{dims}d")
    return kind(shapes[0][1], affine=a["affine"],
                track_running_stats=a["track_running_stats"]), None


def group_norm(layer, shapes):
    a = layer["attributes"]
    return nn.GroupNorm(a["num_groups"], shapes[0][1], affine=a["affine"]), None


def last_norm(layer, shapes):
    a = layer["attributes"]
    over = a["normalized_shape"]
    over = shapes[0][-1:] if not over else over if isinstance(over, list) else [over]
    affine = a["elementwise_affine"]
    if layer["op"] == "layer_norm":
        module = nn.LayerNorm(over, elementwise_affine=affine)
        if not a["bias"] and affine:
            module.bias = None
        return module, None
    weight = nn.ParameterList([nn.Parameter(torch.ones(over))] if affine else [])

    def run(module, x):
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return y * module[0] if affine else y

    return weight, run


def recurrent(layer, shapes):
    a = layer["attributes"]
    options = {"num_layers": a["num_layers"], "bias": a["bias"], "batch_first": a["batch_first"],
               "bidirectional": a["bidirectional"]}
    if layer["op"] == "lstm" and a["proj_size"]:
        options["proj_size"] = a["proj_size"]
    module = getattr(nn, layer["op"].upper())(shapes[0][-1], a["hidden_size"], **options)

    def run(rnn, x, *state):
        y, last = rnn(x, state if len(state) == 2 else state[0] if state else None)
        return [y, *last] if isinstance(last, tuple) else [y, last]

    return module, run


def embedding(layer, shapes):
    a = layer["attributes"]
    return nn.Embedding(a["num_embeddings"], a["embedding_dim"]), None


def parameter(layer, shapes):
    holder = nn.ParameterList([nn.Parameter(torch.zeros(layer["outputs"][0]))])
    return holder, lambda module: module[0]


def prelu(layer, shapes):
    return nn.PReLU(layer["attributes"]["num_parameters"] or 1), None


def split(layer, shapes):
    dim = layer["attributes"]["dim"]
    parts = [shape[dim] for shape in layer["outputs"]]
    return None, lambda _, x: list(torch.split(x, parts, dim))


def cut(layer, shapes):
    a = layer["attributes"]
    dim, step = a["dim"], a["step"] or 1
    length = layer["outputs"][0][dim]
    start = a["start"] or 0
    start = start + shapes[0][dim] if start < 0 else start
    index = [slice(None)] * len(shapes[0])
    index[dim] = slice(start, start + (length - 1) * step + 1, step)
    return None, lambda _, x: x[tuple(index)]


def reduce(layer, shapes):
    a = layer["attributes"]
    name = {"max": "amax", "min": "amin", "norm": "norm"}.get(layer["op"], layer["op"])
    dims = a["dim"]
    dims = list(range(len(shapes[0]))) if dims is None or dims == [] else dims
    if layer["op"] == "argmax":
        return None, lambda _, x: torch.argmax(x, dims if isinstance(dims, int) else dims[0],
                                               keepdim=a["keepdim"])
    if layer["op"] == "norm":
        return None, lambda _, x: torch.norm(x, dim=dims, keepdim=a["keepdim"])
    return None, lambda _, x: getattr(torch, name)(x, dim=dims, keepdim=a["keepdim"])


def loss_of(layer, shapes):
    function = getattr(F, {"bce_with_logits_loss": "binary_cross_entropy_with_logits"}
                       .get(layer["op"], layer["op"]))

    def run(_, x, target=None):
        if target is None:
            target = torch.zeros([x.shape[0], *x.shape[2:]], dtype=torch.int64, device=x.device)
        return function(x, target)

    return None, run


def attention(layer, shapes):
    causal = layer["attributes"]["is_causal"]
    fused = getattr(F, "scaled_dot_product_attention", None)

    def unfused(_, q, k, v, mask=None):
        scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(q.shape[-1]))
        if causal:
            hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
            scores = scores.masked_fill(hidden, -math.inf)
        return torch.softmax(scores if mask is None else scores + mask, -1) @ v

    if fused is None:
        return None, unfused
    return None, lambda _, q, k, v, mask=None: fused(q, k, v, mask, is_causal=causal)


def arithmetic(name):
    def make(layer, shapes):
        def run(_, first, *others):
            for other in others:
                first = getattr(torch, name)(first, other)
            return first

        return None, run

    return make


def shaped(layer, shapes):
    return None, lambda _, x: x.reshape(layer["outputs"][0])


def expand(layer, shapes):
    return None, lambda _, x, *like: x.expand(layer["outputs"][0])


def shuffle(layer, shapes):
    groups = layer["attributes"]["groups"]

    def run(_, x):  # torch.nn.functional's own had no derivative before PyTorch 2
        parts = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
        return parts.transpose(1, 2).reshape(x.shape)

    return None, run


def pad(layer, shapes):
    amounts = layer["attributes"]["padding"]
    return None, lambda _, x: F.pad(x, list(amounts))


def upsample(layer, shapes):
    mode = layer["attributes"]["mode"]
    return None, lambda _, x: F.interpolate(x, tuple(layer["outputs"][0][2:]), mode=mode)


def indexed(layer, shapes):
    dim = layer["attributes"]["dim"]
    if layer["op"] == "gather":
        return None, lambda _, x, i: torch.gather(x, dim, i)

    def select(_, x, i):
        y = torch.index_select(x, dim, i.reshape(-1) % x.shape[dim])
        return y.reshape(layer["outputs"][0])

    return None, select


def function(call):
    """An operator without parameters: call(attributes, *inputs)."""
    return lambda layer, shapes: (None, lambda _, *x: call(layer["attributes"], *x))


def plain(name):
    return function(lambda a, x: getattr(torch, name)(x))


def activation(name, **options):
    return function(lambda a, x: getattr(F, name)(x, **options))


def table():
    ops = {
        "dense": dense, "batch_norm": batch_norm, "instance_norm": batch_norm,
        "group_norm": group_norm, "layer_norm": last_norm, "rms_norm": last_norm,
        "rnn": recurrent, "gru": recurrent, "lstm": recurrent, "embedding": embedding,
        "parameter": parameter, "prelu": prelu, "split": split, "slice": cut,
        "scaled_dot_product_attention": attention, "expand": expand, "pad": pad,
        "upsample": upsample, "channel_shuffle": shuffle, "index_select": indexed,
        "gather": indexed,
        "matmul": function(lambda a, x, y: x @ y),
        "bmm": function(lambda a, x, y: torch.bmm(x, y)),
        "softmax": function(lambda a, x: torch.softmax(x, a["dim"])),
        "log_softmax": function(lambda a, x: torch.log_softmax(x, a["dim"])),
        "permute": function(lambda a, x: x.permute(a["dims"])),
        "transpose": function(lambda a, x: x.transpose(a["dim0"], a["dim1"])),
        "concat": function(lambda a, *x: torch.cat(x, a["dim"])),
        "contiguous": function(lambda a, x: x.contiguous()),
        "identity": function(lambda a, x: x),
        "detach": function(lambda a, x: x.detach()),
        "arange": function(lambda a: torch.arange(a["end"], dtype=torch.int64) % a["below"]),
        "roll": function(lambda a, x: torch.roll(x, sizes(a["shifts"]), sizes(a["dims"]))),
        "flip": function(lambda a, x: torch.flip(x, list(a["dims"]))),
        "pixel_shuffle": function(lambda a, x: F.pixel_shuffle(x, a["upscale_factor"])),
        "pixel_unshuffle": function(lambda a, x: F.pixel_unshuffle(x, a["downscale_factor"])),
        "dropout": function(lambda a, x: F.dropout(x, 0.1, torch.is_grad_enabled())),
        "scale": function(lambda a, x: x * 0.5),
        "clamp": function(lambda a, x: torch.clamp(x, -1, 1)),
        "pow": function(lambda a, x, *y: torch.pow(x, *(y or (2,)))),
        "compare": function(lambda a, x, y: x > y),
        "where": function(lambda a, c, x, y: torch.where(c.bool(), x, y)),
    }
    for name in ("reshape", "flatten", "squeeze", "unsqueeze"):
        ops[name] = shaped
    for name in ("add", "sub", "mul", "div", "maximum", "minimum"):
        ops[name] = arithmetic(name)
    for name in ("mean", "sum", "max", "min", "norm", "argmax"):
        ops[name] = reduce
    for name in ("relu", "relu6", "gelu", "silu", "mish", "hardswish", "hardsigmoid", "hardtanh",
                 "leaky_relu", "elu", "selu", "celu", "softplus", "softsign", "logsigmoid",
                 "softshrink", "hardshrink", "tanhshrink"):
        ops[name] = activation(name)
    for name in ("sigmoid", "tanh", "exp", "sin", "cos", "log", "sqrt", "rsqrt", "reciprocal",
                 "erf", "square", "abs", "neg", "sign", "floor", "ceil", "round", "logical_not"):
        ops[name] = plain(name)
    for name in ("cross_entropy", "mse_loss", "l1_loss", "smooth_l1_loss", "bce_with_logits_loss"):
        ops[name] = loss_of
    for dims in (1, 2, 3):
        ops[f"conv{dims}d"] = convolution
        ops[f"conv_transpose{dims}d"] = transposed
        ops[f"max_pool{dims}d"] = ops[f"avg_pool{dims}d"] = pool
        ops[f"adaptive_avg_pool{dims}d"] = ops[f"adaptive_max_pool{dims}d"] = adaptive
    return ops
