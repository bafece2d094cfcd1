# SPDX-License-Identifier: Apache-2.0
"""A whole network as dltime understood it, run by PyTorch."""
import torch
import torch.nn.functional as F
from torch import nn

from torch_run import Failure
from torch_run.layers import table


def bound_indices(graph):
    """Positions are numbered from 0 on; tables that they index may be shorter, as Swin's are."""
    rows = {}
    for layer in graph["layers"]:
        if layer["op"] == "embedding":
            rows[layer["reads"][0]] = layer["attributes"]["num_embeddings"]
    for layer in graph["layers"]:
        if layer["op"] == "arange":
            attributes = layer["attributes"]
            attributes["below"] = rows.get(layer["writes"], attributes["end"])


def takes_over(layer, owner):
    """Whether a layer is its owner once more, bias and all; a dense layer may have it transposed."""
    same = layer["op"] == owner["op"]
    return same and (layer["op"] != "dense" or layer["outputs"][0][-1] == owner["outputs"][0][-1])


def tied(layer, owner):
    """A layer that works with the weight of another one in its own way, and a bias of its own."""
    weight = owner[0] if isinstance(owner, nn.ParameterList) else owner.weight
    if layer["op"] == "embedding":
        return nn.ParameterList(), lambda _, x: F.embedding(x, weight)
    if layer["op"] != "dense":
        raise Failure(f"{layer['name']}: {layer['op']} with another layer's weight cannot be run "
                      "here")
    out, bias = layer["outputs"][0][-1], layer["attributes"]["bias"]
    own = nn.ParameterList([nn.Parameter(torch.zeros(out))] if bias else [])
    return own, lambda own, x: F.linear(x, weight if weight.shape[0] == out else weight.t(),
                                        own[0] if bias else None)


def network(graph):
    """A module that runs the layers of `dltime check --json` one by one."""
    ops = table()
    bound_indices(graph)
    shape = dict(zip(graph["reads"], graph["inputs"]))
    steps, parts = [], nn.ModuleList()
    for layer in graph["layers"]:
        if layer["op"] not in ops:
            raise Failure(f"{graph['name']}: {layer['name']}: {layer['op']} cannot be run here")
        outputs = layer["outputs"]
        shape.update((layer["writes"] + i, s) for i, s in enumerate(outputs))
        module, run = ops[layer["op"]](layer, [shape[i] for i in layer["reads"]])
        owner = layer.get("weights_of")
        shared = owner is not None and takes_over(layer, graph["layers"][owner])
        if shared:
            module = steps[owner][0]
        elif owner is not None:
            module, run = tied(layer, steps[owner][0])
        if module is not None and not layer["trainable"]:
            module.requires_grad_(False)
        if module is not None and not shared:
            parts.append(module)
        steps.append((module, run, layer["reads"], layer["writes"], len(outputs)))
    return assemble(graph, steps, parts)


def assemble(graph, steps, parts):
    last_use = {}
    for at, (_, _, reads, _, _) in enumerate(steps):
        last_use.update((i, at) for i in reads)
    ends = [w + i for _, _, _, w, n in steps for i in range(n) if w + i not in last_use]
    dying = [[i for i in set(reads) if last_use[i] == at]
             for at, (_, _, reads, _, _) in enumerate(steps)]

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = parts

        def forward(self, *inputs):
            tensor = dict(zip(graph["reads"], inputs))
            for (module, run, reads, writes, count), dead in zip(steps, dying):
                read = [tensor[i] for i in reads]
                made = run(module, *read) if run else module(*read)
                for i in dead:
                    del tensor[i]
                for i, one in enumerate(made if isinstance(made, list) else [made]):
                    if i < count:
                        tensor[writes + i] = one.to(inputs[0].device) if not reads else one
            return [tensor[i] for i in ends if i in tensor and tensor[i].is_floating_point()]

    return Network()


def token_ranges(graph):
    """For each input of whole numbers how large they may be: the smallest table that they index."""
    limit = {i: 2 for i in graph["reads"]}
    same = {i: i for i in graph["reads"]}
    for layer in graph["layers"]:
        sources = [same[i] for i in layer["reads"] if i in same]
        if layer["op"] == "embedding" and sources:
            limit[sources[0]] = max(layer["attributes"]["num_embeddings"], 1)
        elif sources and layer["op"] in ("reshape", "slice", "flatten", "squeeze", "unsqueeze",
                                         "split", "contiguous", "identity"):
            for i in range(len(layer["outputs"])):
                same[layer["writes"] + i] = sources[0]
    return [limit[i] for i in graph["reads"]]
