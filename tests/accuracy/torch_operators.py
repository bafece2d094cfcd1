# SPDX-License-Identifier: Apache-2.0
"""Each operator of dltime and what PyTorch calls the same thing: the rows of torch-operators."""
import dataclasses
from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import nn

LINE, IMAGE, VOLUME = (6, 40), (6, 12, 12), (4, 6, 8, 8)
ROWS = (10, 64)  # length x width


@dataclasses.dataclass
class Case:
    op: str
    inputs: list  # shape of a sample, and float, int64 or bool
    attributes: dict
    make: Callable[[], Any]  # a module or a function of the inputs
    saved_differs: str = ""  # why the bytes that this PyTorch keeps are not the ones
    reads: bool = True  # the input; else it is a tensor from nothing, which is added to the input
    then: list = dataclasses.field(default_factory=list)  # layers before that sum


class Module(nn.Module):
    """Parts, and a function of them and of the inputs."""

    def __init__(self, parts, run):
        super().__init__()
        self.parts, self.run = parts, run

    def forward(self, *inputs):
        return self.run(self.parts, *inputs)


def floats(*shapes):
    return [(shape, "float") for shape in shapes]


def over(*shapes, **attributes):
    """A row's inputs and attributes."""
    return floats(*shapes), attributes


def module(op, shape, kind, *first, **attributes):
    """A module that takes the same attributes, after what its input tells dltime."""
    return Case(op, floats(shape), attributes, lambda: kind(*first, **attributes))


def spatial():
    rows = []
    for dims, shape in ((1, LINE), (2, IMAGE), (3, VOLUME)):
        channels = shape[0]
        for kind, more in (("Conv", {}), ("ConvTranspose", {"output_padding": 1})):
            op = "conv%s%dd" % ("_transpose" if more else "", dims)
            rows.append(module(op, shape, getattr(nn, "%s%dd" % (kind, dims)), channels,
                               out_channels=8, kernel_size=3, stride=2, padding=1, groups=2, **more))
        for kind in ("max", "avg"):
            make = getattr(nn, "%sPool%dd" % (kind.title(), dims))
            rows.append(module("%s_pool%dd" % (kind, dims), shape, make, kernel_size=3, stride=2,
                               padding=1, ceil_mode=True))
            make = getattr(nn, "Adaptive%sPool%dd" % (kind.title(), dims))
            rows.append(module("adaptive_%s_pool%dd" % (kind, dims), shape, make, output_size=3))
    for mode in ("nearest", "bilinear", "bicubic"):
        rows.append(module("upsample", IMAGE, nn.Upsample, scale_factor=2, mode=mode))
    rows += [module("pixel_shuffle", (12, 6, 6), nn.PixelShuffle, upscale_factor=2),
             module("pixel_unshuffle", IMAGE, nn.PixelUnshuffle, downscale_factor=2),
             module("channel_shuffle", IMAGE, nn.ChannelShuffle, groups=2)]
    return rows


def norms():
    affine = {"affine": True, "track_running_stats": True}

    def rms():
        return Module(nn.ParameterList([nn.Parameter(torch.ones(64))]), lambda w, x:
                      x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w[0])

    return [
        module("batch_norm", IMAGE, nn.BatchNorm2d, 6),
        module("batch_norm", LINE, nn.BatchNorm1d, 6, affine=False),
        module("instance_norm", IMAGE, nn.InstanceNorm2d, 6, **affine),
        module("instance_norm", IMAGE, nn.InstanceNorm2d, 6),
        Case("group_norm", *over(IMAGE, num_groups=2), lambda: nn.GroupNorm(2, 6)),
        module("layer_norm", ROWS, nn.LayerNorm, normalized_shape=[64]),
        module("layer_norm", ROWS, nn.LayerNorm, normalized_shape=[10, 64],
               elementwise_affine=False),
        Case("rms_norm", *over(ROWS), rms),
        module("softmax", ROWS, nn.Softmax, dim=-1),
        module("log_softmax", ROWS, nn.LogSoftmax, dim=1),
    ]


class Experts(nn.Module):
    """Each token to top_k experts in turn, as busy as each other."""

    def __init__(self, width, experts, hidden, top_k):
        super().__init__()
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))
            for _ in range(experts))
        self.top_k = top_k

    def forward(self, x):
        chosen = torch.softmax(self.router(x), -1).max(-1, keepdim=True).values.reshape(-1, 1)
        tokens = x.reshape(-1, x.shape[-1])
        rows = len(tokens)
        routes = torch.arange(rows * self.top_k) % rows
        tokens = tokens.index_select(0, routes)
        if self.top_k > 1:
            chosen = chosen.index_select(0, routes)
        parts = tokens.chunk(len(self.experts))
        y = torch.cat([expert(part) for expert, part in zip(self.experts, parts)]) * chosen
        return y.reshape(rows, self.top_k, -1).sum(1).reshape(x.shape)


