"""Scaling of a training step of the cpu engine with the batch size and the width.

    python -m benchmarks growth [rounds]
    python -m benchmarks.sides benchmarks.growth batch|width

The first prints tables; the second prints the median seconds of a step at every size, one process
for a whole curve. The slope is that of time over size, both on logarithmic scales: 0 if overhead
dominates, 1 for linear growth, 2 if the width x width weights of a wide network dominate.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.cases import multiplications
from benchmarks.sides import Options, in_turn, median_time, seconds_of

CALL = 0.02  # seconds that a call of many steps takes, so that the call itself does not count
BATCH = 256  # where the width grows


@dataclass(frozen=True)
class Curve:
    """The sizes of what grows, and the network and batch of each."""

    title: str
    sizes: Sequence[int]
    case: Callable[[int], tuple[list[int], int]]


CURVES = {
    "batch": Curve(
        "12-64-64-64-64-3",
        [4**i for i in range(9)],
        lambda batch: ([12, 64, 64, 64, 64, 3], batch),
    ),
    "width": Curve(
        f"12-width-width-3, batch {BATCH}",
        [2**i for i in range(4, 12)],
        lambda width: ([12, width, width, 3], BATCH),
    ),
}


def seconds_at_sizes(curve: Curve) -> list[float]:
    """The median seconds of a step at every size, on all cores."""
    return [step_seconds(*curve.case(size)) for size in curve.sizes]


def step_seconds(sizes: list[int], batch: int) -> float:
    """The median seconds of a step."""
    import scalarviz as sv

    net = sv.Network(sizes, "leaky_relu", "sigmoid", engine="cpu")
    rng = np.random.default_rng(0)
    inputs, targets = rng.random((batch, sizes[0])), rng.random((batch, sizes[-1]))
    loss, optimizer = sv.Loss("mse"), sv.Adam(1e-3)

    def train(steps: int) -> None:
        net.train(inputs, targets, loss, optimizer, steps=steps)

    train(10)
    once = seconds_of(train, 10) / 10
    steps = max(1, min(10_000, round(CALL / once)))
    return median_time(lambda: train(steps), warm_up=1, least_seconds=0.3) / steps


SIDES = {name: partial(seconds_at_sizes, curve) for name, curve in CURVES.items()}


def report(options: Options) -> None:
    """A table for each curve."""
    times = in_turn({name: [__name__, name] for name in CURVES}, options.rounds)
    print("\nGrowth of a training step, cpu engine on all cores, leaky_relu, Adam")
    for name, curve in CURVES.items():
        medians = [statistics.median(found) for found in zip(*times[name], strict=True)]
        print_table(name, curve, medians)


def print_table(name: str, curve: Curve, medians: Sequence[float]) -> None:
    """A line for each size."""
    print(f"  {curve.title}")
    print(f"    {name:>7}  {'us a step':>11}  {'slope':>5}  {'GFLOP/s':>7}")
    for i, (size, seconds) in enumerate(zip(curve.sizes, medians, strict=True)):
        speed = multiplications(*curve.case(size)) / seconds / 1e9
        slope = ""
        if i:
            slope = f"{math.log(seconds / medians[i - 1], size / curve.sizes[i - 1]):.2f}"
        print(f"    {size:7,}  {1e6 * seconds:11,.1f}  {slope:>5}  {speed:7.1f}")
