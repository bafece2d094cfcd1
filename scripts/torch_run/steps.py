# SPDX-License-Identifier: Apache-2.0
"""Training steps and their times."""
import time

import torch
import torch.nn.functional as F


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, 1e-3),
    "momentum": lambda p: torch.optim.SGD(p, 1e-3, momentum=0.9),
    "nesterov": lambda p: torch.optim.SGD(p, 1e-3, momentum=0.9, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, 1e-4),
    "adamw": lambda p: torch.optim.AdamW(p, 1e-4),
    "adagrad": lambda p: torch.optim.Adagrad(p, 1e-4),
    "adadelta": lambda p: torch.optim.Adadelta(p, 1e-4),
    "rmsprop": lambda p: torch.optim.RMSprop(p, 1e-4),
    "none": lambda p: None,
}


class Clock:
    """The host's clock, in seconds; a device with a queue of its own is waited for first."""

    def __init__(self, device):
        self.device = device
        self.cuda = device.type == "cuda"

    def mark(self):
        if self.cuda:
            torch.cuda.synchronize(self.device)
        return time.perf_counter()


def total_loss(outputs, targets):
    if torch.is_tensor(outputs):
        outputs = [outputs]
    if isinstance(outputs, dict):
        outputs = list(outputs.values())
    loss = 0
    for output in outputs:
        if not torch.is_tensor(output) or not output.requires_grad:
            continue
        if output.dim() == 0:
            loss = loss + output
        elif output.dim() == 2:
            key = tuple(output.shape)
            if key not in targets:
                targets[key] = torch.randint(output.shape[1], (output.shape[0],),
                                             device=output.device)
            loss = loss + F.cross_entropy(output.float(), targets[key])
        else:
            loss = loss + output.float().mean()
    return loss


def precision_context(device, precision):
    if precision.startswith("amp-"):
        return torch.autocast(device.type, getattr(torch, precision[4:]))
    return None


def run_steps(module, inputs, options, settings):
    """Lists of seconds: forward, backward, whole step."""
    device = settings["device"]
    clock = Clock(device)
    trained = [p for p in module.parameters() if p.requires_grad]
    optimizer = OPTIMIZERS[options["optimizer"]](trained) if trained else None
    targets, times = {}, []
    began = None
    done = -settings["warmup"]
    while done < settings["steps"]:
        context = precision_context(device, options["precision"])
        start = clock.mark()
        if done == 0:
            began = start
        if began is not None and start - began > settings["seconds"] and done >= 3:
            break
        if settings["forward"]:
            with torch.no_grad():
                if context:
                    with context:
                        module(*inputs)
                else:
                    module(*inputs)
            middle = end = clock.mark()
        else:
            if optimizer:
                optimizer.zero_grad(set_to_none=True)
            if context:
                with context:
                    loss = total_loss(module(*inputs), targets)
            else:
                loss = total_loss(module(*inputs), targets)
            middle = clock.mark()
            loss.backward()
            end = clock.mark()
            if optimizer:
                optimizer.step()
            del loss
        last = clock.mark()
        if done >= 0:
            times.append((middle - start, end - middle, last - start))
        done += 1
    return [list(column) for column in zip(*times)]


def memory_mib(device):
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return None
