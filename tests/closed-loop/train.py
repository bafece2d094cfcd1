#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: train.py NETWORK BATCH STEPS OPTIMIZER

A training as any: synthetic samples in memory, shuffled for each epoch. Prints one JSON object:
seconds until the first step began, the median step, all steps together.
"""
import json
import os
import statistics
import sys
import time

import torch
from torch.nn import functional

import networks


def batches(name, batch):
    """Without end, an epoch of eight batches after another."""
    inputs, targets = networks.samples(name, 8 * batch)
    while True:
        for chosen in torch.randperm(len(inputs)).split(batch):
            yield inputs[chosen], targets[chosen]


def main(name, batch, steps, optimizer):
    torch.manual_seed(1)
    module = getattr(networks, name)()
    data = batches(name, batch)
    rule = torch.optim.SGD(module.parameters(), 1e-3,
                           momentum=0.9 if optimizer == "momentum" else 0)
    ends = [time.monotonic()]
    for _ in range(steps):
        inputs, targets = next(data)
        rule.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(module(inputs), targets.flatten())
        loss.backward()
        rule.step()
        ends.append(time.monotonic())
    took = [after - before for before, after in zip(ends, ends[1:])]
    # The clock that has run since the machine started is also that of /proc's start times.
    with open("/proc/self/stat", encoding="ascii") as stat:
        ticks = int(stat.read().rpartition(")")[2].split()[19])
    began = ticks / os.sysconf("SC_CLK_TCK")
    print(json.dumps({"setup_s": round(time.clock_gettime(time.CLOCK_BOOTTIME) - ends[-1]
                                       + ends[0] - began, 3),
                      "step_ms": round(1e3 * statistics.median(took), 4),
                      "steps_s": round(ends[-1] - ends[0], 4)}))


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
