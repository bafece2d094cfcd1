# SPDX-License-Identifier: Apache-2.0
"""The networks of a command line, one after the other."""
import importlib
import importlib.util
import os
import statistics
import sys

import torch

from torch_run import Failure
from torch_run.network import network, token_ranges
from torch_run.output import ask
from torch_run.steps import OPTIMIZERS, memory_mib, run_steps


def keys_of(spec):
    keys = dict(part.partition("=")[::2] for part in spec.split(",")[1:])
    options = {"optimizer": keys.get("optimizer", "sgd"),
               "precision": keys.get("precision", "float32"), "batch": keys.get("batch"),
               "sequence": keys.get("seq")}
    if options["optimizer"] not in OPTIMIZERS:
        raise Failure(f"{spec}: optimizer {options['optimizer']} is not in torch.optim")
    if options["precision"] not in ("float32", "tf32", "amp-float16", "amp-bfloat16"):
        raise Failure(f"{spec}: precision {options['precision']} is not run here; float32, tf32, "
                      "amp-float16 and amp-bfloat16 are")
    return options


def with_batch(spec, batch):
    parts = [part for part in spec.split(",") if not part.startswith(("batch=", "global_batch="))]
    return ",".join([*parts, f"batch={batch}"])


def from_spec(item, batch, settings):
    graph = ask([settings["dltime"], "check", with_batch(item["spec"], batch), "--json"])
    device = settings["device"]
    inputs = []
    for shape, kind, limit in zip(graph["inputs"], graph["input_types"], token_ranges(graph)):
        if kind == "float":
            inputs.append(torch.rand(shape, device=device))
        else:
            inputs.append(torch.randint(limit, shape, device=device))
    return network(graph).to(device), inputs


def from_callable(item, batch, settings):
    target, _, name = item["callable"].partition(":")
    if target.endswith(".py"):
        spec = importlib.util.spec_from_file_location("network", target)
        if not spec or not os.path.exists(target):
            raise Failure(f"{target}: no such file")
        where = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(where)
    else:
        try:
            where = importlib.import_module(target)
        except ImportError as error:
            raise Failure(f"{target}: {error}") from None
    make = where
    for part in name.split("."):
        make = getattr(make, part, None)
    if not callable(make):
        raise Failure(f"{item['callable']}: is no callable")
    inputs = []
    for text in item["inputs"] or ["3,224,224"]:
        shape, _, rest = text.partition(":")
        kind, _, limit = rest.partition(":")
        try:
            shape = [batch, *(int(s) for s in shape.split(","))]
            inputs.append(torch.randint(int(limit or 2), shape) if kind.startswith("int")
                          else torch.rand(shape))
        except ValueError:
            raise Failure(f"--input {text}: write sizes as 3,224,224, and 128:int64:30522 for "
                          "integers below a bound") from None
    return make().to(settings["device"]), [x.to(settings["device"]) for x in inputs]


def time_one(item, batch, settings):
    options = item["options"]
    make = from_spec if item["spec"] and not item["callable"] else from_callable
    if settings["device"].type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(settings["device"])
    torch.backends.cuda.matmul.allow_tf32 = options["precision"] != "float32"
    torch.backends.cudnn.allow_tf32 = options["precision"] != "float32"
    module, inputs = make(item, batch, settings)
    module.train(not settings["forward"])
    forward, backward, step = run_steps(module, inputs, options, settings)
    row = {"model": item["spec"].split(",")[0] if item["spec"] else item["callable"], "devices": 1,
           "nodes": 1, "batch": batch, "precision": options["precision"],
           "pass": "forward" if settings["forward"] else "step",
           "framework": f"pytorch {torch.__version__}"}
    if settings["device"].type == "cpu":
        row["threads"] = settings["threads"]
    if options["sequence"]:
        row["sequence"] = int(options["sequence"])
    row["forward_ms"] = round(1e3 * statistics.median(forward), 6)
    if not settings["forward"]:
        row["optimizer"] = options["optimizer"]
        row["backward_ms"] = round(1e3 * statistics.median(backward), 6)
        row["step_ms"] = round(1e3 * statistics.median(step), 6)
    row["std_ms"] = round(1e3 * statistics.pstdev(step), 6)
    row["memory_mib"] = memory_mib(settings["device"])
    return row


def is_memory(error):
    text = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in text or "can't allocate" in text


def run_item(item, settings, write):
    batches = settings["batches"] or [int(item["options"]["batch"] or 8)]
    for batch in sorted(batches):
        name = item["spec"] or item["callable"]
        try:
            row = time_one(item, batch, settings)
        except (RuntimeError, MemoryError) as error:
            if not is_memory(error):
                raise Failure(f"{name}, batch {batch}: {str(error).splitlines()[0]}") from None
            print(f"{name}: batch {batch} does not fit", file=sys.stderr)
            return
        write(row)
        shown = row.get("step_ms", row["forward_ms"])
        print(f"{name:32} batch {batch:4}  {shown:10.3f} ms  +- {row['std_ms']:.3f}",
              file=sys.stderr)
