# SPDX-License-Identifier: Apache-2.0
"""The convolutions of a network, timed without the layers between them.

They run in the network's order, forwards and then backwards, and each is handed an input or a
gradient that was just written, in the memory layout that the network's own step has there. So it
finds the caches as it does in that step: what comes from its neighbour is near, weights and kept
inputs have been driven out by the others. Memory that was used once stays with the process: what
the system takes to hand it out anew depends on all that the process holds, not on a convolution.
"""
import contextlib
import ctypes
import statistics
import sys

import torch

from torch import nn

from torch_run import Failure
from torch_run.items import from_spec, is_memory, with_batch
from torch_run.layers import table
from torch_run.output import ask
from torch_run.steps import Clock, precision_context, total_loss

DTYPES = {"float32": ("float32", "ieee"), "tf32": ("float32", "tf32"),
          "amp-float16": ("float16", "ieee"), "amp-bfloat16": ("bfloat16", "ieee")}


def gradient_flows(graph):
    """Tensors that a gradient reaches: what trainable parameters have touched."""
    reached = set()
    for layer in graph["layers"]:
        own = layer["trainable"] and layer["parameters"] > 0
        if own or any(i in reached for i in layer["reads"]):
            reached.update(layer["writes"] + i for i in range(len(layer["outputs"])))
    return reached


def record_of(layer, shape, out):
    """The configuration as dltime-measurements(5) writes it."""
    a = layer["attributes"]
    record = {"op": layer["op"], "batch": shape[0], "in_channels": shape[1], "in_size": shape[2:],
              "out_channels": a["out_channels"], "kernel": a["kernel_size"], "stride": a["stride"],
              "dilation": a["dilation"], "padding": a["padding"], "groups": a["groups"],
              "bias": a["bias"]}
    if "transpose" in layer["op"]:
        record["out_size"] = out[2:]
    return record


CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d,
                nn.ConvTranspose3d)
LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def channels_last(tensor):
    """Whether a tensor's channels lie side by side."""
    form = LAST.get(tensor.dim())
    return form is not None and tensor.is_contiguous(memory_format=form) and \
        not tensor.is_contiguous()


def layouts_of(item, settings):
    """Of each convolution in the network's order: are its input and its gradient channels last?
    A step of two samples tells."""
    module, inputs = from_spec(item, 2, settings)
    modules = [m for m in module.modules() if isinstance(m, CONVOLUTIONS)]
    seen = {}

    def forward(one, arguments, _):
        seen[one] = [channels_last(arguments[0]), False]

    def backward(one, _, gradients):
        seen[one][1] = channels_last(gradients[0])

    for one in modules:
        one.register_forward_hook(forward)
        one.register_full_backward_hook(backward)
    loss = total_loss(module(*inputs), {})
    if torch.is_tensor(loss) and loss.requires_grad:
        loss.backward()
    return [seen.get(one, [False, False]) for one in modules]


def laid_out(tensor, last):
    return tensor.contiguous(memory_format=LAST[tensor.dim()]) if last else tensor


class Convolution:
    """One configuration with tensors of its own; data: whether its input needs a gradient."""

    def __init__(self, layer, shape, data, layout, device):
        self.record = record_of(layer, shape, layer["outputs"][0])
        module, run = table()[layer["op"]](layer, [shape])
        self.module = module.to(device)
        self.run = run
        self.input = laid_out(torch.rand(shape, device=device), layout[0]).requires_grad_(data)
        self.gradient = laid_out(torch.rand(layer["outputs"][0], device=device), layout[1])
        self.trained = bool(layer["trainable"])
        self.module.requires_grad_(self.trained)
        self.backward_pass = ("backward" if data and self.trained else
                              "backward_data" if data else "backward_weight")
        self.output = None
        self.times = {"forward": [], self.backward_pass: []}

    def forward(self, clock, context):
        self.input.detach().add_(0)
        start = clock.mark()
        with context or contextlib.nullcontext():
            self.output = self.run(self.module, self.input) if self.run else self.module(self.input)
        return clock.mark() - start

    def backward(self, clock):
        self.module.zero_grad(set_to_none=True)
        self.input.grad = None
        if not self.output.requires_grad:
            self.output = None
            return None
        gradient = self.gradient.to(self.output.dtype).add_(0)
        start = clock.mark()
        self.output.backward(gradient)
        elapsed = clock.mark() - start
        self.output = None
        return elapsed


