"""Fifty networks of random shapes, trained by the cpu engine and by eager PyTorch.

    python -m benchmarks shapes [rounds]
    python -m benchmarks.sides benchmarks.shapes cpu|torch THREADS

The second prints the median seconds of a step of each. Layers have 8 to 2,048 neurons, one to three
hidden layers, and batches 1 to 1,024 samples, log-uniformly distributed.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from benchmarks.batched_step import Make, cpu_step, keep_on_cores, one, steps_of
from benchmarks.cases import Case, multiplications
from benchmarks.rivals import torch_step
from benchmarks.sides import Options, Side, in_turn, median_time

COUNT, SEED = 50, 41
MOST = 3e9  # multiplications of a step


def cases() -> list[tuple[Case, int]]:
    """Networks, each with the size of its batches."""
    chance = random.Random(SEED)
    found: list[tuple[Case, int]] = []
    while len(found) < COUNT:
        sizes = [round(2 ** chance.uniform(3, 11)) for _ in range(chance.randint(3, 5))]
        batch = round(2 ** chance.uniform(0, 10))
        if multiplications(sizes, batch) < MOST:
            activation, optimizer = chance.choice(["relu", "tanh"]), chance.choice(["SGD", "Adam"])
            found.append((Case(sizes, activation, "linear", optimizer, 1e-3, (batch,)), batch))
    return found


def side(make: Make, steps: Callable[[Case, int], int]) -> Side:
    """A side of this benchmark: the seconds of a step of each network, given the threads."""

    def seconds(threads: str) -> list[float]:
        keep_on_cores(int(threads))
        return [
            median_time(make(case, batch, int(threads)), warm_up=5, least_seconds=0.2)
            / steps(case, batch)
            for case, batch in cases()
        ]

    return seconds


SIDES = {"cpu": side(cpu_step, steps_of), "torch": side(torch_step, one)}


def report(options: Options) -> None:
    """The ratios, the least first, on one thread and on all."""
    if not find_spec("torch"):
        print("\nPyTorch is not installed: pip install torch compares the cpu engine to it")
        return
    for threads in sorted({1, os.cpu_count() or 1}):
        times = in_turn({name: [__name__, name, str(threads)] for name in SIDES}, options.rounds)
        ours, theirs = [np.median(times[name], axis=0) for name in ("cpu", "torch")]
        ratios = theirs / ours
        print(
            f"\n{COUNT} networks, {threads} threads: {ratios.min():.2f} to {ratios.max():.2f} "
            f"times as fast as PyTorch, median {np.median(ratios):.2f}; "
            f"{(ratios < 0.9).sum()} below .9"
        )
        for i in np.argsort(ratios)[:10]:
            case, batch = cases()[i]
            print(
                f"    {'-'.join(map(str, case.sizes)):26} batch {batch:5} {case.activation:5} "
                f"{case.optimizer:5} {1e3 * ours[i]:9.3f} ms, {ratios[i]:.2f}"
            )
