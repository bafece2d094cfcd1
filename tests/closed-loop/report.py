#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: report.py RESULTS.jsonl

What `run` wrote, as Markdown: steps, jobs against their limit, and how often that was too short.
"""
import json
import math
import statistics
import sys


def at_most(k, n, p):
    """Probability of k or fewer of n."""
    return sum(math.comb(n, i) * p**i * (1 - p)**(n - i) for i in range(k + 1))


def where(function, value):
    """The p where a function that falls from 1 to 0 has a value, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > value else (low, middle)
    return low


def interval(k, n, level=0.95):
    """Clopper and Pearson 1934: no probability in it makes what was seen rarer than its tail."""
    tail = (1 - level) / 2
    low = where(lambda p: at_most(k - 1, n, p), 1 - tail) if k > 0 else 0.0
    high = where(lambda p: at_most(k, n, p), tail) if k < n else 1.0
    return low, high


def percent(value):
    return f"{100 * value:+.1f} %"


def mean_error(rows):
    return statistics.mean(abs(r["said_step_ms"] / r["step_ms"] - 1) for r in rows)


def steps(rows):
    print("| network | partition | batch | predicted step | seen | error | job | 99 % limit | "
          "limit / job |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for r in sorted(rows, key=lambda r: (r["network"], r["partition"], r["batch"])):
        print(f"| {r['network']} | {r['partition']} | {r['batch']} | {r['said_step_ms']:.1f} ms | "
              f"{r['step_ms']:.1f} ms | {percent(r['said_step_ms'] / r['step_ms'] - 1)} | "
              f"{r['elapsed_s']:.1f} s | {r['said_99_s']:.1f} s | "
              f"{r['said_99_s'] / r['elapsed_s']:.2f} |")
    parts = sorted({r["partition"] for r in rows})
    shown = ", ".join(f"{p} {100 * mean_error([r for r in rows if r['partition'] == p]):.1f} %"
                      for p in parts)
    print(f"\n{len(rows)} jobs of {len({r['network'] for r in rows})} networks: steps missed by "
          f"{100 * mean_error(rows):.1f} % on average ({shown}); limit / job in the median "
          f"{statistics.median(r['said_99_s'] / r['elapsed_s'] for r in rows):.2f}.")


def short(rows):
    late = [r for r in rows if r["elapsed_s"] > r["said_99_s"]]
    low, high = interval(len(late), len(rows))
    print(f"\n{len(rows)} short trainings: {len(late)} took longer than the 99 % limit, "
          f"{100 * len(late) / len(rows):.2f} % (95 % interval of Clopper and Pearson "
          f"{100 * low:.2f} to {100 * high:.2f} %); limit / job in the median "
          f"{statistics.median(r['said_99_s'] / r['elapsed_s'] for r in rows):.2f}.")
    for r in late:
        print(f"- {r['network']}, batch {r['batch']} on {r['partition']}: {r['elapsed_s']:.1f} s, "
              f"limit {r['said_99_s']:.1f} s")


def main(path):
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    learned = sorted({r["network"] for r in rows if r["phase"] == "calibrate"})
    scored = sorted({r["network"] for r in rows if r["phase"] != "calibrate"})
    if set(learned) & set(scored):
        sys.exit("report.py: a network is both learned from and scored")
    print(f"Learned from: {', '.join(learned)}. Scored: {', '.join(scored)}.\n")
    of = {phase: [r for r in rows if r["phase"] == phase] for phase in ("score", "short")}
    if of["score"]:
        steps(of["score"])
    if of["short"]:
        short(of["short"])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
