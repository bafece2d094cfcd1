# SPDX-License-Identifier: Apache-2.0
"""Single layers that dlbench has measured, timed once more in PyTorch: what a framework makes of a
layer is not what the library below it does."""
import gzip
import json
import statistics
import sys
import time
import zlib

import torch
import torch.nn.functional as F
from torch import nn

from torch_run import Failure
from torch_run.steps import Clock, OPTIMIZERS

UNARY = {"relu": F.relu, "gelu": F.gelu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
         "relu6": F.relu6, "pow": lambda x: x ** 3, "dropout": lambda x: F.dropout(x, 0.5),
         "silu": F.silu, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid,
         "leaky_relu": F.leaky_relu, "abs": torch.abs, "exp": torch.exp, "log": torch.log,
         "sqrt": torch.sqrt, "copy": lambda x: x.roll(1, -1)}
BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div}
# Of a row: what it says beside the layer.
SEEN = ("pass", "median_ms", "min_ms", "max_ms", "std_ms", "repeats", "disturbed", "clock_mhz",
        "cache", "table")


def padding_of(row):
    """One number for each dimension; None where the sides differ."""
    padding = row.get("padding", "valid")
    if padding == "valid":
        return [0] * len(row["kernel"])
    if padding == "same":
        return None
    sides = [p if isinstance(p, list) else [p, p] for p in padding]
    return None if any(a != b for a, b in sides) else [a for a, _ in sides]


def floats(*shape):
    return torch.rand(*shape).add_(0.5).requires_grad_()


def windows(row):
    """Convolutions and pools."""
    op, dims, padding = row["op"], len(row["kernel"]), padding_of(row)
    if padding is None:
        return None
    ones = [1] * dims
    stride, dilation = row.get("stride", ones), row.get("dilation", ones)
    if op.startswith("conv"):
        layer = getattr(nn, f"Conv{dims}d")(
            row["in_channels"], row["out_channels"], row["kernel"], stride, padding, dilation,
            row.get("groups", 1), row.get("bias", False))
        return [floats(row["batch"], row["in_channels"], *row["in_size"])], layer
    x = floats(row["batch"], row["channels"], *row["in_size"])
    function = getattr(F, op)
    if op.startswith("max"):
        return [x], lambda t: function(t, row["kernel"], stride, padding, dilation)
    return [x], lambda t: function(t, row["kernel"], stride, padding)


def products(row):
    if row["op"] == "bmm":
        return [floats(row["batch"], row["m"], row["k"]),
                floats(row["batch"], row["k"], row["n"])], torch.bmm
    layer = nn.Linear(row["in_features"], row["out_features"], row.get("bias", False))
    return [floats(row["batch"], row["in_features"])], layer


def recurrent(row):
    if row["out_features"] != row["hidden_size"] * (2 if row.get("bidirectional") else 1):
        return None
    layer = getattr(nn, row["op"].upper())(
        row["in_features"], row["hidden_size"], row.get("num_layers", 1), row.get("bias", True),
        bidirectional=row.get("bidirectional", False))
    return [floats(row["length"], row["batch"], row["in_features"])], lambda t: layer(t)[0], layer


def norms(row):
    if row["op"] == "layer_norm":
        return [floats(row["rows"], row["columns"])], nn.LayerNorm(row["columns"])
    x = floats(row["batch"], row["channels"], *row["in_size"])
    if row["op"] == "group_norm":
        return [x], nn.GroupNorm(row["groups"], row["channels"])
    layer = getattr(nn, f"BatchNorm{max(len(row['in_size']), 1)}d")(row["channels"])
    return [x], layer.train(row.get("training", True))