def products():
    heads = (2, 10, 16)

    def plain(q, k, v):
        return torch.softmax(q @ k.transpose(-2, -1) * 0.25, -1) @ v

    def attention(**options):
        return lambda: Module(nn.MultiheadAttention(64, 4, batch_first=True, **options),
                              lambda m, q, *kv: m(q, *(kv or (q, q)) if len(kv) != 1 else kv * 2))

    rows = [
        module("dense", ROWS, nn.Linear, 64, out_features=32),
        Case("matmul", *over((3, 10, 16), (3, 16, 12)), lambda: torch.matmul),
        Case("bmm", *over((10, 16), (16, 12)), lambda: torch.bmm),
        Case("scaled_dot_product_attention", *over(heads, heads, heads), lambda: plain,
             "one kernel keeps no probabilities"),
        Case("multi_head_attention", *over(ROWS, embed_dim=64, num_heads=4, batch_first=True),
             attention()),
        Case("multi_head_attention", *over(ROWS, (14, 64), embed_dim=64, num_heads=4, bias=False,
                                           batch_first=True), attention(bias=False)),
    ]
    for top_k in (1, 2):
        rows.append(Case("mixture_of_experts",
                         *over(ROWS, num_experts=4, hidden_features=96, top_k=top_k,
                               activation="gelu"),
                         lambda top_k=top_k: Experts(64, 4, 96, top_k)))
    for kind in ("RNN", "GRU", "LSTM"):
        for more in ({}, {"bidirectional": True, "num_layers": 2, "bias": False}):
            rows.append(module(kind.lower(), ROWS, getattr(nn, kind), 64, hidden_size=32,
                               batch_first=True, **more))
    rows.append(module("lstm", ROWS, nn.LSTM, 64, hidden_size=32, proj_size=16, batch_first=True))
    rows.append(Case("embedding", [((20,), "int64")],
                     {"num_embeddings": 50, "embedding_dim": 24}, lambda: nn.Embedding(50, 24)))
    return rows


def elementwise():
    modules = {"relu": nn.ReLU, "relu6": nn.ReLU6, "sigmoid": nn.Sigmoid, "tanh": nn.Tanh,
               "silu": nn.SiLU, "mish": nn.Mish, "hardswish": nn.Hardswish, "gelu": nn.GELU,
               "hardsigmoid": nn.Hardsigmoid, "selu": nn.SELU, "hardtanh": nn.Hardtanh,
               "leaky_relu": nn.LeakyReLU, "elu": nn.ELU, "celu": nn.CELU,
               "softplus": nn.Softplus, "softsign": nn.Softsign,
               "softshrink": nn.Softshrink, "hardshrink": nn.Hardshrink,
               "tanhshrink": nn.Tanhshrink}
    rows = [Case(op, *over(IMAGE), make) for op, make in modules.items()]
    rows.append(Case("logsigmoid", *over(IMAGE), nn.LogSigmoid, "a CPU keeps a buffer besides"))
    for op in ("exp log sqrt rsqrt reciprocal square erf sin cos abs neg sign floor ceil "
               "round").split():
        rows.append(Case(op, *over(IMAGE), lambda op=op: getattr(torch, op)))
    rows += [
        module("prelu", IMAGE, nn.PReLU, num_parameters=6),
        Case("gelu", *over(IMAGE, approximate="tanh"), lambda: nn.GELU("tanh")),
        Case("logical_not", [(IMAGE, "bool")], {}, lambda: torch.logical_not),
        Case("clamp", *over(IMAGE, min=-1, max=1), lambda: lambda x: x.clamp(-1, 1)),
        Case("scale", *over(IMAGE, factor=0.5), lambda: lambda x: x * 0.5),
        Case("dropout", *over(IMAGE, p=0.1), lambda: nn.Dropout(0.1)),
        Case("compare", *over(IMAGE, (6, 1, 12)), lambda: torch.gt),
        Case("pow", *over(IMAGE, exponent=3), lambda: lambda x: x ** 3),
        Case("where", [(IMAGE, "bool"), *floats(IMAGE, (6, 1, 1))], {}, lambda: torch.where),
    ]
    for op in "add sub mul div pow maximum minimum".split():
        rows.append(Case(op, *over(IMAGE, (6, 1, 12)), lambda op=op: getattr(torch, op)))
    return rows