def convolutions_of(graph, layouts, device):
    """Each configuration of the network once, in its order."""
    reached = gradient_flows(graph)
    shape = dict(zip(graph["reads"], graph["inputs"]))
    made, seen = [], set()
    layouts = iter(layouts)
    for layer in graph["layers"]:
        shape.update((layer["writes"] + i, s) for i, s in enumerate(layer["outputs"]))
        if not layer["op"].startswith("conv"):
            continue
        if layer.get("weights_of") is not None:
            continue
        layout = next(layouts, [False, False])
        read = layer["reads"][0]
        key = (str(record_of(layer, shape[read], layer["outputs"][0])), read in reached,
               layer["trainable"])
        if key not in seen:
            seen.add(key)
            made.append(Convolution(layer, shape[read], read in reached, layout, device))
    return made


def time_rounds(made, settings, precision):
    clock = Clock(settings["device"])
    began, done = None, -settings["warmup"]
    while done < settings["steps"]:
        now = clock.mark()
        if done == 0:
            began = now
        if began is not None and now - began > settings["seconds"] and done >= 3:
            break
        seen = []
        for one in made:
            context = precision_context(settings["device"], precision)
            seen.append((one, "forward", one.forward(clock, context)))
        for one in reversed(made):
            seen.append((one, one.backward_pass, one.backward(clock)))
        for one, name, elapsed in seen:
            if done >= 0 and elapsed is not None:
                one.times[name].append(elapsed)
        done += 1


def rows_of(one, settings, precision):
    dtype, math = DTYPES[precision]
    for name, times in one.times.items():
        if not times:
            continue
        row = dict(one.record)
        row.update({"pass": name, "dtype": dtype, "math": math})
        if settings["device"].type == "cpu":
            row["threads"] = settings["threads"]
        for key, value in (("median_ms", statistics.median(times)), ("min_ms", min(times)),
                           ("max_ms", max(times)), ("std_ms", statistics.pstdev(times))):
            row[key] = float(f"{1e3 * value:.6g}")
        row["repeats"] = len(times)
        yield row


def time_convolutions(item, batch, layouts, settings, write):
    """Writes the rows of one network and batch; returns how many configurations they are."""
    precision = item["options"]["precision"]
    graph = ask([settings["dltime"], "check", with_batch(item["spec"], batch), "--json"])
    torch.backends.cuda.matmul.allow_tf32 = precision != "float32"
    torch.backends.cudnn.allow_tf32 = precision != "float32"
    made = convolutions_of(graph, layouts, settings["device"])
    if made:
        time_rounds(made, settings, precision)
    for one in made:
        for row in rows_of(one, settings, precision):
            row["network"] = item["spec"].split(",")[0]
            write(row)
    return len(made)


def keep_memory():
    """glibc's malloc gives nothing back from here on; other C libraries do as they like."""
    trim_threshold, mmap_max, most = -1, -4, 2**31 - 1
    with contextlib.suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(trim_threshold, most)
        mallopt(mmap_max, 0)


def run_convolutions(item, settings, write):
    if item["callable"]:  # a table is of what dltime itself finds in the network
        raise Failure(f"{item['callable']}: --convolutions takes a SPEC, not MODULE:CALLABLE")
    keep_memory()
    layouts = layouts_of(item, settings)
    for batch in sorted(settings["batches"] or [int(item["options"]["batch"] or 8)]):
        try:
            count = time_convolutions(item, batch, layouts, settings, write)
        except (RuntimeError, MemoryError) as error:
            if not is_memory(error):
                raise Failure(f"{item['spec']}, batch {batch}: {str(error).splitlines()[0]}"
                              ) from None
            print(f"{item['spec']}: batch {batch} does not fit", file=sys.stderr)
            return
        print(f"{item['spec']:32} batch {batch:4}  {count:4} convolutions", file=sys.stderr)
