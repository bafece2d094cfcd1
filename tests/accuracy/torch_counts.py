# SPDX-License-Identifier: Apache-2.0
"""What PyTorch itself does and keeps: the other side of torch-compare and onnx-compare."""
import contextlib

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class CountProducts(TorchDispatchMode):
    """Multiply-accumulates of every matrix product and convolution that runs, whatever module calls
    it."""

    def __init__(self):
        super().__init__()
        self.macs = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function.overloadpacket.__name__
        if name in ("mm", "bmm", "addmm", "baddbmm"):
            left, right = args[-2:]
            self.macs += left.numel() * right.shape[-1]
        elif name.startswith("_scaled_dot_product") and not name.endswith("backward"):
            q, k, v = args[:3]
            self.macs += q[..., 0].numel() * k.shape[-2] * (q.shape[-1] + v.shape[-1])
        elif name == "convolution":
            x, weight, transposed = args[0], args[1], args[6]
            self.macs += (x if transposed else result).numel() * weight[0].numel()
        return result


@contextlib.contextmanager
def device_dropout():
    """Dropout that keeps a mask of a byte an element, as a GPU does; a CPU's keeps floats."""
    plain = torch.nn.functional.dropout

    def dropout(x, p=0.5, training=True, inplace=False):
        del inplace
        return torch.native_dropout(x, p, True)[0] if p > 0 and training else x

    torch.nn.functional.dropout = dropout
    try:
        yield
    finally:
        torch.nn.functional.dropout = plain


@contextlib.contextmanager
def lean_mean():
    """A mean that keeps its input's shape, which is all that backward needs; 1.13's keeps all."""
    plain = torch.Tensor.mean, torch.mean

    def mean(x, dim=None, keepdim=False):
        if dim is None:
            return plain[0](x)
        total = x.sum(dim, keepdim)
        return total / (x.numel() // max(total.numel(), 1))

    torch.Tensor.mean = torch.mean = mean
    try:
        yield
    finally:
        torch.Tensor.mean, torch.mean = plain


def own_cells(network):
    """Recurrent layers as PyTorch's own cells: oneDNN's hide their products and keep a workspace."""
    recurrent = any(isinstance(m, torch.nn.RNNBase) for m in network.modules())
    return torch.backends.mkldnn.flags(enabled=not recurrent)


def storage_of(tensor):
    """Its storage, under the name that this PyTorch has for it."""
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


def saved_bytes(network, inputs):
    """Bytes of the storages that autograd keeps in training, each once, without parameters and
    buffers."""
    own = {storage_of(p).data_ptr() for p in network.parameters()}
    own |= {storage_of(b).data_ptr() for b in network.buffers()}
    kept = {}

    def pack(tensor):
        storage = storage_of(tensor)
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes(), storage
        # Nothing runs backward; a tensor that its own node keeps would never be freed.

    network.train()
    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda nothing: nothing)
    with own_cells(network), device_dropout(), lean_mean(), hooks:
        result = network(*inputs)
    del result
    return sum(size for size, _ in kept.values())