def reductions():
    rows = []
    for op in ("mean", "sum"):
        rows.append(Case(op, *over(IMAGE, dim=[2, 3], keepdim=True),
                         lambda op=op: lambda x: getattr(x, op)((2, 3), keepdim=True)))
    for op in ("max", "min"):
        rows.append(Case(op, *over(IMAGE, dim=1), lambda op=op: lambda x: getattr(x, op)(1).values))
    rows += [
        Case("norm", *over(IMAGE, dim=1), lambda: lambda x: torch.norm(x, dim=1)),
        Case("argmax", *over(IMAGE, dim=1), lambda: lambda x: x.argmax(1)),
        Case("cross_entropy", [*floats((64,)), ((), "int64")], {}, lambda: F.cross_entropy),
        Case("cross_entropy", [*floats(IMAGE), ((12, 12), "int64")], {}, lambda: F.cross_entropy),
    ]
    for op, run in (("mse_loss", F.mse_loss), ("l1_loss", F.l1_loss),
                    ("smooth_l1_loss", F.smooth_l1_loss),
                    ("bce_with_logits_loss", F.binary_cross_entropy_with_logits)):
        rows.append(Case(op, *over(IMAGE, IMAGE), lambda run=run: run))
    return rows


def shapes():
    return [
        Case("flatten", *over(IMAGE, start_dim=2), lambda: lambda x: x.flatten(2)),
        Case("reshape", *over(IMAGE, shape=[0, 12, -1]),
             lambda: lambda x: x.reshape(len(x), 12, -1)),
        Case("transpose", *over(IMAGE, dim0=1, dim1=-1), lambda: lambda x: x.transpose(1, -1)),
        Case("permute", *over(IMAGE, dims=[0, 2, 3, 1]), lambda: lambda x: x.permute(0, 2, 3, 1)),
        Case("squeeze", *over((1, 5, 1), dim=1), lambda: lambda x: x.squeeze(1)),
        Case("unsqueeze", *over(IMAGE, dim=-1), lambda: lambda x: x.unsqueeze(-1)),
        Case("slice", *over(IMAGE, dim=2, start=1, end=-1, step=3),
             lambda: lambda x: x[:, :, 1:-1:3]),
        Case("expand", *over((6, 1, 12), shape=[-1, -1, 5, -1]),
             lambda: lambda x: x.expand(-1, -1, 5, -1)),
        Case("split", *over(IMAGE, sections=[2, 4]), lambda: lambda x: x.split([2, 4], 1)),
        Case("identity", *over(IMAGE), nn.Identity),
        Case("detach", *over(IMAGE), lambda: lambda x: x.detach()),
        Case("concat", *over(IMAGE, (3, 12, 12)), lambda: lambda *x: torch.cat(x, 1)),
        Case("contiguous", *over(IMAGE), lambda: lambda x: x.clone()),
        Case("pad", *over(IMAGE, padding=[1, 2, 0, 3]), lambda: lambda x: F.pad(x, [1, 2, 0, 3])),
        Case("pad", *over(IMAGE, padding=[1, 2, 1, 3], mode="circular"),
             lambda: lambda x: F.pad(x, [1, 2, 1, 3], mode="circular")),
        Case("pad", *over(IMAGE, padding=[1, 2, 1, 3], mode="reflect"),
             lambda: lambda x: F.pad(x, [1, 2, 1, 3], mode="reflect"),
             "reflecting keeps the input; padding is taken as a copy"),
        Case("roll", *over(IMAGE, shifts=[1, 2], dims=[2, 3]),
             lambda: lambda x: x.roll([1, 2], [2, 3])),
        Case("flip", *over(IMAGE, dims=[2]), lambda: lambda x: x.flip(2)),
        Case("index_select", [*floats(ROWS), ((7,), "int64")], {"dim": 1},
             lambda: lambda x, i: x.index_select(1, i.reshape(-1)).reshape(len(x), *i.shape, 64)),
        Case("gather", [*floats(ROWS), ((7, 64), "int64")], {"dim": 1},
             lambda: lambda x, i: x.gather(1, i)),
        Case("parameter", *over((6, 8), shape=[1, 6, 8]),
             lambda: Module(nn.ParameterList([nn.Parameter(torch.zeros(1, 6, 8))]),
                            lambda p, x: p[0] + x), reads=False),
        Case("arange", *over((16, 24), end=16),
             lambda: Module(nn.Embedding(32, 24), lambda table, x: table(torch.arange(16)) + x),
             reads=False,
             then=[{"op": "embedding", "num_embeddings": 32, "embedding_dim": 24}]),
    ]


def cases():
    return spatial() + norms() + products() + elementwise() + reductions() + shapes()