def rowwise(row):
    x, op = floats(row["rows"], row["columns"]), row["op"]
    if op == "softmax":
        return [x], lambda t: F.softmax(t, -1)
    if op == "reduction":
        return [x], lambda t: t.sum(-1)
    if op == "cross_entropy":
        target = torch.randint(row["columns"], (row["rows"],))
        return [x], lambda t: F.cross_entropy(t, target)
    count = row.get("operands", 1)
    if row["function"] == "concat":
        parts = [floats(row["rows"], max(row["columns"] // count, 1)) for _ in range(count)]
        return parts, lambda *t: torch.cat(t, 1)
    if row["function"] in BINARY and count == 2:
        return [x, floats(row["rows"], row["columns"])], BINARY[row["function"]]
    return ([x], UNARY[row["function"]]) if row["function"] in UNARY and count == 1 else None


def embedding(row):
    ids = torch.randint(row["num_embeddings"], (row["rows"],))
    layer = nn.Embedding(row["num_embeddings"], row["embedding_dim"])
    return [], lambda: layer(ids), layer


MAKERS = {"conv1d": windows, "conv2d": windows, "conv3d": windows, "max_pool1d": windows,
          "max_pool2d": windows, "avg_pool1d": windows, "avg_pool2d": windows, "dense": products,
          "bmm": products, "rnn": recurrent, "gru": recurrent, "lstm": recurrent,
          "batch_norm": norms, "group_norm": norms, "layer_norm": norms, "softmax": rowwise,
          "reduction": rowwise, "cross_entropy": rowwise, "elementwise": rowwise,
          "embedding": embedding}


def update_of(row):
    """A call of the optimizer; its state is there, as after the first step."""
    if row["optimizer"] not in OPTIMIZERS or row["optimizer"] == "none":
        return None
    size = max(row["elements"] // row.get("tensors", 1), 1)
    parameters = [nn.Parameter(torch.rand(size)) for _ in range(row.get("tensors", 1))]
    for p in parameters:
        p.grad = torch.rand(size)
    optimizer = OPTIMIZERS[row["optimizer"]](parameters)
    for group in optimizer.param_groups:
        group["foreach"] = row.get("implementation") == "foreach"
    return optimizer.step


def passes_of(rows):
    """For each row that PyTorch can be asked for: the row and a call."""
    if rows[0]["op"] == "optimizer_update":
        call = update_of(rows[0])
        return [(rows[0], call)] if call and rows[0].get("implementation") != "fused" else []
    made = MAKERS[rows[0]["op"]](rows[0]) if rows[0]["op"] in MAKERS else None
    if made is None:
        return []
    inputs, function, *owner = made
    owner = owner[0] if owner else function
    weights = list(owner.parameters()) if isinstance(owner, nn.Module) else []
    output = function(*inputs)
    gradient = torch.ones_like(output)
    wanted = {"backward_data": inputs, "backward_weight": weights, "backward": inputs + weights}
    calls = []
    for row in rows:
        if row["pass"] == "forward":
            calls.append((row, lambda: function(*inputs)))
        elif wanted.get(row["pass"]):
            calls.append((row, lambda of=wanted[row["pass"]]: torch.autograd.grad(
                output, of, gradient, retain_graph=True)))
    return calls


def time_call(call, clock, repeats=5, least_s=2e-3):
    """Milliseconds of a call: each repeat lasts least_s at the least."""
    call()
    start = clock.mark()
    call()
    calls = max(1, int(least_s / max(clock.mark() - start, 1e-7)))
    times = []
    for _ in range(repeats):
        start = clock.mark()
        for _ in range(calls):
            call()
        times.append(1e3 * (clock.mark() - start) / calls)
    return times


def objects(path):
    """The lines that are objects; not one written by half, nor what is no text."""
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", errors="replace") as file:
        try:
            for line in file:
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(row, dict):
                    yield row
        except (EOFError, zlib.error):
            return  # compressed, and cut


def configurations(path):
    """The header, and float32 rows of one layer together, in the order of the file."""
    found, header = {}, None
    for row in objects(path):
        if "format" in row:
            header = header or row
        elif (isinstance(row.get("op"), str) and isinstance(row.get("pass"), str) and
              row.get("dtype") == "float32" and row.get("activation", "none") == "none"):
            key = json.dumps({k: v for k, v in row.items() if k not in SEEN})
            found.setdefault(key, {}).setdefault(row["pass"], row)
    if not header or header["format"] != "dltime-measurements":
        raise Failure(f"{path}: holds no measurements")
    return header, [list(rows.values()) for rows in found.values()]


def run_operators(layers, settings, write):
    """Each layer once, as many as the time allows; those that do not fit are left out."""
    if settings["device"].type != "cpu":
        raise Failure("--operators times layers on CPUs; on a GPU a framework runs the library's "
                      "own kernels, which dlbench measures")
    clock = Clock(settings["device"])
    end = time.monotonic() + settings["budget"]
    count = 0
    for rows in layers:
        if time.monotonic() > end:
            break
        try:
            for row, call in passes_of(rows):
                times = time_call(call, clock)
                layer = {k: v for k, v in row.items() if k not in SEEN or k == "pass"}
                write({**layer, "threads": settings["threads"],
                       "median_ms": round(statistics.median(times), 6),
                       "min_ms": round(min(times), 6), "max_ms": round(max(times), 6),
                       "std_ms": round(statistics.pstdev(times), 6), "repeats": len(times)})
                count += 1
        except KeyError as error:
            print(f"{rows[0]['op']}: has no {error}", file=sys.stderr)
        except (RuntimeError, MemoryError, ValueError, TypeError, OverflowError, LookupError,
                AttributeError, ArithmeticError) as error:
            print(f"{rows[0]['op']}: {(str(error) or 'wrong').splitlines()[0]}", file=sys.stderr)
    print(f"{count} rows of single layers", file=sys.stderr)
